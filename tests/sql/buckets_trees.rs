//! Boosted trees from packs in one process (rule 15.8): the trees of rows in memory, bit for bit.

use rusqlite::Connection;

use crate::buckets::{fit, judged, with};
use crate::buckets_errors::problem;
use crate::support::value;

/// The splits and values of a model.
fn trees(connection: &Connection, model: &[u8]) -> String {
    value(connection, "SELECT ltr_export(?, 'json') -> 'terms'", [model])
}

/// Trainings with all that rows can have.
const CASES: &[(&str, &str)] = &[
    ("complete", r#"{"trees": 7}"#),
    ("complete", r#"{"trees": 5, "seeds": 2, "depth": 3, "bins": 4, "row_weights": "equal"}"#),
    ("complete", r#"{"metric": "ndcg@3", "depth": 2}"#),
    ("complete", r#"{"trees": 5, "loss": "list_net"}"#),
    ("complete", r#"{"trees": 5, "loss": "lambda_rank", "truncation": 3}"#),
    ("judgments", r#"{"trees": 6}"#),
    ("judgments", r#"{"trees": 4, "missing": "zero", "feature_fraction": 0.5, "seed": 9}"#),
    ("judgments", r#"{"validation": 0.4, "depth": 2, "learning_rate": 0.3}"#),
    ("judgments", r#"{"trees": 4, "loss": "logistic", "pair_weights": "gain"}"#),
];

#[test]
fn packs_give_the_trees_of_rows() {
    let connection = judged(60);
    for (rows, options) in CASES {
        let packs = if *rows == "judgments" { "packs" } else { "complete_packs" };
        let model = fit(&connection, "boosted_trees", packs, options);
        let of_rows = fit(&connection, "boosted_trees", rows, options);
        assert_eq!(trees(&connection, &model), trees(&connection, &of_rows), "{rows} {options}");
        // The same bytes for any threads, order of rows and packs.
        let in_buckets = with(options, r#""buckets": 8"#);
        let shuffled = format!("SELECT * FROM {rows} ORDER BY random()");
        let shuffled_packs = format!("SELECT * FROM {packs} ORDER BY random()");
        for threads in [1, 2, 8] {
            let options = with(&in_buckets, &format!("\"threads\": {threads}"));
            for source in [&shuffled, &shuffled_packs] {
                assert!(model == fit(&connection, "boosted_trees", source, &options), "{source} {options}");
            }
        }
    }
}

/// Means add up packs in a different order than rows.
#[test]
fn means_of_missing_values_differ_by_rounding_only() {
    let connection = judged(60);
    let options = r#"{"trees": 6, "missing": "mean"}"#;
    let models = ["packs", "judgments"].map(|source| fit(&connection, "boosted_trees", source, options));
    let sql = "SELECT max(abs(ltr_score(?1, features) - ltr_score(?2, features))) FROM complete";
    assert!(value::<f64>(&connection, sql, (&models[0], &models[1])) < 1e-9);
}

#[test]
fn engines_and_choices_without_packs_are_refused() {
    let connection = judged(20);
    for (sql, expected) in [
        (
            "SELECT ltr_begin('boosted_trees', '{\"buckets\": 8, \"trees\": 10}')",
            "in rounds it would need 60, one for each level",
        ),
        ("SELECT ltr_fit('boosted_trees', 'packs', '{\"scale\": \"standard\"}')", "trees need no scaling"),
        ("SELECT ltr_fit('boosted_trees', 'packs', '{\"query_columns\": true}')", "no query features"),
        ("SELECT ltr_fit('boosted_trees', 'packs', '{\"validation\": \"judgments\"}')", "and no source"),
        ("SELECT ltr_fit('boosted_trees', 'packs', '{\"missing\": \"error\"}')", "is NULL"),
        ("SELECT ltr_fit('boosted_trees', 'packs', '{\"loss\": \"list_mle\"}')", "weights of documents"),
        (
            "SELECT ltr_fit('boosted_trees', 'SELECT * FROM packs UNION ALL SELECT * FROM packs')",
            "appears twice in round 1",
        ),
        ("SELECT ltr_fit('boosted_trees', 'packs', '{\"max_memory\": 100000}')", "max_memory"),
        (
            "SELECT ltr_fit('boosted_trees', 'SELECT ltr_bucket(query_id, 8) AS bucket,
               ltr_pack(query_id, doc_id, 1, features) AS rows FROM complete GROUP BY 1')",
            "nothing to learn",
        ),
    ] {
        let actual = problem(&connection, sql);
        assert!(actual.contains(expected), "{sql}: {actual}");
    }
}
