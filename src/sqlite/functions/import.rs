//! `ltr_import(text [, options])`: stores a model that is given as text.
//!
//! Rules (docs/reference/rules.md, 9):
//! * 9.10: An imported model is stored like a trained one.
//! * 9.17: Texts may be models of other libraries; scores are the same as there.

use rusqlite::types::ValueRef;
use serde_json::{Value, json};

use super::training::most_bytes;
use crate::base::{Control, Error, Result};
use crate::exchange::{self, ImportSpec, Imported};
use crate::model::Card;
use crate::sqlite::glue::{Output, ScalarCall, ScalarFunction, describe};
use crate::sqlite::store::{NewVersion, Store, check_name};
use crate::train::algorithm;
use crate::train::options::{self, Use};
use crate::train::protocol::Encoded;

pub const IMPORT: ScalarFunction = ScalarFunction::new("ltr_import", "text [, options]", import);

fn import(call: &ScalarCall<'_>) -> Result<Output> {
    let (options, limits) = call.options(1, Use::Import)?;
    let text = match call.context.get_raw(0) {
        ValueRef::Text(text) | ValueRef::Blob(text) => text,
        other => {
            let allowed = "the text of ltr_export(model, 'json') or a model of another library";
            return Err(Error::value("argument 'text'", describe(other), allowed));
        }
    };
    let spec = ImportSpec {
        format: options.text("format").map(str::to_owned),
        names: options.get("names").and_then(Value::as_object).cloned().unwrap_or_default(),
    };
    let _mark = call.state.begin_training()?;
    call.with_connection(|connection| {
        // 1. Refuse first what could not be stored.
        let store = Store::new(connection, options.text("schema"), &limits)?;
        store.prepare()?;
        // 2. Read the model. Nested JSON is parsed recursively, and a thread of the library has enough stack; the
        //    caller's may not.
        let read = |control: &Control| exchange::import(text, &spec, algorithm::find_name, control);
        let Imported { model, mut warnings, memory: _memory } = limits.run(read)?;
        let card = model.card.clone();
        let name = options.text("name").unwrap_or(&card.algorithm).to_owned();
        check_name(&name)?;
        let encoded = Encoded::new(model, most_bytes(connection), &limits.memory)?;
        // 3. Store a new version.
        let activate = options::switch(&options, "activate");
        let new = NewVersion {
            name: &name,
            algorithm: &card.algorithm,
            report: &stored_report(&name, &card),
            model: &encoded.bytes,
            activate,
            keep_versions: options.count("keep_versions"),
            base: None,
        };
        let stored = store.put(&new)?;
        warnings.extend(stored.warnings);
        call.state.set_warnings(warnings.clone());
        Ok(Output::Json(json!({
            "name": name,
            "version": stored.version,
            "active": activate,
            "algorithm": card.algorithm,
            "features": card.input_names(),
            "source": card.settings.get("format"),
            "warnings": warnings,
        })))
    })
}

/// The report of an imported version: the parts of the training report that the text contains.
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
