//! Every value of the golden files of the metrics, each with the options that give it.

use serde_json::Value;
use sqlite_ltr::metric::{Metric, MetricOptions, Ties, Undefined};

const TOLERANCE: f64 = 1e-12;

fn numbers(value: &Value) -> Vec<f64> {
    let list = value.as_array().expect("an array");
    list.iter().map(|number| number.as_f64().expect("a number")).collect()
}

fn value(name: &str, options: &MetricOptions, relevance: &[f64], scores: &[f64]) -> Option<f64> {
    let metric = Metric::parse(name).and_then(|metric| metric.with_options(options.clone()));
    metric.expect("a valid metric").value(relevance, scores)
}

fn check(found: Option<f64>, golden: &Value, what: &str) {
    match (found, golden.as_f64()) {
        (Some(found), Some(golden)) => {
            assert!(
                (found - golden).abs() <= TOLERANCE * golden.abs().max(1.0),
                "{what}: {found}, golden {golden}"
            );
        }
        (found, golden) => assert_eq!(found, golden, "{what}"),
    }
}

#[test]
fn lists_of_the_query_dependent_svm() {
    let golden: Value = serde_json::from_str(include_str!("qsvm/metrics.json")).unwrap();
    for list in golden["lists"].as_array().unwrap() {
        let (relevance, scores) = (numbers(&list["y"]), numbers(&list["scores"]));
        let of = |name: &str, options: &MetricOptions| value(name, options, &relevance, &scores);
        let input = MetricOptions {
            ties: Ties::Input,
            max_grade: list["max_y"].as_f64(),
            ..MetricOptions::default()
        };
        let expected = MetricOptions::default();
        check(of("mre", &input), &list["mre"], "mre with ties in input order");
        check(of("mre", &expected), &list["mre_halfties"], "mre with expected ties");
        check(of("mre_pooled", &expected), &list["mre_halfties"], "mre_pooled is mre for one query");
        check(of("err", &input), &list["err"], "err");
        check(of("ndcg@10", &input), &list["ndcg10"], "ndcg@10");
        check(of("mre", &input).map(|mre| mre * pairs(&relevance)), &misranked(list), "misranked pairs");
    }
}

fn pairs(relevance: &[f64]) -> f64 {
    let n = relevance.len() as f64;
    n * (n - 1.0) / 2.0
}

/// The golden count of misranked pairs; `None` without pairs.
fn misranked(list: &Value) -> Value {
    if list["n_pairs"] == 0 { Value::Null } else { list["misranked_pairs"].clone() }
}

#[test]
fn tau_and_the_untied_error_have_the_same_divisor() {
    // Without ties in the scores tau-b and the error over untied grades hold each other's pairs:
    // C - D = N_untied (1 - 2 mre_untied), tau_b = (C - D) / sqrt(N N_untied).
    let golden: Value = serde_json::from_str(include_str!("qsvm/metrics.json")).unwrap();
    for list in golden["lists"].as_array().unwrap() {
        let (relevance, scores) = (numbers(&list["y"]), numbers(&list["scores"]));
        if has_ties(&scores) {
            continue;
        }
        let tau = value("kendall_tau", &MetricOptions::default(), &relevance, &scores);
        let untied_error = list["mre_untied_denominator"].as_f64();
        let tau_by_error = untied_error.map(|error| {
            let untied = if error > 0.0 {
                list["misranked_pairs"].as_f64().unwrap() / error
            } else {
                pairs(&relevance)
            };
            untied * (1.0 - 2.0 * error) / (pairs(&relevance) * untied).sqrt()
        });
        check(tau, &tau_by_error.map_or(Value::Null, Value::from), "tau-b");
    }
}

fn has_ties(scores: &[f64]) -> bool {
    let mut sorted = scores.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.windows(2).any(|pair| pair[0] >= pair[1])
}

#[test]
fn lists_of_the_listwise_methods() {
    let golden: Value = serde_json::from_str(include_str!("listwise/metrics.json")).unwrap();
    let rules = [("stable", Ties::Input), ("pessimistic", Ties::Worst), ("optimistic", Ties::Best)];
    for case in golden["cases"].as_array().unwrap() {
        let (relevance, scores) = (numbers(&case["y"]), numbers(&case["s"]));
        for (rule, ties) in rules {
            let options = MetricOptions { ties, max_grade: Some(4.0), ..MetricOptions::default() };
            let of = |name: &str, undefined: Undefined| {
                undefined.resolve(value(name, &options, &relevance, &scores))
            };
            let list = &case[rule];
            check(of("dcg", Undefined::Skip), &list["dcg"], "dcg");
            check(of("ndcg", Undefined::One), &list["ndcg"], "ndcg, undefined counts 1");
            check(of("ndcg@3", Undefined::One), &list["ndcg_at_3"], "ndcg@3, undefined counts 1");
            check(of("map", Undefined::One), &list["ap"], "map, undefined counts 1");
            check(of("precision@2", Undefined::Zero), &list["prec_at_2"], "precision@2, undefined counts 0");
            check(of("mrr", Undefined::Zero), &list["rr"], "mrr, undefined counts 0");
            check(of("err", Undefined::Skip), &list["err"], "err");
            check(of("err@3", Undefined::Skip), &list["err_at_3"], "err@3");
        }
    }
}
