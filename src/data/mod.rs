//! Documents grouped by query: identifiers, the feature matrix, the canonical order, scaling, LETOR text.

mod builder;
mod clusters;
mod column_facts;
mod columns;
mod dataset;
mod feature_quantiles;
mod fingerprint;
mod finish;
mod finish_options;
mod id;
pub mod letor;
mod matrix;
mod missing;
mod negatives;
mod quantiles;
mod query_columns;
mod query_features;
mod query_value;
mod ratings;
mod scaling;

pub use builder::{DatasetBuilder, NewRow, QueryValues, RowContext, is_weight};
pub use column_facts::{ColumnFacts, Facts, Seen, facts_of_feature};
pub use dataset::{Dataset, Documents};
pub use fingerprint::{Fingerprint, Observed, Profile};
pub use finish::{ReadReport, position_names, repeated_name};
pub use finish_options::{ColumnSummary, FinishOptions, RowOrder, TextColumns};
pub use id::{Id, text_number};
pub(crate) use matrix::shaped;
pub use matrix::{ADVICE_ON_64_BITS, Matrix, Slice, are_64_bits};
pub use missing::{Missing, MissingValues};
pub use negatives::negatives;
pub use quantiles::Quantiles;
pub use query_features::{GivenDistances, QueryFeatureKind, QueryFeatureRule, QueryScale};
pub use query_value::QueryValue;
pub use ratings::Ratings;
pub use scaling::{Scaling, ScalingKind, VALUE_COST, mean_and_factor_of};
