//! Assignment if all rows after the first h (the head) have rank one: E_pj = c_p s_j - a_p b_j for p < h and E_pj = t_p x_j
//! for p >= h, t >= 0 and non-increasing (the tail).
//!
//! Let the documents be on a line by decreasing x, equal ones by decreasing s. Whatever documents the head has, the tail
//! takes the first others in order. Rows of the head are added one after the other by shortest augmenting paths
//! (Dijkstra), whose nodes are the rows of the head alone: a row that takes a document of the tail moves the rows of the
//! tail by one place, to the right up to the first free document, or to a document that another row of the head leaves.
//! Steps over several documents cost no less than steps to the next one,
//!
//! ```text
//! t_p (x_i - x_m) + t_q (x_m - x_j) <= t_p (x_i - x_j)   for m between i and j, assigned to row q
//! ```
//!
//! so the costs of such moves are differences of prefix sums on the line, one for moves to the right and one to the left.
//!
//! Of documents with equal b (a level) the head has the first on the line: exchanging two of them puts the larger s to the
//! larger c and loses nothing. So at most h documents of each level are examined. A call costs O(l log l + h l) and, for
//! each of at most h^2 steps of searches, O(min(l, h L)) with L levels.

use super::paths::NONE;
use super::sorted::sort_documents;
use crate::control::Ticks;

/// Operations, for [`Ticks`], of a column in a step of a search.
const COLUMN_COST: usize = 8;

/// The problem: rows below `head` have the profits `c_p s_j - a_p b_j`, the other rows `tail_p x_j`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tailed<'a> {
    pub(super) a: &'a [f64],
    pub(super) c: &'a [f64],
    pub(super) head: usize,
    /// t of all rows.
    pub(super) tail: &'a [f64],
    /// The level of each document, numbered from 0.
    pub(super) levels: &'a [u32],
}

/// A document that rows of the head may take.
#[derive(Debug, Clone, Copy)]
struct Column {
    /// Its place on the line.
    place: usize,
    score: f64,
    label: f64,
    /// Its row of the head.
    owner: u32,
    /// Whether a row of the tail has it.
    in_tail: bool,
    /// Prefix sums of the costs of moves to the right and to the left, up to here.
    right: f64,
    left: f64,
}

/// A row of the head in the search.
#[derive(Debug, Clone, Copy)]
struct Row {
    /// Its column.
    column: usize,
    /// Its profit there.
    worth: f64,
    price: f64,
    /// Least cost of a path to it; what the row before it on the path takes.
    distance: f64,
    from: Move,
    visited: bool,
}

impl Row {
    /// What others save in their costs by taking its column: minus the price of the column.
    fn credit(&self) -> f64 {
        self.price - self.worth
    }
}

/// A row takes a column.
#[derive(Debug, Clone, Copy)]
struct Move {
    row: usize,
    column: usize,
}

/// The costs of the moves of a row: to the column of each other row, and to a free column.
#[derive(Debug, Clone, Copy)]
struct Cost {
    cost: f64,
    column: usize,
}

impl Cost {
    const NONE: Self = Self { cost: f64::INFINITY, column: 0 };

    fn improve(&mut self, cost: f64, column: usize) {
        if cost < self.cost {
            *self = Self { cost, column };
        }
    }
}

/// The state of a solution; the buffers are reused.
#[derive(Debug, Default)]
pub(super) struct Line {
    order: Vec<u32>,
    /// x on the line.
    position: Vec<f64>,
    columns: Vec<Column>,
    rows: Vec<Row>,
    costs: Vec<Cost>,
    /// The prefix sum of moves to the right at the first free document.
    end: f64,
    /// Examined documents of each level.
    counts: Vec<usize>,
    ticks: Ticks,
}

impl Line {
    /// Solves for scores s, label weights b and positions x of all documents; writes the document of each row.
    pub(super) fn choose(&mut self, rows: Tailed<'_>, [s, b, x]: [&[f64]; 3], chosen: &mut Vec<u32>) {
        self.begin(rows, [s, b, x]);
        for row in 0..rows.head {
            self.measure(&rows.tail[rows.head..]);
            self.add(rows, row);
        }
        chosen.clear();
        chosen.resize(rows.a.len(), 0);
        let mut taken: Vec<usize> = self.rows.iter().map(|row| self.columns[row.column].place).collect();
        for (row, place) in taken.iter().enumerate() {
            chosen[row] = self.order[*place];
        }
        taken.sort_unstable();
        let mut taken = taken.into_iter().peekable();
        let others = (0..self.order.len()).filter(|place| taken.next_if_eq(place).is_none());
        for (target, place) in chosen[rows.head..].iter_mut().zip(others) {
            *target = self.order[place];
        }
    }

    /// Sorts the line, and finds the columns to examine.
    fn begin(&mut self, rows: Tailed<'_>, [s, b, x]: [&[f64]; 3]) {
        self.order.clear();
        self.order.extend(0..x.len() as u32);
        sort_documents(&mut self.order, x, s);
        self.position.clear();
        self.position.extend(self.order.iter().map(|&document| x[document as usize]));
        self.rows.clear();
        self.columns.clear();
        self.counts.clear();
        for (place, &document) in self.order.iter().enumerate() {
            let document = document as usize;
            let level = rows.levels[document] as usize;
            if level >= self.counts.len() {
                self.counts.resize(level + 1, 0);
            }
            self.counts[level] += 1;
            if self.counts[level] <= rows.head {
                let (score, label) = (s[document], b[document]);
                let column =
                    Column { place, score, label, owner: NONE, in_tail: false, right: 0.0, left: 0.0 };
                self.columns.push(column);
            }
        }
    }

