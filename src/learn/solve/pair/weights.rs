//! Pair weights of one query.
//!
//! ```text
//! w_ab = v_a (k_a - h_b)      a the better document of a pair
//!
//! v         document weights
//! k, h      1 and 0; weighted by grades, both are the grades; weighted by gains, both are 2^y
//! ```
//!
//! Joachims, Swaminathan & Schnabel (2017) weigh a pair by its better document. Because of this form, sums
//! over all pairs need no loop over pairs: documents are sorted by grade, and sums over the documents below and above a
//! grade are enough. Weighted sums of n rows of b numbers cost n b.
#![allow(clippy::inline_always)]

use crate::base::{Error, Result, Ticks, check_size};
use crate::cost::loss::PairWeights;
use crate::math::{LANES, Lanes, lanes};

/// Largest absolute value of k and h, 2^300: sums of weighted losses stay finite.
const LARGEST_LEVEL: f64 = 2.037_035_976_334_486e90;

/// Operations, for [`Ticks`], of the sums with one block of a row.
const ROW_COST: usize = 32;

/// How to weight a query's pairs.
#[derive(Debug, Clone, Copy, Default)]
pub struct PairWeighting<'a> {
    /// Weights by grades or gains.
    pub by: PairWeights,
    /// Weights of the documents (N); empty if all are 1.
    pub documents: &'a [f64],
}

impl PairWeighting<'_> {
    /// Whether every pair has the weight 1.
    pub fn is_equal(&self) -> bool {
        self.by == PairWeights::Equal && self.documents.is_empty()
    }

    /// The weights of these pairs of documents (better, worse), and 1 after them; empty if all are 1.
    ///
    /// # Errors
    /// As [`PairBlock::weighted`](super::PairBlock::weighted).
    pub fn of_pairs(&self, labels: &[f64], pairs: &[(usize, usize)]) -> Result<Vec<f64>> {
        if self.is_equal() {
            return Ok(Vec::new());
        }
        let levels = levels(self.by, labels)?;
        let document = |a: usize| self.documents.get(a).copied().unwrap_or(1.0);
        let weights = pairs.iter().map(|&(a, b)| document(a) * (levels[a].0 - levels[b].1));
        Ok(weights.chain([1.0]).collect())
    }
}

/// k and h of documents with these grades.
fn levels(by: PairWeights, labels: &[f64]) -> Result<Vec<(f64, f64)>> {
    let levels: Vec<(f64, f64)> = labels.iter().map(|label| by.levels(*label)).collect();
    let is_large = |(k, h): &(f64, f64)| !(k.abs() <= LARGEST_LEVEL && h.abs() <= LARGEST_LEVEL);
    let Some(document) = levels.iter().position(is_large) else { return Ok(levels) };
    let allowed = match by {
        PairWeights::Gain => "grades up to 300",
        _ => "grades from -2e90 to 2e90",
    };
    Err(Error::Data(format!(
        "the grade {:?} is too large for \"pair_weights\": \"{}\"; expected {allowed}",
        labels[document],
        by.name()
    )))
}

/// A query's pair weights. Documents are sorted by grade, high to low.
#[derive(Debug, Clone)]
pub(super) struct Weights {
    /// v.
    documents: Vec<f64>,
    /// k.
    better: Vec<f64>,
    /// h, padded with 0.
    worse: Vec<Lanes>,
    /// For each document the pair weights where it is better minus the pair weights where it is worse.
    pub balance: Vec<f64>,
    /// Sum of all weights.
    pub total: f64,
}

/// Weights of eight pairs at a time.
pub(super) trait EightWeights: Copy {
    /// Whether all weights are 1.
    const ARE_EQUAL: bool = false;

    /// Numbers of the pairs of document `a` with a block's documents, times the pair weights.
    fn times(self, a: usize, block: usize, values: Lanes) -> Lanes;
}

/// Every pair has the weight 1.
#[derive(Clone, Copy)]
pub(super) struct Equal;

impl EightWeights for Equal {
    const ARE_EQUAL: bool = true;

    #[inline(always)]
    fn times(self, _: usize, _: usize, values: Lanes) -> Lanes {
        values
    }
}

impl EightWeights for &Weights {
    #[inline(always)]
    fn times(self, a: usize, block: usize, values: Lanes) -> Lanes {
        let (v, k, h) = (self.documents[a], self.better[a], &self.worse[block]);
        let mut product = Lanes::ZERO;
        for lane in 0..LANES {
            product.0[lane] = v * (k - h.0[lane]) * values.0[lane];
        }
        product
    }
}

