//! Documents grouped by query: identifiers, the feature matrix, the canonical order, scaling, LETOR text.

mod builder;
mod dataset;
mod finish;
mod id;
pub mod letor;
mod matrix;
mod quantiles;
mod query_features;
mod ratings;
mod scaling;

pub use builder::{DatasetBuilder, NewRow, QueryValues, RowContext};
pub use dataset::{Dataset, Documents};
pub use finish::{ColumnSummary, FinishOptions, Missing, ReadReport, RowOrder, TextColumns, position_names};
pub use id::Id;
pub(crate) use matrix::shaped;
pub use matrix::{Matrix, Slice};
pub use query_features::{QueryFeatureKind, QueryFeatureRule, QueryScale};
pub use ratings::Ratings;
pub use scaling::{Scaling, ScalingKind};
