//! `ltr_rank(model, source [, options])`: ranks the documents of a source, query by query.
//!
//! Contract (ranking):
//! 1. Columns `query_id, doc_id, score, rank, slot`; rank 1 is best, ties go by document; slot is NULL but for models that
//!    match documents to slots, which give one row per slot.
//! 2. Queries that the model has not seen are fitted, on all threads, once per connection.
//! 3. A comparison of `query_id` with a value (IN too) is bound into the reading of the source, whose own affinity
//!    decides; one under another collation than BINARY is left to SQLite. ORDER BY rank, or query_id and rank, needs
//!    no sorter.
//! 4. With `diversify_by` a list shows at most `max_per_value` documents of a block; one that would be shorter than `k` and than its
//!    documents is an error unless `allow_short` allows it.
//! 5. A query's scores are the same bits alone or in company.

use std::ffi::{CStr, c_int};
use std::hash::{DefaultHasher, Hash, Hasher};

use super::ranking_call::{PARAMETERS, RankingCall};
use crate::arrange::ListConstraint;
use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::evaluate::shown;
use crate::options::Use;
use crate::param::Params;
use crate::sqlite::glue::value::Output;
use crate::sqlite::glue::vtab::{Call, OutputRows, Parameter, TableFunction};
use crate::sqlite::source::reader::{ReadSpec, SourceRows};

/// The function.
pub struct Rank;

/// Orders that the rows can come in: by query and rank, or by rank and query.
const ORDERS: &[&[c_int]] = &[&[0, 3], &[3, 0]];
const BY_RANK: usize = 1;

impl TableFunction for Rank {
    fn name(&self) -> &'static str {
        "ltr_rank"
    }

    fn columns(&self) -> &'static [&'static str] {
        &["query_id", "doc_id", "score", "rank", "slot"]
    }

    fn parameters(&self) -> &'static [Parameter] {
        PARAMETERS
    }

    fn takes_only(&self) -> bool {
        true
    }

    fn orders(&self) -> &'static [&'static [c_int]] {
        ORDERS
    }

    fn row_id(&self, row: &[Output]) -> Option<i64> {
        let [Output::Id(query), _, _, Output::Integer(rank), _] = row else { return None };
        let mut hasher = DefaultHasher::new();
        (query, rank).hash(&mut hasher);
        Some(hasher.finish() as i64)
    }

    fn plan(&self) -> &'static CStr {
        c"fits novel queries; indv_svm scores them 0"
    }

    fn execute(&self, call: &Call<'_>) -> Result<OutputRows> {
        let request = RankingCall::new(call, Use::Rank)?;
        let constraint = request.constraint()?;
        let spec =
            ReadSpec { only: call.only.as_ref(), ..ReadSpec::ranked(&request.handle.model, constraint) };
        let SourceRows { data, roles, .. } = request.read_source(call, spec)?;
        if call.only.is_some() && roles.query.is_none() {
            // Without a query column every query_id is NULL, which equals nothing.
            return Ok(Box::new(std::iter::empty()));
        }
        let (scores, warnings) = if data.n_docs() == 0 {
            Default::default()
        } else {
            let scored = request.scored(call, &data)?;
            (scored.scores, scored.warnings)
        };
        call.state.set_warnings(warnings);
        let list = List::new(&request.options, constraint);
        Ok(rows(&data, &list.places(&data, &scores)?, &scores, constraint, call.order == Some(BY_RANK)))
    }
}

/// A row of the ranking: number of the query, the document and its rank.
type Place = (usize, usize, usize);

/// What is shown of each query.
struct List {
    constraint: ListConstraint,
    /// Length of a list, if limited.
    k: Option<usize>,
    per_block: usize,
    /// Whether a list may be shorter than k because of its blocks.
    short: bool,
}

impl List {
    fn new(options: &Params, constraint: ListConstraint) -> Self {
        let per_block = options.count("max_per_value").unwrap_or(1);
        Self { constraint, k: options.count("k"), per_block, short: options.flag("allow_short") }
    }

    fn places(&self, data: &Dataset, scores: &[f64]) -> Result<Vec<Place>> {
        let mut places = Vec::with_capacity(scores.len());
        for query in 0..data.n_queries() {
            let shown = shown(data, query, scores, self.constraint, self.per_block)?;
            self.check_length(data, query, shown.len())?;
            let best = shown.into_iter().take(self.k.unwrap_or(usize::MAX)).enumerate();
            places.extend(best.map(|(index, document)| (query, document, index + 1)));
        }
        Ok(places)
    }

    /// Refuses a list that blocks make shorter than k, unless it may be short.
    fn check_length(&self, data: &Dataset, query: usize, found: usize) -> Result<()> {
        let Some(k) = self.k.filter(|&k| found < k && !self.short) else { return Ok(()) };
        let documents = data.rows(query).len();
        if self.constraint != ListConstraint::Diversity || found == documents {
            return Ok(());
        }
        let blocks = data.row_groups(query).iter().map(|row| row.group + 1).max().unwrap_or(0);
        Err(Error::Data(format!(
            "query {}: {documents} documents in {blocks} blocks give a list of {found} with \"max_per_value\": {}, not of \
             k = {k}; allow shorter lists with \"allow_short\": true, or more documents per block",
            data.query_ids[query], self.per_block
        )))
    }
}

fn rows(
    data: &Dataset,
    places: &[Place],
    scores: &[f64],
    constraint: ListConstraint,
    by_rank: bool,
) -> OutputRows {
    let mut places = places.to_vec();
    if by_rank {
        places.sort_by_key(|&(query, _, rank)| (rank, query));
    }
    let row = |(query, document, rank): Place| {
        let slot = data.groups.get(document).filter(|_| constraint == ListConstraint::Slots);
        Ok(vec![
            Output::Id(data.query_ids[query].clone()),
            Output::Id(data.doc_ids[document].clone()),
            Output::Real(scores[document]),
            Output::Integer(rank as i64),
            slot.cloned().map_or(Output::Null, Output::Id),
        ])
    };
    let rows: Vec<Result<Vec<Output>>> = places.into_iter().map(row).collect();
    Box::new(rows.into_iter())
}
