//! Every function that reads a model, and what its answers must be.

use std::fmt;
use std::panic::PanicHookInfo;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rusqlite::Connection;

use super::models::{SLOTS, WITHOUT_MOOD, connect};
use crate::allocated::measured;

const LONGEST: Duration = Duration::from_secs(5);
const MOST_BYTES: usize = 64 << 20;

/// True for a number that is not finite: infinite, or NaN, which SQLite shows as NULL.
const BAD: &str = "coalesce(abs(X) > 1.7976931348623157e308, 1)";
/// The same where NULL has a meaning.
const INFINITE: &str = "coalesce(abs(X) > 1.7976931348623157e308, 0)";

const NEW: &str = "SELECT 77 AS query_id, doc_id, b AS a, a AS b, relevance, 0.4 AS q_mood, 'a' AS q_site, '[2, 4, 1]' AS q_wish \
     FROM judged WHERE query_id < 3";
const HUGE: &str = "SELECT 78 AS query_id, doc_id, 5e307 * (doc_id - 2) AS a, 5e-324 AS b, 1e100 AS q_mood, \
     'z' AS q_site, '[]' AS q_wish FROM judged";
const METRICS: &str = r#"{"metric": ["ndcg@3", "dcg", "map", "err", "eru", "kendall_tau", "mre"]}"#;

