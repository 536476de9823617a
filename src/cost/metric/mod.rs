//! Metrics: how good an order of the documents of one query is.
//!
//! A metric turns the relevance and the scores of one query into one number, or into `None` where it is undefined.
//! The mean over queries is formed apart from it (`mean`). Each relevance metric is a
//! [`MetricDef`] in its family's file (`ndcg`, `err`, `binary`, `pairs`) and a line in [`METRICS`]; each subtopic metric is
//! one in `subtopics` and a line in [`SUBTOPIC_METRICS`].
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
//!
//! | file | contents |
//! |---|---|
//! | `def`, `options` | declaration of a metric; options with their defaults |
//! | `named` | a metric with cutoff and options, as in `ndcg@10` |
//! | `ndcg`, `err`, `binary`, `pairs`, `subtopics` | families of metrics |
//! | `ranked`, `mean` | a query in ranked order, with ties; means over queries |
//! | `functions` | metrics as plain Rust functions |

mod binary;
mod def;
mod err;
mod functions;
#[cfg(test)]
mod laws_tests;
mod mean;
mod named;
mod ndcg;
mod options;
mod pairs;
mod ranked;
mod subtopics;

pub use def::{Better, MetricDef, PerQuery, ScoredList};
pub use functions::{
    alpha_ndcg, average_precision, dcg, err, kendall_tau, misranking_error, ndcg, precision, recall,
    reciprocal_rank, subtopic_recall, success,
};
#[doc(hidden)]
pub use mean::{Mean, StandardError, Undefined};
pub(crate) use named::LARGEST_VALUE;
#[doc(hidden)]
pub use named::{Judgments, Metric, SubtopicMetric};
pub(crate) use ndcg::{gains, gains_for_ratios, logarithmic};
pub use options::{Gain, MetricOptions, Ties};
#[doc(hidden)]
pub use subtopics::Subtopics;

/// Options of metrics that trainings take too.
pub(crate) const METRIC_ARGUMENTS: &[&str] = &["neutral_grade", "half_life"];

/// The metric of validation and evaluation if none is given, as in the table of options and in `DEFAULT_METRICS` of reports.
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
