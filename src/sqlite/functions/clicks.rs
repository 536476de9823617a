//! `ltr_click_models`, `ltr_propensities(log [, options])` and `ltr_judgments(log [, options])`: click models.
//!
//! Rules (docs/reference/rules.md, 16):
//! * 16.3: `ltr_propensities` has a row per position: how often users examine it relative to the first, with the standard
//!   error, which is NULL if the log does not determine it.
//! * 16.4: `ltr_judgments` has a row per query and document of the log, ordered by id.
//! * 16.5: With `"model": "auto"`, each model is fitted to seven of eight impressions, and the one with the largest
//!   likelihood on the others is fitted to all. Ties: the first in `ltr_click_models`. If the log does not determine
//!   most judgments, the position-based model is used.
//! * 16.10: The option `propensities` gives them, as in `ltr_evaluate_clicks`.

use crate::base::{Control, Error, Params, Reservation, Result};
use crate::search::clicks::{
    self, CLICK_MODELS, ClickModel, Counted, DETERMINED, Examination, Fitted, Grading, HeldOut, Judgment,
    Log, Method, Prediction, Propensity, Seen,
};
use crate::sqlite::glue::{Call, OutputRows, RunLimits, TableFunction, ready, row, text_argument};
use crate::sqlite::source::log::{LogSource, given_propensities};
use crate::train::options::{self, Use};

const PARAMETERS: &str = "log [, options] [, value1, ...]";

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

pub const JUDGMENTS: TableFunction = TableFunction::new(
    "ltr_judgments",
    "query_id, doc_id, relevance, attractiveness, ci_low, ci_high, impressions, clicks, doc_weight, determined, model, passes",
    PARAMETERS,
    judgments,
);

