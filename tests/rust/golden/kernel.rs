//! Kernel methods against problems whose optimum is known to many digits (`tests/rust/golden/qsvm`): the scoring
//! form by the feature map of documents, the ranking form by the map of pairs, both with the solver of the
//! linear kernel.
//!
//! The `definitions` block of `problems.json` has the definitions and normalization.

use std::collections::BTreeMap;

use super::q_svm::{chosen, weight};
use super::support::{assert_close, documents, numbers, read, rows};
use ndarray::Array2;
use serde_json::{Value, json};
use sqlite_ltr::internals::base::control::Control;
use sqlite_ltr::internals::data::Matrix;
use sqlite_ltr::internals::learn::kernel::{
    FeatureMap, Kernel, KernelSpec, MapOptions, PairMap, Points, as_documents,
};
use sqlite_ltr::internals::learn::solve::{
    PairBlock, PairProblem, Solution, SolveOptions, SolveReport, Stop, solve,
};

fn matrix(rows: &[Vec<f64>]) -> Matrix {
    Matrix::F64(Array2::from_shape_vec((rows.len(), rows[0].len()), rows.concat()).unwrap())
}

/// exp(-|x - z|^2 / sigma2).
fn gaussian(sigma2: f64) -> Kernel {
    Kernel::new("gaussian", vec![1.0 / sigma2]).unwrap()
}

fn fit(dim: usize, blocks: Vec<(&PairBlock, f64)>, lambda: f64, tolerance: f64) -> (Vec<f64>, SolveReport) {
    let problem = PairProblem::new(dim, blocks, lambda).unwrap();
    let options = SolveOptions::new(tolerance);
    let Solution { w, report } = solve(&problem, &options, &Control::default()).unwrap();
    (w, report)
}

/// A problem of the file.
struct Golden {
    kernel: Kernel,
    lambda: f64,
    documents: Matrix,
    /// Rows of query i are `offsets[i]..offsets[i + 1]`.
    offsets: Vec<usize>,
    labels: Vec<f64>,
    pi: Vec<f64>,
    test: Matrix,
    solution: Value,
}

fn golden(name: &str) -> Golden {
    let all: Value = serde_json::from_str(&read("problems.json")).unwrap();
    let problem = all["problems"].as_array().unwrap().iter().find(|p| p["name"] == name).unwrap();
    let queries = problem["queries"].as_array().unwrap();
    let labels: Vec<Vec<f64>> = queries.iter().map(|query| numbers(&query["y"])).collect();
    let mut offsets = vec![0];
    for labels in &labels {
        offsets.push(offsets[offsets.len() - 1] + labels.len());
    }
    let documents: Vec<Vec<f64>> = queries.iter().flat_map(|query| rows(&query["x"])).collect();
    Golden {
        kernel: gaussian(problem["sigma2"].as_f64().unwrap()),
        lambda: problem["lambda"].as_f64().unwrap(),
        documents: matrix(&documents),
        offsets,
        labels: labels.concat(),
        pi: queries.iter().map(|query| query["pi"].as_f64().unwrap()).collect(),
        test: matrix(&rows(&problem["test_x"])),
        solution: problem["solution"].clone(),
    }
}

impl Golden {
    /// Rows, labels and weight c of each query.
    fn queries(&self) -> impl Iterator<Item = (std::ops::Range<usize>, &[f64], f64)> {
        self.offsets.windows(2).zip(&self.pi).map(|(bounds, pi)| {
            let rows = bounds[0]..bounds[1];
            let c = weight(*pi, self.pi.len(), rows.len());
            (rows.clone(), &self.labels[rows], c)
        })
    }

    /// Compares the optimum, and the scores of every query and of the test documents.
    fn compare(&self, report: &SolveReport, scores: &dyn Fn(&Matrix, std::ops::Range<usize>) -> Vec<f64>) {
        assert_eq!(report.stop, Stop::Converged, "gap {:e}", report.gap);
        let objective = self.solution["objective"].as_f64().unwrap();
        assert!((report.objective / objective - 1.0).abs() < 1e-8, "{} {objective}", report.objective);
        for ((rows, ..), expected) in self.queries().zip(self::rows(&self.solution["scores"])) {
            assert_close(&scores(&self.documents, rows), &expected, 1e-5, "scores");
        }
        let expected = numbers(&self.solution["test_scores"]);
        assert_close(&scores(&self.test, 0..expected.len()), &expected, 1e-5, "test scores");
    }
}

