//! Scores as an SQL expression.
//!
//! | file | writes |
//! |---|---|
//! | `columns` | the values of columns, and checks of them |
//! | `expression` | sums of scaled features and trees |
//! | `oblivious` | a tree with one test per level |
//! | `general_trees` | trees of any shape, from other libraries |

mod columns;
mod expression;
mod general_trees;
mod oblivious;

pub(super) use expression::{check_names, expression};
pub(super) use general_trees::expression as tree_expression;
