//! The laws of the bounds on small queries with many ties.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::math::{all_orders, compare, descending, dot};

/// Every bound, the convex one first.
const BOUNDS: [Bound; 3] = [Bound::Convex, Bound::Minimum, Bound::Nonconvex];

fn measures() -> impl Strategy<Value = Measure> {
    let eru = |normalized| Measure::Eru { neutral: 1.0, half_life: 3.0, normalized };
    prop_oneof![
        Just(Measure::Wta),
        Just(Measure::Dcg(None)),
        Just(Measure::Dcg(Some(2))),
        Just(Measure::Ndcg(None)),
        Just(Measure::Ndcg(Some(3))),
        Just(Measure::Precision(2)),
        Just(Measure::Precision(9)),
        Just(eru(false)),
        Just(eru(true)),
        Just(own(Measure::Ndcg(None), Some(&[3.0, 3.0, 1.0, 0.5]), None)),
        Just(own(Measure::Mrr(None), None, Some(&[0.5, 0.0, 2.0, 3.0]))),
        Just(own(Measure::Wta, Some(&[2.0, 1.0]), Some(&[0.0, 1.0, 1.0, 7.0]))),
    ]
}

fn own(measure: Measure, positions: Option<&[f64]>, grades: Option<&[f64]>) -> Measure {
    let [positions, grades] = [positions, grades].map(|weights| weights.map(<[f64]>::to_vec));
    Measure::Own { measure: Box::new(measure), positions, grades }
}

fn decoders() -> impl Strategy<Value = Decoder> {
    prop_oneof![
        Just(Decoder::Linear(3)),
        Just(Decoder::Linear(10)),
        Just(Decoder::Power(0.25)),
        Just(Decoder::Log),
        Just(Decoder::LogLog),
        Just(Decoder::Metric),
        Just(Decoder::Own(vec![5.0, 5.0, 2.0, 0.25])),
    ]
}

/// Labels and two lists of scores, the first with many ties.
fn rows(most: usize) -> impl Strategy<Value = Vec<(u8, f64, f64)>> {
    proptest::collection::vec((0u8..4, (-3i8..=3).prop_map(f64::from), -3.0f64..3.0), 1..=most)
}

fn columns(rows: &[(u8, f64, f64)]) -> [Vec<f64>; 3] {
    let labels = rows.iter().map(|row| f64::from(row.0)).collect();
    [labels, rows.iter().map(|row| row.1).collect(), rows.iter().map(|row| row.2).collect()]
}

fn query(measure: &Measure, decoder: &Decoder, labels: &[f64]) -> DirectQuery {
    DirectQuery::new(measure, decoder, labels)
}

/// Max M - M of the order by score; equal scores by the sign of the first argument times b, or as they came.
fn regret(query: &DirectQuery, scores: &[f64], sign: f64) -> f64 {
    let b = &query.b;
    let mut order: Vec<u32> = descending(scores).into_iter().map(|j| j as u32).collect();
    order.sort_by(|&x, &y| {
        let (x, y) = (x as usize, y as usize);
        compare(scores[y], scores[x]).then(compare(sign * b[y], sign * b[x]))
    });
    query.best - query.metric(&order)
}

