//! Statistics of a column, collected row by row in bounded memory, and independent of row order.

use std::collections::{BTreeSet, HashMap, HashSet};

use serde::Serialize;
use xxhash_rust::xxh64::xxh64;

use super::super::category_limits::{LONGEST_VALUE, ValueCount};
use super::super::dataset::Dataset;
use super::super::missing::MissingRows;
use super::super::quantity::{Readings, null_in_sql, numbers_by_key};
use super::texts::{JsonKind, TextSample};
use crate::base::{checkpoint, quote};

/// Most distinct values counted in text columns and other columns that are not features.
const MOST_DISTINCT: usize = 2000;
/// Most distinct values counted in features.
const MOST_DISTINCT_OF_FEATURES: usize = 1000;
/// Most (query, value) pairs compared to find repeated values within queries.
const MOST_PAIRS: usize = 2000;

/// A value of a column.
#[derive(Debug, Clone, Copy)]
pub enum Seen<'a> {
    /// NULL.
    Missing,
    /// A number, or text that is a number.
    Number(f64),
    /// Other text.
    Text(&'a [u8]),
    Blob(&'a [u8]),
}

/// Facts about a column, for reports.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Facts {
    /// "number", "text", "blob", "mixed", or "null" if every row is NULL.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// Rows that are NULL.
    pub missing: u64,
    /// Distinct values besides NULL; `None` if there are too many to count.
    pub distinct: Option<u64>,
    /// Whether all rows of each query have the same value.
    pub constant_within_query: bool,
}

/// The values of queries, by their hashes: a sample of the values if there are many.
#[derive(Debug, Clone, Default)]
struct PairSample {
    /// Leading zero bits of the hashes of sampled values. Rises as pairs are added, so the last sample is the same in any order.
    zeros: u32,
    /// For each (query, value) pair, the hash of the value, and whether several rows have the pair.
    pairs: HashMap<u64, (u64, bool)>,
}

impl PairSample {
    fn add(&mut self, query: usize, value: u64) {
        if value.leading_zeros() < self.zeros {
            return;
        }
        let pair = value ^ (query as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.pairs.entry(pair).and_modify(|(_, repeated)| *repeated = true).or_insert((value, false));
        while self.pairs.len() > MOST_PAIRS {
            self.zeros += 1;
            self.pairs.retain(|_, (value, _)| value.leading_zeros() >= self.zeros);
        }
    }

    fn has_repeated(&self) -> bool {
        self.pairs.values().any(|(_, repeated)| *repeated)
    }
}

/// What is known about a column.
#[derive(Debug, Clone)]
pub struct ColumnFacts {
    pub rows: u64,
    /// Rows with a number, a text and a BLOB.
    kinds: [u64; 3],
    /// Smallest and largest number.
    pub range: (f64, f64),
    whole: bool,
    /// For each value hash, its rows and queries; values beyond [`MOST_DISTINCT`] are dropped.
    distinct: HashMap<u64, ValueCount>,
    /// The value of each query, as long as all its rows have the same value.
    query_values: Option<Vec<Option<u64>>>,
    pairs: PairSample,
    /// Some of the texts.
    pub texts: TextSample,
    /// The numbers, dates and durations among the texts.
    pub readings: Readings,
    /// Whether all texts are UTF-8.
    is_utf8: bool,
    /// Whether a text is short enough for a value of a category.
    has_short_text: bool,
    /// Size of the BLOBs, if all have the same size.
    blob_bytes: Option<usize>,
}

impl Default for ColumnFacts {
    fn default() -> Self {
        Self {
            rows: 0,
            kinds: [0; 3],
            range: (f64::INFINITY, f64::NEG_INFINITY),
            whole: true,
            distinct: HashMap::new(),
            query_values: Some(Vec::new()),
            pairs: PairSample::default(),
            texts: TextSample::default(),
            readings: Readings::default(),
            is_utf8: true,
            has_short_text: false,
            blob_bytes: None,
        }
    }
}

impl ColumnFacts {
    /// Adds the value of a row of this query.
    pub fn add(&mut self, query: usize, value: Seen<'_>) {
        self.rows += 1;
        let mut may_be_category = true;
        let hash = match value {
            Seen::Missing => 0,
            Seen::Number(number) => {
                self.kinds[0] += 1;
                self.range = (self.range.0.min(number), self.range.1.max(number));
                self.whole &= number.fract().abs() <= 0.0;
                xxh64(&(number + 0.0).to_le_bytes(), 1)
            }
            Seen::Text(text) => {
                self.kinds[1] += 1;
                may_be_category = text.len() <= LONGEST_VALUE;
                self.has_short_text |= may_be_category;
                let hash = xxh64(text, 2);
                let text = std::str::from_utf8(text).ok();
                text.into_iter().for_each(|text| self.texts.add(hash, text));
                match text {
                    Some(text) => self.readings.add(text),
                    None => self.readings.add_other(),
                }
                self.is_utf8 &= text.is_some();
                hash
            }
            Seen::Blob(bytes) => {
                let is_first = self.kinds[2] == 0;
                self.blob_bytes =
                    Some(bytes.len()).filter(|bytes| is_first || self.blob_bytes == Some(*bytes));
                self.kinds[2] += 1;
                self.readings.add_other();
                xxh64(bytes, 3)
            }
        };
        if let Some(values) = &mut self.query_values {
            if values.len() <= query {
                values.resize(query + 1, None);
            }
            if *values[query].get_or_insert(hash) != hash {
                self.query_values = None;
            }
        }
        if hash == 0 {
            return;
        }
        self.pairs.add(query, hash);
        if self.distinct.len() <= MOST_DISTINCT {
            let count = self.distinct.entry(hash).or_default();
            if may_be_category {
                count.add(query);
            }
        }
    }

