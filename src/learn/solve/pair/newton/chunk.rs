//! A chunk: consecutive queries of a problem, processed by one thread; and the line search on scores.
#![allow(clippy::inline_always)]

use super::hessian::{Precision, Products, add_long_zone};
use super::pass::{self, Center, Half, PAD, ScaledQuery, Stored, Update};
use super::sorted_pass;
use super::woodbury::ZonePair;
use crate::learn::solve::PairBlock;
use crate::learn::solve::pair::weights::{EightWeights, Equal};
use crate::math::{Lanes, lanes, simd};

/// Sums of a pass over all pairs.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PassSums {
    /// Sum of c L, where L is the hinge max(u, 0); c includes pair weights.
    pub loss: f64,
    /// Sum of alpha.
    pub alpha: f64,
    /// g's; sum of alpha u = sum of alpha - g's.
    pub g_scores: f64,
    /// g'Xd.
    pub g_direction: f64,
    /// Sum of |g (Xd)| over documents, a bound of the rounding of `g_direction`.
    pub g_direction_size: f64,
}

impl PassSums {
    /// The sums of all chunks.
    pub(super) fn total(chunks: &[Self]) -> Self {
        chunks.iter().fold(Self::default(), |sum, chunk| Self {
            loss: sum.loss + chunk.loss,
            alpha: sum.alpha + chunk.alpha,
            g_scores: sum.g_scores + chunk.g_scores,
            g_direction: sum.g_direction + chunk.g_direction,
            g_direction_size: sum.g_direction_size + chunk.g_direction_size,
        })
    }

    /// Slope of the objective in the current direction d, from the slope of the penalty.
    pub(super) fn slope(&self, penalty: f64) -> Slope {
        let noise = 1e-15 * (penalty.abs() + self.g_direction_size);
        Slope { value: penalty - self.g_direction, noise }
    }
}

/// One query of a chunk.
pub(super) struct ChunkQuery<'a> {
    pub block: &'a PairBlock,
    pub weight: f64,
    /// First block of the query's scores.
    scores: usize,
    /// Blocks of scores.
    pub blocks: usize,
    /// First block of the query's centers.
    pairs: usize,
    /// Number of the query's first document in the problem.
    first_document: usize,
}

impl ChunkQuery<'_> {
    /// The query's blocks of scores.
    #[inline(always)]
    pub(super) fn range(&self) -> std::ops::Range<usize> {
        self.scores..self.scores + self.blocks
    }
}

/// Consecutive queries with their scores and buffers.
pub(super) struct Chunk<'a> {
    pub parts: Vec<ChunkQuery<'a>>,
    /// Blocks of eight pairs.
    pub pair_blocks: usize,
    /// Scores at the last accepted point and at the point of the last pass.
    pub accepted: Vec<Lanes>,
    pub scores: Vec<Lanes>,
    /// Xd.
    pub direction_scores: Vec<Lanes>,
    /// g = c (row - column sums of p).
    pub g: Vec<Lanes>,
    /// Sums over the pairs of each document of one query.
    rows: Vec<pass::RowSums>,
    /// Scores of one query over delta.
    scaled: Vec<Lanes>,
    /// Centers p0 of all pairs; empty while they are 1/2.
    centers: Vec<Lanes>,
    /// Pairs of one query in the zone of the last Hessian, and their number in all queries.
    zone: Vec<(u32, u32)>,
    pub zone_pairs: u64,
    products: Products,
}

