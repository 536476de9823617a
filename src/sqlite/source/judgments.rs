//! Reads a source of judgments alone, and the view of candidates for its queries.
//!
//! The option `columns` names roles in both: query, document, relevance and weights in the judgments, all others in the view.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::judged::{JudgedColumn, JudgedDocuments};
use super::passes::read;
use super::read_spec::SourceCall;
use super::reader::{ReadSpec, SourceRows};
use crate::base::{Params, Result};
use crate::data::{ListConstraint, RowOrder};
use crate::sqlite::glue::{Asked, State};

/// The roles that a source of judgments has.
const ROLES: [&str; 6] = ["query", "doc", "relevance", "weight", "doc_weight", "determined"];

/// What becomes of candidates that nobody judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unjudged {
    /// They are not read.
    Skipped,
    /// They are read without a judgment.
    Kept,
}

/// Reads the judgments of a source. `trained`: the column of relevance in the training of a model.
///
/// # Errors
/// As [`read`]; no rows.
pub fn read_judgments(
    call: SourceCall<'_>,
    spec: ReadSpec<'_>,
    trained: Option<&str>,
) -> Result<JudgedDocuments> {
    // 1. The rows, without features.
    let names = call.source.columns(call.connection, call.limits)?;
    let mut columns = given_columns(call.options);
    columns.retain(|role, _| ROLES.contains(&&**role));
    if let Some(name) = trained.filter(|name| contains(&names, name)) {
        columns.entry("relevance").or_insert(json!(name));
    }
    let options = call.options.clone().without(&["baseline"]).with("columns", Value::Object(columns));
    let call = SourceCall { options: &options, ..call };
    let judged = ReadSpec::judged(ListConstraint::None, RowOrder::Canonical, false);
    let judged = ReadSpec { judgments: spec.judgments, doc_weights: spec.doc_weights, ..judged };
    let SourceRows { data, roles, mut read_report } = read(call, judged)?;
    if data.n_docs() == 0 {
        return Err(call.source.error("0 rows; there is no judgment"));
    }
    // 2. The columns that a reader of the view takes from them.
    let name = |column: Option<usize>| column.map(|column| roles.names[column].clone());
    let columns = [
        (name(roles.relevance), Some(JudgedColumn::Relevance)),
        (name(roles.weight), Some(JudgedColumn::Weight)),
        (name(roles.doc_weight), Some(JudgedColumn::DocWeight)),
        (name(roles.split), read_report.split.take().map(JudgedColumn::Split)),
    ];
    let columns = columns.into_iter().filter_map(|(name, column)| name.zip(column)).collect();
    Ok(JudgedDocuments::new(data, read_report, columns, roles.training_columns(&[]).ignored))
}

/// Reads the candidates of judged queries. `call`: its source is the view.
///
/// # Errors
/// As [`read`]; a column of the view with the name of a judged one.
pub fn read_view(
    judged: &JudgedDocuments,
    call: SourceCall<'_>,
    state: &Arc<State>,
    spec: ReadSpec<'_>,
    unjudged: Unjudged,
) -> Result<SourceRows> {
    let names = call.source.columns(call.connection, call.limits)?;
    if let Some(name) = judged.names().find(|name| contains(&names, name)) {
        return Err(call.source.error(format!(
            "the view and the judgments both have a column \"{name}\"; name it otherwise in the view"
        )));
    }
    let options = &options_of_view(judged, call.options, &names, unjudged);
    let _asked = state.ask(Asked { queries: judged.data.query_ids.clone(), params: None })?;
    let judged = (unjudged == Unjudged::Skipped).then_some(judged);
    read(SourceCall { options, values: &[], ..call }, ReadSpec { judged, ..spec })
}

/// The options for reading the view: the option `columns` without the roles of the judgments, and with the judged columns.
/// `names`: the columns of the view.
fn options_of_view(
    judged: &JudgedDocuments,
    options: &Params,
    names: &[String],
    unjudged: Unjudged,
) -> Params {
    let mut columns = given_columns(options);
    columns.retain(|role, value| match &**role {
        "query" | "doc" => value.as_str().is_some_and(|name| contains(names, name)),
        role => !ROLES.contains(&role),
    });
    if unjudged == Unjudged::Skipped {
        let mut set = |role: &str, name: Option<&str>| columns.insert(role.to_owned(), json!(name));
        set("relevance", judged.name(|column| matches!(column, JudgedColumn::Relevance)));
        set("weight", judged.name(|column| matches!(column, JudgedColumn::Weight)));
        set("doc_weight", judged.name(|column| matches!(column, JudgedColumn::DocWeight)));
        set("determined", None);
    }
    options.clone().without(&["params"]).with("columns", Value::Object(columns))
}

/// The option `columns`.
fn given_columns(options: &Params) -> Map<String, Value> {
    options.get("columns").and_then(Value::as_object).cloned().unwrap_or_default()
}

fn contains(names: &[String], name: &str) -> bool {
    names.iter().any(|known| known.eq_ignore_ascii_case(name))
}
