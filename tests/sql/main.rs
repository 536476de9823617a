//! Functions and tables of the extension, called in SQL.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod aggregates;
mod ball;
mod buckets;
mod buckets_agree;
mod buckets_errors;
mod buckets_kernels;
mod buckets_trees;
mod calls;
mod categories;
mod click_training;
mod clicks;
mod clicks_hostile;
mod conformance;
mod cross_validation;
mod direct;
mod doc_weight;
mod doors;
mod effort;
mod eru;
mod evaluate_clicks;
mod explain;
mod export;
mod export_limits;
mod extremes;
#[path = "../hosts/failed_loads.rs"]
mod failed_loads;
mod fates;
mod files;
mod fts;
mod fts_loading;
mod generalization;
#[cfg(feature = "plots")]
mod guide_plots;
mod implicit;
mod imported;
mod imported_formats;
mod interactions;
mod interleave;
mod interleave_users;
mod item_factors;
mod loads;
mod matching;
mod monitor;
mod names;
mod paper_example;
mod perceptron;
mod perceptron_theory;
#[cfg(feature = "plots")]
mod plots;
mod prior;
mod query_columns;
mod query_weights;
mod real_data;
mod recommendation;
mod regressions;
mod repeated_rankings;
mod roles;
mod scored_rows;
mod selection;
mod slt;
mod support;
mod trees;
mod unknown_values;
mod weights;
