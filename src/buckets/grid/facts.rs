//! What a training learns from the first rounds: counts, means of features, the scaling.
//!
//! The scaling `quantile` counts the values of each feature by the first 16 bits of their single-precision number (sign,
//! exponent and 7 bits): the values of a bin count as its end toward 0. So small whole numbers are exact, and others differ
//! by less than 0.8%.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::base::{Control, Error, Result, Ticks};
use crate::buckets::{
    Asking, BucketSums, FOLDS, Outcome, Part, Question, Reader, Sample, Unit, Writer, check_bytes,
};
use crate::cost::loss;
use crate::data::{Dataset, Matrix, Missing, Quantiles, Scaling, ScalingKind, mean_and_factor_of};
use crate::learn::space::{AnySpace, Form, Function, Member, Scorer, Space, SumSpace};
use crate::model::Linear;
use crate::train::algorithm::{Trained, scale};
use crate::train::grid::checks;
use crate::train::grid::session::map_options;
use crate::train::grid::spec::{GridSpec, Weighting};
use crate::train::report::DataFacts;

/// Kinds of questions.
pub(in crate::buckets) const FACTS: u64 = 0;
pub(super) const VARIANCES: u64 = 1;

/// Where the numbers are: counts of each fold by [`Count`], then those of all rows, then those of features.
const DOCUMENTS: usize = 3 * FOLDS as usize;
/// Sum of N (N - 1) over queries of N documents.
const ORDERED_PAIRS: usize = DOCUMENTS + 1;
/// Documents with features in double precision.
const DOUBLE: usize = DOCUMENTS + 2;
const HEAD: usize = DOCUMENTS + 3;

/// Counts up to this are exact.
const MOST_COUNT: f64 = (1u64 << f64::MANTISSA_DIGITS) as f64;

/// Counts of all rows, and for each feature count and sum of the values that are not missing.
#[derive(Debug, Clone)]
pub(in crate::buckets) struct Facts(Vec<f64>);

/// A per-fold count.
#[derive(Clone, Copy)]
pub(in crate::buckets) enum Count {
    Queries,
    Informative,
    Pairs,
}

impl Count {
    /// Where the numbers have it.
    fn in_fold(self, fold: u32) -> usize {
        self as usize * FOLDS as usize + fold as usize
    }
}

impl Facts {
    /// # Errors
    /// Sums that are not facts; counts that do not fit each other.
    pub fn new(numbers: Vec<f64>) -> Result<Self> {
        if numbers.len() <= HEAD || !(numbers.len() - HEAD).is_multiple_of(2) {
            return Err(wrong_length());
        }
        let facts = Self(numbers);
        let (counts, sums) = facts.0.split_at(HEAD + facts.dim());
        let is_count = |count: &f64| (0.0..=MOST_COUNT).contains(count) && count.fract() == 0.0;
        let (queries, documents) = (facts.count(Count::Queries, Part::All), facts.documents());
        let judged =
            |fold: u32| counts[Count::Informative.in_fold(fold)] <= counts[Count::Queries.in_fold(fold)];
        if !counts.iter().all(is_count)
            || !(1.0..=documents).contains(&queries)
            || !(0..FOLDS).all(judged)
            || 2.0 * facts.count(Count::Pairs, Part::All) > counts[ORDERED_PAIRS]
            || counts[DOUBLE..].iter().any(|known| *known > documents)
        {
            return Err(Reader::of_state(&[]).forged("counts from 0 to 2^53 that fit each other"));
        }
        if !sums.iter().all(|sum| sum.is_finite()) {
            return Err(Error::Data("features are so large that their sum is not finite".to_owned()));
        }
        if facts.is_double() && facts.double() < facts.documents() {
            let problem = "features are BLOBs in some packs and JSON in others; use one of the two";
            return Err(Error::Data(problem.to_owned()));
        }
        Ok(facts)
    }

    /// Number of documents with features in double precision.
    fn double(&self) -> f64 {
        self.0[DOUBLE]
    }

    pub fn dim(&self) -> usize {
        (self.0.len() - HEAD) / 2
    }

    /// A count over the buckets of a part.
    pub fn count(&self, count: Count, part: Part) -> f64 {
        part.folds().map(|fold| self.0[count.in_fold(fold)]).sum()
    }

    pub fn documents(&self) -> f64 {
        self.0[DOCUMENTS]
    }

    /// The mean of N (N - 1) or N over queries, by which weights of queries are divided.
    pub fn mean_size(&self, weighting: Weighting) -> f64 {
        let queries = self.count(Count::Queries, Part::All);
        match weighting {
            Weighting::Queries => 1.0,
            Weighting::Documents => self.documents() / queries,
            Weighting::Pairs => (self.0[ORDERED_PAIRS] / queries).max(f64::MIN_POSITIVE),
        }
    }

    /// Means of the values that are not missing.
    pub fn means(&self) -> Vec<f64> {
        let (counts, sums) = self.0[HEAD..].split_at(self.dim());
        counts.iter().zip(sums).map(|(count, sum)| if *count > 0.0 { sum / count } else { 0.0 }).collect()
    }

