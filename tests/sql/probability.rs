//! Probabilities of scores (rules 5.39, 6.13, 8.19).

use rusqlite::Connection;
use serde_json::{Value as Json, json};
use sqlite_ltr::internals::math::random::Random;

use crate::support::{database, value};

/// Queries of ten documents, whose grades follow `text`, and in `level` how good the documents of a query are overall. `scaled` has
/// the place of `text` in the query, so that nothing separates a good query from a bad one.
fn documents(queries: i64) -> Connection {
    let connection = database();
    connection
        .execute_batch(
            "CREATE TABLE judged (query_id, doc_id, relevance, text, noise);
             CREATE TABLE scaled (query_id, doc_id, relevance, text, noise);
             BEGIN",
        )
        .unwrap();
    let mut random = Random::new(7);
    for query in 0..queries {
        let level = 2.0 * random.symmetric();
        let text: Vec<f64> = (0..10).map(|_| level + random.symmetric()).collect();
        let place = |one: f64| text.iter().filter(|other| **other < one).count() as f64;
        for (doc, text) in text.iter().enumerate() {
            let grade = (1.5 + text + random.symmetric()).clamp(0.0, 4.0).round();
            for (table, text) in [("judged", *text), ("scaled", place(*text))] {
                let sql = format!("INSERT INTO {table} VALUES (?1, ?2, ?3, ?4, ?5)");
                let row = rusqlite::params![query, doc as i64, grade, text, random.symmetric()];
                connection.execute(&sql, row).unwrap();
            }
        }
    }
    connection.execute_batch("COMMIT").unwrap();
    connection
}

fn train(connection: &Connection, algorithm: &str, source: &str, options: &Json) -> Json {
    let sql = "SELECT ltr_train(?1, ?2, ?3)";
    let text: String = value(connection, sql, (algorithm, source, options.to_string()));
    serde_json::from_str(&text).unwrap()
}

fn with(options: &Json, more: &Json) -> Json {
    let (mut all, more) = (options.clone(), more.as_object().unwrap().clone());
    all.as_object_mut().unwrap().extend(more);
    all
}

/// The algorithms that learn probabilities, with options that make them fast.
fn algorithms() -> Vec<(&'static str, Json)> {
    vec![
        ("regression", json!({})),
        ("rank_svm", json!({"lambda": 0.1})),
        ("list_net", json!({"kernel": "gaussian", "landmarks": 20, "lambda": [0.1, 0.01]})),
        ("eigen_rank", json!({})),
        ("auto", json!({"effort": 1})),
        ("boosted_trees", json!({"learning_rate": 0.3})),
        ("lambdamart", json!({"trees": 20})),
        ("boosted_trees", json!({"scale": "none+quantile_minmax", "trees": 20})),
    ]
}

const TRAINING: &str = "SELECT * FROM judged WHERE query_id < 120";
const SCALED: &str = "SELECT query_id, doc_id, relevance, text FROM scaled";
const OTHERS: &str = "SELECT * FROM judged WHERE query_id >= 120";
const WANTED: &str = r#"{"probability": true, "threshold": 2}"#;

fn wanted() -> Json {
    serde_json::from_str(WANTED).unwrap()
}

