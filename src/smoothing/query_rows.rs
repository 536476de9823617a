//! The numbers of all training queries in tiles, for distances from one query to all of them.
//!
//! A tile has `LANES` queries, column after column, so one instruction computes several distances. The terms of a distance are
//! added in the order of [`QueryDistance::numbers_between`], so both have the same bits.

use std::ops::Deref;
use std::sync::OnceLock;

use ndarray::Array2;

use super::query_distance::{QueryDistance, Separation};
use super::{Smoothing, SmoothingKind, Target};
use crate::control::Ticks;
use crate::math::lanes::{LANES, Lanes};
use crate::math::order::keep_smallest;
use crate::math::select::neighbors_in_order;
use crate::math::simd::simd;

/// Encoded features of queries, one row each, and the tiles of their numbers once they are used.
#[derive(Debug, Default)]
pub struct QueryRows {
    rows: Array2<f64>,
    tiles: OnceLock<Vec<Lanes>>,
}

impl From<Array2<f64>> for QueryRows {
    fn from(rows: Array2<f64>) -> Self {
        Self { rows, tiles: OnceLock::new() }
    }
}

impl Deref for QueryRows {
    type Target = Array2<f64>;

    fn deref(&self) -> &Array2<f64> {
        &self.rows
    }
}

/// What a training query is for the search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueryRole {
    /// It does not exist.
    LeftOut,
    /// Its distance counts for the bandwidth.
    Counted,
    /// It counts, and can be a neighbor.
    Candidate,
}

/// Work of comparing one number of two rows, an item of two orders at most.
pub const COMPARISON: usize = 50;

/// Tiles between two checks for interrupts.
const TILES: usize = 256;

/// Queries between two counts of the work of looking at their roles.
const PASS: usize = 1024;

/// Squares whose ratio is at most this can have the same root.
const SAME_ROOT: f64 = 1.0 + 8.0 * f64::EPSILON;

impl QueryRows {
    /// The candidates that count for a target with these encoded features, nearest first, ties in their order: index,
    /// distance and weight > 0. See [`QueryDistance::combined`] and [`Smoothing`].
    pub fn nearest(
        &self,
        distance: &QueryDistance,
        smoothing: &Smoothing,
        (features, target): (&[f64], Target),
        role: &impl Fn(usize) -> QueryRole,
    ) -> Vec<(usize, f64, f64)> {
        if distance.is_euclidean() && distance.numbers() > 0 {
            self.nearest_by_numbers(distance, smoothing, (features, target), role)
        } else {
            self.nearest_by_kernels(distance, smoothing, (features, target), role)
        }
    }

    /// Any distance: orders of items and categories have no coordinates.
    fn nearest_by_kernels(
        &self,
        distance: &QueryDistance,
        smoothing: &Smoothing,
        (features, target): (&[f64], Target),
        role: &impl Fn(usize) -> QueryRole,
    ) -> Vec<(usize, f64, f64)> {
        let mut ticks = Ticks::default();
        let queries: Vec<usize> =
            (0..self.rows.nrows()).filter(|query| role(*query) != QueryRole::LeftOut).collect();
        let separation = |query: &usize| {
            ticks.add(COMPARISON * features.len());
            distance.between(&self.rows.row(*query).to_vec(), features)
        };
        let separations: Vec<Separation> = queries.iter().map(separation).collect();
        let distances: Vec<f64> = separations.iter().map(|separation| separation.distance).collect();
        let h = smoothing.bandwidth(&distances, distance.numbers());
        let candidate = |(query, separation): (&usize, &Separation)| {
            (role(*query) == QueryRole::Candidate).then(|| distance.combined(separation, h))
        };
        let candidates: Vec<Option<f64>> = queries.iter().zip(&separations).map(candidate).collect();
        let nearest = smoothing.nearest(&candidates, target).into_iter();
        let neighbor = |(index, distance): (usize, f64)| {
            (queries[index], distance, smoothing.weight(&separations[index], h))
        };
        nearest.map(neighbor).filter(|(_, _, weight)| *weight > 0.0).collect()
    }

