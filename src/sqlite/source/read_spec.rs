//! What to read from a source.

use super::judged::JudgedDocuments;
use crate::apply::RowScorer;
use crate::base::{Error, Params, Result};
use crate::data::{
    Categories, ColumnSummary, FinishOptions, Id, ListConstraint, Missing, Quantities, RowOrder, TextColumns,
};
use crate::model::Model;
use crate::sqlite::glue::Asked;
use crate::train::algorithm::DocWeights;

/// Where features come from, as column numbers.
#[derive(Debug, Clone, PartialEq)]
pub enum FeatureColumns {
    /// One vector column.
    Vector(usize),
    /// One column per feature.
    Wide(Vec<usize>),
}

impl FeatureColumns {
    /// All columns.
    pub fn all(&self) -> &[usize] {
        match self {
            Self::Vector(column) => std::slice::from_ref(column),
            Self::Wide(columns) => columns,
        }
    }
}

/// Which judgments are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Judgments {
    /// None, for ranking.
    Unread,
    /// The relevance, if there is any: for monitoring.
    RelevanceIfAny,
    /// The relevance as a count of pairs; without relevance, each row counts 1.
    Count,
    /// The relevance, which must exist: for measuring rankings and fitting users.
    Relevance,
    /// The relevance, NaN in unjudged rows.
    RelevanceIfJudged,
    /// The relevance, and query weights if present: for training.
    RelevanceAndWeight,
}

/// The features of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FeatureSet {
    /// Any columns, which training learns.
    New,
    /// The features of a model or training set. Other columns are not read.
    Known,
}

/// Which columns are categories.
#[derive(Debug, Clone, Copy)]
pub enum CategoryColumns<'a> {
    /// The columns that the option `columns` lists, and text columns that become categories (rule 2.18).
    Learned,
    /// The categories of a training set or a prior.
    Known(&'a Categories),
    /// None: training in buckets only takes numbers.
    Refused,
}

/// What to read from a source.
#[derive(Clone, Copy)]
pub struct ReadSpec<'a> {
    /// The model whose features are needed; `None` in training.
    pub model: Option<&'a Model>,
    pub feature_set: FeatureSet,
    /// Which columns are categories, if there is no model.
    pub categories: CategoryColumns<'a>,
    /// If there is no model: the columns with numbers, dates and durations as text in a training set or a prior; `None`:
    /// determined by the rows.
    pub quantities: Option<&'a Quantities>,
    /// In training: features that need a second pass (keys of JSON objects, ages).
    pub derived: Option<&'a Quantities>,
    /// Which judgments are read.
    pub judgments: Judgments,
    /// Scores rows as they are read, if they have document ids and feature BLOBs. Then the data set has no features.
    pub scorer: Option<&'a RowScorer<'a>>,
    /// Whether a query column is needed.
    pub query: bool,
    /// Whether features are needed. Without features, documents need ids.
    pub features: bool,
    /// Reads only the rows of this query.
    pub only: Option<&'a Id>,
    /// The judgments of the rows, if rows are candidates; unjudged rows are skipped.
    pub judged: Option<&'a JudgedDocuments>,
    /// The queries whose candidates are read, one at a time as in searches.
    pub asked: Option<&'a Asked>,
    /// The constraint for which groups are read.
    pub constraint: ListConstraint,
    /// Whether documents may have weights.
    pub doc_weights: DocWeights,
    /// Treatment of missing features that are not allowed: an error, or a value if rows are only counted.
    pub not_allowed: Missing,
    /// Whether missing features stay NaN.
    pub keep_missing: bool,
    /// The order of the data set.
    pub order: RowOrder,
    /// Feature summaries over the rows of earlier calls; may be empty.
    pub previous: &'a [ColumnSummary],
}

