//! Laws of the two maps, on every kernel of the table.

use rayon::ThreadPoolBuilder;
use serde_json::{Value, json};

use super::*;
use crate::base::{Control, Error};
use crate::data::{Matrix, Shuffle, shaped};
use crate::math::{dot, eigen};

/// `n` documents with `dim` features that look random.
fn documents(n: usize, dim: usize) -> Matrix {
    let value = |i: usize| ((i * i % 1013) as f64 * 1.7 + i as f64 * 0.31).sin();
    Matrix::F64(shaped(n, dim, (0..n * dim).map(value).collect()))
}

/// Every kernel with its default parameters for the documents.
fn kernels(features: &Matrix) -> Vec<Kernel> {
    NAMES.iter().map(|name| kernel(&json!(name), features)).collect()
}

fn kernel(value: &Value, features: &Matrix) -> Kernel {
    KernelSpec::parse(value).unwrap().fit(features, 0, &Control::default()).unwrap()
}

fn fit(kernel: &Kernel, features: &Matrix, landmarks: usize) -> FeatureMap {
    let options = MapOptions::new(landmarks, 0);
    FeatureMap::fit(kernel, features, &options, &Control::default()).unwrap()
}

fn phi(map: &FeatureMap, features: &Matrix) -> Vec<f64> {
    map.features(features, 0..features.rows(), &Control::default()).unwrap()
}

/// K of all documents with one another.
fn gram(kernel: &Kernel, features: &Matrix) -> Vec<f64> {
    let (n, dim) = (features.rows(), features.columns());
    let rows = features.rows_f64(0..n);
    kernel.block(&rows, n, &Points::new(&rows, n, dim))
}

/// The largest difference of rows' dot products to K, and the largest K in size.
fn error(rows: &[f64], width: usize, k: &[f64], n: usize) -> (f64, f64) {
    let row = |i: usize| &rows[i * width..(i + 1) * width];
    let mut worst: f64 = 0.0;
    for i in 0..n {
        for j in 0..n {
            worst = worst.max((dot(row(i), row(j)) - k[i * n + j]).abs());
        }
    }
    (worst, k.iter().fold(0.0, |largest: f64, value| largest.max(value.abs())))
}

#[test]
fn an_untruncated_map_is_the_kernel() {
    let features = documents(90, 5);
    for kernel in kernels(&features).into_iter().filter(|kernel| kernel.def.positive_semidefinite) {
        let name = kernel.def.name;
        let map = fit(&kernel, &features, 90);
        assert!(map.is_valid() && map.negative() < 1e-12 && map.warning().is_none(), "{name}");
        let (worst, largest) = error(&phi(&map, &features), map.dim(), &gram(&kernel, &features), 90);
        assert!(worst < 1e-9 * largest, "{name}: {worst}");
    }
    assert_eq!(fit(&kernels(&features)[0], &features, 90).dim(), 5, "the rank of the linear kernel");
}

#[test]
fn a_truncated_map_is_the_kernel_at_its_pivots_and_below_it_elsewhere() {
    let features = documents(90, 5);
    for kernel in kernels(&features).into_iter().filter(|kernel| kernel.def.positive_semidefinite) {
        let map = fit(&kernel, &features, 20);
        let pivots = Matrix::F64(shaped(map.dim(), 5, map.basis.points.rows()));
        let (worst, largest) = error(&phi(&map, &pivots), map.dim(), &gram(&kernel, &pivots), map.dim());
        assert!(worst < 1e-9 * largest, "{}: {worst}", kernel.def.name);
        let k = gram(&kernel, &features);
        for (i, row) in phi(&map, &features).chunks_exact(map.dim()).enumerate() {
            assert!(dot(row, row) <= k[i * 90 + i] + 1e-9 * largest);
        }
    }
}

#[test]
fn weights_and_coefficients_give_the_same_scores() {
    let features = documents(70, 3);
    for kernel in kernels(&features) {
        let map = fit(&kernel, &features, 40);
        let w: Vec<f64> = (0..map.dim()).map(|i| (i as f64 + 0.5).cos()).collect();
        let beta = map.coefficients(&w).unwrap();
        let control = Control::default();
        let scores = map.basis.scores(&features, 3..60, &beta, &control).unwrap();
        let columns = map.columns(&features, 3..60, &control).unwrap();
        let rows = map.features(&features, 3..60, &control).unwrap();
        let size: f64 = beta.iter().map(|value| value.abs()).sum();
        for (i, score) in scores.iter().enumerate() {
            let position = i * map.dim()..(i + 1) * map.dim();
            assert!(
                (score - dot(&rows[position.clone()], &w)).abs() < 1e-12 * (1.0 + size),
                "{}",
                kernel.def.name
            );
            assert_eq!(score.to_bits(), dot(&columns[position], &beta).to_bits());
        }
    }
}

