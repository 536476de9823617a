//! The option `baseline`: a training starts at the order of a column (rule 5.34).

use crate::support::{database, value};
use rusqlite::Connection;
use serde_json::{Value, json};
use sqlite_ltr::internals::math::random::Random;

/// Documents per query.
const DOCUMENTS: usize = 10;

/// Algorithms of each kind.
const ALGORITHMS: [&str; 8] =
    ["rank_svm", "list_net", "regression", "slam", "direct", "boosted_trees", "lambdamart", "auto"];

/// The sum of twelve uniform numbers, which is nearly normal, with mean 0 and variance 1.
fn normal(random: &mut Random) -> f64 {
    (0..12).map(|_| 0.5 * random.symmetric()).sum()
}

/// Adds a table of judged queries: the grade has a part that `bm25` knows, and one that `x` knows if it has a weight.
fn add(connection: &Connection, table: &str, queries: usize, weight: f64, random: &mut Random) {
    let columns = "query_id, doc_id, relevance, bm25, distance, x, y";
    connection.execute_batch(&format!("CREATE TABLE {table}({columns})")).unwrap();
    let mut insert =
        connection.prepare(&format!("INSERT INTO {table} VALUES (?, ?, ?, ?, ?, ?, ?)")).unwrap();
    for row in 0..queries * DOCUMENTS {
        let (known, x, y) = (normal(random), normal(random), normal(random));
        let utility = known + weight * x + 0.5 * normal(random);
        let grade = [0.5, 1.5].iter().filter(|threshold| utility > **threshold).count();
        let bm25 = 12.0 + 3.0 * known;
        let query = row / DOCUMENTS;
        insert.execute((query as i64, row as i64, grade as i64, bm25, -bm25, x, y)).unwrap();
    }
}

/// 40 judged queries and 100 to test on. `weight`: of `x` in the grades.
fn queries(weight: f64) -> Connection {
    let connection = database();
    let mut random = Random::new(7);
    add(&connection, "judged", 40, weight, &mut random);
    add(&connection, "test", 100, weight, &mut random);
    connection
}

const COLUMNS: &str = "SELECT query_id, doc_id, relevance, bm25, x, y FROM ";

fn train(connection: &Connection, algorithm: &str, options: &Value) -> Value {
    let mut options = options.clone();
    options["name"] = json!("m");
    let source = format!("{COLUMNS} judged");
    let report: String =
        value(connection, "SELECT ltr_train(?1, ?2, ?3)", (algorithm, source, options.to_string()));
    serde_json::from_str(&report).unwrap()
}

fn refusal(connection: &Connection, algorithm: &str, options: &Value) -> String {
    let source = format!("{COLUMNS} judged");
    let found = connection.query_row(
        "SELECT ltr_train(?1, ?2, ?3)",
        (algorithm, source, options.to_string()),
        |_| Ok(()),
    );
    found.expect_err("a refusal").to_string()
}

/// Documents of the test queries in the order of the model that are not in the order of the column.
fn out_of_order(connection: &Connection, order: &str) -> i64 {
    let sql = format!(
        "SELECT count(*) FROM ltr_rank('m', 'test') r JOIN
           (SELECT query_id, doc_id, row_number() OVER (PARTITION BY query_id ORDER BY {order}) AS own FROM test) o
           USING (query_id, doc_id) WHERE rank <> own"
    );
    value(connection, &sql, ())
}

fn ndcg(connection: &Connection) -> f64 {
    let sql = "SELECT value FROM ltr_evaluate('m', 'test') WHERE query_id IS NULL";
    value(connection, sql, ())
}

fn ndcg_of_column(connection: &Connection) -> f64 {
    let sql =
        "SELECT avg(value) FROM (SELECT ltr_ndcg(relevance, bm25, 10) AS value FROM test GROUP BY query_id)";
    value(connection, sql, ())
}

fn warns(report: &Value, part: &str) -> bool {
    report["warnings"].as_array().unwrap().iter().any(|warning| warning.as_str().unwrap().contains(part))
}

#[test]
fn without_a_gain_the_model_has_the_order_of_the_baseline() {
    let connection = queries(0.0);
    // Nothing is better than the order of the column.
    connection.execute_batch("UPDATE judged SET relevance = (bm25 > 13.5) + (bm25 > 16.5)").unwrap();
    for algorithm in ALGORITHMS {
        let report = train(&connection, algorithm, &json!({"baseline": "bm25"}));
        let part = &report["baseline"];
        assert_eq!(out_of_order(&connection, "bm25 DESC"), 0, "{algorithm}: {part}");
        assert_eq!(part["alone"], true, "{algorithm}: {part}");
        assert!(
            warns(&report, "the model is the baseline \"bm25\"; nothing is shown to be better"),
            "{algorithm}: {report}"
        );
        assert_eq!(report["settings"]["baseline"], "bm25", "{algorithm}");
    }
}

