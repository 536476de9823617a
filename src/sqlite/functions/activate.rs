//! `ltr_activate(name, version)`: makes a stored version the only active one of its name.
//!
//! Rules (docs/reference/rules.md, 5):
//! * 5.30: It returns the version. A version that does not exist is an error, and nothing changes.

use rusqlite::functions::FunctionFlags;

use crate::base::error::{Error, Result};
use crate::sqlite::glue::function::{ScalarCall, ScalarFunction};
use crate::sqlite::glue::run_limits::RunLimits;
use crate::sqlite::glue::value::{Output, describe, text_argument, whole_of};
use crate::sqlite::glue::vtab::Parameter;
use crate::sqlite::store::Store;

/// The definition of `ltr_activate`.
pub const ACTIVATE: ScalarFunction = ScalarFunction {
    name: "ltr_activate",
    arities: &[2],
    parameters: &[Parameter::required("name"), Parameter::required("version")],
    flags: FunctionFlags::SQLITE_DIRECTONLY,
    execute: activate,
};

fn activate(call: &ScalarCall<'_>) -> Result<Output> {
    let name = text_argument("argument 'name'", call.context.get_raw(0))?;
    let value = call.context.get_raw(1);
    let version = whole_of(value).ok_or_else(|| {
        Error::value("argument 'version'", describe(value), "the number of a stored version")
    })?;
    let limits = RunLimits::default();
    call.with_connection(|connection| {
        Store::new(connection, None, &limits)?.activate(&name, version, &limits)
    })?;
    Ok(Output::Integer(version))
}
