//! Typical distances of documents: the units of the parameters of kernels.

use super::def::Inner;
use super::points::Points;
use super::sample::sample;
use crate::base::{Control, Result, matrix_bytes, parallel};
use crate::data::Matrix;
use crate::math::median;

/// Up to this number of documents, the median is taken over all pairs. For more documents, a sample of this size is
/// used.
const MEDIAN_DOCUMENTS: usize = 2000;
/// Rows summed at a time.
const BLOCK: usize = 4096;

/// v: the sum over features of their variance (mean square deviation from the mean) over all documents; 0
/// without any.
///
/// # Errors
/// An interrupt.
pub(super) fn total_variance(features: &Matrix, control: &Control) -> Result<f64> {
    let n = features.rows().max(1) as f64;
    let sums = summed(features, control, |column, x, sums| sums[column] += x)?;
    let means: Vec<f64> = sums.iter().map(|sum| sum / n).collect();
    let squares = summed(features, control, |column, x, sums| {
        let deviation = x - means[column];
        sums[column] += deviation * deviation;
    })?;
    Ok(squares.iter().sum::<f64>() / n)
}

/// Sums of `add` over every (column, value, sums), in fixed blocks of rows that are added in their order.
fn summed(
    features: &Matrix,
    control: &Control,
    add: impl Fn(usize, f64, &mut [f64]) + Sync,
) -> Result<Vec<f64>> {
    let dim = features.columns();
    let one = |block: usize| -> Result<Vec<f64>> {
        control.check()?;
        let rows = features.rows_f64(block * BLOCK..features.rows().min((block + 1) * BLOCK));
        let mut sums = vec![0.0; dim];
        for row in rows.chunks_exact(dim.max(1)) {
            row.iter().enumerate().for_each(|(column, x)| add(column, *x, &mut sums));
        }
        Ok(sums)
    };
    let blocks = features.rows().div_ceil(BLOCK);
    let parts: Result<Vec<Vec<f64>>> =
        if blocks < 2 { (0..blocks).map(one).collect() } else { parallel::try_map(blocks, one) };
    let mut total = vec![0.0; dim];
    for part in parts? {
        total.iter_mut().zip(part).for_each(|(sum, value)| *sum += value);
    }
    Ok(total)
}

/// The median distance between two documents: over all pairs of up to `MEDIAN_DOCUMENTS` documents, or of a sample of
/// this size, which the seed chooses. `None` with fewer than two documents, or for the dot product.
///
/// # Errors
/// An interrupt.
pub(super) fn median_distance(
    inner: Inner,
    features: &Matrix,
    seed: u64,
    control: &Control,
) -> Result<Option<f64>> {
    let chosen = features.select_rows(&sample(features.rows(), MEDIAN_DOCUMENTS, seed));
    let (n, dim) = (chosen.rows(), chosen.columns());
    let (what, way_out) = ("the median distance of documents", "give the kernel a width");
    let _memory = control.reserve(matrix_bytes(n, n + 4 * dim), what, way_out)?;
    let rows = chosen.rows_f64(0..n);
    let points = Points::new(&rows, n, dim);
    let mut distances = Vec::with_capacity(n * n.saturating_sub(1) / 2);
    for i in 0..n {
        control.check()?;
        let quantities = points.inner(inner, &rows[i * dim..(i + 1) * dim], 1);
        distances.extend(quantities[i + 1..].iter().filter_map(|q| inner.distance(*q)));
    }
    Ok(median(&distances))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::shaped;

    fn matrix(rows: usize, columns: usize, values: Vec<f64>) -> Matrix {
        Matrix::F64(shaped(rows, columns, values))
    }

    fn variance(features: &Matrix) -> f64 {
        total_variance(features, &Control::default()).unwrap()
    }

    fn median_of(inner: Inner, features: &Matrix, seed: u64) -> Option<f64> {
        median_distance(inner, features, seed, &Control::default()).unwrap()
    }

    #[test]
    fn the_total_variance_is_the_sum_over_features() {
        let features = matrix(4, 2, vec![0.0, 5.0, 2.0, 5.0, 0.0, 5.0, 2.0, 9.0]);
        assert!((variance(&features) - (1.0 + 3.0)).abs() < 1e-15);
        assert!(variance(&matrix(0, 2, vec![])).abs() < 1e-300);
        // Several blocks: 0 and 1 in turn have the variance 1/4.
        let many = matrix(10_000, 1, (0..10_000).map(|i| f64::from(i % 2)).collect());
        assert!((variance(&many) - 0.25).abs() < 1e-12);
    }

    #[test]
    fn the_median_is_over_pairs_and_in_the_distance_of_the_kernel() {
        let features = matrix(3, 2, vec![0.0, 0.0, 3.0, 4.0, 0.0, 1.0]);
        // Euclidean: 5, 1, sqrt(18); sums of absolute differences: 7, 1, 6.
        let euclidean = median_of(Inner::SquaredDistance, &features, 0).unwrap();
        assert!((euclidean - 18.0_f64.sqrt()).abs() < 1e-15);
        assert_eq!(median_of(Inner::Manhattan, &features, 0), Some(6.0));
        assert_eq!(median_of(Inner::Dot, &features, 0), None);
        assert_eq!(median_of(Inner::Manhattan, &matrix(1, 1, vec![2.0]), 0), None);
    }

    #[test]
    fn a_sample_of_many_documents_gives_nearly_the_median_of_all() {
        // Distances of uniform numbers on [0, 1] have the median 1 - sqrt(1/2).
        let n = 20_000_u32;
        let values = (0..n).map(|i| f64::from(i.wrapping_mul(7919) % n) / f64::from(n)).collect();
        let found = median_of(Inner::Manhattan, &matrix(n as usize, 1, values), 3).unwrap();
        assert!((found - (1.0 - 0.5_f64.sqrt())).abs() < 0.02, "{found}");
    }
}
