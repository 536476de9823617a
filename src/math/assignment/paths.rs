//! Shortest augmenting paths (Jonker & Volgenant 1987; Tomizawa 1971), the core of `dense` and `levels`.
//!
//! Prices u of rows and v of columns stay feasible: u_p + v_j >= E_pj with equality on assigned pairs, v_j >= 0, and
//! v_j = 0 for free columns. A new row is added along the path of least slack u_p + v_j - E_pj to a free column
//! (Dijkstra, dense form). Ties go to the column with the lowest number.

use crate::base::Ticks;

/// Cost in operations, for [`Ticks`], of a column in a search step.
const COLUMN_COST: usize = 2;

/// No column, or no row.
pub(super) const NONE: u32 = u32::MAX;

/// Prices and assignments of rows and columns; the buffers are reused.
#[derive(Debug, Default)]
pub(super) struct Paths {
    /// u of every row added.
    row_price: Vec<f64>,
    columns: Columns,
    /// Columns visited by the search, with their distances.
    visited: Vec<(u32, f64)>,
    ticks: Ticks,
}

/// The state of every column.
#[derive(Debug, Default)]
struct Columns {
    /// v.
    price: Vec<f64>,
    /// The row.
    owner: Vec<u32>,
    /// Least slack of a path to it so far; minus infinity after its visit.
    distance: Vec<f64>,
    /// The column before it on that path.
    from: Vec<u32>,
}

impl Paths {
    /// Starts a problem with `columns` free columns.
    pub(super) fn begin(&mut self, columns: usize) {
        self.row_price.clear();
        self.columns.price.clear();
        self.columns.owner.clear();
        self.columns.price.resize(columns, 0.0);
        self.columns.owner.resize(columns, NONE);
    }

    /// Adds the next row; returns the column that is no longer free. `profits(p)` is the function E_p of columns.
    #[inline]
    pub(super) fn augment<E: Fn(usize) -> f64>(&mut self, profits: impl Fn(usize) -> E) -> usize {
        let row = self.row_price.len();
        self.row_price.push(0.0);
        self.columns.forget();
        self.visited.clear();
        let (mut at, mut column, mut reached) = (row, NONE, 0.0);
        // 1. Dijkstra's search, one row of the path after the other, until a free column is the nearest.
        let free = loop {
            self.ticks.add(COLUMN_COST * self.columns.price.len());
            let base = reached + self.row_price[at];
            let next = self.columns.relax(column, base, profits(at));
            reached = self.columns.distance[next];
            if self.columns.owner[next] == NONE {
                break next;
            }
            self.columns.distance[next] = f64::NEG_INFINITY;
            self.visited.push((next as u32, reached));
            column = next as u32;
            at = self.columns.owner[next] as usize;
        };
        // 2. New prices of the visited columns and their rows, then the new assignment.
        self.row_price[row] -= reached;
        for &(visited, distance) in &self.visited {
            let rise = reached - distance;
            self.columns.price[visited as usize] += rise;
            self.row_price[self.columns.owner[visited as usize] as usize] -= rise;
        }
        reassign(&mut self.columns.owner, &self.columns.from, row, free);
        free
    }

    /// Moves the row of a column to a new column at the end and frees the column, which the caller then redefines.
    pub(super) fn renew(&mut self, column: usize) {
        let columns = &mut self.columns;
        columns.price.push(columns.price[column]);
        columns.owner.push(columns.owner[column]);
        columns.price[column] = 0.0;
        columns.owner[column] = NONE;
    }

    /// The row of every column, [`NONE`] if it is free.
    pub(super) fn owners(&self) -> &[u32] {
        &self.columns.owner
    }
}

impl Columns {
    /// Starts a search.
    fn forget(&mut self) {
        self.distance.clear();
        self.distance.resize(self.price.len(), f64::INFINITY);
        self.from.resize(self.price.len(), NONE);
    }

    /// Extends the path from a column whose row has these profits; `base` is the distance so far plus the price of the
    /// row. Returns the nearest column not yet visited.
    #[inline]
    fn relax(&mut self, column: u32, base: f64, profit: impl Fn(usize) -> f64) -> usize {
        let count = self.price.len();
        let (price, distance) = (&self.price[..count], &mut self.distance[..count]);
        let from = &mut self.from[..count];
        // Without branches, which would be mispredicted half of the time.
        for j in 0..count {
            let distance_here = base + price[j] - profit(j);
            let nearer = distance_here < distance[j];
            distance[j] = if nearer { distance_here } else { distance[j] };
            from[j] = if nearer { column } else { from[j] };
        }
        let (mut nearest, mut least) = (0, f64::INFINITY);
        for (j, &distance) in distance.iter().enumerate() {
            let nearer = distance < least && distance > f64::NEG_INFINITY;
            least = if nearer { distance } else { least };
            nearest = if nearer { j } else { nearest };
        }
        nearest
    }
}

/// Moves every row of the path to the next column of the path, ending at a free one; the new row takes the first
/// column. `from` has the previous column of each.
pub(super) fn reassign(owner: &mut [u32], from: &[u32], row: usize, free: usize) {
    let mut column = free;
    while from[column] != NONE {
        let before = from[column] as usize;
        owner[column] = owner[before];
        column = before;
    }
    owner[column] = row as u32;
}
