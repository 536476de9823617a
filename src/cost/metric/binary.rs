//! A ranking as ties with counts of relevant documents: the input of the binary metrics.

use super::def::ScoredList;
use super::ranked::Ranked;

/// A group of positions whose inner order is not determined (one position, or a tie under the expected rule).
pub(super) struct Tie {
    /// Number of positions above it.
    pub(super) start: usize,
    /// Number of its positions.
    pub(super) size: usize,
    /// Number of its relevant documents.
    pub(super) relevant: usize,
}

/// A ranking in which a document is relevant or not.
pub(super) struct BinaryRanking {
    /// Groups from the top.
    pub(super) ties: Vec<Tie>,
    /// Number of relevant documents of the list, at least 1.
    pub(super) relevant: usize,
}

impl BinaryRanking {
    /// The ranking by scores; `None` if no document is relevant.
    pub(super) fn new(list: &ScoredList<'_>) -> Option<Self> {
        let ScoredList { labels: relevance, scores, options, .. } = list;
        let is_relevant = |document: usize| relevance[document] >= options.threshold;
        let relevant = (0..relevance.len()).filter(|&document| is_relevant(document)).count();
        if relevant == 0 {
            return None;
        }
        let ranked = Ranked::new(relevance, scores, options.ties);
        let ties = ranked.groups().map(|group| Tie {
            start: group.start,
            size: group.len(),
            relevant: ranked.order()[group].iter().filter(|&&document| is_relevant(document)).count(),
        });
        Some(Self { ties: ties.collect(), relevant })
    }

    /// Expected number of relevant documents among the first `depth`: a tie that the cutoff parts counts with the
    /// mean of the hypergeometric distribution.
    pub(super) fn expected_hits(&self, depth: usize) -> f64 {
        let visible = self.ties.iter().take_while(|tie| tie.start < depth);
        let hits = visible.map(|tie| {
            let taken = tie.size.min(depth - tie.start);
            (tie.relevant * taken) as f64 / tie.size as f64
        });
        hits.sum()
    }
}
