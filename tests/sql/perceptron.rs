//! The perceptron in SQL: a stream that is cut and goes on is the same stream, and the theory holds for what it reports.

use crate::support::{database, value};
use proptest::prelude::*;
use rusqlite::Connection;
use serde_json::{Value, json};
use sqlite_ltr::internals::model::Model;

/// Grade and two features.
type Document = (u8, f64, f64);

/// Queries 1, 2, ... in the order of their first rows, the ids falling; every other query is interleaved with the next.
fn stream(queries: &[Vec<Document>]) -> Connection {
    let connection = database();
    connection
        .execute_batch("CREATE TABLE stream(place INTEGER, query_id, doc_id, relevance, a REAL, b REAL)")
        .unwrap();
    let mut insert = connection.prepare("INSERT INTO stream VALUES (?1, ?2, ?3, ?4, ?5, ?6)").unwrap();
    for (place, query) in queries.iter().enumerate() {
        for (document, (grade, a, b)) in query.iter().enumerate() {
            let (id, document) = (1000 - place as i64, -(document as i64));
            insert.execute((place as i64, id, document, grade, a, b)).unwrap();
        }
    }
    drop(insert);
    connection
}

const WIDE: &str = "SELECT query_id, doc_id, relevance, a, b FROM stream";
const PACKED: &str = "SELECT query_id, relevance, ltr_vec(a, b) AS features FROM stream";

/// The rows of places from `first` to before `end`; rows of one query are not adjacent.
fn part(columns: &str, first: usize, end: usize) -> String {
    format!("{columns} WHERE place >= {first} AND place < {end} ORDER BY place / 2, rowid % 3, place")
}

fn fit(connection: &Connection, source: &str, options: &Value) -> Vec<u8> {
    value(connection, "SELECT ltr_fit('perceptron', ?1, ?2)", (source, options.to_string()))
}

fn stored(connection: &Connection, name: &str) -> Vec<u8> {
    value(connection, "SELECT model FROM ltr_models WHERE name = ?1 AND active", [name])
}

fn queries(most: usize) -> impl Strategy<Value = Vec<Vec<Document>>> {
    let document =
        (0u8..4, -4i8..5, -400i16..401).prop_map(|(grade, a, b)| (grade, f64::from(a), f64::from(b) / 70.0));
    prop::collection::vec(prop::collection::vec(document, 1..7), 2..most)
}

/// No kernel, or kernels whose parameters are numbers, with a budget that is small, exhausted or not.
fn kernel() -> impl Strategy<Value = Value> {
    prop::sample::select(vec![
        json!({}),
        json!({}),
        json!({ "kernel": { "gaussian": { "gamma": 0.3 } }, "budget": 3 }),
        json!({ "kernel": { "gaussian": { "gamma": 0.05 } } }),
        json!({ "kernel": { "polynomial": { "degree": 2, "scale": 0.1, "offset": 1 } }, "budget": 4 }),
        json!({ "kernel": { "tanh": { "scale": 0.1, "offset": -0.2 } }, "budget": 5 }),
    ])
}

