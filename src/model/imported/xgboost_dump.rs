//! XGBoost's `get_dump` in JSON, which is also the definition of `model/xgboost+json` in search engines: nested nodes.
//!
//! Such a text has no base score; scores begin at 0.

use serde::Deserialize;

use super::format::{Format, parse_json};
use super::{Function, ImportedModel, Names, Source};
use crate::base::{Result, shorten};
use crate::trees::general::{Builder, Nested, RawSplit, Test, below_single};

/// A node.
#[derive(Deserialize)]
pub(super) struct Node {
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

/// The model of a text of `get_dump`.
pub(super) fn read(text: &str) -> Result<ImportedModel> {
    let trees: Vec<Node> = parse_json(text)?;
    from_trees(&trees, Format::XgBoost, String::new(), 0.0)
}

/// The model of these trees.
pub(super) fn from_trees(
    trees: &[Node],
    format: Format,
    objective: String,
    start: f64,
) -> Result<ImportedModel> {
    let mut names = Names::default();
    let mut builder = Builder::new(usize::MAX, start, true);
    trees.iter().try_for_each(|tree| builder.add_nested(tree, |node| read_node(node, &mut names)))?;
    let source = Source::new(format, "", objective);
    let function = builder.finish(names.features.len())?;
    Ok(ImportedModel { source, features: names.features, function: Function::Trees(function) })
}

/// A node of a tree.
fn read_node<'a>(node: &'a Node, names: &mut Names) -> Result<Nested<&'a Node>, String> {
    let id = node.nodeid.map_or_else(String::new, |id| format!("nodeid {id}: "));
    let wrong = |problem: &str| format!("{id}{problem}");
    let cover = node.cover.unwrap_or(f64::NAN);
    if let Some(value) = node.leaf {
        return Ok(Nested::Leaf(f64::from(value), cover));
    }
    let (Some(split), Some(condition)) = (&node.split, &node.split_condition) else {
        return Err(wrong("no 'leaf', and no 'split' with a 'split_condition'"));
    };
    let feature = names.number(split);
    let child = |id: Option<i64>| node.children.iter().find(|child| child.nodeid == id && id.is_some());
    let (Some(yes), Some(no), 2) = (child(node.yes), child(node.no), node.children.len()) else {
        return Err(wrong("'yes' and 'no' are not its two children"));
    };
    let missing_left = match node.missing {
        missing if missing == node.yes => true,
        // Without it, engines compare: a missing value is not below.
        missing if missing == node.no || missing.is_none() => false,
        _ => return Err(wrong("'missing' is not one of its children")),
    };
    let test = match condition {
        Condition::Below(border) => {
            let border = *border as f32;
            if !border.is_finite() {
                return Err(wrong(&format!("the threshold of '{}' is {border}", shorten(split))));
            }
            Test::AtMost(below_single(border))
        }
        Condition::In(codes) => {
            names.features[feature].is_category = true;
            Test::In(codes.clone())
        }
    };
    let gain = node.gain.unwrap_or(f64::NAN);
    let split = RawSplit { gain, cover, ..RawSplit::new(feature, test, missing_left) };
    Ok(Nested::Split(split, yes, no))
}
