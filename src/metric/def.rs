//! The declaration of a metric.

use super::options::MetricOptions;
use super::subtopics::Subtopics;

/// The value of one query from relevance, scores (same length), cutoff and options; `None` where undefined.
pub type PerQuery = fn(&[f64], &[f64], Option<usize>, &MetricOptions) -> Option<f64>;

/// The value of one query from subtopics, scores (same length), cutoff and options; `None` where undefined.
pub type PerQueryOfSubtopics = fn(&Subtopics, &[f64], Option<usize>, &MetricOptions) -> Option<f64>;

/// The declaration of one metric of relevance.
#[derive(Debug)]
pub struct MetricDef {
    /// Name in options and rows, without a cutoff.
    pub name: &'static str,
    /// Name of the SQL aggregate of the value of one query. Two metrics that differ only in their mean share it.
    pub function: &'static str,
    /// Options that the SQL aggregate takes as arguments after the score, because they have no common default.
    pub arguments: &'static [&'static str],
    /// One line of documentation.
    pub summary: &'static str,
    /// Formula in ASCII; i and j are ranks from 1.
    pub formula: &'static str,
    /// Authors and year.
    pub source: &'static str,
    /// True if it may be cut at the first k documents.
    pub takes_cutoff: bool,
    /// True if larger values are better.
    pub higher_is_better: bool,
    /// The value of one query.
    pub per_query: PerQuery,
    /// Weight of a query with these grades in the mean over queries; 1 if `None`.
    pub weight: Option<fn(&[f64]) -> f64>,
}

impl MetricDef {
    /// A metric whose larger values are better, with a cutoff, and a mean over queries without weights.
    pub(super) const fn new(name: &'static str, function: &'static str, per_query: PerQuery) -> Self {
        Self {
            name,
            function,
            arguments: &[],
            summary: "",
            formula: "",
            source: "",
            takes_cutoff: true,
            higher_is_better: true,
            per_query,
            weight: None,
        }
    }
}

/// The declaration of one metric of subtopics.
#[derive(Debug)]
pub struct SubtopicDef {
    /// Name in options and rows, without a cutoff.
    pub name: &'static str,
    /// Name of the SQL aggregate.
    pub function: &'static str,
    /// One line of documentation.
    pub summary: &'static str,
    /// Formula in ASCII; i and j are ranks from 1.
    pub formula: &'static str,
    /// Authors and year.
    pub source: &'static str,
    /// The value of one query.
    pub per_query: PerQueryOfSubtopics,
}
