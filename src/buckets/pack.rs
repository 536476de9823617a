//! Packs: the rows of one bucket as bytes.
//!
//! Rows are in canonical order: queries by id, the documents of each by id, features, relevance and weight. A missing
//! feature is NaN. Features and grades take 4 bytes each if single precision holds all of them exactly. Document ids only
//! decide the order, so a pack omits them.

use ndarray::Array2;
use serde::{Deserialize, Serialize};

use super::bytes::{BODY, Kind};
use crate::base::param::list;
use crate::base::{Error, Result, Ticks};
use crate::data::{
    Dataset, DatasetBuilder, FinishOptions, Id, Matrix, Missing, bucket_of, is_query_weight, is_weight,
    shaped,
};
use crate::math::compare;
use crate::model::encode_header;

/// Operations, for [`Ticks`], of a query.
const QUERY_COST: usize = 64;

/// The data set of rows, as [`write`] needs it.
///
/// # Errors
/// Errors of the builder.
pub fn rows(builder: DatasetBuilder) -> Result<Dataset> {
    let options = FinishOptions { missing: Missing::Mean, keep_missing: true, ..FinishOptions::default() };
    Ok(builder.finish(options)?.0)
}

/// A pack's header. The numbers follow, in the order of its last four fields.
#[derive(Serialize, Deserialize)]
struct Head {
    /// Whether features are in double precision.
    is_double: bool,
    columns: u32,
    /// Each query with its number of documents.
    #[serde(with = "list")]
    queries: Vec<(Id, u32)>,
    /// `None` if all weights are 1.
    weights: Option<Width>,
    doc_weights: Option<Width>,
    relevance: Width,
    features: Width,
}

/// Number of bytes of each number in a series.
#[derive(Serialize, Deserialize, Clone, Copy)]
enum Width {
    /// Single precision, which holds all of them exactly.
    Four,
    Eight,
}

impl Width {
    fn of(numbers: impl Iterator<Item = f64>) -> Self {
        let mut ticks = Ticks::default();
        let is_single = |number: f64| {
            ticks.add(1);
            f64::from(number as f32).to_bits() == number.to_bits() || number.is_nan()
        };
        if { numbers }.all(is_single) { Self::Four } else { Self::Eight }
    }

    fn write(self, numbers: impl Iterator<Item = f64>, bytes: &mut Vec<u8>) {
        let mut ticks = Ticks::default();
        for number in numbers {
            ticks.add(1);
            match self {
                Self::Four => bytes.extend((number as f32).to_le_bytes()),
                Self::Eight => bytes.extend(number.to_le_bytes()),
            }
        }
    }

    /// Takes `count` numbers from the beginning of bytes; `None` if the bytes are too short.
    fn read<T>(
        self,
        count: usize,
        bytes: &mut &[u8],
        from_single: impl Fn(f32) -> T,
        from_double: impl Fn(f64) -> T,
    ) -> Option<Vec<T>> {
        let width = if matches!(self, Self::Four) { size_of::<f32>() } else { size_of::<f64>() };
        let (numbers, rest) = bytes.split_at_checked(count.saturating_mul(width))?;
        *bytes = rest;
        Some(match self {
            Self::Four => {
                let numbers = numbers.as_chunks().0.iter();
                numbers.map(|number| from_single(f32::from_le_bytes(*number))).collect()
            }
            Self::Eight => {
                let numbers = numbers.as_chunks().0.iter();
                numbers.map(|number| from_double(f64::from_le_bytes(*number))).collect()
            }
        })
    }

    fn read_doubles(self, count: usize, bytes: &mut &[u8]) -> Option<Vec<f64>> {
        self.read(count, bytes, f64::from, |number| number)
    }
}

/// Packs a data set in canonical order whose missing features are NaN.
///
/// # Errors
/// Ids that are too long.
pub fn write(data: &Dataset) -> Result<Vec<u8>> {
    let width_of_weights = |weights: &[f64]| {
        let are_one = weights.iter().all(|weight| compare(*weight, 1.0).is_eq());
        (!are_one).then(|| Width::of(weights.iter().copied()))
    };
    let features = || -> Box<dyn Iterator<Item = f64> + '_> {
        match &data.features {
            Matrix::F32(features) => Box::new(features.iter().map(|value| f64::from(*value))),
            Matrix::F64(features) => Box::new(features.iter().copied()),
        }
    };
    let size = |query: usize| data.rows(query).len() as u32;
    let head = Head {
        is_double: matches!(data.features, Matrix::F64(_)),
        columns: data.features.columns() as u32,
        queries: data.query_ids.iter().cloned().zip((0..data.n_queries()).map(size)).collect(),
        weights: width_of_weights(&data.weights),
        doc_weights: width_of_weights(&data.doc_weights),
        relevance: Width::of(data.relevance.iter().copied()),
        features: Width::of(features()),
    };
    let start = encode_header(&head)?;
    let mut bytes = [&[0; BODY][..], &(start.len() as u64).to_le_bytes(), &start].concat();
    for (width, weights) in [(head.weights, &data.weights), (head.doc_weights, &data.doc_weights)] {
        if let Some(width) = width {
            width.write(weights.iter().copied(), &mut bytes);
        }
    }
    head.relevance.write(data.relevance.iter().copied(), &mut bytes);
    head.features.write(features(), &mut bytes);
    Ok(Kind::Pack.seal(bytes))
}

