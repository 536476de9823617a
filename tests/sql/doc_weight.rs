//! Weights of documents (role `doc_weight`, rule 2.15) and of pairs (option `pair_weights`) in SQL.

use crate::support::{database, value};
use proptest::prelude::*;
use rusqlite::Connection;
use serde_json::{Value, json};

/// Grade, weight and two features of a document.
type Document = (u8, u8, f64, f64);

/// A table `judged` of these queries; the column `copies` has the weights.
fn judged(queries: &[Vec<Document>]) -> Connection {
    let connection = database();
    connection
        .execute_batch(
            "CREATE TABLE judged(query_id, doc_id, relevance, copies, a REAL, b REAL, q_kind REAL)",
        )
        .unwrap();
    let mut insert = connection.prepare("INSERT INTO judged VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)").unwrap();
    for (query, documents) in queries.iter().enumerate() {
        for (document, (grade, copies, a, b)) in documents.iter().enumerate() {
            let kind = (query % 3) as f64;
            insert.execute((query as i64, document as i64, grade, copies, a, b, kind)).unwrap();
        }
    }
    drop(insert);
    connection
}

fn fit(connection: &Connection, algorithm: &str, source: &str, options: &Value) -> Result<Vec<u8>, String> {
    let sql = "SELECT ltr_fit(?1, ?2, ?3)";
    let found = connection.query_row(sql, (algorithm, source, options.to_string()), |row| row.get(0));
    found.map_err(|error| error.to_string())
}

/// Weights of the scaled features.
fn weights(connection: &Connection, model: &[u8]) -> Vec<f64> {
    let mut statement = connection.prepare("SELECT weight FROM ltr_weights(?1)").unwrap();
    statement.query_map([model], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
}

fn near(a: &[f64], b: &[f64], tolerance: f64) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() <= tolerance * (1.0 + a.abs()))
}

/// Each document as often as its weight says.
const COPIES: &str = "WITH n(i) AS (VALUES (1), (2), (3))
    SELECT query_id, 10 * doc_id + i AS doc_id, relevance, a, b FROM judged, n WHERE i <= copies";
const WEIGHTED: &str = "SELECT query_id, doc_id, relevance, copies AS doc_weight, a, b FROM judged";
const PLAIN: &str = "SELECT query_id, doc_id, relevance, a, b FROM judged";

fn queries() -> impl Strategy<Value = Vec<Vec<Document>>> {
    let document = (0u8..4, 0u8..4, -1.0..1.0, -1.0..1.0);
    // A query without any copy would be missing in the mean over queries.
    let counts = |mut query: Vec<Document>| {
        query[0].1 = query[0].1.max(1);
        query
    };
    prop::collection::vec(prop::collection::vec(document, 2..9).prop_map(counts), 2..6)
}

/// Whether some query has documents of different grades that both count.
fn is_informative(queries: &[Vec<Document>]) -> bool {
    queries.iter().any(|query| {
        let grades: Vec<u8> =
            query.iter().filter(|document| document.1 > 0).map(|document| document.0).collect();
        grades.iter().max() != grades.iter().min()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20, failure_persistence: None, ..ProptestConfig::default() })]

    /// With least squares and ListNet a document of weight w counts as w copies, whatever the solver.
    #[test]
    fn weights_of_lists_are_copies(queries in queries()) {
        prop_assume!(is_informative(&queries));
        let connection = judged(&queries);
        for (algorithm, options) in [
            ("regression", json!({})),
            ("regression", json!({"centering": "none"})),
            ("regression", json!({"solver": "lbfgs"})),
            ("regression", json!({"solver": "bundle"})),
            ("list_net", json!({})),
            ("list_net", json!({"target": "gain"})),
            ("list_net", json!({"solver": "lbfgs"})),
            ("regression", json!({"penalty": "spectral", "lambda": 1e-6})),
        ] {
            let mut options = options;
            options["scale"] = json!("none");
            options["threads"] = json!(1);
            options["tolerance"] = json!(1e-9);
            if options["lambda"].is_null() {
                options["lambda"] = json!(0.05);
            }
            let [weighted, copies] = [WEIGHTED, COPIES].map(|source| fit(&connection, algorithm, source, &options));
            let (weighted, copies) = (weights(&connection, &weighted.unwrap()), weights(&connection, &copies.unwrap()));
            // A relative gap of 1e-9 leaves the weights this uncertain.
            prop_assert!(near(&weighted, &copies, 1e-3), "{algorithm} {options}: {weighted:?} {copies:?}");
        }
    }

    /// With pairwise losses a document of the highest grade is never the worse one, so its weight counts as copies too, up to the
    /// number of pairs that the loss of a query is divided by.
    #[test]
    fn weights_of_the_best_documents_are_copies(queries in queries()) {
        let connection = judged(&queries);
        let highest = "(SELECT max(relevance) FROM judged AS other WHERE other.query_id = judged.query_id)";
        let best = |source: &str| {
            source.replace("FROM judged", &format!("FROM (SELECT query_id, doc_id, relevance, a, b,
                iif(relevance = {highest}, max(copies, 1), 1) AS copies FROM judged)"))
        };
        // N (N - 1) for the copies, divided by N (N - 1) for the documents.
        let copies = format!("SELECT *, (SELECT count(*) * (count(*) - 1.0) FROM ({0}) AS o WHERE o.query_id = c.query_id)
            / (SELECT count(*) * (count(*) - 1.0) FROM judged AS o WHERE o.query_id = c.query_id) AS weight FROM ({0}) AS c",
            best(COPIES));
        prop_assume!(queries.iter().any(|query| query.iter().any(|document| document.0 != query[0].0)));
        for (algorithm, loss) in [("rank_svm", "hinge"), ("rank_svm", "squared_hinge"), ("rank_svm", "logistic")] {
            for by in ["equal", "grade", "gain"] {
                let options = json!({"loss": loss, "pair_weights": by, "lambda": 0.05, "scale": "none", "threads": 1, "tolerance": 1e-11});
                let weighted = weights(&connection, &fit(&connection, algorithm, &best(WEIGHTED), &options).unwrap());
                let copies = weights(&connection, &fit(&connection, algorithm, &copies, &options).unwrap());
                prop_assert!(near(&weighted, &copies, 1e-4), "{loss} {by}: {weighted:?} {copies:?}");
            }
        }
    }
}

