//! The linear kernel.

use super::def::KernelDef;
use super::inner::Inner;

/// The table line of the linear kernel.
pub static LINEAR: KernelDef = KernelDef {
    name: "linear",
    formula: "x.z",
    source: "",
    parameters: &[],
    inner: Inner::Dot,
    positive_semidefinite: true,
    factorizes: false,
    outer: |_, _| {},
};
