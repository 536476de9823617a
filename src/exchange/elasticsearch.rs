//! Models of the plugin for Elasticsearch and OpenSearch: `model/linear`, `model/xgboost+json` and `model/ranklib` are read, the
//! first two written.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::checked_trees::{SingleSplit, Trees};
use super::names::Names;
use super::nested::write_nested;
use super::parse::{json as parsed, object, parsed_bytes};
use super::term::Term;
use super::text::Text;
use super::weights::{Weighted, Weights, linear, number, weighted, weights_object};
use super::xgboost::dump::{self, Node as DumpNode};
use super::{Format, ImportedModel, LinearTerm, SMALLER, ranklib};
use crate::base::{Control, Error, Result, shorten};
use crate::model::Model;
use crate::trees::general::Node;

/// A `_createmodel` request, its `model`, the stored model, or a search result that contains it.
#[derive(Deserialize)]
struct Plugin {
    model: Option<Box<Plugin>>,
    #[serde(rename = "_source")]
    source: Option<Box<Plugin>>,
    hits: Option<Hits>,
    #[serde(default)]
    name: String,
    #[serde(rename = "type")]
    kind: Option<String>,
    definition: Option<Box<RawValue>>,
    feature_set: Option<FeatureSet>,
    #[serde(default, deserialize_with = "object")]
    feature_normalizers: Map<String, Value>,
}

#[derive(Deserialize)]
struct Hits {
    hits: Vec<Plugin>,
}

#[derive(Deserialize)]
struct FeatureSet {
    #[serde(default)]
    features: Vec<PluginFeature>,
}

#[derive(Deserialize)]
struct PluginFeature {
    name: String,
}

/// Keys that do not affect scores: from engine responses, and for computing features.
const HARMLESS: &str = "took timed_out _shards total max_score _index _type _id _version _score _seq_no _primary_term found \
     description tags version params template template_language feature featureset validation name";

/// The definition of `model/xgboost+json` as an object.
#[derive(Deserialize)]
struct Definition {
    #[serde(default)]
    objective: String,
    splits: Vec<DumpNode>,
    #[serde(default)]
    missing_as_zero: bool,
}

impl Plugin {
    /// The model itself, and its feature names by number, if known.
    fn unwrapped(self) -> Result<(Self, Vec<String>)> {
        let (mut plugin, mut features) = (self, Vec::new());
        loop {
            if let Some(set) = plugin.feature_set.take() {
                features = set.features.into_iter().map(|feature| feature.name).collect();
            }
            let hits = plugin.hits.take().map(|hits| hits.hits);
            plugin = match (hits, plugin.source.take().or(plugin.model.take())) {
                (Some(hits), _) => one_model(hits)?,
                (None, Some(inner)) => *inner,
                (None, None) => return Ok((plugin, features)),
            };
        }
    }
}

/// The only model among the documents of a response.
fn one_model(hits: Vec<Plugin>) -> Result<Plugin> {
    let stored = hits.into_iter().filter_map(|hit| hit.source.map(|stored| *stored));
    let mut models: Vec<Plugin> = stored.filter(|stored| stored.model.is_some()).collect();
    match models.pop() {
        Some(model) if models.is_empty() => Ok(model),
        Some(last) => {
            let names: Vec<String> = models.iter().chain([&last]).map(|model| shorten(&model.name)).collect();
            let problem = format!("the answer has {} models ({})", names.len(), shorten(&names.join(", ")));
            Err(Error::Unsupported(format!("{problem}; import the '_source' of one")))
        }
        None => Err(Error::Corrupt("the answer has no model".to_owned())),
    }
}

