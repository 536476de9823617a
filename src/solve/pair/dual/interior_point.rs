//! A primal-dual interior point method with predictor and corrector (Mehrotra 1992) in score space. It shares
//! no step with Newton's method and is its reference in tests.
//!
//! With xi the loss of a pair and r its distance beyond the margin the problem is
//!
//! ```text
//! min sum of c xi + lambda |w - w0|^2 + v.w    with   M w + xi - r = 1,   xi, r >= 0;   rows of M: z
//! 2 lambda w - t = M'alpha,  nu = c - alpha,  nu xi = 0,  alpha r = 0,  alpha, nu >= 0   at the solution
//! ```
//!
//! A Newton step towards nu xi = alpha r = sigma mu, with the products q1 and q2 of the last step's moves, is
//!
//! ```text
//! e1 = (sigma mu - q1) / nu,   e2 = (sigma mu - q2) / alpha,   D = alpha nu / (xi alpha + r nu)
//! (2 lambda I + M'D M) dw = t + M'alpha - 2 lambda w + M'D (u - e1 + e2)
//! dalpha = D (u - e1 + e2 - M dw),   dnu = -dalpha
//! dxi = e1 - xi + xi dalpha / nu,    dr = e2 - r - r dalpha / alpha
//! ```
//!
//! The predictor has sigma mu = q1 = q2 = 0; with mu' the mean of nu xi and alpha r after its longest step,
//! the corrector has sigma = (mu' / mu)^3, q1 = dnu dxi and q2 = dalpha dr of the predictor. Both use the
//! same Cholesky factor. M'D M = X' L X with L the Laplacian of the weights D. The point moves by 0.99 of the
//! longest step, the same for all variables.
//!
//! Near the solution D spans many powers of ten, and 2 lambda dw - M'dalpha misses its value by rounding,
//! which the gap sees divided by 4 lambda. Then the corrector is refined: what is left is solved for with the
//! same factor.
//!
//! The start, with m the sum of c z, is the solution for the hinge widened to a zone of 4:
//!
//! ```text
//! (2 lambda I + sum of c z z' / 4) w = 3/4 m + t,   xi = max(u, 0) + 0.3,   r = max(-u, 0) + 0.3
//! alpha = c clamp(1/2 + u/4, 0.05, 0.95)
//! ```
//!
//! An iteration is one predictor with its corrector; 7 to 20 are needed whatever lambda, on separable data
//! too.
//!
//! Memory: 56 bytes per pair, and 8 n^2 bytes for the largest query. Cost per iteration:
//! 4 T b + m b^2 + b^3 / 3.
#![allow(clippy::inline_always)]

use super::laplacian::weighted_moment;
use super::pairs::Pairs;
use super::progress::{Progress, along, scaled};
use crate::loss::PairLoss;
use crate::math::cholesky;
use crate::math::lanes::{self, Lanes};
use crate::math::simd::{SimdTask, dispatch};
use crate::solve::Canceled;
use crate::solve::PairProblem;
use crate::solve::{PairWork, SolveOptions, SolveReport, SolverDef, Stop};

/// The definition.
pub const INTERIOR_POINT: SolverDef = SolverDef {
    name: "interior_point",
    summary: "interior point method with predictor and corrector, for very small gaps and separable data",
    pair: Some(PairWork { losses: &[PairLoss::Hinge], path }),
    list: None,
};

/// Distance of the start from the bounds of xi and r.
const START_DISTANCE: f64 = 0.3;
/// Share of the longest step.
const STEP_SHARE: f64 = 0.99;
/// Iterations without a gap smaller by a hundredth after which rounding is to blame.
const PATIENCE: u32 = 12;
/// Corrections of one step for rounding.
const MOST_REFINEMENTS: u32 = 3;
/// Share of the gap allowed that the rounding of one step may cost.
const REFINED: f64 = 0.01;

fn path(
    problem: &PairProblem<'_>,
    lambdas: &[f64],
    options: &SolveOptions,
    canceled: Canceled<'_>,
) -> Vec<(Vec<f64>, SolveReport)> {
    let pairs = Pairs::new(problem, canceled);
    along(problem, lambdas, options, &pairs, |progress| run(&pairs, progress))
}

