//! A search tree of two levels for ascending numbers: two comparisons with 16 keys, without branches, whatever the distances of
//! the numbers are.

#![allow(clippy::inline_always, reason = "compiled again for wider registers")]

use super::simd::{KEYS, Keys, Registers};

/// The keys of ascending numbers: the numbers in single precision. It searches up to 272 of them.
#[derive(Debug, Clone)]
pub struct Search {
    /// The first key of each node but the first.
    root: Keys,
    /// At least one.
    nodes: Vec<Keys>,
}

impl Search {
    /// The keys of these numbers.
    pub fn new(numbers: &[f64]) -> Self {
        let node = |numbers: &[f64]| {
            let mut keys = Keys::NONE;
            keys.0.iter_mut().zip(numbers).for_each(|(key, number)| *key = *number as f32);
            keys
        };
        let mut nodes: Vec<Keys> = numbers.chunks(KEYS).map(node).collect();
        if nodes.is_empty() {
            nodes.push(Keys::NONE);
        }
        let mut root = Keys::NONE;
        root.0.iter_mut().zip(&nodes[1..]).for_each(|(key, node)| *key = node.0[0]);
        Self { root, nodes }
    }

    /// How many numbers are at most x in single precision: all that are at most x, and those above x with the same key. 0 for
    /// NaN.
    #[inline(always)]
    pub fn at_most<R: Registers>(&self, x: f64) -> usize {
        let key = x as f32;
        let node = R::at_most(&self.root, key);
        node * KEYS + R::at_most(&self.nodes[node], key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::simd::Baseline;

    #[test]
    fn numbers_with_smaller_keys_are_counted() {
        for n in [0, 1, 15, 16, 17, 255, 256, 257, 272] {
            let numbers: Vec<f64> = (0..n).map(|i| f64::from(i / 2) * 0.1).collect();
            let search = Search::new(&numbers);
            for x in
                (-3..400).map(|i| f64::from(i) * 0.05).chain([f64::INFINITY, f64::NEG_INFINITY, f64::NAN])
            {
                let expected = numbers.iter().filter(|number| **number as f32 <= x as f32).count();
                assert_eq!(search.at_most::<Baseline>(x), expected, "{n} {x}");
            }
        }
    }
}
