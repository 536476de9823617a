//! SLAM (Chaudhuri & Tewari 2014): a large-margin loss of lists that bounds NDCG, NDCG@k or average precision.
//!
//! ```text
//! phi(s, R) = sum_i v_i max(0, max over j with R_j < R_i of (Delta + s_j - s_i))             (5)
//! gradient    sum over i with a positive inner value of v_i (e_k - e_i), k the j of the maximum   (24)
//!
//! with the documents in ideal order, r of m relevant, G(y) = 2^y - 1, D(p) = 1 / log2(1 + p), Z the largest DCG:
//! map         v_i = (m - r) / (r (m - r + i)) for i <= r, else 0                              (6)
//! ndcg        v_i = (G(R_i) - G(R_m)) (D(i) - D(m)) / Z                                       (9)
//! ndcg@k      v_i = G(R_i) D(i) / Z_k for i <= k, else 0
//! ```
//!
//! The option `position_weights` replaces these v by its numbers: v_i is number i, and 0 after the last. Grades are then
//! compared as for `ndcg`. Such a v bounds a measure only if its numbers do.
//!
//! With Delta = 1, phi >= 1 - measure for every order of equal scores. The paper's eq. (31) goes with a truncated
//! NDCG that is not the usual one, eq. (30); the last line bounds the usual one. `map` compares relevant documents
//! (grade at least 1) with the others, not grades.
//!
//! v depends on the order of equal grades, which the paper leaves open; the bound holds for every order, and for the
//! mean of v over a group of equal grades (`label_ties` "average", the default, which does not depend on the order of
//! the documents). `measure` is "ndcg" unless given: the paper's, and the smaller v of the two.
//!
//! Of several j with the largest score, k is the first document; an inner value of exactly 0 contributes nothing to the
//! subgradient. A pass over the grades from low to high keeps k: O(m).

#[cfg(test)]
mod tests;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{
    RELEVANT, check_weights, differ, given_weights, in_range, largest_dcg, measure, unknown_measure,
};
use crate::base::{Error, Params, Result, checkpoint, named};
use crate::cost::loss::{ListwiseLoss, LossDef, QueryLoss, Shape};
use crate::cost::metric::{Gain, Metric, gains_for_ratios, logarithmic};
use crate::data::RowGroup;
use crate::math::{compare, descending, ends_of_runs, sort_indices};

pub const SLAM: LossDef = LossDef {
    parameters: &["measure", "position_weights", "margin", "label_ties"],
    measures: &["ndcg", "ndcg@k", "map"],
    ..LossDef::listwise("slam", Shape::Convex, |params| Ok(Arc::new(Slam::new(params)?)))
};

#[derive(Debug, Clone)]
pub struct Slam {
    /// Where v comes from.
    pub weights: SlamWeights,
    /// Delta > 0.
    pub margin: f64,
    /// The weights of equal grades.
    pub ties: LabelTies,
}

/// Where the weights v of documents come from.
#[derive(Debug, Clone, PartialEq)]
pub enum SlamWeights {
    /// The measure that the loss bounds.
    Measure(Bounded),
    /// By position in the ideal order, each at least 0 and finite; 0 after the last.
    Positions(Vec<f64>),
}

/// A measure that SLAM bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bounded {
    /// NDCG, of the first k >= 1 documents where cut.
    Ndcg(Option<usize>),
    /// Average precision.
    Map,
}

impl Bounded {
    /// The measure of a metric; `None` for others.
    pub fn of(metric: &Metric) -> Option<Self> {
        match (metric.def().name, metric.cutoff()) {
            _ if !metric.named().given().is_empty() => None,
            ("ndcg", cutoff) => Some(Self::Ndcg(cutoff)),
            ("map", None) => Some(Self::Map),
            _ => None,
        }
    }
}

/// The documents i that take part in the loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Active {
    /// The documents whose inner value is above 0.
    Margin,
    /// The documents with a worse document at the same score or above. What they cost, as a function of the scores with
    /// these documents and their k held fixed, has the subgradient returned.
    Misorder,
}

named!(Active { Margin = "margin", Misorder = "misorder" });

