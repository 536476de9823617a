//! The SQL functions, one file per family.
//!
//! To add a scalar function, write its `ScalarFunction` and add it to [`SCALARS`]; to add a table-valued one, write
//! its `TableFunction` and add it to [`TABLES`].

pub mod aggregate;
#[cfg(feature = "buckets")]
pub mod buckets;
#[cfg(feature = "search")]
mod clicks;
pub mod compare;
mod evaluate;
#[cfg(feature = "search")]
mod evaluate_clicks;
mod explain;
mod export;
#[cfg(feature = "search")]
pub mod fts;
mod inspect;
#[cfg(feature = "search")]
mod interleave;
mod letor;
mod monitor;
#[cfg(feature = "plots")]
mod plot;
mod rank;
mod ranking_call;
mod recommend;
#[cfg(feature = "plots")]
mod report;
mod score;
mod tables;
mod train;
mod update;
mod vector;

use super::glue::function::ScalarFunction;
use super::glue::vtab::TableFunction;

/// Every scalar function.
pub const SCALARS: &[&ScalarFunction] = &[
    &train::TRAIN,
    &train::FIT,
    &update::UPDATE,
    &inspect::ACTIVATE,
    &score::SCORE,
    &score::SCORE_FOR_QUERY,
    &score::PREFER,
    &score::PREFER_FOR_QUERY,
    &vector::VEC,
    &vector::VEC_TO_JSON,
    &inspect::INFO,
    #[cfg(feature = "buckets")]
    &buckets::BUCKET,
    #[cfg(feature = "buckets")]
    &buckets::BEGIN,
    #[cfg(feature = "buckets")]
    &buckets::PARTIAL,
    #[cfg(feature = "buckets")]
    &buckets::STEP,
    #[cfg(feature = "buckets")]
    &buckets::FINISH,
    #[cfg(feature = "plots")]
    &plot::PLOT,
    #[cfg(feature = "plots")]
    &report::REPORT,
    &export::EXPORT,
    &export::IMPORT,
    #[cfg(feature = "search")]
    &fts::FTS,
    #[cfg(feature = "search")]
    &fts::FTS_NAMES,
    #[cfg(feature = "search")]
    &fts::FTS_QUERY,
    &inspect::VERSION,
    &inspect::DEBUG,
];

/// Every table-valued function.
pub const TABLES: &[&TableFunction] = &[
    &rank::RANK,
    &evaluate::EVALUATE,
    &compare::COMPARE,
    #[cfg(feature = "search")]
    &interleave::INTERLEAVE,
    #[cfg(feature = "search")]
    &interleave::INTERLEAVE_RESULT,
    &monitor::MONITOR,
    &evaluate::CROSS_VALIDATE,
    &recommend::RECOMMEND,
    &recommend::FACTORS,
    &inspect::WEIGHTS,
    &explain::EXPLAIN,
    &explain::EXPLAIN_RANK,
    &explain::IMPORTANCE,
    &inspect::NEIGHBORS,
    &inspect::TRAINING_LOG,
    #[cfg(feature = "search")]
    &clicks::CLICK_MODEL_TABLE,
    #[cfg(feature = "search")]
    &clicks::PROPENSITIES,
    #[cfg(feature = "search")]
    &clicks::JUDGMENTS,
    #[cfg(feature = "search")]
    &evaluate_clicks::EVALUATE_CLICKS,
    &tables::ALGORITHM_TABLE,
    &tables::METRIC_TABLE,
    &tables::OPTION_TABLE,
    &letor::LETOR,
];
