//! `ltr_interleave(model_a, model_b, source, options)`: lists that mix the rankings of two models, to compare them on users.
//!
//! Rules (docs/reference/rules.md, 18):
//! * 18.1: Rows `query_id, doc_id, rank, team, impression`, by team draft. `ltr_rank` gives each ranking.
//! * 18.2: The option `seed` is the id of the impression. It seeds the coin flips and is the last column.
//! * 18.3: NULL in place of a model ranks by the column `score`, highest first.
//! * 18.4: A document that a query has several times in the source is in the list once.

use std::sync::Arc;

use rusqlite::types::ValueRef;
use serde_json::{Value, json};

use super::compare::other_queries;
use super::rank_by_column;
use super::ranking_call::{FEWER_RANKED, FoundModel, RankingCall};
use crate::apply::selected_rows;
use crate::base::{Error, Params, Reservation, Result, Ticks, bytes_of};
use crate::data::{Dataset, Id, ListConstraint};
use crate::math::sort_items;
use crate::model::Model;
use crate::plot::counted;
use crate::search::interleave::{Coins, Outcome, Tally, Target, Team, team_draft};
use crate::sqlite::glue::{Call, Output, OutputRows, RunLimits, TableFunction, ready, row, text_argument};
use crate::sqlite::source::Source;
use crate::sqlite::source::log::{Votes, read_votes};
use crate::sqlite::source::parameters::SourceCall;
use crate::sqlite::source::reader::{ReadSpec, SourceRows};
use crate::train::options::{self, SCORE_KEY, Use};

const PARAMETERS: &str = "model_a, model_b, source [, options] [, value1, ...]";

/// The number of the first argument after the options.
const FIRST_VALUE: usize = 4;

pub const INTERLEAVE: TableFunction = TableFunction {
    rank_column: Some(2),
    plan: c"may fit functions of new queries",
    ..TableFunction::new("ltr_interleave", "query_id, doc_id, rank, team, impression", PARAMETERS, interleave)
};

/// The checked options of a call.
struct InterleaveRequest<'a> {
    call: &'a Call<'a>,
    /// Without `score`.
    options: Params,
    /// The column by which a NULL model ranks, if the options name it.
    score: Option<String>,
    impression: Id,
    k: usize,
    limits: RunLimits,
}

impl<'a> InterleaveRequest<'a> {
    fn new(call: &'a Call<'a>) -> Result<Self> {
        let (options, limits) = call.options(3, Use::Interleave)?;
        let impression = match options.get("seed") {
            Some(Value::String(text)) => Id::text(text),
            Some(number) => Id::Integer(number.as_i64().unwrap_or_default()),
            None => {
                let problem = "option 'seed' is missing: give the id of the impression, a whole number or a text, as in \
                               json_object('seed', 17); each list that is shown needs its own id";
                return Err(Error::Unsupported(problem.to_owned()));
            }
        };
        let k = options.count("k").unwrap_or(usize::MAX);
        let (score, options) = rank_by_column::take_score(options)?;
        Ok(Self { call, options, score, impression, k, limits })
    }
}

fn interleave(call: &Call<'_>) -> Result<OutputRows> {
    let request = InterleaveRequest::new(call)?;
    request.limits.run_here(|| lists(&request))
}

/// The documents of a source, and their order by one model.
struct Ranked {
    /// Without features.
    data: Dataset,
    /// For each query, the numbers of its documents, best first.
    best: Vec<u32>,
    warnings: Vec<String>,
    memory: [Reservation; 2],
}

