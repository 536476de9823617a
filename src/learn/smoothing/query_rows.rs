//! The search for the nearest training queries.
//!
//! Distances of numbers alone are computed in single precision first, for many targets at once (`Panels`). They show
//! which training queries can be among the nearest, or at the median. Exact distances of these decide, so results have
//! the bits of a search that computes all distances in double precision.

#![allow(clippy::needless_range_loop, reason = "one index for several arrays")]

use std::ops::Deref;
use std::sync::OnceLock;

use ndarray::Array2;

use super::weights::{Smoothing, SmoothingKind, Target};
use crate::base::{Ticks, bytes_of, parallel};
use crate::data::{QueryDistance, Separation};
use crate::math::select::Candidates;
use crate::math::{PANEL, Row, add_product, candidates, compare, panels_for};

/// Encoded features of queries, one row each, and the panels of their numbers once they are used.
#[derive(Debug, Default)]
pub struct QueryRows {
    rows: Array2<f64>,
    panels: OnceLock<Panels>,
}

impl From<Array2<f64>> for QueryRows {
    fn from(rows: Array2<f64>) -> Self {
        Self { rows, panels: OnceLock::new() }
    }
}

impl Deref for QueryRows {
    type Target = Array2<f64>;

    fn deref(&self) -> &Array2<f64> {
        &self.rows
    }
}

/// A training query's role in the search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueryRole {
    /// The distance counts for the bandwidth.
    Counted,
    /// It counts, and can be a neighbor.
    Candidate,
}

/// Work of comparing one number of two rows, an item of two orders at most.
pub const COMPARISON: usize = 50;

/// Targets whose distances are computed at a time. More would not stay in the second cache.
pub const BATCH: usize = 24;

/// A neighbor: index, distance and weight > 0.
pub type Near = (usize, f64, f64);

impl QueryRows {
    /// Bytes of searches in all threads of the pool: the panels that are kept, and the squares of each thread.
    pub fn search_bytes(&self, distance: &QueryDistance) -> u64 {
        let queries = panels_for(self.rows.nrows()) * PANEL;
        let panels = bytes_of::<f32>(queries.saturating_mul(distance.numbers + 2));
        panels.saturating_add(bytes_of::<f32>(queries.saturating_mul(BATCH * parallel::threads())))
    }

    /// For each target with these encoded features the candidates that count for it, nearest first, ties in their order: index,
    /// distance and weight > 0. See [`QueryDistance::combined`] and [`Smoothing`].
    pub fn nearest(
        &self,
        distance: &QueryDistance,
        smoothing: &Smoothing,
        targets: &[(&[f64], Target)],
        role: &impl Fn(usize) -> QueryRole,
    ) -> Vec<Vec<Near>> {
        let roles = Roles::new(self.rows.nrows(), role);
        let search = Search { rows: &self.rows, distance, smoothing, roles: &roles };
        if !distance.is_euclidean() || distance.numbers == 0 {
            return targets.iter().map(|(features, target)| search.by_kernels(features, *target)).collect();
        }
        let cached = self.panels.get_or_init(|| Panels::new(&self.rows, distance));
        if cached.are_for(distance) {
            return search.by_panels(cached, targets);
        }
        search.by_panels(&Panels::new(&self.rows, distance), targets)
    }
}

/// The training queries by their roles, each list ascending.
struct Roles {
    /// Queries that count without being candidates.
    counted: Vec<usize>,
    candidates: Vec<usize>,
}

impl Roles {
    fn new(queries: usize, role: &impl Fn(usize) -> QueryRole) -> Self {
        let mut roles = Self { counted: Vec::new(), candidates: Vec::new() };
        let mut ticks = Ticks::default();
        for query in 0..queries {
            ticks.add(1);
            match role(query) {
                QueryRole::Counted => roles.counted.push(query),
                QueryRole::Candidate => roles.candidates.push(query),
            }
        }
        roles
    }

    /// How many count for the bandwidth.
    fn count(&self) -> usize {
        self.counted.len() + self.candidates.len()
    }
}

/// The search for the neighbors of targets.
struct Search<'a> {
    rows: &'a Array2<f64>,
    distance: &'a QueryDistance,
    smoothing: &'a Smoothing,
    roles: &'a Roles,
}