fn options() -> impl Strategy<Value = Value> {
    let measure = prop::sample::select(vec!["ndcg", "ndcg@2", "ndcg@10", "map"]);
    let words = (
        prop::sample::select(vec!["margin", "misorder"]),
        prop::sample::select(vec!["average", "stable"]),
        prop::sample::select(vec![0.01, 0.3, 1.0]),
        any::<bool>(),
    );
    (measure, words, kernel()).prop_map(|(measure, (active, ties, eta, average), mut options)| {
        let words = json!({
            "measure": measure, "update_on": active, "label_ties": ties, "learning_rate": eta, "average": average,
        });
        options.as_object_mut().unwrap().extend(words.as_object().unwrap().clone());
        options
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Updates cut at any query boundary give the bytes of one training.
    #[test]
    fn a_cut_stream_gives_the_same_bytes(queries in queries(7), options in options(), packed in any::<bool>()) {
        let connection = stream(&queries);
        let columns = if packed { PACKED } else { WIDE };
        let n = queries.len();
        // Pairs of places are interleaved, so that the cut is between two pairs.
        let whole = fit(&connection, &part(columns, 0, n), &options);
        for cut in (2..n).step_by(2) {
            let train = "SELECT ltr_train('perceptron', ?1, ?2)";
            let _: String = value(&connection, train, (part(columns, 0, cut), options.to_string()));
            let _: String = value(&connection, "SELECT ltr_update('perceptron', ?1)", [part(columns, cut, n)]);
            prop_assert!(stored(&connection, "perceptron") == whole, "cut at {cut}");
        }
    }

    /// Query by query, from a BLOB each time.
    #[test]
    fn one_query_after_the_other_gives_the_same_bytes(queries in queries(6), options in options()) {
        let connection = stream(&queries);
        let one = |place: usize| format!("{WIDE} WHERE place = {place} ORDER BY rowid");
        let whole = fit(&connection, &format!("{WIDE} ORDER BY place, rowid"), &options);
        let mut model = fit(&connection, &one(0), &options);
        for place in 1..queries.len() {
            let update = r#"SELECT ltr_update(?1, ?2, '{"name": "n"}')"#;
            let _: String = value(&connection, update, (&model, one(place)));
            model = stored(&connection, "n");
        }
        prop_assert!(model == whole);
    }

    /// The sums of the report are bounded as it says.
    #[test]
    fn proved_bounds_hold(queries in queries(25), options in options(), epochs in 1usize..4) {
        let connection = stream(&queries);
        let mut options = options;
        options["epochs"] = json!(epochs);
        options["shuffle"] = json!(epochs == 2);
        let sql = "SELECT ltr_train('perceptron', 'SELECT query_id, relevance, a, b FROM stream', ?1)";
        let report: String = value(&connection, sql, [options.to_string()]);
        let report: Value = serde_json::from_str(&report).unwrap();
        let number = |pointer: &str| report.pointer(pointer).and_then(Value::as_f64).unwrap();
        let (loss, surrogate) = (number("/cumulative_loss"), number("/cumulative_surrogate"));
        prop_assert!(loss <= surrogate + 1e-9, "{report}");
        // Of an update, what is nearly in the span of the support documents counts as in it, up to a squared distance of 1e-12.
        let error = if options.get("kernel").is_some() { 1e-6 } else { 1e-9 };
        let has_lengths = options["kernel"].get("tanh").is_none();
        prop_assert_eq!(report["bounds"]["regret"]["proved"].as_bool(), Some(has_lengths));
        let regret = number("/bounds/regret/value");
        prop_assert!(!has_lengths || surrogate <= regret * (1.0 + error) + error, "{report}");
        let proved = report["bounds"]["theorem_5"]["proved"].as_bool().unwrap();
        prop_assert_eq!(proved, has_lengths && options["update_on"] == "misorder");
        prop_assert!(!proved || loss <= number("/bounds/theorem_5/value") + 1e-9, "{report}");
        prop_assert_eq!(report["rounds"].as_u64().unwrap(), (epochs * queries.len()) as u64);
        prop_assert!(number("/updates") <= number("/rounds"));
        let margin = report.pointer("/bounds/corollary_6/value").and_then(Value::as_f64);
        prop_assert!(!proved || margin.is_none_or(|bound| loss <= bound * (1.0 + 1e-9)), "{report}");
        if let Some(budget) = options["budget"].as_u64() {
            prop_assert!(report["pivots"].as_u64().unwrap() <= budget, "{report}");
        }
    }

    /// The order of rows matters; the order of ids does not.
    #[test]
    fn names_of_queries_do_not_matter(queries in queries(7), options in options()) {
        let connection = stream(&queries);
        let by = |id: &str| {
            let source = format!("SELECT {id} AS query_id, relevance, a, b FROM stream ORDER BY place, rowid");
            fit(&connection, &source, &options)
        };
        prop_assert!(by("query_id") == by("place") && by("place") == by("'q' || (place * 7919 % 100)"));
    }
}

/// Twenty queries whose good documents have a large `a` and a small `b`.
fn separable() -> Connection {
    let document = |q: usize, d: usize| {
        let (a, b) = (((7 * d + 3 * q) % 11) as f64 / 11.0, ((5 * d + 4 * q) % 13) as f64 / 13.0);
        (u8::from(a - b > 0.0) + u8::from(a - b > 0.4), a, b)
    };
    stream(&(0..20).map(|q| (0..8).map(|d| document(q, d)).collect()).collect::<Vec<_>>())
}

#[test]
fn it_learns_and_ranks_what_can_be_separated() {
    let connection = separable();
    for active in ["margin", "misorder"] {
        for average in [true, false] {
            let options = json!({ "epochs": 20, "update_on": active, "average": average });
            let model = fit(&connection, WIDE, &options);
            let sql = format!(
                "SELECT value FROM ltr_evaluate(?1, '{WIDE}', '{{\"metric\": \"ndcg@10\"}}') WHERE query_id IS NULL"
            );
            let ndcg: f64 = value(&connection, &sql, [&model]);
            assert!(ndcg > 0.98, "{options}: {ndcg}");
        }
    }
}

#[test]
fn the_update_does_not_depend_on_threads_and_keeps_the_scaling() {
    let connection = separable();
    for scale in ["standard", "quantile", "query_minmax", "quantile_minmax"] {
        let first = fit(&connection, &part(WIDE, 0, 10), &json!({ "scale": scale }));
        let mut models = Vec::new();
        for threads in [1, 2, 8] {
            let options = json!({ "name": "m", "threads": threads }).to_string();
            let sql = "SELECT ltr_update(?1, ?2, ?3)";
            let _: String = value(&connection, sql, (&first, part(WIDE, 10, 20), options));
            models.push(stored(&connection, "m"));
        }
        assert!(models[0] == models[1] && models[1] == models[2], "{scale}");
        let scaling = |bytes: &[u8]| Model::from_bytes(bytes).unwrap().scaling;
        assert_eq!(scaling(&first), scaling(&models[0]), "{scale}");
        assert_ne!(first, models[0]);
    }
}

/// 1200 rounds leave the last 1000 in the model, numbered from the first.
#[test]
fn the_record_of_rounds_is_bounded() {
    let connection = separable();
    let model = fit(&connection, WIDE, &json!({ "epochs": 60 }));
    let sql = "SELECT count(*) || ' ' || min(step) || ' ' || max(step) FROM ltr_training_log(?1)";
    let steps: String = value(&connection, sql, [&model]);
    assert_eq!(steps, "1000 201 1200");
    let short = fit(&connection, WIDE, &json!({ "epochs": 1 }));
    assert!(model.len() <= short.len() + 980 * 21, "{} {}", model.len(), short.len());
}

/// Good documents are near a point: no linear function ranks them, a Gaussian kernel does, also with few support documents.
#[test]
fn a_gaussian_kernel_ranks_what_no_linear_function_does() {
    let mut random = sqlite_ltr::internals::math::random::Random::new(11);
    let mut document = |_| {
        let (a, b) = (random.symmetric(), random.symmetric());
        let distance = (a - 0.2) * (a - 0.2) + b * b;
        (u8::from(distance < 0.6) + u8::from(distance < 0.2), a, b)
    };
    let queries: Vec<Vec<Document>> = (0..120).map(|_| (0..10).map(&mut document).collect()).collect();
    let connection = stream(&queries);
    let (train, test) = (part(WIDE, 0, 80), part(WIDE, 80, 120));
    let ndcg = |options: Value| -> f64 {
        let model = fit(&connection, &train, &options);
        let sql = "SELECT value FROM ltr_evaluate(?1, ?2, '{\"metric\": \"ndcg@5\"}') WHERE query_id IS NULL";
        value(&connection, sql, (&model, &test))
    };
    let linear = ndcg(json!({ "epochs": 3 }));
    let gaussian = ndcg(json!({ "epochs": 3, "kernel": "gaussian" }));
    let few = ndcg(json!({ "epochs": 3, "kernel": "gaussian", "budget": 20 }));
    assert!(linear < 0.75 && gaussian > 0.95 && few > 0.95, "{linear} {gaussian} {few}");
}

#[test]
fn a_shuffle_is_the_seeds_and_changes_the_model() {
    let connection = separable();
    let by = |seed: u64| fit(&connection, WIDE, &json!({ "shuffle": true, "seed": seed }));
    assert!(by(1) == by(1) && by(1) != by(2));
}

#[test]
fn missing_values_get_the_means_of_all_rows() {
    let connection = separable();
    let holes = "SELECT query_id, relevance, nullif(a, 0.0) AS a, b FROM stream";
    let options = json!({ "missing": "zero" });
    let whole = fit(&connection, &part(holes, 0, 20), &options);
    let first = fit(&connection, &part(holes, 0, 8), &options);
    let sql = r#"SELECT ltr_update(?1, ?2, '{"name": "m"}')"#;
    let _: String = value(&connection, sql, (first, part(holes, 8, 20)));
    assert!(stored(&connection, "m") == whole);
}

#[test]
fn numbers_that_grow_too_large_are_an_error_that_names_the_query() {
    let connection = separable();
    let huge = "SELECT query_id, relevance, a * 1e200 AS a, b FROM stream";
    for (source, options) in [(huge, json!({})), (WIDE, json!({ "learning_rate": 1e308, "epochs": 100 }))] {
        let sql = "SELECT ltr_fit('perceptron', ?1, ?2)";
        let problem = connection
            .query_row(sql, (source, options.to_string()), |_| Ok(()))
            .expect_err("too large")
            .to_string();
        assert!(
            problem.starts_with("ltr_fit: query ") && problem.contains("smaller \"learning_rate\""),
            "{problem}"
        );
    }
}

#[test]
fn an_update_that_fails_leaves_everything_as_it_was() {
    let connection = separable();
    let _: String = value(&connection, "SELECT ltr_train('perceptron', ?1)", [WIDE]);
    let before: String = value(
        &connection,
        "SELECT group_concat(name || version || active || hex(model)) FROM ltr_models",
        [],
    );
    for source in [
        "SELECT query_id, relevance, a * 1e300 AS a, b FROM stream",
        "SELECT query_id, relevance, a FROM stream",
        "SELECT query_id, relevance, a, b FROM stream WHERE 0",
    ] {
        let sql = "SELECT ltr_update('perceptron', ?1)";
        connection.query_row(sql, [source], |_| Ok(())).expect_err("a refusal");
    }
    let after: String = value(
        &connection,
        "SELECT group_concat(name || version || active || hex(model)) FROM ltr_models",
        [],
    );
    assert_eq!(before, after);
}