fn lists(request: &InterleaveRequest<'_>) -> Result<OutputRows> {
    let call = request.call;
    let models = [call.argument(0), call.argument(1)];
    if models == [ValueRef::Null; 2] {
        let problem = "both models are NULL, which means the column 'score' for both; name a model";
        return Err(Error::Unsupported(problem.to_owned()));
    }
    if let Some(name) = request.score.as_ref().filter(|_| !models.contains(&ValueRef::Null)) {
        return Err(rank_by_column::unused(name));
    }
    // 1. Both rankings. A ranking by a column uses the column roles of the other model's training.
    let (mut calls, mut other) = ([None, None], None);
    for (model, place) in models.into_iter().zip(&mut calls).filter(|(model, _)| *model != ValueRef::Null) {
        let ranking = by_model(request, model)?;
        other = Some(Arc::clone(&ranking.handle.model));
        *place = Some(ranking);
    }
    let rank = |ranking: Option<RankingCall<'_>>| match (ranking, &other) {
        (Some(ranking), _) => ranked(&ranking),
        (None, other) => by_column(request, other.as_deref()),
    };
    let [a, b] = calls;
    let (is_model, a) = (b.is_some(), rank(a)?);
    let b = rank(b)?;
    // 2. They must have the same documents.
    check_same(request, [&a.data, &b.data], is_model)?;
    let is_same = a.data.n_docs() > a.data.n_queries() && a.best == b.best;
    let same = is_same.then(|| {
        let lists = counted(a.data.n_queries(), "list", "lists");
        format!("both rankings have the same order in {lists}, so clicks cannot tell them apart")
    });
    call.state.set_warnings([a.warnings, b.warnings, same.into_iter().collect()].concat());
    // 3. The lists.
    let data = a.data;
    let mut rows = drafted(&data, [&a.best, &b.best], request);
    if call.by_rank {
        sort_items(&mut rows, |a, b| (a.rank, a.query).cmp(&(b.rank, b.query)));
    }
    let (memory, impression) = (a.memory, request.impression.clone());
    Ok(Box::new(rows.into_iter().map(move |row| {
        let _counted = &memory;
        let (query, doc) = (&data.query_ids[row.query as usize], &data.doc_ids[row.document]);
        Ok(row![query, doc, row.rank, row.team.name(), &impression])
    })))
}

/// The call of `ltr_rank` with this model.
fn by_model<'a>(request: &InterleaveRequest<'a>, model: ValueRef<'_>) -> Result<RankingCall<'a>> {
    let (call, source, options) = (request.call, request.call.argument(2), request.options.clone());
    let ranking = RankingCall::of(call, model, source, FIRST_VALUE, options, request.limits.clone())?;
    if ranking.handle.model.card.slots {
        let problem = "a model that assigns documents to slots has no ranking to interleave";
        return Err(Error::Unsupported(problem.to_owned()));
    }
    Ok(ranking)
}

/// The ranking by a column.
fn by_column(request: &InterleaveRequest<'_>, other: Option<&Model>) -> Result<Ranked> {
    let call = request.call;
    let columns = other.map(|model| model.card.columns.clone()).unwrap_or_default();
    let score = request.score.clone().unwrap_or_else(|| SCORE_KEY.to_owned());
    let found = FoundModel {
        ticket: call.statements.begin(),
        handle: rank_by_column::column_model(&score, columns)?,
    };
    let (options, limits) = (request.options.clone().without(&["missing"]), request.limits.clone());
    let source = call.argument(2);
    let view = other.and_then(|model| model.card.candidates.as_ref());
    let is_source =
        |name: &str| matches!(source, ValueRef::Text(text) if text.eq_ignore_ascii_case(name.as_bytes()));
    let mut ranking = match view.filter(|view| is_source(&view.name)) {
        Some(view) => RankingCall::of_view(call, found, view, options, limits)?,
        None => RankingCall::with_model(call, found, source, FIRST_VALUE, options, limits)?,
    };
    ranking.by_column = Some(score);
    ranked(&ranking).map_err(|error| rank_by_column::explained(&ranking, error))
}

/// Ranks the source of a call.
fn ranked(ranking: &RankingCall<'_>) -> Result<Ranked> {
    let spec = ReadSpec::ranked(&ranking.handle.model, ListConstraint::None);
    let SourceRows { mut data, read_report, .. } = ranking.read_source(spec)?;
    let n = data.n_docs();
    let (scores, warnings) = if n == 0 {
        let noted = ranking.noted();
        (Vec::new(), noted.into_iter().chain(ranking.empty_view(n)?).collect())
    } else {
        let scored = ranking.scored(&data)?;
        (scored.scores, scored.warnings)
    };
    drop(data.take_features());
    let what = format_args!("a ranking of {n} documents");
    let memory = ranking.limits.memory.reserve(bytes_of::<[f64; 3]>(n), what, FEWER_RANKED)?;
    let mut best = Vec::with_capacity(n);
    for query in 0..data.n_queries() {
        let rows = selected_rows(&data, query, &scores, ListConstraint::None, 1)?;
        let start = data.offsets[query];
        best.extend(rows.into_iter().map(|row| (row - start) as u32));
    }
    Ok(Ranked { data, best, warnings, memory: [read_report.memory, memory] })
}

