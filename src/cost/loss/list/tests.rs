//! Laws that every listwise loss obeys.

use crate::cost::loss::{LOSSES, ListLoss, Loss, LossDef, Shape};
use crate::data::{ListConstraint, RowGroup};
use crate::math::dot;

/// Parameters other than the defaults.
const OTHERS: &[(&str, &str)] = &[
    ("list_net", r#"{"target": "gain"}"#),
    ("list_mle", r#"{"label_order": "random", "seed": 7}"#),
    ("cs_list_mle", r#"{"truncation": 2}"#),
    ("lambda_rank", r#"{"truncation": 2}"#),
    ("cs_list_mle", r#"{"cost_weights": "unit"}"#),
    ("cs_list_mle", r#"{"cost_weights": "rank"}"#),
    (
        "cs_list_mle",
        r#"{"cost_weights": {"pair": [[0,0,0,0],[1,0,0,0],[2,0,0,0],[3,2,1,0]], "document": [0,1,1,5]}}"#,
    ),
    ("slam", r#"{"measure": "ndcg@3", "margin": 0.5}"#),
    ("slam", r#"{"measure": "map"}"#),
    ("slam", r#"{"position_weights": [3, 0, 1, 0.5]}"#),
    ("svm_map", r#"{"threshold": 2}"#),
    ("smooth_grad", r#"{"measure": "precision@2"}"#),
    ("direct", r#"{"bound": "convex"}"#),
    ("direct", r#"{"bound": "minimum", "measure": "precision@2"}"#),
    ("direct", r#"{"bound": "convex", "measure": "dcg@2", "decoder": "power"}"#),
    ("direct", r#"{"bound": "convex", "measure": "ndcg@3", "diversify_by": "site"}"#),
    ("direct", r#"{"measure": "neru", "diversify_by": "site"}"#),
    ("direct", r#"{"bound": "convex", "position_weights": [3, 3, 1], "grade_weights": [1, 0, 0.5, 4]}"#),
    ("direct", r#"{"bound": "convex", "position_weights": [2, 1], "discounts": [5, 2, 2, 0.5]}"#),
    ("direct", r#"{"grade_weights": [0, 1, 7, 7], "diversify_by": "site"}"#),
    ("smooth_grad", r#"{"sigma": 3}"#),
];

fn make(def: &'static LossDef, options: &str) -> Option<(&'static LossDef, ListLoss)> {
    let options: serde_json::Map<_, _> = serde_json::from_str(options).unwrap();
    match def.make(&options.into()).unwrap() {
        Loss::List(loss) => Some((def, loss)),
        Loss::Pair(..) => None,
    }
}

/// Every listwise loss with default parameters, and with those others; documents at slots are tested in `matching`.
fn every() -> impl Iterator<Item = (&'static LossDef, ListLoss)> {
    let others =
        OTHERS.iter().filter_map(|(name, options)| make(crate::cost::loss::find(name).unwrap(), options));
    let defaults = LOSSES.iter().filter_map(|def| make(def, "{}"));
    defaults.chain(others).filter(|(_, loss)| loss.constraint() != ListConstraint::Slots)
}

/// Losses that break ties between equal grades by document order.
const ORDERED: &[&str] = &["list_mle", "cs_list_mle", "direct"];

/// Losses whose subgradient (of `smooth_grad` the value) is not unique where scores are equal: the order of the
/// documents chooses one.
const CHOOSING: &[&str] = &["slam", "svm_map", "direct", "smooth_grad", "lambda_rank"];

/// The scores in their order, and no two of them equal.
fn distinct(scores: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|a, b| scores[*a].total_cmp(&scores[*b]));
    let mut apart = scores.to_vec();
    for (position, document) in order.into_iter().enumerate() {
        apart[document] += 1e-3 * position as f64;
    }
    apart
}

/// Row groups of `documents` documents, in three groups.
fn row_groups(documents: usize) -> Vec<RowGroup> {
    (0..documents as u32).map(|document| RowGroup { document, group: document % 3 }).collect()
}

/// The same row groups, groups numbered by first appearance.
fn renumbered(row_groups: &[RowGroup]) -> Vec<RowGroup> {
    let mut known: Vec<u32> = Vec::new();
    let mut number = |group| {
        known.iter().position(|&other| other == group).unwrap_or_else(|| {
            known.push(group);
            known.len() - 1
        })
    };
    let row_group = |(row_group, document): (&RowGroup, u32)| RowGroup {
        document,
        group: number(row_group.group) as u32,
    };
    row_groups.iter().zip(0..).map(row_group).collect()
}

/// Labels and two series of scores, all of equal length.
fn rows() -> impl proptest::strategy::Strategy<Value = Vec<(u8, f64, f64)>> {
    proptest::collection::vec((0u8..4, -3.0f64..3.0, -3.0f64..3.0), 1..12)
}

fn columns(rows: &[(u8, f64, f64)]) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
    let labels = rows.iter().map(|row| f64::from(row.0)).collect();
    (labels, rows.iter().map(|row| row.1).collect(), rows.iter().map(|row| row.2).collect())
}

proptest::proptest! {
    /// f(b) >= f(a) + g . (b - a), and |g|_1 is at most the Lipschitz constant.
    #[test]
    fn the_subgradient_inequality_holds(rows in rows()) {
        let (labels, a, b) = columns(&rows);
        let mut g = vec![0.0; rows.len()];
        for (def, loss_def) in every().filter(|(_, loss)| loss.shape().is_convex()) {
            let loss = loss_def.prepare(&labels, &row_groups(labels.len()));
            let at_b = loss.value_and_subgradient(&b, &mut g);
            let at_a = loss.value_and_subgradient(&a, &mut g);
            let step: Vec<f64> = b.iter().zip(&a).map(|(x, y)| x - y).collect();
            proptest::prop_assert!(at_b >= at_a + dot(&g, &step) - 1e-10, "{}", def.name);
            let length: f64 = g.iter().map(|g| g.abs()).sum();
            let bound = loss_def.lipschitz(&labels).unwrap_or(f64::INFINITY);
            proptest::prop_assert!(length <= bound + 1e-10, "{}: {length}, {bound}", def.name);
        }
    }

    /// The Hessian of a smooth loss equals differences of gradients.
    #[test]
    fn a_hessian_matches_finite_differences(rows in rows()) {
        let (labels, scores, direction) = columns(&rows);
        let n = rows.len();
        for (def, loss) in every().filter(|(def, _)| matches!(def.shape, Shape::Quadratic | Shape::Smooth)) {
            let loss = loss.prepare(&labels, &row_groups(labels.len()));
            let mut product = vec![0.0; n];
            proptest::prop_assert!(loss.hessian_times(&scores, &direction, &mut product), "{}", def.name);
            let gradient_at = |h: f64| {
                let moved: Vec<f64> = scores.iter().zip(&direction).map(|(s, d)| s + h * d).collect();
                let mut g = vec![0.0; n];
                loss.value_and_subgradient(&moved, &mut g);
                g
            };
            let (ahead, behind) = (gradient_at(1e-5), gradient_at(-1e-5));
            for i in 0..n {
                let difference = (ahead[i] - behind[i]) / 2e-5;
                proptest::prop_assert!((difference - product[i]).abs() < 1e-6, "{}", def.name);
            }
        }
    }

    /// A constant added to all scores changes nothing.
    #[test]
    fn the_origin_of_scores_does_not_matter(rows in rows()) {
        let (labels, scores, _) = columns(&rows);
        let moved: Vec<f64> = scores.iter().map(|score| score + 2.0).collect();
        let (mut g, mut h) = (vec![0.0; rows.len()], vec![0.0; rows.len()]);
        for (def, loss) in every() {
            let loss = loss.prepare(&labels, &row_groups(labels.len()));
            let smoothed = loss.smoothed(0.7);
            for loss in smoothed.iter().chain([&loss]) {
                let (a, b) = (loss.value_and_subgradient(&scores, &mut g), loss.value_and_subgradient(&moved, &mut h));
                proptest::prop_assert!((a - b).abs() < 1e-9, "{}: {a}, {b}", def.name);
                proptest::prop_assert!(g.iter().zip(&h).all(|(g, h)| (g - h).abs() < 1e-9), "{}", def.name);
                proptest::prop_assert!(g.iter().sum::<f64>().abs() < 1e-9, "{}", def.name);
            }
        }
    }

    /// Documents may come in any order.
    #[test]
    fn subgradients_follow_their_documents(rows in rows(), seed in 0u64..1000) {
        let mut order: Vec<usize> = (0..rows.len()).collect();
        crate::math::random::Random::new(seed).shuffle(&mut order);
        for (def, loss) in every() {
            let (mut labels, mut scores, _) = columns(&rows);
            if CHOOSING.contains(&def.name) {
                scores = distinct(&scores);
            }
            if ORDERED.contains(&def.name) {
                labels = (0..rows.len()).map(|i| (i % 4) as f64).collect();
                labels.truncate(4);
            }
            let kept: Vec<usize> = order.iter().copied().filter(|i| *i < labels.len()).collect();
            let moved = renumbered(&kept.iter().map(|i| row_groups(labels.len())[*i]).collect::<Vec<_>>());
            let at = |values: &[f64]| -> Vec<f64> { kept.iter().map(|i| values[*i]).collect() };
            let (mut g, mut h) = (vec![0.0; labels.len()], vec![0.0; labels.len()]);
            let a = loss.prepare(&labels, &row_groups(labels.len())).value_and_subgradient(&scores[..labels.len()], &mut g);
            let b = loss.prepare(&at(&labels), &moved).value_and_subgradient(&at(&scores), &mut h);
            proptest::prop_assert!((a - b).abs() < 1e-10, "{}: {a}, {b}", def.name);
            proptest::prop_assert!(at(&g).iter().zip(&h).all(|(g, h)| (g - h).abs() < 1e-10), "{}", def.name);
        }
    }

    /// The subgradient of an uninformative query is 0, except for losses that move equal grades together or apart.
    #[test]
    fn uninformative_queries_have_no_slope(rows in rows()) {
        let (labels, scores, _) = columns(&rows);
        let mut g = vec![0.0; rows.len()];
        for (def, loss) in every().filter(|(def, loss)| def.name != "list_mle" && !loss.is_informative(&labels)) {
            loss.prepare(&labels, &row_groups(labels.len())).value_and_subgradient(&scores, &mut g);
            proptest::prop_assert!(g.iter().all(|g| g.abs() < 1e-12), "{}", def.name);
        }
    }
}