/// Weights of documents with equal relevance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum LabelTies {
    /// Each gets their mean weight.
    Average,
    /// By input order, as in the paper.
    Stable,
}

named!(LabelTies { Average = "average", Stable = "stable" });

/// The loss of one query.
#[derive(Debug, Clone)]
pub struct SlamQuery {
    /// v (m), in the order of the documents.
    weights: Vec<f64>,
    /// Documents from the lowest grade to the highest; equal grades keep their order.
    ascending: Vec<usize>,
    /// Positions in `ascending` after each group of equal grades.
    ends: Vec<usize>,
    margin: f64,
    active: Active,
}

impl Slam {
    fn new(params: &Params) -> Result<Self> {
        let ties = params.choice("label_ties")?.unwrap_or(LabelTies::Average);
        let margin = params.number("margin").unwrap_or(1.0);
        Ok(Self { weights: SlamWeights::parse(params)?, margin, ties })
    }

    /// The loss of a query with these labels (m >= 1, finite), of all documents that violate the margin.
    pub fn of(&self, labels: &[f64]) -> SlamQuery {
        let grades = self.grades(labels);
        let mut ascending: Vec<usize> = (0..labels.len()).collect();
        sort_indices(&mut ascending, &|a, b| compare(grades[a], grades[b]));
        let ends = ends_of_runs(&ascending, |a, b| compare(grades[*a], grades[*b]).is_eq());
        checkpoint();
        let weights = self.weights(&grades, &descending(&grades));
        SlamQuery { weights, ascending, ends, margin: self.margin, active: Active::Margin }
    }

    /// The compared values: labels, or whether they are relevant.
    fn grades(&self, labels: &[f64]) -> Vec<f64> {
        match self.weights {
            SlamWeights::Measure(Bounded::Map) => {
                labels.iter().map(|label| f64::from(*label >= RELEVANT)).collect()
            }
            SlamWeights::Measure(Bounded::Ndcg(_)) | SlamWeights::Positions(_) => labels.to_vec(),
        }
    }

    /// v, in the order of the documents; `ideal` is their ideal order.
    fn weights(&self, grades: &[f64], ideal: &[usize]) -> Vec<f64> {
        let mut by_position = match &self.weights {
            SlamWeights::Measure(Bounded::Ndcg(cutoff)) => ndcg_weights(grades, ideal, *cutoff),
            SlamWeights::Measure(Bounded::Map) => map_weights(grades),
            SlamWeights::Positions(weights) => {
                weights.iter().copied().chain(std::iter::repeat(0.0)).take(grades.len()).collect()
            }
        };
        if self.ties == LabelTies::Average {
            let mut start = 0;
            for end in ends_of_runs(ideal, |a, b| compare(grades[*a], grades[*b]).is_eq()) {
                let mean = by_position[start..end].iter().sum::<f64>() / (end - start) as f64;
                by_position[start..end].fill(mean);
                start = end;
            }
        }
        let mut weights = vec![0.0; grades.len()];
        ideal.iter().zip(by_position).for_each(|(document, v)| weights[*document] = v);
        weights
    }
}

impl SlamWeights {
    fn parse(params: &Params) -> Result<Self> {
        let Some(given) = given_weights(params, "position_weights") else {
            let metric = measure(params, "ndcg")?;
            let bounded = Bounded::of(&metric).ok_or_else(|| unknown_measure(&metric.name(), &SLAM))?;
            return Ok(Self::Measure(bounded));
        };
        if params.has("measure") {
            let problem = "option 'measure' does not work with option 'position_weights'; give one of them";
            return Err(Error::Unsupported(problem.to_owned()));
        }
        Ok(Self::Positions(given))
    }

    fn validate(&self) -> Result<()> {
        let Self::Positions(weights) = self else { return Ok(()) };
        check_weights("position_weights", Some(weights), false)
    }
}

impl ListwiseLoss for Slam {
    fn validate(&self) -> Result<()> {
        self.weights.validate()?;
        in_range(self.margin.is_finite() && self.margin > 0.0, "margin", &self.margin, "a number above 0")
    }

