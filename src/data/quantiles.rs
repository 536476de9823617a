//! Quantiles of one feature, which map its values to normal scores.
//!
//! Stored are pairs (x, z) of a training value and the normal score of its mid-rank. Between them the score is linear.

use serde::{Deserialize, Serialize};

use crate::control::Ticks;
use crate::math::bounds::are_bounded;
use crate::math::normal;
use crate::math::order::{compare, sort_ascending};

/// Operations, for [`Ticks`], of a value or a quantile of the normal distribution.
const NORMAL_COST: usize = 64;

/// Maximum number of stored quantiles.
const MAX_QUANTILES: usize = 256;

/// Cells of equal width between the first and the last quantile; a look-up starts at the cell of a value.
const CELLS: usize = 256;

/// Quantiles after the start that a look-up compares at once.
const WINDOW: usize = 4;

/// Quantiles of one feature with an index for look-ups.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "Vec<(f64, f64)>", into = "Vec<(f64, f64)>")]
pub struct Quantiles {
    /// Values, strictly increasing, then `WINDOW` infinities.
    x: Vec<f64>,
    /// For each value its score and the slope to the next one (0 after the last).
    lines: Vec<(f64, f64)>,
    /// For each cell the last quantile in an earlier cell, or the first.
    starts: Vec<u16>,
    /// Cells per unit of the feature.
    cells_per_unit: f64,
}

impl From<Vec<(f64, f64)>> for Quantiles {
    fn from(pairs: Vec<(f64, f64)>) -> Self {
        let slope = |index: usize| {
            let ((x0, z0), next) = (pairs[index], pairs.get(index + 1));
            // Neighboring subnormal values have no finite slope.
            next.map_or(0.0, |(x1, z1)| ((z1 - z0) / (x1 - x0)).min(f64::MAX))
        };
        let lines = (0..pairs.len()).map(|index| (pairs[index].1, slope(index))).collect();
        let range = pairs.last().map_or(0.0, |last| last.0) - pairs.first().map_or(0.0, |first| first.0);
        let cells_per_unit = CELLS as f64 / range;
        let usable = cells_per_unit.is_finite();
        let infinities = std::iter::repeat_n(f64::INFINITY, WINDOW);
        let mut quantiles = Self {
            x: pairs.into_iter().map(|(x, _)| x).chain(infinities).collect(),
            lines,
            // Without a range every value is in the first cell.
            starts: vec![0; if usable { CELLS } else { 1 }],
            cells_per_unit: if usable { cells_per_unit } else { 0.0 },
        };
        quantiles.set_starts();
        quantiles
    }
}

impl From<Quantiles> for Vec<(f64, f64)> {
    fn from(quantiles: Quantiles) -> Self {
        quantiles.x.into_iter().zip(quantiles.lines).map(|(x, (z, _))| (x, z)).collect()
    }
}

impl Quantiles {
    /// The quantiles of at least one training value.
    pub fn fit(mut values: Vec<f64>) -> Self {
        sort_ascending(&mut values);
        let ties = values.chunk_by(|a, b| compare(*a, *b).is_eq());
        Self::of_ties(values.len() as f64, ties.map(|tie| (tie[0], tie.len() as f64)))
    }

    /// The quantiles of values in ascending order with their counts, at least one.
    pub fn of_counts(counts: &[(f64, f64)]) -> Self {
        let ties = counts.chunk_by(|a, b| a.0 >= b.0);
        let n = counts.iter().map(|(_, count)| count).sum();
        Self::of_ties(n, ties.map(|tie| (tie[0].0, tie.iter().map(|(_, count)| count).sum())))
    }

    fn of_ties(n: f64, ties: impl Iterator<Item = (f64, f64)>) -> Self {
        let (mut below, mut ticks) = (0.0, Ticks::default());
        let all: Vec<(f64, f64)> = ties
            .map(|(value, count)| {
                ticks.add(NORMAL_COST);
                let fraction = (below + 0.5 * count) / n;
                below += count;
                (value, normal::quantile(fraction))
            })
            .collect();
        thin(all).into()
    }

    /// Whether all numbers are finite, scores are within the bound of stored numbers, and both values and scores increase.
    pub fn is_valid(&self) -> bool {
        let x = &self.x[..self.lines.len()];
        !x.is_empty()
            && x.len() <= MAX_QUANTILES + 1
            && x.iter().all(|x| x.is_finite())
            && self.lines.iter().all(|(z, slope)| are_bounded([z]) && slope.is_finite() && *slope >= 0.0)
            && x.windows(2).all(|pair| pair[0] < pair[1])
    }

