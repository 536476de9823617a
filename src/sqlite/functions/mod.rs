//! The SQL functions, one file per family.
//!
//! To add a scalar function, write its `ScalarFunction` and add it to [`SCALARS`]; to add a table-valued one, write
//! its `TableFunction` and add it to [`TABLES`].

mod about;
mod activate;
pub mod aggregate;
pub mod buckets;
mod clicks;
mod compare;
mod cross_validate;
mod evaluate;
mod evaluate_clicks;
mod explain;
mod export;
pub mod fts;
mod importance;
mod inspect;
mod interleave;
mod interleave_result;
mod letor;
mod monitor;
pub mod paired_test;
#[cfg(feature = "plots")]
mod plot;
mod rank;
mod ranking_call;
mod recommend;
#[cfg(feature = "plots")]
mod report;
mod score;
mod score_column;
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
    &activate::ACTIVATE,
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
    &about::VERSION,
    &about::DEBUG,
];

/// Every table-valued function.
pub const TABLES: &[&TableFunction] = &[
    &rank::RANK,
    &evaluate::EVALUATE,
    &compare::COMPARE,
    &interleave::INTERLEAVE,
    &interleave_result::INTERLEAVE_RESULT,
    &monitor::MONITOR,
    &cross_validate::CROSS_VALIDATE,
    &recommend::RECOMMEND,
    &recommend::FACTORS,
    &inspect::WEIGHTS,
    &explain::EXPLAIN,
    &explain::EXPLAIN_RANK,
    &importance::IMPORTANCE,
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
