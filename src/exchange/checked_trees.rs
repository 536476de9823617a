//! Trees of any shape, written for other programs.
//!
//! For programs that compare 32-bit floats, thresholds are moved without passing any such number, so none changes
//! sides. Scores equal the model's scores up to rounding of the leaves to 32 bits. What a program cannot express is
//! refused.

use super::term::Term;
use crate::base::{Error, Memory, Result, bytes_of, shorten};
use crate::data::{Missing, Scaling};
use crate::learn::space::WeightsOf;
use crate::math::single_above;
use crate::model::{self, GeneralTrees};
use crate::trees::general::{
    Builder, Feature, GeneralForest, ObliviousTree, Question, Split, Test, oblivious_nodes,
};
use std::borrow::Cow;

/// Largest number of text bytes per model byte.
const LONGEST_OF_BYTE: usize = 100;

/// Advice for a text that is too long.
pub(super) const FEWER_TREES: &str =
    "use fewer trees or shorter names (import the model with the option 'names')";

/// Trees to be written.
pub(super) struct Trees<'a> {
    pub(super) forest: Cow<'a, GeneralForest>,
    pub(super) features: Vec<Feature>,
    /// Whether documents have all features, so it does not matter where splits send missing values.
    pub(super) documents_are_complete: bool,
}

/// Trees from another library.
pub(super) fn of_import<'a>(model: &model::Model, trees: &'a GeneralTrees) -> Trees<'a> {
    let (forest, features) = (Cow::Borrowed(&trees.forest), trees.features(&model.card));
    Trees { forest, features, documents_are_complete: false }
}

/// Why functions cannot be written as trees.
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

/// The name of a function's kind.
fn kind_of(term: &Term<'_>) -> &'static str {
    match term.space.weights_of() {
        WeightsOf::Features => "linear",
        _ => "kernel",
    }
}

/// The oblivious trees of functions.
pub(super) fn of_terms(model: &model::Model, terms: &[Term<'_>], memory: &Memory) -> Result<Trees<'static>> {
    let (card, n) = (&model.card, model.card.features.len());
    let leaves: usize = terms.iter().map(|term| term.weights.len()).sum();
    let _forest = memory.reserve(bytes_of::<[f64; 12]>(leaves), "the trees of the model", FEWER_TREES)?;
    let mut builder = Builder::new(n, 0.0, false);
    for term in terms {
        let WeightsOf::Leaves(forest) = term.space.weights_of() else { continue };
        let splits: Vec<crate::trees::Split> = forest.splits().collect();
        let (trees, leaves) =
            (splits.chunks_exact(forest.depth()), term.weights.chunks_exact(1 << forest.depth()));
        for (splits, values) in trees.zip(leaves) {
            let question = |split: &crate::trees::Split| Question {
                feature: split.feature,
                test: Test::AtMost(split.threshold),
                pass_is_above: false,
                // Missing values go where their replacement goes.
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
    let documents_are_complete = card.missing == Missing::Error;
    Ok(Trees { forest: Cow::Owned(builder.finish(n)?), features, documents_are_complete })
}

/// The first child of a split, the text between children, the second child, and the end.
pub(super) type Children = (usize, &'static str, usize, &'static str);

/// A numeric split for a program that compares 32-bit floats.
pub(super) struct SingleSplit {
    /// Values below it take the first branch.
    pub(super) below: f32,
    /// Whether the first branch is the right child of the split.
    pub(super) is_swapped: bool,
    /// Whether missing values take the first branch.
    pub(super) missing_first: bool,
}

impl Trees<'_> {
    /// Largest text in bytes, in proportion to the model. Only very long names or sets that repeat often exceed it.
    pub(super) fn longest(&self) -> usize {
        let features = self.features.iter().map(|feature| {
            64 + feature.name.len() + feature.categories.iter().map(String::len).sum::<usize>()
        });
        let stored = 1000 + features.sum::<usize>() + 16 * self.forest.nodes() + 4 * self.forest.members();
        LONGEST_OF_BYTE.saturating_mul(stored)
    }

    /// The error for a split.
    pub(super) fn refused(&self, tree: usize, split: &Split<'_>, problem: &str) -> Error {
        let name = shorten(&self.features[split.feature].name);
        Error::Unsupported(format!("tree {tree}, split of '{name}': {problem}"))
    }

    /// A leaf value, or the initial score, as a 32-bit float.
    pub(super) fn single(value: f64) -> Result<f32> {
        let single = value as f32;
        if single.is_finite() {
            return Ok(single);
        }
        Err(Error::Unsupported(format!("a leaf with the value {value:e}, which is not a 32-bit float")))
    }

    /// A numeric split for programs with values `x < below`.
    pub(super) fn single_split(&self, tree: usize, split: &Split<'_>) -> Result<SingleSplit> {
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
        // All numbers go left. None is below the smallest number, so all take the second branch.
        Ok(SingleSplit { below: f32::MIN, is_swapped: true, missing_first: !split.missing_left })
    }
}
