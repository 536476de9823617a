use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::form::Form;
use crate::data::QueryValue;

/// The columns of a model whose texts are numbers, dates or durations, by name, and the form of each.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Quantities(BTreeMap<String, Form>);

impl Quantities {
    /// The form of a column, whose name may differ in case.
    pub fn of(&self, column: &str) -> Option<&Form> {
        self.iter().find(|(name, _)| name.eq_ignore_ascii_case(column)).map(|(_, form)| form)
    }

    /// Whether no column has a form.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Columns and forms in the order of the names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Form)> {
        self.0.iter().map(|(name, form)| (name.as_str(), form))
    }

    /// Adds the forms of further columns.
    pub fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// The column of the time of the query, if dates are read as days before it.
    pub fn time_of_query(&self) -> Option<&str> {
        self.0
            .values()
            .find_map(|form| if let Form::Age { column, .. } = form { Some(&**column) } else { None })
    }

    /// The columns of dates as days before the time of the query in this column. `time`: its form, if it has texts.
    #[must_use]
    pub fn ages(&self, column: &str, time: Option<&Form>) -> Self {
        let dates = self.iter().filter(|(_, form)| form.is_date());
        let age = |form: &Form| Form::Age {
            date: form.clone().into(),
            column: column.to_owned(),
            time: time.cloned().map(Box::new),
        };
        dates.map(|(name, form)| (name.to_owned(), age(form))).collect()
    }

    /// The value of a query feature: the number in a text, if the column has a form that reads it.
    pub fn query_value(&self, column: &str, value: QueryValue) -> QueryValue {
        let number = value.text().and_then(|text| self.of(column)?.value(text));
        number.map_or(value, QueryValue::Number)
    }
}

impl FromIterator<(String, Form)> for Quantities {
    fn from_iter<I: IntoIterator<Item = (String, Form)>>(columns: I) -> Self {
        Self(columns.into_iter().collect())
    }
}
