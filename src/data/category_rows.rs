//! Source rows whose values are unknown to a model's category.

use crate::base::shorten;

/// Values of a category, in the rows of a source.
#[derive(Debug, Clone, Default)]
pub struct CategoryRows {
    /// Rows with a value that has neither a feature nor a mean.
    pub(super) unknown: usize,
    /// Rows with NULL.
    pub(super) null: usize,
    /// The first of the values.
    pub(super) example: Option<Box<str>>,
}

impl CategoryRows {
    /// Counts a row with a value that has neither a feature nor a mean, or with NULL.
    pub(super) fn add(&mut self, value: Option<&str>) {
        match value {
            None => self.null += 1,
            Some(value) => {
                self.unknown += 1;
                self.example.get_or_insert_with(|| shorten(value).into());
            }
        }
    }
}
