//! Statistics that a training gathers in its first rounds: counts, feature means, the scaling.
//!
//! The scaling `quantile` counts the values of each feature in bins by the upper 16 bits of their `f32` (sign, exponent and
//! 7 mantissa bits). A bin is represented by its end nearest 0, so small integers are exact, and other values are off by less
//! than 0.8%.

#[cfg(test)]
mod tests;

use crate::base::{Error, Result, Ticks};
use crate::buckets::bytes::{Kind, check_bytes};
use crate::buckets::replay::{Asking, FOLDS, Part, Question, Replay};
use crate::buckets::round::of_another_training;
use crate::buckets::sums::BucketSums;
use crate::buckets::training::Outcome;
use crate::cost::loss;
use crate::data::{Dataset, Matrix, Missing, Quantiles, Scaling, ScalingKind, mean_and_factor_of};
use crate::train::algorithm::Trained;
use crate::train::algorithm::Weighting;
use crate::train::grid::checks;
use crate::train::grid::spec::GridSpec;
use crate::train::report::DataCounts;

/// The number of this task.
const TASK: usize = 0;

/// Kinds of questions.
pub const STATISTICS: u64 = 0;
pub const VARIANCES: u64 = 1;

/// Layout of the numbers: per-fold counts by [`Count`], then counts of all rows, then per-feature counts and sums.
const DOCUMENTS: usize = 3 * FOLDS as usize;
/// Sum of N (N - 1) over queries of N documents.
const ORDERED_PAIRS: usize = DOCUMENTS + 1;
/// Documents with features in double precision.
const DOUBLE: usize = DOCUMENTS + 2;
const HEAD: usize = DOCUMENTS + 3;

/// Counts up to this value are exact.
const MOST_COUNT: f64 = (1u64 << f64::MANTISSA_DIGITS) as f64;

/// Counts of all rows, and for each feature the count and sum of the values that are not missing.
#[derive(Debug, Clone)]
pub struct DataStatistics(Vec<f64>);

/// A per-fold count.
#[derive(Clone, Copy)]
pub enum Count {
    Queries,
    Informative,
    Pairs,
}

impl Count {
    /// Index of this count in the numbers.
    fn in_fold(self, fold: u32) -> usize {
        self as usize * FOLDS as usize + fold as usize
    }
}

impl DataStatistics {
    /// # Errors
    /// Sums of the wrong length or not finite; inconsistent counts.
    pub fn new(numbers: Vec<f64>) -> Result<Self> {
        if numbers.len() <= HEAD || !(numbers.len() - HEAD).is_multiple_of(2) {
            return Err(wrong_length());
        }
        let statistics = Self(numbers);
        let (counts, sums) = statistics.0.split_at(HEAD + statistics.dim());
        let is_count = |count: &f64| (0.0..=MOST_COUNT).contains(count) && count.fract() == 0.0;
        let (queries, documents) = (statistics.count(Count::Queries, Part::All), statistics.documents());
        let judged =
            |fold: u32| counts[Count::Informative.in_fold(fold)] <= counts[Count::Queries.in_fold(fold)];
        if !counts.iter().all(is_count)
            || !(1.0..=documents).contains(&queries)
            || !(0..FOLDS).all(judged)
            || 2.0 * statistics.count(Count::Pairs, Part::All) > counts[ORDERED_PAIRS]
            || counts[DOUBLE..].iter().any(|known| *known > documents)
        {
            return Err(Kind::State.forged("consistent counts from 0 to 2^53"));
        }
        if !sums.iter().all(|sum| sum.is_finite()) {
            return Err(Error::Data("features are too large: their sum is not finite".to_owned()));
        }
        if statistics.is_double() && statistics.double() < statistics.documents() {
            let problem = "features are BLOBs in some packs and JSON in others; use one of the two";
            return Err(Error::Data(problem.to_owned()));
        }
        Ok(statistics)
    }

    /// Number of documents with features in double precision.
    fn double(&self) -> f64 {
        self.0[DOUBLE]
    }

    pub fn dim(&self) -> usize {
        (self.0.len() - HEAD) / 2
    }

