//! XGBoost's JSON model, as version 2.0 writes it, which later versions read. With texts of categories as version 3.1 does.

use serde::Serialize;
use serde_json::json;

use super::{SingleSplit, Trees};
use crate::base::{Error, Result, shorten};
use crate::model::imported::Feature;
use crate::trees::general::{Node, Split};

/// What XGBoost has for the parent of the root.
const NO_PARENT: i64 = i32::MAX as i64;

/// A tree: lists by node, and the sets of categories.
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

/// Numbers as texts.
#[derive(Default, Serialize)]
struct Parameters {
    num_deleted: String,
    num_feature: String,
    num_nodes: String,
    size_leaf_vector: String,
}

#[derive(Serialize)]
struct Model {
    #[serde(skip_serializing_if = "Option::is_none")]
    cats: Option<serde_json::Value>,
    gbtree_model_param: serde_json::Value,
    iteration_indptr: Vec<usize>,
    tree_info: Vec<u8>,
    trees: Vec<Tree>,
}

/// The text.
pub(super) fn text(trees: &Trees<'_>) -> Result<String> {
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
    let count = trees.forest.trees();
    let has_texts = trees.features.iter().any(|feature| !feature.categories.is_empty());
    let model = Model {
        cats: has_texts.then(|| categories(trees.features)),
        gbtree_model_param: json!({ "num_parallel_tree": "1", "num_trees": count.to_string() }),
        iteration_indptr: (0..=count).collect(),
        tree_info: vec![0; count],
        trees: (0..count).map(|number| tree(trees, number)).collect::<Result<_>>()?,
    };
    let internal = |problem: serde_json::Error| Error::Internal(format!("trees as JSON: {problem}"));
    let model = serde_json::to_string(&model).map_err(internal)?;
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
    let (names, kinds) = (json!(names), json!(kinds));
    let version = if has_texts { "[3,1,0]" } else { "[2,0,3]" };
    Ok(format!(
        "{{\"learner\":{{\"attributes\":{{}},\"feature_names\":{names},\"feature_types\":{kinds},\
         \"gradient_booster\":{{\"model\":{model},\"name\":\"gbtree\"}},\"learner_model_param\":{parameters},\
         \"objective\":{objective}}},\"version\":{version}}}"
    ))
}

/// XGBoost's number of the type of whole numbers of 64 bits.
const INT64: u8 = 15;

/// The values of the categories. Texts are bytes one after the other, from -128 to 127; `sorted_idx` is the order of the values.
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

/// A tree.
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
    // The nodes in their order here: level by level, children side by side, as XGBoost expects them.
    let mut order = Vec::with_capacity(nodes.len());
    order.push(nodes.start);
    for place in 0..nodes.len() {
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
                let is_swapped = add_split(trees, &split, left, &mut tree)?;
                let (first, second) = if is_swapped { (1, 0) } else { (0, 1) };
                order.extend([split.left + first, split.left + second]);
                tree.parents[left..left + 2].fill(place as i64);
            }
        }
    }
    Ok(tree)
}

/// Adds a split whose children have the numbers `left` and `left + 1`. Returns whether they change sides.
fn add_split(trees: &Trees<'_>, split: &Split<'_>, left: usize, tree: &mut Tree) -> Result<bool> {
    let SingleSplit { below, is_swapped, missing_first } = if let Some(set) = split.set {
        // The categories of a set go right.
        let set = trees.checked_set(tree.id, split, set)?;
        tree.categories_nodes.push(tree.left_children.len());
        tree.categories_segments.push(tree.categories.len());
        tree.categories_sizes.push(set.len());
        tree.categories.extend(set);
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

/// A number about the training; 0 if it is unknown.
fn known(number: f64) -> f32 {
    if number.is_nan() { 0.0 } else { (number as f32).clamp(f32::MIN, f32::MAX) }
}
