//! Functions of documents and of the features of their query: the option `interaction`, and the kernels of `auto`.

use std::collections::BTreeMap;

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::support::{database, value};

/// 36 queries of 8 documents with features a and b. What a query prefers depends on the numbers u and v.
const QUERIES: usize = 36;
const DOCUMENTS: usize = 8;

/// A number in [0, 1) that looks random.
fn noise(i: usize, step: usize, modulus: usize) -> f64 {
    (i * step % modulus) as f64 / modulus as f64
}

fn query(i: usize) -> [f64; 2] {
    [noise(i + 1, 7919, 101), noise(i + 1, 104_729, 97)]
}

fn document(row: usize) -> [f64; 2] {
    [noise(row + 1, 1_299_709, 997), noise(row + 1, 15_485_863, 991)]
}

/// A database with the table `rows`, and for these products of each query the table `products` with columns p0, p1, ...
fn connect(products: impl Fn(usize) -> Vec<f64>) -> Connection {
    let connection = database();
    let width = 2 * (1 + products(0).len());
    let columns: Vec<String> = (0..width).map(|column| format!("p{column}")).collect();
    let columns = columns.join(", ");
    let schema = format!(
        "CREATE TABLE rows(query_id, doc_id, relevance, a, b, q_u, q_v);
         CREATE TABLE products(query_id, doc_id, relevance, {columns});"
    );
    connection.execute_batch(&schema).unwrap();
    for row in 0..QUERIES * DOCUMENTS {
        let (i, [u, v], [a, b]) = (row / DOCUMENTS, query(row / DOCUMENTS), document(row));
        let grade = 3.0 * ((u - 0.5) * a + (0.7 - v) * b) + 0.5 * noise(row, 31, 53);
        connection
            .execute(
                "INSERT INTO rows VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                (i as f64, row as f64, grade, a, b, u, v),
            )
            .unwrap();
        let mut values = vec![i as f64, row as f64, grade, a, b];
        products(i).iter().for_each(|phi| values.extend([phi * a, phi * b]));
        let marks = vec!["?"; values.len()].join(", ");
        connection
            .execute(&format!("INSERT INTO products VALUES ({marks})"), rusqlite::params_from_iter(values))
            .unwrap();
    }
    connection
}

fn train(connection: &Connection, name: &str, source: &str, mut options: Value) -> Value {
    options["name"] = json!(name);
    let report: String =
        value(connection, "SELECT ltr_train('regression', ?1, ?2)", (source, options.to_string()));
    serde_json::from_str(&report).unwrap()
}

fn scores(connection: &Connection, model: &str, source: &str) -> BTreeMap<i64, f64> {
    let mut statement = connection.prepare("SELECT doc_id, score FROM ltr_rank(?1, ?2)").unwrap();
    let rows = statement.query_map((model, source), |row| Ok((row.get::<_, f64>(0)? as i64, row.get(1)?)));
    rows.unwrap().map(Result::unwrap).collect()
}