/// With `LTR_LONG=1` the number of queries and of landmarks doubles.
#[test]
fn bits_depend_neither_on_threads_nor_on_company() {
    let (queries, landmarks) = if crate::is_long() { (14, 300) } else { (7, 150) };
    let features = documents(queries * 50, 6);
    let labels: Vec<f64> = (0..features.rows()).map(|i| (i % 3) as f64).collect();
    let offsets: Vec<usize> = (0..=queries).map(|query| query * 50).collect();
    let options = MapOptions { landmarks, tolerance: 1e-10, seed: 5 };
    let control = Control::default();
    let all = |threads: usize| {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let kernel = kernel(&json!("laplace"), &features);
            let map = FeatureMap::fit(&kernel, &features, &options, &control).unwrap();
            let pairs = PairMap::fit(&kernel, &features, &offsets, &labels, &options, &control).unwrap();
            let beta = vec![1.0; pairs.dim()];
            let psi = pairs.features(&features, 0..50, &labels[..50], &control).unwrap();
            let scores = pairs.scores(&features, &beta, &control).unwrap();
            let rows = phi(&map, &features);
            (map, rows, pairs, psi, scores)
        })
    };
    let one = all(1);
    assert_eq!(one, all(3));
    let alone = one.0.features(&features, 333..334, &control).unwrap();
    assert_eq!(alone, one.1[333 * one.0.dim()..334 * one.0.dim()]);
}

#[test]
fn the_order_of_documents_changes_no_product() {
    let features = documents(60, 4);
    let order: Vec<usize> = (0..60).map(|i| i * 7 % 60).collect();
    let kernel = kernel(&json!("gaussian"), &features);
    let permuted = fit(&kernel, &features.select_rows(&order), 60);
    let (worst, _) = error(&phi(&permuted, &features), permuted.dim(), &gram(&kernel, &features), 60);
    assert!(worst < 1e-9);
}

#[test]
fn repeated_documents_and_constant_features_lower_the_rank() {
    let features = documents(20, 3);
    let twice = features.select_rows(&(0..40).map(|i| i % 20).collect::<Vec<_>>());
    let gaussian = |features: &Matrix| kernel(&json!({"gaussian": {"gamma": 1}}), features);
    assert_eq!(fit(&gaussian(&twice), &twice, 40).dim(), fit(&gaussian(&features), &features, 40).dim());
    let constant = Matrix::F64(shaped(9, 2, vec![0.7; 18]));
    for kernel in kernels(&constant) {
        let map = fit(&kernel, &constant, 9);
        assert_eq!(map.dim(), 1, "{}", kernel.def.name);
        let rows = phi(&map, &constant);
        assert!(rows.iter().all(|value| value.to_bits() == rows[0].to_bits()));
    }
}

#[test]
fn the_smallest_problems_have_maps() {
    for (n, dim) in [(0, 2), (1, 1), (1, 3), (5, 1), (3, 0)] {
        let features = documents(n, dim);
        for kernel in kernels(&features) {
            let map = fit(&kernel, &features, 10);
            let (worst, largest) = error(&phi(&map, &features), map.dim(), &gram(&kernel, &features), n);
            let exact = worst <= 1e-9 * largest || !kernel.def.positive_semidefinite;
            assert!(exact, "{} of ({n}, {dim}): {worst}", kernel.def.name);
            let beta = vec![1.0; map.dim()];
            let scores = map.basis.scores(&features, 0..n, &beta, &Control::default()).unwrap();
            assert_eq!(scores.len(), n);
        }
    }
}

