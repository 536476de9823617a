//! Penalties other than ridge: a ball of radius B, the sphere, the largest eigenpairs, and the L1 norm.

use std::time::Instant;

use super::ListProblem;
use super::gram::Gram;
use crate::base::{Control, Error, Result, Ticks};
use crate::cost::loss::Shape;
use crate::learn::solve;
use crate::math::optim::cutting_planes::{ball, l1::minimize_path};
use crate::math::{
    Best, Factor, Method, Objective, Point, Solution, SolveReport, Step, Stop, StopRule, axpy, dot, eigen,
    iterate, projected_gradient, solve_path, sum_of_absolutes,
};

// Least squares in the span of leading eigenfunctions (Xu, Fang & Wang 2014, theorem 7), in a space where functions are
// linear.
//
// ```text
// A = Z'Z, b = Z't                       the sums of least squares (`gram`)
// A u_i = lambda_i u_i, |u_i| = 1        phi_i(x) = u_i.x: the eigenfunctions of the empirical ranking operator
// w = sum over kept i of c_i u_i         c_i = S_i / lambda_i with S_i = u_i.b
// ```
//
// Kept are the eigenvalues of at least a threshold (the paper prints "less than or equal", which would keep the trailing
// ones; its proofs keep the leading ones) or a number of leading ones, and those equal to the last of them (to 1e-8).
// Eigenvalues below 1e-12 of the largest are rounding and are never kept. There is no further penalty. One set of
// eigenpairs serves each threshold.

/// Eigenvalues below this fraction of the largest are rounding.
const ROUNDING: f64 = 1e-12;
/// Eigenvalues that differ by less than this, relative, are equal.
const CLUSTER: f64 = 1e-8;

/// The meaning of a path's parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// The smallest kept eigenvalue.
    Threshold,
    /// The number of kept eigenvalues.
    Components,
}

/// The least-squares function for each parameter. `iterations` of a report is the number of kept components. The gap is 0
/// because nothing is iterated.
///
/// # Errors
/// A loss that is not quadratic; an interrupt.
pub fn spectral_path(
    problem: &ListProblem<'_>,
    cut: Cut,
    parameters: &[f64],
    control: &Control,
) -> Result<Vec<Solution>> {
    spectral_of_sums(&Gram::of(problem.dim(), &problem.blocks)?, cut, parameters, control)
}

/// As [`spectral_path`], from the sums over documents.
///
/// # Errors
/// An interrupt.
pub fn spectral_of_sums(
    gram: &Gram,
    cut: Cut,
    parameters: &[f64],
    control: &Control,
) -> Result<Vec<Solution>> {
    let began = Instant::now();
    let pairs = eigen::symmetric(gram.matrix(), gram.dim(), control)?;
    let b = gram.right();
    let projections: Vec<f64> = pairs.vectors.chunks_exact(gram.dim()).map(|u| dot(u, &b)).collect();
    let fit = |parameter: &f64| {
        let kept = kept(&pairs.values, cut, *parameter);
        let mut w = vec![0.0; gram.dim()];
        let mut explained = 0.0;
        let mut eigenfunctions = Vec::with_capacity(kept);
        let vectors = pairs.vectors.chunks_exact(gram.dim());
        for ((u, value), projection) in vectors.zip(&pairs.values).zip(&projections).take(kept) {
            let c = projection / value;
            explained += c * projection;
            axpy(c, u, &mut w);
            eigenfunctions.push((*value, c));
        }
        let objective = (0.5 * (gram.square() - explained)).max(0.0);
        let steps = vec![Step { objective, gap: 0.0, seconds: began.elapsed().as_secs_f64() }];
        let stop = if kept == 0 { Stop::Empty } else { Stop::Converged };
        let report = SolveReport::new(stop, kept as u32, objective, 0.0, steps);
        Solution { w, report: SolveReport { eigenfunctions, ..report } }
    };
    Ok(parameters.iter().map(fit).collect())
}

