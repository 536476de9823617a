//! LightGBM's text model. LightGBM compares and adds 64-bit floats, so nothing is rounded.

use std::fmt::Write as _;

use super::{Trees, joined, quoted};
use crate::base::{Error, Result, shorten};
use crate::model::imported::Feature;
use crate::trees::general::{Node, Split};

/// Most words of all sets of categories, which are written as bits.
const MOST_WORDS: usize = 1 << 24;

/// The lists of a tree.
#[derive(Default)]
struct Lists {
    features: Vec<usize>,
    gains: Vec<f64>,
    thresholds: Vec<f64>,
    decisions: Vec<u8>,
    lefts: Vec<i64>,
    rights: Vec<i64>,
    covers: Vec<f64>,
    values: Vec<f64>,
    leaf_covers: Vec<f64>,
    set_bounds: Vec<usize>,
    words: Vec<u32>,
}

/// The text.
pub(super) fn text(trees: &Trees<'_>) -> Result<String> {
    // 1. The trees, each with its length in bytes. The start is a tree of one leaf.
    let (mut all, mut words) = (Vec::with_capacity(trees.forest.trees() + 1), 0);
    let start = trees.forest.start();
    if start != 0.0 {
        let lists = Lists { values: vec![start], ..Lists::default() };
        all.push(tree_text(0, &lists));
    }
    for tree in 0..trees.forest.trees() {
        let lists = lists(trees, tree, &mut words)?;
        all.push(tree_text(all.len(), &lists));
    }
    // 2. The header.
    let names: Vec<&str> = trees.features.iter().map(|feature| feature.name.as_str()).collect();
    let is_bad = |name: &&&str| {
        name.is_empty() || name.contains(|c: char| c.is_whitespace() || "\",:[]{}".contains(c))
    };
    if let Some(name) = names.iter().find(is_bad) {
        let name = shorten(name);
        return Err(Error::Unsupported(format!(
            "the name '{name}' of a feature, which LightGBM does not read"
        )));
    }
    let range = |feature: &Feature| match (feature.is_category, feature.categories.len()) {
        (false, _) => "[-1e+300:1e+300]".to_owned(),
        (true, 0) => "0:1".to_owned(),
        (true, count) => joined(&(0..count).collect::<Vec<usize>>(), ":"),
    };
    let ranges: Vec<String> = trees.features.iter().map(range).collect();
    let sizes: Vec<usize> = all.iter().map(String::len).collect();
    let mut text = format!(
        "tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nlabel_index=0\nmax_feature_idx={}\nobjective=regression\n\
         feature_names={}\nfeature_infos={}\ntree_sizes={}\n\n",
        names.len().saturating_sub(1),
        names.join(" "),
        ranges.join(" "),
        joined(&sizes, " "),
    );
    text.extend(all);
    // 3. The texts of the categories: for all such features, or none.
    text.push_str(
        "end of trees\n\nfeature_importances:\n\nparameters:\n\nend of parameters\n\npandas_categorical:",
    );
    let categories = || trees.features.iter().filter(|feature| feature.is_category);
    if categories().all(|feature| feature.categories.is_empty()) {
        text.push_str("null\n");
    } else if let Some(feature) = categories().find(|feature| feature.categories.is_empty()) {
        let name = shorten(&feature.name);
        return Err(Error::Unsupported(format!(
            "categories of '{name}' without texts beside others with texts"
        )));
    } else {
        let list = |feature: &Feature| {
            let texts: Vec<String> = feature.categories.iter().map(|text| quoted(text)).collect();
            format!("[{}]", texts.join(", "))
        };
        let _ = writeln!(text, "[{}]", categories().map(list).collect::<Vec<String>>().join(", "));
    }
    Ok(text)
}

