//! The splits of an ensemble of oblivious trees, and the Shapley values of the features in a score.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use super::columns::Column;
use super::score_layout::{LevelSplits, MAX_DEPTH, levels};
use crate::base::{Result, Ticks, bytes_of, require};
use crate::math::{compare, sort_items};

/// Largest number of different thresholds of a column.
const MOST_THRESHOLDS: usize = 255;

/// A question about a document: is the value of a feature above a threshold? The bit of the leaf is
///
/// ```text
/// value is NaN (missing):  missing_above
/// otherwise:               value > threshold
/// ```
///
/// A split between missing and other values has the threshold [`f64::MAX`] with `missing_above`; no value exceeds it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Split {
    /// Number of the feature, from 0.
    pub feature: usize,
    /// The largest value that is not above; finite.
    pub threshold: f64,
    /// Whether a missing value counts as above. False for features without missing values in training: they are then
    /// below every threshold.
    pub missing_above: bool,
}

impl Split {
    /// The answer for a value; NaN is a missing one.
    pub fn is_above(&self, value: f64) -> bool {
        if value.is_nan() { self.missing_above } else { value > self.threshold }
    }

    /// The column that it shares with other splits.
    fn column(&self) -> (usize, bool) {
        (self.feature, self.missing_above)
    }

    fn order(&self, other: &Self) -> Ordering {
        self.column().cmp(&other.column()).then_with(|| compare(self.threshold, other.threshold))
    }
}

/// The trees of an ensemble, without the values of their leaves.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "StoredForest", into = "StoredForest")]
pub struct Forest {
    /// Splits of a tree.
    pub(super) depth: usize,
    pub(super) columns: Vec<Column>,
    /// Column and threshold index, level by level, tree by tree.
    pub(super) splits: Vec<(u32, u8)>,
    /// The splits again, for the score of one document.
    pub(super) levels: Vec<LevelSplits>,
}

/// Splits of a tree, columns and splits.
type StoredForest = (usize, Vec<Column>, Vec<(u32, u8)>);

impl From<StoredForest> for Forest {
    fn from((depth, columns, splits): StoredForest) -> Self {
        let levels = levels(depth, columns.len(), &splits);
        Self { depth, columns, splits, levels }
    }
}

impl From<Forest> for StoredForest {
    fn from(Forest { depth, columns, splits, .. }: Forest) -> Self {
        (depth, columns, splits)
    }
}

impl Forest {
    /// The trees with these splits, `depth` for each tree.
    pub fn new(depth: usize, splits: &[Split]) -> Self {
        // 1. The different questions, by feature and threshold.
        let mut known: Vec<Split> = splits.to_vec();
        sort_items(&mut known, Split::order);
        known.dedup_by(|a, b| a.order(b).is_eq());
        let same = |a: &Split, b: &Split| a.column() == b.column();
        let of_column = |questions: &[Split]| {
            let (feature, missing_above) = questions[0].column();
            let thresholds: Vec<f64> = questions.iter().map(|split| split.threshold).collect();
            (feature, missing_above, thresholds).into()
        };
        let columns: Vec<Column> = known.chunk_by(same).map(of_column).collect();
        // 2. The number of each split among them.
        let number = |split: &Split| {
            let column = columns.partition_point(|column: &Column| column.column() < split.column());
            let rank = columns[column].thresholds.partition_point(|threshold| *threshold < split.threshold);
            (column as u32, rank as u8)
        };
        let splits: Vec<(u32, u8)> = splits.iter().map(number).collect();
        (depth, columns, splits).into()
    }

    /// Splits of a tree.
    pub fn depth(&self) -> usize {
        self.depth
    }

    pub fn trees(&self) -> usize {
        self.splits.len() / self.depth.max(1)
    }

    /// Number of leaves of all trees.
    pub fn leaves(&self) -> usize {
        let leaves = 1_usize.checked_shl(self.depth as u32).unwrap_or(usize::MAX);
        self.trees().saturating_mul(leaves)
    }

    /// Bytes that it takes.
    pub fn bytes(&self) -> u64 {
        let thresholds = self.columns.iter().map(|column| column.thresholds.len()).sum();
        bytes_of::<Column>(self.columns.len())
            + bytes_of::<[f64; 2]>(thresholds)
            + bytes_of::<u64>(self.splits.len())
            + bytes_of::<LevelSplits>(self.levels.len())
    }

    /// Operations of about a nanosecond that the score of a document takes.
    pub fn operations(&self) -> usize {
        2 * self.columns.len() + self.trees() + self.splits.len() / 8
    }

