//! Convex losses: all solvers find the same minimum.

use proptest::prelude::*;

use super::*;

/// Solvers that reach any accuracy.
fn exact(shape: Shape) -> impl Iterator<Item = &'static SolverDef> {
    taking(shape).filter(|solver| solver.name != "stochastic")
}

/// The certificate of a report holds against an optimum known to within `known`.
fn assert_certified(name: &str, report: &SolveReport, optimum: f64, known: f64) {
    assert!(report.objective >= optimum - known - 1e-14, "{name}: {} < {optimum}", report.objective);
    let bound = report.objective - report.gap;
    assert!(bound <= optimum + 1e-12 * (1.0 + optimum), "{name}: {bound} > {optimum}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn all_solvers_find_the_minimum(seed in 0u64..1 << 40, dim in 1usize..12, power in -3i32..1, centered: bool) {
        for loss in [SQUARED, LIST_NET] {
            let case = Case::new(seed, 1 + seed as usize % 9, dim, loss);
            each_convex(&case, |problem| {
                let problem = if centered { problem.clone().with_center(center(dim)).unwrap() } else { problem.clone() };
                let lambda = [10f64.powi(power)];
                let bundle = fits(&problem, &lambda, &BUNDLE, 1e-9).pop().unwrap().report;
                // A tiny objective ends at the rounding of the first one.
                let is_found = |report: &SolveReport| report.stop == Stop::Converged || report.gap <= 1e-10;
                assert!(is_found(&bundle), "{bundle:?}");
                for solver in exact(problem.shape()) {
                    let Solution { w, report } = fits(&problem, &lambda, solver, 1e-8).pop().unwrap();
                    // One plane a step can take more steps than the limit. The certificate holds all the same.
                    let is_slow = solver.name == "constraint_generation" && report.stop == Stop::IterationLimit;
                    assert!(is_found(&report) || is_slow, "{}: {report:?}", solver.name);
                    assert_certified(solver.name, &report, bundle.objective, bundle.gap);
                    let objective = value(&problem, lambda[0], &w);
                    assert!((objective - report.objective).abs() <= 1e-12 * (1.0 + objective), "{}", solver.name);
                }
            });
        }
    }

    /// Stochastic steps come near, and say how near.
    #[test]
    fn stochastic_steps_are_certified(seed in 0u64..1 << 40, dim in 1usize..12, power in -1i32..1) {
        let case = Case::new(seed, 20, dim, LIST_NET);
        each_convex(&case, |problem| {
            let problem = problem.clone().with_center(center(dim)).unwrap();
            let lambda = [10f64.powi(power)];
            let bundle = fits(&problem, &lambda, &BUNDLE, 1e-9).pop().unwrap().report;
            let Solution { w, report } = fits(&problem, &lambda, &STOCHASTIC, 1e-3).pop().unwrap();
            assert_certified("stochastic", &report, bundle.objective, bundle.gap);
            let objective = value(&problem, lambda[0], &w);
            assert!((objective - report.objective).abs() <= 1e-12 * (1.0 + objective));
            assert!(report.objective - bundle.objective <= 0.1 * bundle.objective, "{report:?}");
        });
    }

    /// A path's solution agrees with the solution for its lambda alone, to within both gaps.
    #[test]
    fn a_path_finds_what_separate_fits_find(seed in 0u64..1 << 40, dim in 1usize..8) {
        let lambdas = [1.0, 0.1, 0.01];
        let case = Case::new(seed, 6, dim, LIST_NET);
        each_convex(&case, |problem| {
            for solver in exact(problem.shape()) {
                let path = fits(problem, &lambdas, solver, 1e-7);
                for (lambda, Solution { report, .. }) in lambdas.iter().zip(path) {
                    let alone = fits(problem, &[*lambda], solver, 1e-7).pop().unwrap().report;
                    let difference = (report.objective - alone.objective).abs();
                    assert!(difference <= report.gap.max(alone.gap) + 1e-14, "{}", solver.name);
                }
            }
        });
    }
}

