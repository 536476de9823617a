//! A pass over all pairs of a long query, and the Laplacian of its quadratic zone, by sorting ([`splits`]).
//!
//! With v = s_a - s_b the derivative p of a pair is 1 below 1 - delta / 2, 1/2 + (1 - v) / delta up to 1 + delta / 2,
//! and 0 beyond. For a document these are ranges of the sorted other list, so sums of 1 and of scores over the ranges
//! give its sums over pairs. Rows of the Laplacian need sums of rows over the zone, which gain and lose rows at its
//! ends. Cost: O(n log G) scores, and O(n log G) rows for the Laplacian; a pass of `pass` and `zone` costs T pairs.
//! Pairs have no centers and no weights.

use std::ops::Range;

use crate::base::{Ticks, parallel};
use crate::learn::solve::PairBlock;
use crate::math::splits::Item;
use crate::math::{Lanes, MERGE_COST, lanes, splits};

/// Queries with more documents are long. Those with fewer take less time pair by pair, with wide registers.
const SHORT: usize = 1 << 11;

/// Documents of a Hessian: of longer queries it is estimated from every second, third, ... document. Steps need no
/// more, and gradients and gaps use all documents.
const SAMPLED: usize = 1 << 16;

/// Pairs in a sample, for each feature, below which all documents are used.
const ENOUGH: u64 = 1000;

/// The graph of the zone, of all documents or enough of them, and the factor of its pairs.
pub(super) fn zone(block: &PairBlock, scores: &[Lanes], delta: f64) -> (Zone, f64) {
    let stride = block.n_docs().div_ceil(SAMPLED);
    let sampled = Zone::of(block, scores, delta, stride);
    if stride == 1 || sampled.pairs >= ENOUGH * block.dim as u64 {
        return (sampled, (stride * stride) as f64);
    }
    (Zone::of(block, scores, delta, 1), 1.0)
}

/// Whether sums over the pairs of a query come from sorting.
pub(super) fn is_long(block: &PairBlock) -> bool {
    block.weights().is_none() && block.n_docs() > SHORT && block.pairs > (SHORT * SHORT / 4) as u64
}

/// The lists of a split, and the side whose documents are visited.
#[derive(Clone, Copy)]
struct Side<'a> {
    own: &'a [Item],
    other: &'a [Item],
    /// Whether the visited documents are the higher ones.
    is_high: bool,
}

impl<'a> Side<'a> {
    /// The sides of a split.
    fn both(high: &'a [Item], low: &'a [Item]) -> [Self; 2] {
        [Self { own: high, other: low, is_high: true }, Self { own: low, other: high, is_high: false }]
    }

    /// 1 for the higher documents, else -1.
    fn sign(&self) -> f64 {
        if self.is_high { 1.0 } else { -1.0 }
    }

    /// Visits the documents by falling margin: calls `visit` with each position and, for each threshold, the number
    /// of other documents whose margin is below it; these are the first in the order of [`Self::other`].
    fn each<const N: usize>(&self, thresholds: [f64; N], mut visit: impl FnMut(usize, [usize; N])) {
        let sign = self.sign();
        let mut ticks = Ticks::default();
        let mut ends = [0; N];
        for step in 0..self.own.len() {
            ticks.add(MERGE_COST);
            let place = if self.is_high { self.own.len() - 1 - step } else { step };
            let own = self.own[place].score;
            for (end, threshold) in ends.iter_mut().zip(thresholds) {
                while *end < self.other.len() && sign * (own - self.other(*end).score) < threshold {
                    *end += 1;
                }
            }
            visit(place, ends);
        }
    }

    /// The other documents in the order in which margins fall below a threshold.
    fn other(&self, index: usize) -> &'a Item {
        &self.other[if self.is_high { self.other.len() - 1 - index } else { index }]
    }
}

