//! Assignment with maximum profit: each row gets a column of its own.
//!
//! ```text
//! max_pi sum_p E[p, pi(p)],   k rows, l >= k columns
//! ```
//!
//! [`maximize`] takes any matrix. [`Ranking`] takes that of loss-augmented ranking, E_pj = c_p s_j - a_p b_j for
//! positions p and documents j (Le, Smola, Chapelle, Teo, equation 28). There a, b and c are given before the scores s,
//! and E has rank two, so faster exact methods exist:
//!
//! | method | condition | cost |
//! |---|---|---|
//! | `sorted` | c = a | O(l + k log k) |
//! | `levels` | b has L different values | O(l + k^2 (k + L)) |
//! | `line` | a = 0, or c = 0, after the first h positions | O(l log l + h^2 l) |
//! | `dense` | none | O(k^2 l) |
//!
//! Positions without a weight are omitted. No method is known that is nearly linear for all a, b and c.

use super::super::order;
use super::levels::{Heads, Levels};
use super::line::best;
use super::line::{Line, Tailed};
use super::paths::Paths;
use super::paths::maximize;
use super::tournament::Tournament;
use crate::base::checkpoint;

/// The last solution, and buffers that are reused for the next problem.
#[derive(Debug, Default)]
pub struct Workspace {
    pub(super) chosen: Vec<u32>,
    pub(super) paths: Paths,
    pub(super) tournament: Tournament,
    pub(super) heads: Heads,
    line: Line,
    pub(super) values: Vec<f64>,
}

impl Workspace {
    /// The column of each row in the last solution.
    pub fn chosen(&self) -> &[u32] {
        &self.chosen
    }
}

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

/// Number of positions up to the last one with a weight, at most `most`.
pub(super) fn support(weights: &[f64], most: usize) -> usize {
    weights.iter().take(most).rposition(|&weight| weight != 0.0).map_or(0, |last| last + 1)
}

/// The weights of the first `positions` positions; missing ones are 0.
pub(super) fn padded(weights: &[f64], positions: usize) -> Vec<f64> {
    weights.iter().copied().chain(std::iter::repeat(0.0)).take(positions).collect()
}

/// E_pj = c_p s_j - a_p b_j, written to `matrix`.
pub(super) fn write_profits([a, b, c]: [&[f64]; 3], scores: &[f64], matrix: &mut Vec<f64>) {
    matrix.clear();
    for (a, c) in a.iter().zip(c) {
        checkpoint();
        matrix.extend(scores.iter().zip(b).map(|(s, b)| c * s - a * b));
    }
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
            Method::Levels(levels) => levels.choose(a, c, scores, workspace),
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