#[test]
fn an_indefinite_kernel_is_projected_with_a_warning() {
    let features = documents(80, 3);
    let tanh = kernel(&json!({"tanh": {"scale": 2, "offset": -1}}), &features);
    let map = fit(&tanh, &features, 80);
    assert!(map.dim() > 1 && map.is_valid());
    assert!(map.negative() > 0.01, "{}", map.negative());
    let warning = map.warning().unwrap();
    assert!(warning.starts_with("the kernel tanh is not positive semidefinite"), "{warning}");
    // Products of features come from the positive eigenvalues alone.
    let (n, k) = (80, gram(&tanh, &features));
    let found = eigen::symmetric(k.clone(), n, &Control::default()).unwrap();
    let positive = |i: usize, j: usize| {
        let parts = found.vectors.chunks_exact(n).zip(&found.values);
        parts.map(|(vector, value)| value.max(0.0) * vector[i] * vector[j]).sum::<f64>()
    };
    let clipped: Vec<f64> = (0..n * n).map(|entry| positive(entry / n, entry % n)).collect();
    let (worst, largest) = error(&phi(&map, &features), map.dim(), &clipped, n);
    assert!(worst < 1e-4 * largest, "{worst} of {largest}");
    // The candidates' features stay of the kernel's size.
    assert!(phi(&map, &features).iter().all(|value| value * value <= 2.0));
}

#[test]
fn a_seed_chooses_the_candidates() {
    let features = documents(400, 4);
    let kernel = kernel(&json!("gaussian"), &features);
    let with = |seed| {
        let options = MapOptions::new(30, seed);
        FeatureMap::fit(&kernel, &features, &options, &Control::default()).unwrap()
    };
    assert_eq!(with(1), with(1));
    assert_ne!(with(1).basis.points.rows(), with(2).basis.points.rows());
    assert_eq!(with(1).dim(), 30);
}

#[test]
fn other_sizes_and_overflow_are_refused() {
    let features = documents(10, 3);
    let control = Control::default();
    let map = fit(&kernel(&json!("gaussian"), &features), &features, 10);
    let narrow = documents(4, 2);
    assert!(matches!(map.features(&narrow, 0..4, &control), Err(Error::Shape { .. })));
    assert!(matches!(map.basis.scores(&features, 0..4, &[1.0], &control), Err(Error::Shape { .. })));
    assert!(matches!(map.coefficients(&[1.0]), Err(Error::Shape { .. })));
    let huge = Matrix::F64(shaped(2, 1, vec![1e200, -1e200]));
    let polynomial = Kernel::new("polynomial", vec![2.0, 1.0, 0.0]).unwrap();
    let refused = FeatureMap::fit(&polynomial, &huge, &MapOptions::new(1000, 0), &control);
    assert!(matches!(refused, Err(Error::Data(_))));
}

#[test]
fn an_interruption_ends_every_part() {
    let features = documents(40, 3);
    let labels: Vec<f64> = (0..40).map(f64::from).collect();
    let gaussian = kernel(&json!("gaussian"), &features);
    let map = fit(&gaussian, &features, 40);
    let control = Control::default();
    let options = MapOptions::new(1000, 0);
    let pairs = PairMap::fit(&gaussian, &features, &[0, 40], &labels, &options, &control).unwrap();
    let beta = vec![0.0; map.dim()];
    control.cancel();
    let interrupted = Error::Interrupted;
    for value in [json!("gaussian"), json!({"gaussian": {"gamma": "median"}})] {
        let choice = KernelSpec::parse(&value).unwrap();
        assert_eq!(choice.fit(&features, 0, &control).unwrap_err(), interrupted);
    }
    assert_eq!(FeatureMap::fit(&gaussian, &features, &options, &control).unwrap_err(), interrupted);
    assert_eq!(map.features(&features, 0..40, &control).unwrap_err(), interrupted);
    assert_eq!(map.basis.scores(&features, 0..40, &beta, &control).unwrap_err(), interrupted);
    assert_eq!(pairs.features(&features, 0..40, &labels, &control).unwrap_err(), interrupted);
    assert_eq!(pairs.scores(&features, &vec![0.0; pairs.dim()], &control).unwrap_err(), interrupted);
}

/// Scores of 1 to 70 rows, in tiles or alone, have the same bits; sorted documents agree up to rounding.
#[test]
fn a_score_does_not_depend_on_other_rows_or_functions_evaluated_with_it() {
    let (features, control) = (documents(70, 5), Control::default());
    for kernel in kernels(&features) {
        let (map, name) = (fit(&kernel, &features, 45), kernel.def.name);
        let betas = [0.5, 0.9].map(|f| (0..map.dim()).map(|l| (l as f64 * f).cos()).collect::<Vec<f64>>());
        let functions = betas.each_ref().map(|beta| (&kernel, &beta[..]));
        let basis = map.basis;
        let together = basis.scores_by(&features, 0..70, &functions, &control).unwrap();
        for rows in [0..1, 0..70, 3..6, 30..65, 69..70] {
            for (beta, all) in betas.iter().zip(&together) {
                assert_eq!(
                    basis.scores(&features, rows.clone(), beta, &control).unwrap(),
                    all[rows.clone()],
                    "{name}"
                );
            }
        }
        let (sorted, beta) = basis.sorted(&betas[0]);
        let scores = sorted.scores(&features, 0..70, &beta, &control).unwrap();
        let error = scores.iter().zip(&together[0]).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(error < 1e-11, "{name}: {error}");
        assert_eq!(sorted.sorted(&beta).0, sorted);
    }
}

