//! Training in buckets (rules 15.1, 15.2, 15.4): one model from a recursive statement, from packs and from rows; merges in any order.

use rusqlite::Connection;
use rusqlite::types::Value;
use sqlite_ltr::internals::math::random::Random;

use crate::buckets_errors::problem;
use crate::support::{database, value};

/// Judged documents in text ids of queries, with some missing features and weights, and packs in 8 buckets.
pub fn judged(queries: usize) -> Connection {
    let connection = database();
    connection
        .execute_batch(
            "CREATE TABLE judgments(query_id, doc_id, relevance, features, weight, doc_weight);
             CREATE TABLE complete(query_id, doc_id, relevance, features); BEGIN",
        )
        .unwrap();
    let mut random = Random::new(3);
    let mut all = connection.prepare("INSERT INTO judgments VALUES (?, ?, ?, ?, ?, ?)").unwrap();
    let mut complete = connection.prepare("INSERT INTO complete VALUES (?, ?, ?, ltr_vec(?))").unwrap();
    for query in 0..queries {
        let id = format!("query {query}");
        let weight = 0.5 + (query % 3) as f64;
        for doc in 0..(2 + query as i64 % 7) {
            let x: Vec<f64> = (0..4).map(|_| random.symmetric()).collect();
            let score = x[0] - 0.5 * x[1] + 0.2 * random.symmetric();
            let grade = i64::from(score > -0.3) + i64::from(score > 0.4);
            let mut json = format!("[{}, {}, {}, {}]", x[0], x[1], (9.0 * x[2]).round(), 100.0 + x[3]);
            complete.execute((&id, doc, grade, &json)).unwrap();
            if random.symmetric() > 0.4 {
                json = format!("[{}, {}, null, {}]", x[0], x[1], 100.0 + x[3]);
            }
            all.execute((&id, doc, grade, &json, weight, (doc % 2 + 1) as f64)).unwrap();
        }
    }
    drop((all, complete));
    connection
        .execute_batch(
            "COMMIT;
             CREATE TABLE packs AS SELECT ltr_bucket(query_id, 8) AS bucket,
               ltr_pack(query_id, doc_id, relevance, features, NULL, weight, doc_weight) AS rows
               FROM (SELECT * FROM judgments ORDER BY random()) GROUP BY 1;
             CREATE TABLE complete_packs AS SELECT ltr_bucket(query_id, 8) AS bucket,
               ltr_pack(query_id, doc_id, relevance, features) AS rows FROM complete GROUP BY 1",
        )
        .unwrap();
    connection
}

/// The model of the recursive statement of the documentation.
pub fn recursive(connection: &Connection, algorithm: &str, packs: &str, options: &str) -> Vec<u8> {
    let sql = format!(
        "WITH RECURSIVE training(state) AS (
           SELECT ltr_begin(?1, ?2)
           UNION ALL
           SELECT ltr_step(state, (SELECT ltr_merge(ltr_partial(state, bucket, rows)) FROM {packs}))
             FROM training WHERE NOT ltr_info(state) ->> 'done')
         SELECT ltr_finish(state) FROM training WHERE ltr_info(state) ->> 'done'"
    );
    value(connection, &sql, (algorithm, options))
}

pub fn fit(connection: &Connection, algorithm: &str, source: &str, options: &str) -> Vec<u8> {
    value(connection, "SELECT ltr_fit(?1, ?2, ?3)", (algorithm, source, options))
}

pub fn with(options: &str, more: &str) -> String {
    format!("{}, {more}}}", &options[..options.len() - 1])
}

/// A model's weights, and the weights of the same training without buckets.
fn compare_weights(connection: &Connection, model: &[u8], other: &[u8], tolerance: f64) {
    let weights = |model: &[u8]| -> Vec<f64> {
        let mut statement = connection.prepare("SELECT weight FROM ltr_weights(?1)").unwrap();
        let rows = statement.query_map([model], |row| row.get(0)).unwrap();
        rows.map(Result::unwrap).collect()
    };
    for (own, other) in weights(model).iter().zip(weights(other)) {
        assert!((own - other).abs() <= tolerance * (1.0 + other.abs()), "{own} {other}");
    }
}

