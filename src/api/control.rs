//! A handle for other threads to stop training or ranking, or to watch its progress.

use std::sync::Arc;

use crate::base::control;

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
