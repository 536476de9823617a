//! Document-based click-through rate: users examine every row. P(click) = alpha.
//!
//! Source: Craswell, Zoeter, Taylor & Ramsey, "An experimental comparison of click position-bias models", WSDM 2008
//! (the baseline).

use super::ClickModel;
use crate::clicks::{Fitted, Shown};

/// The model.
#[derive(Debug)]
pub struct Ctr;

impl ClickModel for Ctr {
    fn name(&self) -> &'static str {
        "ctr"
    }

    fn summary(&self) -> &'static str {
        "click-through rate: every row is examined; no correction for positions"
    }

    fn formula(&self) -> &'static str {
        "P(click) = alpha(query, doc)"
    }

    fn source(&self) -> &'static str {
        "Craswell, Zoeter, Taylor & Ramsey, WSDM 2008"
    }

    fn contexts(&self, rows: &[Shown]) -> Vec<Option<u32>> {
        vec![Some(0); rows.len()]
    }

    fn given_above(&self, fitted: &Fitted, rows: &[Shown]) -> Vec<f64> {
        rows.iter().map(|row| fitted.attractiveness(row.pair)).collect()
    }

    fn overall(&self, fitted: &Fitted, rows: &[Shown]) -> Vec<f64> {
        self.given_above(fitted, rows)
    }
}
