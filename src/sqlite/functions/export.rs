//! `ltr_export(model, format)`: a model as text.
//!
//! Rules (docs/reference/rules.md, 9):
//! * 9.8: A refusal lists the formats that the model supports.
//! * 9.9: The `'sql'` expression gives the scores of `ltr_rank` up to rounding.

use crate::base::Result;
use crate::exchange::{self, Format};
use crate::sqlite::glue::{Output, RunLimits, ScalarCall, ScalarFunction, text_argument};
use crate::sqlite::store::{model, named_version};

pub const EXPORT: ScalarFunction = ScalarFunction::new("ltr_export", "model, format", export);

fn export(call: &ScalarCall<'_>) -> Result<Output> {
    let format = text_argument("argument 'format'", call.context.get_raw(1))?;
    let format = Format::to_write(&format)?;
    call.with_connection(|connection| {
        let (argument, limits) = (call.context.get_raw(0), RunLimits::of(connection));
        let handle = model(connection, argument, None, call.state, &limits)?;
        // The exported text keeps the model's name.
        let stored = named_version(connection, argument, None, &limits)?;
        let name = stored.map_or_else(|| handle.model.card.algorithm.clone(), |stored| stored.name);
        exchange::export(&handle.model, &name, format, &limits.memory).map(Output::Text)
    })
}
