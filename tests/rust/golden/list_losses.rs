//! Listwise losses against an independent implementation (`tests/rust/golden/listwise`): values, gradients, Hessians and
//! weights. Numbers are equal to 1e-10 relative to the largest of their kind, those through a kernel to 1e-9.

use super::support::{list_loss, numbers, read_listwise, rows};
use serde_json::{Value, json};
use sqlite_ltr::internals::cost::loss::QueryLoss;
use sqlite_ltr::internals::cost::loss::list::cs_list_mle::{Costs, Scheme};
use sqlite_ltr::internals::cost::loss::list::{Bounded, LabelTies, Slam, SlamWeights};
use sqlite_ltr::internals::math::dense::{distance, dot};

const TOLERANCE: f64 = 1e-10;

fn cases(file: &str) -> Vec<Value> {
    read_listwise(file)["cases"].as_array().unwrap().clone()
}

/// The loss of a query with these options.
fn prepare(name: &str, options: &Value, labels: &[f64]) -> Box<dyn QueryLoss> {
    list_loss(name, options).prepare(labels, &[])
}

fn evaluate(loss: &dyn QueryLoss, scores: &[f64]) -> (f64, Vec<f64>) {
    let mut gradient = vec![f64::NAN; scores.len()];
    (loss.value_and_subgradient(scores, &mut gradient), gradient)
}

fn hessian_times(loss: &dyn QueryLoss, scores: &[f64], direction: &[f64]) -> Vec<f64> {
    let mut product = vec![f64::NAN; scores.len()];
    assert!(loss.hessian_times(scores, direction, &mut product));
    product
}

/// Equal but for `tolerance` times the largest expected number, or times 1.
fn assert_near(found: &[f64], expected: &[f64], tolerance: f64, what: &str) {
    let largest = expected.iter().fold(1.0, |largest: f64, x| largest.max(x.abs()));
    super::support::assert_close(found, expected, tolerance * largest, what);
}

fn assert_is(loss: &dyn QueryLoss, scores: &[f64], value: &Value, gradient: &Value, what: &str) {
    let (found, g) = evaluate(loss, scores);
    assert_near(&[found], &[value.as_f64().unwrap()], TOLERANCE, what);
    assert_near(&g, &numbers(gradient), TOLERANCE, what);
}

#[test]
fn slam_matches_the_file() {
    for case in cases("slam_loss.json") {
        let (labels, scores) = (numbers(&case["y"]), numbers(&case["s"]));
        for (name, expected) in case["measures"].as_object().unwrap() {
            let (measure, ties) = name.split_once('|').unwrap();
            let measure = expected["k"].as_u64().map_or(measure.to_owned(), |k| format!("ndcg@{k}"));
            let options = |margin: f64| json!({ "measure": measure, "label_ties": ties, "margin": margin });
            let loss = prepare("slam", &options(1.0), &labels);
            assert_is(&*loss, &scores, &expected["loss"], &expected["grad_s"], name);
            let (half, _) = evaluate(&*prepare("slam", &options(0.5), &labels), &scores);
            assert_near(&[half], &[expected["loss_margin_0_5"].as_f64().unwrap()], TOLERANCE, name);
            let (value, _) = evaluate(&*loss, &scores);
            assert!(value >= expected["rml_pessimistic"].as_f64().unwrap() - 1e-12, "{name}");
            let k = expected["k"].as_u64().map(|k| k as usize);
            let bounded = if measure == "map" { Bounded::Map } else { Bounded::Ndcg(k) };
            let ties = if ties == "average" { LabelTies::Average } else { LabelTies::Stable };
            let query = Slam { weights: SlamWeights::Measure(bounded), margin: 1.0, ties }.of(&labels);
            assert_near(query.weights(), &numbers(&expected["v"]), TOLERANCE, name);
        }
    }
}

#[test]
fn list_net_and_list_mle_match_the_file() {
    for case in cases("listmle.json") {
        let (labels, scores) = (numbers(&case["y"]), numbers(&case["s"]));
        let stable = json!({ "label_order": "stable" });
        for (name, key, options) in [("list_net", "listnet", json!({})), ("list_mle", "listmle", stable)] {
            let loss = prepare(name, &options, &labels);
            assert_is(&*loss, &scores, &case[key], &case[format!("{key}_grad_s")], name);
        }
    }
}

