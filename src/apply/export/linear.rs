//! Linear models of search engines: `model/linear` of the plugin for Elasticsearch and OpenSearch, and Solr's `LinearModel`.
//! Both compute with 32-bit floats.

use super::term::Term;
use crate::base::{Ticks, shorten};
use crate::data::Scaling;
use crate::model::Model;
use serde_json::{Map, Value, json};

/// Bytes that a feature takes in JSON values, besides its name.
pub(super) const BYTES: usize = 1000;

/// A feature whose weight is not 0.
struct Weighted<'a> {
    name: &'a str,
    weight: f64,
    /// Mean and standard deviation, if the engine scales the feature.
    moments: Option<(f64, f64)>,
}

/// The features of a linear function with an affine scaling.
fn weighted<'a>(model: &'a Model, term: &Term<'a>) -> Vec<Weighted<'a>> {
    let mut ticks = Ticks::default();
    let feature = |(index, name): (usize, &'a String)| {
        ticks.add(BYTES);
        let (center, factor) = term.scaling.affine(index)?;
        let weight = term.weights[index];
        let (weight, moments) = match term.scaling {
            Scaling::Standard(_) if factor.abs() > 0.0 => (weight, Some((center, 1.0 / factor))),
            _ => (weight * factor, None),
        };
        (weight.abs() > 0.0).then_some(Weighted { name, weight, moments })
    };
    model.card.features.iter().enumerate().filter_map(feature).collect()
}

/// Why the engines, which compute in single precision and refuse a model without weights, do not score as the model does.
pub(super) fn check_numbers(model: &Model, term: &Term<'_>) -> Result<(), String> {
    let features = weighted(model, term);
    if features.is_empty() {
        return Err("all its weights are 0".to_owned());
    }
    let fits = |number: f64| (number as f32).is_finite();
    let is_representable = |feature: &&Weighted<'_>| {
        let (mean, deviation) = feature.moments.unwrap_or((0.0, 1.0));
        fits(feature.weight) && fits(mean) && (deviation as f32).is_normal()
    };
    match features.iter().find(|feature| !is_representable(feature)) {
        None => Ok(()),
        Some(feature) => {
            let name = shorten(feature.name);
            Err(format!("weight or scaling of feature \"{name}\" is beyond single precision"))
        }
    }
}

fn weights_object(features: &[Weighted<'_>]) -> Value {
    let weights: Map<String, Value> =
        features.iter().map(|feature| (feature.name.to_owned(), json!(feature.weight))).collect();
    Value::Object(weights)
}

/// The body of a request `_createmodel` of Elasticsearch and OpenSearch.
pub(super) fn elasticsearch(model: &Model, term: &Term<'_>, name: &str) -> Value {
    let features = weighted(model, term);
    let mut definition = json!({ "type": "model/linear" });
    let normalizer = |feature: &Weighted<'_>| {
        let (mean, deviation) = feature.moments?;
        let normalizer = json!({ "standard": { "mean": mean, "standard_deviation": deviation } });
        Some((feature.name.to_owned(), normalizer))
    };
    let normalizers: Map<String, Value> = features.iter().filter_map(normalizer).collect();
    if !normalizers.is_empty() {
        definition["feature_normalizers"] = Value::Object(normalizers);
    }
    // The plugin reads the weights from a text.
    definition["definition"] = json!(weights_object(&features).to_string());
    json!({ "model": { "name": name, "model": definition } })
}

/// The file of a model of Solr.
pub(super) fn solr(model: &Model, term: &Term<'_>, name: &str) -> Value {
    let features = weighted(model, term);
    let entry = |feature: &Weighted<'_>| {
        let mut entry = json!({ "name": feature.name });
        if let Some((mean, deviation)) = feature.moments {
            entry["norm"] = json!({
                "class": "org.apache.solr.ltr.norm.StandardNormalizer",
                "params": { "avg": format!("{mean:?}"), "std": format!("{deviation:?}") },
            });
        }
        entry
    };
    json!({
        "class": "org.apache.solr.ltr.model.LinearModel",
        "name": name,
        "features": features.iter().map(entry).collect::<Vec<Value>>(),
        "params": { "weights": weights_object(&features) },
    })
}
