//! A metric ready for use: its definition, a cutoff and options, all checked. Written `ndcg@10`, `map`, `p(rel=2)@10`, ...

use serde_json::{Map, Value};

use super::options::{Gain, MetricOptions};
use super::subtopics::Subtopics;
use super::{METRICS, MetricDef, SUBTOPIC_METRICS, ScoredList};
use crate::base::{Error, Params, Result, Rule, shorten};

pub use super::options::Ties;

/// Larger values of a metric are errors: the sum over 2^64 queries of smaller ones is finite.
pub(crate) const LARGEST_VALUE: f64 = 1e288;

/// Common short names.
const ALIASES: [(&str, &str); 4] = [("p", "precision"), ("r", "recall"), ("ap", "map"), ("rr", "mrr")];

/// The parameters of names: as printed, the option with the same meaning, and the values.
const PARAMETERS: [(&str, &str, Rule); 8] = [
    ("rel", "threshold", Rule::Between(-1e9, 1e9)),
    ("gain", "gain", Rule::OneOf(Gain::NAMES)),
    ("ties", "ties", Rule::OneOf(Ties::NAMES)),
    ("max_grade", "max_grade", Rule::Above(0.0, 1000.0)),
    ("neutral_grade", "neutral_grade", Rule::Between(-1e9, 1e9)),
    ("half_life", "half_life", Rule::Above(1.0, 1e9)),
    ("alpha", "alpha", Rule::Between(0.0, 1.0)),
    ("p", "p", Rule::Between(0.0, 0.999_999)),
];

/// The judgments of a query's documents: grades or subtopics.
pub trait Judgments: 'static {
    /// Every metric of such judgments.
    const METRICS: &'static [&'static MetricDef<Self>];
    /// Whether judgments order the documents of a tie.
    const ORDERED: bool;

    fn documents(&self) -> usize;
}

impl Judgments for [f64] {
    const METRICS: &'static [&'static MetricDef] = METRICS;
    const ORDERED: bool = true;

    fn documents(&self) -> usize {
        self.len()
    }
}

impl Judgments for Subtopics {
    const METRICS: &'static [&'static MetricDef<Self>] = SUBTOPIC_METRICS;
    const ORDERED: bool = false;

    fn documents(&self) -> usize {
        self.documents.len()
    }
}

/// A metric with its cutoff and options.
#[derive(Debug)]
pub struct Metric<L: ?Sized + 'static = [f64]> {
    def: &'static MetricDef<L>,
    cutoff: Option<usize>,
    options: MetricOptions,
    /// The options in its name.
    named: Params,
}

pub type SubtopicMetric = Metric<Subtopics>;

impl<L: ?Sized> Clone for Metric<L> {
    fn clone(&self) -> Self {
        let Self { def, cutoff, options, named } = self;
        Self { def, cutoff: *cutoff, options: options.clone(), named: named.clone() }
    }
}

impl<L: Judgments + ?Sized> Metric<L> {
    /// A metric with a cutoff and options.
    ///
    /// # Errors
    /// A cutoff of 0 or for a metric without one; options outside their ranges; the tie rules that order by relevance, if
    /// the judgments are subtopics.
    pub fn new(def: &'static MetricDef<L>, cutoff: Option<usize>, options: MetricOptions) -> Result<Self> {
        options.check()?;
        if !L::ORDERED && matches!(options.ties, Ties::Worst | Ties::Best) {
            let allowed = "one of expected, input (subtopics do not order the documents of a tie)";
            return Err(Error::value("ties", format!("'{}'", options.ties.name()), allowed));
        }
        match cutoff {
            Some(0) => Err(bad_cutoff(def, "0")),
            Some(k) if !def.takes_cutoff => Err(bad_cutoff(def, &k.to_string())),
            _ => Ok(Self { def, cutoff, options, named: Params::default() }),
        }
    }

