//! Models of search engines: the plugin for Elasticsearch and OpenSearch, and Solr.

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::parse::{json, unknown_key};
use super::ranklib;
use super::xgboost_dump::{self, Node as DumpNode};
use super::{
    Format, Function, ImportedModel, LinearModel, SMALLER, Source, Term, names::Names, parsed_bytes,
};
use crate::base::{Control, Error, Result, Strict, shorten};
use crate::trees::general::{Builder, Nested, RawSplit, Test, at_most_single};

/// What Solr adds to thresholds.
pub(crate) const SOLR_SLACK: f32 = 1e-6;

/// A request `_createmodel`, its `model`, the stored model, or what a search for it returns.
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

/// The weights of a linear model.
#[derive(Deserialize)]
struct Weights(#[serde(deserialize_with = "object")] Map<String, Value>);

/// An object without repeated keys.
fn object<'de, D: Deserializer<'de>>(from: D) -> Result<Map<String, Value>, D::Error> {
    match Strict::deserialize(from)? {
        Strict(Value::Object(object)) => Ok(object),
        Strict(_) => Err(serde::de::Error::custom("expected an object")),
    }
}

/// Keys without influence on scores: of answers of the engine, and how it computes features.
const HARMLESS: &str = "took timed_out _shards total max_score _index _type _id _version _score _seq_no _primary_term found \
     description tags version params template template_language feature featureset validation name";

/// The definition of `model/xgboost+json` as an object.
#[derive(Deserialize)]
struct Trees {
    #[serde(default)]
    objective: String,
    splits: Vec<DumpNode>,
    #[serde(default)]
    missing_as_zero: bool,
}

impl Plugin {
    /// The model itself, and the names of its features by number if they are known.
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

/// The only model among the documents of an answer.
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

/// The model of a text of the plugin.
pub(super) fn read_plugin(text: &str, control: &Control) -> Result<ImportedModel> {
    let plugin: Plugin = json(text, HARMLESS)?;
    let (plugin, features) = plugin.unwrapped()?;
    let Some(definition) = plugin.definition else {
        return Err(Error::Corrupt("the model has no 'definition'".to_owned()));
    };
    // A definition is a text or JSON itself.
    let definition = match definition.get() {
        text if text.starts_with('"') => json(text, "")?,
        _ => String::from(Box::<str>::from(definition)),
    };
    let _memory = control.reserve(parsed_bytes(&definition), "reading the definition of a model", SMALLER)?;
    let kind = plugin.kind.as_deref().unwrap_or_default();
    if kind != "model/linear" && !plugin.feature_normalizers.is_empty() {
        return Err(Error::Unsupported(format!("'feature_normalizers' of '{}'", shorten(kind))));
    }
    match kind {
        "model/linear" => {
            let Weights(weights) = json(&definition, "")?;
            let mut names = Names::new(control);
            let terms = weights.iter().map(|(name, weight)| {
                let weight = number(weight, "a weight")?;
                let scaling = plugin.feature_normalizers.get(name).map(plugin_scaling).transpose()?;
                let (center, factor) = scaling.unwrap_or((0.0, 1.0));
                Ok(Term { feature: names.number(name)?, weight, center, factor })
            });
            let terms = terms.collect::<Result<Vec<Term>>>()?;
            linear(Format::Elasticsearch, names, terms)
        }
        "model/xgboost+json" => {
            let trees = if definition.trim_start().starts_with('[') {
                let splits = json(&definition, xgboost_dump::HARMLESS)?;
                Trees { objective: String::new(), splits, missing_as_zero: false }
            } else {
                json(&definition, xgboost_dump::HARMLESS)?
            };
            if trees.missing_as_zero {
                return Err(Error::Unsupported("trees with 'missing_as_zero'".to_owned()));
            }
            xgboost_dump::from_trees(&trees.splits, Format::Elasticsearch, trees.objective, control)
        }
        "model/ranklib" => {
            let mut read = ranklib::read(&definition, control)?;
            read.source.format = Format::Elasticsearch;
            // RankLib numbers features by their place in the feature set, from 1.
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

/// Center and factor of a normalizer.
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

fn linear(format: Format, names: Names, terms: Vec<Term>) -> Result<ImportedModel> {
    let function = Function::Linear(LinearModel { bias: 0.0, terms }.checked()?);
    let source = Source::new(format, "", "");
    Ok(ImportedModel { source, features: names.features, function })
}

/// A number, or the text of one as Java reads it: also `0.5f` and `0.5d`.
fn number(value: &Value, what: &str) -> Result<f64> {
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

#[derive(Deserialize)]
struct Solr {
    class: String,
    #[serde(default)]
    features: Vec<SolrFeature>,
    params: SolrParameters,
}

#[derive(Deserialize)]
struct SolrFeature {
    name: String,
    norm: Option<Norm>,
}

#[derive(Deserialize)]
struct Norm {
    class: String,
    #[serde(default)]
    params: Map<String, Value>,
}

#[derive(Deserialize)]
struct SolrParameters {
    weights: Option<Weights>,
    trees: Option<Vec<SolrTree>>,
    /// Whether a missing value is 0, as without the key. Since 9.2 a node can say where it goes.
    #[serde(rename = "isNullSameAsZero")]
    null_is_zero: Option<bool>,
}

#[derive(Deserialize)]
struct SolrTree {
    weight: Value,
    root: SolrNode,
}

#[derive(Deserialize)]
struct SolrNode {
    feature: Option<String>,
    threshold: Option<Value>,
    left: Option<Box<SolrNode>>,
    right: Option<Box<SolrNode>>,
    value: Option<Value>,
    missing: Option<Side>,
}

#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum Side {
    Left,
    Right,
}

/// Keys without influence on scores, and keys of model classes that are refused.
const HARMLESS_IN_SOLR: &str = "name store layers resource";

/// The model of a text of Solr.
pub(super) fn read_solr(text: &str, control: &Control) -> Result<ImportedModel> {
    let solr: Solr = json(text, HARMLESS_IN_SOLR)?;
    let mut names = Names::new(control);
    let mut scalings = Vec::with_capacity(solr.features.len());
    for feature in &solr.features {
        names.number(&feature.name)?;
        scalings.push(feature.norm.as_ref().map_or(Ok((0.0, 1.0)), solr_scaling)?);
    }
    match (solr.class.rsplit('.').next(), &solr.params) {
        (
            Some("LinearModel"),
            SolrParameters { weights: Some(Weights(weights)), trees: None, null_is_zero: None },
        ) => {
            let terms = weights.iter().map(|(name, weight)| {
                let feature = names.number(name)?;
                let known = scalings.get(feature);
                let problem =
                    || Error::Corrupt(format!("a weight of '{}', which is no feature", shorten(name)));
                let (center, factor) = *known.ok_or_else(problem)?;
                Ok(Term { feature, weight: number(weight, "a weight")?, center, factor })
            });
            let terms = terms.collect::<Result<Vec<Term>>>()?;
            linear(Format::Solr, names, terms)
        }
        (
            Some("MultipleAdditiveTreesModel"),
            SolrParameters { trees: Some(trees), weights: None, null_is_zero },
        ) => {
            if scalings.iter().any(|scaling| *scaling != (0.0, 1.0)) {
                return Err(Error::Unsupported("a 'norm' of the features of trees".to_owned()));
            }
            solr_trees(trees, names, null_is_zero.unwrap_or(true))
        }
        _ => Err(Error::Unsupported(format!(
            "Solr's model class '{}' with these parameters; known: LinearModel, MultipleAdditiveTreesModel",
            shorten(&solr.class)
        ))),
    }
}

/// Center and factor of a normalizer.
fn solr_scaling(norm: &Norm) -> Result<(f64, f64)> {
    let of =
        |key: &str, otherwise: f64| norm.params.get(key).map_or(Ok(otherwise), |value| number(value, key));
    let known: &[&str] = match norm.class.rsplit('.').next() {
        Some("StandardNormalizer") => &["avg", "std"],
        Some("MinMaxNormalizer") => &["min", "max"],
        _ => &[],
    };
    if let Some(key) = norm.params.keys().find(|key| !known.contains(&key.as_str())) {
        return Err(unknown_key(&format!("{}.{key}", norm.class)));
    }
    match norm.class.rsplit('.').next() {
        Some("IdentityNormalizer") => Ok((0.0, 1.0)),
        Some("StandardNormalizer") => Ok((of("avg", 0.0)?, 1.0 / of("std", 1.0)?)),
        Some("MinMaxNormalizer") => {
            let low = of("min", 0.0)?;
            Ok((low, 1.0 / (of("max", 1.0)? - low)))
        }
        _ => Err(Error::Unsupported(format!("the normalizer '{}'", shorten(&norm.class)))),
    }
}

fn solr_trees(trees: &[SolrTree], names: Names, null_is_zero: bool) -> Result<ImportedModel> {
    let mut builder = Builder::new(usize::MAX, 0.0, true);
    for tree in trees {
        let weight = number(&tree.weight, "the weight of a tree")? as f32;
        builder.add_nested(&tree.root, |node, _| read_solr_node(node, weight, null_is_zero, &names))?;
    }
    let source = Source::new(Format::Solr, "", "");
    let function = Function::Trees(builder.finish(names.features.len())?);
    Ok(ImportedModel { source, features: names.features, function })
}

/// A node of a tree.
fn read_solr_node<'a>(
    node: &'a SolrNode,
    weight: f32,
    null_is_zero: bool,
    names: &Names,
) -> Result<Nested<&'a SolrNode>, String> {
    let single = |value: &Value, what: &str| {
        number(value, what).map(|number| number as f32).map_err(|error| error.to_string())
    };
    let Some(feature) = &node.feature else {
        if node.left.is_some() || node.right.is_some() {
            return Err("a split without 'feature'".to_owned());
        }
        let value = node.value.as_ref().map_or(Ok(0.0), |value| single(value, "a value"))?;
        return Ok(Nested::Leaf(f64::from(weight * value), f64::NAN));
    };
    let (Some(threshold), Some(left), Some(right)) = (&node.threshold, &node.left, &node.right) else {
        return Err(format!("a split of '{}' without 'threshold', 'left' or 'right'", shorten(feature)));
    };
    let threshold = single(threshold, "a threshold")? + SOLR_SLACK;
    if !threshold.is_finite() {
        return Err(format!("a threshold of '{}' is {threshold}", shorten(feature)));
    }
    let known = names.numbers.get(feature);
    let problem = || format!("a split of '{}', which 'features' does not list", shorten(feature));
    let (feature, test) = (*known.ok_or_else(problem)?, Test::AtMost(at_most_single(threshold)));
    let missing_left = if null_is_zero { 0.0 <= threshold } else { node.missing == Some(Side::Left) };
    Ok(Nested::Split(RawSplit::new(feature, test, missing_left), left, right))
}
