//! Direct optimization of ranking measures (Le, Smola, Chapelle, Teo; equations 20 to 22).
//!
//! For one query with metric weights a of positions, label weights b of documents and decoder weights c of positions,
//! pi(i) the position of document i:
//!
//! ```text
//! M(pi) = sum_i a_{pi(i)} b_i      the measure
//! F(pi) = sum_i c_{pi(i)} s_i      largest where documents are sorted by s
//! A(s)  = max_pi F(pi) - M(pi)     an assignment (`math::assignment`), pi~ its maximizer
//!
//! convex      A(s) - F(pibar) + max M,  pibar = sort(b), ties as they came;   subgradient c[pi~] - c[pibar]
//! nonconvex   A(s) - max F + max M;                                           subgradient c[pi~] - c[sort(s)]
//! ```
//!
//! Both are at least the regret max M - M(sort(s)) >= 0, whatever the order of equal scores; the nonconvex bound is the
//! smaller. Its concave part is linear at any scores with their order frozen: the majorant is the convex bound with that
//! order as pibar (Algorithm 2). Where all b are equal the measure knows no order, and loss and subgradient are 0.
//!
//! **Blocks** (section 7.1). Where documents come in blocks, all maxima run over lists that show at most one document of
//! each block, and sort(s) is the best of them by s; b of NDCG is divided by the best DCG of such a list, so that the
//! regret stays between 0 and 1. A query with fewer blocks than positions has as many positions as blocks.

mod decoder;
mod query;

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use super::measure::Measure;
use super::{ListLoss, QueryLoss};
use crate::arrange::RowGroup;
use crate::error::{Error, Result};
use crate::loss::{Loss, LossDef, Shape};
use crate::metric::MetricOptions;
use crate::param::Params;

pub use decoder::{DECODERS, Decoder};
pub use query::DirectQuery;

/// The definition.
pub const DIRECT: LossDef = LossDef {
    name: "direct",
    summary: "bound of the regret in a measure: max over orders of decoded scores less measure, beside that of the best order",
    shape: Shape::Difference,
    parameters: &[
        "measure",
        "decoder",
        "decoder_power",
        "bound",
        "neutral_grade",
        "half_life",
        "diversify_by",
    ],
    make: |params| Ok(Loss::List(ListLoss::Direct(Direct::of_options(params)?))),
};

/// The loss.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Direct {
    /// The measure.
    pub measure: Measure,
    /// What makes a ranking of scores.
    pub decoder: Decoder,
    /// Which bound.
    pub bound: Bound,
    /// Whether a list shows at most one document of each block.
    pub diverse: bool,
}

/// Which bound of the regret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Bound {
    /// Equation 20.
    Convex,
    /// Equation 22.
    Nonconvex,
}

/// Names of the bounds, as the option `bound` has them.
pub const BOUNDS: &[&str] = &["convex", "nonconvex"];

impl Direct {
    /// The loss with the parameters among these options; NDCG@10, linear, nonconvex unless they say otherwise.
    fn of_options(params: &Params) -> Result<Self> {
        let defaults = MetricOptions::default();
        let measure = Measure::parse(
            params.text("measure").unwrap_or("ndcg@10"),
            params.number("neutral_grade").unwrap_or(defaults.neutral),
            params.number("half_life").unwrap_or(defaults.half_life),
        )?;
        let power = params.number("decoder_power").unwrap_or(0.25);
        let decoder = Decoder::parse(params.text("decoder").unwrap_or("linear"), measure, power)?;
        check_unused(params, measure, decoder)?;
        let convex = params.text("bound") == Some("convex");
        let bound = if convex { Bound::Convex } else { Bound::Nonconvex };
        Ok(Self { measure, decoder, bound, diverse: params.text("diversify_by").is_some() })
    }

    pub(super) fn shape(&self) -> Shape {
        match self.bound {
            Bound::Convex => Shape::Convex,
            Bound::Nonconvex => Shape::Difference,
        }
    }

    pub(super) fn is_sound(&self) -> bool {
        self.measure.is_sound() && self.decoder.is_sound()
    }

    /// Refuses labels that the measure is not for, and blocks whose numbers have gaps.
    pub(super) fn check(&self, labels: &[f64], row_groups: &[RowGroup]) -> Result<()> {
        if self.diverse {
            let mut groups: Vec<u32> = row_groups.iter().map(|row| row.group).collect();
            groups.sort_unstable();
            groups.dedup();
            if groups.iter().zip(0..).any(|(&group, number)| group != number) {
                return Err(Error::Data("a block without a document".to_owned()));
            }
        }
        self.measure.check(labels)
    }

    pub(super) fn teaches(&self, labels: &[f64]) -> bool {
        !query::flat(&self.measure.label_weights(labels))
    }

    pub(super) fn of(&self, labels: &[f64], row_groups: &[RowGroup]) -> Box<dyn QueryLoss> {
        let query = if self.diverse {
            DirectQuery::diverse(self, labels, row_groups)
        } else {
            DirectQuery::new(self, labels)
        };
        match self.bound {
            Bound::Convex => Box::new(query::Convex::new(query)),
            Bound::Nonconvex => Box::new(query::Nonconvex::new(query)),
        }
    }
}

/// Refuses parameters of other measures and decoders.
fn check_unused(params: &Params, measure: Measure, decoder: Decoder) -> Result<()> {
    let unused = [
        ("decoder_power", !matches!(decoder, Decoder::Power(_)), "\"decoder\": \"power\""),
        ("neutral_grade", !matches!(measure, Measure::Eru { .. }), "the measure eru or neru"),
        ("half_life", !matches!(measure, Measure::Eru { .. }), "the measure eru or neru"),
    ];
    match unused.into_iter().find(|(key, idle, _)| *idle && params.has(key)) {
        Some((key, _, without)) => {
            Err(Error::Unsupported(format!("option '{key}': it has no meaning without {without}")))
        }
        None => Ok(()),
    }
}
