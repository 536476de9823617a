//! Assignment of E_pj = c_p s_j - a_p b_j if b has few different values (levels), c >= 0 and non-increasing.
//!
//! Within a level documents are used in the order of their scores, and a free column has the price 0. So only the best
//! free document of each level can end an augmenting path. A search visits the assigned columns, at most k, and the
//! best free one of each of the L levels: O(l + k^2 (k + L)), plus k + L documents taken from a tournament. If all b
//! differ, this is the dense method with a matrix that is computed on the fly.

use super::paths::{NONE, Paths};
use super::tournament::{Groups, Tournament};
use crate::base::checkpoint;
use crate::math::order;

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
    /// The order in which the documents of a level are taken.
    tournament: Tournament,
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
    pub(super) fn choose(
        &self,
        a: &[f64],
        c: &[f64],
        scores: &[f64],
        (chosen, paths, heads): (&mut Vec<u32>, &mut Paths, &mut Heads),
    ) {
        heads.tournament.begin(&self.groups, scores);
        heads.begin(&self.labels);
        paths.begin(self.count());
        for level in 0..self.count() {
            heads.refill(&self.groups, level);
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
            heads.refill(&self.groups, level);
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

    /// Takes the best free document of a level. Without one the slack is infinite or not a number, so the column is
    /// never the nearest.
    fn refill(&mut self, groups: &Groups, level: usize) {
        let best = self.tournament.take(groups, level);
        (self.document[level], self.score[level]) = best.unwrap_or((NONE, f64::NEG_INFINITY));
    }

    /// Appends the best free document of a level to the assigned documents.
    fn assign(&mut self, level: usize) {
        self.score.push(self.score[level]);
        self.labels.push(self.labels[level]);
        self.document.push(self.document[level]);
    }
}
