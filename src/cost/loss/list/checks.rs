//! Options and checks shared by several listwise losses.

use super::super::def::LossDef;
use crate::base::{Error, Params, Result, shorten};
use crate::cost::metric::{Metric, logarithmic};
use crate::math::compare;

/// Lowest grade that counts as relevant in a binary measure.
pub const RELEVANT: f64 = 1.0;

/// Returns an error unless a parameter is in range.
pub fn in_range(valid: bool, key: &str, got: &dyn ToString, allowed: &str) -> Result<()> {
    if valid { Ok(()) } else { Err(Error::value(format!("option '{key}'"), got.to_string(), allowed)) }
}

/// Largest weight in an option.
pub const MOST_WEIGHT: f64 = 1e9;

/// The numbers of an array option; `None` if it is not set.
pub fn given_weights(params: &Params, key: &str) -> Option<Vec<f64>> {
    let numbers = params.get(key)?.as_array().into_iter().flatten();
    Some(numbers.map(|number| number.as_f64().unwrap_or(f64::NAN)).collect())
}

/// Returns an error unless the weights, if given, are in range, at least one is above 0 and, with `fall`, none is larger than the
/// one before it.
pub fn check_weights(key: &str, weights: Option<&[f64]>, fall: bool) -> Result<()> {
    let Some(weights) = weights else { return Ok(()) };
    let valid = weights.iter().all(|weight| (0.0..=MOST_WEIGHT).contains(weight))
        && weights.iter().any(|weight| *weight > 0.0)
        && (!fall || weights.windows(2).all(|pair| pair[0] >= pair[1]));
    let falling = if fall { ", none larger than the one before it" } else { "" };
    let allowed =
        format!("an array of numbers from 0 to {MOST_WEIGHT:e}, at least one of them above 0{falling}");
    in_range(valid, key, &shorten(&format!("{weights:?}")), &allowed)
}

/// The metric that the option `measure` names.
///
/// # Errors
/// No metric of this name.
pub fn measure(params: &Params, default: &str) -> Result<Metric> {
    Metric::parse(params.text("measure").unwrap_or(default))
}

/// The error for a measure that the loss does not accept.
pub fn unknown_measure(name: &str, loss: &LossDef) -> Error {
    let allowed = match loss.measures {
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
        [] => String::new(),
    };
    Error::value("option 'measure'", format!("'{name}'"), format!("{allowed} with the loss '{}'", loss.name))
}

/// Refuses grades whose gain 2^y - 1 is not finite.
pub fn check_gains(labels: &[f64], loss: &str) -> Result<()> {
    match labels.iter().find(|label| !libm::exp2(**label).is_finite()) {
        None => Ok(()),
        Some(label) => {
            let what = format!("grade of a document with the loss '{loss}'");
            Err(Error::value(what, label.to_string(), "a number below 1024, whose gain 2^y - 1 is finite"))
        }
    }
}

/// The grade as a whole number below `grades`; otherwise `None`.
pub fn grade_number(label: f64, grades: usize) -> Option<usize> {
    (0..grades).find(|grade| compare(*grade as f64, label).is_eq())
}

/// Refuses grades that are not whole numbers below `grades`.
pub fn check_grades(labels: &[f64], grades: usize, option: &str, why: &str) -> Result<()> {
    labels.iter().find(|label| grade_number(**label, grades).is_none()).map_or(Ok(()), |label| {
        let allowed = format!("a whole number from 0 to {}, {why}", grades - 1);
        Err(Error::value(format!("grade of a document with {option}"), label.to_string(), allowed))
    })
}

/// The maximum DCG of the first `cutoff` positions, for gains in decreasing order.
pub fn largest_dcg(gains: impl Iterator<Item = f64>, cutoff: Option<usize>) -> f64 {
    let visible = gains.take(cutoff.unwrap_or(usize::MAX));
    visible.enumerate().map(|(position, gain)| gain * logarithmic(position)).sum()
}

/// Whether any two labels differ.
pub fn differ(labels: &[f64]) -> bool {
    labels.windows(2).any(|pair| compare(pair[0], pair[1]).is_ne())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grades_without_a_finite_gain_are_refused() {
        assert!(check_gains(&[0.0, 1023.5], "direct").is_ok());
        let error = check_gains(&[0.0, 1024.0], "direct").unwrap_err().to_string();
        assert!(error.starts_with("grade of a document with the loss 'direct': got 1024"), "{error}");
    }
}
