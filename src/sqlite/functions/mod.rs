//! The SQL functions, one file per family. [`SCALARS`] and [`TABLES`] name the file of each. Other files:
//!
//! | file | contents |
//! |---|---|
//! | `aggregate` | the metrics as aggregates; `ltr_paired_test` is in `compare`, `ltr_pack` and `ltr_merge` in `buckets/` |
//! | `ranking_call`, `training` | arguments model, source and options; code shared by trainings |
//! | `rank_by_column`, `evaluate_search`, `variety` | NULL models; measuring the candidates of a view; diversity by vectors |
//! | `plot_ranked`, `fts_api` | plots of rankings; the C interface of FTS5 |
//!
//! To add a scalar function, write its `ScalarFunction` and add it to [`SCALARS`]; to add a table-valued one, write
//! its `TableFunction` and add it to [`TABLES`].

mod activate;
pub mod aggregate;
pub mod buckets;
mod clicks;
pub mod compare;
mod cross_validate;
mod debug;

mod evaluate;
mod evaluate_clicks;
mod evaluate_search;
mod explain;
mod export;
pub mod fts;
mod fts_api;
mod import;
mod importance;
mod inspect;
mod interleave;
mod judgments;
mod letor;
mod monitor;
mod plot;
pub mod plot_ranked;
mod rank;
mod rank_by_column;
mod ranking_call;
mod recommend;
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
    &[&vector::VEC, &vector::VEC_TO_JSON, &export::EXPORT, &import::IMPORT],
    &[&inspect::INFO, &debug::VERSION, &debug::DEBUG],
    &[&buckets::BUCKET, &buckets::BEGIN, &buckets::PARTIAL, &buckets::STEP, &buckets::FINISH],
    &[&plot::PLOT, &report::REPORT],
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
    &[&explain::EXPLAIN, &explain::EXPLAIN_RANK, &importance::IMPORTANCE, &inspect::TRAINING_LOG],
    &[&tables::ALGORITHM_TABLE, &tables::METRIC_TABLE, &tables::OPTION_TABLE, &letor::LETOR],
    &[&interleave::INTERLEAVE, &interleave::INTERLEAVE_RESULT, &evaluate_clicks::EVALUATE_CLICKS],
    &[&clicks::CLICK_MODEL_TABLE, &clicks::PROPENSITIES, &judgments::JUDGMENTS],
];
