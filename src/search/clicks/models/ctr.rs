//! Document-based click-through rate: users examine every row. P(click) = alpha.
//!
//! Source: Craswell, Zoeter, Taylor & Ramsey, "An experimental comparison of click position-bias models", WSDM 2008
//! (the baseline).

use super::{ClickModel, by_context, down_to};

/// The model.
pub static MODEL: ClickModel = ClickModel {
    name: "ctr",
    summary: "click-through rate: every row is examined; no correction for positions",
    formula: "P(click) = alpha(query, doc)",
    source: "Craswell, Zoeter, Taylor & Ramsey, WSDM 2008",
    has_satisfaction: false,
    takes_passes: false,
    contexts: |rows| down_to(None, rows),
    given_above: |fitted, rows| by_context(fitted, rows, down_to(None, rows)),
    overall: |fitted, rows| by_context(fitted, rows, down_to(None, rows)),
};
