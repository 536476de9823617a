//! The text forms of a model.

use crate::base::named;

/// A text form of models.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// All of a model.
    Json,
    /// An expression that scores.
    Sql,
    /// A model of the plugin for learning to rank of Elasticsearch.
    Elasticsearch,
    /// The same for OpenSearch.
    OpenSearch,
    /// A model of the module `ltr` of Solr.
    Solr,
    /// A JSON model of XGBoost.
    XgBoost,
}

named!(Format {
    Json = "json",
    Sql = "sql",
    Elasticsearch = "elasticsearch",
    OpenSearch = "opensearch",
    Solr = "solr",
    XgBoost = "xgboost"
});
