//! Models of search engines: `model/xgboost+json` of the plugin for Elasticsearch and OpenSearch, and Solr's
//! `MultipleAdditiveTreesModel`.

use serde_json::json;

use super::super::text::Text;
use super::Trees;
use super::checked_trees::SingleSplit;
use super::nested::write_nested;
use crate::base::Result;
use crate::model::imported::SOLR_SLACK;
use crate::trees::general::{Node, Split, single_at_most};

/// The body of a request `_createmodel`.
pub(super) fn write_plugin(name: &str, definition: &str, text: &mut Text) -> Result<()> {
    text.push(format_args!(
        r#"{{"model":{{"name":{},"model":{{"type":"model/xgboost+json","definition":"#,
        json!(name)
    ))?;
    text.push_json(definition)?;
    text.push(format_args!("}}}}}}"))
}

/// The trees, which the plugin reads from a text.
pub(super) fn write_definition(trees: &Trees<'_>, text: &mut Text) -> Result<()> {
    text.push(format_args!("["))?;
    // The format has no base score: a tree of one leaf adds it.
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
                return Err(trees.refused(tree, &split, "the engines have no splits of categories"));
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

/// The file of a model of Solr.
pub(super) fn write_solr(trees: &Trees<'_>, name: &str, text: &mut Text) -> Result<()> {
    // 1. The features of splits.
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

/// The threshold in the file, and whether the children change sides. Solr goes left if `x <= threshold + 1e-6`, in 32-bit
/// floats, and takes a missing feature for 0.
fn solr_threshold(trees: &Trees<'_>, tree: usize, split: &Split<'_>) -> Result<(f32, bool)> {
    if split.set.is_some() {
        return Err(trees.refused(tree, split, "Solr has no splits of categories"));
    }
    if split.zero_is_missing {
        return Err(trees.refused(tree, split, "0 counts as missing there, which Solr cannot express"));
    }
    if split.missing_left != (0.0 <= split.threshold) && !trees.documents_are_complete {
        let problem = "missing values do not go where 0 goes, but Solr takes them for 0";
        return Err(trees.refused(tree, split, problem));
    }
    let border = single_at_most(split.threshold);
    // LightGBM writes its zero, 1e-35, for the border above 0.
    let border = if border > 0.0 && border <= 1e-35 { 0.0 } else { border };
    if border == f32::NEG_INFINITY {
        // All numbers go right: they are at most the largest one, so they go left of a swapped split.
        return Ok((f32::MAX, true));
    }
    let near = (f64::from(border) - f64::from(SOLR_SLACK)) as f32;
    let found = [near, near.next_down(), near.next_up()]
        .into_iter()
        .find(|near| (near + SOLR_SLACK).total_cmp(&border).is_eq());
    let problem = || format!("Solr adds 1e-6 to thresholds, and no 32-bit float gives {border:?} then");
    found.map(|threshold| (threshold, false)).ok_or_else(|| trees.refused(tree, split, &problem()))
}
