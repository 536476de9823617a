//! Cascade model: a user examines rows from the top and stops at the first click.
//!
//! Source: Craswell, Zoeter, Taylor & Ramsey, "An experimental comparison of click position-bias models", WSDM 2008.

use super::{ClickModel, chain, down_to};

/// The model.
pub static MODEL: ClickModel = ClickModel {
    name: "cascade",
    summary: "rows are examined from the top down to the first click",
    formula: "P(click) = alpha(query, doc) as long as no row above is clicked, then 0",
    source: "Craswell, Zoeter, Taylor & Ramsey, WSDM 2008",
    has_satisfaction: false,
    takes_passes: false,
    contexts: |rows| down_to(rows.iter().position(|row| row.clicked), rows),
    given_above: |fitted, rows| chain(fitted, rows, |_| 1.0, true),
    overall: |fitted, rows| chain(fitted, rows, |_| 1.0, false),
};
