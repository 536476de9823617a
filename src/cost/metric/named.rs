//! A metric ready for use: its definition, a cutoff and options, all checked. Written `ndcg@10`, `map`, ...

use super::ranked::MetricOptions;
use super::subtopics::Subtopics;
use super::{METRICS, MetricDef, SUBTOPIC_METRICS, ScoredList, SubtopicDef};
use crate::base::{Error, Result};

pub use super::ranked::Ties;

/// Larger values of a metric are errors: the sum over 2^64 queries of smaller ones is finite.
pub(crate) const LARGEST_VALUE: f64 = 1e288;

/// A metric of relevance with its cutoff and options.
#[derive(Debug, Clone)]
pub struct Metric {
    def: &'static MetricDef,
    cutoff: Option<usize>,
    options: MetricOptions,
}

impl Metric {
    /// A metric with a cutoff and options.
    ///
    /// # Errors
    /// A cutoff of 0 or for a metric without one; options outside their ranges.
    pub fn new(def: &'static MetricDef, cutoff: Option<usize>, options: MetricOptions) -> Result<Self> {
        options.check()?;
        match cutoff {
            Some(0) => Err(bad_cutoff(def, "0")),
            Some(k) if !def.takes_cutoff => Err(bad_cutoff(def, &k.to_string())),
            _ => Ok(Self { def, cutoff, options }),
        }
    }

    /// The metric with this name and default options: `name` or `name@k`, in upper or lower case, with or without spaces around it.
    ///
    /// # Errors
    /// An unknown name; a cutoff that is no whole number from 1 or for a metric without one.
    pub fn parse(text: &str) -> Result<Self> {
        let text = text.trim();
        let (name, cutoff) = text.split_once('@').map_or((text, None), |(name, k)| (name, Some(k)));
        if let Some(def) = SUBTOPIC_METRICS.iter().find(|def| def.name.eq_ignore_ascii_case(name)) {
            let advice = format!("it is over subtopics, not relevance; use the aggregate {}", def.function);
            return Err(Error::Unsupported(format!("metric '{name}': {advice}")));
        }
        // A usual short form that is too short to be near any name.
        if name.eq_ignore_ascii_case("p") {
            let rest = &text[name.len()..];
            return Err(Error::Unsupported(format!(
                "unknown metric '{text}', did you mean 'precision{rest}'?"
            )));
        }
        let def = METRICS.iter().find(|def| def.name.eq_ignore_ascii_case(name));
        let def = def.ok_or_else(|| unknown_metric(text, name))?;
        let cutoff = cutoff.map(|k| parse_cutoff(def, k)).transpose()?;
        Self::new(def, cutoff, MetricOptions::default())
    }

    /// The same metric with other options.
    ///
    /// # Errors
    /// Options outside their ranges.
    pub fn with_options(&self, options: MetricOptions) -> Result<Self> {
        Self::new(self.def, self.cutoff, options)
    }

    /// The declaration.
    pub fn def(&self) -> &'static MetricDef {
        self.def
    }

    /// Number of first documents that count; all if `None`.
    pub fn cutoff(&self) -> Option<usize> {
        self.cutoff
    }

    /// The options it was made with.
    pub fn options(&self) -> &MetricOptions {
        &self.options
    }

    /// The name as `parse` reads it.
    pub fn name(&self) -> String {
        self.cutoff.map_or_else(|| self.def.name.to_owned(), |k| format!("{}@{k}", self.def.name))
    }

    /// The value for one query, as [`Self::value`], if means over queries of such values are finite.
    ///
    /// # Errors
    /// [`Error::Data`] for grades that are too large.
    ///
    /// # Panics
    /// If relevance and scores differ in length.
    pub fn finite_value(&self, relevance: &[f64], scores: &[f64]) -> Result<Option<f64>> {
        match self.value(relevance, scores) {
            // NaN is not in the range either.
            Some(value) if !(-LARGEST_VALUE..=LARGEST_VALUE).contains(&value) => {
                let name = self.name();
                Err(Error::Data(format!(
                    "the grades are so large that the value of '{name}' is beyond {LARGEST_VALUE:e}"
                )))
            }
            value => Ok(value),
        }
    }

    /// The value for one query; `None` where the metric is undefined.
    ///
    /// # Panics
    /// If relevance and scores differ in length.
    pub fn value(&self, relevance: &[f64], scores: &[f64]) -> Option<f64> {
        assert_eq!(relevance.len(), scores.len(), "one score for each document");
        let Self { def, cutoff, options } = self;
        (def.per_query)(&ScoredList { labels: relevance, scores, cutoff: *cutoff, options })
    }
}

