//! Names of columns.

use std::collections::HashSet;

/// The first name that occurs twice, without case.
pub fn repeated_name(names: &[String]) -> Option<&str> {
    let mut known = HashSet::with_capacity(names.len());
    names.iter().find(|name| !known.insert(name.to_ascii_lowercase())).map(String::as_str)
}
