//! Laws that every metric obeys, walked over the tables.

use proptest::prelude::*;

use super::{Better, METRICS, Metric, MetricOptions, SUBTOPIC_METRICS, SubtopicMetric, Subtopics, Ties};
use crate::is_long;

/// Orders of `n` documents, all of them.
fn permutations(n: usize) -> Vec<Vec<usize>> {
    if n == 0 {
        return vec![Vec::new()];
    }
    let shorter = permutations(n - 1);
    let longer = shorter.iter().flat_map(|order| {
        (0..n).map(move |position| {
            let mut order = order.clone();
            order.insert(position, n - 1);
            order
        })
    });
    longer.collect()
}

fn permuted<T: Clone>(items: &[T], order: &[usize]) -> Vec<T> {
    order.iter().map(|&index| items[index].clone()).collect()
}

fn close(a: Option<f64>, b: Option<f64>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => (a - b).abs() <= 1e-12 * (1.0 + b.abs()),
        (None, None) => true,
        _ => false,
    }
}

/// Every metric with every cutoff that matters for lists of up to 6 documents.
fn metrics(ties: Ties) -> Vec<Metric> {
    let cutoffs =
        |takes_cutoff: bool| if takes_cutoff { vec![None, Some(1), Some(2), Some(4)] } else { vec![None] };
    let all = METRICS.iter().flat_map(|&def| {
        let options = MetricOptions { ties, ..MetricOptions::default() };
        cutoffs(def.takes_cutoff)
            .into_iter()
            .map(move |cutoff| Metric::new(def, cutoff, options.clone()).expect("allowed cutoff"))
    });
    all.collect()
}

/// Mean of a value over all orders of the input.
fn mean_over_orders(n: usize, value: impl Fn(&[usize]) -> Option<f64>) -> Option<f64> {
    let orders = permutations(n);
    let values: Option<Vec<f64>> = orders.iter().map(|order| value(order)).collect();
    values.map(|values| values.iter().sum::<f64>() / values.len() as f64)
}

fn grades_and_scores() -> impl Strategy<Value = (Vec<f64>, Vec<f64>)> {
    (1_usize..=6).prop_flat_map(|n| {
        let grades = proptest::collection::vec((-1_i32..=4).prop_map(f64::from), n);
        let scores = proptest::collection::vec((0_i32..=2).prop_map(f64::from), n);
        (grades, scores)
    })
}

fn long_lists() -> impl Strategy<Value = (Vec<f64>, Vec<f64>)> {
    (1_usize..=60).prop_flat_map(|n| {
        let grades = proptest::collection::vec((0_i32..=8).prop_map(|y| 0.5 * f64::from(y)), n);
        let scores = proptest::collection::vec((0_i32..=12).prop_map(f64::from), n);
        (grades, scores)
    })
}

fn covered_topics() -> impl Strategy<Value = (Vec<Vec<u8>>, Vec<f64>)> {
    (1_usize..=5).prop_flat_map(|n| {
        let topics = proptest::collection::vec(proptest::collection::vec(0_u8..4, 0..4), n);
        let scores = proptest::collection::vec((0_i32..=2).prop_map(f64::from), n);
        (topics, scores)
    })
}