fn scheme(name: &str) -> Scheme {
    match name {
        "swap" => Scheme::Swap,
        "unit" => Scheme::Unit,
        _ => Scheme::Rank,
    }
}

fn cs_options(scheme: &str, k: Option<u64>) -> Value {
    let by_order = |k| json!({ "cost_weights": scheme, "truncation": k, "label_ties": "stable" });
    k.map_or(json!({ "cost_weights": scheme }), by_order)
}

#[test]
fn cs_list_mle_matches_the_file() {
    for case in cases("listmle.json") {
        let (labels, scores) = (numbers(&case["y"]), numbers(&case["s"]));
        for (name, expected) in case["cs"].as_object().unwrap() {
            let (kind, k) = name.split_once("|k=").unwrap();
            let k = k.parse().ok();
            let loss = prepare("cs_list_mle", &cs_options(kind, k), &labels);
            assert_is(&*loss, &scores, &expected["loss"], &expected["grad_s"], name);
            if expected.get("hess_s").is_none() {
                continue;
            }
            for (i, row) in rows(&expected["hess_s"]).iter().enumerate() {
                let unit: Vec<f64> = (0..labels.len()).map(|j| f64::from(i == j)).collect();
                assert_near(&hessian_times(&*loss, &scores, &unit), row, TOLERANCE, name);
            }
            let costs = Costs::of(&scheme(kind), k.map(|k| k as usize), LabelTies::Stable, &labels);
            let ideal = expected["dcg_ideal"].as_f64().unwrap();
            let beta: Vec<f64> = costs.beta.iter().map(|beta| beta * ideal).collect();
            assert_near(&beta, &numbers(&expected["beta_ideal_order"]), TOLERANCE, name);
            for (j, row) in rows(&expected["alpha_ideal_order"]).iter().enumerate() {
                for (t, expected) in row.iter().enumerate().skip(costs.lower[j]) {
                    assert_near(&[costs.alpha(j, t)], &[*expected], TOLERANCE, name);
                }
            }
        }
    }
}

#[test]
fn smooth_grad_matches_the_file() {
    for case in cases("smoothgrad.json") {
        let (labels, scores) = (numbers(&case["y"]), numbers(&case["s"]));
        let measure = match (case["measure"].as_str().unwrap(), case["k"].as_u64()) {
            ("prec@k", Some(k)) => format!("precision@{k}"),
            (_, Some(k)) => format!("ndcg@{k}"),
            (name, None) => name.to_owned(),
        };
        let loss = prepare("smooth_grad", &json!({ "measure": measure }), &labels);
        let smoothed = loss.smoothed(case["sigma"].as_f64().unwrap()).unwrap();
        // The file has the gain, which is largest for the documents in label order.
        let (missed, _) = evaluate(&*loss, &labels);
        assert_near(&[missed], &[0.0], TOLERANCE, &measure);
        let (a, mut b) = (numbers(&case["a"]), numbers(&case["b"]));
        b.sort_by(|x, y| y.total_cmp(x));
        let best: f64 = a.iter().zip(b).map(|(a, b)| a * b).sum();
        let (value, gradient) = evaluate(&*smoothed, &scores);
        assert_near(&[best - value], &[case["value"].as_f64().unwrap()], TOLERANCE, &measure);
        let gain: Vec<f64> = gradient.iter().map(|g| -g).collect();
        assert_near(&gain, &numbers(&case["grad_s"]), TOLERANCE, &measure);
    }
}

/// The distance as the file has it, by |x|^2 + |z|^2 - 2 x'z with a fused x'z: it is up to 1e-8 off, also between equal
/// points, and the numbers of the kernel "laplace" with it.
fn apart_in_the_file(x: &[f64], z: &[f64]) -> f64 {
    let square = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>();
    let product = x.iter().zip(z).fold(0.0, |sum: f64, (x, z)| x.mul_add(*z, sum));
    (square(x) + square(z) - 2.0 * product).max(0.0).sqrt()
}

