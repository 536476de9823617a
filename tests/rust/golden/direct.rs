//! Assignment and direct optimization against the golden vectors of `tests/rust/golden/listwise`.
//!
//! Each file's `about` has the definitions and normalization.

use super::direct_options::direct;
use super::support::{assert_close, numbers, read_listwise, rows};
use serde_json::Value;
use sqlite_ltr::internals::cost::loss::list::{Bound, Direct, DirectQuery};
use sqlite_ltr::internals::math::assignment::{Ranking, Workspace, maximize};
use sqlite_ltr::internals::math::order::descending;

fn cases(file: &str) -> Vec<Value> {
    let all: Value = read_listwise(file);
    all["cases"].as_array().unwrap().clone()
}

/// Equal but for `tolerance`, relative to the larger of 1 and the number.
fn assert_relative(found: f64, expected: &Value, tolerance: f64, what: &str) {
    let expected = expected.as_f64().unwrap();
    assert_close(&[found], &[expected], tolerance * expected.abs().max(1.0), what);
}

fn solution(workspace: &Workspace) -> Vec<f64> {
    workspace.chosen().iter().map(|&column| f64::from(column)).collect()
}

/// The matrix of a case, E[p][j] = c[p] s[j] - a[p] b[j] where it is given by its factors.
fn matrix(case: &Value) -> Vec<f64> {
    if case["matrix"].is_array() {
        return rows(&case["matrix"]).concat();
    }
    let [a, b, c, s] = ["a", "b", "c", "s"].map(|key| numbers(&case[key]));
    let row = |(a, c): (&f64, &f64)| -> Vec<f64> { s.iter().zip(&b).map(|(s, b)| c * s - a * b).collect() };
    a.iter().zip(&c).flat_map(row).collect()
}

#[test]
fn assignments() {
    let mut workspace = Workspace::default();
    for case in cases("lap.json") {
        let [k, l] = ["k", "l"].map(|key| case[key].as_u64().unwrap() as usize);
        let what = format!("{} {k} x {l}", case["kind"]);
        let unique = case["unique"].as_bool().unwrap();
        let found = maximize(&matrix(&case), k, l, &mut workspace);
        assert_relative(found, &case["maximum"], 1e-12, &what);
        if unique {
            assert_close(&solution(&workspace), &numbers(&case["document_at_position"]), 0.0, &what);
        }
        if case["a"].is_array() {
            let [a, b, c, s] = ["a", "b", "c", "s"].map(|key| numbers(&case[key]));
            let found = Ranking::new(&a, &b, &c).maximize(&s, &mut workspace);
            assert_relative(found, &case["maximum"], 1e-12, &what);
            if unique {
                assert_close(&solution(&workspace), &numbers(&case["document_at_position"]), 0.0, &what);
            }
        }
    }
}

/// The position of every document of an order.
fn ranks(order: &[u32]) -> Vec<f64> {
    let mut ranks = vec![0.0; order.len()];
    for (position, &document) in order.iter().enumerate() {
        ranks[document as usize] = position as f64;
    }
    ranks
}

#[test]
fn weights_references_and_bounds() {
    let cases = cases("dorm_loss.json");
    assert_eq!(cases.len(), 144);
    for case in &cases {
        let what = format!("{} {} {}", case["measure"], case["c_kind"], case["y"]);
        let (labels, scores) = (numbers(&case["y"]), numbers(&case["s"]));
        let Direct { measure, decoder, .. } = direct(case, Bound::Convex, 1.0);
        let query = DirectQuery::new(&measure, &decoder, &labels);
        let weights = [&query.a, &query.b, &query.c];
        for (found, key) in weights.into_iter().zip(["a", "b", "c"]) {
            assert_close(found, &numbers(&case[key]), 1e-12, &what);
        }
        let ideal = query.ideal_order();
        assert_close(&ranks(&ideal), &numbers(&case["reference_rank"]), 0.0, &what);
        assert_relative(query.best, &case["best_metric"], 1e-10, &what);
        let order: Vec<u32> = descending(&scores).into_iter().map(|document| document as u32).collect();
        let regret = query.best - query.metric(&order);
        assert_relative(regret, &case["regret_of_sorted_scores"], 1e-10, &what);
        let check = |(value, gradient): (f64, Vec<f64>), key: &str| {
            assert_relative(value, &case[key], 1e-10, &what);
            assert_close(&gradient, &numbers(&case[format!("{key}_grad_s")]), 1e-10, &what);
        };
        let mut gradient = vec![0.0; labels.len()];
        let mut bound =
            |reference: &[u32]| (query.bound(&scores, reference, &mut gradient), gradient.clone());
        let convex = bound(&ideal);
        let score: f64 = ideal.iter().zip(&query.c).map(|(document, c)| c * scores[*document as usize]).sum();
        let augmented = convex.0 + score - query.best;
        assert_relative(augmented, &case["augmented_value"], 1e-10, &what);
        check(convex, "convex");
        let mut consistent = Vec::new();
        query.score_consistent_order(&scores, &mut consistent);
        check(bound(&consistent), "score_consistent");
        let mut own = Vec::new();
        query.order(&scores, &mut own);
        check(bound(&own), "nonconvex");
    }
}