    /// Each stored value, its score, and the slope to the next one (0 after the last): the score of x is
    /// score + slope (x - value) at the last value that is not above x. Below the first value it is the first score.
    pub fn lines(&self) -> impl Iterator<Item = (f64, f64, f64)> + '_ {
        self.x.iter().zip(&self.lines).map(|(x, (z, slope))| (*x, *z, *slope))
    }

    fn set_starts(&mut self) {
        let mut last = 0;
        for cell in 0..self.starts.len() {
            while last + 1 < self.lines.len() && self.cell(self.x[last + 1]) < cell {
                last += 1;
            }
            self.starts[cell] = last.min(usize::from(u16::MAX)) as u16;
        }
    }

    /// The cell of a value; monotone.
    #[inline]
    fn cell(&self, value: f64) -> usize {
        (((value - self.x[0]) * self.cells_per_unit) as usize).min(CELLS - 1)
    }

    /// The last quantile that is not above the value, or the first.
    #[inline]
    fn index(&self, value: f64) -> usize {
        let start = usize::from(self.starts[self.cell(value)]);
        let next = &self.x[start + 1..];
        let passed: usize = next[..WINDOW].iter().map(|x| usize::from(*x <= value)).sum();
        if passed < WINDOW { start + passed } else { start + next.partition_point(|x| *x <= value) }
    }

    /// The normal score of a value: linear between quantiles, constant outside.
    #[inline]
    pub fn normal_score(&self, value: f64) -> f64 {
        let index = self.index(value.min(f64::MAX));
        let (z, slope) = self.lines[index];
        // The distance is 0 below the first quantile and finite above the last, whose slope is 0.
        z + slope * (value - self.x[index]).clamp(0.0, f64::MAX)
    }
}

/// Keeps both ends and, between them, quantiles at about equal distances in rank and in normal score.
fn thin(all: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    if all.len() <= MAX_QUANTILES {
        return all;
    }
    let last = all.len() - 1;
    let widest = all[last].1.abs().max(all[0].1.abs());
    let position = |z: f64| 0.5 * z / widest + 0.5 * libm::erf(z * 0.5f64.sqrt());
    let step = (position(all[last].1) - position(all[0].1)) / (MAX_QUANTILES - 1) as f64;
    let mut next = position(all[0].1);
    let mut kept = Vec::with_capacity(MAX_QUANTILES);
    let mut ticks = Ticks::default();
    for (index, &(x, z)) in all.iter().enumerate() {
        ticks.add(NORMAL_COST);
        if index == last || position(z) >= next {
            kept.push((x, z));
            next = (next + step).max(position(z) + 0.5 * step);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_are_symmetric_monotone_and_constant_outside() {
        let quantiles = Quantiles::fit((0..1001).map(f64::from).collect());
        assert!(quantiles.is_valid());
        assert!(quantiles.normal_score(500.0).abs() < 1e-3);
        assert!((quantiles.normal_score(-7.0) + quantiles.normal_score(2000.0)).abs() < 1e-12);
        let scores: Vec<f64> = (-10..1100).map(|x| quantiles.normal_score(f64::from(x))).collect();
        assert!(scores.is_sorted());
    }

    #[test]
    fn the_score_of_a_tie_is_that_of_its_middle_rank() {
        let quantiles = Quantiles::fit(vec![0.0, 0.0, 0.0, 1.0]);
        assert!((quantiles.normal_score(0.0) - normal::quantile(0.375)).abs() < 1e-15);
        assert!((quantiles.normal_score(1.0) - normal::quantile(0.875)).abs() < 1e-15);
    }

    #[test]
    fn values_at_the_ends_of_the_range_have_finite_scores() {
        for ends in [[0.0, 5e-324], [-f64::MAX, f64::MAX], [f64::MAX; 2], [-f64::MAX; 2]] {
            let quantiles = Quantiles::fit(ends.to_vec());
            assert!(quantiles.is_valid(), "{ends:?}");
            for x in [-f64::MAX, 0.0, 5e-324, 1e308, f64::MAX] {
                assert!(quantiles.normal_score(x).is_finite(), "{ends:?}: {x}");
            }
        }
    }

    #[test]
    fn a_look_up_finds_what_a_search_finds() {
        let skewed = |i: u32| f64::from(i % 700).powi(5) - f64::from(i % 3);
        let data = [
            (0..5000).map(skewed).collect::<Vec<f64>>(),
            vec![-1e308, 0.0, 1e-300, 1.0, 1e308],
            vec![0.1; 4],
            (0..1000).map(|i| f64::from(i) * 1e-310).collect(),
        ];
        for values in data {
            let quantiles = Quantiles::fit(values.clone());
            let search = |v: f64| quantiles.x.partition_point(|x| *x <= v).saturating_sub(1);
            let more = [f64::MIN, f64::MAX, f64::NAN, -0.0, 1e-320];
            for value in values.iter().flat_map(|v| [*v, v.next_up(), v.next_down(), 0.5 * v]).chain(more) {
                assert_eq!(quantiles.index(value), search(value), "{value}");
            }
        }
    }

    /// A hostile model can have millions of them.
    #[test]
    fn quantiles_without_a_range_take_few_bytes() {
        for pairs in [vec![], vec![(1.0, 0.0)], vec![(1.0, 0.0), (1.0, 0.5)]] {
            assert_eq!(Quantiles::from(pairs).starts.len(), 1);
        }
    }

    #[test]
    fn equal_values_have_the_score_zero() {
        assert!(Quantiles::fit(vec![3.0; 9]).normal_score(17.0).abs() < 1e-15);
    }
}
