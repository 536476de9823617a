//! Reads models from text: the JSON that `export` writes, and models of other libraries.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::json::{FindName, not_a_model, read as read_json};
use super::parse::parsed_bytes;
use super::reader::{Reader, text_of, unknown};
use super::{Format, Function as Imports, ImportedModel, LinearModel, SMALLER, Source};
use crate::base::{Control, Error, Reservation, Result, checkpoint, json_problem, shorten};
use crate::data::{Categories, Category, Missing, Scaling, repeated_name};
use crate::learn::space::{AnySpace, Form, Function, Member, Space, SumSpace};
use crate::model::{Card, GeneralTrees, IMPORTED, Linear, Model, Ranker, TreeInput};
use crate::trees::general::{Feature, GeneralForest};
use crate::trees::{Forest, Split};

/// Most bytes of memory per byte of [`Format::Json`]: four quantile points of a feature are at least 25 bytes of text,
/// and take
/// 1,300 with the feature's name. Settings take twice as much, but at most [`SETTINGS_BYTES`].
const PARSED_BYTES: u64 = 64;
const SETTINGS_BYTES: u64 = 80_000_000;

/// Bytes for another library's column or a category value until the model is stored: names are in several tables.
const COLUMN_BYTES: u64 = 500;

/// Most values over all categories of an imported model. Each is a number in every row.
const MOST_VALUES: usize = 10_000;

/// Options for reading text.
#[derive(Debug, Clone, Default)]
pub struct ImportSpec {
    /// The format; by default, detected from the text.
    pub format: Option<String>,
    /// Column names for features that have other names in the text.
    pub names: Map<String, Value>,
}

/// An imported model.
pub struct Imported {
    pub model: Model,
    /// Warnings for the caller.
    pub warnings: Vec<String>,
    /// Memory reserved for reading. Storing needs no more than that, so keep it until then.
    pub memory: Reservation,
}

/// Reads a model from an untrusted text.
///
/// # Errors
/// Text that is not a supported model, with the location; names that do not match; an interrupt; too much memory.
pub fn import(
    bytes: &[u8],
    spec: &ImportSpec,
    find_algorithm: FindName,
    control: &Control,
) -> Result<Imported> {
    let format = spec.format.as_deref().map(Format::to_read).transpose()?;
    if format == Some(Format::Json) || format.is_none() && is_own(bytes) {
        return own(bytes, spec, find_algorithm, control);
    }
    let text = text_of(bytes)?;
    let text = &*text;
    let what = format_args!("reading a model of {} bytes", text.len());
    let mut memory = control.reserve(parsed_bytes(text), what, SMALLER)?;
    let reader = Reader::of(text).map_err(|problem| not_a_model(bytes, &json_problem(&problem)))?;
    let reader = match (format, reader) {
        (Some(format), Some(reader)) => reader.expect(format, text)?,
        (Some(_), None) => return Err(unknown(text)),
        (None, Some(reader)) => reader,
        (None, None) => {
            drop(memory);
            return own(bytes, spec, find_algorithm, control);
        }
    };
    let mut read = reader.read(text, control)?;
    let columns: usize = read.features.iter().map(|feature| 1 + feature.categories.len()).sum();
    let what = format_args!("a model with {columns} columns and values of categories");
    memory.add(COLUMN_BYTES * columns as u64, what, SMALLER)?;
    rename(&mut read.features, &spec.names)?;
    let warnings = warnings(&read);
    checkpoint();
    let model = model_of(read)?;
    checkpoint();
    model.check()?;
    Ok(Imported { model, warnings, memory })
}

/// Reads a model in the format [`Format::Json`].
fn own(bytes: &[u8], spec: &ImportSpec, find_algorithm: FindName, control: &Control) -> Result<Imported> {
    let parsed = (bytes.len() as u64).saturating_mul(PARSED_BYTES);
    let parsed = parsed.saturating_add(parsed.min(SETTINGS_BYTES));
    let what = format_args!("reading {} bytes of JSON", bytes.len());
    let memory = control.reserve(parsed, what, "copy the row of ltr_models instead")?;
    if !spec.names.is_empty() {
        let problem =
            "option 'names' is for models of other libraries; the format 'json' has the names of columns";
        return Err(Error::Unsupported(problem.to_owned()));
    }
    Ok(Imported { model: read_json(bytes, find_algorithm)?, warnings: Vec::new(), memory })
}

