//! The fingerprint of training data, to which later data are compared: for each feature the range, the counts of about
//! ten bins, the number of missing values, and how much counts vary between queries (`clusters`).
//!
//! Values are rounded to single precision, which halves the size and makes features in BLOBs and in columns comparable.
//! A feature takes about 90 bytes in a model.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use super::dataset::Dataset;
use super::gather::{self, ColumnWork};
use super::missing::MissingValues;
use super::query_columns::QueryValue;
use super::query_distance::{Clusters, DesignEffect};
use crate::base::param::list;
use crate::base::{Control, Result, checkpoint, require, text_number};
use crate::math::{simd, sort_singles};

/// A bin ends when it has this fraction of the values (1 / BINS).
const BINS: usize = 10;
/// A value as frequent as a bin gets a separate bin, so the number of bins can double.
const MAX_PROFILE_BINS: usize = 2 * BINS + 1;
/// No bin has fewer than this fraction of the values (1 / SMALLEST).
const SMALLEST: usize = 100;
/// Largest number of values that are sorted to find bins. All values are counted.
const SAMPLE: usize = 1 << 16;

/// Largest number of rows: sums of larger numbers are not exact.
const MOST_ROWS: u64 = 1 << 53;
/// Rounding error of a design effect in single precision.
const ROUNDED: f64 = 1.000_001;

/// Number of values whose bins are looked up together.
const CHUNK: usize = 1 << 10;
/// Number of values compared with an edge in one loop.
const LANES: usize = 16;

/// Statistics of a training set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fingerprint {
    /// Number of documents.
    pub rows: u64,
    /// Number of queries.
    pub queries: u64,
    /// The relevance of the documents.
    pub relevance: Profile,
    /// The features, in the order of a vector.
    #[serde(with = "list")]
    pub features: Vec<Profile>,
    /// Name and values of each query feature, one value per query. Text has no bins.
    #[serde(with = "list")]
    pub query_features: Vec<(String, Profile)>,
}

/// The distribution of some numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Smallest value.
    pub low: f32,
    /// Largest value.
    pub high: f32,
    /// Largest value of each bin except the last, ascending.
    #[serde(with = "list")]
    pub edges: Vec<f32>,
    /// Number of values in each bin; empty without values.
    #[serde(with = "list")]
    pub counts: Vec<u64>,
    /// Number of missing values.
    pub missing: u64,
    /// Number of queries with a value.
    pub queries: u64,
    /// Design effect of the bins, at least 1.
    pub design_effect: f32,
    /// Degrees of freedom of the bins, from 1 to the number of bins minus 1.
    pub degrees: f32,
    /// Design effect of missing values, at least 1.
    pub missing_effect: f32,
}

/// Later values, counted in the bins of earlier ones.
#[derive(Debug, Clone, PartialEq)]
pub struct Observed {
    /// Number of values in each bin.
    pub counts: Vec<u64>,
    /// Numbers of values outside the earlier range, for queries that have any, largest first.
    pub outside: Vec<u64>,
    /// Number of missing values.
    pub missing: u64,
    /// Number of queries with a value.
    pub queries: u64,
    /// Number of queries.
    pub all_queries: u64,
    /// Design effect of the bins.
    pub design_effect: f64,
    /// Design effect of missing values.
    pub missing_effect: f64,
}

/// Values of queries.
#[derive(Clone, Copy)]
struct Values<'a> {
    /// The values; NaN is missing.
    all: &'a [f32],
    /// Query i has the values `offsets[i]..offsets[i + 1]`.
    offsets: &'a [usize],
}

/// Bytes for each value of a feature whose bins are found, besides the value itself: a sample is copied and sorted.
const BYTES: usize = 12;

impl Fingerprint {
    /// The fingerprint of a data set before scaling. `missing`: which of its features are missing.
    ///
    /// # Errors
    /// An interrupt; too little memory.
    pub fn of(data: &Dataset, missing: &MissingValues, control: &Control) -> Result<Self> {
        let profile = |_, values: Values<'_>| Ok(Profile::of(values));
        let query_feature = |column: usize| {
            let profile = with_query_values(data, column, Profile::of);
            (data.query_names[column].clone(), profile)
        };
        Ok(Self {
            rows: data.n_docs() as u64,
            queries: data.n_queries() as u64,
            relevance: with_relevance(data, Profile::of),
            features: each_feature(data, missing, control, profile)?,
            query_features: (0..data.query_names.len()).map(query_feature).collect(),
        })
    }