/// Statements of a model ?1 that return the number of wrong values: function, column with its check.
fn statements() -> Vec<String> {
    let from = |column: &str, check: &str, table: &str| {
        format!("SELECT coalesce(sum({}), 0) FROM {table}", check.replace('X', column))
    };
    let quoted = |source: &str| format!("'{}'", source.replace('\'', "''"));
    let scalar = |call: &str| format!("SELECT {}", BAD.replace('X', call));
    let mut statements = Vec::new();
    for source in ["judged", WITHOUT_MOOD, NEW, HUGE, SLOTS, "ratings"] {
        statements.push(from(
            "score",
            BAD,
            &format!("ltr_rank(?1, {}, '{{\"threads\": 1}}')", quoted(source)),
        ));
    }
    statements.push(from("score", BAD, "ltr_rank(?1, 'judged', '{\"diversify_by\": \"relevance\", \"k\": 2, \"allow_short\": true, \"threads\": 1}')"));
    for source in ["judged", SLOTS, "ratings"] {
        let options = METRICS.replace('{', "{\"threads\": 1, ");
        statements.push(from(
            "value",
            INFINITE,
            &format!("ltr_evaluate(?1, {}, '{options}')", quoted(source)),
        ));
    }
    for features in ["'[0.5, 0.25]'", "'[1e308, -1e308]'", "ltr_vec(0.5, 0.25)"] {
        statements.push(scalar(&format!("ltr_score(?1, {features})")));
        statements.push(scalar(&format!("ltr_prefer(?1, '[0.5, 0.5]', {features})")));
        statements.push(from("contribution", BAD, &format!("ltr_explain(?1, {features})")));
    }
    for query in
        ["'[0.4]'", "'[0.5, 0.25]'", "'[1e300]'", r#"'[0.4, "b", [3, 2]]'"#, r#"'[-1e100, "z", []]'"#]
    {
        statements.push(scalar(&format!("ltr_score(?1, '[0.5, 0.25]', {query})")));
        statements.push(scalar(&format!("ltr_prefer(?1, '[0.5, 0.25]', ltr_vec(1, 0), {query})")));
        statements.push(from("contribution", BAD, &format!("ltr_explain(?1, '[0.5, 0.25]', {query})")));
        statements.push(from("weight", BAD, &format!("ltr_weights(?1, {query})")));
        statements.push(from("max(abs(distance), abs(weight))", BAD, &format!("ltr_neighbors(?1, {query})")));
    }
    for (source, query) in [("judged", "3"), (NEW, "77"), (SLOTS, "2"), ("ratings", "3")] {
        let arguments = format!("?1, {}, {query}, 1", quoted(source));
        statements.push(from("contribution", BAD, &format!("ltr_explain({arguments})")));
        statements.push(from("contribution", BAD, &format!("ltr_explain_rank({arguments}, 2)")));
    }
    statements.push(from("loss", INFINITE, "ltr_importance(?1, 'judged', '{\"threads\": 1}')"));
    for source in ["judged", "ratings", SLOTS, HUGE] {
        // Every kind of finding with a limit has a value and a reference beside it.
        let limited = "kind IN ('drift', 'grades', 'outside', 'missing', 'new_users', 'new_items')";
        let finite =
            ["value", "reference", "threshold"].map(|column| INFINITE.replace('X', column)).join(" OR ");
        let check = format!("{finite} OR {limited} AND value + reference + threshold IS NULL");
        statements.push(from(
            "",
            &check,
            &format!("ltr_monitor(?1, {}, '{{\"threads\": 1}}')", quoted(source)),
        ));
    }
    for arguments in [
        "'validation', ?1",
        "'training', ?1",
        "'weights', ?1",
        "'scores', ?1, 'judged'",
        "'calibration', ?1, 'judged'",
    ] {
        // What is drawn has no such coordinates.
        let plot = format!("ltr_plot({arguments})");
        statements.push(format!(
            "SELECT {plot} GLOB '*NaN*' OR {plot} GLOB '*\"inf\"*' OR {plot} GLOB '*\"-inf\"*'"
        ));
    }
    for format in ["json", "sql", "elasticsearch", "solr"] {
        statements.push(format!("SELECT ltr_export(?1, '{format}') IS NULL"));
    }
    let import = "ltr_import(ltr_export(?1, 'json'), '{\"name\": \"imported\", \"keep_versions\": 1}')";
    statements.push(format!("SELECT {import} IS NULL"));
    statements.push(from("weight", BAD, "ltr_weights(?1)"));
    // The rounds of a perceptron have a surrogate loss, the others a gap.
    statements.push(from("max(abs(objective), abs(coalesce(gap, surrogate)))", BAD, "ltr_training_log(?1)"));
    for arguments in [
        "3",
        "77",
        "3, 5, '{\"include_seen\": true}'",
        "'x', '{\"ratings\": {\"i0\": 2, \"i1\": 0, \"i3\": 1}}'",
    ] {
        statements.push(from("score", BAD, &format!("ltr_recommend(?1, {arguments})")));
    }
    statements.push(from("bias", BAD, "ltr_factors(?1)"));
    statements.push(
        "SELECT ltr_update(?1, 'judged', '{\"name\": \"updated\", \"keep_versions\": 1}') IS NULL".to_owned(),
    );
    statements
}

/// Statements of a stored model, whose blocks are read on demand.
const STORED: &[&str] = &[
    "SELECT coalesce(sum(coalesce(abs(score) > 1.7976931348623157e308, 1)), 0) FROM ltr_rank('stored', 'judged', '{\"threads\": 1}')",
    "SELECT coalesce(sum(coalesce(abs(score) > 1.7976931348623157e308, 1)), 0) FROM ltr_rank('stored', 'SELECT 77 AS query_id, doc_id, b AS a, a AS b, 0.4 AS q_mood, ''c'' AS q_site, ''[1]'' AS q_wish FROM judged', '{\"threads\": 1}')",
    "SELECT coalesce(abs(ltr_score('stored', '[0.5, 0.25]', '[0.4]')) > 1.7976931348623157e308, 1)",
    r#"SELECT coalesce(abs(ltr_score('stored', '[0.5, 0.25]', '[0.4, "b", [3, 1]]')) > 1.7976931348623157e308, 1)"#,
];

/// What was called, and what went wrong.
#[derive(Default)]
pub struct Tally {
    pub mutations: u64,
    pub refused: u64,
    pub accepted: u64,
    calls: u64,
    answered: u64,
    panics: u64,
    not_finite: u64,
    slow: u64,
    large: u64,
    longest: Duration,
    most_bytes: usize,
    examples: Vec<String>,
    statements: Vec<String>,
    connections: Vec<Connection>,
}

static LAST_PANIC: Mutex<String> = Mutex::new(String::new());
/// Seconds since the start at which the current call began; `u64::MAX` between calls.
static BEGAN: AtomicU64 = AtomicU64::new(u64::MAX);

/// Ends the program with the name of the case if a call does not end.
fn watch(start: Instant) {
    std::thread::spawn(move || {
        loop {
            std::thread::sleep(Duration::from_secs(5));
            let began = BEGAN.load(Ordering::Relaxed);
            if began != u64::MAX && start.elapsed().as_secs() > began + 120 {
                let case = CASE.lock().map(|case| case.clone()).unwrap_or_default();
                drop(std::io::Write::write_all(
                    &mut std::io::stderr(),
                    format!("no end: {case}\n").as_bytes(),
                ));
                std::process::abort();
            }
        }
    });
}

static CASE: Mutex<String> = Mutex::new(String::new());
static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();

impl Tally {
    /// Counts from 0. `connection` trained the models.
    pub fn new(_: &Connection) -> Self {
        std::panic::set_hook(Box::new(|info: &PanicHookInfo<'_>| {
            if let Ok(mut last) = LAST_PANIC.lock() {
                *last = info.location().map(ToString::to_string).unwrap_or_default();
            }
        }));
        watch(*START.get_or_init(Instant::now));
        let stored = connect();
        stored
            .query_row(
                "SELECT ltr_train('rank_svm', 'judged', '{\"name\": \"stored\", \"lambda\": 0.1}')",
                [],
                |_| Ok(()),
            )
            .expect("a stored model");
        Self { statements: statements(), connections: vec![connect(), stored], ..Self::default() }
    }

    /// Calls every function with these bytes as the model.
    pub fn check(&mut self, model: &[u8], case: &str) {
        self.mutations += 1;
        if let Ok(mut current) = CASE.lock() {
            case.clone_into(&mut current);
        }
        if !self.call(0, "SELECT ltr_info(?1) IS NULL", Some(model), case) {
            self.refused += 1;
            return;
        }
        self.accepted += 1;
        let statements = std::mem::take(&mut self.statements);
        for sql in &statements {
            self.call(0, sql, Some(model), case);
        }
        self.statements = statements;
        self.connections[1].execute("UPDATE ltr_models SET model = ?1", [model]).expect("an update");
        for sql in STORED {
            self.call(1, sql, None, case);
        }
    }

    /// Runs one statement; true if it returns a row.
    fn call(&mut self, connection: usize, sql: &str, model: Option<&[u8]>, case: &str) -> bool {
        self.calls += 1;
        let connection = &self.connections[connection];
        BEGAN.store(START.get().map_or(0, |start| start.elapsed().as_secs()), Ordering::Relaxed);
        let begun = Instant::now();
        let (outcome, bytes) = measured(|| -> rusqlite::Result<i64> {
            let mut statement = connection.prepare(sql)?;
            match model {
                Some(model) => statement.query_row([model], |row| row.get::<_, i64>(0)),
                None => statement.query_row([], |row| row.get::<_, i64>(0)),
            }
        });
        let elapsed = begun.elapsed();
        BEGAN.store(u64::MAX, Ordering::Relaxed);
        self.longest = self.longest.max(elapsed);
        self.most_bytes = self.most_bytes.max(bytes);
        let mut wrong = String::new();
        if elapsed > LONGEST {
            self.slow += 1;
            wrong = format!("{elapsed:?}");
        }
        if bytes > MOST_BYTES {
            self.large += 1;
            wrong = format!("{bytes} bytes");
        }
        match &outcome {
            Ok(0) => self.answered += 1,
            Ok(count) => {
                self.not_finite += 1;
                wrong = format!("{count} numbers are not finite");
            }
            Err(problem) => {
                let problem = problem.to_string();
                if problem.contains("internal error") || problem.contains("panic") {
                    self.panics += 1;
                    let place = LAST_PANIC.lock().map(|place| place.clone()).unwrap_or_default();
                    wrong = format!("{problem} at {place}");
                } else if !problem.starts_with("ltr_") {
                    wrong = format!("an error without the name of a function: {problem}");
                    self.panics += 1;
                }
            }
        }
        if !wrong.is_empty() && self.examples.len() < 400 {
            self.examples.push(format!("{wrong}\n    {sql}\n    {case}"));
        }
        outcome.is_ok()
    }

    pub fn assert_clean(&self) {
        let wrong = self.panics + self.not_finite + self.slow + self.large;
        // The hook for panics is silent.
        drop(std::panic::take_hook());
        assert_eq!(wrong, 0, "{self}\n{}", self.examples.join("\n"));
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { mutations, refused, accepted, calls, answered, panics, not_finite, slow, large, .. } =
            self;
        write!(
            f,
            "{mutations} models: {refused} refused, {accepted} used in {calls} calls ({answered} answered); {panics} panics, \
             {not_finite} calls with numbers that are not finite, {slow} calls over 5 s (longest {:?}), {large} calls over 64 MiB \
             (most {} KiB)",
            self.longest,
            self.most_bytes >> 10
        )
    }
}
