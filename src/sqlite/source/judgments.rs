//! Reads a source that only has judgments, and the view of candidates for its queries.
//!
//! The option `columns` names roles in both: query, document, relevance and weights in the judgments, all others in the view.

use std::sync::Arc;

use rusqlite::types::ValueRef;
use serde::de::IgnoredAny;
use serde_json::{Map, Value, json};

use super::column_choice::is_default_name;
use super::judged::{JudgedColumn, JudgedDocuments, JudgedNames};
use super::parameters::SourceCall;
use super::passes::read;
use super::reader::{ReadSpec, SourceRows};
use super::roles::Roles;
use crate::base::{Params, Reservation, Result};
use crate::data::{Dataset, ListConstraint, RowOrder};
use crate::model::CandidateView;
use crate::sqlite::glue::{Asked, State, describe, row_id};

/// The roles that a source of judgments has.
const ROLES: [&str; 6] = ["query", "doc", "relevance", "weight", "doc_weight", "determined"];

/// The column of judgments with the parameters of `ltr_query`.
pub const PARAMS: &str = "params";

/// Treatment of unjudged candidates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unjudged {
    /// Skip them.
    Skipped,
    /// Read them without a judgment.
    Kept,
}

/// Reads the judgments of a source. `trained`: the view of a model, for which the same judgment columns are used.
///
/// # Errors
/// As [`read`]; no rows.
pub fn read_judgments(
    call: SourceCall<'_>,
    spec: ReadSpec<'_>,
    trained: Option<&CandidateView>,
) -> Result<JudgedDocuments> {
    // 1. The rows, without features.
    let names = call.source.columns(call.connection, call.limits)?;
    let mut columns = given_columns(call.options);
    let ignored = columns.get("ignore").and_then(Value::as_array);
    let ignores_params = ignored.is_some_and(|names| names.iter().filter_map(Value::as_str).any(is_params));
    columns.retain(|role, _| ROLES.contains(&&**role));
    for (role, name) in ["query", "doc", "relevance"].iter().zip(trained.iter().flat_map(|view| &view.judged))
    {
        if !name.is_empty() && contains(&names, name) {
            columns.entry(*role).or_insert(json!(name));
        }
    }
    let options = call.options.clone().without(&["baseline"]).with("columns", Value::Object(columns));
    let call = SourceCall { options: &options, ..call };
    let judged = ReadSpec::judged(ListConstraint::None, RowOrder::Canonical, false);
    let judged = ReadSpec { judgments: spec.judgments, doc_weights: spec.doc_weights, ..judged };
    let SourceRows { mut data, roles, mut read_report } = read(call, judged)?;
    if data.n_docs() == 0 {
        return Err(call.source.error("0 rows; there is no judgment"));
    }
    let judged_rows: Vec<usize> = (0..data.n_docs()).filter(|row| !data.relevance[*row].is_nan()).collect();
    let all_queries = data.n_queries();
    if judged_rows.is_empty() {
        return Err(call.source.error("the relevance is NULL in every row; there is nothing to evaluate"));
    } else if judged_rows.len() < data.n_docs() {
        data = data.subset(&judged_rows);
    }
    let unjudged_queries = all_queries - data.n_queries();
    // 2. The columns that a reader of the view gets from the judgments, named by role.
    let group = roles.fold_group.filter(|group| roles.split != Some(*group));
    let columns = [
        (Some("relevance"), roles.relevance.map(|_| JudgedColumn::Relevance)),
        (Some("weight"), roles.weight.map(|_| JudgedColumn::Weight)),
        (Some("doc_weight"), roles.doc_weight.map(|_| JudgedColumn::DocWeight)),
        (call.options.text("split_by"), roles.split.map(|_| JudgedColumn::Split)),
        (call.options.text("group_by"), group.map(|_| JudgedColumn::Group)),
    ];
    let columns =
        columns.into_iter().filter_map(|(name, column)| Some((name?.to_owned(), column?))).collect();
    let params =
        if ignores_params { Vec::new() } else { read_params(call, &roles, &data, &mut read_report.memory)? };
    let name = |column: Option<usize>| column.map(|column| roles.names[column].clone()).unwrap_or_default();
    let names = JudgedNames {
        ids: [roles.query, roles.doc, roles.relevance].map(name),
        determined: name(roles.determined),
        ignored: roles.training_columns(&[]).ignored.into_iter().filter(|name| !is_params(name)).collect(),
    };
    let judged = JudgedDocuments::new(data, read_report, columns, (names, params, unjudged_queries));
    match judged.in_two_types() {
        Some((query, doc)) => Err(call.source.error(format!(
            "query {query} has the document {doc} as INTEGER and as TEXT; a candidate could be either: CAST its column to one type"
        ))),
        None => Ok(judged),
    }
}

fn is_params(name: &str) -> bool {
    name.eq_ignore_ascii_case(PARAMS)
}

