//! The logistic loss over all pairs of a query, eight pairs at a time.
//!
//! With e_l = exp(s_l - c) and f_j = exp(c - s_j) a pair has x = exp(s_l - s_j) = f_j e_l, the loss log(1 + x) and the
//! slope -x / (1 + x): a fourth of a division and no exponential. Logs of several pairs are taken as one log of their
//! product. Above s_l - s_j = 40 the loss is that difference and the slope -1, to the last digit: x stays at exp(40),
//! and what the difference has above 40 is added.

#![allow(clippy::inline_always, reason = "compiled again for wider registers")]

use crate::base::Ticks;
use crate::math::{LANES, Lanes, descending, simd};

/// Operations, for [`Ticks`], of eight pairs.
const TILE_COST: usize = 8;

/// The largest range of scores: the exponentials of half of it are within the limits of numbers.
const MOST_RANGE: f64 = 1400.0;

/// The largest logarithm of x.
const LINEAR: f64 = 40.0;

/// Documents of equal grade that share divisions.
const GROUP: usize = 4;

/// Padding score: no difference from it is above [`LINEAR`].
const NONE: f64 = f64::MIN;

/// Bits of a product, and most factors.
const BITS: f64 = 1000.0;
const FACTORS: f64 = 64.0;

/// The sum of the loss over all pairs; adds the slopes to the last argument. `None` if the scores have too large a range.
pub fn value_and_slopes(labels: &[f64], scores: &[f64], slopes: &mut [f64]) -> Option<f64> {
    let lowest = scores.iter().copied().fold(f64::INFINITY, f64::min);
    let highest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let range = highest - lowest;
    // Also false for NaN.
    if !(0.0..=MOST_RANGE).contains(&range) {
        return None;
    }
    let order = descending(labels);
    let center = lowest + 0.5 * range;
    let n = order.len();
    let mut powers = vec![Lanes::ZERO; n.div_ceil(LANES)];
    let mut sorted = vec![Lanes([NONE; LANES]); powers.len()];
    for (at, document) in order.iter().enumerate() {
        powers[at / LANES].0[at % LANES] = libm::exp(scores[*document] - center);
        sorted[at / LANES].0[at % LANES] = scores[*document];
    }
    let mut pairs = Pairs {
        powers: &powers,
        scores: &sorted,
        largest: libm::exp(LINEAR),
        is_far: range > LINEAR,
        factors: ((BITS / (range.min(LINEAR) * std::f64::consts::LOG2_E + 1.0)).min(FACTORS)) as usize,
        lower: vec![Lanes::ZERO; powers.len()],
        higher: vec![0.0; n],
        value: 0.0,
    };
    // The documents of a grade have the same lower ones.
    let mut first = 0;
    for grade in order.chunk_by(|a, b| labels[*a] <= labels[*b]) {
        let higher = |document: &usize| (libm::exp(center - scores[*document]), scores[*document]);
        rows(&mut pairs, &grade.iter().map(higher).collect::<Vec<_>>(), first);
        first += grade.len();
    }
    for (at, document) in order.iter().enumerate() {
        slopes[*document] += pairs.lower[at / LANES].0[at % LANES] - pairs.higher[at];
    }
    Some(pairs.value)
}

/// The pairs of a query, by the order of the labels.
struct Pairs<'a> {
    /// e, padded with 0.
    powers: &'a [Lanes],
    /// Scores, padded with [`NONE`].
    scores: &'a [Lanes],
    /// The largest x.
    largest: f64,
    /// Whether scores differ by more than [`LINEAR`].
    is_far: bool,
    /// Factors of a product.
    factors: usize,
    /// For each document the sum of x / (1 + x) over the pairs in which it is the lower one; the higher one.
    lower: Vec<Lanes>,
    higher: Vec<f64>,
    value: f64,
}

