//! The logistic loss over all pairs of a query, eight pairs at a time.
//!
//! With e_l = exp(s_l - c) and f_j = exp(c - s_j) a pair has x = exp(s_l - s_j) = f_j e_l, the loss log(1 + x) and the slope
//! -x / (1 + x): one division and no exponential. The logarithms of some pairs are that of a product.

#![allow(clippy::inline_always, reason = "compiled again for wider registers")]

use crate::control::Ticks;
use crate::math::lanes::{LANES, Lanes};
use crate::math::order::descending;
use crate::math::simd::simd;

/// Operations, for [`Ticks`], of eight pairs.
const TILE_COST: usize = 8;

/// The largest range of scores: exponentials and their products stay far from the limits of numbers.
const MOST_RANGE: f64 = 600.0;

/// Bits of a product, and most factors.
const BITS: f64 = 1000.0;
const FACTORS: f64 = 64.0;

/// The sum of the loss over all pairs; adds the slopes to the last argument. `None` if the scores have too large a range.
pub fn value_and_slopes(labels: &[f64], scores: &[f64], slopes: &mut [f64]) -> Option<f64> {
    let lowest = scores.iter().copied().fold(f64::INFINITY, f64::min);
    let highest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let range = highest - lowest;
    // Also false for scores that are no numbers.
    if !(0.0..=MOST_RANGE).contains(&range) {
        return None;
    }
    let order = descending(labels);
    let center = lowest + 0.5 * range;
    let n = order.len();
    let mut powers = vec![Lanes::ZERO; n.div_ceil(LANES)];
    for (at, document) in order.iter().enumerate() {
        powers[at / LANES].0[at % LANES] = libm::exp(scores[*document] - center);
    }
    let mut pairs = Pairs {
        powers: &powers,
        factors: ((BITS / (range * std::f64::consts::LOG2_E + 1.0)).min(FACTORS)) as usize,
        lower: vec![Lanes::ZERO; powers.len()],
        higher: vec![0.0; n],
        value: 0.0,
    };
    // The documents of a grade have the same lower ones.
    let mut first = 0;
    for grade in order.chunk_by(|a, b| labels[*a] <= labels[*b]) {
        let inverses: Vec<f64> = grade.iter().map(|document| libm::exp(center - scores[*document])).collect();
        rows(&mut pairs, &inverses, first);
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
    /// Factors of a product.
    factors: usize,
    /// For each document the sum of x / (1 + x) over the pairs in which it is the lower one; the higher one.
    lower: Vec<Lanes>,
    higher: Vec<f64>,
    value: f64,
}

simd! {
    /// Adds the pairs of the documents of a grade, with these f, the first of which is at this position.
    fn rows<'s, 'a>(pairs: &'s mut Pairs<'a>, inverses: &'s [f64], first: usize) {
        let start = first + inverses.len();
        let (block, hidden) = (start / LANES, start % LANES);
        let mut ticks = Ticks::default();
        let (mut product, mut left) = (Lanes([1.0; LANES]), pairs.factors);
        for (row, inverse) in inverses.iter().enumerate() {
            let mut sum = Lanes::ZERO;
            ticks.add(TILE_COST * (pairs.powers.len() - block.min(pairs.powers.len())));
            for (index, (power, lower)) in pairs.powers.iter().zip(&mut pairs.lower).enumerate().skip(block) {
                let mut power = *power;
                if index == block {
                    power.0[..hidden].fill(0.0);
                }
                for lane in 0..LANES {
                    let x = inverse * power.0[lane];
                    let more = 1.0 + x;
                    let slope = x / more;
                    sum.0[lane] += slope;
                    lower.0[lane] += slope;
                    product.0[lane] *= more;
                }
                left -= 1;
                if left == 0 {
                    pairs.value += product.0.iter().map(|value| libm::log(*value)).sum::<f64>();
                    (product, left) = (Lanes([1.0; LANES]), pairs.factors);
                }
            }
            pairs.higher[first + row] = sum.fold();
        }
        pairs.value += product.0.iter().map(|value| libm::log(*value)).sum::<f64>();
    }
}
