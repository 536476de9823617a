//! Trees of any shape for other programs.
//!
//! A program that compares 32-bit floats gets thresholds between which no such number lies, so none changes its side.
//! Scores are those of the model up to the rounding of the leaves to 32 bits. What a program cannot do is refused.

mod engines;
mod lightgbm;
mod sql;
mod xgboost;

pub(super) use sql::expression;

use serde_json::Value;

use super::{Format, Term};
use crate::base::{Error, Result, shorten};
use crate::data::{Missing, Scaling};
use crate::learn::space::WeightsOf;
use crate::math::single_above;
use crate::model::imported::Feature;
use crate::model::{self, GeneralTrees};
use crate::trees::general::{Builder, GeneralForest, ObliviousTree, Question, Split, Test, oblivious_nodes};

/// Most codes of a category: XGBoost's limit.
const MOST_CODES: u32 = 1 << 24;

/// What matters for a model that is written.
#[derive(Debug, Clone, Copy, Default)]
struct WriteOptions {
    /// Whether documents have all features, so that it does not matter where splits send missing values.
    documents_are_complete: bool,
}

/// Trees to be written.
struct Trees<'a> {
    forest: &'a GeneralForest,
    features: &'a [Feature],
    options: WriteOptions,
}

/// A model of trees that is written.
pub(super) struct Model {
    forest: GeneralForest,
    features: Vec<Feature>,
    options: WriteOptions,
}

/// Trees of another library.
pub(super) fn of_import(model: &model::Model, trees: &GeneralTrees) -> Model {
    let features = trees.features(&model.card);
    Model { forest: trees.forest.clone(), features, options: WriteOptions::default() }
}

/// Why functions are no trees that can be written.
pub(super) fn check(terms: &[Term<'_>]) -> Result<(), String> {
    let others: Vec<&str> = terms.iter().filter(|term| !term.is_trees()).map(kind_of).collect();
    if !others.is_empty() {
        let (count, trees) = (others.len(), terms.len() - others.len());
        return Err(format!(
            "it is an average of {trees} ensembles of trees and of {count} other functions ({}); train 'boosted_trees', \
             which is trees alone",
            others.join(", ")
        ));
    }
    match terms.iter().find(|term| !matches!(term.scaling, Scaling::None)) {
        None => Ok(()),
        Some(term) => Err(format!(
            "its trees compare features with the scaling \"{}\"; train 'boosted_trees' with \"scale\": \"none\"",
            term.scaling.kind().name()
        )),
    }
}

/// The name of what a function is.
fn kind_of(term: &Term<'_>) -> &'static str {
    match term.space.weights_of() {
        WeightsOf::Features => "linear",
        _ => "kernel",
    }
}

/// The oblivious trees of functions.
pub(super) fn of_terms(model: &model::Model, terms: &[Term<'_>]) -> Result<Model> {
    let (card, n) = (&model.card, model.card.features.len());
    let mut builder = Builder::new(n, 0.0, false);
    for term in terms {
        let WeightsOf::Leaves(forest) = term.space.weights_of() else { continue };
        let splits: Vec<crate::trees::Split> = forest.splits().collect();
        let (trees, leaves) =
            (splits.chunks_exact(forest.depth()), term.weights.chunks_exact(1 << forest.depth()));
        for (splits, values) in trees.zip(leaves) {
            let question = |split: &crate::trees::Split| Question {
                feature: split.feature,
                test: Test::AtMost(split.border),
                pass_is_above: false,
                // A missing value goes where its replacement goes.
                missing_above: match card.missing {
                    Missing::Branch | Missing::Error => split.missing_above,
                    Missing::Zero => split.is_above(0.0),
                    Missing::Mean => split.is_above(card.means[split.feature]),
                },
            };
            let questions: Vec<Question> = splits.iter().map(question).collect();
            builder.add(&oblivious_nodes(&ObliviousTree { questions: &questions, values, covers: &[] }))?;
        }
    }
    let features = card.features.iter().map(Feature::number).collect();
    let options = WriteOptions { documents_are_complete: card.missing == Missing::Error };
    Ok(Model { forest: builder.finish(n)?, features, options })
}

/// The text of a model in a format, or why it has none there.
pub(super) fn text(model: Result<Model>, name: &str, format: Format) -> Result<String, String> {
    let written = model.and_then(|model| {
        let Model { forest, features, options } = &model;
        let trees = Trees { forest, features, options: *options };
        match format {
            Format::LightGbm => lightgbm::text(&trees),
            Format::XgBoost => xgboost::text(&trees),
            Format::Elasticsearch | Format::OpenSearch => engines::plugin(&trees, name),
            Format::Solr => engines::solr(&trees, name),
            Format::Json | Format::Sql => Err(Error::Internal("trees in another format".to_owned())),
        }
    });
    written.map_err(|error| error.to_string())
}

/// A numeric split of a program that compares 32-bit floats.
struct SingleSplit {
    /// Values below it take the first branch.
    below: f32,
    /// Whether the first branch is the right child of the split.
    is_swapped: bool,
    /// Whether missing values take the first branch.
    missing_first: bool,
}

impl Trees<'_> {
    /// The error of a split.
    fn refused(&self, tree: usize, split: &Split<'_>, problem: &str) -> Error {
        let name = shorten(&self.features[split.feature].name);
        Error::Unsupported(format!("tree {tree}, split of '{name}': {problem}"))
    }

    /// A value of a leaf, or the start, as a 32-bit float.
    fn single(value: f64) -> Result<f32> {
        let single = value as f32;
        if single.is_finite() {
            return Ok(single);
        }
        Err(Error::Unsupported(format!("a leaf with the value {value:e}, which is no 32-bit float")))
    }

    /// A numeric split for programs with values `x < below`.
    fn single_split(&self, tree: usize, split: &Split<'_>) -> Result<SingleSplit> {
        if split.zero_is_missing {
            return Err(self.refused(
                tree,
                split,
                "0 counts as missing there, which the format cannot express",
            ));
        }
        let below = single_above(split.threshold);
        if below.is_finite() {
            return Ok(SingleSplit { below, is_swapped: false, missing_first: split.missing_left });
        }
        // All numbers go left: they are not below the smallest number, so they take the second branch.
        Ok(SingleSplit { below: f32::MIN, is_swapped: true, missing_first: !split.missing_left })
    }

    /// The set of a split of categories, with codes that all programs have.
    fn checked_set<'b>(&self, tree: usize, split: &Split<'b>, set: &'b [u32]) -> Result<&'b [u32]> {
        match set.last() {
            Some(code) if *code >= MOST_CODES => {
                Err(self.refused(tree, split, &format!("the category {code}; at most {}", MOST_CODES - 1)))
            }
            _ => Ok(set),
        }
    }
}

/// A text in JSON.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// Numbers with something between them.
fn joined<T: std::fmt::Debug>(numbers: &[T], between: &str) -> String {
    numbers.iter().map(|number| format!("{number:?}")).collect::<Vec<String>>().join(between)
}
