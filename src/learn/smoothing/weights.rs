//! Smoothing: how much each training query counts for a target query.
//!
//! For a target q0 and training queries q_i at distances d_i = |q_i - q0| the weight is pi_i = W(d_i / h), cut to the
//! nearest `neighbors` and all others at the distance of the last of them; Dai & Wang (2019), section 2.2. For a novel
//! query, which has no training data, it is cut to the nearest `novel_neighbors` (section 5.2). With u = d / h:
//!
//! | name | W(u) |
//! |---|---|
//! | `uniform` | 1 for every query: one function for all queries |
//! | `individual` | 1 for the target's own judgments, 0 else |
//! | `knn` | 1 for the nearest `neighbors` (Geng et al. 2008) |
//! | `rectangular` | 1 for u <= 1 |
//! | `gaussian` | exp(-u^2 / 2) |
//! | `epanechnikov` | 3/4 (1 - u^2) for u <= 1 |
//! | `tricube` | 70/81 (1 - u^3)^3 for u <= 1 |
//!
//! Weights are not normalized, and not divided by h^p, unlike the paper's. The bandwidth h is a number, the median distance
//! from q0 to all training queries or a multiple of it, or that median times n^(-1 / (6 + 2p)) for n training queries and p query features: the
//! rate of theorem 1, whose constant is the median.

use serde::{Deserialize, Serialize};

use crate::base::named;
use crate::data::Separation;
use crate::math::{compare, keep_smallest, median};

/// Which training queries count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum SmoothingKind {
    /// All queries equally.
    Uniform,
    /// The target's own judgments only.
    Individual,
    /// The nearest ones equally.
    Knn,
    /// All within the bandwidth equally.
    Rectangular,
    /// Gaussian kernel.
    Gaussian,
    /// Epanechnikov kernel.
    Epanechnikov,
    /// Tri-cube kernel.
    Tricube,
}

/// The bandwidth h.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Bandwidth {
    /// Median distance from the target to all training queries.
    Median,
    /// A fixed distance, above 0.
    Fixed(f64),
    /// The median times [`bandwidth_rate`].
    Rate,
    /// The median times this factor, above 0.
    Scaled(f64),
}

/// A query by what the training set has of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// A training query.
    Observed,
    /// Any other query.
    Novel,
}

/// The rate n^(-1 / (6 + 2p)) of the bandwidth for n training queries with p features; Dai & Wang (2019), theorem 1.
pub fn bandwidth_rate(n: usize, p: usize) -> f64 {
    libm::pow(n as f64, -1.0 / (6.0 + 2.0 * p as f64))
}

/// The rate n^(-2 / (9 + 3p)) of lambda for n training queries with p features; Dai & Wang (2019), theorem 1.
pub fn lambda_rate(n: usize, p: usize) -> f64 {
    libm::pow(n as f64, -2.0 / (9.0 + 3.0 * p as f64))
}

/// A smoothing with its parameters.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Smoothing {
    /// Which queries count.
    pub kind: SmoothingKind,
    /// Largest number of nearest queries that count for a training query (>= 1); not used by `uniform` and
    /// `individual`.
    pub neighbors: usize,
    /// The same for a novel query.
    pub novel_neighbors: usize,
    /// Scale of distances; used by the four kernels of u.
    pub bandwidth: Bandwidth,
}

named!(SmoothingKind {
    Uniform = "uniform",
    Individual = "individual",
    Knn = "knn",
    Rectangular = "rectangular",
    Gaussian = "gaussian",
    Epanechnikov = "epanechnikov",
    Tricube = "tricube",
});

impl SmoothingKind {
    /// Whether weights depend on the distance between queries.
    pub fn uses_distance(self) -> bool {
        !matches!(self, Self::Uniform | Self::Individual)
    }

    /// The kernel W(u) of a scaled distance u >= 0.
    fn at(self, u: f64) -> f64 {
        let inside = u <= 1.0;
        match self {
            Self::Uniform | Self::Individual | Self::Knn => 1.0,
            Self::Rectangular => f64::from(u8::from(inside)),
            Self::Gaussian => libm::exp(-0.5 * u * u),
            Self::Epanechnikov if inside => 0.75 * (1.0 - u * u),
            Self::Tricube if inside => {
                let base = 1.0 - u * u * u;
                70.0 / 81.0 * (base * base * base)
            }
            Self::Epanechnikov | Self::Tricube => 0.0,
        }
    }
}

impl Smoothing {
    /// A smoothing with the same number of neighbors for training queries and novel ones.
    pub fn new(kind: SmoothingKind, neighbors: usize, bandwidth: Bandwidth) -> Self {
        Self { kind, neighbors, novel_neighbors: neighbors, bandwidth }
    }

    /// The largest number of queries that count for a target.
    pub fn neighbors_for(&self, target: Target) -> usize {
        match target {
            Target::Observed => self.neighbors,
            Target::Novel => self.novel_neighbors,
        }
    }

    /// The kind of target for which more queries count.
    pub fn widest(&self) -> Target {
        if self.neighbors > self.novel_neighbors { Target::Observed } else { Target::Novel }
    }

