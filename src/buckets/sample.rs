//! Samples of documents or of whole queries, for what a training chooses before it asks for sums.
//!
//! The key of an item is a hash of the seed, the id of its query and its position there. A sample has the items with the
//! smallest keys. So it depends on the rows and on the seed, not on buckets, partitions, order or threads.

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::bytes::{Reader, Writer, check_bytes};
use super::pack::judged;
use crate::base::{Error, Result, Ticks};
use crate::data::id::hash;
use crate::data::{Dataset, Id, Matrix};
use crate::math::{compare, sort_items};

/// Operations, for [`Ticks`], of a key.
const ITEM_COST: usize = 64;

/// What is kept or left out as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// A document.
    Document,
    /// A query with all its documents.
    Query,
}

/// The items with the smallest keys.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sample {
    /// An item is kept if the items before it have fewer documents than this. So a sample of samples equals a sample of
    /// all items.
    most: u64,
    /// In the order of their keys.
    items: Vec<Item>,
}

#[derive(Debug, Clone, PartialEq)]
struct Item {
    key: u64,
    documents: u64,
    /// Id of the query, position of the first document, weights of documents or none, relevance, features.
    bytes: Vec<u8>,
}

impl Sample {
    /// A sample of at least `most` documents of these, in canonical order; all of them if there are no more.
    ///
    /// # Errors
    /// Documents that take too many bytes.
    pub fn of(data: &Dataset, unit: Unit, most: usize, seed: u64) -> Result<Self> {
        let (mut places, mut ticks) = (Vec::new(), Ticks::default());
        for (query, id) in data.query_ids.iter().enumerate() {
            let rows = data.rows(query);
            let step = if unit == Unit::Query { rows.len() } else { 1 };
            for start in rows.clone().step_by(step.max(1)) {
                ticks.add(ITEM_COST);
                let position = (start - rows.start) as u64;
                let key = xxh3_64_with_seed(&[hash(id), position].map(u64::to_le_bytes).concat(), seed);
                places.push((key, query, start..start + step));
            }
        }
        sort_items(&mut places, |a, b| a.0.cmp(&b.0));
        let (mut sample, mut documents) = (Self { most: most as u64, items: Vec::new() }, 0);
        for (key, query, rows) in places {
            if documents >= most {
                break;
            }
            documents += rows.len();
            let mut writer = Writer::default();
            writer.id(&data.query_ids[query]);
            writer.count((rows.start - data.rows(query).start) as u64);
            writer.numbers(data.doc_weights.get(rows.clone()).unwrap_or_default());
            writer.series(data.relevance[rows.clone()].iter().copied());
            writer.series(data.features.rows_f64(rows.clone()).iter().copied());
            sample.items.push(Item { key, documents: rows.len() as u64, bytes: writer.into_bytes() });
        }
        check_bytes(sample.bytes()).map(|()| sample)
    }

    /// Adds the sample of other buckets.
    ///
    /// # Errors
    /// A sample of another size; too many bytes.
    pub(super) fn add(&mut self, other: Self) -> Result<()> {
        if self.most != 0 && other.most != 0 && self.most != other.most {
            return Err(Error::Data("an answer of another training: its sample has another size".to_owned()));
        }
        self.most = self.most.max(other.most);
        self.items.extend(other.items);
        sort_items(&mut self.items, |a, b| a.key.cmp(&b.key));
        self.items.truncate(self.kept());
        check_bytes(self.bytes())
    }

    /// How many items are kept.
    fn kept(&self) -> usize {
        let mut documents: u64 = 0;
        let is_kept = |item: &&Item| {
            let before = documents;
            documents = documents.saturating_add(item.documents);
            before < self.most
        };
        self.items.iter().take_while(is_kept).count()
    }

    pub(super) fn bytes(&self) -> usize {
        self.items.iter().map(|item| item.bytes.len()).sum()
    }

    /// The documents in canonical order, with these features. `is_double`: whether they need double precision.
    ///
    /// # Errors
    /// Bytes that [`Self::of`] does not write; no documents.
    pub fn dataset(&self, columns: usize, is_double: bool) -> Result<Dataset> {
        let mut items: Vec<(Id, u64, [Vec<f64>; 3])> = Vec::with_capacity(self.items.len());
        for item in &self.items {
            let mut reader = Reader::of_state(&item.bytes);
            let (id, position, documents) = (reader.id()?, reader.count()?, item.documents as usize);
            let mut doc_weights = reader.numbers()?;
            if doc_weights.is_empty() {
                doc_weights.resize(documents, 1.0);
            } else if doc_weights.len() != documents {
                return Err(reader.forged("a weight for each document"));
            }
            let relevance = reader.doubles(documents)?;
            let features = reader.doubles(documents.saturating_mul(columns))?;
            reader.end()?;
            items.push((id, position, [doc_weights, relevance, features]));
        }
        sort_items(&mut items, |a, b| a.0.cmp(&b.0).then(a.1.cmp(&b.1)));
        if items.windows(2).any(|pair| (&pair[0].0, pair[0].1) == (&pair[1].0, pair[1].1)) {
            return Err(Reader::of_state(&[]).forged("a sample without repeated documents"));
        }
        let (mut ids, mut offsets) = (Vec::new(), vec![0]);
        let (mut doc_weights, mut relevance, mut features) = (Vec::new(), Vec::new(), Vec::new());
        for (id, _, [weights, labels, values]) in items {
            if ids.last() != Some(&id) {
                ids.push(id);
                offsets.push(relevance.len());
            }
            doc_weights.extend(weights);
            relevance.extend(labels);
            features.extend(values);
            if let Some(last) = offsets.last_mut() {
                *last = relevance.len();
            }
        }
        let documents = relevance.len();
        let features = Matrix::of(documents, columns, features, is_double);
        if doc_weights.iter().all(|weight| compare(*weight, 1.0).is_eq()) {
            doc_weights.clear();
        }
        let weights = vec![1.0; ids.len()];
        let query_ids = ids;
        judged(Dataset {
            features,
            offsets,
            query_ids,
            relevance,
            doc_weights,
            weights,
            ..Dataset::default()
        })
        .filter(|_| documents > 0)
        .ok_or_else(|| Reader::of_state(&[]).forged("a sample of documents with finite numbers"))
    }

