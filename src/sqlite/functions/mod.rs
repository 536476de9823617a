//! The SQL functions, one file per family.
//!
//! To add a scalar function, write its `ScalarFunction` and add it to [`SCALARS`]; to add a table-valued one, write
//! its `TableFunction` and add it to [`TABLES`].

mod activate;
pub mod aggregate;
#[cfg(feature = "buckets")]
pub mod buckets;
#[cfg(feature = "search")]
mod clicks;
pub mod compare;
mod cross_validate;
mod debug;
mod end_to_end;
mod evaluate;
#[cfg(feature = "search")]
mod evaluate_clicks;
mod explain;
mod export;
#[cfg(feature = "search")]
pub mod fts;
#[cfg(feature = "search")]
mod fts_api;
mod inspect;
#[cfg(feature = "search")]
mod interleave;
mod letor;
mod monitor;
#[cfg(feature = "plots")]
mod plot;
#[cfg(feature = "plots")]
pub mod plot_ranked;
mod rank;
mod ranking_call;
mod recommend;
#[cfg(feature = "plots")]
mod report;
mod score;
mod search;
mod tables;
mod train;
mod training;
mod update;
mod variety;
mod vector;

use super::glue::{ScalarFunction, TableFunction};

/// Every scalar function.
pub const SCALARS: &[&[&ScalarFunction]] = &[
    &[&train::TRAIN, &train::FIT, &update::UPDATE, &activate::ACTIVATE],
    &[&score::SCORE, &score::SCORE_FOR_QUERY, &score::PREFER, &score::PREFER_FOR_QUERY],
    &[&vector::VEC, &vector::VEC_TO_JSON, &export::EXPORT, &export::IMPORT],
    &[&inspect::INFO, &debug::VERSION, &debug::DEBUG],
    #[cfg(feature = "buckets")]
    &[&buckets::BUCKET, &buckets::BEGIN, &buckets::PARTIAL, &buckets::STEP, &buckets::FINISH],
    #[cfg(feature = "plots")]
    &[&plot::PLOT, &report::REPORT],
    #[cfg(feature = "search")]
    &[&fts::FTS, &fts::FTS_NAMES, &fts::FTS_QUERY, &fts::FTS_QUERY_FOR],
];

/// Every table-valued function.
pub const TABLES: &[&[&TableFunction]] = &[
    &[
        &rank::RANK,
        &search::SEARCH,
        &search::QUERY,
        &evaluate::EVALUATE,
        &cross_validate::CROSS_VALIDATE,
        &compare::COMPARE,
        &monitor::MONITOR,
    ],
    &[&recommend::RECOMMEND, &recommend::FACTORS, &inspect::WEIGHTS, &inspect::NEIGHBORS],
    &[&explain::EXPLAIN, &explain::EXPLAIN_RANK, &explain::IMPORTANCE, &inspect::TRAINING_LOG],
    &[&tables::ALGORITHM_TABLE, &tables::METRIC_TABLE, &tables::OPTION_TABLE, &letor::LETOR],
    #[cfg(feature = "search")]
    &[&interleave::INTERLEAVE, &interleave::INTERLEAVE_RESULT, &evaluate_clicks::EVALUATE_CLICKS],
    #[cfg(feature = "search")]
    &[&clicks::CLICK_MODEL_TABLE, &clicks::PROPENSITIES, &clicks::JUDGMENTS],
];
