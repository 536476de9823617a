//! The view that the candidates and features of a model come from.

use serde::{Deserialize, Serialize};

/// A candidate view, as it was during training.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CandidateView {
    /// Name without the schema.
    pub name: String,
    /// The query, document, relevance and `params` columns of the training judgments; the last may be empty.
    pub judged: [String; 4],
    /// The CREATE VIEW statement.
    pub sql: String,
    /// The tables and views that it reads, sorted by name: the name, and the XXH3-64 of the CREATE statement.
    pub tables: Vec<(String, u64)>,
}