/// The kernels of the file; `linear` means scores x'theta.
fn kernel(name: &str, params: &Value, x: &[f64], z: &[f64]) -> f64 {
    let number = |key: &str| params[key].as_f64().unwrap();
    let apart = distance(x, z);
    match name {
        "poly" => (number("scale") * dot(x, z) + number("offset")).powf(number("degree")),
        "gauss" => (-apart * apart / (2.0 * number("sigma") * number("sigma"))).exp(),
        "laplace" => (-number("gamma") * apart_in_the_file(x, z)).exp(),
        "laplace_l1" => (-number("gamma") * x.iter().zip(z).map(|(x, z)| (x - z).abs()).sum::<f64>()).exp(),
        "laplace_as_printed" => (-number("gamma") * apart * apart).exp(),
        "tanh" => (number("scale") * dot(x, z) + number("offset")).tanh(),
        other => panic!("kernel {other}"),
    }
}

/// Scores f = K theta of one query: K (N, size of theta).
struct Mapped {
    rows: Vec<Vec<f64>>,
    loss: Box<dyn QueryLoss>,
}

impl Mapped {
    fn times(&self, theta: &[f64]) -> Vec<f64> {
        self.rows.iter().map(|row| dot(row, theta)).collect()
    }

    fn add_transposed_times(&self, values: &[f64], factor: f64, out: &mut [f64]) {
        for (row, value) in self.rows.iter().zip(values) {
            out.iter_mut().zip(row).for_each(|(out, k)| *out += factor * value * k);
        }
    }
}

#[test]
fn cs_list_mle_with_kernels_matches_the_file() {
    const TOLERANCE: f64 = 1e-9;
    let file = read_listwise("cs_listmle_kernel.json");
    let documents: Vec<Vec<Vec<f64>>> = file["X"].as_array().unwrap().iter().map(rows).collect();
    let all = documents.concat();
    for case in file["cases"].as_array().unwrap() {
        let name = case["kernel"].as_str().unwrap();
        let what = format!("{name}, {}, {}", case["scheme"], case["k"]);
        let (theta, options) =
            (numbers(&case["theta"]), cs_options(case["scheme"].as_str().unwrap(), case["k"].as_u64()));
        let features = |x: &Vec<f64>| match name {
            "linear" => x.clone(),
            _ => all.iter().map(|z| kernel(name, &case["params"], x, z)).collect(),
        };
        let queries: Vec<Mapped> = documents
            .iter()
            .zip(rows(&file["y"]))
            .map(|(documents, labels)| Mapped {
                rows: documents.iter().map(features).collect(),
                loss: prepare("cs_list_mle", &options, &labels),
            })
            .collect();
        if let Some(expected) = case.get("gram_first_rows") {
            for (found, expected) in queries[0].rows.iter().zip(rows(expected)) {
                assert_near(found, &expected, TOLERANCE, &what);
            }
        }
        let share = 1.0 / queries.len() as f64;
        let (mut value, mut gradient) = (0.0, vec![0.0; theta.len()]);
        for query in &queries {
            let (cost, g) = evaluate(&*query.loss, &query.times(&theta));
            value += share * cost;
            query.add_transposed_times(&g, share, &mut gradient);
        }
        assert_near(&[value], &[case["loss"].as_f64().unwrap()], TOLERANCE, &what);
        assert_near(&gradient, &numbers(&case["grad"]), TOLERANCE, &what);
        let columns: Vec<Vec<f64>> = (0..theta.len())
            .map(|column| {
                let unit: Vec<f64> = (0..theta.len()).map(|j| f64::from(column == j)).collect();
                let mut product = vec![0.0; theta.len()];
                for query in &queries {
                    let h = hessian_times(&*query.loss, &query.times(&theta), &query.times(&unit));
                    query.add_transposed_times(&h, share, &mut product);
                }
                product
            })
            .collect();
        let diagonal: Vec<f64> = columns.iter().enumerate().map(|(j, column)| column[j]).collect();
        assert_near(&diagonal, &numbers(&case["hess_diag"]), TOLERANCE, &what);
        if case["hess"].is_array() {
            for (found, expected) in columns.iter().zip(rows(&case["hess"])) {
                assert_near(found, &expected, TOLERANCE, &what);
            }
        }
    }
}
