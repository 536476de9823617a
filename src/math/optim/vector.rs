//! Arithmetic on vectors of equal length.

use crate::math::dense::dot;

/// y += factor x
pub fn axpy(factor: f64, x: &[f64], y: &mut [f64]) {
    y.iter_mut().zip(x).for_each(|(y, x)| *y += factor * x);
}

/// x + t d
pub fn moved(x: &[f64], t: f64, d: &[f64]) -> Vec<f64> {
    x.iter().zip(d).map(|(x, d)| x + t * d).collect()
}

/// x - y
pub fn difference(x: &[f64], y: &[f64]) -> Vec<f64> {
    x.iter().zip(y).map(|(x, y)| x - y).collect()
}

/// |x|
pub fn norm(x: &[f64]) -> f64 {
    dot(x, x).sqrt()
}
