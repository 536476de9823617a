//! Smooth convex losses over a ball, by accelerated projected gradients (Nesterov 1983; Beck & Teboulle 2009) with
//! restarts (O'Donoghue & Candes 2015). It is the learner of Olinto & Fokoue (2018), who keep theta short, with a
//! convex set in the place of their unit sphere.
//!
//! ```text
//! min R(w) over |w| <= B                        R(w) = sum_q c_q L_q(X_q w)
//! w' = proj(v - g(v) / L),  v = w' + (t - 1) / t' (w' - w),  t' = (1 + sqrt(1 + 4 t^2)) / 2
//! R(w) - min R <= g.w + B |g|                   g at w: the largest fall that the tangent promises (Frank & Wolfe 1956)
//! ```
//!
//! L doubles until R(w') <= R(v) + g(v).(w' - v) + L / 2 |w' - v|^2, or, where that drowns in rounding, until
//! (g(w') - g(v)).(w' - v) <= L |w' - v|^2. It falls by a little before every step. t begins again at 1 where a step goes
//! against the last one, (v - w').(w' - w) > 0. A step takes two passes over the documents.

use std::time::Instant;

use super::{ListProblem, Report};
use crate::error::{Error, Result};
use crate::loss::Shape;
use crate::math::dense::dot;
use crate::solve::{Canceled, SolveOptions, SolveReport, Step, Stop};

/// L before a step, as a share of that of the last one.
const RELAXED: f64 = 0.9;
/// Most doublings of L in one step.
const DOUBLINGS: usize = 100;
/// Steps without a smaller gap after which rounding is to blame.
const PATIENCE: usize = 300;

/// The best w for each of these radii B > 0, each from the one before. The penalty of the problem and its center play
/// no part, nor does the solver of the options.
///
/// # Errors
/// A radius that is out of range; a loss that is not smooth.
pub fn path(
    problem: &ListProblem<'_>,
    radii: &[f64],
    options: &SolveOptions,
    canceled: &(dyn Fn() -> bool + Sync),
) -> Result<Vec<Report>> {
    if let Some(radius) = radii.iter().find(|radius| !(radius.is_finite() && **radius > 0.0)) {
        return Err(Error::value("radius of a ball", radius.to_string(), "a finite number above 0"));
    }
    if !matches!(problem.shape(), Shape::Quadratic | Shape::Smooth) {
        let name = problem.loss().def().name;
        let reason =
            format!("a ball is for smooth listwise losses and least squares, not for the loss '{name}'");
        return Err(Error::Unsupported(reason));
    }
    let loss_at_zero = problem.risk(&vec![0.0; problem.dim()], &mut vec![0.0; problem.dim()]);
    let mut fits: Vec<Report> = Vec::with_capacity(radii.len());
    for &radius in radii {
        let start = fits.last().map_or_else(|| vec![0.0; problem.dim()], |(w, _)| w.clone());
        let fit = Run::new(problem, radius, start).run(options, loss_at_zero, canceled);
        let stop = fit.1.stop;
        fits.push(fit);
        if stop == Stop::Interrupted {
            break;
        }
    }
    Ok(fits)
}

/// A point with R and its gradient.
#[derive(Clone)]
struct Point {
    w: Vec<f64>,
    risk: f64,
    gradient: Vec<f64>,
}

impl Point {
    fn at(problem: &ListProblem<'_>, w: Vec<f64>) -> Self {
        let mut gradient = vec![0.0; w.len()];
        let risk = problem.risk(&w, &mut gradient);
        Self { w, risk, gradient }
    }
}

/// The state of one fit.
struct Run<'p, 'a> {
    problem: &'p ListProblem<'a>,
    radius: f64,
    /// L.
    curvature: f64,
    t: f64,
    /// The last point in the ball, w.
    last: Point,
    /// v, which may lie outside.
    ahead: Vec<f64>,
    best: Point,
    /// Largest lower bound of min R.
    bound: f64,
}

impl<'p, 'a> Run<'p, 'a> {
    fn new(problem: &'p ListProblem<'a>, radius: f64, mut start: Vec<f64>) -> Self {
        project(radius, &mut start);
        let last = Point::at(problem, start);
        let (ahead, best) = (last.w.clone(), last.clone());
        // The first step goes no farther than the radius.
        let curvature = (norm(&last.gradient) / radius).max(f64::MIN_POSITIVE);
        let mut run =
            Self { problem, radius, curvature, t: 1.0, last, ahead, best, bound: f64::NEG_INFINITY };
        run.observe();
        run
    }

    fn run(mut self, options: &SolveOptions, loss_at_zero: f64, canceled: Canceled<'_>) -> Report {
        let began = Instant::now();
        let mut steps: Vec<Step> = Vec::new();
        let (mut smallest, mut found) = (f64::INFINITY, 0);
        let stop = loop {
            let (objective, gap) = (self.best.risk, self.gap());
            if gap < smallest {
                (smallest, found) = (gap, steps.len());
            }
            steps.push(Step { objective, gap, seconds: began.elapsed().as_secs_f64() });
            if gap <= options.allowed_gap(objective, loss_at_zero) {
                break Stop::Converged;
            }
            if canceled() {
                break Stop::Interrupted;
            }
            if steps.len() > options.max_iterations as usize {
                break Stop::IterationLimit;
            }
            if steps.len() - found > PATIENCE || !self.step() {
                break Stop::Stalled;
            }
        };
        let (objective, gap, iterations) = (self.best.risk, self.gap(), steps.len() as u32 - 1);
        (self.best.w, SolveReport { stop, iterations, objective, gap, steps })
    }

