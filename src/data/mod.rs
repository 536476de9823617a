//! Documents grouped by query: identifiers, the feature matrix, the canonical order, scaling, LETOR text.
//!
//! | file | contents |
//! |---|---|
//! | `dataset`, `matrix`, `id`, `names` | the data set; feature values; ids; column names |
//! | `builder`, `new_row` | collects and checks rows |
//! | `finish`, `finish_options` | rows to a data set: order, numeric columns, missing values |
//! | `missing` | how missing values are filled |
//! | `letor`, `ratings` | LETOR text; sparse ratings |
//! | `columns/` | facts about columns |
//! | `categories/`, `category_columns`, `category_rows`, `category_limits` | text columns as features; collected values; unknown values; limits |
//! | `quantity/`, `quantity_columns` | numbers and dates in text; text columns that have them |
//! | `query_features`, `query_columns`, `query_distance` | query features; their encoding; distances |
//! | `scaling`, `quantiles`, `gather` | scaling; normal scores; columns read together |
//! | `arrange` | list constraints: per value, or one document per slot |
//! | `query_bucket`, `fold_keys`, `negatives` | buckets of queries; `group_by` and `split_by`; random negatives |
//! | `fingerprint`, `unknown_values` | training data, to compare with later data |
//! | `same_text` | texts and ids in two spellings |

pub mod arrange;
mod builder;
mod categories;
mod category_columns;
mod category_limits;
mod category_rows;
mod columns;
mod dataset;
mod fingerprint;
mod finish;
mod finish_options;
mod fold_keys;
mod gather;
pub mod id;
pub mod letor;
mod matrix;
mod missing;
mod names;
mod negatives;
mod new_row;
mod quantiles;
mod quantity;
mod quantity_columns;
mod query_bucket;
mod query_columns;
pub mod query_distance;
mod query_features;
mod ratings;
mod same_text;
mod scaling;
mod unknown_values;

pub use arrange::{ListConstraint, RowGroup, Slots, push_down, push_down_unselected, select_diverse};
pub use builder::DatasetBuilder;
pub use categories::{
    Categories, Category, CategoryFeature, CategoryValue, InputColumn, Means, means_without, no_vector,
    not_a_value,
};
pub use category_limits::MOST_DISTINCT;
pub use category_rows::CategoryRows;
pub use columns::{
    ColumnFacts, Facts, JsonKind, ROW_NUMBERS, Seen, facts_of_feature, is_code, is_like_id, is_part,
    is_row_number,
};
pub use dataset::{Dataset, Documents, positions};
pub use fingerprint::{Fingerprint, Observed, Profile};
pub use finish::{ReadReport, position_names};
pub use finish_options::{ColumnSummary, FinishOptions, RowOrder, TextColumns, names_column};
pub use fold_keys::FoldKeys;
pub use id::Id;
pub use letor::MAX_FEATURE;
pub(crate) use matrix::shaped;
pub use matrix::{ADVICE_ON_64_BITS, Matrix, Shuffle, Slice, are_64_bits};
pub use missing::{Missing, MissingValues};
pub use names::repeated_name;
pub use negatives::negatives;
pub use new_row::{NewRow, QUERY_WEIGHTS, QueryValues, RowContext, is_query_weight, is_weight};
pub use quantiles::{Line as QuantileLine, Quantiles};
pub use quantity::{
    Form, Keys, Outcome, Quantities, Readings, Unread, is_missing_mark, null_in_sql, numbers_by_key,
    outcome_of, two_numbers_in_sql,
};
pub use quantity_columns::{SHARE_OF_FORM, SHARE_OF_LISTED};
pub use query_bucket::{MOST_BUCKETS, bucket_of, check_buckets};
pub use query_columns::QueryValue;
pub use query_distance::{ColumnDistance, QueryDistance, Separation};
pub use query_features::{GivenDistances, QueryFeatureKind, QueryFeatureRule, QueryScale};
pub use ratings::Ratings;
pub use same_text::{ids_written_in_two_ways, one_in_sql, spelling_variants};
pub use scaling::{Scaling, ScalingKind, VALUE_COST, mean_and_factor_of};
pub use unknown_values::UnknownValues;
