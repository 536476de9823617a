//! Algorithms: the table of named presets over one grid of smoothing x loss x kernel x penalty x solver.
//!
//! To add an algorithm, write its file with a `DEF` and add it to [`ALGORITHMS`]; the SQL help, option checking, the
//! conformance suite and the decoding of its models follow from the table.

mod auto;
mod cofi_rank;
mod grid;
pub mod perceptron;
pub mod report;

use serde_json::Value;

use crate::control::Control;
use crate::data::{ColumnSummary, Dataset, RowOrder, Scaling, ScalingKind};
use crate::error::{Error, Result};
use crate::model::Ranker;
use crate::smoothing;

pub use grid::{Choice, LambdaChoice, Prior, Recipe, Validation, Weighting, missing};

/// One named algorithm.
#[derive(Debug)]
pub struct AlgorithmDef {
    /// Name in SQL.
    pub name: &'static str,
    /// One line for people.
    pub summary: &'static str,
    /// What is minimized, in ASCII, with the convention of lambda.
    pub objective: &'static str,
    /// Authors, year, equation.
    pub source: &'static str,
    /// Which queries count, unless the option `smoothing` says otherwise.
    pub smoothing: smoothing::Kind,
    /// What misplaced documents cost, unless the option `loss` says otherwise.
    pub loss: &'static str,
    /// What keeps functions simple, unless the option `penalty` says otherwise.
    pub penalty: &'static str,
    /// What the penalty pulls to, unless the option `prior` says otherwise.
    pub prior: &'static str,
    /// Scaling of document features, unless the option `scale` says otherwise.
    pub scale: ScalingKind,
    /// The order in which it is given its documents.
    pub order: RowOrder,
    /// Whether it reads document features; without, it knows queries and documents by their ids.
    pub features: bool,
    /// Params it takes besides those of every training.
    pub parameters: &'static [&'static str],
    /// Fits it.
    pub train: fn(&Recipe, TrainingSet, &Control) -> Result<Trained>,
    /// Goes on from a fitted model with more documents, where it can.
    pub go_on: Option<GoOn>,
}

/// Every algorithm.
pub const ALGORITHMS: &[&AlgorithmDef] = &all();

const PRESETS: &[AlgorithmDef] = grid::presets::PRESETS;

/// Algorithms with a trainer of their own.
const OTHERS: &[&AlgorithmDef] = &[&auto::DEF, &perceptron::DEF, &cofi_rank::DEF];

const fn all() -> [&'static AlgorithmDef; PRESETS.len() + OTHERS.len()] {
    let mut all = [OTHERS[0]; PRESETS.len() + OTHERS.len()];
    let mut index = 0;
    while index < all.len() {
        all[index] = if index < PRESETS.len() { &PRESETS[index] } else { OTHERS[index - PRESETS.len()] };
        index += 1;
    }
    all
}

/// What goes on from a fitted model with more documents.
pub type GoOn = fn(Earlier<'_>, TrainingSet, &Control) -> Result<Trained>;

/// The parts of a fitted model that an algorithm goes on from.
#[derive(Debug, Clone, Copy)]
pub struct Earlier<'a> {
    /// The fitted ranker.
    pub ranker: &'a Ranker,
    /// The scaling of its features.
    pub scaling: &'a Scaling,
}

/// What an algorithm learns from.
#[derive(Debug)]
pub struct TrainingSet {
    /// Judged documents, at least one.
    pub data: Dataset,
    /// Judged documents to validate on, where the caller names a source for it.
    pub validation: Option<Dataset>,
    /// Of each feature: the values that are there, those of earlier trainings that it goes on from too.
    pub summaries: Vec<ColumnSummary>,
}

/// What an algorithm leaves behind.
#[derive(Debug)]
pub struct Trained {
    /// The fitted ranker.
    pub ranker: Ranker,
    /// The scaling of its features.
    pub scaling: Scaling,
    /// The lambda of the fits; none without a penalty.
    pub lambda: Option<f64>,
    /// The lambda of the uniform function that others are pulled to or begin at, where there is one.
    pub prior_lambda: Option<f64>,
    /// How lambda was chosen, where it was.
    pub choice: Option<Choice>,
    /// Steps of the solver where one function is fitted, else one entry per fitted function.
    pub log: Vec<LogStep>,
    /// Functions fitted.
    pub functions: usize,
    /// Functions whose solver stopped before its tolerance was reached.
    pub unconverged: usize,
    /// What the caller should know.
    pub warnings: Vec<String>,
    /// More entries (a JSON object) of the report, which the model keeps.
    pub report: Value,
    /// More entries (a JSON object) of the report that the model does not keep.
    pub aside: Value,
}

/// One line of a training log.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LogStep {
    /// Objective.
    pub objective: f64,
    /// Certified distance from the optimum.
    pub gap: f64,
    /// Seconds since training began.
    pub seconds: f64,
}

/// The algorithm of this name.
///
/// # Errors
/// An unknown name, with the known ones.
pub fn find(name: &str) -> Result<&'static AlgorithmDef> {
    ALGORITHMS
        .iter()
        .find(|algorithm| algorithm.name == name)
        .copied()
        .ok_or_else(|| Error::unknown("algorithm", name, ALGORITHMS.iter().map(|algorithm| algorithm.name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique() {
        for (index, algorithm) in ALGORITHMS.iter().enumerate() {
            assert!(ALGORITHMS[..index].iter().all(|earlier| earlier.name != algorithm.name));
        }
    }

    #[test]
    fn an_unknown_algorithm_is_answered_with_the_nearest() {
        let error = find("qsvm").unwrap_err().to_string();
        assert!(error.starts_with("unknown algorithm 'qsvm', did you mean 'q_svm'?"), "{error}");
    }
}
