//! `ltr_version()` and `ltr_debug()`.

use rusqlite::functions::FunctionFlags;
use serde_json::json;

use crate::base::error::Result;
use crate::sqlite::functions::fts;
use crate::sqlite::glue::function::{ScalarCall, ScalarFunction};
use crate::sqlite::glue::value::Output;

/// The definition of `ltr_version`.
pub const VERSION: ScalarFunction = ScalarFunction {
    name: "ltr_version",
    arities: &[0],
    parameters: &[],
    flags: FunctionFlags::SQLITE_INNOCUOUS.union(FunctionFlags::SQLITE_DETERMINISTIC),
    execute: |_| Ok(Output::Text(env!("CARGO_PKG_VERSION").to_owned())),
};

/// The definition of `ltr_debug`: facts for bug reports and the warnings of the last training, ranking, evaluation or
/// recommendation.
pub const DEBUG: ScalarFunction = ScalarFunction {
    name: "ltr_debug",
    arities: &[0],
    parameters: &[],
    flags: FunctionFlags::SQLITE_DIRECTONLY,
    execute: debug,
};

fn debug(call: &ScalarCall<'_>) -> Result<Output> {
    let fts5 = call.with_connection(|connection| Ok(fts::status(connection, call.state)))?;
    Ok(Output::Json(json!({
        "version": env!("CARGO_PKG_VERSION"),
        "sqlite": rusqlite::version(),
        "fts5": fts5,
        "built": if cfg!(feature = "loadable") { "loadable" } else { "static" },
        "target": format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS),
        "threads": std::thread::available_parallelism().map_or(1, usize::from),
        "models_kept": call.state.models_kept(),
        "fits_kept": call.state.fits.len(),
        "last_warnings": call.state.warnings(),
    })))
}