proptest! {
    #[test]
    fn bounds_are_ordered(
        rows in rows(9), any in any::<bool>(), measure in measures(), decoder in decoders()
    ) {
        let [labels, tied, untied] = columns(&rows);
        let scores = if any { untied } else { tied };
        let query = query(&measure, &decoder, &labels);
        let mut g = vec![0.0; rows.len()];
        let convex = query.bound(&scores, &query.ideal_order(), &mut g);
        let mut reference = Vec::new();
        query.score_consistent_order(&scores, &mut reference);
        let consistent = query.bound(&scores, &reference, &mut g);
        let mut order = Vec::new();
        query.order(&scores, &mut order);
        let nonconvex = query.bound(&scores, &order, &mut g);
        prop_assert!(convex >= consistent - 1e-10 && consistent >= nonconvex - 1e-10);
        for sign in [0.0, 1.0, -1.0] {
            let regret = regret(&query, &scores, sign);
            prop_assert!(nonconvex >= regret - 1e-10 && regret >= -1e-10, "{} {}", nonconvex, regret);
        }
        prop_assert!((query.metric(&reference) - query.best).abs() < 1e-12);
    }

    /// Equation 21 by its definition: the smallest bound over all maximizers of the measure.
    #[test]
    fn it_is_the_minimum_over_all_maximizers(
        rows in rows(6), any in any::<bool>(), measure in measures(), decoder in decoders()
    ) {
        let [labels, tied, untied] = columns(&rows);
        let scores = if any { untied } else { tied };
        let query = query(&measure, &decoder, &labels);
        let mut g = vec![0.0; rows.len()];
        let mut smallest = f64::INFINITY;
        for order in all_orders(rows.len()) {
            let order: Vec<u32> = order.into_iter().map(|document| document as u32).collect();
            if query.metric(&order) >= query.best - 1e-12 {
                smallest = smallest.min(query.bound(&scores, &order, &mut g));
            }
        }
        let loss = Direct { measure, decoder, bound: Bound::Minimum, diverse: false }.prepare(&labels, &[]);
        let value = loss.value_and_subgradient(&scores, &mut g);
        prop_assert!((value - smallest).abs() < 1e-10, "{} {}", value, smallest);
    }

    #[test]
    fn subgradients_match_finite_differences(
        rows in rows(9), measure in measures(), decoder in decoders(), bound in 0..BOUNDS.len()
    ) {
        let [labels, _, scores] = columns(&rows);
        let bound = BOUNDS[bound];
        let loss = Direct { measure, decoder, bound, diverse: false }.prepare(&labels, &[]);
        let at = |scores: &[f64]| {
            let mut g = vec![0.0; labels.len()];
            (loss.value_and_subgradient(scores, &mut g), g)
        };
        let (_, g) = at(&scores);
        for i in 0..labels.len() {
            let moved = |h: f64| {
                let mut scores = scores.clone();
                scores[i] += h;
                at(&scores)
            };
            let (ahead, behind) = (moved(1e-5), moved(-1e-5));
            // Linear pieces: smooth between the two where the subgradients agree.
            if ahead.1.iter().zip(&behind.1).all(|(x, y)| (x - y).abs() < 1e-12) {
                prop_assert!(((ahead.0 - behind.0) / 2e-5 - g[i]).abs() < 1e-7);
            }
        }
    }

    #[test]
    fn a_majorant_is_convex_and_nowhere_below_and_touches(
        rows in rows(9), measure in measures(), decoder in decoders(), bound in 1..BOUNDS.len()
    ) {
        let [labels, at, other] = columns(&rows);
        let loss = Direct { measure, decoder, bound: BOUNDS[bound], diverse: false }.prepare(&labels, &[]);
        let majorant = loss.majorant(&at).unwrap();
        let (mut g, mut unused) = (vec![0.0; labels.len()], vec![0.0; labels.len()]);
        let value = majorant.value_and_subgradient(&at, &mut g);
        prop_assert!((value - loss.value_and_subgradient(&at, &mut unused)).abs() < 1e-10);
        prop_assert_eq!(&g, &unused);
        let above = majorant.value_and_subgradient(&other, &mut unused);
        prop_assert!(above >= loss.value_and_subgradient(&other, &mut unused) - 1e-10);
        let step: Vec<f64> = other.iter().zip(&at).map(|(x, y)| x - y).collect();
        prop_assert!(above >= value + dot(&g, &step) - 1e-10);
    }
}

fn made(options: &Value) -> Result<Direct> {
    Direct::new(&options.as_object().unwrap().clone().into())
}

