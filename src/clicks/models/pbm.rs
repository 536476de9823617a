//! Position-based model: whether a row is examined depends on its position. P(click) = gamma(position) alpha.
//!
//! Source: Craswell, Zoeter, Taylor & Ramsey, "An experimental comparison of click position-bias models", WSDM 2008;
//! Chuklin, Markov & de Rijke, "Click Models for Web Search", 2015, section 3.3.

use super::ClickModel;
use crate::clicks::{Fitted, Shown};

/// The model.
#[derive(Debug)]
pub struct Pbm;

impl ClickModel for Pbm {
    fn name(&self) -> &'static str {
        "pbm"
    }

    fn summary(&self) -> &'static str {
        "position-based: examination depends on the position alone"
    }

    fn formula(&self) -> &'static str {
        "P(click) = gamma(position) alpha(query, doc), gamma = 1 at the first position"
    }

    fn source(&self) -> &'static str {
        "Craswell, Zoeter, Taylor & Ramsey, WSDM 2008"
    }

    fn contexts(&self, rows: &[Shown]) -> Vec<Option<u32>> {
        rows.iter().map(|row| Some(row.position - 1)).collect()
    }

    fn given_above(&self, fitted: &Fitted, rows: &[Shown]) -> Vec<f64> {
        let click = |row: &Shown| fitted.examination(row.position - 1) * fitted.attractiveness(row.pair);
        rows.iter().map(click).collect()
    }

    fn overall(&self, fitted: &Fitted, rows: &[Shown]) -> Vec<f64> {
        self.given_above(fitted, rows)
    }
}
