//! Newton's method on the smoothed hinge; the quadratic zone shrinks with the gap. The start is a solution for large
//! lambda, a ridge solution, or the previous solution of a path.
//!
//! For a zone of width delta the smoothed loss has the gradient r = 2 lambda w - X'g - t and the Hessian
//! H = 2 lambda I + sum over the zone of (c / delta) z z'. The derivative p of a pair gives alpha = c p and the gap
//!
//! ```text
//! P(w) - D(alpha) = smoothing gap + gradient gap
//! smoothing gap = sum of c max(u, 0) - sum of alpha u
//! gradient gap  = |r|^2 / (4 lambda)
//! ```
//!
//! **Smoothing rounds.** A round ends when Newton's method has settled (half of r'H^-1 r is below the smoothing gap).
//! Then the width shrinks so that the smoothing gap is expected to be 0.4 of the allowed gap. If it is above 0.6 of the
//! allowed gap, the width is kept.
//!
//! **Multiplier rounds.** If the zone has fewer pairs than about 3 b, the solution is at a vertex, and each shrink
//! would cost several steps. Then each pair keeps its p as the center p0 of the next round. This is the method of
//! multipliers (proximal point on the dual): it converges for any width, and the last digits cost little. It stores 8
//! bytes per pair.
//!
//! A zone with fewer pairs than features makes H almost singular, and the line search cuts the step to nothing. So in
//! vertex problems the last Hessian of the previous round is added to H, with a factor that decreases from step to
//! step. If steps stay short, the method alternates between zones: the width grows again until steps are long, and
//! shrinks more slowly from there.
//!
//! H takes most of the time. On a path of several lambdas it is kept for the next step, round and lambda while steps decrease
//! the gradient gap clearly (Shamanskii 1967), but not at a vertex, where it changes from step to step.
//!
//! The best w and the best alpha of all iterations are kept; alpha is also scaled by the theta that maximizes
//! D(theta alpha).

use super::chunk::PassSums;
use super::hessian::{Precision, regularized_solve};
use super::space::{HingeRows, MANY_FEATURES, Totals};
use super::state::{Best, Newton, State};
use super::woodbury::{ZonePair, add_scaled};
use crate::math::{Lanes, lanes};

/// A zone with fewer pairs than this factor times b makes a vertex problem.
const VERTEX_FACTOR: u64 = 3;
/// Problems with fewer pairs use multipliers after the first round.
const SMALL_PROBLEM: u64 = 1000;
/// Objectives below this multiple of the loss of w = 0 use multipliers.
const TINY_OBJECTIVE: f64 = 1e-3;
/// Largest number of bytes for the centers of all pairs.
const CENTER_BYTES: usize = 1 << 28;
/// Factor of the width at the first multiplier round, so that the zone keeps its pairs.
const MULTIPLIER_START: f64 = 2.0;
/// Unbalanced fraction of the penalty's slope in the direction of w above which w is shortened.
const SHORTEN: f64 = 0.5;
/// Factor of the width from one multiplier round to the next, and the smallest width.
const MULTIPLIER_SHRINK: f64 = 0.5;
const SMALLEST_MULTIPLIER_WIDTH: f64 = 1e-7;
/// Factor of the gradient gap in one step up to which the Hessian is kept.
const KEEP: f64 = 0.3;
/// Factor of the previous round's Hessian from step to step, and the smallest factor used.
const PREVIOUS_DECAY: f64 = 0.1;
const SMALLEST_PREVIOUS: f64 = 1e-6;
/// Shorter steps count as short. After this number of short steps in a row the width grows by the factor, up to a
/// limit.
const SHORT_STEP: f64 = 0.1;
const SHORT_STEPS: u32 = 3;
const GROWTH: f64 = 4.0;
const LARGEST_WIDTH: f64 = 8.0;
/// Smallest factor of the width from round to round after it has grown.
const CAREFUL_SHRINK: f64 = 0.5;
/// Largest number of growths of the width in one fit.
const MOST_GROWTHS: u32 = 8;
/// Smallest width of a smoothing round.
const SMALLEST_WIDTH: f64 = 1e-12;
/// Largest number of Newton steps in a round.
const MOST_STEPS_PER_ROUND: u32 = 40;
/// Iterations in which the gap does not decrease by 1 %, after which the fit has stalled.
const PATIENCE: u32 = 100;
/// Consecutive failures of the line search after which the fit has stalled.
const MOST_FAILURES: u32 = 4;
/// Refuted gaps after which the fit has stalled.
const MOST_REFUTED: u32 = 4;

