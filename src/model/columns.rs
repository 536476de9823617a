//! The columns that a training read, by role.

use serde::{Deserialize, Serialize};

/// Names of the columns that a training read from its source. A data set of the Rust API has none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrainingColumns {
    /// The query id.
    pub query: Option<String>,
    /// The document id.
    pub doc: Option<String>,
    /// The relevance.
    pub relevance: Option<String>,
    /// The weight of the query.
    pub weight: Option<String>,
    /// The weight of the document.
    pub doc_weight: Option<String>,
    /// The slot.
    pub slot: Option<String>,
    /// The column of feature vectors; `None` if each feature has a column of its own.
    pub features: Option<String>,
    /// The column of vectors of query features; `None` if each has a column of its own.
    pub query_features: Option<String>,
    /// Columns without a role.
    #[serde(default, with = "crate::base::param::list")]
    pub ignored: Vec<String>,
}

impl TrainingColumns {
    /// The column of a role.
    pub fn of(&self, role: &str) -> Option<&str> {
        let column = match role {
            "query" => &self.query,
            "doc" => &self.doc,
            "relevance" => &self.relevance,
            "weight" => &self.weight,
            "doc_weight" => &self.doc_weight,
            "slot" => &self.slot,
            "features" => &self.features,
            "query_features" => &self.query_features,
            _ => &None,
        };
        column.as_deref()
    }
}
