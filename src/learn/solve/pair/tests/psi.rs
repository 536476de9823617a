//! Laws of the convex steps for the psi loss.

use proptest::prelude::*;

use super::{PairBlock, PairProblem, Shape, blocks, canceled, cases, fit, problem, shapes, weights};
use crate::base::Control;
use crate::cost::loss::PairLoss;
use crate::learn::solve::{SolveOptions, Stop, objective_by_definition, pair_path, solve};
use crate::math::Random;

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(60), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_objective_never_rises(shape in shapes(), exponent in -4.0..0.0) {
        let blocks = blocks(&shape);
        let hinge = problem(&weights(&blocks), 10f64.powf(exponent));
        let psi = hinge.clone().with_loss(PairLoss::Psi);
        let (start, _) = fit(&hinge, 1e-8);
        let (w, report) = fit(&psi, 1e-8);
        prop_assert!(matches!(report.stop, Stop::Converged | Stop::Empty), "{:?}", report.stop);
        prop_assert!(report.objective <= objective_by_definition(&psi, &start) * (1.0 + 1e-7));
        prop_assert!(report.steps.windows(2).all(|pair| pair[1].objective <= pair[0].objective));
        // The tangent problem at w, solved from nothing, finds no lower point.
        let linear_term = tangent(&psi, &w);
        let (_, convex) = fit(&hinge.with_linear_term(linear_term), 1e-8);
        prop_assert!(convex.objective >= report.objective * (1.0 - 1e-6), "{} {}", convex.objective, report.objective);
    }
}

/// Sum of c z over the pairs in the wrong order, pair by pair.
fn tangent(problem: &PairProblem<'_>, w: &[f64]) -> Vec<f64> {
    let mut linear_term = vec![0.0; problem.dim];
    for (block, weight) in &problem.blocks {
        let row = |a: usize| crate::math::lanes::to_vec(block.row(a), problem.dim);
        for a in 0..block.n_docs() {
            for b in block.start[a] as usize..block.n_docs() {
                let z: Vec<f64> = row(a).iter().zip(row(b)).map(|(x, y)| x - y).collect();
                if z.iter().zip(w).map(|(z, w)| z * w).sum::<f64>() < 0.0 {
                    linear_term.iter_mut().zip(z).for_each(|(v, z)| *v += weight * z);
                }
            }
        }
    }
    linear_term
}

/// Four clean queries, and one whose few documents are far away and labeled the wrong way round.
fn with_outliers() -> Vec<PairBlock> {
    let mut numbers = Random::new(4);
    let mut query = |docs: usize, size: f64, sign: f64| {
        let x: Vec<f64> = (0..3 * docs).map(|_| size * numbers.symmetric()).collect();
        let labels: Vec<f64> = x.chunks(3).map(|row| sign * (row[0] + 0.5 * row[1] - row[2])).collect();
        PairBlock::new(&x, &labels, 3).unwrap()
    };
    let mut blocks: Vec<PairBlock> = (0..4).map(|_| query(20, 1.0, 1.0)).collect();
    blocks.push(query(6, 6.0, -1.0));
    blocks
}

/// Fraction of misordered pairs in the first four queries.
fn misranked(blocks: &[PairBlock], w: &[f64]) -> f64 {
    let clean: Vec<(&PairBlock, f64)> = blocks[..4].iter().map(|block| (block, 1.0)).collect();
    let (problem, w) = (problem(&clean, 1e-300), w.iter().map(|w| 1e9 * w).collect::<Vec<f64>>());
    objective_by_definition(&problem.with_loss(PairLoss::Psi), &w) / (4.0 * 190.0)
}

#[test]
fn gross_outliers_are_ignored() {
    let blocks = with_outliers();
    let all: Vec<(&PairBlock, f64)> = blocks.iter().map(|block| (block, 1.0)).collect();
    let hinge = problem(&all, 1e-2);
    let (with_hinge, _) = fit(&hinge, 1e-6);
    let (with_psi, _) = fit(&hinge.with_loss(PairLoss::Psi), 1e-6);
    let (alone, _) = fit(&problem(&all[..4], 1e-2).with_loss(PairLoss::Psi), 1e-6);
    let wrong = |w: &[f64]| misranked(&blocks, w);
    assert!(wrong(&with_hinge) > 3.0 * wrong(&alone), "{} {}", wrong(&with_hinge), wrong(&alone));
    assert!(wrong(&with_psi) < 1.2 * wrong(&alone), "{} {}", wrong(&with_psi), wrong(&alone));
}

#[test]
fn a_path_and_an_interruption() {
    let shape = Shape { seed: 5, queries: 5, docs: 20, dim: 7, grades: 9, noise: 1.5 };
    let blocks = blocks(&shape);
    let psi = problem(&weights(&blocks), 1e-3).with_loss(PairLoss::Psi);
    let lambdas = [1.0, 1e-2, 1e-3];
    let fits = pair_path(&psi, &lambdas, &SolveOptions::new(1e-6), &Control::default()).unwrap();
    let (last, single) = (fits.last().unwrap(), fit(&psi, 1e-6).1);
    assert_eq!(fits.len(), 3);
    assert!((objective_by_definition(&psi, &last.w) - last.report.objective).abs() < 1e-12);
    assert!((last.report.objective / single.objective - 1.0).abs() < 0.1);
    assert_eq!(solve(&psi, &SolveOptions::new(1e-6), &canceled()).unwrap().report.stop, Stop::Interrupted);
    assert_eq!(pair_path(&psi, &lambdas, &SolveOptions::new(1e-6), &canceled()).unwrap().len(), 1);
}

/// The psi objective after the convex steps from the solution of the hinge problem alone.
fn from_hinge(psi: &PairProblem<'_>) -> f64 {
    let hinge = psi.clone().with_loss(PairLoss::Hinge);
    let (mut w, _) = fit(&hinge, 1e-8);
    let mut objective = objective_by_definition(psi, &w);
    loop {
        let (next, _) = fit(&hinge.clone().with_linear_term(tangent(psi, &w)), 1e-8);
        let value = objective_by_definition(psi, &next);
        if value >= objective * (1.0 - 1e-9) {
            return objective.min(value);
        }
        (w, objective) = (next, value);
    }
}

#[test]
fn several_starts_never_lose_against_one() {
    let mut better = 0;
    for seed in 0..12 {
        let shape = Shape { seed, queries: 3, docs: 10, dim: 3, grades: 4, noise: 2.0 };
        let blocks = blocks(&shape);
        let psi = problem(&weights(&blocks), 1e-3).with_loss(PairLoss::Psi);
        let (one, report) = (from_hinge(&psi), fit(&psi, 1e-8).1);
        assert!(report.objective <= one * (1.0 + 1e-7), "seed {seed}: {} {one}", report.objective);
        assert!(report.default_start.is_none_or(|first| report.objective < first), "seed {seed}");
        better += usize::from(report.objective < 0.99 * one);
    }
    assert!(better >= 3, "only {better} of 12");
}
