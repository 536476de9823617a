//! Columns of text whose values are features: their values, how rows become numbers, and means of relevance.
//!
//! | file | contents |
//! |---|---|
//! | `category` | the encoder |
//! | `learn` | which columns are categories, which values get a feature |
//! | `means`, `held_out_means` | mean relevance of a value; without held-out rows |

mod category;
mod held_out_means;
mod learn;
mod means;
#[cfg(test)]
mod tests;

pub use category::{
    Categories, Category, CategoryFeature, CategoryValue, InputColumn, no_vector, not_a_value,
};
pub use held_out_means::means_without;
pub(super) use learn::{CategoryColumn, Codes, Learned, learning_bytes};
pub use means::Means;
pub(super) use means::RowsOfCodes;
