//! Pseudo-random numbers, determined by the seed alone.

/// A fixed sequence (splitmix64, Steele, Lea and Flood 2014).
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// The sequence of a seed.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number in -1..1.
    pub fn symmetric(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    /// A number below `limit`; 0 if the limit is 0.
    pub fn below(&mut self, limit: usize) -> usize {
        ((u128::from(self.bits()) * limit as u128) >> 64) as usize
    }

    /// Shuffles values (Fisher and Yates).
    pub fn shuffle<T>(&mut self, values: &mut [T]) {
        for last in (1..values.len()).rev() {
            values.swap(last, self.below(last + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shuffle_is_a_permutation_that_the_seed_decides() {
        let shuffled = |seed| {
            let mut values: Vec<usize> = (0..100).collect();
            Random::new(seed).shuffle(&mut values);
            values
        };
        let mut sorted = shuffled(1);
        assert_eq!(sorted, shuffled(1));
        assert_ne!(sorted, shuffled(2));
        sorted.sort_unstable();
        assert!(sorted.into_iter().eq(0..100));
    }

    #[test]
    fn numbers_stay_in_their_range_and_fill_it() {
        let mut random = Random::new(3);
        let values: Vec<f64> = (0..1000).map(|_| random.symmetric()).collect();
        assert!(values.iter().all(|value| (-1.0..1.0).contains(value)));
        assert!(values.iter().any(|value| *value < -0.9) && values.iter().any(|value| *value > 0.9));
        assert!((0..1000).all(|_| random.below(7) < 7));
    }
}
