//! Combinations of the tables, and what is done with each.

use rusqlite::Connection;
use serde_json::{Value, json};
use sqlite_ltr::internals::base::param::{Params, Rule};
use sqlite_ltr::internals::data::RowOrder;
use sqlite_ltr::internals::data::arrange::ListConstraint;
use sqlite_ltr::internals::learn::smoothing::SmoothingKind;
use sqlite_ltr::internals::learn::space::Form;
use sqlite_ltr::internals::train::ALGORITHMS;
use sqlite_ltr::internals::train::algorithm::{AlgorithmDef, Columns, TrainingSpec, find};
use sqlite_ltr::internals::train::options::{self, OPTIONS, Use};
use sqlite_ltr::internals::{cost::loss, learn::kernel, learn::solve};

pub const SCALES: &[&str] = &["quantile", "standard", "none", "query_minmax", "quantile_minmax", "max_norm"];

/// Ten judged queries of six documents with three features; what is good depends on the sign of `q_mood`. Columns
/// `other` and `shuffle` give two more orders of the rows.
const SCHEMA: &str = "
CREATE TABLE judged(query_id, doc_id, relevance, a REAL, b REAL, c REAL, q_mood REAL, shuffle, other);
WITH RECURSIVE
  queries(q) AS (VALUES (1) UNION ALL SELECT q + 1 FROM queries WHERE q < 10),
  documents(d) AS (VALUES (1) UNION ALL SELECT d + 1 FROM documents WHERE d < 6),
  raw AS (SELECT q, d, ((7 * d + 3 * q) % 11) / 11.0 + q / 100.0 AS a, ((5 * d + 4 * q) % 13) / 13.0 AS b,
                 ((3 * d + 5 * q) % 7) / 7.0 AS c, (q - 5.5) / 3.0 AS mood FROM queries, documents)
INSERT INTO judged
SELECT q, d, CASE WHEN mood < 0 THEN (a + 0.3 * b > 0.5) + (a + 0.3 * b > 0.8)
                  ELSE (b - a > -0.3) + (b - a > 0.1) END,
       a, b, c, mood, (d * 7919 + q * 104729) % 1009, (d * 6007 + q * 30011) % 997 FROM raw;
CREATE TABLE candidates AS
  SELECT 100 + query_id AS query_id, doc_id, relevance, b AS a, a AS b, c, q_mood + 0.1 AS q_mood, shuffle FROM judged WHERE query_id < 5;
";

pub const COLUMNS: &str = "query_id, doc_id, relevance, a, b, c, q_mood";

/// Whether a loss is of documents at slots, which have separate rows in `tests/sql/matching.rs`.
fn has_slots(loss: &str) -> bool {
    let loss = loss::find(loss).and_then(|loss| loss.make(&Params::default()));
    loss.is_ok_and(|loss| loss.constraint() == ListConstraint::Slots)
}

/// The losses of ranked documents that are functions; trees have tests of the other in `tests/sql/trees.rs`.
fn losses() -> impl Iterator<Item = &'static str> {
    let is_function = |loss: &&&loss::LossDef| loss.shape != loss::Shape::Gradients && !has_slots(loss.name);
    loss::LOSSES.iter().filter(is_function).map(|loss| loss.name)
}

/// The spec of an algorithm with its defaults.
fn spec(algorithm: &AlgorithmDef) -> Box<dyn TrainingSpec> {
    algorithm.spec(&Params::default()).expect("defaults")
}

/// The algorithms that read features; those without have `tests/sql/recommendation.rs`.
pub fn of_features() -> impl Iterator<Item = &'static AlgorithmDef> {
    ALGORITHMS.iter().copied().filter(|algorithm| spec(algorithm).input().columns == Columns::Features)
}

/// Those that learn from all rows at once; online algorithms are in `tests/sql/perceptron.rs`.
pub fn batch() -> impl Iterator<Item = &'static AlgorithmDef> {
    of_features().filter(|algorithm| {
        let spec = spec(algorithm);
        let input = spec.input();
        input.order == RowOrder::Canonical && input.constraint != ListConstraint::Slots
    })
}