/// The Hessian of the loss: a matrix, or few pairs with their weights.
#[derive(Clone)]
enum Curvature {
    Matrix(Vec<Lanes>),
    Pairs(Vec<ZonePair>),
}

impl Curvature {
    /// self + factor * other; self if they have two forms.
    fn plus(&self, factor: f64, other: &Self) -> Self {
        match (self, other) {
            (Self::Matrix(matrix), Self::Matrix(other)) => {
                let mut sum = matrix.clone();
                lanes::axpy(factor, other, &mut sum);
                Self::Matrix(sum)
            }
            (Self::Matrix(matrix), Self::Pairs(_)) => Self::Matrix(matrix.clone()),
            (Self::Pairs(pairs), other) => {
                let mut sum = pairs.clone();
                if let Self::Pairs(other) = other {
                    add_scaled(&mut sum, factor, other);
                }
                Self::Pairs(sum)
            }
        }
    }
}

/// Whether a fit computes its steps from systems of pairs (`woodbury`).
#[derive(Debug, PartialEq, Eq)]
enum PairSystems {
    Unused,
    Used,
    /// The fit stalled with them: with tiny lambda they lose digits. It continues with matrices.
    GivenUp,
}

/// Events of one fit, counted.
#[derive(Debug, Default)]
struct Counters {
    in_round: u32,
    idle: u32,
    short: u32,
    growths: u32,
    failures: u32,
    refuted: u32,
    last_gap: f64,
}

/// A fit; kept from one lambda of a path to the next.
#[expect(clippy::struct_excessive_bools, reason = "independent facts about the iteration")]
pub(super) struct Hinge<'a, R> {
    pub(super) state: State<'a, R>,
    /// sum of c max(u, 0) - sum of alpha u at w.
    smoothing_gap: f64,
    /// Width of the zone.
    pub(super) delta: f64,
    /// Width of the last smoothing round.
    pub(super) last_width: f64,
    /// True in multiplier rounds.
    multipliers: bool,
    /// Precision of Hessians: steps and certificates need no exact ones.
    pub(super) precision: Precision,
    /// Pairs in the zone of the last Hessian.
    zone_pairs: u64,
    pair_systems: PairSystems,
    /// The last Hessian of this round, and whether it serves the next step.
    hessian: Option<Curvature>,
    is_kept: bool,
    /// Whether several lambdas are solved.
    is_path: bool,
    /// The Hessian of the previous round, with its factor.
    previous_hessian: Option<Curvature>,
    previous_factor: f64,
    /// Whether the next start of a path may be the last w times the ratio of lambdas.
    pub(super) may_stretch: bool,
    /// Largest margin of the direction m, once computed.
    pub(super) largest_margin: Option<f64>,
    /// Whether a lambda has been solved before.
    solved: bool,
    counters: Counters,
}

impl<'a, R: HingeRows> Newton<'a> for Hinge<'a, R> {
    type Rows = R;

    fn state(&mut self) -> &mut State<'a, R> {
        &mut self.state
    }

    fn begin(&mut self, lambda: f64) -> bool {
        let previous = self.solved.then(|| (self.state.best.w.clone(), self.state.penalty.lambda));
        self.reset(lambda);
        self.solved = true;
        if self.solve_linear_regime() {
            return true;
        }
        self.move_to_start(previous);
        false
    }

    fn refresh(&mut self) {
        self.state.space.set_point(&self.state.w);
        let sums = self.state.space.pass(0.0, self.delta);
        self.evaluate(&sums, true);
    }

    fn advance(&mut self) {
        if self.has_stalled() && self.pair_systems == PairSystems::Used {
            self.give_up_pair_systems();
        }
        if self.newton_step() {
            self.next_round();
        }
    }

    fn is_stuck(&self) -> bool {
        self.has_stalled() && self.pair_systems != PairSystems::Used
    }

    fn count_refuted(&mut self) {
        self.counters.refuted += 1;
    }
}

impl<'a, R: HingeRows> Hinge<'a, R> {
    pub(super) fn new(state: State<'a, R>, is_path: bool) -> Self {
        Self {
            smoothing_gap: 0.0,
            delta: 1.0,
            last_width: 1.0,
            multipliers: false,
            precision: if state.space.totals().dim < MANY_FEATURES {
                Precision::Double
            } else {
                Precision::Single
            },
            zone_pairs: 0,
            pair_systems: PairSystems::Unused,
            hessian: None,
            is_kept: false,
            is_path,
            previous_hessian: None,
            previous_factor: 0.0,
            may_stretch: state.penalty.is_plain(),
            largest_margin: None,
            solved: false,
            counters: Counters::default(),
            state,
        }
    }

