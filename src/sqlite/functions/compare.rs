//! `ltr_compare(model_a, model_b, source [, options])`: whether one model is better than another on the same queries.
//!
//! Rules (docs/reference/rules.md, 8):
//! * 8.11: One row per pair of models and metric: `name_a, name_b, metric, n, mean_a, mean_b, difference, ci_low, ci_high,
//!   p_value, p_holm`. Names are NULL for models in BLOBs.
//! * 8.12: `ltr_compare('["a", "b", "c"]', source [, options])` compares all pairs of named models. `p_holm` corrects the
//!   p-values of all pairs by one metric.
//! * 8.17, 8.18: Unjudged documents and a NULL model are treated as in `ltr_evaluate`.
//! * 8.13: The option `undefined` sets how values that are undefined for a query count; `skip` omits the query.

use std::sync::Arc;

use rusqlite::Connection;
use rusqlite::functions::{Aggregate, Context, FunctionFlags};
use rusqlite::types::{Value, ValueRef};
use serde_json::json;

use super::aggregate::{in_row, own};
use super::evaluate::{measured, query_metrics};
use super::rank_by_column;
use super::ranking_call::RankingCall;
use crate::apply::{Comparison, Evaluation, PairedTest, holm};
use crate::base::{Error, Params, Reservation, Result, parallel};
use crate::cost::metric::{LARGEST_VALUE, Metric, Undefined};
use crate::data::Id;
use crate::sqlite::glue::{
    Call, Database, Output, OutputRows, PURE, RunLimits, State, TableFunction, call_options, describe,
    interruptible, number_of, ready, row, usage,
};
use crate::train::options::{self, Use};

pub const COMPARE: TableFunction =
    TableFunction { forms: Some(USAGE), ..TableFunction::new("ltr_compare", COLUMNS, PARAMETERS, compare) };

const COLUMNS: &str =
    "name_a, name_b, metric, n, mean_a, mean_b, difference, ci_low, ci_high, p_value, p_holm";

/// With an array of models, there is no second model: each later argument moves one position to the left.
const PARAMETERS: &str = "model_a, model_b [, source] [, options] [, value1, ...]";

const USAGE: &str = "ltr_compare(model_a, model_b, source [, options] [, value1, ...]) or \
                     ltr_compare('[\"a\", \"b\"]', source [, options] [, value1, ...])";

/// Largest number of models in an array.
const MOST_MODELS: usize = 100;

/// The checked arguments of a call.
struct CompareRequest {
    /// Names in an array; empty if the models are the first two arguments.
    names: Vec<String>,
    /// The number of the argument after the options.
    first_value: usize,
    options: Params,
    metrics: Vec<Metric>,
    test: PairedTest,
    limits: RunLimits,
}

impl CompareRequest {
    fn new(call: &Call<'_>) -> Result<Self> {
        let names = names(call.argument(0))?;
        let source = if names.is_empty() { 2 } else { 1 };
        if call.arguments[source].is_none() {
            return Err(Error::Unsupported(format!("argument 'source' is missing; call {USAGE}")));
        }
        let (options, limits) = call.options(source + 1, Use::Compare)?;
        let (metrics, test) = (query_metrics(&options)?, test(&options)?);
        Ok(Self { names, first_value: source + 2, options, metrics, test, limits })
    }

    /// The models and the source.
    fn models<'a>(&'a self, call: &Call<'a>) -> (Vec<ValueRef<'a>>, ValueRef<'a>) {
        if self.names.is_empty() {
            return (vec![call.argument(0), call.argument(1)], call.argument(2));
        }
        let names = self.names.iter().map(|name| ValueRef::Text(name.as_bytes()));
        (names.collect(), call.argument(1))
    }
}

/// The names in an array of models; empty if the argument is not an array.
fn names(argument: ValueRef<'_>) -> Result<Vec<String>> {
    let ValueRef::Text(text) = argument else { return Ok(Vec::new()) };
    if !text.trim_ascii_start().starts_with(b"[") {
        return Ok(Vec::new());
    }
    let names: Option<Vec<String>> = serde_json::from_slice(text).ok();
    names.filter(|names| (2..=MOST_MODELS).contains(&names.len())).ok_or_else(|| {
        let allowed =
            format!("the name of a model, a model BLOB, or a JSON array of 2 to {MOST_MODELS} names");
        Error::value("argument 'model_a'", describe(argument), allowed)
    })
}

fn compare(call: &Call<'_>) -> Result<OutputRows> {
    let request = CompareRequest::new(call)?;
    request.limits.run_here(|| compare_models(call, &request))
}

