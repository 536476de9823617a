//! Smoothing: how much each training query counts for a target query.
//!
//! For a target q0 and training queries q_i at distances d_i = |q_i - q0| the weight is pi_i = W(d_i / h), cut to the
//! nearest `neighbors` (ties by training order); Dai & Wang (2019), section 2.2. With u = d / h:
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
//! Weights are not normalized. The bandwidth h is a number or the median distance from q0 to all training queries.

use serde::{Deserialize, Serialize};

use crate::math::order::{compare, median};
use crate::param::named;

/// Which training queries count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum SmoothingKind {
    /// All queries alike.
    Uniform,
    /// The target's own judgments only.
    Individual,
    /// The nearest ones alike.
    Knn,
    /// Those within the bandwidth alike.
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
}

/// A smoothing with its parameters.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Smoothing {
    /// Which queries count.
    pub kind: SmoothingKind,
    /// At most this many nearest queries count (>= 1); not used by `uniform` and `individual`.
    pub neighbors: usize,
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
    /// True if weights follow the distance between queries.
    pub fn uses_distance(self) -> bool {
        !matches!(self, Self::Uniform | Self::Individual)
    }

    /// W(u) of the kernels of a scaled distance u >= 0.
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
    /// The bandwidth h for a target with these distances to all training queries; 0 without any.
    pub fn bandwidth(&self, distances: &[f64]) -> f64 {
        match self.bandwidth {
            Bandwidth::Median => median(distances).unwrap_or(0.0),
            Bandwidth::Fixed(h) => h,
        }
    }

    /// Candidates that count for the target, nearest first, with their weights pi > 0.
    ///
    /// `distances`: from the target to each candidate; `h`: the bandwidth. `None` entries are no candidates.
    /// For the kinds that use distances only.
    pub fn weights(&self, distances: &[Option<f64>], h: f64) -> Vec<(usize, f64)> {
        let mut near: Vec<(usize, f64)> =
            distances.iter().enumerate().filter_map(|(index, d)| d.map(|d| (index, d))).collect();
        let nearer = |a: &(usize, f64), b: &(usize, f64)| compare(a.1, b.1).then(a.0.cmp(&b.0));
        // Of many queries few count: only these are put in order.
        if self.neighbors < near.len() {
            near.select_nth_unstable_by(self.neighbors, nearer);
            near.truncate(self.neighbors);
        }
        near.sort_unstable_by(nearer);
        near.into_iter()
            .map(|(index, d)| (index, self.kind.at(if d > 0.0 { d / h } else { 0.0 })))
            .filter(|(_, weight)| *weight > 0.0)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_kinds_agree() {
        for name in SmoothingKind::NAMES {
            assert_eq!(SmoothingKind::parse(name).map(SmoothingKind::name), Some(*name));
        }
        assert_eq!(SmoothingKind::parse("cosine"), None);
    }

    #[test]
    fn ties_go_to_the_earlier_query_and_only_neighbors_count() {
        let smoothing = Smoothing { kind: SmoothingKind::Knn, neighbors: 2, bandwidth: Bandwidth::Median };
        let near = smoothing.weights(&[Some(1.0), None, Some(0.5), Some(1.0)], 1.0);
        assert_eq!(near, [(2, 1.0), (0, 1.0)]);
    }

    #[test]
    fn the_nearest_are_those_of_the_whole_order() {
        let distances: Vec<Option<f64>> =
            (0..101_u32).map(|i| (i % 9 > 0).then(|| f64::from(i * 37 % 23))).collect();
        let with = |neighbors| {
            Smoothing { kind: SmoothingKind::Gaussian, neighbors, bandwidth: Bandwidth::Median }
                .weights(&distances, 9.0)
        };
        let all = with(1000);
        assert!(all.is_sorted_by(|a, b| a.1 > b.1 || (a.1 >= b.1 && a.0 < b.0)));
        for neighbors in 1..all.len() {
            assert_eq!(with(neighbors), all[..neighbors]);
        }
    }

    #[test]
    fn identical_queries_count_fully_when_the_bandwidth_is_zero() {
        let smoothing =
            Smoothing { kind: SmoothingKind::Gaussian, neighbors: 5, bandwidth: Bandwidth::Median };
        assert_eq!(smoothing.weights(&[Some(0.0), Some(1.0)], 0.0), [(0, 1.0)]);
    }
}
