//! Simplified dynamic Bayesian network: a user examines rows from the top, and a click satisfies with the probability s of
//! the document. The last click is taken as the one that satisfied.
//!
//! Source: Chapelle & Zhang, "A dynamic Bayesian network click model for web search ranking", WWW 2009, algorithm 1.

use super::{ClickModel, chain, down_to};

/// The model.
pub static MODEL: ClickModel = ClickModel {
    name: "sdbn",
    summary: "rows are examined from the top down to the last click, which satisfied; relevance is alpha s",
    formula: "P(click) = alpha(query, doc) down to the row that satisfies; P(satisfied | click) = s(query, doc)",
    source: "Chapelle & Zhang, WWW 2009",
    has_satisfaction: true,
    takes_passes: false,
    contexts: |rows| down_to(rows.iter().rposition(|row| row.clicked), rows),
    given_above: |fitted, rows| chain(fitted, rows, |pair| fitted.satisfaction(pair), true),
    overall: |fitted, rows| chain(fitted, rows, |pair| fitted.satisfaction(pair), false),
};