    /// Computes the prefix sums. `tail`: t of the rows of the tail.
    fn measure(&mut self, tail: &[f64]) {
        self.ticks.add(COLUMN_COST * self.position.len());
        let weight = |row: usize| tail.get(row.min(tail.len().saturating_sub(1))).copied().unwrap_or(0.0);
        let mut columns = self.columns.iter_mut();
        let mut column = columns.next();
        // Documents before this place that the head does not have: the first ones are in the tail.
        let mut others = 0;
        let (mut right, mut left, mut before) = (0.0, 0.0, self.position.first().copied().unwrap_or(0.0));
        let mut end = None;
        let [mut last, mut next] = [0.0, weight(0)];
        for (place, &position) in self.position.iter().enumerate() {
            right += last * (before - position);
            left += next * (before - position);
            before = position;
            let in_tail = others < tail.len();
            if let Some(here) = &mut column
                && here.place == place
            {
                let is_taken = here.owner != NONE;
                (here.right, here.left, here.in_tail) = (right, left, in_tail && !is_taken);
                column = columns.next();
                if is_taken {
                    continue;
                }
            }
            if !in_tail && end.is_none() {
                end = Some(right);
            }
            others += 1;
            (last, next) = (next, weight(others));
        }
        self.end = end.unwrap_or(f64::INFINITY);
    }

    /// Writes the least costs of all moves of a row, without its own profit; returns that to a free column.
    fn moves(&mut self, rows: Tailed<'_>, row: usize) -> Cost {
        self.ticks.add(COLUMN_COST * self.columns.len());
        let (a, c) = (rows.a[row], rows.c[row]);
        let loss = |column: &Column| a * column.label - c * column.score;
        self.costs.clear();
        self.costs.resize(self.rows.len(), Cost::NONE);
        let (mut free, mut best) = (Cost::NONE, Cost::NONE);
        for (index, column) in self.columns.iter().enumerate() {
            let loss = loss(column);
            if column.in_tail {
                best.improve(loss - column.right, index);
            } else if column.owner == NONE {
                free.improve(loss, index);
            } else {
                let cost = &mut self.costs[column.owner as usize];
                cost.improve(loss, index);
                cost.improve(best.cost + column.right, best.column);
            }
        }
        free.improve(best.cost + self.end, best.column);
        best = Cost::NONE;
        for (index, column) in self.columns.iter().enumerate().rev() {
            if column.in_tail {
                best.improve(loss(column) - column.left, index);
            } else if column.owner != NONE {
                self.costs[column.owner as usize].improve(best.cost + column.left, best.column);
            }
        }
        free
    }

    /// Adds a row of the head by the shortest path to a free column.
    fn add(&mut self, rows: Tailed<'_>, row: usize) {
        for other in &mut self.rows {
            (other.distance, other.visited) = (f64::INFINITY, false);
        }
        // 1. The moves of the new row. With its price no cost is below 0.
        let mut free = self.moves(rows, row);
        let least = self.rows.iter().zip(&self.costs).map(|(other, cost)| cost.cost - other.credit());
        let price = -least.fold(free.cost, f64::min);
        let (mut at, mut base, mut reached) = (row, price, 0.0);
        let (mut end, mut last) = (f64::INFINITY, Move { row, column: 0 });
        // 2. Dijkstra's search among the rows, until a free column is the nearest. Slacks are at least 0 in spite of rounding.
        loop {
            let distance = reached + (base + free.cost).max(0.0);
            if distance < end {
                (end, last) = (distance, Move { row: at, column: free.column });
            }
            for (other, cost) in self.rows.iter_mut().zip(&self.costs) {
                let distance = reached + (base + cost.cost - other.credit()).max(0.0);
                if !other.visited && distance < other.distance {
                    (other.distance, other.from) = (distance, Move { row: at, column: cost.column });
                }
            }
            let (mut nearest, mut least) = (None, end);
            for (index, other) in self.rows.iter().enumerate() {
                if !other.visited && other.distance < least {
                    (nearest, least) = (Some(index), other.distance);
                }
            }
            let Some(index) = nearest else { break };
            let next = &mut self.rows[index];
            next.visited = true;
            (at, reached, base) = (index, least, next.price);
            free = self.moves(rows, index);
        }
        // 3. New prices, and the columns of the rows on the path.
        for other in self.rows.iter_mut().filter(|other| other.visited) {
            other.price += other.distance - end;
        }
        let from = Move { row, column: 0 };
        let new = Row { column: 0, worth: 0.0, price: price - end, distance: 0.0, from, visited: true };
        self.rows.push(new);
        self.move_rows(rows, row, last);
    }

    /// Moves the rows of the path that ends with this move and begins with the new row.
    fn move_rows(&mut self, rows: Tailed<'_>, new: usize, last: Move) {
        let mut step = last;
        while step.row != new {
            let row = &mut self.rows[step.row];
            self.columns[row.column].owner = NONE;
            row.column = step.column;
            step = row.from;
        }
        self.rows[new].column = step.column;
        for (number, row) in self.rows.iter_mut().enumerate() {
            let column = &mut self.columns[row.column];
            column.owner = number as u32;
            row.worth = rows.c[number] * column.score - rows.a[number] * column.label;
        }
    }
}
