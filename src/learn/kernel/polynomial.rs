//! The polynomial kernel.
//!
//! A degree of 2 sees products of two features. The power is made by squaring, so that its bits are the same
//! everywhere.

use super::def::{Fallback, KernelDef, ParameterDef};
use super::inner::Inner;
use crate::base::param::Rule;

/// The declaration.
pub const POLYNOMIAL: KernelDef = KernelDef {
    name: "polynomial",
    formula: "(scale x.z + offset)^degree",
    source: "Poggio 1975; Cortes and Vapnik 1995",
    parameters: &[
        ParameterDef { name: "degree", rule: Rule::Integer(1, 20), fallback: Fallback::Number(2.0) },
        ParameterDef { name: "scale", rule: Rule::Above(0.0, 1e100), fallback: Fallback::PerVariance(1.0) },
        ParameterDef { name: "offset", rule: Rule::Between(0.0, 1e9), fallback: Fallback::Number(1.0) },
    ],
    inner: Inner::Dot,
    positive_semidefinite: true,
    factorizes: false,
    outer,
};

fn outer(parameters: &[f64], values: &mut [f64]) {
    let &[degree, scale, offset] = parameters else { return };
    for value in values {
        *value = power(scale * *value + offset, degree as u32);
    }
}

fn power(mut base: f64, mut exponent: u32) -> f64 {
    let mut result = 1.0;
    while exponent > 0 {
        if exponent % 2 == 1 {
            result *= base;
        }
        base *= base;
        exponent /= 2;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_power_is_repeated_multiplication() {
        let powers: Vec<f64> = [1, 2, 3, 5, 10].into_iter().map(|n| power(-2.0, n)).collect();
        assert_eq!(powers, [-2.0, 4.0, -8.0, -32.0, 1024.0]);
    }
}