#[test]
fn replaced_features_have_the_scores_of_whole_documents() {
    let (features, control) = (documents(30, 3), Control::default());
    let (before, after) = (features.row_f64(3), features.row_f64(8));
    let mixed = [
        before.clone(),
        [&after[..1], &before[1..]].concat(),
        after.clone(),
        [&before[..1], &after[1..]].concat(),
    ];
    let mixed = Matrix::F64(shaped(4, 3, mixed.concat()));
    let replaced = [false, false, true, false, true, true, false, true];
    for kernel in kernels(&features) {
        let map = fit(&kernel, &features, 20);
        let beta: Vec<f64> = (0..map.dim()).map(|l| (l as f64).cos()).collect();
        let replacements = |before: &[f64]| {
            map.basis.replacements(&beta, [before, &after], [vec![0], vec![1, 2]].into_iter())
        };
        let found = replacements(&before);
        assert_eq!(found.is_some(), kernel.def.factorizes, "{}", kernel.def.name);
        if let Some(found) = found {
            let scores = map.basis.scores(&mixed, 0..4, &beta, &control).unwrap();
            for (found, score) in found.values(&replaced).iter().zip(scores) {
                assert!((found - score).abs() < 1e-12, "{found}, not {score}");
            }
        }
        assert!(replacements(&[1e6, 0.0, 0.0]).is_none(), "values that are 0");
    }
}

#[test]
fn shuffled_documents_have_their_values_and_equal_ones_have_equal_values() {
    let (dim, control) = (9, Control::default());
    for (name, n, r) in
        [("gaussian", 1, 5), ("gaussian", 70, 40), ("laplace_l1", 33, 65), ("gaussian", 4200, 3)]
    {
        // Every third document is the one before it, but for a feature.
        let mut rows = documents(n, dim).rows_f64(0..n);
        for document in (2..n).step_by(3) {
            rows.copy_within((document - 1) * dim..document * dim - 1, document * dim);
        }
        let features = Matrix::F64(shaped(n, dim, rows.clone()));
        let points = documents(r, dim).rows_f64(0..r);
        let kernels = [0.3, 0.05].map(|gamma| Kernel::new(name, vec![gamma]).unwrap());
        let basis = Basis::new(kernels[0].clone(), &points, r, dim);
        let betas = [0.5, 1.5].map(|phase| (0..r).map(|l| (l as f64 + phase).cos()).collect::<Vec<f64>>());
        let functions: Vec<(&Kernel, &[f64])> = kernels.iter().zip(betas.iter().map(Vec::as_slice)).collect();
        // The last feature gets the value of one document; others are reversed or moved.
        let shuffle = |columns: Vec<usize>| {
            let moved = |by: usize| (0..n).map(|row| (row + by) % n).collect();
            Shuffle { columns, orders: vec![vec![n / 2; n], (0..n).rev().collect(), moved(1)] }
        };
        let shuffles: Vec<Shuffle> =
            (0..dim).map(|j| shuffle(vec![j])).chain([shuffle(vec![8, 0, 3])]).collect();
        // Sets that overlap are computed apart.
        let mut found = basis.shuffled(&rows, n, &shuffles[..dim], &functions, &control).unwrap();
        found.extend(basis.shuffled(&rows, n, &shuffles[dim..], &functions, &control).unwrap());
        for (Shuffle { columns, orders }, found) in shuffles.iter().zip(&found) {
            for (order, found) in orders.iter().zip(found.chunks_exact(n)) {
                let mut copy = features.clone();
                copy.copy_columns(&features, columns, order);
                let exact = basis.scores_by(&copy, 0..n, &functions, &control).unwrap();
                for (row, found) in found.iter().enumerate() {
                    let exact = exact[0][row] + exact[1][row];
                    assert!(
                        (found - exact).abs() < 1e-12 * r as f64,
                        "{name}, {columns:?}: {found}, {exact}"
                    );
                }
            }
        }
        // They differ in the last feature alone, which belongs to one document.
        let same = &found[8][..n];
        assert!((2..n).step_by(3).all(|row| same[row].to_bits() == same[row - 1].to_bits()), "{name}");
    }
}
