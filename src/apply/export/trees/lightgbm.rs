//! LightGBM's text model. LightGBM compares and adds 64-bit floats, so nothing is rounded.

use std::collections::HashMap;
use std::fmt::{self, Display};

use super::super::text::Text;
use super::{Trees, checked_trees::FEWER_TREES};
use crate::base::{Error, Memory, Reservation, Result, Ticks, bytes_of, shorten};
use crate::model::imported::Feature;
use crate::trees::general::{Node, Split};

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
    /// The number of each set.
    sets: HashMap<*const [u32], usize>,
    memory: Reservation,
}

/// Bytes that a node takes until its tree is written.
type NodeBytes = [u64; 12];

/// Writes the text.
pub(super) fn write(trees: &Trees<'_>, memory: &Memory, text: &mut Text) -> Result<()> {
    // 1. The trees. The header has the length of each in bytes. The start is a tree of one leaf.
    let mut all = Text::new(memory, trees.longest(), FEWER_TREES);
    let mut sizes = Vec::with_capacity(trees.forest.trees() + 1);
    let start = trees.forest.start();
    if start != 0.0 {
        write_tree(0, &Lists { values: vec![start], ..Lists::default() }, &mut all)?;
        sizes.push(all.len());
    }
    for tree in 0..trees.forest.trees() {
        let bytes = bytes_of::<NodeBytes>(trees.forest.nodes_of(tree).len());
        let _lists = memory.reserve(bytes, "a tree of the model", FEWER_TREES)?;
        let before = all.len();
        write_tree(sizes.len(), &lists(trees, tree, memory)?, &mut all)?;
        sizes.push(all.len() - before);
    }
    // 2. The header.
    let names = || trees.features.iter().map(|feature| feature.name.as_str());
    let is_bad =
        |name: &&str| name.is_empty() || name.contains(|c: char| c.is_whitespace() || "\",:[]{}".contains(c));
    if let Some(name) = names().find(is_bad) {
        let name = shorten(name);
        return Err(Error::Unsupported(format!(
            "the name '{name}' of a feature, which LightGBM does not read"
        )));
    }
    let range = |feature: &Feature| match (feature.is_category, feature.categories.len()) {
        (false, _) => "[-1e+300:1e+300]".to_owned(),
        (true, 0) => "0:1".to_owned(),
        (true, count) => (0..count).map(|code| code.to_string()).collect::<Vec<String>>().join(":"),
    };
    text.push(format_args!(
        "tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nlabel_index=0\nmax_feature_idx={}\nobjective=regression\n",
        trees.features.len().saturating_sub(1)
    ))?;
    line("feature_names", names(), text)?;
    line("feature_infos", trees.features.iter().map(range), text)?;
    line("tree_sizes", sizes, text)?;
    text.push(format_args!("\n{}", all.finish()?))?;
    // 3. The texts of the categories: for all such features, or none.
    text.push(format_args!(
        "end of trees\n\nfeature_importances:\n\nparameters:\n\nend of parameters\n\npandas_categorical:"
    ))?;
    let categories = || trees.features.iter().filter(|feature| feature.is_category);
    if categories().all(|feature| feature.categories.is_empty()) {
        return text.push(format_args!("null\n"));
    }
    if let Some(feature) = categories().find(|feature| feature.categories.is_empty()) {
        let name = shorten(&feature.name);
        return Err(Error::Unsupported(format!(
            "categories of '{name}' without texts beside others with texts"
        )));
    }
    text.push_json(&categories().map(|feature| &feature.categories).collect::<Vec<_>>())?;
    text.push(format_args!("\n"))
}

/// Writes a key and its values.
fn line<T: Display>(key: &str, values: impl IntoIterator<Item = T>, text: &mut Text) -> Result<()> {
    text.push(format_args!("{key}="))?;
    for (at, value) in values.into_iter().enumerate() {
        text.push(format_args!("{}{value}", if at == 0 { "" } else { " " }))?;
    }
    text.push(format_args!("\n"))
}

/// The lists of a tree.
fn lists(trees: &Trees<'_>, tree: usize, memory: &Memory) -> Result<Lists> {
    let forest = &trees.forest;
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
    let mut lists = Lists { set_bounds: vec![0], memory: memory.nothing(), ..Lists::default() };
    let mut ticks = Ticks::default();
    for node in nodes.clone() {
        ticks.add(100);
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
    let set = trees.checked_set(tree, split, set)?;
    let added = lists.set_bounds.len() - 1;
    let number = *lists.sets.entry(std::ptr::from_ref(set)).or_insert(added);
    lists.thresholds.push(number as f64);
    if number < added {
        return Ok(());
    }
    // A word takes two bytes of the text at least.
    let first = lists.words.len();
    let length = first + set.last().map_or(1, |last| *last as usize / 32 + 1);
    if length > trees.longest() / 2 {
        let problem = "categories with codes this large: LightGBM stores a bit for each";
        return Err(trees.refused(tree, split, problem));
    }
    lists.memory.resize(bytes_of::<u32>(2 * length), "the categories of the model", FEWER_TREES)?;
    lists.words.resize(length, 0);
    for code in set {
        lists.words[first + *code as usize / 32] |= 1 << (code % 32);
    }
    lists.set_bounds.push(lists.words.len());
    Ok(())
}

/// A 64-bit float as the shortest text that reads as the same.
struct Number(f64);

impl Display for Number {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{:?}", self.0)
    }
}

/// Writes a tree.
fn write_tree(number: usize, lists: &Lists, text: &mut Text) -> Result<()> {
    let sets = lists.set_bounds.len().saturating_sub(1);
    text.push(format_args!("Tree={number}\nnum_leaves={}\nnum_cat={sets}\n", lists.values.len()))?;
    if lists.values.len() > 1 {
        line("split_feature", &lists.features, text)?;
        line("split_gain", lists.gains.iter().copied().map(Number), text)?;
        line("threshold", lists.thresholds.iter().copied().map(Number), text)?;
        line("decision_type", &lists.decisions, text)?;
        line("left_child", &lists.lefts, text)?;
        line("right_child", &lists.rights, text)?;
    }
    line("leaf_value", lists.values.iter().copied().map(Number), text)?;
    // LightGBM explains by counts, which are whole numbers.
    let is_count = |cover: &f64| *cover >= 1.0 && cover.fract() == 0.0 && *cover < 2e9;
    if lists.values.len() > 1 && lists.covers.iter().chain(&lists.leaf_covers).all(is_count) {
        line("leaf_weight", &lists.leaf_covers, text)?;
        line("leaf_count", &lists.leaf_covers, text)?;
        line("internal_value", lists.covers.iter().map(|_| 0), text)?;
        line("internal_weight", &lists.covers, text)?;
        line("internal_count", &lists.covers, text)?;
    }
    if sets > 0 {
        line("cat_boundaries", &lists.set_bounds, text)?;
        line("cat_threshold", &lists.words, text)?;
    }
    text.push(format_args!("is_linear=0\nshrinkage=1\n\n\n"))
}
