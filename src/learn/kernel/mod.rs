//! Kernels: the function space of a ranking function, and the maps that make a kernel method linear.
//!
//! Every kernel is K(x, z) = outer(q(x, z)). q is a sum over features: the dot product, the squared Euclidean distance
//! or the sum of absolute differences. So q of two concatenations is the sum of the q of their halves, as pairwise
//! functions need it. A new kernel is one file and one line of [`KERNELS`].
//!
//! * [`KernelSpec`]: the value of the option `kernel`; `fit` turns it into a [`Kernel`] with numbers.
//! * [`FeatureMap`]: documents to vectors phi with phi(x).phi(z) = K(x, z), for functions of documents.
//! * [`SingleMap`]: the same in single precision, for sums over very many documents.
//! * [`PairMap`]: pairs of documents to vectors psi, for functions of pairs, with the recovery of scores.
//! * [`SpanFactor`]: the span of documents that are added one by one, for online training.
//!
//! The linear kernel needs no map: phi(x) = x.

mod basis;
mod blocks;
mod def;
mod gaussian;
mod inner;
#[allow(clippy::module_inception, reason = "the file of the type Kernel")]
mod kernel;
mod laplace;
mod laplace_l1;
mod linear;
mod map;
mod options;
mod pair_map;
mod points;
mod polynomial;
mod sample;
mod single_map;
mod span_factor;
mod spec;
mod spread;
mod tanh;

#[cfg(test)]
mod tests;

use crate::base::error::{Error, Result};

pub use basis::Basis;
pub use def::{Fallback, KernelDef, ParameterDef};
pub use inner::Inner;
pub use kernel::Kernel;
pub use map::FeatureMap;
pub use options::MapOptions;
pub use pair_map::{PairMap, PairQuery, as_documents, ordered_pairs};
pub use points::Points;
pub use sample::sample;
pub use single_map::SingleMap;
pub use span_factor::SpanFactor;
pub use spec::KernelSpec;

/// Every kernel; the first is the default, and needs no map.
pub const KERNELS: &[&KernelDef] = &[
    &linear::LINEAR,
    &polynomial::POLYNOMIAL,
    &gaussian::GAUSSIAN,
    &laplace::LAPLACE,
    &laplace_l1::LAPLACE_L1,
    &tanh::TANH,
];

/// Names of all kernels, in the order of [`KERNELS`].
pub const NAMES: &[&str] = &{
    let mut names = [""; KERNELS.len()];
    let mut index = 0;
    while index < names.len() {
        names[index] = KERNELS[index].name;
        index += 1;
    }
    names
};

/// The kernel of this name.
///
/// # Errors
/// An unknown name, with the known ones.
pub fn find(name: &str) -> Result<&'static KernelDef> {
    let known = KERNELS.iter().find(|def| def.name == name).copied();
    known.ok_or_else(|| Error::unknown("kernel", name, NAMES.iter().copied()))
}
