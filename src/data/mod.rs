//! Documents grouped by query: identifiers, the feature matrix, the canonical order, scaling, LETOR text.

mod builder;
mod dataset;
mod id;
pub mod letor;
mod matrix;
mod quantiles;
mod query_features;
mod ratings;
mod scaling;
mod settling;

pub use builder::{Cell, DatasetBuilder, Findings, Missing, OfQuery};
pub use dataset::{Dataset, Documents};
pub use id::Id;
pub(crate) use matrix::shaped;
pub use matrix::{Matrix, Slice};
pub use query_features::{QueryFeatureKind, QueryFeatureRule};
pub use ratings::Ratings;
pub use scaling::{Scaling, ScalingKind};
pub use settling::{RowOrder, Settling, Tally};