    /// Number of documents without a feature.
    pub fn missing(&self, feature: usize) -> f64 {
        self.documents() - self.0[HEAD + feature]
    }

    /// What stands for missing values.
    pub fn fills(&self, missing: Missing) -> Vec<f64> {
        if missing == Missing::Mean { self.means() } else { vec![0.0; self.dim()] }
    }

    /// Whether features are in double precision.
    pub fn is_double(&self) -> bool {
        self.double() > 0.0
    }

    /// Replaces missing features of a bucket.
    ///
    /// # Errors
    /// Another number of features.
    pub fn complete(&self, data: &mut Dataset, bucket: u32, missing: Missing) -> Result<()> {
        let (found, width) = (data.features.columns(), self.dim());
        if found != width {
            return Err(Error::Data(format!(
                "bucket {bucket}: {found} features, {width} in the first round"
            )));
        }
        self.fill(data, missing);
        Ok(())
    }

    /// Replaces missing features, unless splits choose their side.
    pub fn fill(&self, data: &mut Dataset, missing: Missing) {
        if missing != Missing::Branch {
            fill(data, &self.fills(missing));
        }
    }

    /// The result of a training with these counts.
    pub fn trained(&self, trained: Trained) -> Outcome {
        let missing_filled = (0..self.dim()).map(|feature| self.missing(feature)).sum::<f64>() as usize;
        Outcome { trained, facts: self.report(), means: self.means(), missing_filled }
    }

    /// The numbers for [`Self::new`].
    pub fn numbers(&self) -> &[f64] {
        &self.0
    }

    /// The counts of a report.
    fn report(&self) -> DataFacts {
        let counts = [Count::Queries, Count::Pairs].map(|count| self.count(count, Part::All));
        DataFacts::of_counts([counts[0], self.documents(), counts[1]], self.dim(), self.is_double())
    }
}

/// What is fixed before anything is fitted.
pub(super) struct Prepared {
    pub facts: Facts,
    pub scaling: Scaling,
    /// The space of functions of scaled documents.
    pub space: Space,
}

impl Prepared {
    pub fn into_bytes(self) -> Result<Vec<u8>> {
        let mut writer = Writer::default();
        writer.numbers(self.facts.numbers());
        let space = Member { scaling: self.scaling.into(), space: self.space };
        write_spaces(&mut writer, self.facts.dim(), vec![space])?;
        Ok(writer.into_bytes())
    }

    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader::of_state(bytes);
        let facts = Facts::new(reader.numbers()?)?;
        let Some(Member { scaling, space }) = read_spaces(&mut reader, facts.dim())?.pop() else {
            return Err(reader.forged("a space"));
        };
        Ok(Self { facts, scaling: Arc::unwrap_or_clone(scaling), space })
    }

    /// Asks the buckets for the facts, and fits scaling and space.
    pub fn ask(spec: &GridSpec, asking: &Asking<'_>, control: &Control) -> Result<Self> {
        let question = |kind, numbers| Question { kind, part: Part::All, numbers };
        let BucketSums { numbers, counts, sample } = asking.ask(question(FACTS, Vec::new()));
        let facts = Facts::new(numbers)?;
        check(spec, &facts)?;
        let fills = facts.fills(spec.missing);
        let scaling = match spec.scale {
            ScalingKind::Standard => {
                let filled = |(feature, mean): (usize, f64)| {
                    let missing = facts.missing(feature);
                    (mean * (facts.documents() - missing) + fills[feature] * missing) / facts.documents()
                };
                let centers: Vec<f64> = facts.means().into_iter().enumerate().map(filled).collect();
                let squares = asking.ask(question(VARIANCES, [&fills[..], &centers].concat())).numbers;
                if squares.len() != centers.len() || !squares.iter().all(|square| *square >= 0.0) {
                    return Err(wrong_length());
                }
                let moments = centers.iter().zip(squares);
                Scaling::Standard(
                    moments
                        .map(|(mean, square)| mean_and_factor_of(*mean, square / facts.documents()))
                        .collect(),
                )
            }
            ScalingKind::Quantile => {
                let of_feature = |feature: usize| {
                    let of = |key: &u32| (*key >> 16) as usize;
                    let range = counts.partition_point(|(key, _)| of(key) < feature)
                        ..counts.partition_point(|(key, _)| of(key) <= feature);
                    let counts = &counts[range];
                    let missing = facts.missing(feature);
                    let known = counts.iter().fold(0u64, |sum, (_, count)| sum.saturating_add(*count));
                    if known != (facts.documents() - missing) as u64 {
                        return Err(Reader::of_state(&[]).forged("bins of all values"));
                    }
                    let mut ties: Vec<(f64, f64)> =
                        counts.iter().map(|(key, count)| (bin_value(*key), *count as f64)).collect();
                    if missing > 0.0 {
                        let at = ties.partition_point(|(value, _)| *value < fills[feature]);
                        ties.insert(at, (fills[feature], missing));
                    }
                    Ok(Quantiles::of_counts(&ties))
                };
                Scaling::Quantile((0..facts.dim()).map(of_feature).collect::<Result<_>>()?)
            }
            _ => Scaling::None,
        };
        let space = if spec.kernel.is_linear() {
            Space::linear(facts.dim(), Form::Scoring)
        } else {
            let mut data = sample.dataset(facts.dim(), facts.is_double())?;
            facts.fill(&mut data, spec.missing);
            let _memory = scale(&scaling, spec.scale, &mut data, control)?;
            Space::fit(&spec.kernel, Form::Scoring, &data, &map_options(spec), control)?
        };
        Ok(Self { facts, scaling, space })
    }
}

