//! `auto`: cross-validates scalings, kernels and trees, and averages the best.
//!
//! | file | contents |
//! |---|---|
//! | `spec`, `effort` | options; levels of `effort` |
//! | `candidates`, `baseline`, `trees` | what is compared |
//! | `training` | the choice, and the average |
//! | `trial`, `folds`, `sample` | cross-validation of a candidate; its folds; the rows it uses |
//! | `prepared`, `documents`, `refit` | shared data; sums over documents; fits on all rows |
//! | `report` | the report |

mod baseline;
mod candidates;
mod documents;
mod effort;
mod folds;
mod prepared;
mod refit;
mod report;
mod sample;
mod spec;
mod training;
mod trees;
mod trial;

pub use spec::AutoSpec;
pub use training::DEF;
