//! The Gaussian kernel.
//!
//! Dai and Wang (2019) write it exp(-|x-z|^2 / sigma2): gamma = 1 / sigma2. With the default, 1 / (8 v), the
//! exponent is 1/4 at the root mean square distance of two documents, sqrt(2 v).

use super::def::{Fallback, KernelDef, ParameterDef};
use super::inner::{Inner, decay};
use crate::base::param::Rule;

/// The declaration.
pub const GAUSSIAN: KernelDef = KernelDef {
    name: "gaussian",
    formula: "exp(-gamma |x-z|^2)",
    source: "Aizerman, Braverman and Rozonoer 1964; Boser, Guyon and Vapnik 1992",
    parameters: &[ParameterDef {
        name: "gamma",
        rule: Rule::PositiveOr(&["median"]),
        fallback: Fallback::PerVariance(0.125),
    }],
    inner: Inner::SquaredDistance,
    positive_semidefinite: true,
    factorizes: true,
    outer: |parameters, values| values.iter_mut().for_each(|value| *value = decay(parameters, *value)),
};
