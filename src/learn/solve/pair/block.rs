//! The documents of one query, prepared once for all problems that use the query.
//!
//! Documents are sorted by label, high to low; ties keep the given order. The pairs of document a are then the
//! contiguous range `start[a]..n` of documents with a lower label. Only differences of documents matter, so features
//! are shifted to mean zero within the query; a constant feature becomes exactly zero.
//!
//! Sums over all pairs z = `x_a - x_b` need no loop over pairs. Let `k_a` be the number of documents below a minus the
//! number above, `d_a` the number of documents with another label, M the sum of all rows and `M_y` the sum of the rows of label y:
//!
//! ```text
//! m = sum of z    = sum_a k_a x_a
//! S = sum of z z' = sum_a x_a (d_a x_a - (M - M_y(a)))'
//! ```
//!
//! Cost n b for m, n b^2 / 2 for S. With pair weights both are weighted sums (`weights`).

use std::sync::Arc;

use super::weights::{PairWeighting, Weights};
use crate::base::{Result, Ticks, check_size};
use crate::learn::solve::checks;
use crate::math::{Element, LANES, Lanes, gram, lanes, order};

/// Cost of a row in operations, for [`Ticks`], besides its features.
const ROW_COST: usize = 8;

/// One query's documents, sorted by label; shape `(n_docs, dim)`.
#[derive(Debug, Clone)]
pub struct PairBlock {
    /// Number of features.
    pub dim: usize,
    /// Blocks per row of features.
    pub(super) width: usize,
    /// Centered features of the sorted documents, shape `(n_docs, 8 width)`.
    pub(super) x: Vec<Lanes>,
    order: Vec<u32>,
    /// Labels, high to low.
    pub(super) labels: Vec<f64>,
    /// For each sorted document the first one with a lower label.
    pub(super) start: Vec<u32>,
    /// Number of pairs of documents with different labels.
    pub pairs: u64,
    /// m.
    pub(super) pair_sum: Vec<Lanes>,
    pair_moment: Option<Vec<Lanes>>,
    /// The pair weights; `None` if all are 1.
    weights: Option<Arc<Weights>>,
}

impl PairBlock {
    /// Prepares the documents of one query: `x` of shape `(n_docs, dim)`, row-major, and a label per document.
    ///
    /// # Errors
    /// When the sizes do not agree or a number is not finite.
    pub fn new<T: Element>(x: &[T], labels: &[f64], dim: usize) -> Result<Self> {
        let n = labels.len();
        check_size(&"features of a query", x.len(), n * dim)?;
        let finite =
            labels.iter().all(|label| label.is_finite()) && x.iter().all(|value| value.to_f64().is_finite());
        checks::finite("labels and features of a query", finite)?;
        let order = order::descending(labels);
        let width = lanes::blocks_for(dim);
        let labels: Vec<f64> = order.iter().map(|&i| labels[i]).collect();
        let start = run_starts(&labels);
        let pairs = start.iter().map(|&s| (n - s as usize) as u64).sum();
        let x = centered_rows(x, &order, dim, width);
        let order = order.into_iter().map(|i| i as u32).collect();
        let pair_sum = pair_sum(&x, width, &start, None);
        Ok(Self { dim, width, x, order, labels, start, pairs, pair_sum, pair_moment: None, weights: None })
    }

    /// The same documents, whose pairs have weights.
    ///
    /// # Errors
    /// A wrong number of weights; a weight that is negative or not finite; a grade with too large a gain.
    pub fn weighted(mut self, weighting: PairWeighting<'_>) -> Result<Self> {
        if !weighting.is_equal() {
            let weights = Weights::new(&self.labels, &self.order, &self.start, weighting)?;
            self.pair_sum = pair_sum(&self.x, self.width, &self.start, Some(&weights));
            self.pair_moment = None;
            self.weights = Some(Arc::new(weights));
        }
        Ok(self)
    }

    /// Stores the pair moment S (8 b^2 bytes), which saves time if several problems use the block.
    #[must_use]
    pub fn with_moment(mut self) -> Self {
        let mut moment = vec![Lanes::ZERO; self.width * lanes::LANES * self.width];
        let mut laplacian = Vec::new();
        self.full_laplacian(1.0, &mut laplacian);
        gram::add_gram(&self.x, &laplacian, self.width, self.n_docs(), &mut moment);
        self.pair_moment = Some(moment);
        self
    }