#[test]
fn options_make_the_loss() {
    let default = Direct {
        measure: Measure::Ndcg(Some(10)),
        decoder: Decoder::Metric,
        bound: Bound::Nonconvex,
        diverse: false,
    };
    assert_eq!(made(&json!({})).unwrap(), default);
    let linear = |measure| made(&json!({"measure": measure, "decoder": "linear"})).unwrap().decoder;
    assert_eq!(linear("dcg@3"), Decoder::Linear(3));
    assert_eq!(linear("wta"), Decoder::Linear(10));
    assert!(made(&json!({"decoder": "power", "decoder_power": [1, 2]})).is_err());
    let options = json!({"measure": "neru", "neutral_grade": 2.0, "half_life": 4.0, "decoder": "power", "decoder_power": 2.0});
    let loss = made(&options).unwrap();
    assert_eq!(loss.measure, Measure::Eru { neutral: 2.0, half_life: 4.0, normalized: true });
    assert_eq!(loss.decoder, Decoder::Power(2.0));
    let nonconvex = made(&json!({"bound": "nonconvex"})).unwrap();
    assert_eq!((nonconvex.bound, nonconvex.shape()), (Bound::Nonconvex, None));
    for (name, decoder) in [("log", Decoder::Log), ("loglog", Decoder::LogLog), ("metric", Decoder::Metric)] {
        assert_eq!(made(&json!({"decoder": name})).unwrap().decoder, decoder);
    }
}

#[test]
fn the_minimum_does_not_take_diverse_lists() {
    let error = made(&json!({"bound": "minimum", "diversify_by": "site"})).unwrap_err().to_string();
    assert!(error.ends_with("use \"nonconvex\" or \"convex\""), "{error}");
}

#[test]
fn measures_of_another_form_are_refused() {
    for name in ["map", "err", "recall@3", "precision", "mre", "kendall_tau"] {
        let error = made(&json!({"measure": name})).unwrap_err().to_string();
        assert_eq!(
            error,
            format!(
                "option 'measure': got '{name}', expected wta, mrr, dcg, dcg@k, ndcg, ndcg@k, precision@k, eru or neru with the loss 'direct'"
            )
        );
    }
    assert!(made(&json!({"measure": "ndgc"})).unwrap_err().to_string().contains("did you mean 'ndcg'"));
}

#[test]
fn reciprocal_rank_takes_one_relevant_document() {
    let loss = |measure| Direct { measure, decoder: Decoder::Metric, bound: Bound::Convex, diverse: false };
    let mrr = loss(Measure::Mrr(None));
    assert!(mrr.check_query(&[0.0, 2.0, 0.5], &[]).is_ok());
    assert_eq!(
        mrr.check_query(&[1.0, 2.0], &[]).unwrap_err().to_string(),
        "the measure 'mrr' of the loss 'direct' needs queries with exactly one relevant document, found 2; use 'ndcg@10' or 'precision@k'"
    );
    assert!(mrr.check_query(&[0.0], &[]).is_err());
    assert!(loss(Measure::Wta).check_query(&[1.0, 2.0], &[]).is_ok());
    assert!(loss(Measure::Dcg(None)).check_query(&[1.0, 2000.0], &[]).is_err());
    assert!(loss(Measure::Ndcg(None)).check_query(&[1.0, 2000.0], &[]).is_ok());
}

#[test]
fn queries_without_an_order_cost_nothing() {
    for labels in [&[2.0, 2.0, 2.0][..], &[0.0, 0.0], &[3.0]] {
        for bound in BOUNDS {
            let direct =
                Direct { measure: Measure::Ndcg(None), decoder: Decoder::Linear(10), bound, diverse: false };
            let mut g = vec![1.0; labels.len()];
            let scores: Vec<f64> = (0..labels.len()).map(|j| j as f64).collect();
            assert!(direct.prepare(labels, &[]).value_and_subgradient(&scores, &mut g).abs() < 1e-15);
            assert!(g.iter().all(|g| g.abs() < 1e-15));
            assert!(!direct.is_informative(labels));
        }
    }
}

#[test]
fn fewer_documents_than_positions_keep_the_normalizer() {
    let query = query(&Measure::Precision(5), &Decoder::Linear(5), &[1.0, 0.0]);
    assert!((query.best - 0.2).abs() < 1e-15);
    assert_eq!(query.c, [5.0, 4.0]);
}

#[test]
fn huge_grades_stay_finite() {
    let loss = Direct {
        measure: Measure::Ndcg(Some(2)),
        decoder: Decoder::Linear(2),
        bound: Bound::Convex,
        diverse: false,
    };
    let mut g = [0.0; 3];
    let value = loss.prepare(&[5000.0, 4999.0, -3.0], &[]).value_and_subgradient(&[0.0, 1.0, 2.0], &mut g);
    assert!(value.is_finite() && g.iter().all(|g| g.is_finite()));
}
