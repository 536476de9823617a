//! Random samples, such as the candidates for landmarks, that depend only on the seed and the number of things.

use std::collections::BTreeSet;

use xxhash_rust::xxh3::xxh3_64_with_seed;

/// `size` different numbers below `n`, ascending, each as likely as any other; all of them where there are no
/// more.
///
/// Draw after draw by a hash of its number, so that a larger sample of the same seed holds the smaller one.
pub fn sample(n: usize, size: usize, seed: u64) -> Vec<usize> {
    if n <= size {
        return (0..n).collect();
    }
    let mut chosen = BTreeSet::new();
    let mut draw: u64 = 0;
    while chosen.len() < size {
        let hash = xxh3_64_with_seed(&draw.to_le_bytes(), seed);
        chosen.insert(((u128::from(hash) * n as u128) >> 64) as usize);
        draw += 1;
    }
    chosen.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_has_its_size_and_follows_the_seed() {
        assert_eq!(sample(3, 5, 1), [0, 1, 2]);
        assert_eq!(sample(7, 6, 1).len(), 6);
        let chosen = sample(1000, 100, 1);
        assert!(chosen.len() == 100 && chosen.iter().all(|i| *i < 1000));
        assert!(chosen.is_sorted_by(|a, b| a < b));
        assert_eq!(chosen, sample(1000, 100, 1));
        assert_ne!(chosen, sample(1000, 100, 2));
        let low = chosen.iter().filter(|i| **i < 500).count();
        assert!((30..=70).contains(&low), "{low} in the first half");
        let larger = sample(1000, 200, 1);
        assert!(chosen.iter().all(|i| larger.contains(i)));
    }
}
