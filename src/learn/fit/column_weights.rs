//! Weights of the query features that are not numbers, by leave-one-out cross-validation.
//!
//! How much a category or an order says about a ranking cannot be seen from its values. Racine & Li (2004) choose the
//! bandwidths of kernel regression with categorical covariates by leave-one-out, which also finds the covariates that say
//! nothing (Hall, Li & Racine 2007). Here the regression predicts the preference of a query,
//!
//! ```text
//! g_i = mean over pairs y_j > y_l of query i of (x_j - x_l),
//! ```
//!
//! the direction in which relevance grows, by the mean of its neighbors with their weights pi. The criterion of the weights w
//! of the columns is sum_i |g_i - sum_j pi_ij g_j / sum_j pi_ij|^2. One column after the other takes the least of a few
//! candidates that is within one standard error of the best (Breiman et al. 1984).

use ndarray::Array2;

use super::neighborhood::Neighborhood;
use crate::base::{Control, Result, Ticks, matrix_bytes, parallel};
use crate::data::query_distance::Comparison;
use crate::data::{Dataset, QueryDistance, Separation};
use crate::learn::smoothing::{COMPARISON, Target};
use crate::math::{compare, sort_ascending};

/// Candidates for -log K of two queries that differ as two queries of the training set do on average.
const STRENGTHS: &[f64] = &[0.0, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0];

/// Largest number of queries that are predicted.
const MAX_TARGETS: usize = 300;

/// Largest number of pairs of queries that are compared.
const MAX_PAIRS: usize = 5_000_000;

/// Largest number of rounds over the columns.
const MAX_ROUNDS: usize = 5;

/// The distance with the weights of its columns that predict preferences best; unchanged if all columns are numbers.
///
/// `data`: the training set, its features scaled, queries in the order of the neighborhood.
///
/// # Errors
/// [`Error::Interrupted`](crate::Error::Interrupted) when canceled; [`Error::Memory`](crate::Error::Memory).
pub fn column_weights(
    neighborhood: &Neighborhood,
    data: &Dataset,
    control: &Control,
) -> Result<QueryDistance> {
    let distance = &neighborhood.distance;
    let columns: Vec<usize> = (0..distance.columns.len())
        .filter(|column| distance.columns[*column].comparison != Comparison::Euclidean)
        .collect();
    let queries: Vec<usize> =
        (0..data.n_queries()).filter(|query| neighborhood.blocks.is_informative(*query)).collect();
    if columns.is_empty() || queries.len() < 3 {
        return Ok(distance.clone());
    }
    // 1. What does not depend on the weights: preferences, and what separates the queries.
    let targets = MAX_TARGETS.min(MAX_PAIRS / queries.len()).clamp(1, queries.len());
    let numbers = targets.saturating_mul(queries.len()).saturating_mul(columns.len() + 1);
    let what = format_args!("comparing {targets} queries with {}", queries.len());
    let bytes = matrix_bytes(numbers, 1) + matrix_bytes(queries.len(), data.features.columns());
    let _memory = control.reserve(bytes, what, "use fewer query features or queries")?;
    let preferences = preferences(data, &queries);
    let target = |number: usize| {
        control.check()?;
        Ok(Comparisons::new(neighborhood, &queries, number * queries.len() / targets, &columns))
    };
    let targets: Vec<Comparisons> = parallel::try_map(targets, target)?;
    // 2. The weights.
    let units: Vec<f64> = (0..columns.len()).map(|column| unit(&targets, column)).collect();
    let errors = |strengths: &[f64]| -> Result<Vec<f64>> {
        control.check()?;
        let weights: Vec<f64> =
            strengths.iter().zip(&units).map(|(strength, unit)| strength * unit).collect();
        Ok(parallel::map(targets.len(), |number| targets[number].error(neighborhood, &weights, &preferences)))
    };
    let strengths = best_strengths(columns.len(), errors)?;
    let weights = strengths.iter().zip(&units).map(|(strength, unit)| strength * unit);
    Ok(distance.with_weights(columns.into_iter().zip(weights)))
}

/// The strengths of `columns` columns, changed one after the other until no change helps. `errors`: the errors of the
/// targets for given strengths.
fn best_strengths(columns: usize, errors: impl Fn(&[f64]) -> Result<Vec<f64>>) -> Result<Vec<f64>> {
    let mut strengths = vec![1.0; columns];
    for _ in 0..MAX_ROUNDS {
        let before = strengths.clone();
        for column in 0..columns {
            let with = |strength: &f64| {
                let mut changed = strengths.clone();
                changed[column] = *strength;
                errors(&changed)
            };
            let weights: Vec<Vec<f64>> = STRENGTHS.iter().map(with).collect::<Result<_>>()?;
            strengths[column] = STRENGTHS[least_strength(&weights)];
        }
        if strengths == before {
            break;
        }
    }
    Ok(strengths)
}

