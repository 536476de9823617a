//! Columns of a source that are not features yet: what their values are, and what their names say.
//!
//! Nothing here depends on the order of the rows. `train/column_rules.rs` decides what becomes of a column and says why.

mod facts;
mod names;
mod texts;

pub use facts::{ColumnFacts, Facts, Seen, facts_of_feature};
pub use names::{ROW_NUMBERS, is_code, is_like_id, is_part, is_row_number};
pub use texts::JsonKind;
