//! The feature map of a kernel in single precision, for sums over very many documents.
//!
//! ```text
//! q(x, P)    of 48 documents at a time, by products of panels; |x - z|^2 = |x|^2 + |z|^2 - 2 x.z of centered documents
//! phi(x)     L^-1 (k(x, P) - m), m_l the mean of K(x_l, P): functions minus their means in a query do not change
//! ```
//!
//! Kernels exp(-gamma q) alone have one; gamma is in the coordinates. Errors are the rounding errors of single
//! precision divided by the smallest diagonal entry of L, which must be at least [`SMALLEST_PIVOT`] times the largest.

use std::ops::RangeInclusive;

use super::def::Inner;
use super::map::FeatureMap;
use crate::base::{Control, Result, bytes_of, checkpoint, parallel};
use crate::data::{Matrix, Slice};
use crate::math::{
    Element, PANEL, Panels, Row, TILE, Tile, add_differences, add_product, cholesky, decay, panels_for, simd,
};

/// Smallest diagonal entry of L, as a fraction of the largest.
const SMALLEST_PIVOT: f64 = 1e-3;
/// Largest and smallest sqrt K(x, x).
const NORMS: RangeInclusive<f64> = 1e-6..=1e6;
/// Largest squared norm of a landmark, in the kernel's units.
const LONGEST: f64 = 1e4;
/// Tiles of columns of L^-1 that are computed together.
const TILES: usize = 16;
/// Coordinates of documents are cut off here. They are as far from each landmark as they can be.
const FARTHEST: f64 = 1e6;

#[derive(Debug)]
pub struct SingleMap {
    inner: Inner,
    /// Subtracted from documents, which are then multiplied by `factor`.
    center: Vec<f64>,
    factor: f64,
    /// Landmarks: a row for each feature, a column for each landmark.
    points: Panels,
    /// Squared norms of the landmarks.
    squares: Vec<f32>,
    /// m (r).
    means: Vec<f32>,
    /// The transpose of L^-1 (r, r).
    whitening: Panels,
}

impl SingleMap {
    /// The map in single precision; `None` if that has too few digits, and for other kinds of kernels.
    pub fn of(map: &FeatureMap) -> Option<Self> {
        let (basis, factor) = (&map.basis, &map.factor);
        let (kernel, r, dim) = (&basis.kernel, map.dim(), basis.points.dim);
        // 1. Whether single precision is enough.
        let pivots = || (0..r).map(|i| cholesky::row(factor, i)[i]);
        let (least, most) = (pivots().fold(f64::INFINITY, f64::min), pivots().fold(0.0, f64::max));
        if !(least >= SMALLEST_PIVOT * most && NORMS.contains(&most)) {
            return None;
        }
        // 2. Landmarks in the units of the kernel.
        let def = kernel.def;
        let gamma = kernel.parameters.first().copied().filter(|_| def.factorizes)?;
        let scale = match def.inner {
            Inner::SquaredDistance => gamma.sqrt(),
            Inner::Manhattan => gamma,
            Inner::Dot => return None,
        };
        let rows = basis.points.rows();
        let mut center = vec![0.0; dim];
        for row in rows.chunks_exact(dim) {
            center.iter_mut().zip(row).for_each(|(sum, x)| *sum += x / r as f64);
        }
        let mut points = Panels::zero(dim, r);
        let mut squares = vec![0.0_f32; r];
        for (l, row) in rows.chunks_exact(dim).enumerate() {
            let mut square = 0.0;
            for (j, (x, center)) in row.iter().zip(&center).enumerate() {
                let x = ((x - center) * scale) as f32;
                *points.get_mut(j, l) = x;
                square += f64::from(x) * f64::from(x);
            }
            if square.is_nan() || square > LONGEST {
                return None;
            }
            squares[l] = square as f32;
        }
        // 3. m, from the rows of L L' = K(P, P).
        let mut sums = vec![0.0; r];
        for l in 0..r {
            sums.iter_mut().zip(cholesky::row(factor, l)).for_each(|(sum, entry)| *sum += entry / r as f64);
        }
        let mean = |l: usize| cholesky::row(factor, l).iter().zip(&sums).map(|(x, y)| x * y).sum::<f64>();
        let means = (0..r).map(|l| mean(l) as f32).collect();
        let whitening = whitening(factor, r);
        Some(Self { inner: def.inner, center, factor: scale, points, squares, means, whitening })
    }

    /// Number of features r.
    pub fn dim(&self) -> usize {
        self.means.len()
    }

