//! Smooth convex risks over a ball, or with signs of weights, by accelerated projected gradients (Nesterov 1983; Beck & Teboulle
//! 2009) with restarts (O'Donoghue & Candes 2015); smooth risks over a sphere by normalized gradient steps.
//!
//! ```text
//! min R(w) over a region, |w| <= B for a ball
//! w' = proj(v - g(v) / L),  v = w' + (t - 1) / t' (w' - w),  t' = (1 + sqrt(1 + 4 t^2)) / 2
//! R(w) - min R <= g.w + B |g|                   ball, g at w: the largest decrease of the tangent (Frank & Wolfe 1956)
//! ```
//!
//! L doubles until R(w') <= R(v) + g(v).(w' - v) + L / 2 |w' - v|^2 or, because rounding may hide this, until
//! (g(w') - g(v)).(w' - v) <= L |w' - v|^2. L decreases a little before each step. t restarts at 1 if a step opposes the
//! previous one: (v - w').(w' - w) > 0.

use super::objective::{difference, moved, norm};
use super::{Best, Method, Objective, Point, Ridge, Solution, Stop, StopRule, iterate, solve_path};
use crate::base::Control;
use crate::math::dot;

/// Factor of L before a step.
const RELAXATION: f64 = 0.9;
/// Largest number of doublings of L in one step.
const MOST_DOUBLINGS: usize = 100;

/// Minimizes R over the ball of each radius B > 0, first from 0, then from the previous solution.
pub fn minimize_path(
    risk: &dyn Objective,
    radii: &[f64],
    rule: &StopRule,
    control: &Control,
) -> Vec<Solution> {
    let zero = Point::of_risk(risk, vec![0.0; risk.dim()]);
    solve_path(radii, |radius, previous| {
        let start = previous.map_or(&zero.w, |solution| &solution.w).clone();
        iterate(rule, control, || StepSearch::new(risk, Region::Ball(radius), start, zero.value))
    })
}

/// Minimizes R(w) + lambda |w|^2 over w with signs\[j\] w_j >= 0, where there is a sign, for each lambda > 0, first from 0, then
/// from the previous solution.
///
/// The gap is the largest decrease of the parabola with the curvature of the penalty: the sum over j of the largest
/// -g_j d - lambda d^2 for which w_j + d is allowed, g the gradient of R(w) + lambda |w|^2.
pub fn minimize_signed_path(
    risk: &dyn Objective,
    signs: &[i8],
    lambdas: &[f64],
    rule: &StopRule,
    control: &Control,
) -> Vec<Solution> {
    let zero = Point::of_risk(risk, vec![0.0; risk.dim()]);
    solve_path(lambdas, |lambda, previous| {
        let start = previous.map_or(&zero.w, |solution| &solution.w).clone();
        let penalized = Penalized(Ridge { risk, lambda, center: None });
        iterate(rule, control, || {
            StepSearch::new(&penalized, Region::Signs(signs, lambda), start, zero.value)
        })
    })
}

/// A risk with its penalty.
struct Penalized<'a>(Ridge<'a>);

impl Objective for Penalized<'_> {
    fn dim(&self) -> usize {
        self.0.risk.dim()
    }

    fn value_at(&self, w: &[f64], slopes: &mut [f64]) -> f64 {
        let point = self.0.at(w.to_vec());
        slopes.copy_from_slice(&point.gradient);
        point.value
    }
}

/// Where w may be.
#[derive(Clone, Copy)]
enum Region<'a> {
    /// Within this distance from 0.
    Ball(f64),
    /// With these signs, where they are not 0. The risk has the penalty lambda |w|^2.
    Signs(&'a [i8], f64),
}

impl Region<'_> {
    /// Moves w to the nearest allowed point.
    fn project(self, w: &mut [f64]) {
        match self {
            Self::Ball(radius) => project(radius, w),
            Self::Signs(signs, _) => {
                let against = |(w, sign): &(&mut f64, &i8)| **w * f64::from(**sign) < 0.0;
                w.iter_mut().zip(signs).filter(against).for_each(|(w, _)| *w = 0.0);
            }
        }
    }

    /// A lower bound of min R from a point.
    fn bound(self, Point { w, value, gradient }: &Point) -> f64 {
        match self {
            Self::Ball(radius) => value - dot(gradient, w) - radius * norm(gradient),
            Self::Signs(signs, lambda) => {
                let decrease = |(number, (g, w)): (usize, (&f64, &f64))| {
                    let free = -g / (2.0 * lambda);
                    let d = match signs.get(number) {
                        Some(sign) if *sign > 0 => free.max(-w),
                        Some(sign) if *sign < 0 => free.min(-w),
                        _ => free,
                    };
                    -g * d - lambda * d * d
                };
                value - gradient.iter().zip(w).enumerate().map(decrease).sum::<f64>()
            }
        }
    }

    /// The first curvature: the first step is no longer than a radius, or no shorter than the penalty allows.
    fn curvature(self, gradient: &[f64]) -> f64 {
        match self {
            Self::Ball(radius) => (norm(gradient) / radius).max(f64::MIN_POSITIVE),
            Self::Signs(_, lambda) => 2.0 * lambda,
        }
    }
}

struct StepSearch<'a> {
    risk: &'a dyn Objective,
    region: Region<'a>,
    /// R(0)
    scale: f64,
    /// L
    curvature: f64,
    t: f64,
    /// w, the last point in the region.
    last: Point,
    /// v, which may be outside.
    ahead: Vec<f64>,
    best: Point,
    /// Largest lower bound of min R.
    bound: f64,
}

