//! Newton's method on the smoothed hinge problem, the width of the quadratic zone shrinking with the gap.
//!
//! For a width delta the smoothed loss has the gradient 2 lambda w - X'g - t =: r and the Hessian
//! H = 2 lambda I + sum over the zone of (c / delta) z z'. Its p gives alpha = c p and with it the gap
//!
//! ```text
//! P(w) - D(alpha) = smoothing + steepness
//! smoothing = sum of c max(u, 0) - sum of alpha u
//! steepness = |r|^2 / (4 lambda)
//! ```
//!
//! **Smoothing rounds.** When Newton has settled (half of r'H^-1 r is below the smoothing part) the width shrinks so
//! that the smoothing part should come to 0.4 of the gap allowed. Below 0.6 of it the width stays.
//!
//! **Multiplier rounds.** When the zone holds fewer pairs than about 3 b, the solution is decided by a vertex and
//! every shrink would cost several steps. Then each pair keeps its p as the center p0 of the next round, which is the
//! method of multipliers (proximal point on the dual): it converges for any width and the last digits are nearly
//! free. Needs eight bytes per pair.
//!
//! A zone with fewer pairs than features leaves H almost singular, and the step is a jump that the line search has to
//! cut to nothing. So in vertex problems the last Hessian of the round before, which knows the pairs nearby, is added
//! to H with a factor that falls from step to step. Where steps stay short nevertheless, Newton is going to and fro
//! between zones: the width grows again until steps are long, and shrinks more carefully from there.
//!
//! The best w and the best alpha are kept over all iterations, alpha also shortened by the factor that maximizes
//! D(theta alpha). Every loop has a limit.

use std::time::Instant;

mod chunk;
mod curve;
mod hessian;
mod line;
mod pass;
mod penalty;
mod smooth;
mod space;
mod start;

use self::chunk::Sums;
use self::curve::{Logistic, SquaredHinge};
use self::penalty::Penalty;
use self::space::Space;
use self::start::regularized_solve;
use super::PairProblem;
use crate::loss::PairLoss;
use crate::math::lanes::{self, Lanes};
use crate::solve::Canceled;
use crate::solve::{PairWork, SolveOptions, SolveReport, SolverDef, Step, Stop};

/// What Newton's method does about pairs; `auto` does the same.
pub const NEWTON_WORK: PairWork =
    PairWork { losses: &[PairLoss::Hinge, PairLoss::SquaredHinge, PairLoss::Logistic], path };

/// The definition.
pub const NEWTON: SolverDef = SolverDef {
    name: "newton",
    summary: "Newton in score space; the hinge is smoothed, with multipliers at the end",
    pair: Some(NEWTON_WORK),
    list: Some(crate::solve::list::NEWTON),
};

fn path(
    problem: &PairProblem<'_>,
    lambdas: &[f64],
    options: &SolveOptions,
    canceled: Canceled<'_>,
) -> Vec<(Vec<f64>, SolveReport)> {
    match problem.loss() {
        PairLoss::SquaredHinge => {
            return smooth::path(SquaredHinge::default(), problem, lambdas, options, canceled);
        }
        PairLoss::Logistic => return smooth::path(Logistic, problem, lambdas, options, canceled),
        PairLoss::Hinge | PairLoss::Psi => {}
    }
    let mut solver = Solver::new(problem, *options, canceled);
    let mut fits = Vec::with_capacity(lambdas.len());
    for &lambda in lambdas {
        let report = solver.run(lambda);
        let stop = report.stop;
        fits.push((lanes::to_vec(solver.w(), problem.dim()), report));
        if stop == Stop::Interrupted {
            break;
        }
    }
    fits
}

