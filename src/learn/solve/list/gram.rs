//! The sums over documents for least squares, and its solution.
//!
//! ```text
//! Z        the documents of all queries, minus their means in the query if the loss centers scores, each row times the
//!          square root of c factor; t the targets in the same way
//! A = Z'Z, b = Z't, t't        R(w) = (w'A w - 2 b.w + t't) / 2
//! (A + 2 lambda I) w = b + 2 lambda w0
//! ```
//!
//! The three are one matrix [Z t]'[Z t], kept in tiles of eight rows and columns on and above the diagonal. Sums can be
//! added and subtracted: the sums without a fold are the sums of all folds minus the sums of the fold.

use super::block::ListBlock;
use super::problem::ListProblem;
use crate::base::{Error, Result, checkpoint, matrix_bytes, parallel};
use crate::cost::loss::{Quadratic, QueryLoss};
use crate::data::Slice;
use crate::math::{Element, Factor, LANES, Lanes, Objective, SingleSums, difference, dot, gram, lanes};

/// Rows of a slab. Two panels of a slab fit into the first-level cache.
const SLAB: usize = 128;
/// Approximate number of documents that are centered at a time.
const CHUNK: usize = 2048;

const TASK_TILES: usize = 8;

/// Eight rows and columns of a matrix.
type Tile = [Lanes; LANES];

/// A symmetric matrix as a sum of outer products.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Outer {
    columns: usize,
    /// The tiles on and above the diagonal, row after row.
    tiles: Vec<Tile>,
}

impl Outer {
    pub(super) fn zero(columns: usize) -> Self {
        let width = lanes::blocks_for(columns);
        Self { columns, tiles: vec![[Lanes::ZERO; LANES]; width * (width + 1) / 2] }
    }

    fn width(&self) -> usize {
        lanes::blocks_for(self.columns)
    }

    /// Adds Z'Z of these row-major rows. One thread computes a tile.
    pub(super) fn add_rows(&mut self, rows: &[f64]) {
        let width = self.width();
        let positions: Vec<(usize, usize)> =
            (0..width).flat_map(|i| (i..width).map(move |j| (i, j))).collect();
        for slab in rows.chunks(SLAB * self.columns) {
            let n = slab.len() / self.columns;
            let panels = panels(slab, self.columns);
            let panel = |block: usize| &panels[block * n..(block + 1) * n];
            let tasks = self.tiles.chunks_mut(TASK_TILES).zip(positions.chunks(TASK_TILES)).collect();
            parallel::each_of(tasks, |_, (tiles, positions): (&mut [_], &[(usize, usize)])| {
                for (tile, &(i, j)) in tiles.iter_mut().zip(positions) {
                    checkpoint();
                    let (left, right) = (panel(i), panel(j));
                    gram::add_product(left, 1, right, 1, left.len(), tile);
                }
            });
        }
    }

    /// The tile of an entry on or above the diagonal.
    fn tile(&self, i: usize, j: usize) -> usize {
        let (row, column) = (i / LANES, j / LANES);
        row * self.width() - row * (row + 1) / 2 + column
    }

    pub(super) fn get(&self, i: usize, j: usize) -> f64 {
        let (i, j) = (i.min(j), i.max(j));
        self.tiles[self.tile(i, j)][i % LANES].0[j % LANES]
    }

    /// An entry on or above the diagonal.
    fn get_mut(&mut self, i: usize, j: usize) -> &mut f64 {
        let tile = self.tile(i, j);
        &mut self.tiles[tile][i % LANES].0[j % LANES]
    }

    /// The solution of (M + ridge I) x = right for the leading matrix M of this size; `None` if it is not positive
    /// definite in double precision.
    pub(super) fn solve(&self, ridge: f64, right: &[f64]) -> Option<Vec<f64>> {
        let entry = |i, j| if i == j { self.get(i, j) + ridge } else { self.get(i, j) };
        let x = Factor::of(right.len(), entry)?.solve(right);
        x.iter().all(|value| value.is_finite()).then_some(x)
    }
}

/// The panels of eight columns of a slab, one after the other.
fn panels(slab: &[f64], columns: usize) -> Vec<Lanes> {
    let n = slab.len() / columns;
    let mut panels = vec![Lanes::ZERO; lanes::blocks_for(columns) * n];
    for (k, row) in slab.chunks_exact(columns).enumerate() {
        for (block, values) in row.chunks(LANES).enumerate() {
            panels[block * n + k].0[..values.len()].copy_from_slice(values);
        }
    }
    panels
}

/// The sums of least squares.
#[derive(Debug, Clone, PartialEq)]
pub struct Gram {
    dim: usize,
    /// [Z t]'[Z t]
    outer: Outer,
}

