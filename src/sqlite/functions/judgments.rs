//! `ltr_judgments(log [, options])`: relevance estimated from clicks.
//!
//! Rules (docs/reference/rules.md, 16):
//! * 16.4: A row per query and document of the log, ordered by id.
//! * 16.5: With `"model": "auto"`, each model is fitted to seven of eight impressions, and the one with the largest
//!   likelihood on the others is fitted to all. Ties: the first in `ltr_click_models`. If the log does not determine
//!   most judgments, the position-based model is used.
//! * 16.10: The option `propensities` gives them, as in `ltr_evaluate_clicks`.

use super::clicks::{LogCall, OTHER_ORDERS, PARAMETERS, warnings_of};
use crate::base::{Control, Error, Params, Reservation, Result};
use crate::search::clicks::{
    self, CLICK_MODELS, ClickModel, Counted, DETERMINED, Examination, Grading, Judgment, Prediction, Seen,
};
use crate::sqlite::glue::{Call, OutputRows, TableFunction, row};
use crate::sqlite::source::log::given_propensities;
use crate::train::options::{self, Use};

pub const JUDGMENTS: TableFunction = TableFunction::new(
    "ltr_judgments",
    "query_id, doc_id, relevance, attractiveness, ci_low, ci_high, impressions, clicks, doc_weight, determined, model, passes",
    PARAMETERS,
    judgments,
);

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
    fn new(arguments: &LogCall, counted: &Counted, given: Option<&[(u32, f64)]>) -> Result<Self> {
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
    let arguments = LogCall::new(call, Use::Judgments)?;
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

/// Index of the model with the largest likelihood; the first in case of a tie.
fn best(predictions: &[Prediction]) -> usize {
    let value = |number: &usize| predictions[*number].log_likelihood;
    (0..predictions.len()).rev().max_by(|a, b| value(a).total_cmp(&value(b))).unwrap_or_default()
}

/// How attractiveness becomes relevance.
fn grading(options: &Params) -> Grading {
    if options.has("thresholds") {
        Grading::Thresholds(options::numbers(options, "thresholds"))
    } else {
        Grading::Quantiles(options::numbers(options, "quantiles"))
    }
}
