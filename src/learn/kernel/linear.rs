//! The linear kernel.

use super::def::KernelDef;
use super::inner::Inner;

/// The declaration.
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
