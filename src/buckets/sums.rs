//! Sums over buckets.
//!
//! Buckets are the leaves of a binary tree; a node is the sum of its children, left plus right. Finished subtrees are
//! kept, and two siblings are added as soon as both exist. So order, grouping and repetition of merges change no bit. A
//! bucket without rows is skipped: its parent has the sum of its sibling.

use std::collections::BTreeMap;

use xxhash_rust::xxh3::xxh3_64;

use super::bytes::{Kind, Reader, Writer};
use super::sample::Sample;
use crate::base::{Error, Result};
use crate::data::MOST_BUCKETS;

/// The answer of some buckets to a question.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BucketSums {
    /// Numbers that are added one by one; none if the buckets take no part.
    pub numbers: Vec<f64>,
    /// Keys in ascending order, with counts that are added.
    pub counts: Vec<(u32, u64)>,
    /// Documents or queries, of which those with the smallest keys are kept.
    pub sample: Sample,
}

impl BucketSums {
    /// Bytes in memory.
    pub(super) fn bytes(&self) -> usize {
        8 * self.numbers.len() + 12 * self.counts.len() + self.sample.bytes()
    }

    /// Adds the sums of the buckets to the right.
    ///
    /// # Errors
    /// Another number of numbers; a sample of another size, or of too many bytes.
    fn add(&mut self, other: Self) -> Result<()> {
        match (self.numbers.len(), other.numbers.len()) {
            (_, 0) => {}
            (0, _) => self.numbers = other.numbers,
            (own, new) if own == new => {
                self.numbers.iter_mut().zip(other.numbers).for_each(|(sum, number)| *sum += number);
            }
            _ => {
                let problem =
                    "packs with different numbers of features; every document needs the same features";
                return Err(Error::Data(problem.to_owned()));
            }
        }
        // Both are sorted, so the sort merges two runs.
        self.counts.extend(other.counts);
        self.counts.sort_by_key(|(key, _)| *key);
        self.counts.dedup_by(|(key, count), (last, sum)| {
            let is_same = key == last;
            if is_same {
                *sum = sum.saturating_add(*count);
            }
            is_same
        });
        self.sample.add(other.sample)
    }

    pub(super) fn write(&self, writer: &mut Writer) {
        writer.numbers(&self.numbers);
        writer.count(self.counts.len() as u64);
        for (key, count) in &self.counts {
            writer.count(u64::from(*key));
            writer.count(*count);
        }
        self.sample.write(writer);
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self> {
        let numbers = reader.numbers()?;
        let length = reader.length()?;
        let mut counts: Vec<(u32, u64)> = Vec::new();
        for _ in 0..length {
            let key = reader.count_to(u64::from(u32::MAX))? as u32;
            if counts.last().is_some_and(|(last, _)| *last >= key) {
                return Err(reader.forged("keys in ascending order"));
            }
            counts.push((key, reader.count()?));
        }
        Ok(Self { numbers, counts, sample: Sample::read(reader)? })
    }
}

/// The round that an answer belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Round {
    /// Identifies the training and all answers of earlier rounds.
    pub training: u64,
    /// Number of the round, from 1.
    pub number: u64,
    /// Number of buckets.
    pub buckets: u32,
    /// The buckets with rows, ascending; `None` in the first round, which finds them.
    pub present: Option<Vec<u32>>,
}

impl Round {
    /// The first of the buckets with rows from `start` to `end`.
    fn first_in(&self, start: u32, end: u32) -> Option<u32> {
        match &self.present {
            None => (start < end).then_some(start),
            Some(present) => {
                let next = present.get(present.partition_point(|bucket| *bucket < start)).copied();
                next.filter(|bucket| *bucket < end)
            }
        }
    }

    /// Refuses a subtree without rows.
    fn check_rows(&self, start: u32, width: u32) -> Result<()> {
        let first = self.first_in(start, start + width);
        let problem = || format!("bucket {start} has no rows in the first round, but an answer later");
        first.map(drop).ok_or_else(|| Error::Data(problem()))
    }