    /// The facts for a report.
    pub fn facts(&self) -> Facts {
        let kinds = ["number", "text", "blob"].into_iter().zip(self.kinds);
        let mut present = kinds.filter(|(_, count)| *count > 0).map(|(kind, _)| kind);
        let kind = match (present.next(), present.next()) {
            (None, _) => "null",
            (Some(only), None) => only,
            _ => "mixed",
        };
        let distinct = self.distinct.len();
        Facts {
            kind,
            missing: self.rows - self.kinds.iter().sum::<u64>(),
            distinct: (distinct <= MOST_DISTINCT).then_some(distinct as u64),
            constant_within_query: self.query_values.is_some(),
        }
    }

    /// Adds rows without a value until there are this many rows.
    pub(in crate::data) fn of_rows(&mut self, rows: usize) {
        self.rows = rows as u64;
    }

    /// Whether the rows of each query have distinct values, and some query has several rows.
    pub fn is_unique_within_query(&self, queries: usize) -> bool {
        let has_missing = self.rows > self.kinds.iter().sum::<u64>();
        !has_missing && self.rows > queries as u64 && !self.pairs.has_repeated()
    }

    /// Whether all numbers are whole.
    pub fn is_whole(&self) -> bool {
        self.whole
    }

    /// Whether the option `columns` may list it as a category: some value has enough rows and queries (rule 2.19).
    pub fn has_frequent_value(&self, queries: usize) -> bool {
        self.distinct.len() <= MOST_DISTINCT && self.distinct.values().any(|count| count.is_frequent(queries))
    }

    /// Whether its texts should be converted to numbers: JSON, and quantities, including unreadable ones.
    pub fn are_better_converted(&self) -> bool {
        !self.texts.has_text() || self.texts.json_kind().is_some() || self.readings.outcome(1.0).is_quantity()
    }

    /// Whether its texts are JSON objects with numbers, with a key missing in some rows.
    pub fn lacks_keys(&self) -> bool {
        let keys_of = |text: &str| {
            let numbers = numbers_by_key(text.as_bytes())?.into_iter();
            Some(numbers.filter(|(_, number)| number.is_some()).map(|(key, _)| key).collect())
        };
        let keys: Option<BTreeSet<Vec<String>>> = self.texts.texts().map(keys_of).collect();
        keys.is_some_and(|keys| keys.len() > 1 || self.facts().missing > 0)
    }

    /// Whether its texts may be JSON with numbers under keys.
    pub fn may_be_objects(&self) -> bool {
        self.texts.json_kind().is_some_and(|kind| kind != JsonKind::Vectors)
    }

    /// SQL that replaces a column's non-numbers by NULL, if they are few texts in at most half of the rows.
    pub fn null_in_sql(&self, name: &str, rows: usize) -> Option<String> {
        let texts = self.texts.all().collect();
        let are_texts =
            self.kinds[1] == self.kinds.iter().sum::<u64>() && self.is_utf8 && self.texts.is_whole();
        let are_few = 2 * self.kinds[1] <= rows as u64;
        null_in_sql(&quote(name), &texts, None).filter(|_| are_texts && are_few)
    }