    /// The features of other data, in the training bins.
    ///
    /// # Errors
    /// An interrupt; too little memory.
    pub fn features_of(
        &self,
        data: &Dataset,
        missing: &MissingValues,
        control: &Control,
    ) -> Result<Vec<Observed>> {
        let observe = |column: usize, values: Values<'_>| {
            Ok(self.features.get(column).map(|profile| profile.observe(values)))
        };
        Ok(each_feature(data, missing, control, observe)?.into_iter().flatten().collect())
    }

    /// A query feature of other data, in the training bins; `None` unless both have this name.
    pub fn query_feature_of(&self, name: &str, data: &Dataset) -> Option<(&Profile, Observed)> {
        let same = |other: &str| other.eq_ignore_ascii_case(name);
        let profile = &self.query_features.iter().find(|(other, _)| same(other))?.1;
        let column = data.query_names.iter().position(|other| same(other))?;
        Some((profile, with_query_values(data, column, |values| profile.observe(values))))
    }

    /// The relevance of other data, in the training bins.
    pub fn relevance_of(&self, data: &Dataset) -> Observed {
        with_relevance(data, |values| self.relevance.observe(values))
    }

    /// Checks a fingerprint that was read from bytes, for a model of `n` features that reads these query features.
    ///
    /// # Errors
    /// A fingerprint that does not fit the features or the query features.
    pub fn validate(&self, n: usize, query_features: &[String]) -> Result<()> {
        let sizes = [self.rows, self.queries];
        let mut features = self.features.iter().chain([&self.relevance]);
        let of_queries = |profile: &Profile| profile.is_valid([self.queries; 2]) || profile.is_valid([0; 2]);
        let has = |name: &String| self.query_features.iter().any(|(known, _)| known == name);
        require(
            "fingerprint",
            &[
                ((1..=MOST_ROWS).contains(&self.rows), "rows, and fewer than 2^53"),
                ((1..=self.rows).contains(&self.queries), "queries, and no more than rows"),
                (self.features.len() == n, "the features of the model"),
                (query_features.iter().all(has), "the query features of the model"),
                (features.all(|profile| profile.is_valid(sizes)), "bins of all rows"),
                (self.query_features.iter().all(|(_, profile)| of_queries(profile)), "bins of all queries"),
            ],
        )
    }
}

/// Counts by query: the bins, and whether values are missing.
struct Tally {
    bins: Clusters,
    missing: Clusters,
    /// Smallest value.
    low: f32,
    /// Largest value.
    high: f32,
    /// Numbers of values outside a range, for queries that have any.
    outside: Vec<u64>,
}

impl Tally {
    /// `inside`: the range of values that are not outside.
    fn of(values: Values<'_>, edges: &[f32], inside: RangeInclusive<f32>) -> Self {
        let mut tally = Self {
            bins: Clusters::new(edges.len() + 1),
            missing: Clusters::new(2),
            low: f32::INFINITY,
            high: f32::NEG_INFINITY,
            outside: Vec::new(),
        };
        let mut outside = 0;
        for query in values.offsets.windows(2) {
            for values in values.all[query[0]..query[1]].chunks(CHUNK) {
                checkpoint();
                tally.add(values, edges);
                outside +=
                    values.iter().filter(|x| **x < *inside.start() || **x > *inside.end()).count() as u64;
            }
            tally.end(&mut outside);
        }
        tally
    }

    /// Adds at most a chunk of the current query's values.
    fn add(&mut self, values: &[f32], edges: &[f32]) {
        let mut bins = [0; CHUNK];
        find_bins(edges, values, &mut bins);
        for (x, bin) in values.iter().zip(bins) {
            self.missing.add(usize::from(x.is_nan()));
            if !x.is_nan() {
                self.bins.add(usize::from(bin));
                (self.low, self.high) = (self.low.min(*x), self.high.max(*x));
            }
        }
    }

    fn end(&mut self, outside: &mut u64) {
        self.bins.end();
        self.missing.end();
        if *outside > 0 {
            self.outside.push(std::mem::take(outside));
        }
    }
}

