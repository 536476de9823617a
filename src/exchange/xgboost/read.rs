//! XGBoost's JSON (`save_model`).

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::super::imported_model::category_text;
use super::super::lightgbm::check_outputs;
use super::super::names::check_width;
use super::super::parse::json;
use super::super::{Format, Function, ImportedModel, Source};
use crate::base::{Control, Error, Result, shorten};
use crate::trees::general::{Builder, Feature, RawNode, RawSplit, Sets, Test, below_single};

/// The latest major version whose rules are known.
const LATEST: u32 = 3;

#[derive(Deserialize)]
struct Document {
    version: Vec<u32>,
    learner: Learner,
}

#[derive(Deserialize)]
#[allow(clippy::struct_field_names, reason = "names of the format")]
struct Learner {
    #[serde(default)]
    attributes: Map<String, Value>,
    #[serde(default)]
    feature_names: Vec<String>,
    #[serde(default)]
    feature_types: Vec<String>,
    gradient_booster: Booster,
    learner_model_param: Parameters,
    objective: Objective,
}

#[derive(Deserialize)]
struct Objective {
    name: String,
}

/// Numbers, as texts.
#[derive(Deserialize)]
struct Parameters {
    base_score: String,
    #[serde(default)]
    num_class: String,
    num_feature: String,
    #[serde(default)]
    num_target: String,
}

#[derive(Deserialize)]
struct Booster {
    name: String,
    model: Option<Model>,
    /// The booster within `dart`.
    gbtree: Option<Box<Booster>>,
    weight_drop: Option<Vec<f32>>,
}

#[derive(Deserialize)]
struct Model {
    /// None of `gblinear`.
    trees: Option<Vec<Tree>>,
    #[serde(default)]
    tree_info: Vec<i64>,
    cats: Option<Categories>,
    gbtree_model_param: Option<ModelParameters>,
    /// The weights of `dart` since 3.3, which has no separate booster.
    #[serde(default)]
    weight_drop: Vec<f32>,
}

#[derive(Deserialize)]
struct ModelParameters {
    #[serde(default)]
    num_parallel_tree: String,
}

/// Each feature's category texts.
#[derive(Deserialize)]
struct Categories {
    enc: Vec<Texts>,
}

#[derive(Deserialize)]
struct Texts {
    /// Where each text begins in `values`, and the end. Without offsets, values are numbers.
    #[serde(default)]
    offsets: Vec<usize>,
    #[serde(default)]
    values: Vec<Value>,
}

#[derive(Deserialize)]
#[allow(clippy::struct_field_names, reason = "names of the format")]
struct Tree {
    left_children: Vec<i64>,
    right_children: Vec<i64>,
    split_indices: Vec<usize>,
    split_conditions: Vec<f32>,
    default_left: Vec<Flag>,
    #[serde(default)]
    split_type: Vec<u8>,
    #[serde(default)]
    categories: Vec<u32>,
    #[serde(default)]
    categories_nodes: Vec<usize>,
    #[serde(default)]
    categories_segments: Vec<usize>,
    #[serde(default)]
    categories_sizes: Vec<usize>,
    #[serde(default)]
    loss_changes: Vec<f32>,
    #[serde(default)]
    sum_hessian: Vec<f32>,
    tree_param: TreeParameters,
}

#[derive(Deserialize)]
struct TreeParameters {
    #[serde(default)]
    size_leaf_vector: String,
}

/// Versions write truth values differently.
#[derive(Deserialize, Clone, Copy)]
#[serde(untagged)]
enum Flag {
    Bool(bool),
    Number(u8),
}

/// Keys that do not affect scores: about training, redundant keys, and keys of models that are refused.
const HARMLESS: &str = "boost_from_average num_trees num_feature size_gpair num_deleted num_nodes num_roots max_depth \
     iteration_indptr base_weights id parents leaf_child_counts stats type feature_segments sorted_idx \
     reg_loss_param lambda_rank_param lambdarank_param poisson_regression_param tweedie_regression_param \
     pseudo_huber_param aft_loss_param quantile_loss_param expectile_loss_param softmax_multiclass_param \
     weights boosted_rounds size_leaf_vector";

