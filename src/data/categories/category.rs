//! Categories: columns encoded as one 0/1 feature per value. Training and ranking share this encoder.
//!
//! Rules (docs/reference/rules.md, 2):
//! * 2.18: Which columns are categories: `learn.rs`.
//! * 2.19: A category has a feature for each of its values, one for all other values, and one for NULL. One of them is 1.
//! * 2.20: Values are compared as text: the number 1 and the text '1' are the same value. Case, blanks and Unicode
//!   forms matter.
//! * 2.23: With many values, the mean relevance of the value is an additional feature: `means.rs`.
//!
//! A model's features are numbers first, then the features of categories, sorted by column name.

use super::super::category_limits::{LONGEST_VALUE, MOST_DISTINCT};
use super::super::names::repeated_name;
use super::means::Means;
use crate::base::{Error, Result, require, shorten};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

/// Names that the features of other values and of NULL show in place of a value.
const OTHER: &str = "(other)";

pub(super) const NULL: &str = "(NULL)";

const MEAN: &str = "(mean)";

/// A column whose values are features.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Category {
    /// The column.
    pub name: String,
    /// The values that have a feature, sorted by their bytes.
    pub values: Vec<String>,
    /// The mean relevance of values, an additional feature if there are many.
    pub(super) means: Option<Means>,
}

/// What one feature of a category represents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CategoryFeature<'a> {
    Value(&'a str),
    /// Values without a separate feature: rare ones, and values unknown in training.
    Other,
    Null,
    /// The mean relevance of the value.
    Mean,
}

impl Category {
    /// A column with these values, in any order.
    ///
    /// # Errors
    /// Too many values, or values that are too long or repeated.
    pub fn of_values(name: String, mut values: Vec<String>) -> Result<Self, String> {
        values.sort_unstable();
        if values.len() > MOST_DISTINCT {
            return Err(format!("{} values, at most {MOST_DISTINCT}", values.len()));
        }
        if let Some(long) = values.iter().find(|value| value.len() > LONGEST_VALUE) {
            let start = shorten(long);
            return Err(format!("the value '{start}' of {} bytes, at most {LONGEST_VALUE}", long.len()));
        }
        if let Some((value, _)) = values.iter().zip(values.iter().skip(1)).find(|(a, b)| a == b) {
            return Err(format!("the value '{}' twice", shorten(value)));
        }
        Ok(Self { name, values, means: None })
    }

    /// The mean relevance of values, if they are a feature.
    pub fn means(&self) -> Option<&Means> {
        self.means.as_ref()
    }

    /// Number of features: for the values, other values, NULL, and the mean.
    pub fn width(&self) -> usize {
        self.values.len() + 2 + usize::from(self.means.is_some())
    }

    /// Sets a document's features, all 0 so far, for a value.
    pub fn encode(&self, value: Option<&str>, features: &mut [f64]) {
        features[self.feature_of(value)] = 1.0;
        if let Some((last, means)) = features.last_mut().zip(self.means()) {
            *last = means.of(value);
        }
    }

    /// The index of the feature that is 1 for a value. `None` is NULL.
    pub fn feature_of(&self, value: Option<&str>) -> usize {
        let Some(value) = value else { return self.values.len() + 1 };
        let index = self.values.binary_search_by(|known| known.as_str().cmp(value));
        index.unwrap_or(self.values.len())
    }

    /// What the feature with this index represents.
    pub fn feature(&self, number: usize) -> CategoryFeature<'_> {
        match self.values.get(number) {
            Some(value) => CategoryFeature::Value(value),
            None if number == self.values.len() => CategoryFeature::Other,
            None if number == self.values.len() + 1 => CategoryFeature::Null,
            None => CategoryFeature::Mean,
        }
    }

    /// The name of the feature with this index, such as `brand=acme`.
    fn feature_name(&self, number: usize) -> String {
        let value = match self.feature(number) {
            // A value that looks like one of these names is quoted.
            CategoryFeature::Value(value) if value.starts_with(['(', '\'']) => {
                Cow::Owned(format!("'{}'", value.replace('\'', "''")))
            }
            CategoryFeature::Value(value) => Cow::Borrowed(value),
            CategoryFeature::Other => Cow::Borrowed(OTHER),
            CategoryFeature::Null => Cow::Borrowed(NULL),
            CategoryFeature::Mean => Cow::Borrowed(MEAN),
        };
        format!("{}={value}", self.name)
    }
}

/// The categories of a data set or model, sorted by name. Cheap to clone.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "Vec<Category>", into = "Vec<Category>")]
pub struct Categories(Arc<Vec<Arc<Category>>>);

impl From<Vec<Category>> for Categories {
    fn from(list: Vec<Category>) -> Self {
        list.into_iter().map(Arc::new).collect()
    }
}

impl FromIterator<Arc<Category>> for Categories {
    fn from_iter<I: IntoIterator<Item = Arc<Category>>>(list: I) -> Self {
        Self(Arc::new(list.into_iter().collect()))
    }
}

impl From<Categories> for Vec<Category> {
    fn from(categories: Categories) -> Self {
        categories.iter().cloned().collect()
    }
}

/// A source column: a number, or a category with its features.
#[derive(Debug, Clone, PartialEq)]
pub enum InputColumn<'a> {
    /// The feature with this number.
    Number(usize),
    /// A category, and the numbers of its features.
    Category(&'a Category, Range<usize>),
}

