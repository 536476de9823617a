//! Cutting planes over a ball, for convex risks R >= 0.
//!
//! ```text
//! min R(w) over |w| <= B
//! ```
//!
//! The minimum of the planes below R with a ridge penalty gives a lower bound for each mu > 0:
//!
//! ```text
//! min over |w| <= B of max_i (g_i.w + o_i)  >=  min_w max_i (g_i.w + o_i) + mu (|w|^2 - B^2)
//! ```
//!
//! The minimum w on the right is shorter for a larger mu. If it is in the ball, the left side is at most the right side plus
//! mu (B^2 - |w|^2). So mu is searched until this is small: where |w| = B, or near 0 if w stays inside. A minimum that is a
//! little longer than B is shortened to it. 2 mu is the multiplier of |w| <= B.

use super::{
    Bundle, Model, Planes, RiskLine, Sample,
    bundle::{MODEL_ACCURACY, Penalized, Penalty, Run},
};
use crate::base::Control;
use crate::math::optim::projected_gradient::project;
use crate::math::{Objective, Solution, StopRule, difference, dot, iterate, norm, solve_path};

/// Largest number of trial values of mu per minimum of the planes.
const MOST_TRIALS: usize = 100;
/// Least factor of mu while every minimum is in the ball.
const STEP: f64 = 4.0;

/// Minimizes R for each radius B > 0, first from 0, then from the previous solution. The reports have multipliers.
pub fn minimize_path(
    risk: &dyn Objective,
    radii: &[f64],
    rule: &StopRule,
    control: &Control,
) -> Vec<Solution> {
    // Planes do not depend on the radius.
    let mut planes = BallPlanes::new(risk.dim());
    solve_path(radii, |radius, previous| {
        let mut start = previous.map_or_else(|| vec![0.0; risk.dim()], |solution| solution.w.clone());
        project(radius, &mut start);
        let kept = std::mem::replace(&mut planes, BallPlanes::new(0));
        let mut bundle = Bundle::with_planes(kept, &Ball { risk, radius }, start);
        let mut solution = iterate(rule, control, || Run::new(Ball { risk, radius }, &mut bundle));
        planes = bundle.planes;
        solution.report.multiplier = Some(2.0 * planes.mu);
        solution
    })
}

/// R over |w| <= B.
struct Ball<'r> {
    risk: &'r dyn Objective,
    radius: f64,
}

/// Planes below R, with the last mu.
struct BallPlanes {
    planes: Planes,
    /// 0 before the first.
    mu: f64,
}

impl BallPlanes {
    /// The plane 0 of `dim` variables.
    fn new(dim: usize) -> Self {
        Self { planes: Planes::new(dim), mu: 0.0 }
    }
}

impl Penalized for Ball<'_> {
    type Planes = BallPlanes;

    fn risk(&self) -> &dyn Objective {
        self.risk
    }

    /// No penalty: all points are in the ball.
    fn penalty(&self, _: &[f64]) -> f64 {
        0.0
    }

    fn add(&self, planes: &mut BallPlanes, normal: Vec<f64>, w: &[f64], risk: f64) {
        if planes.mu <= 0.0 {
            planes.mu = norm(&normal) / (2.0 * self.radius);
        }
        let offset = risk - dot(&normal, w);
        planes.planes.add(normal, offset);
    }

    fn first_gap(&self, risk_at_start: f64, _: &Sample) -> f64 {
        risk_at_start
    }

    fn minimum(&self, planes: &mut BallPlanes, gap: f64, best: &Sample) -> (Vec<f64>, f64) {
        let accuracy = MODEL_ACCURACY * gap;
        let square = self.radius * self.radius;
        let (mut low, mut high) = (0.0, f64::INFINITY);
        let mut mu = planes.mu.max(f64::MIN_POSITIVE);
        let (mut nearest, mut least, mut bound) = (best.w.clone(), f64::INFINITY, f64::NEG_INFINITY);
        for _ in 0..MOST_TRIALS {
            let Model { mut u, bound: at_mu } = planes.planes.at_ridge(mu, accuracy);
            bound = bound.max(at_mu - mu * square);
            let length = norm(&u);
            let left = mu * (square - length * length);
            if left.abs() < least {
                project(self.radius, &mut u);
                (nearest, least) = (u, left.abs());
                planes.mu = mu;
            }
            if least <= accuracy {
                break;
            }
            // With the same planes, |w| is B a little above this mu.
            let same_planes = mu * length / self.radius + accuracy / (4.0 * square);
            let next = if left >= 0.0 {
                high = mu;
                if low > 0.0 { same_planes } else { same_planes.min(mu / STEP) }
            } else {
                low = mu;
                same_planes
            };
            mu = if next > low && next < high { next } else { (low * high).sqrt() };
            if !(mu > low && mu < high) {
                break;
            }
        }
        planes.planes.drop_idle();
        (nearest, bound)
    }

    fn line<'a>(&'a self, from: &'a Sample, to: &[f64]) -> RiskLine<'a> {
        RiskLine::of(self.risk, 0.0, from, difference(to, &from.w), Penalty::Squares([0.0; 3]))
    }
}
