//! The best values in order, which is also the assignment of E_pj = c_p (s_j - b_j), c >= 0 and non-increasing: the
//! best documents by s - b (Hardy, Littlewood, Polya 1934). O(l + k log k).

use std::cmp::Ordering;

use super::super::order::{COMPARISON, compare};
use crate::base::control::Ticks;

/// Writes the first `count` documents by decreasing value; equal values keep their input order.
pub fn best(values: &[f64], count: usize, documents: &mut Vec<u32>) {
    let mut ticks = Ticks::default();
    let better = |&x: &u32, &y: &u32| -> Ordering {
        ticks.add(COMPARISON);
        compare(values[y as usize], values[x as usize]).then(x.cmp(&y))
    };
    documents.clear();
    documents.extend(0..values.len() as u32);
    if count < documents.len() {
        documents.select_nth_unstable_by(count, better);
        documents.truncate(count);
    }
    sort_documents(documents, values, values);
}

/// Sorts documents by decreasing value of `first`, equal ones by decreasing value of `second`, then in input order.
pub fn sort_documents(documents: &mut [u32], first: &[f64], second: &[f64]) {
    let mut ticks = Ticks::default();
    // A stable sort takes a third of the machine code of an unstable one for so short items.
    documents.sort_by(|&x, &y| {
        ticks.add(COMPARISON);
        let (i, j) = (x as usize, y as usize);
        compare(first[j], first[i]).then_with(|| compare(second[j], second[i])).then(x.cmp(&y))
    });
}
