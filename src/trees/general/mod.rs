//! Trees of any shape, as other libraries train them.
//!
//! [`GeneralForest`] has one rule for all libraries. A document goes left at a split if
//!
//! ```text
//! the value is missing:   missing_left
//! a numeric split:        value <= threshold
//! a split of categories:  the set of the split has the value
//! ```
//!
//! Values and thresholds are 64-bit floats. Thresholds of libraries with 32-bit floats are moved to the boundary
//! between the 64-bit floats that are rounded to either side, so each 64-bit value goes where its library sends it.
//!
//! | file | contents |
//! |---|---|
//! | `build`, `feature` | trees from an untrusted file; features |
//! | `forest` | structure; how a split reads a value, with LightGBM's zero |
//! | `oblivious`, `oblivious_nodes` | as the library's own trees; and back |
//! | `traverse`, `shuffled` | scores; scores with features of other documents |
//! | `treeshap` | contributions |
//! | `stored` | bytes and texts |

mod build;
mod feature;
mod forest;
mod oblivious;
mod oblivious_nodes;
mod shuffled;
mod stored;
#[cfg(test)]
mod tests;
mod traverse;
mod treeshap;

pub(crate) use build::corrupt;
pub use build::{
    Builder, Nested, RawNode, RawSplit, Sets, Test, at_most_single, below_single, single_at_most,
};
pub use feature::Feature;
pub use forest::{GeneralForest, LIGHTGBM_ZERO, Leaf, MAX_IMPORTED_DEPTH, Node, Split};
pub use oblivious_nodes::{ObliviousTree, Question, oblivious_nodes};