/// Whether text begins like the JSON of `ltr_export`. Then skip detecting the format, which would read all of the text.
fn is_own(text: &[u8]) -> bool {
    let mark = b"sqlite-ltr model";
    text[..text.len().min(200)].windows(mark.len()).any(|part| part == mark)
}

/// Renames features to columns.
fn rename(features: &mut [Feature], names: &Map<String, Value>) -> Result<()> {
    let places: HashMap<String, usize> =
        features.iter().enumerate().map(|(at, feature)| (feature.name.clone(), at)).collect();
    for (name, column) in names {
        let Some(place) = places.get(name) else {
            let known = features.iter().map(|feature| feature.name.as_str());
            return Err(Error::unknown_in("feature", name, " in the option 'names'", known));
        };
        let Some(column) = column.as_str() else {
            let what = format!("option 'names', feature '{}'", shorten(name));
            return Err(Error::value(what, column.to_string(), "the name of a column"));
        };
        column.clone_into(&mut features[*place].name);
    }
    let column_names: Vec<String> = features.iter().map(|feature| feature.name.clone()).collect();
    checkpoint();
    match repeated_name(&column_names) {
        None => Ok(()),
        Some(name) => {
            let got = format!("two features of the column '{}'", shorten(name));
            let allowed = "a column for each feature; column names must differ by more than case";
            Err(Error::value("option 'names'", got, allowed))
        }
    }
}

/// Warnings about an imported model.
fn warnings(read: &ImportedModel) -> Vec<String> {
    let (Imports::Trees(forest), Some(best)) = (&read.function, read.source.best_round) else {
        return Vec::new();
    };
    let rounds = forest.trees() / read.source.trees_per_round;
    if best + 1 >= rounds {
        return Vec::new();
    }
    vec![format!(
        "training stopped early: the best round is {} of {rounds}, and scores use all rounds; for the best one, \
         save the first rounds (XGBoost: booster[:{}].save_model)",
        best + 1,
        best + 1
    )]
}

/// Converts another library's model to a model of this library.
fn model_of(read: ImportedModel) -> Result<Model> {
    let ImportedModel { source, features, function } = read;
    let columns = Columns::of(features)?;
    let n = columns.names.len();
    match function {
        Imports::Trees(forest) => {
            let settings = settings(&source, Some(&forest));
            let trees = GeneralTrees::new(n, columns.inputs.clone(), forest);
            let ranker = Ranker::GeneralTrees(Box::new(trees));
            Ok(Model::new(card(columns, Missing::Branch, settings), Scaling::None, ranker))
        }
        Imports::Linear(linear) => {
            let (scaling, ranker) = linear_ranker(&linear, n)?;
            // A missing feature counts as 0 before it is scaled.
            checkpoint();
            Ok(Model::new(card(columns, Missing::Zero, settings(&source, None)), scaling, ranker))
        }
    }
}

/// The columns of the features.
struct Columns {
    /// Names of the features: numbers, then categories.
    names: Vec<String>,
    categories: Categories,
    /// The input for each feature of the library.
    inputs: Vec<TreeInput>,
}

