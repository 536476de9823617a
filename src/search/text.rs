//! Features of a full-text match, from the positions of its terms and statistics of each column.
//!
//! A term is a phrase of the query: a word, a prefix, or several tokens in a row. In a table of N rows, a term occurs in n
//! rows of a column with average length a. With f hits in a row whose column has length d:
//!
//! * idf = ln(1 + (N - n + 0.5) / (n + 0.5))
//! * bm25 = sum over terms of idf f (k + 1) / (f + k (1 - b + b d / a)), k = 1.2, b = 0.75
//!
//! Source: Robertson & Zaragoza 2009, "The Probabilistic Relevance Framework: BM25 and Beyond", eq. 3.15, with the idf of
//! Lucene, which is above 0 for every n. BM25 of single columns: same source, section 3.6.1.

#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::base::Ticks;

pub use super::text_query::{MAX_WORDS, Tokens, Words, match_query};

/// The features of a column, in order. A feature's name is the column's name, `_`, and one of these.
pub const COLUMN_FEATURES: [&str; 7] = ["bm25", "hits", "coverage", "first", "window", "phrase", "length"];

/// The feature over all columns, which follows the features of single columns.
pub const IDF_SUM: &str = "idf_sum";

/// Saturation of hits: the value of Lucene and of FTS5.
const K: f64 = 1.2;

/// Strength of length normalization: the value in Lucene and FTS5.
const B: f64 = 0.75;

/// Names of the features for a table with these columns.
pub fn feature_names<S: AsRef<str>>(columns: &[S]) -> Vec<String> {
    let of_column = |column: &S| COLUMN_FEATURES.map(|feature| format!("{}_{feature}", column.as_ref()));
    columns.iter().flat_map(of_column).chain([IDF_SUM.to_owned()]).collect()
}

/// The offset that marks a term without hits.
const NONE: u32 = u32::MAX;

/// A position where a term begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hit {
    /// Number of the column.
    pub column: u32,
    /// Position of the first token in the column, from 0.
    pub offset: u32,
    /// Number of the term.
    pub term: u32,
}

/// A full-text table's statistics for the terms of a query.
#[derive(Debug, Clone, PartialEq)]
pub struct Counts {
    /// Rows of the table.
    pub rows: u64,
    /// Tokens of each column in all rows.
    pub tokens: Vec<u64>,
    /// Number of tokens of each term; terms with 0 tokens never match.
    pub sizes: Vec<u32>,
    /// Rows that have each term.
    pub having: Vec<u64>,
    /// Rows that have the term t in the column c, at t * columns + c.
    pub having_in: Vec<u64>,
    /// Tokens between the end of a word and the start of the next one: 0, with n-grams of characters n.
    pub gap: u32,
}