/// Fewer pairs than this many times b in the zone make a vertex problem.
const VERTEX_FACTOR: u64 = 3;
/// Problems with fewer pairs use multipliers after the first round.
const SMALL_PROBLEM: u64 = 1000;
/// An objective below this share of the loss of w = 0 calls for multipliers.
const TINY_OBJECTIVE: f64 = 1e-3;
/// Bytes that the centers of all pairs may take.
const CENTER_BYTES: usize = 1 << 28;
/// Factor of the width into the first multiplier round: wider, so that the zone keeps its pairs.
const MULTIPLIER_START: f64 = 2.0;
/// Share of the penalty's slope along w that must be left without balance before w is made shorter.
const SHORTEN: f64 = 0.5;
/// Factor of the width from one multiplier round to the next, and its smallest value.
const MULTIPLIER_SHRINK: f64 = 0.5;
const SMALLEST_MULTIPLIER_WIDTH: f64 = 1e-7;
/// Factor of the memory of the last round's Hessian from step to step, and where it is forgotten.
const MEMORY_DECAY: f64 = 0.1;
const MEMORY_END: f64 = 1e-6;
/// Steps below this length are short; after so many in a row the width grows by the factor, up to a limit.
const SHORT_STEP: f64 = 0.1;
const SHORT_STEPS: u32 = 3;
const GROWTH: f64 = 4.0;
const LARGEST_WIDTH: f64 = 8.0;
/// Smallest factor of the width from round to round after it had to grow.
const CAREFUL_SHRINK: f64 = 0.5;
/// Times that the width may grow in one fit.
const MOST_GROWTHS: u32 = 8;
/// Smallest width of a smoothing round.
const SMALLEST_WIDTH: f64 = 1e-12;
/// Newton steps after which a round ends whatever it has reached.
const MOST_STEPS_PER_ROUND: u32 = 40;
/// Iterations without a gap smaller by a hundredth after which rounding is to blame.
const PATIENCE: u32 = 100;
/// Line searches that may fail one after the other.
const MOST_FAILURES: u32 = 4;
/// Times that scores are computed anew because the gap was not confirmed.
const MOST_REFRESHES: u32 = 4;

/// The parts of the gap at the current point.
#[derive(Debug, Clone, Copy, Default)]
struct Point {
    pub primal: f64,
    pub smoothing: f64,
    pub steepness: f64,
}

/// The best w and the best value of the dual so far.
#[derive(Debug, Clone, Default)]
struct Best {
    pub w: Vec<Lanes>,
    pub primal: f64,
    pub dual: f64,
    /// Whether P was computed from scores that come from the features and not from steps.
    pub is_fresh: bool,
}

/// What has been going on for how long.
#[derive(Debug, Default)]
struct Counters {
    iterations: u32,
    in_round: u32,
    idle: u32,
    short: u32,
    growths: u32,
    failures: u32,
    refreshes: u32,
    last_gap: f64,
}

/// The state of a fit; kept from one lambda of a path to the next.
struct Solver<'a> {
    canceled: Canceled<'a>,
    space: Space<'a>,
    options: SolveOptions,
    penalty: Penalty<'a>,
    /// Where the caller asks to start.
    start: Option<Vec<Lanes>>,
    w: Vec<Lanes>,
    /// r = 2 lambda w - X'g - t.
    residual: Vec<Lanes>,
    point: Point,
    best: Best,
    delta: f64,
    /// Width of the last smoothing round.
    last_width: f64,
    /// True in multiplier rounds.
    multipliers: bool,
    zone_pairs: u64,
    /// The last Hessian of this round and that of the round before, with its factor.
    hessian: Vec<Lanes>,
    memory: Vec<Lanes>,
    memory_factor: f64,
    /// Whether a path's next start may be the last w times the ratio of lambdas.
    may_stretch: bool,
    /// Largest margin of the direction m, once known.
    largest_margin: Option<f64>,
    solved: bool,
    counters: Counters,
}