    fn check_same(&self, other: &Self) -> Result<()> {
        let problem = if self.number != other.number {
            format!("an answer of round {}, in round {}", other.number, self.number)
        } else if self != other {
            "an answer of another training".to_owned()
        } else {
            return Ok(());
        };
        Err(Error::Data(format!(
            "{problem}; compute answers with ltr_partial of the state that ltr_step gets"
        )))
    }

    /// Writes the round.
    pub fn write(&self, writer: &mut Writer) {
        writer.count(self.training);
        writer.count(self.number);
        writer.count(u64::from(self.buckets));
        writer.count(u64::from(self.present.is_some()));
        if let Some(present) = &self.present {
            let mut bits = vec![0u8; (self.buckets as usize).div_ceil(8)];
            present.iter().for_each(|bucket| bits[*bucket as usize / 8] |= 1 << (bucket % 8));
            writer.bytes(&bits);
        }
    }

    /// Reads the bytes.
    ///
    /// # Errors
    /// Bytes that [`Self::write`] does not write.
    pub fn read(reader: &mut Reader<'_>) -> Result<Self> {
        let (training, number) = (reader.count()?, reader.count()?);
        let buckets = reader.count_to(MOST_BUCKETS)? as u32;
        if !buckets.is_power_of_two() {
            return Err(reader.forged("a power of two as the number of buckets"));
        }
        let present = if reader.count_to(1)? == 0 {
            None
        } else {
            let bits = reader.bytes()?;
            if bits.len() != (buckets as usize).div_ceil(8) {
                return Err(reader.forged("a bit for each bucket"));
            }
            let is_present = |bucket: &u32| bits[*bucket as usize / 8] >> (bucket % 8) & 1 == 1;
            Some((0..buckets).filter(is_present).collect())
        };
        Ok(Self { training, number, buckets, present })
    }
}

/// The sums of a subtree, one for each question of the round.
#[derive(Debug, Clone, PartialEq)]
struct Node {
    /// Number of leaves.
    width: u32,
    sums: Vec<BucketSums>,
}

/// The answers of some buckets to all questions of a round.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    round: Round,
    /// The finished subtrees, by their first leaf.
    nodes: BTreeMap<u32, Node>,
}

fn join(left: Vec<BucketSums>, right: Vec<BucketSums>) -> Result<Vec<BucketSums>> {
    if left.len() != right.len() {
        return Err(Error::Data("an answer of another training: it has another number of sums".to_owned()));
    }
    let add = |(mut left, right): (BucketSums, BucketSums)| left.add(right).map(|()| left);
    left.into_iter().zip(right).map(add).collect()
}

impl Answer {
    /// The answer of one bucket.
    ///
    /// # Errors
    /// A bucket that had no rows in the first round.
    pub fn of_bucket(round: Round, bucket: u32, sums: Vec<BucketSums>) -> Result<Self> {
        round.check_rows(bucket, 1)?;
        let mut answer = Self { round, nodes: BTreeMap::new() };
        answer.insert(bucket, Node { width: 1, sums })?;
        Ok(answer)
    }

    /// Adds the answers of other buckets.
    ///
    /// # Errors
    /// An answer of another round or training; a bucket that appears twice.
    pub fn merge(&mut self, other: Self) -> Result<()> {
        self.round.check_same(&other.round)?;
        other.nodes.into_iter().try_for_each(|(start, node)| self.insert(start, node))
    }

