//! The SQL functions, one file per family.
//!
//! To add a scalar function, write its `ScalarFunction` and add it to [`SCALARS`]; to add a table-valued one, write
//! its `TableFunction` and add it to [`TABLES`].

pub mod aggregate;
pub mod buckets;
mod clicks;
pub mod compare;
mod evaluate;
mod evaluate_clicks;
mod explain;
mod export;
pub mod fts;
mod inspect;
mod interleave;
mod letor;
mod monitor;
pub mod plot;
mod rank;
mod ranking_call;
mod recommend;
pub mod report;
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
    &buckets::BUCKET,
    &buckets::BEGIN,
    &buckets::PARTIAL,
    &buckets::STEP,
    &buckets::FINISH,
    #[cfg(feature = "plots")]
    &plot::PLOT,
    #[cfg(feature = "plots")]
    &report::REPORT,
    &export::EXPORT,
    &export::IMPORT,
    &fts::FTS,
    &fts::FTS_NAMES,
    &fts::FTS_QUERY,
    &inspect::VERSION,
    &inspect::DEBUG,
];

/// Every table-valued function.
pub const TABLES: &[&TableFunction] = &[
    &rank::RANK,
    &evaluate::EVALUATE,
    &compare::COMPARE,
    &interleave::INTERLEAVE,
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
    &clicks::CLICK_MODEL_TABLE,
    &clicks::PROPENSITIES,
    &clicks::JUDGMENTS,
    &evaluate_clicks::EVALUATE_CLICKS,
    &tables::ALGORITHM_TABLE,
    &tables::METRIC_TABLE,
    &tables::OPTION_TABLE,
    &letor::LETOR,
];
