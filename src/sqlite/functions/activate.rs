//! `ltr_activate(name, version [, options])`: makes a stored version the only active one of its name.
//!
//! Rules (docs/reference/rules.md, 5):
//! * 5.30: It returns the version. A version that does not exist is an error, and nothing changes.

use crate::base::{Error, Result};
use crate::sqlite::glue::{Output, ScalarCall, ScalarFunction, describe, text_argument, whole_of};
use crate::sqlite::store::Store;
use crate::train::options::Use;

pub const ACTIVATE: ScalarFunction =
    ScalarFunction::new("ltr_activate", "name, version [, options]", activate);

fn activate(call: &ScalarCall<'_>) -> Result<Output> {
    let name = text_argument("argument 'name'", call.context.get_raw(0))?;
    let value = call.context.get_raw(1);
    let version = whole_of(value).ok_or_else(|| {
        Error::value("argument 'version'", describe(value), "the number of a stored version")
    })?;
    let (options, limits) = call.options(2, Use::Activate)?;
    call.with_connection(|connection| {
        Store::new(connection, options.text("schema"), &limits)?.activate(&name, version)
    })?;
    Ok(Output::Integer(version))
}