/// Every `stride`-th document of a query, by grade, and where the grades begin. Documents are renumbered.
fn by_grade(block: &PairBlock, scores: &[Lanes], stride: usize) -> (Vec<Item>, Vec<usize>) {
    let start = &block.start;
    let (mut starts, mut first) = (vec![0], 0);
    while first < start.len() {
        first = start[first] as usize;
        starts.push(first.div_ceil(stride));
    }
    starts.dedup();
    let documents = (0..start.len()).step_by(stride).enumerate();
    (documents.map(|(number, document)| Item::new(number, lanes::get(scores, document))).collect(), starts)
}

/// Adds to `g` the sums of p of each document as the better one minus those as the worse one. Returns the sum of max(u, 0) and
/// the sum of p.
pub(super) fn pass(block: &PairBlock, scores: &[Lanes], delta: f64, g: &mut [Lanes]) -> (f64, f64) {
    let (mut items, starts) = by_grade(block, scores, 1);
    let (mut loss, mut total) = (0.0, 0.0);
    splits::each_split(&mut items, &starts, &mut |high, low| {
        let sides = Side::both(high, low);
        let mut sums = parallel::map(2, |side| side_sums(&sides[side], delta)).into_iter();
        for (own, sign) in [(high, 1.0), (low, -1.0)] {
            let (p, hinge) = sums.next().unwrap_or_default();
            own.iter_mut().zip(&p).for_each(|(item, p)| item.sum += sign * p);
            if sign > 0.0 {
                loss += hinge;
                total += p.iter().sum::<f64>();
            }
        }
    });
    items.iter().for_each(|item| *lanes::get_mut(g, item.document as usize) += item.sum);
    (loss, total)
}

/// The sum of p for each document of a side, and the sum of max(u, 0).
fn side_sums(side: &Side<'_>, delta: f64) -> (Vec<f64>, f64) {
    let center = side.own[side.own.len() / 2].score;
    // Sums of the first scores of the other list.
    let mut prefix = Vec::with_capacity(side.other.len() + 1);
    let (mut sum, mut ticks) = (0.0, Ticks::default());
    prefix.push(sum);
    for index in 0..side.other.len() {
        ticks.add(MERGE_COST);
        sum += side.other(index).score - center;
        prefix.push(sum);
    }
    let sign = side.sign();
    let (mut p, mut hinge) = (vec![0.0; side.own.len()], 0.0);
    side.each([1.0 - 0.5 * delta, 1.0, 1.0 + 0.5 * delta], |place, [full, violated, end]| {
        // u of a pair is `own` plus or minus the score of the other document.
        let own = 1.0 - sign * (side.own[place].score - center);
        let zone = (end - full) as f64;
        let in_zone = zone * (0.5 + own / delta) + sign * (prefix[end] - prefix[full]) / delta;
        p[place] = full as f64 + in_zone;
        hinge += violated as f64 * own + sign * prefix[violated];
    });
    (p, hinge)
}

/// The graph of the pairs in the zone among every `stride`-th document.
#[derive(Default)]
pub(super) struct Zone {
    /// The rows X of these documents.
    pub rows: Vec<Lanes>,
    /// L X for the Laplacian L of the graph.
    pub laplacian: Vec<Lanes>,
    /// The number of its pairs.
    pub pairs: u64,
}

impl Zone {
    /// The graph at these scores.
    pub(super) fn of(block: &PairBlock, scores: &[Lanes], delta: f64, stride: usize) -> Self {
        let width = block.width;
        let (mut items, starts) = by_grade(block, scores, stride);
        let documents = (0..block.n_docs()).step_by(stride);
        let rows: Vec<Lanes> = documents.flat_map(|document| block.row(document)).copied().collect();
        let mut zone = Self { laplacian: vec![Lanes::ZERO; rows.len()], rows, pairs: 0 };
        splits::each_split(&mut items, &starts, &mut |high, low| {
            for side in Side::both(high, low) {
                zone.add_side(&side, delta, width);
            }
        });
        zone
    }