impl Columns {
    fn of(features: Vec<Feature>) -> Result<Self> {
        // 1. Numbers first, then categories sorted by name.
        let mut inputs = vec![TreeInput::Number(0); features.len()];
        let (mut names, mut texts) = (Vec::new(), Vec::new());
        for (at, feature) in features.into_iter().enumerate() {
            // Without texts, category codes are used as numbers.
            if feature.categories.is_empty() {
                inputs[at] = TreeInput::Number(names.len());
                names.push(feature.name);
            } else {
                texts.push((at, feature));
            }
        }
        texts.sort_by(|(_, a), (_, b)| a.name.cmp(&b.name));
        let values: usize = texts.iter().map(|(_, feature)| feature.categories.len()).sum();
        if values > MOST_VALUES {
            let problem =
                format!("categories with {values} values, each a number in every row; at most {MOST_VALUES}");
            return Err(Error::Unsupported(format!(
                "{problem}; train with fewer values, or with their codes as numbers"
            )));
        }
        // Codes of each category's values.
        let mut first = names.len();
        let mut categories = Vec::with_capacity(texts.len());
        for (at, Feature { name, categories: texts, .. }) in texts {
            let values = spellings(&texts);
            let value_texts = values.iter().map(|(text, _)| (*text).to_owned()).collect();
            let category = Category::of_values(name.clone(), value_texts).map_err(|problem| {
                Error::Unsupported(format!("a category '{}' with {problem}", shorten(&name)))
            })?;
            let mut codes = vec![0; values.len()];
            for (text, code) in values {
                codes[category.feature_of(Some(text))] = code;
            }
            inputs[at] = TreeInput::Category { first, codes };
            first += category.width();
            categories.push(category);
        }
        let categories = Categories::from(categories);
        checkpoint();
        names.extend(categories.feature_names());
        categories.check_names(&names).map_err(|name| {
            Error::Unsupported(format!(
                "the features have the name '{}' twice; rename one with the option 'names'",
                shorten(&name)
            ))
        })?;
        Ok(Self { names, categories, inputs })
    }
}

/// A category's values with their codes. Truth values have the spellings of SQL, JSON and Python.
fn spellings(texts: &[String]) -> Vec<(&str, u32)> {
    const FALSE: [&str; 3] = ["0", "False", "false"];
    const TRUE: [&str; 3] = ["1", "True", "true"];
    let of = |text: &str| [FALSE, TRUE].into_iter().find(|all| all[1..].contains(&text));
    let are_booleans = texts.len() <= 2 && texts.iter().all(|text| of(text).is_some());
    let values = (0..).zip(texts);
    if !are_booleans {
        return values.map(|(code, text)| (text.as_str(), code)).collect();
    }
    values.flat_map(|(code, text)| of(text).into_iter().flatten().map(move |text| (text, code))).collect()
}

fn card(columns: Columns, missing: Missing, settings: Value) -> Card {
    Card {
        algorithm: IMPORTED.to_owned(),
        means: vec![0.0; columns.names.len()],
        features: columns.names,
        categories: columns.categories,
        missing,
        settings,
        summary: json!({}),
        ..Card::default()
    }
}

/// Facts about an imported model for `ltr_info`.
fn settings(source: &Source, forest: Option<&GeneralForest>) -> Value {
    let or_null = |text: &str| if text.is_empty() { Value::Null } else { Value::from(text) };
    json!({
        "format": source.format.name(),
        "library_version": or_null(&source.version),
        "objective": or_null(&source.objective),
        "trees": forest.map(GeneralForest::trees),
        "best_round": source.best_round,
    })
}

/// A weighted sum as a linear function of scaled features. A bias is a tree whose leaves have the same value.
fn linear_ranker(model: &LinearModel, n: usize) -> Result<(Scaling, Ranker)> {
    let (mut weights, mut moments, mut is_used) = (vec![0.0; n], vec![(0.0, 1.0); n], vec![false; n]);
    for term in &model.terms {
        if std::mem::replace(&mut is_used[term.feature], true) {
            return Err(Error::Unsupported("a linear model with two weights of a feature".to_owned()));
        }
        weights[term.feature] = term.weight;
        moments[term.feature] = (term.center, term.factor);
    }
    let is_scaled = model.terms.iter().any(|term| (term.center, term.factor) != (0.0, 1.0));
    let scaling = if is_scaled { Scaling::Standard(moments) } else { Scaling::None };
    let space = Space::linear(n, Form::Scoring);
    let ranker = |space: AnySpace, weights: Vec<f64>| {
        Ranker::Linear(Linear::new(space, Function { weights, objective: 0.0, gap: 0.0 }))
    };
    if model.bias.abs() <= 0.0 {
        return Ok((scaling, ranker(AnySpace::One(space), weights)));
    }
    let split = Split { feature: 0, threshold: 0.0, missing_above: false };
    let constant = Space::of_trees(n, Forest::new(1, &[split]));
    weights.extend([model.bias; 2]);
    let member = |scaling: Scaling, space| Member { scaling: scaling.into(), space };
    let members = vec![member(scaling, space), member(Scaling::None, constant)];
    Ok((Scaling::None, ranker(AnySpace::Sum(SumSpace::new(n, members)), weights)))
}
