//! Passes and Hessians of losses with a curvature, in score space.
//!
//! A pair with margin m = `s_a - s_b` has the negative slope p = -L'(m) >= 0 and the curvature k = L''(m) >= 0; alpha =
//! c p is the dual point of the scores. The Hessian of a query is X' L X, where L is the Laplacian of its pairs with
//! weights c k. L is dense for these losses: L X costs 2 n^2 b, and the product with X another n b^2.
#![allow(clippy::inline_always)]

use super::chunk::{self, Chunk, PassSums};
use super::pass::HIDE;
use crate::base::Ticks;
use crate::learn::solve::PairBlock;
use crate::learn::solve::pair::weights::{EightWeights, Equal};
use crate::math::lanes::exp_of_minus;
use crate::math::{LANES, Lanes, gram, lanes, simd};

/// A loss as a function of the margin, for eight pairs at a time. A margin of 1e30 means padding and must give zeros.
pub(super) trait Curve: Copy + Send + Sync {
    /// p = -L'; adds the loss to a sum.
    fn negative_slope(self, margin: &Lanes, loss: &mut LossSum) -> Lanes;
    /// k = L''.
    fn curvature(self, margin: &Lanes) -> Lanes;
    /// The same loss, whose k also includes pairs that have a curvature at a margin smaller by `reach`.
    #[must_use]
    fn reaching(self, _reach: f64) -> Self {
        self
    }
    /// p and k of a pair of margin 0.
    fn at_zero(self) -> (f64, f64) {
        (self.negative_slope(&Lanes::ZERO, &mut LossSum::new()).0[0], self.curvature(&Lanes::ZERO).0[0])
    }
}

/// A sum of losses: `plain` plus the logarithm of `product`, lane by lane.
pub(super) struct LossSum {
    plain: Lanes,
    product: Lanes,
    /// Factors in `product`, each at most 2.
    factors: u32,
    logarithms: f64,
}

impl LossSum {
    /// Factors of at most 2 that a product holds without overflow.
    const MOST_FACTORS: u32 = 1000;

    fn new() -> Self {
        Self { plain: Lanes::ZERO, product: Lanes([1.0; LANES]), factors: 0, logarithms: 0.0 }
    }

    /// Adds the logarithm of `factor`, which is at most 2 in every lane.
    #[inline(always)]
    fn add_logarithm(&mut self, factor: &Lanes) {
        for lane in 0..LANES {
            self.product.0[lane] *= factor.0[lane];
        }
        self.factors += 1;
        if self.factors == Self::MOST_FACTORS {
            self.take_logarithms();
        }
    }

    #[inline(never)]
    fn take_logarithms(&mut self) {
        self.logarithms += self.product.map(libm::log).fold();
        self.product = Lanes([1.0; LANES]);
        self.factors = 0;
    }

    /// Adds another curve's sums, times these weights.
    #[inline(always)]
    fn add_weighted(&mut self, other: &Self, times: impl Fn(Lanes) -> Lanes) {
        let mut value = other.plain;
        if other.factors > 0 {
            value.add_scaled(1.0, &other.product.map(libm::log));
        }
        self.plain.add_scaled(1.0, &times(value));
    }

    fn total(mut self) -> f64 {
        self.take_logarithms();
        self.plain.fold() + self.logarithms
    }
}

/// max(0, 1 - m)^2; k is 2 for margins below 1 + `reach`.
#[derive(Clone, Copy, Default)]
pub(super) struct SquaredHinge {
    reach: f64,
}

impl Curve for SquaredHinge {
    #[inline(always)]
    fn negative_slope(self, margin: &Lanes, loss: &mut LossSum) -> Lanes {
        let mut p = Lanes::ZERO;
        for lane in 0..LANES {
            let u = 1.0 - margin.0[lane];
            let u = if u > 0.0 { u } else { 0.0 };
            loss.plain.0[lane] += u * u;
            p.0[lane] = 2.0 * u;
        }
        p
    }

    #[inline(always)]
    fn curvature(self, margin: &Lanes) -> Lanes {
        let end = 1.0 + self.reach;
        margin.map(|margin| if margin < end { 2.0 } else { 0.0 })
    }

    fn reaching(self, reach: f64) -> Self {
        Self { reach }
    }
}

/// log(1 + exp(-m)).
#[derive(Clone, Copy)]
pub(super) struct Logistic;

