//! Checks of the numbers in a problem.

use crate::base::{Error, Result, check_size};

/// Refuses a lambda out of range.
///
/// # Errors
/// A lambda that is not finite and above 0.
pub fn check_lambda(lambda: f64) -> Result<()> {
    if lambda.is_finite() && lambda > 0.0 {
        return Ok(());
    }
    Err(Error::value("lambda", lambda.to_string(), "a finite number above 0"))
}

/// Refuses a weight c out of range.
///
/// # Errors
/// A weight that is not finite or below 0.
pub fn check_weight(weight: f64) -> Result<()> {
    if weight.is_finite() && weight >= 0.0 {
        return Ok(());
    }
    Err(Error::value("weight of a query", weight.to_string(), "a finite number of at least 0"))
}

/// Refuses a point with a wrong number of features, or with numbers that are not finite.
///
/// # Errors
/// [`Error::Shape`] for a wrong number, otherwise [`Error::Value`].
pub fn point(what: &str, point: &[f64], dim: usize) -> Result<()> {
    check_size(&format_args!("number of features of {what}"), point.len(), dim)?;
    finite(what, point.iter().all(|value| value.is_finite()))
}

/// Refuses numbers that are not finite.
///
/// # Errors
/// [`Error::Data`] unless `is_finite`.
pub fn finite(what: &str, is_finite: bool) -> Result<()> {
    if is_finite { Ok(()) } else { Err(Error::Data(format!("{what} must be finite numbers"))) }
}
