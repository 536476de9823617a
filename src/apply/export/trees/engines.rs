//! Models of search engines: `model/xgboost+json` of the plugin for Elasticsearch and OpenSearch, and Solr's
//! `MultipleAdditiveTreesModel`.

use std::fmt::Write as _;

use super::{SingleSplit, Trees, quoted};
use crate::base::Result;
use crate::model::imported::SOLR_SLACK;
use crate::trees::general::{Node, Split, single_at_most};

/// The body of a request `_createmodel`.
pub(super) fn plugin(trees: &Trees<'_>, name: &str) -> Result<String> {
    let mut definition = String::from("[");
    // The format has no base score: a tree of one leaf adds it.
    if trees.forest.start() != 0.0 {
        let start = Trees::single(trees.forest.start())?;
        let _ = write!(definition, r#"{{"nodeid":0,"leaf":{start:?}}},"#);
    }
    for tree in 0..trees.forest.trees() {
        let root = trees.forest.nodes_of(tree).start;
        definition.push_str(if tree == 0 { "" } else { "," });
        plugin_node(trees, tree, root, root, 0, &mut definition)?;
    }
    definition.push(']');
    let (name, definition) = (quoted(name), quoted(&definition));
    Ok(format!(
        r#"{{"model":{{"name":{name},"model":{{"type":"model/xgboost+json","definition":{definition}}}}}}}"#
    ))
}

/// A node and what is below it. The depth is bounded by that of the trees.
fn plugin_node(
    trees: &Trees<'_>,
    tree: usize,
    root: usize,
    node: usize,
    depth: usize,
    text: &mut String,
) -> Result<()> {
    let id = node - root;
    let split = match trees.forest.node(node) {
        Node::Leaf(leaf) => {
            let value = Trees::single(leaf.value)?;
            let _ = write!(text, r#"{{"nodeid":{id},"leaf":{value:?}}}"#);
            return Ok(());
        }
        Node::Split(split) => split,
    };
    if split.set.is_some() {
        return Err(trees.refused(tree, &split, "the engines have no splits of categories"));
    }
    let SingleSplit { below, is_swapped, missing_first } = trees.single_split(tree, &split)?;
    let (yes, no) = if is_swapped { (split.left + 1, split.left) } else { (split.left, split.left + 1) };
    let name = quoted(&trees.features[split.feature].name);
    let missing = if missing_first { yes } else { no } - root;
    let _ = write!(
        text,
        r#"{{"nodeid":{id},"depth":{depth},"split":{name},"split_condition":{below:?},"yes":{},"no":{},"missing":{missing},"children":["#,
        yes - root,
        no - root
    );
    plugin_node(trees, tree, root, yes, depth + 1, text)?;
    text.push(',');
    plugin_node(trees, tree, root, no, depth + 1, text)?;
    text.push_str("]}");
    Ok(())
}

/// The file of a model of Solr.
pub(super) fn solr(trees: &Trees<'_>, name: &str) -> Result<String> {
    let mut is_used = vec![false; trees.features.len()];
    let mut list = String::new();
    if trees.forest.start() != 0.0 {
        let start = Trees::single(trees.forest.start())?;
        let _ = write!(list, r#"{{"weight":"1","root":{{"value":"{start:?}"}}}},"#);
    }
    for tree in 0..trees.forest.trees() {
        list.push_str(if tree == 0 { "" } else { "," });
        list.push_str(r#"{"weight":"1","root":"#);
        solr_node(trees, tree, trees.forest.nodes_of(tree).start, &mut is_used, &mut list)?;
        list.push('}');
    }
    let used = trees.features.iter().zip(is_used).filter(|(_, is_used)| *is_used);
    let names: Vec<String> =
        used.map(|(feature, _)| format!(r#"{{"name":{}}}"#, quoted(&feature.name))).collect();
    let (name, names) = (quoted(name), names.join(","));
    Ok(format!(
        r#"{{"class":"org.apache.solr.ltr.model.MultipleAdditiveTreesModel","name":{name},"features":[{names}],"params":{{"trees":[{list}]}}}}"#
    ))
}

/// A node and what is below it. The depth is bounded by that of the trees.
fn solr_node(
    trees: &Trees<'_>,
    tree: usize,
    node: usize,
    is_used: &mut [bool],
    text: &mut String,
) -> Result<()> {
    let split = match trees.forest.node(node) {
        Node::Leaf(leaf) => {
            let value = Trees::single(leaf.value)?;
            let _ = write!(text, r#"{{"value":"{value:?}"}}"#);
            return Ok(());
        }
        Node::Split(split) => split,
    };
    let (threshold, is_swapped) = solr_threshold(trees, tree, &split)?;
    is_used[split.feature] = true;
    let name = quoted(&trees.features[split.feature].name);
    let (left, right) = if is_swapped { (split.left + 1, split.left) } else { (split.left, split.left + 1) };
    let _ = write!(text, r#"{{"feature":{name},"threshold":"{threshold:?}","left":"#);
    solr_node(trees, tree, left, is_used, text)?;
    text.push_str(r#","right":"#);
    solr_node(trees, tree, right, is_used, text)?;
    text.push('}');
    Ok(())
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
    if split.missing_left != (0.0 <= split.threshold) && !trees.options.documents_are_complete {
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
