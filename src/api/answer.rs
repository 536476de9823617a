//! A model's answers: rows, with warnings and other information for the caller.

use std::ops::Deref;

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
