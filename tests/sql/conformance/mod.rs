//! Laws that every algorithm, loss, smoothing, scaling, kernel, solver and prior obeys, and every metric: walked over the
//! tables, so that a new entry is tested by being there.

mod cases;
mod walk;

use cases::{
    COLUMNS, Case, SCALES, assert_same_bits, batch, cases, connect, fit, judged, of_features, product,
    scores, taking,
};
use rusqlite::Connection;
use serde_json::json;
use sqlite_ltr::internals::learn::smoothing::SmoothingKind;
use sqlite_ltr::internals::model::Model;
use sqlite_ltr::internals::train::options::{self, Use};
use sqlite_ltr::metric::{METRICS, Metric};

/// Tiny data, each combination once: it is fitted, its bytes are read and written, it ranks with finite scores that do
/// not change.
#[test]
fn every_accepted_combination_trains_and_ranks() {
    let connection = connect();
    let small = format!("SELECT {COLUMNS} FROM judged WHERE query_id < 7 AND doc_id < 5");
    let new = format!("SELECT {COLUMNS} FROM candidates WHERE query_id < 103");
    let ranked = |case: &Case, model: &[u8]| -> Vec<(i64, i64, f64)> {
        let found: Vec<_> =
            [&small, &new].iter().flat_map(|source| scores(&connection, model, source, 1)).collect();
        assert!(found.len() == 36 && found.iter().all(|row| row.2.is_finite()), "{}", case.name());
        found
    };
    let product = product();
    for case in &product {
        let model = case.fit(&connection, &small, 1);
        let again = Model::from_bytes(&model).and_then(|model| model.to_bytes()).expect("a round trip");
        assert!(model == again, "{}", case.name());
        let first = ranked(case, &model);
        assert_same_bits(&first, &ranked(case, &again), &case.name());
    }
    assert!(product.len() >= 450, "only {} combinations", product.len());
}

#[test]
fn a_model_is_the_same_bytes_for_any_threads_and_order_of_rows() {
    let connection = connect();
    for case in cases() {
        let expected = case.fit(&connection, &judged("query_id, doc_id"), 1);
        for (order, threads) in
            [("shuffle", 2), ("other", 8), ("query_id DESC, shuffle", 1), ("doc_id, other", 2)]
        {
            let actual = case.fit(&connection, &judged(order), threads);
            assert!(actual == expected, "{}: order {order}, {threads} threads", case.name());
        }
    }
}

#[test]
fn the_order_of_rows_does_not_matter_without_document_ids_and_with_missing_values() {
    let connection = connect();
    for algorithm in taking("lambda") {
        for options in [
            r#"{"lambda": 0.01, "missing": "mean"}"#,
            r#"{"lambda": [1, 0.1], "missing": "mean", "threads": 8}"#,
        ] {
            let fitted = |order: &str| {
                let source = format!(
                    "SELECT query_id, relevance, a, nullif(b, 5 / 13.0) AS b, c FROM judged ORDER BY {order}"
                );
                fit(&connection, algorithm.name, &source, options).expect("a model")
            };
            let expected = fitted("query_id, doc_id");
            for order in ["shuffle", "other", "query_id DESC, doc_id DESC"] {
                assert!(fitted(order) == expected, "{}: {order}, {options}", algorithm.name);
            }
        }
    }
}

#[test]
fn the_choice_of_lambda_does_not_depend_on_threads_or_order() {
    let connection = connect();
    for algorithm in taking("lambda") {
        let auto = |order: &str, threads: usize| {
            let options = json!({ "threads": threads, "lambda": [10, 1, 0.1, 0.01, 0.001] }).to_string();
            fit(&connection, algorithm.name, &judged(order), &options).expect("a model")
        };
        let expected = auto("query_id, doc_id", 1);
        assert!(auto("shuffle", 2) == expected && auto("other", 8) == expected, "{}", algorithm.name);
    }
}

