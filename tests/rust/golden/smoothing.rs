//! Smoothing over queries against an independent implementation (`tests/rust/golden/qsvm`): weights, and the errors that
//! every method makes with them on the first example of Dai & Wang (2019).

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;
use sqlite_ltr::internals::base::control::Control;
use sqlite_ltr::internals::learn::smoothing::{Bandwidth, Smoothing, SmoothingKind, Target};
use sqlite_ltr::internals::learn::solve::{PairBlock, PairProblem, SolveOptions, solve};
use sqlite_ltr::internals::math::dense::distance;
use sqlite_ltr::metric::{Metric, MetricOptions, Ties};

fn read(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/rust/golden/qsvm").join(name);
    std::fs::read_to_string(path).unwrap()
}

fn json(name: &str) -> Value {
    serde_json::from_str(&read(name)).unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
}

fn smoothing(kind: SmoothingKind, neighbors: usize) -> Smoothing {
    Smoothing::new(kind, neighbors, Bandwidth::Median)
}

/// The files take the bandwidth over all queries, also those that cannot lend.
#[test]
fn weights_and_bandwidths_match_the_file() {
    for case in json("weights.json")["cases"].as_array().unwrap() {
        let features: Vec<Vec<f64>> = case["q"].as_array().unwrap().iter().map(numbers).collect();
        let observed = case["observed"].as_array().unwrap();
        let index = |key: &str| usize::try_from(case[key].as_u64().unwrap()).unwrap();
        let target = &features[index("target")];
        let distances: Vec<f64> = features.iter().map(|q| distance(q, target)).collect();
        for (found, expected) in distances.iter().zip(numbers(&case["distances"])) {
            assert!((found - expected).abs() <= 1e-12, "{}: distance {found}, {expected}", case["name"]);
        }
        let candidates: Vec<Option<f64>> =
            distances.iter().zip(observed).map(|(d, seen)| seen.as_bool().unwrap().then_some(*d)).collect();
        for (kind, key) in [
            (SmoothingKind::Gaussian, "pi_gauss"),
            (SmoothingKind::Knn, "pi_knn"),
            (SmoothingKind::Epanechnikov, "pi_epanechnikov"),
            (SmoothingKind::Tricube, "pi_tricube"),
        ] {
            let smoothing = smoothing(kind, index("k"));
            let h = smoothing.bandwidth(&distances, target.len());
            assert!((h - case["h"].as_f64().unwrap()).abs() <= 1e-12, "{}: bandwidth {h}", case["name"]);
            let mut actual = vec![0.0; features.len()];
            for (query, weight) in smoothing.weights(&candidates, h, Target::Novel) {
                actual[query] = weight;
            }
            for (actual, expected) in actual.iter().zip(numbers(&case[key])) {
                assert!((actual - expected).abs() <= 1e-12, "{}, {key}: {actual}, {expected}", case["name"]);
            }
        }
    }
}

#[derive(Default)]
struct Query {
    features: Vec<f64>,
    train: (Vec<f64>, Vec<f64>),
    test: (Vec<Vec<f64>>, Vec<f64>),
}

fn example() -> Vec<Query> {
    let mut queries: BTreeMap<u32, Query> = BTreeMap::new();
    let cells = |line: &str, from: usize| -> Vec<f64> {
        line.split(',').skip(from).map(|cell| cell.parse().unwrap()).collect()
    };
    let id = |line: &str| line.split(',').next().unwrap().parse::<u32>().unwrap();
    for line in read("ex1_III_seed1_queries.csv").lines().skip(1) {
        queries.entry(id(line)).or_default().features = cells(line, 2);
    }
    for line in read("ex1_III_seed1_docs.csv").lines().skip(1) {
        let query = queries.get_mut(&id(line)).unwrap();
        let label = line.split(',').nth(3).unwrap().parse().unwrap();
        match line.split(',').nth(1).unwrap() {
            "train" => {
                query.train.0.extend(cells(line, 4));
                query.train.1.push(label);
            }
            "test" => {
                query.test.0.push(cells(line, 4));
                query.test.1.push(label);
            }
            _ => {}
        }
    }
    queries.into_values().collect()
}

/// Queries that count for the target, with their weights.
fn lenders(queries: &[Query], target: usize, method: &str) -> Vec<(usize, f64)> {
    let observed = |query: &usize| !queries[*query].train.1.is_empty();
    match method {
        "rank" => (0..queries.len()).filter(observed).map(|query| (query, 1.0)).collect(),
        "indv" => vec![(target, 1.0)],
        _ => {
            let kind = if method == "knn" { SmoothingKind::Knn } else { SmoothingKind::Gaussian };
            let features = &queries[target].features;
            let distances: Vec<f64> = queries.iter().map(|q| distance(&q.features, features)).collect();
            let candidates: Vec<Option<f64>> =
                (0..queries.len()).map(|query| observed(&query).then_some(distances[query])).collect();
            let smoothing = smoothing(kind, 15);
            smoothing.weights(&candidates, smoothing.bandwidth(&distances, features.len()), Target::Novel)
        }
    }
}

#[test]
fn every_method_has_the_errors_of_the_file_with_the_global_lambda() {
    let queries = example();
    let blocks: Vec<PairBlock> =
        queries.iter().map(|query| PairBlock::new(&query.train.0, &query.train.1, 40).unwrap()).collect();
    let options = MetricOptions { ties: Ties::Input, ..MetricOptions::default() };
    let mre = Metric::parse("mre").unwrap().with_options(options).unwrap();
    for (method, result) in json("ex1_III_seed1_results.json")["results"].as_object().unwrap() {
        let lambda = result["lambda_global"].as_f64().unwrap();
        let individual = method == "indv";
        let part = if individual { "observed" } else { "overall" };
        let (mut sum, mut count) = (0.0, 0.0);
        for (target, query) in queries.iter().enumerate() {
            if individual && query.train.1.is_empty() {
                continue;
            }
            let n = if individual { 1.0 } else { 40.0 };
            let weighted = lenders(&queries, target, method).into_iter().map(|(query, pi)| {
                let documents = blocks[query].n_docs() as f64;
                (&blocks[query], 2.0 * pi / (n * documents * (documents - 1.0)))
            });
            let problem = PairProblem::new(40, weighted.collect(), lambda).unwrap();
            let w = solve(&problem, &SolveOptions::new(1e-6), &Control::default()).unwrap().w;
            let score = |x: &Vec<f64>| x.iter().zip(&w).map(|(x, w)| x * w).sum::<f64>();
            let scores: Vec<f64> = query.test.0.iter().map(score).collect();
            sum += mre.value(&query.test.1, &scores).unwrap();
            count += 1.0;
        }
        let (ours, theirs) = (sum / count, result["global_lambda"][part]["mre_query_mean"].as_f64().unwrap());
        assert!((ours - theirs).abs() <= 0.004, "{method}: {ours}, file {theirs}");
    }
}