/// Rules 5.39 and 6.13: the model without its map is the model of a training without the option, and the map is small. What it
/// promises holds for other queries: of the documents with at least .5 as many are relevant as their mean probability says.
#[test]
fn promised_precision_holds_and_scores_do_not_change() {
    let connection = documents(400);
    for (algorithm, options) in algorithms() {
        let named = |name: &str| with(&options, &json!({"name": name}));
        train(&connection, algorithm, TRAINING, &named("plain"));
        let report = train(&connection, algorithm, TRAINING, &with(&named("mapped"), &wanted()));
        let found = &report["probability"];
        assert!(found.get("problem").is_none(), "{algorithm}: {found}");
        assert!(found["knots"].as_u64().unwrap() <= 64, "{found}");
        let sizes: i64 = value(
            &connection,
            "SELECT (SELECT length(model) FROM ltr_models WHERE name = 'mapped' AND active) -
                    (SELECT length(model) FROM ltr_models WHERE name = 'plain' AND active)",
            [],
        );
        assert!(sizes < 2000, "{algorithm}: {sizes} bytes more");
        let different: i64 = value(
            &connection,
            "SELECT count(*) FROM ltr_rank('plain', ?1) AS a FULL JOIN ltr_rank('mapped', ?1) AS b
                USING (query_id, doc_id, score, rank) WHERE a.rank IS NULL OR b.rank IS NULL OR a.probability IS NOT NULL",
            [OTHERS],
        );
        assert_eq!(different, 0, "{algorithm}");
        let (promised, precision, kept): (f64, f64, i64) = connection
            .query_row(
                "SELECT avg(probability), avg(relevance >= 2), count(*)
                   FROM ltr_rank('mapped', ?1) JOIN judged USING (query_id, doc_id) WHERE probability >= 0.5",
                [OTHERS],
                |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
            )
            .unwrap();
        assert!(
            (promised - precision).abs() < 0.05 && kept > 500,
            "{algorithm}: {promised} {precision} {kept}"
        );
        // Rule 6.13: the option leaves out the others, and k counts what is left.
        let sql = "SELECT count(*) FROM ltr_rank('mapped', ?1, ?2)";
        let least = r#"{"min_probability": 0.5}"#;
        assert_eq!(value::<i64>(&connection, sql, (OTHERS, least)), kept, "{algorithm}");
        let shown: i64 = value(
            &connection,
            "SELECT sum(min(3, n)) FROM (SELECT count(*) AS n FROM ltr_rank('mapped', ?1) WHERE probability >= 0.5 GROUP BY query_id)",
            [OTHERS],
        );
        let first = r#"{"min_probability": 0.5, "k": 3}"#;
        assert_eq!(value::<i64>(&connection, sql, (OTHERS, first)), shown, "{algorithm}");
        // Rule 8.19, and the same by hand.
        let by_hand: (f64, f64) = connection
            .query_row(
                "SELECT avg((probability - (relevance >= 2)) * (probability - (relevance >= 2))),
                        avg(relevance >= 2) FILTER (WHERE probability >= 0.5)
                   FROM ltr_rank('mapped', ?1) JOIN judged USING (query_id, doc_id)",
                [OTHERS],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )
            .unwrap();
        let means: Vec<f64> = [
            "brier",
            "precision",
            "precision_low",
            "precision_high",
            "kept",
            "calibration_error",
        ]
        .map(|name| {
            let sql =
                "SELECT value FROM ltr_evaluate('mapped', ?1, ?2) WHERE metric = ?3 AND query_id IS NULL";
            value(&connection, sql, (OTHERS, least, name))
        })
        .to_vec();
        assert!((means[0] - by_hand.0).abs() < 1e-12 && (means[1] - by_hand.1).abs() < 1e-12, "{means:?}");
        assert!(means[2] < means[1] && means[1] < means[3] && means[3] - means[2] < 0.2, "{means:?}");
        assert!(means[5] < 0.06 && (means[4] - kept as f64 / 2800.0).abs() < 1e-12, "{means:?}");
    }
}