    /// Distances of numbers alone. Their squares are enough to find the nearest, and the median is found without sorting. The
    /// results are those of [`Self::nearest_by_kernels`], bit for bit.
    fn nearest_by_numbers(
        &self,
        distance: &QueryDistance,
        smoothing: &Smoothing,
        (features, target): (&[f64], Target),
        role: &impl Fn(usize) -> QueryRole,
    ) -> Vec<(usize, f64, f64)> {
        let mut squares = self.squared_distances(distance, features);
        let mut ticks = Ticks::default();
        // 1. The bandwidth. NaN leaves a query out.
        let (mut n, mut only_counted) = (0, Vec::new());
        for (first, squares) in (0..).step_by(PASS).zip(squares.chunks_mut(PASS)) {
            ticks.add(PASS);
            for (query, square) in (first..).zip(squares) {
                let role = role(query);
                *square = if role == QueryRole::LeftOut { f64::NAN } else { *square };
                n += usize::from(role != QueryRole::LeftOut);
                if role == QueryRole::Counted {
                    only_counted.push(query);
                }
            }
        }
        let median = || {
            let (before, middle) = neighbors_in_order(&squares, n / 2).unwrap_or_default();
            let (before, middle) = (distance.of_square(before), distance.of_square(middle));
            if n.is_multiple_of(2) { 0.5 * (before + middle) } else { middle }
        };
        let h = match smoothing.kind {
            SmoothingKind::Knn => 0.0,
            _ => smoothing.bandwidth_by(median, n, distance.numbers()),
        };
        // 2. The nearest candidates, and those whose distance has another square but may be the same number.
        ticks.add(only_counted.len());
        only_counted.into_iter().for_each(|query| squares[query] = f64::NAN);
        let count = smoothing.neighbors_for(target);
        let last = neighbors_in_order(&squares, count.saturating_sub(1));
        let limit = last.map_or(f64::INFINITY, |(_, last)| last * SAME_ROOT);
        let near = squares.iter().enumerate().filter(|(_, square)| **square <= limit);
        let mut near: Vec<(usize, f64)> =
            near.map(|(query, square)| (query, distance.of_square(*square))).collect();
        keep_smallest(&mut near, count);
        let weighted = |(query, distance): (usize, f64)| {
            (query, distance, smoothing.weight(&Separation { distance, cost: 0.0 }, h))
        };
        near.into_iter().map(weighted).filter(|(_, _, weight)| *weight > 0.0).collect()
    }

    /// The squared distance of the numbers of each query from those of `target`.
    fn squared_distances(&self, distance: &QueryDistance, target: &[f64]) -> Vec<f64> {
        let numbers = distance.numbers();
        let tiles = self.tiles.get_or_init(|| self.transposed(numbers));
        let mut squares = vec![Lanes::ZERO; self.rows.nrows().div_ceil(LANES)];
        let mut ticks = Ticks::default();
        for (tiles, squares) in tiles.chunks((TILES * numbers).max(1)).zip(squares.chunks_mut(TILES)) {
            ticks.add(squares.len() * numbers * LANES);
            let target = &target[..numbers];
            match distance.number_weights() {
                [] => squares_of(tiles, target, squares),
                weights => weighted_squares_of(tiles, target, weights, squares),
            }
        }
        squares.iter().flat_map(|lanes| lanes.0).take(self.rows.nrows()).collect()
    }

    /// The first columns in tiles.
    fn transposed(&self, numbers: usize) -> Vec<Lanes> {
        let mut tiles = vec![Lanes::ZERO; self.rows.nrows().div_ceil(LANES) * numbers];
        let mut ticks = Ticks::default();
        for (query, row) in self.rows.rows().into_iter().enumerate() {
            ticks.add(numbers);
            let tile = &mut tiles[query / LANES * numbers..][..numbers];
            for (column, value) in tile.iter_mut().zip(row) {
                column.0[query % LANES] = *value;
            }
        }
        tiles
    }
}

/// The sums with the squared differences of a column from a target.
#[allow(clippy::inline_always, reason = "compiled again for wider registers")]
#[inline(always)]
fn with_square(mut sums: Lanes, column: Lanes, target: f64) -> Lanes {
    for lane in 0..LANES {
        let difference = column.0[lane] - target;
        sums.0[lane] += difference * difference;
    }
    sums
}

simd! {
    /// Squared distances in the order of [`squared_distance`](crate::math::dense): term i is added to sum i mod `LANES`.
    fn squares_of<'a>(tiles: &'a [Lanes], target: &'a [f64], squares: &'a mut [Lanes]) {
        for (tile, squares) in tiles.chunks_exact(target.len()).zip(squares) {
            let mut sums = [Lanes::ZERO; LANES];
            let ((columns, last_columns), (targets, last_targets)) =
                (tile.as_chunks::<LANES>(), target.as_chunks::<LANES>());
            for (columns, targets) in columns.iter().zip(targets) {
                for term in 0..LANES {
                    sums[term] = with_square(sums[term], columns[term], targets[term]);
                }
            }
            for ((column, target), sum) in last_columns.iter().zip(last_targets).zip(&mut sums) {
                *sum = with_square(*sum, *column, *target);
            }
            // The order of `Lanes::fold`, for each query.
            let [a, b, c, d, e, f, g, h] = &sums;
            for lane in 0..LANES {
                squares.0[lane] = ((a.0[lane] + e.0[lane]) + (c.0[lane] + g.0[lane]))
                    + ((b.0[lane] + f.0[lane]) + (d.0[lane] + h.0[lane]));
            }
        }
    }
}

