//! The crate's error type: one variant for each way a caller may react.
//!
//! A message says what is wrong, where, the value and what is allowed (rule 13.7). The SQL layer prepends the
//! function name.

#![warn(missing_docs)]

use super::nearest_name::nearest;

/// The result type of every fallible function in this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An unknown name of an algorithm, option, metric, ...
    #[error("unknown {what} '{name}'{place}{}", hint(nearest.as_deref(), known))]
    Unknown {
        /// What the name was supposed to refer to.
        what: &'static str,
        /// The name as given.
        name: String,
        /// Where it was given, with a leading space; may be empty.
        place: String,
        /// The closest known name, if any is close enough.
        nearest: Option<String>,
        /// All known names, comma separated.
        known: String,
    },
    /// An option or argument with a value outside its type or range.
    #[error("{what}: got {got}, expected {allowed}")]
    Value {
        /// The option or argument.
        what: String,
        /// The value as given.
        got: String,
        /// Allowed values.
        allowed: String,
    },
    /// A source that cannot be read as requested.
    #[error("source {source_text}: {problem}")]
    Source {
        /// The source as the caller wrote it, quoted.
        source_text: String,
        /// The problem with it.
        problem: String,
    },
    /// A row of a source that cannot be used.
    #[error("source {source_text}, {row}, column \"{column}\": {problem}")]
    Row {
        /// The source as the caller wrote it, quoted.
        source_text: String,
        /// The row, with query and document.
        row: String,
        /// The column.
        column: String,
        /// The value and what is allowed.
        problem: String,
    },
    /// Two sizes that must match do not.
    #[error("{what}: found {found}, expected {expected}")]
    Shape {
        /// The compared things.
        what: String,
        /// The size that was found.
        found: usize,
        /// The size that is needed.
        expected: usize,
    },
    /// Rows are valid, but nothing can be learned or measured from them.
    #[error("{0}")]
    Data(String),
    /// Bytes that are not a valid model.
    #[error("model is damaged or not a model: {0}")]
    Corrupt(String),
    /// A model (by name) that does not exist or cannot be used here.
    #[error("{0}")]
    Model(String),
    /// A model that cannot score a document without the other documents of its query, with the reason.
    #[error("{0}")]
    NotPointwise(String),
    /// An unsupported combination, with the reason.
    #[error("{0}")]
    Unsupported(String),
    /// An option that has no effect with the other choices.
    #[error("option '{option}' has no effect with {reason}")]
    NoEffect {
        /// The option.
        option: &'static str,
        /// The choice that makes it ineffective, and what to do instead.
        reason: String,
        /// The option of that choice.
        because_of: &'static str,
    },
    /// The work would need more memory than `max_memory` or the limit of the process allows.
    #[error("{what} needs {needed} bytes{}, more than the {allowed} of the {}; {way_out}, or raise {limit}", besides(*used), kind_of(limit))]
    Memory {
        /// The purpose of the allocation.
        what: String,
        /// Bytes it needs.
        needed: u64,
        /// Bytes already in use by the call.
        used: u64,
        /// Bytes that are allowed.
        allowed: u64,
        /// Advice for the caller.
        way_out: &'static str,
        /// The name of the limit.
        limit: &'static str,
    },
    /// Another connection holds a lock on the database.
    #[error("{0}")]
    Busy(String),
    /// Another version was stored after the one that this update continues.
    #[error("{0}")]
    Conflict(String),
    /// Interrupted by the host or the user.
    #[error("interrupted")]
    Interrupted,
    /// The time of the option `time_limit` is over.
    #[error("time limit of {seconds} seconds reached{progress}")]
    TimeLimit {
        /// The limit.
        seconds: f64,
        /// How much was done, with a leading separator; may be empty.
        progress: String,
    },
    /// An error of the database or the operating system.
    #[error("{0}")]
    Host(String),
    /// A bug in this crate.
    #[error("internal error: {0}; please report it")]
    Internal(String),
}

