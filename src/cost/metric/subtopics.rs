//! The subtopic metrics `alpha_ndcg` and `subtopic_recall`, and which subtopics each document of a query covers.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BinaryHeap, HashMap};
use std::ops::Range;

use super::binary::expected_products;
use super::ndcg::logarithmic;
use super::ranked::Ranked;
use super::{MetricDef, ScoredList};
use crate::base::Ticks;
use crate::math::compare;

/// Operations, for [`Ticks`], of finding a name.
const NAME_COST: usize = 128;

/// Subtopics of one query's documents, numbered from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subtopics {
    /// The subtopics of each document, increasing.
    pub documents: Vec<Vec<usize>>,
    /// Number of different subtopics.
    pub count: usize,
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

    /// The subtopics covered by a group of positions, increasing, each with the number of its documents that cover it.
    pub(super) fn covered(&self, ranked: &Ranked, group: &Range<usize>) -> Vec<(usize, usize)> {
        let documents = &ranked.order()[group.clone()];
        let mut topics: Vec<usize> =
            documents.iter().flat_map(|&document| self.documents[document].iter().copied()).collect();
        topics.sort_unstable();
        topics.chunk_by(|a, b| a == b).map(|run| (run[0], run.len())).collect()
    }
}

// alpha-NDCG: discounted gain in which a repeated subtopic loses value (Clarke et al. 2008).
//
// `alpha-DCG@k = sum_{i <= k} (1 / log2(1 + i)) sum_{t of document i} (1 - alpha)^(times t occurred above i)`,
// divided by the value of the order that the usual greedy choice makes: at each position the document of the largest
// gain, the first of the input among equals.
//
// Decisions: undefined if no document has a subtopic. Finding the true ideal is NP-hard; where the greedy order is
// not the best one, values slightly above 1 are possible, as in every implementation of this metric.
//
// Ties: let a tie of m documents contain subtopic t in c of them. Position j of the tie has t with probability c/m, and
// then the other c - 1 are spread over the m - 1 other positions, so the expected decay is a mean over the orders of
// c - 1 numbers `1 - alpha` and m - c ones (`expected_products`). Exact.
//
// Cost: O(n log n) without ties; a tie costs (its subtopic occurrences) x (its positions above the cutoff).

/// Operations, for [`Ticks`], of a step with a hash table or a heap.
const HASH_COST: usize = 64;

pub const ALPHA_NDCG: MetricDef<Subtopics> = MetricDef {
    parameters: &["alpha", "ties"],
    summary: "discounted gain in which a repeated subtopic loses value, divided by the gain of the greedy order",
    formula: "sum_{i<=k} sum_{t in T_i} (1 - alpha)^#{j<i : t in T_j} / log2(1 + i), over its greedy ideal",
    source: "Clarke, Kolla, Cormack, Vechtomova, Ashkan, Buettcher, MacKinnon 2008",
    ..MetricDef::new("alpha_ndcg", alpha_ndcg)
};

fn alpha_ndcg(list: &ScoredList<'_, Subtopics>) -> Option<f64> {
    if list.labels.count == 0 {
        return None;
    }
    let decay = 1.0 - list.options.alpha;
    Some(expected_alpha_dcg(list, decay) / greedy_alpha_dcg(list.labels, list.depth(), decay))
}

/// Expected alpha-DCG of the ranking by scores.
fn expected_alpha_dcg(list: &ScoredList<'_, Subtopics>, decay: f64) -> f64 {
    let (subtopics, depth) = (list.labels, list.depth());
    let ranked = Ranked::by_scores(list.scores, list.options.ties);
    let mut worth = vec![1.0; subtopics.count];
    let mut value = 0.0;
    for group in ranked.groups().take_while(|group| group.start < depth) {
        for (topic, count) in subtopics.covered(&ranked, &group) {
            let fraction = count as f64 / group.len() as f64;
            value += worth[topic] * fraction * decayed_discounts(&group, count, depth, decay);
            worth[topic] *= libm::pow(decay, count as f64);
        }
    }
    value
}