/// The largest difference between the scores of two models, less their means in the query.
fn difference(a: &BTreeMap<i64, f64>, b: &BTreeMap<i64, f64>) -> f64 {
    assert_eq!(a.len(), QUERIES * DOCUMENTS);
    assert!(a.keys().eq(b.keys()));
    let centered = |scores: &BTreeMap<i64, f64>| -> Vec<f64> {
        let scores: Vec<f64> = scores.values().copied().collect();
        let of_query = |scores: &[f64]| {
            let mean = scores.iter().sum::<f64>() / scores.len() as f64;
            scores.iter().map(|score| score - mean).collect::<Vec<f64>>()
        };
        scores.chunks(DOCUMENTS).flat_map(of_query).collect()
    };
    centered(a).iter().zip(centered(b)).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

/// The query features with mean 0 and deviation 1 over the queries.
fn standardized() -> Vec<[f64; 2]> {
    let all: Vec<[f64; 2]> = (0..QUERIES).map(query).collect();
    let of = |column: usize| {
        let mean = all.iter().map(|z| z[column]).sum::<f64>() / QUERIES as f64;
        let square = all.iter().map(|z| (z[column] - mean).powi(2)).sum::<f64>() / QUERIES as f64;
        (mean, square.sqrt())
    };
    let [first, second] = [of(0), of(1)];
    all.iter().map(|z| [(z[0] - first.0) / first.1, (z[1] - second.0) / second.1]).collect()
}

/// phi with phi.phi' = exp(-|z - z'|^2 / 4): rows of the Cholesky factor of all queries. 4 is twice the variance.
fn gaussian() -> Vec<Vec<f64>> {
    let z = standardized();
    let k = |i: usize, j: usize| {
        let square: f64 = z[i].iter().zip(z[j]).map(|(a, b)| (a - b).powi(2)).sum();
        (-square / 4.0).exp() + if i == j { 1e-13 } else { 0.0 }
    };
    let mut factor = vec![vec![0.0; QUERIES]; QUERIES];
    for i in 0..QUERIES {
        for j in 0..=i {
            let sum: f64 = (0..j).map(|l| factor[i][l] * factor[j][l]).sum();
            factor[i][j] =
                if i == j { (k(i, i) - sum).max(0.0).sqrt() } else { (k(i, j) - sum) / factor[j][j] };
        }
    }
    factor
}

/// Rule 4.12.
#[test]
fn interactions_are_a_linear_function_of_products() {
    let z = standardized();
    let linear = |i: usize| z[i].map(|z| z / 2.0_f64.sqrt()).to_vec();
    let phi = gaussian();
    let gaussian = |i: usize| phi[i].clone();
    for (name, connection) in [("linear", connect(linear)), ("gaussian", connect(gaussian))] {
        let options = json!({ "lambda": 0.01, "scale": "none" });
        train(&connection, "by_hand", "products", options.clone());
        let mut with = options.clone();
        with["interaction"] = json!(name);
        let report = train(&connection, "model", "rows", with);
        train(&connection, "without", "rows", options);
        let [by_hand_scores, own, without] =
            [("by_hand", "products"), ("model", "rows"), ("without", "rows")]
                .map(|(model, source)| scores(&connection, model, source));
        let worst = difference(&by_hand_scores, &own);
        assert!(worst < 1e-6, "{name}: {worst}");
        assert!(difference(&without, &own) > 0.1, "{name}");
        assert_eq!(report["interaction"], name);
        assert_eq!(report["query_features"]["names"], json!(["q_u", "q_v"]), "{report}");
    }
}

/// Rule 4.12: query features are not scaled, even where document features serve as query features.
#[test]
fn interactions_with_query_constant_features_equal_named_query_features() {
    let connection = connect(|_| Vec::new());
    let unnamed = "SELECT query_id, doc_id, relevance, a, b, q_u AS u, q_v AS v FROM rows";
    for interaction in ["linear", "gaussian"] {
        for scale in ["none", "quantile", "standard", "query_minmax"] {
            let options = json!({ "lambda": 0.01, "scale": scale, "interaction": interaction });
            train(&connection, "named", "rows", options.clone());
            train(&connection, "unnamed", unnamed, options);
            let found = [("named", "rows"), ("unnamed", unnamed)]
                .map(|(model, source)| scores(&connection, model, source));
            let worst = difference(&found[0], &found[1]);
            assert!(worst < 1e-3, "{interaction} {scale}: {worst}");
        }
    }
}

#[test]
fn interactions_have_weights_and_contributions_for_each_query() {
    let connection = connect(|_| Vec::new());
    for interaction in ["linear", "gaussian"] {
        train(&connection, "model", "rows", json!({ "interaction": interaction, "lambda": 0.01 }));
        // Weights of raw values differ from query to query; a score does not depend on other rows.
        let sql = "SELECT max(abs(r.score - ltr_score('model', json_array(a, b), json_array(q_u, q_v)))) AS score,
                          max(abs(r.score - (SELECT sum(contribution)
                                               FROM ltr_explain('model', json_array(a, b), json_array(q_u, q_v))))) AS explained
                     FROM ltr_rank('model', 'rows') AS r JOIN rows USING (query_id, doc_id)";
        let worst: (f64, f64) = connection.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        assert!(worst.0 <= 0.0 && worst.1 < 1e-9, "{interaction} {worst:?}");
        let weight = |features: &str| -> f64 {
            let sql = "SELECT weight FROM ltr_weights('model', ?1) WHERE feature = 'a'";
            value(&connection, sql, [features])
        };
        assert!(weight("[0.9, 0.5]") > 0.0 && weight("[0.1, 0.5]") < 0.0, "{interaction}");
        for (sql, says) in [
            ("SELECT ltr_score('model', '[0.9, 0.5]')", "q_u, q_v"),
            ("SELECT count(*) FROM ltr_weights('model')", "query features"),
            ("SELECT ltr_export('model', 'sql')", "train it with \"interaction\": \"none\""),
            ("SELECT count(*) FROM ltr_neighbors('model', '[1, 2]')", "uses no neighbors"),
        ] {
            let found = connection.query_row(sql, [], |_| Ok(())).expect_err(sql).to_string();
            assert!(found.contains(says), "{sql}: {found}");
        }
    }
}

#[test]
fn interactions_that_are_left_to_the_rows_need_queries_that_differ() {
    let connection = connect(|_| Vec::new());
    let report = train(&connection, "model", "rows", json!({ "interaction": "auto" }));
    assert_eq!(
        (&report["interaction"], &report["query_dependence"]["differ"]),
        (&json!("gaussian"), &json!(true))
    );
    connection.execute_batch("UPDATE rows SET relevance = a + b").unwrap();
    let report = train(&connection, "model", "rows", json!({ "interaction": "auto" }));
    assert_eq!(
        (&report["interaction"], &report["query_dependence"]["differ"]),
        (&json!("none"), &json!(false))
    );
    let report = train(&connection, "model", "rows", json!({ "interaction": "linear" }));
    assert!(report["warnings"].to_string().contains("so products with them hardly help"), "{report}");
    // Query features without numbers.
    let sql = "SELECT ltr_fit('regression', 'SELECT query_id, doc_id, relevance, a, b, ''x'' || (query_id % 3) AS q_kind FROM rows', \
               '{\"interaction\": \"linear\"}')";
    let found = connection.query_row(sql, [], |_| Ok(())).expect_err(sql).to_string();
    assert!(found.contains("needs a query feature that is a number"), "{found}");
}

#[test]
fn interactions_are_the_default_of_local_fits_unless_another_option_excludes_them() {
    let connection = connect(|_| Vec::new());
    let interaction = |algorithm: &str, options: Value| -> Option<String> {
        let sql = "SELECT ltr_train(?1, 'rows', ?2) ->> 'interaction'";
        value(&connection, sql, (algorithm, options.to_string()))
    };
    for algorithm in ["q_svm", "knn_svm"] {
        assert_eq!(interaction(algorithm, json!({})).as_deref(), Some("gaussian"), "{algorithm}");
        for options in [
            json!({ "interaction": "none" }),
            json!({ "prior": "zero" }),
            json!({ "prior": "global" }),
            json!({ "kernel": "gaussian", "landmarks": 10, "lambda": 0.1 }),
            json!({ "form": "ranking", "lambda": 0.1 }),
            json!({ "loss": "squared", "penalty": "l1" }),
            json!({ "smoothing": "uniform" }),
        ] {
            assert_eq!(interaction(algorithm, options.clone()), None, "{algorithm} {options}");
        }
    }
    assert_eq!(interaction("rank_svm", json!({ "smoothing": "gaussian" })), None);
    // Products of many features would take the time of the whole training.
    let features: Vec<String> = (0..126).map(|i| format!("a + {i} * b AS x{i}")).collect();
    let wide = format!("SELECT query_id, doc_id, relevance, q_u, q_v, {} FROM rows", features.join(", "));
    let sql = "SELECT ltr_train('q_svm', ?1, '{\"lambda\": 0.1}') ->> 'interaction'";
    assert_eq!(value::<String>(&connection, sql, [wide]), "none");
}

/// The weights of a and b for a query.
fn weights(connection: &Connection, model: &str, query: [f64; 2]) -> [f64; 2] {
    let sql = "SELECT weight FROM ltr_weights(?1, json_array(?2, ?3)) WHERE feature = ?4";
    ["a", "b"].map(|feature| value(connection, sql, (model, query[0], query[1], feature)))
}

/// Rule 4.12: with least squares and the center w0, the function is w0 plus the fit of the grades less w0 x, with the center 0.
#[test]
fn a_function_per_query_shrinks_to_the_weights_of_interactions_for_its_query() {
    let connection = connect(|_| Vec::new());
    let new = [0.35, 0.8];
    for interaction in ["linear", "gaussian"] {
        let one = json!({ "scale": "none", "interaction": interaction });
        let of_all = train(&connection, "one", "rows", one.clone());
        let mut local = one;
        for (key, value) in [("smoothing", "gaussian"), ("prior", "global")] {
            local[key] = json!(value);
        }
        let at = |lambda: f64, source: &str, mut options: Value| {
            options["lambda"] = json!(lambda);
            train(&connection, "local", source, options)
        };
        // 1. A large lambda leaves the function with interactions.
        let report = at(1e9, "rows", local.clone());
        assert_eq!(
            (&report["interaction"], &report["prior_lambda"]),
            (&json!(interaction), &of_all["lambda"])
        );
        for query in [new, query(3)] {
            let found = ["one", "local"].map(|model| weights(&connection, model, query));
            let worst = (0..2).map(|i| (found[0][i] - found[1][i]).abs()).fold(0.0, f64::max);
            assert!(worst < 1e-6, "{interaction} {query:?}: {found:?}");
        }
        // 2. Another lambda, at a new and at a training query.
        for query in [new, query(3)] {
            let w0 = weights(&connection, "one", query);
            at(0.05, "rows", local.clone());
            let found = weights(&connection, "local", query);
            let rest = format!(
                "SELECT query_id, doc_id, relevance - ({} * a + {} * b) AS relevance, a, b, q_u, q_v FROM rows",
                w0[0], w0[1]
            );
            at(0.05, &rest, json!({ "scale": "none", "smoothing": "gaussian" }));
            let rest = weights(&connection, "local", query);
            for i in 0..2 {
                assert!(
                    (found[i] - w0[i] - rest[i]).abs() < 1e-6,
                    "{interaction}: {found:?} {w0:?} {rest:?}"
                );
                assert!(rest[i].abs() > 1e-3, "{interaction}: {rest:?}");
            }
        }
    }
}

/// The largest differences of scores in rankings from scores of the row alone, and from the sums of contributions.
fn worst_differences(connection: &Connection, model: &[u8]) -> (f64, f64) {
    let sql = "SELECT max(abs(r.score - ltr_score(?1, json_array(a, b), json_array(q_u, q_v)))),
                      max(abs(r.score - (SELECT sum(contribution)
                                           FROM ltr_explain(?1, json_array(a, b), json_array(q_u, q_v)))))
                 FROM ltr_rank(?1, 'rows') AS r JOIN rows USING (query_id, doc_id)";
    connection.query_row(sql, [model], |row| Ok((row.get(0)?, row.get(1)?))).unwrap()
}

#[test]
fn a_prior_with_interactions_matches_stored_models_for_any_order_of_rows_and_threads() {
    let connection = connect(|_| Vec::new());
    let fit = |source: &str, options: Value| -> rusqlite::Result<Vec<u8>> {
        let sql = "SELECT ltr_fit('q_svm', ?1, ?2)";
        connection.query_row(sql, (source, options.to_string()), |row| row.get(0))
    };
    for fit_at in ["training", "query_time"] {
        let options = |threads: usize| json!({ "interaction": "auto", "fit_at": fit_at, "threads": threads });
        let model = fit("rows", options(1)).unwrap();
        assert_eq!(fit("SELECT * FROM rows ORDER BY a", options(2)).unwrap(), model);
        // A row scores as it does alone, and contributions add up to the score.
        let worst = worst_differences(&connection, &model);
        assert!(worst.0 < 1e-9 && worst.1 < 1e-9, "{fit_at} {worst:?}");
        for (sql, says) in [
            ("SELECT ltr_export(?1, 'sql')", "function for each query"),
            ("SELECT ltr_score(?1, '[0.9, 0.5]')", "q_u, q_v"),
        ] {
            let found = connection.query_row(sql, [&model], |_| Ok(())).expect_err(sql).to_string();
            assert!(found.contains(says), "{sql}: {found}");
        }
    }
    for (mut options, says) in [
        (json!({ "prior": "zero" }), "interaction \"none\" or prior \"global\""),
        (json!({ "kernel": "gaussian" }), "kernel \"linear\""),
        (json!({ "form": "ranking" }), "form \"scoring\""),
        (json!({ "smoothing": "individual", "prior": "global" }), "smoothing \"uniform\""),
    ] {
        options["interaction"] = json!("linear");
        let found = fit("rows", options).unwrap_err().to_string();
        assert!(found.contains(says), "{found}");
    }
    // Of queries that do not differ the prior has no products.
    connection.execute_batch("UPDATE rows SET relevance = a + b").unwrap();
    let sql = "SELECT ltr_train('q_svm', 'rows', '{\"interaction\": \"auto\", \"name\": \"alike\"}')";
    let report: String = value(&connection, sql, []);
    let report: Value = serde_json::from_str(&report).unwrap();
    assert_eq!((&report["interaction"], &report["prior"]), (&json!("none"), &json!("global")));
}

/// Rule 4.13. A row scores as it does alone, and contributions add up to the score.
#[test]
fn kernels_of_auto_see_query_features_if_queries_differ() {
    let connection = connect(|_| Vec::new());
    let fit = |source: &str, threads: usize| -> Vec<u8> {
        let options =
            json!({ "kernel": { "gaussian": { "width": 2 } }, "scale": "quantile", "threads": threads });
        value(&connection, "SELECT ltr_fit('auto', ?1, ?2)", (source, options.to_string()))
    };
    let model = fit("rows", 1);
    assert_eq!(fit("SELECT * FROM rows ORDER BY a", 2), model);
    let sql = "SELECT value FROM ltr_evaluate(?1, 'rows', '{\"metric\": \"mre\"}') WHERE query_id IS NULL";
    let with: f64 = value(&connection, sql, [&model]);
    let without: f64 =
        value(&connection, sql, [&fit("SELECT query_id, doc_id, relevance, a, b FROM rows", 2)]);
    assert!(with < without - 0.1, "{with} {without}");
    let worst = worst_differences(&connection, &model);
    assert!(worst.0 <= 0.0 && worst.1 < 1e-6, "{worst:?}");
}
