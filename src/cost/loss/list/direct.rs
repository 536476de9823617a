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
//! minimum     as convex, with the pibar of the largest F among the maximizers of M (equation 21)
//! nonconvex   A(s) - max F + max M;                                           subgradient c[pi~] - c[sort(s)]
//! ```
//!
//! convex >= minimum >= nonconvex >= regret max M - M(sort(s)) >= 0, for every order of equal scores. Only the first is
//! convex. The majorant of the others at some scores is the convex bound with their pibar or sort(s) at these scores
//! (Algorithm 2). If all b are equal, loss and subgradient are 0.
//!
//! **Diversity** (section 7.1). With groups of documents, all maxima run over lists that have at most one document of
//! each group, and sort(s) is the best of them by s; b of NDCG is divided by the best DCG of such a list, so that the
//! regret stays between 0 and 1. The number of positions of a query is at most its number of groups.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use super::measure::Measure;
use super::{given_weights, unknown_measure};
use crate::base::{Error, Params, Result, named};
use crate::cost::loss::{ListwiseLoss, LossDef, QueryLoss, Shape};
use crate::cost::metric::MetricOptions;
use crate::data::{ListConstraint, RowGroup};

pub use super::direct_query::{DECODERS, Decoder, DirectQuery};

pub const DIRECT: LossDef = LossDef {
    parameters: &[
        "measure",
        "position_weights",
        "grade_weights",
        "decoder",
        "decoder_power",
        "discounts",
        "bound",
        "neutral_grade",
        "half_life",
        "diversify_by",
    ],
    measures: &["wta", "mrr", "dcg", "dcg@k", "ndcg", "ndcg@k", "precision@k", "eru", "neru"],
    ..LossDef::listwise("direct", Shape::Difference, |params| Ok(Arc::new(Direct::new(params)?)))
};

#[derive(Debug, Clone, PartialEq)]
pub struct Direct {
    pub measure: Measure,
    /// The position weights by which scores are decoded into a ranking.
    pub decoder: Decoder,
    /// The bound of the regret.
    pub bound: Bound,
    /// Whether a list has at most one document of each group.
    pub diverse: bool,
}

/// Which bound of the regret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// Equation 20.
    Convex,
    /// Equation 21: the smallest of the convex bounds over the maximizers of the measure.
    Minimum,
    /// Equation 22.
    Nonconvex,
}

named!(Bound { Convex = "convex", Minimum = "minimum", Nonconvex = "nonconvex" });

impl Direct {
    fn new(params: &Params) -> Result<Self> {
        let measure = parse_measure(params)?;
        let decoder = parse_decoder(params, &measure)?;
        let bound = params.choice("bound")?.unwrap_or(Bound::Nonconvex);
        let diverse = params.has("diversify_by");
        if diverse && bound == Bound::Minimum {
            let problem = "option 'bound': \"minimum\" does not work with option 'diversify_by'; use \"nonconvex\" or \"convex\"";
            return Err(Error::Unsupported(problem.to_owned()));
        }
        Ok(Self { measure, decoder, bound, diverse })
    }
}

impl ListwiseLoss for Direct {
    fn shape(&self) -> Option<Shape> {
        (self.bound == Bound::Convex).then_some(Shape::Convex)
    }

    fn constraint(&self) -> ListConstraint {
        if self.diverse { ListConstraint::Diversity } else { ListConstraint::None }
    }

    fn validate(&self) -> Result<()> {
        self.measure.validate()?;
        self.decoder.validate()
    }

    fn is_informative(&self, labels: &[f64]) -> bool {
        !super::direct_query::flat(&self.measure.label_weights(labels))
    }

    /// The convex bound: the reversed order is farthest from the ideal one. Diverse lists may share no document.
    fn lipschitz(&self, labels: &[f64]) -> Option<f64> {
        let c = self.decoder.weights(&self.measure, labels.len());
        let reversed = c.iter().zip(c.iter().rev()).map(|(c, other)| (c - other).abs()).sum();
        Some(if self.diverse { 2.0 * c.iter().sum::<f64>() } else { reversed })
    }

    /// Refuses labels that the measure does not accept, and group numbers with gaps.
    fn check_query(&self, labels: &[f64], row_groups: &[RowGroup]) -> Result<()> {
        if self.diverse {
            let mut groups: Vec<u32> = row_groups.iter().map(|row| row.group).collect();
            groups.sort_unstable();
            groups.dedup();
            if groups.iter().zip(0..).any(|(&group, number)| group != number) {
                return Err(Error::Data("a group without a document".to_owned()));
            }
        }
        self.measure.check(labels)
    }

    fn prepare(&self, labels: &[f64], row_groups: &[RowGroup]) -> Box<dyn QueryLoss> {
        let query = if self.diverse {
            DirectQuery::diverse(&self.measure, &self.decoder, labels, row_groups)
        } else {
            DirectQuery::new(&self.measure, &self.decoder, labels)
        };
        match self.bound {
            Bound::Convex => Box::new(super::direct_query::Convex::new(query)),
            Bound::Minimum => {
                Box::new(super::direct_query::Moving::new(query, DirectQuery::score_consistent_order))
            }
            Bound::Nonconvex => Box::new(super::direct_query::Moving::new(query, DirectQuery::order)),
        }
    }
}

/// The measure, with the weights that the caller gives.
fn parse_measure(params: &Params) -> Result<Measure> {
    let defaults = MetricOptions::default();
    let name = params.text("measure").unwrap_or("ndcg@10");
    let neutral = params.number("neutral_grade").unwrap_or(defaults.neutral);
    let half_life = params.number("half_life").unwrap_or(defaults.half_life);
    let measure = Measure::parse(name, neutral, half_life)?.ok_or_else(|| unknown_measure(name, &DIRECT))?;
    let [positions, grades] = ["position_weights", "grade_weights"].map(|key| given_weights(params, key));
    if positions.is_none() && grades.is_none() {
        return Ok(measure);
    }
    if params.has("measure") && positions.is_some() && grades.is_some() {
        return Err(conflict("measure", "'position_weights' together with 'grade_weights'"));
    }
    Ok(Measure::Own { measure: Box::new(measure), positions, grades })
}

/// The decoder, or the weights that the caller gives.
fn parse_decoder(params: &Params, measure: &Measure) -> Result<Decoder> {
    if let Some(weights) = given_weights(params, "discounts") {
        let other = ["decoder", "decoder_power"].into_iter().find(|key| params.has(key));
        return other.map_or(Ok(Decoder::Own(weights)), |key| Err(conflict(key, "'discounts'")));
    }
    let power = match params.get("decoder_power") {
        None => 0.25,
        Some(power) => power.as_f64().ok_or_else(|| {
            let allowed =
                "one number; trainings with the loss direct and lambda by validation also take an array";
            Error::value("option 'decoder_power'", power.to_string(), allowed)
        })?,
    };
    let decoder = Decoder::parse(params.text("decoder").unwrap_or(DECODERS[0]), measure, power)?;
    if params.has("decoder_power") && !matches!(decoder, Decoder::Power(_)) {
        let problem = "option 'decoder_power': it has no meaning without \"decoder\": \"power\"";
        return Err(Error::Unsupported(problem.to_owned()));
    }
    Ok(decoder)
}

fn conflict(option: &str, others: &str) -> Error {
    Error::Unsupported(format!("option '{option}' does not work with option {others}; leave one out"))
}
