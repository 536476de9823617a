//! Columns of a click log.

use serde_json::Value;

use super::names::{OptionColumns, check_keys, default_names, find, lookup, not_a_name};
use crate::base::{Params, Result};
use crate::sqlite::source::Source;
use crate::train::options::{INTERLEAVED_KEYS, LOG_KEYS};

/// Default names for roles that exist only in logs.
const NAMES: [(&str, &[&str]); 4] = [
    ("impression", &["impression", "impression_id", "session", "session_id"]),
    ("position", &["position", "rank", "pos"]),
    ("clicked", &["clicked", "click"]),
    ("team", &["team"]),
];

/// Column names of a log, in the order of [`LOG_KEYS`].
///
/// # Errors
/// An unknown key in the option `columns`; a role without a column, or with several.
pub fn log_columns(source: &Source, names: &[String], options: &Params) -> Result<[String; LOG_KEYS.len()]> {
    let columns = options.get("columns").and_then(Value::as_object);
    check_keys(columns, &LOG_KEYS)?;
    let mut chosen: [String; LOG_KEYS.len()] = Default::default();
    for (chosen, role) in chosen.iter_mut().zip(LOG_KEYS) {
        chosen.clone_from(&names[required(source, names, columns, role)?]);
    }
    Ok(chosen)
}

/// Column names of a log of interleaved lists, in the order of [`INTERLEAVED_KEYS`]. Query and position may be absent.
///
/// # Errors
/// As [`log_columns`].
pub fn interleaved_columns(
    source: &Source,
    names: &[String],
    options: &Params,
) -> Result<[Option<String>; INTERLEAVED_KEYS.len()]> {
    let columns = options.get("columns").and_then(Value::as_object);
    check_keys(columns, &INTERLEAVED_KEYS)?;
    let mut chosen = [const { None }; INTERLEAVED_KEYS.len()];
    for (chosen, role) in chosen.iter_mut().zip(INTERLEAVED_KEYS) {
        let column = match role {
            "query" | "position" => of_role(source, names, columns, role)?,
            _ => Some(required(source, names, columns, role)?),
        };
        *chosen = column.map(|column| names[column].clone());
    }
    Ok(chosen)
}

/// Default names of a log role.
fn log_names(role: &str) -> &'static [&'static str] {
    NAMES.iter().find(|(known, _)| *known == role).map_or(default_names(role), |(_, names)| names)
}

fn required(source: &Source, names: &[String], columns: OptionColumns<'_>, role: &str) -> Result<usize> {
    of_role(source, names, columns, role)?.ok_or_else(|| {
        source.error(format!(
            "no column for the role {role} of a log: name one {}, or give it with the options {{\"columns\": \
             {{\"{role}\": \"...\"}}}}; the columns are {}",
            log_names(role).join(" or "),
            names.join(", ")
        ))
    })
}

/// The column of a role: from the option `columns`, otherwise by default names.
fn of_role(source: &Source, names: &[String], given: OptionColumns<'_>, role: &str) -> Result<Option<usize>> {
    match given.and_then(|columns| columns.get(role)) {
        Some(Value::String(name)) => return lookup(source, names, "columns", name).map(Some),
        Some(other) => return Err(not_a_name(role, other)),
        None => {}
    }
    let mut candidates = Vec::new();
    for name in log_names(role) {
        candidates.extend(find(source, names, name)?);
    }
    match candidates[..] {
        [only] => Ok(Some(only)),
        [] => Ok(None),
        [a, b, ..] => {
            let [a, b] = [&names[a], &names[b]];
            Err(source.error(format!(
                "both \"{a}\" and \"{b}\" could have the role {role} of a log; choose with the options \
                 {{\"columns\": {{\"{role}\": \"{a}\"}}}}"
            )))
        }
    }
}