#[test]
fn a_column_that_knows_more_is_used() {
    let connection = queries(1.0);
    let today = ndcg_of_column(&connection);
    for algorithm in ALGORITHMS {
        let report = train(&connection, algorithm, &json!({"baseline": "bm25"}));
        let (part, own) = (&report["baseline"], ndcg(&connection));
        assert_eq!(
            (&part["alone"], &part["is_better"]),
            (&json!(false), &json!(true)),
            "{algorithm}: {part}"
        );
        assert!(own > today + 0.05, "{algorithm}: {own} {today}");
        let difference = part["difference"].as_f64().unwrap();
        let interval = [0, 1].map(|end| part["interval"][end].as_f64().unwrap());
        assert!(interval[0] < difference && difference < interval[1], "{algorithm}: {part}");
        let measured = report["validation"]["best"].as_f64().unwrap() - part["value"].as_f64().unwrap();
        assert!((difference - measured).abs() < 0.03, "{algorithm}: {part} {measured}");
        assert!(!warns(&report, "nothing is shown"), "{algorithm}: {report}");
    }
}

#[test]
fn units_and_the_sign_of_the_column_do_not_matter() {
    let connection = queries(0.6);
    let ranks = |algorithm: &str, source: &str, baseline: &str| -> String {
        let options = json!({"baseline": baseline, "name": "m", "lambda": 0.1});
        let options =
            if algorithm == "rank_svm" { options } else { json!({"baseline": baseline, "name": "m"}) };
        let _: String =
            value(&connection, "SELECT ltr_train(?1, ?2, ?3)", (algorithm, source, options.to_string()));
        let test = source.replace("judged", "test");
        let sql =
            "SELECT group_concat(doc_id) FROM (SELECT doc_id FROM ltr_rank('m', ?1) ORDER BY query_id, rank)";
        value(&connection, sql, [test])
    };
    for algorithm in ["rank_svm", "boosted_trees"] {
        let plain = "SELECT query_id, doc_id, relevance, x, bm25 AS b FROM judged";
        let first = ranks(algorithm, plain, "b");
        let turned = "SELECT query_id, doc_id, relevance, x, 1024 * distance AS b FROM judged";
        let second = ranks(algorithm, turned, "-b");
        let differing = first.split(',').zip(second.split(',')).filter(|(a, b)| a != b).count();
        // Quantiles and thresholds of a turned column are not exactly the turned ones.
        let most = if algorithm == "rank_svm" { 20 } else { 500 };
        assert!(differing <= most, "{algorithm}: {differing}");
    }
}

/// Options that leave nothing to choose but the baseline, for each kind of training.
const GIVEN: [(&str, &str, f64); 7] = [
    ("rank_svm", "lambda", 0.01),
    ("list_net", "lambda", 0.01),
    ("regression", "lambda", 0.001),
    ("slam", "lambda", 0.01),
    ("direct", "lambda", 0.01),
    ("boosted_trees", "trees", 30.0),
    ("lambdamart", "trees", 30.0),
];

fn with_given(option: &str, given: f64) -> Value {
    let given = if option == "trees" { json!(given as i64) } else { json!(given) };
    json!({"baseline": "bm25", option: given})
}

#[test]
fn a_given_lambda_or_number_of_trees_must_beat_the_baseline() {
    let (useful, useless) = (queries(1.0), queries(0.0));
    useless.execute_batch("UPDATE judged SET relevance = (bm25 > 13.5) + (bm25 > 16.5)").unwrap();
    for (algorithm, option, given) in GIVEN {
        let options = with_given(option, given);
        let context = format!("{algorithm} {options}");
        // 1. A column that knows more.
        let report = train(&useful, algorithm, &options);
        assert_eq!(report["baseline"]["is_better"], true, "{context}: {report}");
        assert_eq!(report[option].as_f64(), Some(given), "{context}");
        assert!(ndcg(&useful) > ndcg_of_column(&useful) + 0.05, "{context}");
        assert!(!warns(&report, "candidates") && !warns(&report, "not shown"), "{context}: {report}");
        // 2. Nothing is better than the baseline.
        let report = train(&useless, algorithm, &options);
        assert_eq!(report["baseline"]["alone"], true, "{context}: {}", report["baseline"]);
        assert_eq!(out_of_order(&useless, "bm25 DESC"), 0, "{context}");
        assert!(
            warns(&report, "the model is the baseline \"bm25\"; nothing is shown"),
            "{context}: {report}"
        );
        assert!(report["baseline"]["interval"][0].is_number(), "{context}: {report}");
    }
    // Arrays of other options give a lambda to each fit.
    let options = json!({"baseline": "bm25", "lambda": [0.001, 0.01], "scale": ["standard", "quantile"]});
    assert_eq!(train(&useless, "rank_svm", &options)["baseline"]["alone"], true);
    assert_eq!(train(&useful, "rank_svm", &options)["baseline"]["is_better"], true);
    // The lambda of f = 0.
    let report = train(&useful, "list_net", &json!({"baseline": "bm25", "lambda": 1e9}));
    assert_eq!((out_of_order(&useful, "bm25 DESC"), &report["baseline"]["alone"]), (0, &json!(true)));
}

