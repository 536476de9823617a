//! Lists with one document per block and documents at slots, against `diversity.json` and `matching.json` of
//! `tests/rust/golden/listwise`.

use super::support::{assert_close, numbers, read_listwise, rows};
use serde_json::Value;
use sqlite_ltr::internals::cost::loss::list::{Bound, Decoder, Direct, DirectQuery, MatchingQuery, Measure};
use sqlite_ltr::internals::cost::loss::{ListwiseLoss, QueryLoss};
use sqlite_ltr::internals::data::arrange::{RowGroup, Slots, select_diverse};
use sqlite_ltr::internals::math::assignment::{Workspace, maximize_in_blocks};

fn whole(value: &Value) -> Vec<u32> {
    value.as_array().unwrap().iter().map(|number| number.as_u64().unwrap() as u32).collect()
}

fn cases(file: &str) -> Vec<Value> {
    read_listwise(file)["cases"].as_array().unwrap().clone()
}

/// c . s over the first positions.
fn decoded(c: &[f64], order: &[u32], s: &[f64]) -> f64 {
    order.iter().zip(c).map(|(&document, c)| c * s[document as usize]).sum()
}

#[test]
fn losses_and_lists_of_blocks_match_the_file() {
    for case in cases("diversity.json") {
        let (y, s) = (numbers(&case["y"]), numbers(&case["s"]));
        let k = case["k"].as_u64().unwrap() as usize;
        let blocks = whole(&case["blocks"]);
        let row_groups: Vec<RowGroup> =
            blocks.iter().zip(0..).map(|(&group, document)| RowGroup { document, group }).collect();
        let (measure, decoder) = (Measure::Ndcg(Some(k)), Decoder::Linear(k));
        let direct = Direct { measure, decoder, bound: Bound::Convex, diverse: true };
        let query = DirectQuery::diverse(&direct.measure, &direct.decoder, &y, &row_groups);
        assert_close(&query.a[..k], &numbers(&case["a"]), 1e-12, "a");
        assert_close(&query.b, &numbers(&case["b"]), 1e-12, "b");
        assert_close(&query.c[..k], &numbers(&case["c"]), 1e-12, "c");
        assert_close(&[query.best], &[case["constrained_best"].as_f64().unwrap()], 1e-12, "best");
        // Which of several best lists the file takes as reference is not part of its contract.
        let reference = whole(&case["reference_documents"]);
        let ideal = query.ideal_order();
        assert_close(&[query.metric(&ideal)], &[query.metric(&reference)], 1e-12, "reference");
        let shown = select_diverse(&s, &row_groups, 1);
        assert_eq!(shown[..k], whole(&case["decoded_documents"]), "decoded");
        let regret = query.best - query.metric(&shown);
        assert_close(&[regret], &[case["regret"].as_f64().unwrap()], 1e-12, "regret");
        let mut g = vec![0.0; y.len()];
        let value = query.bound(&s, &reference, &mut g);
        assert_close(&[value], &[case["convex"].as_f64().unwrap()], 1e-10, "convex");
        assert_close(&g, &numbers(&case["convex_grad_s"]), 1e-10, "its subgradient");
        let convex = direct.prepare(&y, &row_groups).value_and_subgradient(&s, &mut g);
        let nonconvex = Direct { bound: Bound::Nonconvex, ..direct };
        let tight = nonconvex.prepare(&y, &row_groups).value_and_subgradient(&s, &mut g);
        assert!(
            regret <= tight + 1e-12 && tight <= convex.min(value) + 1e-12,
            "regret <= nonconvex <= convex"
        );
        let apart = decoded(&query.c, &shown[..k], &s) - decoded(&query.c, &ideal[..k], &s);
        assert!((convex - tight - apart).abs() < 1e-10, "the bounds differ by what they decode");

        let matrix = rows(&case["generic_matrix"]);
        let mut workspace = Workspace::default();
        let found = maximize_in_blocks(&matrix.concat(), matrix.len(), &blocks, &mut workspace);
        assert_close(&[found], &[case["generic_maximum"].as_f64().unwrap()], 1e-12, "maximum");
        assert_eq!(workspace.chosen(), whole(&case["generic_documents"]), "its documents");
    }
}

#[test]
fn losses_and_arrangements_of_slots_match_the_file() {
    for case in cases("matching.json") {
        let scores = rows(&case["scores"]);
        let slots = scores[0].len();
        let row_groups: Vec<RowGroup> = (0..scores.len() as u32)
            .flat_map(|document| (0..slots as u32).map(move |group| RowGroup { document, group }))
            .collect();
        let at = |documents: &[u32]| -> Vec<u32> {
            let mut rows: Vec<u32> =
                documents.iter().zip(0..).map(|(document, slot)| document * slots as u32 + slot).collect();
            rows.sort_unstable();
            rows
        };
        let cost = rows(&case["cost"]).concat();
        let s = scores.concat();
        let loss = MatchingQuery::new(&row_groups, at(&whole(&case["target"])), cost.clone()).unwrap();
        let mut g = vec![0.0; s.len()];
        let value = loss.value_and_subgradient(&s, &mut g);
        assert_close(&[value], &[case["loss"].as_f64().unwrap()], 1e-10, "loss");
        assert_close(&g, &rows(&case["grad_scores"]).concat(), 1e-10, "its subgradient");
        let table = Slots::new(&row_groups).unwrap();
        let mut workspace = Workspace::default();
        let (_, shown) = table.best(&s, &mut workspace);
        assert_eq!(shown, at(&whole(&case["decoded_documents"])), "decoded");
        let wrong: f64 = shown.iter().map(|&row| cost[row as usize]).sum();
        assert_close(&[wrong], &[case["decoded_cost"].as_f64().unwrap()], 1e-12, "its cost");
        let augmented: Vec<f64> = s.iter().zip(&cost).map(|(s, d)| s + d).collect();
        assert_eq!(table.best(&augmented, &mut workspace).1, at(&whole(&case["augmented_documents"])));
        assert!(value >= wrong - 1e-12, "it bounds the cost");
    }
}