impl Gram {
    /// The sums of no query, for `dim` features.
    pub fn zero(dim: usize) -> Self {
        Self { dim, outer: Outer::zero(dim + 1) }
    }

    /// The sums of these queries, each with its weight c >= 0.
    ///
    /// # Errors
    /// A different number of features; a loss that is not quadratic.
    pub fn of(dim: usize, queries: &[(&ListBlock, f64)]) -> Result<Self> {
        Self::of_rows(dim, queries, |_, (block, weight)| scaled_rows(block, block.loss(), *weight, dim))
    }

    /// About the Hessian of a smooth risk at 0: documents minus their means, times the curvature of the loss.
    ///
    /// # Errors
    /// A different number of features.
    pub fn of_hessian_at_0(problem: &ListProblem<'_>) -> Result<Self> {
        let dim = problem.dim();
        Self::of_rows(dim, &problem.blocks, |query, (block, weight)| {
            // Where all documents are equal, the Hessian is a (I - 1 1' / n); a by one product with a vector.
            let n = block.n_docs();
            let direction: Vec<f64> = (0..n).map(|document| 1.0 - 2.0 * (document % 2) as f64).collect();
            let (zeros, mut product) = (vec![0.0; n], vec![0.0; n]);
            problem.loss_of(query).hessian_times(&zeros, &direction, &mut product);
            let odd = (n % 2) as f64;
            let curvature = dot(&direction, &product) / (n as f64 - odd / n as f64).max(1.0);
            let factor = curvature.max(0.0);
            let quadratic = Quadratic { targets: &zeros, weights: &[], centered: true, factor };
            centered_rows(block, &quadratic, *weight, dim)
        })
    }

    /// Bytes of a problem's sums, of a factor, and of the rows that are added together.
    pub(super) fn bytes(problem: &ListProblem<'_>) -> u64 {
        let longest = problem.blocks.iter().map(|(block, _)| block.n_docs()).max().unwrap_or(0);
        let columns = problem.dim() + LANES;
        matrix_bytes(2 * (columns + CHUNK.min(problem.documents()) + longest), columns)
    }

    /// The sums over the queries' rows.
    fn of_rows(
        dim: usize,
        queries: &[(&ListBlock, f64)],
        rows: impl Fn(usize, &(&ListBlock, f64)) -> Result<Vec<f64>> + Sync,
    ) -> Result<Self> {
        let mut gram = Self::zero(dim);
        let mut rest = queries;
        while !rest.is_empty() {
            // The next queries, until they have CHUNK documents.
            let mut documents = 0;
            let fits = |(block, _): &&(&ListBlock, f64)| {
                let fits = documents < CHUNK;
                documents += block.n_docs();
                fits
            };
            let chunk;
            (chunk, rest) = rest.split_at(rest.iter().take_while(fits).count());
            let first = queries.len() - rest.len() - chunk.len();
            let rows: Vec<Vec<f64>> =
                parallel::try_map(chunk.len(), |number| rows(first + number, &chunk[number]))?;
            gram.outer.add_rows(&rows.concat());
        }
        Ok(gram)
    }

    /// The sums over rows in single precision, whose last column is t.
    pub fn of_single(sums: &SingleSums) -> Self {
        let mut gram = Self::zero(sums.columns.saturating_sub(1));
        for i in 0..sums.columns {
            checkpoint();
            for j in i..sums.columns {
                *gram.outer.get_mut(i, j) = sums.get(i, j);
            }
        }
        gram
    }

    /// Adds the sums of other queries.
    ///
    /// # Panics
    /// If the number of features differs.
    pub fn add(&mut self, other: &Self) {
        assert_eq!(self.dim, other.dim, "sums of as many features");
        let numbers = other.outer.tiles.iter().flatten().flat_map(|lanes| lanes.0);
        let own = self.outer.tiles.iter_mut().flatten().flat_map(|lanes| &mut lanes.0);
        own.zip(numbers).for_each(|(sum, value)| *sum += value);
    }

    /// Number of features.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// A, row-major, (dim, dim).
    pub fn matrix(&self) -> Vec<f64> {
        (0..self.dim).flat_map(|i| (0..self.dim).map(move |j| self.outer.get(i, j))).collect()
    }

    /// b (dim).
    pub fn right(&self) -> Vec<f64> {
        (0..self.dim).map(|i| self.outer.get(i, self.dim)).collect()
    }

    /// t't.
    pub fn square(&self) -> f64 {
        self.outer.get(self.dim, self.dim)
    }

    /// The same sums times a factor.
    #[must_use]
    pub fn times(mut self, factor: f64) -> Self {
        let own = self.outer.tiles.iter_mut().flatten().flat_map(|lanes| &mut lanes.0);
        own.for_each(|value| *value *= factor);
        self
    }