    /// A count over a part's buckets.
    pub fn count(&self, count: Count, part: Part) -> f64 {
        part.folds().map(|fold| self.0[count.in_fold(fold)]).sum()
    }

    pub fn documents(&self) -> f64 {
        self.0[DOCUMENTS]
    }

    /// The divisor of query weights: the mean over queries of N (N - 1) or N, for N documents.
    pub fn mean_size(&self, weighting: Weighting) -> f64 {
        let queries = self.count(Count::Queries, Part::All);
        match weighting {
            Weighting::Queries => 1.0,
            Weighting::Documents => self.documents() / queries,
            Weighting::Pairs => (self.0[ORDERED_PAIRS] / queries).max(f64::MIN_POSITIVE),
        }
    }

    /// Feature means over the values that are not missing.
    pub fn means(&self) -> Vec<f64> {
        let (counts, sums) = self.0[HEAD..].split_at(self.dim());
        counts.iter().zip(sums).map(|(count, sum)| if *count > 0.0 { sum / count } else { 0.0 }).collect()
    }

    /// Number of documents in which a feature is missing.
    pub fn missing(&self, feature: usize) -> f64 {
        self.documents() - self.0[HEAD + feature]
    }

    /// Values that replace missing ones.
    pub fn fills(&self, missing: Missing) -> Vec<f64> {
        if missing == Missing::Mean { self.means() } else { vec![0.0; self.dim()] }
    }

    /// Whether features are in double precision.
    pub fn is_double(&self) -> bool {
        self.double() > 0.0
    }

    /// Replaces missing features of a bucket, unless tree splits handle them.
    ///
    /// # Errors
    /// A different number of features.
    pub fn complete(&self, data: &mut Dataset, bucket: u32, missing: Missing) -> Result<()> {
        let (found, width) = (data.features.columns(), self.dim());
        if found != width {
            return Err(Error::Data(format!(
                "bucket {bucket} has {found} features; the first round had {width}"
            )));
        }
        if missing != Missing::Branch {
            fill(data, &self.fills(missing));
        }
        Ok(())
    }

    /// The result of a training with these counts.
    pub fn trained(&self, trained: Trained) -> Outcome {
        let missing_filled = (0..self.dim()).map(|feature| self.missing(feature)).sum::<f64>() as usize;
        Outcome { trained, counts: self.report(), means: self.means(), missing_filled }
    }

    /// The numbers for [`Self::new`].
    pub fn numbers(&self) -> &[f64] {
        &self.0
    }

    /// The counts for the report.
    fn report(&self) -> DataCounts {
        let counts = [Count::Queries, Count::Pairs].map(|count| self.count(count, Part::All));
        DataCounts::of_counts([counts[0], self.documents(), counts[1]], self.dim(), self.is_double())
    }
}

/// Statistics and scaling, which are fixed before the first fit.
pub struct Prepared {
    pub statistics: DataStatistics,
    pub scaling: Scaling,
}

impl Prepared {
    /// The result of the first questions; `None` if they are not answered yet.
    pub fn run(spec: &GridSpec, replay: &mut Replay) -> Result<Option<Self>> {
        let recorded = replay.task(TASK, |asking| {
            let Self { statistics, scaling } = Self::ask(spec, asking)?;
            Ok((statistics.0, scaling))
        })?;
        recorded.map(|recorded| Self::of(spec, recorded)).transpose()
    }

    pub fn recorded(spec: &GridSpec, replay: &Replay) -> Result<Self> {
        Self::of(spec, replay.result(TASK)?.ok_or_else(wrong_length)?)
    }

    fn of(spec: &GridSpec, (numbers, scaling): (Vec<f64>, Scaling)) -> Result<Self> {
        let statistics = DataStatistics::new(numbers)?;
        if scaling.kind() != spec.scale || scaling.validate(statistics.dim()).is_err() {
            return Err(Kind::State.forged("the scaling set by its options"));
        }
        check_bytes(answer_bytes(statistics.dim())).map(|()| Self { statistics, scaling })
    }