/// Rule 5.37: differences on few held-out queries show nothing, and the warning says why.
#[test]
fn the_warning_says_why_nothing_is_shown() {
    let connection = queries(1.0);
    connection.execute_batch("DELETE FROM judged WHERE query_id >= 7").unwrap();
    for (algorithm, options) in [
        ("rank_svm", json!({"baseline": "bm25"})),
        ("rank_svm", json!({"baseline": "bm25", "lambda": 0.01})),
        ("boosted_trees", json!({"baseline": "bm25"})),
        ("boosted_trees", json!({"baseline": "bm25", "trees": 20})),
    ] {
        let report = train(&connection, algorithm, &options);
        let interval = report["baseline"]["interval"].as_array().map_or(0, Vec::len);
        let text =
            "held-out queries, which is too few: 10 can show a gain; more judged queries may show a gain";
        assert!(
            interval == 2 && warns(&report, "95% interval") && warns(&report, text),
            "{algorithm} {options}: {report}"
        );
    }
}

/// Rule 9.2: the weights of f, and the baseline's. With an affine scaling their sums are the scores.
#[test]
fn weights_have_a_row_for_the_baseline() {
    let connection = queries(1.0);
    for (algorithm, options) in [
        ("rank_svm", json!({"baseline": "bm25", "scale": "standard"})),
        ("list_net", json!({"baseline": "bm25", "scale": "none", "lambda": 0.001})),
        ("regression", json!({"baseline": "bm25", "scale": "max_norm"})),
        ("rank_svm", json!({"baseline": "bm25", "lambda": 1e9})),
    ] {
        train(&connection, algorithm, &options);
        let names: String = value(&connection, "SELECT group_concat(feature) FROM ltr_weights('m')", ());
        let is_alone = options["lambda"] == 1e9;
        assert_eq!(names, if is_alone { "bm25 (baseline)" } else { "bm25,x,y,bm25 (baseline)" });
        let sql = "SELECT max(d) - min(d) FROM (SELECT ltr_score('m', json_array(bm25, x, y)) - (
            SELECT sum(raw_weight * CASE feature WHEN 'x' THEN x WHEN 'y' THEN y ELSE bm25 END) FROM ltr_weights('m')) AS d FROM test)";
        let differing: f64 = value(&connection, sql, ());
        assert!(differing < 1e-9, "{algorithm} {options}: {differing}");
    }
    train(&connection, "boosted_trees", &json!({"baseline": "bm25"}));
    let refused = connection.query_row("SELECT count(*) FROM ltr_weights('m')", (), |_| Ok(()));
    assert!(refused.expect_err("trees").to_string().contains("not weighted sums"));
}

#[test]
fn few_judgments_give_the_baseline() {
    let connection = queries(1.0);
    connection.execute_batch("DELETE FROM judged WHERE doc_id % 10 > 0").unwrap();
    for algorithm in ALGORITHMS {
        let report = train(&connection, algorithm, &json!({"baseline": "bm25"}));
        assert!(warns(&report, "the model is the baseline"), "{algorithm}: {report}");
        assert_eq!(out_of_order(&connection, "bm25 DESC"), 0, "{algorithm}");
    }
}

#[test]
fn judgments_that_contradict_the_baseline_give_a_warning() {
    let connection = queries(0.0);
    for algorithm in ["rank_svm", "boosted_trees", "auto"] {
        let report = train(&connection, algorithm, &json!({"baseline": "-bm25"}));
        assert!(warns(&report, "set \"baseline\": \"bm25\""), "{algorithm}: {report}");
        assert!(ndcg(&connection) > ndcg_of_column(&connection) - 0.1, "{algorithm}");
    }
}

