//! The crate's error: one variant per thing the caller can do about it.
//!
//! Every message is a sentence that says what, where, what was found and what is allowed. The SQL rim puts the
//! name of the SQL function in front and adds nothing else.

/// Result of everything in this crate that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong, by what the caller can do.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A name that no table of this crate knows (algorithm, option, metric, ...).
    #[error("unknown {what} '{name}'{}", hint(nearest.as_deref(), known))]
    Unknown {
        /// Kind of thing that was named.
        what: &'static str,
        /// The name as given.
        name: String,
        /// The known name closest to it, if one is close.
        nearest: Option<String>,
        /// All known names, comma separated.
        known: String,
    },
    /// An option or argument with a value outside its type or range.
    #[error("{what}: got {got}, allowed is {allowed}")]
    Value {
        /// The option or argument.
        what: String,
        /// The value as given.
        got: String,
        /// What would have been accepted.
        allowed: String,
    },
    /// A source of rows that cannot be read as asked.
    #[error("source {source_text}: {problem}")]
    Source {
        /// The source as the caller wrote it, quoted.
        source_text: String,
        /// What is wrong with it.
        problem: String,
    },
    /// One row of a source that cannot be used.
    #[error("source {source_text}, {row}, column \"{column}\": {problem}")]
    Row {
        /// The source as the caller wrote it, quoted.
        source_text: String,
        /// Which row, with query and document where known.
        row: String,
        /// The column.
        column: String,
        /// What was found and what is allowed.
        problem: String,
    },
    /// Two things whose sizes must agree do not.
    #[error("{what}: found {found}, expected {expected}")]
    Shape {
        /// What was compared.
        what: String,
        /// The size that was found.
        found: usize,
        /// The size that is needed.
        expected: usize,
    },
    /// Rows that are well formed but from which nothing can be learnt or measured.
    #[error("{0}")]
    Data(String),
    /// Bytes that are not a model, or no longer one.
    #[error("model is damaged or not a model: {0}")]
    Corrupt(String),
    /// A model (by name) that is not there or not usable here.
    #[error("{0}")]
    Model(String),
    /// A model that cannot score a document without the other documents of its query, with the reason.
    #[error("{0}")]
    NotPointwise(String),
    /// A combination that this crate refuses, with the reason.
    #[error("{0}")]
    Unsupported(String),
    /// The work would need more memory than the option `max_memory` allows.
    #[error("{what} needs {needed} bytes, more than the {allowed} of the option 'max_memory'")]
    Memory {
        /// What would be allocated.
        what: String,
        /// Bytes it needs.
        needed: u64,
        /// Bytes that are allowed.
        allowed: u64,
    },
    /// The host or the user asked to stop.
    #[error("interrupted")]
    Interrupted,
    /// The option `time_limit` ran out.
    #[error("time limit of {0} seconds reached")]
    TimeLimit(f64),
    /// The database refused something.
    #[error("{0}")]
    Host(String),
    /// A mistake in this crate.
    #[error("internal error: {0}; please report it")]
    Internal(String),
}

/// A text short enough for an error message.
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

/// Requires all conditions of stored data, each with what it needs.
///
/// # Errors
/// [`Error::Corrupt`] with the first condition that does not hold.
pub(crate) fn require(what: &str, conditions: &[(bool, &str)]) -> Result<()> {
    match conditions.iter().find(|(holds, _)| !holds) {
        None => Ok(()),
        Some((_, needed)) => Err(Error::Corrupt(format!("{what}: it needs {needed}"))),
    }
}

impl Error {
    /// An unknown name, with the nearest of the known ones.
    pub fn unknown<'a>(what: &'static str, name: &str, known: impl IntoIterator<Item = &'a str>) -> Self {
        let known: Vec<&str> = known.into_iter().collect();
        let name = &shorten(name);
        let nearest = known
            .iter()
            .map(|candidate| (strsim::damerau_levenshtein(&name.to_lowercase(), candidate), *candidate))
            .filter(|(distance, candidate)| *distance <= 1 + candidate.len() / 3)
            .min()
            .map(|(_, candidate)| candidate.to_owned());
        Self::Unknown { what, name: name.to_owned(), nearest, known: known.join(", ") }
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
    fn an_unknown_name_is_answered_with_the_nearest_one() {
        let error = Error::unknown("option", "lamda", ["lambda", "kernel"]);
        assert_eq!(error.to_string(), "unknown option 'lamda', did you mean 'lambda'?");
        let error = Error::unknown("option", "xyzzy", ["lambda", "kernel"]);
        assert_eq!(error.to_string(), "unknown option 'xyzzy'; known: lambda, kernel");
    }
}