    /// The same documents and pairs with other features, shape `(n_docs, 8 ceil(dim / 8))`, which must be centered.
    pub(super) fn with_features(&self, x: Vec<Lanes>, dim: usize) -> Self {
        let width = lanes::blocks_for(dim);
        let pair_sum = pair_sum(&x, width, &self.start, self.weights());
        let (order, labels, start) = (self.order.clone(), self.labels.clone(), self.start.clone());
        let (pairs, weights) = (self.pairs, self.weights.clone());
        Self { dim, width, x, order, labels, start, pairs, pair_sum, pair_moment: None, weights }
    }

    /// The same documents and pairs with the first `dim` features.
    #[must_use]
    pub fn leading(&self, dim: usize) -> Self {
        let width = lanes::blocks_for(dim);
        let mut x = Vec::with_capacity(self.n_docs() * width);
        let mut ticks = Ticks::default();
        for row in self.x.chunks_exact(self.width.max(1)) {
            ticks.add(ROW_COST + dim);
            x.extend_from_slice(&row[..width]);
            if let Some(last) = x.last_mut() {
                last.0[dim - (width - 1) * LANES..].fill(0.0);
            }
        }
        self.with_features(x, dim)
    }

    pub fn n_docs(&self) -> usize {
        self.labels.len()
    }

    /// Sum of the weights of all pairs.
    pub fn total_weight(&self) -> f64 {
        self.weights().map_or(self.pairs as f64, |weights| weights.total)
    }

    /// The pair weights; `None` if all are 1.
    pub(super) fn weights(&self) -> Option<&Weights> {
        self.weights.as_deref()
    }

    /// The weight of a pair of sorted documents, the better one first.
    pub(super) fn pair_weight(&self, a: usize, b: usize) -> f64 {
        self.weights().map_or(1.0, |weights| weights.pair(a, b))
    }

    /// For each sorted document its position in the given order.
    #[cfg(test)]
    pub fn order(&self) -> &[u32] {
        &self.order
    }

    /// Centered features of one sorted document.
    #[inline]
    pub(super) fn row(&self, document: usize) -> &[Lanes] {
        &self.x[document * self.width..(document + 1) * self.width]
    }

    /// S, if it is stored.
    pub(super) fn pair_moment(&self) -> Option<&[Lanes]> {
        self.pair_moment.as_deref()
    }

    /// factor * L X for the graph L of all pairs, so that X' L X = S.
    pub(super) fn full_laplacian(&self, factor: f64, out: &mut Vec<Lanes>) {
        let (n, width) = (self.n_docs(), self.width);
        out.clear();
        if let Some(weights) = self.weights() {
            out.extend(lanes::scaled(&weights.laplacian(&self.start, &self.x, width), factor));
            return;
        }
        out.resize(n * width, Lanes::ZERO);
        let mut total = vec![Lanes::ZERO; width];
        (0..n).for_each(|a| lanes::axpy(1.0, self.row(a), &mut total));
        let mut first = 0;
        while first < n {
            let end = self.start[first] as usize;
            let mut others = total.clone();
            (first..end).for_each(|a| lanes::axpy(-1.0, self.row(a), &mut others));
            let degree = (n - (end - first)) as f64;
            for a in first..end {
                let target = &mut out[a * width..(a + 1) * width];
                lanes::axpy(factor * degree, self.row(a), target);
                lanes::axpy(-factor, &others, target);
            }
            first = end;
        }
    }
}

/// For each document the first one with a lower label; labels are sorted high to low.
fn run_starts(labels: &[f64]) -> Vec<u32> {
    let n = labels.len();
    let mut start = vec![n as u32; n];
    for a in (0..n.saturating_sub(1)).rev() {
        start[a] = if labels[a] > labels[a + 1] { a as u32 + 1 } else { start[a + 1] };
    }
    start
}

