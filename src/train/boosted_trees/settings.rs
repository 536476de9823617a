//! The choices of a training in reports, and what it found.

use serde::Serialize;
use serde_json::{Map, Value};

use super::{TreeCount, TreesSpec};
use crate::base::error::Result;
use crate::cost::loss;
use crate::train::algorithm::entries;
use crate::trees::TreeOptions;

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
        scale: spec.scale.name(),
        seed,
    })?;
    settings.extend(spec.loss_settings.clone());
    settings.extend(spec.validation.given.clone());
    Ok(settings)
}