/// Sum of the discounts of a tie's positions before `depth`, each times the expected decay of a subtopic that is there,
/// where `count` documents of the tie have the subtopic.
fn decayed_discounts(tie: &Range<usize>, count: usize, depth: usize, decay: f64) -> f64 {
    let repeated = std::iter::repeat_n(decay, count - 1);
    let positions = tie.end.min(depth) - tie.start;
    let decays = expected_products(tie.len() - count, repeated, positions - 1);
    decays.iter().zip(tie.start..).map(|(expected, position)| expected * logarithmic(position)).sum()
}

/// The documents with the same subtopics, with an upper bound of their gain: the gain at the last evaluation. The heap
/// yields the largest bound first, the first document among equals.
struct Candidate {
    bound: f64,
    /// The documents not yet ranked, the first one last.
    documents: Vec<usize>,
}

impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> Ordering {
        compare(self.bound, other.bound).then(other.documents.last().cmp(&self.documents.last()))
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Candidate {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Candidate {}

/// The documents in groups with the same subtopics.
fn candidates(subtopics: &Subtopics) -> BinaryHeap<Candidate> {
    let mut ticks = Ticks::default();
    let mut groups: HashMap<&[usize], Vec<usize>> = HashMap::new();
    for (document, topics) in subtopics.documents.iter().enumerate().rev() {
        ticks.add(HASH_COST + topics.len());
        groups.entry(topics).or_default().push(document);
    }
    groups
        .into_iter()
        .map(|(topics, documents)| Candidate { bound: topics.len() as f64, documents })
        .collect()
}

/// alpha-DCG of the greedy order. Gains only fall, so documents whose fresh gain is still their bound are the best.
fn greedy_alpha_dcg(subtopics: &Subtopics, depth: usize, decay: f64) -> f64 {
    let mut worth = vec![1.0; subtopics.count];
    let mut heap = candidates(subtopics);
    let (mut value, mut position, mut ticks) = (0.0, 0, Ticks::default());
    while position < depth
        && let Some(Candidate { bound, mut documents }) = heap.pop()
        && let Some(&document) = documents.last()
    {
        let topics = &subtopics.documents[document];
        ticks.add(HASH_COST + topics.len());
        let gain = topics.iter().map(|&topic| worth[topic]).sum();
        if compare(gain, bound).is_lt() {
            heap.push(Candidate { bound: gain, documents });
            continue;
        }
        value += gain * logarithmic(position);
        position += 1;
        topics.iter().for_each(|&topic| worth[topic] *= decay);
        documents.pop();
        if !documents.is_empty() {
            heap.push(Candidate { bound, documents });
        }
    }
    value
}

// Subtopic recall: the fraction of the query's subtopics that the first k documents cover (Zhai, Cohen, Lafferty
// 2003).
//
// `S-recall@k = |union of the subtopics of the first k documents| / |all subtopics|`; 1 without a cutoff.
//
// Decisions: "all subtopics" means the subtopics of the query's documents; it is undefined without subtopics. Ties: a
// subtopic that c of the m documents of a tie have, and none above it, is among the first k' of the tie with
// probability `1 - C(m-c, k') / C(m, k')`; exact. Cost O(n log n + subtopic occurrences).

pub const SUBTOPIC_RECALL: MetricDef<Subtopics> = MetricDef {
    parameters: &["ties"],
    summary: "share of the query's subtopics that the first k documents cover",
    formula: "|union_{i<=k} T_i| / |union_i T_i|",
    source: "Zhai, Cohen, Lafferty 2003",
    ..MetricDef::new("subtopic_recall", subtopic_recall)
};

fn subtopic_recall(list: &ScoredList<'_, Subtopics>) -> Option<f64> {
    let subtopics = list.labels;
    if subtopics.count == 0 {
        return None;
    }
    let depth = list.depth();
    let ranked = Ranked::by_scores(list.scores, list.options.ties);
    let mut seen = vec![false; subtopics.count];
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
    Some(covered / subtopics.count as f64)
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
mod subtopics_tests {
    use super::*;
    use crate::cost::metric::named::Ties;

    #[test]
    fn subtopics_are_numbered_and_counted_once() {
        let subtopics = Subtopics::new(&[vec!["b", "a", "b"], vec![], vec!["c", "b"]]);
        assert_eq!(subtopics.documents, [vec![0, 1], vec![], vec![1, 2]]);
        assert_eq!(subtopics.count, 3);
        let ranked = Ranked::by_scores(&[0.5; 3], Ties::Expected);
        assert_eq!(subtopics.covered(&ranked, &(0..3)), [(0, 1), (1, 2), (2, 1)]);
    }
}

#[cfg(test)]
mod alpha_ndcg_tests {
    use super::*;
    use crate::cost::metric::MetricOptions;

    #[test]
    fn an_example_by_hand() {
        // The greedy order is 0, 4, 6, 1, 5, 2, 7, 3.
        let documents: [Vec<u8>; 8] =
            [vec![2, 6], vec![2], vec![2], vec![], vec![1, 3], vec![1], vec![4], vec![1]];
        let subtopics = Subtopics::new(&documents);
        let gains = [2.0, 2.0, 1.0, 0.5, 0.5, 0.25, 0.25, 0.0];
        let ideal: f64 = gains.iter().enumerate().map(|(position, gain)| gain * logarithmic(position)).sum();
        assert!((greedy_alpha_dcg(&subtopics, usize::MAX, 0.5) - ideal).abs() < 1e-12);
        let input: f64 = [2.0, 0.5, 0.25, 0.0, 2.0, 0.5, 1.0, 0.25]
            .iter()
            .enumerate()
            .map(|(position, gain)| gain * logarithmic(position))
            .sum();
        let scores = [8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0];
        let value = {
            let options = &MetricOptions::default();
            alpha_ndcg(&ScoredList { labels: &subtopics, scores: &scores, cutoff: None, options }).unwrap()
        };
        assert!((value - input / ideal).abs() < 1e-12);
    }

    #[test]
    fn the_greedy_order_is_the_plain_one() {
        let mut state = 7_u64;
        let mut next = |bound: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % bound
        };
        for decay in [0.0, 0.3, 0.5, 1.0] {
            let documents: Vec<Vec<u64>> = (0..30).map(|_| (0..next(5)).map(|_| next(6)).collect()).collect();
            let subtopics = Subtopics::new(&documents);
            let slow = plain_greedy(&subtopics, 12, decay);
            assert!((greedy_alpha_dcg(&subtopics, 12, decay) - slow).abs() < 1e-12);
        }
    }

    fn plain_greedy(subtopics: &Subtopics, depth: usize, decay: f64) -> f64 {
        let mut left: Vec<&Vec<usize>> = subtopics.documents.iter().collect();
        let mut worth = vec![1.0; subtopics.count];
        let mut value = 0.0;
        for position in 0..depth {
            let gain = |topics: &Vec<usize>| topics.iter().map(|&topic| worth[topic]).sum::<f64>();
            let mut best = 0;
            for candidate in 1..left.len() {
                if gain(left[candidate]) > gain(left[best]) {
                    best = candidate;
                }
            }
            value += gain(left[best]) * logarithmic(position);
            for &topic in left.remove(best) {
                worth[topic] *= decay;
            }
        }
        value
    }
}

#[cfg(test)]
mod subtopic_recall_tests {
    use super::*;

    #[test]
    fn misses_are_hypergeometric() {
        assert!((missed(4, 1, 1) - 0.75).abs() < 1e-15);
        assert!((missed(5, 2, 2) - 0.3).abs() < 1e-15);
        assert!((missed(6, 3, 2) - missed(6, 2, 3)).abs() < 1e-15);
        assert!(missed(3, 2, 2).abs() < 1e-15);
    }
}
