//! Scores as an expression of SQL.

mod columns;
mod expression;
mod trees;

pub(super) use expression::{check_names, expression};
pub(super) use trees::expression as tree_expression;
