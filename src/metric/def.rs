//! The tables of metrics: registration, help and documentation are made from them.

use super::options::MetricOptions;
use super::subtopics::Subtopics;
use super::{
    alpha_ndcg, dcg, err, eru, kendall_tau, map, mre, mrr, ndcg, precision, recall, subtopic_recall, wta,
};

/// The value of one query from relevance, scores (same length), cutoff and options; `None` where undefined.
pub type PerQuery = fn(&[f64], &[f64], Option<usize>, &MetricOptions) -> Option<f64>;

/// The value of one query from subtopics, scores (same length), cutoff and options; `None` where undefined.
pub type PerQueryOfSubtopics = fn(&Subtopics, &[f64], Option<usize>, &MetricOptions) -> Option<f64>;

/// What the crate knows of one metric of relevance.
#[derive(Debug)]
pub struct MetricDef {
    /// Name in options and rows, without a cutoff.
    pub name: &'static str,
    /// Name of the SQL aggregate of the value of one query. Two metrics that differ only in their mean share it.
    pub function: &'static str,
    /// Options that the SQL aggregate takes as arguments behind the score, because no default fits everybody.
    pub arguments: &'static [&'static str],
    /// What it measures, in one line.
    pub summary: &'static str,
    /// Formula in ASCII; i and j are ranks from 1.
    pub formula: &'static str,
    /// Authors and year.
    pub source: &'static str,
    /// Whether it may be cut at the first k documents.
    pub takes_cutoff: bool,
    /// Whether larger values are better.
    pub higher_is_better: bool,
    /// The value of one query.
    pub per_query: PerQuery,
    /// Weight of a query with these grades in the mean over queries; `None`: all alike.
    pub weight: Option<fn(&[f64]) -> f64>,
}

/// What the crate knows of one metric of subtopics.
#[derive(Debug)]
pub struct SubtopicDef {
    /// Name in options and rows, without a cutoff.
    pub name: &'static str,
    /// Name of the SQL aggregate.
    pub function: &'static str,
    /// What it measures, in one line.
    pub summary: &'static str,
    /// Formula in ASCII; i and j are ranks from 1.
    pub formula: &'static str,
    /// Authors and year.
    pub source: &'static str,
    /// The value of one query.
    pub per_query: PerQueryOfSubtopics,
}

/// Every metric of relevance.
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
    &mre::MRE,
    &mre::MRE_POOLED,
    &kendall_tau::KENDALL_TAU,
];

/// Every metric of subtopics. All take a cutoff, and higher is better.
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