impl Profile {
    /// The distribution of these values.
    fn of(values: Values<'_>) -> Self {
        // 1. Bins, from a sample.
        let known = || values.all.iter().copied().filter(|x| !x.is_nan());
        let step = known().count().div_ceil(SAMPLE).max(1);
        let mut sample: Vec<f32> = known().step_by(step).collect();
        sort_singles(&mut sample);
        let mut edges = edges(&sample);
        // Rare values below and above a single frequent value get bins too; otherwise they could become frequent unnoticed.
        if let (true, Some(&frequent)) = (edges.is_empty(), sample.get(sample.len() / 2)) {
            let below = known().filter(|x| *x < frequent).reduce(f32::max);
            let above = known().any(|x| x > frequent).then_some(frequent);
            edges.extend(below.into_iter().chain(above));
        }
        // 2. Range and counts, from all values.
        let all = f32::NEG_INFINITY..=f32::INFINITY;
        let Tally { mut bins, missing, mut low, mut high, .. } = Tally::of(values, &edges, all);
        let DesignEffect { factor, degrees } = bins.effect(None);
        if sample.is_empty() {
            (low, high) = (0.0, 0.0);
            bins.counts.clear();
        }
        Self {
            low,
            high,
            edges,
            counts: bins.counts,
            missing: missing.counts[1],
            queries: bins.queries,
            design_effect: factor as f32,
            degrees: degrees as f32,
            missing_effect: missing.effect(None).factor as f32,
        }
    }

    /// Other values in the bins of these.
    fn observe(&self, values: Values<'_>) -> Observed {
        let Tally { bins, missing, mut outside, .. } = Tally::of(values, &self.edges, self.low..=self.high);
        outside.sort_unstable_by_key(|values| std::cmp::Reverse(*values));
        let missing_effect = missing.effect(None).factor;
        Observed {
            outside,
            missing: missing.counts[1],
            queries: bins.queries,
            all_queries: missing.queries,
            design_effect: bins.effect((self.count() > 0).then(|| self.shares()).as_deref()).factor,
            missing_effect,
            counts: bins.counts,
        }
    }

    /// The fraction in each bin. Half an independent value is added to each, so no fraction is 0.
    pub fn shares(&self) -> Vec<f64> {
        shares(&self.counts, f64::from(self.design_effect))
    }

    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Part of the values that is missing; 0 without values.
    pub fn missing_share(&self) -> f64 {
        share(self.missing, self.count() + self.missing)
    }

    /// Whether this is a valid distribution of `all` values, including missing ones, over `queries` queries.
    fn is_valid(&self, [all, queries]: [u64; 2]) -> bool {
        let counted = self.counts.iter().try_fold(0u64, |sum, count| sum.checked_add(*count));
        let Some(known) = counted else { return false };
        let (bins, edges) = (self.counts.len(), &self.edges);
        let is_effect =
            |effect: f32, values: u64| (1.0..=values.max(1) as f64 * ROUNDED).contains(&f64::from(effect));
        self.low.is_finite()
            && self.high.is_finite()
            && self.low <= self.high
            && bins <= MAX_PROFILE_BINS
            && edges.len() == bins.saturating_sub(1)
            && edges.windows(2).all(|pair| pair[0] < pair[1])
            && edges.iter().all(|edge| (self.low..self.high).contains(edge))
            && self.counts.iter().all(|count| *count > 0)
            && known.checked_add(self.missing) == Some(all)
            && (known.min(1)..=known.min(queries)).contains(&self.queries)
            && is_effect(self.design_effect, known)
            && is_effect(self.missing_effect, all)
            && (1.0..=(bins.max(2) - 1) as f32).contains(&self.degrees)
    }
}

impl Observed {
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Part of the values that is missing; 0 without values.
    pub fn missing_share(&self) -> f64 {
        share(self.missing, self.count() + self.missing)
    }

    /// The fraction of values outside the earlier range; 0 without values.
    pub fn outside_share(&self) -> f64 {
        share(self.outside.iter().sum(), self.count())
    }

    /// The fraction in each bin for a design effect, like [`Profile::shares`].
    pub fn shares(&self, effect: f64) -> Vec<f64> {
        shares(&self.counts, effect)
    }
}

fn shares(counts: &[u64], effect: f64) -> Vec<f64> {
    let half = 0.5 * effect;
    let total = counts.iter().sum::<u64>() as f64 + half * counts.len() as f64;
    counts.iter().map(|count| (*count as f64 + half) / total).collect()
}

fn share(part: u64, all: u64) -> f64 {
    if all == 0 { 0.0 } else { part as f64 / all as f64 }
}