    pub(super) fn write(&self, writer: &mut Writer) {
        writer.count(self.most);
        writer.count(self.items.len() as u64);
        for Item { key, documents, bytes } in &self.items {
            writer.count(*key);
            writer.count(*documents);
            writer.bytes(bytes);
        }
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self> {
        let mut sample = Self { most: reader.count()?, items: Vec::new() };
        for _ in 0..reader.length()? {
            let (key, documents) = (reader.count()?, reader.count()?);
            sample.items.push(Item { key, documents, bytes: reader.bytes()?.to_vec() });
        }
        let ordered = sample.items.is_sorted_by_key(|item| item.key);
        if !ordered
            || sample.kept() < sample.items.len()
            || sample.items.iter().any(|item| item.documents == 0)
        {
            return Err(reader.forged("a sample in the order of its keys"));
        }
        Ok(sample)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buckets::{Answer, BucketSums, Round, pack};
    use crate::data::shaped;
    use crate::math::Random;

    /// 200 queries of 1 to 9 documents; ids of both classes.
    fn data() -> Dataset {
        let mut random = Random::new(5);
        let mut offsets = vec![0];
        let mut ids = Vec::new();
        for query in 0..200 {
            ids.push(if query < 100 { Id::Integer(query) } else { Id::text(&format!("query {query}")) });
            offsets.push(offsets[query as usize] + 1 + random.below(9));
        }
        let documents = offsets[200];
        let values: Vec<f64> = (0..3 * documents).map(|_| random.symmetric()).collect();
        let relevance = (0..documents).map(|_| random.below(3) as f64).collect();
        let features = Matrix::F64(shaped(documents, 3, values));
        let (query_ids, weights) = (ids, vec![1.0; 200]);
        judged(Dataset { features, offsets, query_ids, relevance, weights, ..Dataset::default() })
            .expect("finite numbers")
    }

    /// The sample over buckets whose answers are merged in a random order, each through its bytes.
    fn merged(data: &Dataset, buckets: u32, unit: Unit, most: usize, random: &mut Random) -> Sample {
        let round = Round { training: 1, number: 1, buckets, present: None };
        let of_pack = |(bucket, bytes): (u32, Vec<u8>)| {
            let sample = Sample::of(&pack::read(&bytes, bucket, buckets).unwrap(), unit, most, 3).unwrap();
            Answer::of_bucket(round.clone(), bucket, vec![BucketSums { sample, ..BucketSums::default() }])
                .unwrap()
        };
        let mut answers: Vec<Answer> = pack::split(data, buckets).into_iter().map(of_pack).collect();
        while answers.len() > 1 {
            let answer = answers.swap_remove(random.below(answers.len()));
            let other = random.below(answers.len());
            answers[other].merge(Answer::from_bytes(&answer.to_bytes()).unwrap()).unwrap();
        }
        answers.remove(0).total(&round).unwrap().0.remove(0).sample
    }

    #[test]
    fn a_sample_is_that_of_all_rows_for_any_buckets_and_merges() {
        let (data, mut random) = (data(), Random::new(6));
        for unit in [Unit::Document, Unit::Query] {
            for most in [1, 17, 400, 5000] {
                let all = Sample::of(&data, unit, most, 3).unwrap();
                for buckets in [1, 4, 64] {
                    assert!(
                        merged(&data, buckets, unit, most, &mut random) == all,
                        "{unit:?} {most} {buckets}"
                    );
                }
                // Every other item has a larger key than those of the sample.
                let keys = Sample::of(&data, unit, usize::MAX, 3).unwrap();
                assert!(keys.items.starts_with(&all.items));
                let sizes: Vec<u64> = all.items.iter().map(|item| item.documents).collect();
                let sum: u64 = sizes.iter().sum();
                assert!(sum >= most.min(data.n_docs()) as u64 && sum - sizes[sizes.len() - 1] < most as u64);
            }
        }
        assert!(
            Sample::of(&data, Unit::Query, 40, 3).unwrap() != Sample::of(&data, Unit::Query, 40, 4).unwrap()
        );
    }

    #[test]
    fn a_sample_of_all_rows_has_them_in_canonical_order() {
        let data = data();
        for unit in [Unit::Document, Unit::Query] {
            let found = Sample::of(&data, unit, data.n_docs(), 7).unwrap().dataset(3, true).unwrap();
            assert_eq!((&found.query_ids, &found.offsets), (&data.query_ids, &data.offsets));
            assert_eq!((found.relevance, found.features), (data.relevance.clone(), data.features.clone()));
        }
        let part = Sample::of(&data, Unit::Query, 100, 7).unwrap().dataset(3, true).unwrap();
        for (query, id) in part.query_ids.iter().enumerate() {
            let of_all = data.query_ids.iter().position(|other| other == id).expect("a query of the data");
            assert_eq!(part.labels(query), data.labels(of_all));
        }
        assert!(Sample::default().dataset(3, true).is_err());
        assert!(Sample::of(&data, Unit::Query, 100, 7).unwrap().dataset(4, true).is_err());
    }
}
