//! p-values of several tests.

use crate::math::order::sort_ascending;

/// Adjusted p-values of a family of tests (Holm 1979, "A simple sequentially rejective multiple test procedure"): the i-th
/// smallest of m p-values becomes max over j <= i of min(1, (m - j + 1) p_(j)). A test without a p-value is not counted.
pub fn holm(p_values: &[Option<f64>]) -> Vec<Option<f64>> {
    let mut sorted: Vec<f64> = p_values.iter().flatten().copied().collect();
    sort_ascending(&mut sorted);
    let mut largest = 0.0_f64;
    let adjust = |(rank, p): (usize, &f64)| {
        largest = largest.max(((sorted.len() - rank) as f64 * p).min(1.0));
        largest
    };
    let adjusted: Vec<f64> = sorted.iter().enumerate().map(adjust).collect();
    let find = |p: f64| adjusted[sorted.partition_point(|other| *other < p)];
    p_values.iter().map(|p| p.map(find)).collect()
}
