//! Loss-augmented ranking with one document per position, and the choice of the fastest exact method.

#[cfg(test)]
mod tests;

use super::dense::maximize;
use super::levels::Levels;
use super::line::{Tailed, best};
use super::profits::{padded, support, write_profits};
use super::workspace::Workspace;
use crate::math::order;

/// The assignment of documents to positions for fixed a, b and c.
#[derive(Debug)]
pub struct Ranking {
    a: Vec<f64>,
    b: Vec<f64>,
    c: Vec<f64>,
    method: Method,
}

/// The method for a [`Ranking`].
#[derive(Debug)]
pub(super) enum Method {
    /// c = a.
    Sorted,
    /// b has few different values.
    Levels(Levels),
    /// All rows from this index on are c_p s_j.
    ScoreTail(usize),
    /// All rows from this index on are a_p (-b_j). The vector is -b.
    LabelTail(usize, Vec<f64>),
    /// No condition.
    Dense,
}

/// Whether weights are non-increasing and non-negative.
fn decay(weights: &[f64]) -> bool {
    weights.is_sorted_by(|x, y| x >= y) && weights.last().is_none_or(|&last| last >= 0.0)
}

impl Ranking {
    /// The problem with metric weights a and decoder weights c of positions and label weights b of documents (l), all
    /// finite. The lists of positions may be longer or shorter than l: missing weights are 0, and positions without a
    /// document are omitted.
    ///
    /// Fast if c, and best also a, is non-increasing and non-negative.
    pub fn new(a: &[f64], b: &[f64], c: &[f64]) -> Self {
        let lengths = [support(a, b.len()), support(c, b.len())];
        let positions = lengths[0].max(lengths[1]);
        let (a, c) = (padded(a, positions), padded(c, positions));
        let method = Method::choose(&a, b, &c, lengths);
        Self { a, b: b.to_vec(), c, method }
    }

    /// Maximizes `sum_p c_p s[pi(p)] - a_p b[pi(p)]` at scores s (l, finite) and returns the maximum. The document of
    /// each position with a weight is in [`Workspace::chosen`].
    ///
    /// The same scores give the same bits. Which of several maximizers is found is unspecified.
    ///
    /// # Panics
    /// If there is not one score for each document.
    pub fn maximize(&self, scores: &[f64], workspace: &mut Workspace) -> f64 {
        assert_eq!(scores.len(), self.b.len(), "one score for each document");
        let (a, b, c) = (&self.a, &self.b, &self.c);
        let chosen = &mut workspace.chosen;
        match &self.method {
            Method::Sorted => {
                workspace.values.clear();
                workspace.values.extend(scores.iter().zip(b).map(|(s, b)| s - b));
                best(&workspace.values, c.len(), chosen);
            }
            Method::Levels(levels) => {
                levels.choose(a, c, scores, (chosen, &mut workspace.paths, &mut workspace.heads));
            }
            &Method::ScoreTail(head) => {
                workspace.line.choose(Tailed { a, c, head, tail: c }, [scores, b, scores], chosen);
            }
            Method::LabelTail(head, negative) => {
                workspace.line.choose(Tailed { a, c, head: *head, tail: a }, [scores, b, negative], chosen);
            }
            Method::Dense => {
                let mut matrix = std::mem::take(&mut workspace.values);
                write_profits([a, b, c], scores, &mut matrix);
                maximize(&matrix, a.len(), b.len(), workspace);
                workspace.values = matrix;
            }
        }
        let terms = workspace.chosen.iter().zip(a.iter().zip(c));
        terms.map(|(&j, (a, c))| c * scores[j as usize] - a * b[j as usize]).sum()
    }

    /// Number of positions with a weight.
    #[cfg(test)]
    pub fn positions(&self) -> usize {
        self.a.len()
    }
}

impl Method {
    /// The fastest method for these weights. a and c have the same length; b has one entry per document.
    fn choose(a: &[f64], b: &[f64], c: &[f64], [a_len, c_len]: [usize; 2]) -> Self {
        if !decay(c) {
            return Self::Dense;
        }
        if order::same(a, c) {
            return Self::Sorted;
        }
        let levels = Levels::new(b);
        let (rows, documents) = (a.len(), b.len());
        let head = a_len.min(c_len);
        let by_levels = rows * rows * (rows / 3 + levels.count() / 2);
        let by_line = head * head * documents * 4;
        if head == rows || by_levels <= by_line {
            return Self::Levels(levels);
        }
        if a_len < c_len {
            return Self::ScoreTail(head);
        }
        if decay(a) {
            return Self::LabelTail(head, b.iter().map(|b| -b).collect());
        }
        Self::Levels(levels)
    }
}
