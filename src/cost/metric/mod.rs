//! Measures of a ranking: how good an order of the documents of one query is.
//!
//! A metric turns the relevance and the scores of one query into one number, or into `None` where it is undefined.
//! The mean over queries is formed apart from it (`mean`). Each relevance metric is one file and one line in
//! [`METRICS`]; each subtopic metric is one file and one line in [`SUBTOPIC_METRICS`].
//!
//! Conventions of all metrics:
//!
//! 1. Documents are ranked by decreasing score. What equal scores mean is the option [`Ties`]; `expected` is the
//!    exact mean over all orders inside the ties, and the same bits for every order of the input.
//! 2. A document is relevant if its grade is at least `threshold`; gains are `2^y - 1` or `y`, and grades below 0
//!    (some collections mark spam so) gain 0, as in `trec_eval`.
//! 3. Grades, scores and options are finite numbers; relevance and scores have the same length.
//! 4. A cutoff is a number of documents from the top. Lists shorter than the cutoff are not an error.
//!
//! Where a metric is undefined:
//!
//! | metric | undefined (`None`) |
//! |---|---|
//! | every metric | the list is empty |
//! | `dcg`, `eru`, `err` | never otherwise: nothing relevant is worth 0 |
//! | `ndcg` | no document has a gain above 0 |
//! | `neru` | no grade is above `neutral_grade` |
//! | `map`, `mrr`, `precision`, `recall`, `wta` | no document is relevant |
//! | `mre`, `mre_pooled` | fewer than two documents |
//! | `kendall_tau` | all grades equal or all scores equal |
//! | `alpha_ndcg`, `subtopic_recall` | no document has a subtopic |
//!
//! Cost: O(n log n) for n documents, except for ties under `expected` in `err` and `alpha_ndcg` (see there).

mod binary;
mod def;
mod discount;
mod elementary;
mod functions;
mod mean;
mod named;
mod options;
mod pairs;
mod ranked;
mod subtopics;

mod alpha_ndcg;
mod dcg;
mod err;
mod eru;
mod kendall_tau;
mod map;
mod mre;
mod mrr;
mod ndcg;
mod precision;
mod recall;
mod subtopic_recall;
mod wta;

#[cfg(test)]
mod laws;

pub(crate) use discount::{gains, gains_for_ratios, logarithmic};

pub use functions::{
    alpha_ndcg, average_precision, dcg, err, kendall_tau, misranking_error, ndcg, precision, recall,
    reciprocal_rank, subtopic_recall, success,
};
// Only SQL takes values of metrics from outside.
#[cfg(feature = "sqlite")]
pub(crate) use named::LARGEST_VALUE;
pub use named::Metric;
pub use options::{Gain, MetricOptions, Ties};

#[doc(hidden)]
pub use def::{Better, MetricDef, PerQuery, PerQueryOfSubtopics, ScoredList, SubtopicDef};
#[doc(hidden)]
pub use mean::{Mean, StandardError, Undefined};
#[doc(hidden)]
pub use named::SubtopicMetric;
#[doc(hidden)]
pub use subtopics::Subtopics;

/// Options that only some metrics read ([`MetricDef::arguments`]).
pub(crate) const METRIC_ARGUMENTS: &[&str] = eru::ERU.arguments;

/// The metric of validation and evaluation if none is given.
pub(crate) const DEFAULT_METRIC: &str = "ndcg@10";

/// Every metric of relevance.
#[doc(hidden)]
pub const METRICS: &[&MetricDef] = &[
    &ndcg::NDCG,
    &dcg::DCG,
    &err::ERR,
    &map::MAP,
    &mrr::MRR,
    &precision::PRECISION,
    &recall::RECALL,
    &wta::WTA,
    &eru::ERU,
    &eru::NERU,
    &mre::MRE,
    &mre::MRE_POOLED,
    &kendall_tau::KENDALL_TAU,
];

/// Every metric of subtopics. All take a cutoff, and higher is better.
#[doc(hidden)]
pub const SUBTOPIC_METRICS: &[&SubtopicDef] = &[&alpha_ndcg::ALPHA_NDCG, &subtopic_recall::SUBTOPIC_RECALL];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_occurs_twice() {
        let mut names: Vec<&str> = METRICS.iter().map(|def| def.name).collect();
        names.extend(SUBTOPIC_METRICS.iter().map(|def| def.name));
        let total = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), total);
    }

    #[test]
    fn metrics_of_one_function_have_one_value() {
        for a in METRICS {
            for b in METRICS.iter().filter(|b| b.function == a.function) {
                assert!(std::ptr::fn_addr_eq(a.per_query, b.per_query), "{} and {}", a.name, b.name);
            }
        }
    }
}