impl Search<'_> {
    /// Any distance: orders of items and categories have no coordinates.
    fn by_kernels(&self, features: &[f64], target: Target) -> Vec<Near> {
        let Self { distance, smoothing, roles, .. } = self;
        let mut ticks = Ticks::default();
        let mut separation = |query: &usize| {
            ticks.add(COMPARISON * features.len());
            distance.between(&self.rows.row(*query).to_vec(), features)
        };
        let near: Vec<Separation> = roles.candidates.iter().map(&mut separation).collect();
        let others = roles.counted.iter().map(separation);
        let distances: Vec<f64> = near.iter().copied().chain(others).map(|other| other.distance).collect();
        let h = smoothing.bandwidth(&distances, distance.numbers);
        let combined: Vec<Option<f64>> = near.iter().map(|other| Some(distance.combined(other, h))).collect();
        let nearest = smoothing.nearest(&combined, target).into_iter();
        let neighbor = |(index, distance): (usize, f64)| {
            (roles.candidates[index], distance, smoothing.weight(&near[index], h))
        };
        nearest.map(neighbor).filter(|(_, _, weight)| *weight > 0.0).collect()
    }

    /// Distances of numbers alone. The results equal the results of [`Self::by_kernels`], bit for bit.
    fn by_panels(&self, panels: &Panels, targets: &[(&[f64], Target)]) -> Vec<Vec<Near>> {
        let stride = panels.stride();
        let mut squares = vec![0.0; stride * targets.len().min(BATCH)];
        let mut rows = Vec::with_capacity(targets.len());
        for targets in targets.chunks(BATCH) {
            panels.squares(targets, &mut squares);
            for ((features, target), squares) in targets.iter().zip(squares.chunks_mut(stride.max(1))) {
                rows.push(match panels.error(features) {
                    Some(error) => self.by_squares(features, *target, squares, error),
                    None => self.by_kernels(features, *target),
                });
            }
        }
        rows
    }

    /// The neighbors of a target by squared distances from all training queries that are off by at most `error`.
    fn by_squares(&self, features: &[f64], target: Target, squares: &mut [f32], error: f64) -> Vec<Near> {
        let Self { distance, smoothing, roles, .. } = self;
        Ticks::default().add(8 * squares.len());
        // 1. The bandwidth. Infinite distances come last.
        let exact = |query: u32| distance.numbers_between(&self.rows.row(query as usize).to_vec(), features);
        let n = roles.count();
        let median = || {
            let middle = n / 2;
            let first = if n.is_multiple_of(2) { middle.saturating_sub(1) } else { middle };
            if n == 0 {
                return 0.0;
            }
            let Candidates { below, indices } = candidates(squares, [first, middle], error);
            let mut near: Vec<f64> = indices.into_iter().map(exact).collect();
            near.sort_unstable_by(|a, b| compare(*a, *b));
            let (first, middle) = (near[first - below], near[middle - below]);
            if n.is_multiple_of(2) { 0.5 * (first + middle) } else { middle }
        };
        let h = match smoothing.kind {
            SmoothingKind::Knn => 0.0,
            _ => smoothing.bandwidth_by(median, n, distance.numbers),
        };
        // 2. The nearest candidates.
        roles.counted.iter().for_each(|&query| squares[query] = f32::INFINITY);
        let count = smoothing.neighbors_for(target).min(roles.candidates.len());
        if count == 0 {
            return Vec::new();
        }
        let near = candidates(squares, [0, count - 1], error).indices.into_iter();
        let mut near: Vec<(usize, f64)> = near.map(|query| (query as usize, exact(query))).collect();
        smoothing.keep_nearest(&mut near, target);
        let weighted = |(query, distance): (usize, f64)| {
            (query, distance, smoothing.weight(&Separation { distance, cost: 0.0 }, h))
        };
        near.into_iter().map(weighted).filter(|(_, _, weight)| *weight > 0.0).collect()
    }
}

// Squared distances of some targets from all training queries in single precision, as products of matrices.
//
// ```text
// d^2 = sum_f w_f (a_f - b_f)^2 = |a|^2 + |b|^2 - 2 sum_f w_f a_f b_f
// ```
//
// is the product of the columns (-2 w_f a_f, |a|^2, 1) and (b_f, 1, |b|^2). The mean of each number is subtracted first. With
// u = 2^-24, p numbers and n terms = p + 2 the error is at most
//
// ```text
// 2 (n + 6) u (|a|^2 + |b|^2)    rounded inputs, and n sums of terms of at most 2 (|a|^2 + |b|^2) together
// 8 D sqrt(|a|^2 + |b|^2) + 4 D^2    D the norm of the errors of a - mean and b - mean in double precision
// ```

/// Largest numbers, and largest |a|^2 + |b|^2, so that nothing overflows in single precision.
const LARGEST: f64 = 1e15;
const LONGEST: f64 = 1e30;

/// Largest error of a term with a factor that is too small for single precision.
const SMALLEST: f64 = 1e-28;

