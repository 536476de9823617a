//! Smooth losses over a ball or a sphere. Olinto & Fokoue (2018) keep theta on the unit sphere, which is not convex; a ball
//! is convex. If the minimum over the ball is on its boundary, it is that over the sphere.

use super::ListProblem;
use crate::base::control::Control;
use crate::base::error::{Error, Result};
use crate::cost::loss::Shape;
use crate::math::optim::{Solution, Stop, StopRule, projected_gradient, sphere};

/// Minimizes R(w) over |w| <= B for each radius B > 0, first from 0, then from the previous solution. Ignores the center.
///
/// # Errors
/// A radius out of range; a loss that is not smooth.
pub fn path(
    problem: &ListProblem<'_>,
    radii: &[f64],
    rule: &StopRule,
    control: &Control,
) -> Result<Vec<Solution>> {
    if let Some(radius) = radii.iter().find(|radius| !(radius.is_finite() && **radius > 0.0)) {
        return Err(Error::value("radius of a ball", radius.to_string(), "a finite number above 0"));
    }
    if !matches!(problem.shape(), Shape::Quadratic | Shape::Smooth) {
        return Err(Error::Unsupported(format!(
            "a ball is for smooth listwise losses and least squares, not for the loss '{}'",
            problem.loss().def().name
        )));
    }
    Ok(projected_gradient::minimize_path(problem, radii, rule, control))
}

/// Finds a local minimum of R(w) over |w| = B for each radius B > 0, from the minimum over the ball. With the stop
/// [`Stop::Converged`] it is certified to be global; with [`Stop::Stationary`] nothing bounds its distance from that.
///
/// # Errors
/// As [`path`].
pub fn sphere_path(
    problem: &ListProblem<'_>,
    radii: &[f64],
    rule: &StopRule,
    control: &Control,
) -> Result<Vec<Solution>> {
    let on_sphere = |(radius, ball): (&f64, Solution)| {
        let bound = ball.report.objective - ball.report.gap;
        let mut solution = sphere::descend(problem, *radius, &ball.w, rule, control);
        let report = &mut solution.report;
        // No point of the sphere is below the minimum over the ball.
        let gap = (report.objective - bound).max(0.0);
        if report.stop != Stop::Interrupted && gap <= rule.allowed_gap(report.objective, report.objective) {
            (report.stop, report.gap) = (Stop::Converged, gap);
        }
        solution
    };
    Ok(radii.iter().zip(path(problem, radii, rule, control)?).map(on_sphere).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::loss::{ListLoss, least_squares};
    use crate::data::{Matrix, shaped};
    use crate::learn::solve::{ListBlock, Rows, SolveOptions};
    use crate::math::optim::vector::norm;
    use crate::math::optim::{Objective, Stop};

    fn block(loss: &ListLoss) -> ListBlock {
        let documents = vec![1.0, 0.0, 0.0, 2.0, -1.0, 1.0, 3.0, 1.0];
        ListBlock::new(Rows::Own(Matrix::F64(shaped(4, 2, documents))), &[1.0, 0.0, 2.0, 3.0], &[], loss)
            .unwrap()
    }

    /// On the sphere -g is w times the factor of its ridge; inside g is 0.
    #[test]
    fn the_answer_is_that_of_the_conditions_of_optimality() {
        let loss = least_squares();
        let block = block(&loss);
        let problem = ListProblem::new(2, &loss, vec![(&block, 1.0)]).unwrap();
        let rule = StopRule { tolerance: 1e-12, max_iterations: 1000 };
        let radii = [100.0, 0.1, 0.01];
        let fits = path(&problem, &radii, &rule, &Control::default()).unwrap();
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
        let rule = SolveOptions::default().rule();
        let error = path(&problem, &[0.0], &rule, &Control::default()).unwrap_err().to_string();
        assert_eq!(error, "radius of a ball: got 0, allowed is a finite number above 0");
        let convex = problem.with_losses(vec![None], Shape::Convex);
        assert!(path(&convex, &[1.0], &rule, &Control::default()).is_err());
        let fits = path(&problem, &[1.0, 0.5], &rule, &Control::canceled_after(0)).unwrap();
        assert_eq!((fits.len(), fits[0].report.stop), (1, Stop::Interrupted));
    }
}