#[test]
fn the_baseline_has_a_number_in_every_row() {
    let connection = queries(1.0);
    for algorithm in ["rank_svm", "boosted_trees"] {
        let options = json!({"baseline": "bm25", "missing": "mean"});
        train(&connection, algorithm, &options);
        // Other columns may miss values.
        connection.execute_batch("BEGIN; UPDATE test SET x = NULL WHERE doc_id = 5").unwrap();
        let ranked: i64 = value(&connection, "SELECT count(*) FROM ltr_rank('m', 'test')", ());
        assert_eq!(ranked, 1000);
        connection.execute_batch("UPDATE test SET bm25 = NULL WHERE doc_id = 7").unwrap();
        let found = connection.query_row("SELECT count(*) FROM ltr_rank('m', 'test')", (), |_| Ok(()));
        let problem = "column \"bm25\": missing; it is the baseline, which needs a number in every row";
        assert!(found.expect_err("a refusal").to_string().contains(problem));
        connection.execute_batch("UPDATE judged SET bm25 = NULL WHERE doc_id = 7").unwrap();
        assert!(refusal(&connection, algorithm, &options).contains(problem));
        connection.execute_batch("ROLLBACK").unwrap();
    }
}

/// Trees divide documents without a value of a feature; the baseline adds nothing for features without a weight.
#[test]
fn trees_take_missing_values_of_other_columns() {
    let connection = queries(1.0);
    connection
        .execute_batch(
            "UPDATE judged SET y = NULL WHERE doc_id % 3 = 0; UPDATE test SET y = NULL WHERE doc_id % 4 = 0",
        )
        .unwrap();
    train(&connection, "boosted_trees", &json!({"baseline": "bm25", "missing": "branch"}));
    assert!(ndcg(&connection) > ndcg_of_column(&connection) + 0.05);
}

#[test]
fn exported_sql_has_the_baseline() {
    let connection = queries(1.0);
    for algorithm in ["rank_svm", "boosted_trees"] {
        train(&connection, algorithm, &json!({"baseline": "bm25"}));
        let text: String = value(&connection, "SELECT ltr_export('m', 'sql')", ());
        let sql = format!("SELECT max(abs(({text}) - ltr_score('m', json_array(bm25, x, y)))) FROM test");
        let difference: f64 = value(&connection, &sql, ());
        assert!(difference < 1e-9, "{algorithm}: {difference}");
    }
}

#[test]
fn what_has_no_baseline_refuses_it() {
    let connection = queries(1.0);
    let b = "bm25";
    for (algorithm, options, problem) in [
        ("rank_svm", json!({"baseline": "rrf"}), "\"rrf\" is not one of the numeric features: bm25, x, y"),
        ("rank_svm", json!({"baseline": b, "prior": "regression"}), "leave out the option 'prior'"),
        ("rank_svm", json!({"baseline": b, "kernel": "gaussian"}), "it needs \"kernel\": \"linear\""),
        ("rank_svm", json!({"baseline": b, "form": "ranking"}), "it needs \"form\": \"scoring\""),
        ("rank_svm", json!({"baseline": b, "buckets": 4}), "training in buckets: the option 'baseline'"),
        ("boosted_trees", json!({"baseline": b, "buckets": 4}), "training in buckets: the option 'baseline'"),
        ("boosted_trees", json!({"baseline": b, "scale": "none+quantile_minmax"}), "it needs one scaling"),
        ("q_svm", json!({"baseline": b}), "it needs one function of all queries"),
        (
            "indv_svm",
            json!({"baseline": b, "validation": "documents"}),
            "it needs one function of all queries",
        ),
        ("eigen_rank", json!({"baseline": b}), "it needs \"penalty\": \"ridge\""),
        ("perceptron", json!({"baseline": b}), "'perceptron' has no option 'baseline'"),
        ("cofi_rank", json!({"baseline": b}), "'cofi_rank' has no option 'baseline'"),
    ] {
        let found = refusal(&connection, algorithm, &options);
        assert!(found.contains(problem), "{algorithm} {options}: {found}");
    }
    connection.execute_batch("UPDATE judged SET bm25 = 1").unwrap();
    let found = refusal(&connection, "rank_svm", &json!({"baseline": b}));
    assert!(found.contains("the same value in every row"), "{found}");
}

#[test]
fn few_queries_without_a_baseline_give_advice() {
    let connection = queries(1.0);
    for (options, advises) in
        [(json!({}), true), (json!({"baseline": "bm25"}), false), (json!({"kernel": "gaussian"}), false)]
    {
        let report = train(&connection, "rank_svm", &options);
        let found = report["advice"].as_str().unwrap_or_default();
        assert_eq!(found.starts_with("only ") && found.contains("'baseline'"), advises, "{options}: {found}");
    }
    let mut random = Random::new(8);
    connection.execute_batch("DROP TABLE judged").unwrap();
    add(&connection, "judged", 70, 1.0, &mut random);
    assert_eq!(train(&connection, "rank_svm", &json!({}))["advice"], Value::Null);
}
