//! Whether the queries of a training set differ in kind, according to their features.
//!
//! g_i is the preference of query i ([`preferences`]), in standard deviations of the scaled document features within queries;
//! missing features count 0. It is estimated from the other queries by their mean, and by the mean of those that are nearest by query features:
//!
//! ```text
//! e_i    = |g_i - mean over j != i of g_j|^2
//! e_i(K) = |g_i - mean over the K nearest j != i of g_j|^2      queries at the distance of the K-th count too
//! R2     = 1 - sum_i e_i(K) / sum_i e_i
//! t      = mean over i of (e_i - e_i(K)) / its standard error
//! ```
//!
//! This is leave-one-out validation of nearest-neighbor regression (Stone 1977). R2 and t belong to the K with the least
//! error. Of the K whose errors are within one standard error of the least, the largest is proposed to local fits: they fit
//! a weight for each feature, so they need more queries than a mean does.
//!
//! A query feature that is not a number counts as much as a standardized number: the mean cost of two random queries is 1.
//!
//! It takes O(n^2 p + n K m) operations for n queries, p query features, where an order of k items counts k^2, and m features,
//! with n at most 2,000 and n^2 p at most 5e7: larger sets are subsampled at random.

use std::fmt;

use ndarray::{Array2, Axis};
use serde::Serialize;
use serde_json::{Value, json};

use super::column_weights::preferences;
use super::number_weights::within_deviations;
use crate::base::control::{Control, Ticks};
use crate::base::error::Result;
use crate::base::memory::matrix_bytes;
use crate::base::parallel;
use crate::cost::loss::pair_count;
use crate::data::query_distance::Comparison;
use crate::data::{
    ColumnDistance, Dataset, QueryDistance, QueryFeatureKind, QueryFeatureRule, QueryScale, Scaling,
    ScalingKind,
};
use crate::math::random::Random;

/// Numbers of neighbors that are compared. Each is at most half of the queries.
const NEIGHBORS: [usize; 4] = [5, 15, 40, 100];
/// With fewer queries nothing is reported.
const FEWEST_QUERIES: usize = 30;
/// Queries that are used at most.
const MOST_QUERIES: usize = 2000;
/// Upper limit of their number squared times p: a tenth of a second.
const MOST_PRODUCTS: f64 = 5e7;
/// Largest t that is reported. Without any error t would be infinite.
const MOST_T: f64 = 1000.0;
/// t above which queries differ. None of 800 simulated sets without differences reaches it; of those with 300 queries and
/// R2 .05 four fifths do. On eight real sets t is above 8 where a function per query is better, and at most 2 elsewhere.
const CLEAR: f64 = 3.0;

/// Evidence that query features explain differences between queries.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct QueryDependence {
    /// Number of queries with different grades that were compared.
    queries: usize,
    /// Share of the variation of preferences that the nearest queries explain, at most 1.
    r2: f64,
    /// Mean improvement per query, in standard errors.
    t: f64,
    /// Number of neighbors for local fits.
    pub neighbors: usize,
    /// Whether queries differ: t is above 3.
    pub differ: bool,
    /// The same for the numbers among the query features alone.
    #[serde(skip)]
    by_numbers: bool,
}

