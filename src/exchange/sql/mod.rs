//! Scores as an SQL expression.

mod columns;
mod expression;
mod trees;

pub(super) use expression::{check_names, expression};
pub(super) use trees::expression as tree_expression;
