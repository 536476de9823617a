//! The Laplace kernel of the sum of absolute differences: a product of one-dimensional kernels, one per
//! feature.

use super::def::{Fallback, KernelDef, ParameterDef};
use super::inner::{Inner, decay};
use crate::base::param::Rule;

/// The declaration.
pub const LAPLACE_L1: KernelDef = KernelDef {
    name: "laplace_l1",
    formula: "exp(-gamma |x-z|_1)",
    source: "Schoenberg 1938; Rahimi and Recht 2007",
    parameters: &[ParameterDef {
        name: "gamma",
        rule: Rule::PositiveOr(&["median"]),
        fallback: Fallback::PerFeature(0.25),
    }],
    inner: Inner::Manhattan,
    positive_semidefinite: true,
    factorizes: true,
    outer: |parameters, values| values.iter_mut().for_each(|value| *value = decay(parameters, *value)),
};
