//! Which subtopics each document of a query covers.

use std::collections::BTreeMap;
use std::ops::Range;

use super::ranked::Ranked;
use crate::base::control::Ticks;

/// Operations, for [`Ticks`], of finding a name.
const NAME_COST: usize = 128;

/// The subtopics of the documents of one query, numbered from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subtopics {
    documents: Vec<Vec<usize>>,
    count: usize,
}

impl Subtopics {
    /// Numbers the subtopics of documents in their sorted order. A subtopic that a document names twice counts once.
    pub fn new<T: Ord>(documents: &[Vec<T>]) -> Self {
        let mut ticks = Ticks::default();
        let mut numbers: BTreeMap<&T, usize> = BTreeMap::new();
        for names in documents {
            ticks.add(NAME_COST * names.len());
            numbers.extend(names.iter().map(|name| (name, 0)));
        }
        for (number, value) in numbers.values_mut().enumerate() {
            *value = number;
        }
        let numbered = documents.iter().map(|names| {
            ticks.add(NAME_COST * names.len());
            let mut covered: Vec<usize> = names.iter().map(|name| numbers[name]).collect();
            covered.sort_unstable();
            covered.dedup();
            covered
        });
        Self { documents: numbered.collect(), count: numbers.len() }
    }

    /// The subtopics of each document, increasing.
    pub fn documents(&self) -> &[Vec<usize>] {
        &self.documents
    }

    /// Number of different subtopics.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The subtopics of a group of positions, increasing, each with the number of documents of the group that cover it.
    pub(super) fn covered(&self, ranked: &Ranked, group: &Range<usize>) -> Vec<(usize, usize)> {
        let documents = &ranked.order()[group.clone()];
        let mut topics: Vec<usize> =
            documents.iter().flat_map(|&document| self.documents[document].iter().copied()).collect();
        topics.sort_unstable();
        topics.chunk_by(|a, b| a == b).map(|run| (run[0], run.len())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::metric::options::Ties;

    #[test]
    fn subtopics_are_numbered_and_counted_once() {
        let subtopics = Subtopics::new(&[vec!["b", "a", "b"], vec![], vec!["c", "b"]]);
        assert_eq!(subtopics.documents(), [vec![0, 1], vec![], vec![1, 2]]);
        assert_eq!(subtopics.count(), 3);
        let ranked = Ranked::by_scores(&[0.5; 3], Ties::Expected);
        assert_eq!(subtopics.covered(&ranked, &(0..3)), [(0, 1), (1, 2), (2, 1)]);
    }
}
