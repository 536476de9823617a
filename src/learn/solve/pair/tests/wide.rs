//! Many features: systems of few pairs, or Hessians in single precision; objectives and gaps in double precision.

use super::*;

/// With 630 documents the systems have few pairs; 900 documents are too many for their products.
fn wide(queries: usize) -> Vec<PairBlock> {
    blocks(&Shape { seed: 5, queries, docs: 45, dim: 270, grades: 12, noise: 2.0 })
}

/// With `LTR_LONG=1`, both query counts with each lambda.
#[test]
fn many_features_reach_the_gap_with_any_number_of_threads() {
    let all = [14, 20].into_iter().flat_map(|n| [1e-2, 1e-5, 1e-7].map(|lambda| (n, lambda)));
    for (queries, lambda) in all.step_by(if crate::is_long() { 1 } else { 4 }) {
        let blocks = wide(queries);
        let problem = problem(&weights(&blocks), lambda);
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| fit(&problem, 1e-6))
        };
        let ((w, report), (other, _)) = (run(1), run(3));
        assert_eq!(report.stop, Stop::Converged, "{lambda}: {report:?}");
        assert!(report.gap <= 1e-6 * report.objective);
        assert!((objective_by_definition(&problem, &w) - report.objective).abs() <= 1e-9 * report.objective);
        assert!(w.iter().zip(&other).all(|(a, b)| a.to_bits() == b.to_bits()));
    }
}

/// Numbers beyond single precision: the solver continues in double precision.
#[test]
fn features_too_large_for_single_precision_are_fitted() {
    let (docs, dim, queries, scale) = (45, 270, 20, 1e30);
    let mut numbers = Random::new(3);
    let blocks: Vec<PairBlock> = (0..queries)
        .map(|_| {
            let x: Vec<f64> = (0..docs * dim).map(|_| scale * numbers.symmetric()).collect();
            let labels: Vec<f64> = (0..docs).map(|_| (3.0 * numbers.symmetric()).floor()).collect();
            PairBlock::new(&x, &labels, dim).unwrap()
        })
        .collect();
    let (_, report) = fit(&problem(&weights(&blocks), 1e-3 * scale * scale), 1e-6);
    assert_eq!(report.stop, Stop::Converged, "{report:?}");
}