fn run(pairs: &Pairs<'_>, mut progress: Progress<'_>) -> (Vec<f64>, SolveReport) {
    let mut point = Point::start(pairs, &progress);
    let (mut last_gap, mut idle) = (f64::INFINITY, 0);
    loop {
        let scores = pairs.scores(&point.w);
        let (sums, pulled) = pairs.pass(PairLoss::Hinge, &scores, &mut point.alpha, |_, _, alpha| alpha);
        if !pairs.canceled() {
            progress.offer(&point.w, &sums, &pulled);
        }
        if let Some(stop) = progress.stop(pairs) {
            return progress.finish(stop);
        }
        let better = progress.gap() < 0.99 * last_gap;
        (last_gap, idle) = if better { (progress.gap(), 0) } else { (last_gap, idle + 1) };
        let moved = idle <= PATIENCE && point.improve(pairs, &progress, &scores, &pulled);
        if !moved {
            let stop = if pairs.canceled() { Stop::Interrupted } else { Stop::Stalled };
            return progress.finish(stop);
        }
        progress.note();
    }
}

/// xi, r and nu of a pair; all stay positive.
#[derive(Debug, Clone, Copy)]
struct State {
    xi: f64,
    r: f64,
    nu: f64,
}

/// dalpha = -dnu, dxi and dr of a pair.
#[derive(Debug, Clone, Copy, Default)]
struct Move {
    alpha: f64,
    xi: f64,
    r: f64,
}

impl State {
    /// D.
    #[inline(always)]
    fn weight(&self, alpha: f64) -> f64 {
        alpha * self.nu / (self.xi * alpha + self.r * self.nu)
    }

    /// e1 and e2 after the moves of the predictor.
    #[inline(always)]
    fn centering(&self, alpha: f64, target: f64, before: Move) -> (f64, f64) {
        let (q1, q2) = (-before.alpha * before.xi, before.alpha * before.r);
        ((target - q1) / self.nu, (target - q2) / alpha)
    }

    /// The largest rate at which a variable loses its value, at least `fastest`.
    #[inline(always)]
    fn rate(&self, alpha: f64, moves: &Move, fastest: f64) -> f64 {
        let rates = [moves.alpha / self.nu, -moves.alpha / alpha, -moves.xi / self.xi, -moves.r / self.r];
        rates.into_iter().fold(fastest, |fastest, rate| if rate > fastest { rate } else { fastest })
    }
}

/// An interior point.
struct Point {
    w: Vec<Lanes>,
    alpha: Vec<f64>,
    states: Vec<State>,
    moves: Vec<Move>,
}

impl Point {
    /// The start; worthless once canceled.
    fn start(pairs: &Pairs<'_>, progress: &Progress<'_>) -> Self {
        let quarter = weighted_moment(pairs, |row, weights| weights.fill(0.25 * row.weight));
        let mut right = progress.pull.clone();
        lanes::axpy(0.75, &pairs.pair_sum, &mut right);
        let factor = Factor::new(&quarter, pairs.dim, pairs.width, progress.lambda);
        let w = factor.map_or_else(|| vec![Lanes::ZERO; pairs.width], |factor| factor.solve(&right));
        let scores = pairs.scores(&w);
        let mut alpha = vec![0.0; pairs.count];
        let mut states = vec![State { xi: 1.0, r: 1.0, nu: 1.0 }; pairs.count];
        for row in pairs.rows() {
            let (c, shift) = (row.weight, 1.0 - scores[row.high]);
            let lower = scores[row.low].iter().zip(&mut alpha[row.pairs.clone()]);
            for ((score, alpha), state) in lower.zip(&mut states[row.pairs]) {
                let u = shift + score;
                let share = (0.5 + 0.25 * u).clamp(0.05, 0.95);
                *alpha = c * share;
                let (xi, r) = (u.max(0.0) + START_DISTANCE, (-u).max(0.0) + START_DISTANCE);
                *state = State { xi, r, nu: c * (1.0 - share) };
            }
        }
        Self { w, alpha, states, moves: vec![Move::default(); pairs.count] }
    }

