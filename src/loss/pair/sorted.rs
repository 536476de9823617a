//! Sums over all pairs of a query of losses that are polynomials up to a threshold, in O(n log n): [`splits`] gives the pairs
//! as ranges of sorted lists, and sums of 1, s and s^2 over a range are all that a document needs.

use crate::control::Ticks;
use crate::loss::def::PairLoss;
use crate::math::order::descending;
use crate::math::splits::{self, MERGE_COST};

/// Sums over documents: their number, their scores and squares of scores, less a center.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    count: f64,
    first: f64,
    second: f64,
}

impl Sums {
    fn add(&mut self, score: f64) {
        self.count += 1.0;
        self.first += score;
        self.second += score * score;
    }
}

/// A loss of these documents.
struct Pairs<'a> {
    loss: PairLoss,
    scores: &'a [f64],
    value: f64,
    slopes: &'a mut [f64],
}

/// The sum of the loss over all pairs, not for `logistic`. Adds a subgradient to the last argument.
pub fn value_and_subgradient(loss: PairLoss, labels: &[f64], scores: &[f64], slopes: &mut [f64]) -> f64 {
    let mut order: Vec<u32> = descending(labels).into_iter().map(|document| document as u32).collect();
    let mut starts = vec![0];
    for grade in order.chunk_by(|a, b| labels[*a as usize] <= labels[*b as usize]) {
        starts.push(starts[starts.len() - 1] + grade.len());
    }
    splits::sort_grades(&mut order, &starts, scores);
    let mut pairs = Pairs { loss, scores, value: 0.0, slopes };
    splits::each_split(&mut order, &starts, scores, &mut |high, low| {
        pairs.add(high, low, 1.0, 1.0);
        if loss == PairLoss::Psi {
            pairs.add(high, low, 0.0, -1.0);
        }
    });
    pairs.value
}

impl Pairs<'_> {
    /// Adds `sign` max(0, threshold - (s_j - s_l)), or its square, for all j of the first and l of the second list.
    fn add(&mut self, high: &[u32], low: &[u32], threshold: f64, sign: f64) {
        let scores = self.scores;
        let squared = self.loss == PairLoss::SquaredHinge;
        // Small numbers have small squares and small errors.
        let center = scores[high[high.len() / 2] as usize];
        let violates = |j: u32, l: u32| scores[j as usize] - scores[l as usize] < threshold;
        let mut ticks = Ticks::default();
        let (mut from, mut sums) = (low.len(), Sums::default());
        for &j in high.iter().rev() {
            ticks.add(MERGE_COST);
            while from > 0 && violates(j, low[from - 1]) {
                from -= 1;
                sums.add(scores[low[from] as usize] - center);
            }
            let Sums { count, first, second } = sums;
            let lacking = threshold - (scores[j as usize] - center);
            if squared {
                self.value += (count * lacking + 2.0 * first) * lacking + second;
                self.slopes[j as usize] -= 2.0 * (count * lacking + first);
            } else {
                self.value += sign * (count * lacking + first);
                self.slopes[j as usize] -= sign * count;
            }
        }
        let (mut to, mut sums) = (0, Sums::default());
        for &l in low {
            ticks.add(MERGE_COST);
            while to < high.len() && violates(high[to], l) {
                sums.add(scores[high[to] as usize] - center);
                to += 1;
            }
            let Sums { count, first, .. } = sums;
            let gained = threshold + (scores[l as usize] - center);
            self.slopes[l as usize] += if squared { 2.0 * (count * gained - first) } else { sign * count };
        }
    }
}