/// Refuses rankings of different documents.
fn check_same(request: &InterleaveRequest<'_>, [a, b]: [&Dataset; 2], is_model: bool) -> Result<()> {
    if a.query_ids != b.query_ids {
        let model = request.call.argument(usize::from(is_model));
        return Err(other_queries(&by_model(request, model)?));
    }
    if a.offsets != b.offsets || a.doc_ids != b.doc_ids {
        return Err(Error::Unsupported(
            "the two rankings read different documents: the source returns different rows when read again, or the columns of \
             the models for the role 'doc' differ; set it with the option 'columns', as in {\"columns\": {\"doc\": \"doc_id\"}}"
                .to_owned(),
        ));
    }
    Ok(())
}

/// A row of the result.
struct Row {
    query: u32,
    /// In the data set.
    document: usize,
    rank: u32,
    team: Team,
}

/// The lists of all queries.
fn drafted(data: &Dataset, best: [&[u32]; 2], request: &InterleaveRequest<'_>) -> Vec<Row> {
    let (mut rows, mut ticks) = (Vec::new(), Ticks::default());
    for query in 0..data.n_queries() {
        let range = data.rows(query);
        let (start, len) = (range.start, range.len());
        // 1. Rows of the same document are adjacent, and count as the first one.
        let mut first: Vec<u32> = (0..len as u32).collect();
        for row in 1..len {
            ticks.add(10);
            if data.doc_ids[start + row] == data.doc_ids[start + row - 1] {
                first[row] = first[row - 1];
            }
        }
        let documents = best
            .map(|best| -> Vec<u32> { best[range.clone()].iter().map(|row| first[*row as usize]).collect() });
        // 2. The draft.
        let coins = Coins::new(&request.impression, &data.query_ids[query]);
        let list = team_draft([&documents[0], &documents[1]], len, coins, request.k);
        rows.extend(list.into_iter().zip(1..).map(|((document, team), rank)| Row {
            query: query as u32,
            document: start + document as usize,
            rank,
            team,
        }));
    }
    rows
}

// `ltr_interleave_result(log [, options])`: which of two interleaved rankings users prefer.
//
// Rules (docs/reference/rules.md, 18):
// * 18.7: One row. The ranking with more clicks wins a list; ties count as half a win for each, and lists without a
//   click do not count.
// * 18.8: `p_value` comes from the two-sided score test, which the interval inverts. Lists are taken to be independent.

const RESULT_PARAMETERS: &str = "log [, options] [, value1, ...]";

pub const INTERLEAVE_RESULT: TableFunction = TableFunction::new(
    "ltr_interleave_result",
    "impressions, wins_a, wins_b, ties, no_click, difference, ci_low, ci_high, p_value, more_impressions, warnings",
    RESULT_PARAMETERS,
    result,
);

fn result(call: &Call<'_>) -> Result<OutputRows> {
    let text = text_argument("argument 'log'", call.argument(0))?;
    let (options, limits) = call.options(1, Use::InterleaveResult)?;
    let source = Source::resolve(call.connection, &text, &limits)?;
    let (connection, source, options, limits) = (call.connection, &source, &options, &limits);
    let values = &call.values(2);
    let Votes { tally, warnings } = read_votes(SourceCall { connection, source, options, values, limits })?;
    let target = Target {
        confidence: options::number(options, "confidence"),
        power: options::number(options, "power"),
        difference: options.number("min_difference"),
    };
    let row = row(&tally, &tally.outcome(target), &warnings);
    call.state.set_warnings(warnings);
    Ok(ready(vec![row]))
}

fn row(tally: &Tally, outcome: &Outcome, warnings: &[String]) -> Vec<Output> {
    let Tally { wins_a, wins_b, ties, no_click } = *tally;
    let Outcome { difference, interval, p_value, more_impressions } = *outcome;
    let (all, (low, high)) = (tally.impressions(), interval.unzip());
    let warnings = (!warnings.is_empty()).then(|| json!(warnings));
    row![all, wins_a, wins_b, ties, no_click, difference, low, high, p_value, more_impressions, warnings]
}
