//! `eigen_rank` against theorem 7 of Xu, Fang & Wang (2014) with eigenvectors by Jacobi rotations.

use serde_json::{Value, json};

use super::sample::{Query, dataset, judged};
use super::{dot, log, trained};

/// A and b of least squares on pairs, 1 / 2 w'A w - b'w + square / 2: the means over queries of
/// 1 / (N - 1) sum_j (x_j - mean x) (x_j - mean x)' and of 1 / (N - 1) sum_j (x_j - mean x) (y_j - mean y).
struct Sums {
    a: Vec<Vec<f64>>,
    b: Vec<f64>,
    square: f64,
}

impl Sums {
    fn of(queries: &[Query]) -> Self {
        let dim = queries[0].documents[0].len();
        let mut sums = Self { a: vec![vec![0.0; dim]; dim], b: vec![0.0; dim], square: 0.0 };
        for query in queries {
            let n = query.grades.len() as f64;
            let weight = 1.0 / ((n - 1.0) * queries.len() as f64);
            let mean = |value: &dyn Fn(usize) -> f64| (0..query.grades.len()).map(value).sum::<f64>() / n;
            let means: Vec<f64> = (0..dim).map(|i| mean(&|j| query.documents[j][i])).collect();
            let grade = mean(&|j| query.grades[j]);
            for (x, y) in query.documents.iter().zip(&query.grades) {
                let x: Vec<f64> = x.iter().zip(&means).map(|(x, mean)| x - mean).collect();
                for i in 0..dim {
                    (0..dim).for_each(|l| sums.a[i][l] += weight * x[i] * x[l]);
                    sums.b[i] += weight * x[i] * (y - grade);
                }
                sums.square += weight * (y - grade) * (y - grade);
            }
        }
        sums
    }
}

/// Eigenvalues, the largest first, and eigenvectors of a symmetric matrix, by rotations of two axes at a time.
fn jacobi(mut a: Vec<Vec<f64>>) -> Vec<(f64, Vec<f64>)> {
    let n = a.len();
    let mut vectors: Vec<Vec<f64>> =
        (0..n).map(|i| (0..n).map(|j| f64::from(u8::from(i == j))).collect()).collect();
    for _ in 0..50 {
        for p in 0..n {
            for q in p + 1..n {
                let angle = 0.5 * (2.0 * a[p][q]).atan2(a[q][q] - a[p][p]);
                let (s, c) = angle.sin_cos();
                let turn = |x: f64, y: f64| (c * x - s * y, s * x + c * y);
                for row in &mut a {
                    (row[p], row[q]) = turn(row[p], row[q]);
                }
                for k in 0..n {
                    (a[p][k], a[q][k]) = turn(a[p][k], a[q][k]);
                    (vectors[p][k], vectors[q][k]) = turn(vectors[p][k], vectors[q][k]);
                }
            }
        }
    }
    let mut pairs: Vec<(f64, Vec<f64>)> = (0..n).map(|i| (a[i][i], vectors[i].clone())).collect();
    pairs.sort_by(|x, y| y.0.total_cmp(&x.0));
    pairs
}

/// Checks a model with this number of eigenfunctions; returns its report.
fn check(queries: &[Query], options: &Value, kept: usize) -> Value {
    let model = trained("eigen_rank", options, &dataset(queries));
    let report = model.info().training["eigenfunctions"].clone();
    let listed = |key: &str| -> Vec<f64> { serde_json::from_value(report[key].clone()).unwrap() };
    let (values, coefficients) = (listed("eigenvalues"), listed("coefficients"));
    assert_eq!((values.len(), coefficients.len(), &report["kept"]), (kept, kept, &json!(kept)), "{options}");

    let sums = Sums::of(queries);
    let mut w = vec![0.0; sums.b.len()];
    let mut objective = 0.5 * sums.square;
    for (i, (value, u)) in jacobi(sums.a).into_iter().take(kept).enumerate() {
        let projection = dot(&u, &sums.b);
        let coefficient = projection / value;
        objective -= 0.5 * coefficient * projection;
        u.iter().zip(&mut w).for_each(|(u, w)| *w += coefficient * u);
        assert!((values[i] - value).abs() <= 1e-10 * value, "{options}: {} {value}", values[i]);
        // The sign of an eigenvector is open.
        let error = coefficients[i].abs() - coefficient.abs();
        assert!(error.abs() <= 1e-8 * coefficient.abs(), "{options}: {} {coefficient}", coefficients[i]);
    }
    super::assert_agreement(log(&model).last().unwrap().0, objective, &options.to_string());
    for (weight, w) in model.weights(None).unwrap().iter().zip(&w) {
        assert!((weight.weight - w).abs() <= 1e-8 * w.abs().max(1.0), "{options}: {weight:?} {w}");
    }
    model.info().training
}

#[test]
fn kept_eigenfunctions_are_reported() {
    let queries = judged();
    for components in 1..=4 {
        let report = check(&queries, &json!({ "components": components }), components);
        assert_eq!(report["components"], components);
    }
    let values: Vec<f64> = jacobi(Sums::of(&queries).a).into_iter().map(|(value, _)| value).collect();
    let middle = 0.5 * (values[1] + values[2]);
    check(&queries, &json!({ "lambda": middle }), 2);
    check(&queries, &json!({ "lambda": 1e-9 }), 4);
}

#[test]
fn fewer_eigenfunctions_than_asked_for_are_a_warning() {
    let mut queries = judged();
    for x in queries.iter_mut().flat_map(|query| &mut query.documents) {
        x[3] = x[0] - x[1];
    }
    let report = check(&queries, &json!({ "components": 99 }), 3);
    assert_eq!(report["components"], 3);
    let warnings = |components: usize| -> Vec<String> {
        let model = trained("eigen_rank", &json!({ "components": components }), &dataset(&queries));
        let all = model.warnings().iter().cloned();
        all.filter(|warning| !warning.contains("does not use the query features")).collect()
    };
    let expected = "option 'components': 99 eigenfunctions are more than the 3 with an eigenvalue above 0; these are used";
    assert_eq!(warnings(99), [expected]);
    assert!(warnings(3).is_empty());
    // Functions of single queries keep different numbers; the report has the fewest and the most.
    let near = json!({ "components": 2, "smoothing": "knn", "neighbors": 3 });
    let report = trained("eigen_rank", &near, &dataset(&queries)).info().training;
    assert_eq!(report["eigenfunctions"], json!({ "fewest": 2, "most": 2 }));
}