    fn gap(&self) -> f64 {
        (self.best.risk - self.bound).max(0.0)
    }

    /// Keeps the last point where it is the best, and the bound that its tangent gives.
    fn observe(&mut self) {
        let Point { w, risk, gradient } = &self.last;
        self.bound = self.bound.max(risk - dot(gradient, w) - self.radius * norm(gradient));
        if *risk <= self.best.risk {
            self.best = self.last.clone();
        }
    }

    /// One step; false where no L is large enough.
    fn step(&mut self) -> bool {
        let ahead = Point::at(self.problem, self.ahead.clone());
        self.curvature *= RELAXED;
        for _ in 0..DOUBLINGS {
            let next = self.projected(&ahead);
            if lies_low(&ahead, &next, self.curvature) {
                self.go(next);
                return true;
            }
            self.curvature *= 2.0;
        }
        false
    }

    /// proj(v - g / L).
    fn projected(&self, ahead: &Point) -> Point {
        let mut w: Vec<f64> =
            ahead.w.iter().zip(&ahead.gradient).map(|(v, g)| v - g / self.curvature).collect();
        project(self.radius, &mut w);
        Point::at(self.problem, w)
    }

    fn go(&mut self, next: Point) {
        let change = difference(&next.w, &self.last.w);
        let turns = dot(&difference(&self.ahead, &next.w), &change) > 0.0;
        let after = if turns { 1.0 } else { 0.5 * (1.0 + (1.0 + 4.0 * self.t * self.t).sqrt()) };
        let share = if turns { 0.0 } else { (self.t - 1.0) / after };
        self.ahead = next.w.iter().zip(&change).map(|(w, change)| w + share * change).collect();
        self.t = after;
        self.last = next;
        self.observe();
    }
}

/// Whether R at the next point is not above the parabola of this curvature at v, whichever way tells it.
fn lies_low(v: &Point, next: &Point, curvature: f64) -> bool {
    let step = difference(&next.w, &v.w);
    let square = dot(&step, &step);
    let below = next.risk <= v.risk + dot(&v.gradient, &step) + 0.5 * curvature * square;
    below || dot(&difference(&next.gradient, &v.gradient), &step) <= curvature * square
}

fn norm(x: &[f64]) -> f64 {
    dot(x, x).sqrt()
}

fn difference(x: &[f64], y: &[f64]) -> Vec<f64> {
    x.iter().zip(y).map(|(x, y)| x - y).collect()
}

/// The nearest point of the ball.
fn project(radius: f64, w: &mut [f64]) {
    let length = norm(w);
    if length > radius {
        w.iter_mut().for_each(|w| *w *= radius / length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Matrix, shaped};
    use crate::loss::{ListLoss, Squared};
    use crate::solve::{ListBlock, Rows};

    fn block(loss: &ListLoss) -> ListBlock {
        let documents = vec![1.0, 0.0, 0.0, 2.0, -1.0, 1.0, 3.0, 1.0];
        ListBlock::new(Rows::Own(Matrix::F64(shaped(4, 2, documents))), &[1.0, 0.0, 2.0, 3.0], &[], loss)
            .unwrap()
    }

    /// On the sphere -g is w times the factor of its ridge; inside g is 0.
    #[test]
    fn the_answer_is_that_of_the_conditions_of_optimality() {
        let loss = ListLoss::Squared(Squared::CENTRED);
        let block = block(&loss);
        let problem = ListProblem::new(2, &loss, vec![(&block, 1.0)], 1.0).unwrap();
        let options = SolveOptions { tolerance: 1e-12, ..SolveOptions::default() };
        let radii = [100.0, 0.1, 0.01];
        let fits = path(&problem, &radii, &options, &|| false).unwrap();
        for ((w, report), radius) in fits.iter().zip(radii) {
            assert_eq!(report.stop, Stop::Converged, "{radius}");
            let mut g = vec![0.0; 2];
            problem.risk(w, &mut g);
            assert!(norm(w) <= radius * (1.0 + 1e-12));
            let multiplier = norm(&g) / norm(w);
            assert!(g.iter().zip(w).all(|(g, w)| (g + multiplier * w).abs() < 1e-5), "{radius}: {g:?} {w:?}");
            assert!(radius > 1.0 || (norm(w) - radius).abs() < 1e-9);
        }
    }

    #[test]
    fn radii_and_losses_that_it_does_not_take_are_refused() {
        let loss = ListLoss::Squared(Squared::CENTRED);
        let block = block(&loss);
        let problem = ListProblem::new(2, &loss, vec![(&block, 1.0)], 1.0).unwrap();
        let options = SolveOptions::default();
        let error = path(&problem, &[0.0], &options, &|| false).unwrap_err().to_string();
        assert_eq!(error, "radius of a ball: got 0, allowed is a finite number above 0");
        let convex = problem.with_losses(vec![None], Shape::Convex);
        assert!(path(&convex, &[1.0], &options, &|| false).is_err());
        let fits = path(&problem, &[1.0, 0.5], &options, &|| true).unwrap();
        assert_eq!((fits.len(), fits[0].1.stop), (1, Stop::Interrupted));
    }
}
