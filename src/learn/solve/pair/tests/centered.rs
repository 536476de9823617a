//! Problems with a center of the penalty and with a linear term.

use proptest::prelude::*;

use super::{PairProblem, blocks, cases, fit, problem, reference, shapes, weights};
use crate::base::Control;
use crate::learn::solve::{Solution, SolveOptions, Stop, objective_by_definition, pair_path};
use crate::math::Random;

/// Numbers of a given size.
pub(super) fn vector(seed: u64, dim: usize, size: f64) -> Vec<f64> {
    let mut numbers = Random::new(seed);
    (0..dim).map(|_| size * numbers.symmetric()).collect()
}

/// The problem with this center and a linear term as large as the loss's gradient.
pub(super) fn shifted<'a>(
    plain: &PairProblem<'a>,
    seed: u64,
    center: f64,
    linear_term: f64,
) -> PairProblem<'a> {
    let total: f64 = plain.blocks.iter().map(|(block, weight)| weight * block.pairs as f64).sum();
    plain.clone().with_center(vector(seed, plain.dim, center)).unwrap().with_linear_term(vector(
        seed + 1,
        plain.dim,
        linear_term * total,
    ))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(100), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_shifted_optimum_matches_coordinate_descent(
        shape in shapes(), exponent in -3.0..2.0, center in 0.0..4.0, linear_term in 0.0..0.2
    ) {
        let blocks = blocks(&shape);
        let plain = problem(&weights(&blocks), 10f64.powf(exponent));
        let problem = shifted(&plain, shape.seed, center, linear_term);
        let (w, report) = fit(&problem, 1e-9);
        prop_assert!(matches!(report.stop, Stop::Converged | Stop::Empty), "{report:?}");
        let (lower, upper) = reference(&problem, 300);
        let center: f64 = problem.center().unwrap().iter().map(|w0| w0 * w0).sum();
        let scale = upper.abs().max(lower.abs()).max(problem.lambda * center).max(1e-3);
        prop_assert!(report.objective >= lower - 1e-10 * scale, "{} below {lower}", report.objective);
        prop_assert!(report.objective <= upper + 1e-8 * scale, "{} above {upper}", report.objective);
        prop_assert!(report.objective - report.gap <= upper + 1e-10 * scale, "the certificate is wrong");
        prop_assert!((objective_by_definition(&problem, &w) - report.objective).abs() <= 1e-10 * scale);
    }

    /// lambda |w - w0|^2 = lambda |w|^2 - 2 lambda w0.w + a constant.
    #[test]
    fn a_center_is_a_linear_term(shape in shapes(), exponent in -3.0..1.0, size in 0.0..3.0) {
        let blocks = blocks(&shape);
        let lambda = 10f64.powf(exponent);
        let plain = problem(&weights(&blocks), lambda);
        let center = vector(shape.seed, shape.dim, size);
        let linear_term = center.iter().map(|w0| -2.0 * lambda * w0).collect();
        let constant = lambda * center.iter().map(|w0| w0 * w0).sum::<f64>();
        let (w, centered) = fit(&plain.clone().with_center(center).unwrap(), 1e-10);
        let (same, with_term) = fit(&plain.with_linear_term(linear_term), 1e-10);
        let scale = centered.objective.abs() + constant;
        prop_assert!((centered.objective - with_term.objective - constant).abs() <= 1e-9 * scale);
        let distance: f64 = w.iter().zip(&same).map(|(x, y)| (x - y) * (x - y)).sum();
        // lambda |w - w'|^2 is at most the sum of both gaps.
        prop_assert!(lambda * distance <= 4.0 * (centered.gap + with_term.gap) + 1e-12 * scale);
    }

    #[test]
    fn any_lambda_is_certified_with_a_center(shape in shapes(), exponent in -8.0..3.0, size in 0.0..2.0) {
        let blocks = blocks(&shape);
        let plain = problem(&weights(&blocks), 10f64.powf(exponent));
        let centered = plain.with_center(vector(shape.seed, shape.dim, size)).unwrap();
        let (_, report) = fit(&centered, 1e-6);
        prop_assert!(matches!(report.stop, Stop::Converged | Stop::Empty), "{:?} {}", report.stop, report.gap);
    }
}

/// A large lambda holds w at w0, and a path ends where single fits end.
#[test]
fn a_path_around_a_center() {
    let shape = super::Shape { seed: 5, queries: 5, docs: 20, dim: 7, grades: 9, noise: 1.5 };
    let blocks = blocks(&shape);
    let center = vector(1, 7, 1.0);
    let problem = problem(&weights(&blocks), 1.0).with_center(center.clone()).unwrap();
    let lambdas: Vec<f64> = (0..30).map(|i| 10f64.powf(6.0 - 0.4 * f64::from(i))).collect();
    let options = SolveOptions::new(1e-7);
    let fits = pair_path(&problem, &lambdas, &options, &Control::default()).unwrap();
    assert!(fits[0].w.iter().zip(&center).all(|(w, w0)| (w - w0).abs() < 1e-4));
    for (&lambda, Solution { w, report }) in lambdas.iter().zip(&fits) {
        let single = PairProblem::new(7, problem.blocks.clone(), lambda).unwrap();
        let single = single.with_center(center.clone()).unwrap();
        let (_, cold) = fit(&single, 1e-7);
        assert_eq!(report.stop, Stop::Converged);
        assert!((report.objective - cold.objective).abs() <= 2e-7 * cold.objective);
        assert!((objective_by_definition(&single, w) - report.objective).abs() <= 1e-10 * report.objective);
    }
}

/// Without pairs the penalty alone is minimized.
#[test]
fn nothing_to_learn_from_gives_the_center() {
    let flat = super::PairBlock::new(&[1.0f32, 2.0, 3.0, 4.0], &[1.0, 1.0], 2).unwrap();
    let problem = problem(&[(&flat, 1.0)], 2.0).with_center(vec![3.0, -1.0]).unwrap();
    let (w, report) = fit(&problem.with_linear_term(vec![4.0, 0.0]), 1e-6);
    assert_eq!((report.stop, w), (Stop::Empty, vec![2.0, -1.0]));
    assert!((report.objective - 10.0).abs() < 1e-14);
}
