//! The formats of models as text.

use crate::base::{Error, Result, named};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// A complete model of this library.
    Json,
    /// LightGBM: the text of `save_model`, or the JSON of `dump_model`.
    LightGbm,
    /// XGBoost: the JSON of `save_model`, or of `get_dump`.
    XgBoost,
    /// CatBoost: JSON.
    CatBoost,
    /// The plugin for Elasticsearch: `model/linear`, `model/xgboost+json` and `model/ranklib`.
    Elasticsearch,
    /// The same plugin for OpenSearch.
    OpenSearch,
    /// Solr: `LinearModel` and `MultipleAdditiveTreesModel`.
    Solr,
    /// RankLib: trees in XML, and linear models.
    RankLib,
    /// An SQL expression for the score.
    Sql,
}

named!(Format {
    Json = "json",
    LightGbm = "lightgbm",
    XgBoost = "xgboost",
    CatBoost = "catboost",
    Elasticsearch = "elasticsearch",
    OpenSearch = "opensearch",
    Solr = "solr",
    RankLib = "ranklib",
    Sql = "sql",
});

/// Names of the formats that `import` reads: all but SQL, the last one.
pub const IMPORT_FORMATS: &[&str] = match Format::NAMES.split_last() {
    Some((_, read)) => read,
    None => &[],
};

impl Format {
    /// Formats that `export` writes.
    pub(super) const WRITTEN: [Self; 6] =
        [Self::Json, Self::Sql, Self::Elasticsearch, Self::OpenSearch, Self::Solr, Self::XgBoost];

    /// The format with this name, for `export`.
    ///
    /// # Errors
    /// [`Error::Unknown`] with the names.
    pub fn to_write(name: &str) -> Result<Self> {
        let named = Self::WRITTEN.into_iter().find(|format| format.name() == name);
        named.ok_or_else(|| Error::unknown("format", name, Self::WRITTEN.map(Self::name)))
    }

    /// The format with this name, for `import`.
    ///
    /// # Errors
    /// [`Error::Unknown`] with the names.
    pub(super) fn to_read(name: &str) -> Result<Self> {
        let named = Self::parse(name).filter(|format| *format != Self::Sql);
        named.ok_or_else(|| Error::unknown("format", name, IMPORT_FORMATS.iter().copied()))
    }
}
