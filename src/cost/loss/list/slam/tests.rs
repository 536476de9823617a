//! Tests of slam.

use super::*;
use crate::cost::metric::{MetricOptions, Ties};

/// Every measure with both rules for equal grades.
fn every() -> impl Iterator<Item = (Slam, Metric)> {
    let measures = [("ndcg", Bounded::Ndcg(None)), ("map", Bounded::Map)]
        .into_iter()
        .chain([("ndcg@1", 1), ("ndcg@2", 2), ("ndcg@4", 4)].map(|(name, k)| (name, Bounded::Ndcg(Some(k)))));
    measures.flat_map(|(name, measure)| {
        let options = MetricOptions { ties: Ties::Worst, ..MetricOptions::default() };
        let metric = Metric::parse(name).unwrap().with_options(options).unwrap();
        let slam = |ties| Slam { weights: SlamWeights::Measure(measure), margin: 1.0, ties };
        [LabelTies::Average, LabelTies::Stable].map(|ties| (slam(ties), metric.clone()))
    })
}

fn columns(rows: &[(u8, i8)]) -> (Vec<f64>, Vec<f64>) {
    (
        rows.iter().map(|row| f64::from(row.0)).collect(),
        rows.iter().map(|row| 0.5 * f64::from(row.1)).collect(),
    )
}

/// The loss by its definition.
fn by_definition(slam: &Slam, v: &[f64], labels: &[f64], scores: &[f64]) -> f64 {
    let grades = slam.grades(labels);
    let inner = |i: usize| {
        let worse = (0..labels.len()).filter(|j| grades[*j] < grades[i]);
        worse.map(|j| slam.margin + scores[j] - scores[i]).fold(0.0, f64::max)
    };
    (0..labels.len()).map(|i| v[i] * inner(i)).sum()
}

proptest::proptest! {
    /// Also for documents whose scores are equal, in their worst order.
    #[test]
    fn it_bounds_one_less_the_measure(rows in proptest::collection::vec((0u8..5, -4i8..4), 1..10)) {
        let (labels, scores) = columns(&rows);
        let mut g = vec![0.0; rows.len()];
        for (slam, metric) in every() {
            let query = slam.of(&labels);
            let value = query.value_and_subgradient(&scores, &mut g);
            let lost = 1.0 - metric.value(&labels, &scores).unwrap_or(1.0);
            proptest::prop_assert!(value >= lost - 1e-12, "{slam:?}: {value}, {lost}");
            let expected = by_definition(&slam, query.weights(), &labels, &scores);
            proptest::prop_assert!((value - expected).abs() < 1e-12);
            proptest::prop_assert!(query.weights().iter().sum::<f64>() <= 1.0 + 1e-12);
            proptest::prop_assert!(slam.is_informative(&labels) || value <= 0.0);
            // Reached if every document is below all of lower grades by the same score.
            let length = |g: &[f64]| g.iter().map(|g| g.abs()).sum::<f64>();
            proptest::prop_assert!(length(&g) <= slam.lipschitz(&labels).unwrap() + 1e-12);
            let reversed: Vec<f64> = labels.iter().map(|label| -label).collect();
            query.value_and_subgradient(&reversed, &mut g);
            let rises: f64 = g.iter().filter(|g| **g > 0.0).sum();
            let active: f64 = slam.lipschitz(&labels).unwrap() / 2.0;
            proptest::prop_assert!(rises <= active + 1e-12 && slam.lipschitz(&labels).unwrap() <= 2.0 + 1e-12);
        }
    }

    /// The misordered documents weigh at least the lost metric, and are the same for scores of any scale.
    #[test]
    fn misordered_documents_bound_the_measure(rows in proptest::collection::vec((0u8..5, -4i8..4), 1..10)) {
        let (labels, scores) = columns(&rows);
        let scaled: Vec<f64> = scores.iter().map(|score| 64.0 * score).collect();
        for (slam, metric) in every() {
            let query = slam.of(&labels).with(Active::Misorder);
            let (mut g, mut h) = (vec![0.0; rows.len()], vec![0.0; rows.len()]);
            let value = query.value_and_subgradient(&scores, &mut g);
            query.value_and_subgradient(&scaled, &mut h);
            proptest::prop_assert_eq!(&g, &h);
            let lost = 1.0 - metric.value(&labels, &scores).unwrap_or(1.0);
            proptest::prop_assert!(value >= lost - 1e-12, "{slam:?}: {value}, {lost}");
            let all = slam.of(&labels).value_and_subgradient(&scores, &mut h);
            proptest::prop_assert!(value <= all + 1e-12);
        }
    }
}

