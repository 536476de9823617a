//! One pass over a log: pair numbers, and counts of rows and clicks by pair and context.

use std::collections::HashMap;
use std::ops::Range;

use super::cells::{Cell, Numbers, number_of};
use super::{ClickModel, MOST_POSITIONS, Shown};
use crate::base::{Error, Memory, Reservation, Result, bytes_of};
use crate::data::{Id, bucket_of};
use crate::math::sort_items;

/// Impressions whose id hash is divisible by this number are held out: one in eight.
const HELD_OUT: u32 = 8;

/// Bytes per map entry, including unused capacity.
const ENTRY_BYTES: u64 = 40;

/// Number of per-pair vectors that a fit has at the same time.
const POINTS: usize = 10;

/// Counts of one model.
#[derive(Debug, Default)]
pub struct Counts {
    /// Counts by pair and context.
    numbers: Numbers,
    /// For each pair: rows and clicks of the training impressions, and of the held-out ones; the sum of all click
    /// weights.
    counts: Vec<[f64; 5]>,
}

impl Counts {
    /// The cells in the order of pairs and contexts. `all`: of all impressions, otherwise of the training impressions.
    /// `order`: the new number of each pair. `unit`: the divisor of weights.
    fn cells(&self, order: &[u32], all: bool, unit: f64) -> Vec<Cell> {
        let of = |(&(pair, context), number): (&(u32, u32), &u32)| {
            let [rows, clicks, held_rows, held_clicks, weight] = self.counts[*number as usize];
            let more = if all { [held_rows, held_clicks] } else { [0.0; 2] };
            let (rows, clicks, weight) = (rows + more[0], clicks + more[1], weight / unit);
            Cell { pair: order[pair as usize], context, rows, clicks, weight }
        };
        let mut cells: Vec<Cell> = self.numbers.iter().map(of).filter(|cell| cell.rows > 0.0).collect();
        sort_items(&mut cells, |a, b| (a.pair, a.context).cmp(&(b.pair, b.context)));
        cells
    }

    fn add(&mut self, rows: &[Shown], contexts: &[Option<u32>], held_out: bool) {
        for (row, context) in rows.iter().zip(contexts) {
            let Some(context) = context else { continue };
            let number = number_of(&mut self.numbers, row.pair, *context) as usize;
            self.counts.resize(self.numbers.len(), [0.0; 5]);
            let cell = &mut self.counts[number];
            cell[2 * usize::from(held_out)] += 1.0;
            cell[2 * usize::from(held_out) + 1] += f64::from(u8::from(row.clicked));
            cell[4] += row.weight;
        }
    }
}

/// Counts of a pair in a log.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Seen {
    /// Impressions that show it.
    pub rows: u64,
    /// Impressions with a click on it.
    pub clicks: u64,
    /// Impressions whose last click is on it.
    pub last_clicks: u64,
    /// Sum of the click weights.
    weight: f64,
    /// Clicks and last clicks in the training impressions.
    training: [u64; 2],
}

/// A row as it is read.
#[derive(Debug, Clone)]
pub struct LogRow {
    /// Id of the impression. The rows of an impression follow each other.
    pub impression: Id,
    pub query: Id,
    /// Id of the document.
    pub doc: Id,
    /// From 1.
    pub position: u32,
    /// Weight of the click, such as 5 for a purchase; 0 without a click.
    pub weight: f64,
}

/// Receives the impressions of a log.
pub trait TakesImpressions {
    /// Whether to receive the impression with this id. Rows of other impressions are dropped.
    fn takes(&self, _id: &Id) -> bool {
        true
    }
    /// The number of a pair.
    ///
    /// # Errors
    /// More memory than is allowed.
    fn pair(&mut self, query: Id, doc: Id) -> Result<u32>;
    /// Receives an impression with its rows, at least one, in the order of positions.
    ///
    /// # Errors
    /// More memory than is allowed.
    fn impression(&mut self, id: &Id, rows: &[Shown]) -> Result<()>;
}

/// The current impression of a log.
#[derive(Debug, Default)]
pub struct Impression {
    /// The id of the impression, and the query.
    ids: Option<(Id, Id)>,
    is_taken: bool,
    rows: Vec<Shown>,
}

impl Impression {
    /// Adds a row.
    ///
    /// # Errors
    /// Two queries in an impression; a position out of range; too many rows; errors of [`Self::close`].
    pub fn push(&mut self, row: LogRow, to: &mut dyn TakesImpressions) -> Result<()> {
        if self.ids.as_ref().is_none_or(|(id, _)| *id != row.impression) {
            self.close(to)?;
            self.is_taken = to.takes(&row.impression);
            self.ids = Some((row.impression.clone(), row.query.clone()));
        }
        if !self.is_taken {
            return Ok(());
        }
        let problem = |problem: String| Error::Data(format!("impression {}: {problem}", row.impression));
        if let Some((_, query)) = self.ids.as_ref().filter(|(_, query)| *query != row.query) {
            let queries = format!("queries {query} and {}", row.query);
            return Err(problem(format!(
                "{queries}; an impression shows documents for one query, so make its id from session, time and query"
            )));
        }
        if row.position == 0 || row.position > MOST_POSITIONS {
            return Err(problem(format!("position {}; expected 1 to {MOST_POSITIONS}", row.position)));
        }
        if self.rows.len() == MOST_POSITIONS as usize {
            return Err(problem(format!("more than {MOST_POSITIONS} rows; each position is allowed once")));
        }
        let pair = to.pair(row.query, row.doc)?;
        self.rows.push(Shown { pair, position: row.position, clicked: row.weight > 0.0, weight: row.weight });
        Ok(())
    }

