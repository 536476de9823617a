//! Loss-augmented ranking with at most one document of each block (Le, Smola, Chapelle & Teo, equation 41).
//!
//! ```text
//! max_pi sum_p c_p s_pi(p) - a_p b_pi(p)   over lists of one document per position, no two of one block
//! ```
//!
//! A position that takes a block takes the best of its documents, R[p, B] = max over j in B of E[p, j]. So the problem
//! is the assignment of blocks to positions with profits R. The reduction is exact and costs O(k l) for k positions and
//! l documents; the assignment costs O(k^2 B).

use super::Workspace;
use super::dense::maximize;
use super::profits::{padded, support, write_profits};
use crate::base::checkpoint;

/// The problem for fixed a, b, c and blocks.
#[derive(Debug)]
pub struct BlockRanking {
    a: Vec<f64>,
    b: Vec<f64>,
    c: Vec<f64>,
    /// Block of each document.
    groups: Vec<u32>,
}

impl BlockRanking {
    /// The problem of metric weights a and decoder weights c of positions, label weights b of documents (l) and the
    /// block of each document (l), numbered from 0. Positions beyond the number of blocks are omitted.
    ///
    /// # Panics
    /// If there is not one block for each document, or a block without a document.
    pub fn new(a: &[f64], b: &[f64], c: &[f64], groups: Vec<u32>) -> Self {
        assert_eq!(groups.len(), b.len(), "one block for each document");
        let blocks = groups.iter().map(|&group| group as usize + 1).max().unwrap_or(0);
        let mut sizes = vec![0; blocks];
        groups.iter().for_each(|&group| sizes[group as usize] += 1);
        assert!(sizes.iter().all(|&size| size > 0), "every block has a document");
        let positions = support(a, blocks).max(support(c, blocks));
        Self { a: padded(a, positions), b: b.to_vec(), c: padded(c, positions), groups }
    }

    /// Maximizes at scores s (l, finite) and returns the maximum. The document of each position with a weight is in
    /// [`Workspace::chosen`].
    ///
    /// # Panics
    /// If there is not one score for each document.
    pub fn maximize(&self, scores: &[f64], workspace: &mut Workspace) -> f64 {
        assert_eq!(scores.len(), self.b.len(), "one score for each document");
        let mut matrix = std::mem::take(&mut workspace.values);
        write_profits([&self.a, &self.b, &self.c], scores, &mut matrix);
        let maximum = maximize_in_blocks(&matrix, self.a.len(), &self.groups, workspace);
        workspace.values = matrix;
        maximum
    }
}

/// Maximizes `sum_p E[p, document of p]` over lists of one document per position, no two of one block, and returns
/// the maximum. The documents are in [`Workspace::chosen`]. Among equal documents of a block, the first is taken.
///
/// `profits` is E, row after row, shape (positions, l), finite; `groups` has the block of each document (l), numbered
/// from 0 without gaps.
///
/// # Panics
/// If there are more positions than blocks, or if `profits` does not have positions times l values.
pub fn maximize_in_blocks(
    profits: &[f64],
    positions: usize,
    groups: &[u32],
    workspace: &mut Workspace,
) -> f64 {
    assert_eq!(profits.len(), positions * groups.len(), "one profit for each position and document");
    let blocks = groups.iter().map(|&group| group as usize + 1).max().unwrap_or(0);
    let mut best = vec![f64::NEG_INFINITY; positions * blocks];
    let mut documents = vec![0; positions * blocks];
    for (position, row) in profits.chunks(groups.len().max(1)).enumerate() {
        checkpoint();
        for ((document, &group), &profit) in (0..).zip(groups).zip(row) {
            let cell = position * blocks + group as usize;
            if profit > best[cell] {
                (best[cell], documents[cell]) = (profit, document);
            }
        }
    }
    let maximum = maximize(&best, positions, blocks, workspace);
    for (position, block) in workspace.chosen.iter_mut().enumerate() {
        *block = documents[position * blocks + *block as usize];
    }
    maximum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Random;

    /// The maximum over all lists.
    fn best_of_all(profits: &[f64], positions: usize, groups: &[u32], list: &mut Vec<usize>) -> f64 {
        let position = list.len();
        if position == positions {
            return 0.0;
        }
        let mut best = f64::NEG_INFINITY;
        for document in 0..groups.len() {
            if list.iter().all(|&other| groups[other] != groups[document]) {
                list.push(document);
                let rest = best_of_all(profits, positions, groups, list);
                list.pop();
                best = best.max(profits[position * groups.len() + document] + rest);
            }
        }
        best
    }

    #[test]
    fn no_list_is_better() {
        let mut random = Random::new(9);
        for _ in 0..300 {
            let l = 1 + random.below(7);
            let blocks = 1 + random.below(l.min(4));
            let mut groups: Vec<u32> =
                (0..l).map(|j| if j < blocks { j } else { random.below(blocks) } as u32).collect();
            random.shuffle(&mut groups);
            let positions = 1 + random.below(blocks);
            let profits: Vec<f64> = (0..positions * l).map(|_| random.below(7) as f64 - 3.0).collect();
            let mut workspace = Workspace::default();
            let found = maximize_in_blocks(&profits, positions, &groups, &mut workspace);
            let chosen: Vec<usize> = workspace.chosen().iter().map(|&j| j as usize).collect();
            let sum: f64 = chosen.iter().enumerate().map(|(p, j)| profits[p * l + j]).sum();
            assert!((found - sum).abs() < 1e-12);
            assert!((found - best_of_all(&profits, positions, &groups, &mut Vec::new())).abs() < 1e-12);
            let mut used: Vec<u32> = chosen.iter().map(|&j| groups[j]).collect();
            used.sort_unstable();
            used.dedup();
            assert_eq!(used.len(), positions);
        }
    }
}
