//! Options of metrics, with the defaults of the SQL interface.

use crate::base::{Error, Params, Result, named};

/// Treatment of equal scores. `Best` and `Worst` order the documents of a tie by their relevance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ties {
    /// The exact mean of the metric over all orders of each tie.
    Expected,
    /// Documents of a tie keep their input order.
    Input,
    /// The least relevant document of a tie comes first.
    Worst,
    /// The most relevant document of a tie comes first.
    Best,
}

named!(Ties { Expected = "expected", Input = "input", Worst = "worst", Best = "best" });

/// Gain of a document of grade y.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gain {
    /// `2^y - 1` (Burges et al. 2005).
    Exp2,
    /// `y` (Jarvelin and Kekalainen 2002).
    Linear,
}

named!(Gain { Exp2 = "exp2", Linear = "linear" });

/// The choices of a metric. Each metric reads those that it needs and ignores the others.
#[derive(Debug, Clone, PartialEq)]
pub struct MetricOptions {
    /// Treatment of equal scores.
    pub ties: Ties,
    /// Gain of a grade in `dcg` and `ndcg`.
    pub gain: Gain,
    /// The highest grade of the scale, for `err`; the list's maximum if absent. At least 0.
    pub max_grade: Option<f64>,
    /// The lowest grade that counts as relevant in the binary metrics.
    pub threshold: f64,
    /// The grade that is worth nothing in `eru` and `neru`.
    pub neutral: f64,
    /// The position that half of the users see, for `eru` and `neru`. Above 1.
    pub half_life: f64,
    /// How much a repeated subtopic loses in `alpha_ndcg`, from 0 to 1.
    pub alpha: f64,
    /// Probability that a user reads the next document, for `rbp`; from 0, below 1.
    pub p: f64,
}

impl Default for MetricOptions {
    fn default() -> Self {
        Self {
            ties: Ties::Expected,
            gain: Gain::Exp2,
            max_grade: None,
            threshold: 1.0,
            neutral: 0.0,
            half_life: 5.0,
            alpha: 0.5,
            p: 0.8,
        }
    }
}

impl MetricOptions {
    /// With the options of a call or the parameters in the name of a metric.
    ///
    /// # Errors
    /// A value outside its range.
    pub(crate) fn with(self, given: &Params) -> Result<Self> {
        let all = Self {
            ties: given.choice("ties")?.unwrap_or(self.ties),
            gain: given.choice("gain")?.unwrap_or(self.gain),
            max_grade: given.number("max_grade").or(self.max_grade),
            threshold: given.number("threshold").unwrap_or(self.threshold),
            neutral: given.number("neutral_grade").unwrap_or(self.neutral),
            half_life: given.number("half_life").unwrap_or(self.half_life),
            alpha: given.number("alpha").unwrap_or(self.alpha),
            p: given.number("p").unwrap_or(self.p),
        };
        all.check()?;
        Ok(all)
    }

    /// Refuses numbers outside their ranges; later code relies on this check.
    ///
    /// # Errors
    /// The first number that is out of range.
    pub fn check(&self) -> Result<()> {
        if let Some(max_grade) = self.max_grade {
            in_range("max_grade", max_grade, max_grade >= 0.0, "a finite number, 0 or more")?;
        }
        in_range("threshold", self.threshold, true, "a finite number")?;
        in_range("neutral_grade", self.neutral, true, "a finite number")?;
        in_range("half_life", self.half_life, self.half_life > 1.0, "a finite number above 1")?;
        in_range("alpha", self.alpha, (0.0..=1.0).contains(&self.alpha), "a number from 0 to 1")?;
        in_range("p", self.p, (0.0..1.0).contains(&self.p), "a number from 0, below 1")
    }
}

/// Refuses a number that is not finite or for which the condition does not hold.
fn in_range(what: &str, value: f64, holds: bool, allowed: &str) -> Result<()> {
    if value.is_finite() && holds { Ok(()) } else { Err(Error::value(what, value.to_string(), allowed)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_values_correspond() {
        for name in Ties::NAMES {
            assert_eq!(Ties::parse(name).map(Ties::name), Some(*name));
        }
        for name in Gain::NAMES {
            assert_eq!(Gain::parse(name).map(Gain::name), Some(*name));
        }
        assert_eq!(Ties::parse("expect"), None);
    }

    #[test]
    fn numbers_outside_their_ranges_are_refused() {
        let default = MetricOptions::default;
        assert!(default().check().is_ok());
        assert!(MetricOptions { half_life: 1.0, ..default() }.check().is_err());
        assert!(MetricOptions { alpha: 1.5, ..default() }.check().is_err());
        assert!(MetricOptions { max_grade: Some(-1.0), ..default() }.check().is_err());
        let error = MetricOptions { threshold: f64::NAN, ..default() }.check().unwrap_err();
        assert_eq!(error.to_string(), "threshold: got NaN, expected a finite number");
    }
}
