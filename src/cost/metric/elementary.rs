//! Averaged elementary symmetric polynomials, the tool for expectations of products over the orders of a tie.
//!
//! For numbers `q_1, ..., q_m` let `A_k = e_k(q) / C(m, k)`: the mean, over the subsets of size k, of the product of
//! their numbers. In a uniformly random order of the m numbers, `A_k` is the expected product of the first k.
//! Adding the m-th number changes them by a convex combination, so nothing cancels and nothing overflows:
//!
//! `A_k <- ((m - k) A_k + k q_m A_(k-1)) / m`
//!
//! Cost: O(m * depth) for `A_0, ..., A_depth`.

use crate::base::control::Ticks;
/// Expected products of the first 0, 1, ..., `depth` numbers of a random order, where `ones` numbers are 1 and the
/// others are given. Needs `depth <= ones + others`.
pub(super) fn expected_products(ones: usize, others: impl Iterator<Item = f64>, depth: usize) -> Vec<f64> {
    let mut products = vec![1.0; depth + 1];
    let mut ticks = Ticks::default();
    for (known, q) in (ones..).zip(others) {
        let count = known + 1;
        ticks.add(depth.min(count));
        for k in (1..=depth.min(count)).rev() {
            let without = (count - k) as f64 * products[k];
            let with = k as f64 * q * products[k - 1];
            products[k] = (without + with) / count as f64;
        }
    }
    products
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_means_over_subsets() {
        let products = expected_products(0, [0.5, 0.25, 1.0].into_iter(), 3);
        let expected = [1.0, 1.75 / 3.0, (0.125 + 0.5 + 0.25) / 3.0, 0.125];
        for (found, expected) in products.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-15);
        }
    }

    #[test]
    fn ones_may_be_given_as_a_count() {
        let counted = expected_products(2, [0.5, 0.25].into_iter(), 4);
        let listed = expected_products(0, [1.0, 1.0, 0.5, 0.25].into_iter(), 4);
        for (a, b) in counted.iter().zip(&listed) {
            assert!((a - b).abs() < 1e-15);
        }
    }
}
