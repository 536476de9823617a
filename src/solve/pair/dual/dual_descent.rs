//! Dual coordinate descent over pairs (Hsieh, Chang, Lin, Keerthi and Sundararajan 2008, algorithms 1 and 3, for
//! pairs).
//!
//! With w = (X'g + t) / (2 lambda) up to date, one alpha after the other is moved to its best value,
//!
//! ```text
//! alpha <- clamp(alpha + (u - 2 h alpha) / (|z|^2 / (2 lambda) + 2 h))
//! ```
//!
//! For the hinge h = 0 and the range is \[0, c\]; for the squared hinge h = 1 / (4 c) and the range is alpha >= 0 (the
//! conjugate is derived in `pairs`). z = `x_a - x_b` is formed from the two rows and not stored. An iteration is one
//! sweep over the active pairs in a pseudo-random order with a fixed seed.
//!
//! **Shrinking.** A pass over all pairs in score space, which is cheap because it reads no feature, selects the active
//! pairs. It leaves out pairs at a bound whose gradient points outwards by more than the largest projected gradient of
//! the last sweep. The same pass gives the certified gap and a w free of accumulated rounding. It is made when the
//! sweeps since the last pass have visited a quarter of all pairs, or when the slack met by a sweep is below half of
//! the allowed gap.
//!
//! The start is alpha = c (2 c for the squared hinge), multiplied by the theta that maximizes D. For the hinge it is
//! optimal as long as no margin exceeds 1. On a path each fit starts from the previous alpha.
//!
//! Memory: 8 bytes per pair and 8 per active pair. The number of sweeps grows like 1 / lambda.
#![allow(clippy::inline_always)]

use super::pairs::Pairs;
use super::progress::{self, Progress};
use crate::control::Control;
use crate::loss::PairLoss;
use crate::math::lanes::{self, Lanes};
use crate::math::random::Random;
use crate::math::simd::{Registers, SimdTask, dispatch};
use crate::solve::PairProblem;
use crate::solve::{PairMethod, Solution, SolverDef, Stop, StopRule};

/// The definition.
pub const DUAL_DESCENT: SolverDef = SolverDef {
    name: "dual_descent",
    summary: "coordinate descent on the multipliers of the pairs, for large lambda",
    pair: Some(PairMethod { losses: &[PairLoss::Hinge, PairLoss::SquaredHinge], path }),
    list: None,
};

/// Visited fraction of all pairs after which a pass is made.
const VISITS_PER_CHECK: f64 = 0.25;
/// Multiplications between two checks for cancellation.
const WORK_BETWEEN_CHECKS: usize = 1 << 20;
/// Seed of the order of pairs.
const SEED: u64 = 1;

fn path(problem: &PairProblem<'_>, lambdas: &[f64], rule: &StopRule, control: &Control) -> Vec<Solution> {
    let pairs = Pairs::new(problem, control);
    let mut descent = Descent::new(&pairs, problem.loss());
    progress::path(problem, lambdas, rule, &pairs, |progress| descent.run(progress))
}

/// A document in a sweep.
#[derive(Clone, Copy)]
struct Document<'a> {
    row: &'a [Lanes],
    /// c of its pairs as the better document is `weight` times (`better` - `worse` of the other one).
    weight: f64,
    better: f64,
    worse: f64,
    /// Its first lower document, and its pair with that one.
    first_low: usize,
    first_pair: usize,
}

/// A pair: the higher and the lower document.
type Pair = (u32, u32);

/// The state of a fit; alpha is kept from one lambda to the next.
struct Descent<'a> {
    pairs: &'a Pairs<'a>,
    loss: PairLoss,
    documents: Vec<Document<'a>>,
    alpha: Vec<f64>,
    /// X'g of alpha at the last pass.
    alpha_z: Vec<Lanes>,
    w: Vec<Lanes>,
    started: bool,
    active: Vec<Pair>,
    random: Random,
}

/// What a sweep met.
#[derive(Debug, Clone, Copy, Default)]
struct Met {
    /// Sum of the slack of the pairs before their steps.
    slack: f64,
    /// Largest projected gradient.
    gradient: f64,
    /// Whether any alpha has changed.
    moved: bool,
}

