//! Algorithm 1 and its surrogate against the golden vectors of an independent implementation.

use super::support::{assert_close, numbers, read_listwise, rows};
use ndarray::Array2;
use serde_json::Value;
use sqlite_ltr::internals::base::control::Control;
use sqlite_ltr::internals::cost::loss::list::{Active, LabelTies};
use sqlite_ltr::internals::data::{Documents, Matrix};
use sqlite_ltr::internals::learn::kernel::Kernel;
use sqlite_ltr::internals::model::{OnlineRules, OnlineState};
use sqlite_ltr::internals::train::perceptron::Perceptron;
use sqlite_ltr::metric::Ties;

fn rules(measure: &str, eta: f64, active: Active, label_ties: LabelTies) -> OnlineRules {
    OnlineRules {
        measure: measure.to_owned(),
        learning_rate: eta,
        update_on: active,
        label_ties,
        average: true,
        budget: None,
    }
}

fn measure_of(name: &str, k: &Value) -> String {
    k.as_u64().map_or_else(|| name.to_owned(), |k| format!("{}@{k}", name.trim_end_matches("@k")))
}

/// The rules and the order of equal scores of a named run.
fn run_of(name: &str, measure: &str) -> (OnlineRules, Ties) {
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

/// The weights of features of a sum of linear kernels.
fn in_features(state: &OnlineState) -> Vec<f64> {
    let points = &state.support.as_ref().unwrap().points;
    let mut sum = vec![0.0; points.dim];
    for (document, weight) in state.weights.iter().enumerate() {
        sum.iter_mut().zip(points.row(document)).for_each(|(sum, value)| *sum += weight * value);
    }
    sum
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
            let width = expected[0].len();
            // The same with the documents as support documents of a linear kernel.
            let mut dual = Perceptron::new(
                OnlineRules { budget: Some(1000), ..rules.clone() },
                OnlineState::with_kernel(Kernel::new("linear", vec![]).unwrap(), width),
                ties,
            )
            .unwrap();
            let mut perceptron = Perceptron::new(rules, OnlineState::new(width), ties).unwrap();
            let mut mean = vec![0.0; expected[0].len()];
            for (t, (x, y)) in queries.iter().enumerate() {
                assert_close(&perceptron.progress.weights, &expected[t], 1e-10, &what);
                let documents = Documents { features: x, start: 0, end: y.len() };
                let round = perceptron.round(&documents, y, &Control::default()).unwrap();
                let other = dual.round(&documents, y, &Control::default()).unwrap();
                assert_eq!(
                    (other.updated, &other.counted),
                    (round.updated, &round.counted),
                    "{what}, round {t}"
                );
                assert_close(&[other.loss, other.surrogate], &[round.loss, round.surrogate], 1e-9, &what);
                assert_close(&in_features(&dual.progress), &expected[t + 1], 1e-9, &what);
                let reference = [&run["rml"][t], &run["f"][t]].map(|number| number.as_f64().unwrap());
                assert_close(&[round.loss, round.surrogate], &reference, 1e-10, &what);
                assert_eq!(round.updated, run["updated"][t].as_bool().unwrap(), "{what}, round {t}");
                assert_eq!(round.counted.is_empty(), !round.updated, "{what}, round {t}");
                for (mean, w) in mean.iter_mut().zip(&expected[t + 1]) {
                    *mean += w / queries.len() as f64;
                }
            }
            let progress = &perceptron.progress;
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