impl<'a> ReadSpec<'a> {
    /// Judged rows for training.
    pub fn judged(constraint: ListConstraint, order: RowOrder, features: bool) -> Self {
        Self {
            model: None,
            feature_set: FeatureSet::New,
            categories: CategoryColumns::Learned,
            quantities: None,
            derived: None,
            judgments: Judgments::RelevanceAndWeight,
            scorer: None,
            query: true,
            features,
            only: None,
            judged: None,
            asked: None,
            constraint,
            doc_weights: DocWeights::Taken,
            not_allowed: Missing::Error,
            keep_missing: false,
            order,
            previous: &[],
        }
    }

    /// Rows for a model to rank.
    pub fn ranked(model: &'a Model, constraint: ListConstraint) -> Self {
        let features = model.capabilities().has_features;
        let judged = Self::judged(constraint, RowOrder::Canonical, features);
        Self {
            model: Some(model),
            feature_set: FeatureSet::Known,
            judgments: Judgments::Unread,
            query: false,
            ..judged
        }
    }

    pub fn known_categories(&self) -> Option<&'a Categories> {
        match (self.model, self.categories) {
            (Some(model), _) => Some(&model.card.categories),
            (None, CategoryColumns::Known(categories)) => Some(categories),
            (None, _) => None,
        }
    }

    /// The known columns with numbers, dates and durations as text.
    pub fn known_quantities(&self) -> Option<&'a Quantities> {
        self.model.map(|model| &model.card.quantities).or(self.quantities)
    }

    /// How the rows become a data set. `lists_features`: whether the option `columns` lists features.
    ///
    /// # Errors
    /// As [`missing`](Self::missing).
    pub(super) fn finish_options(
        self,
        options: &'a Params,
        lists_features: bool,
    ) -> Result<FinishOptions<'a>> {
        Ok(FinishOptions {
            missing: self.missing(options)?,
            keep_missing: self.keep_missing,
            text_columns: match self.model {
                None if !lists_features => TextColumns::Ignore,
                None => TextColumns::RefuseListed,
                Some(_) => TextColumns::Refuse,
            },
            means: self.model.map(|model| &model.card.means[..]),
            order: self.order,
            constraint: self.constraint,
            previous: self.previous,
            baseline: match self.model {
                Some(model) => model.card.settings["baseline"].as_str(),
                None => options.text("baseline"),
            },
            summarized: self.learns(),
        })
    }

    /// The replacement for missing features: from the option, by default as in training (rule 3.3).
    ///
    /// # Errors
    /// An option value that the model does not allow.
    pub fn missing(&self, options: &Params) -> Result<Missing> {
        let default = self.model.map_or_else(Missing::default, |model| model.card.missing);
        match options.choice("missing")?.unwrap_or(default) {
            Missing::Error => Ok(self.not_allowed),
            Missing::Branch if self.model.is_some() && default != Missing::Branch => {
                let allowed =
                    "\"zero\", \"mean\" or \"error\" for a model that was not trained with \"branch\"";
                Err(Error::value("option 'missing'", "\"branch\"".to_owned(), allowed))
            }
            allowed => Ok(allowed),
        }
    }

    /// Special features, such as keys of JSON objects and ages.
    pub fn known_derived(&self) -> Option<&'a Quantities> {
        self.known_quantities().or(self.derived)
    }

    /// Whether relevance is read if present.
    pub fn reads_relevance(&self) -> bool {
        self.judgments >= Judgments::RelevanceIfAny
    }

    /// Whether a model learns from the rows.
    pub fn learns(&self) -> bool {
        self.judgments == Judgments::RelevanceAndWeight || !self.previous.is_empty()
    }

    /// Whether relevance is needed.
    pub fn needs_relevance(&self) -> bool {
        self.judgments >= Judgments::Relevance
    }

    /// Whether every row needs a document id: if there are no features, or if documents have one row per slot.
    pub fn needs_doc_ids(&self) -> bool {
        !self.features || self.constraint == ListConstraint::Slots
    }
}
