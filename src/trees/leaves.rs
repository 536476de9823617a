//! The values of the leaves of a tree, exactly: they minimize
//!
//! sum over queries of sum_j w_j (r_j - v_j - mean of (r - v))^2 + ridge |v|^2,
//!
//! where v_j is the value of the leaf of document j, and means are weighted by w. With n_q the weights of a query by leaf and
//! N_q their sum, this is (sum_q diag(n_q) - n_q n_q' / N_q + ridge I) v = the sums of gradients by leaf. The usual value
//! of a leaf (Friedman 2001, algorithm 2) leaves the second term out, and with it that only differences within queries
//! count.

use super::rows::Shard;
use crate::base::control::Control;
use crate::base::error::{Error, Result};
use crate::base::parallel;
use crate::math::cholesky::factor_and_solve;
use crate::math::lanes::{self, LANES, Lanes};
use crate::math::simd::{BYTES, PART};

/// Largest number of partial sums.
const PARTS: usize = 16;

/// Partial sums.
struct Part {
    /// Upper triangle, row-major (leaves, leaves).
    matrix: Vec<f64>,
    right: Vec<f64>,
}

/// Numbers that the solution takes.
pub fn numbers(leaves: usize) -> usize {
    (PARTS + 2) * (leaves + LANES) * (leaves + LANES)
}

/// The values of the leaves.
///
/// # Errors
/// An interruption; numbers that are too large.
pub fn values(shards: &[Shard], leaves: usize, ridge: f64, control: &Control) -> Result<Vec<f64>> {
    // 1. Sums over queries. The parts do not depend on the number of threads.
    let size = shards.len().div_ceil(PARTS).max(1);
    let sum = |part: usize| {
        let mut sums = Part { matrix: vec![0.0; leaves * leaves], right: vec![0.0; leaves] };
        for shard in &shards[part * size..shards.len().min((part + 1) * size)] {
            control.check()?;
            sums.add(shard, leaves);
        }
        Ok(sums)
    };
    let parts: Vec<Part> = parallel::try_map(shards.len().div_ceil(size), sum)?;
    // 2. The system.
    let width = lanes::blocks_for(leaves);
    let mut matrix = vec![Lanes::ZERO; width * LANES * width];
    let mut right = vec![0.0; leaves];
    for part in parts {
        right.iter_mut().zip(&part.right).for_each(|(sum, value)| *sum += value);
        for i in 0..leaves {
            for j in i..leaves {
                *lanes::get_mut(&mut matrix[i * width..], j) += part.matrix[i * leaves + j];
            }
        }
    }
    for i in 0..leaves {
        *lanes::get_mut(&mut matrix[i * width..], i) += ridge;
    }
    // 3. Its solution.
    let mut solution = lanes::from_slice(&right);
    let solved = factor_and_solve(&mut matrix, leaves, &mut solution);
    let values = lanes::to_vec(&solution, leaves);
    if solved && values.iter().all(|value| value.is_finite()) {
        return Ok(values);
    }
    Err(Error::Data(
        "the values of leaves are beyond the range of numbers; are grades or weights too large?".to_owned(),
    ))
}

impl Part {
    fn add(&mut self, shard: &Shard, leaves: usize) {
        let mut of_query = vec![0.0; leaves];
        let mut used: Vec<usize> = Vec::with_capacity(leaves);
        for query in shard.offsets.windows(2) {
            let mut total = 0.0;
            for row in query[0]..query[1] {
                let (leaf, weight) = (usize::from(shard.leaves[row]), shard.weights[row]);
                self.right[leaf] += shard.gradients[row];
                if weight > 0.0 {
                    if of_query[leaf] <= 0.0 {
                        used.push(leaf);
                    }
                    of_query[leaf] += weight;
                    total += weight;
                }
            }
            used.sort_unstable();
            for (number, &i) in used.iter().enumerate() {
                let weight = of_query[i];
                self.matrix[i * leaves + i] += weight;
                let factor = weight / total;
                let row = &mut self.matrix[i * leaves..(i + 1) * leaves];
                for &j in &used[number..] {
                    row[j] -= factor * of_query[j];
                }
            }
            for leaf in used.drain(..) {
                of_query[leaf] = 0.0;
            }
        }
    }
}

// The splits of many trees at a time, for the score of one document.

/// Largest depth of a tree: the number of a leaf is a byte.
pub const MAX_DEPTH: usize = 8;

/// Columns that a comparison can choose from.
pub const MOST_COLUMNS: usize = PART * 16;

/// One split of each of [`BYTES`] trees: of a document with these bins of columns, the bit of the leaf is `bin > rank`.
#[derive(Debug, Clone, PartialEq)]
pub struct LevelSplits {
    /// The column of each split.
    pub columns: [u8; BYTES],
    /// The number of its border.
    pub ranks: [u8; BYTES],
}

impl LevelSplits {
    /// Splits that no document is above.
    const NONE: Self = Self { columns: [0; BYTES], ranks: [u8::MAX; BYTES] };
}

/// The levels of the first trees, then those of the next ones. None if there are too many columns, or no valid trees.
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

// The default of the learning rate.
//
// More documents allow larger steps, and fewer trees need them. CatBoost has a rule of this form with other constants
// (Prokhorenkova et al. 2018). Those here were chosen on validation data: sets of 12,000 to 600,000 documents, and 80 to
// 400 trees.

/// That of few documents and [`TREES`] trees.
const FEW: f64 = 0.05;

/// Numbers of documents between which the rate grows.
const DOCUMENTS: (f64, f64) = (1e4, 1e6);

/// The power of the number of documents.
const OF_DOCUMENTS: f64 = 0.4;

/// Trees that have the rate [`FEW`].
const TREES: f64 = 240.0;

/// The power of the number of trees.
const OF_TREES: f64 = -0.6;

/// The largest rate.
const LARGEST: f64 = 0.5;

/// The learning rate for these numbers of documents and trees.
pub fn default_rate(documents: usize, trees: usize) -> f64 {
    let documents = (documents as f64).clamp(DOCUMENTS.0, DOCUMENTS.1) / DOCUMENTS.0;
    let trees = trees.max(1) as f64 / TREES;
    (FEW * libm::pow(documents, OF_DOCUMENTS) * libm::pow(trees, OF_TREES)).min(LARGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_grows_with_documents_and_falls_with_trees() {
        let rounded = |documents, trees| (1000.0 * default_rate(documents, trees)).round();
        let of_documents: Vec<f64> = [0, 10_000, 60_000, 600_000, 1_000_000, 100_000_000]
            .map(|documents| rounded(documents, 240))
            .to_vec();
        assert_eq!(of_documents, [50.0, 50.0, 102.0, 257.0, 315.0, 315.0]);
        let of_trees: Vec<f64> = [1, 100, 240, 1000].map(|trees| rounded(0, trees)).to_vec();
        assert_eq!(of_trees, [500.0, 85.0, 50.0, 21.0]);
    }
}