    /// Asks the buckets for statistics, and fits the scaling.
    fn ask(spec: &GridSpec, asking: &Asking<'_>) -> Result<Self> {
        let question = |kind, numbers| Question { kind, part: Part::All, numbers };
        let BucketSums { numbers, counts } = asking.ask(question(STATISTICS, Vec::new()));
        let statistics = DataStatistics::new(numbers)?;
        check(spec, &statistics)?;
        let fills = statistics.fills(spec.missing);
        let scaling = match spec.scale {
            ScalingKind::Standard => {
                let filled = |(feature, mean): (usize, f64)| {
                    let (missing, documents) = (statistics.missing(feature), statistics.documents());
                    (mean * (documents - missing) + fills[feature] * missing) / documents
                };
                let centers: Vec<f64> = statistics.means().into_iter().enumerate().map(filled).collect();
                let squares = asking.ask(question(VARIANCES, [&fills[..], &centers].concat())).numbers;
                if squares.len() != centers.len() || !squares.iter().all(|square| *square >= 0.0) {
                    return Err(wrong_length());
                }
                let moments = centers.iter().zip(squares);
                Scaling::Standard(
                    moments
                        .map(|(mean, square)| mean_and_factor_of(*mean, square / statistics.documents()))
                        .collect(),
                )
            }
            ScalingKind::Quantile => {
                let of_feature = |feature: usize| {
                    let of = |key: &u32| (*key >> 16) as usize;
                    let range = counts.partition_point(|(key, _)| of(key) < feature)
                        ..counts.partition_point(|(key, _)| of(key) <= feature);
                    let counts = &counts[range];
                    let missing = statistics.missing(feature);
                    let counted = counts.iter().fold(0u64, |sum, (_, count)| sum.saturating_add(*count));
                    if counted != (statistics.documents() - missing) as u64 {
                        return Err(Kind::State.forged("a bin for every value"));
                    }
                    let mut ties: Vec<(f64, f64)> =
                        counts.iter().map(|(key, count)| (bin_value(*key), *count as f64)).collect();
                    if missing > 0.0 {
                        let at = ties.partition_point(|(value, _)| *value < fills[feature]);
                        ties.insert(at, (fills[feature], missing));
                    }
                    Ok(Quantiles::of_counts(&ties))
                };
                Scaling::Quantile((0..statistics.dim()).map(of_feature).collect::<Result<_>>()?)
            }
            _ => Scaling::None,
        };
        Ok(Self { statistics, scaling })
    }
}

/// Bytes of an answer about functions with `dim` weights: at most a value, a gradient and the upper triangle of a Hessian.
pub fn answer_bytes(dim: usize) -> usize {
    4usize.saturating_mul(dim + 1).saturating_mul(dim + 2)
}

/// The error for sums of the wrong length.
pub fn wrong_length() -> Error {
    of_another_training("answer", "wrong number of values")
}

/// Refuses data from which nothing can be learned.
fn check(spec: &GridSpec, statistics: &DataStatistics) -> Result<()> {
    let queries = statistics.count(Count::Queries, Part::All) as usize;
    if statistics.count(Count::Pairs, Part::All) < 1.0 {
        return Err(checks::nothing_to_learn(queries));
    }
    if statistics.count(Count::Informative, Part::All) < 1.0 {
        return Err(checks::not_distinguished(&spec.loss, queries, false));
    }
    Ok(())
}

/// The bin of a value: the upper 16 bits of its `f32`, mapped so that bins are in the order of the values.
fn bin(value: f64) -> u32 {
    let bits = ((value as f32).clamp(f32::MIN, f32::MAX) + 0.0).to_bits();
    (if bits >> 31 == 1 { !bits } else { bits | 1 << 31 }) >> 16
}

/// The end of a bin nearest 0. The upper bits of the key are the feature.
fn bin_value(key: u32) -> f64 {
    let key = key & 0xffff;
    let bits = if key >> 15 == 1 { (key << 16) ^ 1 << 31 } else { (!key & 0xffff) << 16 };
    f64::from(f32::from_bits(bits))
}

/// Settings of the first round.
pub struct First<'a> {
    /// Whether a query is informative, given the grades and weights of its documents.
    pub informative: &'a dyn Fn(&[f64], &[f64]) -> bool,
    /// How to handle missing features.
    pub missing: Missing,
    /// Whether values are counted in bins.
    pub counts_bins: bool,
}