    /// Forgets all but the data: the loss of w = 0 is the sum of all weights, and alpha = theta c is a first dual
    /// point.
    fn reset(&mut self, lambda: f64) {
        self.multipliers = false;
        self.pair_systems = PairSystems::Unused;
        self.previous_factor = 0.0;
        self.counters = Counters { last_gap: f64::INFINITY, ..Counters::default() };
        let State { space, penalty, best, .. } = &mut self.state;
        penalty.lambda = lambda;
        let Totals { width, total_weight, pair_sum, .. } = space.totals();
        let w = vec![Lanes::ZERO; *width];
        let primal = total_weight + penalty.value(&w);
        let dual = penalty.dual(*total_weight, pair_sum);
        *best = Best { w, primal, dual, is_fresh: false };
    }

    /// Gap and residual at w from the sums of a pass there.
    fn evaluate(&mut self, sums: &PassSums, is_fresh: bool) {
        let alpha_z = self.state.update(sums.loss, is_fresh);
        self.smoothing_gap = (sums.loss - (sums.alpha - sums.g_scores)).max(0.0);
        let State { penalty, best, .. } = &mut self.state;
        best.dual = best.dual.max(penalty.dual(sums.alpha, &alpha_z));
    }

    /// One Newton step with its line search; true if the round has settled.
    fn newton_step(&mut self) -> bool {
        // 1. Hessian of the pairs in the zone; all other pairs are linear or zero.
        self.counters.in_round += 1;
        if !self.is_kept {
            self.find_hessian();
        }
        let before = self.state.gradient_gap;
        // 2. Newton direction and line search. If nothing decreases, the scores are recomputed; a Hessian of this point or
        // in double precision may help, else the round ends.
        let solution = self.newton_direction();
        let Some((step, decrement)) = solution.and_then(|solution| self.move_against(&solution)) else {
            self.refresh();
            if self.is_kept || self.precision == Precision::Single {
                self.precision = if self.is_kept { self.precision } else { Precision::Double };
                self.is_kept = false;
                return false;
            }
            self.counters.failures += 1;
            return true;
        };
        self.counters.failures = 0;
        self.count_idle();
        self.is_kept = self.may_keep() && self.state.gradient_gap < KEEP * before;
        // 3. Several short steps in a row: a wider zone.
        self.counters.short = if step < SHORT_STEP { self.counters.short + 1 } else { 0 };
        let lost = self.counters.short >= SHORT_STEPS && !self.multipliers;
        if lost && self.delta < LARGEST_WIDTH && self.counters.growths < MOST_GROWTHS {
            self.widen();
            return false;
        }
        self.has_settled(step, decrement) || self.counters.in_round >= MOST_STEPS_PER_ROUND
    }

    /// Whether the Hessian may serve another point.
    fn may_keep(&self) -> bool {
        self.is_path && !self.multipliers && !self.is_vertex_problem()
    }

    fn has_stalled(&self) -> bool {
        let Counters { idle, failures, refuted, .. } = self.counters;
        idle > PATIENCE || failures > MOST_FAILURES || refuted > MOST_REFUTED
    }

    /// Starts again with matrices from the best w.
    fn give_up_pair_systems(&mut self) {
        self.pair_systems = PairSystems::GivenUp;
        (self.hessian, self.previous_hessian, self.is_kept) = (None, None, false);
        (self.multipliers, self.delta, self.previous_factor) = (false, 1.0, 0.0);
        self.counters = Counters { last_gap: f64::INFINITY, ..Counters::default() };
        self.state.space.clear_centers();
        self.state.w.clone_from(&self.state.best.w);
        self.refresh();
    }

    /// Computes the Hessian at the accepted point.
    fn find_hessian(&mut self) {
        let space = &mut self.state.space;
        let may_be_few = self.pair_systems != PairSystems::GivenUp;
        let direction = if let Some(pairs) = may_be_few.then(|| space.few_pairs(self.delta)).flatten() {
            self.pair_systems = PairSystems::Used;
            self.zone_pairs = pairs.len() as u64;
            Curvature::Pairs(pairs)
        } else {
            let (matrix, zone_pairs) = space.hessian(self.delta, self.precision);
            self.zone_pairs = zone_pairs;
            Curvature::Matrix(matrix)
        };
        self.hessian = Some(direction);
    }

