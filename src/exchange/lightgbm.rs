//! LightGBM's text model (`save_model`): `key=value` lines, with blanks between the numbers of a list.

use std::collections::HashMap;
use std::str::FromStr;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::imported_model::category_text;
use super::names::check_width;
use super::parse::{has_word, json, unknown_key};
use super::{Format, Function, ImportedModel, SMALLER, Source};
use crate::base::{Control, Error, Reservation, Result, Ticks, bytes_of, shorten};
use crate::trees::general::{Builder, Feature, LIGHTGBM_ZERO, Nested, RawNode, RawSplit, Sets, Test};

/// Supported versions of the format.
const VERSIONS: [&str; 3] = ["v2", "v3", "v4"];

/// Keys of the header and of a tree.
const HEADER: &str = "tree version num_class num_tree_per_iteration label_index max_feature_idx objective average_output \
     sigmoid feature_names monotone_constraints feature_infos tree_sizes boosting";
const TREE: &str = "num_leaves num_cat split_feature split_gain threshold decision_type left_child right_child leaf_value \
     leaf_weight leaf_count leaf_parent internal_value internal_weight internal_count cat_boundaries \
     cat_threshold is_linear leaf_const num_features leaf_features leaf_coeff shrinkage has_categorical";

/// Lines that may follow the trees.
const AFTER_TREES: [&str; 5] = [
    "\nend of trees",
    "\nfeature_importances:",
    "\nfeature importances:",
    "\nparameters:",
    "\npandas_categorical:",
];

/// Copies of a set: the growing list that is read, the sorted list, and the forest's.
const SET_COPIES: u64 = 4;

/// Approximate nanoseconds per number, for [`Ticks`].
const NUMBER_COST: usize = 50;

/// The header or a tree.
struct Section<'a> {
    /// The name in errors.
    name: String,
    fields: HashMap<&'a str, &'a str>,
}

impl<'a> Section<'a> {
    /// Lines of `key=value` with these keys.
    fn parse(name: String, lines: &'a str, keys: &str) -> Result<Self> {
        let mut section = Self { name, fields: HashMap::new() };
        for line in lines.lines().filter(|line| !line.trim().is_empty()) {
            let (key, value) = line.split_once('=').unwrap_or((line.trim(), ""));
            if !has_word(keys, key) {
                return Err(unknown_key(&format!("{}.{key}", section.name)));
            }
            if section.fields.insert(key, value).is_some() {
                return Err(section.wrong(&format!("'{key}' twice")));
            }
        }
        Ok(section)
    }

    fn wrong(&self, problem: &str) -> Error {
        Error::Corrupt(format!("{}: {problem}", self.name))
    }

    fn text(&self, key: &str) -> Result<&'a str> {
        self.fields.get(key).copied().ok_or_else(|| self.wrong(&format!("'{key}' is missing")))
    }

    fn number<T: FromStr>(&self, key: &str) -> Result<T> {
        let text = self.text(key)?;
        text.trim().parse().map_err(|_| self.wrong(&format!("'{key}' has '{}'", shorten(text))))
    }

    /// A list of `count` numbers.
    fn list<T: FromStr>(&self, key: &str, count: usize) -> Result<Vec<T>> {
        let mut ticks = Ticks::default();
        let parse = |word: &str| {
            ticks.add(NUMBER_COST);
            word.parse().map_err(|_| self.wrong(&format!("'{key}' has '{}'", shorten(word))))
        };
        let mut words = self.text(key)?.split_ascii_whitespace();
        let numbers = words.by_ref().take(count).map(parse).collect::<Result<Vec<T>>>()?;
        let given = numbers.len() + words.count();
        if given != count {
            return Err(self.wrong(&format!("'{key}' has {given} numbers, expected {count}")));
        }
        Ok(numbers)
    }

    /// A list that does not affect scores, missing in older versions. NaN is unknown.
    fn weights(&self, key: &str, count: usize) -> Result<Vec<f64>> {
        let list = if self.fields.contains_key(key) { self.list(key, count)? } else { vec![f64::NAN; count] };
        Ok(list.into_iter().map(known).collect())
    }
}