    fn add_side(&mut self, side: &Side<'_>, delta: f64, width: usize) {
        let Self { rows, laplacian, pairs } = self;
        let of = |document: u32| document as usize * width..(document as usize + 1) * width;
        let (mut sum, mut inside) = (vec![Lanes::ZERO; width], 0..0);
        side.each([1.0 - 0.5 * delta, 1.0 + 0.5 * delta], |place, [full, end]| {
            let row = |index: usize| &rows[of(side.other(index).document)];
            move_range(&mut inside, full..end, row, &mut sum);
            let own = of(side.own[place].document);
            lanes::axpy(inside.len() as f64, &rows[own.clone()], &mut laplacian[own.clone()]);
            lanes::axpy(-1.0, &sum, &mut laplacian[own]);
            *pairs += if side.is_high { inside.len() as u64 } else { 0 };
        });
    }
}

/// Moves a range of rows forward, and adds and subtracts rows so that `sum` is their sum.
fn move_range<'a>(
    range: &mut Range<usize>,
    to: Range<usize>,
    row: impl Fn(usize) -> &'a [Lanes],
    sum: &mut [Lanes],
) {
    if to.start >= range.end {
        // No rounding is left from an empty range.
        sum.fill(Lanes::ZERO);
        *range = to.start..to.start;
    }
    while range.start < to.start {
        lanes::axpy(-1.0, row(range.start), sum);
        range.start += 1;
    }
    while range.end < to.end {
        lanes::axpy(1.0, row(range.end), sum);
        range.end += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::super::hessian::Products;
    use super::super::pass::{self, Half, PAD, ScaledQuery};
    use super::*;
    use crate::learn::solve::pair::weights::Equal;
    use crate::math::Random;

    #[test]
    fn sums_by_sorting_are_those_over_pairs() {
        let mut random = Random::new(9);
        for (n, grades, different) in [(2, 2, 9), (40, 2, 1000), (90, 5, 12), (130, 130, 1000), (70, 70, 3)] {
            let labels: Vec<f64> = (0..n).map(|_| random.below(grades) as f64).collect();
            let x: Vec<f64> = (0..3 * n).map(|_| random.symmetric()).collect();
            let block = PairBlock::new(&x, &labels, 3).unwrap();
            let mut scores = vec![Lanes([PAD; lanes::LANES]); lanes::blocks_for(n)];
            for document in 0..n {
                // Few different scores make ties, also at the ends of the zone.
                let score =
                    if different < 1000 { random.below(different) as f64 } else { random.symmetric() };
                *lanes::get_mut(&mut scores, document) = score * if different < 1000 { 0.25 } else { 2.0 };
            }
            for delta in [4.0, 0.7, 1e-3] {
                let scaled: Vec<Lanes> = scores.iter().map(|s| Lanes(s.0.map(|v| v / delta))).collect();
                let (mut g, mut expected) =
                    (vec![Lanes::ZERO; scores.len()], vec![Lanes::ZERO; scores.len()]);
                let (loss, sum) = pass(&block, &scores, delta, &mut g);
                let query = ScaledQuery { start: &block.start, scores: &scaled, one: 1.0 / delta };
                let (hinge, total) = pass::pass(query, &mut Half, Equal, &mut Vec::new(), &mut expected);
                let near = |a: f64, b: f64| (a - b).abs() <= 1e-9 * (1.0 + b.abs());
                assert!(near(loss, hinge * delta) && near(sum, total), "{n} {delta}");
                assert!((0..n).all(|a| near(lanes::get(&g, a), lanes::get(&expected, a))), "{n} {delta}");
                let mut zone = Vec::new();
                let Zone { rows, laplacian, pairs } = Zone::of(&block, &scores, delta, 1);
                assert_eq!(rows, block.x);
                pass::zone(query, &Half, &mut zone);
                // Pairs at an end of the zone have no influence on the loss.
                assert!(pairs.abs_diff(zone.len() as u64) <= 4 + zone.len() as u64 / 4, "{n} {delta}");
                if different == 1000 {
                    assert_eq!(pairs, zone.len() as u64);
                    let expected = Products::default().laplacian_of(&block, &zone, 1.0);
                    assert!((0..8 * n).all(|i| near(lanes::get(&laplacian, i), lanes::get(&expected, i))));
                }
            }
        }
    }
}
