//! The formats of models of other libraries.

use crate::base::{Error, Result};

/// A format of models.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// LightGBM: the text of `save_model`, or the JSON of `dump_model`.
    LightGbm,
    /// XGBoost: the JSON of `save_model`, or of `get_dump`.
    XgBoost,
    /// CatBoost: JSON.
    CatBoost,
    /// The plugin for Elasticsearch and OpenSearch: `model/linear`, `model/xgboost+json` and `model/ranklib`.
    Elasticsearch,
    /// Solr: `LinearModel` and `MultipleAdditiveTreesModel`.
    Solr,
    /// RankLib: trees in XML, and linear models.
    RankLib,
}

impl Format {
    /// The formats and their names. The first name of a format is its own.
    pub const ALL: [(&str, Self); 7] = [
        ("lightgbm", Self::LightGbm),
        ("xgboost", Self::XgBoost),
        ("catboost", Self::CatBoost),
        ("elasticsearch", Self::Elasticsearch),
        ("opensearch", Self::Elasticsearch),
        ("solr", Self::Solr),
        ("ranklib", Self::RankLib),
    ];

    /// The format of a name.
    ///
    /// # Errors
    /// [`Error::Unknown`] with the names.
    pub fn parse(name: &str) -> Result<Self> {
        let found = Self::ALL.iter().find(|(known, _)| *known == name);
        let names = || Self::ALL.iter().map(|(known, _)| *known);
        found.map(|(_, format)| *format).ok_or_else(|| Error::unknown("format", name, names()))
    }

    /// The name of the format.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, format)| *format == self).map_or("", |(name, _)| *name)
    }
}
