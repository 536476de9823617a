//! Columns of text whose values are features: their values, how rows become numbers, and means of relevance.

mod category;
mod learn;
mod means;
#[cfg(test)]
mod tests;

pub use category::{
    Categories, Category, CategoryFeature, CategoryValue, InputColumn, MOST_DISTINCT, no_vector, not_a_value,
    spelling_variants,
};
pub(super) use category::{LONGEST_VALUE, RowsOfCodes};
pub(super) use learn::{CategoryColumn, Codes, Learned, learning_bytes};
pub use means::{Means, means_without};
