//! Computes the logistic loss over all pairs of a query, eight pairs at a time.
//!
//! Let e_l = exp(s_l - c) and f_j = exp(c - s_j), so that x = exp(s_l - s_j) = f_j e_l. A pair has the loss log(1 + x)
//! and the slope -x / (1 + x), which cost a fourth of a division and no exponential. Instead of one logarithm per pair,
//! the logarithm of a product over several pairs is computed. If s_l - s_j is above 40, the loss equals this difference
//! and the slope equals -1, to the last digit. Then x is limited to exp(40), and the part of the difference above 40 is
//! added to the loss.

#![allow(clippy::inline_always, reason = "compiled again for wider registers")]

use crate::base::Ticks;
use crate::math::{LANES, Lanes, descending, simd};

/// Number of operations, for [`Ticks`], that eight pairs take.
const TILE_COST: usize = 8;

/// The largest range of scores. The exponential of half this range neither overflows nor underflows.
const MOST_RANGE: f64 = 1400.0;

/// The largest value of log(x); above it, the loss is linear.
const LINEAR: f64 = 40.0;

/// Number of documents of equal grade that share a division.
const GROUP: usize = 4;

/// The score of padding entries, so low that no difference s_l - s_j is above [`LINEAR`].
const NONE: f64 = f64::MIN;

/// Limits of a product: its binary exponent, and the number of its factors.
const BITS: f64 = 1000.0;
const FACTORS: f64 = 64.0;

/// Returns the sum of the loss over all pairs and adds the slopes to `slopes`. Returns `None` if the range of the
/// scores is too large.
pub fn value_and_slopes(labels: &[f64], scores: &[f64], slopes: &mut [f64]) -> Option<f64> {
    let lowest = scores.iter().copied().fold(f64::INFINITY, f64::min);
    let highest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let range = highest - lowest;
    // This test also rejects NaN.
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
    // All documents of a grade are paired with the same less relevant documents.
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

/// The pairs of a query, with documents sorted by label.
struct Pairs<'a> {
    /// The e_l of the documents, padded with 0.
    powers: &'a [Lanes],
    /// The scores of the documents, padded with [`NONE`].
    scores: &'a [Lanes],
    /// The limit of x: exp of [`LINEAR`].
    largest: f64,
    /// Whether any two scores differ by more than [`LINEAR`].
    is_far: bool,
    /// Maximum number of factors in a product.
    factors: usize,
    /// For each document, the sum of x / (1 + x) over the pairs in which it is the less relevant one, and (`higher`)
    /// over the pairs in which it is the more relevant one.
    lower: Vec<Lanes>,
    higher: Vec<f64>,
    value: f64,
}

simd! {
    /// Adds the pairs in which the documents of one grade are the more relevant ones. `grade`: f and the score of each
    /// document; `first`: the position of the first document.
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

/// A running product. When it has enough factors, its logarithm is added to a sum.
struct Product {
    factors: Lanes,
    /// Number of factors that can still be multiplied without overflow.
    left: usize,
    logarithms: f64,
}

#[inline(never)]
fn logarithm(product: &Lanes) -> f64 {
    product.0.iter().map(|value| libm::log(*value)).sum()
}

/// Adds the pairs between N documents of one grade, the first of them at `row`, and all documents from `start` on.
/// Since 1 / a = b / (a b), one division gives the N slopes for each of the other documents. `FAR`: whether scores may
/// differ by more than [`LINEAR`].
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
        // 1. Compute x for each pair, and the product of 1 + x over the pairs before it.
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
        // 2. Compute the slopes, from the last document to the first.
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