/// The number of kept eigenvalues. The largest is first.
fn kept(values: &[f64], cut: Cut, parameter: f64) -> usize {
    let largest = values.first().copied().unwrap_or(0.0).max(0.0);
    let significant = values.iter().take_while(|value| **value > ROUNDING * largest).count();
    let mut kept = match cut {
        Cut::Threshold => values.iter().take_while(|value| **value >= parameter).count(),
        Cut::Components => parameter as usize,
    };
    while kept > 0 && kept < significant && values[kept - 1] - values[kept] < CLUSTER * values[kept - 1] {
        kept += 1;
    }
    kept.min(significant)
}

// Least squares and convex losses with the penalty lambda |w|_1 (Tibshirani 1996), which sets weights to exactly 0.
//
// ```text
// min_w P(w) = R(w) + lambda |w|_1
// ```
//
// **Least squares**, R(w) = |Z w - t|^2 / 2 with A = Z'Z and b = Z't (`gram`): coordinate descent (Friedman, Hastie &
// Tibshirani 2010). A round visits all weights, then those that are not 0 several times. Then it makes a Newton step on
// these, up to the first one that becomes 0; without it, correlated features would take many rounds.
//
// A multiple s r of the residuals r = t - Z w with |Z's r|_j <= lambda gives the lower bound
//
// ```text
// D(s) = s t'r - s^2 |r|^2 / 2 = s (2 R(w) - w.g) - s^2 R(w),     g = -Z'r the gradient of R at w
// ```
//
// for which a pass over the documents computes R and g. **Convex losses** have cutting planes
// (`optim::cutting_planes::l1`). Both ignore the center and the start of a problem.

/// Largest number of sweeps over the nonzero weights per round.
const MOST_SWEEPS: usize = 20;
/// The visits end at a change of the scores of this size, relative to the first.
const SMALL_CHANGE: f64 = 1e-3;
/// Largest number of weights for a Newton step, whose cost is cubic in it.
const MOST_NEWTON_WEIGHTS: usize = 500;

/// Solves the problem with the penalty lambda |w|_1 for each of `lambdas`, best ordered from large to small. An
/// interrupted path ends with the interrupted solution.
///
/// # Errors
/// A lambda out of range; a loss that is not least squares and has no cutting planes.
pub fn l1_path(
    problem: &ListProblem<'_>,
    lambdas: &[f64],
    rule: &StopRule,
    control: &Control,
) -> Result<Vec<Solution>> {
    lambdas.iter().try_for_each(|&lambda| solve::check_lambda(lambda))?;
    match problem.shape() {
        Shape::Quadratic => squares_path(problem, lambdas, rule, control),
        Shape::Convex => Ok(minimize_path(problem, vec![0.0; problem.dim()], lambdas, rule, control)),
        _ => Err(Error::Unsupported(format!(
            "an L1 penalty is for least squares and convex bounds, not for the loss '{}'",
            problem.loss.def().name
        ))),
    }
}

/// The least lambda at which w = 0 is optimal: the largest slope of R at 0. If R has several subgradients there, an upper
/// bound of it.
pub fn largest_lambda(problem: &ListProblem<'_>) -> f64 {
    let slopes = Point::of_risk(problem, vec![0.0; problem.dim()]).gradient;
    largest(&slopes)
}

fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |most: f64, value| most.max(value.abs()))
}

fn squares_path(
    problem: &ListProblem<'_>,
    lambdas: &[f64],
    rule: &StopRule,
    control: &Control,
) -> Result<Vec<Solution>> {
    let gram = Gram::of(problem.dim(), &problem.blocks)?;
    let (a, b) = (gram.matrix(), gram.right());
    Ok(solve_path(lambdas, |lambda, previous| {
        let w = previous.map_or_else(|| vec![0.0; problem.dim()], |solution| solution.w.clone());
        iterate(rule, control, || Descent::new(problem, [&a, &b], lambda, w))
    }))
}

/// Coordinate descent.
struct Descent<'p> {
    risk: &'p dyn Objective,
    lambda: f64,
    /// A (b, b) and b.
    a: &'p [f64],
    b: &'p [f64],
    w: Vec<f64>,
    /// A w - b, the gradient of R.
    slope: Vec<f64>,
    /// The best point and P there.
    best: (Vec<f64>, f64),
    bound: f64,
}

