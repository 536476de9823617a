//! `ltr_version()` and `ltr_debug()`: information about the library (rule 9.7).

use serde_json::json;

use crate::base::{Result, cores};
use crate::sqlite::functions::fts;
use crate::sqlite::glue::progress::running;
use crate::sqlite::glue::{Output, PURE, ScalarCall, ScalarFunction};

pub const VERSION: ScalarFunction =
    ScalarFunction::new("ltr_version", "", |_| Ok(Output::Text(env!("CARGO_PKG_VERSION").to_owned())))
        .with_flags(PURE);

/// Facts for bug reports, and the warnings of the last training, ranking, evaluation or
/// recommendation.
pub const DEBUG: ScalarFunction = ScalarFunction::new("ltr_debug", "", debug);

fn debug(call: &ScalarCall<'_>) -> Result<Output> {
    let fts5 = call.with_connection(|connection| Ok(fts::status(connection, call.state)))?;
    Ok(Output::Json(json!({
        "version": env!("CARGO_PKG_VERSION"),
        "sqlite": rusqlite::version(),
        "fts5": fts5,
        "built": if cfg!(feature = "loadable") { "loadable" } else { "static" },
        "target": format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS),
        "threads": cores(),
        "models_kept": call.state.models_kept(),
        "fits_kept": call.state.fits.functions(),
        "progress": running(),
        "last_warnings": call.state.warnings(),
    })))
}