    /// The entries of [Z t]'[Z t] on and above the diagonal, row after row.
    pub fn numbers(&self) -> Vec<f64> {
        (0..=self.dim).flat_map(|i| (i..=self.dim).map(move |j| self.outer.get(i, j))).collect()
    }

    /// The sums with these numbers; `None` if their count is wrong.
    pub fn of_numbers(dim: usize, numbers: &[f64]) -> Option<Self> {
        let mut gram = Self::zero(dim);
        let mut rest = numbers.iter();
        for i in 0..=dim {
            for j in i..=dim {
                *gram.outer.get_mut(i, j) = *rest.next()?;
            }
        }
        rest.next().is_none().then_some(gram)
    }

    fn times_vector(&self, v: &[f64]) -> Vec<f64> {
        (0..self.dim).map(|i| v.iter().enumerate().map(|(j, v)| self.outer.get(i, j) * v).sum()).collect()
    }

    /// The minimum of R(w) + lambda |w - w0|^2; `None` if A + 2 lambda I is not positive definite in double precision.
    pub fn solve(&self, lambda: f64, center: Option<&[f64]>) -> Option<Vec<f64>> {
        let mut right = self.right();
        if let Some(center) = center {
            right.iter_mut().zip(center).for_each(|(b, w0)| *b += 2.0 * lambda * w0);
        }
        self.inverse_times(lambda, &right)
    }

    /// The factor of A + 2 lambda I; `None` as for [`Self::solve`].
    pub(super) fn factor(&self, lambda: f64) -> Option<Factor> {
        let entry = |i, j| self.outer.get(i, j) + if i == j { 2.0 * lambda } else { 0.0 };
        Factor::of(self.dim, entry)
    }

    /// (A + 2 lambda I)^-1 g; `None` as for [`Self::solve`].
    pub(super) fn inverse_times(&self, lambda: f64, g: &[f64]) -> Option<Vec<f64>> {
        self.outer.solve(2.0 * lambda, g)
    }
}

/// R(w) = (w'A w - 2 b.w + t't) / 2. An image of w is w.
impl Objective for Gram {
    fn dim(&self) -> usize {
        self.dim
    }

    fn value_at(&self, w: &[f64], slopes: &mut [f64]) -> f64 {
        let (product, right) = (self.times_vector(w), self.right());
        slopes.copy_from_slice(&difference(&product, &right));
        (0.5 * (dot(w, slopes) - dot(w, &right) + self.square())).max(0.0)
    }

    fn hessian_times(&self, _w: &[f64], v: &[f64]) -> Vec<f64> {
        self.times_vector(v)
    }
}

/// The rows of [Z t] of one query, row-major.
pub(super) fn scaled_rows(
    block: &ListBlock,
    loss: &dyn QueryLoss,
    weight: f64,
    dim: usize,
) -> Result<Vec<f64>> {
    let Some(quadratic) = loss.quadratic() else {
        return Err(Error::Unsupported("least squares for a loss that is not quadratic".to_owned()));
    };
    centered_rows(block, &quadratic, weight, dim)
}

fn centered_rows(block: &ListBlock, quadratic: &Quadratic<'_>, weight: f64, dim: usize) -> Result<Vec<f64>> {
    block.check_dim(dim)?;
    let mut rows = match block.slice() {
        Slice::F32(x) => with_targets(x, quadratic, dim),
        Slice::F64(x) => with_targets(x, quadratic, dim),
    };
    let columns = dim + 1;
    let mut means = vec![0.0; columns];
    if quadratic.centered {
        for (document, row) in rows.chunks_exact(columns).enumerate() {
            let weight = quadratic.weight(document);
            means.iter_mut().zip(row).for_each(|(mean, value)| *mean += weight * value);
        }
        means.iter_mut().for_each(|mean| *mean /= quadratic.total_weight());
    }
    for (document, row) in rows.chunks_exact_mut(columns).enumerate() {
        let scale = (weight * quadratic.factor * quadratic.weight(document)).sqrt();
        row.iter_mut().zip(&means).for_each(|(value, mean)| *value = (*value - mean) * scale);
    }
    Ok(rows)
}

fn with_targets<T: Element>(x: &[T], quadratic: &Quadratic<'_>, dim: usize) -> Vec<f64> {
    let mut rows = Vec::with_capacity(quadratic.targets.len() * (dim + 1));
    for (row, target) in x.chunks_exact(dim).zip(quadratic.targets) {
        rows.extend(row.iter().map(|value| value.to_f64()));
        rows.push(*target);
    }
    rows
}
