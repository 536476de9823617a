//! Functions and tables of the extension, called in SQL.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod aggregates;
mod ball;
mod buckets;
mod buckets_agree;
mod buckets_errors;
mod buckets_kernels;
mod calls;
mod clicks;
mod cross_validation;
mod direct;
mod doc_weight;
mod eru;
mod explain;
mod export;
mod export_limits;
mod extremes;
mod files;
mod fts;
mod fts_loading;
mod item_factors;
mod matching;
mod monitor;
mod names;
mod paper_example;
mod perceptron;
mod perceptron_theory;
mod prior;
mod query_weights;
mod real_data;
mod recommendation;
mod regressions;
mod repeated_rankings;
mod roles;
mod support;
mod weights;