/// Documents that were not retrieved count in the ideal order alone.
#[test]
fn documents_that_were_not_retrieved_gain_nothing() {
    let never = f64::NEG_INFINITY;
    let value =
        |name: &str, labels: &[f64], scores: &[f64]| Metric::parse(name).unwrap().value(labels, scores);
    let ideal = 3.0 + 1.0 / 3.0_f64.log2();
    for (name, half) in [
        ("ndcg@2", 1.0 / ideal),
        ("recall", 0.5),
        ("map", 0.5),
        ("mrr", 1.0),
        ("precision@2", 0.5),
        ("success@2", 1.0),
    ] {
        assert!(close(value(name, &[1.0, 2.0], &[0.1, never]), Some(half)), "{name}");
        assert_eq!(value(name, &[0.0, 1.0], &[0.1, never]), Some(0.0), "{name}");
        assert_eq!(value(name, &[1.0], &[never]), Some(0.0), "{name}");
    }
    assert_eq!(value("err@2", &[0.0, 1.0], &[0.1, never]), Some(0.0));
    assert_eq!(value("mre", &[1.0, 0.0], &[never, 0.1]), Some(1.0));
    assert_eq!(
        value("pair_loss", &[1.0, 0.0, 3.0], &[0.5, 0.1, never]),
        value("pair_loss", &[1.0, 0.0], &[0.5, 0.1])
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn expected_is_the_mean_over_the_orders_of_the_ties((grades, scores) in grades_and_scores()) {
        for (expected, input) in metrics(Ties::Expected).iter().zip(&metrics(Ties::Input)) {
            let mean = mean_over_orders(grades.len(), |order| {
                input.value(&permuted(&grades, order), &permuted(&scores, order))
            });
            let actual = expected.value(&grades, &scores);
            prop_assert!(close(actual, mean), "{}: {actual:?}, brute force {mean:?}", expected.name());
        }
    }

    #[test]
    fn expected_subtopic_metrics_are_means_too((topics, scores) in covered_topics(), alpha in 0.0..=1.0) {
        for def in SUBTOPIC_METRICS {
            for cutoff in [None, Some(1), Some(2), Some(3)] {
                let metric = |ties| {
                    let options = MetricOptions { ties, alpha, ..MetricOptions::default() };
                    SubtopicMetric::new(def, cutoff, options).expect("allowed options")
                };
                // The greedy ideal breaks ties by input order, so each order is measured against the same ideal.
                let input = metric(Ties::Input);
                let mean = mean_over_orders(topics.len(), |order| {
                    let value = input.value(&Subtopics::new(&permuted(&topics, order)), &permuted(&scores, order))?;
                    Some(value * ideal_ratio(&input, &topics, order))
                });
                let found = metric(Ties::Expected).value(&Subtopics::new(&topics), &scores);
                prop_assert!(close(found, mean), "{}: {found:?}, brute force {mean:?}", def.name);
            }
        }
    }

    #[test]
    fn worst_and_best_are_bounds((grades, scores) in long_lists()) {
        let rules = [Ties::Worst, Ties::Input, Ties::Expected, Ties::Best].map(metrics);
        for ((worst, input), (expected, best)) in
            rules[0].iter().zip(&rules[1]).zip(rules[2].iter().zip(&rules[3]))
        {
            let sign = worst.def().better.sign();
            let value = |metric: &Metric| metric.value(&grades, &scores).map_or(0.0, |value| sign * value);
            let slack = 1e-12;
            for middle in [value(input), value(expected)] {
                prop_assert!(value(worst) <= middle + slack, "{}", worst.name());
                prop_assert!(middle <= value(best) + slack, "{}", best.name());
            }
        }
    }

    #[test]
    fn expected_does_not_see_the_input_order((grades, scores) in long_lists(), turn in 0_usize..60) {
        let n = grades.len();
        let order: Vec<usize> = (0..n).rev().map(|index| (index + turn) % n).collect();
        for metric in metrics(Ties::Expected) {
            let here = metric.value(&grades, &scores).map(f64::to_bits);
            let there = metric.value(&permuted(&grades, &order), &permuted(&scores, &order)).map(f64::to_bits);
            prop_assert_eq!(here, there, "{}", metric.name());
        }
    }

    #[test]
    fn values_lie_in_the_unit_interval((grades, scores) in long_lists()) {
        for metric in metrics(Ties::Expected) {
            let lowest = match metric.def().name {
                "dcg" | "eru" | "pair_loss" => continue,
                "kendall_tau" => -1.0,
                _ => 0.0,
            };
            if let Some(value) = metric.value(&grades, &scores) {
                prop_assert!((lowest..=1.0 + 1e-12).contains(&value), "{}: {value}", metric.name());
            }
        }
    }

    #[test]
    fn the_ideal_order_is_perfect((grades, _) in long_lists()) {
        for name in ["ndcg", "ndcg@3", "map", "mrr", "recall", "wta", "kendall_tau", "mre"] {
            let metric = Metric::parse(name).expect("known metric");
            let perfect = if metric.def().better == Better::Higher { 1.0 } else { 0.0 };
            let value = metric.value(&grades, &grades).unwrap_or(perfect);
            prop_assert!((value - perfect).abs() < 1e-12, "{name}: {value}");
        }
    }
}

/// Greedy ideal of the permuted input divided by the input's: 1 but for alpha-nDCG's rule for equal gains. Both are
/// measured by one ranking of the same documents.
fn ideal_ratio(metric: &SubtopicMetric, topics: &[Vec<u8>], order: &[usize]) -> f64 {
    // The document with most subtopics is the first one, so that no cutoff gives 0.
    let score = |(i, covered): (usize, &Vec<u8>)| (100 * covered.len() + i) as f64;
    let scores: Vec<f64> = topics.iter().enumerate().map(score).collect();
    let here = metric.value(&Subtopics::new(topics), &scores);
    let there = metric.value(&Subtopics::new(&permuted(topics, order)), &permuted(&scores, order));
    match (here, there) {
        (Some(here), Some(there)) => here / there,
        _ => 1.0,
    }
}

/// With `LTR_LONG=1` a million documents.
#[test]
fn lists_of_many_documents_are_measured_quickly() {
    let n = if is_long() { 1_000_000 } else { 100_000 };
    let grades: Vec<f64> = (0..n).map(|i| f64::from(i % 5)).collect();
    let scores: Vec<f64> = (0..n).map(|i| f64::from((i % 1_000) * 7 % 1_000)).collect();
    for metric in metrics(Ties::Expected) {
        let value = metric.value(&grades, &scores);
        assert!(value.is_some_and(f64::is_finite), "{}", metric.name());
        let one_tie = metric.value(&grades, &vec![0.0; grades.len()]);
        assert!(
            one_tie.is_some_and(f64::is_finite) || metric.def().name == "kendall_tau",
            "{}",
            metric.name()
        );
    }
}
