//! Losses that are not convex: what their rounds promise.

use super::*;

#[test]
fn differences_never_rise() {
    for seed in 0..12 {
        let case = Case::new(seed, 20, 5, SQUARED);
        let start = fits(&case.problem(), &[1e-3], &LEAST_SQUARES, 1e-9).pop().unwrap().w;
        let problem = case.with(Shape::Difference, Ramp::of).with_start(start.clone()).unwrap();
        let first = value(&problem, 0.01, &start);
        let Solution { w, report } = fits(&problem, &[0.01], &BUNDLE, 1e-6).pop().unwrap();
        assert_eq!(report.stop, Stop::Converged);
        assert!(report.steps.windows(2).all(|pair| pair[1].objective <= pair[0].objective));
        assert!(report.objective <= first);
        assert!((value(&problem, 0.01, &w) - report.objective).abs() < 1e-12);
        // A run from the solution does not lose.
        let again = fits(&problem.with_start(w).unwrap(), &[0.01], &BUNDLE, 1e-6).pop().unwrap().report;
        assert!(again.objective <= report.objective);
    }
}

#[test]
fn a_center_is_where_differences_begin() {
    let case = Case::new(4, 20, 5, SQUARED);
    let problem = case.with(Shape::Difference, Ramp::of).with_center(center(5)).unwrap();
    let Solution { w, report } = fits(&problem, &[1e6], &BUNDLE, 1e-6).pop().unwrap();
    assert!(report.objective <= risk(&problem, &center(5)) + 1e-12);
    assert!(w.iter().zip(center(5)).all(|(w, w0)| (w - w0).abs() < 1e-5));
}

#[test]
fn annealing_lowers_the_loss_that_is_not_smooth() {
    for seed in 0..8 {
        let case = Case::new(seed, 40, 5, SQUARED);
        let problem = case.with(Shape::Annealed, Swapped::of);
        let at = |w: &[f64]| value(&problem, 1e-4, w);
        let Solution { w, report } = fits(&problem, &[1e-4], &LBFGS, 1e-6).pop().unwrap();
        assert!((at(&w) - report.objective).abs() < 1e-12);
        assert!(report.objective < at(&[0.0; 5]), "seed {seed}");
        assert!(report.steps.windows(2).all(|pair| pair[1].objective <= pair[0].objective));
        assert!(report.gap.is_finite());
    }
}

#[test]
fn rounds_are_interrupted() {
    let case = Case::new(4, 20, 5, SQUARED);
    let problems = [case.with(Shape::Difference, Ramp::of), case.with(Shape::Annealed, Swapped::of)];
    for (problem, solver) in problems.iter().zip([&BUNDLE, &LBFGS]) {
        let fits = solver.list_path()(problem, &[0.1, 0.01], &rule(1e-9), &Control::canceled_after(0));
        assert_eq!((fits.len(), fits[0].report.stop), (1, Stop::Interrupted));
    }
}