#[test]
fn scores_follow_their_documents() {
    let connection = connect();
    for case in cases() {
        let model = case.fit(&connection, &judged("query_id"), 2);
        let source = |order: &str| format!("SELECT {COLUMNS} FROM candidates ORDER BY {order}");
        let expected = scores(&connection, &model, &source("query_id, doc_id"), 1);
        let fresh = connect();
        assert_same_bits(&expected, &scores(&fresh, &model, &source("shuffle"), 2), &case.name());
        // Other names for the same documents: their order inside the query changes, their scores do not.
        let renamed = "SELECT query_id, 7 - doc_id AS doc_id, a, b, c, q_mood FROM candidates";
        let mut actual = scores(&connect(), &model, renamed, 2);
        for (_, document, _) in &mut actual {
            *document = 7 - *document;
        }
        actual.sort_by_key(|(query, document, _)| (*query, *document));
        assert_same_bits(&expected, &actual, &case.name());
    }
}

#[test]
fn a_query_has_the_same_bits_alone_and_in_company() {
    let connection = connect();
    for case in cases() {
        let model = case.fit(&connection, &judged("query_id"), 2);
        let all = "SELECT query_id, doc_id, a, b, c, q_mood FROM candidates UNION ALL SELECT query_id, doc_id, a, b, c, q_mood FROM judged";
        let together = scores(&connect(), &model, all, 8);
        assert!(
            together.len() == 84 && together.iter().all(|(_, _, score)| score.is_finite()),
            "{}",
            case.name()
        );
        for query in [1, 7, 101, 104] {
            let own: Vec<(i64, i64, f64)> = together.iter().copied().filter(|row| row.0 == query).collect();
            let alone =
                scores(&connect(), &model, &format!("SELECT * FROM ({all}) WHERE query_id = {query}"), 1);
            assert_same_bits(&own, &alone, &format!("{}, query {query}", case.name()));
        }
    }
}

#[test]
fn a_model_read_from_bytes_writes_the_same_bytes() {
    let connection = connect();
    for case in cases() {
        for source in [
            judged("query_id"),
            "SELECT query_id, doc_id, relevance, ltr_vec(a, b, c) AS features, q_mood FROM judged".to_owned(),
        ] {
            let bytes = case.fit(&connection, &source, 2);
            let again = Model::from_bytes(&bytes).and_then(|model| model.to_bytes()).expect("a round trip");
            assert!(bytes == again, "{}", case.name());
        }
    }
}

/// Queries that agree about what is good: of others 0 may be the best function for all.
#[test]
fn every_algorithm_beats_constant_scores() {
    let connection = connect();
    connection
        .execute_batch(
            "CREATE VIEW agreed AS SELECT query_id + 20 * column1 AS query_id, doc_id, relevance, a, b, c, q_mood
               FROM judged, (VALUES (0), (1)) WHERE q_mood < 0",
        )
        .expect("a view");
    let number = |sql: &str, model: &[u8]| -> f64 {
        connection.query_row(sql, [model], |row| row.get(0)).expect("a number")
    };
    let constant = "SELECT avg(v) FROM (SELECT ltr_ndcg(relevance, 0, 3) AS v FROM agreed GROUP BY query_id) WHERE ?1 IS NOT NULL";
    let own =
        "SELECT value FROM ltr_evaluate(?1, 'agreed', '{\"metric\": \"ndcg@3\"}') WHERE query_id IS NULL";
    for case in cases() {
        let model = case.fit(&connection, "agreed", 2);
        let (found, baseline) = (number(own, &model), number(constant, &model));
        assert!(found > baseline + 0.05, "{}: {found}, constant scores {baseline}", case.name());
    }
}

