//! CatBoost's JSON. Trees are oblivious or, with grow_policy Lossguide and Depthwise, of any shape.

use std::collections::HashMap;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::lightgbm::check_outputs;
use super::names::check_width;
use super::parse::json;
use super::{Format, Function, ImportedModel, SMALLER, Source};
use crate::base::{Control, Error, Reservation, Result, shorten};
use crate::trees::general::{
    Builder, Feature, Nested, ObliviousTree, Question, RawNode, RawSplit, Sets, Test, at_most_single,
    oblivious_nodes,
};

/// Largest number of splits per oblivious tree; CatBoost's own limit.
const DEEPEST: usize = 16;

/// Bytes for a leaf of an oblivious tree with its split, while reading and in the model.
const LEAF_BYTES: u64 = 500;

/// Largest category value in bytes. Longer texts are refused.
const VALUE_BYTES: u64 = 500;

/// Keys that do not affect scores, and keys of models that are refused.
const HARMLESS: &str = "borders has_nans split_index is_used ctrs ctr_data ctr_target_border_idx text_features \
     embedding_features";

#[derive(Deserialize)]
struct Document {
    features_info: FeaturesInfo,
    oblivious_trees: Option<Vec<Oblivious>>,
    trees: Option<Vec<Node>>,
    scale_and_bias: Option<(f64, Bias)>,
    #[serde(default)]
    model_info: Value,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Bias {
    One(f64),
    Each(Vec<f64>),
}

#[derive(Deserialize)]
struct FeaturesInfo {
    float_features: Option<Vec<InputFeature>>,
    categorical_features: Option<Vec<InputFeature>>,
    cat_features_hash: Option<Vec<HashText>>,
    ctrs: Option<IgnoredAny>,
    text_features: Option<IgnoredAny>,
    embedding_features: Option<IgnoredAny>,
}

/// A number or a category.
#[derive(Deserialize)]
struct InputFeature {
    feature_index: usize,
    flat_feature_index: usize,
    #[serde(default)]
    feature_id: String,
    #[serde(default)]
    feature_name: String,
    #[serde(default)]
    nan_value_treatment: String,
    /// Hashes of the texts that splits test.
    #[serde(default)]
    values: Vec<i64>,
}

#[derive(Deserialize)]
struct HashText {
    hash: i64,
    value: String,
}

#[derive(Deserialize)]
struct Oblivious {
    splits: Option<Vec<Split>>,
    leaf_values: Vec<f64>,
    #[serde(default)]
    leaf_weights: Vec<f64>,
}

#[derive(Deserialize)]
struct Node {
    split: Option<Split>,
    left: Option<Box<Node>>,
    right: Option<Box<Node>>,
    value: Option<Value>,
    weight: Option<f64>,
}

#[derive(Deserialize)]
#[allow(clippy::struct_field_names, reason = "names of the format")]
struct Split {
    split_type: String,
    float_feature_index: Option<usize>,
    border: Option<f32>,
    cat_feature_index: Option<usize>,
    value: Option<i64>,
}

/// Indices of the features of both kinds.
struct Columns {
    features: Vec<Feature>,
    /// Feature index, and whether missing values are above all borders.
    floats: HashMap<usize, (usize, bool)>,
    /// Feature index, and the code of each hash.
    categories: HashMap<usize, (usize, HashMap<u32, u32>)>,
}

pub(super) fn read(text: &str, control: &Control) -> Result<ImportedModel> {
    let document: Document = json(text, HARMLESS)?;
    // 1. What is refused.
    let info = &document.features_info;
    let refused = [
        (
            info.ctrs.is_some(),
            "target statistics of categories (ctrs); train with one_hot_max_size above their number",
        ),
        (info.text_features.is_some(), "text features"),
        (info.embedding_features.is_some(), "embedding features"),
    ];
    if let Some((_, what)) = refused.iter().find(|(is_there, _)| *is_there) {
        return Err(Error::Unsupported(format!("CatBoost's {what}")));
    }
    let (scale, bias) = match document.scale_and_bias {
        None => (1.0, 0.0),
        Some((scale, Bias::One(bias))) => (scale, bias),
        Some((scale, Bias::Each(bias))) => {
            check_outputs(bias.len())?;
            (scale, bias.first().copied().unwrap_or(0.0))
        }
    };
    // 2. The trees.
    let mut columns_memory = control.memory().nothing();
    let columns = columns(info, &mut columns_memory)?;
    let width = columns.features.len();
    let leaves: usize = document.oblivious_trees.iter().flatten().map(|tree| tree.leaf_values.len()).sum();
    let _memory = control.reserve(LEAF_BYTES * leaves as u64, format_args!("{leaves} leaves"), SMALLER)?;
    let mut builder = Builder::new(width, bias, false);
    for (number, tree) in document.oblivious_trees.iter().flatten().enumerate() {
        let nodes = oblivious(tree, scale, &columns, &mut builder.sets);
        builder.add(&nodes.map_err(|problem| Error::Corrupt(format!("tree {number}: {problem}")))?)?;
    }
    for tree in document.trees.iter().flatten() {
        builder.add_nested(tree, |node, sets| read_node(node, scale, &columns, sets))?;
    }
    let text = |pointer: &str| document.model_info.pointer(pointer).and_then(Value::as_str).unwrap_or("");
    let version = text("/catboost_version_info").split("tags/v").nth(1).and_then(|rest| rest.lines().next());
    let source = Source::new(Format::CatBoost, version.unwrap_or(""), text("/params/loss_function/type"));
    Ok(ImportedModel {
        source,
        features: columns.features,
        function: Function::Trees(builder.finish(width)?),
    })
}

/// The features in the order of the training data.
fn columns(info: &FeaturesInfo, memory: &mut Reservation) -> Result<Columns> {
    let float_features = info.float_features.as_deref().unwrap_or_default();
    let categorical_features = info.categorical_features.as_deref().unwrap_or_default();
    let flat = float_features.iter().map(|feature| feature.flat_feature_index);
    let flat = flat.chain(categorical_features.iter().map(|feature| feature.flat_feature_index));
    let mut places: Vec<usize> = flat.collect();
    places.sort_unstable();
    if let Some([twice, _]) = places.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(Error::Corrupt(format!("two features have the flat_feature_index {twice}")));
    }
    let width = check_width(places.last().map_or(0, |last| last.saturating_add(1)), memory)?;
    // Features ignored in training have no name.
    let mut features: Vec<Feature> = (0..width).map(|number| Feature::number(number.to_string())).collect();
    let (mut floats, mut categories) = (HashMap::new(), HashMap::new());
    let name = |name: &str, id: &str, number: usize| match (name, id) {
        ("", "") => number.to_string(),
        ("", id) => id.to_owned(),
        (name, _) => name.to_owned(),
    };
    for feature in float_features {
        let number = feature.flat_feature_index;
        features[number].name = name(&feature.feature_name, &feature.feature_id, number);
        let missing_above = match feature.nan_value_treatment.as_str() {
            "AsTrue" => true,
            "AsFalse" | "AsIs" | "" => false,
            other => {
                let other = shorten(other);
                return Err(Error::Unsupported(format!("CatBoost's nan_value_treatment '{other}'")));
            }
        };
        floats.insert(feature.feature_index, (number, missing_above));
    }
    let texts: HashMap<u32, &str> = info
        .cat_features_hash
        .iter()
        .flatten()
        .map(|entry| (entry.hash as u32, entry.value.as_str()))
        .collect();
    for feature in categorical_features {
        let number = feature.flat_feature_index;
        let column = &mut features[number];
        column.name = name(&feature.feature_name, &feature.feature_id, number);
        column.is_category = true;
        let codes: HashMap<u32, u32> =
            feature.values.iter().zip(0..).map(|(hash, code)| (*hash as u32, code)).collect();
        if codes.len() < feature.values.len() {
            let name = shorten(&column.name);
            return Err(Error::Corrupt(format!("the feature '{name}' lists a category twice")));
        }
        memory.add(VALUE_BYTES * codes.len() as u64, "the values of categories", SMALLER)?;
        for hash in &feature.values {
            let Some(text) = texts.get(&(*hash as u32)) else {
                let name = shorten(&column.name);
                return Err(Error::Unsupported(format!(
                    "categories of the feature '{name}' without their texts; use save_model(.., pool=the training data)"
                )));
            };
            if text.len() as u64 > VALUE_BYTES {
                let start = shorten(text);
                return Err(Error::Unsupported(format!("the category '{start}' of {} bytes", text.len())));
            }
            column.categories.push((*text).to_owned());
        }
        // A feature that no split tests still has texts, not codes.
        column.categories.extend(feature.values.is_empty().then(String::new));
        categories.insert(feature.feature_index, (number, codes));
    }
    Ok(Columns { features, floats, categories })
}

