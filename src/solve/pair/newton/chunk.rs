//! Consecutive queries that are worked on together, and the kernels that run over them on one thread.
#![allow(clippy::inline_always)]

use super::hessian::Products;
use super::line::Slope;
use super::pass::{self, Center, Half, PAD, Stored, Update};
use crate::math::lanes::{self, Lanes};
use crate::math::simd::SimdTask;
use crate::solve::PairBlock;

/// Where a pass stands.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sums {
    /// Sum of c L, of the hinge c max(u, 0).
    pub loss: f64,
    /// Sum of alpha.
    pub alpha: f64,
    /// g's, so that sum of alpha u = sum of alpha - g's.
    pub g_scores: f64,
    /// g'Xd direction_scores the current direction.
    pub g_direction: f64,
    /// Sum of |g (Xd)| over documents, which bounds the rounding of `g_direction`.
    pub g_direction_size: f64,
}

impl Sums {
    /// Adds the sums of another chunk.
    pub(super) fn add(&mut self, other: &Self) {
        self.loss += other.loss;
        self.alpha += other.alpha;
        self.g_scores += other.g_scores;
        self.g_direction += other.g_direction;
        self.g_direction_size += other.g_direction_size;
    }

    /// Slope of the objective direction_scores the current direction, from that of the penalty.
    pub(super) fn slope(&self, penalty: f64) -> Slope {
        let noise = 1e-15 * (penalty.abs() + self.g_direction_size);
        Slope { value: penalty - self.g_direction, noise }
    }
}

/// One query of a chunk.
pub(super) struct Part<'a> {
    pub block: &'a PairBlock,
    pub weight: f64,
    /// First block of the query's scores.
    scores: usize,
    /// Blocks of scores.
    pub blocks: usize,
    /// First block of the query's centers.
    pairs: usize,
}

impl Part<'_> {
    /// The query's place among the scores.
    #[inline(always)]
    pub(super) fn range(&self) -> std::ops::Range<usize> {
        self.scores..self.scores + self.blocks
    }
}

/// Consecutive queries that are worked on together.
pub(super) struct Chunk<'a> {
    pub parts: Vec<Part<'a>>,
    pair_blocks: usize,
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
    /// Pairs of one query in the quadratic zone, and the number of those of all queries.
    zone: Vec<(u32, u32)>,
    zone_pairs: u64,
    products: Products,
}

impl<'a> Chunk<'a> {
    /// A chunk with all scores zero.
    pub(super) fn new(queries: Vec<(&'a PairBlock, f64)>) -> Self {
        let (mut scores, mut pairs, mut longest) = (0, 0, 0);
        let mut parts = Vec::with_capacity(queries.len());
        let mut padded = Vec::new();
        for (block, weight) in queries {
            let blocks = lanes::blocks_for(block.n_docs());
            parts.push(Part { block, weight, scores, blocks, pairs });
            scores += blocks;
            pairs += pass::pair_blocks(block.start());
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

    /// Blocks of eight pairs.
    pub(super) fn pair_blocks(&self) -> usize {
        self.pair_blocks
    }

    /// Pairs in the zone of the last Hessian.
    pub(super) fn zone_pairs(&self) -> u64 {
        self.zone_pairs
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
            .map(|part| pass::largest_margin(part.block.start(), &self.accepted[part.range()]));
        margins.fold(f64::NEG_INFINITY, f64::max)
    }
}

/// `scaled` = (scores of one query) / delta.
#[inline(always)]
fn scale(scores: &[Lanes], inverse: f64, scaled: &mut [Lanes]) {
    for (target, score) in scaled.iter_mut().zip(scores) {
        *target = Lanes(score.0.map(|value| value * inverse));
    }
}

/// Accepts the point w.
pub(super) struct SetPoint<'c, 'a> {
    pub chunk: &'c mut Chunk<'a>,
    pub w: &'c [Lanes],
}

impl SimdTask for SetPoint<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for part in &self.chunk.parts {
            let scores = &mut self.chunk.accepted[part.range()];
            lanes::rows_times(part.block.x(), part.block.width(), part.block.n_docs(), self.w, scores);
        }
    }
}

/// Computes Xd.
pub(super) struct SetDirection<'c, 'a> {
    pub chunk: &'c mut Chunk<'a>,
    pub d: &'c [Lanes],
}

impl SimdTask for SetDirection<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for part in &self.chunk.parts {
            let direction_scores = &mut self.chunk.direction_scores[part.range()];
            lanes::rows_times(
                part.block.x(),
                part.block.width(),
                part.block.n_docs(),
                self.d,
                direction_scores,
            );
        }
    }
}

/// Passes over all pairs at (accepted scores) + step * Xd.
pub(super) struct Pass<'c, 'a> {
    pub chunk: &'c mut Chunk<'a>,
    pub step: f64,
    pub delta: f64,
}

impl SimdTask for Pass<'_, '_> {
    type Output = Sums;

