//! Values for the parameters of a source's statement: the option `params` (rule 1.4).

use rusqlite::Statement;
use serde_json::Value;

use super::{QUERY_PARAMETER, Source};
use crate::data::Id;
use crate::error::{Error, Result};
use crate::param::Params;
use crate::sqlite::glue::value::id_value;

/// Binds the option `params`, and the query id if the statement reads one query only.
pub fn bind(
    statement: &mut Statement<'_>,
    source: &Source,
    options: &Params,
    query: Option<&Id>,
) -> Result<()> {
    let host = |error: rusqlite::Error| source.error(format!("option 'params': {error}"));
    let query_index = statement.parameter_index(QUERY_PARAMETER).map_err(host)?;
    let expected = statement.parameter_count() - usize::from(query_index.is_some());
    let given = match options.get("params") {
        Some(Value::Array(values)) => values.len(),
        Some(Value::Object(values)) => values.len(),
        _ => 0,
    };
    if given == 0 && expected > 0 && !options.has("params") {
        return Err(source.error(format!(
            "the statement has parameters ({expected}); give their values with the option 'params'"
        )));
    }
    if let Some(Value::Object(values)) = options.get("params") {
        for (name, value) in values {
            let name = name.trim_start_matches([':', '@', '$']);
            let index = [":", "@", "$"]
                .iter()
                .find_map(|sign| statement.parameter_index(&format!("{sign}{name}")).ok().flatten());
            let missing = || source.error(format!("option 'params': no parameter :{name}"));
            statement.raw_bind_parameter(index.ok_or_else(missing)?, sql_value(value)?).map_err(host)?;
        }
    }
    if given != expected {
        return Err(source.error(format!(
            "number of values in the option 'params': got {given}, the statement has parameters for {expected}"
        )));
    }
    if let Some(Value::Array(values)) = options.get("params") {
        for (index, value) in values.iter().enumerate() {
            statement.raw_bind_parameter(index + 1, sql_value(value)?).map_err(host)?;
        }
    }
    if let (Some(index), Some(id)) = (query_index, query) {
        let value = rusqlite::types::ToSqlOutput::Borrowed(id_value(id));
        statement.raw_bind_parameter(index, value).map_err(host)?;
    }
    Ok(())
}

fn sql_value(value: &Value) -> Result<rusqlite::types::Value> {
    use rusqlite::types::Value as Sql;
    Ok(match value {
        Value::Null => Sql::Null,
        Value::Bool(flag) => Sql::Integer(i64::from(*flag)),
        Value::Number(number) => {
            number.as_i64().map_or_else(|| Sql::Real(number.as_f64().unwrap_or(0.0)), Sql::Integer)
        }
        Value::String(text) => Sql::Text(text.clone()),
        other => {
            let allowed = "numbers, texts, true, false and null";
            return Err(Error::value("a value in the option 'params'", other.to_string(), allowed));
        }
    })
}
