//! Errors about roles. They tell which value of the option `columns` would do.

use serde_json::{Value, json};

use super::{ColumnChoice, default_names};
use crate::error::Error;

impl ColumnChoice<'_> {
    /// The error about columns that could each fill a role. Its proposal makes no feature of the others.
    pub(super) fn ambiguous(&self, role: &str, candidates: &[usize]) -> Error {
        let names: Vec<&str> = candidates.iter().map(|column| self.names[*column].as_str()).collect();
        let (first, others) = (names[0], &names[1..]);
        let (ignored, rest) = match self.spec.model {
            None => (others, "a column that is neither chosen nor ignored may become a feature"),
            Some(_) => (&[][..], "the model does not read the other columns"),
        };
        let proposal = self.proposal(Some((role, first)), ignored);
        let names = names.join(", ");
        self.source.error(format!(
            "the columns {names} could each be the {role}; choose one with the option {proposal} ({rest})"
        ))
    }

    /// The option `columns` of the caller with a further role and further ignored columns.
    pub(super) fn proposal(&self, role: Option<(&str, &str)>, ignored: &[&str]) -> String {
        let mut columns = self.columns.cloned().unwrap_or_default();
        columns.extend(role.map(|(role, name)| (role.to_owned(), json!(name))));
        if !ignored.is_empty() {
            let list = columns.entry("ignore").or_insert_with(|| json!([]));
            list.as_array_mut()
                .into_iter()
                .for_each(|list| list.extend(ignored.iter().map(|name| json!(name))));
        }
        format!("\"columns\": {}", Value::Object(columns))
    }

    /// The error about a required role without a column (rule 2.4).
    pub(super) fn absent(&self, role: &str) -> Error {
        let names = match default_names(role) {
            [some @ .., last] if !some.is_empty() => format!("one {} or {last}", some.join(", ")),
            names => format!("it {}", names.concat()),
        };
        let is_default =
            |name: &str| default_names(role).iter().any(|known| known.eq_ignore_ascii_case(name));
        let mut reasons = Vec::new();
        if let Some(name) = self.trained_name(role).filter(|name| !is_default(name)) {
            reasons.push(format!("the training read it from \"{name}\"; "));
        }
        // Columns with a default name of the role that the model uses otherwise.
        for (column, name) in self.names.iter().enumerate().filter(|(_, name)| is_default(name)) {
            let what = match () {
                () if self.is_feature(column) => "is a feature of the model",
                () if self.was_ignored(column) => "was ignored in the training",
                () => continue,
            };
            reasons.push(format!("\"{name}\" {what}; "));
        }
        self.source.error(format!(
            "no {role} column among {}; {}name {names}, or use the option \"columns\": {{\"{role}\": \"...\"}}",
            self.names.join(", "),
            reasons.concat(),
        ))
    }
}