impl QueryDependence {
    /// The statistic for query features of this kind, by default of the first kind that exists. `None` if undecidable: fewer
    /// than 30 queries with different grades, or no query feature that varies. `given`: comparisons that the caller chose.
    ///
    /// # Errors
    /// [`Error::Interrupted`](crate::Error::Interrupted) when canceled; [`Error::Memory`](crate::Error::Memory).
    pub fn of(
        data: &Dataset,
        kind: Option<QueryFeatureKind>,
        given: &[(String, Comparison)],
        control: &Control,
    ) -> Result<Option<Self>> {
        // 1. Queries whose grades differ, with their features.
        let differs = |query: &usize| pair_count(data.labels(*query)) > 0;
        let mut queries: Vec<usize> = (0..data.n_queries()).filter(differs).collect();
        if queries.len() < FEWEST_QUERIES {
            return Ok(None);
        }
        let Some((features, distance)) = encoded(data, kind, given) else { return Ok(None) };
        let is_number = |column: &&ColumnDistance| column.comparison == Comparison::Euclidean;
        let products: usize = distance.columns.iter().map(|column| column.width * column.width).sum();
        let most = (MOST_PRODUCTS / products as f64).sqrt() as usize;
        let most = most.clamp(FEWEST_QUERIES, MOST_QUERIES);
        if queries.len() > most {
            Random::new(0).shuffle(&mut queries);
            queries.truncate(most);
            queries.sort_unstable();
        }
        let features: Vec<Vec<f64>> = queries.iter().map(|query| features.row(*query).to_vec()).collect();
        let rows: Vec<usize> = queries.iter().flat_map(|query| data.rows(*query)).collect();
        let columns = data.features.columns() + features[0].len() + 2 * parallel::threads();
        let what = "comparing the preferences of queries";
        let _memory = control.reserve(
            matrix_bytes(rows.len() + queries.len(), columns),
            what,
            "use fewer queries or features",
        )?;
        let mut data = data.subset(&rows);
        // 2. The queries' preferences.
        let scaling = Scaling::fit(ScalingKind::Quantile, &data, control)?;
        let unscaled = data.take_features();
        data.features = scaling.matrix(unscaled, &data.offsets, control)?.without_nan();
        let all: Vec<usize> = (0..data.n_queries()).collect();
        let mut preferences = preferences(&data, &all);
        for (mut column, deviation) in
            preferences.columns_mut().into_iter().zip(within_deviations(&data, &all))
        {
            column *= if deviation > 0.0 { 1.0 / deviation } else { 0.0 };
        }
        // Errors of each query's estimates.
        let total = preferences.sum_axis(Axis(0)).to_vec();
        let compared = |distance: &QueryDistance| -> Result<Option<Self>> {
            let errors = |query: usize| {
                control.check()?;
                Ok(errors_of(query, &features, distance, &preferences, &total))
            };
            Ok(Self::from_errors(&parallel::try_map(queries.len(), errors)?))
        };
        let dependence = compared(&balanced(&features, &distance))?;
        if distance.is_euclidean() {
            return Ok(dependence);
        }
        let numbers: Vec<ColumnDistance> = distance.columns.iter().filter(is_number).copied().collect();
        let by_numbers = compared(&QueryDistance::from(numbers))?.is_some_and(|dependence| dependence.differ);
        Ok(dependence.map(|dependence| Self { by_numbers, ..dependence }))
    }

    /// `errors`: for each query the error of the mean of all, followed by the error for each number of neighbors.
    fn from_errors(errors: &[Vec<f64>]) -> Option<Self> {
        let sum = |column: usize| errors.iter().map(|of_query| of_query[column]).sum::<f64>();
        let numbers = errors.first()?.len();
        let best = (1..numbers).min_by(|a, b| sum(*a).total_cmp(&sum(*b)))?;
        // A difference's mean in standard errors.
        let t_of = |worse: usize, better: usize| {
            let n = errors.len() as f64;
            let difference = |of_query: &Vec<f64>| of_query[worse] - of_query[better];
            let mean = errors.iter().map(difference).sum::<f64>() / n;
            let squares: f64 = errors.iter().map(|all| (difference(all) - mean).powi(2)).sum();
            let standard_error = (squares / (n - 1.0) / n).sqrt();
            // Without differences between queries the error is 0, or what rounding leaves.
            let standard_error = standard_error.max(mean.abs() / MOST_T);
            if standard_error > 0.0 { mean / standard_error } else { 0.0 }
        };
        let most = (best..numbers).rev().find(|other| t_of(*other, best) <= 1.0).unwrap_or(best);
        let t = t_of(0, best);
        (sum(0) > 0.0).then(|| Self {
            queries: errors.len(),
            r2: 1.0 - sum(best) / sum(0),
            t,
            neighbors: NEIGHBORS[most - 1],
            differ: t > CLEAR,
            by_numbers: t > CLEAR,
        })
    }

    /// The key in reports.
    pub const KEY: &str = "query_dependence";

    /// The entry in a report.
    pub fn report(found: Option<&Self>) -> Value {
        let cannot_say = "fewer than 30 queries with different grades, or no query feature varies";
        found.map_or_else(|| json!({ "differ": null, "reason": cannot_say }), |found| json!(found))
    }

    /// Whether they do by the numbers among their features alone.
    pub fn differ_by_numbers(&self) -> bool {
        self.by_numbers
    }
}

impl fmt::Display for QueryDependence {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "R2 {:.3}, t {:.1}; t above {CLEAR} is clear", self.r2, self.t)
    }
}

