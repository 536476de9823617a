//! Exact leaf values of a tree: they minimize
//!
//! sum over queries of sum_j w_j (r_j - v_j - mean of (r - v))^2 + ridge |v|^2,
//!
//! where v_j is the value of the leaf of document j, and means are weighted by w. With n_q a query's weights by leaf and
//! N_q their sum, this is (sum_q diag(n_q) - n_q n_q' / N_q + ridge I) v = the sums of gradients by leaf. The usual value
//! of a leaf (Friedman 2001, algorithm 2) omits the second term, which makes only differences within queries
//! count.

use super::{rows::Shard, score_layout::MAX_DEPTH};
use crate::base::{Control, Error, Result, parallel};
use crate::math::{LANES, Lanes, factor_and_solve, lanes};

/// Largest number of partial sums.
const PARTS: usize = 16;

/// Partial sums.
struct LeafSums {
    /// Upper triangle, row-major (leaves, leaves).
    matrix: Vec<f64>,
    right: Vec<f64>,
}

/// Numbers that the solution takes.
pub fn numbers(leaves: usize) -> usize {
    (PARTS + 2) * (leaves + LANES) * (leaves + LANES)
}

/// Leaf values.
///
/// # Errors
/// An interrupt; numbers that are too large.
pub fn values(shards: &[Shard], leaves: usize, ridge: f64, control: &Control) -> Result<Vec<f64>> {
    // 1. Sums over queries. The parts do not depend on the number of threads.
    let size = shards.len().div_ceil(PARTS).max(1);
    let sum = |part: usize| {
        let mut sums = LeafSums { matrix: vec![0.0; leaves * leaves], right: vec![0.0; leaves] };
        for shard in &shards[part * size..shards.len().min((part + 1) * size)] {
            control.check()?;
            sums.add(shard, leaves);
        }
        Ok(sums)
    };
    let parts: Vec<LeafSums> = parallel::try_map(shards.len().div_ceil(size), sum)?;
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
    // 3. The solution.
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

impl LeafSums {
    fn add(&mut self, shard: &Shard, leaves: usize) {
        let mut query_sums = vec![0.0; leaves];
        // The leaves of a query: as bits, then as numbers in ascending order.
        let (mut bits, mut used) = ([0_u64; (1 << MAX_DEPTH) / 64], Vec::with_capacity(leaves));
        for query in shard.offsets.windows(2) {
            let mut total = 0.0;
            for row in query[0]..query[1] {
                let (leaf, weight) = (usize::from(shard.leaves[row]), shard.weights[row]);
                self.right[leaf] += shard.gradients[row];
                if weight > 0.0 {
                    bits[leaf / 64] |= 1 << (leaf % 64);
                    query_sums[leaf] += weight;
                    total += weight;
                }
            }
            for (word, bits) in bits.iter_mut().enumerate() {
                while *bits != 0 {
                    used.push(64 * word + bits.trailing_zeros() as usize);
                    *bits &= *bits - 1;
                }
            }
            for (number, &i) in used.iter().enumerate() {
                let weight = query_sums[i];
                self.matrix[i * leaves + i] += weight;
                let factor = weight / total;
                let row = &mut self.matrix[i * leaves..(i + 1) * leaves];
                for &j in &used[number..] {
                    row[j] -= factor * query_sums[j];
                }
            }
            for leaf in used.drain(..) {
                query_sums[leaf] = 0.0;
            }
        }
    }
}
