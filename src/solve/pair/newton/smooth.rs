//! Newton's method for losses with a curvature: squared hinge and logistic.
//!
//! The loss needs no smoothing, so a step solves H d = -r with r = 2 lambda w - X'g - t and H = 2 lambda I + X' L X
//! (see `curve`), and a line search in score space follows. With alpha = c p, p = -L'(margin), Fenchel's equality
//! holds for every pair and the gap is the steepness alone (Rockafellar 1970, theorem 31.3):
//!
//! ```text
//! P(w) - D(alpha) = |r|^2 / (4 lambda)
//! ```
//!
//! Where the active pairs of a squared hinge are fewer than the features, H is almost singular and the line search cuts
//! steps to nothing. Then pairs beyond the kink count in H too, the farther the longer steps stay short; with all pairs
//! in it the step would be that of a majorizing quadratic.
//!
//! H is dense in the pairs and thereby the dear part, so it is kept for the next step as long as the gap falls tenfold
//! (Shamanskii 1967). The first step from w = 0 needs no pair: there all pairs weigh the same, and their sum of z z' is
//! known (`block`).

use std::time::Instant;

use super::chunk::Sums;
use super::curve::Curve;
use super::penalty::Penalty;
use super::space::Space;
use super::start::regularized_solve;
use super::step_against;
use crate::math::lanes::{self, Lanes};
use crate::solve::Canceled;
use crate::solve::PairProblem;
use crate::solve::{SolveOptions, SolveReport, Step, Stop};

/// Fall of the gap in one step that keeps the Hessian.
const KEEP: f64 = 0.1;
/// Steps without a gap or an objective smaller by a hundredth after which rounding is to blame.
const PATIENCE: u32 = 80;
/// Steps below this length are short.
const SHORT_STEP: f64 = 0.2;
/// Reach beyond the kink after the first short step, its growth with further ones, its fall with long ones.
const FIRST_REACH: f64 = 0.1;
const REACH_GROWTH: f64 = 3.0;
const REACH_FALL: f64 = 0.25;

/// Solves the problem for each lambda, from the solution before.
pub(super) fn path<C: Curve>(
    curve: C,
    problem: &PairProblem<'_>,
    lambdas: &[f64],
    options: &SolveOptions,
    canceled: Canceled<'_>,
) -> Vec<(Vec<f64>, SolveReport)> {
    let mut solver = Solver::new(curve, problem, *options, canceled);
    let mut fits = Vec::with_capacity(lambdas.len());
    for &lambda in lambdas {
        let report = solver.run(lambda);
        let stop = report.stop;
        fits.push((lanes::to_vec(&solver.best, problem.dim()), report));
        if stop == Stop::Interrupted {
            break;
        }
    }
    fits
}

/// The state of a fit; kept from one lambda of a path to the next.
struct Solver<'a, C> {
    curve: C,
    canceled: Canceled<'a>,
    options: SolveOptions,
    space: Space<'a>,
    penalty: Penalty<'a>,
    w: Vec<Lanes>,
    /// r at w.
    residual: Vec<Lanes>,
    /// P and its gap at w.
    primal: f64,
    steepness: f64,
    /// Whether the scores at w come from the features and not from steps.
    is_fresh: bool,
    /// How far beyond the kink pairs count in H.
    reach: f64,
    /// X' L X, where it is kept.
    hessian: Option<Vec<Lanes>>,
    /// The solution of the last run, with the best P and D.
    best: Vec<Lanes>,
    best_primal: f64,
    best_dual: f64,
    /// Where to start; on a path, the solution before.
    start: Option<Vec<Lanes>>,
    iterations: u32,
}

impl<'a, C: Curve> Solver<'a, C> {
    fn new(curve: C, problem: &'a PairProblem<'a>, options: SolveOptions, canceled: Canceled<'a>) -> Self {
        let space = Space::new(problem.dim(), problem.blocks(), canceled);
        let zero = vec![Lanes::ZERO; space.width];
        Self {
            curve,
            canceled,
            options,
            penalty: Penalty::new(problem),
            w: zero.clone(),
            residual: zero.clone(),
            primal: 0.0,
            steepness: 0.0,
            is_fresh: false,
            reach: 0.0,
            hessian: None,
            best: zero,
            best_primal: 0.0,
            best_dual: 0.0,
            start: problem.start.as_deref().map(lanes::from_slice),
            iterations: 0,
            space,
        }
    }

    fn run(&mut self, lambda: f64) -> SolveReport {
        self.penalty.lambda = lambda;
        self.iterations = 0;
        (self.reach, self.hessian) = (0.0, None);
        (self.best_primal, self.best_dual) = (f64::INFINITY, f64::MIN);
        let mut steps = Vec::new();
        let stop = if self.space.pairs == 0 {
            (self.best, self.best_primal) = self.penalty.lowest(self.space.width);
            self.best_dual = self.best_primal;
            Stop::Empty
        } else {
            self.go_to_start();
            self.descend(&mut steps)
        };
        self.start = Some(self.best.clone());
        let stop = if (self.canceled)() { Stop::Interrupted } else { stop };
        SolveReport { stop, iterations: self.iterations, objective: self.best_primal, gap: self.gap(), steps }
    }