    /// H^-1 r; in vertex problems the Hessian of the previous round is part of H.
    fn newton_direction(&mut self) -> Option<Vec<Lanes>> {
        let factor = self.previous_factor;
        self.previous_factor *= PREVIOUS_DECAY;
        let damps = factor >= SMALLEST_PREVIOUS && self.is_vertex_problem();
        let hessian = self.hessian.as_ref()?;
        let damped =
            self.previous_hessian.as_ref().filter(|_| damps).map(|other| hessian.plus(factor, other));
        match damped.as_ref().unwrap_or(hessian) {
            Curvature::Matrix(matrix) => self.state.newton_direction(matrix),
            Curvature::Pairs(pairs) => self.state.direction_of_pairs(pairs),
        }
    }

    /// Moves in the direction -`solution`; returns the step and half of r'H^-1 r.
    fn move_against(&mut self, solution: &[Lanes]) -> Option<(f64, f64)> {
        let delta = self.delta;
        self.state.space.expect_width(self.next_width());
        let moved = self.state.move_against(solution, |space, step| space.pass(step, delta))?;
        self.evaluate(&moved.sums, false);
        Some((moved.length, -0.5 * moved.slope))
    }

    /// Whether further steps at this width would be wasted.
    fn has_settled(&self, step: f64, decrement: f64) -> bool {
        let (smoothing_gap, gradient_gap) = (self.smoothing_gap, self.state.gradient_gap);
        if self.multipliers {
            return gradient_gap < 0.1 * smoothing_gap;
        }
        let near = step > 0.99 && decrement < 3.0 * smoothing_gap;
        let too_wide = smoothing_gap >= 0.6 * self.state.allowed_gap();
        too_wide && near && (!self.is_vertex_problem() || gradient_gap < smoothing_gap)
    }

    fn is_vertex_problem(&self) -> bool {
        self.zone_pairs < VERTEX_FACTOR * self.state.space.totals().dim as u64
    }

    /// Widens the zone, so that more pairs shape the next step, and returns to the best w: short steps often lead to
    /// margins outside every zone.
    fn widen(&mut self) {
        self.counters.short = 0;
        self.counters.idle = 0;
        self.counters.growths += 1;
        self.counters.in_round = 0;
        self.is_kept = false;
        self.delta = (GROWTH * self.delta).min(LARGEST_WIDTH);
        self.state.w.clone_from(&self.state.best.w);
        self.refresh();
    }

    /// Shrinks the width or updates the multipliers, then evaluates the same w again.
    fn next_round(&mut self) {
        self.counters.in_round = 0;
        self.previous_factor = if self.hessian.is_none() { 0.0 } else { 1.0 };
        self.previous_hessian = if self.is_kept { self.hessian.clone() } else { self.hessian.take() };
        if self.multipliers {
            self.state.space.update_centers(self.delta);
            self.delta = (MULTIPLIER_SHRINK * self.delta).max(SMALLEST_MULTIPLIER_WIDTH);
        } else if self.needs_multipliers() {
            self.last_width = self.delta;
            (self.multipliers, self.is_kept) = (true, false);
            self.state.space.update_centers(self.delta);
            self.delta *= MULTIPLIER_START;
            self.refresh();
            self.shorten();
            return;
        } else {
            self.delta = self.state.space.near_width(self.next_width());
            self.last_width = self.delta;
        }
        self.refresh();
    }

    /// The width of the next smoothing round.
    fn next_width(&self) -> f64 {
        let smallest = match (self.counters.growths, self.is_vertex_problem()) {
            (0, false) => 0.1,
            (0, true) => 0.3,
            _ => CAREFUL_SHRINK,
        };
        let shrink = (0.4 * self.state.allowed_gap() / self.smoothing_gap).sqrt();
        (self.delta * shrink.clamp(smallest, 1.0)).max(SMALLEST_WIDTH)
    }

    /// Moves to a lower point on the line through 0 and w if the new centers balance little of the penalty's slope. In
    /// a separable problem all pairs that matter are at the edge of the zone, at a margin of 1 + delta / 2. With their
    /// p as centers the zone is around the margin 1, and contains none of them until w is shorter.
    fn shorten(&mut self) {
        let State { penalty, w, residual, .. } = &self.state;
        if lanes::dot(residual, w) > SHORTEN * (2.0 * penalty.lambda * lanes::dot(w, w)) {
            let w = w.clone();
            self.move_against(&w);
        }
    }

