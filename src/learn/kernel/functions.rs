//! The kernels: one definition each, for the table [`super::KERNELS`].

use super::def::{Fallback, Inner, KernelDef, ParameterDef};
use crate::base::{POSITIVE, Rule};
use crate::math::lanes::decays;

/// The parameter of a kernel exp(-gamma q).
const fn gamma(fallback: Fallback) -> ParameterDef {
    ParameterDef { name: "gamma", rule: Rule::Or(&[POSITIVE, Rule::OneOf(&["median"])]), fallback }
}

// Polynomial kernel.
//
// A degree of 2 sees products of two features. The power is made by squaring, so that its bits are the same
// everywhere.

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
    outer: polynomial,
};

fn polynomial(parameters: &[f64], values: &mut [f64]) {
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

// Linear kernel.

pub const LINEAR: KernelDef = KernelDef {
    name: "linear",
    formula: "x.z",
    source: "",
    parameters: &[],
    inner: Inner::Dot,
    positive_semidefinite: true,
    factorizes: false,
    outer: |_, _| {},
};

// Gaussian kernel.
//
// Dai and Wang (2019) write it exp(-|x-z|^2 / sigma2): gamma = 1 / sigma2. With the default, 1 / (8 v), the
// exponent is 1/4 at the root mean square distance of two documents, sqrt(2 v).

pub const GAUSSIAN: KernelDef = KernelDef {
    name: "gaussian",
    formula: "exp(-gamma |x-z|^2)",
    source: "Aizerman, Braverman and Rozonoer 1964; Boser, Guyon and Vapnik 1992",
    parameters: &[gamma(Fallback::PerVariance(0.125))],
    inner: Inner::SquaredDistance,
    positive_semidefinite: true,
    factorizes: true,
    outer: |parameters, values| decays(parameters[0], values),
};

// Laplace kernel of the sum of absolute differences: a product of one-dimensional kernels, one per feature.

pub const LAPLACE_L1: KernelDef = KernelDef {
    name: "laplace_l1",
    formula: "exp(-gamma |x-z|_1)",
    source: "Schoenberg 1938; Rahimi and Recht 2007",
    parameters: &[gamma(Fallback::PerFeature(0.25))],
    inner: Inner::Manhattan,
    positive_semidefinite: true,
    factorizes: true,
    outer: |parameters, values| decays(parameters[0], values),
};

// Laplace kernel of the Euclidean distance.
//
// The default makes the exponent 1/4 at the root mean square distance of two documents, as the Gaussian
// does.

pub const LAPLACE: KernelDef = KernelDef {
    name: "laplace",
    formula: "exp(-gamma |x-z|)",
    source: "Schoenberg 1938",
    parameters: &[gamma(Fallback::PerDistance(0.25))],
    inner: Inner::SquaredDistance,
    positive_semidefinite: true,
    factorizes: false,
    outer: |parameters, values| {
        values.iter_mut().for_each(|value| *value = value.sqrt());
        decays(parameters[0], values);
    },
};

// Hyperbolic tangent kernel, which is not positive semidefinite for any scale and offset.
//
// The maps then give the projection K(x, P) K(P, P)^-1 K(P, z) on the span of pivots P whose own matrix is positive
// definite. `FeatureMap::negative` measures the error. It falls with the scale, as the kernel tends to the linear one.

pub const TANH: KernelDef = KernelDef {
    name: "tanh",
    formula: "tanh(scale x.z + offset)",
    source: "Vapnik 1995; Lin and Lin 2003",
    parameters: &[
        ParameterDef { name: "scale", rule: Rule::Above(0.0, 1e100), fallback: Fallback::PerVariance(0.25) },
        ParameterDef { name: "offset", rule: Rule::Between(-1e9, 1e9), fallback: Fallback::Number(0.0) },
    ],
    inner: Inner::Dot,
    positive_semidefinite: false,
    factorizes: false,
    outer: tanh,
};

fn tanh(parameters: &[f64], values: &mut [f64]) {
    let &[scale, offset] = parameters else { return };
    for value in values {
        *value = libm::tanh(scale * *value + offset);
    }
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