/// The preferences of queries (number of queries, features).
pub(super) fn preferences(data: &Dataset, queries: &[usize]) -> Array2<f64> {
    let mut preferences = Array2::zeros((queries.len(), data.features.columns()));
    let mut ticks = Ticks::default();
    for (mut preference, &query) in preferences.rows_mut().into_iter().zip(queries) {
        // A document counts as often as it wins, less as often as it loses.
        let mut sorted = data.labels(query).to_vec();
        sort_ascending(&mut sorted);
        let wins = |grade: f64| {
            let below = sorted.partition_point(|other| *other < grade);
            let above = sorted.len() - sorted.partition_point(|other| *other <= grade);
            (below as f64, above as f64)
        };
        let pairs: f64 = sorted.iter().map(|grade| wins(*grade).0).sum();
        for (row, grade) in data.rows(query).zip(data.labels(query)) {
            let (below, above) = wins(*grade);
            ticks.add(data.features.columns());
            for (column, sum) in preference.iter_mut().enumerate() {
                *sum += (below - above) / pairs.max(1.0) * data.features.at(row, column);
            }
        }
    }
    preferences
}

/// Differences between one query and all others.
struct Comparisons {
    /// The number of the query among those with preferences.
    own: usize,
    /// The bandwidth of numbers.
    h: f64,
    distances: Vec<f64>,
    /// For each column the costs of all queries with the weight 1.
    costs: Vec<Vec<f64>>,
}

impl Comparisons {
    fn new(neighborhood: &Neighborhood, queries: &[usize], own: usize, columns: &[usize]) -> Self {
        let Neighborhood { smoothing, distance, features, .. } = neighborhood;
        let mut ticks = Ticks::default();
        let mut row = |number: usize| {
            ticks.add(COMPARISON * features.ncols());
            features.row(queries[number]).to_vec()
        };
        let own_row = row(own);
        let distances: Vec<f64> =
            (0..queries.len()).map(|other| distance.numbers_between(&own_row, &row(other))).collect();
        let costs_of = |column: &usize| {
            let column = &distance.columns[*column];
            (0..queries.len()).map(|other| column.cost_per_weight(&own_row, &row(other))).collect()
        };
        let h = smoothing.bandwidth(&distances, distance.numbers);
        Self { own, h, costs: columns.iter().map(costs_of).collect(), distances }
    }

    fn separation(&self, other: usize, weights: &[f64]) -> Separation {
        let costs = self.costs.iter().zip(weights).filter(|(_, weight)| **weight > 0.0);
        let cost = costs.map(|(costs, weight)| weight * costs[other]).sum();
        Separation { distance: self.distances[other], cost }
    }

    /// Squared error of the neighbors' predicted preference.
    fn error(&self, neighborhood: &Neighborhood, weights: &[f64], preferences: &Array2<f64>) -> f64 {
        let Neighborhood { smoothing, distance, .. } = neighborhood;
        let others = 0..self.distances.len();
        let separations: Vec<Separation> = others.map(|other| self.separation(other, weights)).collect();
        let candidate = |(other, separation): (usize, &Separation)| {
            (other != self.own).then(|| distance.combined(separation, self.h))
        };
        let candidates: Vec<Option<f64>> = separations.iter().enumerate().map(candidate).collect();
        let mut sum = vec![0.0; preferences.ncols()];
        let (mut total, mut ticks) = (0.0, Ticks::default());
        for (other, _) in smoothing.nearest(&candidates, Target::Observed) {
            let weight = smoothing.weight(&separations[other], self.h);
            total += weight;
            ticks.add(preferences.ncols());
            for (sum, value) in sum.iter_mut().zip(preferences.row(other)) {
                *sum += weight * value;
            }
        }
        let predicted = |sum: &f64| if total > 0.0 { sum / total } else { 0.0 };
        let own = preferences.row(self.own);
        own.iter().zip(&sum).map(|(own, sum)| (own - predicted(sum)) * (own - predicted(sum))).sum()
    }
}

/// The first candidate whose errors are within one standard error of the least, so that a column counts only if it
/// clearly helps. `errors`: for each candidate, in the same order of queries.
fn least_strength(errors: &[Vec<f64>]) -> usize {
    let sums: Vec<f64> = errors.iter().map(|errors| errors.iter().sum()).collect();
    let best = (0..errors.len()).min_by(|a, b| compare(sums[*a], sums[*b])).unwrap_or(0);
    let n = errors[best].len() as f64;
    let is_near = |candidate: &usize| {
        let mean = (sums[*candidate] - sums[best]) / n;
        let pairs = errors[*candidate].iter().zip(&errors[best]);
        let squares: f64 = pairs.map(|(a, b)| (a - b - mean) * (a - b - mean)).sum();
        mean <= (squares / n).sqrt() / n.sqrt()
    };
    (0..best).find(is_near).unwrap_or(best)
}

/// The weight with which two queries have the cost 1 on average.
fn unit(targets: &[Comparisons], column: usize) -> f64 {
    let costs = || targets.iter().flat_map(|target| &target.costs[column]).filter(|cost| cost.is_finite());
    let (sum, count) = costs().fold((0.0, 0_usize), |(sum, count), cost| (sum + cost, count + 1));
    if sum > 0.0 { count as f64 / sum } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::least_strength;

    #[test]
    fn a_column_counts_for_good_reasons_only() {
        // The second candidate is better by 1 for every query, the third by less than the noise.
        let errors =
            |less: f64, noise: f64| [1.0, -1.0, 1.0, -1.0].map(|sign| 9.0 - less + sign * noise).to_vec();
        assert_eq!(least_strength(&[errors(0.0, 0.0), errors(1.0, 0.0), errors(1.1, 0.5)]), 1);
        assert_eq!(least_strength(&[errors(0.0, 0.0), errors(0.2, 0.5)]), 0);
        assert_eq!(least_strength(&[errors(0.0, 0.0), errors(0.0, 0.0)]), 0);
    }
}