impl InputColumn<'_> {
    /// The numbers of its features.
    pub fn features(&self) -> Range<usize> {
        match self {
            Self::Number(feature) => *feature..feature + 1,
            Self::Category(_, features) => features.clone(),
        }
    }
}

impl Categories {
    /// Whether there are no categories.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Category> {
        self.0.iter().map(|category| &**category)
    }

    /// All of them, without copies.
    pub(crate) fn shared(&self) -> impl Iterator<Item = &Arc<Category>> {
        self.0.iter()
    }

    /// The names of their columns.
    pub fn names(&self) -> Vec<String> {
        self.iter().map(|category| category.name.clone()).collect()
    }

    /// Number of their features.
    pub fn width(&self) -> usize {
        self.iter().map(Category::width).sum()
    }

    /// Number of features that belong to no category, among `features`.
    pub fn numbers(&self, features: usize) -> usize {
        features.saturating_sub(self.width())
    }

    /// The names of the features of all categories.
    pub fn feature_names(&self) -> impl Iterator<Item = String> {
        self.iter().flat_map(|category| (0..category.width()).map(|number| category.feature_name(number)))
    }

    /// The columns from which `features` features are read: numbers, then categories.
    pub fn inputs(&self, features: usize) -> Vec<InputColumn<'_>> {
        let mut next = self.numbers(features);
        let numbers = (0..next).map(InputColumn::Number);
        let categories = self.iter().map(|category| {
            let range = next..next + category.width();
            next = range.end;
            InputColumn::Category(category, range)
        });
        numbers.chain(categories).collect()
    }

    /// The names of these columns. `features`: the names of all features.
    pub fn input_names(&self, features: &[String]) -> Vec<String> {
        let numbers = features[..self.numbers(features.len())].iter().cloned();
        numbers.chain(self.names()).collect()
    }

    /// For each category with means, the index of the mean feature among `features`.
    pub fn mean_features(&self, features: usize) -> impl Iterator<Item = (&Category, Option<usize>)> {
        let mut end = self.numbers(features);
        self.iter().map(move |category| {
            end += category.width();
            (category, category.means().map(|_| end - 1))
        })
    }

    /// Whether the feature with this index, among `features`, belongs to a category.
    pub fn contains(&self, feature: usize, features: usize) -> bool {
        feature >= self.numbers(features)
    }

    /// Refuses repeated feature names: ranking finds columns by name, ignoring case. Category values are case-sensitive.
    ///
    /// # Errors
    /// The name that occurs twice.
    pub fn check_names(&self, features: &[String]) -> Result<(), String> {
        if let Some(name) = repeated_name(&self.input_names(features)) {
            return Err(name.to_owned());
        }
        let mut seen = HashSet::with_capacity(features.len());
        match features.iter().find(|name| !seen.insert(name.as_str())) {
            Some(name) => Err(name.clone()),
            None => Ok(()),
        }
    }

    /// Checks categories that were read from bytes. `features`: the names of all features.
    ///
    /// # Errors
    /// [`Error::Corrupt`] for categories that training would not make.
    pub fn validate(&self, features: &[String]) -> Result<()> {
        let is_value = |value: &String| value.len() <= LONGEST_VALUE;
        let are_values = |category: &Category| {
            // Training makes at most 100; models from other libraries may have more.
            category.values.len() <= MOST_DISTINCT
                && category.values.iter().all(is_value)
                && category.values.is_sorted_by(|a, b| a < b)
                && category.means().is_none_or(Means::is_valid)
        };
        // One name at a time: the names of forged categories can take much more memory than the model's bytes.
        let have_names = self.width() <= features.len()
            && self.feature_names().eq(features[self.numbers(features.len())..].iter().cloned());
        require(
            "categories",
            &[
                (self.iter().all(are_values), "short values in ascending order, finite means"),
                (self.0.is_sorted_by(|a, b| a.name < b.name), "columns in the order of their names"),
                (have_names, "a feature for each value"),
                (have_names && self.check_names(features).is_ok(), "features of different names"),
            ],
        )
    }
}

/// A value of a category, before it becomes text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum CategoryValue<'a> {
    Null,
    /// A whole number.
    Integer(i64),
    Real(f64),
    Text(&'a str),
}

impl<'a> CategoryValue<'a> {
    /// The value as text; `None` is NULL. Numbers without a fraction are written as whole numbers, whatever their type.
    pub fn text(self) -> Option<Cow<'a, str>> {
        match self {
            Self::Null => None,
            Self::Integer(value) => Some(value.to_string().into()),
            Self::Real(value) => match crate::base::param::whole_number(value) {
                Some(whole) => Some(whole.to_string().into()),
                None => Some(format!("{value:?}").into()),
            },
            Self::Text(text) => Some(text.into()),
        }
    }
}

/// Describes a value that a category cannot have, and what is allowed.
pub fn not_a_value(found: &str) -> String {
    format!("{found}; a category may have UTF-8 text, numbers and NULL")
}

/// The error for a BLOB of features that include categories.
pub fn no_vector(what: &str, found: &str, names: &[String]) -> Error {
    let listed: Vec<String> = names.iter().map(|name| format!("\"{}\"", name.replace('"', "\"\""))).collect();
    let allowed = format!(
        "a JSON array of the columns of the model, categories as they are: json_array({})",
        listed.join(", ")
    );
    Error::value(what, found, allowed)
}