pub(super) fn read(text: &str, control: &Control) -> Result<ImportedModel> {
    // 1. Split into the header, the trees, and the rest.
    let end = AFTER_TREES.iter().filter_map(|line| text.find(line)).min();
    let (body, rest) = text.split_at(end.unwrap_or(text.len()));
    let mut trees = body.split("\nTree=");
    let header = Section::parse("header".to_owned(), trees.next().unwrap_or("").trim_start(), HEADER)?;
    let count = trees.clone().count();
    // 2. The kind of model.
    let source = check_header(&header)?;
    let is_cut_off =
        || Error::Corrupt("the text ends before the line 'end of trees': it is cut off".to_owned());
    // Early texts of version 2 had no such line.
    let has_end = rest.starts_with(AFTER_TREES[0]);
    if !has_end && source.version != "v2" {
        return Err(is_cut_off());
    }
    let mut memory = control.memory().nothing();
    let mut features = features(&header, &mut memory)?;
    if header.fields.contains_key("tree_sizes") {
        let sizes = header.text("tree_sizes")?.split_ascii_whitespace().count();
        if sizes != count {
            return Err(header.wrong(&format!("'tree_sizes' has {sizes} trees, but there are {count}")));
        }
    }
    // 3. The trees. A random forest predicts their mean.
    let is_mean = header.fields.contains_key("average_output");
    let factor = if is_mean { 1.0 / count.max(1) as f64 } else { 1.0 };
    let width = features.len();
    let mut builder = Builder::new(width, 0.0, false);
    let (mut is_complete, mut sets_memory) = (has_end, control.memory().nothing());
    for (number, lines) in trees.enumerate() {
        // The first line is the number.
        let lines = lines.split_once('\n').map_or("", |(_, lines)| lines);
        let tree = Section::parse(format!("tree {number}"), lines, TREE)?;
        let sets = sets(&tree, &mut builder.sets, &mut sets_memory)?;
        builder.add(&nodes(&tree, factor, &sets, &mut features)?)?;
        // The last line of a tree.
        is_complete = has_end || tree.fields.contains_key("shrinkage");
    }
    if !is_complete {
        return Err(is_cut_off());
    }
    // 4. The texts of the categories.
    let after = |start: &str| rest.lines().find_map(|line| line.strip_prefix(start));
    if let Some(lists) = after("pandas_categorical:").filter(|lists| *lists != "null") {
        let listed = after("[categorical_feature: ").map_or("", |text| text.trim_end_matches(']'));
        let of_parameters: Vec<usize> = listed.split(',').filter_map(|word| word.parse().ok()).collect();
        add_categories(&mut features, &json::<Vec<Vec<Value>>>(lists, "")?, &of_parameters)?;
    }
    Ok(ImportedModel { source, features, function: Function::Trees(builder.finish(width)?) })
}

/// Refuses models with unsupported features.
fn check_header(header: &Section<'_>) -> Result<Source> {
    let version = header.text("version")?.trim();
    check_version(version)?;
    let per_round: usize = header.number("num_tree_per_iteration")?;
    check_outputs(per_round.max(header.number("num_class")?))?;
    let objective = header.fields.get("objective").map_or("", |text| text.trim());
    Ok(Source::new(Format::LightGbm, version, objective))
}

/// Refuses unsupported versions of LightGBM's formats.
pub(super) fn check_version(version: &str) -> Result<()> {
    if VERSIONS.contains(&version) {
        return Ok(());
    }
    let versions = VERSIONS.join(", ");
    Err(Error::Unsupported(format!("LightGBM's format '{}'; known: {versions}", shorten(version))))
}

/// Refuses models with several outputs.
pub(super) fn check_outputs(outputs: usize) -> Result<()> {
    if outputs > 1 {
        let problem =
            format!("the model has {outputs} scores for a document (multiclass or several targets)");
        return Err(Error::Unsupported(format!("{problem}; a ranking needs one")));
    }
    Ok(())
}