/// Which weights a sweep visits.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Visited {
    All,
    /// The weights that are not 0.
    Active,
}

impl<'p> Descent<'p> {
    fn new(risk: &'p dyn Objective, [a, b]: [&'p [f64]; 2], lambda: f64, w: Vec<f64>) -> Self {
        let slope = b.iter().map(|b| -b).collect();
        let mut descent =
            Self { risk, lambda, a, b, w, slope, best: (Vec::new(), f64::INFINITY), bound: 0.0 };
        descent.refresh_slope();
        descent.evaluate();
        descent
    }

    fn row(&self, feature: usize) -> &'p [f64] {
        &self.a[feature * self.w.len()..(feature + 1) * self.w.len()]
    }

    /// The features whose weights are not 0.
    fn active(&self) -> Vec<usize> {
        (0..self.w.len()).filter(|&feature| self.w[feature].abs() > 0.0).collect()
    }

    /// Recomputes A w - b, because updates accumulate rounding errors.
    fn refresh_slope(&mut self) {
        let mut slope: Vec<f64> = self.b.iter().map(|b| -b).collect();
        let mut ticks = Ticks::default();
        for feature in self.active() {
            ticks.add(self.w.len());
            axpy(self.w[feature], self.row(feature), &mut slope);
        }
        self.slope = slope;
    }

    /// Minimizes P over each visited weight in turn. Returns the largest change of a weight, in units of scores.
    fn sweep(&mut self, visited: Visited) -> f64 {
        let (mut most, mut ticks) = (0.0_f64, Ticks::default());
        for feature in 0..self.w.len() {
            let (row, old) = (self.row(feature), self.w[feature]);
            let curvature = row[feature];
            if curvature <= 0.0 || (visited == Visited::Active && old.abs() <= 0.0) {
                continue;
            }
            let target = old * curvature - self.slope[feature];
            let new = target.signum() * (target.abs() - self.lambda).max(0.0) / curvature;
            let change = new - old;
            if change.abs() > 0.0 {
                ticks.add(self.w.len());
                self.w[feature] = new;
                axpy(change, row, &mut self.slope);
                most = (change.abs() * curvature.sqrt()).max(most);
            }
        }
        most
    }

    /// A Newton step on the weights that are not 0, up to the first one that becomes 0.
    fn newton_step(&mut self) {
        let active = self.active();
        if active.is_empty() || active.len() > MOST_NEWTON_WEIGHTS {
            return;
        }
        // 1. The system A d = -(slope + lambda sign w) of these weights.
        let entry = |i: usize, j: usize| self.row(active[i])[active[j]];
        let Some(factor) = Factor::of(active.len(), entry) else { return };
        let right = active.iter().map(|&j| -(self.slope[j] + self.lambda * self.w[j].signum()));
        let step = factor.solve(&right.collect::<Vec<f64>>());
        if !step.iter().all(|step| step.is_finite()) {
            return;
        }
        // 2. The first weight that becomes 0.
        let (mut length, mut first) = (1.0, None);
        for (&feature, step) in active.iter().zip(&step) {
            let reaches = -self.w[feature] / step;
            if reaches > 0.0 && reaches < length {
                (length, first) = (reaches, Some(feature));
            }
        }
        active.iter().zip(&step).for_each(|(&feature, step)| self.w[feature] += length * step);
        if let Some(feature) = first {
            self.w[feature] = 0.0;
        }
    }

    /// Evaluates P at w for the best point, and the lower bound of its residuals.
    fn evaluate(&mut self) {
        let Point { value: risk, gradient, .. } = Point::of_risk(self.risk, self.w.clone());
        let objective = risk + self.lambda * sum_of_absolutes(&self.w);
        let linear = 2.0 * risk - dot(&self.w, &gradient);
        let limit = self.lambda / largest(&gradient).max(f64::MIN_POSITIVE);
        let scale = if risk > 0.0 { (linear / (2.0 * risk)).clamp(-limit, limit) } else { 0.0 };
        self.bound = self.bound.max(scale * (linear - scale * risk));
        if objective < self.best.1 {
            self.best = (self.w.clone(), objective);
        }
    }
}

