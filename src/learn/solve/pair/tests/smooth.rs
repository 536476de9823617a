//! Losses with a curvature: squared hinge and logistic.

use proptest::prelude::*;

use super::centered::{shifted, vector};
use super::{PairProblem, Shape, blocks, canceled, cases, fit, problem, shapes, weights};
use crate::base::Control;
use crate::cost::loss::{Loss, PairLoss, PairWeights};
use crate::learn::solve::{Solution, SolveOptions, Stop, objective_by_definition, pair_path, solve};

const LOSSES: [PairLoss; 2] = [PairLoss::SquaredHinge, PairLoss::Logistic];

/// Upper bound of P(w) minus the optimum, |gradient|^2 / (4 lambda), the gradient from explicit pairs.
fn plain_gap(problem: &PairProblem<'_>, w: &[f64]) -> f64 {
    let lambda = problem.lambda;
    let mut gradient: Vec<f64> =
        problem.center_term(lambda).iter().zip(w).map(|(t, w)| 2.0 * lambda * w - t).collect();
    for (block, weight) in &problem.blocks {
        let row = |a: usize| crate::math::lanes::to_vec(block.row(a), problem.dim);
        for a in 0..block.n_docs() {
            for b in block.start[a] as usize..block.n_docs() {
                let z: Vec<f64> = row(a).iter().zip(row(b)).map(|(x, y)| x - y).collect();
                let margin: f64 = z.iter().zip(w).map(|(z, w)| z * w).sum();
                let slope = weight * (problem.loss.def().slope)(margin);
                gradient.iter_mut().zip(z).for_each(|(g, z)| *g += slope * z);
            }
        }
    }
    gradient.iter().map(|g| g * g).sum::<f64>() / (4.0 * lambda)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(100), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_gradient_of_explicit_pairs_vanishes(
        shape in shapes(), exponent in -3.0..2.0, center in 0.0..4.0, linear_term in 0.0..0.1
    ) {
        let blocks = blocks(&shape);
        for loss in LOSSES {
            let plain = problem(&weights(&blocks), 10f64.powf(exponent)).with_loss(loss);
            for problem in [plain.clone(), shifted(&plain, shape.seed, center, linear_term)] {
                let (w, report) = fit(&problem, 1e-9);
                prop_assert!(matches!(report.stop, Stop::Converged | Stop::Empty), "{report:?}");
                let total = objective_by_definition(&plain, &vec![0.0; problem.dim]);
                let gap = plain_gap(&problem, &w);
                prop_assert!(gap <= 1e-7 * report.objective.abs() + 1e-17 * total, "{gap:e} {report:?}");
                prop_assert!(report.gap <= 1e-9 * report.objective.abs().max(1e-9 * total));
            }
        }
    }

    #[test]
    fn any_lambda_is_certified_whatever_the_loss(shape in shapes(), exponent in -8.0..3.0) {
        let blocks = blocks(&shape);
        for loss in LOSSES {
            let problem = problem(&weights(&blocks), 10f64.powf(exponent)).with_loss(loss);
            let (_, report) = fit(&problem, 1e-6);
            prop_assert!(matches!(report.stop, Stop::Converged | Stop::Empty), "{loss:?} {report:?}");
        }
    }
}

#[test]
fn a_path_ends_where_single_fits_end() {
    let shape = Shape { seed: 5, queries: 5, docs: 20, dim: 7, grades: 9, noise: 1.5 };
    let blocks = blocks(&shape);
    let lambdas: Vec<f64> = (0..40).map(|i| 10f64.powf(3.0 - 0.25 * f64::from(i))).collect();
    for loss in LOSSES {
        let problem = problem(&weights(&blocks), 1.0).with_loss(loss);
        let options = SolveOptions::new(1e-7);
        let fits = pair_path(&problem, &lambdas, &options, &Control::default()).unwrap();
        for (&lambda, Solution { w, report }) in lambdas.iter().zip(&fits) {
            let single = PairProblem::new(7, problem.blocks.clone(), lambda).unwrap().with_loss(loss);
            let (_, cold) = fit(&single, 1e-7);
            assert_eq!(report.stop, Stop::Converged);
            assert!((report.objective - cold.objective).abs() <= 2e-7 * cold.objective);
            assert!(
                (objective_by_definition(&single, w) - report.objective).abs() <= 1e-10 * report.objective
            );
        }
    }
}

/// Hardly any pair is active at the optimum, fewer than features.
#[test]
fn a_nearly_separable_problem() {
    let shape = Shape {
        seed: 10_496_465_763_032_985_477,
        queries: 4,
        docs: 10,
        dim: 14,
        grades: 11,
        noise: 0.554_317_233_096_730_6,
    };
    let blocks = blocks(&shape);
    for loss in LOSSES {
        let problem = problem(&weights(&blocks), 10f64.powf(-7.930_686_234_632_257)).with_loss(loss);
        assert_eq!(fit(&problem, 1e-6).1.stop, Stop::Converged);
    }
}

/// Documents by the dozen and fewer documents than features: the same optimum in and out of the span.
#[test]
fn a_reduced_fit_is_the_plain_fit() {
    let shape = Shape { seed: 8, queries: 3, docs: 15, dim: 120, grades: 5, noise: 2.0 };
    let blocks = blocks(&shape);
    for loss in LOSSES {
        let problem = problem(&weights(&blocks), 1e-2).with_loss(loss);
        let problem = problem.with_center(vector(3, 120, 0.3)).unwrap();
        let (w, report) = fit(&problem, 1e-9);
        assert_eq!(report.stop, Stop::Converged);
        assert!(plain_gap(&problem, &w) <= 2e-9 * report.objective);
    }
}

#[test]
fn an_interruption_and_a_limit_are_reported() {
    let shape = Shape { seed: 7, queries: 5, docs: 20, dim: 7, grades: 9, noise: 1.5 };
    let blocks = blocks(&shape);
    let problem = problem(&weights(&blocks), 1e-6).with_loss(PairLoss::Logistic);
    assert_eq!(
        solve(&problem, &SolveOptions::new(1e-6), &canceled()).unwrap().report.stop,
        Stop::Interrupted
    );
    let options = SolveOptions { tolerance: 1e-12, max_iterations: 2, ..SolveOptions::new(1e-6) };
    let Solution { w, report } = solve(&problem, &options, &Control::default()).unwrap();
    assert_eq!((report.stop, report.iterations, report.steps.len()), (Stop::IterationLimit, 2, 2));
    assert!((objective_by_definition(&problem, &w) - report.objective).abs() <= 1e-12 * report.objective);
}

#[test]
fn a_solver_refuses_a_loss_that_it_does_not_take() {
    use crate::learn::solve::table::pair_method;
    use crate::learn::solve::{PairMethod, SOLVERS, SolverDef};
    let method = PairMethod { losses: &[PairLoss::Hinge], ..SOLVERS[0].pair.unwrap() };
    let hinge_only = SolverDef { name: "test", pair: Some(method), list: None };
    assert!(hinge_only.takes(&Loss::Pair(PairLoss::Psi, PairWeights::Equal)));
    let error = pair_method(&hinge_only, PairLoss::Logistic).unwrap_err().to_string();
    assert_eq!(error, "solver 'test' does not support the loss 'logistic'; use auto or newton");
}