impl<'a> Descent<'a> {
    fn new(pairs: &'a Pairs<'a>, loss: PairLoss) -> Self {
        let mut documents = Vec::with_capacity(pairs.documents);
        for part in &pairs.parts {
            let mut first_pair = part.first_pair;
            let rows = part.block.start().iter().enumerate().map(|(document, &start)| {
                let before = first_pair;
                first_pair += part.block.n_docs() - start as usize;
                let weights = part.block.weights().map(|weights| weights.of_document(document));
                let (weight, better, worse) = weights.unwrap_or((1.0, 1.0, 0.0));
                Document {
                    row: part.block.row(document),
                    weight: part.weight * weight,
                    better,
                    worse,
                    first_low: part.documents.start + start as usize,
                    first_pair: before,
                }
            });
            documents.extend(rows);
        }
        let factor = if loss == PairLoss::SquaredHinge { 2.0 } else { 1.0 };
        let mut alpha = vec![0.0; pairs.count];
        for row in pairs.rows() {
            alpha[row.pairs].fill(factor * row.weight);
        }
        let alpha_z = lanes::scaled(&pairs.pair_sum, factor);
        let (w, started, active) = (vec![Lanes::ZERO; pairs.width], false, Vec::new());
        let random = Random::new(SEED);
        Self { pairs, loss, documents, alpha, alpha_z, w, started, active, random }
    }

    /// Solves for the lambda of `progress`.
    fn run(&mut self, mut progress: Progress<'_>) -> Solution {
        self.random = Random::new(SEED);
        self.start(&mut progress);
        // Largest projected gradient of the last sweep.
        let mut margin = 0.0;
        loop {
            if let Some(stop) = progress.stop(self.pairs) {
                return progress.finish(stop);
            }
            self.choose_active(margin);
            let met = self.sweep_until_due(&mut progress);
            self.check(&mut progress);
            progress.record();
            // No active pair can move, and the list was made for this alpha.
            if !met.moved {
                let stop = progress.stop(self.pairs).unwrap_or(Stop::Stalled);
                return progress.finish(stop);
            }
            margin = met.gradient;
        }
    }

    /// Starts from the previous alpha, or from the first alpha times the theta that maximizes D.
    fn start(&mut self, progress: &mut Progress<'_>) {
        if !self.started {
            self.started = true;
            self.alpha.iter_mut().for_each(|alpha| *alpha *= progress.first_theta);
            self.alpha_z = lanes::scaled(&self.alpha_z, progress.first_theta);
        }
        self.w = progress.point_of(&self.alpha_z);
        self.check(progress);
    }

    /// Offers w and alpha, then computes w anew from alpha.
    fn check(&mut self, progress: &mut Progress<'_>) {
        let scores = self.pairs.scores(&self.w);
        let (sums, alpha_z) = self.pairs.pass(self.loss, &scores, &mut self.alpha, |_, _, alpha| alpha);
        if self.pairs.canceled() {
            return;
        }
        progress.offer(&self.w, &sums, &alpha_z);
        self.w = progress.point_of(&alpha_z);
        self.alpha_z = alpha_z;
    }

    /// Lists the pairs that do not rest at a bound by more than `margin`.
    fn choose_active(&mut self, margin: f64) {
        let scores = self.pairs.scores(&self.w);
        let squared = self.loss == PairLoss::SquaredHinge;
        self.active.clear();
        for row in self.pairs.rows() {
            let c = if squared { f64::INFINITY } else { row.weight };
            let shift = 1.0 - scores[row.high];
            let lower = row.low.clone().zip(&scores[row.low]).zip(&self.alpha[row.pairs]);
            for ((low, score), &alpha) in lower {
                let u = shift + score;
                let rests = (alpha <= 0.0 && u <= -margin) || (alpha >= c && u >= margin);
                if !rests {
                    self.active.push((row.high as u32, low as u32));
                }
            }
        }
    }