impl Method for Descent<'_> {
    const PATIENCE: usize = 50;

    fn best(&self) -> Best<'_> {
        Best::with_bound(&self.best.0, self.best.1, self.bound)
    }

    fn advance(&mut self, _control: &Control) -> bool {
        let first = self.sweep(Visited::All);
        for _ in 0..MOST_SWEEPS {
            if self.sweep(Visited::Active) <= SMALL_CHANGE * first {
                break;
            }
        }
        self.newton_step();
        self.refresh_slope();
        self.evaluate();
        true
    }
}

// Convex losses over a ball (Chaudhuri & Tewari 2014, theorem 8), smooth ones also over a sphere. Olinto & Fokoue (2018) keep
// theta on the unit sphere, which is not convex; a ball is convex. If the minimum over the ball is on its boundary, it is also
// the minimum over the sphere.

/// Minimizes R(w) over |w| <= B for each radius B > 0, first from 0, then from the previous solution. Ignores the center.
/// Reports the multipliers.
///
/// # Errors
/// A radius out of range; a loss that is not convex.
pub fn ball_path(
    problem: &ListProblem<'_>,
    radii: &[f64],
    rule: &StopRule,
    control: &Control,
) -> Result<Vec<Solution>> {
    if let Some(radius) = radii.iter().find(|radius| !(radius.is_finite() && **radius > 0.0)) {
        return Err(Error::value("radius of a ball", radius.to_string(), "a finite number above 0"));
    }
    match problem.shape() {
        Shape::Quadratic | Shape::Smooth => {
            let mut fits = projected_gradient::minimize_path(problem, radii, rule, control);
            for Solution { w, report } in &mut fits {
                // On the boundary -g is w times the multiplier; inside g is 0.
                let Point { gradient, .. } = Point::of_risk(problem, w.clone());
                report.multiplier = Some((-dot(&gradient, w) / dot(w, w).max(f64::MIN_POSITIVE)).max(0.0));
            }
            Ok(fits)
        }
        Shape::Convex => Ok(ball::minimize_path(problem, radii, rule, control)),
        _ => Err(Error::Unsupported(format!(
            "a ball is for convex listwise losses, not for the loss '{}'",
            problem.loss.def().name
        ))),
    }
}

/// Finds a local minimum of R(w) over |w| = B for each radius B > 0, from the minimum over the ball. With the stop
/// [`Stop::Converged`] it is certified to be global; with [`Stop::Stationary`] nothing bounds its distance from that.
///
/// # Errors
/// As [`ball_path`].
pub fn sphere_path(
    problem: &ListProblem<'_>,
    radii: &[f64],
    rule: &StopRule,
    control: &Control,
) -> Result<Vec<Solution>> {
    let on_sphere = |(radius, ball): (&f64, Solution)| {
        let bound = ball.report.objective - ball.report.gap;
        let mut solution = projected_gradient::descend(problem, *radius, &ball.w, rule, control);
        let report = &mut solution.report;
        // No point of the sphere is below the minimum over the ball.
        let gap = (report.objective - bound).max(0.0);
        if report.stop != Stop::Interrupted && gap <= rule.allowed_gap(report.objective, report.objective) {
            (report.stop, report.gap) = (Stop::Converged, gap);
        }
        solution
    };
    Ok(radii.iter().zip(ball_path(problem, radii, rule, control)?).map(on_sphere).collect())
}

#[cfg(test)]
mod spectral_tests {
    use super::*;

    #[test]
    fn equal_eigenvalues_stay_together_and_rounding_is_left_out() {
        let values = [4.0, 2.0, 2.0, 1.0, 1e-13];
        assert_eq!(kept(&values, Cut::Components, 1.0), 1);
        assert_eq!(kept(&values, Cut::Components, 2.0), 3);
        assert_eq!(kept(&values, Cut::Components, 9.0), 4);
        assert_eq!(kept(&values, Cut::Threshold, 2.0), 3);
        assert_eq!(kept(&values, Cut::Threshold, 5.0), 0);
        assert_eq!(kept(&[0.0; 3], Cut::Components, 2.0), 0);
    }
}

