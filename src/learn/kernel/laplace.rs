//! The Laplace kernel of the Euclidean distance.
//!
//! The default makes the exponent 1/4 at the root mean square distance of two documents, as that of the
//! Gaussian does.

use super::def::{Fallback, KernelDef, ParameterDef};
use super::inner::{Inner, decay};
use crate::base::param::Rule;

/// The declaration.
pub const LAPLACE: KernelDef = KernelDef {
    name: "laplace",
    formula: "exp(-gamma |x-z|)",
    source: "Schoenberg 1938",
    parameters: &[ParameterDef {
        name: "gamma",
        rule: Rule::PositiveOr(&["median"]),
        fallback: Fallback::PerDistance(0.25),
    }],
    inner: Inner::SquaredDistance,
    positive_semidefinite: true,
    factorizes: false,
    outer: |parameters, values| values.iter_mut().for_each(|value| *value = decay(parameters, value.sqrt())),
};
