//! `ltr_evaluate_clicks(model, log [, options])`: estimates metrics of a model from a log of clicks on other rankings.
//!
//! Rules (docs/reference/rules.md, 16):
//! * 16.8: The model ranks the documents of each impression. The rows are `metric, estimator, value, ci_low, ci_high,
//!   impressions, clicks, effective_sample_size`, with the estimators `ips` and `snips` for each metric.
//! * 16.9: Metrics are sums over clicked documents: `dcg`, `dcg@k`, `precision@k`. Other metrics are refused.
//! * 16.10: Propensities come from the option `propensities`, or else are estimated as by `ltr_propensities` with the
//!   method `em`.
//! * 16.11: Intervals treat the impressions as the sample.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::evaluate::metrics;
use super::rank_by_column;
use super::ranking_call::RankingCall;
use crate::apply::t_quantile;
use crate::base::{Control, Error, Params, Result, Ticks};
use crate::cost::metric::{Metric, logarithmic};
use crate::data::{Id, ListConstraint, UnknownValues};
use crate::math::{compare, sort_indices};
use crate::search::clicks::{
    self, Changes, ClickSums, Counted, Finder, GROUPS, Impression, Influence, Log, OfflineValue, Shown,
    TakesImpressions, Weights, group_of,
};
use crate::sqlite::glue::{Call, Output, OutputRows, TableFunction, ready, row, text_argument};
use crate::sqlite::source::log::{LogSource, given_propensities};
use crate::sqlite::source::parameters::SourceCall;
use crate::sqlite::source::parts::PartReader;
use crate::sqlite::source::reader::ReadSpec;
use crate::sqlite::source::roles::Roles;
use crate::train::options::{self, LOG_KEYS, Use};

pub const EVALUATE_CLICKS: TableFunction = TableFunction::new(
    "ltr_evaluate_clicks",
    "metric, estimator, value, ci_low, ci_high, impressions, clicks, effective_sample_size",
    "model, log [, options] [, value1, ...]",
    evaluate_clicks,
);

/// The index of the first argument after the options.
const FIRST_VALUE: usize = 3;

/// The default metric.
const CLICK_METRIC: &str = "dcg@10";

/// Impressions are scored together once they have at least this many rows.
const ROWS_OF_PART: usize = 4096;

/// Advice for errors about unknown propensities.
const GIVE_PROPENSITIES: &str = "give them with the option 'propensities', as an array by position or a source with position and propensity";

/// The gain at a rank; ranks start at 0.
type Gain = Box<dyn Fn(usize) -> f64>;

/// The checked arguments of a call.
struct ClickRequest<'a> {
    /// Options for reading the log: `columns` contains only keys that apply to logs.
    log_options: Params,
    names: Vec<String>,
    gains: Vec<Gain>,
    clip: f64,
    confidence: f64,
    ranking: RankingCall<'a>,
}

fn evaluate_clicks(call: &Call<'_>) -> Result<OutputRows> {
    let request = ClickRequest::new(call)?;
    let limits = request.ranking.limits.clone();
    limits.run_here(|| rows(&request).map_err(|error| rank_by_column::explained(&request.ranking, error)))
}

impl<'a> ClickRequest<'a> {
    fn new(call: &'a Call<'a>) -> Result<Self> {
        let (options, limits) = call.options(2, Use::EvaluateClicks)?;
        let metrics =
            if options.has("metric") { metrics(&options)? } else { vec![Metric::parse(CLICK_METRIC)?] };
        let gains = metrics.iter().map(gain).collect::<Result<_>>()?;
        let clip = options::number(&options, "clip");
        let confidence = options::number(&options, "confidence");
        // 1. For scoring, the log is read without the columns that exist only in logs.
        let scoring = with_columns(&options, |key| !["impression", "position", "clicked"].contains(&key));
        let (model, source) = (call.argument(0), call.argument(1));
        let ranking = rank_by_column::ranking_by(call, model, source, FIRST_VALUE, scoring, limits)?;
        if ranking.handle.model.card.slots {
            let problem = "a model that assigns documents to slots has no ranking to evaluate";
            return Err(Error::Unsupported(problem.to_owned()));
        }
        ranking.check_features(
            "make judgments of the log with ltr_judgments, and evaluate these with ltr_evaluate",
        )?;
        // 2. For clicks, the log is read without features. The query and document columns are those used in training,
        //    if the log contains them.
        let names = ranking.source.columns(call.connection, &ranking.limits)?;
        let mut log_options = with_columns(&options, |key| LOG_KEYS.contains(&key));
        for role in ["query", "doc"] {
            let trained = ranking.handle.model.card.columns.of(role);
            let exists = |name: &&str| names.iter().any(|known| known.eq_ignore_ascii_case(name));
            if let Some(name) = trained.filter(exists) {
                log_options = with_column(log_options, role, name);
            }
        }
        let names = metrics.iter().map(Metric::name).collect();
        Ok(Self { log_options, names, gains, clip, confidence, ranking })
    }