/// The encoded query features (`n_queries`, at least 1), numbers standardized, and their distance; `None` if all are constant or a
/// value is one that training refuses itself.
fn encoded(
    data: &Dataset,
    kind: Option<QueryFeatureKind>,
    given: &[(String, Comparison)],
) -> Option<(Array2<f64>, QueryDistance)> {
    let (rule, distance) = QueryFeatureRule::fit(data, kind, QueryScale::Standard, given).ok()?;
    // A missing number counts as the mean.
    let features = rule.features(data).ok()?.mapv(|value| if value.is_nan() { 0.0 } else { value });
    let varies = features.rows().into_iter().any(|row| row != features.row(0));
    varies.then_some((features, distance))
}

/// The distance in which each non-numeric column has the mean cost 1. Costs of `kendall` may be infinite, so orders are
/// compared by `mallows`.
fn balanced(features: &[Vec<f64>], distance: &QueryDistance) -> QueryDistance {
    let mut order: Vec<usize> = (0..features.len()).collect();
    Random::new(0).shuffle(&mut order);
    let balance = |column: &ColumnDistance| {
        let is_kendall = column.comparison == Comparison::Kendall;
        let comparison = if is_kendall { Comparison::Mallows } else { column.comparison };
        let column = ColumnDistance { comparison, ..*column };
        let cost = |pair: &[usize]| column.cost_per_weight(&features[pair[0]], &features[pair[1]]);
        let mean = order.windows(2).map(cost).sum::<f64>() / order.len() as f64;
        ColumnDistance { weight: if mean > 0.0 { 1.0 / mean } else { 1.0 }, ..column }
    };
    QueryDistance::from(distance.columns.iter().map(balance).collect::<Vec<_>>())
}

