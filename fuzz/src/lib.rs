//! What the targets share: a watched connection, and what every answer must be. A panic ends the process, as a finding: the
//! library catches those that SQL would see, but libFuzzer's hook comes first.

pub mod buckets;
pub mod model;
pub mod pieces;
#[allow(clippy::pedantic, reason = "code of the tests, in which some of it is not used here")]
#[path = "../../tests/hostile/buckets/rounds.rs"]
pub mod rounds;

/// Bytes inside of a model.
#[allow(dead_code, clippy::pedantic, reason = "code of the tests")]
#[path = "../../tests/hostile/models"]
pub mod models {
    pub mod parts;
}

/// Models and the calls that read them.
#[allow(dead_code, clippy::pedantic, reason = "code of the tests")]
#[path = "../../tests/hostile/mutated"]
pub mod mutated {
    pub mod change;
    pub mod models;
    pub mod statements;
}

use std::fmt::Display;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rusqlite::{Connection, Statement};

unsafe extern "C" {
    /// Processor time of the process in microseconds (POSIX).
    safe fn clock() -> std::ffi::c_long;
}

/// Processor time of the process in milliseconds. On a busy machine time by the clock would interrupt calls that need little.
fn milliseconds() -> u64 {
    clock() as u64 / 1000
}

/// Milliseconds of processor time after which a call is interrupted. libFuzzer's time limit is longer, so a call that goes on is
/// a finding.
const LONGEST: u64 = 300;
/// The time of a connection that does nothing.
const IDLE: u64 = u64::MAX;

/// A connection whose long calls are interrupted.
pub struct Database {
    pub connection: Connection,
    /// When the call began, in milliseconds.
    began: Arc<AtomicU64>,
}

impl Database {
    pub fn new(connection: Connection) -> Self {
        let began = Arc::new(AtomicU64::new(IDLE));
        let (interrupt, watched) = (connection.get_interrupt_handle(), Arc::clone(&began));
        std::thread::spawn(move || {
            loop {
                std::thread::sleep(Duration::from_millis(LONGEST / 10));
                let limit = watched.load(Ordering::Relaxed).saturating_add(LONGEST);
                if milliseconds() > limit {
                    interrupt.interrupt();
                }
            }
        });
        Self { connection, began }
    }

    /// What `body` answers; `None` for an error.
    ///
    /// # Panics
    /// An error that the library must not return.
    pub fn answer<T>(
        &self,
        sql: &str,
        body: impl FnOnce(&mut Statement<'_>) -> rusqlite::Result<T>,
    ) -> Option<T> {
        let outcome =
            self.watched(|| self.connection.prepare(sql).and_then(|mut statement| body(&mut statement)));
        outcome.map_err(|problem| check_message(sql, &problem)).ok()
    }

    /// What `body` returns, whose statements are interrupted after [`LONGEST`].
    pub fn watched<T>(&self, body: impl FnOnce() -> T) -> T {
        self.began.store(milliseconds(), Ordering::Relaxed);
        let outcome = body();
        self.began.store(IDLE, Ordering::Relaxed);
        outcome
    }

    /// Runs a statement to its end, and drops what it did to the database.
    pub fn run(&self, sql: &str, parameters: impl rusqlite::Params) {
        self.connection.execute_batch("SAVEPOINT fuzz").expect("a savepoint");
        self.answer(sql, |statement| {
            let mut rows = statement.query(parameters)?;
            while rows.next()?.is_some() {}
            Ok(())
        });
        self.connection.execute_batch("ROLLBACK TO fuzz; RELEASE fuzz").expect("a savepoint");
    }
}

/// # Panics
/// A message of an error of the library itself.
pub fn check_message(what: &str, problem: &dyn Display) {
    let problem = problem.to_string();
    assert!(!problem.contains("internal error"), "{what}: {problem}");
}

/// Writes seeds into the folder `LTR_SEEDS`, if there is one.
///
/// # Panics
/// A folder that cannot be written.
pub fn write_seeds(seeds: impl FnOnce() -> Vec<Vec<u8>>) {
    if let Some(folder) = std::env::var_os("LTR_SEEDS") {
        for (number, seed) in seeds().iter().enumerate() {
            std::fs::write(Path::new(&folder).join(format!("{number:03}")), seed).expect("a seed");
        }
    }
}
