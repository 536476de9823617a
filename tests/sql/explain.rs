//! Explanations add up to scores, for every algorithm, kernel, form and scaling; the importance of features.

use rusqlite::Connection;
use serde_json::{Map, Value, json};
use sqlite_ltr::internals::learn::kernel;
use sqlite_ltr::internals::train::ALGORITHMS;
use sqlite_ltr::internals::train::algorithm::AlgorithmDef;

use crate::support::{database, value};

/// 12 judged queries of four documents with three features and a query feature. `c` is noise; `wide`: 14 features.
const SCHEMA: &str = "
CREATE TABLE judged(query_id, doc_id, relevance, a REAL, b REAL, c REAL, q_mood REAL);
WITH RECURSIVE
  queries(q) AS (VALUES (1) UNION ALL SELECT q + 1 FROM queries WHERE q < 12),
  documents(d) AS (VALUES (1) UNION ALL SELECT d + 1 FROM documents WHERE d < 4),
  raw(q, d, a, b, c) AS (SELECT q, d, ((7 * d + 3 * q) % 11) / 11.0, ((5 * d + 4 * q) % 13) / 13.0,
    ((d * d + q * q) % 7) / 7.0 FROM queries, documents)
INSERT INTO judged SELECT q, d, (a > 0.3) + (a > 0.6 - b / 3), a, b, c, q / 12.0 FROM raw;
CREATE TABLE wide AS SELECT query_id, doc_id, relevance, a, b, c, a * b AS d, a - b * c AS e, a * c AS f, b * c AS g,
  a * b * c AS h, a * a AS i, b * b AS j, c * c AS k, abs(a - b) AS l, abs(a - c) AS m, abs(b - c) AS n FROM judged;
";

const PLAIN: &str = "SELECT query_id, doc_id, relevance, a, b, c, q_mood FROM judged";
const SLOTS: &str = "SELECT query_id, one.doc_id, two.doc_id AS slot, one.doc_id = two.doc_id AS relevance, \
     one.a, two.b, one.c FROM judged one JOIN judged two USING (query_id)";
const RATINGS: &str = "SELECT query_id AS user, doc_id AS item, relevance + a AS rating FROM judged WHERE doc_id <> query_id % 4 + 1";

fn connect() -> Connection {
    let connection = database();
    connection.execute_batch(SCHEMA).unwrap();
    connection
}

/// What an algorithm is trained on.
fn source(algorithm: &str) -> &'static str {
    match algorithm {
        "matching" => SLOTS,
        "cofi_rank" => RATINGS,
        _ => PLAIN,
    }
}

/// The options of each model: the defaults; every kernel in every form; every scaling.
fn variants(algorithm: &AlgorithmDef) -> Vec<Value> {
    let mut base = Map::new();
    if (algorithm.reads)("lambda") && algorithm.name != "auto" {
        base.insert("lambda".to_owned(), json!(0.05));
    }
    let with = |more: Value| {
        let mut options = base.clone();
        options.extend(more.as_object().unwrap().clone());
        Value::Object(options)
    };
    let mut all = vec![with(json!({}))];
    if (algorithm.reads)("kernel") {
        for kernel in kernel::NAMES {
            let more = if (algorithm.reads)("landmarks") { json!({ "landmarks": 6 }) } else { json!({}) };
            let mut options = with(more);
            options["kernel"] = json!(kernel);
            all.push(options.clone());
            if (algorithm.reads)("form") {
                options["form"] = json!("ranking");
                all.push(options);
            }
        }
    }
    if (algorithm.reads)("scale") {
        let scales = ["quantile", "standard", "none", "query_minmax", "quantile_minmax", "max_norm"];
        all.extend(scales.map(|scale| with(json!({ "scale": scale }))));
    }
    all
}

fn assert_near(found: f64, expected: f64, what: &str) {
    assert!(
        (found - expected).abs() <= 1e-9 * expected.abs().max(1.0),
        "{what}: {found}, expected {expected}"
    );
}

/// Checks the explanations of all documents of a query.
fn check_query(connection: &Connection, model: &[u8], (source, query): (&str, i64), what: &str) {
    let what = format!("{what}, query {query} of {source}");
    let sql = "SELECT doc_id, score FROM ltr_rank(?1, ?2) WHERE query_id = ?3";
    let mut statement = connection.prepare(sql).unwrap();
    let rows = statement.query_map((model, source, query), |row| Ok((row.get(0)?, row.get(1)?)));
    let ranked: Vec<(i64, f64)> =
        rows.unwrap().collect::<Result<_, _>>().unwrap_or_else(|e| panic!("{what}: {e}"));
    assert!(ranked.len() > 2, "{what}");
    for (doc, score) in &ranked {
        let sql = "SELECT sum(contribution) FROM ltr_explain(?1, ?2, ?3, ?4)";
        assert_near(value(connection, sql, (model, source, query, doc)), *score, &what);
    }
    let [(best, high), (second, low)] = [ranked[0], ranked[1]];
    let sql = "SELECT sum(contribution) FROM ltr_explain_rank(?1, ?2, ?3, ?4, ?5)";
    assert_near(value(connection, sql, (model, source, query, best, second)), high - low, &what);
}

