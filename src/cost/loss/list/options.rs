//! Options and checks that several listwise losses have.

use crate::base::error::{Error, Result};
use crate::base::param::Params;
use crate::cost::loss::def::LossDef;
use crate::cost::metric::{Metric, logarithmic};
use crate::math::order::compare;

/// Lowest grade that is relevant to a binary measure.
pub(super) const RELEVANT: f64 = 1.0;

/// An error unless a parameter is in its range.
pub(super) fn in_range(valid: bool, key: &str, got: &dyn ToString, allowed: &str) -> Result<()> {
    if valid { Ok(()) } else { Err(Error::value(format!("option '{key}'"), got.to_string(), allowed)) }
}

/// The metric that the option `measure` names.
///
/// # Errors
/// No metric of this name.
pub(super) fn measure(params: &Params, default: &str) -> Result<Metric> {
    Metric::parse(params.text("measure").unwrap_or(default))
}

/// The error for a measure that the loss does not accept.
pub(super) fn unknown_measure(name: &str, loss: &LossDef) -> Error {
    let allowed = match loss.measures {
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
        [] => String::new(),
    };
    Error::value("option 'measure'", format!("'{name}'"), format!("{allowed} with the loss '{}'", loss.name))
}

/// Refuses grades whose gain 2^y - 1 is not finite.
pub(super) fn check_gains(labels: &[f64], loss: &str) -> Result<()> {
    match labels.iter().find(|label| !libm::exp2(**label).is_finite()) {
        None => Ok(()),
        Some(label) => {
            let what = format!("grade of a document with the loss '{loss}'");
            Err(Error::value(what, label.to_string(), "a number below 1024, whose gain 2^y - 1 is finite"))
        }
    }
}

/// The largest DCG of the first `cutoff` positions, of gains in decreasing order.
pub(super) fn largest_dcg(gains: impl Iterator<Item = f64>, cutoff: Option<usize>) -> f64 {
    let visible = gains.take(cutoff.unwrap_or(usize::MAX));
    visible.enumerate().map(|(position, gain)| gain * logarithmic(position)).sum()
}

/// True if two of the labels differ.
pub(super) fn differ(labels: &[f64]) -> bool {
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