#[test]
fn an_interrupted_path_ends_with_the_interrupted_fit() {
    let case = Case::new(8, 40, 6, LIST_NET);
    each_convex(&case, |problem| {
        for solver in taking(problem.shape()) {
            let control = Control::canceled_after(2);
            let fits =
                (solver.list.unwrap().path)(problem, &[0.01, 0.001, 1e-4, 1e-5], &rule(1e-13), &control);
            // Least squares may end before the third check.
            if fits.len() < 4 || solver.name != "least_squares" {
                assert!(fits.len() < 4, "{}", solver.name);
                assert_eq!(fits.last().unwrap().report.stop, Stop::Interrupted, "{}", solver.name);
            }
        }
    });
}

#[test]
fn small_penalties_are_solved_and_certified() {
    let case = Case::new(3, 60, 10, LIST_NET);
    let problem = case.problem();
    for solver in exact(Shape::Smooth).filter(|solver| solver.name != "bundle") {
        let report = fits(&problem, &[1e-8], solver, 1e-8).pop().unwrap().report;
        assert_eq!(report.stop, Stop::Converged, "{}: {}", solver.name, report.gap);
    }
    let case = Case::new(3, 60, 10, SQUARED);
    for solver in exact(Shape::Quadratic).filter(|solver| solver.name != "bundle") {
        let report = fits(&case.problem(), &[1e-8], solver, 1e-8).pop().unwrap().report;
        assert_eq!(report.stop, Stop::Converged, "{}: {}", solver.name, report.gap);
    }
}

#[test]
fn more_features_than_documents_take_the_smaller_system() {
    let case = Case::new(11, 4, 60, SQUARED);
    for problem in [case.problem(), case.problem().with_center(center(60)).unwrap()] {
        for lambda in [1.0, 1e-3, 1e-6] {
            let smaller = fits(&problem, &[lambda], &LEAST_SQUARES, 1e-9).pop().unwrap().report;
            assert_eq!(smaller.stop, Stop::Converged);
            let other = fits(&problem, &[lambda], &LBFGS, 1e-9).pop().unwrap().report;
            assert!((smaller.objective - other.objective).abs() <= smaller.gap + other.gap + 1e-14);
        }
    }
}

#[test]
fn sums_of_parts_equal_the_whole() {
    let case = Case::new(2, 30, 11, SQUARED);
    let queries = case.problem().blocks;
    let all = Gram::of(11, &queries).unwrap();
    let (fold, rest) = queries.split_at(12);
    let mut sum = Gram::of(11, fold).unwrap();
    sum.add(&Gram::of(11, rest).unwrap());
    let mut left = all.clone();
    left.add(&Gram::of(11, fold).unwrap().times(-1.0));
    let rest = Gram::of(11, rest).unwrap();
    for (a, b) in [(&sum, &all), (&left, &rest)] {
        let numbers = |gram: &Gram| [gram.matrix(), gram.right(), vec![gram.square()]].concat();
        assert!(numbers(a).iter().zip(numbers(b)).all(|(a, b)| (a - b).abs() < 1e-12));
    }
    // R by the sums is R by the documents.
    let w = center(11);
    let a = all.matrix();
    let quadratic: f64 = (0..121).map(|k| w[k / 11] * a[k] * w[k % 11]).sum();
    let linear: f64 = w.iter().zip(all.right()).map(|(w, b)| w * b).sum();
    let risk = risk(&case.problem(), &w);
    assert!((0.5 * (quadratic - 2.0 * linear + all.square()) - risk).abs() < 1e-12);
}

#[test]
fn queries_without_weight_leave_the_penalty() {
    let mut case = Case::new(2, 3, 4, LIST_NET);
    case.weights.fill(0.0);
    each_convex(&case, |problem| {
        let problem = problem.clone().with_center(center(4)).unwrap();
        for solver in taking(problem.shape()) {
            let Solution { w, report } = fits(&problem, &[0.1], solver, 1e-6).pop().unwrap();
            assert_eq!((w, report.stop), (center(4), Stop::Converged), "{}", solver.name);
        }
    });
}
