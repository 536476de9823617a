//! Options and other JSON from callers: strict parsing, value rules, typed access.
//!
//! | file | contents |
//! |---|---|
//! | `params` | named values, each checked against a rule |
//! | `rule` | accepted values, and errors about others |
//! | `json` | parsing without repeated keys |
//! | `list` | lists with checkpoints, for serde |

mod json;
pub(crate) mod list;
mod params;
pub(crate) mod rule;

pub(crate) use json::{
    LONGEST_VECTOR, Strict, each_element, json_problem, long_integer, most_elements, numbers, text_number,
};
pub use params::{Defaults, Params};
pub use rule::Named;
pub(crate) use rule::named;
pub(crate) use rule::whole_number;
pub use rule::{LARGEST_BANDWIDTH, POSITIVE, Rule, median_factor, stored_model};