    /// The splits, level by level, tree by tree.
    pub fn splits(&self) -> impl Iterator<Item = Split> + '_ {
        self.splits.iter().map(|&(column, rank)| {
            let Column { feature, missing_above, thresholds, .. } = &self.columns[column as usize];
            let threshold = thresholds[usize::from(rank)];
            Split { feature: *feature, threshold, missing_above: *missing_above }
        })
    }

    /// Numbers of the features that splits compare, ascending.
    pub fn features(&self) -> Vec<usize> {
        let mut features: Vec<usize> = self.columns.iter().map(|column| column.feature).collect();
        features.dedup();
        features
    }

    /// Whether each column has thresholds, few enough for their indices.
    pub(super) fn has_valid_thresholds(&self) -> bool {
        self.columns.iter().all(|Column { thresholds, .. }| {
            (1..=MOST_THRESHOLDS).contains(&thresholds.len())
                && thresholds.iter().all(|threshold| threshold.is_finite())
                && thresholds.windows(2).all(|pair| pair[0] < pair[1])
        })
    }

    /// Checks trees of documents with `width` features.
    ///
    /// # Errors
    /// [`Error::Corrupt`](crate::base::error::Error::Corrupt) for what [`Self::new`] does not make.
    pub fn validate(&self, width: usize) -> Result<()> {
        let ordered = self.columns.windows(2).all(|pair| pair[0].column() < pair[1].column());
        let known = |&(column, rank): &(u32, u8)| {
            let column = self.columns.get(column as usize);
            column.is_some_and(|column| usize::from(rank) < column.thresholds.len())
        };
        require(
            "trees",
            &[
                ((1..=MAX_DEPTH).contains(&self.depth), "a depth from 1 to 8"),
                (!self.splits.is_empty(), "a tree"),
                (self.depth > 0 && self.splits.len().is_multiple_of(self.depth), "full trees"),
                (self.columns.iter().all(|column| column.feature < width), "splits of its features"),
                (ordered, "features in ascending order"),
                (self.has_valid_thresholds(), "finite thresholds in ascending order"),
                (self.splits.iter().all(known), "thresholds of its features"),
            ],
        )
    }
}

// Shapley values of the features in an oblivious forest's score (Shapley 1953).
//
// The value of a set of features is the score of a document with these features of the explained document and all
// others of a base. Shapley values are additive, so an ensemble's values are the sums over its trees.
// In a tree, a feature counts only if one of its splits separates the document from the base. A tree has at most one
// such feature per split, so all sets of them are evaluated, and the values are exact.

/// A feature whose splits in a tree separate the document from the base.
#[derive(Clone, Copy, Default)]
struct Player {
    feature: usize,
    /// The bits of the leaf that change with the feature.
    flips: usize,
}

impl Forest {
    /// The contribution of each of `n` features relative to the base's score, shape `(n,)`.
    ///
    /// `values`: leaf values, tree by tree. `document`, `base`: shape `(width,)`; the features i, i + n, ... of the
    /// trees are scalings of feature i.
    pub fn contributions(&self, values: &[f64], document: &[f64], base: &[f64], n: usize) -> Vec<f64> {
        let (depth, mut ticks) = (self.depth(), Ticks::default());
        let mut added = vec![0.0; n];
        let mut splits = self.splits();
        let mut sets = vec![0.0; 1 << depth];
        for values in values.chunks_exact(1 << depth) {
            // 1. The leaf of the base, and how each feature changes it.
            let (mut players, mut count, mut leaf) = ([Player::default(); MAX_DEPTH], 0, 0);
            for (level, split) in splits.by_ref().take(depth).enumerate() {
                let (of_document, of_base) =
                    (split.is_above(document[split.feature]), split.is_above(base[split.feature]));
                leaf |= usize::from(of_base) << level;
                if of_document != of_base {
                    let feature = split.feature % n;
                    let index = players[..count].iter().position(|player| player.feature == feature);
                    let player = index.unwrap_or(count);
                    count = count.max(player + 1);
                    players[player].feature = feature;
                    players[player].flips |= 1 << level;
                }
            }
            // 2. The value of each set: the feature of player i is in set s if bit i of s is set.
            let players = &players[..count];
            for (set, value) in sets[..1 << count].iter_mut().enumerate() {
                let members = players.iter().enumerate().filter(|(player, _)| set >> player & 1 == 1);
                *value = values[members.fold(leaf, |leaf, (_, player)| leaf ^ player.flips)];
            }
            // 3. What each feature adds to the sets without it.
            for (number, player) in players.iter().enumerate() {
                added[player.feature] += shapley_value(&sets[..1 << count], number, count);
            }
            ticks.add(4 * depth + (count << count));
        }
        added
    }
}

/// The Shapley value of a player among `count` players, from the values of all sets.
fn shapley_value(sets: &[f64], player: usize, count: usize) -> f64 {
    // The weight of a set of s other features: s! (n - 1 - s)! / n!, as 1 / (n C(n - 1, s)).
    let mut weights = [1.0 / count as f64; MAX_DEPTH];
    for s in 1..count {
        weights[s] = weights[s - 1] * s as f64 / (count - s) as f64;
    }
    let without = (0..sets.len()).filter(|set| set >> player & 1 == 0);
    without.map(|set| weights[set.count_ones() as usize] * (sets[set | 1 << player] - sets[set])).sum()
}