/// The ones that take an option.
pub fn taking(option: &'static str) -> impl Iterator<Item = &'static AlgorithmDef> {
    batch().filter(move |algorithm| (algorithm.reads)(option))
}

pub fn connect() -> Connection {
    let connection = Connection::open_in_memory().expect("a database");
    sqlite_ltr::register(&connection).expect("registration");
    connection.execute_batch(SCHEMA).expect("the toy set");
    connection
}

pub fn judged(order: &str) -> String {
    format!("SELECT {COLUMNS} FROM judged ORDER BY {order}")
}

pub fn fit(connection: &Connection, algorithm: &str, source: &str, options: &str) -> Result<Vec<u8>, String> {
    let sql = "SELECT ltr_fit(?1, ?2, ?3)";
    connection
        .query_row(sql, (algorithm, source, options), |row| row.get(0))
        .map_err(|error| error.to_string())
}

/// Scores by query and document.
pub fn scores(connection: &Connection, model: &[u8], source: &str, threads: usize) -> Vec<(i64, i64, f64)> {
    let sql = "SELECT query_id, doc_id, score FROM ltr_rank(?1, ?2, ?3) ORDER BY query_id, doc_id";
    let options = json!({ "threads": threads }).to_string();
    let mut statement = connection.prepare(sql).expect("a statement");
    let rows = statement
        .query_map((model, source, options), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .expect("a ranking");
    rows.collect::<Result<_, _>>().unwrap_or_else(|problem| panic!("{source}: {problem}"))
}

pub fn assert_same_bits(a: &[(i64, i64, f64)], b: &[(i64, i64, f64)], what: &str) {
    assert_eq!(a.len(), b.len(), "{what}");
    for (x, y) in a.iter().zip(b) {
        assert_eq!((x.0, x.1, x.2.to_bits()), (y.0, y.1, y.2.to_bits()), "{what}");
    }
}

/// One combination of the tables.
pub struct Case {
    pub algorithm: &'static str,
    pub choices: Value,
}

impl Case {
    fn new(algorithm: &'static str, choices: Value) -> Self {
        Self { algorithm, choices }
    }

    fn options(&self, threads: usize) -> String {
        let mut options = self.choices.clone();
        options["threads"] = json!(threads);
        if taking("lambda").any(|algorithm| algorithm.name == self.algorithm) {
            options["lambda"] = json!(0.01);
        }
        options.to_string()
    }

    pub fn name(&self) -> String {
        format!("{} {}", self.algorithm, self.choices)
    }

    fn refusal(&self) -> Option<String> {
        let options = options::parse(Some(&self.options(1)), Use::Train).expect("known options");
        let spec = find(self.algorithm).expect("an algorithm").spec(&options);
        spec.err().map(|problem| problem.to_string())
    }

    pub fn fit(&self, connection: &Connection, source: &str, threads: usize) -> Vec<u8> {
        fit(connection, self.algorithm, source, &self.options(threads))
            .unwrap_or_else(|problem| panic!("{}: {problem}", self.name()))
    }
}

/// The values of an option.
fn choices_of(key: &str) -> &'static [&'static str] {
    match OPTIONS.iter().find(|option| option.key == key).expect("an option").rule {
        Rule::OneOf(names) => names,
        _ => panic!("{key} is not a choice of names"),
    }
}

/// A loss that a solver takes, and not the same for all solvers.
fn loss_of(solver: &str, place: usize) -> &'static str {
    let solver = solve::find(solver).expect("a solver");
    let made = |name: &str| loss::find(name).expect("a loss").make(&Params::default()).expect("a loss");
    let taken: Vec<&str> = losses().filter(|name| solver.takes(&made(name))).collect();
    taken[place % taken.len()]
}

/// Every algorithm, loss, smoothing, scaling, kernel, solver, prior, form and time of fitting at least once.
pub fn cases() -> Vec<Case> {
    let mut cases: Vec<Case> = batch().map(|algorithm| Case::new(algorithm.name, json!({}))).collect();
    for (place, loss) in losses().enumerate() {
        let at = |names: &[&'static str]| names[place % names.len()];
        let (smoothing, scale, kernel) = (at(SmoothingKind::NAMES), at(SCALES), at(kernel::NAMES));
        let choices = json!({ "loss": loss, "smoothing": smoothing, "scale": scale, "kernel": kernel });
        cases.push(Case::new("q_svm", choices));
    }
    for (place, solver) in solve::NAMES.iter().enumerate() {
        cases.push(Case::new("rank_svm", json!({ "solver": solver, "loss": loss_of(solver, place) })));
    }
    // The walk has a stored model for the prior "@name".
    for prior in choices_of("prior").iter().filter(|prior| !prior.starts_with('@')) {
        for (loss, fits) in [("hinge", "training"), ("list_net", "query_time")] {
            cases.push(Case::new("q_svm", json!({ "loss": loss, "prior": prior, "fit_at": fits })));
        }
    }
    cases.push(Case::new("knn_svm", json!({ "query_features": "mean", "query_distance": "learned" })));
    for form in Form::NAMES {
        cases.push(Case::new("knn_svm", json!({ "form": form, "kernel": "gaussian", "landmarks": 12 })));
    }
    for case in &cases {
        assert_eq!(case.refusal(), None, "{}", case.name());
    }
    cases
}

/// Every convex loss with every smoothing and kernel; every loss with every solver and form, linear and not: those
/// of them that a recipe accepts.
pub fn product() -> Vec<Case> {
    let mut cases = Vec::new();
    for loss in loss::LOSSES.iter().filter(|loss| loss.shape.is_convex() && !has_slots(loss.name)) {
        for smoothing in SmoothingKind::NAMES {
            for kernel in kernel::NAMES {
                let choices = json!({ "loss": loss.name, "smoothing": smoothing, "kernel": kernel });
                cases.push(Case::new("q_svm", choices));
            }
        }
    }
    for loss in losses() {
        for solver in solve::NAMES {
            for form in Form::NAMES {
                for kernel in ["linear", "gaussian"] {
                    let choices = json!({ "loss": loss, "solver": solver, "form": form, "kernel": kernel });
                    cases.push(Case::new("rank_svm", choices));
                }
            }
        }
    }
    cases.retain(|case| case.refusal().is_none());
    cases
}