/// Values of features that may be missing.
pub(crate) const FINITE_OR_NAN: &str = "finite numbers, and NaN for a missing value";

/// Shortens a text for an error message.
pub fn shorten(text: &str) -> String {
    const LONGEST: usize = 60;
    if text.chars().nth(LONGEST).is_none() {
        return text.to_owned();
    }
    text.chars().take(LONGEST).chain("...".chars()).collect()
}

/// The nearest name, or all names if none is near.
fn hint(nearest: Option<&str>, known: &str) -> String {
    nearest.map_or_else(|| format!("; known: {known}"), |name| format!(", did you mean '{name}'?"))
}

/// Mentions the bytes already in use, if any.
fn besides(used: u64) -> String {
    if used == 0 { String::new() } else { format!(" besides {used} in use") }
}

fn kind_of(limit: &str) -> String {
    if limit == "max_memory" { format!("option '{limit}'") } else { format!("environment variable {limit}") }
}

/// Checks all conditions on stored data. Each comes with its requirement, for the message.
///
/// # Errors
/// [`Error::Corrupt`] with the first condition that does not hold.
pub(crate) fn require(what: &str, conditions: &[(bool, &str)]) -> Result<()> {
    match conditions.iter().find(|(holds, _)| !holds) {
        None => Ok(()),
        Some((_, needed)) => Err(Error::Corrupt(format!("{what}: it needs {needed}"))),
    }
}

/// Refuses a wrong size.
///
/// # Errors
/// [`Error::Shape`].
pub(crate) fn check_size(what: &dyn std::fmt::Display, found: usize, expected: usize) -> Result<()> {
    if found == expected { Ok(()) } else { Err(Error::Shape { what: what.to_string(), found, expected }) }
}

impl Error {
    /// The error for this time limit, in seconds.
    pub(crate) fn time_limit(seconds: f64) -> Self {
        Self::TimeLimit { seconds, progress: String::new() }
    }

    /// An unknown name, with the nearest known name.
    pub fn unknown<'a>(what: &'static str, name: &str, known: impl IntoIterator<Item = &'a str>) -> Self {
        Self::unknown_in(what, name, "", known)
    }

    /// An unknown name in a context, such as " of the kernel gaussian", with the nearest known name.
    pub fn unknown_in<'a>(
        what: &'static str,
        name: &str,
        place: &str,
        known: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let known: Vec<&str> = known.into_iter().collect();
        let name = &shorten(name);
        let nearest = nearest(name, known.iter().copied());
        let (name, place) = (name.to_owned(), place.to_owned());
        Self::Unknown { what, name, place, nearest, known: known.join(", ") }
    }

    /// An infinite value in a vector. `may_miss`: whether NaN is allowed.
    pub(crate) fn not_finite(what: impl Into<String>, value: f64, index: usize, may_miss: bool) -> Self {
        let allowed = if may_miss { FINITE_OR_NAN } else { "finite numbers" };
        Self::value(what, format!("{value} as value {}", index + 1), allowed)
    }

    /// A value outside its type or range.
    pub fn value(what: impl Into<String>, got: impl Into<String>, allowed: impl Into<String>) -> Self {
        Self::Value { what: what.into(), got: got.into(), allowed: allowed.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_name_suggests_the_nearest_one() {
        let error = Error::unknown("option", "lamda", ["lambda", "kernel"]);
        assert_eq!(error.to_string(), "unknown option 'lamda', did you mean 'lambda'?");
        let error = Error::unknown("key", "foo", ["query", "doc"]);
        assert_eq!(error.to_string(), "unknown key 'foo'; known: query, doc");
        let error = Error::unknown("option", "xyzzy", ["lambda", "kernel"]);
        assert_eq!(error.to_string(), "unknown option 'xyzzy'; known: lambda, kernel");
    }
}
