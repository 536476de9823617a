//! Assignment of E_pj = c_p s_j - a_p b_j where b takes few values, c >= 0 and non-increasing.
//!
//! Inside one level of b documents are used in the order of their scores, and a column that no row holds has the price
//! 0, so that of every level only the best free document can end an augmenting path. A search looks at the columns
//! that are held, at most k, and at one head for each of the L levels: O(l + k^2 (k + L)) beside the k + L documents
//! that are taken from a tournament. With all b different it is the dense method with its matrix computed on the way.

use super::paths::NONE;
use super::tournament::Groups;
use super::{Workspace, order};

/// Documents by levels of b.
#[derive(Debug)]
pub(super) struct Levels {
    groups: Groups,
    /// b of every level.
    worth: Vec<f64>,
}

/// The columns of the search: the heads of the levels, then the documents that are held.
#[derive(Debug, Default)]
pub(super) struct Heads {
    score: Vec<f64>,
    worth: Vec<f64>,
    document: Vec<u32>,
}

impl Levels {
    pub(super) fn new(b: &[f64]) -> Self {
        let mut worth: Vec<f64> = Vec::new();
        let mut levels: Vec<Vec<u32>> = Vec::new();
        for document in order::descending(b) {
            match (worth.last(), levels.last_mut()) {
                (Some(last), Some(level)) if order::compare(*last, b[document]).is_eq() => {
                    level.push(document as u32);
                }
                _ => {
                    worth.push(b[document]);
                    levels.push(vec![document as u32]);
                }
            }
        }
        Self { groups: Groups::new(&levels), worth }
    }

    /// Number of levels.
    pub(super) fn count(&self) -> usize {
        self.worth.len()
    }

    /// Writes the document of each position.
    pub(super) fn choose(&self, a: &[f64], c: &[f64], scores: &[f64], workspace: &mut Workspace) {
        let Workspace { chosen, paths, tournament, heads, .. } = workspace;
        tournament.begin(&self.groups, scores);
        heads.begin(&self.worth);
        paths.begin(self.count());
        for level in 0..self.count() {
            heads.set(level, tournament.take(&self.groups, level));
        }
        for _ in a {
            let level = paths.augment(|row| {
                let (c, a, score, worth) = (c[row], a[row], &heads.score[..], &heads.worth[..]);
                move |column| c * score[column] - a * worth[column]
            });
            paths.renew(level);
            heads.hold(level);
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
    fn begin(&mut self, worth: &[f64]) {
        self.worth.clear();
        self.worth.extend(worth);
        self.score.clear();
        self.score.resize(worth.len(), 0.0);
        self.document.clear();
        self.document.resize(worth.len(), NONE);
    }

    /// The head of a level. Where all documents are held, its slack is infinite or not a number, and it is never
    /// nearer than another.
    fn set(&mut self, level: usize, best: Option<(u32, f64)>) {
        (self.document[level], self.score[level]) = best.unwrap_or((NONE, f64::NEG_INFINITY));
    }

    /// Appends the head of a level to the documents that are held.
    fn hold(&mut self, level: usize) {
        self.score.push(self.score[level]);
        self.worth.push(self.worth[level]);
        self.document.push(self.document[level]);
    }
}