/// Training sets at the edge, as SELECTs.
const DEGENERATE: &[(&str, &str)] = &[
    ("a query of one document", "SELECT * FROM j UNION ALL SELECT 99, 1, 2, 0.5, 0.5, 0.5"),
    (
        "a query of equal labels",
        "SELECT * FROM j UNION ALL SELECT 99, doc_id, 1, a, b, c FROM j WHERE query_id = 1",
    ),
    ("every row twice", "SELECT * FROM j UNION ALL SELECT * FROM j"),
    (
        "identical documents of different labels",
        "SELECT query_id, doc_id, relevance, 0.5 AS a, 0.5 AS b, 0.5 AS c FROM j",
    ),
    ("all features zero", "SELECT query_id, doc_id, relevance, 0 AS a, 0 AS b, 0.0 AS c FROM j"),
    ("one constant feature", "SELECT query_id, doc_id, relevance, a, b, 7 AS c FROM j"),
    ("one feature", "SELECT query_id, doc_id, relevance, a FROM j"),
    ("one query", "SELECT * FROM j WHERE query_id = 1"),
    (
        "one query of two documents",
        "SELECT 1 AS query_id, column1 AS doc_id, column2 AS relevance, column3 AS a, column4 AS b, column5 AS c FROM (VALUES (1, 0, 1, 2, 3), (2, 1, 3, 2, 1))",
    ),
    (
        "identical queries",
        "SELECT query_id + 10 * n AS query_id, doc_id, relevance, a, b, c FROM (SELECT * FROM j WHERE query_id = 1), (SELECT 1 AS n UNION SELECT 2 UNION SELECT 3)",
    ),
    ("huge features", "SELECT query_id, doc_id, relevance, a * 1e300 AS a, -b * 1e300 AS b, c FROM j"),
    (
        "tiny features",
        "SELECT query_id, doc_id, relevance, a * 1e-300 AS a, b * 1e-310 AS b, c * 1e-200 AS c FROM j",
    ),
    ("huge grades", "SELECT query_id, doc_id, (relevance - 1) * 1.7e308 AS relevance, a, b, c FROM j"),
    (
        "negative and fractional grades",
        "SELECT query_id, doc_id, -0.001 * relevance AS relevance, a, b, c FROM j",
    ),
    ("grades that are all different", "SELECT query_id, doc_id, a AS relevance, a, b, c FROM j"),
    ("text ids", "SELECT 'q' || query_id AS query_id, 'd' || doc_id AS doc_id, relevance, a, b, c FROM j"),
];

#[test]
fn degenerate_sets_train_or_say_why_not() {
    let connection = connect();
    connection
        .execute_batch(
            "CREATE VIEW j AS SELECT query_id, doc_id, relevance, a, b, c FROM judged WHERE query_id < 6",
        )
        .expect("a view");
    let (mut tried, mut trained) = (0, 0);
    for (place, (what, source)) in DEGENERATE.iter().enumerate() {
        for (number, algorithm) in of_features().enumerate() {
            // One pair of a scaling and a choice of lambda each, all of them with one algorithm.
            let all = algorithm.name == "rank_svm";
            let pairs = (0..2 * SCALES.len())
                .filter(|pair| all || *pair == (3 * place + number) % (2 * SCALES.len()));
            for pair in pairs {
                let scale = SCALES[pair % SCALES.len()];
                let lambda = if pair < SCALES.len() { json!(0.01) } else { json!([1, 0.01]) };
                let what = format!("{}, {scale}, lambda {lambda}, {what}", algorithm.name);
                let mut options = json!({ "scale": scale });
                if (algorithm.reads)("lambda") {
                    options["lambda"] = lambda;
                }
                tried += 1;
                match fit(&connection, algorithm.name, source, &options.to_string()) {
                    Ok(model) => {
                        trained += 1;
                        ranks(&connection, &model, source, &what);
                    }
                    Err(problem) => assert_clear(&problem, &what),
                }
            }
        }
    }
    assert!(2 * trained > tried, "{trained} of {tried} trained");
}

fn assert_clear(problem: &str, what: &str) {
    assert!(problem.starts_with("ltr_"), "{what}: {problem}");
    assert!(!problem.contains("internal error"), "{what}: {problem}");
}

/// The model ranks the rows it was trained on with finite scores, or says why not.
fn ranks(connection: &Connection, model: &[u8], source: &str, what: &str) {
    let sql = "SELECT count(*), total(abs(score) < 1.8e308) FROM ltr_rank(?1, ?2)";
    match connection.query_row(sql, (model, source), |row| Ok((row.get::<_, f64>(0)?, row.get::<_, f64>(1)?)))
    {
        Ok((rows, finite)) => {
            assert!(rows > 0.0 && rows.total_cmp(&finite).is_eq(), "{what}: {finite} of {rows}");
        }
        Err(problem) => {
            let problem = problem.to_string();
            assert_clear(&problem, what);
            assert!(!problem.contains("damaged"), "{what}: what was trained can be read: {problem}");
        }
    }
}