/// The models and, with a log, how well they predict held-out impressions.
fn click_models(call: &Call<'_>) -> Result<OutputRows> {
    let measured = if call.arguments[0].is_some() {
        let arguments = Arguments::new(call, Use::ClickModels)?;
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
struct Arguments {
    text: String,
    options: Params,
    limits: RunLimits,
}

impl Arguments {
    fn new(call: &Call<'_>, used: Use) -> Result<Self> {
        let text = text_argument("argument 'log'", call.argument(0))?;
        let (options, limits) = call.options(1, used)?;
        Ok(Self { text, options, limits })
    }

    /// Reads the log.
    fn log<'a>(&'a self, call: &Call<'a>) -> Result<LogSource<'a>> {
        LogSource::new(call, &self.text, 2, &self.options, &self.limits)
    }

    /// Counts the log for these models.
    fn counted(&self, log: &LogSource<'_>, models: Vec<&'static ClickModel>) -> Result<Counted> {
        let mut counts = Log::new(models, &self.limits.memory);
        log.read(&mut counts)?;
        let counted = self.limits.run(|_| Ok(counts.finish()))?;
        if counted.impressions == 0 {
            return Err(Error::Data("0 rows in the log".to_owned()));
        }
        Ok(counted)
    }

    fn memory_of_fit(&self, counted: &Counted, model: usize) -> Result<Reservation> {
        let what = format_args!("estimating {} pairs of query and document", counted.pairs.len());
        self.limits.memory.reserve(counted.bytes_of_fit(model), what, "read fewer queries at a time")
    }

    /// Fits a model of the log. `all`: to all impressions, otherwise without those that are held out.
    fn fitted(&self, counted: &Counted, model: usize, all: bool) -> Result<Fitted> {
        let _memory = self.memory_of_fit(counted, model)?;
        self.limits.run(|_| Ok(clicks::fitted(counted, model, all)))
    }

    /// How well each model of the log predicts held-out impressions, measured in another pass.
    fn predictions(&self, log: &LogSource<'_>, counted: &Counted) -> Result<Vec<Prediction>> {
        let fit = |model| self.fitted(counted, model, false);
        let fits = (0..counted.models.len()).map(fit).collect::<Result<_>>()?;
        let mut held_out = HeldOut::new(counted, fits);
        log.read(&mut held_out)?;
        Ok(held_out.predictions)
    }
}

fn propensities(call: &Call<'_>) -> Result<OutputRows> {
    let arguments = Arguments::new(call, Use::Propensities)?;
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

/// Position effects estimated from a log.
struct Positions {
    /// Index of the position-based model.
    model: usize,
    /// Cells of this model.
    cells: Vec<clicks::Cell>,
    examination: Examination,
    /// By pair.
    determined: Vec<f64>,
    /// Whether most rows of the log belong to determined pairs.
    is_determined: bool,
    _memory: Reservation,
}

impl Positions {
    /// From a log, or from given propensities.
    fn new(arguments: &Arguments, counted: &Counted, given: Option<&[(u32, f64)]>) -> Result<Self> {
        let model = counted.models.iter().position(|model| model.name == "pbm").unwrap_or_default();
        let memory = arguments.memory_of_fit(counted, model)?;
        let cells = counted.cells(model, true);
        let (examination, determined) = arguments.limits.run(|_| {
            let known = given.map(Examination::known);
            let examination = known.unwrap_or_else(|| Examination::of(&cells, counted.pairs.len()));
            let queries: Vec<u32> = counted.pairs.iter().map(|(query, _)| *query).collect();
            let determined = examination.determined(&cells, &queries);
            Ok((examination, determined))
        })?;
        if let Some(cell) = cells.iter().find(|cell| cell.clicks > 0.0 && !examination.has(cell.context)) {
            let position = cell.context + 1;
            return Err(Error::Data(format!(
                "position {position} has clicks, but no number in the option 'propensities'"
            )));
        }
        // From -1/2 to 1/2 for each row.
        let above = |(seen, t): (&Seen, &f64)| (t - DETERMINED) * seen.rows as f64;
        let is_determined = counted.seen.iter().zip(&determined).map(above).sum::<f64>() >= 0.0;
        Ok(Self { model, cells, examination, determined, is_determined, _memory: memory })
    }
}

/// The models for which to count a log, and how many of them to choose from; if there is another one, it is the
/// position-based model, last.
fn models(name: &str, is_given: bool) -> Result<(Vec<&'static ClickModel>, usize)> {
    let mut models = match name {
        "auto" if is_given => Vec::new(),
        "auto" => CLICK_MODELS.to_vec(),
        name if is_given && name != "pbm" => {
            return Err(Error::Unsupported(format!(
                "the model '{name}' has no propensities of positions; use the model 'pbm', or leave out the option 'propensities'"
            )));
        }
        name => vec![clicks::find(name)?],
    };
    let count = models.len();
    if models.iter().all(|model| model.name != "pbm") {
        models.push(clicks::find("pbm")?);
    }
    Ok((models, count.max(1)))
}

fn judgments(call: &Call<'_>) -> Result<OutputRows> {
    let arguments = Arguments::new(call, Use::Judgments)?;
    let (options, limits) = (&arguments.options, &arguments.limits);
    let grading = grading(options);
    let given = options.get("propensities");
    let given = given.map(|given| given_propensities(call.connection, given, limits)).transpose()?;
    let (models, choices) = models(options::text(options, "model"), given.is_some())?;
    // 1. One pass counts the log. A second pass compares the models, if the log can distinguish them.
    let log = arguments.log(call)?;
    let counted = arguments.counted(&log, models)?;
    let positions = Positions::new(&arguments, &counted, given.as_deref())?;
    let (chosen, passes) = match choices {
        1 => (0, 1_usize),
        _ if !positions.is_determined => (positions.model, 1),
        _ => (best(&arguments.predictions(&log, &counted)?), 2),
    };
    // 2. The chosen one is fitted to all impressions.
    let fitted = if chosen == positions.model {
        let Positions { cells, examination, .. } = &positions;
        limits.run(|_| Ok(clicks::fitted_by(&counted, cells, examination)))?
    } else {
        arguments.fitted(&counted, chosen, true)?
    };
    let judge = |_: &Control| {
        let judgments = clicks::qualified(&fitted, &positions.determined, &counted.seen);
        let grades = clicks::grade(&judgments, &grading);
        Ok((judgments, grades))
    };
    let (judgments, grades) = limits.run(judge)?;
    let (model, pairs) = (counted.models[chosen].name, counted.pairs.len());
    let mut warnings = warnings_of(&counted);
    if fitted.gamma.len() > 1 && !positions.is_determined {
        warnings.push(format!(
            "the log does not determine how often users look at each position, so the model '{model}' cannot tell position from \
             attractiveness everywhere, and attributes half of the drop in clicks down the list to position; {OTHER_ORDERS}, or give \
             the option 'propensities'"
        ));
    }
    call.state.set_warnings(warnings);
    // 3. Rows.
    let row = move |pair: usize| {
        let (query, doc) = counted.pairs[pair];
        let (seen, judgment) = (counted.seen[pair], judgments[pair]);
        let (query, doc) = (&counted.queries[query as usize], &counted.docs[doc as usize]);
        let Judgment { attractiveness, interval: [low, high], doc_weight, determined, .. } = judgment;
        let grade = grades[pair];
        Ok(row![
            query,
            doc,
            grade,
            attractiveness,
            low,
            high,
            seen.rows,
            seen.clicks,
            doc_weight,
            determined,
            model,
            passes
        ])
    };
    Ok(Box::new((0..pairs).map(row)))
}

/// Advice for logs in which position and attractiveness are not identifiable.
const OTHER_ORDERS: &str = "show some lists in another order, as ltr_interleave does";

/// Warnings about a log.
fn warnings_of(counted: &Counted) -> Vec<String> {
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

/// Index of the model with the largest likelihood; the first in case of a tie.
fn best(predictions: &[Prediction]) -> usize {
    let value = |number: &usize| predictions[*number].log_likelihood;
    (0..predictions.len()).rev().max_by(|a, b| value(a).total_cmp(&value(b))).unwrap_or_default()
}

/// How attractiveness becomes relevance.
fn grading(options: &Params) -> Grading {
    let numbers = |key: &str| {
        let list = options.get(key)?.as_array()?;
        Some(list.iter().filter_map(serde_json::Value::as_f64).collect::<Vec<f64>>())
    };
    match numbers("thresholds") {
        Some(thresholds) => Grading::Thresholds(thresholds),
        None => Grading::Quantiles(numbers("quantiles").unwrap_or_else(|| vec![0.5, 0.75, 0.9])),
    }
}