    /// The bandwidth h for a target with these distances to all training queries, which have p features; 0 without any.
    pub fn bandwidth(&self, distances: &[f64], p: usize) -> f64 {
        self.bandwidth_by(|| median(distances).unwrap_or(0.0), distances.len(), p)
    }

    /// The bandwidth h for a target with this median distance to all `n` training queries, which have p features.
    pub fn bandwidth_by(&self, median: impl FnOnce() -> f64, n: usize, p: usize) -> f64 {
        match self.bandwidth {
            Bandwidth::Median => median(),
            Bandwidth::Fixed(h) => h,
            Bandwidth::Rate => median() * bandwidth_rate(n, p),
            Bandwidth::Scaled(factor) => median() * factor,
        }
    }

    /// Candidates that count for the target, nearest first, with their weights pi > 0.
    ///
    /// `distances`: from the target to each candidate; `h`: the bandwidth. `None` entries are not candidates.
    /// For the kinds that use distances only.
    pub fn weights(&self, distances: &[Option<f64>], h: f64, target: Target) -> Vec<(usize, f64)> {
        let weight = |distance| self.weight(&Separation { distance, cost: 0.0 }, h);
        let near =
            self.nearest(distances, target).into_iter().map(|(index, distance)| (index, weight(distance)));
        near.filter(|(_, weight)| *weight > 0.0).collect()
    }

    /// The weight pi of a training query.
    pub fn weight(&self, separation: &Separation, h: f64) -> f64 {
        let Separation { distance, cost } = *separation;
        let numbers = self.kind.at(if distance > 0.0 { distance / h } else { 0.0 });
        match self.kind {
            _ if cost <= 0.0 => numbers,
            SmoothingKind::Knn => f64::from(u8::from(cost.is_finite())),
            _ => numbers * libm::exp(-cost),
        }
    }

    /// The nearest candidates with their distances, nearest first; equal ones in the order of the candidates. The target
    /// determines their number. `None` entries are not candidates.
    pub fn nearest(&self, distances: &[Option<f64>], target: Target) -> Vec<(usize, f64)> {
        let mut near: Vec<(usize, f64)> =
            distances.iter().enumerate().filter_map(|(index, d)| d.map(|d| (index, d))).collect();
        self.keep_nearest(&mut near, target);
        near
    }

