//! Shapley values of the features in the score of oblivious trees (Shapley 1953).
//!
//! The value of a set of features is the score of a document that has these features of the explained document and all others
//! of a base. Shapley values are additive, so those of an ensemble are the sums of those of its trees. In a tree, a feature
//! counts only if one of its splits separates the document from the base. These are at most as many as the tree has splits,
//! so all sets of them are evaluated, and the values are exact.

use super::Forest;
use super::levels::MAX_DEPTH;
use crate::base::control::Ticks;

/// A feature whose splits in a tree separate the document from the base.
#[derive(Clone, Copy, Default)]
struct Player {
    feature: usize,
    /// The bits of the leaf that change with the feature.
    flips: usize,
}

impl Forest {
    /// What each of `n` features adds to the score of the base, shape `(n,)`.
    ///
    /// `values`: those of the leaves, tree by tree. `document`, `base`: shape `(width,)`; the features i, i + n, ... of the
    /// trees are scalings of feature i.
    pub fn contributions(&self, values: &[f64], document: &[f64], base: &[f64], n: usize) -> Vec<f64> {
        let (depth, mut ticks) = (self.depth(), Ticks::default());
        let mut added = vec![0.0; n];
        let mut splits = self.splits();
        let mut sets = vec![0.0; 1 << depth];
        for values in values.chunks_exact(1 << depth) {
            // 1. The leaf of the base, and how each feature changes it.
            let (mut players, mut count, mut leaf) = ([Player::default(); MAX_DEPTH], 0, 0);
            for (level, split) in splits.by_ref().take(depth).enumerate() {
                let (of_document, of_base) =
                    (split.is_above(document[split.feature]), split.is_above(base[split.feature]));
                leaf |= usize::from(of_base) << level;
                if of_document != of_base {
                    let feature = split.feature % n;
                    let known = players[..count].iter().position(|player| player.feature == feature);
                    let player = known.unwrap_or(count);
                    count = count.max(player + 1);
                    players[player].feature = feature;
                    players[player].flips |= 1 << level;
                }
            }
            // 2. The value of each set: the feature of player i is in set s if bit i of s is set.
            let players = &players[..count];
            for (set, value) in sets[..1 << count].iter_mut().enumerate() {
                let members = players.iter().enumerate().filter(|(player, _)| set >> player & 1 == 1);
                *value = values[members.fold(leaf, |leaf, (_, player)| leaf ^ player.flips)];
            }
            // 3. What each feature adds to the sets without it.
            for (number, player) in players.iter().enumerate() {
                added[player.feature] += shapley_value(&sets[..1 << count], number, count);
            }
            ticks.add(4 * depth + (count << count));
        }
        added
    }
}

/// The Shapley value of a player among `count` players, from the values of all sets.
fn shapley_value(sets: &[f64], player: usize, count: usize) -> f64 {
    // The weight of a set of s others: s! (n - 1 - s)! / n!, as 1 / (n C(n - 1, s)).
    let mut weights = [1.0 / count as f64; MAX_DEPTH];
    for s in 1..count {
        weights[s] = weights[s - 1] * s as f64 / (count - s) as f64;
    }
    let without = (0..sets.len()).filter(|set| set >> player & 1 == 0);
    without.map(|set| weights[set.count_ones() as usize] * (sets[set | 1 << player] - sets[set])).sum()
}
