//! Limits on the values of categories: text columns whose values become features.

/// Longest text (bytes) that is a separate value. Longer texts count as other values.
pub const LONGEST_VALUE: usize = 256;

/// Largest number of distinct values counted per column. Columns with more are not categories.
pub const MOST_DISTINCT: usize = 10_000;

/// Fewest rows and queries for a value to get its own feature (rule 2.19).
pub const FEWEST_ROWS_OF_VALUE: u64 = 3;
pub const FEWEST_QUERIES_OF_VALUE: usize = 2;

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

    /// Whether the value gets its own feature in a source with this many queries.
    pub fn is_frequent(&self, queries: usize) -> bool {
        self.rows >= FEWEST_ROWS_OF_VALUE && (self.in_several || queries < FEWEST_QUERIES_OF_VALUE)
    }
}
