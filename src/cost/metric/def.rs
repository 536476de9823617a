//! The declaration of a metric.

use super::options::MetricOptions;
use super::subtopics::Subtopics;

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
pub type PerQuery = fn(&ScoredList<'_>) -> Option<f64>;

/// The value for one query with subtopics; `None` if undefined.
pub type PerQueryOfSubtopics = fn(&ScoredList<'_, Subtopics>) -> Option<f64>;

/// The declaration of one metric of relevance.
#[derive(Debug)]
pub struct MetricDef {
    /// Name in options and rows, without a cutoff.
    pub name: &'static str,
    /// Name of the SQL aggregate of the value of one query. Metrics that differ only in their mean have the same.
    pub function: &'static str,
    /// Options that the SQL aggregate takes as arguments after the score, because they have no common default.
    pub arguments: &'static [&'static str],
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
            better: Better::Higher,
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
    /// One line for the reference tables.
    pub summary: &'static str,
    /// Formula in ASCII; i and j are ranks from 1.
    pub formula: &'static str,
    /// Authors and year.
    pub source: &'static str,
    /// The value of one query.
    pub per_query: PerQueryOfSubtopics,
}