    /// Bytes of the single-precision map, and of columns of L^-1 while it is built.
    pub fn bytes_of(map: &FeatureMap) -> u64 {
        let (r, dim) = (map.dim(), map.basis.points.dim);
        let columns = bytes_of::<Tile>(r).saturating_mul(TILES as u64);
        Panels::bytes(r, r).saturating_add(Panels::bytes(dim, r)).saturating_add(columns)
    }

    /// Writes phi of some documents into the first rows of panels with at least r columns.
    ///
    /// # Errors
    /// An interrupt.
    pub fn fill(&self, features: &Matrix, rows: &[usize], out: &mut Panels, control: &Control) -> Result<()> {
        for (tile, rows) in rows.chunks(PANEL).enumerate() {
            control.check()?;
            let kernel = self.kernel_of(features, rows);
            for panel in 0..panels_for(self.dim()) {
                let mut phi = [Row::ZERO; PANEL];
                // L^-1 is triangular.
                let used = self.dim().min((panel + 1) * PANEL);
                let whitening = &self.whitening.panel(panel)[..used];
                add_product(&kernel[..used], whitening, rows.len(), &mut phi);
                let start = tile * PANEL;
                out.panel_mut(panel)[start..start + rows.len()].copy_from_slice(&phi[..rows.len()]);
            }
        }
        Ok(())
    }

    /// The coefficients of functions for [`Self::scores`]: of each, beta (r). At most 48.
    pub fn functions(&self, betas: &[Vec<f64>]) -> Panels {
        let mut functions = Panels::zero(self.dim(), betas.len());
        for (number, beta) in betas.iter().enumerate() {
            beta.iter().enumerate().for_each(|(l, beta)| *functions.get_mut(l, number) = *beta as f32);
        }
        functions
    }

    /// Scores of some documents by each of the functions, up to a constant for each function: a vector for each function.
    ///
    /// # Errors
    /// An interrupt.
    pub fn scores(
        &self,
        features: &Matrix,
        rows: &[usize],
        functions: &Panels,
        control: &Control,
    ) -> Result<Vec<Vec<f64>>> {
        let mut scores = vec![Vec::with_capacity(rows.len()); functions.columns];
        for rows in rows.chunks(PANEL) {
            control.check()?;
            let kernel = self.kernel_of(features, rows);
            let mut products = [Row::ZERO; PANEL];
            add_product(&kernel[..self.dim()], functions.panel(0), rows.len(), &mut products);
            for row in &products[..rows.len()] {
                scores
                    .iter_mut()
                    .zip(row.values())
                    .for_each(|(scores, score)| scores.push(f64::from(*score)));
            }
        }
        Ok(scores)
    }

    /// k(x, P) - m of up to 48 documents: a row for each landmark, a column for each document.
    fn kernel_of(&self, features: &Matrix, rows: &[usize]) -> Vec<Row> {
        let documents = self.packed(features, rows);
        let mut squares = Row::ZERO;
        add_squares(&documents, &mut squares);
        let mut kernel = vec![Row::ZERO; panels_for(self.dim()) * PANEL];
        for (panel, out) in kernel.chunks_exact_mut(PANEL).enumerate() {
            let first = panel * PANEL;
            let count = (self.dim() - first).min(PANEL);
            let points = self.points.panel(panel);
            if self.inner == Inner::Manhattan {
                add_differences(points, &documents, count, out);
            } else {
                add_product(points, &documents, count, out);
                distances(&self.squares[first..first + count], &squares, out);
            }
            decays(&self.means[first..first + count], out);
            out[count..].fill(Row::ZERO);
        }
        kernel
    }

    /// Documents in the units of the kernel: a row for each feature, a column for each document.
    fn packed(&self, features: &Matrix, rows: &[usize]) -> Vec<Row> {
        let mut packed = vec![Row::ZERO; self.center.len()];
        for (column, row) in rows.iter().enumerate() {
            match features.slice(*row..*row + 1) {
                Some(Slice::F32(document)) => self.pack(document, column, &mut packed),
                Some(Slice::F64(document)) => self.pack(document, column, &mut packed),
                None => self.pack(&features.row_f64(*row), column, &mut packed),
            }
        }
        packed
    }

    /// Writes a document into a column.
    fn pack<T: Element>(&self, document: &[T], column: usize, packed: &mut [Row]) {
        for ((row, center), x) in packed.iter_mut().zip(&self.center).zip(document) {
            let x = (x.to_f64() - center) * self.factor;
            row.values_mut()[column] = x.clamp(-FARTHEST, FARTHEST) as f32;
        }
    }
}

