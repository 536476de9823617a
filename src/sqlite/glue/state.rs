//! The state of a connection: cached models and fitted functions, the last warnings, and whether training is running.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};

use rusqlite::Connection;

use super::guard::guard;
use super::probe::Database;
use crate::apply::FitCache;
use crate::base::parallel::lock;
use crate::base::{BoundedCache, Error, Reservation, Result};
use crate::buckets::state;
use crate::data::Id;
use crate::model::{Key, Model};

/// Maximum number of decoded models in the cache.
const MAX_MODELS: usize = 16;

/// Maximum size of the cache of fitted functions, in bytes.
const MAX_FIT_BYTES: usize = 64 << 20;

/// Maximum size, in bytes, of a state of training in buckets that is cached.
const MAX_ROUND_BYTES: usize = 16 << 20;

/// A decoded model, and where the blocks that are not yet loaded can be read.
#[derive(Debug, Clone)]
pub struct ModelHandle {
    pub model: Arc<Model>,
    /// The model's key in the cache.
    pub key: Key,
    /// Where the model is stored, to read blocks on demand; `None` for a BLOB argument, which contains the complete
    /// model.
    pub location: Option<BlobLocation>,
    /// Memory reserved for the model, if this function call decoded it.
    pub memory: Arc<Reservation>,
}

impl ModelHandle {
    /// The schema in which the model is stored; `main` for a BLOB argument.
    pub fn schema(&self) -> &str {
        self.location.as_ref().map_or("main", |location| &location.schema)
    }
}

/// The row of `ltr_models` that stores a model.
#[derive(Debug, Clone)]
pub struct BlobLocation {
    pub schema: String,
    /// The rowid.
    pub row: i64,
}

/// The states of all connections on which this library is loaded, with the address of each `sqlite3` object.
static STATES: Mutex<Vec<(usize, Weak<State>)>> = Mutex::new(Vec::new());

/// The state of one connection.
pub struct State {
    /// Whether all functions are registered.
    complete: AtomicBool,
    /// Functions fitted for new queries.
    pub fits: FitCache,
    models: BoundedCache<Key, Arc<Model>>,
    warnings: Mutex<Vec<String>>,
    training: AtomicBool,
    asked: Mutex<Option<Arc<Asked>>>,
    planned: AtomicUsize,
    /// Whether `ltr_fts` is registered with FTS5, or why not; `None` before the first attempt.
    fts5: Mutex<Option<Result<(), String>>>,
    /// Whether an attempt to register `ltr_fts` has failed.
    fts5_was_late: AtomicBool,
    /// The last state of training in buckets that was decoded, with its bytes.
    round: Mutex<Option<(Vec<u8>, Arc<state::State>)>>,
}

impl State {
    /// Creates the state of a new connection.
    pub fn new() -> Arc<Self> {
        Arc::new(Self {
            complete: AtomicBool::new(false),
            fits: FitCache::new(MAX_FIT_BYTES),
            models: BoundedCache::new(MAX_MODELS),
            warnings: Mutex::default(),
            training: AtomicBool::new(false),
            asked: Mutex::default(),
            planned: AtomicUsize::new(0),
            fts5: Mutex::default(),
            fts5_was_late: AtomicBool::new(false),
            round: Mutex::default(),
        })
    }

    /// Returns the state of a connection. If the library was already loaded, the connection keeps its state, so old and
    /// new functions work together even if this load fails halfway. Functions drop their state before SQLite frees the
    /// connection, so a later connection at the same address gets a new state.
    pub fn of(connection: &Connection) -> Arc<Self> {
        let database = Database::from_connection(connection).address();
        let mut states = lock(&STATES);
        states.retain(|(_, state)| state.strong_count() > 0);
        let entry = states.iter().find(|(known, _)| *known == database);
        entry.and_then(|(_, state)| state.upgrade()).unwrap_or_else(|| {
            let state = Self::new();
            states.push((database, Arc::downgrade(&state)));
            state
        })
    }

    /// Records that all functions are registered.
    pub fn complete(&self) {
        self.complete.store(true, Ordering::SeqCst);
    }

    /// Runs the body of the SQL function `name` like [`guard`]. If loading failed halfway, it returns an error instead;
    /// this is needed because SQLite cannot always remove registered functions.
    pub fn guard<T>(&self, name: &str, body: impl FnOnce() -> Result<T>) -> rusqlite::Result<T> {
        let outcome = guard(name, || {
            if self.complete.load(Ordering::SeqCst) {
                return body();
            }
            let problem = "sqlite_ltr was not loaded completely into this connection; finish its statements and load it again";
            Err(Error::Host(problem.to_owned()))
        });
        if outcome.is_err() {
            self.set_warnings(Vec::new());
        }
        outcome
    }

    /// Returns the cached model with this key. If there is none, decodes it with `decode` and caches it.
    ///
    /// # Errors
    /// The errors of `decode`.
    pub fn model(&self, key: Key, decode: impl FnOnce() -> Result<Model>) -> Result<Arc<Model>> {
        if let Some(model) = self.models.get(&key) {
            return Ok(model);
        }
        let model = Arc::new(decode()?);
        self.models.put(key, Arc::clone(&model), 1);
        Ok(model)
    }