#[test]
fn more_features_than_documents_train() {
    let connection = connect();
    let columns: Vec<String> =
        (0..60).map(|n| format!("((query_id * {n} + doc_id * 31) % 17) / 17.0 AS f{n}")).collect();
    let source =
        format!("SELECT query_id, doc_id, relevance, {} FROM judged WHERE query_id < 4", columns.join(", "));
    for algorithm in taking("lambda") {
        let model = fit(&connection, algorithm.name, &source, r#"{"lambda": 0.001}"#).expect("a model");
        ranks(&connection, &model, &source, algorithm.name);
    }
}

#[test]
fn nothing_to_learn_is_an_error() {
    let connection = connect();
    for algorithm in batch() {
        for source in [
            "SELECT query_id, doc_id, 3 AS relevance, a FROM judged",
            "SELECT * FROM judged WHERE doc_id = 1",
        ] {
            let problem = fit(&connection, algorithm.name, source, "{}").expect_err("nothing to learn");
            assert!(problem.ends_with("so there is nothing to learn (10 queries read)"), "{problem}");
        }
    }
}

#[test]
fn nan_and_infinities_are_refused() {
    let connection = connect();
    for algorithm in of_features() {
        for bad in ["x'0000c07f0000803f'", "x'0000807f0000803f'", "'[1, 1e999]'"] {
            let source = format!(
                "SELECT query_id, doc_id, relevance, iif(shuffle = 5 OR doc_id = 3, {bad}, ltr_vec(a, b)) AS features, doc_id AS slot FROM judged"
            );
            // NaN in a BLOB is a missing value, for which trees have branches.
            if (algorithm.reads)("trees") && bad.starts_with("x'0000c07f") {
                fit(&connection, algorithm.name, &source, "{}").expect("branches for missing values");
                continue;
            }
            let problem = fit(&connection, algorithm.name, &source, "{}").expect_err("not finite");
            assert!(problem.contains("row 3 (query 1, document 3), column \"features\""), "{problem}");
        }
        let problem = fit(
            &connection,
            algorithm.name,
            "SELECT *, 9e999 * (doc_id = 2) AS d, doc_id AS slot FROM judged",
            "{}",
        );
        assert!(problem.is_err(), "{}", algorithm.name);
    }
}

/// Weight 2 is the query twice. The objective divides by the number of queries, so the second set has the lambda
/// of the first times n / (n + 1). Exact where neither neighbors, bandwidth nor scaling follow the number of
/// queries: for uniform smoothing, and for the kernels of a fixed bandwidth with all queries as neighbors. It does
/// not hold for `individual`, where the copy is a separate query.
#[test]
fn weight_two_is_the_query_twice() {
    let connection = connect();
    let once = format!("SELECT {COLUMNS}, 1 + (query_id = 3) AS weight FROM judged");
    let twice = format!(
        "SELECT {COLUMNS} FROM judged UNION ALL SELECT 33, doc_id, relevance, a, b, c, q_mood FROM judged WHERE query_id = 3"
    );
    for smoothing in ["uniform", "gaussian", "rectangular", "epanechnikov", "tricube"] {
        let fitted = |source: &str, lambda: f64| {
            let mut options =
                json!({ "smoothing": smoothing, "scale": "none", "lambda": lambda, "tolerance": 1e-12 });
            if smoothing != "uniform" {
                options["neighbors"] = json!(100);
                options["bandwidth"] = json!(2.0);
                options["query_scale"] = json!("none");
            }
            fit(&connection, "q_svm", source, &options.to_string()).expect("a model")
        };
        let (a, b) = (fitted(&once, 0.011), fitted(&twice, 0.01));
        let source = format!("SELECT {COLUMNS} FROM candidates");
        for (x, y) in scores(&connection, &a, &source, 1).iter().zip(scores(&connection, &b, &source, 1)) {
            assert!((x.2 - y.2).abs() <= 1e-5 * (1.0 + y.2.abs()), "{smoothing}: {} and {}", x.2, y.2);
        }
    }
}

#[test]
fn combinations_that_are_refused_say_why() {
    for algorithm in taking("smoothing") {
        for smoothing in SmoothingKind::NAMES {
            for more in [
                json!({ "neighbors": 3 }),
                json!({ "bandwidth": 1 }),
                json!({ "validation": 0.5 }),
                json!({ "query_features": "mean" }),
                json!({ "query_scale": "none" }),
                json!({ "query_distance": { "q_mood": "overlap" } }),
            ] {
                let mut options = more;
                options["smoothing"] = json!(smoothing);
                let text = options.to_string();
                let options = options::parse(Some(&text), Use::Train).expect("known options");
                if let Err(problem) = algorithm.spec(&options) {
                    let problem = problem.to_string();
                    assert!(
                        problem.contains(&format!(" has no effect with smoothing \"{smoothing}\""))
                            || problem.contains(&format!("not support smoothing \"{smoothing}\"; use ")),
                        "{text}: {problem}"
                    );
                }
            }
        }
    }
}

/// A large query: ten million pairs.
#[test]
fn a_query_of_very_many_documents_trains() {
    let connection = connect();
    let source = "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
        SELECT 1 AS query_id, i AS doc_id, i % 5 AS relevance, (i * 7919 % 1000) / 1000.0 + i % 5 AS a, (i * 104729 % 1000) / 1000.0 AS b FROM n";
    let model = fit(&connection, "rank_svm", source, r#"{"lambda": 0.01}"#).expect("a model");
    assert_eq!(scores(&connection, &model, source, 2).len(), 5_000);
}

fn metrics() -> Vec<Metric> {
    let all = METRICS.iter().flat_map(|def| {
        let cutoffs: &[Option<usize>] = if def.takes_cutoff { &[None, Some(1), Some(3)] } else { &[None] };
        cutoffs.iter().map(|cutoff| Metric::new(def, *cutoff, sqlite_ltr::metric::MetricOptions::default()))
    });
    all.collect::<Result<_, _>>().expect("allowed cutoffs")
}

/// All orders of some numbers.
fn orders(items: &[f64]) -> Vec<Vec<f64>> {
    match items {
        [] => vec![Vec::new()],
        [first, rest @ ..] => orders(rest)
            .into_iter()
            .flat_map(|order| {
                (0..=order.len()).map(move |place| [&order[..place], &[*first], &order[place..]].concat())
            })
            .collect(),
    }
}

const GRADES: &[f64] = &[0.0, 2.0, 1.0, 0.0, 3.0];

#[test]
fn no_order_is_better_than_the_ideal_one() {
    for metric in metrics() {
        let sign = metric.def().better.sign();
        let best = sign * metric.value(GRADES, GRADES).expect("a value");
        for scores in orders(&[1.0, 2.0, 3.0, 4.0, 5.0]) {
            let value = metric.value(GRADES, &scores).expect("a value");
            assert!(sign * value <= best + 1e-12, "{}: {value} for {scores:?}", metric.name());
            let bounded = !["dcg", "eru", "pair_loss"].contains(&metric.def().name);
            let low = if metric.def().name == "kendall_tau" { -1.0 } else { 0.0 };
            assert!(!bounded || (low - 1e-12..=1.0 + 1e-12).contains(&value), "{}: {value}", metric.name());
        }
    }
}

#[test]
fn a_metric_does_not_see_the_order_of_its_rows() {
    for metric in metrics() {
        for scores in [[1.0, 2.0, 2.0, 0.5, 1.0], [3.0, 1.0, 4.0, 1.5, 9.0], [0.0; 5]] {
            let expected = metric.value(GRADES, &scores).map(f64::to_bits);
            for order in orders(&[0.0, 1.0, 2.0, 3.0, 4.0]) {
                let permuted = |items: &[f64]| -> Vec<f64> {
                    order.iter().map(|place| items[*place as usize]).collect()
                };
                let actual = metric.value(&permuted(GRADES), &permuted(&scores)).map(f64::to_bits);
                assert_eq!(actual, expected, "{}", metric.name());
            }
        }
    }
}
