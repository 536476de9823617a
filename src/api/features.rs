//! Feature values of documents, and categories: columns of texts or numbers whose values are features of 0 and 1 inside.

use ndarray::{Array2, ArrayView2};

use super::dataset::{Dataset, Needs, check_length};
use crate::base::{Error, Result};
use crate::data::{CategoryValue, DatasetBuilder, Id, Seen, not_a_value};

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
        let wrong = match self {
            Self::F32(array) => array.indexed_iter().find(|(_, value)| value.is_infinite()).map(|(at, _)| at),
            Self::F64(array) => array.indexed_iter().find(|(_, value)| value.is_infinite()).map(|(at, _)| at),
        };
        let Some((row, column)) = wrong else { return Ok(()) };
        let got = "a value that is not finite";
        Err(Error::value(format!("feature {column} of row {row}"), got, "finite numbers, and NaN"))
    }
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
    /// Adds the value of a row as that of the category with this number.
    pub(super) fn push(&self, row: usize, number: usize, builder: &mut DatasetBuilder) {
        let value = value_of(&self.values[row]).unwrap_or(CategoryValue::Null);
        let text = value.text();
        let seen = text.as_deref().map_or(Seen::Missing, |text| Seen::Text(text.as_bytes()));
        builder.category(number, text.as_deref(), seen);
    }
}

impl Dataset {
    /// Adds a category: a text or a number per row, `Id::Null` for a missing one. In training each value with at least 3 rows in
    /// 2 queries, at most the 100 most frequent ones (rule 2.19), becomes a feature of 0 and 1; all other values have one together, and so
    /// have missing ones. The model keeps the values and finds the category by its name.
    ///
    /// ```
    /// use sqlite_ltr::{Dataset, Trainer};
    /// use ndarray::Array2;
    ///
    /// let brands = ["acme", "globex", "acme", "globex", "acme", "globex"];
    /// let judged = Dataset::from_arrays(Array2::<f64>::zeros((6, 1)), [1, 1, 2, 2, 3, 3], &[1.0, 0.0, 1.0, 0.0, 1.0, 0.0])?
    ///     .with_feature_names(["price"])?
    ///     .with_category("brand", brands)?;
    /// let model = Trainer::new("rank_svm").option("lambda", 0.1).fit(&judged)?;
    /// let shop = Dataset::unjudged(Array2::<f64>::zeros((2, 1)), [4, 4])?
    ///     .with_feature_names(["price"])?
    ///     .with_category("brand", ["globex", "acme"])?;
    /// assert_eq!(model.rank(&shop)?[0].row, 1);
    /// # Ok::<(), sqlite_ltr::Error>(())
    /// ```
    ///
    /// # Errors
    /// Another number of values than of rows; a value that is a BLOB; a second category of this name.
    pub fn with_category(
        mut self,
        name: impl Into<String>,
        values: impl IntoIterator<Item = impl Into<Id>>,
    ) -> Result<Self> {
        let (name, values): (String, Vec<Id>) = (name.into(), values.into_iter().map(Into::into).collect());
        let what = format!("values of the category \"{name}\"");
        check_length(&what, values.len(), self.rows())?;
        if let Some(row) = values.iter().position(|value| value_of(value).is_none()) {
            let problem = not_a_value(&values[row].to_string());
            return Err(Error::Data(format!("{what}, row {row}: {problem}")));
        }
        if self.categories.iter().any(|known| known.name.eq_ignore_ascii_case(&name)) {
            return Err(Error::Data(format!("{what}: the data set has a category of this name")));
        }
        self.categories.push(CategoryValues { name, values });
        Ok(self)
    }

    /// The builder with the categories that are needed, and their values in its order.
    ///
    /// # Errors
    /// Categories of the model that the data set lacks.
    pub(super) fn with_categories(
        &self,
        builder: DatasetBuilder,
        needs: Needs<'_>,
    ) -> Result<(DatasetBuilder, Vec<&CategoryValues>)> {
        if !needs.features {
            return Ok((builder, Vec::new()));
        }
        let Some(known) = needs.model.map(|model| &model.card.categories).or(needs.categories) else {
            let names = self.categories.iter().map(|category| category.name.clone());
            return Ok((builder.with_new_categories(names), self.categories.iter().collect()));
        };
        let find = |name: &String| {
            let found = self.categories.iter().find(|category| category.name.eq_ignore_ascii_case(name));
            found.ok_or_else(|| {
                Error::Data(format!("the data set lacks the category \"{name}\" of the model"))
            })
        };
        let found = known.names().iter().map(find).collect::<Result<_>>()?;
        Ok((builder.with_categories(known), found))
    }
}