impl Curve for Logistic {
    #[inline(always)]
    fn negative_slope(self, margin: &Lanes, loss: &mut LossSum) -> Lanes {
        let small = exp_of_minus(&margin.map(f64::abs));
        let (mut p, mut sum) = (Lanes::ZERO, Lanes::ZERO);
        for lane in 0..LANES {
            let (m, e) = (margin.0[lane], small.0[lane]);
            sum.0[lane] = 1.0 + e;
            loss.plain.0[lane] += if m < 0.0 { -m } else { 0.0 };
            p.0[lane] = (if m < 0.0 { 1.0 } else { e }) / (1.0 + e);
        }
        loss.add_logarithm(&sum);
        p
    }

    #[inline(always)]
    fn curvature(self, margin: &Lanes) -> Lanes {
        let small = exp_of_minus(&margin.map(f64::abs));
        small.map(|e| e / ((1.0 + e) * (1.0 + e)))
    }
}

/// Margins of a document with score `s` against eight others.
#[inline(always)]
fn margins(s: f64, others: &Lanes, hide: &Lanes) -> Lanes {
    let mut margins = Lanes::ZERO;
    for lane in 0..LANES {
        margins.0[lane] = s - (others.0[lane] + hide.0[lane]);
    }
    margins
}

/// Operations, for [`Ticks`], of eight pairs.
const CURVE_COST: usize = 16;

/// The same with pair weights, whose loss needs eight logarithms.
const WEIGHTED_COST: usize = 64;

simd! {
    /// Passes over all pairs at (accepted scores) + step * Xd.
    pub(super) fn pass<'c, 'a; C: Curve>(chunk: &'c mut Chunk<'a>, curve: C, step: f64) -> PassSums {
        let Chunk { parts, accepted, scores, direction_scores, g, .. } = chunk;
        let mut sums = PassSums::default();
        for part in parts.iter() {
            let (scores, direction_scores, g) =
                (&mut scores[part.range()], &direction_scores[part.range()], &mut g[part.range()]);
            chunk::step_scores(&accepted[part.range()], step, direction_scores, scores);
            g.fill(Lanes::ZERO);
            let start = &part.block.start;
            sums.loss += part.weight
                * match part.block.weights() {
                    None => pass_query(curve, Equal, start, scores, g),
                    Some(weights) => pass_query(curve, weights, start, scores, g),
                };
            chunk::finish(part.weight, scores, direction_scores, g, &mut sums);
        }
        sums
    }
}

/// Sums of w p by document, where w are the pair weights, as in `pass::pass`; returns the loss.
#[inline(always)]
fn pass_query<C: Curve, W: EightWeights>(
    curve: C,
    weights: W,
    start: &[u32],
    scores: &[Lanes],
    g: &mut [Lanes],
) -> f64 {
    let (mut loss, mut ticks) = (LossSum::new(), Ticks::default());
    for (a, &first) in start.iter().enumerate().take_while(|(_, first)| (**first as usize) < start.len()) {
        let (s, first) = (lanes::get(scores, a), first as usize);
        let mut hide = &HIDE[first % LANES];
        let mut row = Lanes::ZERO;
        ticks.add(if W::ARE_EQUAL { CURVE_COST } else { WEIGHTED_COST } * (scores.len() - first / LANES));
        for (block, (others, column)) in scores.iter().zip(g.iter_mut()).enumerate().skip(first / LANES) {
            let margins = margins(s, others, hide);
            let p = if W::ARE_EQUAL {
                curve.negative_slope(&margins, &mut loss)
            } else {
                let times = |values: Lanes| weights.times(a, block, values);
                let mut of_pairs = LossSum::new();
                let p = times(curve.negative_slope(&margins, &mut of_pairs));
                loss.add_weighted(&of_pairs, times);
                p
            };
            row.add_scaled(1.0, &p);
            column.add_scaled(-1.0, &p);
            hide = &HIDE[0];
        }
        *lanes::get_mut(g, a) += row.fold();
    }
    loss.total()
}

simd! {
    /// out += sum of c k z z' over all pairs at the accepted point.
    pub(super) fn add_hessian<'c, 'a; C: Curve>(chunk: &'c mut Chunk<'a>, curve: C, out: &'c mut [Lanes]) {
        let Chunk { parts, accepted, .. } = chunk;
        let (mut weights, mut laplacian) = (Vec::new(), Vec::new());
        for part in parts.iter() {
            let (block, scores) = (part.block, &accepted[part.range()]);
            let (factor, start) = (-part.weight, &block.start[..]);
            match block.weights() {
                None => pair_weights(curve, factor, Equal, start, scores, &mut weights),
                Some(own) => pair_weights(curve, factor, own, start, scores, &mut weights),
            }
            laplacian_times(block, &weights, part.blocks, &mut laplacian);
            gram::add_gram(&block.x, &laplacian, block.width, block.n_docs(), out);
        }
    }
}