/// Packs a data set in canonical order, by bucket. Buckets without rows get no pack.
///
/// # Errors
/// As [`write`].
pub fn split(data: &Dataset, buckets: u32) -> Result<Vec<(u32, Vec<u8>)>> {
    let mut rows: Vec<Vec<usize>> = vec![Vec::new(); buckets as usize];
    for (query, id) in data.query_ids.iter().enumerate() {
        rows[bucket_of(id, buckets) as usize].extend(data.rows(query));
    }
    let used = rows.iter().zip(0..).filter(|(rows, _)| !rows.is_empty());
    used.map(|(rows, bucket)| Ok((bucket, write(&data.subset(rows))?))).collect()
}

/// The rows of a bucket among `buckets`, from a pack.
///
/// # Errors
/// Bytes that are not a pack of this bucket.
pub fn read(bytes: &[u8], bucket: u32, buckets: u32) -> Result<Dataset> {
    let named = |error: Error| Error::Data(format!("bucket {bucket}: {error}"));
    let data = parse(bytes).map_err(named)?;
    let other = data.query_ids.iter().find(|id| bucket_of(id, buckets) != bucket);
    other.map_or(Ok(()), |id| {
        let right = bucket_of(id, buckets);
        Err(named(Error::Data(format!(
            "query {id} belongs to bucket {right} of {buckets}, as ltr_bucket(query_id, {buckets}) returns"
        ))))
    })?;
    Ok(data)
}

fn parse(bytes: &[u8]) -> Result<Dataset> {
    let body = Kind::Pack.body(bytes)?;
    let more = || Kind::Pack.forged("more bytes");
    // 1. Queries.
    let (length, rest) = body.split_first_chunk().ok_or_else(more)?;
    let length = usize::try_from(u64::from_le_bytes(*length)).unwrap_or(usize::MAX);
    let (head, mut rest) = rest.split_at_checked(length).ok_or_else(more)?;
    let head: Head = Kind::Pack.decode_body(head)?;
    let (queries, columns) = (head.queries.len(), head.columns as usize);
    let (mut query_ids, mut offsets, mut ticks) =
        (Vec::with_capacity(queries), vec![0usize], Ticks::default());
    for (id, documents) in head.queries {
        ticks.add(QUERY_COST);
        let is_number = !matches!(id, Id::Real(id) if id.is_nan());
        if query_ids.last().is_some_and(|last: &Id| *last >= id) || documents == 0 || !is_number {
            return Err(Kind::Pack.forged("queries in the order of their ids, with documents"));
        }
        offsets.push(offsets[offsets.len() - 1].saturating_add(documents as usize));
        query_ids.push(id);
    }
    let documents = offsets[queries];
    if documents == 0 || columns == 0 {
        return Err(Kind::Pack.forged("documents with features"));
    }
    // 2. Numbers.
    let mut doubles = |width: Width, count: usize| width.read_doubles(count, &mut rest).ok_or_else(more);
    let weights = head.weights.map_or_else(|| Ok(vec![1.0; queries]), |width| doubles(width, queries))?;
    let doc_weights = head.doc_weights.map_or_else(|| Ok(Vec::new()), |width| doubles(width, documents))?;
    let relevance = doubles(head.relevance, documents)?;
    let count = documents.saturating_mul(columns);
    let features = if head.is_double {
        Matrix::F64(shaped(documents, columns, doubles(head.features, count)?))
    } else {
        let singles = head.features.read(count, &mut rest, |number| number, |number| number as f32);
        Matrix::F32(shaped(documents, columns, singles.ok_or_else(more)?))
    };
    if !rest.is_empty() {
        return Err(Kind::Pack.forged("no further bytes"));
    }
    // 3. The values.
    let data =
        Dataset { features, offsets, query_ids, relevance, doc_weights, weights, ..Dataset::default() };
    judged(data).ok_or_else(|| Kind::Pack.forged("finite numbers, and weights from 0 to 1e100"))
}

/// Judged documents in canonical order; `None` if a number is not one that rows can have. A missing feature is NaN.
fn judged(mut data: Dataset) -> Option<Dataset> {
    let is_valid = data.features.count_infinite() == 0
        && data.relevance.iter().all(|grade| grade.is_finite())
        && data.weights.iter().all(|weight| is_query_weight(*weight))
        && data.doc_weights.iter().all(|weight| is_weight(*weight));
    let numbers = |rows: &[usize]| (1..=(rows[1] - rows[0]) as i64).map(Id::Integer);
    data.doc_ids = data.offsets.windows(2).flat_map(numbers).collect();
    data.query_features = Array2::default((data.n_queries(), 0));
    is_valid.then_some(data)
}