/// Twelve queries of six documents.
fn example() -> Connection {
    let number = |i: usize, step: usize| ((i * step) % 101) as f64 / 50.0 - 1.0;
    let document = |i: usize| {
        let (a, b) = (number(i, 37), number(i, 59));
        let grade = u8::from(a + 0.4 * b > 0.0) + u8::from(a - b > 0.7) * 2;
        (grade, (i % 4) as u8, a, b)
    };
    judged(&(0..12).map(|query| (0..6).map(|i| document(1 + 6 * query + i)).collect()).collect::<Vec<_>>())
}

#[test]
fn equal_weights_change_no_bit() {
    let connection = example();
    let ones = PLAIN.replace("a, b FROM", "1.0 AS doc_weight, a, b FROM");
    for (algorithm, options) in [
        ("rank_svm", json!({"lambda": 0.01})),
        ("rank_svm", json!({"lambda": 0.01, "loss": "logistic", "solver": "newton"})),
        ("rank_svm", json!({"lambda": 0.1, "loss": "hinge", "solver": "admm"})),
        ("rank_svm", json!({"lambda": 0.01, "kernel": "gaussian"})),
        ("list_net", json!({"lambda": 0.01})),
        ("regression", json!({})),
    ] {
        let scores = |model: Vec<u8>| {
            let sql = "SELECT json_group_array(score) FROM (SELECT * FROM ltr_rank(?1, 'judged') ORDER BY query_id, doc_id)";
            value::<String>(&connection, sql, [model])
        };
        let plain = scores(fit(&connection, algorithm, PLAIN, &options).unwrap());
        assert_eq!(
            scores(fit(&connection, algorithm, &ones, &options).unwrap()),
            plain,
            "{algorithm} {options}"
        );
        let given = |by: &str| {
            let mut options = options.clone();
            options["pair_weights"] = json!(by);
            fit(&connection, algorithm, PLAIN, &options)
        };
        if algorithm == "rank_svm" {
            assert_eq!(scores(given("equal").unwrap()), plain, "{options}");
            assert_ne!(scores(given("gain").unwrap()), plain, "{options}");
        } else {
            assert!(given("gain").unwrap_err().contains("option 'pair_weights' has no effect with loss"));
        }
    }
}

/// Stored blocks have the weights: functions fitted at query time equal the training's, for any row order and number of
/// threads.
#[test]
fn query_dependent_models_store_the_weights() {
    let connection = example();
    let source = WEIGHTED.replace("a, b FROM", "a, b, q_kind FROM");
    let scores = |model: &[u8]| {
        let sql = "SELECT json_group_array(round(score, 9)) FROM
            (SELECT * FROM ltr_rank(?1, 'judged') ORDER BY query_id, doc_id)";
        value::<String>(&connection, sql, [model])
    };
    for (loss, kernel, form) in [
        ("hinge", "linear", "scoring"),
        ("logistic", "gaussian", "scoring"),
        ("squared_hinge", "gaussian", "ranking"),
        ("list_net", "linear", "scoring"),
        ("squared", "gaussian", "scoring"),
    ] {
        let mut options = json!({"loss": loss, "kernel": kernel, "form": form, "lambda": 0.05, "neighbors": 5, "tolerance": 1e-9});
        if form == "ranking" || loss == "hinge" {
            options["pair_weights"] = json!("gain");
        }
        let trained = fit(&connection, "q_svm", &source, &options).unwrap();
        let shuffled = format!("{source} ORDER BY a * b, doc_id");
        options["threads"] = json!(2);
        assert!(fit(&connection, "q_svm", &shuffled, &options).unwrap() == trained, "{loss}");
        options["fit_at"] = json!("query_time");
        let later = fit(&connection, "q_svm", &source, &options).unwrap();
        assert_eq!(scores(&later), scores(&trained), "{loss} {kernel} {form}");
        let unweighted = source.replace("copies AS doc_weight,", "");
        assert_ne!(
            scores(&fit(&connection, "q_svm", &unweighted, &options).unwrap()),
            scores(&trained),
            "{loss}"
        );
    }
}

