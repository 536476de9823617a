//! XGBoost's JSON model in the format of version 2.0, which later versions read. Category texts are written as by
//! version 3.1.

use std::collections::HashMap;

use serde::Serialize;
use serde_json::json;

use super::super::checked_trees::{FEWER_TREES, SingleSplit, Trees};
use super::super::text::Text;
use crate::base::{Error, Memory, Result, Ticks, bytes_of, shorten};
use crate::trees::general::{Feature, Node, Split};

/// XGBoost's parent of the root.
const NO_PARENT: i64 = i32::MAX as i64;

/// Largest number of codes per category.
const MOST_CODES: u32 = 1 << 24;

/// A tree: lists by node, and category sets.
#[derive(Default, Serialize)]
#[allow(clippy::struct_field_names, reason = "names of the format")]
struct Tree {
    base_weights: Vec<f32>,
    categories: Vec<u32>,
    categories_nodes: Vec<usize>,
    categories_segments: Vec<usize>,
    categories_sizes: Vec<usize>,
    default_left: Vec<u8>,
    id: usize,
    left_children: Vec<i64>,
    loss_changes: Vec<f32>,
    parents: Vec<i64>,
    right_children: Vec<i64>,
    split_conditions: Vec<f32>,
    split_indices: Vec<usize>,
    split_type: Vec<u8>,
    sum_hessian: Vec<f32>,
    tree_param: Parameters,
}

/// Numbers, as texts.
#[derive(Default, Serialize)]
struct Parameters {
    num_deleted: String,
    num_feature: String,
    num_nodes: String,
    size_leaf_vector: String,
}

/// Bytes for a node until its tree is written.
type NodeBytes = [u64; 12];