    /// Ends the impression.
    ///
    /// # Errors
    /// A position that appears twice; errors of `to`.
    pub fn close(&mut self, to: &mut dyn TakesImpressions) -> Result<()> {
        if let Some((id, _)) = self.ids.take().filter(|_| self.is_taken) {
            if !self.rows.is_sorted_by_key(|row| row.position) {
                sort_items(&mut self.rows, |a, b| a.position.cmp(&b.position));
            }
            if let Some(twice) = self.rows.windows(2).find(|rows| rows[0].position == rows[1].position) {
                return Err(Error::Data(format!(
                    "impression {id}: two rows have position {}; an impression is one list that was shown, so give each \
                     list its own id, as in session || ' ' || query",
                    twice[0].position
                )));
            }
            to.impression(&id, &self.rows)?;
            self.rows.clear();
        }
        Ok(())
    }
}

/// A log while it is counted.
#[derive(Default)]
pub struct Log {
    models: Vec<&'static ClickModel>,
    counts: Vec<Counts>,
    queries: HashMap<Id, usize>,
    docs: HashMap<Id, usize>,
    pairs: Numbers,
    seen: Vec<Seen>,
    /// Largest weight of a click.
    largest_weight: f64,
    impressions: u64,
    memory: Reservation,
    bytes: u64,
}

impl Log {
    /// Starts without rows, counting for these models.
    pub fn new(models: Vec<&'static ClickModel>, memory: &Memory) -> Self {
        let counts = models.iter().map(|_| Counts::default()).collect();
        Self { models, counts, memory: memory.nothing(), ..Self::default() }
    }

    fn reserve(&mut self, bytes: u64) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        self.bytes += bytes;
        let what = format_args!("counting {} pairs of query and document", self.seen.len());
        self.memory.resize(self.bytes, what, "read fewer queries at a time")
    }

    /// Ends the log. Pairs are numbered in the order of their ids, so that row order does not change a bit.
    pub fn finish(self) -> Counted {
        let order = |ids: HashMap<Id, usize>| {
            let mut ids: Vec<(Id, usize)> = ids.into_iter().collect();
            sort_items(&mut ids, |a, b| a.0.cmp(&b.0));
            ids
        };
        let (queries, docs) = (order(self.queries), order(self.docs));
        let rank = |ids: &[(Id, usize)]| {
            let mut ranks = vec![0; ids.len()];
            ids.iter().zip(0..).for_each(|((_, number), rank)| ranks[*number] = rank);
            ranks
        };
        let (query_ranks, doc_ranks): (Vec<u32>, Vec<u32>) = (rank(&queries), rank(&docs));
        let mut pairs: Vec<((u32, u32), u32)> = self
            .pairs
            .iter()
            .map(|((query, doc), pair)| ((query_ranks[*query as usize], doc_ranks[*doc as usize]), *pair))
            .collect();
        sort_items(&mut pairs, Ord::cmp);
        let mut numbers = vec![0; pairs.len()];
        pairs.iter().zip(0..).for_each(|((_, pair), number)| numbers[*pair as usize] = number);
        Counted {
            models: self.models,
            counts: self.counts,
            queries: queries.into_iter().map(|(id, _)| id).collect(),
            docs: docs.into_iter().map(|(id, _)| id).collect(),
            seen: pairs.iter().map(|(_, pair)| self.seen[*pair as usize]).collect(),
            unit: if self.largest_weight > 0.0 { self.largest_weight } else { 1.0 },
            pairs: pairs.into_iter().map(|(ids, _)| ids).collect(),
            numbers,
            impressions: self.impressions,
            _memory: self.memory,
        }
    }
}

impl TakesImpressions for Log {
    fn pair(&mut self, query: Id, doc: Id) -> Result<u32> {
        let mut bytes = 0;
        let mut number = |ids: &mut HashMap<Id, usize>, id: Id| {
            if let Some(number) = ids.get(&id) {
                return *number as u32;
            }
            bytes += ENTRY_BYTES + id.heap_bytes();
            let next = ids.len();
            ids.insert(id, next);
            next as u32
        };
        let (query, doc) = (number(&mut self.queries, query), number(&mut self.docs, doc));
        let pair = number_of(&mut self.pairs, query, doc);
        if pair as usize == self.seen.len() {
            bytes += ENTRY_BYTES + size_of::<Seen>() as u64;
            self.seen.push(Seen::default());
        }
        self.reserve(bytes)?;
        Ok(pair)
    }

