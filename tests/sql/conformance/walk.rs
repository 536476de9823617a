//! The product of all choices that the table of conflicts decides about. Each combination trains, stores, reloads and
//! ranks, or is refused by the table before a row is read.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use rusqlite::Connection;
use serde_json::{Map, Value, json};
use sqlite_ltr::internals::learn::fit::{FitAt, Prior};
use sqlite_ltr::internals::learn::smoothing::SmoothingKind;
use sqlite_ltr::internals::learn::space::Form;
use sqlite_ltr::internals::model::Model;
use sqlite_ltr::internals::train::algorithm::find;
use sqlite_ltr::internals::train::options::{self, Use};
use sqlite_ltr::internals::{cost::loss, learn::kernel, learn::solve};

use super::cases::{connect, fit};

/// A preset of the grid. Every choice that the walk names replaces its default.
const PRESET: &str = "rank_svm";

/// Each penalty with each way to choose its weight, as more options.
const PENALTIES: &[(&str, &str)] = &[
    ("ridge", r#"{"lambda": 0.01}"#),
    ("ridge", r#"{"lambda": [1, 0.01], "validation": 0.4}"#),
    ("ridge", r#"{"lambda": [1, 0.01], "validation": "documents"}"#),
    ("ridge", r#"{"lambda": [1, 0.01], "validation": "documents", "lambda_scope": "each"}"#),
    ("spectral", r#"{"lambda": 0.01}"#),
    ("spectral", r#"{"components": 1}"#),
    ("spectral", r#"{"components": [2, 1]}"#),
    ("l1", r#"{"lambda": 0.01}"#),
    ("l1", "{}"),
    ("ball", "{}"),
    ("ball", r#"{"radius": [10, 1]}"#),
    ("sphere", "{}"),
];

/// Documents and slots: a document is relevant at its own slot.
const SLOTS: &str =
    "SELECT query_id, doc_id, s AS slot, doc_id = s AS relevance, a + s AS a, b * s AS b, c, q_mood
                       FROM judged, (SELECT 1 AS s UNION SELECT 2) WHERE query_id < 7 AND doc_id < 4";
const DOCUMENTS: &str =
    "SELECT query_id, doc_id, relevance, a, b, c, q_mood FROM judged WHERE query_id < 7 AND doc_id < 5";

/// Number of choices: loss, penalty, prior, form, kernel, smoothing, solver, time of the fit.
const SIZES: [usize; 8] = [
    loss::NAMES.len(),
    PENALTIES.len(),
    Prior::NAMES.len(),
    Form::NAMES.len(),
    kernel::NAMES.len(),
    SmoothingKind::NAMES.len(),
    solve::NAMES.len(),
    FitAt::NAMES.len(),
];

/// Number of combinations.
fn product() -> usize {
    SIZES.iter().product()
}

/// The choices of a combination, one per dimension.
fn choices(mut index: usize) -> [usize; 8] {
    SIZES.map(|size| {
        let choice = index % size;
        index /= size;
        choice
    })
}

/// The combination of these choices.
fn combination([loss, penalty, prior, form, kernel, smoothing, solver, fit_at]: [usize; 8]) -> Combination {
    let (penalty, more) = PENALTIES[penalty];
    let mut options: Map<String, Value> = serde_json::from_str(more).expect("an object");
    for (key, name) in [
        ("loss", loss::NAMES[loss]),
        ("penalty", penalty),
        ("prior", Prior::NAMES[prior]),
        ("form", Form::NAMES[form]),
        ("kernel", kernel::NAMES[kernel]),
        ("smoothing", SmoothingKind::NAMES[smoothing]),
        ("solver", solve::NAMES[solver]),
    ] {
        options.insert(key.to_owned(), json!(name));
    }
    // The default is left out: with uniform smoothing the option has no effect, and is refused if it is given.
    if FitAt::NAMES[fit_at] != FitAt::Training.name() {
        options.insert("fit_at".to_owned(), json!(FitAt::NAMES[fit_at]));
    }
    options.insert("threads".to_owned(), json!(1));
    // Whether a combination works does not depend on the tolerance. Psi has 20 starts.
    options.insert("tolerance".to_owned(), json!(0.1));
    Combination { slots: loss::NAMES[loss] == "matching", options: Value::Object(options).to_string() }
}

struct Combination {
    slots: bool,
    options: String,
}

/// What became of combinations.
#[derive(Default)]
struct Counts {
    trained: AtomicUsize,
    refused: AtomicUsize,
}

impl Combination {
    /// The sentence of the table, if it refuses the combination.
    fn refusal(&self) -> Option<String> {
        let options = options::parse(Some(&self.options), Use::Train).expect("known options");
        let spec = find(PRESET).expect("a preset").spec(&options);
        spec.err().map(|problem| problem.to_string())
    }

    /// Trains, stores, reloads and ranks; or is refused before a row is read.
    fn check(&self, connection: &Connection, counts: &Counts) {
        let what = &self.options;
        if let Some(refusal) = self.refusal() {
            let clear = refusal.contains(" does not support ") && refusal.contains("; use ");
            assert!(clear || refusal.contains(" has no effect with "), "{what}: {refusal}");
            let found = fit(connection, PRESET, "SELECT * FROM nowhere", what).expect_err("a refusal");
            assert_eq!(found, format!("ltr_fit: {refusal}"), "{what}");
            counts.refused.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let source = if self.slots { SLOTS } else { DOCUMENTS };
        let model =
            fit(connection, PRESET, source, what).unwrap_or_else(|problem| panic!("{what}: {problem}"));
        let again = Model::from_bytes(&model).and_then(|model| model.to_bytes());
        assert!(again.expect("a model that can be read") == model, "{what}");
        let sql = "SELECT count(*), total(abs(score) < 1.8e308) FROM ltr_rank(?1, ?2)";
        let (rows, finite): (i64, f64) = connection
            .query_row(sql, (&model, source), |row| Ok((row.get(0)?, row.get(1)?)))
            .unwrap_or_else(|problem| panic!("{what}: {problem}"));
        assert!(
            rows > 0 && (finite - rows as f64).abs() < 0.5,
            "{what}: {finite} of {rows} scores are finite"
        );
        counts.trained.fetch_add(1, Ordering::Relaxed);
    }
}

/// Checks combinations on all cores.
#[allow(clippy::print_stdout, reason = "the numbers of a walk are its result")]
fn check(combinations: &[Combination]) -> Counts {
    let counts = Counts::default();
    let next = AtomicUsize::new(0);
    let cores = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                let connection = connect();
                // The model of the prior "@name".
                let name = r#"{"name": "name", "lambda": 1, "threads": 1}"#;
                let stored =
                    connection
                        .query_row("SELECT ltr_train(?1, ?2, ?3)", (PRESET, DOCUMENTS, name), |_| Ok(()));
                stored.expect("a model to be the prior");
                while let Some(combination) = combinations.get(next.fetch_add(1, Ordering::Relaxed)) {
                    combination.check(&connection, &counts);
                }
            });
        }
    });
    let (trained, refused) = (counts.trained.load(Ordering::Relaxed), counts.refused.load(Ordering::Relaxed));
    println!("{} combinations: {trained} trained, {refused} refused", combinations.len());
    assert_eq!(trained + refused, combinations.len());
    counts
}

/// Combinations that cover each pair of choices twice if possible: in one that is accepted, and in one that is refused.
fn pairwise() -> Vec<Combination> {
    /// A prime: multiples of it are an order in which neighbors differ in most dimensions.
    const STRIDE: usize = 1_000_003;
    /// Combinations that are tried.
    const TRIED: usize = 30_000;
    let mut covered: BTreeSet<(bool, [usize; 4])> = BTreeSet::new();
    let mut combinations = Vec::new();
    for step in 0..TRIED {
        let choices = choices(step * STRIDE % product());
        let pairs = |refused: bool| {
            let all = (0..choices.len()).flat_map(|a| (0..a).map(move |b| (a, b)));
            all.map(move |(a, b)| (refused, [a, choices[a], b, choices[b]])).collect::<Vec<_>>()
        };
        // Parsing is the slow part, so it is left out if the pairs are covered both ways.
        if [true, false].iter().all(|refused| pairs(*refused).iter().all(|pair| covered.contains(pair))) {
            continue;
        }
        let combination = combination(choices);
        let before = covered.len();
        covered.extend(pairs(combination.refusal().is_some()));
        if covered.len() > before {
            combinations.push(combination);
        }
    }
    combinations
}

/// Combinations that cover each pair of choices, or with `LTR_LONG=1` all combinations, as `.ci/run walk` runs it.
#[test]
fn combinations_work_or_are_refused_by_the_table() {
    let long = crate::support::is_long();
    let all = || (0..product()).map(|index| combination(choices(index))).collect();
    let counts = check(&if long { all() } else { pairwise() });
    let least = if long { 10_000 } else { 50 };
    assert!(counts.trained.into_inner() > least && counts.refused.into_inner() > least);
}
