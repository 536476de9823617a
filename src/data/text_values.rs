//! Limits of values in columns of text.

/// Longest text (bytes) that is a value of its own. Longer ones are other values.
pub const LONGEST_VALUE: usize = 256;

/// Most different values of a column that are counted. Beyond, it is no category.
pub const MOST_DISTINCT: usize = 10_000;
