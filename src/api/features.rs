//! Feature values of documents.

use ndarray::{Array2, ArrayView2};

use crate::base::{Error, Result};
use crate::data::{CategoryValue, DatasetBuilder, Id, Seen};
use crate::math::Element;

/// Feature values, one row per document.
///
/// `f64` is the precision of a REAL column in SQL; NaN means that the value is missing (see the option `missing`). `f32`
/// takes half the memory and must be finite.
///
/// ```
/// use sqlite_ltr::Features;
/// use ndarray::array;
///
/// let half: Features = array![[0.5_f32, 1.0]].into();
/// assert_eq!((half.rows(), half.columns()), (1, 2));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub enum Features {
    /// Single precision.
    F32(Array2<f32>),
    /// Double precision.
    F64(Array2<f64>),
}

impl Features {
    /// Number of documents.
    pub fn rows(&self) -> usize {
        match self {
            Self::F32(array) => array.nrows(),
            Self::F64(array) => array.nrows(),
        }
    }

    /// Number of features.
    pub fn columns(&self) -> usize {
        match self {
            Self::F32(array) => array.ncols(),
            Self::F64(array) => array.ncols(),
        }
    }

    /// # Errors
    /// An infinite value.
    pub(super) fn check(&self) -> Result<()> {
        let infinite = match self {
            Self::F32(array) => array.indexed_iter().find_map(infinite),
            Self::F64(array) => array.indexed_iter().find_map(infinite),
        };
        let Some(((row, column), value)) = infinite else { return Ok(()) };
        Err(Error::not_finite(format!("row {row} of the features"), value, column, true))
    }
}

fn infinite<T: Element>((at, value): ((usize, usize), &T)) -> Option<((usize, usize), f64)> {
    value.to_f64().is_infinite().then(|| (at, value.to_f64()))
}

impl From<Array2<f64>> for Features {
    fn from(array: Array2<f64>) -> Self {
        Self::F64(array)
    }
}

impl From<Array2<f32>> for Features {
    fn from(array: Array2<f32>) -> Self {
        Self::F32(array)
    }
}

impl From<ArrayView2<'_, f64>> for Features {
    fn from(array: ArrayView2<'_, f64>) -> Self {
        Self::F64(array.to_owned())
    }
}

impl From<ArrayView2<'_, f32>> for Features {
    fn from(array: ArrayView2<'_, f32>) -> Self {
        Self::F32(array.to_owned())
    }
}

/// The values of one category.
#[derive(Debug, Clone)]
pub(super) struct CategoryValues {
    pub name: String,
    pub values: Vec<Id>,
}

/// The value of a category; `None` for a BLOB and for text that is not UTF-8.
pub(super) fn value_of(id: &Id) -> Option<CategoryValue<'_>> {
    match id {
        Id::Null => Some(CategoryValue::Null),
        Id::Integer(value) => Some(CategoryValue::Integer(*value)),
        Id::Real(value) => Some(CategoryValue::Real(*value)),
        Id::Text(bytes) => std::str::from_utf8(bytes).ok().map(CategoryValue::Text),
        Id::Blob(_) => None,
    }
}

impl CategoryValues {
    /// Adds the value of a row as the category with this number.
    pub(super) fn push(&self, row: usize, number: usize, builder: &mut DatasetBuilder) {
        let value = value_of(&self.values[row]).unwrap_or(CategoryValue::Null);
        let text = value.text();
        let seen = text.as_deref().map_or(Seen::Missing, |text| Seen::Text(text.as_bytes()));
        builder.category(number, text.as_deref(), seen);
    }
}
