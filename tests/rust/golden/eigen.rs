//! Least squares in the span of leading eigenfunctions against `tests/rust/golden/listwise/eigenfunction.json`.
//!
//! The file's `about` states the normalizations. The file's pair loss is four times the library's, which is 1 / 4 of the
//! mean over ordered pairs of ((s_i - s_j) - (y_i - y_j))^2.

use std::sync::LazyLock;

use super::support::{assert_close, list_loss, numbers, read_listwise, rows};
use ndarray::Array2;
use serde_json::{Value, json};
use sqlite_ltr::internals::base::control::Control;
use sqlite_ltr::internals::cost::loss::ListLoss;
use sqlite_ltr::internals::data::Matrix;
use sqlite_ltr::internals::learn::kernel::{FeatureMap, Kernel, MapOptions};
use sqlite_ltr::internals::learn::solve::{Cut, Gram, ListBlock, ListProblem, Rows, spectral_path};
use sqlite_ltr::internals::math::eigen;
use sqlite_ltr::internals::math::optim::Solution;

const TOLERANCE: f64 = 1e-8;
static LOSS: LazyLock<ListLoss> = LazyLock::new(|| list_loss("pair_squared", &json!({})));

fn matrix(rows: &[Vec<f64>]) -> Matrix {
    Matrix::F64(Array2::from_shape_vec((rows.len(), rows[0].len()), rows.concat()).unwrap())
}

fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

fn less_mean(values: &[f64]) -> Vec<f64> {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    values.iter().map(|value| value - mean).collect()
}

fn kernel(case: &Value) -> Kernel {
    let number = |key: &str| case["params"][key].as_f64().unwrap();
    match case["kernel"].as_str().unwrap() {
        "gauss" => Kernel::new("gaussian", vec![0.5 / (number("sigma") * number("sigma"))]).unwrap(),
        _ => Kernel::new("polynomial", vec![number("degree"), number("scale"), number("offset")]).unwrap(),
    }
}

/// Documents with their labels and the numbers of their queries, in order of the queries.
#[derive(Clone)]
struct Documents {
    features: Vec<Vec<f64>>,
    labels: Vec<f64>,
    queries: Vec<i64>,
}

impl Documents {
    fn of_file(file: &Value) -> Self {
        let queries = file["group"].as_array().unwrap().iter().map(|query| query.as_i64().unwrap()).collect();
        Self { features: rows(&file["X"]), labels: numbers(&file["y"]), queries }
    }

    fn some(&self, keep: impl Fn(usize) -> bool) -> Self {
        let kept: Vec<usize> = (0..self.labels.len()).filter(|document| keep(*document)).collect();
        Self {
            features: kept.iter().map(|&i| self.features[i].clone()).collect(),
            labels: kept.iter().map(|&i| self.labels[i]).collect(),
            queries: kept.iter().map(|&i| self.queries[i]).collect(),
        }
    }

    /// Queries of two documents or more, with their weights; all documents are one query where they are pooled.
    fn weighted(&self, phi: &[Vec<f64>], weighting: &str) -> Vec<(ListBlock, f64)> {
        let groups: Vec<Vec<usize>> = if weighting == "pooled" {
            vec![(0..self.labels.len()).collect()]
        } else {
            let all: Vec<usize> = (0..self.labels.len()).collect();
            all.chunk_by(|&i, &j| self.queries[i] == self.queries[j]).map(<[usize]>::to_vec).collect()
        };
        let groups: Vec<Vec<usize>> = groups.into_iter().filter(|group| group.len() > 1).collect();
        let pairs = |group: &Vec<usize>| (group.len() * (group.len() - 1)) as f64;
        let all: f64 = groups.iter().map(pairs).sum();
        let weight = |group: &Vec<usize>| match weighting {
            "pairs" => pairs(group) / all,
            _ => 1.0 / groups.len() as f64,
        };
        let block = |group: &Vec<usize>| {
            let documents: Vec<Vec<f64>> = group.iter().map(|&i| phi[i].clone()).collect();
            let labels: Vec<f64> = group.iter().map(|&i| self.labels[i]).collect();
            ListBlock::new(Rows::Own(matrix(&documents)), &labels, &[], &LOSS).unwrap()
        };
        groups.iter().map(|group| (block(group), weight(group))).collect()
    }
}

/// The map of a kernel that is exact on these documents.
fn map(kernel: &Kernel, documents: &[Vec<f64>]) -> FeatureMap {
    let options = MapOptions { landmarks: 1000, tolerance: 1e-12, seed: 0 };
    FeatureMap::fit(kernel, &matrix(documents), &options, &Control::default()).unwrap()
}

fn phi(map: &FeatureMap, documents: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let phi = map.features(&matrix(documents), 0..documents.len(), &Control::default()).unwrap();
    phi.chunks_exact(map.dim()).map(<[f64]>::to_vec).collect()
}

fn problem(dim: usize, blocks: &[(ListBlock, f64)]) -> ListProblem<'_> {
    let blocks = blocks.iter().map(|(block, weight)| (block, *weight)).collect();
    ListProblem::new(dim, &LOSS, blocks).unwrap()
}

/// The loss of pairs as the file has it.
fn pair_loss(blocks: &[(ListBlock, f64)], w: &[f64]) -> f64 {
    let loss = |block: &ListBlock| {
        block.loss().value_and_subgradient(&block.scores(w), &mut vec![0.0; block.n_docs()])
    };
    blocks.iter().map(|(block, weight)| 4.0 * weight * loss(block)).sum()
}