/// Rule 5.39: where features are places within their query, no score separates a good query from a bad one.
#[test]
fn scores_that_do_not_carry_across_queries_have_no_probability() {
    let connection = documents(200);
    for (algorithm, options) in algorithms() {
        let report =
            train(&connection, algorithm, SCALED, &with(&options, &with(&wanted(), &json!({"name": "m"}))));
        let problem =
            report["probability"]["problem"].as_str().unwrap_or_else(|| panic!("{algorithm}: {report}"));
        assert!(problem.starts_with("the scores do not carry from query to query"), "{problem}");
        let warnings = report["warnings"].to_string();
        assert!(warnings.contains("The column probability is NULL"), "{warnings}");
        let known: i64 = value(&connection, "SELECT count(probability) FROM ltr_rank('m', 'scaled')", []);
        assert_eq!(known, 0);
        for sql in
            ["SELECT 1 FROM ltr_rank('m', 'scaled', ?1)", "SELECT 1 FROM ltr_evaluate('m', 'scaled', ?1)"]
        {
            let error = connection
                .query_row(sql, [r#"{"min_probability": 0.5}"#], |_| Ok(()))
                .unwrap_err()
                .to_string();
            assert!(
                error.contains(
                    "option 'min_probability': the model has no probabilities: the scores do not carry"
                ),
                "{error}"
            );
        }
    }
}

/// Rules 5.39 and 6.13: what has no probabilities says why.
#[test]
fn models_without_probabilities_say_why() {
    let connection = documents(60);
    let error = |sql: &str| connection.query_row(sql, [], |_| Ok(())).unwrap_err().to_string();
    let refused = |algorithm: &str, options: &str| {
        error(&format!("SELECT ltr_train('{algorithm}', 'judged', '{options}')"))
    };
    assert!(
        refused("q_svm", r#"{"probability": true}"#)
            .contains("option 'probability' has no effect with smoothing")
    );
    assert!(
        refused("rank_svm", r#"{"probability": true, "form": "ranking"}"#)
            .contains("option 'probability' has no effect with form")
    );
    assert!(
        refused("perceptron", r#"{"probability": true}"#)
            .contains("'perceptron' has no option 'probability'")
    );
    for (algorithm, options) in algorithms() {
        let message = refused(algorithm, &with(&options, &json!({"threshold": 2})).to_string());
        let expected =
            "option 'threshold' has no effect with \"probability\": false; use \"probability\": true";
        assert!(message.ends_with(expected), "{algorithm}: {message}");
    }
    assert!(
        refused("regression", r#"{"probability": true, "buckets": 4}"#)
            .contains("the option 'probability' is not supported")
    );
    let report = train(&connection, "regression", "judged", &json!({"probability": true, "threshold": 9}));
    let problem = report["probability"]["problem"].as_str().unwrap();
    assert_eq!(problem, "no held-out document has a grade of at least 9; give another 'threshold'");
    let report = train(&connection, "regression", "SELECT * FROM judged WHERE query_id < 19", &wanted());
    assert_eq!(report["probability"]["problem"], "there are 19 held-out queries, and 20 are needed");
    train(&connection, "q_svm", "judged", &json!({"query_features": "mean", "lambda": 0.1}));
    let rank = |model: &str| {
        error(&format!("SELECT 1 FROM ltr_rank('{model}', 'judged', '{{\"min_probability\": 0.5}}')"))
    };
    assert!(
        rank("q_svm")
            .contains("a function for each query gives scores that cannot be compared across queries")
    );
    train(&connection, "rank_svm", "judged", &json!({"lambda": 0.1}));
    assert!(rank("rank_svm").contains(r#"train it with "probability": true"#));
}

/// Rule 5.39: a validation source has the scores, and what the option costs is nothing but the folds.
#[test]
fn a_validation_source_is_what_the_map_is_learned_on() {
    let connection = documents(200);
    let validation = json!({"validation": OTHERS, "name": "m"});
    for algorithm in ["regression", "boosted_trees"] {
        let report = train(&connection, algorithm, TRAINING, &with(&validation, &wanted()));
        let found = &report["probability"];
        assert_eq!((&found["queries"], &found["documents"]), (&json!(80), &json!(800)), "{found}");
        let share: f64 =
            value(&connection, "SELECT avg(relevance >= 2) FROM judged WHERE query_id >= 120", []);
        assert!((found["base_rate"].as_f64().unwrap() - share).abs() < 1e-12);
    }
}

/// Rule 5.39: the same rows give the same map, on any number of threads; JSON carries it.
#[test]
fn maps_have_the_same_bits_and_json_has_them() {
    let connection = documents(200);
    for algorithm in ["list_net", "boosted_trees"] {
        let fit = |threads: u32| -> Vec<u8> {
            let options = with(&wanted(), &json!({"threads": threads})).to_string();
            value(&connection, "SELECT ltr_fit(?1, 'judged', ?2)", (algorithm, options))
        };
        let model = fit(1);
        assert_eq!(model, fit(3), "{algorithm}");
        value::<String>(
            &connection,
            "SELECT ltr_import(ltr_export(?1, 'json'), '{\"name\": \"again\"}')",
            [&model],
        );
        let sql = "SELECT count(*) FROM ltr_rank(?1, 'judged') JOIN ltr_rank('again', 'judged') USING (query_id, doc_id, probability)";
        assert_eq!(value::<i64>(&connection, sql, [&model]), 2000, "{algorithm}");
    }
}