pub(in super::super) fn read(text: &str, control: &Control) -> Result<ImportedModel> {
    let Document { version, learner } = json(text, HARMLESS)?;
    // 1. What the model is.
    let version: Vec<String> = version.iter().map(ToString::to_string).collect();
    let version = version.join(".");
    if version.split('.').next().and_then(|major| major.parse().ok()).is_none_or(|major: u32| major > LATEST)
    {
        let version = shorten(&version);
        return Err(Error::Unsupported(format!("XGBoost's format of version {version}; known: to {LATEST}")));
    }
    let parameters = &learner.learner_model_param;
    check_outputs(
        count("num_class", &parameters.num_class)?.max(count("num_target", &parameters.num_target)?),
    )?;
    let mut memory = control.memory().nothing();
    let width = check_width(count("num_feature", &parameters.num_feature)?, &mut memory)?;
    let start = margin(&learner.objective.name, &parameters.base_score)?;
    let (booster, weights) = match learner.gradient_booster {
        Booster { name, gbtree: Some(booster), weight_drop: Some(weights), .. } if name == "dart" => {
            (*booster, Some(weights))
        }
        booster => (booster, None),
    };
    let model = booster.model.filter(|_| booster.name == "gbtree");
    let Some(Model { trees: Some(trees), tree_info, cats, gbtree_model_param, weight_drop }) = model else {
        let name = shorten(&booster.name);
        return Err(Error::Unsupported(format!("the booster '{name}' without trees; known: gbtree, dart")));
    };
    if tree_info.iter().any(|group| *group != 0) {
        check_outputs(2)?;
    }
    // 2. The trees.
    let weights = weights.or(Some(weight_drop).filter(|weights| !weights.is_empty()));
    if weights.as_ref().is_some_and(|weights| weights.len() != trees.len()) {
        return Err(Error::Corrupt("'weight_drop' does not have a weight for each tree".to_owned()));
    }
    let mut features = features(width, learner.feature_names, &learner.feature_types)?;
    let mut builder = Builder::new(width, f64::from(start), true);
    for (number, tree) in trees.iter().enumerate() {
        let weight = weights.as_ref().map_or(1.0, |weights| weights[number]);
        let nodes = nodes(tree, weight, &mut builder.sets, &mut features);
        builder.add(&nodes.map_err(|problem| Error::Corrupt(format!("tree {number}: {problem}")))?)?;
    }
    // 3. The texts of the categories.
    for (feature, texts) in features.iter_mut().zip(cats.iter().flat_map(|cats| &cats.enc)) {
        feature.categories = decode(texts)?;
        feature.is_category |= !feature.categories.is_empty();
    }
    let parallel = gbtree_model_param.map_or(Ok(1), |p| count("num_parallel_tree", &p.num_parallel_tree))?;
    let best = learner.attributes.get("best_iteration").and_then(Value::as_str);
    let source = Source {
        best_round: best.and_then(|round| round.parse().ok()),
        trees_per_round: parallel.max(1),
        ..Source::new(Format::XgBoost, version, learner.objective.name)
    };
    Ok(ImportedModel { source, features, function: Function::Trees(builder.finish(width)?) })
}

/// A count, written as text; 0 if missing.
fn count(key: &str, text: &str) -> Result<usize> {
    let wrong = |_| Error::Corrupt(format!("'{key}' has '{}'", shorten(text)));
    if text.is_empty() { Ok(0) } else { text.parse().map_err(wrong) }
}

/// The score before the first tree. The text stores it as a prediction of the objective.
fn margin(objective: &str, base_score: &str) -> Result<f32> {
    let wrong = || Error::Corrupt(format!("'base_score' has '{}'", shorten(base_score)));
    let numbers = base_score.trim_start_matches('[').trim_end_matches(']');
    check_outputs(numbers.split(',').count())?;
    let base: f32 = numbers.trim().parse().map_err(|_| wrong())?;
    // The system's logarithm, as in XGBoost: another implementation can differ in the last bit.
    let margin = match objective {
        "binary:logistic" | "reg:logistic" => -(1.0 / base - 1.0).ln(),
        "count:poisson" | "reg:gamma" | "reg:tweedie" | "survival:cox" | "survival:aft" => base.ln(),
        "binary:logitraw" | "binary:hinge" => base,
        _ if objective.starts_with("rank:") || objective.starts_with("reg:") => base,
        _ => return Err(Error::Unsupported(format!("XGBoost's objective '{}'", shorten(objective)))),
    };
    if margin.is_finite() { Ok(margin) } else { Err(wrong()) }
}

/// The features. Without names, they are named as in XGBoost's dumps.
fn features(width: usize, names: Vec<String>, types: &[String]) -> Result<Vec<Feature>> {
    let is_category = |number: usize| types.get(number).is_some_and(|kind| kind == "c");
    let names =
        if names.is_empty() { (0..width).map(|number| format!("f{number}")).collect() } else { names };
    if names.len() != width {
        let problem = format!("{} names of features, expected {width}", names.len());
        return Err(Error::Corrupt(problem));
    }
    let feature = |(number, name)| Feature { is_category: is_category(number), ..Feature::number(name) };
    Ok(names.into_iter().enumerate().map(feature).collect())
}

