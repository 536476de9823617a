//! Kernels: which space a ranking function lives in. One file per kernel, and the maps that make a kernel
//! method linear.
//!
//! Every kernel here is K(x, z) = outer(q(x, z)) with q a sum over features: the dot product, the squared
//! Euclidean distance or the sum of absolute differences. So q of two concatenations is the sum of the q of
//! their halves, which is what the ranking form needs.
//!
//! * [`Choice`]: what a caller asks for; `fit` turns it into a [`Kernel`] with numbers.
//! * [`FeatureMap`]: documents to vectors phi with phi(x).phi(z) = K(x, z); for the scoring form.
//! * [`PairMap`]: pairs of documents to vectors psi; for the ranking form, with its score recovery.
//!
//! The linear kernel needs neither map: its phi is the document.

mod basis;
mod blocks;
mod choice;
mod def;
mod gaussian;
mod inner;
mod laplace;
mod laplace_l1;
mod linear;
mod map;
mod pair_map;
mod points;
mod polynomial;
mod sample;
mod spread;
mod tanh;

pub use basis::Basis;
pub use choice::Choice;
pub use def::{Fallback, KERNELS, Kernel, KernelDef, NAMES, ParameterDef, find};
pub use inner::Inner;
pub use map::{FeatureMap, MapOptions};
pub use pair_map::{PairMap, as_documents, ordered_pairs};
pub use points::Points;

#[cfg(test)]
mod tests;