    /// One iteration from the point with these scores and this X'g; false where rounding or the caller
    /// forbids it.
    fn improve(
        &mut self,
        pairs: &Pairs<'_>,
        progress: &Progress<'_>,
        scores: &[f64],
        pulled: &[Lanes],
    ) -> bool {
        let moment = weighted_moment(pairs, |row, weights| {
            let lower = self.states[row.pairs.clone()].iter().zip(&self.alpha[row.pairs.clone()]);
            weights.iter_mut().zip(lower).for_each(|(weight, (state, alpha))| *weight = state.weight(*alpha));
        });
        let Some(factor) = Factor::new(&moment, pairs.dim, pairs.width, progress.lambda) else {
            return false;
        };
        // t + X'g - 2 lambda w
        let mut right = scaled(&self.w, -2.0 * progress.lambda);
        lanes::axpy(1.0, &progress.pull, &mut right);
        lanes::axpy(1.0, pulled, &mut right);

        self.moves.fill(Move::default());
        let (_, longest) = self.aim(pairs, &factor, &right, scores, 0.0);
        let (mean, predicted) = self.complementarity(longest.min(1.0));
        let target = predicted * (predicted / mean) * (predicted / mean);
        let (mut direction, mut longest) = self.aim(pairs, &factor, &right, scores, target);
        let allowed = REFINED * progress.allowed_gap();
        for _ in 0..MOST_REFINEMENTS {
            let left = self.left_over(pairs, progress.lambda, &right, &direction);
            if lanes::dot(&left, &left) <= 4.0 * progress.lambda * allowed || pairs.canceled() {
                break;
            }
            longest = self.refine(pairs, &factor.solve(&left), &mut direction);
        }
        let step = (STEP_SHARE * longest).min(1.0);
        if pairs.canceled() || !(step > 0.0 && lanes::dot(&direction, &direction).is_finite()) {
            return false;
        }
        lanes::axpy(step, &direction, &mut self.w);
        self.advance(step);
        true
    }

    /// Replaces the moves by those towards nu xi = alpha r = `target`; answers dw and the longest step.
    fn aim(
        &mut self,
        pairs: &Pairs<'_>,
        factor: &Factor,
        right: &[Lanes],
        scores: &[f64],
        target: f64,
    ) -> (Vec<Lanes>, f64) {
        let mut right = right.to_vec();
        lanes::axpy(1.0, &self.pushed(pairs, scores, target), &mut right);
        let direction = factor.solve(&right);
        let along = pairs.scores(&direction);
        let mut fastest = 0.0;
        for row in pairs.rows() {
            let (states, alpha) = (&self.states[row.pairs.clone()], &self.alpha[row.pairs.clone()]);
            let changes = &mut self.moves[row.pairs];
            let (shift, along_high) = (1.0 - scores[row.high], along[row.high]);
            let (scores, along) = (&scores[row.low.clone()], &along[row.low]);
            let rate = dispatch(Moves { states, alpha, changes, shift, along_high, scores, along, target });
            fastest = if rate > fastest { rate } else { fastest };
        }
        (direction, 1.0 / fastest)
    }

    /// What the moves leave of 2 lambda dw - M'dalpha = `right`.
    fn left_over(&self, pairs: &Pairs<'_>, lambda: f64, right: &[Lanes], direction: &[Lanes]) -> Vec<Lanes> {
        let mut g = vec![0.0; pairs.documents];
        for row in pairs.rows() {
            let mut sum = 0.0;
            for (low, moves) in row.low.zip(&self.moves[row.pairs]) {
                sum += moves.alpha;
                g[low] -= moves.alpha;
            }
            g[row.high] += sum;
        }
        let mut left = pairs.pull_back(&g);
        lanes::axpy(1.0, right, &mut left);
        lanes::axpy(-2.0 * lambda, direction, &mut left);
        left
    }

