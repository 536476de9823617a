//! The fingerprint of training data, with which later data are compared: for each feature its range, the counts of about
//! ten bins, and the number of missing values.
//!
//! Values are rounded to single precision: it halves the bytes, and features in BLOBs and in columns are comparable. A
//! feature takes about 80 bytes in a model.

use serde::{Deserialize, Serialize};

use super::dataset::Dataset;
use super::finish::{ColumnSummary, Missing};
use super::query_value::QueryValue;
use crate::control::{Control, Ticks};
use crate::error::{Result, require};
use crate::parallel;

/// A bin ends when it has this fraction of the values (1 / BINS).
const BINS: usize = 10;
/// A value that is as frequent as a bin has a bin of its own, so there may be twice as many.
const MAX_BINS: usize = 2 * BINS + 1;
/// Bins with fewer values (1 / SMALLEST) are not made.
const SMALLEST: usize = 100;
/// Largest number of values that are sorted to find bins. All values are counted.
const SAMPLE: usize = 1 << 16;

/// What is remembered of a training set.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fingerprint {
    /// Number of documents.
    pub rows: u64,
    /// Number of queries.
    pub queries: u64,
    /// The relevance of the documents.
    pub relevance: Profile,
    /// The features, in the order of a vector.
    pub features: Vec<Profile>,
    /// Name and values of each query feature, one value per query. Text has no bins.
    pub query_features: Vec<(String, Profile)>,
}

/// The distribution of a series of numbers.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Smallest value.
    pub low: f32,
    /// Largest value.
    pub high: f32,
    /// Largest value of each bin except the last, ascending.
    pub edges: Vec<f32>,
    /// Number of values in each bin; empty without values.
    pub counts: Vec<u64>,
    /// Number of missing values.
    pub missing: u64,
}

/// A later series in the bins of an earlier one.
#[derive(Debug, Clone, PartialEq)]
pub struct Observed {
    /// Number of values in each bin.
    pub counts: Vec<u64>,
    /// Number of values outside of the earlier range.
    pub outside: u64,
    /// Number of missing values.
    pub missing: u64,
}

/// The values of a series, without missing ones.
type Values<'a> = Box<dyn Iterator<Item = f32> + 'a>;

impl Fingerprint {
    /// The fingerprint of a data set before scaling. `summaries` and `fills`: for each feature the count of its values and
    /// what stands for missing ones.
    ///
    /// # Errors
    /// An interruption.
    pub fn of(data: &Dataset, summaries: &[ColumnSummary], fills: &[f64], control: &Control) -> Result<Self> {
        let features = parallel::try_map(data.features.columns(), |column| {
            control.check()?;
            let column = Column::new(data, column, summaries, fills);
            Ok(Profile::of(&|| column.values(), column.missing))
        })?;
        let query_feature = |column: usize| {
            let (values, missing) = query_values(data, column);
            (data.query_names[column].clone(), Profile::of(&|| Box::new(values.iter().copied()), missing))
        };
        Ok(Self {
            rows: data.n_docs() as u64,
            queries: data.n_queries() as u64,
            relevance: Profile::of(&|| relevance(data), 0),
            features,
            query_features: (0..data.query_names.len()).map(query_feature).collect(),
        })
    }

    /// The features of other data, in the bins of the training. `summaries` and `fills` as in [`Self::of`].
    ///
    /// # Errors
    /// An interruption.
    pub fn features_of(
        &self,
        data: &Dataset,
        summaries: &[ColumnSummary],
        fills: &[f64],
        control: &Control,
    ) -> Result<Vec<Observed>> {
        parallel::try_map(self.features.len().min(data.features.columns()), |number| {
            control.check()?;
            let column = Column::new(data, number, summaries, fills);
            Ok(self.features[number].observe(column.values(), column.missing))
        })
    }

    /// A query feature of other data, in the bins of the training; `None` if either has none of this name.
    pub fn query_feature_of(&self, name: &str, data: &Dataset) -> Option<(&Profile, Observed)> {
        let same = |other: &str| other.eq_ignore_ascii_case(name);
        let profile = &self.query_features.iter().find(|(other, _)| same(other))?.1;
        let (values, missing) = query_values(data, data.query_names.iter().position(|other| same(other))?);
        Some((profile, profile.observe(Box::new(values.into_iter()), missing)))
    }

    /// The relevance of other data, in the bins of the training.
    pub fn relevance_of(&self, data: &Dataset) -> Observed {
        self.relevance.observe(relevance(data), 0)
    }

