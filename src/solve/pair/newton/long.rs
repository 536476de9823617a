//! A pass over all pairs of a long query, and the Laplacian of its quadratic zone, by sorting ([`splits`]).
//!
//! With v = s_a - s_b the derivative p of a pair is 1 below 1 - delta / 2, 1/2 + (1 - v) / delta up to 1 + delta / 2, and 0
//! beyond. For a document these are ranges of the sorted other list, so sums of 1 and of scores over the ranges give its
//! sums over pairs. Rows of the Laplacian need sums of rows over the zone, which gain and lose rows at its ends. O(n log G)
//! scores, and as many rows for the Laplacian; a pass of `pass` and `zone` costs T pairs. Pairs have no centers and no weights.

use std::ops::Range;

use crate::control::Ticks;
use crate::math::lanes::{self, Lanes};
use crate::math::splits::{self, MERGE_COST};
use crate::parallel;
use crate::solve::PairBlock;

/// Queries with more documents are long. One with fewer takes less time pair by pair with wide registers unless it has some
/// thousand documents; one with more has too many pairs for multipliers.
const SHORT: usize = 1 << 14;

/// Whether sums over the pairs of a query come from sorting.
pub(super) fn is_long(block: &PairBlock) -> bool {
    block.weights().is_none() && block.n_docs() > SHORT && block.pairs() > (SHORT * SHORT / 4) as u64
}

/// Sums of a pass: sum of max(u, 0), sum of p.
pub(super) struct LongSums {
    pub hinge: f64,
    pub total: f64,
}

/// The lists of a split, and the side whose documents are visited.
#[derive(Clone, Copy)]
struct Side<'a> {
    scores: &'a [f64],
    own: &'a [u32],
    other: &'a [u32],
    /// Whether the visited documents are the higher ones.
    is_high: bool,
}

impl Side<'_> {
    /// The margin of the pair of documents `own` and `other`.
    fn margin(&self, own: u32, other: u32) -> f64 {
        let difference = self.scores[own as usize] - self.scores[other as usize];
        if self.is_high { difference } else { -difference }
    }

    /// Visits the documents so that all margins fall: calls `visit` with the place of each and, for each threshold, the number
    /// of other documents whose margin is below it; these are the first in the order of [`Self::other`].
    fn each<const N: usize>(&self, thresholds: [f64; N], mut visit: impl FnMut(usize, [usize; N])) {
        let mut ticks = Ticks::default();
        let mut ends = [0; N];
        for step in 0..self.own.len() {
            ticks.add(MERGE_COST);
            let place = if self.is_high { self.own.len() - 1 - step } else { step };
            for (end, threshold) in ends.iter_mut().zip(thresholds) {
                while *end < self.other.len() && self.margin(self.own[place], self.other(*end)) < threshold {
                    *end += 1;
                }
            }
            visit(place, ends);
        }
    }

    /// The other documents in the order in which margins fall below a threshold.
    fn other(&self, index: usize) -> u32 {
        self.other[if self.is_high { self.other.len() - 1 - index } else { index }]
    }
}

/// The sides of a split.
fn sides<'a>(scores: &'a [f64], high: &'a [u32], low: &'a [u32]) -> [Side<'a>; 2] {
    [
        Side { scores, own: high, other: low, is_high: true },
        Side { scores, own: low, other: high, is_high: false },
    ]
}

/// The documents by grade and score, and where the grades begin.
fn by_grade(block: &PairBlock, scores: &[f64]) -> (Vec<u32>, Vec<usize>) {
    let start = block.start();
    let mut starts = vec![0];
    while starts[starts.len() - 1] < start.len() {
        starts.push(start[starts[starts.len() - 1]] as usize);
    }
    let mut order: Vec<u32> = (0..start.len() as u32).collect();
    splits::sort_grades(&mut order, &starts, scores);
    (order, starts)
}

/// Adds to `g` the sums of p of each document as the better one minus those as the worse one.
pub(super) fn pass(block: &PairBlock, scores: &[Lanes], delta: f64, g: &mut [Lanes]) -> LongSums {
    let scores = lanes::to_vec(scores, block.n_docs());
    let (mut order, starts) = by_grade(block, &scores);
    let mut sums = LongSums { hinge: 0.0, total: 0.0 };
    splits::each_split(&mut order, &starts, &scores, &mut |high, low| {
        let sides = sides(&scores, high, low);
        let found = parallel::map(2, |side| side_sums(&sides[side], delta));
        for (side, (p, hinge)) in sides.iter().zip(&found) {
            let sign = if side.is_high { 1.0 } else { -1.0 };
            for (document, p) in side.own.iter().zip(p) {
                *lanes::get_mut(g, *document as usize) += sign * p;
            }
            if side.is_high {
                sums.hinge += hinge;
                sums.total += p.iter().sum::<f64>();
            }
        }
    });
    sums
}