/// The test of a split. Values above the border, and the requested category, go above.
fn question(split: &Split, columns: &Columns, sets: &mut Sets) -> Result<Question, String> {
    match (
        split.split_type.as_str(),
        split.float_feature_index,
        split.border,
        split.cat_feature_index,
        split.value,
    ) {
        ("FloatFeature", Some(index), Some(border), _, _) => {
            let known = columns.floats.get(&index);
            let (feature, missing_above) =
                *known.ok_or_else(|| format!("there is no float feature {index}"))?;
            if !border.is_finite() {
                return Err(format!("a border of {border}"));
            }
            let test = Test::AtMost(at_most_single(border));
            Ok(Question { feature, test, pass_is_above: false, missing_above })
        }
        ("OneHotFeature", _, _, Some(index), Some(value)) => {
            let known = columns.categories.get(&index);
            let (feature, codes) = known.ok_or_else(|| format!("there is no categorical feature {index}"))?;
            let code =
                codes.get(&(value as u32)).ok_or_else(|| format!("the category {value} is not listed"))?;
            let test = Test::In(sets.add(vec![*code]));
            Ok(Question { feature: *feature, test, pass_is_above: true, missing_above: false })
        }
        (other, ..) => {
            Err(format!("a split of type '{}' without its numbers, or of no known type", shorten(other)))
        }
    }
}

