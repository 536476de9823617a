//! Subtopic recall: the fraction of the query's subtopics that the first k documents cover (Zhai, Cohen, Lafferty
//! 2003).
//!
//! `S-recall@k = |union of the subtopics of the first k documents| / |all subtopics|`; 1 without a cutoff.
//!
//! Decisions: all subtopics are those of the query's documents; undefined if there is none. Ties: a subtopic that c
//! of the m documents of a tie have, and none above it, is among the first k' of the tie with probability
//! `1 - C(m-c, k') / C(m, k')`; exact. Cost O(n log n + subtopic occurrences).

use super::def::{ScoredList, SubtopicDef};
use super::ranked::Ranked;
use super::subtopics::Subtopics;

/// The declaration.
pub const SUBTOPIC_RECALL: SubtopicDef = SubtopicDef {
    name: "subtopic_recall",
    function: "ltr_subtopic_recall",
    summary: "share of the query's subtopics that the first k documents cover",
    formula: "|union_{i<=k} T_i| / |union_i T_i|",
    source: "Zhai, Cohen, Lafferty 2003",
    per_query: subtopic_recall,
};

fn subtopic_recall(list: &ScoredList<'_, Subtopics>) -> Option<f64> {
    let subtopics = list.labels;
    if subtopics.count() == 0 {
        return None;
    }
    let depth = list.depth();
    let ranked = Ranked::by_scores(list.scores, list.options.ties);
    let mut seen = vec![false; subtopics.count()];
    let mut covered = 0.0;
    for group in ranked.groups().take_while(|group| group.start < depth) {
        let positions = group.end.min(depth) - group.start;
        for (topic, count) in subtopics.covered(&ranked, &group) {
            if !seen[topic] {
                seen[topic] = true;
                covered += 1.0 - missed(group.len(), count, positions);
            }
        }
    }
    Some(covered / subtopics.count() as f64)
}

/// Probability that the first `positions` of `size` documents contain none of `count`:
/// `C(size-count, positions) / C(size, positions)`.
///
/// The formula is symmetric in `count` and `positions`, so the product runs over the smaller one.
fn missed(size: usize, count: usize, positions: usize) -> f64 {
    if count + positions > size {
        return 0.0;
    }
    let (few, many) = (count.min(positions), count.max(positions));
    (0..few).map(|j| (size - many - j) as f64 / (size - j) as f64).product()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misses_are_hypergeometric() {
        assert!((missed(4, 1, 1) - 0.75).abs() < 1e-15);
        assert!((missed(5, 2, 2) - 0.3).abs() < 1e-15);
        assert!((missed(6, 3, 2) - missed(6, 2, 3)).abs() < 1e-15);
        assert!(missed(3, 2, 2).abs() < 1e-15);
    }
}