/// Grades 0 and 2: a difference of 2 doubles each pair, a gain of 3 triples it. That is a smaller lambda.
#[test]
fn weights_by_grades_scale_lambda_if_all_differences_are_equal() {
    let connection = example();
    let source = "SELECT query_id, doc_id, iif(relevance > 1, 2, 0) AS relevance, a, b FROM judged";
    let weights = |by: &str, lambda: f64, solver: &str| {
        let options = json!({"pair_weights": by, "lambda": lambda, "solver": solver, "tolerance": 1e-9});
        weights(&connection, &fit(&connection, "rank_svm", source, &options).unwrap())
    };
    for solver in ["newton", "admm"] {
        assert!(near(&weights("grade", 0.2, solver), &weights("equal", 0.1, solver), 1e-4));
        assert!(near(&weights("gain", 0.3, solver), &weights("equal", 0.1, solver), 1e-4));
    }
}

#[test]
fn what_takes_no_weights_refuses_them_before_a_row_is_read() {
    let connection = example();
    let failing = WEIGHTED.replace("relevance, copies", "json('{') AS relevance, copies");
    for (algorithm, by) in [
        ("slam", "slam"),
        ("direct", "direct"),
        ("list_mle", "list_mle"),
        ("perceptron", "perceptron"),
        ("lambdamart", "lambda_rank"),
    ] {
        let error = fit(&connection, algorithm, &failing, &json!({})).unwrap_err();
        let way_out = match algorithm {
            "perceptron" => "another algorithm, such as \"rank_svm\"",
            _ => "a pairwise loss",
        };
        let expected = format!(
            "the column \"doc_weight\" has the role doc_weight, but '{by}' does not weigh documents; use {way_out}"
        );
        assert!(error.contains(&expected) && error.contains("\"ignore\": [\"doc_weight\"]"), "{error}");
        let ignored = json!({"columns": {"ignore": ["doc_weight"]}});
        assert!(fit(&connection, algorithm, WEIGHTED, &ignored).is_ok(), "{algorithm}");
    }
    let ratings =
        "SELECT query_id AS user, doc_id AS item, json('{') AS rating, copies AS doc_weight FROM judged";
    let error = fit(&connection, "cofi_rank", ratings, &json!({ "lambda": 1 })).unwrap_err();
    assert!(error.contains("'cofi_rank' does not weigh documents"), "{error}");
    for (bad, reason) in [("-1", "expected numbers from 0 to 1e100"), ("NULL", "NULL"), ("'x'", "'x'")] {
        let source = WEIGHTED.replace("copies AS", &format!("iif(doc_id = 2, {bad}, 1) AS"));
        let error = fit(&connection, "rank_svm", &source, &json!({"lambda": 1})).unwrap_err();
        assert!(error.contains("column \"doc_weight\"") && error.contains(reason), "{error}");
    }
    let zero = WEIGHTED.replace("copies AS", "0 AS");
    let error = fit(&connection, "rank_svm", &zero, &json!({"lambda": 1})).unwrap_err();
    assert!(error.contains("nothing to learn") && error.contains("documents of weight 0"), "{error}");
    // Least squares learns from two documents of a query that count.
    for weight in ["0", "iif(doc_id = 2, 1, 0)"] {
        let source = WEIGHTED.replace("copies AS", &format!("{weight} AS"));
        let error = fit(&connection, "auto", &source, &json!({})).unwrap_err();
        assert!(error.contains("nothing to learn"), "{error}");
    }
}

/// The scores of all documents, with mean 0 and norm 1.
fn standard_scores(connection: &Connection, model: &[u8]) -> Vec<f64> {
    let mut statement =
        connection.prepare("SELECT score FROM ltr_rank(?1, 'judged') ORDER BY query_id, doc_id").unwrap();
    let scores = statement.query_map([model], |row| row.get(0)).unwrap().collect::<Result<Vec<f64>, _>>();
    let scores = scores.unwrap();
    let mean = scores.iter().sum::<f64>() / scores.len() as f64;
    let norm = scores.iter().map(|score| (score - mean).powi(2)).sum::<f64>().sqrt();
    scores.iter().map(|score| (score - mean) / norm).collect()
}

