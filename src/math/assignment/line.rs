//! Assignment if all rows after the first k have rank one: E_pj = c_p s_j - a_p b_j for p < k and E_pj = t_p x_j for
//! p >= k, t >= 0 and non-increasing (the tail); and by sorting alone if all rows have rank one.
//!
//! The tail alone takes the documents with the largest x in order, with prices in closed form. The first k rows are
//! then added by shortest augmenting paths as in [`super::paths`]. Let the documents be on a line by decreasing x.
//! Between rows of the tail such a path needs no long steps: passing over a document m costs no less than stopping
//! there,
//!
//! ```text
//! t_p (x_i - x_m) + t_q (x_m - x_j) <= t_p (x_i - x_j)   for m between i and j, assigned to row q
//! ```
//!
//! if larger t are further left. Optimality ensures this except at equal x, so rows are put in order before each search.
//! Then one sweep to the right and one to the left update all distances on the line. A search visits at most k rows at
//! O(l) each: O(l log l + k^2 l) in total.

use std::cmp::Ordering;

use super::super::order::{COMPARISON, compare};
use super::paths::{NONE, reassign};
use crate::base::Ticks;

/// Cost in operations, for [`Ticks`], of a column in a search step.
const COLUMN_COST: usize = 8;

/// The problem: rows below `head` have the profits `c_p s_j - a_p b_j`, the other rows `tail_p x_j`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tailed<'a> {
    pub(super) a: &'a [f64],
    pub(super) c: &'a [f64],
    pub(super) head: usize,
    /// t of all rows.
    pub(super) tail: &'a [f64],
}

/// Columns in the order of the line, and the prices of the first rows; the buffers are reused.
#[derive(Debug, Default)]
pub(super) struct Line {
    order: Vec<u32>,
    /// x.
    position: Vec<f64>,
    score: Vec<f64>,
    label: Vec<f64>,
    /// v.
    price: Vec<f64>,
    owner: Vec<u32>,
    distance: Vec<f64>,
    from: Vec<u32>,
    visited: Vec<bool>,
    /// u of the first rows.
    row_price: Vec<f64>,
    ticks: Ticks,
}

impl Line {
    /// Solves for scores s, label weights b and positions x of all documents; writes the document of each row.
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

    /// Sorts the line and assigns the rows of the tail.
    fn begin(&mut self, rows: Tailed<'_>, [s, b, x]: [&[f64]; 3]) {
        best(x, x.len(), &mut self.order);
        for (target, source) in [(&mut self.score, s), (&mut self.label, b), (&mut self.position, x)] {
            target.clear();
            target.extend(self.order.iter().map(|&document| source[document as usize]));
        }
        let (columns, tail) = (x.len(), rows.a.len() - rows.head);
        self.owner.clear();
        self.owner.extend((0..columns).map(|j| if j < tail { (rows.head + j) as u32 } else { NONE }));
        self.price.clear();
        self.price.resize(columns, 0.0);
        for j in (1..tail).rev() {
            let step = self.position[j - 1] - self.position[j];
            self.price[j - 1] = self.price[j] + rows.tail[rows.head + j] * step;
        }
        self.row_price.clear();
        self.row_price.resize(rows.head, 0.0);
    }

    /// Puts the rows of the tail in order on the line, on the columns that they have. Nothing changes unless columns have
    /// equal x: there all orders are as good, but the sweeps need decreasing t.
    fn sort_tail(&mut self, head: usize) {
        let tail = self.owner.iter_mut().filter(|owner| **owner != NONE && **owner as usize >= head);
        tail.zip(head as u32..).for_each(|(owner, row)| *owner = row);
    }