    /// Checks a fingerprint that was read from bytes, for a model of `n` features.
    ///
    /// # Errors
    /// A reason why it does not fit.
    pub fn validate(&self, n: usize) -> Result<()> {
        let mut features = self.features.iter().chain([&self.relevance]);
        let mut query_features = self.query_features.iter().map(|(_, profile)| profile);
        require(
            "fingerprint",
            &[
                (self.features.len() == n, "the features of the model"),
                (features.all(|profile| profile.is_valid(self.rows)), "bins of all rows"),
                (query_features.all(|profile| profile.is_valid(self.queries)), "bins of all queries"),
            ],
        )
    }
}

impl Profile {
    /// The distribution of these values; the function returns them anew each time.
    fn of<'a>(values: &dyn Fn() -> Values<'a>, missing: u64) -> Self {
        let count = values().count();
        // 1. Bins, from a sample.
        let mut sample: Vec<f32> = values().step_by(count.div_ceil(SAMPLE).max(1)).collect();
        sample.sort_unstable_by(f32::total_cmp);
        let mut profile = Self { edges: edges(&sample), missing, ..Self::default() };
        if sample.is_empty() {
            return profile;
        }
        // 2. Range and counts, from all values.
        (profile.low, profile.high) = (f32::INFINITY, f32::NEG_INFINITY);
        profile.counts = vec![0; profile.edges.len() + 1];
        let mut ticks = Ticks::default();
        for x in values() {
            ticks.add(MAX_BINS);
            profile.counts[bin(&profile.edges, x)] += 1;
            (profile.low, profile.high) = (profile.low.min(x), profile.high.max(x));
        }
        profile
    }

    /// Other values in the bins of these.
    fn observe(&self, values: Values<'_>, missing: u64) -> Observed {
        let (mut counts, mut outside) = (vec![0; self.edges.len() + 1], 0);
        let mut ticks = Ticks::default();
        for x in values {
            ticks.add(MAX_BINS);
            counts[bin(&self.edges, x)] += 1;
            outside += u64::from(x < self.low || x > self.high);
        }
        Observed { counts, outside, missing }
    }

    /// Number of values.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Part of the values that is missing; 0 without values.
    pub fn missing_share(&self) -> f64 {
        share(self.missing, self.count() + self.missing)
    }

    /// Whether it is the distribution of so many values, missing ones included; no values may be remembered at all.
    fn is_valid(&self, all: u64) -> bool {
        let counted = self.counts.iter().chain([&self.missing]).try_fold(0u64, |sum, n| sum.checked_add(*n));
        let edges = &self.edges;
        let in_range = edges.iter().all(|edge| (self.low..self.high).contains(edge));
        self.low.is_finite()
            && self.high.is_finite()
            && self.low <= self.high
            && (self.counts.is_empty() && edges.is_empty() || self.counts.len() == edges.len() + 1)
            && self.counts.len() <= MAX_BINS
            && edges.windows(2).all(|pair| pair[0] < pair[1])
            && in_range
            && counted.is_some_and(|counted| counted == all || counted == 0)
    }
}

impl Observed {
    /// Number of values.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Part of the values that is missing; 0 without values.
    pub fn missing_share(&self) -> f64 {
        share(self.missing, self.count() + self.missing)
    }

    /// Part of the values outside of the earlier range; 0 without values.
    pub fn outside_share(&self) -> f64 {
        share(self.outside, self.count())
    }
}

fn share(part: u64, all: u64) -> f64 {
    if all == 0 { 0.0 } else { part as f64 / all as f64 }
}

/// The number in single precision, 0 without a sign. Larger numbers than that has are cut off.
fn single(x: f64) -> f32 {
    (x as f32).clamp(f32::MIN, f32::MAX) + 0.0
}

/// The bin of a value.
#[inline]
fn bin(edges: &[f32], x: f32) -> usize {
    edges.iter().map(|edge| usize::from(*edge < x)).sum()
}

/// The largest value of each bin except the last, for sorted values.
fn edges(sorted: &[f32]) -> Vec<f32> {
    let (full, smallest) = (sorted.len().div_ceil(BINS), sorted.len().div_ceil(SMALLEST));
    let (mut edges, mut inside) = (Vec::new(), 0);
    let mut last = None;
    for tie in sorted.chunk_by(|a, b| a >= b) {
        // 1. A frequent value does not share the bin of the values below it.
        if tie.len() >= full && inside >= smallest {
            edges.extend(last);
            inside = 0;
        }
        // 2. A full bin ends.
        inside += tie.len();
        last = Some(tie[0]);
        if inside >= full {
            edges.extend(last);
            inside = 0;
        }
    }
    // 3. The last bin has no edge, and is not small.
    if inside < smallest {
        edges.pop();
    }
    edges
}