fn compare_models(call: &Call<'_>, request: &CompareRequest) -> Result<OutputRows> {
    let (models, source) = request.models(call);
    // 1. The values of each model. Only these are kept: rows and scores are freed before the next model.
    let (mut evaluations, mut warnings, mut held) = (Vec::new(), Vec::new(), Vec::new());
    let (score, options) = rank_by_column::take_score(request.options.clone())?;
    if let Some(name) = score.as_ref().filter(|_| !models.contains(&ValueRef::Null)) {
        return Err(rank_by_column::unused(name));
    }
    let mut names: Option<Vec<String>> = None;
    let mut queries: Option<Vec<Id>> = None;
    for model in &models {
        let (first, limits) = (request.first_value, request.limits.clone());
        let options = match (&score, model) {
            (Some(name), ValueRef::Null) => rank_by_column::with_score(options.clone(), name),
            _ => options.clone(),
        };
        let ranking = rank_by_column::ranking_by(call, *model, source, first, options, limits)?;
        let mut measured = measured(&ranking, &request.metrics)?;
        match &queries {
            None => {
                held.extend(measured.memory.drain(..1));
                queries = Some(measured.queries);
            }
            Some(first) if *first != measured.queries => return Err(other_queries(&ranking)),
            Some(_) => {}
        }
        // The metrics, and the fractions of judged documents if all models have them.
        let best = request.metrics.len()..measured.shares;
        measured.names.drain(best.clone());
        measured.evaluation.remove(best);
        let known = names.get_or_insert_with(|| measured.names.clone());
        known.truncate(measured.names.len());
        evaluations.push(measured.evaluation);
        warnings.extend(measured.warnings);
    }
    // 2. The tests.
    let names = names.unwrap_or_default();
    let comparisons = tests(request, &evaluations, names.len())?;
    call.state.set_warnings(warnings);
    // 3. The p-values of one metric are corrected together.
    let metrics = names.len();
    let mut corrected = vec![None; comparisons.len()];
    for metric in 0..metrics {
        let p_values: Vec<Option<f64>> =
            comparisons.iter().skip(metric).step_by(metrics).map(|test| test.p_value).collect();
        corrected.iter_mut().skip(metric).step_by(metrics).zip(holm(&p_values)).for_each(|(to, p)| *to = p);
    }
    let tested = pairs(models.len()).into_iter().flat_map(|pair| names.iter().map(move |name| (pair, name)));
    let rows = tested.zip(comparisons).zip(corrected).map(|((((a, b), metric), comparison), p_holm)| {
        row([name(models[a]), name(models[b])], metric, &comparison, p_holm)
    });
    Ok(ready(rows.collect()))
}

fn pairs(models: usize) -> Vec<(usize, usize)> {
    (0..models).flat_map(|a| (a + 1..models).map(move |b| (a, b))).collect()
}

/// Tests every pair of models by each of the `metrics` metrics.
fn tests(request: &CompareRequest, evaluations: &[Evaluation], metrics: usize) -> Result<Vec<Comparison>> {
    let undefined: Undefined = options::choice(&request.options, "undefined")?;
    let pairs = pairs(evaluations.len());
    let (count, n) = (pairs.len() * metrics, evaluations.first().map_or(0, |first| first.values.len()));
    let test = &request.test;
    request.limits.run(|control| {
        let at_once = parallel::threads().min(count) as u64;
        let what = format_args!("testing {n} queries");
        let _memory = control.reserve(test.bytes(n).saturating_mul(at_once), what, "lower 'samples'")?;
        parallel::try_map(count, |number| {
            control.check()?;
            let ((a, b), metric) = (pairs[number / metrics], number % metrics);
            let value =
                |model: usize, query: usize| undefined.resolve(evaluations[model].values[query][metric]);
            let (a, b): (Vec<f64>, Vec<f64>) =
                (0..n).filter_map(|query| value(a, query).zip(value(b, query))).unzip();
            Ok(test.compare(&a, &b))
        })
    })
}

/// The error for models that read different queries.
pub(super) fn other_queries(ranking: &RankingCall<'_>) -> Error {
    ranking.source.error(
        "the models read different queries, because their columns for the role 'query' differ; set it with the option \
         'columns', as in {\"columns\": {\"query\": \"query_id\"}}",
    )
}

/// The name of a model; NULL for a BLOB.
fn name(model: ValueRef<'_>) -> Output {
    match model {
        ValueRef::Text(name) => Output::from(String::from_utf8_lossy(name).into_owned()),
        _ => Output::Null,
    }
}

fn row(
    [name_a, name_b]: [Output; 2],
    metric: &str,
    comparison: &Comparison,
    p_holm: Option<f64>,
) -> Vec<Output> {
    let Comparison { n, mean_a, mean_b, difference, interval, p_value } = *comparison;
    let (low, high) = interval.unzip();
    row![name_a, name_b, metric.to_owned(), n, mean_a, mean_b, difference, low, high, p_value, p_holm]
}

// `ltr_paired_test(value_a, value_b [, options])`: an aggregate that compares two series of values.
//
// Rules (docs/reference/rules.md, 8):
// * 8.14: The result is a JSON object with `n`, `mean_a`, `mean_b`, `difference`, `ci_low`, `ci_high` and `p_value`. A group
//   without rows gives NULL.
// * 8.15: The option `undefined` sets how NULL values count; `skip` omits the row. The options must be the same
//   in every row.

