//! The choices of a training in reports, and what it found.

use serde_json::{Map, Value, json};

use super::{Boosted, TreeCount, TreesSpec};
use crate::base::{Control, Error, Params, Result, matrix_bytes};
use crate::cost::loss;
use crate::data::{Dataset, Matrix, QueryFeatureKind, QueryFeatureRule, QueryScale, ScalingKind, shaped};
use crate::train::algorithm::entries;
use crate::trees::{Prepared, TreeOptions};

/// What training found. `query_columns`: whether query features are columns of the trees; left out without query features.
/// `training_loss`: half the mean squared error of the training documents, less the means of the query.
///
/// # Errors
/// As [`entries`].
pub(super) fn details(boosted: &Boosted) -> Result<Map<String, Value>> {
    let forest = &boosted.fitted.forest;
    let joined = boosted.joined.as_ref().map(|(_, joined)| *joined);
    let mut details = entries(&json!({
        "trees": forest.trees(),
        "depth": forest.depth(),
        "learning_rate": boosted.learning_rate,
        "features_used": forest.features().len(),
        "query_columns": joined,
        "training_loss": boosted.objective,
    }))?;
    if joined.is_none() {
        details.shift_remove("query_columns");
    }
    Ok(details)
}

/// What a training with both scales found: for each the validated value of its ensemble alone, and its details.
///
/// # Errors
/// As [`entries`].
pub(super) fn details_of_both(parts: &[(ScalingKind, Boosted)]) -> Result<Map<String, Value>> {
    let of_scale = |(scale, boosted): &(ScalingKind, Boosted)| {
        let value = boosted.found.as_ref().and_then(|found| found.selection.value());
        let mut of_scale = entries(&json!({ "scale": scale.name(), "value": value }))?;
        of_scale.extend(details(boosted)?);
        Ok(of_scale)
    };
    let scales = parts.iter().map(of_scale).collect::<Result<Vec<_>>>()?;
    entries(&json!({ "trees": trees_of(parts), "scales": scales }))
}

/// The number of trees with both scales.
pub(super) fn trees_of(parts: &[(ScalingKind, Boosted)]) -> usize {
    parts.iter().map(|(_, boosted)| boosted.fitted.forest.trees()).sum()
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
    let mut settings = entries(&json!({
        "trees": trees,
        "depth": depth,
        "learning_rate": learning_rate,
        "feature_fraction": feature_fraction,
        "loss": spec.loss.as_ref().map_or(loss::list::SQUARED.name, |loss| loss.def().name),
        "row_weights": row_weights.name(),
        "seeds": spec.seeds,
        "bins": bins,
        "query_columns": spec.query_columns.to_json(),
        "scale": spec.scale_name(),
        "seed": seed,
    }))?;
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