/// Trainings of every kind: algorithm, options, the largest difference of weights from a training without buckets.
const TRAININGS: &[(&str, &str, f64)] = &[
    ("regression", r#"{"lambda": 0.01, "scale": "none", "missing": "zero"}"#, 1e-12),
    ("regression", r#"{"lambda": 0.01, "scale": "standard", "missing": "mean"}"#, 1e-12),
    (
        "regression",
        r#"{"lambda": 0.01, "scale": "standard", "missing": "zero", "weighting": "pairs"}"#,
        1e-12,
    ),
    ("regression", r#"{"lambda": 0.1, "scale": "quantile", "missing": "mean"}"#, 0.02),
    ("list_net", r#"{"lambda": 0.01, "scale": "standard", "missing": "mean", "tolerance": 1e-8}"#, 1e-4),
    ("rank_svm", r#"{"lambda": 0.01, "scale": "standard", "missing": "mean"}"#, 0.01),
];

#[test]
fn one_model_from_a_statement_from_packs_and_from_rows() {
    let connection = judged(60);
    for &(algorithm, options, tolerance) in TRAININGS {
        let in_buckets = with(options, r#""buckets": 8"#);
        let model = recursive(&connection, algorithm, "packs", &in_buckets);
        assert!(model == fit(&connection, algorithm, "packs", &in_buckets), "{algorithm} {options}: packs");
        assert!(
            model == fit(&connection, algorithm, "judgments", &in_buckets),
            "{algorithm} {options}: rows"
        );
        let one_thread = with(&in_buckets, r#""threads": 1"#);
        assert!(model == fit(&connection, algorithm, "packs", &one_thread), "{algorithm} {options}: threads");
        let rows = fit(&connection, algorithm, "judgments", options);
        compare_weights(&connection, &model, &rows, tolerance);
    }
}

/// Rule 15.1: buckets match Spark's, whose `xxhash64` has the seed 42. A pack does not depend on the order of its rows.
#[test]
fn buckets_depend_on_ids_and_packs_on_their_rows_alone() {
    let connection = judged(10);
    for (id, bytes) in [
        (Value::from(7), 7_i64.to_le_bytes().to_vec()),
        (Value::from(-1), (-1_i64).to_le_bytes().to_vec()),
        (Value::from("query 3".to_owned()), b"query 3".to_vec()),
        (Value::from(String::new()), Vec::new()),
    ] {
        let hash = xxhash_rust::xxh64::xxh64(&bytes, 42) as i64;
        for buckets in [1, 8, 65_536] {
            let found: i64 = value(&connection, "SELECT ltr_bucket(?, ?)", (&id, buckets));
            assert_eq!(found, hash.rem_euclid(buckets), "{id:?} of {buckets}");
        }
    }
    let pack = |order: &str| -> Vec<u8> {
        let sql = "SELECT ltr_pack(query_id, doc_id, relevance, features, NULL, weight, doc_weight)
                     FROM (SELECT * FROM judgments WHERE ltr_bucket(query_id, 2) = 1 ORDER BY ";
        value(&connection, &format!("{sql}{order})"), ())
    };
    let expected = pack("query_id, doc_id");
    for order in ["query_id DESC, doc_id DESC", "relevance", "random()"] {
        assert!(pack(order) == expected, "{order}");
    }
}

/// Rule 15.5: the folds are buckets with the same number modulo 5.
#[test]
fn lambda_is_chosen_by_folds_of_buckets() {
    let connection = judged(60);
    for (algorithm, tolerance) in [("regression", 1e-12), ("list_net", 2e-3)] {
        let options = r#"{"scale": "none", "tolerance": 1e-8, "buckets": 8}"#;
        let options = if algorithm == "regression" { r#"{"scale": "none", "buckets": 8}"# } else { options };
        let model = fit(&connection, algorithm, "complete_packs", &with(options, r#""lambda": [1, 0.01]"#));
        let curve: String =
            value(&connection, "SELECT ltr_info(?1) ->> '$.training.validation.curve'", [&model]);
        let curve: Vec<(f64, f64)> = serde_json::from_str(&curve).unwrap();
        assert_eq!(curve.len(), 2);
        for (lambda, found) in curve {
            let options = with(options, &format!("\"lambda\": {lambda}"));
            let mut values: Vec<f64> = Vec::new();
            for fold in 0..5 {
                let packs = format!("SELECT * FROM complete_packs WHERE bucket % 5 <> {fold}");
                let model = fit(&connection, algorithm, &packs, &options);
                let rows = format!("SELECT * FROM complete WHERE ltr_bucket(query_id, 8) % 5 = {fold}");
                let sql =
                    "SELECT value FROM ltr_evaluate(?1, ?2) WHERE query_id IS NOT NULL AND value IS NOT NULL";
                let mut statement = connection.prepare(sql).unwrap();
                let rows = statement.query_map((&model, &rows), |row| row.get(0)).unwrap();
                values.extend(rows.map(Result::unwrap).collect::<Vec<f64>>());
            }
            let expected = values.iter().sum::<f64>() / values.len() as f64;
            assert!((found - expected).abs() < tolerance, "{algorithm} {lambda}: {found} {expected}");
        }
    }
}

/// Losses that do not weigh documents, and features in BLOBs.
#[test]
fn features_in_blobs_train_every_algorithm() {
    let connection = judged(60);
    for (algorithm, options) in [
        ("regression", r#"{"buckets": 8}"#),
        ("rank_svm", r#"{"buckets": 8, "lambda": [0.1, 0.01], "pair_weights": "grade"}"#),
        ("eigen_rank", r#"{"buckets": 8}"#),
        ("eigen_rank", r#"{"buckets": 8, "components": 2, "scale": "standard"}"#),
        ("list_net", r#"{"buckets": 8, "scale": "standard", "lambda": [0.1, 0.01]}"#),
        ("list_mle", r#"{"buckets": 8, "lambda": 0.01}"#),
        ("cs_list_mle", r#"{"buckets": 8, "lambda": 0.01, "weighting": "documents"}"#),
    ] {
        let model = recursive(&connection, algorithm, "complete_packs", options);
        assert!(model == fit(&connection, algorithm, "complete_packs", options), "{algorithm}: packs");
        assert!(model == fit(&connection, algorithm, "complete", options), "{algorithm}: rows");
        // Other folds and bins of quantiles than without buckets.
        let alone: String = value(&connection, "SELECT json_remove(?1, '$.buckets')", [options]);
        let [ndcg, expected] = [model, fit(&connection, algorithm, "complete", &alone)].map(|model| -> f64 {
            let sql = "SELECT value FROM ltr_evaluate(?1, 'complete') WHERE query_id IS NULL";
            value(&connection, sql, [&model])
        });
        assert!((ndcg - expected).abs() < 0.01, "{algorithm}: {ndcg}, without buckets {expected}");
    }
}

/// Rule 15.2: partitions of several sizes merge their own answers first, in random orders.
#[test]
fn partitions_and_orders_change_no_bit() {
    let connection = judged(40);
    let answer = |sql: &str| -> Vec<u8> {
        let state = "ltr_begin('regression', '{\"buckets\": 8, \"missing\": \"zero\"}')";
        value(&connection, &sql.replace("STATE", state), ())
    };
    let all = answer("SELECT ltr_merge(ltr_partial(STATE, bucket, rows)) FROM packs");
    for partitions in [1, 3, 7, 64] {
        let parts = format!(
            "SELECT ltr_merge(part) FROM (SELECT ltr_merge(ltr_partial(STATE, bucket, rows)) AS part
               FROM (SELECT * FROM packs ORDER BY random()) GROUP BY (bucket * 5) % {partitions})"
        );
        assert!(all == answer(&parts), "{partitions}");
    }
}

/// A connection keeps the state of the last answer. Calls that alternate between trainings get their own answers.
#[test]
fn answers_of_alternating_trainings_are_their_own() {
    let connection = judged(40);
    let state = |algorithm: &str| -> Vec<u8> {
        let sql = "SELECT ltr_step(state, (SELECT ltr_merge(ltr_partial(state, bucket, rows)) FROM packs))
                     FROM (SELECT ltr_begin(?, '{\"buckets\": 8, \"missing\": \"zero\", \"lambda\": 0.1}') AS state)";
        value(&connection, sql, [algorithm])
    };
    let states = ["regression", "rank_svm"].map(state);
    let answer = |connection: &Connection, state: &Vec<u8>| -> Vec<u8> {
        value(connection, "SELECT ltr_partial(?, bucket, rows) FROM packs ORDER BY bucket LIMIT 1", [state])
    };
    let alone = [0, 1].map(|number| {
        let connection = judged(40);
        answer(&connection, &states[number])
    });
    for number in [0, 1, 0, 0, 1, 1] {
        assert!(answer(&connection, &states[number]) == alone[number], "{number}");
    }
}

/// Values for the parameters of the source: after the options, and in the option `params`.
#[test]
fn packs_and_rows_take_values_for_parameters() {
    let connection = judged(40);
    let options = r#"{"buckets": 8, "missing": "mean", "lambda": 0.01}"#;
    for (source, literal) in [
        (
            "SELECT * FROM packs WHERE bucket NOT IN (?1, ?2)",
            "SELECT * FROM packs WHERE bucket NOT IN (3, 5)",
        ),
        (
            "SELECT * FROM judgments WHERE ltr_bucket(query_id, 8) NOT IN (?1, ?2)",
            "SELECT * FROM judgments WHERE ltr_bucket(query_id, 8) NOT IN (3, 5)",
        ),
    ] {
        let expected = fit(&connection, "regression", literal, options);
        let sql = "SELECT ltr_fit('regression', ?1, ?2, 3, 5)";
        assert!(expected == value::<Vec<u8>>(&connection, sql, (source, options)), "{source}: values");
        let params = with(options, r#""params": [3, 5]"#);
        assert!(expected == fit(&connection, "regression", source, &params), "{source}: params");
        let sql = "SELECT ltr_fit('regression', ?1, ?2, 5)";
        let params = with(options, r#""params": [3]"#);
        assert!(expected == value::<Vec<u8>>(&connection, sql, (source, &params)), "{source}: both");
    }
}

/// A source of packs without end stops at the time limit.
#[test]
fn the_time_limit_ends_a_source_of_packs() {
    let connection = database();
    let found = problem(
        &connection,
        "SELECT ltr_fit('regression', 'WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n)
           SELECT i AS bucket, NULL AS rows FROM n WHERE i < 0', '{\"time_limit\": 0.2}')",
    );
    assert!(found.contains("time limit"), "{found}");
}

/// The report counts missing features as without buckets.
#[test]
fn the_report_counts_missing_features() {
    let connection = judged(40);
    let filled = |source: &str, options: &str| -> i64 {
        let sql = "SELECT ltr_train('rank_svm', ?1, ?2) ->> 'missing_filled'";
        value(&connection, sql, (source, options))
    };
    for missing in ["zero", "mean"] {
        let options = format!(r#"{{"missing": "{missing}", "lambda": 0.1}}"#);
        let expected = filled("judgments", &options);
        let nulls = "SELECT sum(value IS NULL) FROM judgments, json_each(features)";
        assert_eq!(expected, value::<i64>(&connection, nulls, ()));
        assert!(expected > 0);
        assert_eq!(filled("packs", &options), expected);
        assert_eq!(filled("judgments", &with(&options, r#""buckets": 8"#)), expected);
    }
}

/// Rule 15.2: a stored model from packs ranks, and `ltr_info` shows the round of a state. NULL rows give a NULL answer.
#[test]
fn a_model_from_packs_is_stored_and_ranks() {
    let connection = judged(40);
    let report: String = value(
        &connection,
        "SELECT ltr_train('rank_svm', 'packs', '{\"missing\": \"zero\", \"lambda\": 0.1, \"name\": \"m\"}')",
        (),
    );
    assert!(report.contains("\"buckets\":8") && report.contains("\"documents\":"), "{report}");
    let ranked: i64 =
        value(&connection, "SELECT count(*) FROM ltr_rank('m', 'judgments', '{\"missing\": \"zero\"}')", ());
    assert_eq!(ranked, value::<i64>(&connection, "SELECT count(*) FROM judgments", ()));
    let info: String = value(&connection, "SELECT ltr_info(ltr_begin('rank_svm', '{\"buckets\": 8}'))", ());
    assert_eq!(
        info,
        r#"{"algorithm":"rank_svm","buckets":8,"done":false,"round":1,"objective":null,"gap":null}"#
    );
    assert_eq!(value::<Option<Vec<u8>>>(&connection, "SELECT ltr_merge(NULL)", ()), None);
    assert_eq!(value::<Option<Vec<u8>>>(&connection, "SELECT ltr_partial(x'00', 0, NULL)", ()), None);
}

#[test]
fn a_model_finds_the_columns_of_its_training_again() {
    let connection = judged(60);
    connection
        .execute_batch(
            "CREATE TABLE renamed AS SELECT query_id AS search, doc_id, relevance AS stars, features FROM complete",
        )
        .unwrap();
    let columns = r#"{"lambda": 0.1, "buckets": 8, "columns": {"query": "search", "relevance": "stars"}}"#;
    let rows = fit(&connection, "regression", "renamed", columns);
    assert_eq!(fit(&connection, "regression", "complete_packs", columns), rows);
    assert_eq!(recursive(&connection, "regression", "complete_packs", columns), rows);
    // Default names are recognized again.
    let plain = fit(&connection, "regression", "complete", r#"{"lambda": 0.1, "buckets": 8}"#);
    let named = r#"{"lambda": 0.1, "buckets": 8, "columns": {"query": "query_id", "doc": "doc_id"}}"#;
    assert_eq!(fit(&connection, "regression", "complete_packs", named), plain);
    let ranked = |model: &[u8], source: &str| -> String {
        let sql = "SELECT json_group_array(json_array(query_id, doc_id, score)) FROM ltr_rank(?1, ?2)";
        value(&connection, sql, (model, source))
    };
    assert_eq!(ranked(&rows, "renamed"), ranked(&plain, "complete"));
    let roles: String = value(&connection, "SELECT ltr_info(?1) -> 'roles' ->> 'query'", [&rows]);
    assert_eq!(roles, "search");
}

#[test]
fn trainings_in_buckets_warn_as_others_do() {
    let connection = judged(60);
    let warnings = |algorithm: &str, source: &str, options: &str| -> String {
        let sql = "SELECT ltr_train(?1, ?2, ?3) ->> 'warnings'";
        value(&connection, sql, (algorithm, source, options))
    };
    let hard = r#"{"lambda": 1e-9, "tolerance": 1e-12, "buckets": 8}"#;
    for source in ["complete", "complete_packs"] {
        // A thousand rounds. With `LTR_LONG=1` of packs, too.
        if source == "complete" || crate::support::is_long() {
            let found = warnings("rank_svm", source, hard);
            assert!(found.contains("1 of 1 fits stopped before the tolerance was reached"), "{found}");
        }
        let found = warnings("list_net", source, r#"{"loss": "squared", "lambda": 0.1, "buckets": 8}"#);
        assert!(found.contains("this is the algorithm regression"), "{found}");
    }
    connection
        .execute_batch(
            "CREATE TABLE leak AS SELECT query_id, doc_id, relevance, relevance AS fold FROM complete",
        )
        .unwrap();
    let found = warnings("regression", "leak", r#"{"lambda": 0.1, "buckets": 8}"#);
    assert!(
        found.contains("equals the relevance") && found.contains("named like a part of the data"),
        "{found}"
    );
}

#[test]
fn options_hold_in_every_round() {
    let connection = judged(60);
    for (options, message) in [
        (r#"{"buckets": 8, "validation": 0.3}"#, "leave out the option 'validation'"),
        (r#"{"buckets": 8, "threads": 2}"#, "option 'threads': ltr_begin starts no threads"),
        (r#"{"buckets": 8, "columns": {"slot": "x"}}"#, "option 'columns': packs have no 'slot'"),
        (r#"{"buckets": 8, "columns": {"query": 1}}"#, "option 'columns', key 'query': got 1"),
    ] {
        let found = problem(&connection, &format!("SELECT ltr_begin('regression', '{options}')"));
        assert!(found.contains(message), "{found}");
    }
    let second =
        "SELECT ltr_step(state, (SELECT ltr_merge(ltr_partial(state, bucket, rows)) FROM complete_packs))
                    FROM (SELECT ltr_begin('regression', ?1) AS state)";
    let options = r#"{"buckets": 8, "lambda": 1, "max_memory": 100}"#;
    let found = connection.query_row(second, [options], |_| Ok(())).unwrap_err().to_string();
    assert!(found.contains("max_memory"), "{found}");
    let twice = "SELECT ltr_begin('regression', '{\"buckets\": 8, \"columns\": {\"features\": [\"a\", \"b\", \"a\"]}}')";
    let found = problem(&connection, twice);
    assert!(found.contains("option 'columns' names the feature \"a\" twice"), "{found}");
}
