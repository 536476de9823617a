//! Random negatives: items that a user is not known to like (Rendle, Freudenthaler, Gantner & Schmidt-Thieme 2009).

use std::collections::BTreeSet;

use crate::base::Ticks;
use crate::math::Random;

/// Operations, for [`Ticks`], of a draw.
const DRAW_COST: usize = 100;

/// Draws `count` distinct items below `items` that are not in `seen` (ascending), all equally likely; all such items if
/// there are fewer. Ascending.
pub fn negatives(seen: &[u32], items: usize, count: usize, random: &mut Random) -> Vec<u32> {
    let free = items - seen.len();
    // 1. Indices among the unseen items (Floyd; Bentley & Floyd 1987).
    let mut drawn = BTreeSet::new();
    let mut ticks = Ticks::default();
    for last in free - count.min(free)..free {
        ticks.add(DRAW_COST);
        let place = random.below(last + 1);
        if !drawn.insert(place) {
            drawn.insert(last);
        }
    }
    // 2. The items at these indices, shifted past the seen items before them.
    let mut passed = 0;
    let item = |place: usize| {
        while seen.get(passed).is_some_and(|item| *item as usize <= place + passed) {
            passed += 1;
        }
        (place + passed) as u32
    };
    drawn.into_iter().map(item).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn negatives_are_different_items_that_were_not_seen() {
        let seen = [0, 3, 4, 9];
        for count in 0..12 {
            let drawn = negatives(&seen, 12, count, &mut Random::new(count as u64));
            assert_eq!(drawn.len(), count.min(8));
            assert!(drawn.windows(2).all(|two| two[0] < two[1]) && drawn.iter().all(|item| *item < 12));
            assert!(drawn.iter().all(|item| !seen.contains(item)), "{drawn:?}");
        }
        assert_eq!(negatives(&seen, 12, 100, &mut Random::new(1)), [1, 2, 5, 6, 7, 8, 10, 11]);
        assert!(negatives(&[0, 1], 2, 3, &mut Random::new(1)).is_empty(), "a user with all items");
    }

    /// Each of 6 free items is drawn with probability 1/3: of 6,000 draws of two, 2,000 +- 5 standard errors.
    #[test]
    fn every_free_item_is_equally_likely() {
        let mut random = Random::new(5);
        let mut counts = [0; 8];
        for _ in 0..6000 {
            negatives(&[2, 5], 8, 2, &mut random).iter().for_each(|item| counts[*item as usize] += 1);
        }
        assert_eq!((counts[2], counts[5]), (0, 0));
        let free = [0, 1, 3, 4, 6, 7].map(|item| counts[item]);
        assert!(free.iter().all(|count| (1815..=2185).contains(count)), "{counts:?}");
    }
}
