//! The best values in order, which is also the assignment of E_pj = c_p (s_j - b_j), c >= 0 and non-increasing: the
//! best documents by s - b (Hardy, Littlewood, Polya 1934). O(l + k log k).

use std::cmp::Ordering;

use super::super::order::{COMPARISON, compare};
use crate::control::Ticks;

/// Writes the first `count` documents by decreasing value; equal values keep their input order.
pub fn best(values: &[f64], count: usize, documents: &mut Vec<u32>) {
    let mut ticks = Ticks::default();
    let mut better = |&x: &u32, &y: &u32| -> Ordering {
        ticks.add(COMPARISON);
        compare(values[y as usize], values[x as usize]).then(x.cmp(&y))
    };
    documents.clear();
    documents.extend(0..values.len() as u32);
    if count < documents.len() {
        documents.select_nth_unstable_by(count, &mut better);
        documents.truncate(count);
    }
    documents.sort_unstable_by(better);
}