impl<'a> Chunk<'a> {
    /// A chunk with all scores zero; `first_document` is the number of its first document in the problem.
    pub(super) fn new(queries: Vec<(&'a PairBlock, f64)>, mut first_document: usize) -> Self {
        let (mut scores, mut pairs, mut longest) = (0, 0, 0);
        let mut parts = Vec::with_capacity(queries.len());
        let mut padded = Vec::new();
        for (block, weight) in queries {
            let blocks = lanes::blocks_for(block.n_docs());
            parts.push(ChunkQuery { block, weight, scores, blocks, pairs, first_document });
            first_document += block.n_docs();
            scores += blocks;
            pairs += pass::pair_blocks(&block.start);
            longest = longest.max(blocks);
            padded.resize(scores, Lanes::ZERO);
            for document in block.n_docs()..blocks * lanes::LANES {
                *lanes::get_mut(&mut padded[scores - blocks..], document) = PAD;
            }
        }
        Self {
            parts,
            pair_blocks: pairs,
            scores: padded.clone(),
            accepted: padded,
            direction_scores: vec![Lanes::ZERO; scores],
            g: vec![Lanes::ZERO; scores],
            rows: Vec::new(),
            scaled: vec![Lanes::ZERO; longest],
            centers: Vec::new(),
            zone: Vec::new(),
            zone_pairs: 0,
            products: Products::default(),
        }
    }

    /// Accepts the point of the last pass.
    pub(super) fn accept(&mut self) {
        std::mem::swap(&mut self.accepted, &mut self.scores);
    }

    /// Makes every center 1/2.
    pub(super) fn clear_centers(&mut self) {
        self.centers = Vec::new();
    }

    /// Largest margin of a pair at the accepted point.
    pub(super) fn largest_margin(&self) -> f64 {
        let margins = self
            .parts
            .iter()
            .map(|part| pass::largest_margin(&part.block.start, &self.accepted[part.range()]));
        margins.fold(f64::NEG_INFINITY, f64::max)
    }
}

/// `scaled` = (scores of one query) / delta.
#[inline(always)]
fn scale(scores: &[Lanes], inverse: f64, scaled: &mut [Lanes]) {
    for (target, score) in scaled.iter_mut().zip(scores) {
        *target = score.map(|value| value * inverse);
    }
}

/// Scores at (accepted scores) + step * Xd.
#[inline(always)]
pub(super) fn step_scores(accepted: &[Lanes], step: f64, direction_scores: &[Lanes], scores: &mut [Lanes]) {
    scores.copy_from_slice(accepted);
    if step != 0.0 {
        lanes::axpy(step, direction_scores, scores);
    }
}

/// Multiplies g by c and adds its products with the scores and with Xd. Padded documents have scores but g = 0.
#[inline(always)]
pub(super) fn finish(
    weight: f64,
    scores: &[Lanes],
    direction_scores: &[Lanes],
    g: &mut [Lanes],
    sums: &mut PassSums,
) {
    let (mut with_scores, mut with_direction, mut size) = (Lanes::ZERO, Lanes::ZERO, Lanes::ZERO);
    for ((g, s), d) in g.iter_mut().zip(scores).zip(direction_scores) {
        for lane in 0..lanes::LANES {
            g.0[lane] *= weight;
            with_scores.0[lane] += g.0[lane] * s.0[lane];
            let product = g.0[lane] * d.0[lane];
            with_direction.0[lane] += product;
            size.0[lane] += product.abs();
        }
    }
    sums.g_scores += with_scores.fold();
    sums.g_direction += with_direction.fold();
    sums.g_direction_size += size.fold();
}

simd! {
    /// out = X w.
    pub(super) fn write_scores<'c, 'a>(parts: &'c [ChunkQuery<'a>], w: &'c [Lanes], out: &'c mut [Lanes]) {
        for part in parts {
            let block = part.block;
            lanes::rows_times(&block.x, block.width, block.n_docs(), w, &mut out[part.range()]);
        }
    }
}

/// Passes over the pairs of one query around its stored centers, or around 1/2 without any.
#[inline(always)]
fn pass_query(
    query: ScaledQuery<'_>,
    centers: &[Lanes],
    weights: impl EightWeights,
    rows: &mut Vec<pass::RowSums>,
    g: &mut [Lanes],
) -> (f64, f64) {
    if centers.is_empty() {
        pass::pass(query, &mut Half, weights, rows, g)
    } else {
        pass::pass(query, &mut Stored(centers), weights, rows, g)
    }
}

simd! {
    /// Passes over all pairs at (accepted scores) + step * Xd.
    pub(super) fn pass<'c, 'a>(chunk: &'c mut Chunk<'a>, step: f64, delta: f64) -> PassSums {
        let Chunk { parts, accepted, scores, direction_scores, g, rows, scaled, centers, .. } = chunk;
        let inverse = 1.0 / delta;
        let mut sums = PassSums::default();
        for part in parts.iter() {
            // 1. The scores of the query, and the same divided by delta.
            let (scores, direction_scores, g) =
                (&mut scores[part.range()], &direction_scores[part.range()], &mut g[part.range()]);
            step_scores(&accepted[part.range()], step, direction_scores, scores);
            let scaled = &mut scaled[..part.blocks];
            scale(scores, inverse, scaled);
            // 2. The pairs of the query, around the stored centers if there are any.
            g.fill(Lanes::ZERO);
            let query = ScaledQuery { start: &part.block.start, scores: scaled, one: inverse };
            let centers = centers.get(part.pairs..).unwrap_or_default();
            let (hinge, alpha) = match part.block.weights() {
                None if centers.is_empty() && sorted_pass::is_long(part.block) => {
                    let (loss, total) = sorted_pass::pass(part.block, scores, delta, g);
                    (loss * inverse, total)
                }
                None => pass_query(query, centers, Equal, rows, g),
                Some(weights) => pass_query(query, centers, weights, rows, g),
            };
            // The query's sums, weighted.
            sums.loss += part.weight * (hinge * delta);
            sums.alpha += part.weight * alpha;
            finish(part.weight, scores, direction_scores, g, &mut sums);
        }
        sums
    }
}

