//! Simplified dynamic Bayesian network: a user examines rows from the top, and a click satisfies with the probability s of
//! the document. The last click is taken as the one that satisfied.
//!
//! Source: Chapelle & Zhang, "A dynamic Bayesian network click model for web search ranking", WWW 2009, algorithm 1.

use super::{ClickModel, chain};
use crate::clicks::{Fitted, Shown};

/// The model.
#[derive(Debug)]
pub struct Sdbn;

impl ClickModel for Sdbn {
    fn name(&self) -> &'static str {
        "sdbn"
    }

    fn summary(&self) -> &'static str {
        "rows are examined from the top down to the last click, which satisfied; relevance is alpha s"
    }

    fn formula(&self) -> &'static str {
        "P(click) = alpha(query, doc) down to the row that satisfies; P(satisfied | click) = s(query, doc)"
    }

    fn source(&self) -> &'static str {
        "Chapelle & Zhang, WWW 2009"
    }

    fn contexts(&self, rows: &[Shown]) -> Vec<Option<u32>> {
        let last = rows.iter().rposition(|row| row.clicked).unwrap_or(rows.len());
        (0..rows.len()).map(|index| (index <= last).then_some(0)).collect()
    }

    fn has_satisfaction(&self) -> bool {
        true
    }

    fn given_above(&self, fitted: &Fitted, rows: &[Shown]) -> Vec<f64> {
        chain(fitted, rows, |pair| fitted.satisfaction(pair), true)
    }

    fn overall(&self, fitted: &Fitted, rows: &[Shown]) -> Vec<f64> {
        chain(fitted, rows, |pair| fitted.satisfaction(pair), false)
    }
}
