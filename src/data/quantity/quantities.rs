use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::form::Form;
use crate::base::shorten;
use crate::data::{Missing, QueryValue};

/// The columns of a model whose texts are numbers, dates or durations, by name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Quantities(BTreeMap<String, Quantity>);

/// How a column's texts are read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Quantity {
    form: Form,
    /// SQL that converts all training texts, if known.
    sql: Option<String>,
}

impl Quantities {
    /// The form of a column. Case of the name is ignored.
    pub fn of(&self, column: &str) -> Option<&Form> {
        self.iter().find(|(name, _)| name.eq_ignore_ascii_case(column)).map(|(_, form)| form)
    }

    /// Whether no column has a form.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Columns and forms, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Form)> {
        self.0.iter().map(|(name, read)| (name.as_str(), &read.form))
    }

    /// Adds a column. `sql` converts all its texts, if known.
    pub fn insert(&mut self, column: String, form: Form, sql: Option<String>) {
        self.0.insert(column, Quantity { form, sql });
    }

    /// For callers that can only read numbers: the problem with the first of these columns, and what to do. Keys are
    /// numbers.
    pub fn problem(&self, is_read: impl Fn(&str) -> bool) -> Option<String> {
        let (name, Quantity { form, sql }) =
            self.0.iter().find(|(name, read)| !read.form.is_key() && is_read(name))?;
        let sql = sql.as_ref().map(|sql| format!(", as in {sql}")).unwrap_or_default();
        let name = shorten(name);
        Some(format!("the text column \"{name}\" is read as numbers ({form}); convert it in the source{sql}"))
    }

    /// Adds the forms of more columns.
    pub fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// The query time column, if dates are read as days before it.
    pub fn time_of_query(&self) -> Option<&str> {
        self.iter()
            .find_map(|(_, form)| if let Form::Age { column, .. } = form { Some(&**column) } else { None })
    }

    /// The date columns that are read as days before the query time in this column. `time`: the form of its texts, if
    /// it has any.
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

    /// The value of a query feature: the number in a text, if the column has a form. Other text counts as missing, if
    /// that is allowed.
    pub fn query_value(&self, column: &str, value: QueryValue, missing: Missing) -> QueryValue {
        let Some((form, text)) = self.of(column).zip(value.text()) else { return value };
        match form.value(text) {
            Some(number) => QueryValue::Number(number),
            None if missing != Missing::Error => QueryValue::Missing,
            None => value,
        }
    }
}

impl FromIterator<(String, Form)> for Quantities {
    fn from_iter<I: IntoIterator<Item = (String, Form)>>(columns: I) -> Self {
        let read = |(name, form)| (name, Quantity { form, sql: None });
        Self(columns.into_iter().map(read).collect())
    }
}
