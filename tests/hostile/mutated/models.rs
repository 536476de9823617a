//! A small model of every algorithm, kernel, form, smoothing, prior, penalty and scaling.

use rusqlite::Connection;
use sqlite_ltr::internals::learn::kernel;
use sqlite_ltr::internals::train::ALGORITHMS;

/// Six judged queries of four documents with two features and query features: a number, a category and an order; ratings of
/// six users.
const SCHEMA: &str = "
CREATE TABLE judged(query_id, doc_id, relevance, a REAL, b REAL, q_mood REAL, q_site TEXT, q_wish TEXT);
WITH RECURSIVE
  queries(q) AS (VALUES (1) UNION ALL SELECT q + 1 FROM queries WHERE q < 6),
  documents(d) AS (VALUES (1) UNION ALL SELECT d + 1 FROM documents WHERE d < 4)
INSERT INTO judged SELECT q, d, (5 * d + q) % 3, ((7 * d + 3 * q) % 11) / 11.0, ((5 * d + 4 * q) % 13) / 13.0, q / 6.0,
  char(97 + q % 3), CASE q % 4 WHEN 0 THEN '[1, 2, 3]' WHEN 1 THEN '[3, 1]' WHEN 2 THEN '[2]' ELSE '[]' END
FROM queries, documents;
CREATE VIEW found AS SELECT q.query AS query_id, doc_id, a, b FROM ltr_query AS q JOIN judged AS j ON j.query_id = q.query;
CREATE TABLE ratings AS SELECT query_id AS user, 'i' || ((doc_id * query_id) % 7) AS item, max(relevance) AS rating
FROM judged GROUP BY user, item;
";

const WITH_MOOD: &str = "SELECT query_id, doc_id, relevance, a, b, q_mood FROM judged";

/// With weights of documents.
const WEIGHTED: &str =
    "SELECT query_id, doc_id, relevance, a, b, q_mood, doc_id / 2.0 AS doc_weight FROM judged";

pub const WITHOUT_MOOD: &str = "SELECT query_id, doc_id, relevance, a, b FROM judged";

/// Every document at the slot of every other.
pub const SLOTS: &str = "SELECT query_id, one.doc_id, two.doc_id AS slot, one.doc_id = two.doc_id AS relevance, \
     one.a, two.b FROM judged one JOIN judged two USING (query_id)";

/// Judged queries enough for `auto`.
const MANY: &str = "SELECT query_id + 10 * n AS query_id, doc_id, relevance, a, b FROM judged, \
     (SELECT 0 AS n UNION ALL SELECT 1)";

/// Queries that differ, enough for kernels of query features.
const DIFFERENT: &str = "SELECT query_id + 10 * n AS query_id, doc_id, iif(n % 2, relevance, 2 - relevance) AS relevance, a, b, \
     n % 2 + query_id / 100.0 AS q_mood FROM judged, \
     (SELECT 0 AS n UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4 UNION ALL SELECT 5)";

pub fn connect() -> Connection {
    let connection = Connection::open_in_memory().expect("a database");
    sqlite_ltr::register(&connection).expect("registration");
    connection.execute_batch(SCHEMA).expect("the toy set");
    connection
}

/// One model.
pub struct Sample {
    pub name: String,
    pub bytes: Vec<u8>,
}

