//! One query in ranked order, cut into the groups whose inner order is not determined.
//!
//! Under [`Ties::Expected`] a group is a tie; inside it the documents are in order of decreasing grade, so that sums
//! over the group do not depend on the input order. Under every other rule the order is total and each group is one
//! document. A metric that has a closed form for a group therefore serves all four rules with one piece of code.

use std::ops::Range;

use super::options::Ties;
use crate::math::{compare, descending, descending_then, ends_of_runs};

/// Documents from the best score to the worst, in groups of equal rank.
pub(super) struct Ranked {
    /// Documents by position.
    order: Vec<usize>,
    /// End position of each group (exclusive), increasing.
    ends: Vec<usize>,
}

impl Ranked {
    /// Ranks documents with grades `relevance` by `scores`.
    pub(super) fn new(relevance: &[f64], scores: &[f64], ties: Ties) -> Self {
        let order = match ties {
            Ties::Input => descending(scores),
            Ties::Worst => descending_then(scores, Some(&|a, b| compare(relevance[a], relevance[b]))),
            Ties::Expected | Ties::Best => {
                descending_then(scores, Some(&|a, b| compare(relevance[b], relevance[a])))
            }
        };
        let ends = match ties {
            Ties::Expected => ends_of_runs(&order, |a, b| compare(scores[*a], scores[*b]).is_eq()),
            _ => (1..=order.len()).collect(),
        };
        Self { order, ends }
    }

    /// The first documents alone.
    pub(super) fn first(mut self, count: usize) -> Self {
        self.order.truncate(count);
        self.ends.retain(|end| *end <= count);
        self
    }

    /// Ranks documents of unknown grades; inside a tie they stay in input order.
    pub(super) fn by_scores(scores: &[f64], ties: Ties) -> Self {
        Self::new(&vec![0.0; scores.len()], scores, ties)
    }

    /// The ideal ranking: by decreasing grade.
    pub(super) fn ideal(relevance: &[f64]) -> Self {
        Self::new(relevance, relevance, Ties::Input)
    }

    pub(super) fn len(&self) -> usize {
        self.order.len()
    }

    /// The documents by position.
    pub(super) fn order(&self) -> &[usize] {
        &self.order
    }

    /// The positions of each group, from the top.
    pub(super) fn groups(&self) -> impl Iterator<Item = Range<usize>> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| start..end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rule_orders_a_tie_in_its_own_way() {
        let relevance = [1.0, 0.0, 2.0, 3.0];
        let scores = [0.5, 0.5, 0.5, 0.1];
        let order = |ties| Ranked::new(&relevance, &scores, ties).order().to_vec();
        assert_eq!(order(Ties::Input), [0, 1, 2, 3]);
        assert_eq!(order(Ties::Worst), [1, 0, 2, 3]);
        assert_eq!(order(Ties::Best), [2, 0, 1, 3]);
        assert_eq!(order(Ties::Expected), [2, 0, 1, 3]);
    }

    #[test]
    fn only_the_expected_rule_has_groups() {
        let ranked = Ranked::new(&[0.0; 3], &[-0.0, 0.0, 1.0], Ties::Expected);
        assert_eq!(ranked.groups().collect::<Vec<_>>(), [0..1, 1..3]);
        let ranked = Ranked::new(&[0.0; 3], &[-0.0, 0.0, 1.0], Ties::Input);
        assert_eq!(ranked.groups().count(), 3);
        assert_eq!(Ranked::new(&[], &[], Ties::Expected).groups().count(), 0);
    }
}
