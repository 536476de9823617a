//! Limits of values in columns of text.

/// Longest text (bytes) that is a value of its own. Longer ones are other values.
pub const LONGEST_VALUE: usize = 256;

/// Most different values of a column that are counted. With more, it is not a category.
pub const MOST_DISTINCT: usize = 10_000;

/// Fewest rows and queries of a value that has a feature of its own (rule 2.19).
pub const FEWEST_ROWS: u64 = 3;
pub const FEWEST_QUERIES: usize = 2;

/// The rows and queries of a value.
#[derive(Debug, Clone, Copy, Default)]
pub struct ValueCount {
    pub rows: u64,
    /// The query of its first row.
    query: usize,
    /// Whether another query has it.
    in_several: bool,
}

impl ValueCount {
    /// Adds a row of this query.
    pub fn add(&mut self, query: usize) {
        if self.rows == 0 {
            self.query = query;
        }
        self.in_several |= self.query != query;
        self.rows += 1;
    }

    /// Whether the value has a feature of its own in a source of so many queries.
    pub fn is_frequent(&self, queries: usize) -> bool {
        self.rows >= FEWEST_ROWS && (self.in_several || queries < FEWEST_QUERIES)
    }
}