fn relevance(data: &Dataset) -> Values<'_> {
    Box::new(data.relevance.iter().map(|relevance| single(*relevance)))
}

/// The numbers of a query feature, and how many are missing. Text is neither.
fn query_values(data: &Dataset, column: usize) -> (Vec<f32>, u64) {
    let (mut values, mut missing, mut texts) = (Vec::with_capacity(data.n_queries()), 0, 0u64);
    for value in data.query_features.column(column) {
        match value {
            QueryValue::Missing => missing += 1,
            QueryValue::Number(x) => values.push(single(*x)),
            QueryValue::Text(_) => texts += 1,
        }
    }
    if texts > 0 { (Vec::new(), 0) } else { (values, missing) }
}

/// A feature of a data set whose missing values are filled.
struct Column<'a> {
    data: &'a Dataset,
    number: usize,
    /// What stands for missing values.
    fill: f64,
    /// Number of missing values.
    missing: u64,
    /// Number of values that equal the fill: missing ones and others.
    filled: u64,
}

impl<'a> Column<'a> {
    fn new(data: &'a Dataset, number: usize, summaries: &[ColumnSummary], fills: &[f64]) -> Self {
        let rows = data.n_docs() as u64;
        let present = summaries.get(number).map_or(rows, |summary| summary.count);
        let fill = if data.missing == Missing::Mean { fills.get(number).copied() } else { None };
        let mut column = Self {
            data,
            number,
            fill: fill.unwrap_or(0.0),
            missing: rows.saturating_sub(present),
            filled: 0,
        };
        if column.missing > 0 {
            column.filled = (0..data.n_docs()).filter(|row| column.is_fill(*row)).count() as u64;
        }
        column
    }

    fn is_fill(&self, row: usize) -> bool {
        self.data.features.at(row, self.number).total_cmp(&self.fill).is_eq()
    }

    /// The values without as many fills as values are missing. Those that are left out are spread over the rows.
    fn values(&self) -> Values<'_> {
        let kept = self.filled.saturating_sub(self.missing);
        let mut sum = 0;
        let is_value = move |row: &usize| {
            if self.missing == 0 || !self.is_fill(*row) {
                return true;
            }
            // Keeps `kept` of `filled`, at equal distances.
            sum += kept;
            let is_kept = sum >= self.filled;
            sum -= if is_kept { self.filled } else { 0 };
            is_kept
        };
        let rows = (0..self.data.n_docs()).filter(is_value);
        Box::new(rows.map(|row| single(self.data.features.at(row, self.number))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(values: &[f32]) -> Profile {
        Profile::of(&|| Box::new(values.iter().copied()), 0)
    }

    #[test]
    fn bins_have_a_tenth_of_the_values_each() {
        let values: Vec<f32> = (0..1000u16).map(f32::from).collect();
        let found = profile(&values);
        assert_eq!(found.counts, [100; 10]);
        assert_eq!(found.edges[..2], [99.0, 199.0]);
        assert!((found.low, found.high) == (0.0, 999.0));
    }

    #[test]
    fn frequent_values_have_bins_of_their_own() {
        let values = |counts: &[(f32, usize)]| -> Vec<f32> {
            counts.iter().flat_map(|(x, n)| std::iter::repeat_n(*x, *n)).collect()
        };
        for (counts, expected) in [
            (&[(0.0, 95), (1.0, 3), (2.0, 2)][..], &[95, 5][..]),
            (&[(0.0, 3), (1.0, 2), (2.0, 95)], &[5, 95]),
            (&[(1.0, 20), (2.0, 20), (3.0, 20), (4.0, 20), (5.0, 20)], &[20; 5]),
            (&[(7.0, 50)], &[50]),
            (&[(0.0, 999), (1.0, 1)], &[1000]),
        ] {
            assert_eq!(profile(&values(counts)).counts, expected, "{counts:?}");
        }
        assert!(profile(&[]).counts.is_empty());
    }

    #[test]
    fn no_distribution_has_more_bins_than_allowed() {
        // Ten frequent values with rare ones between them.
        let mut values: Vec<f32> = (0..2000u16).map(|i| f32::from(i % 10) + 0.5).collect();
        values.extend((0..200u16).map(|i| f32::from(i % 11)));
        let found = profile(&values);
        assert!(found.counts.len() <= MAX_BINS && found.is_valid(2200), "{found:?}");
    }
}