impl Weights {
    /// The weights for sorted labels. `order` has the position of each sorted document in `weighting`; `start` its first
    /// worse document.
    ///
    /// # Errors
    /// A wrong number of weights; a weight that is negative or not finite; a grade with too large a gain.
    pub(super) fn new(
        labels: &[f64],
        order: &[u32],
        start: &[u32],
        weighting: PairWeighting<'_>,
    ) -> Result<Self> {
        let n = labels.len();
        let documents: Vec<f64> = match weighting.documents {
            [] => vec![1.0; n],
            given => {
                check_size(&"weights of the documents of a query", given.len(), n)?;
                order.iter().map(|&i| given[i as usize]).collect()
            }
        };
        if !documents.iter().all(|weight| weight.is_finite() && *weight >= 0.0) {
            return Err(Error::Data("weights of documents must be finite numbers from 0".to_owned()));
        }
        let levels = levels(weighting.by, labels)?;
        let mut worse = vec![Lanes::ZERO; lanes::blocks_for(n)];
        levels.iter().enumerate().for_each(|(a, (_, h))| *lanes::get_mut(&mut worse, a) = *h);
        let better = levels.iter().map(|(k, _)| *k).collect();
        let mut weights = Self { documents, better, worse, balance: Vec::new(), total: 0.0 };
        let ones = vec![Lanes([1.0; LANES]); n];
        let (lower, higher) = (weights.of_worse(start, &ones, 1), weights.of_better(start, &ones, 1));
        weights.balance = lower.iter().zip(&higher).map(|(low, high)| low.0[0] - high.0[0]).collect();
        weights.total = lower.iter().map(|low| low.0[0]).sum();
        Ok(weights)
    }

    /// The weight of a pair.
    pub(super) fn pair(&self, a: usize, b: usize) -> f64 {
        self.documents[a] * (self.better[a] - lanes::get(&self.worse, b))
    }

    /// For each document a the sum of `w_ab x_b` over its worse documents; x has n rows of `width` blocks.
    fn of_worse(&self, start: &[u32], x: &[Lanes], width: usize) -> Vec<Lanes> {
        let mut out = vec![Lanes::ZERO; x.len()];
        let (mut plain, mut by_level) = (vec![Lanes::ZERO; width], vec![Lanes::ZERO; width]);
        let row = |a: usize| a * width..(a + 1) * width;
        let (mut end, mut ticks) = (start.len(), Ticks::default());
        while end > 0 {
            let first = (0..end).rev().take_while(|a| start[*a] == start[end - 1]).last().unwrap_or(0);
            ticks.add(ROW_COST * width * (end - first));
            for a in first..end {
                lanes::axpy(self.documents[a] * self.better[a], &plain, &mut out[row(a)]);
                lanes::axpy(-self.documents[a], &by_level, &mut out[row(a)]);
            }
            for a in first..end {
                lanes::axpy(1.0, &x[row(a)], &mut plain);
                lanes::axpy(lanes::get(&self.worse, a), &x[row(a)], &mut by_level);
            }
            end = first;
        }
        out
    }

    /// For each document b the sum of `w_ab x_a` over its better documents.
    fn of_better(&self, start: &[u32], x: &[Lanes], width: usize) -> Vec<Lanes> {
        let mut out = vec![Lanes::ZERO; x.len()];
        let (mut plain, mut by_level) = (vec![Lanes::ZERO; width], vec![Lanes::ZERO; width]);
        let row = |a: usize| a * width..(a + 1) * width;
        let (mut first, mut ticks) = (0, Ticks::default());
        while first < start.len() {
            let end = start[first] as usize;
            ticks.add(ROW_COST * width * (end - first));
            for b in first..end {
                lanes::axpy(1.0, &by_level, &mut out[row(b)]);
                lanes::axpy(-lanes::get(&self.worse, b), &plain, &mut out[row(b)]);
            }
            for b in first..end {
                lanes::axpy(self.documents[b], &x[row(b)], &mut plain);
                lanes::axpy(self.documents[b] * self.better[b], &x[row(b)], &mut by_level);
            }
            first = end;
        }
        out
    }

    /// L X for the graph of all pairs with these weights; x has n rows of `width` blocks.
    pub(super) fn laplacian(&self, start: &[u32], x: &[Lanes], width: usize) -> Vec<Lanes> {
        let ones = vec![Lanes([1.0; LANES]); start.len()];
        let mut product = self.of_worse(start, x, width);
        lanes::axpy(1.0, &self.of_better(start, x, width), &mut product);
        let degrees = self.of_worse(start, &ones, 1).into_iter().zip(self.of_better(start, &ones, 1));
        let rows = product.chunks_exact_mut(width.max(1)).zip(x.chunks_exact(width.max(1)));
        for ((product, x), (low, high)) in rows.zip(degrees) {
            let degree = low.0[0] + high.0[0];
            for (product, x) in product.iter_mut().zip(x) {
                for lane in 0..LANES {
                    product.0[lane] = degree * x.0[lane] - product.0[lane];
                }
            }
        }
        product
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grades_whose_weights_could_overflow_are_refused() {
        let levels = |by, grade| levels(by, &[0.0, grade]);
        assert!(levels(PairWeights::Gain, 300.0).is_ok() && levels(PairWeights::Gain, -1e308).is_ok());
        assert!(levels(PairWeights::Grade, -2e90).is_ok() && levels(PairWeights::Equal, 1e308).is_ok());
        for (by, grade) in
            [(PairWeights::Gain, 301.0), (PairWeights::Grade, 1e308), (PairWeights::Grade, -1e308)]
        {
            let error = levels(by, grade).unwrap_err().to_string();
            assert!(
                error.contains(&format!("the grade {grade:?} is too large for \"pair_weights\"")),
                "{error}"
            );
        }
    }
}
