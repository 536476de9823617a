//! Score space of a hinge problem for solvers that store a number per pair: positions, scores and sums over all pairs.
//!
//! Arrays over documents and over pairs are ordered by query. The pairs of a document a are the contiguous range of its
//! lower documents b. All loops run on the calling thread.
//!
//! ```text
//! u = 1 - (s_a - s_b)      violation of a pair
//! c max(u, 0)              loss, the largest alpha u with 0 <= alpha <= c
//! ```
#![allow(clippy::inline_always)]

use std::ops::Range;

use crate::base::Control;
use crate::learn::solve::{PairBlock, PairProblem};
use crate::math::{LANES, Lanes, Registers, SimdTask, dispatch, lanes, simd};

/// Pairs that a loop visits between two checks for cancellation.
const PAIRS_BETWEEN_CHECKS: usize = 1 << 16;

/// One query of a problem and its position in arrays over documents and pairs.
pub(super) struct QueryPairs<'a> {
    pub block: &'a PairBlock,
    /// c of its pairs.
    pub weight: f64,
    pub documents: Range<usize>,
    pub first_pair: usize,
}

/// Pairs of one document that has lower documents: all of them, or, with pair weights, the ones with one lower grade.
#[derive(Debug, Clone)]
pub(super) struct Row {
    /// c, above 0.
    pub weight: f64,
    /// The higher document a.
    pub high: usize,
    /// The lower documents b.
    pub low: Range<usize>,
    /// The pairs (a, b).
    pub pairs: Range<usize>,
}

/// Sums over all pairs at scores s and multipliers alpha.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct DualSums<T = f64> {
    /// Sum of the losses, times c.
    pub loss: T,
    /// Sum of loss - alpha u; no term is negative.
    pub slack: T,
    /// Sum of alpha u.
    pub work: T,
}

/// Queries with a positive weight and at least one pair.
pub(super) struct Pairs<'a> {
    pub parts: Vec<QueryPairs<'a>>,
    control: &'a Control,
    /// Number of features.
    pub dim: usize,
    /// Blocks per vector of features.
    pub width: usize,
    /// Number of documents.
    pub documents: usize,
    /// Number of pairs T.
    pub count: usize,
    /// Sum of c over all pairs.
    pub total_weight: f64,
    /// m, the sum of c z.
    pub pair_sum: Vec<Lanes>,
}

impl<'a> Pairs<'a> {
    /// The pairs of a problem. After a cancellation loops over pairs end early, and their results are meaningless.
    pub(super) fn new(problem: &PairProblem<'a>, control: &'a Control) -> Self {
        let dim = problem.dim;
        let width = lanes::blocks_for(dim);
        let mut pairs = Self {
            parts: Vec::new(),
            control,
            dim,
            width,
            documents: 0,
            count: 0,
            total_weight: 0.0,
            pair_sum: vec![Lanes::ZERO; width],
        };
        problem.useful_blocks().for_each(|(block, weight)| pairs.push(block, weight));
        pairs
    }

    fn push(&mut self, block: &'a PairBlock, weight: f64) {
        let documents = self.documents..self.documents + block.n_docs();
        self.documents = documents.end;
        self.parts.push(QueryPairs { block, weight, documents, first_pair: self.count });
        self.count += block.pairs as usize;
        self.total_weight += weight * block.total_weight();
        lanes::axpy(weight, &block.pair_sum, &mut self.pair_sum);
    }

    /// Whether the work should stop.
    pub(super) fn canceled(&self) -> bool {
        self.control.is_canceled()
    }

