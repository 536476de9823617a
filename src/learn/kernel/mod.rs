//! Kernels: the function space of a ranking function, and the maps that make a kernel method linear.
//!
//! Every kernel is K(x, z) = outer(q(x, z)). q is a sum over features: the dot product, the squared Euclidean distance
//! or the sum of absolute differences. So q of two concatenations is the sum of the q of their halves, as pairwise
//! functions need it. A new kernel is a [`KernelDef`] in `functions.rs` and a line of [`KERNELS`].
//!
//! * [`KernelSpec`]: the value of the option `kernel`; `fit` turns it into a [`Kernel`] with numbers.
//! * [`FeatureMap`]: documents to vectors phi with phi(x).phi(z) = K(x, z), for functions of documents.
//! * [`SingleMap`]: the same in single precision, for sums over very many documents.
//! * [`PairMap`]: pairs of documents to vectors psi, for functions of pairs, with the recovery of scores.
//! * [`SpanFactor`]: the span of documents that are added one by one, for online training.
//!
//! The linear kernel needs no map: phi(x) = x.
//!
//! | file | contents |
//! |---|---|
//! | `def`, `functions`, `kernel` | declaration of a kernel; the kernels; one with its parameters |
//! | `spec`, `typical_distances` | the option `kernel`; units of its parameters |
//! | `map`, `single_map`, `pair_map` | maps of documents, in single precision, and of pairs |
//! | `map_options`, `sample` | size and precision of maps, with bounds in `train/options.rs`; random samples |
//! | `basis`, `points` | documents of a function; their layout |
//! | `shuffled` | values with features of other documents |

mod basis;
mod def;
mod functions;
#[allow(clippy::module_inception, reason = "the file of the type Kernel")]
mod kernel;
mod map;
mod map_options;
mod pair_map;
mod points;
mod sample;
mod shuffled;
mod single_map;
mod spec;
#[cfg(test)]
mod tests;
mod typical_distances;

use crate::base::{Error, Result, names_of};

pub use basis::{Basis, SpanFactor};
pub use def::{Fallback, Inner, KernelDef, ParameterDef};
pub use kernel::Kernel;
pub use map::FeatureMap;
pub use map::Replacements;
pub use map_options::MapOptions;
pub(super) use map_options::{
    check_diagonal, coefficients, is_indefinite, not_finite, reserve_candidates, warning,
};
pub use pair_map::{PairMap, PairQuery, as_documents, ordered_pairs};
pub use points::Points;
pub use sample::sample;
pub use single_map::SingleMap;
pub use spec::KernelSpec;

/// Every kernel; the first is the default, and needs no map.
pub const KERNELS: &[&KernelDef] = &[
    &functions::LINEAR,
    &functions::POLYNOMIAL,
    &functions::GAUSSIAN,
    &functions::LAPLACE,
    &functions::LAPLACE_L1,
    &functions::TANH,
];

/// Names of all kernels, in the order of [`KERNELS`].
pub const NAMES: &[&str] = names_of!(KERNELS);

/// The kernel of this name.
///
/// # Errors
/// An unknown name, with the known ones.
pub fn find(name: &str) -> Result<&'static KernelDef> {
    let known = KERNELS.iter().find(|def| def.name == name).copied();
    known.ok_or_else(|| Error::unknown("kernel", name, NAMES.iter().copied()))
}
