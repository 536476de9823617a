//! Names of columns.

use std::collections::HashSet;

/// The first repeated name, ignoring case.
pub fn repeated_name(names: &[String]) -> Option<&str> {
    let mut seen = HashSet::with_capacity(names.len());
    names.iter().find(|name| !seen.insert(name.to_ascii_lowercase())).map(String::as_str)
}
