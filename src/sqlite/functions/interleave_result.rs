//! `ltr_interleave_result(log [, options])`: which of two interleaved rankings users prefer.
//!
//! Rules (docs/reference/rules.md, 18):
//! * 18.7: One row. The ranking with more clicks wins a list; ties count as half a win of each, lists without a click as nothing.
//! * 18.8: `p_value` is that of the two-sided score test, which the interval inverts. Lists are taken to be independent.

use rusqlite::types::ValueRef;
use serde_json::json;

use super::ranking_call::given_values;
use crate::base::error::Result;
use crate::search::interleave::{Outcome, Tally, Target};
use crate::sqlite::glue::run_limits::RunLimits;
use crate::sqlite::glue::value::{Output, optional_text, text_argument};
use crate::sqlite::glue::vtab::{Call, OutputRows, Parameter, TableFunction, ready, with_values};
use crate::sqlite::source::interleaved::{Votes, read_votes};
use crate::train::options;
use crate::train::options::Use;

const PARAMETERS: &[Parameter] =
    &with_values::<2, 10>([Parameter::required("log"), Parameter::optional("options")]);

/// The definition of `ltr_interleave_result`.
pub const INTERLEAVE_RESULT: TableFunction = TableFunction::new(
    "ltr_interleave_result",
    &[
        "impressions",
        "wins_a",
        "wins_b",
        "ties",
        "no_click",
        "difference",
        "ci_low",
        "ci_high",
        "p_value",
        "more_impressions",
        "warnings",
    ],
    PARAMETERS,
    result,
);

fn result(call: &Call<'_>) -> Result<OutputRows> {
    let text = text_argument("argument 'log'", call.arguments[0].unwrap_or(ValueRef::Null))?;
    let options = optional_text("argument 'options'", call.arguments[1])?;
    let options = options::parse(options.as_deref(), Use::InterleaveResult)?;
    let limits = RunLimits::new(&options);
    let values = given_values(call, 2);
    let Votes { tally, warnings } = read_votes((call.connection, &text), (&options, &values), &limits)?;
    let target = Target {
        confidence: options.number("confidence").unwrap_or(0.95),
        power: options.number("power").unwrap_or(0.8),
        difference: options.number("min_difference"),
    };
    let row = row(&tally, &tally.outcome(target), &warnings);
    call.state.set_warnings(warnings);
    Ok(ready(vec![row]))
}

fn row(tally: &Tally, outcome: &Outcome, warnings: &[String]) -> Vec<Output> {
    let Tally { wins_a, wins_b, ties, no_click } = *tally;
    let counts = [tally.impressions(), wins_a, wins_b, ties, no_click];
    let (ci_low, ci_high) = outcome.interval.unzip();
    let numbers = [outcome.difference, ci_low, ci_high, outcome.p_value];
    let integer = |count: u64| Output::Integer(i64::try_from(count).unwrap_or(i64::MAX));
    let last = [
        outcome.more_impressions.map_or(Output::Null, integer),
        if warnings.is_empty() { Output::Null } else { Output::Json(json!(warnings)) },
    ];
    counts.map(integer).into_iter().chain(numbers.map(Output::from)).chain(last).collect()
}