    /// Adds a subtree and joins finished siblings.
    fn insert(&mut self, mut start: u32, mut node: Node) -> Result<()> {
        // 1. The first bucket that an earlier subtree has, too.
        let end = start + node.width;
        for (first, earlier) in self.nodes.range(..end).rev() {
            let last = first + earlier.width;
            if let Some(bucket) = self.round.first_in((*first).max(start), last.min(end)) {
                return Err(Error::Data(format!(
                    "bucket {bucket} appears twice in round {}; pack all rows of a bucket together, and merge its answer once",
                    self.round.number
                )));
            }
            if last <= start {
                break;
            }
        }
        // 2. Up the tree, as long as the sibling is finished or has no rows.
        while node.width < self.round.buckets {
            let is_left = (start / node.width).is_multiple_of(2);
            let sibling = if is_left { start + node.width } else { start - node.width };
            match self.nodes.get(&sibling) {
                Some(other) if other.width == node.width => {
                    let other = self.nodes.remove(&sibling).map_or_else(Vec::new, |other| other.sums);
                    let own = std::mem::take(&mut node.sums);
                    node.sums = if is_left { join(own, other) } else { join(other, own) }?;
                }
                _ if self.round.present.is_some()
                    && self.round.first_in(sibling, sibling + node.width).is_none() => {}
                _ => break,
            }
            (start, node.width) = (start.min(sibling), 2 * node.width);
        }
        self.nodes.insert(start, node);
        Ok(())
    }

    /// The sums over all buckets, and the buckets with rows.
    ///
    /// # Errors
    /// An answer of another round or training than `round`; a bucket that is missing.
    pub fn total(mut self, round: &Round) -> Result<(Vec<BucketSums>, Vec<u32>)> {
        round.check_same(&self.round)?;
        if self.round.present.is_none() {
            // The first round: only buckets with rows have answers.
            let all = self.nodes.iter().flat_map(|(start, node)| *start..start + node.width).collect();
            let nodes = std::mem::take(&mut self.nodes);
            self.round.present = Some(all);
            nodes.into_iter().try_for_each(|(start, node)| self.insert(start, node))?;
        }
        let present = self.round.present.take().unwrap_or_default();
        let has = |bucket: &u32| {
            let node = self.nodes.range(..=bucket).next_back();
            node.is_some_and(|(start, node)| *bucket < start + node.width)
        };
        if let Some(bucket) = present.iter().find(|bucket| !has(bucket)) {
            let problem =
                "is missing; every bucket with rows in the first round needs an answer in each round";
            return Err(Error::Data(format!("bucket {bucket} {problem}")));
        }
        match self.nodes.into_values().next() {
            Some(node) if node.width == round.buckets => Ok((node.sums, present)),
            _ => Err(Error::Data("an answer without buckets".to_owned())),
        }
    }

    /// Bytes of the sums in memory.
    pub fn bytes(&self) -> u64 {
        let sums = self.nodes.values().flat_map(|node| &node.sums);
        sums.map(|sums| sums.bytes() as u64).sum()
    }

    /// Identifies the sums.
    pub fn digest(&self) -> u64 {
        xxh3_64(&self.to_bytes())
    }

    /// The BLOB.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut writer = Writer::default();
        self.round.write(&mut writer);
        writer.count(self.nodes.len() as u64);
        for (start, node) in &self.nodes {
            writer.count(u64::from(*start));
            writer.count(u64::from(node.width));
            writer.count(node.sums.len() as u64);
            node.sums.iter().for_each(|sums| sums.write(&mut writer));
        }
        writer.seal(Kind::Answer)
    }

    /// The answer of a BLOB.
    ///
    /// # Errors
    /// Bytes that [`Self::to_bytes`] does not write.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader::open(Kind::Answer, bytes)?;
        let mut answer = Self { round: Round::read(&mut reader)?, nodes: BTreeMap::new() };
        for _ in 0..reader.length()? {
            let buckets = answer.round.buckets;
            let (start, width) = (reader.count_to(u64::from(buckets))?, reader.count_to(u64::from(buckets))?);
            let (start, width) = (start as u32, width as u32);
            if !width.is_power_of_two() || start % width != 0 || start + width > buckets {
                return Err(reader.forged("subtrees of the tree of buckets"));
            }
            answer.round.check_rows(start, width)?;
            let sums = (0..reader.length()?).map(|_| BucketSums::read(&mut reader)).collect::<Result<_>>()?;
            answer.insert(start, Node { width, sums })?;
        }
        reader.end()?;
        Ok(answer)
    }
}
