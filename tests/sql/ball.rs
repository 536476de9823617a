//! The penalties "ball" and "sphere" in SQL: what they take, and that models are trained with them.

use crate::support::{database, value};
use rusqlite::Connection;
use serde_json::json;
use sqlite_ltr::internals::learn::fit::FitAt;
use sqlite_ltr::internals::learn::smoothing::SmoothingKind;

/// Forty queries of five documents with a noisy grade.
fn judged() -> Connection {
    let connection = database();
    connection
        .execute_batch(
            "CREATE TABLE judged(query_id, doc_id, relevance, a REAL, b REAL);
             WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 199)
             INSERT INTO judged SELECT i / 5, i, (i * 7 + i / 11) % 3, (i * 7 + i / 11) % 3 + (i % 13) / 6.0, (i % 17) / 5.0
             FROM n",
        )
        .unwrap();
    connection
}

fn train(connection: &Connection, algorithm: &str, options: &str) -> Result<String, String> {
    let sql = "SELECT ltr_train(?1, 'judged', ?2)";
    connection.query_row(sql, (algorithm, options), |row| row.get(0)).map_err(|error| error.to_string())
}

#[test]
fn models_are_trained() {
    let connection = judged();
    for options in [
        r#"{"penalty": "ball"}"#,
        r#"{"penalty": "ball", "radius": [0.1, 1, 10]}"#,
        r#"{"penalty": "ball", "radius": "auto", "kernel": {"gaussian": {"gamma": 0.5}}}"#,
        r#"{"penalty": "ball", "radius": 2, "kernel": "laplace", "landmarks": 20}"#,
        r#"{"penalty": "ball", "loss": "slam", "radius": [0.1, 10], "kernel": {"gaussian": {"gamma": 0.5}}}"#,
        r#"{"penalty": "sphere"}"#,
        r#"{"penalty": "sphere", "radius": [0.1, 10], "kernel": {"gaussian": {"gamma": 0.5}}}"#,
    ] {
        train(&connection, "cs_list_mle", options).unwrap();
        let sql = "SELECT count(*) FROM ltr_models WHERE name = 'cs_list_mle' AND active";
        assert_eq!(value::<i64>(&connection, sql, ()), 1, "{options}");
    }
}

/// The ball of weights (cost-sensitive ListMLE) with each smoothing: trained, stored, read again, and used to rank a new query.
#[test]
fn every_smoothing_trains_stores_and_ranks() {
    let connection = judged();
    for smoothing in SmoothingKind::NAMES {
        for fit_at in FitAt::NAMES {
            let name = format!("{smoothing} {fit_at}");
            let options = json!({"penalty": "ball", "radius": 0.5, "smoothing": smoothing, "fit_at": fit_at, "name": name});
            // One function of all queries, or of each training query, is fitted in training.
            let takes_time = !["uniform", "individual"].contains(smoothing);
            let trained = train(&connection, "cs_list_mle", &options.to_string());
            if !takes_time && *fit_at != "training" {
                assert!(trained.unwrap_err().contains("fit_at"), "{name}");
                continue;
            }
            if *smoothing == "uniform" {
                let options = json!({"penalty": "ball", "radius": 0.5, "name": name});
                train(&connection, "cs_list_mle", &options.to_string()).unwrap();
            } else {
                trained.unwrap();
            }
            let sql = "SELECT count(*) FROM ltr_rank(?1, 'SELECT query_id % 3 + 100 AS query_id, doc_id, a, b FROM judged')
                        WHERE score = score AND abs(score) < 1e6";
            assert_eq!(value::<i64>(&connection, sql, [&name]), 200, "{name}");
        }
    }
}

/// Algorithm 1 of Olinto & Fokoue (2018): theta of length 1, documents of length 1 at most.
#[test]
fn weights_on_the_sphere_have_the_length_of_the_radius() {
    let connection = judged();
    for (radius, certified) in [(0.5, true), (1e4, false)] {
        let options = format!(r#"{{"penalty": "sphere", "radius": {radius}, "scale": "max_norm"}}"#);
        let report = train(&connection, "cs_list_mle", &options).unwrap();
        let sql =
            "SELECT ?1 ->> '$.radius' = ?2 AND ?1 ->> '$.certified' = ?3 AND ?1 ->> '$.unconverged' = 0";
        assert!(value::<bool>(&connection, sql, (&report, radius, certified)), "{report}");
        let sql = "SELECT sum(weight * weight) FROM ltr_weights('cs_list_mle')";
        let length = value::<f64>(&connection, sql, ()).sqrt();
        assert!((length - radius).abs() <= 1e-9 * radius, "{radius}: {length}");
    }
}

#[test]
fn what_has_no_meaning_is_refused() {
    let connection = judged();
    for (algorithm, options, reason) in [
        (
            "list_net",
            r#"{"radius": 1}"#,
            "with penalty \"ridge\" (the algorithm's default); set \"penalty\": \"ball\"",
        ),
        (
            "list_net",
            r#"{"penalty": "ball", "lambda": 1}"#,
            "no effect with penalty \"ball\"; use the option 'radius'",
        ),
        ("slam", r#"{"penalty": "sphere"}"#, "penalty \"sphere\" does not support loss \"slam\""),
        (
            "list_net",
            r#"{"penalty": "sphere", "lambda": 1}"#,
            "no effect with penalty \"sphere\"; use the option 'radius'",
        ),
        (
            "direct",
            r#"{"penalty": "ball"}"#,
            "penalty \"ball\" does not support loss \"direct\"; use bound \"convex\" or penalty \"ridge\"",
        ),
        ("rank_svm", r#"{"penalty": "ball"}"#, "penalty \"ball\" does not support loss \"hinge\""),
        (
            "list_net",
            r#"{"penalty": "ball", "prior": "regression"}"#,
            "prior \"regression\" does not support penalty \"ball\"",
        ),
        (
            "list_net",
            r#"{"penalty": "ball", "components": 2}"#,
            "no effect with penalty \"ball\"; set \"penalty\": \"spectral\"",
        ),
    ] {
        let error = train(&connection, algorithm, options).unwrap_err();
        assert!(error.contains(reason), "{options}: {error}");
    }
}