impl<'a> Solver<'a> {
    fn new(problem: &'a PairProblem<'a>, options: SolveOptions, canceled: Canceled<'a>) -> Self {
        let space = Space::new(problem.dim(), problem.blocks(), canceled);
        let penalty = Penalty::new(problem);
        let zero = vec![Lanes::ZERO; space.width];
        Self {
            options,
            canceled,
            start: problem.start.as_deref().map(lanes::from_slice),
            w: zero.clone(),
            residual: zero.clone(),
            point: Point::default(),
            best: Best { w: zero, ..Best::default() },
            delta: 1.0,
            last_width: 1.0,
            multipliers: false,
            zone_pairs: 0,
            hessian: Vec::new(),
            memory: Vec::new(),
            memory_factor: 0.0,
            may_stretch: penalty.is_plain(),
            largest_margin: None,
            solved: false,
            counters: Counters::default(),
            penalty,
            space,
        }
    }

    /// The solution of the last run.
    fn w(&self) -> &[Lanes] {
        &self.best.w
    }

    /// Solves for one lambda, from the solution of the run before if there is one.
    fn run(&mut self, lambda: f64) -> SolveReport {
        let previous = self.solved.then(|| (self.best.w.clone(), self.penalty.lambda));
        self.reset(lambda);
        let mut steps = Vec::new();
        let stop = if self.space.pairs == 0 {
            let (w, value) = self.penalty.lowest(self.space.width);
            self.best = Best { w, primal: value, dual: value, is_fresh: true };
            Stop::Empty
        } else if self.solve_linear_regime() {
            self.solved = true;
            Stop::Converged
        } else {
            self.go_to_start(previous);
            self.solved = true;
            self.descend(&mut steps)
        };
        // Once canceled, sums over pairs are worthless, and with them every other reason to stop.
        let stop = if (self.canceled)() { Stop::Interrupted } else { stop };
        let (iterations, objective, gap) = (self.counters.iterations, self.best.primal, self.gap());
        SolveReport { stop, iterations, objective, gap, steps }
    }

    /// Forgets everything but the data: w = 0 has the loss of all weights, alpha = theta c is a first dual point.
    fn reset(&mut self, lambda: f64) {
        self.penalty.lambda = lambda;
        self.multipliers = false;
        self.memory_factor = 0.0;
        self.counters = Counters { last_gap: f64::INFINITY, ..Counters::default() };
        let total = self.space.total_weight;
        let w = vec![Lanes::ZERO; self.space.width];
        let primal = total + self.penalty.value(&w);
        let dual = self.penalty.dual(total, &self.space.pair_sum);
        self.best = Best { w, primal, dual, is_fresh: false };
    }

    fn gap(&self) -> f64 {
        (self.best.primal - self.best.dual).max(0.0)
    }

    fn allowed_gap(&self) -> f64 {
        self.options.allowed_gap(self.best.primal, self.space.total_weight)
    }

    /// Newton steps and rounds until there is a reason to stop.
    fn descend(&mut self, steps: &mut Vec<Step>) -> Stop {
        let began = Instant::now();
        loop {
            if self.gap() <= self.allowed_gap() {
                if self.confirmed() {
                    return Stop::Converged;
                }
                self.counters.refreshes += 1;
            }
            let counters = &self.counters;
            let stuck = counters.idle > PATIENCE
                || counters.failures > MOST_FAILURES
                || counters.refreshes > MOST_REFRESHES;
            let stop = if (self.canceled)() {
                Some(Stop::Interrupted)
            } else if counters.iterations >= self.options.max_iterations {
                Some(Stop::IterationLimit)
            } else {
                stuck.then_some(Stop::Stalled)
            };
            if let Some(stop) = stop {
                self.confirmed();
                return stop;
            }
            if self.newton_step() {
                self.next_round();
            }
            let seconds = began.elapsed().as_secs_f64();
            steps.push(Step { objective: self.best.primal, gap: self.gap(), seconds });
        }
    }

    /// Computes P of the best w from fresh scores, because scores that were moved along drift by rounding. The fit
    /// goes on from there if the gap turns out to be larger than allowed.
    fn confirmed(&mut self) -> bool {
        if self.best.is_fresh {
            return self.gap() <= self.allowed_gap();
        }
        self.w.clone_from(&self.best.w);
        self.best.primal = f64::INFINITY;
        self.look_again();
        self.gap() <= self.allowed_gap()
    }