/// The sum of p of each document of a side, and the sum of max(u, 0).
fn side_sums(side: &Side<'_>, delta: f64) -> (Vec<f64>, f64) {
    let center = side.scores[side.own[side.own.len() / 2] as usize];
    let centered = |document: u32| side.scores[document as usize] - center;
    // Sums of the first scores of the other list.
    let mut prefix = Vec::with_capacity(side.other.len() + 1);
    let (mut sum, mut ticks) = (0.0, Ticks::default());
    prefix.push(sum);
    for index in 0..side.other.len() {
        ticks.add(MERGE_COST);
        sum += centered(side.other(index));
        prefix.push(sum);
    }
    let sign = if side.is_high { 1.0 } else { -1.0 };
    let (mut p, mut hinge) = (vec![0.0; side.own.len()], 0.0);
    side.each([1.0 - 0.5 * delta, 1.0, 1.0 + 0.5 * delta], |place, [full, violated, end]| {
        // u of a pair is `own` plus or minus the score of the other document.
        let own = 1.0 - sign * centered(side.own[place]);
        let zone = (end - full) as f64;
        let in_zone = zone * (0.5 + own / delta) + sign * (prefix[end] - prefix[full]) / delta;
        p[place] = full as f64 + in_zone;
        hinge += violated as f64 * own + sign * prefix[violated];
    });
    (p, hinge)
}

/// Y = weight * L X for the graph L of the pairs in the zone; returns the number of these pairs.
pub(super) fn zone_laplacian(
    block: &PairBlock,
    scores: &[Lanes],
    delta: f64,
    weight: f64,
    laplacian: &mut Vec<Lanes>,
) -> u64 {
    let width = block.width();
    let scores = lanes::to_vec(scores, block.n_docs());
    let (mut order, starts) = by_grade(block, &scores);
    laplacian.clear();
    laplacian.resize(block.n_docs() * width, Lanes::ZERO);
    let mut pairs = 0;
    splits::each_split(&mut order, &starts, &scores, &mut |high, low| {
        for side in sides(&scores, high, low) {
            let (mut sum, mut zone) = (vec![Lanes::ZERO; width], 0..0);
            side.each([1.0 - 0.5 * delta, 1.0 + 0.5 * delta], |place, [full, end]| {
                move_zone(block, &side, &mut zone, full..end, &mut sum);
                let document = side.own[place] as usize;
                let target = &mut laplacian[document * width..(document + 1) * width];
                lanes::axpy(weight * zone.len() as f64, block.row(document), target);
                lanes::axpy(-weight, &sum, target);
                pairs += if side.is_high { zone.len() as u64 } else { 0 };
            });
        }
    });
    pairs
}

/// Moves the zone over the other list, and adds and subtracts rows so that `sum` is their sum.
fn move_zone(
    block: &PairBlock,
    side: &Side<'_>,
    zone: &mut Range<usize>,
    to: Range<usize>,
    sum: &mut [Lanes],
) {
    let row = |index: usize| block.row(side.other(index) as usize);
    if to.start >= zone.end {
        // No rounding is left from an empty zone.
        sum.fill(Lanes::ZERO);
        *zone = to.start..to.start;
    }
    while zone.start < to.start {
        lanes::axpy(-1.0, row(zone.start), sum);
        zone.start += 1;
    }
    while zone.end < to.end {
        lanes::axpy(1.0, row(zone.end), sum);
        zone.end += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::super::hessian::Products;
    use super::super::pass::{self, Half, PAD};
    use super::*;
    use crate::math::random::Random;
    use crate::solve::pair::weights::Equal;

    #[test]
    fn sums_by_sorting_are_those_over_pairs() {
        let mut random = Random::new(9);
        for (n, grades, different) in [(2, 2, 9), (40, 2, 1000), (90, 5, 12), (130, 130, 1000), (70, 70, 3)] {
            let labels: Vec<f64> = (0..n).map(|_| random.below(grades) as f64).collect();
            let x: Vec<f64> = (0..3 * n).map(|_| random.symmetric()).collect();
            let block = PairBlock::new(&x, &labels, 3).unwrap();
            let mut scores = vec![Lanes([PAD; lanes::LANES]); lanes::blocks_for(n)];
            for document in 0..n {
                *lanes::get_mut(&mut scores, document) =
                    4.0 * random.below(different) as f64 / different as f64;
            }
            for delta in [4.0, 0.7, 1e-3] {
                let scaled: Vec<Lanes> = scores.iter().map(|s| Lanes(s.0.map(|v| v / delta))).collect();
                let (mut g, mut expected) =
                    (vec![Lanes::ZERO; scores.len()], vec![Lanes::ZERO; scores.len()]);
                let found = pass(&block, &scores, delta, &mut g);
                let one = 1.0 / delta;
                let (hinge, total) = pass::pass(
                    block.start(),
                    (&scaled, one),
                    &mut Half,
                    Equal,
                    &mut Vec::new(),
                    &mut expected,
                );
                let near = |a: f64, b: f64| (a - b).abs() <= 1e-9 * (1.0 + b.abs());
                assert!(near(found.hinge, hinge * delta) && near(found.total, total), "{n} {delta}");
                assert!((0..n).all(|a| near(lanes::get(&g, a), lanes::get(&expected, a))), "{n} {delta}");
                let (mut laplacian, mut zone) = (Vec::new(), Vec::new());
                let pairs = zone_laplacian(&block, &scores, delta, 0.3, &mut laplacian);
                pass::zone(block.start(), &scaled, one, &Half, &mut zone);
                // Pairs at an end of the zone have no influence on the loss.
                assert!(pairs.abs_diff(zone.len() as u64) <= 4 + zone.len() as u64 / 4, "{n} {delta}");
                if different == 1000 {
                    assert_eq!(pairs, zone.len() as u64);
                    let expected = Products::default().laplacian_of(&block, &zone, 0.3);
                    assert!((0..8 * n).all(|i| near(lanes::get(&laplacian, i), lanes::get(&expected, i))));
                }
            }
        }
    }
}
