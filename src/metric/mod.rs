//! Measures of a ranking.
