//! Collects the values of category columns while a source is read. `categories/` learns the categories and encodes the
//! values.

use std::collections::HashMap;

use super::builder::{DatasetBuilder, FEWER_ROWS};
use super::categories::{Categories, CategoryColumn, Codes, Learned, RowsOfCodes, learning_bytes};
use super::columns::{ColumnFacts, Seen};
use super::id::Id;
use crate::base::{Error, Result, Ticks, bytes_of};

/// Number of operations, for [`Ticks`], to look up the number of a document.
const ID_COST: usize = 64;

/// Facts about columns that became categories, by column name.
pub type CategoryFacts = Vec<(String, ColumnFacts)>;

impl DatasetBuilder {
    /// Allows these features to become categories, if their values turn out to be text. Call it before the first row.
    #[must_use]
    pub fn may_be_categories(mut self, features: impl IntoIterator<Item = usize>) -> Self {
        features.into_iter().for_each(|feature| self.columns[feature].may_be_category = true);
        self
    }

    /// Adds categories whose values are to be learned. The order defines the numbers for [`Self::category`]. Call it
    /// before the first row.
    #[must_use]
    pub fn with_new_categories(mut self, names: impl IntoIterator<Item = String>) -> Self {
        let new = |name| CategoryColumn { name, codes: Codes::new(0), facts: Some(Box::default()) };
        self.categories.extend(names.into_iter().map(new));
        self
    }

    /// Adds the known categories of a model. The order defines the numbers for [`Self::category`]. Call it before the
    /// first row.
    #[must_use]
    pub fn with_categories(mut self, categories: &Categories) -> Self {
        let columns = categories.shared().map(|category| CategoryColumn {
            name: category.name.clone(),
            codes: Codes::of(category),
            facts: None,
        });
        self.categories.extend(columns);
        self
    }

    /// Adds the current row's value for the category with this number. `seen`: the value as it is shown in reports.
    pub fn category(&mut self, number: usize, value: Option<&str>, seen: Seen<'_>) {
        let query = self.row_query.last().copied().unwrap_or(0);
        let column = &mut self.categories[number];
        column.codes.push(value);
        if let Some(facts) = &mut column.facts {
            facts.add(query, seen);
        }
    }

    /// Returns a document number for each row, equal for equal ids; `None` if the source has no document ids.
    ///
    /// # Errors
    /// If this takes too much memory.
    pub(super) fn documents(&mut self) -> Result<Option<Vec<usize>>> {
        self.reserve_to_learn(bytes_of::<(usize, &Id, usize, usize)>(self.n_rows()))?;
        if !self.has_docs {
            return Ok(None);
        }
        let (mut known, mut ticks) = (HashMap::new(), Ticks::default());
        let mut number = |id| {
            ticks.add(ID_COST);
            let next = known.len();
            *known.entry(id).or_insert(next)
        };
        Ok(Some(self.row_doc.iter().map(&mut number).collect()))
    }

    /// Reserves the memory to learn categories, plus `bytes`, in addition to the memory of the rows.
    fn reserve_to_learn(&mut self, bytes: u64) -> Result<()> {
        let rows = self.n_rows();
        let features = bytes_of::<f64>(rows).saturating_mul(self.width.unwrap_or(0) as u64);
        let needed = self.bytes_besides_features() + self.category_bytes() + features;
        let more = learning_bytes(rows).saturating_add(bytes);
        let what = format_args!("the categories in the {rows} rows of source {}", self.source);
        self.memory.resize(needed.saturating_add(more), what, FEWER_ROWS)
    }

    /// The row data that is needed to learn categories. `documents`: the result of [`Self::documents`].
    pub(super) fn rows_of_codes<'a>(&'a self, documents: Option<&'a [usize]>) -> RowsOfCodes<'a> {
        let Self { row_query, query_ids, relevance, .. } = self;
        RowsOfCodes { queries: row_query, query_ids, documents, relevance }
    }

    /// Returns the categories that the option `columns` lists, with facts about their columns, or the categories of a
    /// model.
    ///
    /// # Errors
    /// If a listed column cannot be a category.
    pub(super) fn listed_categories(&mut self) -> Result<(Vec<Learned>, CategoryFacts)> {
        let (mut all, mut all_facts) = (Vec::with_capacity(self.categories.len()), Vec::new());
        if self.categories.iter().any(|column| column.facts.is_some()) {
            self.reserve_to_learn(0)?;
        }
        for CategoryColumn { name, codes, facts } in std::mem::take(&mut self.categories) {
            let Some(facts) = facts else {
                all.extend(codes.known());
                continue;
            };
            let learned = codes.listed(&name, self.rows_of_codes(None));
            let refused = |problem| {
                self.source_error(format!(
                    "option 'columns', key 'categories' names \"{name}\", but the column has {problem}"
                ))
            };
            all.push(learned.map_err(refused)?);
            all_facts.push((name, *facts));
        }
        Ok((all, all_facts))
    }

    /// Sets the names of all features: numeric features (`numbers`) first, then the features of the categories. Returns
    /// the categories, and the codes from which their mean features are computed. `ignored`: columns that are not
    /// features.
    ///
    /// # Errors
    /// If a name is repeated, because ranking finds columns by name.
    pub(super) fn name_features(
        &mut self,
        numbers: Vec<String>,
        learned: Vec<Learned>,
        ignored: &[String],
    ) -> Result<(Categories, Vec<Vec<u32>>)> {
        self.names = numbers;
        let parts = learned.into_iter().map(|learned| (learned.category, learned.mean_codes));
        let (categories, mean_codes): (Vec<_>, Vec<_>) = parts.unzip();
        let categories: Categories = categories.into_iter().collect();
        self.names.extend(categories.feature_names());
        let is_ignored = |name: &String| ignored.iter().any(|other| other.eq_ignore_ascii_case(name));
        let repeated = categories.check_names(&self.names).err();
        match repeated.or_else(|| categories.input_names(&self.names).into_iter().find(is_ignored)) {
            None => Ok((categories, mean_codes)),
            Some(name) => Err(self.two_features(&name)),
        }
    }

    fn two_features(&self, name: &str) -> Error {
        self.source_error(format!(
            "two columns are named \"{name}\", and one is a feature; give one another name with AS"
        ))
    }
}