/// Each query's parameters for `ltr_query`; empty if the judgments have no such column.
fn read_params(
    call: SourceCall<'_>,
    roles: &Roles,
    data: &Dataset,
    memory: &mut Reservation,
) -> Result<Vec<Option<String>>> {
    let column = roles.ignored.iter().map(|column| &roles.names[*column]).find(|name| is_params(name));
    let (Some(query), Some(column)) = (roles.query, column) else { return Ok(Vec::new()) };
    let mut params: Vec<Option<Option<String>>> = vec![None; data.n_queries()];
    let select = call.source.ordered(&[&roles.names[query], column], "1");
    call.each_row(&select, &mut |row| {
        let id = row_id(call.source.value(row, 0)?);
        let refuse =
            |problem: &str| Err(call.source.error(format!("query {id}, column \"{column}\": {problem}")));
        let value = call.source.value(row, 1)?;
        let text = match value {
            ValueRef::Null => None,
            ValueRef::Text(text) if serde_json::from_slice::<IgnoredAny>(text).is_ok() => {
                std::str::from_utf8(text).ok()
            }
            other => {
                return refuse(&format!(
                    "{}; expected JSON, as made by json_object('user', 7), or NULL",
                    describe(other)
                ));
            }
        };
        let Ok(number) = data.query_ids.binary_search(&id) else { return Ok(()) };
        match &params[number] {
            Some(known) if known.as_deref() == text => Ok(()),
            Some(_) => refuse(
                "two values, but a query has one; searches for the same text by two users are two queries",
            ),
            None => {
                memory.add(
                    text.map_or(0, |text| text.len() as u64),
                    "parameters of queries",
                    "use fewer queries",
                )?;
                params[number] = Some(text.map(str::to_owned));
                Ok(())
            }
        }
    })?;
    Ok(params.into_iter().map(Option::flatten).collect())
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
    let columns = columns_of_view(judged, call.options, &names, unjudged);
    check_names(judged, &names, &columns).map_err(|problem| call.source.error(problem))?;
    let options = &call.options.clone().without(&["params"]).with("columns", Value::Object(columns));
    let mark = state.ask(Asked::new(judged.data.query_ids.clone(), judged.params.clone()))?;
    let (asked, judged) = (Some(&*mark.asked), (unjudged == Unjudged::Skipped).then_some(judged));
    read(SourceCall { options, values: &[], ..call }, ReadSpec { judged, asked, ..spec })
}

/// Refuses a view without ids, and columns that exist in both the view and the judgments.
fn check_names(
    judged: &JudgedDocuments,
    names: &[String],
    columns: &Map<String, Value>,
) -> Result<(), String> {
    let has = |role: &str| columns.contains_key(role) || names.iter().any(|name| is_default_name(role, name));
    let list = names.join(", ");
    if !has("query") {
        return Err(format!(
            "no query column among {list}; write SELECT q.query AS query_id, ... FROM ltr_query AS q"
        ));
    }
    if !has("doc") {
        return Err(format!("no document column among {list}; name it in the view, as in id AS doc_id"));
    }
    let relevance = &judged.ids[2];
    for judged in judged.names() {
        let is_relevance = |name: &str| judged == "relevance" && name.eq_ignore_ascii_case(relevance);
        let is_like = |name: &&String| name.eq_ignore_ascii_case(judged) || is_relevance(name);
        if let Some(name) = names.iter().find(is_like) {
            return Err(format!(
                "the column \"{name}\" is named like the {judged} of the judgments; rename it in the view"
            ));
        }
    }
    Ok(())
}

/// The option `columns` for reading the view, without keys that only apply to judgments. `names`: the columns of the view.
fn columns_of_view(
    judged: &JudgedDocuments,
    options: &Params,
    names: &[String],
    unjudged: Unjudged,
) -> Map<String, Value> {
    let mut columns = given_columns(options);
    columns.retain(|role, _| !ROLES.contains(&&**role));
    if let Some(Value::Array(ignored)) = columns.get_mut("ignore") {
        let is_of_judgments = |name: &Value| {
            name.as_str().is_some_and(|name| is_params(name) || contains(&judged.ignored, name))
        };
        ignored
            .retain(|name| !is_of_judgments(name) || name.as_str().is_some_and(|name| contains(names, name)));
    }
    // Ids have default names, or the judgments' names.
    for (role, name) in ["query", "doc"].into_iter().zip(&judged.ids) {
        let by_default = names.iter().filter(|name| is_default_name(role, name)).count();
        if by_default != 1 && contains(names, name) {
            columns.insert(role.to_owned(), json!(name));
        }
    }
    // Relevance comes from the judgments, so a column such as rating is a feature.
    if unjudged == Unjudged::Skipped && names.iter().any(|name| is_default_name("relevance", name)) {
        columns.insert("relevance".to_owned(), json!("relevance"));
    }
    // Weights come from the judgments, so a view column with such a name is a feature.
    for role in ["weight", "doc_weight", "determined"] {
        if names.iter().any(|name| is_default_name(role, name)) {
            columns.insert(role.to_owned(), Value::Null);
        }
    }
    columns
}

fn given_columns(options: &Params) -> Map<String, Value> {
    options.get("columns").and_then(Value::as_object).cloned().unwrap_or_default()
}

fn contains(names: &[String], name: &str) -> bool {
    names.iter().any(|known| known.eq_ignore_ascii_case(name))
}
