//! Packs: the rows of one bucket as bytes.
//!
//! Rows are in canonical order: queries by id, the documents of each by id, features, relevance and weight. A missing
//! feature is NaN. Features and grades take 4 bytes each if single precision holds all of them exactly. Document ids only
//! decide the order, so a pack has none.

use ndarray::Array2;

use super::bytes::{Kind, Reader, Writer};
use crate::base::{Error, Result, Ticks};
use crate::data::{
    Dataset, DatasetBuilder, FinishOptions, Id, Matrix, Missing, bucket_of, is_weight, shaped,
};
use crate::math::compare;

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

/// The pack of a data set in canonical order whose missing features are NaN.
pub fn write(data: &Dataset) -> Vec<u8> {
    let is_one = |weight: &f64| compare(*weight, 1.0).is_eq();
    let mut writer = Writer::default();
    writer.count(u64::from(matches!(data.features, Matrix::F64(_))));
    writer.count(data.features.columns() as u64);
    writer.count(data.n_queries() as u64);
    for (query, id) in data.query_ids.iter().enumerate() {
        writer.id(id);
        writer.count(data.rows(query).len() as u64);
    }
    // Weights that are all 1 are left out.
    for weights in [&data.weights, &data.doc_weights] {
        let has_weights = !weights.iter().all(is_one);
        writer.count(u64::from(has_weights));
        if has_weights {
            writer.series(weights.iter().copied());
        }
    }
    writer.series(data.relevance.iter().copied());
    match &data.features {
        Matrix::F32(features) => writer.series(features.iter().map(|value| f64::from(*value))),
        Matrix::F64(features) => writer.series(features.iter().copied()),
    }
    writer.seal(Kind::Pack)
}

/// The packs of a data set in canonical order, by bucket. Buckets without rows have none.
pub fn split(data: &Dataset, buckets: u32) -> Vec<(u32, Vec<u8>)> {
    let mut rows: Vec<Vec<usize>> = vec![Vec::new(); buckets as usize];
    for (query, id) in data.query_ids.iter().enumerate() {
        rows[bucket_of(id, buckets) as usize].extend(data.rows(query));
    }
    let used = rows.iter().zip(0..).filter(|(rows, _)| !rows.is_empty());
    used.map(|(rows, bucket)| (bucket, write(&data.subset(rows)))).collect()
}

/// The rows of a bucket among `buckets`, from a pack.
///
/// # Errors
/// Bytes that are no pack of this bucket.
pub fn read(bytes: &[u8], bucket: u32, buckets: u32) -> Result<Dataset> {
    let named = |error: Error| Error::Data(format!("bucket {bucket}: {error}"));
    let data = parse(bytes).map_err(named)?;
    let other = data.query_ids.iter().find(|id| bucket_of(id, buckets) != bucket);
    other.map_or(Ok(()), |id| {
        let right = bucket_of(id, buckets);
        Err(named(Error::Data(format!(
            "query {id} belongs to bucket {right} of {buckets}, as ltr_bucket(query_id, {buckets}) tells"
        ))))
    })?;
    Ok(data)
}

fn parse(bytes: &[u8]) -> Result<Dataset> {
    let mut reader = Reader::open(Kind::Pack, bytes)?;
    // 1. Queries.
    let is_double = reader.count_to(1)? == 1;
    let columns = reader.length()?;
    let queries = reader.length()?;
    let (mut query_ids, mut offsets, mut ticks) = (Vec::new(), vec![0], Ticks::default());
    for _ in 0..queries {
        ticks.add(QUERY_COST);
        let (id, documents) = (reader.id()?, reader.count()?);
        if query_ids.last().is_some_and(|last: &Id| *last >= id) || documents == 0 {
            return Err(reader.forged("queries in the order of their ids, with documents"));
        }
        let end = offsets[offsets.len() - 1] + documents.min(bytes.len() as u64 + 1) as usize;
        query_ids.push(id);
        offsets.push(end);
    }
    let documents = offsets[queries];
    if documents == 0 || columns == 0 {
        return Err(reader.forged("documents with features"));
    }
    // 2. Numbers.
    let weights = |reader: &mut Reader<'_>, count: usize| {
        if reader.count_to(1)? == 1 { reader.doubles(count) } else { Ok(Vec::new()) }
    };
    let (mut query_weights, doc_weights) = (weights(&mut reader, queries)?, weights(&mut reader, documents)?);
    if query_weights.is_empty() {
        query_weights = vec![1.0; queries];
    }
    let relevance = reader.doubles(documents)?;
    let count = documents.saturating_mul(columns);
    let features = if is_double {
        Matrix::F64(shaped(documents, columns, reader.doubles(count)?))
    } else {
        Matrix::F32(shaped(documents, columns, reader.singles(count)?))
    };
    reader.end()?;
    // 3. Their values.
    let data = Dataset {
        query_ids,
        offsets,
        relevance,
        features,
        weights: query_weights,
        doc_weights,
        ..Dataset::default()
    };
    judged(data).ok_or_else(|| reader.forged("finite numbers, and weights from 0 to 1e100"))
}

/// Judged documents in canonical order; `None` if a number is not one that rows can have. A missing feature is NaN.
pub(super) fn judged(mut data: Dataset) -> Option<Dataset> {
    let is_valid = data.features.count_infinite() == 0
        && data.relevance.iter().all(|grade| grade.is_finite())
        && data.weights.iter().all(|weight| *weight > 0.0 && is_weight(*weight))
        && data.doc_weights.iter().all(|weight| is_weight(*weight));
    let numbers = |rows: &[usize]| (1..=(rows[1] - rows[0]) as i64).map(Id::Integer);
    data.doc_ids = data.offsets.windows(2).flat_map(numbers).collect();
    data.query_features = Array2::default((data.n_queries(), 0));
    is_valid.then_some(data)
}
