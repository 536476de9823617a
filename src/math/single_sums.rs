//! Sums of outer products of many rows: products of slabs in single precision, their sums in double precision.
//!
//! ```text
//! S = sum over rows of z z'      tiles of 48 x 48 entries on and above the diagonal, row of tiles after row of tiles
//! ```
//!
//! An entry is a sum over slabs in their order. So its bits depend neither on threads nor on the width of registers.

use super::dense::dot;
use super::single::{PANEL, Row, SLAB, add_product, panels_for};
use crate::base::{checkpoint, parallel};

/// Tiles of a task: they share a panel.
const TASK_TILES: usize = 4;

/// Rows in panels.
#[derive(Debug, Clone)]
pub struct Panels {
    rows: usize,
    /// Number of columns.
    pub columns: usize,
    /// Panel after panel.
    values: Vec<Row>,
}

/// S.
#[derive(Debug, Clone)]
pub struct SingleSums {
    /// Number of columns.
    pub columns: usize,
    tiles: Vec<Tile>,
}

/// 48 rows and columns of S.
#[derive(Debug, Clone)]
struct Tile(Vec<f64>);

impl Panels {
    /// Zeros of the shape (rows, columns).
    pub fn zero(rows: usize, columns: usize) -> Self {
        Self { rows, columns, values: vec![Row::ZERO; rows * panels_for(columns)] }
    }

    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The rows of a panel.
    pub fn panel(&self, number: usize) -> &[Row] {
        &self.values[number * self.rows..(number + 1) * self.rows]
    }

    /// The rows of a panel, mutable.
    pub fn panel_mut(&mut self, number: usize) -> &mut [Row] {
        &mut self.values[number * self.rows..(number + 1) * self.rows]
    }

    #[cfg(test)]
    pub fn get(&self, row: usize, column: usize) -> f32 {
        self.panel(column / PANEL)[row].values()[column % PANEL]
    }

    pub fn get_mut(&mut self, row: usize, column: usize) -> &mut f32 {
        &mut self.panel_mut(column / PANEL)[row].values_mut()[column % PANEL]
    }

    /// Bytes of this shape.
    pub fn bytes(rows: usize, columns: usize) -> u64 {
        crate::base::memory::bytes_of::<Row>(rows).saturating_mul(panels_for(columns) as u64)
    }
}

impl SingleSums {
    /// The sums of no row.
    pub fn zero(columns: usize) -> Self {
        let width = panels_for(columns);
        Self { columns, tiles: vec![Tile(vec![0.0; PANEL * PANEL]); width * (width + 1) / 2] }
    }

    /// Bytes of the sums of `columns` columns.
    pub fn bytes(columns: usize) -> u64 {
        let width = panels_for(columns);
        crate::base::memory::matrix_bytes(width * (width + 1) / 2, PANEL * PANEL)
    }

    /// Adds the rows of these panels, on all threads.
    ///
    /// # Panics
    /// If the number of columns differs.
    pub fn add(&mut self, slabs: &[&Panels]) {
        assert!(slabs.iter().all(|slab| slab.columns == self.columns), "rows of as many columns");
        let width = panels_for(self.columns);
        let mut rest = &mut self.tiles[..];
        let mut tasks = Vec::new();
        for i in 0..width {
            let (row, after) = rest.split_at_mut(width - i);
            rest = after;
            let tiles = row.chunks_mut(TASK_TILES).enumerate();
            tasks.extend(tiles.map(|(number, tiles)| (i, i + number * TASK_TILES, tiles)));
        }
        let columns = self.columns;
        parallel::each_of(tasks, |_, (i, first, tiles): (usize, usize, &mut [Tile])| {
            let left_columns = (columns - i * PANEL).min(PANEL);
            for slab in slabs {
                let left = slab.panel(i).chunks(SLAB);
                for (number, left) in left.enumerate() {
                    checkpoint();
                    let rows = number * SLAB..number * SLAB + left.len();
                    for (j, tile) in (first..).zip(&mut *tiles) {
                        tile.add(left, &slab.panel(j)[rows.clone()], left_columns);
                    }
                }
            }
        });
    }

    /// Adds other sums with the same number of columns.
    pub fn add_sums(&mut self, other: &Self) {
        for (tile, other) in self.tiles.iter_mut().zip(&other.tiles) {
            tile.0.iter_mut().zip(&other.0).for_each(|(sum, value)| *sum += value);
        }
    }

