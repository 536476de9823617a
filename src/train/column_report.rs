//! How training used each column of a source.
//!
//! Rules (docs/reference/rules.md, 2):
//! * 2.16: Each column is a role, a feature, an id, or left out with a reason. The report says which.
//! * 2.17: A column that is left out, but was probably meant to be used, is a warning, unless the option `columns` ignores it.

use std::cell::OnceCell;

use serde_json::{Value, json};

use crate::base::{ColumnAdvice, Params};
use crate::data::{Dataset, ReadReport};
use crate::model::TrainingColumns;
use crate::train::algorithm::AlgorithmDef;
use crate::train::column_rules::{ColumnRules, ReadColumn, ReportedColumn};
use crate::train::report::Finished;

/// How all columns were used, in their order.
#[derive(Debug, Default)]
pub struct ColumnReport(Vec<ReportedColumn>);

impl ColumnReport {
    /// How the columns of these rows were used. `takes_categories`: whether columns of text may be categories.
    pub fn of(
        columns: &[ReadColumn<'_>],
        data: &Dataset,
        read: &ReadReport,
        takes_categories: bool,
        advice: ColumnAdvice<'_>,
    ) -> Self {
        let source = ColumnRules { data, advice, takes_categories, documents: OnceCell::new() };
        Self(columns.iter().map(|column| source.usage_of(column, read)).collect())
    }

    /// What is known of the columns of packed rows, for a report. `features`: their names, if they have names.
    pub fn of_packs(roles: &TrainingColumns, features: &[String]) -> Value {
        let parameters = [("query", "query_id"), ("doc", "doc_id"), ("relevance", "relevance")];
        let needed = parameters.map(|(role, name)| (roles.of(role).unwrap_or(name), Some(role)));
        let weights = ["weight", "doc_weight"].into_iter();
        let weights = weights.filter_map(|role| Some((roles.of(role)?, Some(role))));
        let vector = features.is_empty().then_some(("features", Some("features")));
        let named = features.iter().map(|name| (name.as_str(), None));
        let usage = |(name, role): (&str, Option<&str>)| ReportedColumn {
            name: name.to_owned(),
            usage: role.map_or("feature", |_| "role"),
            reason: role.map(str::to_owned),
            form: None,
            facts: None,
            warning: None,
        };
        needed
            .into_iter()
            .chain(weights)
            .chain(vector)
            .chain(named)
            .map(|known| json!(usage(known)))
            .collect()
    }

    /// Adds them to a training that has finished, with warnings about columns that look as if they were meant.
    pub fn add_to(
        mut self,
        finished: &mut Finished,
        algorithm: &AlgorithmDef,
        options: &Params,
        advice: ColumnAdvice<'_>,
    ) {
        self.check_query_features(finished, algorithm, options);
        // A column of documents cannot be ignored, and a column of grade confidence should not.
        let (ignorable, others): (Vec<_>, Vec<_>) = (self.0.iter())
            .filter_map(|column| Some((column, column.warning.as_deref()?)))
            .partition(|(column, _)| !matches!(column.reason.as_deref(), Some("doc" | "determined")));
        finished.warnings.extend(others.iter().map(|(_, line)| (*line).to_owned()));
        let names: Vec<&str> = ignorable.iter().map(|(column, _)| &*column.name).collect();
        let mut lines: Vec<String> =
            ignorable.iter().map(|(_, line)| (*line).to_owned()).filter(|line| !line.is_empty()).collect();
        let ignore = advice.ignore(&names);
        match &mut lines[..] {
            [] => {}
            [only] => *only = format!("{only}{}{ignore}", if only.contains("; ") { ", or " } else { "; " }),
            _ => lines.push(format!("if the columns that these warnings name are not meant, {ignore}")),
        }
        finished.warnings.extend(lines);
        finished.columns = json!(self.0);
    }

    /// Tells if the source has query features that the model does not use. Trees try them; the option `query_features` is a choice.
    fn check_query_features(&mut self, finished: &Finished, algorithm: &AlgorithmDef, options: &Params) {
        // Packs have no query features.
        let in_buckets = finished.model.card.settings.get("buckets").is_some();
        let uses = (algorithm.reads)("query_columns");
        if uses && !in_buckets || options.has("query_features") {
            return;
        }
        let (ranker, known) = (&finished.model.ranker, finished.model.ranker.named_query_features());
        // A column of vectors has another name than its values.
        let is_seen = |column: &ReportedColumn| {
            let position = known.iter().position(|name| name.eq_ignore_ascii_case(&column.name));
            let sees = |position| ranker.as_query_aware().is_none_or(|ranker| ranker.sees(position));
            position.map_or(!known.is_empty(), sees)
        };
        let is_unused = |column: &&mut ReportedColumn| {
            column.reason.as_deref() == Some("query_features") && !is_seen(column)
        };
        let mut unused: Vec<&mut ReportedColumn> = self.0.iter_mut().filter(is_unused).collect();
        let has_number =
            unused.iter().any(|column| column.facts.as_ref().is_some_and(|facts| facts.kind == "number"));
        let (algorithm, way_out) = match algorithm.name {
            name if uses => (format!("{name} in buckets"), "train without buckets"),
            name if options.has("smoothing") => (name.to_owned(), "set \"smoothing\": \"gaussian\""),
            name if has_number && (algorithm.reads)("interaction") && !options.has("kernel") => {
                (name.to_owned(), "set \"interaction\": \"linear\"")
            }
            name if has_number => (
                name.to_owned(),
                "use rank_svm with \"interaction\": \"linear\", or an algorithm such as q_svm or boosted_trees",
            ),
            name => (name.to_owned(), "use an algorithm such as q_svm or boosted_trees"),
        };
        let names: Vec<String> = unused.iter().map(|column| column.name.clone()).collect();
        for column in &mut unused {
            column.reason = Some(format!("query_features, which {algorithm} does not use"));
        }
        // No warning if the queries were compared and do not differ.
        let differ = finished.dependence.filter(|found| found.differ);
        let first = unused.first_mut().filter(|_| finished.dependence.is_none() || differ.is_some());
        let Some(first) = first else { return };
        // Others may be the ones that predict it.
        let although = differ
            .filter(|_| known.is_empty())
            .map(|found| format!(", although they predict what queries prefer ({found})"));
        let line = format!(
            "{algorithm} does not use the query features \"{}\"{}; {way_out}",
            names.join("\", \""),
            although.unwrap_or_default(),
        );
        first.warning = Some(line);
        unused[1..].iter_mut().for_each(|column| column.warning = Some(String::new()));
    }
}