    /// Returns the state of training in buckets that these bytes encode. If the last call had the same bytes, the
    /// cached state is used; otherwise they are decoded, and cached if they are small enough.
    ///
    /// # Errors
    /// If the bytes are not a state.
    pub fn round(&self, bytes: &[u8]) -> Result<Arc<state::State>> {
        if let Some((_, round)) = lock(&self.round).as_ref().filter(|(known, _)| known == bytes) {
            return Ok(Arc::clone(round));
        }
        let round = Arc::new(state::State::from_bytes(bytes)?);
        *lock(&self.round) = (bytes.len() <= MAX_ROUND_BYTES).then(|| (bytes.to_vec(), Arc::clone(&round)));
        Ok(round)
    }

    /// Counts a statement that uses a table-valued function, while SQLite prepares it.
    pub fn count_plan(&self) {
        self.planned.fetch_add(1, Ordering::Relaxed);
    }

    /// The number of calls to [`Self::count_plan`].
    pub fn planned(&self) -> usize {
        self.planned.load(Ordering::Relaxed)
    }

    pub fn cached_model(&self, key: Key) -> Option<Arc<Model>> {
        self.models.get(&key)
    }

    /// The number of cached models.
    pub fn models_kept(&self) -> usize {
        self.models.len()
    }

    /// Stores the warnings of the last training, ranking, evaluation or recommendation; drops repeated warnings, such
    /// as the same warning for two models.
    pub fn set_warnings(&self, mut warnings: Vec<String>) {
        let mut seen = HashSet::new();
        warnings.retain(|warning| seen.insert(warning.clone()));
        *lock(&self.warnings) = warnings;
    }

    /// The warnings of the last training, ranking, evaluation or recommendation.
    pub fn warnings(&self) -> Vec<String> {
        lock(&self.warnings).clone()
    }

    /// Whether `ltr_fts` is registered with FTS5, or why not; `None` before the first attempt.
    pub fn fts5(&self) -> Option<Result<(), String>> {
        lock(&self.fts5).clone()
    }

    /// Stores the outcome of an attempt to register `ltr_fts` with FTS5.
    pub fn set_fts5(&self, outcome: Result<(), String>) {
        if outcome.is_err() {
            self.fts5_was_late.store(true, Ordering::SeqCst);
        }
        *lock(&self.fts5) = Some(outcome);
    }

    /// Whether an attempt to register `ltr_fts` with FTS5 has failed, so that statements may have been prepared without
    /// it.
    pub fn fts5_was_late(&self) -> bool {
        self.fts5_was_late.load(Ordering::SeqCst)
    }

    /// Marks this connection as training until the mark is dropped.
    ///
    /// # Errors
    /// If training is already running, because a source that starts training would never end.
    pub fn begin_training(self: &Arc<Self>) -> Result<TrainingMark> {
        if self.training.swap(true, Ordering::SeqCst) {
            let problem =
                "training is already running on this connection; a source or trigger must not start it again";
            return Err(Error::Unsupported(problem.to_owned()));
        }
        Ok(TrainingMark(Arc::clone(self)))
    }

    /// Makes these queries the rows of `ltr_query` until the mark is dropped.
    ///
    /// # Errors
    /// If `ltr_query` already has rows, because a view of candidates that runs a search would never end.
    pub fn ask(self: &Arc<Self>, asked: Asked) -> Result<AskedMark> {
        let mut running = lock(&self.asked);
        if running.is_some() {
            let problem =
                "candidates are being read on this connection; their view must not search, train or evaluate";
            return Err(Error::Unsupported(problem.to_owned()));
        }
        let asked = Arc::new(asked);
        *running = Some(Arc::clone(&asked));
        Ok(AskedMark { state: Arc::clone(self), asked })
    }

    /// The queries of the function call in progress, if it reads a view of candidates.
    pub fn asked(&self) -> Option<Arc<Asked>> {
        lock(&self.asked).clone()
    }
}

/// The queries for which a function call reads a view of candidates. They are the rows of `ltr_query`.
#[derive(Debug)]
pub struct Asked {
    /// The text or id of each query.
    pub queries: Vec<Id>,
    /// The parameters of each query as JSON, from the option `params` of a search or the column `params` of judgments.
    /// May be empty.
    pub params: Vec<Option<String>>,
    /// The index of the query being read; an index past the end means all queries.
    now: AtomicUsize,
}

impl Asked {
    pub fn new(queries: Vec<Id>, params: Vec<Option<String>>) -> Self {
        Self { queries, params, now: AtomicUsize::new(usize::MAX) }
    }

    /// Makes one query the only row of `ltr_query`, as in a search.
    pub fn only(&self, query: usize) {
        self.now.store(query, Ordering::SeqCst);
    }

    /// The indices of the queries that are rows of `ltr_query` now.
    pub fn rows(&self) -> Range<usize> {
        let now = self.now.load(Ordering::SeqCst);
        if now < self.queries.len() { now..now + 1 } else { 0..self.queries.len() }
    }
}

/// Removes the queries of [`State::ask`] from `ltr_query` when dropped.
pub struct AskedMark {
    state: Arc<State>,
    pub asked: Arc<Asked>,
}

impl Drop for AskedMark {
    fn drop(&mut self) {
        lock(&self.state.asked).take();
    }
}

/// Marks a connection as training ([`State::begin_training`]) until dropped.
pub struct TrainingMark(Arc<State>);

impl Drop for TrainingMark {
    fn drop(&mut self) {
        self.0.training.store(false, Ordering::SeqCst);
    }
}
