//! Columns of JSON objects whose keys are features (rule 3.10).

use rusqlite::types::ValueRef;
use serde_json::Value;

use super::column_choice::is_role_name;
use super::read_spec::{ReadSpec, SourceCall, bind};
use crate::base::Result;
use crate::data::{Keys, Quantities};
use crate::sqlite::glue::{retry_busy, within_time};

/// Rows between two checks of the time limit.
const TOGETHER: usize = 256;

/// The features that are keys of JSON objects. Reads the rows until one excludes the last column.
///
/// # Errors
/// Errors of SQLite; the time limit.
pub fn find_keys(call: SourceCall<'_>, spec: ReadSpec<'_>, allows_missing: bool) -> Result<Quantities> {
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
            if count.is_multiple_of(TOGETHER) {
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
