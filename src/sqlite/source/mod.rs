//! Sources: text arguments that name a table, a view or a SELECT.
//!
//! Rules (docs/reference/rules.md, 1):
//! * 1.1: A source is the name of a table or view, `schema.name`, or text that begins with SELECT, WITH or VALUES.
//! * 1.2: Names are quoted as identifiers, never pasted into SQL.
//! * 1.3: A statement is the only one in the text and read-only.
//!
//! | file | contents |
//! |---|---|
//! | `source`, `names`, `parameters` | the text of a source; quoted names; values for its parameters |
//! | `read_spec`, `passes`, `reader` | what to read; passes over the rows; rows to a data set |
//! | `column_choice/`, `roles` | how a role gets its column; the roles |
//! | `cells`, `parts` | values of a row; rows in parts |
//! | `candidates`, `judgments`, `judged` | views of candidates; judgments for them; judged documents |
//! | `log` | click logs, and logs of interleaved lists |

pub mod candidates;
mod cells;
mod column_choice;
pub mod judged;
pub mod judgments;
pub mod log;
mod names;
pub mod parameters;
pub mod parts;
pub mod passes;
pub mod read_spec;
pub mod reader;
pub mod roles;
#[allow(clippy::module_inception, reason = "the file of the type Source")]
mod source;

pub use column_choice::is_default_name;
pub use names::{TableName, name_forms, quote};
pub use source::{QUERY_PARAMETER, Source, is_missing, is_query};