simd! {
    /// Adds the pairs of a grade's documents, given by f and score; `first` is the position of the first one.
    fn rows<'s, 'a>(pairs: &'s mut Pairs<'a>, grade: &'s [(f64, f64)], first: usize) {
        let mut product = Product { factors: Lanes([1.0; LANES]), left: pairs.factors, logarithms: 0.0 };
        let start = first + grade.len();
        let (groups, rest) = grade.as_chunks::<GROUP>();
        let (mut ticks, mut row) = (Ticks::default(), first);
        for group in groups {
            ticks.add(TILE_COST * pairs.powers.len());
            if pairs.is_far {
                group_of::<GROUP, true>(pairs, group, row, start, &mut product);
            } else {
                group_of::<GROUP, false>(pairs, group, row, start, &mut product);
            }
            row += GROUP;
        }
        for one in rest {
            ticks.add(TILE_COST * pairs.powers.len());
            group_of::<1, true>(pairs, &[*one], row, start, &mut product);
            row += 1;
        }
        pairs.value += product.logarithms + logarithm(&product.factors);
    }
}

/// A product whose logarithm is added to a sum.
struct Product {
    factors: Lanes,
    /// Factors until it may leave the limits of numbers.
    left: usize,
    logarithms: f64,
}

#[inline(never)]
fn logarithm(product: &Lanes) -> f64 {
    product.0.iter().map(|value| libm::log(*value)).sum()
}

/// Adds the pairs of N documents of a grade, from this row on, and all documents from `start` on. One
/// division gives the N slopes of eight documents: 1 / a = b / (a b). `FAR`: whether scores may differ by more than
/// [`LINEAR`].
#[inline(always)]
fn group_of<const N: usize, const FAR: bool>(
    pairs: &mut Pairs<'_>,
    group: &[(f64, f64); N],
    row: usize,
    start: usize,
    product: &mut Product,
) {
    let (block, hidden) = (start / LANES, start % LANES);
    let (mut sums, mut linear, largest) = ([Lanes::ZERO; N], Lanes::ZERO, pairs.largest);
    let Product { mut factors, mut left, .. } = *product;
    for (index, lower) in pairs.lower.iter_mut().enumerate().skip(block) {
        let (mut power, mut other) = (pairs.powers[index], pairs.scores[index]);
        if index == block {
            power.0[..hidden].fill(0.0);
            other.0[..hidden].fill(NONE);
        }
        // 1. x and 1 + x of each pair, and the products of those before it.
        let (mut x, mut before) = ([Lanes::ZERO; N], [Lanes::ZERO; N]);
        let mut all = Lanes([1.0; LANES]);
        for r in 0..N {
            let (inverse, end) = (group[r].0, group[r].1 + LINEAR);
            for lane in 0..LANES {
                let mut power = inverse * power.0[lane];
                if FAR {
                    power = if power < largest { power } else { largest };
                    let above = other.0[lane] - end;
                    linear.0[lane] += if above > 0.0 { above } else { 0.0 };
                }
                x[r].0[lane] = power;
                before[r].0[lane] = all.0[lane];
                all.0[lane] *= 1.0 + power;
            }
        }
        // 2. The slopes, from the last one to the first.
        let mut rest = Lanes::ZERO;
        for lane in 0..LANES {
            factors.0[lane] *= all.0[lane];
            rest.0[lane] = 1.0 / all.0[lane];
        }
        for r in (0..N).rev() {
            for lane in 0..LANES {
                let slope = x[r].0[lane] * (before[r].0[lane] * rest.0[lane]);
                sums[r].0[lane] += slope;
                lower.0[lane] += slope;
                rest.0[lane] *= 1.0 + x[r].0[lane];
            }
        }
        left = left.saturating_sub(N);
        if left < GROUP {
            product.logarithms += logarithm(&factors);
            (factors, left) = (Lanes([1.0; LANES]), pairs.factors);
        }
    }
    for (higher, sum) in pairs.higher[row..].iter_mut().zip(&sums) {
        *higher = sum.fold();
    }
    product.logarithms += linear.fold();
    (product.factors, product.left) = (factors, left);
}