pub(in super::super) fn write(trees: &Trees<'_>, memory: &Memory, text: &mut Text) -> Result<()> {
    let is_bad = |feature: &&Feature| feature.name.is_empty() || feature.name.contains(['[', ']', '<']);
    if let Some(feature) = trees.features.iter().find(is_bad) {
        let name = shorten(&feature.name);
        return Err(Error::Unsupported(format!(
            "the name '{name}' of a feature, which XGBoost does not read"
        )));
    }
    let mut texts = trees.features.iter().flat_map(|feature| &feature.categories);
    if let Some(text) = texts.find(|text| !text.is_ascii()) {
        let text = shorten(text);
        return Err(Error::Unsupported(format!(
            "the category '{text}': XGBoost cuts off texts that are not ASCII"
        )));
    }
    let has_texts = trees.features.iter().any(|feature| !feature.categories.is_empty());
    let names: Vec<&str> = trees.features.iter().map(|feature| feature.name.as_str()).collect();
    let kind = |feature: &Feature| if feature.is_category { "c" } else { "float" };
    let kinds: Vec<&str> = trees.features.iter().map(kind).collect();
    let parameters = json!({
        "base_score": format!("{:?}", Trees::single(trees.forest.start())?),
        "boost_from_average": "0",
        "num_class": "0",
        "num_feature": names.len().to_string(),
        "num_target": "1",
    });
    let objective = json!({ "name": "reg:squarederror", "reg_loss_param": { "scale_pos_weight": "1" } });
    text.push(format_args!(r#"{{"learner":{{"attributes":{{}},"feature_names":"#))?;
    text.push_json(&names)?;
    text.push(format_args!(r#","feature_types":"#))?;
    text.push_json(&kinds)?;
    let count = trees.forest.trees();
    let parameter = json!({ "num_parallel_tree": "1", "num_trees": count.to_string() });
    text.push(format_args!(r#","gradient_booster":{{"model":{{"#))?;
    if has_texts {
        text.push(format_args!(r#""cats":"#))?;
        text.push_json(&categories(&trees.features))?;
        text.push(format_args!(","))?;
    }
    text.push(format_args!(r#""gbtree_model_param":{parameter},"iteration_indptr":"#))?;
    text.push_json(&(0..=count).collect::<Vec<usize>>())?;
    text.push(format_args!(r#","tree_info":"#))?;
    text.push_json(&vec![0; count])?;
    text.push(format_args!(r#","trees":["#))?;
    for number in 0..count {
        text.push(format_args!("{}", if number == 0 { "" } else { "," }))?;
        let bytes = bytes_of::<NodeBytes>(trees.forest.nodes_of(number).len());
        let _tree = memory.reserve(bytes, "a tree of the model", FEWER_TREES)?;
        text.push_json(&tree(trees, number)?)?;
    }
    let version = if has_texts { "[3,1,0]" } else { "[2,0,3]" };
    text.push(format_args!(
        r#"]}},"name":"gbtree"}},"learner_model_param":{parameters},"objective":{objective}}},"version":{version}}}"#
    ))
}

/// XGBoost's number for the type of 64-bit integers.
const INT64: u8 = 15;

/// The category values. Texts are concatenated, as bytes from -128 to 127; `sorted_idx` is the order of the values.
fn categories(features: &[Feature]) -> serde_json::Value {
    let (mut all, mut segments, mut sorted) = (Vec::new(), vec![0], Vec::new());
    for texts in features.iter().map(|feature| &feature.categories) {
        let number = |text: &String| text.parse().ok().filter(|number: &i64| number.to_string() == *text);
        let numbers: Option<Vec<i64>> = texts.iter().map(number).collect();
        let mut order: Vec<usize> = (0..texts.len()).collect();
        if let Some(numbers) = numbers.filter(|numbers| !numbers.is_empty()) {
            order.sort_by_key(|code| numbers[*code]);
            all.push(json!({ "type": INT64, "values": numbers }));
        } else {
            order.sort_by_key(|code| &texts[*code]);
            let mut bytes: Vec<i8> = Vec::new();
            let mut offsets = vec![0; texts.len().min(1)];
            for text in texts {
                bytes.extend(text.bytes().map(|byte| byte as i8));
                offsets.push(bytes.len());
            }
            all.push(json!({ "offsets": offsets, "values": bytes }));
        }
        sorted.extend(order);
        segments.push(sorted.len());
    }
    json!({ "enc": all, "feature_segments": segments, "sorted_idx": sorted })
}

fn tree(trees: &Trees<'_>, id: usize) -> Result<Tree> {
    let nodes = trees.forest.nodes_of(id);
    let mut tree = Tree {
        base_weights: vec![0.0; nodes.len()],
        id,
        parents: vec![NO_PARENT; nodes.len()],
        tree_param: Parameters {
            num_deleted: "0".to_owned(),
            num_feature: trees.features.len().to_string(),
            num_nodes: nodes.len().to_string(),
            size_leaf_vector: "1".to_owned(),
        },
        ..Tree::default()
    };
    // The nodes, level by level, with siblings adjacent, as XGBoost expects.
    let (mut order, mut sets, mut ticks) =
        (Vec::with_capacity(nodes.len()), HashMap::new(), Ticks::default());
    order.push(nodes.start);
    for place in 0..nodes.len() {
        ticks.add(100);
        match trees.forest.node(order[place]) {
            Node::Leaf(leaf) => {
                tree.left_children.push(-1);
                tree.right_children.push(-1);
                tree.split_indices.push(0);
                tree.split_conditions.push(Trees::single(leaf.value)?);
                tree.default_left.push(0);
                tree.split_type.push(0);
                tree.loss_changes.push(0.0);
                tree.sum_hessian.push(known(leaf.cover));
            }
            Node::Split(split) => {
                let left = order.len();
                let is_swapped = add_split(trees, &split, left, &mut tree, &mut sets)?;
                let (first, second) = if is_swapped { (1, 0) } else { (0, 1) };
                order.extend([split.left + first, split.left + second]);
                tree.parents[left..left + 2].fill(place as i64);
            }
        }
    }
    Ok(tree)
}

/// Adds a split whose children have the numbers `left` and `left + 1`. Returns whether they swap sides.
/// `sets`: where the categories of each set are.
fn add_split(
    trees: &Trees<'_>,
    split: &Split<'_>,
    left: usize,
    tree: &mut Tree,
    sets: &mut HashMap<*const [u32], usize>,
) -> Result<bool> {
    let SingleSplit { below, is_swapped, missing_first } = if let Some(set) = split.set {
        // The categories of a set go right.
        if let Some(code) = set.last().filter(|code| **code >= MOST_CODES) {
            let problem = format!("the category {code}; at most {}", MOST_CODES - 1);
            return Err(trees.refused(tree.id, split, &problem));
        }
        tree.categories_nodes.push(tree.left_children.len());
        // Splits share sets.
        let start = *sets.entry(std::ptr::from_ref(set)).or_insert_with(|| {
            tree.categories.extend(set);
            tree.categories.len() - set.len()
        });
        tree.categories_segments.push(start);
        tree.categories_sizes.push(set.len());
        SingleSplit { below: 0.0, is_swapped: true, missing_first: !split.missing_left }
    } else {
        trees.single_split(tree.id, split)?
    };
    tree.left_children.push(left as i64);
    tree.right_children.push(left as i64 + 1);
    tree.split_indices.push(split.feature);
    tree.split_conditions.push(below);
    tree.default_left.push(u8::from(missing_first));
    tree.split_type.push(u8::from(split.set.is_some()));
    tree.loss_changes.push(known(split.gain));
    tree.sum_hessian.push(known(split.cover));
    Ok(is_swapped)
}

/// A training statistic; 0 if unknown.
fn known(number: f64) -> f32 {
    if number.is_nan() { 0.0 } else { (number as f32).clamp(f32::MIN, f32::MAX) }
}
