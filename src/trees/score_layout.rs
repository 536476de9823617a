//! Trees in the layout for the score of one document: the splits of many trees are evaluated at a time.

use crate::math::{BYTES, PART};

/// Largest depth of a tree: the number of a leaf is a byte.
pub const MAX_DEPTH: usize = 8;

/// Columns that a comparison can choose from.
pub const MOST_COLUMNS: usize = PART * 16;

/// One split of each of [`BYTES`] trees: for a document with these column bins, the leaf's bit is `bin > rank`.
#[derive(Debug, Clone, PartialEq)]
pub struct LevelSplits {
    /// The column of each split.
    pub columns: [u8; BYTES],
    /// The index of its threshold.
    pub ranks: [u8; BYTES],
}

impl LevelSplits {
    /// Splits that no document is above.
    const NONE: Self = Self { columns: [0; BYTES], ranks: [u8::MAX; BYTES] };
}

/// The levels of the first trees, then of the next ones. Empty for too many columns or invalid trees.
pub fn levels(depth: usize, columns: usize, splits: &[(u32, u8)]) -> Vec<LevelSplits> {
    if columns > MOST_COLUMNS || !(1..=MAX_DEPTH).contains(&depth) {
        return Vec::new();
    }
    let mut levels = Vec::new();
    for trees in splits.chunks(BYTES * depth) {
        for number in 0..depth {
            let mut level = LevelSplits::NONE;
            for (tree, splits) in trees.chunks_exact(depth).enumerate() {
                let (column, rank) = splits[number];
                level.columns[tree] = column as u8;
                level.ranks[tree] = rank;
            }
            levels.push(level);
        }
    }
    levels
}
