//! Few documents per group (Le, Smola, Chapelle & Teo, section 7.1).
//!
//! The greedy selection by decreasing score, skipping groups that are full, maximizes sum_p c_p s_pi(p) over all lists
//! with at most so many documents per group, for every c that is nonincreasing and nonnegative.

use super::def::RowGroup;
use crate::math::assignment::best;

/// The selected rows, best first, at most `max_per_value` of each group. Equal scores keep the order of the rows.
///
/// # Panics
/// If `scores` and `row_groups` differ in length.
pub fn select_diverse(scores: &[f64], row_groups: &[RowGroup], max_per_value: usize) -> Vec<u32> {
    assert_eq!(scores.len(), row_groups.len(), "one row group for each score");
    let mut order = Vec::new();
    best(scores, scores.len(), &mut order);
    let groups = row_groups.iter().map(|row| row.group as usize + 1).max().unwrap_or(0);
    let mut taken = vec![0; groups];
    order.retain(|&row| {
        let taken = &mut taken[row_groups[row as usize].group as usize];
        *taken += 1;
        *taken <= max_per_value
    });
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::random::Random;

    /// The largest sum of c_p s_pi(p) over lists of k rows with few documents per group; every list is tried.
    fn best_of_all(scores: &[f64], groups: &[u32], c: &[f64], max_per_value: usize) -> f64 {
        fn go(at: usize, list: &mut Vec<usize>, all: &(&[f64], &[u32], &[f64], usize)) -> f64 {
            let (scores, groups, c, max_per_value) = all;
            if at == c.len() {
                return 0.0;
            }
            let mut best = f64::NEG_INFINITY;
            for row in 0..scores.len() {
                let same = list.iter().filter(|&&other| groups[other] == groups[row]).count();
                if same < *max_per_value && !list.contains(&row) {
                    list.push(row);
                    best = best.max(c[at] * scores[row] + go(at + 1, list, all));
                    list.pop();
                }
            }
            best
        }
        go(0, &mut Vec::new(), &(scores, groups, c, max_per_value))
    }

    #[test]
    fn walking_down_the_list_is_best() {
        let mut random = Random::new(5);
        for _ in 0..200 {
            let rows = 1 + random.below(7);
            let groups: Vec<u32> = (0..rows).map(|_| random.below(4) as u32).collect();
            let scores: Vec<f64> = (0..rows).map(|_| random.below(5) as f64 - 2.0).collect();
            let max_per_value = 1 + random.below(2);
            let row_groups: Vec<RowGroup> =
                groups.iter().zip(0..).map(|(&group, document)| RowGroup { document, group }).collect();
            let selected = select_diverse(&scores, &row_groups, max_per_value);
            let k = selected.len().min(3);
            let c: Vec<f64> = (0..k).map(|position| 1.0 / (position + 1) as f64).collect();
            let sum: f64 = selected.iter().zip(&c).map(|(&row, c)| c * scores[row as usize]).sum();
            assert!((sum - best_of_all(&scores, &groups, &c, max_per_value)).abs() < 1e-12);
        }
    }
}
