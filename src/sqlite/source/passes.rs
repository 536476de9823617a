//! Reads a source. Keys of JSON objects (rule 3.10) and days before the query (rule 3.11) need another pass.

use std::rc::Rc;

use rusqlite::types::ValueRef;
use serde_json::Value;

use super::column_choice::is_role_name;
use super::parameters::{SourceCall, bind};
use super::read_spec::{CategoryColumns, ReadSpec};
use super::reader::{SourceRows, prepare, read_prepared};
use crate::base::{Error, Result, shorten};
use crate::data::{ColumnFacts, Form, Keys, Missing, Outcome, Quantities};
use crate::sqlite::glue::{retry_busy, within_time};

/// Rows between two checks of the time limit.
const CHECK_INTERVAL: usize = 256;

/// Reads a source. Training reads the keys of JSON object columns as features (rule 3.10).
///
/// # Errors
/// A value that the rules do not allow; more memory than `max_memory` allows; the time limit.
pub fn read(call: SourceCall<'_>, spec: ReadSpec<'_>) -> Result<SourceRows> {
    let mut rows = read_columns(call, spec);
    let takes_texts =
        spec.known_quantities().is_none() && !matches!(spec.categories, CategoryColumns::Refused);
    if !takes_texts || !spec.features {
        return rows;
    }
    // 1. The keys of all rows become columns in a second pass.
    let may_have_keys = match &rows {
        Ok(rows) => rows.read_report.ignored_facts.iter().any(ColumnFacts::may_be_objects),
        Err(error) => matches!(error, Error::Source { .. } | Error::Row { .. }),
    };
    let mut derived = Quantities::default();
    if may_have_keys {
        let keys =
            spec.missing(call.options).and_then(|missing| find_keys(call, spec, missing != Missing::Error));
        derived = match keys {
            // Report the first error.
            Err(_) if rows.is_err() => return rows,
            keys => keys?,
        };
        if !derived.is_empty() {
            drop(rows);
            rows = read_columns(call, ReadSpec { derived: Some(&derived), ..spec });
        }
    }
    // 2. Dates become days before the query time.
    let SourceRows { data, roles, read_report } = rows?;
    let has_dates = data.quantities.iter().any(|(_, form)| form.is_date());
    if let Some(column) = roles.query_time.filter(|_| has_dates) {
        let time = time_form(&roles.names[column], read_report.times.as_ref());
        let time = time.map_err(|problem| call.source.error(problem))?;
        derived.extend(data.quantities.ages(&roles.names[column], time));
        drop((data, read_report));
        return read_columns(call, ReadSpec { derived: Some(&derived), ..spec });
    }
    Ok(SourceRows { data, roles, read_report })
}

/// The format of the query's time column, if it contains texts.
fn time_form<'a>(name: &str, times: Option<&'a Outcome>) -> Result<Option<&'a Form>, String> {
    let content = match times {
        None => return Ok(None),
        Some(Outcome::Form(form)) if form.is_date() => return Ok(Some(form)),
        Some(Outcome::Unread { kind, example, .. }) => format!("'{}': {kind}", shorten(example)),
        Some(other) => other.what().to_owned(),
    };
    Err(format!(
        "the query's time, column \"{name}\", has {content}; expected dates of one form, or days since 1970-01-01"
    ))
}

fn read_columns(call: SourceCall<'_>, spec: ReadSpec<'_>) -> Result<SourceRows> {
    let (mut statement, roles) = prepare(call, spec)?;
    let (data, read_report) = read_prepared(call, &roles, &mut statement, spec)?;
    Ok(SourceRows { data, roles: Rc::new(roles), read_report })
}

/// The features that are keys of JSON objects. Stops when a row rules out the last candidate column.
///
/// # Errors
/// SQLite errors; the time limit.
fn find_keys(call: SourceCall<'_>, spec: ReadSpec<'_>, allows_missing: bool) -> Result<Quantities> {
    let SourceCall { source, limits, .. } = call;
    let mut statement = call.statement(&source.select)?;
    let names: Vec<String> = statement.column_names().into_iter().map(str::to_owned).collect();
    let option = call.options.get("columns").and_then(|columns| columns.get("quantities"));
    let may_be_read = |name: &String| match option {
        Some(Value::Array(listed)) => {
            listed.iter().filter_map(Value::as_str).any(|listed| listed.eq_ignore_ascii_case(name))
        }
        other => other.is_none(),
    };
    bind(&mut statement, &call, None)?;
    let mut read = || -> Result<Vec<(usize, Keys)>> {
        let candidates = (0..names.len()).filter(|column| may_be_read(&names[*column]));
        let mut columns: Vec<(usize, Keys)> = candidates.map(|column| (column, Keys::default())).collect();
        let (mut rows, mut count) = (statement.raw_query(), 0_usize);
        while !columns.is_empty()
            && let Some(row) = rows.next().map_err(|error| source.host_error(&error))?
        {
            let mut others = Vec::new();
            for (column, keys) in &mut columns {
                let is_object = match source.value(row, *column)? {
                    ValueRef::Null => keys.add(None),
                    ValueRef::Text(text) => keys.add(Some(text)),
                    _ => false,
                };
                if !is_object {
                    others.push(*column);
                }
            }
            columns.retain(|(column, _)| !others.contains(column));
            count += 1;
            if count.is_multiple_of(CHECK_INTERVAL) {
                limits.check_time()?;
            }
        }
        Ok(columns)
    };
    let columns = within_time(limits, || retry_busy(limits, &mut read))?;
    let columns: Vec<_> = columns.into_iter().map(|(column, keys)| (names[column].clone(), keys)).collect();
    let judged = spec.judged.iter().flat_map(|judged| judged.names());
    let known: Vec<&str> = names.iter().map(String::as_str).chain(judged).collect();
    let is_taken =
        |name: &str| known.iter().any(|known| known.eq_ignore_ascii_case(name)) || is_role_name(name);
    Ok(Quantities::of_keys(&columns, allows_missing, is_taken))
}