/// Reads the plugin's text.
pub(super) fn read(text: &str, control: &Control) -> Result<ImportedModel> {
    let plugin: Plugin = parsed(text, HARMLESS)?;
    let (plugin, features) = plugin.unwrapped()?;
    let Some(definition) = plugin.definition else {
        return Err(Error::Corrupt("the model has no 'definition'".to_owned()));
    };
    // A definition is JSON, or JSON in a text.
    let definition = match definition.get() {
        text if text.starts_with('"') => parsed(text, "")?,
        _ => String::from(Box::<str>::from(definition)),
    };
    let _memory = control.reserve(parsed_bytes(&definition), "reading the definition of a model", SMALLER)?;
    let kind = plugin.kind.as_deref().unwrap_or_default();
    if kind != "model/linear" && !plugin.feature_normalizers.is_empty() {
        return Err(Error::Unsupported(format!("'feature_normalizers' of '{}'", shorten(kind))));
    }
    match kind {
        "model/linear" => {
            let Weights(weights) = parsed(&definition, "")?;
            let mut names = Names::new(control);
            let terms = weights.iter().map(|(name, weight)| {
                let weight = number(weight, "a weight")?;
                let scaling = plugin.feature_normalizers.get(name).map(plugin_scaling).transpose()?;
                let (center, factor) = scaling.unwrap_or((0.0, 1.0));
                Ok(LinearTerm { feature: names.number(name)?, weight, center, factor })
            });
            let terms = terms.collect::<Result<Vec<LinearTerm>>>()?;
            linear(Format::Elasticsearch, names, terms)
        }
        "model/xgboost+json" => {
            let trees = if definition.trim_start().starts_with('[') {
                let splits = parsed(&definition, dump::HARMLESS)?;
                Definition { objective: String::new(), splits, missing_as_zero: false }
            } else {
                parsed(&definition, dump::HARMLESS)?
            };
            if trees.missing_as_zero {
                return Err(Error::Unsupported("trees with 'missing_as_zero'".to_owned()));
            }
            dump::from_trees(&trees.splits, Format::Elasticsearch, trees.objective, control)
        }
        "model/ranklib" => {
            let mut read = ranklib::read(&definition, control)?;
            read.source.format = Format::Elasticsearch;
            // RankLib numbers features by their position in the feature set, from 1.
            for feature in &mut read.features {
                let number = feature.name.parse().unwrap_or(0_usize);
                if let Some(name) = number.checked_sub(1).and_then(|number| features.get(number)) {
                    feature.name.clone_from(name);
                }
            }
            Ok(read)
        }
        kind => Err(Error::Unsupported(format!(
            "a model of type '{}'; known: model/linear, model/xgboost+json, model/ranklib",
            shorten(kind)
        ))),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Normalizer {
    standard: Option<Standard>,
    min_max: Option<MinMax>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Standard {
    mean: f64,
    standard_deviation: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MinMax {
    minimum: f64,
    maximum: f64,
}

/// A normalizer's center and factor.
fn plugin_scaling(normalizer: &Value) -> Result<(f64, f64)> {
    match Normalizer::deserialize(normalizer) {
        Ok(Normalizer { standard: Some(Standard { mean, standard_deviation }), min_max: None }) => {
            Ok((mean, 1.0 / standard_deviation))
        }
        Ok(Normalizer { standard: None, min_max: Some(MinMax { minimum, maximum }) }) => {
            Ok((minimum, 1.0 / (maximum - minimum)))
        }
        _ => Err(Error::Unsupported(format!("the normalizer {}", shorten(&normalizer.to_string())))),
    }
}

/// The body of a `_createmodel` request.
pub(super) fn write_body(name: &str, definition: &str, text: &mut Text) -> Result<()> {
    text.push(format_args!(
        r#"{{"model":{{"name":{},"model":{{"type":"model/xgboost+json","definition":"#,
        json!(name)
    ))?;
    text.push_json(definition)?;
    text.push(format_args!("}}}}}}"))
}

/// The trees. The plugin reads them from a text.
pub(super) fn write_definition(trees: &Trees<'_>, text: &mut Text) -> Result<()> {
    text.push(format_args!("["))?;
    // The format has no base score, so a one-leaf tree adds it.
    if trees.forest.start() != 0.0 {
        let start = Trees::single(trees.forest.start())?;
        text.push(format_args!(r#"{{"nodeid":0,"leaf":{start:?}}},"#))?;
    }
    for tree in 0..trees.forest.trees() {
        let root = trees.forest.nodes_of(tree).start;
        text.push(format_args!("{}", if tree == 0 { "" } else { "," }))?;
        write_nested(root, text, |node, depth, text| {
            let id = node - root;
            let split = match trees.forest.node(node) {
                Node::Leaf(leaf) => {
                    let value = Trees::single(leaf.value)?;
                    text.push(format_args!(r#"{{"nodeid":{id},"leaf":{value:?}}}"#))?;
                    return Ok(None);
                }
                Node::Split(split) => split,
            };
            if split.set.is_some() {
                return Err(trees.refused(tree, &split, "the engines cannot split on categories"));
            }
            let SingleSplit { below, is_swapped, missing_first } = trees.single_split(tree, &split)?;
            let (yes, no) = split.children(is_swapped);
            text.push(format_args!(r#"{{"nodeid":{id},"depth":{depth},"split":"#))?;
            text.push_json(&trees.features[split.feature].name)?;
            text.push(format_args!(
                r#","split_condition":{below:?},"yes":{},"no":{},"missing":{},"children":["#,
                yes - root,
                no - root,
                if missing_first { yes } else { no } - root
            ))?;
            Ok(Some((yes, ",", no, "]}")))
        })?;
    }
    text.push(format_args!("]"))
}

/// The body of a `_createmodel` request for Elasticsearch and OpenSearch.
pub(super) fn linear_model(model: &Model, term: &Term<'_>, name: &str) -> Value {
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
    // The plugin reads weights from a text.
    definition["definition"] = json!(weights_object(&features).to_string());
    json!({ "model": { "name": name, "model": definition } })
}
