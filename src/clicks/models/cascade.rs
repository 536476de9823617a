//! Cascade model: a user examines rows from the top and stops at the first click.
//!
//! Source: Craswell, Zoeter, Taylor & Ramsey, "An experimental comparison of click position-bias models", WSDM 2008.

use super::{ClickModel, chain};
use crate::clicks::{Fitted, Shown};

/// The model.
#[derive(Debug)]
pub struct Cascade;

impl ClickModel for Cascade {
    fn name(&self) -> &'static str {
        "cascade"
    }

    fn summary(&self) -> &'static str {
        "rows are examined from the top down to the first click"
    }

    fn formula(&self) -> &'static str {
        "P(click) = alpha(query, doc) as long as no row above is clicked, then 0"
    }

    fn source(&self) -> &'static str {
        "Craswell, Zoeter, Taylor & Ramsey, WSDM 2008"
    }

    fn contexts(&self, rows: &[Shown]) -> Vec<Option<u32>> {
        let first = rows.iter().position(|row| row.clicked).unwrap_or(rows.len());
        (0..rows.len()).map(|index| (index <= first).then_some(0)).collect()
    }

    fn given_above(&self, fitted: &Fitted, rows: &[Shown]) -> Vec<f64> {
        chain(fitted, rows, |_| 1.0, true)
    }

    fn overall(&self, fitted: &Fitted, rows: &[Shown]) -> Vec<f64> {
        chain(fitted, rows, |_| 1.0, false)
    }
}
