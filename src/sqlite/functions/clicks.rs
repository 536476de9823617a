//! `ltr_click_models([log] [, options])` and `ltr_propensities(log [, options])`; calls that fit click models to a log.
//!
//! Rules (docs/reference/rules.md, 16):
//! * 16.3: `ltr_propensities` has a row per position: how often users examine it relative to the first, with the standard
//!   error, which is NULL if the log does not determine it.

use crate::base::{Control, Error, Params, Reservation, Result};
use crate::search::clicks::{
    self, CLICK_MODELS, ClickModel, Counted, Fitted, HeldOut, Log, Method, Prediction, Propensity, Seen,
};
use crate::sqlite::glue::{Call, OutputRows, RunLimits, TableFunction, ready, row, text_argument};
use crate::sqlite::source::log::LogSource;
use crate::train::options::{self, Use};

pub(super) const PARAMETERS: &str = "log [, options] [, value1, ...]";

pub const CLICK_MODEL_TABLE: TableFunction = TableFunction::new(
    "ltr_click_models",
    "name, summary, formula, source, log_likelihood, perplexity",
    "[log] [, options] [, value1, ...]",
    click_models,
);

pub const PROPENSITIES: TableFunction = TableFunction::new(
    "ltr_propensities",
    "position, propensity, standard_error, method",
    PARAMETERS,
    propensities,
);

/// The models and, with a log, how well they predict held-out impressions.
fn click_models(call: &Call<'_>) -> Result<OutputRows> {
    let measured = if call.arguments[0].is_some() {
        let arguments = LogCall::new(call, Use::ClickModels)?;
        let log = arguments.log(call)?;
        let counted = arguments.counted(&log, CLICK_MODELS.to_vec())?;
        arguments.predictions(&log, &counted)?.into_iter().map(Some).collect()
    } else {
        vec![None; CLICK_MODELS.len()]
    };
    let row = |(model, prediction): (&&ClickModel, Option<Prediction>)| {
        let likelihood = prediction.map(|prediction| prediction.log_likelihood);
        let perplexity = prediction.map(|prediction| prediction.perplexity());
        let ClickModel { name, summary, formula, source, .. } = **model;
        row![name, summary, formula, source, likelihood, perplexity]
    };
    Ok(ready(CLICK_MODELS.iter().zip(measured).map(row).collect()))
}

/// The checked arguments of a call.
pub(super) struct LogCall {
    text: String,
    pub options: Params,
    pub limits: RunLimits,
}

impl LogCall {
    pub fn new(call: &Call<'_>, used: Use) -> Result<Self> {
        let text = text_argument("argument 'log'", call.argument(0))?;
        let (options, limits) = call.options(1, used)?;
        Ok(Self { text, options, limits })
    }

    /// Reads the log.
    pub fn log<'a>(&'a self, call: &Call<'a>) -> Result<LogSource<'a>> {
        LogSource::new(call, &self.text, 2, &self.options, &self.limits)
    }

    /// Counts the log for these models.
    pub fn counted(&self, log: &LogSource<'_>, models: Vec<&'static ClickModel>) -> Result<Counted> {
        let mut counts = Log::new(models, &self.limits.memory);
        log.read(&mut counts)?;
        let counted = self.limits.run(|_| Ok(counts.finish()))?;
        if counted.impressions == 0 {
            return Err(Error::Data("0 rows in the log".to_owned()));
        }
        Ok(counted)
    }

    pub fn memory_of_fit(&self, counted: &Counted, model: usize) -> Result<Reservation> {
        let what = format_args!("estimating {} pairs of query and document", counted.pairs.len());
        self.limits.memory.reserve(counted.bytes_of_fit(model), what, "read fewer queries at a time")
    }

    /// Fits a model of the log. `all`: to all impressions, otherwise without those that are held out.
    pub fn fitted(&self, counted: &Counted, model: usize, all: bool) -> Result<Fitted> {
        let _memory = self.memory_of_fit(counted, model)?;
        self.limits.run(|_| Ok(clicks::fitted(counted, model, all)))
    }

    /// How well each model of the log predicts held-out impressions, measured in another pass.
    pub fn predictions(&self, log: &LogSource<'_>, counted: &Counted) -> Result<Vec<Prediction>> {
        let fit = |model| self.fitted(counted, model, false);
        let fits = (0..counted.models.len()).map(fit).collect::<Result<_>>()?;
        let mut held_out = HeldOut::new(counted, fits);
        log.read(&mut held_out)?;
        Ok(held_out.predictions)
    }
}

fn propensities(call: &Call<'_>) -> Result<OutputRows> {
    let arguments = LogCall::new(call, Use::Propensities)?;
    let method: Method = options::choice(&arguments.options, "method")?;
    let counted = arguments.counted(&arguments.log(call)?, vec![clicks::find("pbm")?])?;
    let estimate = |_: &Control| {
        let cells = counted.cells(0, true);
        let mut propensities = Vec::new();
        if method != Method::Harvest {
            let estimates = clicks::by_likelihood(&cells, counted.pairs.len());
            propensities.extend(estimates.into_iter().map(|propensity| (propensity, Method::Em)));
        }
        if method != Method::Em {
            let estimates = clicks::harvested(&cells);
            propensities.extend(estimates.into_iter().map(|propensity| (propensity, Method::Harvest)));
        }
        Ok(propensities)
    };
    let estimates = arguments.limits.run(estimate)?;
    let unknown = estimates.iter().filter(|(propensity, _)| !propensity.estimate.error.is_finite()).count();
    let mut warnings = warnings_of(&counted);
    if estimates.is_empty() {
        warnings.push(format!(
            "no document was shown at two positions, so nothing can be harvested; {OTHER_ORDERS}"
        ));
    } else if unknown > 0 {
        warnings.push(format!(
            "the log does not determine {unknown} of {} propensities, because no clicked document was shown both at these positions \
             and at others; {OTHER_ORDERS}",
            estimates.len()
        ));
    }
    call.state.set_warnings(warnings);
    let row = |(Propensity { position, estimate }, method): (Propensity, Method)| {
        let error = Some(estimate.error).filter(|error| error.is_finite());
        row![position, estimate.value, error, method.name()]
    };
    Ok(ready(estimates.into_iter().map(row).collect()))
}

/// Advice for logs in which position and attractiveness are not identifiable.
pub(super) const OTHER_ORDERS: &str = "show some lists in another order, as ltr_interleave does";

/// Warnings about a log.
pub(super) fn warnings_of(counted: &Counted) -> Vec<String> {
    let sum = |count: fn(&Seen) -> u64| counted.seen.iter().map(count).sum::<u64>();
    let (rows, clicks) = (sum(|seen| seen.rows), sum(|seen| seen.clicks));
    let queries = counted.queries.len() as u64;
    let unique = queries >= FEWEST_UNIQUE && counted.impressions < queries + queries / 4;
    if clicks > 0 && clicks < rows && unique {
        vec![format!(
            "nearly every query has one impression ({queries} queries, {} impressions), so little is learned about each; group \
             queries that mean the same, as in lower(trim(query)), or train on query features",
            counted.impressions
        )]
    } else if clicks == 0 {
        vec!["no row has a click, so nothing is known about the documents".to_owned()]
    } else if clicks == rows {
        vec!["every row has a click; log all documents shown, including those without a click".to_owned()]
    } else {
        Vec::new()
    }
}

/// Fewer queries with one impression each may be a small log.
const FEWEST_UNIQUE: u64 = 50;