/// Rows in the given order, each feature shifted to mean zero: first by the first row, so that a constant feature
/// becomes exactly zero, then by the mean.
fn centered_rows<T: Element>(x: &[T], order: &[usize], dim: usize, width: usize) -> Vec<Lanes> {
    let mut rows = vec![Lanes::ZERO; order.len() * width];
    let mut mean = vec![Lanes::ZERO; width];
    let mut ticks = Ticks::default();
    for (row, &document) in order.iter().enumerate() {
        ticks.add(ROW_COST + dim);
        let target = &mut rows[row * width..(row + 1) * width];
        for j in 0..dim {
            *lanes::get_mut(target, j) = x[document * dim + j].to_f64() - x[order[0] * dim + j].to_f64();
        }
        lanes::axpy(1.0 / order.len() as f64, target, &mut mean);
    }
    if width > 0 {
        rows.chunks_exact_mut(width).for_each(|row| lanes::axpy(-1.0, &mean, row));
    }
    rows
}

/// m, the sum of `k_a x_a`, or of `x_a` times the pair weights at a.
fn pair_sum(x: &[Lanes], width: usize, start: &[u32], weights: Option<&Weights>) -> Vec<Lanes> {
    let n = start.len();
    let mut sum = vec![Lanes::ZERO; width];
    if let Some(weights) = weights {
        let balances = weights.balance.iter().enumerate();
        balances.for_each(|(a, balance)| lanes::axpy(*balance, &x[a * width..(a + 1) * width], &mut sum));
        return sum;
    }
    let mut first = 0;
    while first < n {
        let end = start[first] as usize;
        let balance = (n - end) as f64 - first as f64;
        (first..end).for_each(|a| lanes::axpy(balance, &x[a * width..(a + 1) * width], &mut sum));
        first = end;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block() -> PairBlock {
        let x = [1.0, 4.0, 2.0, -1.0, 0.5, 3.0, 7.0, 2.0, 9.0, 1.0];
        PairBlock::new(&x, &[1.0, 0.0, 2.0, 1.0, 0.0], 2).unwrap().with_moment()
    }

    #[test]
    fn documents_are_sorted_by_label_and_ties_keep_their_order() {
        let block = block();
        assert_eq!(block.order(), [2, 0, 3, 1, 4]);
        assert_eq!(block.start, [1, 3, 3, 5, 5]);
        assert_eq!(block.pairs, 8);
    }

    #[test]
    fn sums_over_pairs_equal_the_plain_loops() {
        let block = block();
        let (mut sum, mut moment) = ([0.0; 2], [[0.0; 2]; 2]);
        for a in 0..5 {
            for b in block.start[a] as usize..5 {
                let z: Vec<f64> =
                    (0..2).map(|j| lanes::get(block.row(a), j) - lanes::get(block.row(b), j)).collect();
                for i in 0..2 {
                    sum[i] += z[i];
                    (0..2).for_each(|j| moment[i][j] += z[i] * z[j]);
                }
            }
        }
        let kept = block.pair_moment().unwrap();
        for i in 0..2 {
            assert!((lanes::get(&block.pair_sum, i) - sum[i]).abs() < 1e-12);
            (i..2).for_each(|j| assert!((lanes::get(&kept[i..], j) - moment[i][j]).abs() < 1e-12));
        }
    }

    #[test]
    fn the_first_features_equal_a_block_without_the_others() {
        let (n, dim) = (7, 19);
        let labels = [2.0, 0.0, 1.0, 1.0, 0.0, 3.0, 2.0];
        let at = |i: usize, j: usize| ((i * dim + j) as f64 * 0.7).sin();
        let rows = |dim: usize| -> Vec<f64> { (0..n * dim).map(|k| at(k / dim, k % dim)).collect() };
        let weighting = PairWeighting { by: crate::cost::loss::PairWeights::Gain, documents: &[] };
        let all = PairBlock::new(&rows(dim), &labels, dim).unwrap().weighted(weighting).unwrap();
        for dim in [1, 8, 13, 19] {
            let expected = PairBlock::new(&rows(dim), &labels, dim).unwrap().weighted(weighting).unwrap();
            let actual = all.leading(dim);
            assert_eq!((actual.dim, &actual.x, &actual.pair_sum), (dim, &expected.x, &expected.pair_sum));
            assert!((actual.total_weight() - expected.total_weight()).abs() < 1e-12);
        }
    }

    #[test]
    fn a_constant_feature_is_exactly_zero() {
        let block = PairBlock::new(&[0.1f64; 7], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0], 1).unwrap();
        assert!(block.x.iter().all(|lanes| *lanes == Lanes::ZERO));
    }
}
