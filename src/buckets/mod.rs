//! Data sets in buckets: which bucket a query has, the bytes of a bucket's rows, sums over buckets, and trainings that
//! ask for such sums round by round.
//!
//! Buckets are the parts of a data set that engines move. A training needs no two of them in one place: each answers the
//! questions of a round, and answers are added (`docs/adr/0020-buckets.md`).

mod auto;
mod bytes;
mod grid;
pub mod pack;
mod replay;
pub mod rounds;
mod sample;
mod sums;
#[cfg(test)]
mod tests;
#[cfg(feature = "trees")]
mod trees;

use std::any::Any;

use crate::base::{Control, Error, Result};
use crate::data::Dataset;
use crate::train::algorithm::{Trained, TrainingSpec};
use crate::train::auto::AutoSpec;
use crate::train::grid::GridSpec;
use crate::train::perceptron::PerceptronSpec;
use crate::train::report::DataFacts;

pub use bytes::{Kind, Reader, Writer, check_bytes};
pub use replay::{Asking, Decoded, FOLDS, Part, Question, Replay};
pub use sample::{Sample, Unit};
pub use sums::{Answer, BucketSums, Round};

// Interface of training in buckets, and the algorithms that have it.

/// What a bucket is asked in a round.
pub struct Asked<'a> {
    /// The questions and the results so far.
    pub replay: &'a Replay,
    /// What the results of earlier tasks decode to.
    pub decoded: &'a Decoded,
    /// The control of the call.
    pub control: &'a Control,
}

/// A training that asks buckets for sums, round by round.
pub trait BucketTraining {
    /// Runs the training over the recorded answers. The result, or `None` if there are questions. `names`: the names of
    /// the features; empty if they are numbered.
    ///
    /// # Errors
    /// Data that it cannot learn from, a limit, an interruption.
    fn run(&self, replay: &mut Replay, names: &[String], control: &Control) -> Result<Option<Outcome>>;

    /// The answers of a bucket to the questions of the round. Missing features are NaN. All calls of a training share
    /// `decoded`.
    ///
    /// # Errors
    /// Rows that it cannot learn from; questions that [`Self::run`] does not ask; an interruption.
    fn answer(&self, asked: &Asked<'_>, bucket: u32, data: Dataset) -> Result<Vec<BucketSums>>;
}

/// A training in buckets in one process.
pub type InProcess = Box<dyn BucketTraining + Send + Sync>;

/// The name of the trait, as for `TrainingSpec`.
/// The result of a training in buckets.
pub struct Outcome {
    /// The result of the fits.
    pub trained: Trained,
    /// Counts of all rows.
    pub facts: DataFacts,
    /// Mean of each feature over the rows that have it.
    pub means: Vec<f64>,
    /// Number of missing features that were replaced.
    pub missing_filled: usize,
}

/// How a training runs in rounds.
///
/// # Errors
/// [`Error::Unsupported`] with the reason why it does not.
pub fn in_rounds(spec: &dyn TrainingSpec) -> Result<&dyn BucketTraining> {
    let spec: &dyn Any = spec;
    #[cfg(feature = "trees")]
    trees::refuse_rounds(spec)?;
    let problem = if let Some(grid) = spec.downcast_ref::<GridSpec>() {
        return grid::check(grid).map(|()| grid as &dyn BucketTraining);
    } else if let Some(auto) = spec.downcast_ref::<AutoSpec>() {
        return Ok(auto);
    } else if spec.is::<PerceptronSpec>() {
        "'perceptron' reads the documents one query after the other, so it does not train in buckets; train it on rows"
    } else {
        "'cofi_rank' learns from ids of users and items, so it does not train in buckets of queries; train it on rows"
    };
    Err(Error::Unsupported(problem.to_owned()))
}

/// How a training runs if one process reads all buckets, in case that differs from [`in_rounds`]. What it keeps of its
/// buckets is not in states.
///
/// # Errors
/// [`Error::Unsupported`] with the choice that stands against it.
pub fn in_process(spec: &dyn Any) -> Result<Option<InProcess>> {
    #[cfg(feature = "trees")]
    return trees::in_process(spec);
    #[cfg(not(feature = "trees"))]
    Ok(None)
}