#[test]
fn eigenpairs_coefficients_and_scores() {
    let file = read_listwise("eigenfunction.json");
    let documents = Documents::of_file(&file);
    let new = rows(&file["X_new"]);
    let cases = file["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 9);
    for case in cases {
        let weighting = case["weighting"].as_str().unwrap();
        let what = format!("{} {} {weighting}", case["kernel"], case["params"]);
        let map = map(&kernel(case), &documents.features);
        let train = phi(&map, &documents.features);
        let blocks = documents.weighted(&train, weighting);
        let problem = problem(map.dim(), &blocks);
        let rank = case["rank"].as_u64().unwrap() as usize;
        let gram = Gram::of(map.dim(), &problem.blocks).unwrap();
        let pairs = eigen::symmetric(gram.matrix(), gram.dim(), &Control::default()).unwrap();
        assert_close(&pairs.values[..rank], &numbers(&case["eigenvalues"]), TOLERANCE, &what);
        assert!(pairs.values[rank..].iter().all(|value| value.abs() < 1e-12), "{what}");
        let fit = |cut: Cut, parameter: f64| {
            spectral_path(&problem, cut, &[parameter], &Control::default()).unwrap().pop().unwrap()
        };
        let scores = |w: &[f64], phi: &[Vec<f64>]| phi.iter().map(|phi| dot(phi, w)).collect::<Vec<_>>();

        let Solution { w: whole, report } = fit(Cut::Components, rank as f64);
        assert_eq!(report.iterations as usize, rank, "{what}");
        let vectors = pairs.vectors.chunks_exact(map.dim()).take(rank);
        let coefficients: Vec<f64> = vectors.map(|u| dot(u, &whole).abs()).collect();
        for (found, expected) in coefficients.iter().zip(numbers(&case["abs_coefficients"])) {
            assert_close(&[*found], &[expected], TOLERANCE * expected.max(1.0), &what);
        }
        let (values, actual): (Vec<f64>, Vec<f64>) = report.eigenfunctions.iter().copied().unzip();
        assert_close(&values, &numbers(&case["eigenvalues"]), TOLERANCE, &what);
        let actual: Vec<f64> = actual.into_iter().map(f64::abs).collect();
        assert_close(&actual, &coefficients, 1e-12 * coefficients.iter().fold(1.0, |x, y| y.max(x)), &what);
        let first: Vec<f64> = train.iter().map(|phi| dot(phi, &pairs.vectors[..map.dim()]).abs()).collect();
        assert_close(&first, &numbers(&case["abs_phi_on_train_first"]), TOLERANCE, &what);
        let zero = pair_loss(&blocks, &vec![0.0; map.dim()]);
        assert_close(&[zero], &[case["loss_at_zero"].as_f64().unwrap()], TOLERANCE, &what);

        for (components, expected) in case["fits"].as_object().unwrap() {
            let what = format!("{what}, {components} components");
            let Solution { w, report } = fit(Cut::Components, components.parse().unwrap());
            let actual = scores(&w, &train);
            let centered = numbers(&expected["train_scores_centred"]);
            assert_close(&less_mean(&actual), &less_mean(&centered), TOLERANCE, &what);
            assert_close(&actual, &numbers(&expected["train_scores"]), TOLERANCE, &what);
            let actual = scores(&w, &phi(&map, &new));
            assert_close(&actual, &numbers(&expected["new_scores"]), TOLERANCE, &what);
            let differences: Vec<f64> = actual.iter().map(|score| score - actual[0]).collect();
            assert_close(&differences, &numbers(&expected["raw_score_differences_new"]), TOLERANCE, &what);
            let loss = [expected["pair_loss"].as_f64().unwrap()];
            assert_close(&[pair_loss(&blocks, &w)], &loss, TOLERANCE, &what);
            assert_close(&[4.0 * report.objective], &loss, TOLERANCE, &what);
        }

        let Solution { w, report } = fit(Cut::Threshold, case["gamma_mid"].as_f64().unwrap());
        assert_eq!(Some(u64::from(report.iterations)), case["kept_at_gamma_mid"].as_u64(), "{what}");
        assert_close(&scores(&w, &train), &numbers(&case["scores_at_gamma_mid"]), TOLERANCE, &what);
    }
}

#[test]
fn cross_validated_losses() {
    let file = read_listwise("eigenfunction.json");
    let documents = Documents::of_file(&file);
    let folds = numbers(&file["folds"]);
    for case in file["cases"].as_array().unwrap() {
        let weighting = case["cv_weighting"].as_str().unwrap();
        let components = numbers(&case["cv_components"]);
        let mut losses = vec![0.0; components.len()];
        for fold in [0.0, 1.0] {
            let held = |document: usize| (folds[document] - fold).abs() < 0.5;
            let (train, held) = (documents.some(|document| !held(document)), documents.some(held));
            let map = map(&kernel(case), &train.features);
            let blocks = train.weighted(&phi(&map, &train.features), weighting);
            let problem = problem(map.dim(), &blocks);
            let fits = spectral_path(&problem, Cut::Components, &components, &Control::default()).unwrap();
            let held = held.weighted(&phi(&map, &held.features), weighting);
            for (loss, fit) in losses.iter_mut().zip(fits) {
                *loss += 0.5 * pair_loss(&held, &fit.w);
            }
        }
        let what = format!("{} {} {}", case["kernel"], case["params"], case["weighting"]);
        assert_close(&losses, &numbers(&case["cv_loss"]), TOLERANCE, &what);
    }
}
