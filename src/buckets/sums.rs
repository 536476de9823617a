//! Sums over buckets.
//!
//! Buckets are the leaves of a binary tree; a node is the sum of its children, left plus right. Finished subtrees are
//! kept, and two siblings are added as soon as both exist. So order, grouping and repetition of merges change no bit. A
//! bucket without rows is skipped: its parent has the sum of its sibling.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::bytes::Kind;
use super::round::{Round, of_another_training};
use crate::base::param::list;
use crate::base::{Error, Result};

/// The answer of some buckets to a question.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct BucketSums {
    /// Numbers that are added one by one; empty if the bucket does not take part.
    #[serde(deserialize_with = "list::whole")]
    pub numbers: Vec<f64>,
    /// Keys in ascending order, with counts that are added.
    #[serde(with = "gaps")]
    pub counts: Vec<(u32, u64)>,
}

impl From<Vec<f64>> for BucketSums {
    fn from(numbers: Vec<f64>) -> Self {
        Self { numbers, counts: Vec::new() }
    }
}

impl BucketSums {
    /// Bytes in memory.
    pub(super) fn bytes(&self) -> usize {
        8 * self.numbers.len() + 12 * self.counts.len()
    }

    /// Adds the sums of the buckets to the right.
    ///
    /// # Errors
    /// A different number of numbers.
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
        Ok(())
    }
}

/// Ascending keys as differences, which mostly take a byte.
mod gaps {
    use serde::de::Error;
    use serde::{Deserializer, Serializer};

    use crate::base::param::list;

    pub fn serialize<S: Serializer>(counts: &[(u32, u64)], to: S) -> Result<S::Ok, S::Error> {
        let before = std::iter::once(0).chain(counts.iter().map(|(key, _)| *key));
        let gap = |((key, count), before): (&(u32, u64), u32)| (key - before, *count);
        list::serialize(&counts.iter().zip(before).map(gap).collect::<Vec<_>>(), to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<(u32, u64)>, D::Error> {
        let mut counts: Vec<(u32, u64)> = list::deserialize(from)?;
        for index in 1..counts.len() {
            let (before, gap) = (counts[index - 1].0, counts[index].0);
            let key = before.checked_add(gap).filter(|key| *key > before);
            counts[index].0 = key.ok_or_else(|| D::Error::custom("keys that do not ascend"))?;
        }
        Ok(counts)
    }
}

/// A subtree's sums for each question of the round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Node {
    /// Number of leaves.
    width: u32,
    sums: Vec<BucketSums>,
}

/// The answers of some buckets to all questions of a round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    round: Round,
    /// The finished subtrees, by their first leaf.
    nodes: BTreeMap<u32, Node>,
}

fn join(left: Vec<BucketSums>, right: Vec<BucketSums>) -> Result<Vec<BucketSums>> {
    if left.len() != right.len() {
        return Err(of_another_training("answer", "wrong number of sums"));
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
    /// An answer from a different round or training; a bucket that appears twice.
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
    /// An answer from a different round or training than `round`; a missing bucket.
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

    /// Memory of the sums, in bytes.
    pub fn bytes(&self) -> u64 {
        let sums = self.nodes.values().flat_map(|node| &node.sums);
        sums.map(|sums| sums.bytes() as u64).sum()
    }

    /// Identifies the sums.
    ///
    /// # Errors
    /// As [`Self::to_bytes`].
    pub fn digest(&self) -> Result<u64> {
        Ok(xxh3_64(&self.to_bytes()?))
    }

    /// The BLOB.
    ///
    /// # Errors
    /// Sums that are too long.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        Kind::Answer.encode(self)
    }

    /// The answer of a BLOB.
    ///
    /// # Errors
    /// Bytes that [`Self::to_bytes`] does not write.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let Self { round, nodes } = Kind::Answer.decode(bytes)?;
        round.check()?;
        let buckets = round.buckets;
        let mut answer = Self { round, nodes: BTreeMap::new() };
        for (start, node) in nodes {
            let width = node.width;
            if !width.is_power_of_two() || width > buckets || start % width != 0 || start >= buckets {
                return Err(Kind::Answer.forged("subtrees of the tree of buckets"));
            }
            answer.round.check_rows(start, width)?;
            answer.insert(start, node)?;
        }
        Ok(answer)
    }
}