    /// The same sums times a factor.
    #[must_use]
    pub fn scaled(mut self, factor: f64) -> Self {
        self.tiles.iter_mut().flat_map(|tile| &mut tile.0).for_each(|sum| *sum *= factor);
        self
    }

    pub fn get(&self, i: usize, j: usize) -> f64 {
        let (i, j) = (i.min(j), i.max(j));
        self.tile(i / PANEL, j / PANEL)[i % PANEL * PANEL + j % PANEL]
    }

    /// M x. M is the leading square matrix with one row per entry of x.
    pub fn times(&self, x: &[f64]) -> Vec<f64> {
        let mut product = vec![0.0; x.len()];
        for row in 0..panels_for(x.len()) {
            checkpoint();
            for column in row..panels_for(x.len()) {
                self.add_tile_times(row, column, x, &mut product);
            }
        }
        product
    }

    fn add_tile_times(&self, row: usize, column: usize, x: &[f64], product: &mut [f64]) {
        let (rows, columns) = (row * PANEL..x.len().min((row + 1) * PANEL), column * PANEL..x.len());
        for (i, entries) in rows.zip(self.tile(row, column).chunks_exact(PANEL)) {
            let entries = &entries[..columns.len().min(PANEL)];
            product[i] += dot(entries, &x[columns.start..columns.start + entries.len()]);
            if column > row {
                for (product, entry) in product[columns.start..].iter_mut().zip(entries) {
                    *product += entry * x[i];
                }
            }
        }
    }

    /// Overwrites a tile with tile (row, column) of the leading (dim, dim) matrix minus its numbers; row <= column. Beyond
    /// the matrix it is 0.
    pub(super) fn subtract_from(&self, row: usize, column: usize, dim: usize, tile: &mut [Row]) {
        let [rows, columns] = [row, column].map(|number| dim.saturating_sub(number * PANEL).min(PANEL));
        for (i, (values, sums)) in tile.iter_mut().zip(self.tile(row, column).chunks_exact(PANEL)).enumerate()
        {
            let used = if i < rows { columns } else { 0 };
            let (inside, outside) = values.values_mut().split_at_mut(used);
            inside.iter_mut().zip(sums).for_each(|(value, sum)| *value = (*sum - f64::from(*value)) as f32);
            outside.fill(0.0);
        }
    }

    fn tile(&self, row: usize, column: usize) -> &[f64] {
        let width = panels_for(self.columns);
        // Rows of tiles before this one have width, width - 1, ... tiles.
        &self.tiles[row * width + column - row * (row + 1) / 2].0
    }
}

impl Tile {
    /// Adds the product of at most a slab of rows.
    fn add(&mut self, left: &[Row], right: &[Row], left_columns: usize) {
        let mut product = [Row::ZERO; PANEL];
        add_product(left, right, left_columns, &mut product);
        for (sums, product) in self.0.chunks_exact_mut(PANEL).zip(&product) {
            for (sum, value) in sums.iter_mut().zip(product.values()) {
                *sum += f64::from(*value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_match_the_outer_products() {
        let columns = 3 * PANEL + 5;
        let slab = |rows: usize, shift: usize| {
            let mut slab = Panels::zero(rows, columns);
            for (row, column) in (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column))) {
                *slab.get_mut(row, column) = ((row * 31 + column * 7 + shift) as f32).sin();
            }
            slab
        };
        let slabs = [slab(200, 0), slab(3, 11), slab(0, 0)];
        let mut sums = SingleSums::zero(columns);
        sums.add(&slabs.iter().collect::<Vec<&Panels>>());
        let mut twice = sums.clone();
        twice.add_sums(&sums);
        for (i, j) in [(0, 0), (5, 1), (2, 100), (148, 148), (60, 147), (47, 48)] {
            let rows = slabs.iter().flat_map(|slab| (0..slab.rows()).map(move |row| (slab, row)));
            let term =
                |(slab, row): (&Panels, usize)| f64::from(slab.get(row, i)) * f64::from(slab.get(row, j));
            let expected: f64 = rows.map(term).sum();
            assert!((sums.get(i, j) - expected).abs() < 1e-4, "{i}, {j}");
            assert!((twice.get(j, i) - 2.0 * sums.get(i, j)).abs() < 1e-12);
        }
    }
}
