//! Parameters of a source's statement, with values from the option `params` and from arguments after the options (rule 1.4).

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, Row, Statement};
use serde_json::Value;

use super::{QUERY_PARAMETER, Source};
use crate::base::{Error, Params, Result};
use crate::data::Id;
use crate::sqlite::glue::{RunLimits, id_value, retry_busy, sql, within_time};

/// A source, and the call that reads it.
#[derive(Clone, Copy)]
pub struct SourceCall<'a> {
    /// The connection of the call.
    pub connection: &'a Connection,
    pub source: &'a Source,
    /// The options of the call.
    pub options: &'a Params,
    /// Values for parameters that the option `params` does not set.
    pub values: &'a [ValueRef<'a>],
    /// Limits of the call.
    pub limits: &'a RunLimits,
}

impl<'a> SourceCall<'a> {
    /// Runs a statement over a source, and passes each row to `take`.
    ///
    /// # Errors
    /// Errors from SQLite and `take`; the time limit.
    pub(super) fn each_row(self, select: &str, take: &mut dyn FnMut(&Row<'_>) -> Result<()>) -> Result<()> {
        let mut statement = self.statement(select)?;
        bind(&mut statement, &self, None)?;
        within_time(self.limits, || {
            let (mut rows, mut count) = (statement.raw_query(), 0_usize);
            while let Some(row) = rows.next().map_err(|error| self.source.host_error(&error))? {
                take(row)?;
                count += 1;
                if count.is_multiple_of(256) {
                    self.limits.check_time()?;
                }
            }
            Ok(())
        })
    }

    /// Prepares a statement over the source.
    ///
    /// # Errors
    /// SQLite errors; the time limit.
    pub fn statement(&self, select: &str) -> Result<Statement<'a>> {
        retry_busy(self.limits, || {
            sql::prepare(self.connection, select).map_err(|error| self.source.host_error(&error))
        })
    }
}

/// Binds the option `params`, then `values` in order to the remaining parameters, and the query id if the statement
/// reads only one query.
pub fn bind(statement: &mut Statement<'_>, call: &SourceCall<'_>, query: Option<&Id>) -> Result<()> {
    let SourceCall { source, options, values, .. } = *call;
    let host = |error: rusqlite::Error| source.error(format!("option 'params': {error}"));
    let query_index = statement.parameter_index(QUERY_PARAMETER).map_err(host)?;
    let expected = statement.parameter_count() - usize::from(query_index.is_some());
    let given = match options.get("params") {
        Some(Value::Array(values)) => values.len(),
        Some(Value::Object(values)) => values.len(),
        _ => 0,
    };
    if given + values.len() == 0 && expected > 0 && !options.has("params") {
        return Err(source.error(format!(
            "the statement has parameters ({expected}); give their values with the option 'params'"
        )));
    }
    let mut left: Vec<usize> =
        (1..=statement.parameter_count()).filter(|index| Some(*index) != query_index).collect();
    if let Some(Value::Object(values)) = options.get("params") {
        for (name, value) in values {
            let name = name.trim_start_matches([':', '@', '$']);
            let index = [":", "@", "$"]
                .iter()
                .find_map(|sign| statement.parameter_index(&format!("{sign}{name}")).ok().flatten());
            let missing = || source.error(format!("option 'params': no parameter :{name}"));
            let index = index.ok_or_else(missing)?;
            statement.raw_bind_parameter(index, sql_value(value)?).map_err(host)?;
            left.retain(|other| *other != index);
        }
    }
    if given + values.len() != expected {
        let got = match values.len() {
            0 => format!("number of values in the option 'params': got {given}"),
            after => {
                format!("number of values: got {given} in the option 'params' and {after} after the options")
            }
        };
        return Err(source.error(format!("{got}, the statement has parameters for {expected}")));
    }
    if let Some(Value::Array(values)) = options.get("params") {
        for (index, value) in values.iter().enumerate() {
            statement.raw_bind_parameter(index + 1, sql_value(value)?).map_err(host)?;
        }
        left.drain(..given);
    }
    for (index, value) in left.into_iter().zip(values) {
        statement.raw_bind_parameter(index, ToSqlOutput::Borrowed(*value)).map_err(host)?;
    }
    if let (Some(index), Some(id)) = (query_index, query) {
        let value = ToSqlOutput::Borrowed(id_value(id));
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
