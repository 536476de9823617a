//! Values of leaves that keep an order (docs/reference/rules.md, 5.38).
//!
//! Leaves are numbers whose bits are the outcomes of the splits. A split of a feature with the sign 1 orders each pair of leaves
//! that differ in its bit: the leaf with the bit has at least the value of the other one; with the sign -1 at most. So a document
//! whose feature value rises past several thresholds never drops in score. The values are moved to the nearest ones in
//! this order, by weighted least squares: Hildreth's method (1957), which projects on one pair after the other. Then running maxima
//! along each bit remove what rounding and the last sweep leave.

/// Largest number of sweeps over all pairs.
const MOST_SWEEPS: usize = 200;

/// Largest change of a sweep, relative to the largest value, after which the values are the nearest ones.
const SMALL: f64 = 1e-9;

/// Moves the values (leaves) to the nearest ones in the order. `weights` (leaves): above 0. `bits`: bit and sign of each split
/// of a constrained feature.
pub fn project(values: &mut [f64], weights: &[f64], bits: &[(usize, i8)]) {
    let pairs: Vec<(usize, usize)> = bits
        .iter()
        .flat_map(|&(bit, sign)| {
            let lower = (0..values.len()).filter(move |leaf| leaf >> bit & 1 == 0);
            lower.map(move |leaf| if sign > 0 { (leaf, leaf | 1 << bit) } else { (leaf | 1 << bit, leaf) })
        })
        .collect();
    if pairs.iter().all(|(low, high)| values[*low] <= values[*high]) {
        return;
    }
    // 1. The nearest values.
    let largest = values.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()));
    let mut forces = vec![0.0_f64; pairs.len()];
    for _ in 0..MOST_SWEEPS {
        let mut change = 0.0_f64;
        for ((low, high), force) in pairs.iter().zip(&mut forces) {
            let compliance = 1.0 / weights[*low] + 1.0 / weights[*high];
            let wanted = (*force + (values[*low] - values[*high]) / compliance).max(0.0);
            let more = wanted - *force;
            values[*low] -= more / weights[*low];
            values[*high] += more / weights[*high];
            change = change.max((more / weights[*low]).abs()).max((more / weights[*high]).abs());
            *force = wanted;
        }
        if change <= SMALL * largest {
            break;
        }
    }
    // 2. Exactly in the order. Bit after bit, so each leaf gets the largest value of the leaves below it.
    for (low, high) in pairs {
        values[high] = values[high].max(values[low]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Random;

    fn is_in_order(values: &[f64], bits: &[(usize, i8)]) -> bool {
        (0..values.len()).all(|leaf| {
            bits.iter().all(|&(bit, sign)| {
                leaf >> bit & 1 == 1 || f64::from(sign) * (values[leaf | 1 << bit] - values[leaf]) >= 0.0
            })
        })
    }

    /// Against a fine search of all monotone values of four leaves; unequal weights.
    #[test]
    fn the_values_are_the_nearest_ones_in_the_order() {
        let mut random = Random::new(56);
        for _ in 0..50 {
            let given: Vec<f64> = (0..4).map(|_| random.symmetric()).collect();
            let weights: Vec<f64> = (0..4).map(|_| 0.2 + random.symmetric().abs()).collect();
            for bits in [vec![(0, 1)], vec![(1, -1)], vec![(0, 1), (1, -1)]] {
                let mut values = given.clone();
                project(&mut values, &weights, &bits);
                assert!(is_in_order(&values, &bits));
                let distance = |values: &[f64]| -> f64 {
                    let of_leaf = |leaf: usize| weights[leaf] * (values[leaf] - given[leaf]).powi(2);
                    (0..4).map(of_leaf).sum()
                };
                let found = distance(&values);
                for _ in 0..2000 {
                    let mut other: Vec<f64> =
                        values.iter().map(|value| value + 0.1 * random.symmetric()).collect();
                    for &(bit, sign) in &bits {
                        for leaf in (0..4).filter(|leaf| leaf >> bit & 1 == 0) {
                            let pair = (other[leaf], other[leaf | 1 << bit]);
                            if f64::from(sign) * (pair.1 - pair.0) < 0.0 {
                                (other[leaf | 1 << bit], other[leaf]) = pair;
                            }
                        }
                    }
                    if is_in_order(&other, &bits) {
                        assert!(distance(&other) >= found - 1e-6, "{given:?} {weights:?} {bits:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn deep_trees_are_in_order() {
        let mut random = Random::new(7);
        for depth in 1..=8 {
            let bits: Vec<(usize, i8)> =
                (0..depth).step_by(2).map(|bit| (bit, if bit % 4 == 0 { 1 } else { -1 })).collect();
            let mut values: Vec<f64> = (0..1 << depth).map(|_| random.symmetric()).collect();
            let weights: Vec<f64> = (0..1 << depth).map(|_| 1e-6 + random.symmetric().abs()).collect();
            project(&mut values, &weights, &bits);
            assert!(is_in_order(&values, &bits), "{depth}");
        }
    }
}