/// The features. A feature whose range is a list of values is a category.
fn features(header: &Section<'_>, memory: &mut Reservation) -> Result<Vec<Feature>> {
    let last: usize = header.number("max_feature_idx")?;
    let names: Vec<String> = header.list("feature_names", check_width(last.saturating_add(1), memory)?)?;
    let ranges = header.fields.get("feature_infos").map_or("", |text| text).split_ascii_whitespace();
    let is_category = |range: &str| range != "none" && !range.starts_with('[');
    let ranges = ranges.map(is_category).chain(std::iter::repeat(false));
    Ok(names
        .into_iter()
        .zip(ranges)
        .map(|(name, is_category)| Feature { name, is_category, categories: Vec::new() })
        .collect())
}

/// Sets the texts of categorical features. `columns`: column numbers, if known.
pub(super) fn add_categories(
    features: &mut [Feature],
    lists: &[Vec<Value>],
    columns: &[usize],
) -> Result<()> {
    // Without a list, values in the training data were the codes.
    if lists.is_empty() {
        return Ok(());
    }
    let seen = |(number, feature): (usize, &Feature)| feature.is_category.then_some(number);
    let seen: Vec<usize> = features.iter().enumerate().filter_map(seen).collect();
    let columns = if columns.len() == lists.len() { columns } else { &seen };
    if columns.len() != lists.len() {
        return Err(Error::Unsupported(format!(
            "'pandas_categorical' has {} lists for {} categorical features, so it is unknown which belong together; \
             use the text of save_model",
            lists.len(),
            columns.len()
        )));
    }
    for (column, list) in columns.iter().zip(lists) {
        let problem = || Error::Corrupt(format!("'categorical_feature' {column} is not a feature"));
        let feature = features.get_mut(*column).ok_or_else(problem)?;
        feature.is_category = true;
        feature.categories = list.iter().map(category_text).collect::<Result<_>>()?;
    }
    Ok(())
}

/// The nodes of a tree: the splits, then the leaves.
fn nodes(tree: &Section<'_>, factor: f64, sets: &[usize], features: &mut [Feature]) -> Result<Vec<RawNode>> {
    if tree.fields.get("is_linear").is_some_and(|text| text.trim() != "0") {
        return Err(Error::Unsupported(format!("{}: linear functions in leaves (linear_tree)", tree.name)));
    }
    let leaves: usize = tree.number("num_leaves")?;
    let splits = leaves.checked_sub(1).ok_or_else(|| tree.wrong("no leaf"))?;
    let values: Vec<f64> = tree.list("leaf_value", leaves)?;
    let has_splits = splits > 0;
    // Before version 4, one-leaf trees have empty lists.
    let leaf_covers = if has_splits { tree.weights("leaf_count", leaves)? } else { vec![f64::NAN] };
    let mut nodes = Vec::with_capacity(splits + leaves);
    if has_splits {
        let split_features: Vec<usize> = tree.list("split_feature", splits)?;
        let thresholds: Vec<f64> = tree.list("threshold", splits)?;
        let decisions: Vec<u8> = tree.list("decision_type", splits)?;
        let lefts: Vec<i64> = tree.list("left_child", splits)?;
        let rights: Vec<i64> = tree.list("right_child", splits)?;
        let gains = tree.weights("split_gain", splits)?;
        let covers = tree.weights("internal_count", splits)?;
        // Leaf i is child -1 - i, the bits of i inverted.
        let child =
            |number: i64| if number < 0 { splits.saturating_add(!number as usize) } else { number as usize };
        for i in 0..splits {
            let (threshold, decision) = (thresholds[i], decisions[i]);
            let rule = Missing::parse(decision >> 2)
                .ok_or_else(|| tree.wrong(&format!("node {i}: the decision_type {decision} is unknown")))?;
            let is_set = decision & 1 == 1;
            let test = if is_set {
                let set =
                    sets.get(threshold as usize).filter(|_| threshold >= 0.0 && threshold.fract() == 0.0);
                if let Some(feature) = features.get_mut(split_features[i]) {
                    feature.is_category = true;
                }
                let problem = || tree.wrong(&format!("node {i}: there is no set of categories {threshold}"));
                Test::In(*set.ok_or_else(problem)?)
            } else {
                at_most(threshold)
            };
            let (missing_left, zero_is_missing) = rule.directions(is_set, decision & 2 == 2, threshold);
            let (left, right) = (child(lefts[i]), child(rights[i]));
            let (feature, gain, cover) = (split_features[i], gains[i], covers[i]);
            let split = RawSplit { feature, test, missing_left, zero_is_missing, left, right, gain, cover };
            nodes.push(RawNode::Split(split));
        }
    }
    let leaves = values.into_iter().zip(leaf_covers);
    nodes.extend(leaves.map(|(value, cover)| RawNode::Leaf { value: value * factor, cover }));
    Ok(nodes)
}