    /// All rows in order; ends early after a cancellation.
    pub(super) fn rows(&self) -> impl Iterator<Item = Row> + '_ {
        let mut unchecked = PAIRS_BETWEEN_CHECKS;
        self.parts.iter().flat_map(QueryPairs::rows).take_while(move |row| {
            unchecked += row.pairs.len();
            let check = unchecked > PAIRS_BETWEEN_CHECKS;
            if check {
                unchecked = 0;
            }
            !(check && self.canceled())
        })
    }

    /// s = X w.
    pub(super) fn scores(&self, w: &[Lanes]) -> Vec<f64> {
        let mut scores = Vec::with_capacity(self.documents);
        let mut part_scores = Vec::new();
        for part in &self.parts {
            let n = part.block.n_docs();
            part_scores.resize(lanes::blocks_for(n), Lanes::ZERO);
            if !self.canceled() {
                query_scores(part, w, &mut part_scores);
            }
            scores.extend(part_scores.iter().flat_map(|block| block.0).take(n));
        }
        scores
    }

    /// X'g.
    pub(super) fn transpose_times(&self, g: &[f64]) -> Vec<Lanes> {
        let mut out = vec![Lanes::ZERO; self.width];
        for part in self.parts.iter().take_while(|_| !self.canceled()) {
            let g = lanes::from_slice(&g[part.documents.clone()]);
            add_transpose_times(part, &g, &mut out);
        }
        out
    }

    /// (sum of c z z' over all pairs) x = X' L X x, L the Laplacian of the graph of all pairs. Cost m b.
    pub(super) fn second_moment_times(&self, x: &[Lanes]) -> Vec<Lanes> {
        let scores = self.scores(x);
        let mut g = vec![0.0; self.documents];
        for part in &self.parts {
            let (start, first) = (&part.block.start[..], part.documents.start);
            let scores = &scores[part.documents.clone()];
            if let Some(weights) = part.block.weights() {
                let rows: Vec<Lanes> = scores.iter().map(|score| Lanes([*score; LANES])).collect();
                let product = weights.laplacian(start, &rows, 1);
                product.iter().enumerate().for_each(|(i, row)| g[first + i] = part.weight * row.0[0]);
                continue;
            }
            let (n, total) = (scores.len() as f64, scores.iter().sum::<f64>());
            let mut a = 0;
            while a < scores.len() {
                let equals = a..start[a] as usize;
                let others = total - scores[equals.clone()].iter().sum::<f64>();
                let degree = n - equals.len() as f64;
                a = equals.end;
                equals.for_each(|i| g[first + i] = part.weight * (degree * scores[i] - others));
            }
        }
        self.transpose_times(&g)
    }

    /// Replaces the alpha of every pair by `update(c, u, alpha)`; returns the sums and X'g with the new alpha.
    pub(super) fn pass(
        &self,
        scores: &[f64],
        alpha: &mut [f64],
        update: impl Fn(f64, f64, f64) -> f64 + Copy,
    ) -> (DualSums, Vec<Lanes>) {
        let mut g = vec![0.0; self.documents];
        let mut totals = DualSums::<Lanes>::default();
        for row in self.rows() {
            let (c, shift) = (row.weight, 1.0 - scores[row.high]);
            let (scores, alpha) = (&scores[row.low.clone()], &mut alpha[row.pairs]);
            let (columns, totals) = (&mut g[row.low], &mut totals);
            g[row.high] += dispatch(RowPass { c, shift, scores, alpha, columns, update, totals });
        }
        (totals.fold(), self.transpose_times(&g))
    }
}

impl QueryPairs<'_> {
    /// The rows of the query.
    pub(super) fn rows(&self) -> impl Iterator<Item = Row> + '_ {
        let n = self.block.n_docs();
        let mut first_pair = self.first_pair;
        let documents = self.block.start.iter().enumerate();
        documents.take_while(move |(_, start)| (**start as usize) < n).flat_map(move |(a, &start)| {
            let before = first_pair;
            first_pair += n - start as usize;
            self.parts_of_row(a, start as usize, before)
        })
    }

    /// The row of a document, cut into pairs of equal weight. Pairs of weight 0 are skipped; their alpha stays 0.
    fn parts_of_row(&self, a: usize, start: usize, first_pair: usize) -> impl Iterator<Item = Row> + '_ {
        let (n, of_query) = (self.block.n_docs(), self.documents.start);
        let mut first = start;
        let next = move || {
            let low = first;
            let (end, weight) = match self.block.weights() {
                _ if low >= n => return None,
                None => (n, self.weight),
                Some(weights) => (self.block.start[low] as usize, self.weight * weights.pair(a, low)),
            };
            first = end;
            let pairs = first_pair + (low - start)..first_pair + (end - start);
            Some(Row { weight, high: of_query + a, low: of_query + low..of_query + end, pairs })
        };
        std::iter::from_fn(next).filter(|row| row.weight > 0.0)
    }
}

