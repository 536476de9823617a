//! The options `group_by` and `split_by` where a training chooses on held-out queries itself (rules 5.25, 5.36).

use rusqlite::Connection;
use serde_json::{Value, json};
use sqlite_ltr::internals::train::ALGORITHMS;
use sqlite_ltr::{Dataset, Id, Trainer};

use crate::support::{database, value};

/// Twelve seasons of five queries. Queries of a season have the same documents with the same grades, which have nothing to do with
/// the features: who has seen one query of a season knows the others.
const DATA: &str = "
CREATE TABLE j AS WITH RECURSIVE n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < 479),
x AS (SELECT i / 8 AS query_id, i % 8 AS doc_id, i / 40 AS season, (i / 40) * 8 + i % 8 AS document FROM n)
SELECT query_id, doc_id, season, (document * 7919 % 101) / 101.0 AS a, (document * 104729 % 97) / 97.0 AS b,
       (document * 1299709 % 89) % 3 AS relevance FROM x;";

fn data() -> Connection {
    let connection = database();
    connection.execute_batch(DATA).unwrap();
    connection
}

fn report(connection: &Connection, algorithm: &str, options: &Value) -> rusqlite::Result<Value> {
    let sql = "SELECT ltr_train(?1, 'j', ?2)";
    connection
        .query_row(sql, (algorithm, options.to_string()), |row| row.get::<_, String>(0))
        .map(|text| serde_json::from_str(&text).unwrap())
}

/// Rule 5.36: every algorithm keeps groups together, or says that it does not.
#[test]
fn every_training_that_chooses_keeps_groups_together() {
    let connection = data();
    for algorithm in ALGORITHMS {
        let options = |key: &str| json!({ key: "season", "effort": 1, "epochs": 2 });
        let options = |key: &str| {
            let mut all = options(key);
            all.as_object_mut().unwrap().retain(|name, _| name == key || (algorithm.reads)(name));
            all
        };
        let refused = ["perceptron", "cofi_rank", "indv_svm", "matching"].contains(&algorithm.name);
        match report(&connection, algorithm.name, &options("group_by")) {
            Ok(report) => {
                assert!(!refused, "{}", algorithm.name);
                let held_out = report["validation"]["held_out"].as_str().unwrap();
                assert!(held_out.ends_with("of whole groups"), "{}: {held_out}", algorithm.name);
                assert_eq!(report["roles"]["features"], json!(["a", "b"]), "{}", algorithm.name);
            }
            Err(problem) => assert!(refused, "{}: {problem}", algorithm.name),
        }
    }
    for algorithm in ["auto", "boosted_trees", "lambdamart", "q_svm"] {
        let options = json!({ "split_by": "season" });
        let report = report(&connection, algorithm, &options).unwrap();
        let held_out = report["validation"]["held_out"].as_str().unwrap();
        assert!(
            held_out.ends_with("in 5 folds, each after the queries of its training"),
            "{algorithm}: {held_out}"
        );
    }
}

/// Rule 5.36: queries that share documents do not make validation look better.
#[test]
fn validation_by_groups_is_not_deceived_by_queries_that_are_alike() {
    let connection = data();
    for algorithm in ["auto", "boosted_trees"] {
        let best = |options: Value| {
            report(&connection, algorithm, &options).unwrap()["validation"]["best"].as_f64().unwrap()
        };
        let ignored = json!({ "columns": { "ignore": ["season"] } });
        let (plain, grouped) = (best(ignored), best(json!({ "group_by": "season" })));
        let forward = best(json!({ "split_by": "season" }));
        assert!(plain > grouped + 0.05 && plain > forward + 0.05, "{algorithm}: {plain} {grouped} {forward}");
    }
    // In ltr_cross_validate and in a search, too.
    let value = |options: Value| -> f64 {
        value(
            &connection,
            "SELECT avg(value) FROM ltr_cross_validate('boosted_trees', 'j', ?1)",
            [options.to_string()],
        )
    };
    let plain = value(json!({ "trees": [50, 60], "columns": { "ignore": ["season"] } }));
    let grouped = value(json!({ "trees": [50, 60], "group_by": "season" }));
    assert!(plain > grouped + 0.05, "{plain} {grouped}");
    let report =
        report(&connection, "rank_svm", &json!({ "scale": ["none", "quantile"], "group_by": "season" }));
    assert!(report.unwrap()["search"]["held_out"].as_str().unwrap().contains("60 of 60 queries"));
}

