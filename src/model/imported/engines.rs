//! Models of search engines: the plugin for Elasticsearch and OpenSearch, and Solr.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::xgboost::{self, Node as DumpNode};
use super::{Format, Function, ImportedModel, LinearModel, Names, Source, Term, parse_json};
use crate::base::{Error, Result, shorten};
use crate::trees::general::{Builder, Nested, RawSplit, Test, at_most_single};

/// What Solr adds to thresholds.
pub(crate) const SOLR_SLACK: f32 = 1e-6;

/// A request `_createmodel`, its `model`, or the stored model.
#[derive(Deserialize)]
struct Plugin {
    model: Option<Box<Plugin>>,
    #[serde(rename = "type")]
    kind: Option<String>,
    definition: Option<Value>,
    #[serde(default)]
    feature_normalizers: Map<String, Value>,
}

/// The definition of `model/xgboost+json`: the trees, or an object with them.
#[derive(Deserialize)]
#[serde(untagged)]
enum Trees {
    Alone(Vec<DumpNode>),
    With {
        #[serde(default)]
        objective: String,
        splits: Vec<DumpNode>,
        #[serde(default)]
        missing_as_zero: bool,
    },
}

/// The model of a text of the plugin.
pub(super) fn read_plugin(text: &str) -> Result<ImportedModel> {
    let mut plugin: Plugin = parse_json(text)?;
    while let Some(inner) = plugin.model {
        plugin = *inner;
    }
    let definition = match plugin.definition {
        Some(Value::String(text)) => text,
        Some(definition) => definition.to_string(),
        None => return Err(Error::Corrupt("the model has no 'definition'".to_owned())),
    };
    match plugin.kind.as_deref() {
        Some("model/linear") => {
            let weights: Map<String, Value> = parse_json(&definition)?;
            let mut names = Names::default();
            let terms = weights.iter().map(|(name, weight)| {
                let weight = number(weight, "a weight")?;
                let scaling = plugin.feature_normalizers.get(name).map(plugin_scaling).transpose()?;
                let (center, factor) = scaling.unwrap_or((0.0, 1.0));
                Ok(Term { feature: names.number(name), weight, center, factor })
            });
            let terms = terms.collect::<Result<Vec<Term>>>()?;
            linear(Format::Elasticsearch, names, terms)
        }
        Some("model/xgboost+json") if plugin.feature_normalizers.is_empty() => {
            let (trees, objective) = match parse_json(&definition)? {
                Trees::Alone(trees) => (trees, String::new()),
                Trees::With { missing_as_zero: true, .. } => {
                    return Err(Error::Unsupported("trees with 'missing_as_zero'".to_owned()));
                }
                Trees::With { objective, splits, .. } => (splits, objective),
            };
            xgboost::from_trees(&trees, Format::Elasticsearch, objective, 0.0)
        }
        Some("model/xgboost+json") => Err(Error::Unsupported("'feature_normalizers' of trees".to_owned())),
        kind => Err(Error::Unsupported(format!(
            "a model of type '{}'; known: model/linear, model/xgboost+json",
            shorten(kind.unwrap_or_default())
        ))),
    }
}

/// Center and factor of a normalizer.
fn plugin_scaling(normalizer: &Value) -> Result<(f64, f64)> {
    let of = |pointer: &str| normalizer.pointer(pointer).and_then(Value::as_f64);
    let standard = (of("/standard/mean"), of("/standard/standard_deviation"));
    let range = (of("/min_max/minimum"), of("/min_max/maximum"));
    match (standard, range) {
        ((Some(mean), Some(deviation)), _) => Ok((mean, 1.0 / deviation)),
        (_, (Some(low), Some(high))) => Ok((low, 1.0 / (high - low))),
        _ => Err(Error::Unsupported(format!("the normalizer {}", shorten(&normalizer.to_string())))),
    }
}

fn linear(format: Format, names: Names, terms: Vec<Term>) -> Result<ImportedModel> {
    let function = Function::Linear(LinearModel { bias: 0.0, terms }.checked()?);
    let source = Source::new(format, "", "");
    Ok(ImportedModel { source, features: names.features, function })
}

/// A number, or the text of one.
fn number(value: &Value, what: &str) -> Result<f64> {
    let number = value.as_f64().or_else(|| value.as_str()?.trim().parse().ok());
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
    weights: Option<Map<String, Value>>,
    trees: Option<Vec<SolrTree>>,
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
}

/// The model of a text of Solr.
pub(super) fn read_solr(text: &str) -> Result<ImportedModel> {
    let solr: Solr = parse_json(text)?;
    let mut names = Names::default();
    let mut scalings = Vec::with_capacity(solr.features.len());
    for feature in &solr.features {
        names.number(&feature.name);
        scalings.push(feature.norm.as_ref().map_or(Ok((0.0, 1.0)), solr_scaling)?);
    }
    match (solr.class.rsplit('.').next(), &solr.params) {
        (Some("LinearModel"), SolrParameters { weights: Some(weights), .. }) => {
            let terms = weights.iter().map(|(name, weight)| {
                let feature = names.number(name);
                let known = scalings.get(feature);
                let problem =
                    || Error::Corrupt(format!("a weight of '{}', which is no feature", shorten(name)));
                let (center, factor) = *known.ok_or_else(problem)?;
                Ok(Term { feature, weight: number(weight, "a weight")?, center, factor })
            });
            let terms = terms.collect::<Result<Vec<Term>>>()?;
            linear(Format::Solr, names, terms)
        }
        (Some("MultipleAdditiveTreesModel"), SolrParameters { trees: Some(trees), .. }) => {
            if scalings.iter().any(|scaling| *scaling != (0.0, 1.0)) {
                return Err(Error::Unsupported("a 'norm' of the features of trees".to_owned()));
            }
            solr_trees(trees, names)
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

fn solr_trees(trees: &[SolrTree], mut names: Names) -> Result<ImportedModel> {
    let mut builder = Builder::new(usize::MAX, 0.0, true);
    for tree in trees {
        let weight = number(&tree.weight, "the weight of a tree")? as f32;
        builder.add_nested(&tree.root, |node| read_solr_node(node, weight, &mut names))?;
    }
    let source = Source::new(Format::Solr, "", "");
    let function = Function::Trees(builder.finish(names.features.len())?);
    Ok(ImportedModel { source, features: names.features, function })
}

/// A node of a tree.
fn read_solr_node<'a>(
    node: &'a SolrNode,
    weight: f32,
    names: &mut Names,
) -> Result<Nested<&'a SolrNode>, String> {
    let single = |value: &Value, what: &str| {
        number(value, what).map(|number| number as f32).map_err(|error| error.to_string())
    };
    let Some(feature) = &node.feature else {
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
    let (feature, test) = (names.number(feature), Test::AtMost(at_most_single(threshold)));
    // A missing feature is 0.
    Ok(Nested::Split(RawSplit::new(feature, test, 0.0 <= threshold), left, right))
}
