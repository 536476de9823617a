//! Rows and clicks of pairs in contexts, and numbering by first appearance.

use std::collections::HashMap;

/// Rows and clicks of a pair in a context.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cell {
    /// Number of the pair.
    pub pair: u32,
    pub context: u32,
    pub rows: f64,
    /// Rows with a click.
    pub clicks: f64,
    /// Sum of click weights over all impressions, relative to the largest weight of the log.
    pub weight: f64,
}

/// Numbers pairs of numbers by first appearance.
pub(super) type Numbers = HashMap<(u32, u32), u32>;

/// The number of a pair; a new pair gets the next number.
pub(super) fn number_of(numbers: &mut Numbers, first: u32, second: u32) -> u32 {
    let next = numbers.len() as u32;
    *numbers.entry((first, second)).or_insert(next)
}
