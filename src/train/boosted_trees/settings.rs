//! The choices of a training in reports, and what it found.

use serde::Serialize;
use serde_json::{Map, Value};

use super::{Boosted, TreeCount, TreesSpec};
use crate::base::{Control, Error, Params, Result, matrix_bytes};
use crate::cost::loss;
use crate::data::{Dataset, Matrix, QueryFeatureKind, QueryFeatureRule, QueryScale, ScalingKind, shaped};
use crate::train::algorithm::entries;
use crate::trees::{Prepared, TreeOptions};

/// The choices in reports.
#[derive(Serialize)]
struct Settings<'a> {
    /// A number, or "auto".
    trees: Value,
    depth: usize,
    /// None: by the numbers of documents and trees.
    learning_rate: Option<f64>,
    /// None: by the number of documents.
    feature_fraction: Option<f64>,
    loss: &'a str,
    row_weights: &'a str,
    seeds: usize,
    bins: usize,
    query_columns: Value,
    scale: &'a str,
    seed: u64,
}

/// What training found.
#[derive(Serialize)]
pub(super) struct Details {
    pub trees: usize,
    pub depth: usize,
    pub learning_rate: f64,
    pub features_used: usize,
    /// Whether query features are columns of the trees; none without query features.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub query_columns: Option<bool>,
    /// Half the mean squared error of the training documents, less the means of the query.
    pub training_loss: f64,
}

impl Details {
    pub fn new(boosted: &Boosted) -> Self {
        let forest = &boosted.fitted.forest;
        Self {
            trees: forest.trees(),
            depth: forest.depth(),
            learning_rate: boosted.learning_rate,
            features_used: forest.features().len(),
            query_columns: boosted.joined.as_ref().map(|(_, joined)| *joined),
            training_loss: boosted.objective,
        }
    }
}

/// What a training with both scales found.
#[derive(Serialize)]
pub(super) struct BothDetails {
    /// The number of trees with both scales.
    pub trees: usize,
    scales: Vec<OfScale>,
}

/// What it found for one scale.
#[derive(Serialize)]
struct OfScale {
    scale: &'static str,
    /// Validated value of this ensemble alone.
    value: Option<f64>,
    #[serde(flatten)]
    details: Details,
}

impl BothDetails {
    pub fn new(parts: &[(ScalingKind, Boosted)]) -> Self {
        let of_scale = |(scale, boosted): &(ScalingKind, Boosted)| OfScale {
            scale: scale.name(),
            value: boosted.found.as_ref().and_then(|found| found.selection.value()),
            details: Details::new(boosted),
        };
        let scales: Vec<OfScale> = parts.iter().map(of_scale).collect();
        Self { trees: scales.iter().map(|part| part.details.trees).sum(), scales }
    }
}

/// The choices of a training.
///
/// # Errors
/// Numbers that JSON does not have.
pub(super) fn of(spec: &TreesSpec) -> Result<Map<String, Value>> {
    let TreeOptions { depth, learning_rate, trees: _, feature_fraction, row_weights, bins, seed } =
        spec.options;
    let trees = match spec.trees {
        TreeCount::Fixed(trees) => Value::from(trees),
        TreeCount::Auto => Value::from("auto"),
    };
    let mut settings = entries(&Settings {
        trees,
        depth,
        learning_rate,
        feature_fraction,
        loss: spec.loss.as_ref().map_or(loss::list::SQUARED.name, |loss| loss.def().name),
        row_weights: row_weights.name(),
        seeds: spec.seeds,
        bins,
        query_columns: spec.query_columns.to_json(),
        scale: spec.scale_name(),
        seed,
    })?;
    settings.extend(spec.loss_settings.clone());
    settings.extend(spec.validation.given.clone());
    Ok(settings)
}

// Use of query features as columns of the trees.

/// Whether trees split query features.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// If validation finds that it helps.
    Auto,
    Always,
    Never,
}

impl Use {
    pub fn parse(params: &Params) -> Self {
        match params.switch("query_columns") {
            Some(true) => Self::Always,
            Some(false) => Self::Never,
            None => Self::Auto,
        }
    }

    pub fn to_json(self) -> Value {
        match self {
            Self::Auto => Value::from("auto"),
            Self::Always => Value::from(true),
            Self::Never => Value::from(false),
        }
    }
}

/// The query features of a source.
pub struct QueryColumns {
    pub rule: QueryFeatureRule,
}

impl QueryColumns {
    /// The query features of the source; none if it has none, or if trees may not split them.
    ///
    /// # Errors
    /// No query features where trees must split them; values of different types.
    pub fn fit(of: Use, data: &Dataset) -> Result<Option<Self>> {
        if of == Use::Never || (of == Use::Auto && data.query_names.is_empty()) {
            return Ok(None);
        }
        if data.query_names.is_empty() {
            let problem = "option 'query_columns' is true, but the source has no column query_features and none named q_*";
            return Err(Error::Data(problem.to_owned()));
        }
        let (rule, _) = QueryFeatureRule::fit(data, Some(QueryFeatureKind::Named), QueryScale::None, &[])?;
        Ok(Some(Self { rule }))
    }

    /// The encoded features of the query of each document, in bins.
    ///
    /// # Errors
    /// Too little memory; an interruption.
    pub fn prepared(&self, data: &Dataset, options: TreeOptions, control: &Control) -> Result<Prepared> {
        self.with_matrix(data, control, |matrix| Prepared::new(matrix, options.bins, options.seed, control))
    }

    /// Hands the encoded features of the query of each document, shape (documents, features), to a function.
    ///
    /// # Errors
    /// Too little memory; errors of the function.
    pub fn with_matrix<T>(
        &self,
        data: &Dataset,
        control: &Control,
        then: impl FnOnce(&Matrix) -> Result<T>,
    ) -> Result<T> {
        let (n, width) = (data.n_docs(), self.rule.width());
        let bytes = matrix_bytes(n.saturating_add(data.n_queries()), width);
        let _memory =
            control.reserve(bytes, "query features of documents", "use \"query_columns\": false")?;
        let features = self.rule.features(data)?;
        let mut rows = Vec::with_capacity(n * width);
        for (query, features) in features.rows().into_iter().enumerate() {
            control.check()?;
            data.rows(query).for_each(|_| rows.extend(features));
        }
        then(&Matrix::F64(shaped(n, width, rows)))
    }
}