/// Options of models of documents with weights.
const WEIGHTED_CASES: &[(&str, &str)] = &[
    ("q_svm", r#"{"lambda": 0.01, "neighbors": 3, "pair_weights": "gain"}"#),
    ("list_net", r#"{"lambda": 0.01, "smoothing": "gaussian", "neighbors": 3}"#),
    ("regression", r#"{"penalty": "ball", "smoothing": "knn", "neighbors": 2}"#),
];

/// Options of models whose query features are a number, a category and an order.
const MIXED_CASES: &[(&str, &str)] = &[
    ("q_svm", r#"{"lambda": 0.01, "neighbors": 2, "novel_neighbors": 4, "bandwidth": "rate"}"#),
    (
        "q_svm",
        r#"{"lambda": 0.01, "neighbors": 3, "fit_at": "query_time", "prior": "global", "query_distance": {"q_wish": "kendall"}}"#,
    ),
    (
        "knn_svm",
        r#"{"lambda": 0.01, "neighbors": 2, "query_distance": {"q_wish": "overlap", "q_mood": "overlap"}}"#,
    ),
];

/// With a text column of documents.
pub const WITH_BRAND: &str =
    "SELECT query_id, doc_id, relevance, b AS price, char(97 + doc_id % 3) AS brand FROM judged";

/// Options of models with categories.
const BRAND_CASES: &[(&str, &str)] = &[
    ("rank_svm", r#"{"lambda": 0.02, "columns": {"categories": ["brand"]}}"#),
    ("boosted_trees", r#"{"trees": 3, "depth": 2, "columns": {"categories": ["brand"]}}"#),
];

/// With a category of 21 values that predict relevance.
pub const WITH_SHOPS: &str = "SELECT query_id + 10 * n AS query_id, doc_id, relevance, b AS price, \
     's' || (7 * relevance + (query_id + doc_id + n) % 7) AS shop FROM judged, \
     (SELECT 0 AS n UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4 UNION ALL SELECT 5)";

/// Options of models with the mean relevance of each value of a category.
const SHOPS_CASES: &[(&str, &str)] =
    &[("rank_svm", r#"{"lambda": 0.02, "scale": "none", "columns": {"categories": ["shop"]}}"#)];

/// With vectors in single precision.
pub const VECTORS: &str = "SELECT query_id, doc_id, relevance, ltr_vec(a, b) AS features, q_mood FROM judged";

/// Options of models whose blocks have such vectors.
const VECTORS_CASES: &[(&str, &str)] = &[("q_svm", r#"{"lambda": 0.01, "scale": "none", "neighbors": 2}"#)];

/// Judgments alone, and options of models with a view of candidates.
const JUDGMENTS: &str = "SELECT query_id, doc_id, relevance FROM judged";
const JUDGMENTS_CASES: &[(&str, &str)] = &[("rank_svm", r#"{"lambda": 0.01, "candidates": "found"}"#)];

/// Options of models whose kernels see query features.
const DIFFERENT_CASES: &[(&str, &str)] = &[("auto", r#"{"kernel": "gaussian", "landmarks": 4}"#)];

/// Algorithm and options of each model, besides the kernels.
const CASES: &[(&str, &str)] = &[
    ("rank_svm", r#"{"lambda": 0.01}"#),
    ("rank_svm", r#"{"lambda": 0.01, "scale": "standard", "missing": "mean"}"#),
    ("rank_svm", r#"{"lambda": 0.01, "scale": "quantile_minmax"}"#),
    ("rank_svm", r#"{"lambda": 0.01, "scale": "query_minmax"}"#),
    ("rank_svm", r#"{"lambda": 0.01, "form": "ranking"}"#),
    ("q_svm", r#"{"lambda": 0.01, "neighbors": 3}"#),
    (
        "q_svm",
        r#"{"lambda": 0.01, "neighbors": 3, "prior": "global", "fit_at": "query_time", "loss": "logistic"}"#,
    ),
    ("q_svm", r#"{"lambda": 0.01, "neighbors": 3, "bandwidth": 0.5, "loss": "psi"}"#),
    ("q_svm", r#"{"lambda": 0.01, "neighbors": 3, "loss": "squared_hinge", "query_features": "mean"}"#),
    (
        "q_svm",
        r#"{"lambda": 0.01, "neighbors": 2, "novel_neighbors": 4, "bandwidth": "rate", "pair_weights": "grade", "scale": "max_norm"}"#,
    ),
    ("rank_svm", r#"{"lambda": 0.01, "scale": "max_norm"}"#),
    ("q_svm", r#"{"lambda": 0.01, "neighbors": 3, "query_features": "mean", "query_distance": "learned"}"#),
    ("knn_svm", r#"{"lambda": 0.01, "scale": "none", "neighbors": 2}"#),
    ("knn_svm", r#"{"lambda": 0.01, "form": "ranking", "neighbors": 2}"#),
    ("rank_svm", r#"{"lambda": 0.01, "interaction": "linear"}"#),
    ("regression", r#"{"lambda": 0.01, "interaction": "gaussian"}"#),
    ("knn_svm", r#"{"lambda": 0.01, "neighbors": 2, "interaction": "linear"}"#),
    (
        "q_svm",
        r#"{"lambda": 0.01, "neighbors": 3, "interaction": "gaussian", "fit_at": "query_time", "loss": "squared_hinge"}"#,
    ),
    ("indv_svm", r#"{"lambda": 0.01}"#),
    ("indv_svm", r#"{"lambda": 0.01, "prior": "global"}"#),
    ("regression", r#"{"lambda": 0.01, "smoothing": "gaussian", "neighbors": 3}"#),
    ("list_net", r#"{"lambda": 0.01, "smoothing": "gaussian", "neighbors": 3}"#),
    ("list_mle", r#"{"lambda": 0.01, "smoothing": "knn", "neighbors": 3}"#),
    ("cs_list_mle", r#"{"lambda": 0.01, "smoothing": "knn", "neighbors": 2}"#),
    (
        "cs_list_mle",
        r#"{"lambda": 0.01, "smoothing": "knn", "neighbors": 2, "cost_weights": {"pair": [[0,0,0],[1,0,0],[3,1,0]], "document": [0,1,3]}}"#,
    ),
    ("cs_list_mle", r#"{"penalty": "ball", "smoothing": "knn", "neighbors": 2}"#),
    (
        "list_net",
        r#"{"penalty": "ball", "radius": 2, "smoothing": "knn", "neighbors": 2, "kernel": "gaussian", "landmarks": 4}"#,
    ),
    ("list_net", r#"{"penalty": "sphere", "radius": 2, "smoothing": "knn", "neighbors": 2}"#),
    ("regression", r#"{"penalty": "l1", "lambda": 0.001, "smoothing": "knn", "neighbors": 2}"#),
    (
        "direct",
        r#"{"penalty": "l1", "lambda": 0.001, "smoothing": "knn", "neighbors": 2, "bound": "convex"}"#,
    ),
    ("slam", r#"{"lambda": 0.01, "smoothing": "gaussian", "neighbors": 3}"#),
    (
        "rank_svm",
        r#"{"lambda": 0.01, "loss": "svm_map", "threshold": 1, "smoothing": "knn", "neighbors": 2}"#,
    ),
    (
        "slam",
        r#"{"lambda": 0.01, "smoothing": "gaussian", "neighbors": 3, "measure": "map", "prior": "zero"}"#,
    ),
    ("slam", r#"{"lambda": 0.01, "smoothing": "knn", "neighbors": 2, "position_weights": [1, 0.5]}"#),
    ("direct", r#"{"lambda": 0.01, "smoothing": "knn", "neighbors": 2, "bound": "nonconvex"}"#),
    (
        "direct",
        r#"{"lambda": 0.01, "smoothing": "knn", "neighbors": 2, "bound": "convex", "decoder": "power", "measure": "eru"}"#,
    ),
    (
        "direct",
        r#"{"lambda": 0.01, "smoothing": "knn", "neighbors": 2, "bound": "convex", "diversify_by": "doc_id"}"#,
    ),
    (
        "direct",
        r#"{"lambda": 0.01, "smoothing": "knn", "neighbors": 2, "bound": "minimum", "measure": "eru"}"#,
    ),
    ("direct", r#"{"lambda": 0.01, "smoothing": "knn", "neighbors": 2, "solver": "stochastic"}"#),
    ("smooth_grad", r#"{"lambda": 0.01, "smoothing": "knn", "neighbors": 2}"#),
    ("matching", r#"{"lambda": 0.01, "smoothing": "knn", "neighbors": 2}"#),
    ("matching", r#"{"lambda": 0.01, "smoothing": "knn", "neighbors": 2, "slot_costs": [3, 1, 0.5, 0.1]}"#),
    ("eigen_rank", r#"{"components": 1, "smoothing": "gaussian", "neighbors": 3}"#),
    (
        "eigen_rank",
        r#"{"lambda": 0.001, "smoothing": "gaussian", "neighbors": 3, "kernel": "gaussian", "landmarks": 4}"#,
    ),
    ("perceptron", "{}"),
    ("perceptron", r#"{"kernel": "gaussian", "budget": 3, "epochs": 2}"#),
    ("perceptron", r#"{"scale": "standard", "average": false, "measure": "map", "missing": "mean"}"#),
    ("boosted_trees", r#"{"trees": 3, "depth": 2}"#),
    ("boosted_trees", r#"{"trees": 3, "depth": 2, "query_columns": true}"#),
    ("boosted_trees", r#"{"trees": 2, "depth": 1, "scale": "quantile_minmax", "missing": "mean"}"#),
    ("boosted_trees", r#"{"trees": 2, "depth": 2, "scale": "none+quantile_minmax", "query_columns": true}"#),
    ("lambdamart", r#"{"trees": 2, "depth": 2}"#),
    ("auto", r#"{"kernel": "linear"}"#),
    ("auto", r#"{"kernel": "gaussian", "landmarks": 4}"#),
    ("cofi_rank", r#"{"lambda": 1, "factors": 2, "max_rounds": 2}"#),
    ("cofi_rank", r#"{"lambda": 1, "factors": 2, "max_rounds": 2, "loss": "logistic", "biases": false}"#),
    ("cofi_rank", r#"{"lambda": 1, "factors": 2, "max_rounds": 2, "loss": "direct", "decoder": "power"}"#),
    ("cofi_rank", r#"{"lambda": 1, "factors": 2, "max_rounds": 2, "loss": "list_net"}"#),
    ("cofi_rank", r#"{"lambda": 1, "factors": 2, "max_rounds": 2, "feedback": "implicit"}"#),
    ("cofi_rank", r#"{"lambda": 1, "factors": 2, "max_rounds": 2, "feedback": "implicit", "negatives": 1}"#),
];

/// All models. Fails if an algorithm has none.
pub fn samples(connection: &Connection) -> Vec<Sample> {
    let mut cases: Vec<(&str, String)> =
        CASES.iter().map(|(name, options)| (*name, (*options).to_owned())).collect();
    for kernel in kernel::NAMES.iter().filter(|kernel| **kernel != "linear") {
        cases.push(("rank_svm", format!(r#"{{"lambda": 0.01, "kernel": "{kernel}", "landmarks": 4}}"#)));
        for (form, neighbors) in [("scoring", 3), ("ranking", 2)] {
            cases.push((
                "q_svm",
                format!(r#"{{"lambda": 0.01, "kernel": "{kernel}", "landmarks": 4, "form": "{form}", "neighbors": {neighbors}}}"#),
            ));
        }
    }
    for algorithm in ALGORITHMS {
        assert!(cases.iter().any(|(name, _)| *name == algorithm.name), "no model of '{}'", algorithm.name);
    }
    let sources = [
        (MIXED_CASES, "judged"),
        (WEIGHTED_CASES, WEIGHTED),
        (DIFFERENT_CASES, DIFFERENT),
        (BRAND_CASES, WITH_BRAND),
        (SHOPS_CASES, WITH_SHOPS),
        (VECTORS_CASES, VECTORS),
        (JUDGMENTS_CASES, JUDGMENTS),
    ];
    let of_sources =
        sources.iter().flat_map(|(cases, source)| cases.iter().map(move |case| (case.0, case.1, *source)));
    let others = cases.iter().map(|(algorithm, options)| {
        let source = match *algorithm {
            "auto" => MANY,
            "matching" => SLOTS,
            "cofi_rank" if options.contains("implicit") => "SELECT user, item FROM ratings",
            "cofi_rank" => "ratings",
            _ if options.contains("mean\"") => WITHOUT_MOOD,
            _ => WITH_MOOD,
        };
        (*algorithm, options.as_str(), source)
    });
    others.chain(of_sources).map(|case| sample(connection, case)).collect()
}

fn sample(connection: &Connection, (algorithm, options, source): (&str, &str, &str)) -> Sample {
    let name = format!("{algorithm} {options}");
    let bytes = connection
        .query_row("SELECT ltr_fit(?1, ?2, ?3)", (algorithm, source, options), |row| row.get(0))
        .unwrap_or_else(|problem| panic!("{name}: {problem}"));
    Sample { name, bytes }
}
