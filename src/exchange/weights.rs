//! Weights in the linear models of search engines: `model/linear` of the plugin for Elasticsearch and OpenSearch, and Solr's
//! `LinearModel`. Both engines compute with 32-bit floats.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::names::Names;
use super::parse::object;
use super::term::Term;
use super::{Format, Function, ImportedModel, LinearModel, LinearTerm, Source};
use crate::base::{Error, Result, Ticks, shorten};
use crate::data::Scaling;
use crate::model::Model;

/// Bytes per feature in JSON values, besides the name.
pub(super) const BYTES: usize = 1000;

/// A feature whose weight is not 0.
pub(super) struct Weighted<'a> {
    pub(super) name: &'a str,
    weight: f64,
    /// Mean and standard deviation, if the engine scales the feature.
    pub(super) moments: Option<(f64, f64)>,
}

/// Features of a linear function with affine scaling.
pub(super) fn weighted<'a>(model: &'a Model, term: &Term<'a>) -> Vec<Weighted<'a>> {
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

/// Why the engines, which compute in single precision and refuse models without weights, would score differently.
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

pub(super) fn weights_object(features: &[Weighted<'_>]) -> Value {
    let weights: Map<String, Value> =
        features.iter().map(|feature| (feature.name.to_owned(), json!(feature.weight))).collect();
    Value::Object(weights)
}

/// Weights of a linear model.
#[derive(Deserialize)]
pub(super) struct Weights(#[serde(deserialize_with = "object")] pub(super) Map<String, Value>);

pub(super) fn linear(format: Format, names: Names, terms: Vec<LinearTerm>) -> Result<ImportedModel> {
    let function = Function::Linear(LinearModel { bias: 0.0, terms }.checked()?);
    let source = Source::new(format, "", "");
    Ok(ImportedModel { source, features: names.features, function })
}

/// A number, or text of a number as read by Java, which allows `0.5f` and `0.5d`.
pub(super) fn number(value: &Value, what: &str) -> Result<f64> {
    let of_text = |text: &str| {
        let text = text.trim();
        let bare = text.strip_suffix(['f', 'F', 'd', 'D']);
        bare.filter(|bare| bare.ends_with(|last: char| last.is_ascii_digit() || last == '.'))
            .unwrap_or(text)
            .parse()
            .ok()
    };
    let number = value.as_f64().or_else(|| of_text(value.as_str()?));
    number.ok_or_else(|| Error::Corrupt(format!("{what} is {}, not a number", shorten(&value.to_string()))))
}
