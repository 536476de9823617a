//! XGBoost's `get_dump` in JSON, which is also the definition of `model/xgboost+json` in search engines: nested nodes.
//!
//! Dumps have no base score, so scores start at 0.

use serde::Deserialize;

use super::super::names::Names;
use super::super::parse::json;
use super::super::{Format, Function, ImportedModel, Source};
use crate::base::{Control, Result, shorten};
use crate::trees::general::{Builder, Nested, RawSplit, Sets, Test, below_single};

#[derive(Deserialize)]
pub(in super::super) struct Node {
    nodeid: Option<i64>,
    split: Option<String>,
    split_condition: Option<Condition>,
    yes: Option<i64>,
    no: Option<i64>,
    missing: Option<i64>,
    #[serde(default)]
    children: Vec<Node>,
    leaf: Option<f32>,
    gain: Option<f64>,
    cover: Option<f64>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Condition {
    /// Values below it go to `yes`.
    Below(f64),
    /// These categories go to `yes`.
    In(Vec<u32>),
}

/// Node keys that do not affect scores.
pub(in super::super) const HARMLESS: &str = "depth";

/// Reads the text of `get_dump`.
pub(in super::super) fn read(text: &str, control: &Control) -> Result<ImportedModel> {
    let trees: Vec<Node> = json(text, HARMLESS)?;
    from_trees(&trees, Format::XgBoost, String::new(), control)
}

/// The model of these trees.
pub(in super::super) fn from_trees(
    trees: &[Node],
    format: Format,
    objective: String,
    control: &Control,
) -> Result<ImportedModel> {
    let mut names = Names::new(control);
    let mut builder = Builder::new(usize::MAX, 0.0, true);
    for tree in trees {
        builder.add_nested(tree, |node, sets| read_node(node, sets, &mut names))?;
    }
    let source = Source::new(format, "", objective);
    let function = builder.finish(names.features.len())?;
    Ok(ImportedModel { source, features: names.features, function: Function::Trees(function) })
}

/// A node of a tree.
fn read_node<'a>(node: &'a Node, sets: &mut Sets, names: &mut Names) -> Result<Nested<&'a Node>, String> {
    let id = node.nodeid.map_or_else(String::new, |id| format!("nodeid {id}: "));
    let wrong = |problem: &str| format!("{id}{problem}");
    let cover = node.cover.unwrap_or(f64::NAN);
    if let Some(value) = node.leaf {
        if node.split.is_some() || !node.children.is_empty() {
            return Err(wrong("a 'leaf' with 'split' or 'children'"));
        }
        return Ok(Nested::Leaf(f64::from(value), cover));
    }
    let Some(split) = &node.split else {
        return Err(wrong("no 'leaf' and no 'split'"));
    };
    let feature = names.number(split).map_err(|problem| problem.to_string())?;
    let child = |id: Option<i64>| node.children.iter().find(|child| child.nodeid == id && id.is_some());
    let (Some(yes), Some(no), 2) = (child(node.yes), child(node.no), node.children.len()) else {
        return Err(wrong("'yes' and 'no' are not its two children"));
    };
    let missing_left = match node.missing {
        missing if missing == node.yes => true,
        // Without it, engines compare, and missing values are not below.
        missing if missing == node.no || missing.is_none() => false,
        _ => return Err(wrong("'missing' is not one of its children")),
    };
    let mut zero_is_missing = false;
    let test = match &node.split_condition {
        // An indicator (type "i" in a feature map) is 1 or absent.
        None if node.missing.is_none() => {
            zero_is_missing = true;
            Test::AtMost(f64::MAX)
        }
        None => return Err(wrong("a 'split' with 'missing' but without 'split_condition'")),
        Some(Condition::Below(threshold)) => {
            let threshold = *threshold as f32;
            if !threshold.is_finite() {
                return Err(wrong(&format!("the threshold of '{}' is {threshold}", shorten(split))));
            }
            Test::AtMost(below_single(threshold))
        }
        Some(Condition::In(codes)) => {
            names.features[feature].is_category = true;
            Test::In(sets.add(codes.clone()))
        }
    };
    let gain = node.gain.unwrap_or(f64::NAN);
    let split = RawSplit { zero_is_missing, gain, cover, ..RawSplit::new(feature, test, missing_left) };
    Ok(Nested::Split(split, yes, no))
}
