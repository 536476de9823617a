//! All pairs of documents with different grades, as O(log G) levels of two lists sorted by score, G the number of grades.
//!
//! The grades are split into higher and lower ones again and again. Each pair is in the two lists of one split. For a document
//! of one list, the documents of the other with a difference of scores below a threshold are at one end, and this end moves
//! in one direction along the list. So sums over pairs take O(N log G) operations after sorting (Joachims 2006, "Training
//! linear SVMs in linear time", for two grades).

use super::order::compare;
use crate::base::{Ticks, parallel};

/// Cost in operations, for [`Ticks`], of a document in a merge, and of a comparison.
pub const MERGE_COST: usize = 16;

/// From this many documents on, grades are sorted on several threads.
const MANY: usize = 10_000;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Item {
    /// The score of the document.
    pub score: f64,
    /// The sum that the caller accumulates for it; it begins at 0.
    pub sum: f64,
    /// The number of the document.
    pub document: u32,
}

impl Item {
    /// A document with this score.
    pub fn new(document: usize, score: f64) -> Self {
        Self { score, sum: 0.0, document: document as u32 }
    }
}

/// Calls `work` with the two lists of each split, higher grades first, each sorted by score. `items` has the documents from high
/// grades to low ones, each grade from `starts[i]` to `starts[i + 1]`. At the end all are sorted by score.
pub fn each_split(items: &mut [Item], starts: &[usize], work: &mut dyn FnMut(&mut [Item], &mut [Item])) {
    let parallel = items.len() >= MANY;
    let mut grades = Vec::with_capacity(starts.len());
    let mut rest = &mut *items;
    for bounds in starts.windows(2) {
        grades.push(rest.split_off_mut(..bounds[1] - bounds[0]).unwrap_or_default());
    }
    if parallel {
        parallel::each_of(grades, |_, grade| sort(grade));
    } else {
        grades.into_iter().for_each(sort);
    }
    split(items, starts, work);
}

/// Sorts by score; ties by number.
fn sort(items: &mut [Item]) {
    let mut ticks = Ticks::default();
    items.sort_unstable_by(|a, b| {
        ticks.add(MERGE_COST);
        compare(a.score, b.score).then(a.document.cmp(&b.document))
    });
}

fn split(items: &mut [Item], starts: &[usize], work: &mut dyn FnMut(&mut [Item], &mut [Item])) {
    if starts.len() <= 2 {
        return;
    }
    // 1. Two halves with about the same number of documents.
    let (first, half) = (starts[0], items.len() / 2);
    let grade = starts.partition_point(|start| start - first < half).clamp(1, starts.len() - 2);
    let (high, low) = items.split_at_mut(starts[grade] - first);
    split(high, &starts[..=grade], work);
    split(low, &starts[grade..], work);
    // 2. Pairs between them.
    work(high, low);
    // 3. One list.
    let mut ticks = Ticks::default();
    let mut merged = Vec::with_capacity(high.len() + low.len());
    let (mut i, mut j) = (0, 0);
    while let (Some(a), Some(b)) = (high.get(i), low.get(j)) {
        ticks.add(MERGE_COST);
        let is_high = a.score <= b.score;
        merged.push(if is_high { *a } else { *b });
        (i, j) = (i + usize::from(is_high), j + usize::from(!is_high));
    }
    merged.extend_from_slice(&high[i..]);
    merged.extend_from_slice(&low[j..]);
    items.copy_from_slice(&merged);
}
