//! The hyperbolic tangent kernel, which is not positive semidefinite for any scale and offset.
//!
//! The maps then give the projection K(x, P) K(P, P)^-1 K(P, z) on the span of pivots P whose own matrix is positive
//! definite. `FeatureMap::negative` measures the error. It falls with the scale, as the kernel tends to the linear one.

use super::def::{Fallback, KernelDef, ParameterDef};
use super::inner::Inner;
use crate::base::param::Rule;

/// The declaration.
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
    outer,
};

fn outer(parameters: &[f64], values: &mut [f64]) {
    let &[scale, offset] = parameters else { return };
    for value in values {
        *value = libm::tanh(scale * *value + offset);
    }
}