const NAME: &str = "ltr_paired_test";
const TEST_PARAMETERS: &str = "value_a, value_b [, options]";

/// Rows for which memory is reserved at first.
const FIRST_ROWS: usize = 64;

/// Registers the aggregate.
pub fn register(connection: &Connection, state: &Arc<State>) -> rusqlite::Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | PURE;
    for arguments in 2..=3 {
        connection.create_aggregate_function(NAME, arguments, flags, Test(Arc::clone(state)))?;
    }
    usage::answer_aggregate(connection, NAME, TEST_PARAMETERS)
}

/// The test in the options of a call.
///
/// # Errors
/// A value outside its range.
pub(super) fn test(options: &Params) -> Result<PairedTest> {
    let test = PairedTest::new(options::choice(options, "test")?, options::number(options, "confidence"));
    Ok(PairedTest { samples: options.count("samples").unwrap_or(test.samples), seed: options.seed(), ..test })
}

struct Test(Arc<State>);

/// The rows of a group.
struct CompareRows {
    test: PairedTest,
    undefined: Undefined,
    /// The options of the first row.
    options: Value,
    a: Vec<f64>,
    b: Vec<f64>,
    entered: usize,
    database: Database,
    /// Memory of the values and the test.
    memory: Reservation,
}

impl CompareRows {
    /// Starts without rows, with the options of the first row.
    fn new(context: &Context<'_>) -> Result<Self> {
        let options = options_of(context);
        let database = Database::of(context);
        let (params, limits) = call_options(database, Some(options), Use::PairedTest)?;
        Ok(Self {
            test: test(&params)?,
            undefined: options::choice(&params, "undefined")?,
            options: own(options)?,
            a: Vec::new(),
            b: Vec::new(),
            entered: 0,
            database,
            memory: limits.memory.nothing(),
        })
    }

    fn push(&mut self, context: &Context<'_>) -> Result<()> {
        self.entered += 1;
        let (row, first, here) = (self.entered, ValueRef::from(&self.options), options_of(context));
        if first != here {
            let allowed = format!("the value of the first row, {}", describe(first));
            return Err(Error::value(in_row("options", row), describe(here), allowed));
        }
        let value = |index: usize| number(context.get_raw(index), ["value_a", "value_b"][index], row);
        let values = (self.undefined.resolve(value(0)?), self.undefined.resolve(value(1)?));
        if let (Some(a), Some(b)) = values {
            self.reserve()?;
            self.a.push(a);
            self.b.push(b);
        }
        Ok(())
    }

    /// Memory for one more row.
    fn reserve(&mut self) -> Result<()> {
        let rows = self.a.len();
        if rows < self.a.capacity() {
            return Ok(());
        }
        let capacity = FIRST_ROWS.max(2 * rows);
        let what = format_args!("testing {} rows", rows + 1);
        self.memory.resize(self.test.bytes(capacity), what, "lower 'samples' or use fewer rows")?;
        self.a.reserve_exact(capacity - rows);
        self.b.reserve_exact(capacity - rows);
        Ok(())
    }

    fn result(&self) -> Result<String> {
        let Comparison { n, mean_a, mean_b, difference, interval, p_value } =
            interruptible(self.database, || Ok(self.test.compare(&self.a, &self.b)))?;
        let (ci_low, ci_high) = interval.unzip();
        Ok(json!({
            "n": n, "mean_a": mean_a, "mean_b": mean_b, "difference": difference,
            "ci_low": ci_low, "ci_high": ci_high, "p_value": p_value,
        })
        .to_string())
    }
}

/// The options of a row; NULL if absent.
fn options_of<'a>(context: &'a Context<'_>) -> ValueRef<'a> {
    if context.len() > 2 { context.get_raw(2) } else { ValueRef::Null }
}

/// A number, or `None` for NULL.
fn number(value: ValueRef<'_>, argument: &str, row: usize) -> Result<Option<f64>> {
    if value == ValueRef::Null {
        return Ok(None);
    }
    let number = number_of(value).filter(|number| number.abs() <= LARGEST_VALUE);
    let allowed = || format!("NULL or a number from -{LARGEST_VALUE:e} to {LARGEST_VALUE:e}");
    number.map(Some).ok_or_else(|| Error::value(in_row(argument, row), describe(value), allowed()))
}

impl Aggregate<CompareRows, Option<String>> for Test {
    fn init(&self, context: &mut Context<'_>) -> rusqlite::Result<CompareRows> {
        self.0.guard(NAME, || CompareRows::new(context))
    }

    fn step(&self, context: &mut Context<'_>, rows: &mut CompareRows) -> rusqlite::Result<()> {
        self.0.guard(NAME, || rows.push(context))
    }

    fn finalize(&self, _: &mut Context<'_>, rows: Option<CompareRows>) -> rusqlite::Result<Option<String>> {
        self.0.guard(NAME, || rows.map(|rows| rows.result()).transpose())
    }
}