    /// The start that is asked for; or the better of w0 and the Newton step from w = 0, whose matrix needs no pass.
    fn go_to_start(&mut self) {
        if let Some(start) = self.start.take() {
            self.try_point(&start);
            return;
        }
        let center = self.penalty.center.clone();
        self.try_point(&center.unwrap_or_else(|| vec![Lanes::ZERO; self.space.width]));
        let (pull, bend) = self.curve.at_zero();
        let scaled = |x: &[Lanes], factor| {
            let mut scaled = vec![Lanes::ZERO; x.len()];
            lanes::axpy(factor, x, &mut scaled);
            scaled
        };
        let hessian = scaled(&self.space.moment(), bend);
        let mut right = scaled(&self.space.pair_sum, pull);
        self.penalty.add_pull(&mut right);
        let bound = self.primal;
        if let Some(w) = regularized_solve(&hessian, self.space.dim, self.penalty.lambda, &right)
            && self.try_point(&w) > bound
        {
            let best = self.best.clone();
            self.try_point(&best);
        }
    }

    /// Goes to w; answers P(w).
    fn try_point(&mut self, w: &[Lanes]) -> f64 {
        self.w = w.to_vec();
        self.space.set_point(&self.w);
        let sums = self.space.curve_pass(self.curve, 0.0);
        self.evaluate(&sums, true);
        self.primal
    }

    fn gap(&self) -> f64 {
        (self.best_primal - self.best_dual).max(0.0)
    }

    fn has_converged(&self) -> bool {
        self.gap() <= self.options.allowed_gap(self.best_primal, self.space.total_weight)
    }

    fn descend(&mut self, steps: &mut Vec<Step>) -> Stop {
        let began = Instant::now();
        let (mut last_gap, mut last_primal, mut idle) = (f64::INFINITY, f64::INFINITY, 0);
        loop {
            if self.has_converged() && self.confirmed() {
                return Stop::Converged;
            }
            let stop = if (self.canceled)() {
                Some(Stop::Interrupted)
            } else if self.iterations >= self.options.max_iterations {
                Some(Stop::IterationLimit)
            } else {
                (idle > PATIENCE).then_some(Stop::Stalled)
            };
            if let Some(stop) = stop {
                self.confirmed();
                return stop;
            }
            let before = self.steepness;
            let step = self.newton_step();
            self.adapt_reach(step);
            if self.steepness > KEEP * before {
                self.hessian = None;
            }
            if self.gap() < 0.99 * last_gap || self.best_primal < 0.99 * last_primal {
                (last_gap, last_primal, idle) = (self.gap(), self.best_primal, 0);
            } else {
                idle += 1;
            }
            let seconds = began.elapsed().as_secs_f64();
            steps.push(Step { objective: self.best_primal, gap: self.gap(), seconds });
        }
    }

    /// Computes the best w's P from fresh scores, because scores that were moved along drift by rounding.
    fn confirmed(&mut self) -> bool {
        if !self.is_fresh || self.best_primal < self.primal {
            let best = self.best.clone();
            self.best_primal = f64::INFINITY;
            self.try_point(&best);
        }
        self.has_converged()
    }

    /// Reaches farther after a short step, less far after a long one.
    fn adapt_reach(&mut self, step: f64) {
        let reach = if step >= SHORT_STEP {
            REACH_FALL * self.reach
        } else if self.reach > 0.0 {
            REACH_GROWTH * self.reach
        } else {
            FIRST_REACH
        };
        if step < SHORT_STEP || self.reach > 0.0 {
            self.hessian = None;
        }
        self.reach = reach;
    }

    /// One step with its line search; answers its length, 0 when there is no way down.
    fn newton_step(&mut self) -> f64 {
        self.iterations += 1;
        let curve = self.curve.reaching(self.reach);
        let hessian = self.hessian.take().unwrap_or_else(|| self.space.curve_hessian(curve));
        let direction = regularized_solve(&hessian, self.space.dim, self.penalty.lambda, &self.residual);
        self.hessian = Some(hessian);
        let step = direction.and_then(|direction| self.move_against(&direction));
        step.unwrap_or_else(|| {
            let w = self.w.clone();
            self.try_point(&w);
            0.0
        })
    }

    /// Searches along -`solution` and accepts the point found; answers the step.
    fn move_against(&mut self, solution: &[Lanes]) -> Option<f64> {
        let curve = self.curve;
        let Self { space, penalty, w, residual, .. } = self;
        let pass = |space: &mut Space<'a>, step: f64| space.curve_pass(curve, step);
        let (step, _, sums) = step_against(space, penalty, w, residual, solution, pass)?;
        self.evaluate(&sums, false);
        Some(step)
    }

    /// Gap and residual at w from the sums of a pass there.
    fn evaluate(&mut self, sums: &Sums, fresh: bool) {
        let pulled = self.space.pull_back();
        self.residual = self.penalty.gradient(&self.w);
        lanes::axpy(-1.0, &pulled, &mut self.residual);
        self.primal = sums.loss + self.penalty.value(&self.w);
        self.steepness = lanes::dot(&self.residual, &self.residual) / (4.0 * self.penalty.lambda);
        self.is_fresh = fresh;
        if self.primal < self.best_primal {
            self.best_primal = self.primal;
            self.best.clone_from(&self.w);
        }
        let dual = self.primal - self.steepness;
        if dual.is_finite() {
            self.best_dual = self.best_dual.max(dual);
        }
    }
}