#[test]
fn ties_go_to_the_first_document_and_zero_counts_nothing() {
    let at = |query: &SlamQuery, scores: &[f64]| {
        let mut g = vec![f64::NAN; scores.len()];
        let value = query.value_and_subgradient(scores, &mut g);
        g.push(value);
        g
    };
    let slam = Slam { weights: SlamWeights::Measure(Bounded::Map), margin: 1.0, ties: LabelTies::Average };
    let query = slam.of(&[0.0, 0.0, 1.0, 0.0]);
    assert_eq!(at(&query, &[1.0, 2.0, 2.5, 2.0]), [0.0, 0.75, -0.75, 0.0, 0.375]);
    assert_eq!(at(&query, &[1.0, 2.0, 3.0, 2.0]), [0.0; 5]);
    let query = query.with(Active::Misorder);
    assert_eq!(at(&query, &[1.0, 2.0, 2.5, 2.0]), [0.0; 5]);
    assert_eq!(at(&query, &[1.0, 2.0, 2.0, 2.0]), [0.0, 0.75, -0.75, 0.0, 0.75]);
    // The lowest index over all grades, not within one.
    let weights = SlamWeights::Measure(Bounded::Ndcg(Some(1)));
    let slam = Slam { weights, margin: 1.0, ties: LabelTies::Average };
    assert_eq!(at(&slam.of(&[1.0, 0.0, 2.0]), &[0.0; 3]), [1.0, 0.0, -1.0, 1.0]);
}

fn made(options: &serde_json::Value) -> Result<crate::cost::loss::ListLoss> {
    match SLAM.make(&options.as_object().unwrap().clone().into())? {
        crate::cost::loss::Loss::List(loss) => Ok(loss),
        crate::cost::loss::Loss::Pair(..) => unreachable!(),
    }
}

proptest::proptest! {
    /// The loss with position weights is its definition: number i for the document at position i of the ideal order,
    /// 0 after the last, and the mean of a group of equal grades unless `label_ties` is "stable".
    #[test]
    fn position_weights_match_the_definition(
        rows in proptest::collection::vec((0u8..4, -4i8..4), 1..10),
        numbers in proptest::collection::vec(0u8..4, 1..6),
        average in proptest::bool::ANY,
    ) {
        let (labels, scores) = columns(&rows);
        let weights: Vec<f64> = numbers.into_iter().map(f64::from).collect();
        let ties = if average { LabelTies::Average } else { LabelTies::Stable };
        let slam = Slam { weights: SlamWeights::Positions(weights.clone()), margin: 0.7, ties };
        let mut ideal: Vec<usize> = (0..labels.len()).collect();
        ideal.sort_by(|a, b| labels[*b].total_cmp(&labels[*a]));
        let mut v = vec![0.0; labels.len()];
        for (position, document) in ideal.iter().enumerate() {
            let group = |p: &usize| labels[ideal[*p]].total_cmp(&labels[*document]).is_eq();
            let positions: Vec<usize> =
                (0..labels.len()).filter(|p| if average { group(p) } else { *p == position }).collect();
            let number = |p: &usize| weights.get(*p).copied().unwrap_or(0.0);
            v[*document] = positions.iter().map(number).sum::<f64>() / positions.len() as f64;
        }
        let mut g = vec![0.0; rows.len()];
        let value = slam.of(&labels).value_and_subgradient(&scores, &mut g);
        proptest::prop_assert!((value - by_definition(&slam, &v, &labels, &scores)).abs() < 1e-12);
        let flat = slam.of(&labels).value_and_subgradient(&vec![0.0; rows.len()], &mut g);
        proptest::prop_assert_eq!(slam.is_informative(&labels), flat > 0.0);
    }
}

/// The numbers that the measure would give, written out, make the same loss.
#[test]
fn the_weights_of_a_measure_written_out_give_the_same_loss() {
    let (labels, scores) = ([2.0, 0.0, 1.0, 0.0], [0.1, 0.4, -0.3, 0.2]);
    let of_measure =
        Slam { weights: SlamWeights::Measure(Bounded::Ndcg(Some(2))), margin: 1.0, ties: LabelTies::Average };
    let v = of_measure.of(&labels).weights().to_vec();
    let written = made(&serde_json::json!({ "position_weights": [v[0], v[2]] })).unwrap();
    let (mut g, mut h) = ([0.0; 4], [0.0; 4]);
    let a = of_measure.of(&labels).value_and_subgradient(&scores, &mut g);
    let b = written.prepare(&labels, &[]).value_and_subgradient(&scores, &mut h);
    assert_eq!((a, g), (b, h));
}

#[test]
fn position_weights_that_weigh_nothing_or_contradict_a_measure_are_refused() {
    let refused = |options: serde_json::Value| made(&options).unwrap_err().to_string();
    assert!(
        refused(serde_json::json!({ "position_weights": [0, 0.0] }))
            .ends_with("at least one of them above 0")
    );
    assert!(
        refused(serde_json::json!({ "position_weights": [1, -1] })).contains("got [1.0, -1.0], expected")
    );
    assert_eq!(
        refused(serde_json::json!({ "position_weights": [1], "measure": "ndcg" })),
        "option 'measure' does not work with option 'position_weights'; give one of them"
    );
}

#[test]
fn other_measures_are_refused() {
    for name in ["map@3", "dcg", "mrr"] {
        let options = serde_json::json!({ "measure": name });
        let error = SLAM.make(&options.as_object().unwrap().clone().into()).unwrap_err().to_string();
        let allowed = "ndcg, ndcg@k or map with the loss 'slam'";
        assert_eq!(error, format!("option 'measure': got '{name}', expected {allowed}"));
    }
}
