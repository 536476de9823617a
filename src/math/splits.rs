//! All pairs of documents with different grades, as O(log G) levels of two lists sorted by score, G the number of grades.
//!
//! The grades are split into higher and lower ones again and again. Each pair is in the two lists of one split. For a document
//! of one list, the documents of the other with a difference of scores below a threshold are at one end, and this end moves
//! in one direction along the list. So sums over pairs take O(N log G) operations after sorting (Joachims 2006, "Training
//! linear SVMs in linear time", for two grades).

use super::order::compare;
use crate::control::Ticks;
use crate::parallel;

/// Operations, for [`Ticks`], of a document in a merge, and of a comparison.
pub const MERGE_COST: usize = 16;

/// Documents of one grade from which on grades are sorted on several threads.
const MANY: usize = 10_000;

/// Sorts each grade by score; ties by number. `order` has the documents grade by grade, from `starts[i]` to `starts[i + 1]`.
pub fn sort_grades(order: &mut [u32], starts: &[usize], scores: &[f64]) {
    let mut grades = Vec::with_capacity(starts.len());
    let mut rest = order;
    for bounds in starts.windows(2) {
        grades.push(rest.split_off_mut(..bounds[1] - bounds[0]).unwrap_or_default());
    }
    let sort = |grade: &mut [u32]| {
        let mut ticks = Ticks::default();
        grade.sort_unstable_by(|&a, &b| {
            ticks.add(MERGE_COST);
            compare(scores[a as usize], scores[b as usize]).then(a.cmp(&b))
        });
    };
    if scores.len() >= MANY {
        parallel::each_of(grades, |_, grade| sort(grade));
    } else {
        grades.into_iter().for_each(sort);
    }
}

/// Calls `work` with the two lists of each split, higher grades first. `order` and `starts` are those of [`sort_grades`], from
/// high grades to low ones. At the end `order` is sorted by score.
pub fn each_split(order: &mut [u32], starts: &[usize], scores: &[f64], work: &mut dyn FnMut(&[u32], &[u32])) {
    if starts.len() <= 2 {
        return;
    }
    // 1. Two halves with about the same number of documents.
    let (first, half) = (starts[0], order.len() / 2);
    let grade = starts.partition_point(|start| start - first < half).clamp(1, starts.len() - 2);
    let (high, low) = order.split_at_mut(starts[grade] - first);
    each_split(high, &starts[..=grade], scores, work);
    each_split(low, &starts[grade..], scores, work);
    // 2. Pairs between them.
    work(high, low);
    // 3. One list.
    let mut ticks = Ticks::default();
    let mut merged = Vec::with_capacity(order.len());
    let (high, low) = order.split_at(starts[grade] - first);
    let (mut i, mut j) = (0, 0);
    while let (Some(&a), Some(&b)) = (high.get(i), low.get(j)) {
        ticks.add(MERGE_COST);
        let is_high = scores[a as usize] <= scores[b as usize];
        merged.push(if is_high { a } else { b });
        (i, j) = (i + usize::from(is_high), j + usize::from(!is_high));
    }
    merged.extend_from_slice(&high[i..]);
    merged.extend_from_slice(&low[j..]);
    order.copy_from_slice(&merged);
}