impl<'a> StepSearch<'a> {
    fn new(risk: &'a dyn Objective, region: Region<'a>, mut start: Vec<f64>, scale: f64) -> Self {
        region.project(&mut start);
        let last = Point::of_risk(risk, start);
        let (ahead, best) = (last.w.clone(), last.clone());
        let curvature = region.curvature(&last.gradient);
        let mut search =
            Self { risk, region, scale, curvature, t: 1.0, last, ahead, best, bound: f64::NEG_INFINITY };
        search.record();
        search
    }

    /// Updates the best point and the lower bound from the last point.
    fn record(&mut self) {
        self.bound = self.bound.max(self.region.bound(&self.last));
        if self.last.value <= self.best.value {
            self.best = self.last.clone();
        }
    }

    /// proj(v - g / L)
    fn projected(&self, ahead: &Point) -> Point {
        let step = |(v, g): (&f64, &f64)| v - g / self.curvature;
        let mut w = ahead.w.iter().zip(&ahead.gradient).map(step).collect::<Vec<f64>>();
        self.region.project(&mut w);
        Point::of_risk(self.risk, w)
    }

    /// Goes to the next point and extrapolates from it.
    fn accept(&mut self, next: Point) {
        let change = difference(&next.w, &self.last.w);
        let restart = dot(&difference(&self.ahead, &next.w), &change) > 0.0;
        let after = if restart { 1.0 } else { 0.5 * (1.0 + (1.0 + 4.0 * self.t * self.t).sqrt()) };
        let momentum = if restart { 0.0 } else { (self.t - 1.0) / after };
        self.ahead = moved(&next.w, momentum, &change);
        self.t = after;
        self.last = next;
        self.record();
    }
}

impl Method for StepSearch<'_> {
    const PATIENCE: usize = 299;

    fn best(&self) -> Best<'_> {
        Best::with_bound(&self.best.w, self.best.value, self.bound)
    }

    fn scale(&self) -> f64 {
        self.scale
    }

    fn advance(&mut self, _control: &Control) -> bool {
        let ahead = Point::of_risk(self.risk, self.ahead.clone());
        self.curvature *= RELAXATION;
        for _ in 0..MOST_DOUBLINGS {
            let next = self.projected(&ahead);
            if is_below_parabola(&ahead, &next, self.curvature) {
                self.accept(next);
                return true;
            }
            self.curvature *= 2.0;
        }
        false
    }
}

/// Whether R at the next point is at most the parabola at v with this curvature, by values or by gradients.
pub(super) fn is_below_parabola(v: &Point, next: &Point, curvature: f64) -> bool {
    let step = difference(&next.w, &v.w);
    let square = dot(&step, &step);
    let by_value = next.value <= v.value + dot(&v.gradient, &step) + 0.5 * curvature * square;
    by_value || dot(&difference(&next.gradient, &v.gradient), &step) <= curvature * square
}

/// Moves w to the nearest point of the ball.
pub(super) fn project(radius: f64, w: &mut [f64]) {
    let length = norm(w);
    if length > radius {
        w.iter_mut().for_each(|w| *w *= radius / length);
    }
}

// Minimization of smooth risks over a sphere, by normalized gradient steps (Olinto & Fokoue 2018, algorithm 1).
//
// ```text
// min R(w) over |w| = B, which is not convex
// w' = B (w - g / L) / |w - g / L|
// ```
//
// L doubles until R(w') is at most the parabola of curvature L at w, and halves before each step. The gap of a report is
// B times the norm of the tangential component of g: 0 at a stationary point, not a distance from the minimum.

/// Descends on the sphere of radius B > 0 from the point that is nearest to `start`.
pub fn descend(
    risk: &dyn Objective,
    radius: f64,
    start: &[f64],
    rule: &StopRule,
    control: &Control,
) -> Solution {
    let mut solution = iterate(rule, control, || SphereSearch::new(risk, radius, start.to_vec()));
    if solution.report.stop == Stop::Converged {
        solution.report.stop = Stop::Stationary;
    }
    solution
}

struct SphereSearch<'a> {
    risk: &'a dyn Objective,
    radius: f64,
    /// L
    curvature: f64,
    at: Point,
}

impl<'a> SphereSearch<'a> {
    fn new(risk: &'a dyn Objective, radius: f64, mut start: Vec<f64>) -> Self {
        normalize(radius, &mut start);
        let at = Point::of_risk(risk, start);
        // The first step is no longer than the radius.
        let curvature = (norm(&at.gradient) / radius).max(f64::MIN_POSITIVE);
        Self { risk, radius, curvature, at }
    }
}

impl Method for SphereSearch<'_> {
    fn best(&self) -> Best<'_> {
        let Point { w, value, gradient } = &self.at;
        let radial = dot(gradient, w) / (self.radius * self.radius);
        let tangential: Vec<f64> = gradient.iter().zip(w).map(|(g, w)| g - radial * w).collect();
        Best { w, objective: *value, gap: self.radius * norm(&tangential) }
    }

    fn advance(&mut self, _control: &Control) -> bool {
        self.curvature *= 0.5;
        for _ in 0..MOST_DOUBLINGS {
            let step = |(w, g): (&f64, &f64)| w - g / self.curvature;
            let mut w: Vec<f64> = self.at.w.iter().zip(&self.at.gradient).map(step).collect();
            normalize(self.radius, &mut w);
            let next = Point::of_risk(self.risk, w);
            if is_below_parabola(&self.at, &next, self.curvature) {
                self.at = next;
                return true;
            }
            self.curvature *= 2.0;
        }
        false
    }
}

/// Moves w to the nearest point of the sphere; the first axis if w is 0.
fn normalize(radius: f64, w: &mut [f64]) {
    let length = norm(w);
    if length > 0.0 {
        w.iter_mut().for_each(|w| *w *= radius / length);
    } else if let Some(first) = w.first_mut() {
        *first = radius;
    }
}
