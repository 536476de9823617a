//! A search tree of two levels for ascending numbers: two comparisons with 16 keys, without branches, whatever the distances of
//! the numbers are.

#![allow(clippy::inline_always, reason = "compiled again for wider registers")]

use super::simd::{KEYS, Keys, Registers};

/// Ascending keys. It searches up to 272 of them.
#[derive(Debug, Clone)]
pub struct Search {
    /// The first key of each node but the first.
    root: Keys,
    /// At least one.
    nodes: Vec<Keys>,
}

impl Search {
    /// A search of these keys.
    pub fn new(all: impl IntoIterator<Item = f32>) -> Self {
        let all: Vec<f32> = all.into_iter().collect();
        let node = |some: &[f32]| {
            let mut keys = Keys::NONE;
            keys.0[..some.len()].copy_from_slice(some);
            keys
        };
        let mut nodes: Vec<Keys> = all.chunks(KEYS).map(node).collect();
        if nodes.is_empty() {
            nodes.push(Keys::NONE);
        }
        let mut root = Keys::NONE;
        root.0.iter_mut().zip(&nodes[1..]).for_each(|(key, node)| *key = node.0[0]);
        Self { root, nodes }
    }

    /// How many keys are at most x. 0 for NaN.
    #[inline(always)]
    pub fn at_most<R: Registers>(&self, x: f32) -> usize {
        let node = R::at_most(&self.root, x);
        node * KEYS + R::at_most(&self.nodes[node], x)
    }

    /// The key at this index.
    #[inline(always)]
    pub fn key(&self, index: usize) -> f32 {
        self.nodes[index / KEYS].0[index % KEYS]
    }
}

/// The smallest number in single precision that is at least x; NaN for NaN.
#[inline(always)]
pub fn single_at_least(x: f64) -> f32 {
    let near = x as f32;
    if f64::from(near) < x { near.next_up() } else { near }
}

/// The smallest number in single precision that is above x.
pub fn single_above(x: f64) -> f32 {
    let near = x as f32;
    if f64::from(near) <= x { near.next_up() } else { near }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::simd::Baseline;

    #[test]
    fn keys_that_are_at_most_a_number_are_counted() {
        for n in [0, 1, 15, 16, 17, 255, 256, 257, 272] {
            let keys: Vec<f32> = (0..n).map(|i| (i / 2) as f32 * 0.1).collect();
            let search = Search::new(keys.iter().copied());
            assert_eq!((0..keys.len()).map(|index| search.key(index)).collect::<Vec<f32>>(), keys);
            for x in (-3..400).map(|i| i as f32 * 0.05).chain([f32::INFINITY, f32::NEG_INFINITY, f32::NAN]) {
                let expected = keys.iter().filter(|key| **key <= x).count();
                assert_eq!(search.at_most::<Baseline>(x), expected, "{n} {x}");
            }
        }
    }

    #[test]
    fn numbers_are_rounded_up_to_single_precision() {
        let exact = [0.0, -0.0, 1.0, -1.5, f64::from(f32::MAX), f64::from(f32::MIN), f64::INFINITY];
        let between = [0.1, -0.1, 0.3, 1e-320, -1e-320, 1e308, -1e308, 1.0 + 1e-12];
        for x in exact.into_iter().chain(between) {
            let key = single_at_least(x);
            assert!(f64::from(key) >= x && f64::from(key.next_down()) < x, "{x}");
            let above = single_above(x);
            assert!(x.is_infinite() || f64::from(above) > x && f64::from(above.next_down()) <= x, "{x}");
        }
        assert!(single_at_least(f64::NAN).is_nan());
    }
}
