//! Shortest augmenting paths (Jonker & Volgenant 1987; Tomizawa 1971), the core of [`super::dense`] and
//! [`super::levels`].
//!
//! Prices u of rows and v of columns stay feasible, u_p + v_j >= E_pj with equality on assigned pairs, v_j >= 0 and
//! v_j = 0 where no row holds j. A new row is let in along the path of least slack u_p + v_j - E_pj to a free column
//! (Dijkstra, dense form). Ties go to the column with the lowest number.

/// No column, or no row.
pub(super) const NONE: u32 = u32::MAX;

/// Rows and columns with their prices and assignments; the buffers are kept between problems.
#[derive(Debug, Default)]
pub(super) struct Paths {
    /// u of every row that is in.
    row_price: Vec<f64>,
    columns: Columns,
    /// Columns that the search has passed, with their distances.
    passed: Vec<(u32, f64)>,
}

/// What is known of every column.
#[derive(Debug, Default)]
struct Columns {
    /// v.
    price: Vec<f64>,
    /// The row that holds it.
    owner: Vec<u32>,
    /// Least slack of a path to it so far; minus infinity once it has been passed.
    distance: Vec<f64>,
    /// The column before it on that path.
    from: Vec<u32>,
}

impl Paths {
    /// Begins a problem with so many free columns.
    pub(super) fn begin(&mut self, columns: usize) {
        self.row_price.clear();
        self.columns.price.clear();
        self.columns.owner.clear();
        self.columns.price.resize(columns, 0.0);
        self.columns.owner.resize(columns, NONE);
    }

    /// Lets the next row in; answers the column that is no longer free. `profits(p)` is the function E_p of columns.
    #[inline]
    pub(super) fn augment<E: Fn(usize) -> f64>(&mut self, profits: impl Fn(usize) -> E) -> usize {
        let row = self.row_price.len();
        self.row_price.push(0.0);
        self.columns.forget();
        self.passed.clear();
        let (mut at, mut column, mut reached) = (row, NONE, 0.0);
        let free = loop {
            let base = reached + self.row_price[at];
            let next = self.columns.relax(column, base, profits(at));
            reached = self.columns.distance[next];
            if self.columns.owner[next] == NONE {
                break next;
            }
            self.columns.distance[next] = f64::NEG_INFINITY;
            self.passed.push((next as u32, reached));
            column = next as u32;
            at = self.columns.owner[next] as usize;
        };
        self.row_price[row] -= reached;
        for &(passed, distance) in &self.passed {
            let rise = reached - distance;
            self.columns.price[passed as usize] += rise;
            self.row_price[self.columns.owner[passed as usize] as usize] -= rise;
        }
        reassign(&mut self.columns.owner, &self.columns.from, row, free);
        free
    }

    /// Gives the row of a column to a new column at the end and frees the column, which then stands for another.
    pub(super) fn renew(&mut self, column: usize) {
        let columns = &mut self.columns;
        columns.price.push(columns.price[column]);
        columns.owner.push(columns.owner[column]);
        columns.price[column] = 0.0;
        columns.owner[column] = NONE;
    }

    /// The row of every column, [`NONE`] where it is free.
    pub(super) fn owners(&self) -> &[u32] {
        &self.columns.owner
    }
}

impl Columns {
    /// Begins a search.
    fn forget(&mut self) {
        self.distance.clear();
        self.distance.resize(self.price.len(), f64::INFINITY);
        self.from.resize(self.price.len(), NONE);
    }

    /// Goes on from a column whose row has these profits; `base` is the distance so far plus the price of the row.
    /// Answers the nearest column that has not been passed.
    #[inline]
    fn relax(&mut self, column: u32, base: f64, profit: impl Fn(usize) -> f64) -> usize {
        let count = self.price.len();
        let (price, distance) = (&self.price[..count], &mut self.distance[..count]);
        let from = &mut self.from[..count];
        // Without branches, which would be guessed wrongly half of the time.
        for j in 0..count {
            let along = base + price[j] - profit(j);
            let nearer = along < distance[j];
            distance[j] = if nearer { along } else { distance[j] };
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

/// Every row of the path to a free column takes the next column of the path, `from` telling the column before each; the
/// new row takes the first.
pub(super) fn reassign(owner: &mut [u32], from: &[u32], row: usize, free: usize) {
    let mut column = free;
    while from[column] != NONE {
        let before = from[column] as usize;
        owner[column] = owner[before];
        column = before;
    }
    owner[column] = row as u32;
}