    fn impression(&mut self, id: &Id, rows: &[Shown]) -> Result<()> {
        let held_out = is_held_out(id);
        let last = rows.iter().rposition(|row| row.clicked);
        for (index, row) in rows.iter().enumerate() {
            self.largest_weight = self.largest_weight.max(row.weight);
            let seen = &mut self.seen[row.pair as usize];
            let [click, is_last] = [row.clicked, last == Some(index)].map(u64::from);
            seen.rows += 1;
            seen.clicks += click;
            seen.last_clicks += is_last;
            seen.weight += row.weight;
            if !held_out {
                seen.training = [seen.training[0] + click, seen.training[1] + is_last];
            }
        }
        let mut new = 0;
        for (model, counts) in self.models.iter().zip(&mut self.counts) {
            let before = counts.counts.len();
            counts.add(rows, &(model.contexts)(rows), held_out);
            new += counts.counts.len() - before;
        }
        self.impressions += 1;
        self.reserve(2 * ENTRY_BYTES * new as u64)
    }
}

/// Whether an impression is held out to compare models.
pub(super) fn is_held_out(impression: &Id) -> bool {
    bucket_of(impression, HELD_OUT) == 0
}

/// A complete log.
pub struct Counted {
    /// The models for which it was counted.
    pub models: Vec<&'static ClickModel>,
    counts: Vec<Counts>,
    /// Ids of queries, sorted.
    pub queries: Vec<Id>,
    /// Ids of documents, sorted.
    pub docs: Vec<Id>,
    /// Query and document of each pair, sorted.
    pub pairs: Vec<(u32, u32)>,
    /// The counts of each pair.
    pub seen: Vec<Seen>,
    /// Largest weight of a click, the unit of weights; 1 without a click.
    pub(super) unit: f64,
    /// Pair numbers, in log order.
    numbers: Vec<u32>,
    /// Number of impressions.
    pub impressions: u64,
    _memory: Reservation,
}

impl Counted {
    /// Bytes that [`super::fitted`] takes for a model, with its cells.
    pub fn bytes_of_fit(&self, model: usize) -> u64 {
        let vectors = bytes_of::<f64>(POINTS).saturating_mul(2 * self.pairs.len() as u64);
        // Each cell has a number to sort by, a context, information on two estimates, and expected clicks.
        vectors + bytes_of::<(Cell, [usize; 5])>(self.counts[model].counts.len())
    }

    /// The cells of a model. `all`: of all impressions, otherwise without held-out ones.
    pub fn cells(&self, model: usize, all: bool) -> Vec<Cell> {
        self.counts[model].cells(&self.numbers, all, self.unit)
    }

    /// Sum of click weights for each pair, relative to the largest.
    pub(super) fn weights(&self) -> impl Iterator<Item = f64> {
        self.seen.iter().map(|seen| seen.weight / self.unit)
    }

    /// The mean click weight, relative to the largest; 1 without clicks.
    pub(super) fn mean_weight(&self) -> f64 {
        let clicks: u64 = self.seen.iter().map(|seen| seen.clicks).sum();
        if clicks > 0 { self.weights().sum::<f64>() / clicks as f64 } else { 1.0 }
    }

    /// Clicks and last clicks of each pair.
    pub fn last_clicks(&self, all: bool) -> Vec<[f64; 2]> {
        let of = |seen: &Seen| {
            if all { [seen.clicks, seen.last_clicks] } else { seen.training }.map(|count| count as f64)
        };
        self.seen.iter().map(of).collect()
    }
}

/// Looks up pair numbers while a log is read again.
pub struct Finder<'a> {
    counted: &'a Counted,
    /// The query of the last row, and its pairs.
    query: Option<(Id, Range<usize>)>,
}

impl<'a> Finder<'a> {
    /// For a complete log.
    pub fn new(counted: &'a Counted) -> Self {
        Self { counted, query: None }
    }

    /// The number of a pair.
    ///
    /// # Errors
    /// A pair that did not occur in the log.
    pub fn pair(&mut self, query: Id, doc: &Id) -> Result<u32> {
        let Counted { queries, docs, pairs, .. } = self.counted;
        if self.query.as_ref().is_none_or(|(known, _)| *known != query) {
            let rank = queries.binary_search(&query).map_or(u32::MAX, |rank| rank as u32);
            let [first, end] =
                [rank, rank.saturating_add(1)].map(|rank| pairs.partition_point(|pair| pair.0 < rank));
            self.query = Some((query, first..end));
        }
        let range = self.query.as_ref().map_or(0..0, |(_, range)| range.clone());
        let place = pairs[range.clone()].binary_search_by(|pair| docs[pair.1 as usize].cmp(doc));
        let changed = |_| Error::Data("the log changed while it was read".to_owned());
        place.map(|index| (range.start + index) as u32).map_err(changed)
    }
}