    fn log(&self) -> Result<LogSource<'_>> {
        let RankingCall { call, limits, .. } = &self.ranking;
        let text = text_argument("argument 'log'", call.argument(1))?;
        LogSource::new(call, &text, FIRST_VALUE, &self.log_options, limits)
    }
}

/// The options, where the option `columns` contains only the keys that `keeps` accepts.
fn with_columns(options: &Params, keeps: impl Fn(&str) -> bool) -> Params {
    let Some(columns) = options.get("columns").and_then(Value::as_object) else { return options.clone() };
    let columns =
        columns.iter().filter(|(key, _)| keeps(key)).map(|(key, value)| (key.clone(), value.clone()));
    options.clone().with("columns", Value::Object(columns.collect()))
}

/// The options, where `columns` assigns this column to the role unless it already sets the role.
fn with_column(options: Params, role: &str, name: &str) -> Params {
    let mut columns = options.get("columns").and_then(Value::as_object).cloned().unwrap_or_default();
    columns.entry(role).or_insert_with(|| json!(name));
    options.with("columns", Value::Object(columns))
}

/// The gain of a document as a function of its rank (rule 16.9).
fn gain(metric: &Metric) -> Result<Gain> {
    let depth = metric.cutoff().unwrap_or(usize::MAX);
    // Clicks have no relevance grades, so parameters in the metric name are meaningless.
    let name = if metric.named().given().is_empty() { metric.def().name } else { "" };
    match (name, metric.cutoff()) {
        ("dcg", _) => Ok(Box::new(move |rank| if rank < depth { logarithmic(rank) } else { 0.0 })),
        ("precision", Some(k)) => Ok(Box::new(move |rank| if rank < k { 1.0 / k as f64 } else { 0.0 })),
        _ => Err(Error::Unsupported(format!(
            "metric '{}': it is not a sum over documents by rank, so it cannot be estimated from clicks without bias; use dcg, \
             dcg@k or precision@k without parameters, as in 'dcg@10'",
            metric.name()
        ))),
    }
}

fn rows(request: &ClickRequest<'_>) -> Result<OutputRows> {
    let log = request.log()?;
    // 1. Get the propensities.
    let propensities = propensities(request, &log)?;
    // 2. Read the log with its features, in one pass.
    let RankingCall { call: Call { connection, state, .. }, handle, source, limits, .. } = &request.ranking;
    let spec = ReadSpec { query: true, ..ReadSpec::ranked(&handle.model, ListConstraint::None) };
    let options = &with_log_ids(&request.ranking.options, &log);
    let roles = Roles::find(source, source.columns(connection, limits)?, spec, options)?;
    let call = SourceCall { connection, source, options, values: &[], limits };
    let mut evaluation = Evaluation::new(request, &propensities, PartReader::new(call, &roles, spec)?);
    let mut impression = Impression::default();
    log.read_with_all(&mut |row, of_log| {
        impression.push(of_log, &mut evaluation)?;
        evaluation.part.push(row)
    })?;
    impression.close(&mut evaluation).map_err(|error| log.of_source(error))?;
    evaluation.score()?;
    if evaluation.sums.impressions() < 1.0 {
        return Err(Error::Data("0 rows in the log".to_owned()));
    }
    // 3. Compute the estimates.
    let weights = Weights::new(propensities.known.iter().copied(), request.clip);
    let known = |position: &usize| weights.at(*position).is_none();
    if let Some(position) = evaluation.sums.clicks().map(|(position, _)| position).find(known) {
        return Err(Error::Data(format!(
            "position {position} has clicks, but no propensity; {GIVE_PROPENSITIES}"
        )));
    }
    let (sums, slopes) = (&evaluation.sums, &evaluation.slopes);
    let changes = propensities.estimated.as_ref().map(|estimated| changes(&estimated.influence, slopes));
    let mut warnings = std::mem::take(&mut evaluation.warnings);
    warnings.extend(evaluation.unknown.iter().filter_map(UnknownValues::warning));
    warnings.extend(clipped(sums, &weights, request.clip));
    let rows = output(request, sums, &weights, changes.as_ref());
    state.set_warnings(warnings);
    Ok(ready(rows))
}

/// The options, with the query and document columns of the log.
fn with_log_ids(options: &Params, log: &LogSource<'_>) -> Params {
    let [_, query, doc, ..] = log.names();
    with_column(with_column(options.clone(), "query", query), "doc", doc)
}

