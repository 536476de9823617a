//! Dynamic Bayesian network: a user examines rows from the top, a click satisfies with the probability s of the document, and
//! a user who is not satisfied continues with the next row with the perseverance p. `super::super::dbn` has the estimates.
//!
//! Source: Chapelle & Zhang, "A dynamic Bayesian network click model for web search ranking", WWW 2009, section 3.

use super::{ClickModel, chain, down_to};

/// The model.
pub static MODEL: ClickModel = ClickModel {
    name: "dbn",
    summary: "rows are examined from the top until a click satisfies or the user gives up; relevance is alpha s",
    formula: "P(click) = alpha(query, doc) if examined; P(satisfied | click) = s(query, doc); P(continues | not satisfied) = p",
    source: "Chapelle & Zhang, WWW 2009",
    has_satisfaction: true,
    takes_passes: true,
    contexts: |rows| down_to(rows.iter().rposition(|row| row.clicked), rows),
    given_above: |fitted, rows| chain(fitted, rows, |pair| fitted.satisfaction(pair), true),
    overall: |fitted, rows| chain(fitted, rows, |pair| fitted.satisfaction(pair), false),
};
