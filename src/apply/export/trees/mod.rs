//! Trees in the formats of search engines and of XGBoost.

mod checked_trees;
mod engines;
mod nested;
mod sql;
mod write;
mod xgboost;

pub(super) use checked_trees::{Trees, check, of_import, of_terms};
pub(super) use sql::expression;
pub(super) use write::text;