    /// One Newton step with its line search; true when the round has settled.
    fn newton_step(&mut self) -> bool {
        self.counters.iterations += 1;
        self.counters.in_round += 1;
        (self.hessian, self.zone_pairs) = self.space.hessian(self.delta);
        let solution = self.newton_direction();
        let Some((step, decrement)) = solution.and_then(|solution| self.move_against(&solution)) else {
            self.counters.failures += 1;
            self.look_again();
            return true;
        };
        self.counters.failures = 0;
        self.track_gap();
        self.counters.short = if step < SHORT_STEP { self.counters.short + 1 } else { 0 };
        let lost = self.counters.short >= SHORT_STEPS && !self.multipliers;
        if lost && self.delta < LARGEST_WIDTH && self.counters.growths < MOST_GROWTHS {
            self.widen();
            return false;
        }
        self.has_settled(step, decrement) || self.counters.in_round >= MOST_STEPS_PER_ROUND
    }

    /// H^-1 r, with the memory of the last round in H where the zone is small.
    fn newton_direction(&mut self) -> Option<Vec<Lanes>> {
        let factor = self.memory_factor;
        self.memory_factor *= MEMORY_DECAY;
        let (dim, lambda) = (self.space.dim, self.penalty.lambda);
        if factor < MEMORY_END || !self.is_vertex_problem() {
            return regularized_solve(&self.hessian, dim, lambda, &self.residual);
        }
        let mut damped = self.hessian.clone();
        lanes::axpy(factor, &self.memory, &mut damped);
        regularized_solve(&damped, dim, lambda, &self.residual)
    }

    /// Searches along -`solution` and accepts the point found. Answers the step and half of r'H^-1 r.
    fn move_against(&mut self, solution: &[Lanes]) -> Option<(f64, f64)> {
        let delta = self.delta;
        let Self { space, penalty, w, residual, .. } = self;
        let (step, slope, sums) =
            step_against(space, penalty, w, residual, solution, |space, step| space.pass(step, delta))?;
        self.evaluate(&sums, false);
        Some((step, -0.5 * slope))
    }

    /// Whether further steps at this width would be wasted.
    fn has_settled(&self, step: f64, decrement: f64) -> bool {
        let Point { smoothing, steepness, .. } = self.point;
        if self.multipliers {
            return steepness < 0.1 * smoothing;
        }
        let near = step > 0.99 && decrement < 3.0 * smoothing;
        let fine = smoothing >= 0.6 * self.allowed_gap();
        fine && near && (!self.is_vertex_problem() || steepness < smoothing)
    }

    fn is_vertex_problem(&self) -> bool {
        self.zone_pairs < VERTEX_FACTOR * self.space.dim as u64
    }

    /// Makes the zone wider, so that more pairs shape the next step, and goes back to the best w: short steps have
    /// often led to margins that no zone reaches.
    fn widen(&mut self) {
        self.counters.short = 0;
        self.counters.idle = 0;
        self.counters.growths += 1;
        self.counters.in_round = 0;
        self.delta = (GROWTH * self.delta).min(LARGEST_WIDTH);
        self.w.clone_from(&self.best.w);
        self.look_again();
    }

    /// Shrinks the width or takes the multiplier step, then looks at the same w with new eyes.
    fn next_round(&mut self) {
        self.counters.in_round = 0;
        self.memory_factor = if self.hessian.is_empty() { 0.0 } else { 1.0 };
        self.memory = std::mem::take(&mut self.hessian);
        if self.multipliers {
            self.space.update_centers(self.delta);
            self.delta = (MULTIPLIER_SHRINK * self.delta).max(SMALLEST_MULTIPLIER_WIDTH);
        } else if self.wants_multipliers() {
            self.last_width = self.delta;
            self.multipliers = true;
            self.space.update_centers(self.delta);
            self.delta *= MULTIPLIER_START;
            self.look_again();
            self.shorten();
            return;
        } else {
            let smallest = match (self.counters.growths, self.is_vertex_problem()) {
                (0, false) => 0.1,
                (0, true) => 0.3,
                _ => CAREFUL_SHRINK,
            };
            let shrink = (0.4 * self.allowed_gap() / self.point.smoothing).sqrt();
            self.delta = (self.delta * shrink.clamp(smallest, 1.0)).max(SMALLEST_WIDTH);
            self.last_width = self.delta;
        }
        self.look_again();
    }

