//! The binary metrics, for which a document is relevant or not: `wta`, `success`, `rbp`, `recall`, `precision`, `map` and
//! `mrr`. Their input is a ranking as ties with counts of relevant documents. The expected products over the orders of a
//! tie are used by `err` and `alpha_ndcg`.

use super::{MetricDef, ScoredList};
use crate::base::Ticks;

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
        let ScoredList { labels: relevance, options, .. } = list;
        let is_relevant = |document: usize| relevance[document] >= options.threshold;
        let relevant = (0..relevance.len()).filter(|&document| is_relevant(document)).count();
        if relevant == 0 {
            return None;
        }
        let ranked = list.ranked();
        let ties = ranked.groups().map(|group| Tie {
            start: group.start,
            size: group.len(),
            relevant: ranked.order()[group].iter().filter(|&&document| is_relevant(document)).count(),
        });
        Some(Self { ties: ties.collect(), relevant })
    }

    /// The first tie with a relevant document; `None` if no relevant document was retrieved.
    fn first(&self) -> Option<&Tie> {
        self.ties.iter().find(|tie| tie.relevant > 0)
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

// Winner takes all: success at the first position (Le, Smola, Chapelle, Teo, section 2.3).
//
// `WTA = 1` if the first document is relevant, else 0.
//
// Decisions: undefined without a relevant document. Ties: the fraction of relevant documents in the tie at the top,
// exact. Cost O(n log n).

pub const WTA: MetricDef = MetricDef {
    parameters: &["threshold", "ties"],
    summary: "whether the first document is relevant (success at 1)",
    formula: "[y_1 relevant]",
    source: "Le, Smola, Chapelle, Teo",
    takes_cutoff: false,
    ..MetricDef::new("wta", winner_takes_all)
};

fn winner_takes_all(list: &ScoredList<'_>) -> Option<f64> {
    Some(BinaryRanking::new(list)?.expected_hits(1))
}

// Success: whether one of the first k documents is relevant. `wta` is success at 1.
//
// Decisions: undefined without a relevant document; 1 without a cutoff. Ties: the first k' of a tie of m documents, r of
// them relevant, have none with probability `C(m-r, k') / C(m, k')`, exact. Cost O(n log n).

pub const SUCCESS: MetricDef = MetricDef {
    parameters: &["threshold", "ties"],
    summary: "whether one of the first k documents is relevant",
    formula: "[some y_i relevant, i <= k]",
    source: "trec_eval; ties: McSherry and Najork 2008",
    ..MetricDef::new("success", success)
};

fn success(list: &ScoredList<'_>) -> Option<f64> {
    let ranking = BinaryRanking::new(list)?;
    let Some(first) = ranking.first() else { return Some(0.0) };
    let visible = first.size.min(list.depth().saturating_sub(first.start));
    let misses = (0..visible).map(|seen| {
        let left = first.size - seen;
        left.saturating_sub(first.relevant) as f64 / left as f64
    });
    Some(1.0 - misses.product::<f64>())
}

// Rank-biased precision (Moffat and Zobel 2008): a user reads the next document with probability p.
//
// `RBP@k = (1 - p) sum_{i <= k, document i relevant} p^(i-1)`.
//
// Decisions: undefined without a relevant document, as the other binary metrics. Ties: the fraction of relevant documents
// of the tie times the sum of its weights, exact. Cost O(n log n).

pub const RBP: MetricDef = MetricDef {
    parameters: &["p", "threshold", "ties"],
    summary: "rank-biased precision: a user reads on with probability p",
    formula: "(1 - p) sum_{i<=k, y_i relevant} p^(i - 1)",
    source: "Moffat and Zobel 2008",
    ..MetricDef::new("rbp", rank_biased_precision)
};

fn rank_biased_precision(list: &ScoredList<'_>) -> Option<f64> {
    let (p, depth) = (list.options.p, list.depth());
    let weight = |position: usize| libm::pow(p, position as f64);
    let value = |tie: &Tie| {
        let weights: f64 = (tie.start..depth.min(tie.start + tie.size)).map(weight).sum();
        tie.relevant as f64 / tie.size as f64 * weights
    };
    Some((1.0 - p) * BinaryRanking::new(list)?.ties.iter().map(value).sum::<f64>())
}

// Recall: the fraction of the relevant documents that is among the first k.
//
// `R@k = (relevant documents among the first k) / (all relevant documents)`; 1 without a cutoff.
//
// Decisions: undefined without a relevant document. Ties: mean of the hypergeometric distribution, exact. Cost
// O(n log n).

pub const RECALL: MetricDef = MetricDef {
    parameters: &["threshold", "ties"],
    summary: "share of the relevant documents among the first k",
    formula: "(relevant among the first k) / (all relevant)",
    source: "Kent et al. 1955; ties: McSherry and Najork 2008",
    function: "ltr_recall",
    ..MetricDef::new("recall", recall)
};

fn recall(list: &ScoredList<'_>) -> Option<f64> {
    let ranking = BinaryRanking::new(list)?;
    Some(ranking.expected_hits(list.depth()) / ranking.relevant as f64)
}

// Averaged elementary symmetric polynomials. They give expectations of products over the orders of a tie.
//
// For numbers `q_1, ..., q_m` let `A_k = e_k(q) / C(m, k)`: the mean, over the subsets of size k, of the product of
// their numbers. In a uniformly random order of the m numbers, `A_k` is the expected product of the first k.
// Adding the m-th number changes them by a convex combination, so nothing cancels and nothing overflows:
//
// `A_k <- ((m - k) A_k + k q_m A_(k-1)) / m`
//
// Cost: O(m * depth) for `A_0, ..., A_depth`.

/// Expected products of the first 0, 1, ..., `depth` numbers in random order, where `ones` numbers are 1 and the
/// others are given. Needs `depth <= ones + others`.
pub(super) fn expected_products(ones: usize, others: impl Iterator<Item = f64>, depth: usize) -> Vec<f64> {
    let mut products = vec![1.0; depth + 1];
    let mut ticks = Ticks::default();
    for (known, q) in (ones..).zip(others) {
        let count = known + 1;
        ticks.add(depth.min(count));
        for k in (1..=depth.min(count)).rev() {
            let without = (count - k) as f64 * products[k];
            let with = k as f64 * q * products[k - 1];
            products[k] = (without + with) / count as f64;
        }
    }
    products
}

// Precision: the fraction of the first k documents that is relevant.
//
// `P@k = (relevant documents among the first k) / k`; without a cutoff k is the list size.
//
// Decisions: the divisor is k even where the list is shorter, as in `trec_eval`; undefined without a relevant
// document, like the other binary metrics. Ties: mean of the hypergeometric distribution, exact. Cost O(n log n).

pub const PRECISION: MetricDef = MetricDef {
    parameters: &["threshold", "ties"],
    summary: "share of the first k documents that is relevant",
    formula: "(relevant among the first k) / k",
    source: "Kent et al. 1955; ties: McSherry and Najork 2008",
    function: "ltr_precision",
    ..MetricDef::new("precision", precision)
};

fn precision(list: &ScoredList<'_>) -> Option<f64> {
    let depth = list.cutoff.unwrap_or(list.scores.len());
    let ranking = BinaryRanking::new(list)?;
    Some(ranking.expected_hits(depth) / depth as f64)
}

// Average precision; its mean over queries is MAP (Buckley and Voorhees 2000; Manning et al. 2008).
//
// `AP@k = (1/R) sum_{i <= k, document i relevant} (relevant documents among the first i) / i`, R the number of all
// relevant documents.
//
// Decisions: undefined without a relevant document; with a cutoff the divisor stays R, as in `map_cut` of
// `trec_eval`. Ties: the closed form of McSherry and Najork (2008): in a tie of m documents, r of them relevant,
// behind s positions with b relevant documents, the i-th position adds
// `(r/m) (b + 1 + (i-1)(r-1)/(m-1)) / (s+i)`. Exact. Cost O(n log n).

pub const MAP: MetricDef = MetricDef {
    parameters: &["threshold", "ties"],
    summary: "average precision; its mean is MAP",
    formula: "(1/R) sum_{i<=k, y_i relevant} (relevant among the first i) / i",
    source: "Buckley and Voorhees 2000; ties: McSherry and Najork 2008",
    function: "ltr_ap",
    ..MetricDef::new("map", average_precision)
};

fn average_precision(list: &ScoredList<'_>) -> Option<f64> {
    let ranking = BinaryRanking::new(list)?;
    let depth = list.depth();
    let mut before = 0;
    let mut sum = 0.0;
    for tie in ranking.ties.iter().take_while(|tie| tie.start < depth) {
        sum += precision_sum(tie, before, depth);
        before += tie.relevant;
    }
    Some(sum / ranking.relevant as f64)
}

/// Expected sum of the precisions at the relevant documents of a tie, with `before` relevant documents above it.
fn precision_sum(tie: &Tie, before: usize, depth: usize) -> f64 {
    if tie.relevant == 0 {
        return 0.0;
    }
    let fraction = tie.relevant as f64 / tie.size as f64;
    let others = if tie.size > 1 { (tie.relevant - 1) as f64 / (tie.size - 1) as f64 } else { 0.0 };
    let positions = tie.size.min(depth - tie.start);
    let precision = |i: usize| ((before + 1) as f64 + i as f64 * others) / (tie.start + i + 1) as f64;
    fraction * (0..positions).map(precision).sum::<f64>()
}

// Reciprocal rank of the first relevant document; its mean over queries is MRR (Voorhees 1999).
//
// `RR@k = 1 / (rank of the first relevant document)`, 0 if that rank is beyond k.
//
// Decisions: undefined without a relevant document. Ties: the first relevant position in a tie of m documents, r of
// them relevant, is f with probability `prod_{j<f} (m-r-j+1)/(m-j+1) * r/(m-f+1)` (negative hypergeometric
// distribution); the expectation is exact. Cost O(n log n).

pub const MRR: MetricDef = MetricDef {
    parameters: &["threshold", "ties"],
    summary: "reciprocal rank of the first relevant document; its mean is MRR",
    formula: "1 / min { i <= k : y_i relevant }",
    source: "Voorhees 1999; ties: McSherry and Najork 2008",
    function: "ltr_rr",
    ..MetricDef::new("mrr", reciprocal_rank)
};

fn reciprocal_rank(list: &ScoredList<'_>) -> Option<f64> {
    let ranking = BinaryRanking::new(list)?;
    let depth = list.depth();
    Some(ranking.first().map_or(0.0, |first| expected_reciprocal(first, depth)))
}

/// Expected reciprocal rank of the first relevant document of a tie that has one.
fn expected_reciprocal(tie: &Tie, depth: usize) -> f64 {
    let last = tie.start + (tie.size - tie.relevant + 1);
    let mut none_yet = 1.0;
    let mut value = 0.0;
    for position in tie.start..last.min(depth) {
        let left = tie.size - (position - tie.start);
        let share = tie.relevant as f64 / left as f64;
        value += none_yet * share / (position + 1) as f64;
        none_yet *= (left - tie.relevant) as f64 / left as f64;
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_means_over_subsets() {
        let products = expected_products(0, [0.5, 0.25, 1.0].into_iter(), 3);
        let expected = [1.0, 1.75 / 3.0, (0.125 + 0.5 + 0.25) / 3.0, 0.125];
        for (found, expected) in products.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-15);
        }
    }

    #[test]
    fn ones_may_be_given_as_a_count() {
        let counted = expected_products(2, [0.5, 0.25].into_iter(), 4);
        let listed = expected_products(0, [1.0, 1.0, 0.5, 0.25].into_iter(), 4);
        for (a, b) in counted.iter().zip(&listed) {
            assert!((a - b).abs() < 1e-15);
        }
    }
}