/// Decodes a feature's category texts.
fn decode(texts: &Texts) -> Result<Vec<String>> {
    if texts.offsets.is_empty() {
        return texts.values.iter().map(category_text).collect();
    }
    // Bytes are written as numbers from -128 to 127.
    let byte = |value: &Value| value.as_i64().and_then(|byte| i8::try_from(byte).ok()).map(|byte| byte as u8);
    let bytes: Option<Vec<u8>> = texts.values.iter().map(byte).collect();
    let bytes = bytes.ok_or_else(|| Error::Corrupt("'values' of categories are not bytes".to_owned()))?;
    let text = |pair: &[usize]| {
        let problem = || Error::Corrupt("'offsets' of categories are not ascending".to_owned());
        let bytes = bytes.get(pair[0]..pair[1]).ok_or_else(problem)?;
        // XGBoost 3.2 counts characters where it should count bytes.
        let cut = "categories with texts that are not ASCII, which XGBoost cut off when it wrote the model; train with codes";
        let text = std::str::from_utf8(bytes).ok().filter(|text| text.is_ascii());
        text.map(str::to_owned).ok_or_else(|| Error::Unsupported(cut.to_owned()))
    };
    texts.offsets.windows(2).map(text).collect()
}

/// The nodes of a tree.
fn nodes(
    tree: &Tree,
    weight: f32,
    sets: &mut Sets,
    features: &mut [Feature],
) -> Result<Vec<RawNode>, String> {
    // 1. All lists have one number per node; those about training may be empty.
    let count = tree.left_children.len();
    if !matches!(tree.tree_param.size_leaf_vector.as_str(), "" | "0" | "1") {
        return Err("several values in a leaf (multi_output_tree) are not supported".to_owned());
    }
    let optional = |len: usize| len == count || len == 0;
    let lists = [
        tree.right_children.len(),
        tree.split_indices.len(),
        tree.split_conditions.len(),
        tree.default_left.len(),
    ];
    let options = [tree.split_type.len(), tree.loss_changes.len(), tree.sum_hessian.len()];
    if lists.iter().any(|len| *len != count) || !options.into_iter().all(optional) {
        return Err(format!("the lists of its {count} nodes differ in length"));
    }
    if let Some(kind) = tree.split_type.iter().find(|kind| **kind > 1) {
        return Err(format!("a split of the type {kind}, which is unknown"));
    }
    if tree.default_left.iter().any(|flag| matches!(flag, Flag::Number(2..))) {
        return Err("'default_left' has other numbers than 0 and 1".to_owned());
    }
    // Splits may share a set. Each set is read once; otherwise overlapping sets would take memory quadratic in the size
    // of the text.
    let ranges = tree.categories_segments.iter().copied().zip(tree.categories_sizes.iter().copied());
    let mut read: HashMap<(usize, usize), Option<usize>> = ranges.map(|range| (range, None)).collect();
    let sizes = read.keys().fold(0, |sum: usize, (_, size)| sum.saturating_add(*size));
    if sizes > tree.categories.len() {
        return Err("the sets of categories overlap".to_owned());
    }
    let wide = |list: &[f32], node: usize| list.get(node).map_or(f64::NAN, |number| f64::from(*number));
    // 2. Leaves have no left child (-1).
    let mut node = |node: usize| {
        let cover = wide(&tree.sum_hessian, node);
        let condition = tree.split_conditions[node];
        if tree.left_children[node] == -1 {
            let value = f64::from(condition * weight);
            return Ok(RawNode::Leaf { value, cover });
        }
        let child = |number: i64| usize::try_from(number).map_err(|_| format!("node {node}: child {number}"));
        let (left, right) = (child(tree.left_children[node])?, child(tree.right_children[node])?);
        let missing_left = matches!(tree.default_left[node], Flag::Bool(true) | Flag::Number(1..));
        let (feature, gain) = (tree.split_indices[node], wide(&tree.loss_changes, node));
        let split = RawSplit::new(feature, Test::AtMost(0.0), missing_left);
        let split = RawSplit { left, right, gain, cover, ..split };
        if tree.split_type.get(node).is_some_and(|kind| *kind == 1) {
            // The categories of the set go right.
            let set = set(tree, node, &mut read, sets)
                .ok_or_else(|| format!("node {node}: its categories are missing"))?;
            if let Some(feature) = features.get_mut(feature) {
                feature.is_category = true;
            }
            return Ok(RawNode::Split(RawSplit {
                test: Test::In(set),
                missing_left: !missing_left,
                left: right,
                right: left,
                ..split
            }));
        }
        if condition.is_nan() || condition == f32::NEG_INFINITY {
            return Err(format!("node {node}: the threshold is {condition}"));
        }
        Ok(RawNode::Split(RawSplit { test: Test::AtMost(below_single(condition)), ..split }))
    };
    (0..count).map(&mut node).collect()
}

/// The index of a split's set. `read`: set indices by range.
fn set(
    tree: &Tree,
    node: usize,
    read: &mut HashMap<(usize, usize), Option<usize>>,
    sets: &mut Sets,
) -> Option<usize> {
    let place = tree.categories_nodes.binary_search(&node).ok()?;
    let (start, size) = (*tree.categories_segments.get(place)?, *tree.categories_sizes.get(place)?);
    let number = read.get_mut(&(start, size))?;
    if number.is_none() {
        *number = Some(sets.add(tree.categories.get(start..start.checked_add(size)?)?.to_vec()));
    }
    *number
}
