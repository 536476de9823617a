//! Assignment of rows whose profits are a rank-one tail behind k others: E_pj = c_p s_j - a_p b_j, and E_pj = t_p x_j
//! for rows p >= k, t >= 0 and non-increasing.
//!
//! The tail alone takes the documents with the largest x in their order, with prices of closed form. The other rows are
//! let in along shortest augmenting paths as in [`super::paths`]. Between rows of the tail such a path needs no long
//! steps: on the line of documents by decreasing x, a step over a neighbor costs no less than the steps by way of it,
//!
//! ```text
//! t_p (x_i - x_m) + t_q (x_m - x_j) <= t_p (x_i - x_j)   for m between i and j, held by the row q
//! ```
//!
//! so that one sweep to the right and one to the left bring all distances on the line up to date. A search passes at
//! most k rows at O(l) each: O(l log l + k^2 l) altogether.

use super::paths::{NONE, reassign};
use super::sorted;

/// The problem: rows below `head` have the profits `c_p s_j - a_p b_j`, the rows behind them `tail_p x_j`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tailed<'a> {
    pub(super) a: &'a [f64],
    pub(super) c: &'a [f64],
    pub(super) head: usize,
    /// t of all rows.
    pub(super) tail: &'a [f64],
}

/// Columns in the order of the line, and the prices of the first rows. The buffers are kept between problems.
#[derive(Debug, Default)]
pub(super) struct Line {
    order: Vec<u32>,
    /// x.
    place: Vec<f64>,
    score: Vec<f64>,
    worth: Vec<f64>,
    /// v.
    price: Vec<f64>,
    owner: Vec<u32>,
    distance: Vec<f64>,
    from: Vec<u32>,
    passed: Vec<bool>,
    /// u of the first rows.
    row_price: Vec<f64>,
}

impl Line {
    /// Solves with scores s, worths b and places x of all documents; writes the document of each row.
    pub(super) fn choose(&mut self, rows: Tailed<'_>, [s, b, x]: [&[f64]; 3], chosen: &mut Vec<u32>) {
        self.begin(rows, [s, b, x]);
        for row in 0..rows.head {
            self.augment(rows, row);
        }
        chosen.clear();
        chosen.resize(rows.a.len(), 0);
        for (&row, &document) in self.owner.iter().zip(&self.order) {
            if row != NONE {
                chosen[row as usize] = document;
            }
        }
    }

    /// The line with the rows of the tail in place.
    fn begin(&mut self, rows: Tailed<'_>, [s, b, x]: [&[f64]; 3]) {
        sorted::best(x, x.len(), &mut self.order);
        for (target, source) in [(&mut self.score, s), (&mut self.worth, b), (&mut self.place, x)] {
            target.clear();
            target.extend(self.order.iter().map(|&document| source[document as usize]));
        }
        let (columns, tail) = (x.len(), rows.a.len() - rows.head);
        self.owner.clear();
        self.owner.extend((0..columns).map(|j| if j < tail { (rows.head + j) as u32 } else { NONE }));
        self.price.clear();
        self.price.resize(columns, 0.0);
        for j in (1..tail).rev() {
            let step = self.place[j - 1] - self.place[j];
            self.price[j - 1] = self.price[j] + rows.tail[rows.head + j] * step;
        }
        self.row_price.clear();
        self.row_price.resize(rows.head, 0.0);
    }

    /// Lets one of the first rows in.
    fn augment(&mut self, rows: Tailed<'_>, row: usize) {
        let columns = self.price.len();
        self.distance.clear();
        self.distance.resize(columns, f64::INFINITY);
        self.from.resize(columns, NONE);
        self.passed.clear();
        self.passed.resize(columns, false);
        self.row_price[row] = self.largest_margin(rows, row);
        let (mut at, mut column, mut reached) = (row, NONE, 0.0);
        let free = loop {
            self.relax(rows, at, column, reached);
            self.sweep(rows, 0..columns);
            self.sweep(rows, (0..columns).rev());
            let next = self.nearest(rows.head);
            reached = self.distance[next];
            if self.owner[next] == NONE {
                break next;
            }
            self.passed[next] = true;
            column = next as u32;
            at = self.owner[next] as usize;
        };
        self.row_price[row] -= reached;
        self.raise_prices(reached);
        reassign(&mut self.owner, &self.from, row, free);
    }

    /// max_j E_pj - v_j: with it as the price of the row, no slack is negative.
    fn largest_margin(&self, rows: Tailed<'_>, row: usize) -> f64 {
        let (a, c) = (rows.a[row], rows.c[row]);
        let margins =
            self.score.iter().zip(&self.worth).zip(&self.price).map(|((s, b), v)| c * s - a * b - v);
        margins.fold(f64::NEG_INFINITY, f64::max)
    }

    /// Goes on from one of the first rows, which holds a column, to all columns.
    ///
    /// Slacks are cut off at 0: then a distance that falls never rests on itself, and paths have no circles.
    fn relax(&mut self, rows: Tailed<'_>, row: usize, column: u32, reached: f64) {
        let (a, c, u) = (rows.a[row], rows.c[row], self.row_price[row]);
        let places = self.score.iter().zip(&self.worth).zip(&self.price);
        let targets = self.distance.iter_mut().zip(&mut self.from);
        for (((s, b), v), (distance, from)) in places.zip(targets) {
            let along = reached + (u + v - (c * s - a * b)).max(0.0);
            if along < *distance {
                *distance = along;
                *from = column;
            }
        }
    }

    /// Goes on from every column that the tail holds to the columns up to the next one, in the order given.
    fn sweep(&mut self, rows: Tailed<'_>, columns: impl Iterator<Item = usize>) {
        let (mut last, mut weight) = (NONE, 0.0);
        // Distance and v, and x, of the column `last`.
        let (mut start, mut place) = (f64::INFINITY, 0.0);
        let mut price = 0.0;
        for j in columns {
            let along = start + (weight * (place - self.place[j]) + self.price[j] - price).max(0.0);
            if along < self.distance[j] {
                self.distance[j] = along;
                self.from[j] = last;
            }
            let owner = self.owner[j];
            if owner != NONE && owner as usize >= rows.head {
                (last, weight) = (j as u32, rows.tail[owner as usize]);
                (start, place, price) = (self.distance[j], self.place[j], self.price[j]);
            }
        }
    }

    /// The nearest column that is free, or that one of the first rows holds and that has not been passed.
    fn nearest(&self, head: usize) -> usize {
        let (mut nearest, mut least) = (0, f64::INFINITY);
        for (j, &distance) in self.distance.iter().enumerate() {
            let owner = self.owner[j];
            if distance < least && (owner == NONE || (owner as usize) < head) && !self.passed[j] {
                least = distance;
                nearest = j;
            }
        }
        nearest
    }

    /// Raises the price of every column that is nearer than the end of the path, and lowers that of its row.
    fn raise_prices(&mut self, reached: f64) {
        for (j, &distance) in self.distance.iter().enumerate() {
            if distance < reached {
                let rise = reached - distance;
                self.price[j] += rise;
                if let Some(price) = self.row_price.get_mut(self.owner[j] as usize) {
                    *price -= rise;
                }
            }
        }
    }
}
