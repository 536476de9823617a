//! Position-based model: whether a row is examined depends on its position. P(click) = gamma(position) alpha.
//!
//! Source: Craswell, Zoeter, Taylor & Ramsey, "An experimental comparison of click position-bias models", WSDM 2008;
//! Chuklin, Markov & de Rijke, "Click Models for Web Search", 2015, section 3.3.

use super::{ClickModel, Contexts, by_context};
use crate::search::clicks::Shown;

/// The model.
pub static MODEL: ClickModel = ClickModel {
    name: "pbm",
    summary: "position-based: examination depends on the position alone",
    formula: "P(click) = gamma(position) alpha(query, doc), gamma = 1 at the first position",
    source: "Craswell, Zoeter, Taylor & Ramsey, WSDM 2008",
    has_satisfaction: false,
    takes_passes: false,
    contexts,
    given_above: |fitted, rows| by_context(fitted, rows, contexts(rows)),
    overall: |fitted, rows| by_context(fitted, rows, contexts(rows)),
};

fn contexts(rows: &[Shown]) -> Contexts {
    rows.iter().map(|row| Some(row.position - 1)).collect()
}
