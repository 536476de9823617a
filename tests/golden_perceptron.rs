//! Algorithm 1 and its surrogate against the golden vectors of an independent implementation.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

#[path = "common/golden.rs"]
mod golden;

use golden::{assert_close, numbers, read_listwise, rows};
use ndarray::Array2;
use serde_json::Value;
use sqlite_ltr::algorithm::perceptron::{Perceptron, grades, rivals, subgradient, weights};
use sqlite_ltr::data::{Documents, Matrix};
use sqlite_ltr::metric::{MetricOptions, Ties};
use sqlite_ltr::ranker::{Active, LabelTies, Progress, Rules};

fn rules(measure: &str, eta: f64, active: Active, label_ties: LabelTies) -> Rules {
    Rules { measure: measure.to_owned(), eta, active, label_ties, average: true }
}

fn measure_of(name: &str, k: &Value) -> String {
    k.as_u64().map_or_else(|| name.to_owned(), |k| format!("{}@{k}", name.trim_end_matches("@k")))
}

/// The rules and the order of equal scores of a named run.
fn run_of(name: &str, measure: &str) -> (Rules, Ties) {
    let (stable, average) = (LabelTies::Stable, LabelTies::Average);
    match name {
        "paper_eta1" => (rules(measure, 1.0, Active::Margin, stable), Ties::Worst),
        "paper_eta0.01" => (rules(measure, 0.01, Active::Margin, stable), Ties::Worst),
        "misorder_eta1" => (rules(measure, 1.0, Active::Misorder, stable), Ties::Worst),
        "paper_eta1_stable_ties" => (rules(measure, 1.0, Active::Margin, stable), Ties::Input),
        "paper_eta1_average_weights" => (rules(measure, 1.0, Active::Margin, average), Ties::Worst),
        other => panic!("an unknown run {other}"),
    }
}

fn matrix(rows: &[Vec<f64>]) -> Matrix {
    Matrix::F64(Array2::from_shape_vec((rows.len(), rows[0].len()), rows.concat()).unwrap())
}

#[test]
fn every_run_has_the_trajectory_of_the_reference() {
    let golden: Value = read_listwise("perceptron.json");
    let mut runs = 0;
    for case in golden["cases"].as_array().unwrap() {
        let measure = measure_of(case["measure"].as_str().unwrap(), &case["k"]);
        let queries: Vec<(Matrix, Vec<f64>)> = case["X"]
            .as_array()
            .unwrap()
            .iter()
            .zip(case["y"].as_array().unwrap())
            .map(|(x, y)| (matrix(&rows(x)), numbers(y)))
            .collect();
        for (name, run) in case["runs"].as_object().unwrap() {
            let what = format!("{measure}, {name}");
            let (rules, ties) = run_of(name, &measure);
            let expected = rows(&run["w"]);
            let mut perceptron = Perceptron::new(rules, Progress::new(expected[0].len()), ties).unwrap();
            let mut mean = vec![0.0; expected[0].len()];
            for (t, (x, y)) in queries.iter().enumerate() {
                assert_close(&perceptron.progress().weights, &expected[t], 1e-10, &what);
                let documents = Documents { features: x, start: 0, end: y.len() };
                let round = perceptron.round(&documents, y).unwrap();
                let reference = [&run["rml"][t], &run["f"][t]].map(|number| number.as_f64().unwrap());
                assert_close(&[round.loss, round.surrogate], &reference, 1e-10, &what);
                assert_eq!(round.updated, run["updated"][t].as_bool().unwrap(), "{what}, round {t}");
                assert_eq!(round.counted.is_empty(), !round.updated, "{what}, round {t}");
                for (mean, w) in mean.iter_mut().zip(&expected[t + 1]) {
                    *mean += w / queries.len() as f64;
                }
            }
            let progress = perceptron.progress();
            assert_close(&progress.weights, &expected[queries.len()], 1e-10, &what);
            assert_close(&progress.average(), &mean, 1e-10, &what);
            assert_eq!(progress.rounds, queries.len() as u64, "{what}");
            assert_eq!(Some(progress.updates), run["n_updates"].as_u64(), "{what}");
            let sums = [&run["cumulative_rml"], &run["cumulative_f"]].map(|sum| sum.as_f64().unwrap());
            assert_close(&[progress.cumulative_loss, progress.cumulative_surrogate], &sums, 1e-10, &what);
            runs += 1;
        }
    }
    assert_eq!(runs, 15);
}

/// The surrogate without a rule about documents that are in order, and its subgradient, at the margin 1.
#[test]
fn weights_loss_and_subgradient_are_those_of_the_reference() {
    let golden: Value = read_listwise("slam_loss.json");
    for case in golden["cases"].as_array().unwrap() {
        let (labels, scores) = (numbers(&case["y"]), numbers(&case["s"]));
        for (name, expected) in case["measures"].as_object().unwrap() {
            let (measure, ties) = name.split_once('|').unwrap();
            let ties = if ties == "average" { LabelTies::Average } else { LabelTies::Stable };
            let rules = rules(&measure_of(measure, &expected["k"]), 1.0, Active::Margin, ties);
            let metric = rules.metric().unwrap();
            let grades = grades(&metric, &labels);
            let v = weights(&metric, &grades, ties);
            let what = format!("{name}, {labels:?}");
            assert_close(&v, &numbers(&expected["v"]), 1e-12, &what);
            let mut slope = vec![0.0; scores.len()];
            let rivals = rivals(&grades, &scores);
            let value = subgradient(&v, &rivals, &scores, Active::Margin, &mut slope);
            assert_close(&[value], &[expected["loss"].as_f64().unwrap()], 1e-12, &what);
            assert_close(&slope, &numbers(&expected["grad_s"]), 1e-12, &what);
            let worst = MetricOptions { ties: Ties::Worst, ..MetricOptions::default() };
            let loss = 1.0 - metric.with_options(worst).unwrap().value(&labels, &scores).unwrap_or(1.0);
            assert_close(&[loss], &[expected["rml_pessimistic"].as_f64().unwrap()], 1e-12, &what);
            assert!(loss <= value + 1e-12, "{what}: {value} does not bound {loss}");
        }
    }
}
