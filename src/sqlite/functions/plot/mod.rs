//! `ltr_plot(kind, ...)`: a plot of a model as SVG.
//!
//! Rules (docs/reference/rules.md, 14):
//! * 14.1: The arguments after the kind are those of the function whose rows are drawn. Every mark has a title to read and
//!   attributes `data-` with the exact numbers of that function.
//! * 14.2: Texts from data are escaped. The same model and rows give the same bytes.
//! * 14.6: Intervals of calibration take the queries as the sample.

pub mod features;
pub mod ranked;
pub mod training;

use rusqlite::functions::FunctionFlags;
use rusqlite::types::ValueRef;

use super::ranking_call::RankingCall;
use crate::base::error::{Error, Result};
use crate::model::Model;
use crate::sqlite::glue::function::{ScalarCall, ScalarFunction};
use crate::sqlite::glue::run_limits::RunLimits;
use crate::sqlite::glue::signature::usage;
use crate::sqlite::glue::value::{Output, text_argument};
use crate::sqlite::glue::vtab::{Call, Parameter};
use crate::sqlite::store::Store;

/// The definition of `ltr_plot`.
pub const PLOT: ScalarFunction = ScalarFunction {
    name: "ltr_plot",
    arities: &[2, 3, 4, 5],
    parameters: &[Parameter::required("kind"), MODEL, Parameter::optional("...")],
    flags: FunctionFlags::SQLITE_DIRECTONLY,
    execute: plot,
};

pub(super) const MODEL: Parameter = Parameter::required("model");
pub(super) const SOURCE: Parameter = Parameter::required("source");
pub(super) const OPTIONS: Parameter = Parameter::optional("options");

/// One kind of plot.
struct Kind {
    name: &'static str,
    /// What follows the kind in a call.
    parameters: &'static [Parameter],
    /// Draws the SVG. The call has the arguments after the kind.
    draw: fn(&Call<'_>) -> Result<String>,
}

const KINDS: &[Kind] = &[
    Kind { name: "validation", parameters: &[MODEL], draw: training::validation },
    Kind { name: "training", parameters: &[MODEL], draw: training::training },
    Kind {
        name: "weights",
        parameters: &[MODEL, Parameter::optional("query_features")],
        draw: features::weights,
    },
    Kind { name: "importance", parameters: &[MODEL, SOURCE, OPTIONS], draw: features::importance },
    Kind {
        name: "queries",
        parameters: &[Parameter::required("model_a"), Parameter::required("model_b"), SOURCE, OPTIONS],
        draw: ranked::queries,
    },
    Kind { name: "calibration", parameters: &[MODEL, SOURCE, OPTIONS], draw: ranked::calibration },
    Kind { name: "scores", parameters: &[MODEL, SOURCE, OPTIONS], draw: ranked::scores },
];

fn plot(call: &ScalarCall<'_>) -> Result<Output> {
    let name = text_argument("argument 'kind'", call.context.get_raw(0))?;
    let kind = KINDS.iter().find(|kind| kind.name == name);
    let kind = kind.ok_or_else(|| Error::unknown("kind", &name, KINDS.iter().map(|kind| kind.name)))?;
    let given: Vec<Option<ValueRef<'_>>> =
        (1..call.context.len()).map(|index| call.argument(index)).collect();
    let required = kind.parameters.iter().filter(|parameter| parameter.required).count();
    if !(required..=kind.parameters.len()).contains(&given.len()) {
        let usage = usage(PLOT.name, kind.parameters).replacen('(', &format!("('{name}', "), 1);
        let found = given.len() + 1;
        let plural = if found == 1 { "" } else { "s" };
        return Err(Error::Unsupported(format!("got {found} argument{plural}; call {usage}")));
    }
    let mut arguments = given;
    arguments.resize(kind.parameters.len(), None);
    call.with_call(&arguments, |call| (kind.draw)(call).map(Output::Text))
}

/// The name of a model for a title: name and version of a stored one, otherwise its algorithm.
fn model_name(call: &Call<'_>, argument: ValueRef<'_>, request: &RankingCall) -> Result<String> {
    name_in(call, argument, &request.handle.model.card.algorithm, request.options.text("schema"))
}

/// As [`model_name`], of the model in the first argument of a call without options.
fn first_name(call: &Call<'_>, model: &Model) -> Result<String> {
    name_in(call, call.argument(0), &model.card.algorithm, None)
}

fn name_in(call: &Call<'_>, argument: ValueRef<'_>, algorithm: &str, schema: Option<&str>) -> Result<String> {
    let ValueRef::Text(text) = argument else { return Ok(format!("a model of {algorithm}")) };
    let limits = RunLimits::default();
    let store = Store::new(call.connection, schema, &limits)?;
    let (name, version, _) = store.report(&String::from_utf8_lossy(text), &limits)?;
    Ok(format!("{name} (version {version})"))
}
