//! `ltr_rank(model, source [, options])`: ranks the documents of a source, query by query.
//!
//! Rules (docs/reference/rules.md, 6):
//! * 6.1: Rows `query_id, doc_id, score, rank, slot`; rank 1 is best; slots for `matching` only. Documents with equal scores
//!   are ordered by id (`apply/ranked_rows.rs`); without ids they keep the order of rows, which `data/finish.rs` sorts.
//! * 6.2: A comparison of `query_id` (collation BINARY) with a value is applied while the source is read. It needs a query column.
//! * 6.3: ORDER BY rank, or query_id and rank, needs no sorter.
//! * 6.4, 6.5: New queries are fitted once per connection; scores do not depend on the other queries.
//! * 6.7: With `diversify_by` a list holds at most `max_per_value` documents per value.
//! * 6.12: With vectors and a weight, `diversify_by` orders by maximal marginal relevance.
//! * 6.13: `probability` comes from the map learned in training; `min_probability` omits documents below it.

use serde_json::{Value, json};

use super::ranking_call::{FEWER_RANKED, PARAMETERS, RankingCall};
use super::variety::diverse_rows;
use crate::apply::{RowScorer, check_scores, selected_rows};
use crate::base::{Error, Params, Reservation, Result, bytes_of, columns_text, shorten};
use crate::data::{Dataset, Id, ListConstraint};
use crate::math::sort_items;
use crate::model::IMPORTED;
use crate::sqlite::glue::{Output, OutputRows, TableFunction, row};
use crate::sqlite::source::reader::{ReadSpec, SourceRows};
use crate::train::options::{self, Use};

pub const RANK: TableFunction = TableFunction {
    rank_column: Some(3),
    plan: c"may fit functions of new queries",
    ..TableFunction::new("ltr_rank", "query_id, doc_id, score, rank, slot, probability", PARAMETERS, |call| {
        RankingCall::run(call, Use::Rank, rank_rows)
    })
};

fn rank_rows(request: &RankingCall<'_>) -> Result<OutputRows> {
    let Ranking { queries, rows, memory } = ranking(request)?;
    Ok(Box::new(rows.into_iter().map(move |row| {
        let _counted = &memory;
        let RankedRow { query, doc, score, rank, slot, probability } = row;
        Ok(row![&queries[query], doc, score, rank, slot, probability])
    })))
}

/// The ranked documents of a source.
pub(super) struct Ranking {
    pub queries: Vec<Id>,
    /// The documents, in the order of the call.
    pub rows: Vec<RankedRow>,
    /// Memory for the rows.
    pub memory: (Reservation, Reservation),
}

/// Reads, scores and ranks the source of a call.
///
/// # Errors
/// Errors of the source and of scoring; lists that cannot be filled.
pub(super) fn ranking(request: &RankingCall<'_>) -> Result<Ranking> {
    let constraint = request.constraint()?;
    let least = min_probability(request)?;
    let probability = request.handle.model.card.probability.as_ref();
    let call = request.call;
    let scorer = RowScorer::of(&request.handle.model);
    let spec = ReadSpec { scorer: scorer.as_ref(), ..ReadSpec::ranked(&request.handle.model, constraint) };
    let SourceRows { mut data, roles, mut read_report } = request.read_source(spec)?;
    let (scores, mut warnings) = if data.n_docs() == 0 {
        Default::default()
    } else if let Some(scores) = read_report.scores.take() {
        let warnings = check_scores(&data, &scores)?;
        (scores, warnings)
    } else {
        let scored = request.scored(&data)?;
        (scored.scores, scored.warnings)
    };
    if roles.query.is_none() && data.n_docs() > 1 {
        let source = &request.source.shown;
        let columns = request.options.get("columns").and_then(Value::as_object);
        let trained = request.handle.model.card.columns.query.as_ref();
        let trained = trained.map(|name| format!(" (\"{name}\" in the training)")).unwrap_or_default();
        warnings.push(format!(
            "source {source} has no query column{trained}, so all its rows are ranked as one query; name one with the options {}",
            columns_text(columns, Some(("query", json!("..."))), &[])
        ));
    }
    warnings.extend(request.empty_view(data.n_docs())?);
    warnings.extend(roles.queries_in_two_ways(&data));
    let nameless = data.doc_ids.iter().filter(|id| **id == Id::Null).count();
    if let Some(doc) = roles.doc_name().filter(|_| nameless > 0) {
        let source = &request.source.shown;
        warnings.push(format!(
            "source {source}: \"{doc}\" is NULL in {nameless} rows, whose documents have no id"
        ));
    }
    warnings.extend(request.noted());
    call.state.set_warnings(warnings);
    // Rows are made on demand from the values kept here. Features are no longer needed.
    drop(data.take_features());
    let list = List::new(&request.options, constraint)?;
    let bytes = bytes_of::<(Ranked, RankedRow, [f64; 3])>(scores.len());
    let what = format_args!("a ranking of {} documents", scores.len());
    let memory = request.limits.memory.reserve(bytes, what, FEWER_RANKED)?;
    let at = |score: f64| probability.map(|map| map.at(score));
    // Documents with a score of negative infinity are not in any list.
    let is_kept = |score: f64| least.is_none_or(|least| at(score).is_some_and(|found| found >= least));
    let listed = |score: &f64| if is_kept(*score) { *score } else { f64::NEG_INFINITY };
    let listed: Option<Vec<f64>> = least.map(|_| scores.iter().map(listed).collect());
    let mut ranked = list.ranked(request, &data, listed.as_deref().unwrap_or(&scores))?;
    if call.by_rank {
        sort_items(&mut ranked, |a, b| (a.rank, a.query).cmp(&(b.rank, b.query)));
    }
    let memory = (memory, read_report.memory);
    let row = |row: Ranked| {
        let slot = data.groups.get(row.document).filter(|_| constraint == ListConstraint::Slots);
        let slot = Output::from(slot);
        let doc = std::mem::take(&mut data.doc_ids[row.document]);
        let score = scores[row.document];
        RankedRow { query: row.query, doc, score, rank: row.rank as i64, slot, probability: at(score) }
    };
    // Collecting now is faster than making rows lazily.
    let rows = ranked.into_iter().map(row).collect();
    Ok(Ranking { queries: data.query_ids, rows, memory })
}