/// The error about an unknown metric. A name with a cutoff may only lack its `@`.
fn unknown_metric(text: &str, name: &str) -> Error {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let is_cut = |def: &&&MetricDef| def.takes_cutoff && def.name.eq_ignore_ascii_case(stem);
    match METRICS.iter().find(is_cut).filter(|_| text == name) {
        Some(def) => Error::Unsupported(format!(
            "unknown metric '{text}', did you mean '{}@{}'?",
            def.name,
            &name[stem.len()..]
        )),
        None => Error::unknown("metric", name, METRICS.iter().map(|def| def.name)),
    }
}

/// The cutoff behind an `@`.
fn parse_cutoff(def: &MetricDef, text: &str) -> Result<usize> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = if digits { text.parse().ok() } else { None };
    number.ok_or_else(|| bad_cutoff(def, text))
}

/// What is wrong with a cutoff and what is allowed.
fn bad_cutoff(def: &MetricDef, got: &str) -> Error {
    let allowed = if def.takes_cutoff {
        format!("a whole number from 1, as in '{}@10', or none", def.name)
    } else {
        format!("none, the metric is over the whole list: '{}'", def.name)
    };
    Error::value(format!("cutoff of the metric '{}'", def.name), format!("'{got}'"), allowed)
}

/// A metric of subtopics with its cutoff and options.
#[derive(Debug, Clone)]
pub struct SubtopicMetric {
    def: &'static SubtopicDef,
    cutoff: Option<usize>,
    options: MetricOptions,
}

impl SubtopicMetric {
    /// A metric with a cutoff and options.
    ///
    /// # Errors
    /// A cutoff of 0; options outside their ranges; the tie rules that order by relevance.
    pub fn new(def: &'static SubtopicDef, cutoff: Option<usize>, options: MetricOptions) -> Result<Self> {
        options.check()?;
        if matches!(options.ties, Ties::Worst | Ties::Best) {
            let allowed = "expected, input (subtopics do not order the documents of a tie)";
            return Err(Error::value("ties", format!("'{}'", options.ties.name()), allowed));
        }
        match cutoff {
            Some(0) => Err(Error::value(
                format!("cutoff of the metric '{}'", def.name),
                "'0'",
                "a whole number from 1, or none",
            )),
            _ => Ok(Self { def, cutoff, options }),
        }
    }

    /// The declaration.
    pub fn def(&self) -> &'static SubtopicDef {
        self.def
    }

    /// The value for one query; `None` where the metric is undefined.
    ///
    /// # Panics
    /// If subtopics and scores differ in length.
    pub fn value(&self, subtopics: &Subtopics, scores: &[f64]) -> Option<f64> {
        assert_eq!(subtopics.documents.len(), scores.len(), "one score for each document");
        let Self { def, cutoff, options } = self;
        (def.per_query)(&ScoredList { labels: subtopics, scores, cutoff: *cutoff, options })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::metric::subtopics::ALPHA_NDCG;

    fn refusal(name: &str) -> String {
        Metric::parse(name).unwrap_err().to_string()
    }

    #[test]
    fn every_name_is_read_back() {
        for def in METRICS {
            assert_eq!(Metric::parse(def.name).unwrap().name(), def.name);
            let cut = format!("{}@7", def.name);
            match Metric::parse(&cut) {
                Ok(metric) => assert!(def.takes_cutoff && metric.name() == cut),
                Err(_) => assert!(!def.takes_cutoff),
            }
        }
        assert_eq!(Metric::parse("ndcg@010").unwrap().cutoff(), Some(10));
        for (given, name) in
            [("nDCG@10", "ndcg@10"), ("MAP", "map"), ("Precision@5", "precision@5"), ("ndcg@10 ", "ndcg@10")]
        {
            assert_eq!(Metric::parse(given).unwrap().name(), name);
        }
    }

    #[test]
    fn refusals_say_what_is_allowed() {
        assert!(refusal("ndgc@10").starts_with("unknown metric 'ndgc', did you mean 'ndcg'?"));
        assert_eq!(refusal("p@5"), "unknown metric 'p@5', did you mean 'precision@5'?");
        let allowed = "allowed is a whole number from 1, as in 'ndcg@10', or none";
        for cutoff in ["", "0", "-1", "+1", "1.5", "ten", "99999999999999999999999"] {
            let expected = format!("cutoff of the metric 'ndcg': got '{cutoff}', {allowed}");
            assert_eq!(refusal(&format!("ndcg@{cutoff}")), expected);
        }
        assert_eq!(
            refusal("wta@3"),
            "cutoff of the metric 'wta': got '3', allowed is none, the metric is over the whole list: 'wta'"
        );
    }

    #[test]
    fn subtopics_have_no_best_and_worst_order() {
        let options = MetricOptions { ties: Ties::Worst, ..MetricOptions::default() };
        let error = SubtopicMetric::new(&ALPHA_NDCG, None, options).unwrap_err();
        assert_eq!(
            error.to_string(),
            "ties: got 'worst', allowed is expected, input (subtopics do not order the documents of a tie)"
        );
        assert!(SubtopicMetric::new(&ALPHA_NDCG, Some(0), MetricOptions::default()).is_err());
    }
}