    #[inline(always)]
    fn run(self) -> Sums {
        let Chunk { parts, accepted, scores, direction_scores, g, rows, scaled, centers, .. } = self.chunk;
        let inverse = 1.0 / self.delta;
        let mut sums = Sums::default();
        for part in parts.iter() {
            let (scores, direction_scores, g) =
                (&mut scores[part.range()], &direction_scores[part.range()], &mut g[part.range()]);
            scores.copy_from_slice(&accepted[part.range()]);
            if self.step != 0.0 {
                lanes::axpy(self.step, direction_scores, scores);
            }
            let scaled = &mut scaled[..part.blocks];
            scale(scores, inverse, scaled);
            g.fill(Lanes::ZERO);
            let start = part.block.start();
            let (hinge, alpha) = if centers.is_empty() {
                pass::pass(start, scaled, inverse, &mut Half, rows, g)
            } else {
                pass::pass(start, scaled, inverse, &mut Stored(&centers[part.pairs..]), rows, g)
            };
            sums.loss += part.weight * (hinge * self.delta);
            sums.alpha += part.weight * alpha;
            finish(part.weight, scores, direction_scores, g, &mut sums);
        }
        sums
    }
}

/// Scales the g by c and adds its products with the scores and the direction. Scores of documents that do not
/// exist meet a g of zero.
#[inline(always)]
pub(super) fn finish(
    weight: f64,
    scores: &[Lanes],
    direction_scores: &[Lanes],
    g: &mut [Lanes],
    sums: &mut Sums,
) {
    let (mut with_scores, mut with_along, mut size) = (Lanes::ZERO, Lanes::ZERO, Lanes::ZERO);
    for ((g, s), d) in g.iter_mut().zip(scores).zip(direction_scores) {
        for lane in 0..lanes::LANES {
            g.0[lane] *= weight;
            with_scores.0[lane] += g.0[lane] * s.0[lane];
            let product = g.0[lane] * d.0[lane];
            with_along.0[lane] += product;
            size.0[lane] += product.abs();
        }
    }
    sums.g_scores += with_scores.fold();
    sums.g_direction += with_along.fold();
    sums.g_direction_size += size.fold();
}

/// Adds X'g.
pub(super) struct TransposeTimes<'c, 'a> {
    pub chunk: &'c mut Chunk<'a>,
    pub out: &'c mut [Lanes],
}

impl SimdTask for TransposeTimes<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for part in &self.chunk.parts {
            let g = &self.chunk.g[part.range()];
            lanes::columns_times(part.block.x(), part.block.width(), part.block.n_docs(), g, self.out);
        }
    }
}

/// Adds (c / delta) z z' over the zone at the accepted point.
pub(super) struct Hessian<'c, 'a> {
    pub chunk: &'c mut Chunk<'a>,
    pub delta: f64,
    pub out: &'c mut [Lanes],
}

impl SimdTask for Hessian<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Chunk { parts, accepted, scaled, centers, zone, zone_pairs, products, .. } = self.chunk;
        let inverse = 1.0 / self.delta;
        *zone_pairs = 0;
        for part in parts.iter() {
            let scaled = &mut scaled[..part.blocks];
            scale(&accepted[part.range()], inverse, scaled);
            zone.clear();
            if centers.is_empty() {
                pass::zone(part.block.start(), scaled, inverse, &Half, zone);
            } else {
                pass::zone(part.block.start(), scaled, inverse, &Stored(&centers[part.pairs..]), zone);
            }
            *zone_pairs += zone.len() as u64;
            products.add_pairs(part.block, zone, part.weight * inverse, self.out);
        }
        if let Some(part) = parts.first() {
            products.finish(part.block.width(), self.out);
        }
    }
}

/// Adds c z z' over all pairs.
pub(super) struct Moment<'c, 'a> {
    pub chunk: &'c mut Chunk<'a>,
    pub out: &'c mut [Lanes],
}

impl SimdTask for Moment<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for part in &self.chunk.parts {
            self.chunk.products.add_moment(part.block, part.weight, self.out);
        }
    }
}

/// Replaces every center by the p of the accepted point.
pub(super) struct UpdateCenters<'c, 'a> {
    pub chunk: &'c mut Chunk<'a>,
    pub delta: f64,
}

impl SimdTask for UpdateCenters<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Chunk { parts, pair_blocks, accepted, g, rows, scaled, centers, .. } = self.chunk;
        if centers.is_empty() {
            centers.resize(*pair_blocks, Half.get(0));
        }
        let inverse = 1.0 / self.delta;
        for part in parts.iter() {
            let scaled = &mut scaled[..part.blocks];
            scale(&accepted[part.range()], inverse, scaled);
            let mut update = Update(&mut centers[part.pairs..]);
            pass::pass(part.block.start(), scaled, inverse, &mut update, rows, &mut g[part.range()]);
        }
    }
}