/// Numeric features of all training queries in panels, with their squared norms.
#[derive(Debug)]
pub(super) struct Panels {
    weights: Vec<f64>,
    means: Vec<f64>,
    /// Largest absolute value of each number.
    largest: Vec<f64>,
    /// Largest |b|^2.
    longest: f64,
    rows: Vec<Row>,
}

impl Panels {
    /// The numbers of these rows.
    pub(super) fn new(rows: &Array2<f64>, distance: &QueryDistance) -> Self {
        let (queries, numbers) = (rows.nrows(), distance.numbers);
        let weights = weights(distance);
        let mut ticks = Ticks::default();
        let (mut means, mut largest) = (vec![0.0; numbers], vec![0.0_f64; numbers]);
        for row in rows.rows() {
            ticks.add(numbers);
            for (number, &value) in row.iter().take(numbers).enumerate() {
                means[number] += value / queries as f64;
                largest[number] = largest[number].max(value.abs());
            }
        }
        let length = numbers + 2;
        let mut panels = vec![Row::ZERO; panels_for(queries) * length];
        let mut longest = 0.0_f64;
        for (query, row) in rows.rows().into_iter().enumerate() {
            ticks.add(numbers);
            let (panel, lane) = (&mut panels[query / PANEL * length..][..length], query % PANEL);
            let mut square = 0.0;
            for number in 0..numbers {
                let value = row[number] - means[number];
                square += weights[number] * value * value;
                panel[number].values_mut()[lane] = value as f32;
            }
            panel[numbers].values_mut()[lane] = 1.0;
            panel[numbers + 1].values_mut()[lane] = square as f32;
            // Unlike `max`, this keeps NaN.
            longest = if square <= longest { longest } else { square };
        }
        // Lanes without a query are infinitely far.
        for query in queries..panels_for(queries) * PANEL {
            panels[query / PANEL * length + numbers + 1].values_mut()[query % PANEL] = f32::INFINITY;
        }
        Self { weights, means, largest, longest, rows: panels }
    }

    /// Whether they are for this distance.
    pub(super) fn are_for(&self, distance: &QueryDistance) -> bool {
        self.weights == weights(distance)
    }

    /// Largest error of a target's squared distances; `None` if they could overflow.
    pub(super) fn error(&self, target: &[f64]) -> Option<f64> {
        let (mut square, mut deviation, mut fits) = (0.0, 0.0, true);
        for (number, weight) in self.weights.iter().enumerate() {
            let value = target[number] - self.means[number];
            square += weight * value * value;
            let size = target[number].abs() + self.largest[number] + self.means[number].abs();
            fits &= size <= LARGEST;
            let rounding = f64::EPSILON * size;
            deviation += weight * rounding * rounding;
        }
        let squares = square + self.longest;
        let terms = (self.weights.len() + 8) as f64;
        let error = terms * (f64::from(f32::EPSILON) * squares + SMALLEST)
            + 8.0 * (deviation * squares).sqrt()
            + 4.0 * deviation;
        (fits && squares <= LONGEST).then_some(error)
    }

    /// Number of squares for each target: one per query, then infinite ones up to a whole panel.
    pub(super) fn stride(&self) -> usize {
        self.rows.len() / (self.weights.len() + 2) * PANEL
    }

    /// Writes the squares of each target, one target after the other. At most [`PANEL`] targets.
    pub(super) fn squares<T>(&self, targets: &[(&[f64], T)], squares: &mut [f32]) {
        let numbers = self.weights.len();
        let mut columns = vec![Row::ZERO; numbers + 2];
        for (lane, (target, _)) in targets.iter().enumerate() {
            let mut square = 0.0;
            for (number, weight) in self.weights.iter().enumerate() {
                let value = target[number] - self.means[number];
                square += weight * value * value;
                columns[number].values_mut()[lane] = (-2.0 * weight * value) as f32;
            }
            columns[numbers].values_mut()[lane] = square as f32;
            columns[numbers + 1].values_mut()[lane] = 1.0;
        }
        let (stride, mut ticks) = (self.stride(), Ticks::default());
        let mut products = [Row::ZERO; PANEL];
        for (panel, first) in self.rows.chunks_exact(numbers + 2).zip((0..).step_by(PANEL)) {
            ticks.add(panel.len() * targets.len());
            products[..targets.len()].fill(Row::ZERO);
            add_product(&columns, panel, targets.len(), &mut products);
            for (lane, row) in products[..targets.len()].iter().enumerate() {
                let start = lane * stride + first;
                squares[start..start + PANEL].copy_from_slice(row.values());
            }
        }
    }
}

