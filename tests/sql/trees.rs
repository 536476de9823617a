//! `boosted_trees`: what its models do in SQL, and which options it takes.

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::support::{database, value};

/// 60 queries of 8 documents. What is good is a product of two thresholds, which no linear function has.
const SCHEMA: &str = "
CREATE TABLE judged AS WITH RECURSIVE n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < 479),
x AS (SELECT i / 8 AS query_id, i % 8 AS doc_id, (i * 104729 % 1009) / 1009.0 AS a, (i * 1299709 % 997) / 997.0 AS b,
             (i * 15485863 % 991) / 991.0 AS c FROM n)
SELECT query_id, doc_id, 2 * ((a > 0.5) = (b > 0.5)) + (c > 0.8) AS relevance, a, b, c FROM x;
";

const OPTIONS: &str = r#"{"trees": 30, "depth": 3, "learning_rate": 0.3}"#;

fn connect() -> Connection {
    let connection = database();
    connection.execute_batch(SCHEMA).unwrap();
    connection
}

fn fit(connection: &Connection, source: &str, options: &str) -> Vec<u8> {
    value(connection, "SELECT ltr_fit('boosted_trees', ?1, ?2)", (source, options))
}

fn refusal(connection: &Connection, sql: &str) -> String {
    connection.query_row(sql, [], |_| Ok(())).expect_err(sql).to_string()
}

#[test]
fn trees_find_interactions_that_linear_functions_miss() {
    let connection = connect();
    let ndcg = |algorithm: &str, options: &str| -> f64 {
        let model: Vec<u8> = value(
            &connection,
            "SELECT ltr_fit(?1, 'SELECT * FROM judged WHERE query_id < 40', ?2)",
            (algorithm, options),
        );
        let sql = "SELECT value FROM ltr_evaluate(?1, 'SELECT * FROM judged WHERE query_id >= 40') WHERE query_id IS NULL";
        value(&connection, sql, [model])
    };
    let (trees, linear) = (ndcg("boosted_trees", OPTIONS), ndcg("regression", "{}"));
    assert!(trees > 0.97 && linear < 0.9, "{trees} {linear}");
    let auto = ndcg("boosted_trees", "{}");
    assert!(auto > 0.97, "{auto}");
}

#[test]
fn ranks_and_scores_are_the_same_bits_for_any_threads_and_order_of_rows() {
    let connection = connect();
    let model = fit(&connection, "judged", OPTIONS);
    for (source, threads) in
        [("SELECT * FROM judged ORDER BY c", 1), ("SELECT * FROM judged ORDER BY b DESC", 8)]
    {
        let mut options: Value = serde_json::from_str(OPTIONS).unwrap();
        options["threads"] = json!(threads);
        assert_eq!(fit(&connection, source, &options.to_string()), model, "{source}");
    }
    let different: i64 = value(
        &connection,
        "SELECT count(*) FROM ltr_rank(?1, 'judged') r JOIN judged j USING (query_id, doc_id) \
         WHERE r.score <> ltr_score(?1, json_array(a, b, c))",
        [&model],
    );
    assert_eq!(different, 0);
}