    /// The metric that a text names: `name`, `name@k`, `name(parameter=value, ...)` or both, in upper or lower case, with
    /// spaces around each part. `None` if the name is not in the table.
    ///
    /// # Errors
    /// A cutoff that is not a whole number from 1 or not supported; parameters that the metric does not use.
    pub fn find(text: &str) -> Result<Option<Self>> {
        let (name, parameters, cutoff) = parts(text);
        let Some(def) = L::METRICS.iter().find(|def| def.name.eq_ignore_ascii_case(name)) else {
            return Ok(None);
        };
        let cutoff = cutoff.map(|k| parse_cutoff(def, k)).transpose()?;
        let named = parameters.map(|list| read_parameters(def, list)).transpose()?.unwrap_or_default();
        let options = MetricOptions::default().with(&named)?;
        Ok(Some(Self { named, ..Self::new(def, cutoff, options)? }))
    }

    /// The same metric with other options; those in its name stay.
    ///
    /// # Errors
    /// Options outside their ranges.
    pub fn with_options(&self, options: MetricOptions) -> Result<Self> {
        let named = self.named.clone();
        Ok(Self { named, ..Self::new(self.def, self.cutoff, options.with(&self.named)?)? })
    }

    pub fn def(&self) -> &'static MetricDef<L> {
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

    /// The options in its name.
    pub(crate) fn named(&self) -> &Params {
        &self.named
    }

    /// The name as `parse` reads it.
    pub fn name(&self) -> String {
        let written = PARAMETERS.iter().filter_map(|(name, option, _)| {
            let value = self.named.get(option)?;
            let number = value.as_f64().map(|number| number.to_string());
            Some(format!("{name}={}", number.as_deref().or(value.as_str()).unwrap_or_default()))
        });
        let written: Vec<String> = written.collect();
        let parameters = if written.is_empty() { String::new() } else { format!("({})", written.join(", ")) };
        let cutoff = self.cutoff.map_or_else(String::new, |k| format!("@{k}"));
        format!("{}{parameters}{cutoff}", self.def.name)
    }

