//! One round of a training in buckets.

use super::replay::Replay;
use super::sums::BucketSums;
use crate::base::{Control, Error, Result};
use crate::data::Dataset;
use crate::train::algorithm::{Trained, TrainingSpec};
use crate::train::report::DataCounts;

/// The error for a choice that training in buckets does not support.
pub fn unsupported(problem: &str) -> Error {
    Error::Unsupported(format!("training in buckets: {problem}"))
}

/// A training that asks buckets for sums, round by round.
pub trait BucketTraining: Send + Sync {
    /// The same training on rows.
    fn spec(&self) -> &dyn TrainingSpec;

    /// Refuses rounds on several machines, for a training that keeps bucket data in memory.
    ///
    /// # Errors
    /// [`Error::Unsupported`] with what to do instead.
    fn check_rounds(&self) -> Result<()> {
        Ok(())
    }

    /// Runs the training over the recorded answers. Returns the result, or `None` if questions are open.
    ///
    /// # Errors
    /// Data that it cannot learn from, a limit, an interrupt.
    fn run(&self, replay: &mut Replay, control: &Control) -> Result<Option<Outcome>>;

    /// The answers of a bucket to the questions of the round. Missing features are NaN.
    ///
    /// # Errors
    /// Rows that it cannot learn from; questions that [`Self::run`] does not ask; an interrupt.
    fn answer(
        &self,
        replay: &Replay,
        bucket: u32,
        data: Dataset,
        control: &Control,
    ) -> Result<Vec<BucketSums>>;
}

/// The result of a training in buckets.
pub struct Outcome {
    /// The result of the fits.
    pub trained: Trained,
    /// Counts of all rows.
    pub counts: DataCounts,
    /// Mean of each feature over the rows that have it.
    pub means: Vec<f64>,
    /// Number of missing features that were replaced.
    pub missing_filled: usize,
}
