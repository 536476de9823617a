//! Solr's models, read and written: `LinearModel` and `MultipleAdditiveTreesModel`.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::checked_trees::Trees;
use super::names::Names;
use super::nested::write_nested;
use super::parse::{json as parsed, unknown_key};
use super::term::Term;
use super::text::Text;
use super::weights::{Weighted, Weights, linear, number, weighted, weights_object};
use super::{Format, Function, ImportedModel, LinearTerm, Source};
use crate::base::{Control, Error, Result, shorten};
use crate::model::Model;
use crate::trees::general::{Builder, Nested, Node, RawSplit, Split, Test, at_most_single, single_at_most};

/// The tolerance that Solr adds to thresholds.
const SOLR_SLACK: f32 = 1e-6;

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
    /// Whether missing values are 0, the default. Since 9.2, nodes can say where they go.
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

/// Keys that do not affect scores, and keys of model classes that are refused.
const HARMLESS: &str = "name store layers resource";

/// Reads a Solr model.
pub(super) fn read(text: &str, control: &Control) -> Result<ImportedModel> {
    let solr: Solr = parsed(text, HARMLESS)?;
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
                let scaling = scalings.get(feature);
                let problem =
                    || Error::Corrupt(format!("a weight of '{}', which is not a feature", shorten(name)));
                let (center, factor) = *scaling.ok_or_else(problem)?;
                Ok(LinearTerm { feature, weight: number(weight, "a weight")?, center, factor })
            });
            let terms = terms.collect::<Result<Vec<LinearTerm>>>()?;
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

/// A normalizer's center and factor.
fn solr_scaling(norm: &Norm) -> Result<(f64, f64)> {
    let of =
        |key: &str, otherwise: f64| norm.params.get(key).map_or(Ok(otherwise), |value| number(value, key));
    let keys: &[&str] = match norm.class.rsplit('.').next() {
        Some("StandardNormalizer") => &["avg", "std"],
        Some("MinMaxNormalizer") => &["min", "max"],
        _ => &[],
    };
    if let Some(key) = norm.params.keys().find(|key| !keys.contains(&key.as_str())) {
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
        builder.add_nested(&tree.root, |node, _| read_node(node, weight, null_is_zero, &names))?;
    }
    let source = Source::new(Format::Solr, "", "");
    let function = Function::Trees(builder.finish(names.features.len())?);
    Ok(ImportedModel { source, features: names.features, function })
}

/// A node of a tree.
fn read_node<'a>(
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
/// Writes trees as a Solr model file.
pub(super) fn write_trees(trees: &Trees<'_>, name: &str, text: &mut Text) -> Result<()> {
    // 1. The features used by splits.
    let mut is_used = vec![false; trees.features.len()];
    for node in 0..trees.forest.nodes() {
        if let Node::Split(split) = trees.forest.node(node) {
            is_used[split.feature] = true;
        }
    }
    text.push(format_args!(
        r#"{{"class":"org.apache.solr.ltr.model.MultipleAdditiveTreesModel","name":{},"features":["#,
        json!(name)
    ))?;
    let used = trees.features.iter().zip(is_used).filter(|(_, is_used)| *is_used);
    for (at, (feature, _)) in used.enumerate() {
        text.push(format_args!("{}", if at == 0 { "" } else { "," }))?;
        text.push_json(&json!({ "name": feature.name }))?;
    }
    // 2. The trees.
    text.push(format_args!(r#"],"params":{{"trees":["#))?;
    if trees.forest.start() != 0.0 {
        let start = Trees::single(trees.forest.start())?;
        text.push(format_args!(r#"{{"weight":"1","root":{{"value":"{start:?}"}}}},"#))?;
    }
    for tree in 0..trees.forest.trees() {
        let comma = if tree == 0 { "" } else { "," };
        text.push(format_args!(r#"{comma}{{"weight":"1","root":"#))?;
        write_nested(trees.forest.nodes_of(tree).start, text, |node, _, text| {
            let split = match trees.forest.node(node) {
                Node::Leaf(leaf) => {
                    let value = Trees::single(leaf.value)?;
                    text.push(format_args!(r#"{{"value":"{value:?}"}}"#))?;
                    return Ok(None);
                }
                Node::Split(split) => split,
            };
            let (threshold, is_swapped) = solr_threshold(trees, tree, &split)?;
            let (left, right) = split.children(is_swapped);
            text.push(format_args!(r#"{{"feature":"#))?;
            text.push_json(&trees.features[split.feature].name)?;
            text.push(format_args!(r#","threshold":"{threshold:?}","left":"#))?;
            Ok(Some((left, r#","right":"#, right, "}")))
        })?;
        text.push(format_args!("}}"))?;
    }
    text.push(format_args!("]}}}}"))
}

/// The threshold in the file, and whether the children swap sides. Solr goes left if `x <= threshold + 1e-6`, in 32-bit
/// floats, and replaces missing features by 0.
fn solr_threshold(trees: &Trees<'_>, tree: usize, split: &Split<'_>) -> Result<(f32, bool)> {
    if split.set.is_some() {
        return Err(trees.refused(tree, split, "Solr cannot split on categories"));
    }
    if split.zero_is_missing {
        return Err(trees.refused(tree, split, "0 counts as missing there, which Solr cannot express"));
    }
    if split.missing_left != (0.0 <= split.threshold) && !trees.documents_are_complete {
        let problem = "missing values do not go where 0 goes, but Solr replaces them by 0";
        return Err(trees.refused(tree, split, problem));
    }
    let threshold = single_at_most(split.threshold);
    // LightGBM writes 1e-35, its zero, for a threshold just above 0.
    let threshold = if threshold > 0.0 && threshold <= 1e-35 { 0.0 } else { threshold };
    if threshold == f32::NEG_INFINITY {
        // All numbers go right. All are at most the largest number, so they go left in a swapped split.
        return Ok((f32::MAX, true));
    }
    let near = (f64::from(threshold) - f64::from(SOLR_SLACK)) as f32;
    let exact = [near, near.next_down(), near.next_up()]
        .into_iter()
        .find(|near| (near + SOLR_SLACK).total_cmp(&threshold).is_eq());
    let problem = || format!("Solr adds 1e-6 to thresholds, and then no 32-bit float gives {threshold:?}");
    exact.map(|threshold| (threshold, false)).ok_or_else(|| trees.refused(tree, split, &problem()))
}
/// Writes a term as a linear Solr model.
pub(super) fn linear_model(model: &Model, term: &Term<'_>, name: &str) -> Value {
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