    /// The value for one query, as [`Self::value`], if means over queries of such values are finite.
    ///
    /// # Errors
    /// [`Error::Data`] for grades that are too large.
    ///
    /// # Panics
    /// If judgments and scores differ in length.
    pub fn finite_value(&self, judgments: &L, scores: &[f64]) -> Result<Option<f64>> {
        match self.value(judgments, scores) {
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
    /// If judgments and scores differ in length.
    pub fn value(&self, judgments: &L, scores: &[f64]) -> Option<f64> {
        assert_eq!(judgments.documents(), scores.len(), "one score for each document");
        let Self { def, cutoff, options, .. } = self;
        (def.per_query)(&ScoredList { labels: judgments, scores, cutoff: *cutoff, options })
    }
}

impl Metric {
    /// The metric of relevance with this name, as [`Self::find`].
    ///
    /// # Errors
    /// As [`Self::find`]; an unknown name, or one of a metric of subtopics.
    pub fn parse(text: &str) -> Result<Self> {
        if let Some(metric) = Self::find(text)? {
            return Ok(metric);
        }
        match SubtopicMetric::find(text)? {
            Some(metric) => Err(Error::Unsupported(format!(
                "metric '{0}': it is over subtopics, not relevance; use ltr_metric('{0}', subtopics, score)",
                metric.name()
            ))),
            None => Err(unknown_metric(text.trim())),
        }
    }
}

/// The name without a short form, the text between parentheses, and the cutoff.
fn parts(text: &str) -> (&str, Option<&str>, Option<&str>) {
    let text = text.trim();
    let (name, cutoff) = text.split_once('@').map_or((text, None), |(name, k)| (name, Some(k)));
    let (name, parameters) =
        name.split_once('(').map_or((name, None), |(name, list)| (name, Some(list.trim_end())));
    let name = name.trim_end();
    let alias = ALIASES.iter().find(|(short, _)| short.eq_ignore_ascii_case(name));
    (alias.map_or(name, |(_, long)| long), parameters, cutoff)
}

/// Reads `rel=2, ties=input)`: the parameters of a metric by the options with the same meaning.
fn read_parameters<L: ?Sized>(def: &MetricDef<L>, text: &str) -> Result<Params> {
    let is_own = |option: &str| def.parameters.contains(&option);
    let refusal = |got: &str| {
        let own = PARAMETERS.iter().filter(|(_, option, _)| is_own(option)).map(|(name, ..)| *name);
        let own: Vec<&str> = own.collect();
        let example = "each as name=value, once, in parentheses before the @, as in 'precision(rel=2)@10'";
        let allowed =
            if own.is_empty() { "none".to_owned() } else { format!("{}; {example}", own.join(", ")) };
        Error::value(
            format!("parameters of the metric '{}'", def.name),
            format!("'{}'", shorten(got)),
            allowed,
        )
    };
    let list = text.strip_suffix(')').ok_or_else(|| refusal(text))?;
    let mut given = Map::new();
    for entry in list.split(',') {
        let (key, value) = entry.split_once('=').ok_or_else(|| refusal(entry))?;
        let value = value.trim().trim_matches(['\'', '"']);
        // As ir_measures writes gains.
        let (key, value) = match (key.trim(), value) {
            ("dcg", "log2") => ("gain", "linear"),
            ("dcg", "exp-log2") => ("gain", "exp2"),
            other => other,
        };
        let known = PARAMETERS.iter().find(|(name, option, _)| [*name, *option].contains(&key));
        let (name, option, rule) =
            known.filter(|(_, option, _)| is_own(option)).ok_or_else(|| refusal(entry))?;
        let number = value.parse().ok().and_then(serde_json::Number::from_f64);
        let json = number.map_or_else(|| Value::from(value), Value::Number);
        if !rule.accepts(&json) {
            let what = format!("parameter '{name}' of the metric '{}'", def.name);
            return Err(Error::value(what, format!("'{}'", shorten(value)), rule.to_string()));
        }
        if given.insert((*option).to_owned(), json).is_some() {
            return Err(refusal(entry));
        }
    }
    Ok(Params::from(given))
}

/// The error for an unknown metric. A name with a cutoff may only miss its `@`.
fn unknown_metric(text: &str) -> Error {
    let (name, ..) = parts(text);
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let is_cut = |def: &&&MetricDef| def.takes_cutoff && def.name.eq_ignore_ascii_case(parts(stem).0);
    if let Some(def) = METRICS.iter().find(is_cut).filter(|_| text == name) {
        let cutoff = &name[stem.len()..];
        return Error::Unsupported(format!("unknown metric '{text}', did you mean '{}@{cutoff}'?", def.name));
    }
    let subtopics = SUBTOPIC_METRICS.iter().map(|def| def.name);
    Error::unknown("metric", name, METRICS.iter().map(|def| def.name).chain(subtopics))
}

/// The cutoff after an `@`.
fn parse_cutoff<L: ?Sized>(def: &MetricDef<L>, text: &str) -> Result<usize> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = if digits { text.parse().ok() } else { None };
    number.ok_or_else(|| bad_cutoff(def, text))
}

/// The error for an invalid cutoff.
fn bad_cutoff<L: ?Sized>(def: &MetricDef<L>, got: &str) -> Error {
    let allowed = if def.takes_cutoff {
        format!("a whole number from 1, as in '{}@10', or none", def.name)
    } else {
        format!("none, the metric is over the whole list: '{}'", def.name)
    };
    Error::value(format!("cutoff of the metric '{}'", def.name), format!("'{}'", shorten(got)), allowed)
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
        for (given, name) in [
            ("nDCG@10", "ndcg@10"),
            ("MAP", "map"),
            ("Precision@5", "precision@5"),
            ("ndcg@10 ", "ndcg@10"),
            ("P@5", "precision@5"),
        ] {
            assert_eq!(Metric::parse(given).unwrap().name(), name);
        }
    }

    #[test]
    fn refusals_say_what_is_allowed() {
        assert!(refusal("ndgc@10").starts_with("unknown metric 'ndgc', did you mean 'ndcg'?"));
        assert_eq!(
            refusal("alpha_ndcg@5"),
            "metric 'alpha_ndcg@5': it is over subtopics, not relevance; use ltr_metric('alpha_ndcg@5', subtopics, score)"
        );
        let allowed = "expected a whole number from 1, as in 'ndcg@10', or none";
        for cutoff in ["", "0", "-1", "+1", "1.5", "ten", "99999999999999999999999"] {
            let expected = format!("cutoff of the metric 'ndcg': got '{cutoff}', {allowed}");
            assert_eq!(refusal(&format!("ndcg@{cutoff}")), expected);
        }
        assert_eq!(
            refusal("wta@3"),
            "cutoff of the metric 'wta': got '3', expected none, the metric is over the whole list: 'wta'"
        );
    }