impl DualSums<Lanes> {
    fn fold(self) -> DualSums {
        let Self { loss, slack, work } = self;
        DualSums { loss: loss.fold(), slack: slack.fold(), work: work.fold() }
    }

    #[inline(always)]
    fn add(&mut self, lane: usize, c: f64, u: f64, alpha: f64) {
        let violation = if u > 0.0 { u } else { 0.0 };
        let at_rest = alpha * (violation - u);
        self.work.0[lane] += alpha * u;
        self.loss.0[lane] += c * violation;
        self.slack.0[lane] += (c - alpha) * violation + at_rest;
    }
}

/// A pass over the pairs of one document; returns the sum of their alpha.
struct RowPass<'r, F> {
    c: f64,
    /// 1 - `s_a`.
    shift: f64,
    /// `s_b`.
    scores: &'r [f64],
    alpha: &'r mut [f64],
    /// The alpha of each pair is subtracted from its lower document.
    columns: &'r mut [f64],
    update: F,
    totals: &'r mut DualSums<Lanes>,
}

impl<F: Fn(f64, f64, f64) -> f64> SimdTask for RowPass<'_, F> {
    type Output = f64;

    #[inline(always)]
    fn run<R: Registers>(self) -> f64 {
        let Self { c, shift, scores, alpha, columns, update, totals } = self;
        let (mut row, mut sums) = (Lanes::ZERO, *totals);
        let (scores, last_scores) = scores.as_chunks::<LANES>();
        let (alpha, last_alpha) = alpha.as_chunks_mut::<LANES>();
        let (columns, last_columns) = columns.as_chunks_mut::<LANES>();
        for ((scores, alpha), columns) in scores.iter().zip(alpha).zip(columns) {
            for lane in 0..LANES {
                let u = shift + scores[lane];
                let next = update(c, u, alpha[lane]);
                alpha[lane] = next;
                columns[lane] -= next;
                row.0[lane] += next;
                sums.add(lane, c, u, next);
            }
        }
        for (lane, score) in last_scores.iter().enumerate() {
            let u = shift + score;
            let next = update(c, u, last_alpha[lane]);
            last_alpha[lane] = next;
            last_columns[lane] -= next;
            row.0[lane] += next;
            sums.add(lane, c, u, next);
        }
        *totals = sums;
        row.fold()
    }
}

simd! {
    /// out = X w for one query.
    fn query_scores<'r, 'a>(part: &'r QueryPairs<'a>, w: &'r [Lanes], out: &'r mut [Lanes]) {
        lanes::rows_times(&part.block.x, part.block.width, part.block.n_docs(), w, out);
    }
}

