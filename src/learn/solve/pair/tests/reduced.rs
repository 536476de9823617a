//! Problems with fewer documents than features.

use proptest::prelude::*;

use super::centered::shifted;
use super::{Shape, blocks, cases, fit, problem, weights};
use crate::base::Control;
use crate::cost::loss::PairLoss;
use crate::learn::solve::{Solution, SolveOptions, Stop, objective_by_definition};

fn wide() -> impl Strategy<Value = Shape> {
    (any::<u64>(), 1..4usize, 0..14usize, 65..180usize, 1..12usize, 0.0..3.0).prop_map(
        |(seed, queries, docs, dim, grades, noise)| Shape { seed, queries, docs, dim, grades, noise },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(40), failure_persistence: None, ..ProptestConfig::default() })]

    /// The fit in the span of the documents is that with all features.
    #[test]
    fn a_reduced_fit_is_the_plain_fit(
        shape in wide(), exponent in -5.0..1.0, center in 0.0..1.0, linear_term in 0.0..0.1
    ) {
        let blocks = blocks(&shape);
        let plain = problem(&weights(&blocks), 10f64.powf(exponent));
        let linear_term = if exponent > -2.0 { linear_term } else { 0.0 };
        for problem in [plain.clone(), shifted(&plain, shape.seed, center, linear_term)] {
            let (w, report) = fit(&problem, 1e-8);
            let options = SolveOptions::new(1e-8);
            let direct = (options.solver.pair.unwrap().path)(&problem, &[problem.lambda], &options.rule(), &Control::default());
            let Solution { w: same, report: direct } = &direct[0];
            let total = objective_by_definition(&problem, &vec![0.0; problem.dim]);
            let done = matches!(report.stop, Stop::Converged | Stop::Empty) || report.gap <= 1e-14 * total;
            prop_assert!(done, "{report:?}");
            let scale = report.objective.abs().max(1e-3 * total);
            let slack = report.gap + direct.gap + 1e-11 * scale;
            prop_assert!((report.objective - direct.objective).abs() <= slack);
            prop_assert!((objective_by_definition(&problem, &w) - report.objective).abs() <= 1e-11 * scale);
            let distance: f64 = w.iter().zip(same).map(|(x, y)| (x - y) * (x - y)).sum();
            prop_assert!(problem.lambda * distance <= 4.0 * slack, "{distance}");
        }
    }
}

/// 300 documents with 2,000 features, which would take minutes with a Newton step in 2,000 dimensions.
#[test]
fn many_features_and_few_documents() {
    let shape = Shape { seed: 2, queries: 6, docs: 50, dim: 2000, grades: 5, noise: 1.0 };
    let blocks = blocks(&shape);
    let problem = problem(&weights(&blocks), 1e-4);
    let (w, report) = fit(&problem, 1e-6);
    assert_eq!((report.stop, w.len()), (Stop::Converged, 2000));
}

/// The convex steps of psi run in the span of the documents too.
#[test]
fn psi_with_few_documents() {
    let shape = Shape { seed: 4, queries: 3, docs: 20, dim: 100, grades: 5, noise: 3.0 };
    let blocks = blocks(&shape);
    let hinge = problem(&weights(&blocks), 1.0);
    let psi = hinge.clone().with_loss(PairLoss::Psi);
    let (start, _) = fit(&hinge, 1e-8);
    let (_, report) = fit(&psi, 1e-8);
    assert!(report.steps.len() > 1, "no pair in the wrong order");
    assert!(report.objective < objective_by_definition(&psi, &start));
}