#[test]
fn a_stored_model_describes_itself_and_its_features() {
    let connection = connect();
    let report: String = value(&connection, "SELECT ltr_train('boosted_trees', 'judged', ?1)", [OPTIONS]);
    let report: Value = serde_json::from_str(&report).unwrap();
    assert_eq!(
        (&report["trees"], &report["depth"], &report["features_used"]),
        (&json!(30), &json!(3), &json!(3))
    );
    let info: String = value(&connection, "SELECT ltr_info('boosted_trees')", []);
    let info: Value = serde_json::from_str(&info).unwrap();
    assert_eq!(info["algorithm"], "boosted_trees");
    let settings = &info["settings"];
    assert_eq!((&settings["trees"], &settings["learning_rate"]), (&json!(30), &json!(0.3)));
    assert_eq!(report["learning_rate"], json!(0.3));
    let least: String = value(
        &connection,
        "SELECT feature FROM ltr_importance('boosted_trees', 'judged') ORDER BY loss LIMIT 1",
        [],
    );
    assert_eq!(least, "c");
    let (sum, score): (f64, f64) = connection
        .query_row(
            "SELECT (SELECT sum(contribution) FROM ltr_explain('boosted_trees', 'judged', 7, 3)),
                    (SELECT score FROM ltr_rank('boosted_trees', 'judged') WHERE query_id = 7 AND doc_id = 3)",
            [],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .unwrap();
    assert!((sum - score).abs() < 1e-9, "{sum} {score}");
}

#[test]
fn settings_are_compared_by_cross_validation() {
    let connection = connect();
    let report: String = value(
        &connection,
        "SELECT ltr_train('boosted_trees', 'judged', '{\"trees\": [2, 20], \"depth\": [1, 3], \"learning_rate\": 0.3}')",
        [],
    );
    let report: Value = serde_json::from_str(&report).unwrap();
    assert_eq!((&report["trees"], &report["depth"]), (&json!(20), &json!(3)), "{report}");
    let rows: i64 = value(
        &connection,
        "SELECT count(*) FROM ltr_cross_validate('boosted_trees', 'judged', \
         '{\"trees\": [2, 3], \"bins\": [4, 16], \"feature_fraction\": 1, \"folds\": 2}')",
        [],
    );
    assert_eq!(rows, 8);
}

#[test]
fn the_number_of_trees_is_chosen_by_validation() {
    let connection = connect();
    let train = |options: &str| -> Value {
        let report: String = value(
            &connection,
            "SELECT ltr_train('boosted_trees', 'SELECT * FROM judged WHERE query_id < 40', ?1)",
            [options],
        );
        serde_json::from_str(&report).unwrap()
    };
    let report = train(r#"{"learning_rate": 0.3}"#);
    let trees = report["trees"].as_u64().unwrap();
    assert!((10..=1000).contains(&trees) && trees.is_multiple_of(10), "{report}");
    assert_eq!(report["validation"]["held_out"], "40 of 40 queries, in 5 folds");
    let report =
        train(r#"{"validation": "SELECT * FROM judged WHERE query_id >= 40", "learning_rate": 0.3}"#);
    assert_eq!(report["validation"]["held_out"], "20 queries of the validation source");
    assert!(report["validation"]["best"].as_f64().unwrap() > 0.97, "{report}");
}

/// Relevant is what has no price, or a price above 0.5.
const GAPS: &str =
    "SELECT query_id, doc_id, a, nullif(b, iif(c < 0.3, b, -1)) AS b, (c < 0.3 OR b > 0.5) AS relevance
  FROM judged";

#[test]
fn missing_values_have_a_separate_side() {
    let connection = connect();
    for scale in ["none", "quantile", "query_minmax", "quantile_minmax", "standard"] {
        let options = json!({ "trees": 30, "depth": 3, "learning_rate": 0.3, "scale": scale }).to_string();
        let model = fit(&connection, GAPS, &options);
        let sql = "SELECT value FROM ltr_evaluate(?1, ?2) WHERE query_id IS NULL";
        let ndcg: f64 = value(&connection, sql, (&model, GAPS));
        assert!(ndcg > 0.99, "{scale} {ndcg}");
        assert_eq!(fit(&connection, &format!("{GAPS} ORDER BY c"), &options), model, "{scale}");
        if !scale.starts_with("query") && !scale.ends_with("minmax") {
            let different: i64 = value(
                &connection,
                &format!(
                    "SELECT count(*) FROM ltr_rank(?1, ?2) r JOIN ({GAPS}) j USING (query_id, doc_id) \
                     WHERE r.score IS NOT ltr_score(?1, json_array(j.a, j.b))"
                ),
                (&model, GAPS),
            );
            assert_eq!(different, 0, "{scale}");
        }
    }
    // Other values are still allowed, and other models have no branches.
    let filled = fit(&connection, GAPS, r#"{"trees": 3, "missing": "zero"}"#);
    let rank = "SELECT count(*) FROM ltr_rank(?1, ?2, ?3)";
    let count: i64 = value(&connection, rank, (&filled, GAPS, "{}"));
    assert_eq!(count, 480);
    let error =
        connection.query_row(rank, (&filled, GAPS, r#"{"missing": "branch"}"#), |_| Ok(())).unwrap_err();
    assert!(error.to_string().contains("was not trained with \"branch\""), "{error}");
    let error = refusal(&connection, "SELECT ltr_fit('rank_svm', 'judged', '{\"missing\": \"branch\"}')");
    assert!(error.contains("only boosted_trees has branches"), "{error}");
    let strict = r#"{"trees": 3, "missing": "error"}"#;
    let sql = "SELECT ltr_fit('boosted_trees', ?1, ?2)";
    let error = connection.query_row(sql, (GAPS, strict), |_| Ok(())).unwrap_err().to_string();
    assert!(error.contains("NULL"), "{error}");
}

#[test]
fn smooth_losses_are_minimized() {
    let connection = connect();
    for loss in ["logistic", "squared_hinge", "list_net", "list_mle", "cs_list_mle", "lambda_rank"] {
        let options = json!({ "trees": 30, "depth": 3, "learning_rate": 0.3, "loss": loss });
        let model = fit(&connection, "judged", &options.to_string());
        let sql = "SELECT value FROM ltr_evaluate(?1, 'judged') WHERE query_id IS NULL";
        let ndcg: f64 = value(&connection, sql, [&model]);
        assert!(ndcg > 0.97, "{loss} {ndcg}");
        let mut again = options.clone();
        again["threads"] = json!(8);
        assert_eq!(fit(&connection, "SELECT * FROM judged ORDER BY c", &again.to_string()), model, "{loss}");
    }
    for (options, expected) in [
        (r#"{"loss": "hinge"}"#, "a smooth loss: logistic"),
        (r#"{"target": "gain"}"#, "option 'target' has no effect with loss \"squared\""),
    ] {
        let sql = "SELECT ltr_fit('boosted_trees', 'judged', ?1)";
        let error = connection.query_row(sql, [options], |_| Ok(())).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

/// Rule 5.32.
#[test]
fn lambdamart_is_a_preset() {
    let connection = connect();
    let terms = |algorithm: &str, options: &str| -> String {
        let sql = "SELECT ltr_export(ltr_fit(?1, 'judged', ?2), 'json') -> 'terms'";
        value(&connection, sql, (algorithm, options))
    };
    let of_loss = terms("boosted_trees", r#"{"trees": 9, "depth": 3, "loss": "lambda_rank"}"#);
    assert_eq!(terms("lambdamart", r#"{"trees": 9, "depth": 3}"#), of_loss);
    assert_ne!(terms("lambdamart", r#"{"trees": 9, "depth": 3, "truncation": 1}"#), of_loss);
    let exported = |format: &str| -> String {
        let sql = "SELECT ltr_export(ltr_fit('lambdamart', 'judged', '{\"trees\": 2}'), ?1)";
        value(&connection, sql, [format])
    };
    assert!(exported("sql").contains("CASE") && exported("xgboost").contains("gbtree"));
    for (sql, expected) in [
        (
            "SELECT ltr_fit('rank_svm', 'judged', '{\"loss\": \"lambda_rank\"}')",
            "does not support loss \"lambda_rank\"; use boosted_trees: the loss has gradients, but no function to minimize",
        ),
        ("SELECT ltr_fit('cofi_rank', 'judged', '{\"loss\": \"lambda_rank\"}')", "does not support loss"),
        (
            "SELECT ltr_fit('lambdamart', 'SELECT *, 2 AS doc_weight FROM judged')",
            "'lambda_rank' does not weigh documents; use a pairwise loss",
        ),
        (
            "SELECT ltr_fit('lambdamart', 'SELECT query_id, doc_id, a, -(doc_id % 2) AS relevance FROM judged')",
            "the loss 'lambda_rank' finds no query with two documents of different relevance",
        ),
    ] {
        let error = refusal(&connection, sql);
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn ensembles_are_averaged() {
    let connection = connect();
    let scores = |options: &str| -> Vec<f64> {
        let model = fit(&connection, "judged", options);
        let mut statement =
            connection.prepare("SELECT score FROM ltr_rank(?1, 'judged') ORDER BY query_id, doc_id").unwrap();
        statement.query_map([model], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    };
    let one = scores(r#"{"trees": 5, "row_weights": "equal", "feature_fraction": 1}"#);
    // Without random choices all ensembles are the same.
    let same = scores(r#"{"trees": 5, "row_weights": "equal", "feature_fraction": 1, "seeds": 3}"#);
    assert!(one.iter().zip(&same).all(|(a, b)| (a - b).abs() < 1e-12));
    assert_ne!(scores(r#"{"trees": 5}"#), scores(r#"{"trees": 5, "seeds": 2}"#));
    let options =
        |threads: usize| json!({ "seeds": 3, "learning_rate": 0.3, "threads": threads }).to_string();
    let models = [1, 2, 8].map(|threads| fit(&connection, "judged", &options(threads)));
    assert!(models[0] == models[1] && models[1] == models[2], "early stopping on the mean");
}

/// Scores are the sum of both ensembles, each divided by its standard deviation in training.
#[test]
fn ensembles_of_two_scales_are_averaged() {
    let connection = connect();
    let fit_scale = |scale: &str, more: Value| {
        let mut options = json!({ "scale": scale, "depth": 3, "learning_rate": 0.3 });
        options.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        fit(&connection, "judged", &options.to_string())
    };
    let scores = |model: &[u8]| -> Vec<f64> {
        let mut statement =
            connection.prepare("SELECT score FROM ltr_rank(?1, 'judged') ORDER BY query_id, doc_id").unwrap();
        statement.query_map([model], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    };
    let both = "none+quantile_minmax";
    let [none, minmax, sum] =
        ["none", "quantile_minmax", both].map(|scale| fit_scale(scale, json!({ "trees": 10 })));
    let (a, b) = (deviation(&connection, &none), deviation(&connection, &minmax));
    for ((x, y), found) in scores(&none).iter().zip(scores(&minmax)).zip(scores(&sum)) {
        assert!((x / a + y / b - found).abs() < 1e-9, "{x} {y} {found}");
    }
    // The number of trees of each is chosen, and the value is of the sum.
    let models = [1, 3].map(|threads| fit_scale(both, json!({ "threads": threads })));
    assert_eq!(models[0], models[1]);
    let text: String = value(&connection, "SELECT ltr_info(?1) ->> 'training'", [&models[0]]);
    let report: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(report["scales"].as_array().map(Vec::len), Some(2), "{report}");
    assert_eq!(report["validation"]["curve"].as_array().map(Vec::len), Some(1), "{report}");
    // Contributions add up, and what one document alone does not have is refused.
    let sql = "SELECT abs(sum(contribution) - (SELECT score FROM ltr_rank(?1, 'judged')
                                                WHERE query_id = 3 AND doc_id = 2))
                 FROM ltr_explain(?1, 'judged', 3, 2)";
    assert!(value::<f64>(&connection, sql, [&sum]) < 1e-9);
    let sql = "SELECT ltr_score(?1, ltr_vec(0.1, 0.2, 0.3))";
    assert!(connection.query_row(sql, [&sum], |_| Ok(())).is_err());
    for (options, expected) in [
        (json!({ "scale": both, "query_columns": true }), "has no column query_features"),
        (json!({ "scale": "both" }), "none+quantile_minmax"),
    ] {
        let sql = format!("SELECT ltr_fit('boosted_trees', 'judged', '{options}')");
        let error = refusal(&connection, &sql);
        assert!(error.contains(expected), "{error}");
    }
    assert!(
        refusal(&connection, &format!("SELECT ltr_fit('regression', 'judged', '{{\"scale\": \"{both}\"}}')"))
            .contains("scale")
    );
}

#[test]
fn json_has_the_model_and_other_forms_are_refused() {
    let connection = connect();
    let model = fit(&connection, "judged", OPTIONS);
    let text: String = value(&connection, "SELECT ltr_export(?1, 'json')", [&model]);
    let _: String = value(&connection, "SELECT ltr_import(?1, '{\"name\": \"again\"}')", [&text]);
    let again: Vec<u8> = value(&connection, "SELECT model FROM ltr_models WHERE name = 'again'", []);
    assert_eq!(again, model);
    connection
        .execute(
            "INSERT INTO ltr_models SELECT 'm', 1, algorithm, 1, created_at, report, model FROM ltr_models",
            [],
        )
        .unwrap();
    for format in ["elasticsearch", "solr"] {
        let text: String = value(&connection, "SELECT ltr_export('m', ?1)", [format]);
        assert!(text.contains("leaf") || text.contains("MultipleAdditiveTreesModel"), "{text}");
    }
    let text = text.replace("\"depth\":3,\"splits\"", "\"depth\":70,\"splits\"");
    let error = connection.query_row("SELECT ltr_import(?1)", [text], |_| Ok(())).unwrap_err().to_string();
    assert!(error.contains("number of weights of a term"), "{error}");
}

#[test]
fn what_trees_do_not_have_is_refused() {
    let connection = connect();
    let _: String = value(&connection, "SELECT ltr_train('boosted_trees', 'judged', ?1)", [OPTIONS]);
    for (sql, expected) in [
        ("SELECT * FROM ltr_weights('boosted_trees')", "not linear"),
        ("SELECT ltr_update('boosted_trees', 'judged')", "ltr_update"),
        (
            "SELECT ltr_fit('boosted_trees', 'judged', '{\"trees\": 0}')",
            "a whole number from 1 to 10000 or \"auto\"",
        ),
        ("SELECT ltr_fit('boosted_trees', 'judged', '{\"depth\": 9}')", "a whole number from 1 to 8"),
        ("SELECT ltr_fit('boosted_trees', 'judged', '{\"bins\": 256}')", "a whole number from 2 to 255"),
        ("SELECT ltr_fit('boosted_trees', 'judged', '{\"learning_rate\": 1.5}')", "at most 1"),
        ("SELECT ltr_fit('boosted_trees', 'judged', '{\"lambda\": 1}')", "has no option 'lambda'"),
        ("SELECT ltr_fit('rank_svm', 'judged', '{\"trees\": 5}')", "it belongs to boosted_trees"),
        (
            "SELECT ltr_fit('boosted_trees', 'judged', '{\"trees\": 5, \"validation\": 0.3}')",
            "has no effect with \"trees\": 5",
        ),
        (
            "SELECT ltr_fit('boosted_trees', 'judged', '{\"validation\": \"documents\"}')",
            "on queries or on a source",
        ),
        (
            "SELECT ltr_fit('boosted_trees', 'SELECT query_id, doc_id, 1 AS relevance, a FROM judged')",
            "nothing to learn",
        ),
        (
            "SELECT ltr_fit('boosted_trees', 'SELECT query_id, doc_id, relevance, 1 AS a FROM judged')",
            "nothing to split",
        ),
        ("SELECT ltr_fit('boosted_trees', 'judged', '{\"max_memory\": 100000}')", "max_memory"),
    ] {
        let error = refusal(&connection, sql);
        assert!(error.contains(expected), "{sql}: {error}");
    }
}

/// Rule 2.15: Documents with the weight 0 say nothing, and a document of weight 2 counts as two.
#[test]
fn weights_of_documents_and_queries_count() {
    let connection = connect();
    let scores = |source: &str| -> Vec<f64> {
        let model = fit(&connection, source, OPTIONS);
        let mut statement =
            connection.prepare("SELECT score FROM ltr_rank(?1, 'judged') ORDER BY query_id, doc_id").unwrap();
        statement.query_map([model], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
    };
    let plain = scores("judged");
    assert_ne!(scores("SELECT *, 1 + doc_id % 2 AS doc_weight FROM judged"), plain);
    assert_ne!(scores("SELECT *, 1 + query_id % 2 AS weight FROM judged"), plain);
    assert_eq!(scores("SELECT *, 3 AS weight FROM judged"), plain);
}

fn auto(connection: &Connection, source: &str, options: &str) -> Vec<u8> {
    value(connection, "SELECT ltr_fit('auto', ?1, ?2)", (source, options))
}

/// The standard deviation of the scores of a model within the queries of `judged`.
fn deviation(connection: &Connection, model: &[u8]) -> f64 {
    let sql = "WITH s AS (SELECT query_id, score FROM ltr_rank(?1, 'judged')),
               m AS (SELECT query_id, avg(score) AS mean FROM s GROUP BY 1)
               SELECT avg((score - mean) * (score - mean)) FROM s JOIN m USING (query_id)";
    value::<f64>(connection, sql, [model]).sqrt()
}

/// The model of some terms of the text of a sum.
fn of_terms(connection: &Connection, text: &Value, terms: Vec<Value>) -> Vec<u8> {
    let mut text = text.clone();
    text["terms"] = Value::Array(terms);
    let _report: String =
        value(connection, "SELECT ltr_import(?1, '{\"name\": \"part\"}')", [text.to_string()]);
    value(connection, "SELECT model FROM ltr_models WHERE name = 'part' ORDER BY version DESC", [])
}

/// Each kernel has the standard deviation 1 within training queries, trees as much as all kernels together. With
/// `LTR_LONG=1` for all options.
#[test]
fn trees_are_half_of_auto() {
    let connection = connect();
    let all = [r#"{"scale": "query_minmax", "landmarks": 30}"#, r#"{"scale": "quantile"}"#, "{}"];
    for options in &all[..if crate::support::is_long() { 3 } else { 1 }] {
        let model = auto(&connection, "judged", options);
        let sql = "SELECT count(*) FROM json_each(ltr_info(?1), '$.training.candidates')
                   WHERE value ->> 'averaged' AND value ->> 'algorithm' IS 'boosted_trees'";
        assert_eq!(value::<i64>(&connection, sql, [&model]), 1, "{options}");
        let text: String = value(&connection, "SELECT ltr_export(?1, 'json')", [&model]);
        let text: Value = serde_json::from_str(&text).unwrap();
        let terms = text["terms"].as_array().unwrap();
        let trees = terms.iter().filter(|term| !term["trees"].is_null()).count();
        assert_eq!((terms.len() - trees, trees), (3, if *options == "{}" { 2 } else { 1 }), "{options}");
        for term in terms {
            let actual = deviation(&connection, &of_terms(&connection, &text, vec![term.clone()]));
            let expected = if term["trees"].is_null() { 1.0 } else { 3.0 / trees as f64 };
            assert!((actual / expected - 1.0).abs() < 1e-3, "{options}: {actual}");
        }
        let again = of_terms(&connection, &text, terms.clone());
        assert_eq!(again, model, "{options}");
    }
}

#[test]
fn auto_with_trees_is_the_same_for_any_threads_and_order_of_rows() {
    let connection = connect();
    let model = auto(&connection, "judged", r#"{"scale": "quantile", "landmarks": 40}"#);
    for (order, threads) in [("c", 1), ("b DESC", 2), ("a", 8)] {
        let options = format!(r#"{{"scale": "quantile", "landmarks": 40, "threads": {threads}}}"#);
        let source = format!("SELECT * FROM judged ORDER BY {order}");
        assert_eq!(auto(&connection, &source, &options), model, "{order}");
    }
    // 1. A document alone has its score of a ranking.
    let sql = "SELECT max(abs(score - ltr_score(?1, json_array(a, b, c)))) FROM ltr_rank(?1, 'judged') JOIN judged USING (query_id, doc_id)";
    let found: f64 = value(&connection, sql, [&model]);
    assert!(found < 1e-9, "{found}");
    // 2. SQL has no form for its kernels.
    let sql = "SELECT ltr_export(ltr_fit('auto', 'judged', '{\"scale\": \"quantile\"}'), 'sql')";
    assert!(refusal(&connection, sql).contains("its kernel is not linear"));
    // 3. A given kernel excludes trees.
    let linear = auto(&connection, "judged", r#"{"kernel": "linear"}"#);
    let sql = "SELECT count(*) FROM json_each(ltr_info(?1), '$.training.candidates') WHERE value ->> 'algorithm' IS NOT NULL";
    assert_eq!(value::<i64>(&connection, sql, [&linear]), 0);
}

/// Of many documents with interactions trees are the model, without a kernel.
#[test]
fn trees_lead_with_many_documents() {
    let connection = database();
    connection
        .execute_batch(
            "CREATE TABLE many AS WITH RECURSIVE n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < 100007),
             x AS (SELECT i, (i * 7919) % 10007 / 10007.0 AS a, (i * 104729) % 9973 / 9973.0 AS b,
                          (i * 15485863) % 9967 / 9967.0 AS c, (i * 1299709) % 9949 / 9949.0 AS d FROM n)
             SELECT i / 8 AS query_id, i AS doc_id, 2 * (((a > 0.5) + (b > 0.5) + (c > 0.5)) % 2) + (d > 0.8) AS relevance,
                    a, b, c, d FROM x",
        )
        .unwrap();
    let model = auto(&connection, "many", r#"{"landmarks": 20, "effort": 1}"#);
    let info: String = value(&connection, "SELECT ltr_info(?1)", [&model]);
    let info: Value = serde_json::from_str(&info).unwrap();
    let training = &info["training"];
    assert_eq!((&training["functions"], &training["lambda"]), (&json!(1), &Value::Null), "{training}");
    let candidates = training["candidates"].as_array().unwrap();
    assert_eq!(candidates.len(), 5);
    assert_eq!(candidates[0]["algorithm"], "boosted_trees");
    assert_eq!(training["validation"]["option"], "trees");
    assert!(training["validation"]["best"].as_f64().unwrap() > 0.95, "{training}");
}