    /// Whether all BLOBs may be vectors of 32-bit numbers.
    pub fn are_vectors(&self) -> bool {
        self.blob_bytes.is_some_and(|bytes| bytes > 0 && bytes.is_multiple_of(4))
    }

    /// Why its texts keep a column from being a category.
    pub fn text_problem(&self) -> Option<String> {
        if !self.is_utf8 {
            return Some("a text in it is not UTF-8".to_owned());
        }
        (!self.has_short_text).then(|| format!("its texts have more than {LONGEST_VALUE} bytes"))
    }

    /// The kinds of its values.
    pub fn kinds(&self) -> impl Iterator<Item = &'static str> {
        ["numbers", "texts", "BLOBs"]
            .into_iter()
            .zip(self.kinds)
            .filter(|(_, rows)| *rows > 0)
            .map(|(kind, _)| kind)
    }
}

/// The facts of a feature. `missing`: its missing values, which the data set may have filled.
pub fn facts_of_feature(data: &Dataset, column: usize, missing: &MissingRows) -> Facts {
    let value = |row: usize| (!missing.contains(row)).then(|| data.features.at(row, column).to_bits());
    let (mut known, mut last) = (HashSet::new(), None);
    for row in 0..data.n_docs() {
        if row.is_multiple_of(4096) {
            checkpoint();
        }
        let value = value(row);
        if value.is_some() && value != last && known.insert(value) && known.len() > MOST_DISTINCT_OF_FEATURES
        {
            break;
        }
        last = value;
    }
    let is_constant = |query: usize| {
        let mut rows = data.rows(query).map(value);
        let first = rows.next();
        rows.all(|value| Some(value) == first)
    };
    Facts {
        kind: "number",
        missing: missing.count(),
        distinct: (known.len() <= MOST_DISTINCT_OF_FEATURES).then_some(known.len() as u64),
        constant_within_query: (0..data.n_queries()).all(is_constant),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(values: &[(usize, Seen<'_>)]) -> ColumnFacts {
        let mut facts = ColumnFacts::default();
        values.iter().for_each(|(query, value)| facts.add(*query, *value));
        facts
    }

    #[test]
    fn a_column_is_known_by_its_values() {
        use Seen::{Blob, Missing, Number, Text};
        let actual = facts(&[(0, Text(b"a")), (0, Text(b"a")), (1, Text(b"b")), (1, Text(b"b"))]);
        let expected = Facts { kind: "text", missing: 0, distinct: Some(2), constant_within_query: true };
        assert_eq!(
            (actual.facts(), actual.is_unique_within_query(2), actual.texts.example()),
            (expected, false, "a")
        );
        let actual = facts(&[(0, Number(1.0)), (1, Number(1.0)), (0, Number(2.0)), (1, Number(7.5))]);
        let expected = Facts { kind: "number", missing: 0, distinct: Some(3), constant_within_query: false };
        assert_eq!((actual.facts(), actual.is_unique_within_query(2)), (expected, true));
        assert_eq!((actual.range, actual.is_whole()), ((1.0, 7.5), false));
        let actual = facts(&[(0, Missing), (0, Blob(b"abcd")), (1, Blob(b"efgh"))]);
        assert_eq!((actual.facts().kind, actual.facts().missing, actual.are_vectors()), ("blob", 1, true));
        assert_eq!(facts(&[(0, Missing), (1, Missing)]).facts().kind, "null");
        assert_eq!(facts(&[(0, Number(1.0)), (0, Text(b"x"))]).facts().kind, "mixed");
    }

    #[test]
    fn counts_end_where_memory_would_and_ignore_the_order_of_rows() {
        let mut rows: Vec<(usize, f64)> = (0..50_000).map(|row| (row / 10, row as f64)).collect();
        let repeated = (0..40).map(|row| (row, (10 * row) as f64));
        let facts = |rows: &[(usize, f64)]| {
            let mut facts = ColumnFacts::default();
            rows.iter().for_each(|(query, value)| facts.add(*query, Seen::Number(*value)));
            assert!(facts.distinct.len() <= MOST_DISTINCT + 1 && facts.pairs.pairs.len() <= MOST_PAIRS);
            (facts.facts().distinct, facts.is_unique_within_query(5000))
        };
        assert_eq!(facts(&rows), (None, true));
        rows.extend(repeated);
        let found = facts(&rows);
        rows.reverse();
        assert_eq!(facts(&rows), found);
    }
}