/// Rule 5.36: what is refused.
#[test]
fn groups_that_have_no_meaning_are_refused() {
    let connection = data();
    for (algorithm, options, problem) in [
        (
            "rank_svm",
            json!({ "group_by": "doc_id" }),
            "the query 0 is in the groups 0 and 1; all rows of a query need the same group",
        ),
        (
            "rank_svm",
            json!({ "group_by": "none" }),
            "option 'group_by' names the column \"none\", which does not exist",
        ),
        (
            "rank_svm",
            json!({ "group_by": "season", "lambda": 1 }),
            "option 'group_by': there is nothing to choose",
        ),
        ("cofi_rank", json!({ "group_by": "season" }), "'cofi_rank' holds out ratings of every user"),
        ("perceptron", json!({ "group_by": "season" }), "option 'group_by': there is nothing to choose"),
        (
            "boosted_trees",
            json!({ "group_by": "season", "trees": 20 }),
            "option 'group_by': there is nothing to choose with \"trees\": 20 and no query features",
        ),
        ("auto", json!({ "folds": 3 }), "option 'folds': there is nothing to choose"),
        (
            "regression",
            json!({ "group_by": "season", "buckets": 8 }),
            "the option 'group_by' is not supported",
        ),
        (
            "boosted_trees",
            json!({ "split_by": "season", "buckets": 8 }),
            "the option 'split_by' is not supported",
        ),
        (
            "rank_svm",
            json!({ "group_by": "season", "folds": 20, "scale": ["none", "quantile"] }),
            "have 12 different values in the column, too few for 20 folds",
        ),
    ] {
        let found = report(&connection, algorithm, &options).unwrap_err().to_string();
        assert!(found.contains(problem), "{algorithm} {options}: {found}");
    }
    let sql = "SELECT ltr_train('rank_svm', ?1, '{\"group_by\": \"part\"}')";
    for (part, problem) in
        [("1", "have one value in the column"), ("nullif(season, 3)", "a value to group by")]
    {
        let source = format!("SELECT *, {part} AS part FROM j");
        let found = connection.query_row(sql, [source], |_| Ok(())).unwrap_err().to_string();
        assert!(found.contains(problem), "{found}");
    }
}

/// A view of candidates takes the column from the judgments, and Rust has the same model.
#[test]
fn views_and_rust_have_the_same_groups() {
    let connection = data();
    let view = "CREATE TABLE judged AS SELECT query_id AS query, doc_id, relevance, season FROM j;
        CREATE VIEW v AS SELECT q.query AS query_id, doc_id, a, b FROM ltr_query AS q JOIN j ON j.query_id = q.query";
    connection.execute_batch(view).unwrap();
    for key in ["group_by", "split_by"] {
        let fit = |source: &str, options: Value| -> Vec<u8> {
            value(&connection, "SELECT ltr_fit('boosted_trees', ?1, ?2)", (source, options.to_string()))
        };
        let model = fit("SELECT query_id, doc_id, season, a, b, relevance FROM j", json!({ key: "season" }));
        let scores = |model: &[u8]| -> String {
            let sql = "SELECT group_concat(score) FROM (SELECT * FROM ltr_rank(?1, 'SELECT query_id, doc_id, a, b FROM j'))";
            value(&connection, sql, [model])
        };
        let of_view = fit("judged", json!({ key: "season", "candidates": "v" }));
        assert_eq!(scores(&of_view), scores(&model), "{key}");
        // Rust.
        let column = |name: &str| -> Vec<f64> {
            let sql = format!("SELECT {name} FROM j ORDER BY query_id, doc_id");
            let mut statement = connection.prepare(&sql).unwrap();
            statement.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
        };
        let ids = |name: &str| column(name).into_iter().map(|id| Id::Integer(id as i64)).collect::<Vec<Id>>();
        let features: Vec<f64> = column("a").into_iter().zip(column("b")).flat_map(|(a, b)| [a, b]).collect();
        let features = ndarray::Array2::from_shape_vec((480, 2), features).unwrap();
        let rows = Dataset::from_arrays(features, ids("query_id"), &column("relevance")).unwrap();
        let rows = rows.with_feature_names(["a", "b"]).unwrap().with_doc_ids(ids("doc_id")).unwrap();
        let rows = if key == "group_by" {
            rows.with_group_by(ids("season"))
        } else {
            rows.with_split_by(ids("season"))
        };
        let rows = rows.unwrap();
        let own = Trainer::new("boosted_trees").fit(&rows).unwrap().rank(&rows).unwrap();
        let mut own: Vec<_> = own.iter().collect();
        own.sort_by(|a, b| (&a.query_id, &a.doc_id).cmp(&(&b.query_id, &b.doc_id)));
        let sql = "SELECT json_group_array(score) FROM (SELECT * FROM ltr_rank(?1, 'SELECT query_id, doc_id, a, b FROM j') ORDER BY query_id, doc_id)";
        let theirs: Vec<f64> = serde_json::from_str(&value::<String>(&connection, sql, [&model])).unwrap();
        let own: Vec<f64> = own.into_iter().map(|row| row.score).collect();
        assert!(own.iter().zip(&theirs).all(|(a, b)| (a - b).abs() < 1e-12), "{key}");
    }
}
