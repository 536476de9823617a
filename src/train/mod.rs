//! Trainings: the table of algorithms, their options, the choice of settings on held-out data, and the one protocol that
//! every caller follows ([`protocol`]).

pub mod algorithm;
pub(crate) mod auto;
#[cfg(feature = "trees")]
pub(crate) mod boosted_trees;
pub(crate) mod cofi_rank;
pub(crate) mod feature_checks;
pub(crate) mod grid;
pub mod options;
pub mod perceptron;
pub(crate) mod protocol;
pub(crate) mod report;
pub mod select;
pub(crate) mod single_feature;
pub(crate) mod tuning;
