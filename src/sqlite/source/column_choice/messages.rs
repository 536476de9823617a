//! Errors about roles, which suggest a value for the option `columns`.

use serde_json::json;

use super::super::read_spec::{FeatureColumns, FeatureSet};
use super::ColumnChoice;
use super::names::{default_names, is_default_name, listed_names};
use crate::base::{Error, columns_text};
use crate::data::is_like_id;

impl ColumnChoice<'_> {
    /// The error for several columns that could fill a role. In training, the advice excludes the others as features,
    /// unless they may be ratings that are known in advance.
    pub(super) fn ambiguous(&self, role: &str, candidates: &[usize]) -> Error {
        let names: Vec<&str> = candidates.iter().map(|column| self.names[*column].as_str()).collect();
        let (first, others) = (names[0], &names[1..]);
        let chosen = |ignored: &[&str]| self.proposal(Some((role, first)), ignored);
        let advice = match self.spec.model {
            Some(_) => format!(
                "choose one with the options {} (the model does not read the other columns)",
                chosen(&[])
            ),
            None if role == "relevance" => {
                let (quoted, are) =
                    (others.join("\", \""), if others.len() == 1 { "is a feature" } else { "are features" });
                let (with, without) = (chosen(&[]), chosen(others));
                format!(
                    "choose one: if \"{quoted}\" {are}, with the options {with}, otherwise with {without}"
                )
            }
            None => format!(
                "choose one with the options {} (a column that is neither chosen nor ignored may become a feature)",
                chosen(others)
            ),
        };
        self.source.error(format!("the columns {} could each be the {role}; {advice}", names.join(", ")))
    }

    /// The caller's option `columns` with one more role and more ignored columns.
    pub(super) fn proposal(&self, role: Option<(&str, &str)>, ignored: &[&str]) -> String {
        columns_text(self.columns, role.map(|(role, name)| (role, json!(name))), ignored)
    }

    /// The error for a role without a column that it needs (rules 2.4, 2.9).
    pub(super) fn absent(&self, role: &str) -> Error {
        let mut reasons = Vec::new();
        if let Some(name) =
            self.trained_name(role).filter(|name| role == "doc" || !is_default_name(role, name))
        {
            reasons.push(format!("the training read it from \"{name}\"; "));
        }
        if let Some(name) = self.trained_name("query").filter(|_| role == "doc" && self.lacks_query()) {
            reasons.push(format!("the query column \"{name}\" of the training is missing, too; "));
        }
        // 1. Columns with a default name of the role but a different use.
        let mut free = default_names(role).to_vec();
        for (column, name) in self.names.iter().enumerate() {
            let Some(known) = free.iter().position(|known| known.eq_ignore_ascii_case(name)) else {
                continue;
            };
            let what = match self.key_of(name) {
                Some(key) => format!("is listed under '{key}'"),
                None if self.is_feature(column) => "is a feature of the model".to_owned(),
                None if self.was_ignored(column) => "was ignored in the training".to_owned(),
                None => continue,
            };
            reasons.push(format!("\"{name}\" {what}; "));
            free.remove(known);
        }
        // 2. Names and values that would work.
        let names = match free[..] {
            [] => String::new(),
            [only] => format!("name it {only}, or "),
            [ref some @ .., last] => format!("name one {} or {last}, or ", some.join(", ")),
        };
        let proposal = self.proposal(Some((role, self.document_guess(role).unwrap_or("..."))), &[]);
        let number = if role == "doc" && !self.spec.needs_doc_ids() {
            format!(" ({} numbers the documents)", columns_text(self.columns, Some((role, json!(null))), &[]))
        } else {
            String::new()
        };
        self.source.error(format!(
            "no {role} column among {}; {}{names}use the options {proposal}{number}",
            self.names.join(", "),
            reasons.concat(),
        ))
    }

    fn lacks_query(&self) -> bool {
        matches!(self.one("query"), Ok(None))
    }

    /// The key of the option `columns` that names a column.
    fn key_of(&self, name: &str) -> Option<&str> {
        let mut entries = self.columns.into_iter().flatten();
        let names = |value| listed_names(value).iter().any(|listed| listed.eq_ignore_ascii_case(name));
        entries.find(|(_, value)| names(value)).map(|(key, _)| key.as_str())
    }

    /// For the document role, the first column that is named like an id and has no other role.
    fn document_guess(&self, role: &str) -> Option<&str> {
        let query = self.one("query").ok().flatten();
        let free = |column: usize, name: &str| {
            Some(column) != query && !self.is_feature(column) && self.key_of(name).is_none()
        };
        let mut columns = self.names.iter().enumerate().filter(|_| role == "doc");
        columns.find(|(column, name)| is_like_id(name) && free(*column, name)).map(|(_, name)| name.as_str())
    }
}

// Columns named like ids (rule 2.12).

/// Features named like ids that the option `columns` does not list. They are refused if they contain numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct LikeIds {
    pub columns: Vec<usize>,
    /// The message about these features.
    pub error: Error,
}

impl ColumnChoice<'_> {
    /// Training features named like ids that the option `columns` does not list (rule 2.12).
    pub fn like_ids(
        &self,
        features: &FeatureColumns,
        query_features: Option<&FeatureColumns>,
        doc: Option<usize>,
    ) -> Option<LikeIds> {
        let unlisted = |role: &str, columns: Option<&FeatureColumns>| -> Vec<usize> {
            let listed = self.columns.is_some_and(|columns| columns.contains_key(role));
            match columns {
                Some(FeatureColumns::Wide(columns))
                    if !listed && self.spec.feature_set == FeatureSet::New =>
                {
                    columns.iter().copied().filter(|column| is_like_id(&self.names[*column])).collect()
                }
                _ => Vec::new(),
            }
        };
        let columns =
            [unlisted("features", Some(features)), unlisted("query_features", query_features)].concat();
        let error = self.refuse_ids(&columns, doc.is_some());
        (!columns.is_empty()).then_some(LikeIds { columns, error })
    }

    fn refuse_ids(&self, columns: &[usize], has_doc: bool) -> Error {
        let names: Vec<&str> = columns.iter().map(|column| self.names[*column].as_str()).collect();
        let problem = match names[..] {
            [only] => format!("the column \"{only}\" is named like an id and has no role"),
            _ => format!("the columns \"{}\" are named like ids and have no role", names.join("\", \"")),
        };
        let role = match names.split_first() {
            Some((first, others)) if !has_doc => {
                let proposal = self.proposal(Some(("doc", first)), others);
                format!("to name documents by \"{first}\", use the options {proposal}; ")
            }
            _ => String::new(),
        };
        let ignored = self.proposal(None, &names);
        self.source.error(format!(
            "{problem}; {role}to ignore ids, use the options {ignored}; to use an id as a feature, list all features under \"features\""
        ))
    }
}