/// The weights of all numbers.
fn weights(distance: &QueryDistance) -> Vec<f64> {
    match distance.number_weights[..] {
        [] => vec![1.0; distance.numbers],
        ref weights => weights.to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::ColumnDistance;
    use crate::data::query_distance::Comparison;
    use crate::learn::smoothing::Bandwidth;
    use crate::math::Random;

    fn numbers(count: usize) -> QueryDistance {
        let column =
            |start| ColumnDistance { comparison: Comparison::Euclidean, start, width: 1, weight: 1.0 };
        QueryDistance::from((0..count).map(column).collect::<Vec<_>>())
    }

    #[test]
    fn the_nearest_match_an_exhaustive_search() {
        let mut random = Random::new(5);
        // Few different values make ties and equal queries; 6,000 queries are more than a sample.
        for (queries, different, count) in
            [(1, 2, 3), (60, 3, 7), (700, 1000, 20), (6000, 30, 9), (6000, 2, 50)]
        {
            let features = Array2::from_shape_fn((queries, 3), |_| random.below(different) as f64 / 3.0);
            let rows = QueryRows::from(features);
            let roles: Vec<usize> = (0..queries).map(|_| random.below(4)).collect();
            let role = |query: usize| match roles[query] {
                0 => QueryRole::Counted,
                _ => QueryRole::Candidate,
            };
            let plain = numbers(3);
            let weighted = plain.with_weights([(0, 0.7), (2, 0.0)]);
            for name in ["knn", "rectangular", "gaussian", "epanechnikov", "tricube"] {
                let kind = SmoothingKind::parse(name).unwrap();
                for bandwidth in
                    [Bandwidth::Median, Bandwidth::Fixed(0.4), Bandwidth::Rate, Bandwidth::Scaled(0.5)]
                {
                    let smoothing = Smoothing::new(kind, count, bandwidth);
                    for (distance, query) in [(&plain, 0), (&weighted, queries - 1)] {
                        let own = rows.row(query).to_vec();
                        let target = (&own[..], Target::Novel);
                        let bits = |found: Vec<Near>| -> Vec<(usize, u64, u64)> {
                            found.into_iter().map(|(query, d, w)| (query, d.to_bits(), w.to_bits())).collect()
                        };
                        let all = Roles::new(queries, &role);
                        let search =
                            Search { rows: &rows.rows, distance, smoothing: &smoothing, roles: &all };
                        let expected = bits(search.by_kernels(target.0, target.1));
                        let actual = rows.nearest(distance, &smoothing, &[target, target], &role);
                        assert_eq!(actual.len(), 2);
                        for actual in actual {
                            assert_eq!(bits(actual), expected, "{queries} {name}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn squares_are_within_their_error() {
        let mut random = Random::new(3);
        // Numbers far from 0, large, small, and too large for single precision.
        for (scale, offset) in [(1.0, 0.0), (1e-3, 1e9), (1e6, -5.0), (1e-12, 0.0), (1e-19, 0.0), (1e20, 0.0)]
        {
            for (queries, numbers) in [(1, 1), (48, 3), (60, 8), (101, 46)] {
                let column = |start| ColumnDistance {
                    comparison: Comparison::Euclidean,
                    start,
                    width: 1,
                    weight: 1.0,
                };
                let plain = QueryDistance::from((0..numbers).map(column).collect::<Vec<_>>());
                let weighted = plain.with_weights((0..numbers).map(|at| (at, 0.3 * at as f64)));
                // One further column, of a category, is omitted.
                let mut value = || offset + scale * random.symmetric();
                let rows = Array2::from_shape_fn((queries, numbers + 1), |_| value());
                let targets: Vec<Vec<f64>> =
                    (0..5).map(|_| (0..=numbers).map(|_| value()).collect()).collect();
                let targets: Vec<(&[f64], ())> = targets.iter().map(|target| (&target[..], ())).collect();
                for distance in [plain, weighted] {
                    let panels = Panels::new(&rows, &distance);
                    let mut squares = vec![0.0; panels.stride() * targets.len()];
                    panels.squares(&targets, &mut squares);
                    for ((target, ()), squares) in targets.iter().zip(squares.chunks(panels.stride())) {
                        let error = panels.error(target);
                        assert_eq!(error.is_some(), scale < 1e15);
                        let Some(error) = error else { continue };
                        assert!(squares[queries..].iter().all(|square| square.is_infinite()));
                        for (square, row) in squares.iter().zip(rows.rows()) {
                            let exact = distance.numbers_between(&row.to_vec(), target);
                            assert!((f64::from(*square) - exact * exact).abs() <= error, "{scale} {numbers}");
                        }
                    }
                }
            }
        }
    }
}