/// Checks the explanation of a vector, where the model scores vectors.
fn check_vector(connection: &Connection, model: &[u8], what: &str) {
    for features in ["'[0.3, 0.6, 0.1]'", "ltr_vec(0.3, 0.6, 0.1)"] {
        for query in ["", ", '[0.4]'"] {
            let score = format!("SELECT ltr_score(?1, {features}{query})");
            let score = connection.query_row(&score, [model], |row| row.get::<_, f64>(0));
            let sum = format!("SELECT sum(contribution) FROM ltr_explain(?1, {features}{query})");
            let sum = connection.query_row(&sum, [model], |row| row.get::<_, f64>(0));
            match (score, sum) {
                (Ok(score), Ok(sum)) => assert_near(sum, score, what),
                (Err(_), Err(_)) => {}
                (score, sum) => panic!("{what}: score {score:?}, sum {sum:?}"),
            }
        }
    }
}

#[test]
fn contributions_add_up_to_the_score_for_every_algorithm_kernel_form_and_scaling() {
    let connection = connect();
    let new = "SELECT query_id + 100 AS query_id, doc_id, b AS a, c AS b, a AS c, q_mood - 0.01 AS q_mood FROM judged";
    let vectors = "SELECT query_id, doc_id, ltr_vec(a, b, c) AS features, q_mood FROM judged";
    for algorithm in ALGORITHMS {
        let mut models = 0;
        for options in variants(algorithm) {
            let what = format!("{} {options}", algorithm.name);
            let sql = "SELECT ltr_fit(?1, ?2, ?3)";
            let source = source(algorithm.name);
            let model: Vec<u8> =
                match connection
                    .query_row(sql, (algorithm.name, source, options.to_string()), |row| row.get(0))
                {
                    Ok(model) => model,
                    // A combination that the algorithm refuses.
                    Err(_) => continue,
                };
            models += 1;
            check_query(&connection, &model, (source, 3), &what);
            if source == PLAIN {
                check_query(&connection, &model, (new, 103), &what);
                check_query(&connection, &model, (vectors, 4), &what);
                check_vector(&connection, &model, &what);
            }
        }
        let expected = variants(algorithm).len();
        assert!(models > 0 && models * 3 >= expected, "{}: {models} of {expected} models", algorithm.name);
    }
}

#[test]
fn sampled_contributions_add_up_and_do_not_depend_on_threads() {
    let connection = connect();
    for options in [
        r#"{"lambda": 0.05, "kernel": "gaussian"}"#,
        r#"{"lambda": 0.05, "kernel": "gaussian", "form": "ranking", "scale": "query_minmax"}"#,
        r#"{"lambda": 0.05, "kernel": "polynomial", "form": "ranking", "landmarks": 9}"#,
    ] {
        let model: Vec<u8> = value(&connection, "SELECT ltr_fit('rank_svm', 'wide', ?1)", [options]);
        check_query(&connection, &model, ("wide", 3), options);
        let explained = |options: &str| -> String {
            let sql = "SELECT json_group_array(json_array(feature, contribution, standard_error)) FROM ltr_explain(?1, 'wide', 3, 2, ?2)";
            value(&connection, sql, (&model, options))
        };
        let one = explained(r#"{"threads": 1, "samples": 100}"#);
        assert_eq!(one, explained(r#"{"threads": 4, "samples": 100}"#));
        assert_ne!(one, explained(r#"{"samples": 100, "seed": 1}"#));
        let sql = "SELECT max(standard_error) FROM ltr_explain(?1, 'wide', 3, 2)";
        assert!(value::<f64>(&connection, sql, [&model]) > 0.0);
    }
}

#[test]
fn the_feature_that_orders_the_documents_is_the_important_one() {
    let connection = connect();
    for options in [r#"{"lambda": 0.01}"#, r#"{"lambda": 0.01, "kernel": "gaussian"}"#] {
        let model: Vec<u8> = value(&connection, "SELECT ltr_fit('rank_svm', 'judged', ?1)", [options]);
        let found = |options: &str| -> String {
            let sql = "SELECT json_group_array(json_array(feature, n, loss, ci_low, ci_high)) FROM ltr_importance(?1, 'judged', ?2)";
            value(&connection, sql, (&model, options))
        };
        let one: Vec<(String, i64, f64, f64, f64)> =
            serde_json::from_str(&found(r#"{"threads": 1, "metric": "ndcg"}"#)).unwrap();
        assert_eq!(one.len(), 3);
        assert!(one.iter().all(|row| row.1 <= 12 && row.3 <= row.2 && row.2 <= row.4), "{one:?}");
        assert!(one[0].0 == "a" && one[0].3 > 0.0 && one[0].2 > 3.0 * one[2].2.abs(), "{one:?}");
        assert_eq!(found(r#"{"threads": 1}"#), found(r#"{"threads": 3}"#));
        assert_ne!(found("{}"), found(r#"{"seed": 1}"#));
    }
}