    /// Adds one of the first rows.
    fn augment(&mut self, rows: Tailed<'_>, row: usize) {
        let columns = self.price.len();
        self.sort_tail(rows.head);
        self.distance.clear();
        self.distance.resize(columns, f64::INFINITY);
        self.from.resize(columns, NONE);
        self.visited.clear();
        self.visited.resize(columns, false);
        self.row_price[row] = self.largest_margin(rows, row);
        let (mut at, mut column, mut reached) = (row, NONE, 0.0);
        let free = loop {
            self.ticks.add(COLUMN_COST * columns);
            self.relax(rows, at, column, reached);
            self.sweep(rows, 0..columns);
            self.sweep(rows, (0..columns).rev());
            let next = self.nearest(rows.head);
            reached = self.distance[next];
            if self.owner[next] == NONE {
                break next;
            }
            self.visited[next] = true;
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
            self.score.iter().zip(&self.label).zip(&self.price).map(|((s, b), v)| c * s - a * b - v);
        margins.fold(f64::NEG_INFINITY, f64::max)
    }

    /// Extends the path from one of the first rows and its column to all columns. Slacks are at least 0, so paths have
    /// no cycles in spite of rounding.
    fn relax(&mut self, rows: Tailed<'_>, row: usize, column: u32, reached: f64) {
        let (a, c, u) = (rows.a[row], rows.c[row], self.row_price[row]);
        let places = self.score.iter().zip(&self.label).zip(&self.price);
        let targets = self.distance.iter_mut().zip(&mut self.from);
        for (((s, b), v), (distance, from)) in places.zip(targets) {
            let distance_here = reached + (u + v - (c * s - a * b)).max(0.0);
            if distance_here < *distance {
                *distance = distance_here;
                *from = column;
            }
        }
    }

    /// Extends the path from each column of the tail to the columns up to the next one, in the given order.
    fn sweep(&mut self, rows: Tailed<'_>, columns: impl Iterator<Item = usize>) {
        let (mut last, mut weight) = (NONE, 0.0);
        // Distance and v, and x, of the column `last`.
        let (mut start, mut position) = (f64::INFINITY, 0.0);
        let mut price = 0.0;
        for j in columns {
            let distance_here =
                start + (weight * (position - self.position[j]) + self.price[j] - price).max(0.0);
            if distance_here < self.distance[j] {
                self.distance[j] = distance_here;
                self.from[j] = last;
            }
            let owner = self.owner[j];
            if owner != NONE && owner as usize >= rows.head {
                (last, weight) = (j as u32, rows.tail[owner as usize]);
                (start, position, price) = (self.distance[j], self.position[j], self.price[j]);
            }
        }
    }

    /// The nearest column that is free, or that is assigned to one of the first rows and was not visited.
    fn nearest(&self, head: usize) -> usize {
        let (mut nearest, mut least) = (0, f64::INFINITY);
        for (j, &distance) in self.distance.iter().enumerate() {
            let owner = self.owner[j];
            if distance < least && (owner == NONE || (owner as usize) < head) && !self.visited[j] {
                least = distance;
                nearest = j;
            }
        }
        nearest
    }

    /// Raises the price of every column nearer than the end of the path, and lowers the price of its row.
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

// Assignment by sorting: for E_pj = c_p (s_j - b_j) with c >= 0 and non-increasing, the best documents by s - b, in
// order (Hardy, Littlewood, Polya 1934). O(l + k log k).

/// Writes the first `count` documents by decreasing value; equal values keep their input order.
pub fn best(values: &[f64], count: usize, documents: &mut Vec<u32>) {
    let mut ticks = Ticks::default();
    let better = |&x: &u32, &y: &u32| -> Ordering {
        ticks.add(COMPARISON);
        compare(values[y as usize], values[x as usize]).then(x.cmp(&y))
    };
    documents.clear();
    documents.extend(0..values.len() as u32);
    if count < documents.len() {
        documents.select_nth_unstable_by(count, better);
        documents.truncate(count);
    }
    sort_documents(documents, values, values);
}

/// Sorts documents by decreasing value of `first`, equal ones by decreasing value of `second`, then in input order.
pub fn sort_documents(documents: &mut [u32], first: &[f64], second: &[f64]) {
    let mut ticks = Ticks::default();
    // A stable sort takes a third of the machine code of an unstable one for so short items.
    documents.sort_by(|&x, &y| {
        ticks.add(COMPARISON);
        let (i, j) = (x as usize, y as usize);
        compare(first[j], first[i]).then_with(|| compare(second[j], second[i])).then(x.cmp(&y))
    });
}
