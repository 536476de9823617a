//! `ltr_export(model, format)` and `ltr_import(json [, options])`: models as text.
//!
//! Rules (docs/reference/rules.md, 9):
//! * 9.8: A refusal names the formats that the model has.
//! * 9.9: The expression of `'sql'` has the scores of `ltr_rank` up to rounding.
//! * 9.10: An imported model is stored as `ltr_train` does.

use rusqlite::functions::FunctionFlags;
use rusqlite::types::ValueRef;
use serde_json::{Value, json};

use super::train::most_bytes;
use crate::apply::export;
use crate::apply::export::Format;
use crate::base::error::{Error, Result};
use crate::model::Card;
use crate::sqlite::glue::function::{ScalarCall, ScalarFunction};
use crate::sqlite::glue::run_limits::RunLimits;
use crate::sqlite::glue::value::{Output, describe, optional_text, text_argument};
use crate::sqlite::glue::vtab::Parameter;
use crate::sqlite::store::{Activation, NewVersion, Store, check_name, model};
use crate::train::options::Use;
use crate::train::protocol::Encoded;
use crate::train::{algorithm, options};

/// The definition of `ltr_export`.
pub const EXPORT: ScalarFunction = ScalarFunction {
    name: "ltr_export",
    arities: &[2],
    parameters: &[Parameter::required("model"), Parameter::required("format")],
    flags: FunctionFlags::SQLITE_DIRECTONLY,
    execute: export,
};

/// The definition of `ltr_import`.
pub const IMPORT: ScalarFunction = ScalarFunction {
    name: "ltr_import",
    arities: &[1, 2],
    parameters: &[Parameter::required("json"), Parameter::optional("options")],
    flags: FunctionFlags::SQLITE_DIRECTONLY,
    execute: import,
};

/// A byte of JSON takes at most this memory (bytes): the quantiles of a feature with four points, which are 25 bytes at least,
/// take 1,300 with the name of the feature. Settings take twice as much, and at most [`SETTINGS_BYTES`].
const PARSED_BYTES: u64 = 64;
const SETTINGS_BYTES: u64 = 80_000_000;

fn export(call: &ScalarCall<'_>) -> Result<Output> {
    let format = text_argument("argument 'format'", call.context.get_raw(1))?;
    let format = Format::parse(&format)
        .ok_or_else(|| Error::unknown("format", &format, Format::NAMES.iter().copied()))?;
    call.with_connection(|connection| {
        let (argument, limits) = (call.context.get_raw(0), RunLimits::default());
        let handle = model(connection, argument, None, call.state, &limits)?;
        // The model has the same name in the other program.
        let name = match argument {
            ValueRef::Text(name) => {
                Store::new(connection, None, &limits)?.report(&String::from_utf8_lossy(name), &limits)?.0
            }
            _ => handle.model.card.algorithm.clone(),
        };
        export::export(&handle.model, &name, format).map(Output::Text)
    })
}

fn import(call: &ScalarCall<'_>) -> Result<Output> {
    let options = optional_text("argument 'options'", call.argument(1))?;
    let options = options::parse(options.as_deref(), Use::Import)?;
    let text = match call.context.get_raw(0) {
        ValueRef::Text(text) => text,
        other => {
            let allowed = "the text of ltr_export(model, 'json')";
            return Err(Error::value("argument 'json'", describe(other), allowed));
        }
    };
    let limits = RunLimits::new(&options);
    let _mark = call.state.begin_training()?;
    call.with_connection(|connection| {
        // 1. What could not be stored is refused first.
        let store = Store::new(connection, options.text("schema"), &limits)?;
        store.prepare(&limits)?;
        // 2. The model.
        let bytes = (text.len() as u64).saturating_mul(PARSED_BYTES);
        let bytes = bytes.saturating_add(bytes.min(SETTINGS_BYTES));
        let what = format_args!("reading {} bytes of JSON", text.len());
        let parsed = limits.memory().reserve(bytes, what, "copy the row of ltr_models instead")?;
        let model = limits.run_here(connection, || export::read(text, algorithm::find_name))?;
        drop(parsed);
        let card = model.card.clone();
        let name = options.text("name").unwrap_or(&card.algorithm).to_owned();
        check_name(&name)?;
        let encoded = Encoded::new(model, most_bytes(connection), limits.memory())?;
        // 3. A new version.
        let activate = options.switch("activate").unwrap_or(true);
        let new = NewVersion {
            name: &name,
            algorithm: &card.algorithm,
            report: &stored_report(&name, &card),
            model: &encoded.bytes,
            activation: if activate { Activation::Activate } else { Activation::KeepInactive },
            keep_versions: options.count("keep_versions"),
            base: None,
        };
        let stored = store.put(&new, &limits)?;
        call.state.set_warnings(stored.warnings.clone());
        Ok(Output::Json(json!({
            "name": name,
            "version": stored.version,
            "active": activate,
            "algorithm": card.algorithm,
            "features": card.features,
            "warnings": stored.warnings,
        })))
    })
}

/// The report of an imported version: that of the training as far as the text has it.
fn stored_report(name: &str, card: &Card) -> Value {
    let mut report = card.summary.clone();
    let own = [
        ("name", json!(name)),
        ("version", Value::Null),
        ("algorithm", json!(card.algorithm)),
        ("source", json!("ltr_import")),
        ("settings", card.settings.clone()),
    ];
    for (key, value) in own {
        report[key] = value;
    }
    report
}