    /// Every parameter in the name of every metric: those that it reads act as the option, the others are refused.
    #[test]
    fn parameters_in_a_name_are_those_that_the_metric_reads() {
        fn walk<L: Judgments + ?Sized>() {
            for def in L::METRICS {
                for (name, option, rule) in PARAMETERS {
                    let value = match rule {
                        Rule::OneOf(names) => names[1].to_owned(),
                        _ => "0.25".replace('0', if option == "half_life" { "2" } else { "" }),
                    };
                    for key in [name, option] {
                        let text = format!(" {}( {key} = '{value}' ) ", def.name.to_uppercase());
                        let Ok(found) = Metric::<L>::find(&text) else {
                            assert!(!def.parameters.contains(&option), "{text}");
                            continue;
                        };
                        let metric = found.expect("a known name");
                        assert!(def.parameters.contains(&option), "{text}");
                        let written = metric.name();
                        assert_ne!(*metric.options(), MetricOptions::default(), "{text}");
                        let again = Metric::<L>::find(&written).unwrap().unwrap();
                        assert_eq!((again.name(), again.options()), (written, metric.options()));
                        let other = MetricOptions {
                            threshold: 7.0,
                            ties: Ties::Expected,
                            ..metric.options().clone()
                        };
                        let kept = metric.with_options(other).unwrap();
                        assert_eq!(kept.options().ties, metric.options().ties, "{text}");
                        assert!(option != "threshold" || kept.options().threshold < 7.0, "{text}");
                    }
                }
            }
        }
        walk::<[f64]>();
        walk::<Subtopics>();
        let gain = |name: &str| Metric::parse(name).unwrap().options().gain;
        assert_eq!(gain("nDCG(dcg='log2')@10"), Gain::Linear);
        assert_eq!(gain("nDCG(dcg=\"exp-log2\")@10"), Gain::Exp2);
        assert_eq!(Metric::parse("rbp(p=.5,rel=2)@3").unwrap().name(), "rbp(rel=2, p=0.5)@3");
    }

    #[test]
    fn malformed_parameters_are_refused() {
        for text in [
            "p()",
            "p(",
            "p(rel)",
            "p(rel=)",
            "p(rel=2",
            "p(rel=2,rel=3)",
            "p(rel=2,threshold=3)",
            "p(rel=2,)",
        ]
        .into_iter()
        .chain([
            "p(rel=nan)",
            "p(rel=inf)",
            "p(rel=x)",
            "p@5(rel=2)",
            "rbp(p=1)",
            "mre(k=3)",
            "pair_loss(ties=input)",
        ]) {
            assert!(Metric::parse(text).is_err(), "{text}");
        }
        assert_eq!(
            refusal("ndcg(rel=2)@5"),
            "parameters of the metric 'ndcg': got 'rel=2', expected gain, ties; \
             each as name=value, once, in parentheses before the @, as in 'precision(rel=2)@10'"
        );
        assert_eq!(
            refusal("p(rel=a)"),
            "parameter 'rel' of the metric 'precision': got 'a', expected a number from -1000000000 to 1000000000"
        );
    }

    #[test]
    fn subtopics_have_no_best_and_worst_order() {
        let options = MetricOptions { ties: Ties::Worst, ..MetricOptions::default() };
        let error = SubtopicMetric::new(&ALPHA_NDCG, None, options).unwrap_err();
        assert_eq!(
            error.to_string(),
            "ties: got 'worst', expected one of expected, input (subtopics do not order the documents of a tie)"
        );
        assert!(SubtopicMetric::new(&ALPHA_NDCG, Some(0), MetricOptions::default()).is_err());
    }
}