    fn needs_multipliers(&self) -> bool {
        let State { space, best, .. } = &self.state;
        let tiny = best.primal.abs() < TINY_OBJECTIVE * space.totals().total_weight;
        let needed = self.is_vertex_problem() || space.totals().pairs < SMALL_PROBLEM || tiny;
        needed && space.center_bytes() <= CENTER_BYTES
    }

    /// Counts iterations without a clearly smaller gap.
    fn count_idle(&mut self) {
        let gap = self.state.gap();
        if gap < 0.99 * self.counters.last_gap {
            self.counters.last_gap = gap;
            self.counters.idle = 0;
        } else {
            self.counters.idle += 1;
        }
    }
}

// The start of Newton's method for the hinge.
//
// 1. If w = m / (2 lambda), m = sum of c z, gives no margin above 1, alpha = c is optimal and w is the solution. The
// largest margin of m gives the smallest such lambda, once for a path.
// 2. Otherwise the ridge solution: the hinge widened to delta = 4 has p = 3/4 - z'w / 4 if no pair leaves the zone, so
// (2 lambda I + sum of c z z' / 4) w = 3/4 m + t. Or w0 if that is better.
// 3. On a path, the previous solution: times the ratio of lambdas, as 1. suggests, until the plain solution is
// better for the first time. With a linear term or a center it is always plain.
//
// A start given by the caller replaces 1. to 3. for the first lambda.

/// Width of the first zone.
const FIRST_WIDTH: f64 = 0.15;
/// Width of the first zone from w0 or 0.
const COLD_WIDTH: f64 = 1.0;

impl<R: HingeRows> Hinge<'_, R> {
    /// The solution for a lambda so large that no margin exceeds 1. False for a smaller lambda, and with a linear term
    /// or a center, which would move the margins.
    pub(super) fn solve_linear_regime(&mut self) -> bool {
        let (space, penalty) = (&mut self.state.space, &self.state.penalty);
        if !penalty.is_plain() {
            return false;
        }
        let lambda = penalty.lambda;
        let size = lanes::dot(&space.totals().pair_sum, &space.totals().pair_sum);
        // The weighted mean of the margins is at most the largest.
        if size > 2.0 * lambda * space.totals().total_weight {
            return false;
        }
        if self.largest_margin.is_none() {
            let direction = space.totals().pair_sum.clone();
            space.set_point(&direction);
            self.largest_margin = Some(space.largest_margin());
        }
        if self.largest_margin.is_none_or(|margin| margin > 2.0 * lambda) {
            return false;
        }
        self.state.w = lanes::scaled(&space.totals().pair_sum, 0.5 / lambda);
        self.state.best.w.clone_from(&self.state.w);
        self.state.best.primal = space.totals().total_weight - size / (4.0 * lambda);
        self.state.best.dual = self.state.best.primal;
        true
    }

    /// Moves to the start and makes the first pass. `previous` is the solution for another lambda.
    pub(super) fn move_to_start(&mut self, previous: Option<(Vec<Lanes>, f64)>) {
        self.state.space.clear_centers();
        if let Some((w, lambda)) = previous {
            self.delta = self.last_width.min(FIRST_WIDTH);
            let plain = self.evaluate_at(&w);
            let ratio = lambda / self.state.penalty.lambda;
            if self.may_stretch && self.evaluate_at(&lanes::scaled(&w, ratio)) > plain {
                self.may_stretch = false;
                self.evaluate_at(&w);
            }
            return;
        }
        self.delta = FIRST_WIDTH;
        if let Some(start) = self.state.start.take() {
            self.evaluate_at(&start);
            return;
        }
        let center = self.state.penalty.center.clone();
        let bound =
            center.as_ref().map_or(self.state.space.totals().total_weight, |center| self.evaluate_at(center));
        if let Some(w) = self.ridge()
            && self.evaluate_at(&w) <= bound
        {
            return;
        }
        self.delta = COLD_WIDTH;
        let cold = center.unwrap_or_else(|| vec![Lanes::ZERO; self.state.space.totals().width]);
        self.evaluate_at(&cold);
    }

    /// (2 lambda I + sum of c z z' / 4)^-1 (3/4 m + t).
    fn ridge(&mut self) -> Option<Vec<Lanes>> {
        let (space, penalty) = (&mut self.state.space, &self.state.penalty);
        let moment = lanes::scaled(&space.moment(self.precision), 0.25);
        let mut right = lanes::scaled(&space.totals().pair_sum, 0.75);
        penalty.add_center_term(&mut right);
        regularized_solve(&moment, space.totals().dim, penalty.lambda, &right)
    }
}
