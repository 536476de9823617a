//! What losses share that follow a measure of gains.

use crate::error::{Error, Result};
use crate::metric::{Metric, logarithmic};
use crate::param::Params;

/// Lowest grade that is relevant where a measure asks only that.
pub(super) const RELEVANT: f64 = 1.0;

/// The metric that the option `measure` names, or else this one.
///
/// # Errors
/// No metric of this name.
pub(super) fn measure(params: &Params, own: &str) -> Result<Metric> {
    Metric::parse(params.text("measure").unwrap_or(own))
}

/// What is wrong with a measure that a loss does not know.
pub(super) fn unknown_measure(metric: &Metric, loss: &str, allowed: &str) -> Error {
    let allowed = format!("{allowed} with the loss '{loss}'");
    Error::value("option 'measure'", format!("'{}'", metric.name()), allowed)
}

/// Refuses grades whose gain 2^y - 1 is no finite number.
pub(super) fn check_gains(labels: &[f64], loss: &str) -> Result<()> {
    match labels.iter().find(|label| !libm::exp2(**label).is_finite()) {
        None => Ok(()),
        Some(label) => {
            let what = format!("grade of a document with the loss '{loss}'");
            Err(Error::value(what, label.to_string(), "a number below 1024, whose gain 2^y - 1 is finite"))
        }
    }
}

/// The largest DCG of the first `cutoff` places, of gains in decreasing order.
pub(super) fn largest_dcg(gains: impl Iterator<Item = f64>, cutoff: Option<usize>) -> f64 {
    let visible = gains.take(cutoff.unwrap_or(usize::MAX));
    visible.enumerate().map(|(place, gain)| gain * logarithmic(place)).sum()
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
