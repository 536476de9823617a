//! Dense kernels on slices, with sums in a fixed order.
//!
//! A sum of n terms is kept in `LANES` partial sums (term i goes to lane i mod LANES) that are added pairwise at
//! the end. The order is part of the result, so it is the same on every machine whatever the vector width; no fused
//! multiply-add is used.

/// Number of partial sums.
const LANES: usize = 8;

/// A feature value in the type of its source: `f32` from BLOB vectors, `f64` from columns and JSON.
pub trait Element: Copy + Send + Sync + 'static {
    /// The value in double precision (exact).
    fn to_f64(self) -> f64;
    /// The nearest value of this type.
    fn from_f64(value: f64) -> Self;
}

impl Element for f64 {
    fn to_f64(self) -> f64 {
        self
    }
    fn from_f64(value: f64) -> Self {
        value
    }
}

impl Element for f32 {
    fn to_f64(self) -> f64 {
        f64::from(self)
    }
    fn from_f64(value: f64) -> Self {
        value as f32
    }
}

/// Sum of `LANES` partial sums, pairwise.
#[inline]
fn fold_lanes(lanes: [f64; LANES]) -> f64 {
    ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) + ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]))
}

/// Dot product; both slices have the same length.
#[inline]
pub fn dot<A: Element, B: Element>(a: &[A], b: &[B]) -> f64 {
    debug_assert_eq!(a.len(), b.len());
    let mut lanes = [0.0; LANES];
    let (blocks_a, rest_a) = a.as_chunks::<LANES>();
    let (blocks_b, rest_b) = b.as_chunks::<LANES>();
    for (block_a, block_b) in blocks_a.iter().zip(blocks_b) {
        for lane in 0..LANES {
            lanes[lane] += block_a[lane].to_f64() * block_b[lane].to_f64();
        }
    }
    for (lane, (x, y)) in rest_a.iter().zip(rest_b).enumerate() {
        lanes[lane] += x.to_f64() * y.to_f64();
    }
    fold_lanes(lanes)
}

/// Sum of `value(i) * weights[i]`, in the order of [`dot`].
#[inline]
pub fn dot_by(weights: &[f64], value: impl Fn(usize) -> f64) -> f64 {
    let mut lanes = [0.0; LANES];
    let (blocks, rest) = weights.as_chunks::<LANES>();
    for (number, block) in blocks.iter().enumerate() {
        for lane in 0..LANES {
            lanes[lane] += value(number * LANES + lane) * block[lane];
        }
    }
    for (lane, weight) in rest.iter().enumerate() {
        lanes[lane] += value(blocks.len() * LANES + lane) * weight;
    }
    fold_lanes(lanes)
}

/// Euclidean distance; both slices have the same length.
pub fn distance(a: &[f64], b: &[f64]) -> f64 {
    let difference: Vec<f64> = a.iter().zip(b).map(|(x, y)| x - y).collect();
    dot(&difference, &difference).sqrt()
}

/// y += factor * x.
#[inline]
pub fn axpy<A: Element>(factor: f64, x: &[A], y: &mut [f64]) {
    for (target, value) in y.iter_mut().zip(x) {
        *target += factor * value.to_f64();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dot_product_adds_all_terms_whatever_the_length() {
        for n in 0..40 {
            let a: Vec<f64> = (0..n).map(f64::from).collect();
            let expected = (0..n).map(|i| f64::from(i * i)).sum::<f64>();
            assert!((dot(&a, &a) - expected).abs() <= 1e-9 * (1.0 + expected));
        }
    }
}