/// The propensity of each position.
struct Propensities {
    known: Vec<(u32, f64)>,
    estimated: Option<Estimated>,
}

/// Propensities estimated from the log.
struct Estimated {
    counted: Counted,
    influence: Influence,
}

/// The propensities that the option gives, or else estimates from the log.
fn propensities(request: &ClickRequest<'_>, log: &LogSource<'_>) -> Result<Propensities> {
    let RankingCall { call, options, limits, .. } = &request.ranking;
    if let Some(given) = options.get("propensities") {
        let known = given_propensities(call.connection, given, limits)?;
        return Ok(Propensities { known, estimated: None });
    }
    let mut counts = Log::new(vec![clicks::find("pbm")?], &limits.memory);
    log.read(&mut counts)?;
    let counted = counts.finish();
    let cells = counted.cells(0, true);
    let pairs = counted.pairs.len();
    let influence = limits.run(|_: &Control| Ok(Influence::of(&cells, pairs)))?;
    let Some(influence) = influence else {
        return Err(Error::Data(format!(
            "the log does not determine the propensity of each position: documents with clicks must appear at several positions, and there \
             may be at most 257 positions; {GIVE_PROPENSITIES}"
        )));
    };
    let known = influence.propensities().collect();
    Ok(Propensities { known, estimated: Some(Estimated { counted, influence }) })
}

/// The state of the pass over a log that ranks its impressions.
struct Evaluation<'a> {
    request: &'a ClickRequest<'a>,
    propensities: &'a Propensities,
    /// Finds query-document pairs, if propensities are estimated.
    finder: Option<Finder<'a>>,
    /// The rows of impressions that are not yet scored (the current part).
    part: PartReader<'a>,
    /// The group and the rows of each complete impression in the current part.
    impressions: Vec<(usize, Vec<Shown>)>,
    /// The number of rows of these impressions.
    closed_rows: usize,
    /// The queries of the current part, if the model needs all documents of a query together.
    queries: HashSet<Id>,
    needs_queries: bool,
    sums: ClickSums,
    /// The derivatives of the likelihood by each propensity, for each group of impressions.
    slopes: Vec<Vec<f64>>,
    warnings: Vec<String>,
    /// Unknown values found in all parts so far.
    unknown: Vec<UnknownValues>,
    /// The number of rows in previous parts.
    scored_rows: usize,
    /// The warnings without digits, used to drop repeated warnings.
    kinds: HashSet<String>,
}

impl<'a> Evaluation<'a> {
    fn new(request: &'a ClickRequest<'a>, propensities: &'a Propensities, part: PartReader<'a>) -> Self {
        let capabilities = request.ranking.handle.model.capabilities();
        let finder = propensities.estimated.as_ref().map(|estimated| Finder::new(&estimated.counted));
        Self {
            request,
            propensities,
            finder,
            part,
            impressions: Vec::new(),
            closed_rows: 0,
            queries: HashSet::new(),
            needs_queries: !capabilities.pointwise || capabilities.query_dependent,
            sums: ClickSums::new(request.gains.len(), &request.ranking.limits.memory),
            slopes: vec![vec![0.0; propensities.known.len()]; GROUPS],
            warnings: Vec::new(),
            unknown: Vec::new(),
            scored_rows: 0,
            kinds: HashSet::new(),
        }
    }

    /// Adds the unknown values found in a part of this many rows. A numeric feature is in `found` only if the part has
    /// missing values of it.
    fn add_unknown(&mut self, found: Vec<UnknownValues>, rows: usize) {
        let is_same = |a: &UnknownValues, b: &UnknownValues| (&a.name, a.counted) == (&b.name, b.counted);
        let is_found = |known: &UnknownValues| found.iter().any(|more| is_same(more, known));
        self.unknown.iter_mut().filter(|known| !is_found(known)).for_each(|known| known.total += rows);
        for mut more in found {
            if let Some(known) = self.unknown.iter_mut().find(|known| is_same(known, &more)) {
                known.add(more);
            } else {
                more.total += if more.counted == "rows" { self.scored_rows } else { 0 };
                self.unknown.push(more);
            }
        }
        self.scored_rows += rows;
    }