/// The nodes of an oblivious tree.
fn oblivious(
    tree: &Oblivious,
    scale: f64,
    columns: &Columns,
    sets: &mut Sets,
) -> Result<Vec<RawNode>, String> {
    let splits = tree.splits.as_deref().unwrap_or_default();
    if splits.len() > DEEPEST {
        return Err(format!("{} splits, at most {DEEPEST}", splits.len()));
    }
    let questions: Vec<Question> =
        splits.iter().map(|split| question(split, columns, sets)).collect::<Result<_, String>>()?;
    let leaves = 1 << splits.len();
    if tree.leaf_values.len() != leaves || ![0, leaves].contains(&tree.leaf_weights.len()) {
        return Err(format!(
            "{} values and {} weights of leaves, expected {leaves} (models with several scores are not supported)",
            tree.leaf_values.len(),
            tree.leaf_weights.len()
        ));
    }
    let values: Vec<f64> = tree.leaf_values.iter().map(|value| value * scale).collect();
    Ok(oblivious_nodes(&ObliviousTree { questions: &questions, values: &values, covers: &tree.leaf_weights }))
}

/// A node of a tree. Only leaves have a training weight.
fn read_node<'a>(
    node: &'a Node,
    scale: f64,
    columns: &Columns,
    sets: &mut Sets,
) -> Result<Nested<&'a Node>, String> {
    let (split, low, high) = match (&node.split, &node.left, &node.right, &node.value) {
        (Some(split), Some(low), Some(high), None) => (split, low, high),
        (None, None, None, Some(value)) => {
            let value = value.as_f64().ok_or("a leaf that does not have exactly one value")? * scale;
            return Ok(Nested::Leaf(value, node.weight.unwrap_or(f64::NAN)));
        }
        _ => return Err("a node needs either a single 'value', or 'split', 'left' and 'right'".to_owned()),
    };
    let Question { feature, test, pass_is_above, missing_above } = question(split, columns, sets)?;
    let (passes, fails) = if pass_is_above { (high, low) } else { (low, high) };
    Ok(Nested::Split(RawSplit::new(feature, test, missing_above == pass_is_above), passes, fails))
}
