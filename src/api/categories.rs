//! Categories of a data set: columns of texts or numbers, encoded as one 0/1 feature per value.

use super::dataset::Dataset;
use super::features::{CategoryValues, value_of};
use super::read_request::ReadRequest;
use crate::base::{Error, Result, check_size};
use crate::data::{DatasetBuilder, Id, not_a_value};

impl Dataset {
    /// Adds a category: a text or a number per row, `Id::Null` for a missing one. In training each value with at least 3 rows in
    /// 2 queries, at most the 100 most frequent ones (rule 2.19), becomes a 0/1 feature; all other values share one,
    /// and missing values share another. The model keeps the values and finds the category by name.
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
    /// A number of values that differs from the number of rows; a BLOB; a second category with this name.
    pub fn with_category(
        mut self,
        name: impl Into<String>,
        values: impl IntoIterator<Item = impl Into<Id>>,
    ) -> Result<Self> {
        let (name, values): (String, Vec<Id>) = (name.into(), values.into_iter().map(Into::into).collect());
        let what = format!("values of the category \"{name}\"");
        check_size(&what, values.len(), self.rows())?;
        if let Some(row) = values.iter().position(|value| value_of(value).is_none()) {
            let problem = not_a_value(&values[row].to_string());
            return Err(Error::Data(format!("{what}, row {row}: {problem}")));
        }
        if self.categories.iter().any(|known| known.name.eq_ignore_ascii_case(&name)) {
            return Err(Error::Data(format!("{what}: the data set already has a category with this name")));
        }
        self.categories.push(CategoryValues { name, values });
        Ok(self)
    }

    /// The builder with the needed categories, and their values in row order.
    ///
    /// # Errors
    /// Categories of the model that the data set does not have.
    pub(super) fn with_categories(
        &self,
        builder: DatasetBuilder,
        request: ReadRequest<'_>,
    ) -> Result<(DatasetBuilder, Vec<&CategoryValues>)> {
        if !request.features {
            return Ok((builder, Vec::new()));
        }
        let Some((known, _)) = request.known else {
            let names = self.categories.iter().map(|category| category.name.clone());
            return Ok((builder.with_new_categories(names), self.categories.iter().collect()));
        };
        let find = |name: &String| {
            let known = self.categories.iter().find(|category| category.name.eq_ignore_ascii_case(name));
            known.ok_or_else(|| {
                Error::Data(format!("the data set does not have the model's category \"{name}\""))
            })
        };
        let categories = known.names().iter().map(find).collect::<Result<_>>()?;
        Ok((builder.with_categories(known), categories))
    }
}
