//! LightGBM's JSON (`dump_model`).

use serde::Deserialize;
use serde_json::{Map, Value};

use super::format::{Format, parse_json};
use super::lightgbm_text::{Missing, add_categories, check_outputs, check_version};
use super::{Feature, Function, ImportedModel, Source, check_width};
use crate::base::{Result, shorten};
use crate::trees::general::{Builder, Nested, RawSplit, Test};

#[derive(Deserialize)]
struct Document {
    version: String,
    num_class: usize,
    num_tree_per_iteration: usize,
    #[serde(default)]
    objective: String,
    #[serde(default)]
    average_output: bool,
    feature_names: Vec<String>,
    #[serde(default)]
    feature_infos: Map<String, Value>,
    tree_info: Vec<Tree>,
    #[serde(default)]
    pandas_categorical: Option<Vec<Vec<Value>>>,
}

#[derive(Deserialize)]
struct Tree {
    tree_structure: Node,
}

#[derive(Deserialize)]
struct Node {
    split_feature: Option<usize>,
    split_gain: Option<f64>,
    threshold: Option<Threshold>,
    #[serde(default)]
    decision_type: String,
    #[serde(default)]
    default_left: bool,
    #[serde(default)]
    missing_type: String,
    internal_count: Option<f64>,
    left_child: Option<Box<Node>>,
    right_child: Option<Box<Node>>,
    leaf_value: Option<f64>,
    leaf_count: Option<f64>,
    leaf_coeff: Option<Vec<f64>>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Threshold {
    Number(f64),
    /// The codes of categories, with `||` between them.
    Codes(String),
}

/// The model of a text.
pub(super) fn read(text: &str) -> Result<ImportedModel> {
    let document: Document = parse_json(text)?;
    check_version(&document.version)?;
    check_outputs(document.num_class.max(document.num_tree_per_iteration))?;
    check_width(document.feature_names.len())?;
    let is_category = |name: &str| {
        let values = document.feature_infos.get(name).and_then(|info| info.get("values"));
        values.and_then(Value::as_array).is_some_and(|values| !values.is_empty())
    };
    let feature = |name: &String| Feature { is_category: is_category(name), ..Feature::number(name) };
    let mut features: Vec<Feature> = document.feature_names.iter().map(feature).collect();
    let factor = if document.average_output { 1.0 / document.tree_info.len().max(1) as f64 } else { 1.0 };
    let width = features.len();
    let mut builder = Builder::new(width, 0.0, false);
    for Tree { tree_structure } in &document.tree_info {
        builder.add_nested(tree_structure, |node| read_node(node, factor, &mut features))?;
    }
    if let Some(lists) = &document.pandas_categorical {
        add_categories(&mut features, lists, &[])?;
    }
    let source = Source::new(Format::LightGbm, document.version, document.objective);
    Ok(ImportedModel { source, features, function: Function::Trees(builder.finish(width)?) })
}

/// A node of a tree.
fn read_node<'a>(node: &'a Node, factor: f64, features: &mut [Feature]) -> Result<Nested<&'a Node>, String> {
    if node.leaf_coeff.is_some() {
        return Err("linear functions in leaves (linear_tree) are not supported".to_owned());
    }
    let (Some(left_child), Some(right_child)) = (&node.left_child, &node.right_child) else {
        let value = node.leaf_value.ok_or("a node has no 'leaf_value' and no children")? * factor;
        return Ok(Nested::Leaf(value, node.leaf_count.unwrap_or(f64::NAN)));
    };
    let feature = node.split_feature.ok_or("a node has children and no 'split_feature'")?;
    let (test, threshold) = match (node.decision_type.as_str(), &node.threshold) {
        ("<=", Some(Threshold::Number(threshold))) => (Test::AtMost(*threshold), *threshold),
        ("==", Some(Threshold::Codes(codes))) => {
            let wrong = |_| format!("the categories '{}' are no numbers", shorten(codes));
            let codes = codes.split("||").map(str::parse).collect::<Result<Vec<u32>, _>>().map_err(wrong)?;
            if let Some(feature) = features.get_mut(feature) {
                feature.is_category = true;
            }
            (Test::In(codes), 0.0)
        }
        (decision, _) => return Err(format!("a split with decision_type '{}'", shorten(decision))),
    };
    let missing = match node.missing_type.as_str() {
        "None" => Missing::None,
        "Zero" => Missing::Zero,
        "NaN" => Missing::Nan,
        other => return Err(format!("a split with missing_type '{}'", shorten(other))),
    };
    let is_set = matches!(test, Test::In(_));
    let (missing_left, zero_is_missing) = missing.directions(is_set, node.default_left, threshold);
    let (gain, cover) = (node.split_gain.unwrap_or(f64::NAN), node.internal_count.unwrap_or(f64::NAN));
    let split = RawSplit { zero_is_missing, gain, cover, ..RawSplit::new(feature, test, missing_left) };
    Ok(Nested::Split(split, left_child, right_child))
}