/// The transpose of L^-1.
fn whitening(factor: &[f64], r: usize) -> Panels {
    let columns = |tile: usize| {
        checkpoint();
        // Columns of L^-1: solutions for unit vectors.
        let mut tiles = vec![Tile::ZERO; r];
        for lane in 0..TILE.min(r - tile * TILE) {
            *tiles[tile * TILE + lane].get_mut(lane) = 1.0;
        }
        cholesky::forward(factor, &mut tiles);
        tiles
    };
    let mut whitening = Panels::zero(r, r);
    let count = r.div_ceil(TILE);
    for first in (0..count).step_by(TILES) {
        let blocks = parallel::map(TILES.min(count - first), |number| columns(first + number));
        for (number, tiles) in (first..).zip(blocks) {
            for (j, tile) in tiles.iter().enumerate() {
                for lane in 0..TILE.min(r - number * TILE) {
                    *whitening.get_mut(number * TILE + lane, j) = tile.get(lane) as f32;
                }
            }
        }
    }
    whitening
}

simd! {
    /// Adds the squares of each row.
    fn add_squares<'a>(rows: &'a [Row], sums: &'a mut Row) {
        for row in rows {
            for (sum, x) in sums.values_mut().iter_mut().zip(row.values()) {
                *sum = x.mul_add(*x, *sum);
            }
        }
    }
}

simd! {
    /// Squared distances from products, of each landmark with each document.
    fn distances<'a>(landmarks: &'a [f32], documents: &'a Row, rows: &'a mut [Row]) {
        for (row, landmark) in rows.iter_mut().zip(landmarks) {
            for (value, document) in row.values_mut().iter_mut().zip(documents.values()) {
                *value = (-2.0_f32).mul_add(*value, *landmark + *document).max(0.0);
            }
        }
    }
}

simd! {
    /// exp(-q) - m.
    fn decays<'a>(means: &'a [f32], rows: &'a mut [Row]) {
        for (row, mean) in rows.iter_mut().zip(means) {
            for value in row.values_mut() {
                *value = decay(*value) - *mean;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::shaped;
    use crate::learn::kernel::{KernelSpec, MapOptions};
    use crate::math::Random;

    #[test]
    fn features_and_scores_match_double_precision_up_to_a_constant() {
        let (n, dim, control) = (130, 7, Control::default());
        let mut random = Random::new(5);
        let values: Vec<f64> = (0..n * dim).map(|_| 10.0 + random.symmetric()).collect();
        let features = Matrix::F64(shaped(n, dim, values));
        for kernel in ["gaussian", "laplace_l1"] {
            let kernel = KernelSpec::parse(&serde_json::json!(kernel)).unwrap();
            let kernel = kernel.fit(&features, 0, &control).unwrap();
            let options = MapOptions::new(60, 0);
            let map = FeatureMap::fit(&kernel, &features, &options, &control).unwrap();
            let single = SingleMap::of(&map).unwrap();
            let rows: Vec<usize> = (0..n).rev().collect();
            let exact = map.features(&features, 0..n, &control).unwrap();
            let mut panels = Panels::zero(n, map.dim());
            single.fill(&features, &rows, &mut panels, &control).unwrap();
            let shift: Vec<f64> = (0..map.dim())
                .map(|j| f64::from(panels.get(0, j)) - exact[(n - 1) * map.dim() + j])
                .collect();
            for (k, row) in rows.iter().enumerate() {
                for j in 0..map.dim() {
                    let error = f64::from(panels.get(k, j)) - exact[row * map.dim() + j] - shift[j];
                    assert!(error.abs() < 5e-4, "{error}");
                }
            }
            let w: Vec<f64> = (0..map.dim()).map(|j| (j as f64).sin()).collect();
            let beta = map.coefficients(&w).unwrap();
            let exact = map.basis.scores(&features, 0..n, &beta, &control).unwrap();
            let functions = single.functions(&[beta.clone(), beta]);
            let panels = single.scores(&features, &rows, &functions, &control).unwrap();
            assert_eq!(panels[0], panels[1]);
            for (k, row) in rows.iter().enumerate() {
                let error = (panels[0][k] - panels[0][0]) - (exact[*row] - exact[n - 1]);
                assert!(error.abs() < 1e-3, "{error}");
            }
        }
    }

    #[test]
    fn maps_with_tiny_pivots_and_of_other_kernels_have_none() {
        let control = Control::default();
        let features = Matrix::F64(shaped(300, 1, (0..300).map(|i| f64::from(i) / 300.0).collect()));
        for (kernel, landmarks) in [("gaussian", 300), ("laplace", 5), ("polynomial", 2)] {
            let options = MapOptions::new(landmarks, 0);
            let kernel = KernelSpec::parse(&serde_json::json!(kernel)).unwrap();
            let kernel = kernel.fit(&features, 0, &control).unwrap();
            let map = FeatureMap::fit(&kernel, &features, &options, &control).unwrap();
            assert!(SingleMap::of(&map).is_none());
        }
    }
}
