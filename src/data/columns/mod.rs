//! Source columns before their role is decided: what their values are, and what their names say.
//!
//! Nothing here depends on the order of the rows. `train/column_rules.rs` decides the role of a column and gives the
//! reason.
//!
//! | file | contents |
//! |---|---|
//! | `facts` | counts and kinds of a column's values |
//! | `names` | what a name says, such as that it is an id |
//! | `texts` | kinds of texts, such as JSON |

mod facts;
mod names;
mod texts;

pub use facts::{ColumnFacts, Facts, Seen, facts_of_feature};
pub use names::{ROW_NUMBERS, is_code, is_like_id, is_part, is_row_number};
pub use texts::JsonKind;