/// `auto` fits least squares over all documents: `regression` with the lambda that it chose, and with the weight of the
/// documents as the weight of their query. So a document of weight w counts as w copies. Documents of weight 0, and a query of
/// them, have no influence on the function.
#[test]
fn auto_weighs_documents_as_regression_does() {
    let connection = example();
    connection.execute("UPDATE judged SET copies = 0 WHERE query_id = 3", ()).unwrap();
    // Query weights have the mean 1, as document weights have in N.
    let weight = "sum(copies) OVER (PARTITION BY query_id)
        / (SELECT 1.0 * sum(copies) / count(DISTINCT query_id) FROM judged WHERE copies > 0) AS weight";
    let by_query = WEIGHTED.replace("SELECT", &format!("SELECT {weight},"));
    let counted = format!("SELECT * FROM ({by_query}) WHERE doc_weight > 0");
    let model = fit(&connection, "auto", WEIGHTED, &json!({"kernel": "linear", "scale": "none"})).unwrap();
    let lambda: f64 = value(&connection, "SELECT ltr_info(?1) ->> '$.training.lambda'", [&model]);
    let actual = standard_scores(&connection, &model);
    let options = json!({"scale": "none", "lambda": lambda, "tolerance": 1e-10});
    let [expected, plain] = [counted.as_str(), PLAIN].map(|source| {
        standard_scores(&connection, &fit(&connection, "regression", source, &options).unwrap())
    });
    assert!(near(&actual, &expected, 1e-6), "{actual:?} {expected:?}");
    assert!(!near(&actual, &plain, 1e-3), "{actual:?} {plain:?}");
}

/// Weights that are equal everywhere change neither a choice nor a function: kernels in single precision, and trees.
#[test]
fn auto_depends_on_ratios_of_weights() {
    let connection = database();
    let documents = "CREATE TABLE judged AS WITH RECURSIVE n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < 799)
        SELECT i / 8 AS query_id, i % 8 AS doc_id, i * 37 % 101 / 50.0 AS a, i * 59 % 103 / 50.0 AS b,
               (i * 37 % 101 > 60) + (i * 59 % 103 > 70) + (i * 31 % 97 > 80) AS relevance, 0.5 + i * 13 % 4 AS copies FROM n";
    connection.execute_batch(documents).unwrap();
    let scores = |source: &str| -> Vec<f64> {
        let model = fit(&connection, "auto", source, &json!({"effort": 1})).unwrap();
        let sql = "SELECT score FROM ltr_rank(?1, 'judged') ORDER BY query_id, doc_id";
        let mut statement = connection.prepare(sql).unwrap();
        statement.query_map([model], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
    };
    let constant = |weight: &str| scores(&WEIGHTED.replace("copies AS", &format!("{weight} AS")));
    let plain = scores(PLAIN);
    assert_eq!(constant("1.0"), plain);
    assert!(near(&constant("4.0"), &plain, 1e-4));
    assert!(!near(&scores(WEIGHTED), &plain, 1e-3));
}

/// The metrics of validation are not weighted.
#[test]
fn validation_counts_each_document_once() {
    let connection = example();
    let options = json!({ "lambda": [1, 0.01], "validation": WEIGHTED, "metric": "ndcg@3" });
    let model = fit(&connection, "rank_svm", WEIGHTED, &options).unwrap();
    let best: f64 = value(&connection, "SELECT ltr_info(?1) ->> '$.training.validation.best'", [&model]);
    let sql = "SELECT value FROM ltr_evaluate(?1, ?2, '{\"metric\": \"ndcg@3\"}') WHERE query_id IS NULL";
    let plain: f64 = value(&connection, sql, (&model, PLAIN));
    assert!((best - plain).abs() < 1e-12, "{best} {plain}");
}

#[test]
fn the_report_names_the_column() {
    let connection = example();
    let source = WEIGHTED.replace("doc_weight", "propensity");
    let options = json!({"columns": {"doc_weight": "propensity"}, "lambda": 1});
    let report: String =
        value(&connection, "SELECT ltr_train('rank_svm', ?1, ?2)", (source, options.to_string()));
    let report: Value = serde_json::from_str(&report).unwrap();
    assert_eq!(report["roles"]["doc_weight"], "propensity");
    assert_eq!(report["roles"]["features"], json!(["a", "b"]));
    // A model ranks and is measured without the weights.
    let ranked = "SELECT count(*) FROM ltr_rank('rank_svm', 'SELECT query_id, doc_id, a, b FROM judged')";
    assert_eq!(value::<i64>(&connection, ranked, ()), 72);
}