    /// Adds `change` to dw and what follows from it to the moves; answers the longest step.
    fn refine(&mut self, pairs: &Pairs<'_>, change: &[Lanes], direction: &mut [Lanes]) -> f64 {
        lanes::axpy(1.0, change, direction);
        let along = pairs.scores(change);
        let mut fastest = 0.0;
        for row in pairs.rows() {
            for (low, pair) in row.low.zip(row.pairs) {
                let (state, alpha) = (self.states[pair], self.alpha[pair]);
                let more = -state.weight(alpha) * (along[row.high] - along[low]);
                let moves = &mut self.moves[pair];
                moves.alpha += more;
                moves.xi += state.xi * (more / state.nu);
                moves.r -= state.r * (more / alpha);
                fastest = state.rate(alpha, moves, fastest);
            }
        }
        1.0 / fastest
    }

    /// M'D (u - e1 + e2).
    fn pushed(&self, pairs: &Pairs<'_>, scores: &[f64], target: f64) -> Vec<Lanes> {
        let mut g = vec![0.0; pairs.documents];
        for row in pairs.rows() {
            let shift = 1.0 - scores[row.high];
            let mut sum = 0.0;
            for (low, pair) in row.low.zip(row.pairs) {
                let (state, alpha) = (&self.states[pair], self.alpha[pair]);
                let (e1, e2) = state.centering(alpha, target, self.moves[pair]);
                let push = state.weight(alpha) * (shift + scores[low] - e1 + e2);
                sum += push;
                g[low] -= push;
            }
            g[row.high] += sum;
        }
        pairs.pull_back(&g)
    }

    /// Mean of nu xi and alpha r now and after a step along the moves.
    fn complementarity(&self, step: f64) -> (f64, f64) {
        let (mut now, mut then) = (0.0, 0.0);
        for ((state, moves), alpha) in self.states.iter().zip(&self.moves).zip(&self.alpha) {
            now += state.nu * state.xi + alpha * state.r;
            then += (state.nu - step * moves.alpha) * (state.xi + step * moves.xi)
                + (alpha + step * moves.alpha) * (state.r + step * moves.r);
        }
        let count = 2.0 * self.alpha.len() as f64;
        (now / count, then / count)
    }

    fn advance(&mut self, step: f64) {
        for ((state, moves), alpha) in self.states.iter_mut().zip(&self.moves).zip(&mut self.alpha) {
            *alpha += step * moves.alpha;
            state.nu -= step * moves.alpha;
            state.xi += step * moves.xi;
            state.r += step * moves.r;
        }
    }
}

/// The moves of the pairs of one document; gives the largest rate at which a variable loses its value.
struct Moves<'r> {
    states: &'r [State],
    alpha: &'r [f64],
    changes: &'r mut [Move],
    /// 1 - `s_a`.
    shift: f64,
    /// Score of dw at the higher document.
    along_high: f64,
    scores: &'r [f64],
    along: &'r [f64],
    target: f64,
}

impl SimdTask for Moves<'_> {
    type Output = f64;

    #[inline(always)]
    fn run(self) -> f64 {
        let mut fastest = 0.0;
        let lower = self.scores.iter().zip(self.along).zip(self.alpha.iter().zip(self.states));
        for (((score, along), (alpha, state)), moves) in lower.zip(self.changes) {
            let (e1, e2) = state.centering(*alpha, self.target, *moves);
            let missing = self.shift + score - e1 + e2 - (self.along_high - along);
            let change = state.weight(*alpha) * missing;
            let (of_nu, of_alpha) = (change / state.nu, change / alpha);
            let xi = e1 - state.xi + state.xi * of_nu;
            let r = e2 - state.r - state.r * of_alpha;
            *moves = Move { alpha: change, xi, r };
            fastest = state.rate(*alpha, moves, fastest);
        }
        fastest
    }
}

/// The Cholesky factor of 2 lambda I + H.
struct Factor {
    upper: Vec<Lanes>,
    dim: usize,
    width: usize,
}

