//! Learning to rank: train a model on judged documents, rank new ones, measure rankings.
//!
//! # With SQL, on a `rusqlite` connection
//!
//! ```sh
//! cargo add sqlite-ltr --features bundled
//! ```
//!
//! ```
//! # #[cfg(feature = "sqlite")]
//! # fn main() -> sqlite_ltr::rusqlite::Result<()> {
//! use sqlite_ltr::rusqlite::Connection;
//!
//! let connection = Connection::open_in_memory()?;
//! sqlite_ltr::register(&connection)?;
//! connection.execute_batch(
//!     "CREATE TABLE judgments (query_id, doc_id, bm25, age, relevance);
//!      INSERT INTO judgments VALUES (1, 1, 3.0, 0.1, 2), (1, 2, 1.0, 0.9, 0), (2, 1, 2.0, 0.2, 1), (2, 2, 0.5, 0.7, 0);
//!      SELECT ltr_train('rank_svm', 'judgments');",
//! )?;
//! let source = "SELECT 'new' AS query_id, column1 AS doc_id, column2 AS bm25, column3 AS age
//!                 FROM (VALUES (7, 0.4, 0.8), (8, 2.5, 0.3))";
//! let best = "SELECT doc_id FROM ltr_rank('rank_svm', ?) ORDER BY rank LIMIT 1";
//! assert_eq!(connection.query_row(best, [source], |row| row.get::<_, i64>(0))?, 8);
//! # Ok(())
//! # }
//! # #[cfg(not(feature = "sqlite"))]
//! # fn main() {}
//! ```
//!
//! The SQL functions are the same as in the loadable extension. Without `bundled`, the program links the SQLite of the
//! system.
//!
//! # Without SQL
//!
//! ```sh
//! cargo add sqlite-ltr --no-default-features
//! ```
//!
//! ```
//! use sqlite_ltr::ndarray::array;
//! use sqlite_ltr::{Dataset, Model, Trainer};
//!
//! // 1. Judged documents: features, the query of each row, its relevance.
//! let features = array![[3.0, 0.1], [1.0, 0.9], [2.0, 0.2], [0.5, 0.7]];
//! let data = Dataset::from_arrays(features, ["a", "a", "b", "b"], &[2.0, 0.0, 1.0, 0.0])?
//!     .with_feature_names(["bm25", "age"])?;
//!
//! // 2. A model. Algorithms and options are the same as in SQL.
//! let model = Trainer::new("rank_svm").option("lambda", 0.01).fit(&data)?;
//!
//! // 3. A ranking of new documents.
//! let candidates = Dataset::unjudged(array![[0.4, 0.8], [2.5, 0.3]], ["new", "new"])?
//!     .with_feature_names(["bm25", "age"])?;
//! let best = &model.rank(&candidates)?[0];
//! assert_eq!((best.row, best.rank), (1, 1));
//!
//! // 4. Bytes, for a file or for SQL.
//! let same = Model::from_bytes(&model.to_bytes())?;
//! assert_eq!(same.rank(&candidates)?[0], *best);
//! # Ok::<(), sqlite_ltr::Error>(())
//! ```
//!
//! # Items
//!
//! | item | purpose |
//! |---|---|
//! | [`Dataset`], [`Document`], [`Features`], [`Id`] | documents grouped by query, from arrays, rows, ratings or LETOR text |
//! | [`Trainer`], [`algorithms`] | training and cross-validation by the name of an algorithm, options by key |
//! | [`Model`], [`RankOptions`], [`RecommendOptions`] | ranking, recommending, scoring, explaining, measuring, bytes |
//! | [`metric`] | NDCG, MAP, ERR and other metrics of any scores |
//! | [`Control`] | stopping a computation, and its progress |
//! | [`Error`], [`Result`] | one error type |
//! | `register`, `register_with` (feature `sqlite`) | the SQL functions on a `rusqlite` connection |
//! | [`ndarray`], `rusqlite` (feature `sqlite`) | the versions of these crates that this crate uses |
//!
//! Features: `sqlite` (default) adds the SQL functions and needs SQLite; `bundled` compiles SQLite too; `loadable` is for
//! building the extension, `linked` for the static library. Without `sqlite` no SQLite is linked.

// Without SQL, code for it has no caller.
#![cfg_attr(not(feature = "sqlite"), allow(dead_code, unused_imports))]

mod api;
mod apply;
mod base;
mod buckets;
mod cost;
mod data;
mod exchange;
mod learn;
mod math;
mod model;
mod plot;
mod search;
#[cfg(feature = "sqlite")]
mod sqlite;
mod train;
mod trees;

pub use api::*;
pub use base::error::{Error, Result};
pub use cost::metric;
pub use data::{Id, QueryValue};
pub use ndarray;
#[cfg(feature = "sqlite")]
pub use rusqlite;
#[cfg(feature = "sqlite")]
pub use sqlite::{Files, register, register_with};

/// Modules for the tests and benchmarks of this repository. They are not part of the API and change without notice.
#[doc(hidden)]
pub mod internals {
    macro_rules! reexport {
        ($($module:ident)*) => { $(pub mod $module { pub use crate::$module::*; })* };
    }
    reexport! { apply base cost data learn math model search train trees }
}

/// Whether `LTR_LONG` asks for the long forms of the tests.
#[cfg(test)]
fn is_long() -> bool {
    std::env::var_os("LTR_LONG").is_some()
}

/// Compiles the Rust code of these pages.
#[cfg(all(doctest, feature = "sqlite"))]
mod pages {
    #[doc = include_str!("../README.md")]
    mod readme {}
    #[doc = include_str!("../docs/guide/rust.md")]
    mod guide {}
}
