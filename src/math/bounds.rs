//! The bound of the numbers in a model that scores are made of.
//!
//! A product of two such numbers is at most 1e300, and a model of at most 1 GiB has fewer than 2^27 of them. So sums of
//! products of weights and scaled features, or of factors, are finite.

/// Largest absolute value of weights, coefficients, factors, biases and scaled features in a model.
pub const LARGEST: f64 = 1e150;

/// What a decoder needs, for its error.
pub const BOUNDED: &str = "numbers from -1e150 to 1e150";

/// Whether these numbers are finite and at most [`LARGEST`] in absolute value.
pub fn are_bounded<'a>(numbers: impl IntoIterator<Item = &'a f64>) -> bool {
    numbers.into_iter().all(|number| number.abs() <= LARGEST)
}

/// Whether a number is above 0, not subnormal, and at most [`LARGEST`].
pub fn is_positive(number: f64) -> bool {
    (f64::MIN_POSITIVE..=LARGEST).contains(&number)
}
