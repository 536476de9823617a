//! Options and other JSON from callers: strict parsing, value rules, typed access.

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
pub use rule::{POSITIVE, Rule, median_factor, stored_model};