simd! {
    /// out += X'g for one query.
    fn add_transpose_times<'r, 'a>(part: &'r QueryPairs<'a>, g: &'r [Lanes], out: &'r mut [Lanes]) {
        lanes::columns_times(&part.block.x, part.block.width, part.block.n_docs(), g, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Random;

    /// Three queries with ties and more documents than lanes; one of them will have no weight.
    fn blocks() -> Vec<PairBlock> {
        let mut random = Random::new(5);
        [12usize, 3, 25]
            .iter()
            .map(|&n| {
                let x: Vec<f64> = (0..n * 5).map(|_| random.symmetric()).collect();
                let labels: Vec<f64> = (0..n).map(|_| (3.0 * random.symmetric()).floor()).collect();
                PairBlock::new(&x, &labels, 5).unwrap()
            })
            .collect()
    }

    fn problem(blocks: &[PairBlock]) -> PairProblem<'_> {
        PairProblem::new(5, blocks.iter().zip([0.5, 0.0, 0.25]).collect(), 0.1).unwrap()
    }

    fn point() -> Vec<Lanes> {
        lanes::from_slice(&[0.9, -1.3, 0.2, 0.0, 2.0])
    }

    /// Calls `visit(c, z, u)` for every pair in order.
    fn each_pair(problem: &PairProblem<'_>, mut visit: impl FnMut(f64, &[f64], f64)) {
        let w = lanes::to_vec(&point(), 5);
        for (block, c) in problem.blocks.iter().filter(|(_, c)| *c > 0.0) {
            for a in 0..block.n_docs() {
                for b in (0..block.n_docs()).filter(|b| block.labels[a] > block.labels[*b]) {
                    let row = |i| lanes::to_vec(block.row(i), 5);
                    let z: Vec<f64> = row(a).iter().zip(row(b)).map(|(x, y)| x - y).collect();
                    visit(*c, &z, 1.0 - z.iter().zip(&w).map(|(z, w)| z * w).sum::<f64>());
                }
            }
        }
    }

    #[test]
    fn a_pass_equals_the_plain_loops() {
        let blocks = blocks();
        let problem = problem(&blocks);
        let control = Control::default();
        let pairs = Pairs::new(&problem, &control);
        let mut random = Random::new(6);
        let before: Vec<f64> = (0..pairs.count).map(|_| 0.25 * random.symmetric().abs()).collect();
        let mut alpha = before.clone();
        let update = |c: f64, u: f64, alpha: f64| (alpha + 0.1 * u).clamp(0.0, c);
        let (sums, alpha_z) = pairs.pass(&pairs.scores(&point()), &mut alpha, update);
        let (mut expected, mut alpha_z_sum, mut pair) = ([0.0; 3], [0.0; 5], 0);
        each_pair(&problem, |c, z, u| {
            let next = update(c, u, before[pair]);
            assert!((alpha[pair] - next).abs() < 1e-12);
            let cost = c * u.max(0.0);
            let terms = [cost, cost - next * u, next * u];
            expected.iter_mut().zip(terms).for_each(|(sum, term)| *sum += term);
            alpha_z_sum.iter_mut().zip(z).for_each(|(sum, z)| *sum += next * z);
            pair += 1;
        });
        assert_eq!(pair, pairs.count);
        for (found, expected) in [sums.loss, sums.slack, sums.work].into_iter().zip(expected) {
            assert!((found - expected).abs() < 1e-11, "{found} {expected}");
        }
        (0..5).for_each(|j| assert!((lanes::get(&alpha_z, j) - alpha_z_sum[j]).abs() < 1e-11));
    }

    #[test]
    fn the_second_moment_matches_plain_loops() {
        let blocks = blocks();
        let problem = problem(&blocks);
        let control = Control::default();
        let pairs = Pairs::new(&problem, &control);
        let mut expected = [0.0; 5];
        each_pair(&problem, |c, z, u| {
            expected.iter_mut().zip(z).for_each(|(expected, z)| *expected += c * (1.0 - u) * z);
        });
        let actual = pairs.second_moment_times(&point());
        (0..5).for_each(|j| assert!((lanes::get(&actual, j) - expected[j]).abs() < 1e-10));
    }

    #[test]
    fn rows_end_once_canceled() {
        let blocks = blocks();
        let problem = problem(&blocks);
        assert_eq!(Pairs::new(&problem, &Control::canceled_after(0)).rows().count(), 0);
        let rows = Pairs::new(&problem, &Control::default()).rows().map(|row| row.pairs.len()).sum::<usize>();
        assert_eq!(rows as u64, blocks[0].pairs + blocks[2].pairs);
    }
}