    /// Goes to a lower point on the line through 0 and w where the new centers have taken most of the pull away. In a
    /// separable problem all pairs that matter stand at the edge of the zone, at a margin of 1 + delta / 2. With their
    /// p as centers the zone is around the margin 1 and holds none of them until w is shorter.
    fn shorten(&mut self) {
        let penalty = 2.0 * self.penalty.lambda * lanes::dot(&self.w, &self.w);
        if lanes::dot(&self.residual, &self.w) > SHORTEN * penalty {
            let w = self.w.clone();
            self.move_against(&w);
        }
    }

    fn wants_multipliers(&self) -> bool {
        let tiny = self.best.primal.abs() < TINY_OBJECTIVE * self.space.total_weight;
        let wanted = self.is_vertex_problem() || self.space.pairs < SMALL_PROBLEM || tiny;
        wanted && self.space.center_bytes() <= CENTER_BYTES
    }

    /// A pass at w with fresh scores.
    fn look_again(&mut self) {
        self.space.set_point(&self.w);
        let sums = self.space.pass(0.0, self.delta);
        self.evaluate(&sums, true);
    }

    /// Gap and residual at w from the sums of a pass there; `fresh` scores were computed from the features.
    fn evaluate(&mut self, sums: &Sums, fresh: bool) {
        let pulled = self.space.pull_back();
        self.residual = self.penalty.gradient(&self.w);
        lanes::axpy(-1.0, &pulled, &mut self.residual);
        let primal = sums.loss + self.penalty.value(&self.w);
        let smoothing = (sums.loss - (sums.alpha - sums.pull_scores)).max(0.0);
        let steepness = lanes::dot(&self.residual, &self.residual) / (4.0 * self.penalty.lambda);
        self.point = Point { primal, smoothing, steepness };
        if primal < self.best.primal {
            self.best.primal = primal;
            self.best.w.clone_from(&self.w);
            self.best.is_fresh = fresh;
        }
        self.best.dual = self.best.dual.max(self.penalty.dual(sums.alpha, &pulled));
    }

    /// Counts iterations that bring nothing.
    fn track_gap(&mut self) {
        let gap = self.gap();
        if gap < 0.99 * self.counters.last_gap {
            self.counters.last_gap = gap;
            self.counters.idle = 0;
        } else {
            self.counters.idle += 1;
        }
    }
}

/// Searches along -`solution` from w and goes to the point found. Answers the step, the slope at the start and the sums
/// of the last pass; `None` where the objective does not fall.
fn step_against<'a>(
    space: &mut Space<'a>,
    penalty: &Penalty<'_>,
    w: &mut [Lanes],
    residual: &[Lanes],
    solution: &[Lanes],
    pass: impl Fn(&mut Space<'a>, f64) -> Sums,
) -> Option<(f64, f64, Sums)> {
    let mut direction = vec![Lanes::ZERO; solution.len()];
    lanes::axpy(-1.0, solution, &mut direction);
    let slope_at_zero = lanes::dot(residual, &direction);
    if slope_at_zero >= 0.0 || !slope_at_zero.is_finite() {
        return None;
    }
    space.set_direction(&direction);
    let along = lanes::dot(&penalty.gradient(w), &direction);
    let growth = 2.0 * penalty.lambda * lanes::dot(&direction, &direction);
    let mut sums = Sums::default();
    let step = line::search(slope_at_zero, |step| {
        sums = pass(space, step);
        sums.slope(along + step * growth)
    })?;
    space.accept();
    lanes::axpy(step, &direction, w);
    Some((step, slope_at_zero, sums))
}
