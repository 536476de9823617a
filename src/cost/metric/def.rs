//! Declaration of a metric, and the lists that it measures.

use super::options::MetricOptions;
use super::ranked::Ranked;

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

/// One query's documents with scores, and the metric's options.
#[derive(Debug)]
pub struct ScoredList<'a, L: ?Sized = [f64]> {
    /// The relevance (N) or the subtopics of the documents.
    pub labels: &'a L,
    /// The scores (N). Negative infinity: the document was not retrieved. Metrics of positions know it in the ideal order alone;
    /// metrics of pairs rank it last, `pair_loss` omits it.
    pub scores: &'a [f64],
    /// Number of first documents that count; all if absent.
    pub cutoff: Option<usize>,
    pub options: &'a MetricOptions,
}

impl<L: ?Sized> ScoredList<'_, L> {
    /// The cutoff, or a number larger than the list.
    pub(super) fn depth(&self) -> usize {
        self.cutoff.unwrap_or(usize::MAX)
    }
}

impl ScoredList<'_> {
    /// The documents that were retrieved, from the best score on.
    pub(super) fn ranked(&self) -> Ranked {
        let retrieved = self.scores.iter().filter(|score| **score > f64::NEG_INFINITY).count();
        Ranked::new(self.labels, self.scores, self.options.ties).first(retrieved)
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
    /// The options that it reads, which its name may include.
    pub parameters: &'static [&'static str],
    /// One line for the reference tables.
    pub summary: &'static str,
    /// Formula in ASCII; i and j are ranks from 1.
    pub formula: &'static str,
    /// Authors and year.
    pub source: &'static str,
    /// Whether a cutoff k is supported.
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
    use crate::cost::metric::{METRICS, SUBTOPIC_METRICS};

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