impl First<'_> {
    /// A bucket's answer to [`STATISTICS`].
    ///
    /// # Errors
    /// Too many features, or a missing one that [`Missing`] does not allow.
    pub fn answer(&self, bucket: u32, data: &Dataset) -> Result<BucketSums> {
        let dim = data.features.columns();
        if dim > usize::from(u16::MAX) {
            return Err(Error::Unsupported(format!(
                "{dim} features; training in buckets supports at most {}",
                u16::MAX
            )));
        }
        let mut numbers = vec![0.0; HEAD + 2 * dim];
        let fold = bucket % FOLDS;
        for query in 0..data.n_queries() {
            let labels = data.labels(query);
            let size = labels.len() as f64;
            numbers[Count::Queries.in_fold(fold)] += 1.0;
            let informative = (self.informative)(labels, data.doc_weights(query));
            numbers[Count::Informative.in_fold(fold)] += f64::from(informative);
            numbers[Count::Pairs.in_fold(fold)] += loss::pair_count(labels) as f64;
            numbers[DOCUMENTS] += size;
            numbers[ORDERED_PAIRS] += size * (size - 1.0);
        }
        if matches!(data.features, Matrix::F64(_)) {
            numbers[DOUBLE] = data.n_docs() as f64;
        }
        let mut ticks = Ticks::default();
        for row in 0..data.n_docs() {
            ticks.add(4 * dim);
            for column in 0..dim {
                let value = data.features.at(row, column);
                if value.is_nan() {
                    if self.missing == Missing::Error {
                        return Err(missing(data, bucket, row, column));
                    }
                    continue;
                }
                numbers[HEAD + column] += 1.0;
                numbers[HEAD + dim + column] += value;
            }
        }
        let counts = if self.counts_bins { bin_counts(data) } else { Vec::new() };
        Ok(BucketSums { numbers, counts })
    }
}

/// The number of values in each bin of each feature.
fn bin_counts(data: &Dataset) -> Vec<(u32, u64)> {
    let (mut all, mut ticks) = (Vec::new(), Ticks::default());
    let mut counts = vec![0u64; 1 << 16];
    for column in 0..data.features.columns() {
        for row in 0..data.n_docs() {
            ticks.add(4);
            let value = data.features.at(row, column);
            if !value.is_nan() {
                counts[bin(value) as usize] += 1;
            }
        }
        for (bin, count) in counts.iter_mut().enumerate().filter(|(_, count)| **count > 0) {
            all.push(((column << 16 | bin) as u32, std::mem::take(count)));
        }
    }
    all
}

fn missing(data: &Dataset, bucket: u32, row: usize, column: usize) -> Error {
    let query = data.offsets.partition_point(|offset| *offset <= row) - 1;
    let name = data.names.get(column).map_or_else(|| (column + 1).to_string(), Clone::clone);
    Error::Data(format!(
        "bucket {bucket}, query {}: feature \"{name}\" of a document is NULL; use the option \"missing\": \"zero\" or \
         \"mean\" to allow missing features",
        data.query_ids[query]
    ))
}

/// Replaces missing features.
fn fill(data: &mut Dataset, fills: &[f64]) {
    let Matrix::F64(features) = &mut data.features else { return };
    let mut ticks = Ticks::default();
    for mut row in features.rows_mut() {
        ticks.add(row.len());
        for (value, fill) in row.iter_mut().zip(fills) {
            if value.is_nan() {
                *value = *fill;
            }
        }
    }
}

/// A bucket's answer to [`VARIANCES`]: the sum of (x - center)^2 per feature.
pub fn squares(data: &mut Dataset, numbers: &[f64]) -> Result<BucketSums> {
    let dim = data.features.columns();
    if numbers.len() != 2 * dim {
        return Err(wrong_length());
    }
    let (fills, centers) = numbers.split_at(dim);
    fill(data, fills);
    let mut squares = vec![0.0; dim];
    let mut ticks = Ticks::default();
    for row in 0..data.n_docs() {
        ticks.add(dim);
        for (column, (square, center)) in squares.iter_mut().zip(centers).enumerate() {
            let difference = data.features.at(row, column) - center;
            *square += difference * difference;
        }
    }
    Ok(squares.into())
}