/// Errors of a query's estimates: by the mean of all others, then by the nearest ones.
/// `total`: the sum of all preferences.
fn errors_of(
    query: usize,
    features: &[Vec<f64>],
    distance: &QueryDistance,
    preferences: &Array2<f64>,
    total: &[f64],
) -> Vec<f64> {
    let (n, m) = preferences.dim();
    let mut ticks = Ticks::default();
    let work = features[query].len();
    let work = if distance.is_euclidean() { work } else { work * work };
    let mut near: Vec<(f64, usize)> = Vec::with_capacity(n);
    for other in (0..n).filter(|other| *other != query) {
        ticks.add(work);
        let separation = distance.between(&features[query], &features[other]);
        near.push((distance.combined(&separation, 1.0), other));
    }
    let own = preferences.row(query);
    let error = |sum: &[f64], count: usize| {
        own.iter().zip(sum).map(|(own, sum)| (own - sum / count as f64).powi(2)).sum::<f64>()
    };
    let others: Vec<f64> = total.iter().zip(own).map(|(total, own)| total - own).collect();
    let mut errors = vec![error(&others, n - 1)];
    // Neighbors are added from the nearest on; those at equal distances in the order of the queries.
    let most = NEIGHBORS.into_iter().rfind(|most| 2 * most <= n).unwrap_or(NEIGHBORS[0]);
    let (_, last, _) = near.select_nth_unstable_by(most - 1, |a, b| a.0.total_cmp(&b.0));
    let end = last.0;
    near.retain(|(distance, _)| *distance <= end);
    near.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let (mut sum, mut counted) = (vec![0.0; m], 0);
    for most in NEIGHBORS.into_iter().filter(|most| 2 * most <= n) {
        let end = near[most - 1].0;
        while near.get(counted).is_some_and(|(distance, _)| counted < most || *distance <= end) {
            ticks.add(m);
            sum.iter_mut().zip(preferences.row(near[counted].1)).for_each(|(sum, other)| *sum += other);
            counted += 1;
        }
        errors.push(error(&sum, counted));
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Features and preferences of simulated queries, and how features are compared.
    struct Simulated {
        features: Vec<Vec<f64>>,
        distance: QueryDistance,
        preferences: Array2<f64>,
    }

    impl Simulated {
        /// Preferences that are `signal` times the features of the query plus noise. Features take few values, so that many
        /// distances are equal.
        fn numbers(seed: u64, queries: usize, signal: f64) -> Self {
            let mut random = Random::new(seed);
            let mut value = || (random.symmetric() * 4.0).round();
            let features: Vec<Vec<f64>> = (0..queries).map(|_| vec![value(), value()]).collect();
            let noise = Array2::from_shape_fn((queries, 3), |_| random.symmetric());
            let preferences = Array2::from_shape_fn((queries, 3), |(query, column)| {
                noise[[query, column]] + signal * features[query][column % 2]
            });
            let column =
                |start| ColumnDistance { comparison: Comparison::Euclidean, start, width: 1, weight: 1.0 };
            Self { features, distance: QueryDistance::from(vec![column(0), column(1)]), preferences }
        }

        /// The same, with two numbers without effect, and preferences that are `signal` for one of three texts and -`signal`
        /// for another.
        fn texts(seed: u64, queries: usize, signal: f64) -> Self {
            let Self { mut features, distance, mut preferences } = Self::numbers(seed, queries, 0.0);
            let mut random = Random::new(seed + 1000);
            for (features, mut preferences) in features.iter_mut().zip(preferences.rows_mut()) {
                features.push(random.below(3) as f64);
                preferences += signal * (features[2] - 1.0);
            }
            let column = ColumnDistance { comparison: Comparison::Overlap, start: 2, width: 1, weight: 1.0 };
            let columns: Vec<ColumnDistance> = distance.columns.iter().copied().chain([column]).collect();
            let distance = balanced(&features, &QueryDistance::from(columns));
            Self { features, distance, preferences }
        }

        fn errors(&self) -> Vec<Vec<f64>> {
            let sum = self.preferences.sum_axis(Axis(0)).to_vec();
            let errors = |query| errors_of(query, &self.features, &self.distance, &self.preferences, &sum);
            (0..self.features.len()).map(errors).collect()
        }
    }

    #[test]
    fn query_dependence_has_the_errors_of_their_definition() {
        let data = Simulated::numbers(1, 90, 0.3);
        let Simulated { features, preferences, .. } = &data;
        for (query, errors) in data.errors().iter().enumerate() {
            let distance = |other: usize| crate::math::distance(&features[query], &features[other]);
            let error = |near: &[usize]| {
                let mean = preferences.select(ndarray::Axis(0), near).mean_axis(ndarray::Axis(0)).unwrap();
                (&preferences.row(query) - &mean).mapv(|difference| difference * difference).sum()
            };
            let others: Vec<usize> = (0..90).filter(|other| *other != query).collect();
            let mut expected = vec![error(&others)];
            for most in [5, 15, 40] {
                let mut distances: Vec<f64> = others.iter().map(|other| distance(*other)).collect();
                distances.sort_by(f64::total_cmp);
                let near: Vec<usize> =
                    others.iter().copied().filter(|other| distance(*other) <= distances[most - 1]).collect();
                expected.push(error(&near));
            }
            assert_eq!(errors.len(), expected.len());
            assert!(errors.iter().zip(&expected).all(|(found, expected)| (found - expected).abs() < 1e-12));
        }
    }

    #[test]
    fn query_dependence_is_found_if_and_only_if_it_exists() {
        // With these signals R2 is about .05, and .24 for texts, which come with two numbers without effect.
        let simulated =
            [(Simulated::numbers as fn(u64, usize, f64) -> Simulated, 0.066), (Simulated::texts, 0.4)];
        for (simulated, signal) in simulated {
            let differs = |seed: u64, signal: f64| {
                QueryDependence::from_errors(&simulated(seed, 300, signal).errors()).unwrap().differ
            };
            let count = |seeds: u64, signal: f64| (0..seeds).filter(|seed| differs(*seed, signal)).count();
            let (false_alarms, found) = (count(200, 0.0), count(100, signal));
            assert!(false_alarms == 0 && found >= 80, "{false_alarms} {found}");
        }
    }

    #[test]
    fn query_dependence_proposes_the_largest_number_of_neighbors_that_is_as_good() {
        // By the mean of all, of 5, of 15, of 40: 15 is best, 40 as good, 5 and the mean of all are worse.
        let errors: Vec<Vec<f64>> =
            (0..50).map(|query| vec![9.0, 5.0, 2.0, 2.0 + f64::from(query % 2) * 2.0 - 0.95]).collect();
        let found = QueryDependence::from_errors(&errors).unwrap();
        assert_eq!((found.neighbors, found.queries), (40, 50));
        assert!((found.r2 - 7.0 / 9.0).abs() < 1e-12);
    }
}
