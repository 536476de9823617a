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
//! | `map`, `mrr`, `precision`, `rbp`, `recall`, `success`, `wta` | no document is relevant |
//! | `mre`, `mre_pooled`, `pair_loss` | fewer than two documents |
//! | `kendall_tau` | all grades equal or all scores equal |
//! | `alpha_ndcg`, `subtopic_recall` | no document has a subtopic |
//!
//! Cost: O(n log n) for n documents, except for ties under `expected` in `err` and `alpha_ndcg` (see there).

mod binary;
mod err;
mod functions;
#[cfg(test)]
mod laws_tests;
mod mean;
mod named;
mod ndcg;
mod pairs;
mod ranked;
mod subtopics;

pub use functions::{
    alpha_ndcg, average_precision, dcg, err, kendall_tau, misranking_error, ndcg, precision, recall,
    reciprocal_rank, subtopic_recall, success,
};
#[doc(hidden)]
pub use mean::{Mean, StandardError, Undefined};
#[cfg(feature = "sqlite")]
pub(crate) use named::LARGEST_VALUE;
#[doc(hidden)]
pub use named::{Judgments, Metric, SubtopicMetric};
pub(crate) use ndcg::{gains, gains_for_ratios, logarithmic};
pub use ranked::{Gain, MetricOptions, Ties};
#[doc(hidden)]
pub use subtopics::Subtopics;

/// Options of metrics that trainings take too.
pub(crate) const METRIC_ARGUMENTS: &[&str] = &["neutral_grade", "half_life"];

/// The metric of validation and evaluation if none is given.
pub(crate) const DEFAULT_METRIC: &str = "ndcg@10";

/// Every metric of relevance.
#[doc(hidden)]
pub const METRICS: &[&MetricDef] = &[
    &ndcg::NDCG,
    &ndcg::DCG,
    &err::ERR,
    &binary::MAP,
    &binary::MRR,
    &binary::PRECISION,
    &binary::RECALL,
    &binary::SUCCESS,
    &binary::RBP,
    &binary::WTA,
    &err::ERU,
    &err::NERU,
    &pairs::MRE,
    &pairs::MRE_POOLED,
    &pairs::KENDALL_TAU,
    &pairs::PAIR_LOSS,
];

/// Every metric of subtopics.
#[doc(hidden)]
pub const SUBTOPIC_METRICS: &[&MetricDef<Subtopics>] = &[&subtopics::ALPHA_NDCG, &subtopics::SUBTOPIC_RECALL];

// Declaration of a metric.

/// Which of two values is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    /// The higher one.
    Higher,
    /// The lower one, as for errors.
    Lower,
}

impl Better {
    /// Factor that makes higher values better: 1 or -1.
    pub const fn sign(self) -> f64 {
        match self {
            Self::Higher => 1.0,
            Self::Lower => -1.0,
        }
    }
}

/// The documents of one query with their scores, and the options of a metric.
#[derive(Debug)]
pub struct ScoredList<'a, L: ?Sized = [f64]> {
    /// The relevance (N) or the subtopics of the documents.
    pub labels: &'a L,
    /// The scores (N).
    pub scores: &'a [f64],
    /// Number of first documents that count; all if absent.
    pub cutoff: Option<usize>,
    /// The options.
    pub options: &'a MetricOptions,
}

impl<L: ?Sized> ScoredList<'_, L> {
    /// The cutoff, or a number above that of all documents.
    pub(super) fn depth(&self) -> usize {
        self.cutoff.unwrap_or(usize::MAX)
    }
}

/// The value for one query; `None` if undefined.
pub type PerQuery<L> = fn(&ScoredList<'_, L>) -> Option<f64>;

/// The declaration of one metric, of relevance or of subtopics.
#[derive(Debug)]
pub struct MetricDef<L: ?Sized = [f64]> {
    /// Name in options and rows, without a cutoff.
    pub name: &'static str,
    /// Name of the SQL aggregate of the value of one query.
    pub function: &'static str,
    /// The options that it reads, which may also stand in its name.
    pub parameters: &'static [&'static str],
    /// One line for the reference tables.
    pub summary: &'static str,
    /// Formula in ASCII; i and j are ranks from 1.
    pub formula: &'static str,
    /// Authors and year.
    pub source: &'static str,
    /// True if it may be cut at the first k documents.
    pub takes_cutoff: bool,
    /// Which values are better.
    pub better: Better,
    /// The value of one query.
    pub per_query: PerQuery<L>,
    /// Weight of a query with these grades in the mean over queries; 1 if `None`.
    pub weight: Option<fn(&L) -> f64>,
}

impl<L: ?Sized> MetricDef<L> {
    /// A metric whose larger values are better, with a cutoff, and a mean over queries without weights.
    pub(super) const fn new(name: &'static str, per_query: PerQuery<L>) -> Self {
        Self {
            name,
            function: "ltr_metric",
            parameters: &[],
            summary: "",
            formula: "",
            source: "",
            takes_cutoff: true,
            better: Better::Higher,
            per_query,
            weight: None,
        }
    }
}

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
}
