//! Losses that are not convex: guarantees of the rounds.

use super::*;
use crate::learn::solve::list::nonconvex::spread;
use crate::math::lbfgs;

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

/// A problem of direct optimization with 40 queries, and the least-squares start.
fn direct(seed: u64, bound: &str) -> (Case, Vec<f64>) {
    let sizes = [40, 15, 6];
    let start =
        fits(&Case::with_options(seed, sizes, SQUARED, &json!({})).problem(), &[1e-3], &LEAST_SQUARES, 1e-9);
    let options = json!({"bound": bound, "measure": "ndcg@5", "decoder": "metric"});
    (Case::with_options(seed, sizes, "direct", &options), start[0].w.clone())
}

#[test]
fn bounds_of_direct_never_rise() {
    for (seed, bound) in (0..6).flat_map(|seed| [(seed, "minimum"), (seed, "nonconvex")]) {
        let (case, start) = direct(seed, bound);
        let problem = case.problem().with_start(start.clone()).unwrap();
        let Solution { w, report } = fits(&problem, &[0.005], &BUNDLE, 1e-4).pop().unwrap();
        assert!(matches!(report.stop, Stop::Converged | Stop::Stalled), "{bound}: {:?}", report.stop);
        assert!(report.steps.windows(2).all(|pair| pair[1].objective <= pair[0].objective));
        assert!(report.objective < value(&problem, 0.005, &start), "{bound}");
        assert!((value(&problem, 0.005, &w) - report.objective).abs() < 1e-12);
    }
}

/// Stochastic steps end at most 30% above the rounds, which have several starts, and never above their own start. No gap
/// certifies them: it is the objective.
#[test]
fn stochastic_steps_lower_differences() {
    for seed in 0..6 {
        let (case, start) = direct(seed, "nonconvex");
        let problem = case.problem().with_start(start.clone()).unwrap();
        let first = value(&problem, 0.005, &start);
        let rounds = fits(&problem, &[0.005], &BUNDLE, 1e-4).pop().unwrap().report;
        let path = fits(&problem, &[1.0, 0.005], &STOCHASTIC, 1e-4);
        let Solution { w, report } = &path[1];
        assert_eq!(w, &fits(&problem, &[0.005], &STOCHASTIC, 1e-4)[0].w);
        assert!((value(&problem, 0.005, w) - report.objective).abs() < 1e-12);
        assert!(report.objective < first && report.objective <= 1.3 * rounds.objective, "seed {seed}");
        assert!((report.gap - report.objective).abs() < 1e-15);
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
        let fits =
            (solver.list.unwrap().path)(problem, &[0.1, 0.01], &rule(1e-9), &Control::canceled_after(0));
        assert_eq!((fits.len(), fits[0].report.stop), (1, Stop::Interrupted));
    }
}

/// The objective after the rounds of annealing from one start (Le, Smola, Chapelle & Teo, algorithm 4).
fn annealed_from(problem: &ListProblem<'_>, lambda: f64, mut w: Vec<f64>) -> f64 {
    let weight: f64 = problem.blocks.iter().map(|(_, weight)| weight).sum();
    let mut sigma = 2.0 * spread(problem, &problem.image(&w));
    let mut best = value(problem, lambda, &w);
    for _ in 0..10 {
        let losses = (0..problem.blocks.len()).map(|query| problem.loss_of(query).smoothed(sigma));
        let smooth = problem.with_losses(losses.collect(), Shape::Smooth);
        let rule = StopRule { max_iterations: 30, ..rule(1e-6) };
        let round = lbfgs::minimize(&smooth.ridge(lambda), w, &rule, &Control::default());
        let objective = value(problem, lambda, &round.w);
        best = best.min(objective);
        if (round.report.objective - objective).abs() < 1e-3 * weight {
            break;
        }
        (w, sigma) = (round.w, 0.5 * sigma);
    }
    best
}

#[test]
fn several_starts_of_annealing_never_lose_against_one() {
    let mut better = 0;
    for seed in 0..8 {
        let sizes = [12, 10, 4];
        let squared = Case::with_options(seed, sizes, SQUARED, &json!({}));
        let start = fits(&squared.problem(), &[1e-3], &LEAST_SQUARES, 1e-9).pop().unwrap().w;
        let case = Case::with_options(seed, sizes, "smooth_grad", &json!({"measure": "ndcg@5"}));
        let problem = case.problem().with_start(start.clone()).unwrap();
        let one = annealed_from(&problem, 1e-3, start);
        let report = fits(&problem, &[1e-3], &LBFGS, 1e-6).pop().unwrap().report;
        assert!(report.objective <= one + 1e-12, "seed {seed}: {} {one}", report.objective);
        assert!(report.default_start.is_none_or(|first| report.objective < first), "seed {seed}");
        better += usize::from(report.objective < 0.99 * one);
    }
    assert!(better >= 3, "only {better} of 8");
}