    /// Ranks the impressions in the current part and adds their clicks to the sums.
    fn score(&mut self) -> Result<()> {
        let impressions = std::mem::take(&mut self.impressions);
        self.queries.clear();
        self.closed_rows = 0;
        if impressions.is_empty() {
            return Ok(());
        }
        let (data, report) = self.part.take()?;
        let scored = self.request.ranking.scored(&data)?;
        // Several impressions of a query repeat the same documents, so unknown values are reported once for all rows.
        let general: Vec<String> = data
            .repeated_rows()
            .into_iter()
            .chain(scored.unknown.iter().filter_map(UnknownValues::warning))
            .collect();
        self.add_unknown(scored.unknown, data.n_docs());
        for warning in scored.warnings {
            if !general.contains(&warning) && self.kinds.insert(without_digits(&warning)) {
                self.warnings.push(format!("some impressions: {warning}"));
            }
        }
        // The index of the document in each row.
        let mut documents = vec![0; data.n_docs()];
        report.rows.iter().enumerate().for_each(|(document, row)| documents[*row] = document);
        let (mut start, mut ticks) = (0, Ticks::default());
        for (group, rows) in impressions {
            ticks.add(64 * rows.len());
            let documents = &documents[start..start + rows.len()];
            start += rows.len();
            let mut order: Vec<usize> = (0..rows.len()).collect();
            sort_indices(&mut order, &|a, b| {
                let (a, b) = (documents[a], documents[b]);
                compare(scored.scores[b], scored.scores[a])
                    .then_with(|| data.doc_ids[a].cmp(&data.doc_ids[b]))
            });
            for (rank, row) in order.into_iter().enumerate().filter(|(_, row)| rows[*row].clicked) {
                let gains = self.request.gains.iter().map(|gain| rows[row].weight * gain(rank));
                self.sums.add_click(group, rows[row].position, gains)?;
            }
        }
        Ok(())
    }
}

impl TakesImpressions for Evaluation<'_> {
    fn pair(&mut self, query: Id, doc: Id) -> Result<u32> {
        let pair = self.finder.as_mut().map_or(Ok(0), |finder| finder.pair(query.clone(), &doc))?;
        // A model that needs all documents of a query must rank each impression separately, so a part may contain only
        // one impression per query.
        let is_first = self.part.n_rows() == self.closed_rows;
        if self.needs_queries && is_first && !self.queries.insert(query.clone()) {
            self.score()?;
            self.queries.insert(query);
        }
        Ok(pair)
    }

    fn impression(&mut self, id: &Id, rows: &[Shown]) -> Result<()> {
        let group = group_of(id);
        self.sums.add_impression(group);
        if let Some(Estimated { influence, .. }) = &self.propensities.estimated {
            for row in rows {
                influence.add_row(row, &mut self.slopes[group]);
            }
        }
        self.impressions.push((group, rows.to_vec()));
        self.closed_rows += rows.len();
        if self.closed_rows >= ROWS_OF_PART { self.score() } else { Ok(()) }
    }
}

/// How the impressions in each group affect the estimated propensities.
fn changes(influence: &Influence, slopes: &[Vec<f64>]) -> Changes {
    let of_group = |slopes: &Vec<f64>| {
        let changes = influence.change(slopes);
        influence.propensities().map(|(position, _)| position).zip(changes).collect()
    };
    slopes.iter().map(of_group).collect()
}

/// A warning if clicks have a propensity below `clip`.
fn clipped(sums: &ClickSums, weights: &Weights, clip: f64) -> Option<String> {
    let is_clipped = |position: usize| weights.at(position).is_some_and(|[_, slope]| slope >= 0.0);
    let [all, found] = sums.clicks().fold([0.0; 2], |[all, found], (position, clicks)| {
        [all + clicks, found + if is_clipped(position) { clicks } else { 0.0 }]
    });
    (found > 0.0).then(|| {
        format!(
            "{found} of {all} clicks are at positions with a propensity below {clip} (option 'clip'); their weight is limited, so 'ips' is too low"
        )
    })
}

fn without_digits(text: &str) -> String {
    text.chars().filter(|c| !c.is_ascii_digit()).collect()
}

/// The result rows.
fn output(
    request: &ClickRequest<'_>,
    sums: &ClickSums,
    weights: &Weights,
    changes: Option<&Changes>,
) -> Vec<Vec<Output>> {
    let [weight, squares] = sums.weight(weights);
    let clicks: f64 = sums.clicks().map(|(_, clicks)| clicks).sum();
    let half = t_quantile(1.0 - request.confidence, (sums.groups() - 1.0).max(1.0));
    let mut rows = Vec::new();
    for (metric, name) in request.names.iter().enumerate() {
        let values = sums.values(metric, weights, changes);
        for (estimator, OfflineValue { value, error }) in ["ips", "snips"].into_iter().zip(values) {
            let bound = |sign: f64| value.zip(error).map(|(value, error)| value + sign * half * error);
            let (low, high) = (bound(-1.0), bound(1.0));
            let size = (squares > 0.0).then(|| weight * weight / squares);
            let (impressions, clicks) = (sums.impressions() as u64, clicks as u64);
            rows.push(row![name.clone(), estimator, value, low, high, impressions, clicks, size]);
        }
    }
    rows
}