    /// Keeps the (index, distance) pairs that count for the target, nearest first.
    pub(super) fn keep_nearest(&self, near: &mut Vec<(usize, f64)>, target: Target) {
        let count = self.neighbors_for(target);
        if count >= near.len() {
            return keep_smallest(near, count);
        }
        let last = near.select_nth_unstable_by(count - 1, |a, b| compare(a.1, b.1)).1.1;
        near.retain(|(_, distance)| compare(*distance, last).is_le());
        keep_smallest(near, usize::MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::query_distance::Comparison;
    use crate::data::{ColumnDistance, QueryDistance};

    #[test]
    fn names_and_kinds_agree() {
        for name in SmoothingKind::NAMES {
            assert_eq!(SmoothingKind::parse(name).map(SmoothingKind::name), Some(*name));
        }
        assert_eq!(SmoothingKind::parse("cosine"), None);
    }

    #[test]
    fn all_queries_at_the_last_distance_count() {
        let distances = [Some(1.0), None, Some(0.5), Some(1.0), Some(1.5)];
        let smoothing = Smoothing::new(SmoothingKind::Knn, 2, Bandwidth::Median);
        assert_eq!(smoothing.weights(&distances, 1.0, Target::Novel), [(2, 1.0), (0, 1.0), (3, 1.0)]);
    }

    #[test]
    fn novel_queries_have_their_own_number_of_neighbors() {
        let smoothing =
            Smoothing { novel_neighbors: 3, ..Smoothing::new(SmoothingKind::Knn, 1, Bandwidth::Median) };
        let near = |target| smoothing.weights(&[Some(1.0), Some(0.5), Some(2.0), Some(3.0)], 1.0, target);
        assert_eq!(near(Target::Observed), [(1, 1.0)]);
        assert_eq!(near(Target::Novel), [(1, 1.0), (0, 1.0), (2, 1.0)]);
        assert_eq!(smoothing.widest(), Target::Novel);
    }

    #[test]
    fn rates_match_theorem_1() {
        // 64^(-1/8) and 4096^(-2/12).
        assert!((bandwidth_rate(64, 1) - 0.594_603_557_501_360_5).abs() < 1e-15);
        assert!((lambda_rate(4096, 1) - 0.25).abs() < 1e-15);
        let smoothing = Smoothing::new(SmoothingKind::Gaussian, 5, Bandwidth::Rate);
        let distances: Vec<f64> = (0..64).map(f64::from).collect();
        assert!((smoothing.bandwidth(&distances, 1) - 31.5 * bandwidth_rate(64, 1)).abs() < 1e-14);
    }

    #[test]
    fn the_nearest_match_a_full_sort() {
        let distances: Vec<Option<f64>> =
            (0..101_u32).map(|i| (i % 9 > 0).then(|| f64::from(i * 37 % 23))).collect();
        let with = |neighbors| {
            let smoothing = Smoothing::new(SmoothingKind::Gaussian, neighbors, Bandwidth::Median);
            smoothing.weights(&distances, 9.0, Target::Novel)
        };
        let all = with(1000);
        assert!(all.is_sorted_by(|a, b| a.1 > b.1 || (a.1 >= b.1 && a.0 < b.0)));
        let at = |index: usize| distances[all[index].0];
        for neighbors in 1..all.len() {
            let last = (neighbors..all.len()).find(|next| at(*next) > at(neighbors - 1)).unwrap_or(all.len());
            assert_eq!(with(neighbors), all[..last]);
        }
    }

    #[test]
    fn identical_queries_count_fully_when_the_bandwidth_is_zero() {
        let smoothing = Smoothing::new(SmoothingKind::Gaussian, 5, Bandwidth::Median);
        assert_eq!(smoothing.weights(&[Some(0.0), Some(1.0)], 0.0, Target::Novel), [(0, 1.0)]);
    }

    fn column(comparison: Comparison, start: usize, width: usize, weight: f64) -> ColumnDistance {
        ColumnDistance { comparison, start, width, weight }
    }

    #[test]
    fn the_weight_is_the_product_of_the_kernels() {
        let distance = QueryDistance::from(vec![
            column(Comparison::Overlap, 2, 1, 0.7),
            column(Comparison::Euclidean, 0, 1, 1.0),
            column(Comparison::Mallows, 3, 3, 0.4),
            column(Comparison::Euclidean, 1, 1, 1.0),
            column(Comparison::Kendall, 6, 3, 1.0),
        ]);
        distance.validate(9).unwrap();
        let a = [[0.0, 0.0, 1.0].as_slice(), &[0.0, 1.0, 2.0], &[0.0, 1.0, 2.0]].concat();
        let b = [[3.0, 4.0, 2.0].as_slice(), &[1.0, 2.0, 0.0], &[0.0, 2.0, 1.0]].concat();
        let separation = distance.between(&a, &b);
        let product = (-0.7_f64).exp() * (-0.8_f64).exp() * (1.0 - 2.0 / 3.0);
        let smoothing = Smoothing::new(SmoothingKind::Gaussian, 9, Bandwidth::Median);
        let expected = (-0.5 * 2.5 * 2.5_f64).exp() * product;
        assert!((smoothing.weight(&separation, 2.0) / expected - 1.0).abs() < 1e-14);
        // With a Gaussian W the combined distance gives the same weight.
        let combined = distance.combined(&separation, 2.0);
        assert!(((-0.5 * combined * combined).exp() / expected - 1.0).abs() < 1e-14);
        // Opposite orders have the Kendall kernel 0: they are never neighbors.
        let opposite = [&a[..6], &[2.0, 1.0, 0.0]].concat();
        let separation = distance.between(&a, &opposite);
        assert_eq!(separation, Separation { distance: 0.0, cost: f64::INFINITY });
        for kind in [SmoothingKind::Gaussian, SmoothingKind::Knn, SmoothingKind::Rectangular] {
            let smoothing = Smoothing::new(kind, 9, Bandwidth::Median);
            assert!(smoothing.weight(&separation, 1.0) <= 0.0);
        }
        // Weight 0 ignores the column.
        let silent = distance.with_weights([(4, 0.0), (0, 0.0), (2, 0.0)]);
        assert_eq!(silent.between(&a, &opposite), Separation { distance: 0.0, cost: 0.0 });
    }

    #[test]
    fn the_nearest_have_the_largest_products() {
        let distance = QueryDistance::from(vec![
            column(Comparison::Euclidean, 0, 1, 1.0),
            column(Comparison::Overlap, 1, 1, 0.9),
            column(Comparison::Mallows, 2, 3, 0.3),
        ]);
        let row = |i: usize| {
            let numbers = [((i * 37) % 23) as f64 / 5.0, (i % 4) as f64];
            [numbers.as_slice(), &[(i % 3) as f64, ((i + 1) % 3) as f64, ((i + 2) % 3) as f64]].concat()
        };
        let separations: Vec<Separation> = (0..60).map(|i| distance.between(&row(i), &row(61))).collect();
        let candidates: Vec<Option<f64>> =
            separations.iter().map(|separation| Some(distance.combined(separation, 1.5))).collect();
        let smoothing = Smoothing::new(SmoothingKind::Gaussian, 12, Bandwidth::Fixed(1.5));
        let near = smoothing.nearest(&candidates, Target::Novel);
        let weight = |index: usize| smoothing.weight(&separations[index], 1.5);
        assert!(near.windows(2).all(|pair| weight(pair[0].0) >= weight(pair[1].0) * (1.0 - 1e-14)));
        let least = weight(near[11].0);
        let others = (0..60).filter(|index| near.iter().all(|(chosen, _)| chosen != index));
        assert!(others.into_iter().all(|index| weight(index) <= least * (1.0 + 1e-14)));
    }
}