/// The number in single precision, clamped to its range; -0 becomes 0.
fn single(x: f64) -> f32 {
    (x as f32).clamp(f32::MIN, f32::MAX) + 0.0
}

simd! {
    /// The bins of values; NaN is in the first.
    fn find_bins<'a>(edges: &'a [f32], values: &'a [f32], bins: &'a mut [u8]) {
        let (blocks, rest) = values.as_chunks::<LANES>();
        let (block_bins, rest_bins) = bins.as_chunks_mut::<LANES>();
        for (values, bins) in blocks.iter().zip(&mut *block_bins) {
            let mut counts = [0_u32; LANES];
            for edge in edges {
                for lane in 0..LANES {
                    counts[lane] += u32::from(*edge < values[lane]);
                }
            }
            for lane in 0..LANES {
                bins[lane] = counts[lane] as u8;
            }
        }
        let rest_bins = block_bins[blocks.len()..].as_flattened_mut().iter_mut().chain(rest_bins);
        for (value, bin) in rest.iter().zip(rest_bins) {
            *bin = edges.iter().map(|edge| u8::from(*edge < *value)).sum();
        }
    }
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

/// Applies `learn` to the index and the values of each feature.
fn each_feature<T: Send>(
    data: &Dataset,
    missing: &MissingValues,
    control: &Control,
    learn: impl Fn(usize, Values<'_>) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let work = ColumnWork { what: "the fingerprint of", bytes: BYTES };
    gather::each_column(data, work, control, single, |column, mut all| {
        missing.of(column).rows().for_each(|row| all[row] = f32::NAN);
        learn(column, Values { all: &all, offsets: &data.offsets })
    })
}

fn with_relevance<T>(data: &Dataset, learn: impl FnOnce(Values<'_>) -> T) -> T {
    let grades: Vec<f32> = data.relevance.iter().map(|grade| single(*grade)).collect();
    learn(Values { all: &grades, offsets: &data.offsets })
}

/// The numbers of a query feature; empty for texts that are not all numbers.
fn with_query_values<T>(data: &Dataset, column: usize, learn: impl FnOnce(Values<'_>) -> T) -> T {
    let values = data.query_features.column(column);
    let number = |value: &QueryValue| match value {
        QueryValue::Number(x) => Some(single(*x)),
        QueryValue::Missing => Some(f32::NAN),
        QueryValue::Text(text) => text_number(text).map(single),
    };
    let all: Option<Vec<f32>> = values.iter().map(number).collect();
    let Some(all) = all else { return learn(Values { all: &[], offsets: &[] }) };
    learn(Values { all: &all, offsets: &(0..=all.len()).collect::<Vec<usize>>() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(values: &[f32]) -> Profile {
        Profile::of(Values { all: values, offsets: &(0..=values.len()).collect::<Vec<usize>>() })
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
    fn frequent_values_have_separate_bins() {
        let values = |counts: &[(f32, usize)]| -> Vec<f32> {
            counts.iter().flat_map(|(x, n)| std::iter::repeat_n(*x, *n)).collect()
        };
        for (counts, expected) in [
            (&[(0.0, 95), (1.0, 3), (2.0, 2)][..], &[95, 5][..]),
            (&[(0.0, 3), (1.0, 2), (2.0, 95)], &[5, 95]),
            (&[(1.0, 20), (2.0, 20), (3.0, 20), (4.0, 20), (5.0, 20)], &[20; 5]),
            (&[(7.0, 50)], &[50]),
            (&[(0.0, 999), (1.0, 1)], &[999, 1]),
            (&[(0.0, 1), (1.0, 99_999)], &[1, 99_999]),
            (&[(-1.0, 1), (0.0, 998), (1.0, 1)], &[1, 998, 1]),
        ] {
            assert_eq!(profile(&values(counts)).counts, expected, "{counts:?}");
        }
        assert!(profile(&[]).counts.is_empty());
    }

    #[test]
    fn no_distribution_has_more_bins_than_allowed() {
        // Ten frequent values, with rare ones between them.
        let mut values: Vec<f32> = (0..2000u16).map(|i| f32::from(i % 10) + 0.5).collect();
        values.extend((0..200u16).map(|i| f32::from(i % 11)));
        let found = profile(&values);
        assert!(found.counts.len() <= MAX_PROFILE_BINS && found.is_valid([2200; 2]), "{found:?}");
    }
}
