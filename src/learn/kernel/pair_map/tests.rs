//! Tests of pair_map.

use super::*;
use crate::data::shaped;

const LABELS: [f64; 5] = [2.0, 0.0, 1.0, 2.0, 0.0];

fn documents(n: usize) -> Matrix {
    let value = |i: usize| ((i * i % 101) as f64 * 1.3 + i as f64 * 0.7).sin();
    Matrix::F64(shaped(n, 2, (0..2 * n).map(value).collect()))
}

fn kernels() -> Vec<Kernel> {
    let kernel = |name: &str, parameters: &[f64]| Kernel::new(name, parameters.to_vec()).unwrap();
    vec![
        kernel("linear", &[]),
        kernel("polynomial", &[3.0, 0.5, 1.0]),
        kernel("gaussian", &[0.7]),
        kernel("laplace", &[0.7]),
        kernel("laplace_l1", &[0.7]),
    ]
}

fn fit(kernel: &Kernel, features: &Matrix) -> PairMap {
    let options = MapOptions::new(1000, 0);
    PairMap::fit(kernel, features, &[0, 5], &LABELS, &options, &Control::default()).unwrap()
}

/// K of two concatenations by its definition.
fn concatenated(kernel: &Kernel, features: &Matrix, t: (usize, usize), u: (usize, usize)) -> f64 {
    let join = |(x, z)| [features.row_f64(x), features.row_f64(z)].concat();
    kernel.block(&join(t), 1, &Points::new(&join(u), 1, 4))[0]
}

#[test]
fn products_of_pairs_are_differences_of_kernels_on_concatenations() {
    let features = documents(5);
    let pairs = ordered_pairs(&LABELS);
    assert_eq!(pairs, [(0, 1), (0, 2), (0, 4), (2, 1), (2, 4), (3, 1), (3, 2), (3, 4)]);
    for kernel in kernels() {
        let map = fit(&kernel, &features);
        let psi = map.features(&features, 0..5, &LABELS, &Control::default()).unwrap();
        let row = |t: usize| &psi[t * map.dim()..(t + 1) * map.dim()];
        for (t, &pair) in pairs.iter().enumerate() {
            for (u, &(z, other)) in pairs.iter().enumerate() {
                let straight = concatenated(&kernel, &features, pair, (z, other));
                let h = straight - concatenated(&kernel, &features, pair, (other, z));
                let actual = dot(row(t), row(u));
                assert!((actual - h).abs() < 1e-9, "{}: {actual}, expected {h}", kernel.def.name);
            }
        }
    }
}

#[test]
fn scores_are_mean_preferences_on_both_routes() {
    let (features, test) = (documents(5), documents(9));
    let control = Control::default();
    for kernel in kernels() {
        let map = fit(&kernel, &features);
        let beta: Vec<f64> = (0..map.dim()).map(|p| (p as f64).cos()).collect();
        let columns = map.columns(&test, 0..9, &control).unwrap();
        let (mut row, mut other) = (vec![0.0; map.dim()], vec![0.0; map.dim()]);
        let mut f = |j, l| {
            map.preferences(&columns, j, l, &mut row, &mut other);
            dot(&row, &beta)
        };
        let found = map.scores(&test, &beta, &control).unwrap();
        let plain = map.plain_sums(&columns, 9, &beta, &control).unwrap();
        for j in 0..9 {
            let sum: f64 = (0..9).map(|l| f(j, l)).sum();
            assert!((found[j] - sum / 9.0).abs() < 1e-12, "{}", kernel.def.name);
            assert!((plain[j] - sum).abs() < 1e-12, "{}", kernel.def.name);
            assert!((f(j, 8 - j) + f(8 - j, j)).abs() < 1e-15, "antisymmetric");
        }
        assert!(found.iter().sum::<f64>().abs() < 1e-12);
    }
}

#[test]
fn the_order_of_documents_permutes_the_scores() {
    let features = documents(5);
    let order = [3, 1, 4, 0, 2];
    for kernel in kernels() {
        let map = fit(&kernel, &features);
        let beta = vec![1.0; map.dim()];
        let scores = |features: &Matrix| map.scores(features, &beta, &Control::default()).unwrap();
        let (plain, permuted) = (scores(&features), scores(&features.select_rows(&order)));
        for (position, document) in order.into_iter().enumerate() {
            assert!((permuted[position] - plain[document]).abs() < 1e-12, "{}", kernel.def.name);
        }
    }
}

#[test]
fn the_linear_kernel_scores_with_centred_documents() {
    let features = documents(5);
    let map = fit(&kernels()[0], &features);
    assert_eq!(map.dim(), 2);
    let w = [0.4, -1.5];
    let beta = map.coefficients(&w).unwrap();
    let scores = map.scores(&features, &beta, &Control::default()).unwrap();
    let psi = map.features(&features, 0..5, &LABELS, &Control::default()).unwrap();
    for (&(j, l), psi) in ordered_pairs(&LABELS).iter().zip(psi.chunks_exact(2)) {
        assert!((scores[j] - scores[l] - dot(psi, &w)).abs() < 1e-12);
    }
}

#[test]
fn sampled_pairs_are_pairs_of_one_query() {
    let labels: Vec<f64> = (0..60).map(|row| f64::from(row % 4)).collect();
    let offsets = [0, 20, 20, 21, 60];
    let options = MapOptions::new(12, 0);
    let chosen = sampled_pairs(&offsets, &labels, options.candidates(), options.seed);
    assert_eq!(chosen.len(), 48);
    for &(j, l) in &chosen {
        assert!(labels[j] > labels[l] && (j < 20) == (l < 20) && j != 20 && l != 20);
    }
    let all = sampled_pairs(&offsets, &labels, usize::MAX, 0);
    assert_eq!(all.len() as u64, pair_count(&labels[..20]) + pair_count(&labels[21..]));
    assert!(chosen.iter().all(|pair| all.contains(pair)));
}

#[test]
fn pairs_become_documents_above_a_zero() {
    assert_eq!(
        as_documents(vec![1.0, 2.0, 3.0, 4.0], 2),
        (vec![1.0, 2.0, 3.0, 4.0, 0.0, 0.0], vec![1.0, 1.0, 0.0])
    );
    assert_eq!(as_documents(Vec::new(), 0), (Vec::new(), vec![0.0]));
}

#[test]
fn without_pairs_there_is_an_empty_map() {
    let features = documents(3);
    let control = Control::default();
    let map = PairMap::fit(&kernels()[2], &features, &[0, 3], &[1.0; 3], &MapOptions::new(1000, 0), &control);
    let map = map.unwrap();
    assert_eq!(map.dim(), 0);
    assert!(map.is_valid());
    assert!(map.features(&features, 0..3, &[1.0; 3], &control).unwrap().is_empty());
    assert_eq!(map.scores(&features, &[], &control).unwrap(), [0.0; 3]);
}