/// Writes the scaled spaces of `features` features as the space of a zero function, so that the model encoder can be
/// used.
pub(in crate::buckets) fn write_spaces(
    writer: &mut Writer,
    features: usize,
    spaces: Vec<Member>,
) -> Result<()> {
    let sum = SumSpace::new(features, spaces);
    let function = Function::zero(sum.dim());
    writer.bytes(&Linear::new(sum, function).encode()?);
    Ok(())
}

/// Reads the scaled spaces of `features` features, at least one space.
pub(in crate::buckets) fn read_spaces(reader: &mut Reader<'_>, features: usize) -> Result<Vec<Member>> {
    let linear = Linear::decode(reader.bytes()?)?;
    match &linear.space {
        AnySpace::Sum(sum) if sum.width() == features => {
            // The next answers have sums for each space.
            let bytes = sum.members.iter().map(|member| answer_bytes(member.space.dim()));
            check_bytes(bytes.fold(0, usize::saturating_add))?;
            Ok(sum.members.clone())
        }
        _ => Err(reader.forged("spaces of the features")),
    }
}

/// Bytes of the sums that answer a question about functions of `dim` numbers: at most a value, a gradient and the upper
/// half of a Hessian.
pub(super) fn answer_bytes(dim: usize) -> usize {
    4usize.saturating_mul(dim + 1).saturating_mul(dim + 2)
}

/// The error about sums of another length than the question has.
pub(in crate::buckets) fn wrong_length() -> Error {
    Error::Data("an answer of another training: it has another number of numbers".to_owned())
}

/// Refuses data from which nothing can be learned.
fn check(spec: &GridSpec, facts: &Facts) -> Result<()> {
    let queries = facts.count(Count::Queries, Part::All) as usize;
    if facts.count(Count::Pairs, Part::All) < 1.0 {
        return Err(checks::nothing_to_learn(queries));
    }
    if facts.count(Count::Informative, Part::All) < 1.0 {
        return Err(checks::not_told_apart(&spec.loss, queries, false));
    }
    Ok(())
}

/// The bin of a value: the first 16 bits of the single-precision number, in the order of numbers.
fn bin(value: f64) -> u32 {
    let bits = ((value as f32).clamp(f32::MIN, f32::MAX) + 0.0).to_bits();
    (if bits >> 31 == 1 { !bits } else { bits | 1 << 31 }) >> 16
}

/// The end of a bin toward 0; the upper bits of the key are a feature.
fn bin_value(key: u32) -> f64 {
    let key = key & 0xffff;
    let bits = if key >> 15 == 1 { (key << 16) ^ 1 << 31 } else { (!key & 0xffff) << 16 };
    f64::from(f32::from_bits(bits))
}

/// What a training needs to know first.
pub(in crate::buckets) struct First<'a> {
    /// Which queries count as informative, by the grades and weights of their documents.
    pub informative: &'a dyn Fn(&[f64], &[f64]) -> bool,
    /// What to do about missing features.
    pub missing: Missing,
    /// Whether values are counted in bins.
    pub counts_bins: bool,
    /// What is sampled, and at least how many documents.
    pub sample: Option<(Unit, usize)>,
    /// The seed of the sample.
    pub seed: u64,
}

impl First<'_> {
    /// The answer of a bucket to [`FACTS`].
    ///
    /// # Errors
    /// Rows that the training cannot learn from.
    pub fn answer(&self, bucket: u32, data: &Dataset) -> Result<BucketSums> {
        let dim = data.features.columns();
        if dim > usize::from(u16::MAX) {
            return Err(Error::Unsupported(format!(
                "{dim} features; training in buckets takes at most {}",
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
        let sample = match self.sample {
            Some((unit, most)) => Sample::of(data, unit, most, self.seed)?,
            None => Sample::default(),
        };
        Ok(BucketSums { numbers, counts, sample })
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
        "bucket {bucket}, query {}: the feature \"{name}\" of a document is NULL; use the option \"missing\": \"zero\" or \
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

/// The answer of a bucket to [`VARIANCES`]: for each feature the sum of (x - center)^2.
pub(super) fn squares(data: &mut Dataset, numbers: &[f64]) -> Result<BucketSums> {
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
    Ok(BucketSums { numbers: squares, ..BucketSums::default() })
}
