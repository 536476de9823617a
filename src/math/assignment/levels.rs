//! Assignment of E_pj = c_p s_j - a_p b_j if b has few different values (levels), c >= 0 and non-increasing.
//!
//! Within a level documents are used in the order of their scores, and a free column has the price 0. So only the best
//! free document of each level can end an augmenting path. A search visits the assigned columns, at most k, and the
//! best free one of each of the L levels: O(l + k^2 (k + L)), plus k + L documents taken from a tournament. If all b
//! differ, this is the dense method with a matrix that is computed on the fly.

use super::paths::{NONE, maximize};
use super::tournament::Groups;
use crate::math::order;

use super::{
    Workspace,
    ranking::{padded, support, write_profits},
};
use crate::base::checkpoint;

/// Documents grouped by b.
#[derive(Debug)]
pub(super) struct Levels {
    groups: Groups,
    /// b of every level.
    labels: Vec<f64>,
}

/// The columns of the search: the best free document of each level, then the assigned documents.
#[derive(Debug, Default)]
pub(super) struct Heads {
    score: Vec<f64>,
    labels: Vec<f64>,
    document: Vec<u32>,
}

impl Levels {
    pub(super) fn new(b: &[f64]) -> Self {
        let mut labels: Vec<f64> = Vec::new();
        let mut levels: Vec<Vec<u32>> = Vec::new();
        for document in order::descending(b) {
            match (labels.last(), levels.last_mut()) {
                (Some(last), Some(level)) if order::compare(*last, b[document]).is_eq() => {
                    level.push(document as u32);
                }
                _ => {
                    labels.push(b[document]);
                    levels.push(vec![document as u32]);
                }
            }
        }
        Self { groups: Groups::new(&levels), labels }
    }

    /// Number of levels.
    pub(super) fn count(&self) -> usize {
        self.labels.len()
    }

    /// Writes the document of each position.
    pub(super) fn choose(&self, a: &[f64], c: &[f64], scores: &[f64], workspace: &mut Workspace) {
        let Workspace { chosen, paths, tournament, heads, .. } = workspace;
        tournament.begin(&self.groups, scores);
        heads.begin(&self.labels);
        paths.begin(self.count());
        for level in 0..self.count() {
            heads.set(level, tournament.take(&self.groups, level));
        }
        // One position after the other; the document that it takes is replaced by the next best of its level.
        for _ in a {
            checkpoint();
            let level = paths.augment(|row| {
                let (c, a, score, labels) = (c[row], a[row], &heads.score[..], &heads.labels[..]);
                move |column| c * score[column] - a * labels[column]
            });
            paths.renew(level);
            heads.assign(level);
            heads.set(level, tournament.take(&self.groups, level));
        }
        chosen.clear();
        chosen.resize(a.len(), 0);
        for (&row, &document) in paths.owners().iter().zip(&heads.document) {
            if row != NONE {
                chosen[row as usize] = document;
            }
        }
    }
}

impl Heads {
    fn begin(&mut self, labels: &[f64]) {
        self.labels.clear();
        self.labels.extend(labels);
        self.score.clear();
        self.score.resize(labels.len(), 0.0);
        self.document.clear();
        self.document.resize(labels.len(), NONE);
    }

    /// Sets the best free document of a level. Without one the slack is infinite or not a number, so the column is
    /// never the nearest.
    fn set(&mut self, level: usize, best: Option<(u32, f64)>) {
        (self.document[level], self.score[level]) = best.unwrap_or((NONE, f64::NEG_INFINITY));
    }

    /// Appends the best free document of a level to the assigned documents.
    fn assign(&mut self, level: usize) {
        self.score.push(self.score[level]);
        self.labels.push(self.labels[level]);
        self.document.push(self.document[level]);
    }
}

// Loss-augmented ranking with at most one document of each block (Le, Smola, Chapelle & Teo, equation 41).
//
// ```text
// max_pi sum_p c_p s_pi(p) - a_p b_pi(p)   over lists of one document per position, no two of one block
// ```
//
// A position that takes a block takes the best of its documents, R[p, B] = max over j in B of E[p, j]. So the problem
// is the assignment of blocks to positions with profits R. The reduction is exact and costs O(k l) for k positions and
// l documents; the assignment costs O(k^2 B).

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
/// the maximum. The documents are in [`Workspace::chosen`]. Of equal documents of a block the first is taken.
///
/// `profits` is E, row after row, shape (positions, l), finite; `groups` has the block of each document (l), numbered
/// from 0 without gaps.
///
/// # Panics
/// If there are more positions than blocks, or if the length is not positions times l.
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
    use super::ranking::{padded, support, write_profits};
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