simd! {
    /// out += X'g.
    pub(super) fn transpose_times<'c, 'a>(chunk: &'c Chunk<'a>, out: &'c mut [Lanes]) {
        for part in &chunk.parts {
            let (block, g) = (part.block, &chunk.g[part.range()]);
            lanes::columns_times(&block.x, block.width, block.n_docs(), g, out);
        }
    }
}

/// Prepares products of this precision, of queries times this factor.
fn become_precise(products: &mut Products, parts: &[ChunkQuery<'_>], precision: Precision, factor: f64) {
    if let (Precision::Single, Some(part)) = (precision, parts.first()) {
        let largest = parts.iter().map(|part| part.weight).fold(0.0, f64::max);
        products.become_single(part.block.width, factor * largest);
    }
}

/// A query's pairs in the zone.
#[inline(always)]
fn find_zone(
    part: &ChunkQuery<'_>,
    accepted: &[Lanes],
    scaled: &mut [Lanes],
    inverse: f64,
    centers: &[Lanes],
    zone: &mut Vec<(u32, u32)>,
) {
    let scaled = &mut scaled[..part.blocks];
    scale(&accepted[part.range()], inverse, scaled);
    let query = ScaledQuery { start: &part.block.start, scores: scaled, one: inverse };
    zone.clear();
    if centers.is_empty() {
        pass::zone(query, &Half, zone);
    } else {
        pass::zone(query, &Stored(&centers[part.pairs..]), zone);
    }
}

simd! {
    /// The pairs in the zone at the accepted point, weighted with c / delta; `None` if they are more than `most`.
    pub(super) fn zone_pairs<'c, 'a>(chunk: &'c mut Chunk<'a>, delta: f64, most: usize) -> Option<Vec<ZonePair>> {
        let Chunk { parts, accepted, scaled, centers, zone, .. } = chunk;
        let inverse = 1.0 / delta;
        let mut pairs = Vec::new();
        for part in parts.iter() {
            find_zone(part, accepted, scaled, inverse, centers, zone);
            if pairs.len() + zone.len() > most {
                return None;
            }
            for &(a, b) in zone.iter() {
                let [better, worse] = [a, b].map(|document| document + part.first_document as u32);
                let weight = part.weight * inverse * part.block.pair_weight(a as usize, b as usize);
                pairs.push(ZonePair { better, worse, weight });
            }
        }
        Some(pairs)
    }
}

simd! {
    /// out += sum of (c / delta) z z' over the zone at the accepted point.
    pub(super) fn add_hessian<'c, 'a>(chunk: &'c mut Chunk<'a>, delta: f64, precision: Precision, out: &'c mut [Lanes]) {
        let Chunk { parts, accepted, scaled, centers, zone, zone_pairs, products, .. } = chunk;
        let inverse = 1.0 / delta;
        *zone_pairs = 0;
        become_precise(products, parts, precision, inverse);
        for part in parts.iter() {
            if centers.is_empty() && sorted_pass::is_long(part.block) {
                *zone_pairs += add_long_zone(part.block, &accepted[part.range()], delta, part.weight, out);
                continue;
            }
            find_zone(part, accepted, scaled, inverse, centers, zone);
            *zone_pairs += zone.len() as u64;
            products.add_pairs(part.block, zone, part.weight * inverse, out);
        }
        if let Some(part) = parts.first() {
            products.finish(part.block.width, out);
        }
        products.end_single(out);
    }
}

simd! {
    /// out += sum of c z z' over all pairs.
    pub(super) fn add_moment<'c, 'a>(chunk: &'c mut Chunk<'a>, precision: Precision, out: &'c mut [Lanes]) {
        become_precise(&mut chunk.products, &chunk.parts, precision, 1.0);
        for part in &chunk.parts {
            chunk.products.add_moment(part.block, part.weight, out);
        }
        chunk.products.end_single(out);
    }
}

simd! {
    /// Replaces every center by the p of the accepted point.
    pub(super) fn update_centers<'c, 'a>(chunk: &'c mut Chunk<'a>, delta: f64) {
        let Chunk { parts, pair_blocks, accepted, g, rows, scaled, centers, .. } = chunk;
        if centers.is_empty() {
            centers.resize(*pair_blocks, Half.get(0));
        }
        let inverse = 1.0 / delta;
        for part in parts.iter() {
            let scaled = &mut scaled[..part.blocks];
            scale(&accepted[part.range()], inverse, scaled);
            let mut update = Update(&mut centers[part.pairs..]);
            let query = ScaledQuery { start: &part.block.start, scores: scaled, one: inverse };
            pass::pass(query, &mut update, Equal, rows, &mut g[part.range()]);
        }
    }
}

// Line search on scores: a step t > 0 at which the slope of the smoothed objective has become small.
//
// phi(t) is convex, so the minimum is on the side of t given by the sign of phi'(t). t = 1 is tried first; a step is
// accepted if |phi'(t)| <= 0.3 |phi'(0)|. Otherwise the secant gives the next step: inside the middle of the bracket,
// or up to four times the step while there is no bracket. A jump of the slope makes the secant slow. So if a step has
// not halved the bracket, the next one cuts it in half, or to a tenth while its lower end is zero. Cost one pass over
// the pairs per step.

/// Fraction of the first slope that is accepted.
const REMAINING_SLOPE: f64 = 0.3;
/// Largest number of steps tried.
const MOST_STEPS: usize = 50;

/// Slope at a step, and the size below which it is rounding.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slope {
    pub value: f64,
    pub noise: f64,
}

