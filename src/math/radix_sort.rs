//! Radix sort of many numbers in single precision: a pass for each digit, without comparisons.

use crate::base::checkpoint;

/// Bits of a digit.
const BITS: usize = 11;
/// Digits of a key.
const DIGITS: usize = 3;
/// Values of a digit.
const VALUES: usize = 1 << BITS;
/// Keys between two checkpoints.
const CHUNK: usize = 1 << 14;
/// With fewer numbers comparisons are faster.
const FEWEST: usize = 1 << 11;

/// Sorts numbers in the order of [`f32::total_cmp`]. Takes eight bytes for each number.
pub fn sort_singles(values: &mut [f32]) {
    if values.len() < FEWEST {
        values.sort_unstable_by(f32::total_cmp);
        return;
    }
    let mut keys: Vec<u32> = values.iter().map(|value| key_of_f32(*value)).collect();
    let mut sorted = vec![0; keys.len()];
    let counts = counts(&keys);
    for (number, counts) in counts.iter().enumerate() {
        // A digit that is equal in all keys does not change the order.
        if counts[digit(keys[0], number)] as usize == keys.len() {
            continue;
        }
        scatter(&keys, number, counts, &mut sorted);
        std::mem::swap(&mut keys, &mut sorted);
    }
    values.iter_mut().zip(&keys).for_each(|(value, key)| *value = number_of_key(*key));
}

/// An integer with the order of the number.
fn key_of_f32(value: f32) -> u32 {
    let bits = value.to_bits();
    if bits >> 31 == 1 { !bits } else { bits | 1 << 31 }
}

fn number_of_key(key: u32) -> f32 {
    f32::from_bits(if key >> 31 == 1 { key & !(1 << 31) } else { !key })
}

/// A digit, the lowest first.
fn digit(key: u32, number: usize) -> usize {
    (key >> (number * BITS)) as usize % VALUES
}

/// How many keys have each value of each digit.
fn counts(keys: &[u32]) -> Vec<[u32; VALUES]> {
    let mut counts = vec![[0; VALUES]; DIGITS];
    for keys in keys.chunks(CHUNK) {
        checkpoint();
        for key in keys {
            for number in 0..DIGITS {
                counts[number][digit(*key, number)] += 1;
            }
        }
    }
    counts
}

/// Writes the keys in the order of a digit; those with the same digit keep their order.
fn scatter(keys: &[u32], number: usize, counts: &[u32; VALUES], sorted: &mut [u32]) {
    let mut next_of = [0; VALUES];
    let mut next = 0;
    for value in 0..VALUES {
        next_of[value] = next;
        next += counts[value];
    }
    for keys in keys.chunks(CHUNK) {
        checkpoint();
        for key in keys {
            let index = &mut next_of[digit(*key, number)];
            sorted[*index as usize] = *key;
            *index += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Random;

    #[test]
    fn numbers_are_sorted_as_by_comparisons() {
        let mut random = Random::new(3);
        let special = [0.0, -0.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, -f32::NAN, 1e-45, f32::MAX];
        for (count, distinct) in [(10, 5), (FEWEST, 1), (5000, 7), (40_000, 1 << 30)] {
            let value = |random: &mut Random| match random.below(50) {
                0 => special[random.below(special.len())],
                _ => random.below(distinct) as f32 * (random.symmetric() as f32).signum(),
            };
            let mut values: Vec<f32> = (0..count).map(|_| value(&mut random)).collect();
            if distinct == 1 {
                values.fill(-2.5);
            }
            let mut expected = values.clone();
            expected.sort_unstable_by(f32::total_cmp);
            sort_singles(&mut values);
            assert!(values.iter().zip(&expected).all(|(a, b)| a.to_bits() == b.to_bits()));
        }
    }
}
