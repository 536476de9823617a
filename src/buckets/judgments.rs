//! Grades and weights of all packs' rows. They stay in memory while trees train from packs.

use std::collections::BTreeMap;
use std::ops::Range;

use ndarray::Array2;

use crate::base::{Error, Memory, Reservation, Result, bytes_of};
use crate::data::{Dataset, Id};
use crate::math::sort_items;

/// Grades and weights of each bucket, without features.
#[derive(Default)]
pub(super) struct Judgments {
    buckets: BTreeMap<u32, Dataset>,
    /// Memory in bytes of the buckets and their copy in one data set.
    bytes: u64,
    memory: Reservation,
}

/// Grades and weights of all rows.
pub(super) struct Rows {
    /// Without features and ids of documents.
    pub(super) data: Dataset,
    /// For each bucket, the rows of each of its queries.
    row_numbers: BTreeMap<u32, Vec<Range<usize>>>,
    _memory: Reservation,
}

impl Judgments {
    /// Keeps a bucket's grades and weights, without features.
    ///
    /// # Errors
    /// Too little memory.
    pub(super) fn insert(&mut self, bucket: u32, data: Dataset, memory: &Memory) -> Result<()> {
        if self.buckets.is_empty() {
            self.memory = memory.nothing();
        }
        let kept = Dataset {
            query_ids: data.query_ids,
            offsets: data.offsets,
            relevance: data.relevance,
            doc_weights: data.doc_weights,
            weights: data.weights,
            ..Dataset::default()
        };
        let bytes = |data: &Dataset| 2 * data.bytes() + bytes_of::<usize>(data.offsets.len());
        self.bytes += bytes(&kept);
        if let Some(former) = self.buckets.insert(bucket, kept) {
            self.bytes -= bytes(&former);
        }
        self.memory.resize(self.bytes, "grades and weights of all rows", "use fewer rows")
    }
}

impl Rows {
    /// Grades and weights of all buckets, with queries in the order of their ids.
    pub(super) fn new(judgments: Judgments) -> Self {
        let Judgments { buckets, memory, .. } = judgments;
        let mut queries: Vec<(&Id, &Dataset, u32, usize)> = Vec::new();
        for (bucket, data) in &buckets {
            queries.extend(data.query_ids.iter().enumerate().map(|(query, id)| (id, data, *bucket, query)));
        }
        sort_items(&mut queries, |a, b| a.0.cmp(b.0));
        let has_weights = buckets.values().any(|data| !data.doc_weights.is_empty());
        let mut joined = Dataset { offsets: vec![0], ..Dataset::default() };
        let mut row_numbers: BTreeMap<u32, Vec<Range<usize>>> =
            buckets.iter().map(|(bucket, data)| (*bucket, vec![0..0; data.n_queries()])).collect();
        for (id, data, bucket, query) in &queries {
            let start = joined.relevance.len();
            joined.query_ids.push((*id).clone());
            joined.weights.push(data.weights[*query]);
            joined.relevance.extend(data.labels(*query));
            let end = joined.relevance.len();
            joined.offsets.push(end);
            match data.doc_weights(*query) {
                [] if has_weights => joined.doc_weights.resize(end, 1.0),
                weights => joined.doc_weights.extend(weights),
            }
            if let Some(row_numbers) = row_numbers.get_mut(bucket) {
                row_numbers[*query] = start..end;
            }
        }
        joined.query_features = Array2::default((queries.len(), 0));
        Self { data: joined, row_numbers, _memory: memory }
    }

    /// The row ranges of a bucket's queries.
    ///
    /// # Errors
    /// Other queries than in the first pass.
    pub(super) fn of_bucket(&self, bucket: u32, data: &Dataset) -> Result<&[Range<usize>]> {
        let row_numbers = self.row_numbers.get(&bucket).map_or(&[][..], Vec::as_slice);
        let sizes = || data.offsets.windows(2).map(|rows| rows[1] - rows[0]);
        if row_numbers.len() == data.n_queries() && row_numbers.iter().map(Range::len).eq(sizes()) {
            return Ok(row_numbers);
        }
        Err(Error::Data(format!("bucket {bucket} has other queries than in the first pass")))
    }
}