    fn is_informative(&self, labels: &[f64]) -> bool {
        let grades = self.grades(labels);
        match &self.weights {
            SlamWeights::Measure(_) => differ(&grades) && grades.iter().any(|grade| *grade > 0.0),
            SlamWeights::Positions(weights) => {
                let lowest = grades.iter().copied().fold(f64::INFINITY, f64::min);
                let better = grades.iter().filter(|grade| **grade > lowest).count();
                weights.iter().take(better).any(|weight| *weight > 0.0)
            }
        }
    }

    fn lipschitz(&self, labels: &[f64]) -> Option<f64> {
        let query = self.of(labels);
        // Documents of the lowest grade do not take part in the loss.
        let lowest = query.ends.first().copied().unwrap_or(0);
        Some(2.0 * query.ascending[lowest..].iter().map(|document| query.weights[*document]).sum::<f64>())
    }

    fn prepare(&self, labels: &[f64], _row_groups: &[RowGroup]) -> Box<dyn QueryLoss> {
        Box::new(self.of(labels))
    }
}

/// Eq. (6) by position.
fn map_weights(grades: &[f64]) -> Vec<f64> {
    let m = grades.len();
    let r = grades.iter().filter(|grade| **grade > 0.0).count();
    let weight = |i: usize| (m - r) as f64 / (r as f64 * (m - r + i) as f64);
    (1..=m).map(|i| if i <= r { weight(i) } else { 0.0 }).collect()
}

/// Eq. (9), or the weights of NDCG@k, by position.
fn ndcg_weights(grades: &[f64], ideal: &[usize], cutoff: Option<usize>) -> Vec<f64> {
    let gains = gains_for_ratios(grades, Gain::Exp2);
    let largest = largest_dcg(ideal.iter().map(|document| gains[*document]), cutoff);
    let m = grades.len();
    if largest <= 0.0 {
        return vec![0.0; m];
    }
    let (depth, base) = match cutoff {
        Some(k) => (k, (0.0, 0.0)),
        None => (m, (gains[ideal[m - 1]], logarithmic(m - 1))),
    };
    let weight =
        |position: usize| (gains[ideal[position]] - base.0) * (logarithmic(position) - base.1) / largest;
    (0..m).map(|position| if position < depth { weight(position) } else { 0.0 }).collect()
}

impl SlamQuery {
    /// For each document the best scored one with a lower grade, the first if several tie; `None` if no grade is lower.
    pub fn rivals(&self, scores: &[f64]) -> Vec<Option<usize>> {
        let mut rivals = vec![None; scores.len()];
        let (mut best, mut start) = (None, 0);
        for &end in &self.ends {
            checkpoint();
            let group = &self.ascending[start..end];
            start = end;
            group.iter().for_each(|document| rivals[*document] = best);
            best = group.iter().copied().fold(best, |best, j| Some(better(scores, best, j)));
        }
        rivals
    }

    /// Whether a document i with the rival k is active, without the margin.
    pub fn is_active(&self, i: usize, k: usize, scores: &[f64]) -> bool {
        self.active == Active::Margin || scores[k] >= scores[i]
    }

    /// The same with another choice of documents.
    #[must_use]
    pub fn with(self, active: Active) -> Self {
        Self { active, ..self }
    }

    /// v (m), in the order of the documents.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }
}

impl QueryLoss for SlamQuery {
    fn value_and_subgradient(&self, scores: &[f64], subgradient: &mut [f64]) -> f64 {
        subgradient.fill(0.0);
        let mut value = 0.0;
        checkpoint();
        for (i, k) in self.rivals(scores).into_iter().enumerate() {
            let Some(k) = k else { continue };
            let inner = self.margin + scores[k] - scores[i];
            if inner > 0.0 && self.is_active(i, k, scores) {
                value += self.weights[i] * inner;
                subgradient[i] -= self.weights[i];
                subgradient[k] += self.weights[i];
            }
        }
        value
    }
}

/// The document with the larger score, the first of two with the same.
fn better(scores: &[f64], best: Option<usize>, j: usize) -> usize {
    match best {
        Some(k) if scores[k] > scores[j] || (k < j && scores[k] >= scores[j]) => k,
        _ => j,
    }
}