fn scoring_form(name: &str) {
    let golden = golden(name);
    let control = Control::default();
    let map =
        FeatureMap::fit(&golden.kernel, &golden.documents, &MapOptions::new(1000, 0), &control).unwrap();
    let phi = |rows| map.features(&golden.documents, rows, &control).unwrap();
    let blocks: Vec<(PairBlock, f64)> = golden
        .queries()
        .map(|(rows, labels, c)| (PairBlock::new(&phi(rows), labels, map.dim()).unwrap(), c))
        .collect();
    let parts = blocks.iter().map(|(block, c)| (block, *c)).collect();
    let (w, report) = fit(map.dim(), parts, golden.lambda, 1e-11);
    let beta = map.coefficients(&w).unwrap();
    golden.compare(&report, &|features, rows| map.basis.scores(features, rows, &beta, &control).unwrap());
}

#[test]
fn scoring_form_with_a_gaussian_kernel() {
    scoring_form("p3_scoring_gauss");
}

#[test]
fn scoring_form_with_ties_and_a_small_lambda() {
    scoring_form("p4_scoring_gauss_ties_small_lambda");
}

#[test]
fn ranking_form_with_score_recovery() {
    let golden = golden("p6_ranking_gauss");
    let control = Control::default();
    let map = PairMap::fit(
        &golden.kernel,
        &golden.documents,
        &golden.offsets,
        &golden.labels,
        &MapOptions::new(1000, 0),
        &control,
    );
    let map = map.unwrap();
    let blocks: Vec<(PairBlock, f64)> = golden
        .queries()
        .map(|(rows, labels, c)| {
            let psi = map.features(&golden.documents, rows, labels, &control).unwrap();
            let (x, y) = as_documents(psi, map.dim());
            (PairBlock::new(&x, &y, map.dim()).unwrap(), c)
        })
        .collect();
    let pairs: u64 = blocks.iter().map(|(block, _)| block.pairs).sum();
    assert_eq!(pairs, golden.solution["n_pairs"].as_u64().unwrap() / 2);
    let parts = blocks.iter().map(|(block, c)| (block, *c)).collect();
    let (w, report) = fit(map.dim(), parts, 2.0 * golden.lambda, 1e-11);
    let norm2: f64 = w.iter().map(|w| 2.0 * w * w).sum();
    assert!((norm2 - golden.solution["penalty_norm2"].as_f64().unwrap()).abs() < 1e-5);
    let beta = map.coefficients(&w).unwrap();
    let scores = |features: &Matrix, rows: std::ops::Range<usize>| {
        map.scores(&features.select_rows(&rows.collect::<Vec<_>>()), &beta, &control).unwrap()
    };
    golden.compare(&report, &scores);
}

/// The dual of the ranking form (3.1) as defined: over both orders of every pair, with the kernel of
/// the concatenations, one variable after the other. Answers the primal objective and the scores (3.6) of
/// each query.
fn brute_force(kernel: &Kernel, x: &[Vec<f64>], labels: &[f64], lambda: f64) -> (f64, Vec<f64>) {
    let m = x.len();
    let joined: Vec<(usize, usize)> = (0..m * m).map(|t| (t / m, t % m)).collect();
    let rows: Vec<f64> = joined.iter().flat_map(|&(j, l)| [x[j].clone(), x[l].clone()].concat()).collect();
    let dim = 2 * x[0].len();
    let k = kernel.block(&rows, m * m, &Points::new(&rows, m * m, dim));
    let sign = |&(j, l): &(usize, usize)| labels[j].total_cmp(&labels[l]) as i32;
    let c = 0.5 * weight(1.0, 1, m);
    let (mut alpha, mut f) = (vec![0.0; m * m], vec![0.0; m * m]);
    for _ in 0..20_000 {
        for t in (0..m * m).filter(|&t| sign(&joined[t]) != 0) {
            let s = f64::from(sign(&joined[t]));
            let curvature = k[t * m * m + t] / (2.0 * lambda);
            let next = (alpha[t] + (1.0 - s * f[t]) / curvature).clamp(0.0, c);
            let step = s * (next - alpha[t]) / (2.0 * lambda);
            alpha[t] = next;
            for u in 0..m * m {
                f[u] += step * k[t * m * m + u];
            }
        }
    }
    let weighted = |t: usize| f64::from(sign(&joined[t])) * alpha[t];
    let norm2: f64 = (0..m * m).map(|t| weighted(t) * f[t] / (2.0 * lambda)).sum();
    let slack =
        |t: usize| f64::from(sign(&joined[t]).abs()) * (1.0 - f64::from(sign(&joined[t])) * f[t]).max(0.0);
    let loss: f64 = (0..m * m).map(|t| c * slack(t)).sum();
    let score = |j: usize| (0..m).map(|l| f[j * m + l] - f[l * m + j]).sum::<f64>() / (2 * m) as f64;
    (loss + lambda * norm2, (0..m).map(score).collect())
}