#[cfg(test)]
mod ball_tests {
    use super::*;
    use crate::cost::loss::{ListLoss, least_squares};
    use crate::data::{Matrix, shaped};
    use crate::learn::solve::{ListBlock, Rows, SolveOptions};
    use crate::math::{Objective, Stop, norm};

    fn block(loss: &ListLoss) -> ListBlock {
        let documents = vec![1.0, 0.0, 0.0, 2.0, -1.0, 1.0, 3.0, 1.0];
        ListBlock::new(Rows::Own(Matrix::F64(shaped(4, 2, documents))), &[1.0, 0.0, 2.0, 3.0], &[], loss)
            .unwrap()
    }

    /// On the sphere -g is w times the factor of its ridge; inside g is 0.
    #[test]
    fn the_answer_meets_the_optimality_conditions() {
        let loss = least_squares();
        let block = block(&loss);
        let problem = ListProblem::new(2, &loss, vec![(&block, 1.0)]).unwrap();
        let rule = StopRule { tolerance: 1e-12, max_iterations: 1000 };
        let radii = [100.0, 0.1, 0.01];
        let fits = ball_path(&problem, &radii, &rule, &Control::default()).unwrap();
        for (Solution { w, report }, radius) in fits.iter().zip(radii) {
            assert_eq!(report.stop, Stop::Converged, "{radius}");
            let mut g = vec![0.0; 2];
            problem.value(w, &mut g);
            assert!(norm(w) <= radius * (1.0 + 1e-12));
            let multiplier = norm(&g) / norm(w);
            assert!(g.iter().zip(w).all(|(g, w)| (g + multiplier * w).abs() < 1e-5), "{radius}: {g:?} {w:?}");
            assert!(radius > 1.0 || (norm(w) - radius).abs() < 1e-9);
        }
    }

    /// Against a fine search of the circle; a radius within reach of the free minimum is certified.
    #[test]
    fn a_sphere_is_searched_for_its_minimum() {
        let loss = least_squares();
        let block = block(&loss);
        let problem = ListProblem::new(2, &loss, vec![(&block, 1.0)]).unwrap();
        let rule = StopRule { tolerance: 1e-9, max_iterations: 10_000 };
        let radii = [100.0, 3.0, 0.1];
        let fits = sphere_path(&problem, &radii, &rule, &Control::default()).unwrap();
        for (Solution { w, report }, radius) in fits.iter().zip(radii) {
            assert!((norm(w) - radius).abs() <= 1e-12 * radius, "{radius}: {w:?}");
            let at = |step: i32| {
                let angle = std::f64::consts::TAU * f64::from(step) / 1e5;
                problem.value(&[radius * angle.cos(), radius * angle.sin()], &mut [0.0; 2])
            };
            let least = (0..100_000).map(at).fold(f64::INFINITY, f64::min);
            assert!(report.objective <= least * (1.0 + 1e-9), "{radius}: {} {least}", report.objective);
            let expected = if radius < 1.0 { Stop::Converged } else { Stop::Stationary };
            assert_eq!(report.stop, expected, "{radius}");
        }
    }

    #[test]
    fn radii_and_losses_that_it_does_not_take_are_refused() {
        let loss = least_squares();
        let block = block(&loss);
        let problem = ListProblem::new(2, &loss, vec![(&block, 1.0)]).unwrap();
        let rule = SolveOptions::new(1e-6).rule();
        let error = ball_path(&problem, &[0.0], &rule, &Control::default()).unwrap_err().to_string();
        assert_eq!(error, "radius of a ball: got 0, expected a finite number above 0");
        let other = problem.with_losses(vec![None], Shape::Difference);
        assert!(ball_path(&other, &[1.0], &rule, &Control::default()).is_err());
        let fits = ball_path(&problem, &[1.0, 0.5], &rule, &Control::canceled_after(0)).unwrap();
        assert_eq!((fits.len(), fits[0].report.stop), (1, Stop::Interrupted));
    }
}
