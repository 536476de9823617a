//! The arguments after the score (rules 8.1, 8.3).

use rusqlite::types::ValueRef;

use crate::base::error::{Error, Result};
use crate::base::param::Params;
use crate::cost::metric::MetricOptions;
use crate::sqlite::glue::value::{describe, number_of, whole_of};
use crate::sqlite::glue::vtab::Parameter;
use crate::train::options;
use crate::train::options::Use;

/// The arguments of one function.
#[derive(Debug, Clone, Copy)]
pub(super) struct Layout {
    /// Name of the function.
    pub(super) function: &'static str,
    /// Name of the first argument.
    pub(super) judgment: &'static str,
    /// Names of the numbers after the score that must be given.
    pub(super) required: &'static [&'static str],
    /// Whether a cutoff may follow.
    pub(super) takes_cutoff: bool,
}

impl Layout {
    /// Smallest number of arguments.
    pub(super) fn least(&self) -> usize {
        2 + self.required.len()
    }

    /// Largest number of arguments: a cutoff, if there is one, and options.
    pub(super) fn most(&self) -> usize {
        self.least() + usize::from(self.takes_cutoff) + 1
    }

    /// All parameters.
    pub(super) fn parameters(&self) -> Vec<Parameter> {
        let names = [self.judgment, "score"].into_iter().chain(self.required.iter().copied());
        let cutoff = self.takes_cutoff.then(|| Parameter::optional("k"));
        names.map(Parameter::required).chain(cutoff).chain([Parameter::optional("options")]).collect()
    }

    /// The names of the arguments after the score, as given in one call.
    pub(super) fn names(&self, after_score: &[ValueRef<'_>]) -> Vec<&'static str> {
        let mut names = self.required.to_vec();
        match &after_score[self.required.len()..] {
            [] => {}
            [only] if self.takes_cutoff && !is_object(*only) => names.push("k"),
            [_] => names.push("options"),
            _ => names.extend(["k", "options"]),
        }
        names
    }
}

/// Text that begins like a JSON object: options without a cutoff before them.
fn is_object(value: ValueRef<'_>) -> bool {
    matches!(value, ValueRef::Text(text) if text.trim_ascii_start().starts_with(b"{"))
}

/// The arguments after the score, checked.
#[derive(Debug, Default)]
pub(super) struct Settings {
    /// Number of documents from the top.
    pub(super) cutoff: Option<usize>,
    /// The options, with the required numbers in them.
    pub(super) options: MetricOptions,
}

impl Settings {
    /// Reads the arguments after the score of the first row.
    pub(super) fn read(layout: &Layout, after_score: &[ValueRef<'_>]) -> Result<Self> {
        let named = layout.names(after_score).into_iter().zip(after_score.iter().copied());
        let mut settings = Self::default();
        let mut required = Vec::new();
        for (name, value) in named {
            match name {
                "k" => settings.cutoff = Some(cutoff(value)?),
                "options" => settings.options = options(layout, value)?,
                _ => required.push((name, number(value, || name.to_owned(), "a finite number")?)),
            }
        }
        for (name, value) in required {
            set(&mut settings.options, name, value)?;
        }
        Ok(settings)
    }
}

/// Puts a required number into the options.
fn set(options: &mut MetricOptions, name: &str, value: f64) -> Result<()> {
    match name {
        "neutral_grade" => options.neutral = value,
        "half_life" => options.half_life = value,
        _ => return Err(Error::Internal(format!("no metric option is named '{name}'"))),
    }
    Ok(())
}

fn cutoff(value: ValueRef<'_>) -> Result<usize> {
    let whole = whole_of(value).and_then(|k| usize::try_from(k).ok());
    let allowed = "a whole number from 1 (or options, a JSON object, in its place)";
    whole.filter(|k| *k > 0).ok_or_else(|| Error::value("k", describe(value), allowed))
}

fn options(layout: &Layout, value: ValueRef<'_>) -> Result<MetricOptions> {
    let refusal = || {
        let no_cutoff = if layout.takes_cutoff { "" } else { "; this metric takes no cutoff" };
        let allowed = format!("a JSON object such as {{\"ties\": \"input\"}}{no_cutoff}");
        Error::value("options", describe(value), allowed)
    };
    let text = match value {
        ValueRef::Null => None,
        ValueRef::Text(text) => Some(std::str::from_utf8(text).map_err(|_| refusal())?),
        _ => return Err(refusal()),
    };
    metric_options(&options::parse(text, Use::Metric)?)
}

/// The options of a metric among the checked options of a call.
///
/// # Errors
/// A value outside its range.
pub fn metric_options(options: &Params) -> Result<MetricOptions> {
    let default = MetricOptions::default();
    let chosen = MetricOptions {
        ties: options.choice("ties")?.unwrap_or(default.ties),
        gain: options.choice("gain")?.unwrap_or(default.gain),
        max_grade: options.number("max_grade"),
        threshold: options.number("threshold").unwrap_or(default.threshold),
        alpha: options.number("alpha").unwrap_or(default.alpha),
        ..default
    };
    let chosen = chosen.with_arguments(options);
    chosen.check()?;
    Ok(chosen)
}

/// A finite number, or a text that is a well-formed one.
pub(super) fn number(value: ValueRef<'_>, what: impl Fn() -> String, allowed: &str) -> Result<f64> {
    let number = number_of(value).filter(|number| number.is_finite());
    number.ok_or_else(|| Error::value(what(), describe(value), allowed))
}