/// The terms that occur in a row.
#[derive(Debug, Clone, Copy)]
pub enum Found<'a> {
    /// Every position, in the order of columns, offsets and terms.
    Places(&'a [Hit]),
    /// Whether term t is in column c, at t * columns + c. Positions are unknown.
    Columns(&'a [bool]),
    Unknown,
}

/// The statistics of a query, and buffers for the features of a row.
pub struct Statistics {
    columns: usize,
    sizes: Vec<u32>,
    /// Number of terms with tokens.
    terms: usize,
    /// For each term, the previous term with tokens.
    previous: Vec<Option<usize>>,
    gap: u32,
    average: Vec<f64>,
    idf: Vec<f64>,
    idf_in: Vec<f64>,
    /// Hits of each term in a column.
    counts: Vec<u32>,
    /// A column's hits, ordered by end.
    by_end: Vec<Hit>,
    /// Offset of the last hit of each term.
    last: Vec<u32>,
    /// Offsets and terms, the smallest first.
    starts: BinaryHeap<Reverse<(u32, u32)>>,
    /// For each hit in a column, whether all terms up to this one appear there consecutively.
    chained: Vec<bool>,
    is_present: Vec<bool>,
}

/// ln(1 + (N - n + 0.5) / (n + 0.5)), above 0.
fn idf(rows: u64, having: u64) -> f64 {
    let (rows, having) = (rows as f64, having as f64);
    // While a table is being changed, it may count fewer rows than the index.
    libm::log1p(((rows - having).max(0.0) + 0.5) / (having + 0.5))
}

/// A column's features without term positions.
fn of_unknown_places(length: Option<u32>, coverage: f64) -> [f64; COLUMN_FEATURES.len()] {
    let unknown = f64::NAN;
    [unknown, unknown, coverage, unknown, unknown, unknown, length.map_or(unknown, f64::from)]
}

impl Statistics {
    /// The statistics of these counts.
    pub fn new(counts: Counts) -> Self {
        let n_terms = counts.sizes.len();
        let has_tokens = |term: &usize| counts.sizes[*term] > 0;
        let rows = counts.rows;
        Self {
            columns: counts.tokens.len(),
            terms: (0..n_terms).filter(has_tokens).count(),
            previous: (0..n_terms)
                .scan(None, |previous, term| {
                    let before = *previous;
                    *previous = Some(term).filter(has_tokens).or(before);
                    Some(before)
                })
                .collect(),
            gap: counts.gap,
            average: counts.tokens.iter().map(|&tokens| tokens.max(1) as f64 / rows.max(1) as f64).collect(),
            idf: counts.having.iter().map(|&having| idf(rows, having)).collect(),
            idf_in: counts.having_in.iter().map(|&having| idf(rows, having)).collect(),
            counts: vec![0; n_terms],
            by_end: Vec::new(),
            last: vec![0; n_terms],
            starts: BinaryHeap::new(),
            chained: Vec::new(),
            is_present: vec![false; n_terms],
            sizes: counts.sizes,
        }
    }

    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Number of terms, including terms without tokens.
    pub fn terms(&self) -> usize {
        self.sizes.len()
    }

    /// Writes the features of a row: the features of each column, then the sum of idf over the terms in the row. NaN
    /// means unknown. `lengths`: the row's number of tokens in each column, if known.
    pub fn features(&mut self, lengths: &[Option<u32>], found: Found<'_>, features: &mut Vec<f64>) {
        let mut ticks = Ticks::default();
        features.clear();
        self.is_present.fill(false);
        match found {
            Found::Places(mut hits) => {
                for (column, &length) in lengths.iter().enumerate() {
                    ticks.add(self.sizes.len());
                    let (here, rest) =
                        hits.split_at(hits.partition_point(|hit| hit.column as usize <= column));
                    hits = rest;
                    self.of_places(column, length, here, features);
                }
            }
            Found::Columns(table) => {
                for (column, &length) in lengths.iter().enumerate() {
                    ticks.add(self.sizes.len());
                    let terms = (0..self.sizes.len()).filter(|term| table[term * self.columns + column]);
                    let mut covered = 0;
                    terms.for_each(|term| {
                        self.is_present[term] = true;
                        covered += 1;
                    });
                    features.extend(of_unknown_places(length, self.coverage(covered)));
                }
            }
            Found::Unknown => {
                for &length in lengths {
                    features.extend(of_unknown_places(length, f64::NAN));
                }
            }
        }
        let present = self.is_present.iter().zip(&self.idf).filter(|(is_present, _)| **is_present);
        let sum = present.map(|(_, idf)| idf).sum();
        features.push(if matches!(found, Found::Unknown) { f64::NAN } else { sum });
    }

    fn coverage(&self, covered: usize) -> f64 {
        covered as f64 / self.terms.max(1) as f64
    }

    /// A column's features. `hits`: all positions there, in the order of offsets and terms.
    fn of_places(&mut self, column: usize, length: Option<u32>, hits: &[Hit], features: &mut Vec<f64>) {
        let known_length = length.map_or(f64::NAN, f64::from);
        let Some(first) = hits.first() else {
            let bm25 = if length.is_some() { 0.0 } else { f64::NAN };
            features.extend([bm25, 0.0, 0.0, 0.0, 0.0, 0.0, known_length]);
            return;
        };
        // 1. Hits of each term.
        self.counts.fill(0);
        hits.iter().for_each(|hit| self.counts[hit.term as usize] += 1);
        // 2. BM25, and the tokens of the terms in the column.
        let norm = K * (1.0 - B + B * known_length / self.average[column]);
        let (mut bm25, mut covered, mut size) = (0.0, 0, 0u64);
        for (term, &count) in self.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            let count = f64::from(count);
            bm25 += self.idf_in[term * self.columns + column] * count * (K + 1.0) / (count + norm);
            covered += 1;
            size += u64::from(self.sizes[term]);
            self.is_present[term] = true;
        }
        // 3. How close the terms are to each other.
        size += u64::from(self.gap) * (covered as u64 - 1);
        let window = self.window(hits, covered).max(1);
        let is_phrase = covered == self.terms && self.is_phrase(hits);
        features.extend([
            bm25,
            hits.len() as f64,
            self.coverage(covered),
            1.0 / (f64::from(first.offset) + 1.0),
            (size as f64 / window as f64).min(1.0),
            f64::from(u8::from(is_phrase)),
            known_length,
        ]);
    }

    /// Tokens in the smallest window that contains a complete hit of each of the `covered` terms.
    fn window(&mut self, hits: &[Hit], covered: usize) -> u64 {
        if covered == 1 {
            return u64::from(self.sizes[hits[0].term as usize]);
        }
        // 1. Hits ordered by end. For terms of equal size this is the order of starts.
        let sizes = &self.sizes;
        let end = |hit: &Hit| u64::from(hit.offset) + u64::from(sizes[hit.term as usize]);
        self.by_end.clear();
        if !hits.is_sorted_by_key(end) {
            self.by_end.extend_from_slice(hits);
            self.by_end.sort_unstable_by_key(end);
        }
        let hits = if self.by_end.is_empty() { hits } else { &self.by_end };
        // 2. The best window that ends with a hit begins with the earliest of the last hits of all terms. The heap has the
        //    earliest hit first, and drops hits that are no longer the last of their term when they come first.
        self.last.fill(NONE);
        self.starts.clear();
        let (mut missing, mut smallest, mut ticks) = (covered, u64::MAX, Ticks::default());
        for hit in hits {
            ticks.add(10);
            let last = &mut self.last[hit.term as usize];
            missing -= usize::from(*last == NONE);
            *last = hit.offset;
            self.starts.push(Reverse((hit.offset, hit.term)));
            while let Some(&Reverse((start, term))) = self.starts.peek().filter(|_| missing == 0) {
                if self.last[term as usize] == start {
                    smallest = smallest.min(end(hit).saturating_sub(u64::from(start)));
                    break;
                }
                self.starts.pop();
            }
        }
        smallest
    }

    /// Whether all terms follow each other in the order of the query.
    fn is_phrase(&mut self, hits: &[Hit]) -> bool {
        let Some(last) = self.sizes.iter().rposition(|size| *size > 0) else { return false };
        let mut ticks = Ticks::default();
        self.chained.clear();
        for hit in hits {
            ticks.add(1);
            let is_chained = match self.previous[hit.term as usize] {
                None => true,
                Some(previous) => {
                    let before = u64::from(self.sizes[previous]) + u64::from(self.gap);
                    let at = u64::from(hit.offset).checked_sub(before);
                    let key = at.map(|offset| (offset, previous as u32));
                    key.and_then(|key| {
                        let before = &hits[..self.chained.len()];
                        before.binary_search_by_key(&key, |hit| (u64::from(hit.offset), hit.term)).ok()
                    })
                    .is_some_and(|index| self.chained[index])
                }
            };
            if is_chained && hit.term as usize == last {
                return true;
            }
            self.chained.push(is_chained);
        }
        false
    }
}
