//! A row to be added to a data set.

use super::id::Id;
use super::query_columns::QueryValue;
use crate::base::Error;

/// Largest weight of a query or document: sums of weighted losses stay finite.
const MAX_ROW_WEIGHT: f64 = 1e100;

/// The weights of queries, for messages.
pub const QUERY_WEIGHTS: &str = "numbers above 0, at most 1e100";

/// Whether a number can be a document weight.
pub fn is_weight(number: f64) -> bool {
    (0.0..=MAX_ROW_WEIGHT).contains(&number)
}

/// Whether a number can be a query weight.
pub fn is_query_weight(number: f64) -> bool {
    number > 0.0 && is_weight(number)
}

/// A row's query values.
#[derive(Debug, Clone)]
pub struct QueryValues {
    /// Weight, > 0.
    pub weight: f64,
    /// Named query features.
    pub features: Vec<QueryValue>,
}

impl Default for QueryValues {
    fn default() -> Self {
        Self { weight: 1.0, features: Vec::new() }
    }
}

/// A checked row without its features.
pub struct NewRow {
    pub query: Id,
    /// Document id; `None` numbers the documents of each query.
    pub doc: Option<Id>,
    /// Relevance, in every row or in none.
    pub relevance: Option<f64>,
    /// Weight of the document, >= 0, in every row or in none.
    pub doc_weight: Option<f64>,
    /// Diversity value or slot, in every row or in none.
    pub group: Option<Id>,
    /// Weight and features of the query.
    pub query_values: QueryValues,
}

/// Identifies a row in error messages.
pub struct RowContext<'a> {
    pub(super) source: &'a str,
    /// Row number, from 0.
    pub(super) row: usize,
    pub(super) query: &'a Id,
    pub(super) doc: Id,
}

impl RowContext<'_> {
    /// An error about one column of the row.
    pub fn error(&self, column: &str, problem: impl Into<String>) -> Error {
        Error::Row {
            source_text: self.source.to_owned(),
            row: format!("row {} (query {}, document {})", self.row + 1, self.query, self.doc),
            column: column.to_owned(),
            problem: problem.into(),
        }
    }
}