/// One row of the ranking.
struct Ranked {
    query: usize,
    document: usize,
    rank: usize,
}

/// The values of a row; the query is an index.
pub(super) struct RankedRow {
    pub query: usize,
    pub doc: Id,
    pub score: f64,
    pub rank: i64,
    pub slot: Output,
    pub probability: Option<f64>,
}

/// The option `min_probability`.
///
/// # Errors
/// A model without probabilities, with the reason.
pub(super) fn min_probability(request: &RankingCall<'_>) -> Result<Option<f64>> {
    let Some(least) = request.options.number("min_probability") else { return Ok(None) };
    let card = &request.handle.model.card;
    if card.probability.is_some() {
        return Ok(Some(least));
    }
    let stored = &card.summary["probability"]["problem"];
    let reason = match stored.as_str() {
        Some(problem) => shorten(problem),
        None if request.handle.model.ranker.as_query_dependent().is_some() => {
            "a function for each query gives scores that cannot be compared across queries".to_owned()
        }
        None if card.algorithm == IMPORTED => {
            "another library trained the model; train it here with \"probability\": true".to_owned()
        }
        None => "train it with \"probability\": true".to_owned(),
    };
    Err(Error::Unsupported(format!("option 'min_probability': the model has no probabilities: {reason}")))
}

/// The list of a query.
struct List<'a> {
    constraint: ListConstraint,
    /// Length of a list, if limited.
    k: Option<usize>,
    diversify_by: &'a str,
    max_per_value: usize,
    allow_short: bool,
    /// The weight of diversity by vectors.
    vectors: Option<f64>,
}

impl<'a> List<'a> {
    fn new(options: &'a Params, constraint: ListConstraint) -> Result<Self> {
        Ok(Self {
            constraint,
            k: options.count("k"),
            diversify_by: options::diversify_by(options).unwrap_or_default(),
            max_per_value: options::count(options, "max_per_value"),
            allow_short: options.flag("allow_short"),
            vectors: options::vector_weight(options)?,
        })
    }

    fn ranked(&self, request: &RankingCall<'_>, data: &Dataset, scores: &[f64]) -> Result<Vec<Ranked>> {
        let mut ranked = Vec::with_capacity(scores.len());
        for query in 0..data.n_queries() {
            let k = self.k.unwrap_or(usize::MAX);
            let documents = match self.vectors {
                Some(weight) => diverse_rows(request, (data, scores), query, weight, k)?,
                None => selected_rows(data, query, scores, self.constraint, self.max_per_value)?,
            };
            self.check_filled(data, query, documents.len())?;
            let is_listed = |document: &usize| scores[*document] > f64::NEG_INFINITY;
            let best = documents.into_iter().filter(is_listed).take(k).zip(1..);
            ranked.extend(best.map(|(document, rank)| Ranked { query, document, rank }));
        }
        Ok(ranked)
    }

    /// Refuses a list that diversification makes shorter than k (rule 6.7).
    fn check_filled(&self, data: &Dataset, query: usize, found: usize) -> Result<()> {
        let Some(k) = self.k.filter(|&k| found < k && !self.allow_short) else { return Ok(()) };
        let documents = data.rows(query).len();
        if self.constraint != ListConstraint::Diversity || found == documents {
            return Ok(());
        }
        let values = data.row_groups(query).iter().map(|row| row.group + 1).max().unwrap_or(0);
        Err(Error::Data(format!(
            "query {}: only {found} of k = {k} places can be filled ({documents} documents, {values} values of \"{}\", \
             \"max_per_value\": {}); set \"allow_short\": true or raise \"max_per_value\"",
            data.query_ids[query], self.diversify_by, self.max_per_value
        )))
    }
}
