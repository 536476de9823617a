//! Sums over all pairs of a query of losses that are polynomials up to a threshold, in O(n log n): [`splits`] gives the pairs
//! as ranges of sorted lists, and sums of 1, s and s^2 over a range are all that a document needs.

use crate::base::Ticks;
use crate::cost::loss::PairLoss;
use crate::math::splits::Item;
use crate::math::{MERGE_COST, descending, splits};

/// Sums over documents: their number, their scores and squares of scores, less a center.
#[derive(Debug, Clone, Copy, Default)]
struct ScoreSums {
    count: f64,
    first: f64,
    second: f64,
}

impl ScoreSums {
    fn add(&mut self, score: f64) {
        self.count += 1.0;
        self.first += score;
        self.second += score * score;
    }
}

/// The sum of the loss over all pairs, not for `logistic`. Adds a subgradient to the last argument.
pub fn value_and_subgradient(loss: PairLoss, labels: &[f64], scores: &[f64], slopes: &mut [f64]) -> f64 {
    let order = descending(labels);
    let mut starts = vec![0];
    for grade in order.chunk_by(|a, b| labels[*a] <= labels[*b]) {
        starts.push(starts[starts.len() - 1] + grade.len());
    }
    let mut items: Vec<Item> = order.iter().map(|&document| Item::new(document, scores[document])).collect();
    let mut value = 0.0;
    splits::each_split(&mut items, &starts, &mut |high, low| {
        value += add(loss, high, low, 1.0, 1.0);
        if loss == PairLoss::Psi {
            value += add(loss, high, low, 0.0, -1.0);
        }
    });
    items.iter().for_each(|item| slopes[item.document as usize] += item.sum);
    value
}

/// The sum of `sign` max(0, threshold - (s_j - s_l)), or of its square, for all j of the first and l of the second list. Adds
/// subgradients to the documents.
fn add(loss: PairLoss, high: &mut [Item], low: &mut [Item], threshold: f64, sign: f64) -> f64 {
    let squared = loss == PairLoss::SquaredHinge;
    // Small numbers have small squares and small errors.
    let center = high[high.len() / 2].score;
    let mut ticks = Ticks::default();
    let (mut value, mut from, mut sums) = (0.0, low.len(), ScoreSums::default());
    for better in high.iter_mut().rev() {
        ticks.add(MERGE_COST);
        while from > 0 && better.score - low[from - 1].score < threshold {
            from -= 1;
            sums.add(low[from].score - center);
        }
        let ScoreSums { count, first, second } = sums;
        let lacking = threshold - (better.score - center);
        if squared {
            value += (count * lacking + 2.0 * first) * lacking + second;
            better.sum -= 2.0 * (count * lacking + first);
        } else {
            value += sign * (count * lacking + first);
            better.sum -= sign * count;
        }
    }
    let (mut to, mut sums) = (0, ScoreSums::default());
    for worse in low {
        ticks.add(MERGE_COST);
        while to < high.len() && high[to].score - worse.score < threshold {
            sums.add(high[to].score - center);
            to += 1;
        }
        let ScoreSums { count, first, .. } = sums;
        let gained = threshold + (worse.score - center);
        worse.sum += if squared { 2.0 * (count * gained - first) } else { sign * count };
    }
    value
}