/// factor * w * k for all pairs of a query as a symmetric matrix, shape `(n, 8 ceil(n / 8))`.
#[inline(always)]
fn pair_weights<C: Curve>(
    curve: C,
    factor: f64,
    own: impl EightWeights,
    start: &[u32],
    scores: &[Lanes],
    weights: &mut Vec<Lanes>,
) {
    let (n, blocks) = (start.len(), scores.len());
    weights.clear();
    weights.resize(n * blocks, Lanes::ZERO);
    let mut ticks = Ticks::default();
    for (a, &first) in start.iter().enumerate().take_while(|(_, first)| (**first as usize) < n) {
        let (s, first) = (lanes::get(scores, a), first as usize);
        let mut hide = &HIDE[first % LANES];
        ticks.add(CURVE_COST * (blocks - first / LANES));
        for (block, others) in scores.iter().enumerate().skip(first / LANES) {
            let curvature = own.times(a, block, curve.curvature(&margins(s, others, hide)));
            weights[a * blocks + block].add_scaled(factor, &curvature);
            hide = &HIDE[0];
        }
        for b in first..n {
            let weight = lanes::get(&weights[a * blocks..], b);
            *lanes::get_mut(&mut weights[b * blocks..], a) = weight;
        }
    }
}

/// L X for the graph whose negative weights are given.
#[inline(always)]
fn laplacian_times(block: &PairBlock, weights: &[Lanes], blocks: usize, out: &mut Vec<Lanes>) {
    let width = block.width;
    out.clear();
    out.resize(blocks * LANES * width, Lanes::ZERO);
    let mut ticks = Ticks::default();
    for (a, row) in weights.chunks_exact(blocks).enumerate() {
        ticks.add(blocks * width * LANES);
        let mut degree = Lanes::ZERO;
        for weights in row {
            degree.add_scaled(-1.0, weights);
        }
        lanes::axpy(degree.fold(), block.row(a), &mut out[a * width..(a + 1) * width]);
    }
    gram::add_product(weights, blocks, &block.x, width, block.n_docs(), out);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::loss::{LOGISTIC, PairDef, SQUARED_HINGE};

    fn check<C: Curve>(curve: C, def: &PairDef) {
        for number in 0..400 {
            let margin = (f64::from(number) - 200.0) * 0.37;
            let mut loss = LossSum::new();
            let p = curve.negative_slope(&Lanes([margin; LANES]), &mut loss).0[3];
            let value = loss.total() / LANES as f64;
            let expected = (def.value)(margin);
            assert!((value - expected).abs() <= 1e-15 * (2.0 + expected), "{margin}: {value} {expected}");
            assert!((p + (def.slope)(margin)).abs() <= 1e-14 * p, "{margin}: {p}");
            let h = 1e-6;
            let difference = ((def.slope)(margin + h) - (def.slope)(margin - h)) / (2.0 * h);
            assert!((curve.curvature(&Lanes([margin; LANES])).0[5] - difference).abs() < 1e-8, "{margin}");
        }
        let mut loss = LossSum::new();
        let absent = Lanes([1e30; LANES]);
        assert_eq!(
            (curve.negative_slope(&absent, &mut loss), curve.curvature(&absent)),
            (Lanes::ZERO, Lanes::ZERO)
        );
        assert!(loss.total() <= 0.0);
    }

    #[test]
    fn the_squared_hinge_is_its_definition() {
        check(SquaredHinge::default(), &SQUARED_HINGE);
    }

    #[test]
    fn the_logistic_loss_is_its_definition() {
        check(Logistic, &LOGISTIC);
    }

    #[test]
    fn the_logarithms_of_many_pairs_are_added() {
        let mut loss = LossSum::new();
        for _ in 0..2500 {
            Logistic.negative_slope(&Lanes::ZERO, &mut loss);
        }
        assert!((loss.total() / (2500.0 * 8.0 * std::f64::consts::LN_2) - 1.0).abs() < 1e-12);
    }
}
