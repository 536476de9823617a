//! Numbers, dates and durations in the text columns of a source: `quantity/` finds their forms and reads them.

use serde_json::{Map, Value};

use super::builder::{Column, DatasetBuilder, Values};
use super::finish_options::TextColumns;
use super::missing::Missing;
use super::quantity::{HALF, Outcome, Pending, Quantities, outcome_of};
use super::query_columns::QueryValue;
use crate::base::quote;

/// The share of texts that must have one form if missing values are allowed.
pub const SHARE_OF_FORM: f64 = 0.95;
/// The same, for columns that the option `columns` lists under `quantities`.
pub const SHARE_OF_LISTED: f64 = HALF;

impl DatasetBuilder {
    /// The same builder, where texts of these features and query features may be numbers, dates or durations,
    /// unless `distances` (the option `query_distance`) compares them. `missing`: treatment of missing values.
    /// `are_listed`: whether the option `columns` lists them. Only before the first row.
    #[must_use]
    pub fn may_be_quantities(
        mut self,
        features: impl IntoIterator<Item = usize>,
        mut query_features: Vec<usize>,
        distances: Option<&Map<String, Value>>,
        missing: Missing,
        are_listed: bool,
    ) -> Self {
        // Rule 3.9.
        self.share_of_form = match missing {
            Missing::Error => 1.0,
            _ if are_listed => SHARE_OF_LISTED,
            _ => SHARE_OF_FORM,
        };
        for feature in features {
            self.columns[feature].pending = Some(Pending::new(self.share_of_form).into());
        }
        let compared: Vec<&String> = distances.into_iter().flat_map(Map::keys).collect();
        query_features
            .retain(|at| !compared.iter().any(|name| name.eq_ignore_ascii_case(&self.query_names[*at])));
        self.pending_query_features = query_features;
        self
    }

    /// The same builder, reading texts in a model's forms. Only before the first row.
    #[must_use]
    pub fn with_quantities(mut self, known: &Quantities) -> Self {
        for (name, column) in self.names.iter().zip(&mut self.columns) {
            column.form = known.of(name).cloned();
            if column.form.is_some() {
                (column.pending, column.may_be_category) = (None, false);
            }
        }
        self
    }

    /// Turns columns whose texts have one form into features. `refuses_missing`: not if values are missing.
    pub(super) fn read_quantities(&mut self, refuses_missing: bool) {
        let Values::F64(values) = &mut self.values else { return };
        let width = self.width.unwrap_or(0);
        for index in self.texts.drain(..) {
            let column = &mut self.columns[index];
            let (Some(pending), Some(others)) = (column.pending.take(), &column.others) else { continue };
            let Outcome::Form(form) = pending.outcome(&others.readings, self.share_of_form) else {
                let allowed = pending.outcome(&others.readings, SHARE_OF_FORM);
                column.fits_with_missing = matches!(allowed, Outcome::Form(_));
                continue;
            };
            if refuses_missing && column.first_missing.is_some() && !column.numeric {
                continue;
            }
            for (row, value) in pending.values(&form) {
                if let Some(value) = value {
                    values[row * width + index] = value;
                } else {
                    column.first_missing = column.first_missing.into_iter().chain([row]).min();
                }
            }
            column.sql = pending.sql(&form, &quote(&self.names[index]), column.numeric);
            (column.numeric, column.first_other, column.codes) = (true, None, None);
            column.form = Some(form);
        }
    }

    /// If missing values are allowed, treats texts that do not have their column's form as missing, and texts such as NA in
    /// columns of numbers.
    pub(super) fn allow_misfits(&mut self, missing: Missing, text_columns: TextColumns) {
        for column in self.columns.iter_mut().filter(|_| missing != Missing::Error) {
            let is_number = column.numeric || text_columns != TextColumns::Ignore;
            if column.form.is_some() || is_number && column.are_others_missing() {
                let others = column.first_other.take().map(|(row, _)| row);
                column.first_missing = column.first_missing.into_iter().chain(others).min();
            }
        }
    }

    /// Converts query features whose texts have one form to numbers, and returns the forms of all columns.
    pub(super) fn quantities(&mut self, kept: &[usize]) -> Quantities {
        let mut quantities = Quantities::default();
        for column in std::mem::take(&mut self.pending_query_features) {
            let name = &self.query_names[column];
            let texts = || self.query_features.iter().filter_map(|values| values[column].text());
            let Outcome::Form(form) = outcome_of(texts(), self.share_of_form) else { continue };
            let is_number = |values: &Vec<QueryValue>| matches!(values[column], QueryValue::Number(_));
            let has_numbers = self.query_features.iter().any(is_number);
            let sql = form.sql(&quote(name), texts().chain(has_numbers.then_some("1.5")));
            for values in &mut self.query_features {
                if let Some(text) = values[column].text() {
                    values[column] = form.value(text).map_or(QueryValue::Missing, QueryValue::Number);
                }
            }
            quantities.insert(name.clone(), form, sql);
        }
        for index in kept {
            let Some(Column { form: Some(form), sql, .. }) = self.columns.get(*index) else { continue };
            quantities.insert(self.names[*index].clone(), form.clone(), sql.clone());
        }
        quantities
    }
}