/// A training statistic. It may be infinite: labels of 1e30 have infinite gains.
fn known(number: f64) -> f64 {
    if number.is_infinite() { f64::NAN } else { number }
}

/// The test against a threshold. Numbers near 0 count as 0; infinity is between all numbers and NaN.
fn at_most(threshold: f64) -> Test {
    let threshold = match threshold {
        0.0.. => threshold.max(LIGHTGBM_ZERO),
        ..0.0 => threshold.min((-LIGHTGBM_ZERO).next_down()),
        _ => threshold,
    };
    Test::AtMost(threshold.clamp(f64::MIN, f64::MAX))
}

/// Values that LightGBM treats as missing.
#[derive(Clone, Copy)]
pub(super) enum Missing {
    /// None: NaN counts as 0.
    None,
    /// 0, and NaN.
    Zero,
    /// NaN.
    Nan,
}

impl Missing {
    fn parse(bits: u8) -> Option<Self> {
        match bits {
            0 => Some(Self::None),
            1 => Some(Self::Zero),
            2 => Some(Self::Nan),
            _ => None,
        }
    }

    /// Whether missing values go left, and whether 0 counts as missing.
    pub(super) fn directions(self, is_set: bool, default_left: bool, threshold: f64) -> (bool, bool) {
        match self {
            _ if is_set => (false, false),
            Self::None => (0.0 <= threshold, false),
            Self::Zero => (default_left, true),
            Self::Nan => (default_left, false),
        }
    }
}

/// A tree's category sets, which have 32 codes per word.
fn sets(tree: &Section<'_>, sets: &mut Sets, memory: &mut Reservation) -> Result<Vec<usize>> {
    let count: usize = if tree.fields.contains_key("num_cat") { tree.number("num_cat")? } else { 0 };
    if count == 0 {
        return Ok(Vec::new());
    }
    let bounds: Vec<usize> = tree.list("cat_boundaries", count.saturating_add(1))?;
    let words: Vec<u32> = tree.list("cat_threshold", *bounds.last().unwrap_or(&0))?;
    let codes: u32 = words.iter().map(|word| word.count_ones()).sum();
    memory.add(SET_COPIES * bytes_of::<u32>(codes as usize), "the sets of categories", SMALLER)?;
    let mut ticks = Ticks::default();
    let mut set = |pair: &[usize]| {
        let words =
            words.get(pair[0]..pair[1]).ok_or_else(|| tree.wrong("'cat_boundaries' are not ascending"))?;
        ticks.add(NUMBER_COST * words.len());
        let codes =
            (0..32 * words.len() as u32).filter(|code| words[*code as usize / 32] >> (code % 32) & 1 == 1);
        Ok(sets.add(codes.collect()))
    };
    bounds.windows(2).map(&mut set).collect()
}

// LightGBM's JSON (`dump_model`).

#[derive(Deserialize)]
struct Document {
    version: String,
    num_class: usize,
    num_tree_per_iteration: usize,
    #[serde(default)]
    objective: String,
    #[serde(default)]
    average_output: bool,
    feature_names: Vec<String>,
    #[serde(default)]
    feature_infos: Map<String, Value>,
    tree_info: Vec<Tree>,
    #[serde(default)]
    pandas_categorical: Option<Vec<Vec<Value>>>,
}

#[derive(Deserialize)]
struct Tree {
    tree_structure: Node,
}

