//! The Rust API: data from arrays or rows, training, ranking, evaluation. Everything here is re-exported at the crate root.

#![warn(missing_docs)]

mod categories;
mod dataset;
mod explain;
mod features;
mod model;
mod read_request;
mod recommend;
mod trainer;

use std::ops::Deref;
use std::sync::Arc;

use crate::base::control;

pub use crate::apply::FeatureWeight;
pub use dataset::{Dataset, Document};
pub use explain::{Contribution, Importance};
pub use features::Features;
pub use model::{Evaluation, ImportOptions, Model, ModelInfo, RankOptions, Ranked};
pub use recommend::{RecommendOptions, Recommended};
pub use trainer::{AlgorithmInfo, FoldScore, Trainer, algorithms};

// A model's answers: rows, with warnings and other information for the caller.

/// The rows of an answer. Dereferences to a slice.
///
/// ```
/// use sqlite_ltr::{Dataset, Trainer};
/// use ndarray::array;
///
/// let data = Dataset::from_arrays(array![[0.0], [1.0]], [1, 1], &[0.0, 1.0])?;
/// let model = Trainer::new("rank_svm").option("lambda", 0.1).fit(&data)?;
/// let ranking = model.rank(&data)?;
/// assert!(ranking.len() == 2 && ranking[0].row == 1 && ranking.warnings.is_empty());
/// # Ok::<(), sqlite_ltr::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Answer<T> {
    /// The rows.
    pub rows: Vec<T>,
    /// Warnings, as `ltr_debug()` shows them in SQL.
    pub warnings: Vec<String>,
}

impl<T> Deref for Answer<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.rows
    }
}

impl<T> IntoIterator for Answer<T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.rows.into_iter()
    }
}

impl<'a, T> IntoIterator for &'a Answer<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.rows.iter()
    }
}

// A handle for other threads to stop training or ranking, or to watch its progress.

/// Stops a computation from another thread and shows its progress. Clones share one state.
///
/// ```
/// use sqlite_ltr::{Control, Dataset, Error, Trainer};
/// use ndarray::array;
///
/// let data = Dataset::from_arrays(array![[0.0], [1.0]], [1, 1], &[0.0, 1.0])?;
/// let control = Control::new();
/// control.cancel(); // usually from another thread, through a clone
/// let stopped = Trainer::new("rank_svm").control(&control).fit(&data);
/// assert_eq!(stopped.unwrap_err(), Error::Interrupted);
/// # Ok::<(), sqlite_ltr::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Control(pub(super) Arc<control::Control>);

impl Control {
    /// Creates a handle that is not canceled.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks the computation to stop. It ends with [`Error::Interrupted`](crate::Error::Interrupted), usually within
    /// milliseconds. A canceled handle stays canceled.
    pub fn cancel(&self) {
        self.0.cancel();
    }

    /// Number of functions fitted and number announced so far. The second can grow during training.
    ///
    /// ```
    /// use sqlite_ltr::{Control, Dataset, Trainer};
    /// use ndarray::array;
    ///
    /// let data = Dataset::from_arrays(array![[0.0], [1.0]], [1, 1], &[0.0, 1.0])?;
    /// let control = Control::new();
    /// Trainer::new("rank_svm").option("lambda", 0.1).control(&control).fit(&data)?;
    /// let (done, announced) = control.progress();
    /// assert_eq!(done, announced);
    /// # Ok::<(), sqlite_ltr::Error>(())
    /// ```
    pub fn progress(&self) -> (usize, usize) {
        self.0.progress()
    }
}
