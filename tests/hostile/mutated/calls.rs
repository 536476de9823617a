//! Every function that reads a model, and what its answers must be.

use std::fmt;
use std::panic::PanicHookInfo;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rusqlite::Connection;

use super::models::connect;
use super::statements::{STORED, statements};
use crate::allocated::measured;

const LONGEST: Duration = Duration::from_secs(5);
const MOST_BYTES: usize = 64 << 20;

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