impl Factor {
    /// Factors 2 lambda I + H, H given by its blocks on and above the diagonal. Where rounding has made it
    /// indefinite the diagonal is raised until it is not; `None` when that does not help.
    fn new(h: &[Lanes], dim: usize, width: usize, lambda: f64) -> Option<Self> {
        let largest = (0..dim).map(|i| lanes::get(&h[i * width..], i)).fold(0.0, f64::max);
        let mut shift = 0.0;
        for _ in 0..8 {
            let mut upper = h.to_vec();
            for i in 0..dim {
                *lanes::get_mut(&mut upper[i * width..], i) += 2.0 * lambda + shift;
            }
            if dispatch(Factoring { upper: &mut upper, dim, width }) {
                return Some(Self { upper, dim, width });
            }
            shift = if shift > 0.0 { 30.0 * shift } else { 1e-14 * largest };
        }
        None
    }

    fn solve(&self, right: &[Lanes]) -> Vec<Lanes> {
        let mut x = right.to_vec();
        cholesky::solve(&self.upper, self.width, self.dim, &mut x);
        x
    }
}

struct Factoring<'m> {
    upper: &'m mut [Lanes],
    dim: usize,
    width: usize,
}

impl SimdTask for Factoring<'_> {
    type Output = bool;

    #[inline(always)]
    fn run(self) -> bool {
        cholesky::factor(self.upper, self.width, self.dim)
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{DIM, blocks, problem};
    use super::*;
    use crate::math::random::Random;
    use crate::solve::solve;

    /// P by its definition.
    fn objective(problem: &PairProblem<'_>, center: &[f64], tilt: &[f64], w: &[f64]) -> f64 {
        let mut sum = 0.0;
        for (block, c) in problem.blocks() {
            let score = |i| lanes::to_vec(block.row(i), DIM).iter().zip(w).map(|(x, w)| x * w).sum::<f64>();
            for a in 0..block.n_docs() {
                for b in (0..block.n_docs()).filter(|b| block.labels()[a] > block.labels()[*b]) {
                    sum += c * (1.0 - score(a) + score(b)).max(0.0);
                }
            }
        }
        for (j, w) in w.iter().enumerate() {
            sum += problem.lambda() * (w - center[j]) * (w - center[j]) + tilt[j] * w;
        }
        sum
    }

    #[test]
    fn a_tilt_and_a_center_are_part_of_the_problem() {
        let blocks = blocks();
        let mut random = Random::new(4);
        let mut vector = |size: f64| -> Vec<f64> { (0..DIM).map(|_| size * random.symmetric()).collect() };
        for (lambda, size) in [(10.0, 5.0), (0.1, 0.5), (1e-2, 0.01)] {
            let (center, tilt) = (vector(2.0), vector(size));
            let problem =
                problem(&blocks, lambda).with_center(center.clone()).unwrap().with_tilt(tilt.clone());
            let fit = |solver, tolerance| {
                solve(&problem, &SolveOptions { solver, tolerance, max_iterations: 5000 }, &|| false)
            };
            let (w, reference) = fit(&INTERIOR_POINT, 1e-10);
            assert_eq!(reference.stop, Stop::Converged, "{reference:?}");
            let plain = |w: &[f64]| objective(&problem, &center, &tilt, w);
            assert!((plain(&w) - reference.objective).abs() < 1e-10);
            for _ in 0..50 {
                let nearby: Vec<f64> = w.iter().zip(vector(0.01)).map(|(w, d)| w + d).collect();
                assert!(plain(&nearby) >= reference.objective - reference.gap, "{lambda}");
            }
            for solver in [&super::super::DUAL_DESCENT, &super::super::ADMM] {
                let (w, report) = fit(solver, 1e-6);
                let difference = (report.objective - reference.objective).abs();
                assert!(difference <= report.gap.max(reference.gap) + 1e-10, "{} {report:?}", solver.name);
                assert!((plain(&w) - report.objective).abs() < 1e-10, "{}", solver.name);
                let SolveReport { stop, iterations, objective, gap, .. } = report;
                assert_eq!(
                    stop,
                    Stop::Converged,
                    "{} {lambda} {iterations} {gap:e} {objective}",
                    solver.name
                );
            }
        }
    }
}