#[derive(Deserialize)]
struct Node {
    split_feature: Option<usize>,
    split_gain: Option<f64>,
    threshold: Option<Threshold>,
    #[serde(default)]
    decision_type: String,
    #[serde(default)]
    default_left: bool,
    #[serde(default)]
    missing_type: String,
    internal_count: Option<f64>,
    left_child: Option<Box<Node>>,
    right_child: Option<Box<Node>>,
    leaf_value: Option<f64>,
    leaf_count: Option<f64>,
    leaf_coeff: Option<Vec<f64>>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Threshold {
    Number(f64),
    /// Category codes, separated by `||`.
    Codes(String),
}

/// Keys that do not affect scores.
const HARMLESS: &str = "name label_index max_feature_idx monotone_constraints feature_importances tree_index num_leaves num_cat \
     shrinkage split_index internal_value internal_weight leaf_index leaf_weight leaf_const leaf_features \
     parameters";

pub(super) fn read_json(text: &str, control: &Control) -> Result<ImportedModel> {
    let document: Document = json(text, HARMLESS)?;
    check_version(&document.version)?;
    check_outputs(document.num_class.max(document.num_tree_per_iteration))?;
    let mut memory = control.memory().nothing();
    check_width(document.feature_names.len(), &mut memory)?;
    let is_category = |name: &str| {
        let values = document.feature_infos.get(name).and_then(|info| info.get("values"));
        values.and_then(Value::as_array).is_some_and(|values| !values.is_empty())
    };
    let feature = |name: &String| Feature { is_category: is_category(name), ..Feature::number(name) };
    let mut features: Vec<Feature> = document.feature_names.iter().map(feature).collect();
    let factor = if document.average_output { 1.0 / document.tree_info.len().max(1) as f64 } else { 1.0 };
    let width = features.len();
    let mut builder = Builder::new(width, 0.0, false);
    for Tree { tree_structure } in &document.tree_info {
        builder.add_nested(tree_structure, |node, sets| read_node(node, factor, sets, &mut features))?;
    }
    if let Some(lists) = &document.pandas_categorical {
        add_categories(&mut features, lists, &[])?;
    }
    let source = Source::new(Format::LightGbm, document.version, document.objective);
    Ok(ImportedModel { source, features, function: Function::Trees(builder.finish(width)?) })
}

/// A node of a tree.
fn read_node<'a>(
    node: &'a Node,
    factor: f64,
    sets: &mut Sets,
    features: &mut [Feature],
) -> Result<Nested<&'a Node>, String> {
    if node.leaf_coeff.is_some() {
        return Err("linear functions in leaves (linear_tree) are not supported".to_owned());
    }
    let (left_child, right_child) = match (&node.left_child, &node.right_child, node.leaf_value) {
        (Some(left), Some(right), None) => (left, right),
        (None, None, Some(value)) => {
            return Ok(Nested::Leaf(value * factor, node.leaf_count.unwrap_or(f64::NAN)));
        }
        _ => return Err("a node needs either a single 'leaf_value', or two children".to_owned()),
    };
    let feature = node.split_feature.ok_or("a node has children but no 'split_feature'")?;
    let (test, threshold) = match (node.decision_type.as_str(), &node.threshold) {
        // The JSON uses 1e300 for infinity.
        ("<=", Some(Threshold::Number(1e300..))) => (at_most(f64::INFINITY), f64::INFINITY),
        ("<=", Some(Threshold::Number(threshold))) => (at_most(*threshold), *threshold),
        ("==", Some(Threshold::Codes(codes))) => {
            let wrong = |_| format!("the categories '{}' are not numbers", shorten(codes));
            let codes = codes.split("||").map(str::parse).collect::<Result<Vec<u32>, _>>().map_err(wrong)?;
            if let Some(feature) = features.get_mut(feature) {
                feature.is_category = true;
            }
            (Test::In(sets.add(codes)), 0.0)
        }
        (decision, _) => return Err(format!("a split with decision_type '{}'", shorten(decision))),
    };
    let missing = match node.missing_type.as_str() {
        "None" => Missing::None,
        "Zero" => Missing::Zero,
        "NaN" => Missing::Nan,
        other => return Err(format!("a split with missing_type '{}'", shorten(other))),
    };
    let is_set = matches!(test, Test::In(_));
    let (missing_left, zero_is_missing) = missing.directions(is_set, node.default_left, threshold);
    let (gain, cover) = (node.split_gain.unwrap_or(f64::NAN), node.internal_count.unwrap_or(f64::NAN));
    let split = RawSplit { zero_is_missing, gain, cover, ..RawSplit::new(feature, test, missing_left) };
    Ok(Nested::Split(split, left_child, right_child))
}