#[test]
fn ranking_form_of_every_kernel_equals_the_dual_over_ordered_pairs() {
    let x: Vec<Vec<f64>> =
        (0..6).map(|i| vec![f64::from(i * i % 7) / 3.0, f64::from(i * 5 % 6) / 4.0]).collect();
    let labels = [1.0, 0.0, 2.0, 1.0, 2.0, 0.0];
    let (documents, control, lambda) = (matrix(&x), Control::default(), 0.01);
    for (name, parameters) in [
        ("linear", vec![]),
        ("polynomial", vec![2.0, 0.5, 1.0]),
        ("gaussian", vec![0.5]),
        ("laplace", vec![0.5]),
        ("laplace_l1", vec![0.5]),
    ] {
        let kernel = Kernel::new(name, parameters).unwrap();
        let (objective, scores) = brute_force(&kernel, &x, &labels, lambda);
        let options = MapOptions::new(1000, 0);
        let map = PairMap::fit(&kernel, &documents, &[0, 6], &labels, &options, &control).unwrap();
        let psi = map.features(&documents, 0..6, &labels, &control).unwrap();
        let (rows, ones) = as_documents(psi, map.dim());
        let block = PairBlock::new(&rows, &ones, map.dim()).unwrap();
        let (w, report) = fit(map.dim(), vec![(&block, weight(1.0, 1, 6))], 2.0 * lambda, 1e-11);
        assert!(
            (report.objective / objective - 1.0).abs() < 1e-8,
            "{name}: {} {objective}",
            report.objective
        );
        let beta = map.coefficients(&w).unwrap();
        assert_close(
            &map.scores(&documents.select_rows(&[0, 1, 2, 3, 4, 5]), &beta, &control).unwrap(),
            &scores,
            1e-5,
            name,
        );
    }
}

#[test]
fn every_method_of_the_second_example() {
    let documents = documents("ex2_II_seed1_docs.csv");
    let results: Value = serde_json::from_str(&read("ex2_II_seed1_results.json")).unwrap();
    let control = Control::default();
    let training: Vec<Vec<f64>> = documents.values().flat_map(|(training, ..)| training.clone()).collect();
    let all = matrix(&training);

    let choice = KernelSpec::parse(&json!({"gaussian": {"gamma": "median"}})).unwrap();
    let kernel = choice.fit(&all, 0, &control).unwrap();
    let sigma2 = results["sigma2"].as_f64().unwrap();
    assert!((1.0 / kernel.parameters[0] - sigma2).abs() < 1e-12, "{:?}", kernel.parameters);

    let map = FeatureMap::fit(&kernel, &all, &MapOptions::new(1000, 0), &control).unwrap();
    let phi = |rows: &[Vec<f64>]| map.features(&matrix(rows), 0..rows.len(), &control).unwrap();
    let blocks: BTreeMap<u64, PairBlock> = documents
        .iter()
        .filter(|(_, (training, ..))| !training.is_empty())
        .map(|(id, (training, labels, _))| {
            (*id, PairBlock::new(&phi(training), labels, map.dim()).unwrap().with_moment())
        })
        .collect();
    let mut checked = 0;
    for (method, result) in results["results"].as_object().unwrap() {
        for case in result["objectives"].as_array().unwrap() {
            let target = case["target"].as_u64().unwrap();
            let chosen = chosen(&blocks, method, case);
            let (w, report) = fit(map.dim(), chosen, case["lambda"].as_f64().unwrap(), 1e-9);
            let what = format!("{method}, target {target}");
            assert_eq!(report.stop, Stop::Converged, "{what}");
            let objective = case["objective"].as_f64().unwrap();
            assert!((report.objective / objective - 1.0).abs() < 1e-6, "{what}: {}", report.objective);
            let first = matrix(&documents[&target].2);
            let beta = map.coefficients(&w).unwrap();
            let scores = map.basis.scores(&first, 0..first.rows(), &beta, &control).unwrap();
            assert_close(&scores, &numbers(&case["scores_first5_docs"]), 1e-4, &what);
            checked += 1;
        }
    }
    assert!(checked >= 14, "{checked} cases");
}