    /// Sweeps until the next pass over all pairs is due; returns what the last sweep met, and whether any pair moved.
    fn sweep_until_due(&mut self, progress: &mut Progress<'_>) -> Met {
        let (mut visits, mut moved) = (0.0, false);
        loop {
            let met = self.sweep(progress.lambda);
            visits += self.active.len() as f64;
            moved |= met.moved;
            let due = visits >= VISITS_PER_CHECK * self.pairs.count as f64
                || met.slack < 0.5 * progress.allowed_gap()
                || !met.moved;
            if due || self.pairs.canceled() || progress.is_last() {
                return Met { moved, ..met };
            }
            progress.record();
        }
    }

    /// One sweep over the active pairs.
    fn sweep(&mut self, lambda: f64) -> Met {
        self.random.shuffle(&mut self.active);
        let mut met = Met::default();
        let batch = (WORK_BETWEEN_CHECKS / (self.pairs.dim + 1)).max(1);
        for active in self.active.chunks(batch) {
            if self.pairs.canceled() {
                break;
            }
            let (documents, alpha, w) = (&self.documents[..], &mut self.alpha[..], &mut self.w[..]);
            let (inverse, met) = (0.5 / lambda, &mut met);
            if self.loss == PairLoss::SquaredHinge {
                dispatch(Sweep::<true> { active, documents, alpha, w, inverse, met });
            } else {
                dispatch(Sweep::<false> { active, documents, alpha, w, inverse, met });
            }
        }
        met
    }
}

/// Best steps of the given pairs, one after the other.
struct Sweep<'s, 'a, const SQUARED: bool> {
    active: &'s [Pair],
    documents: &'s [Document<'a>],
    alpha: &'s mut [f64],
    w: &'s mut [Lanes],
    /// 1 / (2 lambda).
    inverse: f64,
    met: &'s mut Met,
}

impl<const SQUARED: bool> SimdTask for Sweep<'_, '_, SQUARED> {
    type Output = ();

    #[inline(always)]
    fn run<R: Registers>(self) {
        let Self { active, documents, alpha, w, inverse, met } = self;
        for &(high, low) in active {
            let (higher, lower) = (&documents[high as usize], &documents[low as usize]);
            let alpha = &mut alpha[higher.first_pair + (low as usize - higher.first_low)];
            let (margin, size) = margin_and_size(higher.row, lower.row, w);
            let (c, u) = (higher.weight * (higher.better - lower.worse), 1.0 - margin);
            let (alpha_squares, largest) = if SQUARED { (0.5 / c, f64::INFINITY) } else { (0.0, c) };
            let gradient = u - alpha_squares * *alpha;
            let free = (gradient < 0.0 && *alpha > 0.0) || (gradient > 0.0 && *alpha < largest);
            if !free {
                continue;
            }
            met.gradient = met.gradient.max(gradient.abs());
            met.slack += if SQUARED {
                let missing = (2.0 * c * u.max(0.0) - *alpha).abs();
                missing * missing * (0.25 / c)
            } else {
                c * u.max(0.0) - *alpha * u
            };
            // If z = 0 the gradient is 1 and the step 1 / 0; the clamp gives c.
            let next = (*alpha + gradient / (size * inverse + alpha_squares)).clamp(0.0, largest);
            let change = next - *alpha;
            if change == 0.0 {
                continue;
            }
            *alpha = next;
            met.moved = true;
            for ((w, x), y) in w.iter_mut().zip(higher.row).zip(lower.row) {
                for lane in 0..lanes::LANES {
                    w.0[lane] += inverse * change * (x.0[lane] - y.0[lane]);
                }
            }
        }
    }
}

/// z.w and |z|^2 of a pair.
#[inline(always)]
fn margin_and_size(higher: &[Lanes], lower: &[Lanes], w: &[Lanes]) -> (f64, f64) {
    let (mut margin, mut size) = (Lanes::ZERO, Lanes::ZERO);
    for ((x, y), w) in higher.iter().zip(lower).zip(w) {
        for lane in 0..lanes::LANES {
            let z = x.0[lane] - y.0[lane];
            margin.0[lane] += z * w.0[lane];
            size.0[lane] += z * z;
        }
    }
    (margin.fold(), size.fold())
}