/// The step found; the last call of `slope` was made there. `None` if no step is certain to decrease the objective.
pub(super) fn search(slope_at_zero: f64, mut slope: impl FnMut(f64) -> Slope) -> Option<f64> {
    let (mut low, mut low_slope) = (0.0, slope_at_zero);
    let mut high: Option<(f64, f64)> = None;
    let mut step = 1.0;
    let mut slow = false;
    for _ in 0..MOST_STEPS {
        let Slope { value, noise } = slope(step);
        if value.abs() <= REMAINING_SLOPE * slope_at_zero.abs() || value.abs() <= noise {
            return Some(step);
        }
        let length = high.map_or(f64::INFINITY, |(high, _)| high - low);
        if value > 0.0 {
            high = Some((step, value));
        } else {
            (low, low_slope) = (step, value);
        }
        // A cut is always followed by a secant.
        slow = !slow && high.is_some_and(|(high, _)| high - low > 0.5 * length);
        step = match high {
            Some((high, _)) if slow => low + (high - low) * if low > 0.0 { 0.5 } else { 0.1 },
            _ => next_step(low, low_slope, high, slope_at_zero),
        };
        if !step.is_finite() {
            return None;
        }
    }
    (low > 0.0).then(|| {
        slope(low);
        low
    })
}

/// The secant's step, kept inside the bracket.
fn next_step(low: f64, low_slope: f64, high: Option<(f64, f64)>, slope_at_zero: f64) -> f64 {
    if let Some((high, high_slope)) = high {
        let fraction = (-low_slope / (high_slope - low_slope)).clamp(0.1, 0.9);
        return low + fraction * (high - low);
    }
    let secant = low * slope_at_zero / (slope_at_zero - low_slope);
    if secant > 1.5 * low { secant.min(4.0 * low) } else { 1.5 * low }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_minimum_is_found_on_either_side_of_one() {
        for minimum in [1e-4, 0.3, 1.0, 7.0, 1e3] {
            let slope = |t: f64| Slope { value: if t < minimum { -1.0 } else { t - minimum }, noise: 0.0 };
            let step = search(-1.0, slope).unwrap_or(f64::NAN);
            assert!(slope(step).value.abs() <= 0.3 || step > 0.9 * minimum, "{minimum}: {step}");
        }
    }

    #[test]
    fn a_slope_that_never_falls_ends_the_search() {
        assert!(search(-1.0, |_| Slope { value: 1.0, noise: 0.0 }).is_none());
    }
}
