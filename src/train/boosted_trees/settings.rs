//! The choices of a training in reports, and the results.

use serde_json::{Map, Value, json};

use super::{Boosted, TreeCount, TreesSpec};
use crate::cost::loss;
use crate::data::ScalingKind;
use crate::train::algorithm::entries;
use crate::train::baseline;
use crate::trees::TreeOptions;

/// The training results. `query_columns`: whether query features are columns of the trees; omitted without query features.
/// `training_loss`: half the mean squared error of the training documents, minus query means.
pub(super) fn details(boosted: &Boosted) -> Map<String, Value> {
    let forest = &boosted.fitted.forest;
    let joined = boosted.joined.as_ref().map(|(_, joined)| *joined);
    let mut details = entries(json!({
        "trees": forest.trees(),
        "depth": forest.depth(),
        "learning_rate": boosted.learning_rate,
        "features_used": forest.features().len(),
        "query_columns": joined,
        "training_loss": boosted.objective,
    }));
    if joined.is_none() {
        details.shift_remove("query_columns");
    }
    details
}

/// The results of a training with both scales: for each, the validated value of its ensemble, and details.
pub(super) fn details_of_both(parts: &[(ScalingKind, Boosted)]) -> Map<String, Value> {
    let describe = |(scale, boosted): &(ScalingKind, Boosted)| {
        let value = boosted.found.as_ref().and_then(|found| found.selection.value());
        let mut entry = entries(json!({ "scale": scale.name(), "value": value }));
        entry.extend(details(boosted));
        entry
    };
    let scales = parts.iter().map(describe).collect::<Vec<_>>();
    entries(json!({ "trees": trees_of(parts), "scales": scales }))
}

/// The number of trees with both scales.
pub(super) fn trees_of(parts: &[(ScalingKind, Boosted)]) -> usize {
    parts.iter().map(|(_, boosted)| boosted.fitted.forest.trees()).sum()
}

/// The choices of a training.
pub(super) fn of(spec: &TreesSpec) -> Map<String, Value> {
    let TreeOptions { depth, learning_rate, trees: _, feature_fraction, row_weights, bins, seed } =
        spec.options;
    let trees = match spec.trees {
        TreeCount::Fixed(trees) | TreeCount::OrNone(trees) => Value::from(trees),
        TreeCount::Auto => Value::from("auto"),
    };
    let mut settings = entries(json!({
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
    }));
    if let Some(baseline) = &spec.baseline {
        settings.insert(baseline::KEY.to_owned(), json!(baseline.text));
    }
    spec.monotone.report(&mut settings);
    settings.extend(spec.loss_settings.clone());
    settings.extend(spec.validation.given.clone());
    settings
}