/// The lists of a tree. `words`: those of all sets so far.
fn lists(trees: &Trees<'_>, tree: usize, words: &mut usize) -> Result<Lists> {
    let forest = trees.forest;
    // 1. Numbers of the nodes: splits from 0, leaves from -1 downwards.
    let nodes = forest.nodes_of(tree);
    let (mut splits, mut leaves) = (0, 0);
    let number = |node: usize| match forest.node(node) {
        Node::Split(_) => {
            splits += 1;
            splits - 1
        }
        Node::Leaf(_) => {
            leaves += 1;
            -leaves
        }
    };
    let numbers: Vec<i64> = nodes.clone().map(number).collect();
    // 2. The lists.
    let mut lists = Lists { set_bounds: vec![0], ..Lists::default() };
    for node in nodes.clone() {
        match forest.node(node) {
            Node::Leaf(leaf) => {
                lists.values.push(leaf.value);
                lists.leaf_covers.push(leaf.cover);
            }
            Node::Split(split) => {
                add_split(trees, tree, &split, &mut lists)?;
                lists.lefts.push(numbers[split.left - nodes.start]);
                lists.rights.push(numbers[split.left + 1 - nodes.start]);
            }
        }
    }
    *words += lists.words.len();
    if *words > MOST_WORDS {
        return Err(Error::Unsupported(
            "categories with codes this large: LightGBM stores a bit for each".to_owned(),
        ));
    }
    Ok(lists)
}

/// Adds a split without its children.
fn add_split(trees: &Trees<'_>, tree: usize, split: &Split<'_>, lists: &mut Lists) -> Result<()> {
    lists.features.push(split.feature);
    lists.gains.push(if split.gain.is_nan() { 0.0 } else { split.gain });
    lists.covers.push(split.cover);
    let Some(set) = split.set else {
        // Bit 1: missing values go left. Bits 2 and 3: what is missing, 1 for 0 and NaN, 2 for NaN.
        let missing = if split.zero_is_missing { 1 } else { 2 };
        lists.decisions.push(u8::from(split.missing_left) << 1 | missing << 2);
        lists.thresholds.push(split.threshold);
        return Ok(());
    };
    if split.missing_left && !trees.options.documents_are_complete {
        let problem = "missing categories go with the set, which LightGBM cannot express";
        return Err(trees.refused(tree, split, problem));
    }
    // Bit 0: a set of categories; the threshold is its number.
    lists.decisions.push(1 | 2 << 2);
    lists.thresholds.push((lists.set_bounds.len() - 1) as f64);
    let set = trees.checked_set(tree, split, set)?;
    let first = lists.words.len();
    lists.words.resize(first + set.last().map_or(1, |last| *last as usize / 32 + 1), 0);
    for code in set {
        lists.words[first + *code as usize / 32] |= 1 << (code % 32);
    }
    lists.set_bounds.push(lists.words.len());
    Ok(())
}

/// The text of a tree.
fn tree_text(number: usize, lists: &Lists) -> String {
    let sets = lists.set_bounds.len().saturating_sub(1);
    let mut text = format!("Tree={number}\nnum_leaves={}\nnum_cat={sets}\n", lists.values.len());
    let mut line = |key: &str, numbers: String| {
        let _ = writeln!(text, "{key}={numbers}");
    };
    if lists.values.len() > 1 {
        line("split_feature", joined(&lists.features, " "));
        line("split_gain", joined(&lists.gains, " "));
        line("threshold", joined(&lists.thresholds, " "));
        line("decision_type", joined(&lists.decisions, " "));
        line("left_child", joined(&lists.lefts, " "));
        line("right_child", joined(&lists.rights, " "));
    }
    line("leaf_value", joined(&lists.values, " "));
    // LightGBM explains by counts, which are whole numbers.
    let is_count = |cover: &f64| *cover >= 1.0 && cover.fract() == 0.0 && *cover < 2e9;
    if lists.values.len() > 1 && lists.covers.iter().chain(&lists.leaf_covers).all(is_count) {
        let counts =
            |covers: &[f64]| joined(&covers.iter().map(|cover| *cover as u64).collect::<Vec<u64>>(), " ");
        line("leaf_weight", counts(&lists.leaf_covers));
        line("leaf_count", counts(&lists.leaf_covers));
        line("internal_value", joined(&vec![0; lists.covers.len()], " "));
        line("internal_weight", counts(&lists.covers));
        line("internal_count", counts(&lists.covers));
    }
    if sets > 0 {
        line("cat_boundaries", joined(&lists.set_bounds, " "));
        line("cat_threshold", joined(&lists.words, " "));
    }
    text.push_str("is_linear=0\nshrinkage=1\n\n\n");
    text
}