simd! {
    /// Weighted squared distances, added from the first column on.
    fn weighted_squares_of<'a>(tiles: &'a [Lanes], target: &'a [f64], weights: &'a [f64], squares: &'a mut [Lanes]) {
        for (tile, squares) in tiles.chunks_exact(target.len()).zip(squares) {
            *squares = Lanes::ZERO;
            for ((column, target), weight) in tile.iter().zip(target).zip(weights) {
                for lane in 0..LANES {
                    let difference = column.0[lane] - target;
                    squares.0[lane] += weight * difference * difference;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::random::Random;
    use crate::smoothing::{Bandwidth, ColumnDistance, Comparison};

    fn numbers(count: usize) -> QueryDistance {
        let column =
            |start| ColumnDistance { comparison: Comparison::Euclidean, start, width: 1, weight: 1.0 };
        QueryDistance::from((0..count).map(column).collect::<Vec<_>>())
    }

    #[test]
    fn the_nearest_are_those_of_a_search_among_all() {
        let mut random = Random::new(5);
        // Few different values make ties and equal queries; 6,000 queries are more than a sample.
        for (queries, different, count) in
            [(1, 2, 3), (60, 3, 7), (700, 1000, 20), (6000, 30, 9), (6000, 2, 50)]
        {
            let features = Array2::from_shape_fn((queries, 3), |_| random.below(different) as f64 / 3.0);
            let rows = QueryRows::from(features);
            let roles: Vec<usize> = (0..queries).map(|_| random.below(5)).collect();
            let role = |query: usize| match roles[query] {
                0 => QueryRole::LeftOut,
                1 => QueryRole::Counted,
                _ => QueryRole::Candidate,
            };
            let plain = numbers(3);
            let weighted = plain.with_weights([(0, 0.7), (2, 0.0)]);
            for name in ["knn", "rectangular", "gaussian", "epanechnikov", "tricube"] {
                let kind = SmoothingKind::parse(name).unwrap();
                for bandwidth in [Bandwidth::Median, Bandwidth::Fixed(0.4), Bandwidth::Rate] {
                    let smoothing = Smoothing::new(kind, count, bandwidth);
                    for (distance, query) in [(&plain, 0), (&weighted, queries - 1)] {
                        let target = (&rows.row(query).to_vec()[..], Target::Novel);
                        let bits = |found: Vec<(usize, f64, f64)>| -> Vec<(usize, u64, u64)> {
                            found.into_iter().map(|(query, d, w)| (query, d.to_bits(), w.to_bits())).collect()
                        };
                        assert_eq!(
                            bits(rows.nearest(distance, &smoothing, target, &role)),
                            bits(rows.nearest_by_kernels(distance, &smoothing, target, &role)),
                            "{queries} {name}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn tiles_have_the_bits_of_single_distances() {
        let mut random = Random::new(3);
        for (queries, numbers) in [(1, 1), (8, 3), (21, 8), (40, 9), (17, 30)] {
            let column =
                |start| ColumnDistance { comparison: Comparison::Euclidean, start, width: 1, weight: 1.0 };
            let plain = QueryDistance::from((0..numbers).map(column).collect::<Vec<_>>());
            let weighted = plain.with_weights((0..numbers).map(|at| (at, 0.3 * at as f64)));
            // A further column, of a category, is left out.
            let mut value = || (random.bits() >> 40) as f64 / 7.0;
            let rows = Array2::from_shape_fn((queries, numbers + 1), |_| value());
            let target: Vec<f64> = (0..=numbers).map(|_| value()).collect();
            let rows = QueryRows::from(rows);
            for distance in [plain, weighted] {
                let squares = rows.squared_distances(&distance, &target);
                assert_eq!(squares.len(), queries);
                for (square, row) in squares.iter().zip(rows.rows()) {
                    let expected = distance.numbers_between(&row.to_vec(), &target);
                    assert_eq!(distance.of_square(*square).to_bits(), expected.to_bits());
                }
            }
        }
    }
}
