//! A weight for each query feature that is a number, learned from the judgments of the training queries.
//!
//! ```text
//! min over v  sum_i |g_i - sum over j != i of P_ij g_j|^2 / sum_i |g_i|^2  +  PENALTY |v - v0|^2
//! P_ij = exp(-d_ij^2 / 2) / sum over l != i of exp(-d_il^2 / 2),   d_ij^2 = sum_k v_k^2 (q_ik - q_jk)^2
//! ```
//!
//! g_i (m): the preference of query i (`column_weights`), in standard deviations of the document features within
//! queries. The estimate at a query uses other queries only, so the objective is a held-out error. It is the objective
//! of metric learning for kernel regression (Weinberger & Tesauro 2007) with a diagonal metric. v0 has equal weights.
//! L-BFGS starts there.
//!
//! The weights are v_k^2, divided by their mean: smoothing takes h from the median distance, so only ratios matter. Equal
//! weights are kept unless the learned ones lower the mean error of a query by more than two standard errors: they were fitted
//! to the same queries. Inside, features have standard deviation 1, so their units do not matter.

use ndarray::{Array2, ArrayView2, s};

use super::column_weights::preferences;
use crate::base::{Control, Error, Result, Ticks, parallel};
use crate::cost::loss::pair_count;
use crate::data::query_distance::Comparison;
use crate::data::{Dataset, QueryDistance};
use crate::math::{Objective, Random, Ridge, Stop, StopRule, axpy, dot, lbfgs, median};

/// Queries that are used at most.
const MOST_QUERIES: usize = 500;
/// Upper limit of their number squared times p + m. One value of the objective takes about three times this number of
/// operations.
const MOST_PRODUCTS: f64 = 1e8;
/// Factor of |v - v0|^2, relative to the error.
const PENALTY: f64 = 1e-3;
/// When L-BFGS stops.
const RULE: StopRule = StopRule { tolerance: 1e-4, max_iterations: 50 };
/// Scales of equal weights that are tried, in units of 1 / (median distance of queries).
const SCALES: [f64; 5] = [0.25, 0.5, 1.0, 2.0, 4.0];

/// The distance with learned number weights, whose mean is 1.
///
/// `features`: the encoded query features (`n_queries`, width), numbers first. `data`: the training set with scaled features.
/// `seed` chooses the queries if there are more than 500, or fewer with thousands of features.
///
/// # Errors
/// [`Error::Interrupted`] when canceled; [`Error::Memory`](crate::Error::Memory).
pub fn number_weights(
    distance: &QueryDistance,
    features: &Array2<f64>,
    data: &Dataset,
    seed: u64,
    control: &Control,
) -> Result<QueryDistance> {
    let columns = distance.columns.iter().enumerate();
    let numbers = columns.filter(|(_, column)| column.comparison == Comparison::Euclidean);
    let numbers: Vec<usize> = numbers.map(|(index, _)| index).collect();
    // Only ratios matter, so a single number has nothing to learn.
    if numbers.len() < 2 {
        return Ok(distance.clone());
    }
    let weights = learn(&features.slice(s![.., ..numbers.len()]), data, seed, control)?;
    Ok(weights
        .map_or_else(|| distance.clone(), |weights| distance.with_weights(numbers.into_iter().zip(weights))))
}

/// Learned weights of the columns of `features` (`n_queries`, p); `None` to keep equal weights.
fn learn(
    features: &ArrayView2<'_, f64>,
    data: &Dataset,
    seed: u64,
    control: &Control,
) -> Result<Option<Vec<f64>>> {
    let p = features.ncols();
    // 1. Queries whose grades differ, with their directions.
    let Some((error, units)) = HeldOutError::new(data, features, seed, control)? else { return Ok(None) };
    // 2. The best equal weights.
    let median = error.median_distance(&units);
    let scaled = |scale: f64| units.iter().map(|unit| scale * unit / median).collect::<Vec<f64>>();
    let (mut start, mut before) = (scaled(SCALES[0]), error.of_queries(&scaled(SCALES[0])));
    for scale in &SCALES[1..] {
        control.check()?;
        let errors = error.of_queries(&scaled(*scale));
        if errors.iter().sum::<f64>() < before.iter().sum::<f64>() {
            (start, before) = (scaled(*scale), errors);
        }
    }
    // 3. The weights.
    let objective = Ridge { risk: &error, lambda: PENALTY, center: Some(&start) };
    let solution = lbfgs::minimize(&objective, start.clone(), &RULE, control);
    if solution.report.stop == Stop::Interrupted {
        return Err(Error::Interrupted);
    }
    // 4. Equal weights, unless the learned ones are clearly better.
    let after = error.of_queries(&solution.w);
    let gains: Vec<f64> = before.iter().zip(&after).map(|(before, after)| before - after).collect();
    let weight = |(v, unit): (&f64, &f64)| if *unit > 0.0 { v * v / (unit * unit) } else { 1.0 };
    let weights: Vec<f64> = solution.w.iter().zip(&units).map(weight).collect();
    let mean = weights.iter().sum::<f64>() / p as f64;
    if !is_clearly_positive(&gains) || mean <= 0.0 {
        return Ok(None);
    }
    Ok(Some(weights.into_iter().map(|weight| weight / mean).collect()))
}

/// Whether the mean is above two standard errors.
fn is_clearly_positive(gains: &[f64]) -> bool {
    let n = gains.len() as f64;
    let mean = gains.iter().sum::<f64>() / n;
    let variance = gains.iter().map(|gain| (gain - mean) * (gain - mean)).sum::<f64>() / (n - 1.0);
    mean > 2.0 * (variance / n).sqrt()
}

/// The error of estimates from other queries, as a function of v.
struct HeldOutError {
    /// Query features with standard deviation 1 (n, p), row-major.
    features: Vec<f64>,
    p: usize,
    /// Directions (n, m), row-major.
    directions: Vec<f64>,
    m: usize,
    /// sum_i |g_i|^2
    total: f64,
}

impl HeldOutError {
    /// The error, and the standard deviation of each query feature (p). `None` if fewer than three queries have different
    /// grades, or if most of these queries are the same.
    fn new(
        data: &Dataset,
        features: &ArrayView2<'_, f64>,
        seed: u64,
        control: &Control,
    ) -> Result<Option<(Self, Vec<f64>)>> {
        let differs = |query: &usize| pair_count(data.labels(*query)) > 0;
        let mut queries: Vec<usize> = (0..data.n_queries()).filter(differs).collect();
        let (m, p) = (data.features.columns(), features.ncols());
        let most = MOST_QUERIES.min((MOST_PRODUCTS / (p + m) as f64).sqrt() as usize);
        if queries.len() > most {
            Random::new(seed).shuffle(&mut queries);
            queries.truncate(most);
            queries.sort_unstable();
        }
        control.check()?;
        let mut directions: Vec<f64> = preferences(data, &queries).into_iter().collect();
        control.check()?;
        for (column, deviation) in within_deviations(data, &queries).into_iter().enumerate() {
            let factor = if deviation > 0.0 { 1.0 / deviation } else { 0.0 };
            directions.iter_mut().skip(column).step_by(m).for_each(|x| *x *= factor);
        }
        let mut features: Vec<f64> = queries.iter().flat_map(|query| features.row(*query).to_vec()).collect();
        let total = dot(&directions, &directions);
        let units = (0..p).map(|column| scale_column(&mut features, column, p)).collect::<Vec<f64>>();
        let error = Self { features, p, directions, m, total };
        let usable = queries.len() > 2 && total > 0.0 && error.median_distance(&units) > 0.0;
        Ok(usable.then_some((error, units)))
    }

    fn len(&self) -> usize {
        self.features.len() / self.p
    }

    fn direction(&self, query: usize) -> &[f64] {
        &self.directions[query * self.m..(query + 1) * self.m]
    }

    /// Squared differences of the features of two queries (p).
    fn differences(&self, i: usize, j: usize) -> impl Iterator<Item = f64> {
        let row = |query: usize| &self.features[query * self.p..(query + 1) * self.p];
        row(i).iter().zip(row(j)).map(|(a, b)| (a - b) * (a - b))
    }

    /// Median distance between two queries at this v.
    fn median_distance(&self, v: &[f64]) -> f64 {
        let n = self.len();
        let pairs = (0..n).flat_map(|i| (0..i).map(move |j| (i, j)));
        let mut ticks = Ticks::default();
        let square = |(i, j)| {
            ticks.add(self.p);
            self.differences(i, j).zip(v).map(|(square, v)| v * v * square).sum::<f64>()
        };
        let distances: Vec<f64> = pairs.map(square).map(f64::sqrt).collect();
        median(&distances).unwrap_or(0.0)
    }

    /// The error of each query.
    fn of_queries(&self, v: &[f64]) -> Vec<f64> {
        parallel::map(self.len(), |query| self.of_query(query, v).0)
    }

    /// The error of a query and its gradient in v (p).
    fn of_query(&self, i: usize, v: &[f64]) -> (f64, Vec<f64>) {
        let others = || (0..self.len()).filter(|j| *j != i);
        let mut ticks = Ticks::default();
        // 1. The weights P_ij. The nearest query has exponent 0, so the sum is at least 1.
        let half_square = |j: usize| {
            ticks.add(self.p);
            0.5 * self.differences(i, j).zip(v).map(|(square, v)| v * v * square).sum::<f64>()
        };
        let mut weights: Vec<f64> = others().map(half_square).collect();
        let nearest = weights.iter().copied().fold(f64::INFINITY, f64::min);
        weights.iter_mut().for_each(|half| *half = libm::exp(nearest - *half));
        let sum: f64 = weights.iter().sum();
        weights.iter_mut().for_each(|weight| *weight /= sum);
        // 2. The residual: the estimate minus the direction.
        let mut residual: Vec<f64> = self.direction(i).iter().map(|x| -x).collect();
        for (j, weight) in others().zip(&weights) {
            ticks.add(self.m);
            axpy(*weight, self.direction(j), &mut residual);
        }
        let error = dot(&residual, &residual);
        // 3. The gradient: d error / d v_k = -2 v_k sum_j P_ij r.(g_j - estimate) (q_ik - q_jk)^2.
        let estimate = error + dot(&residual, self.direction(i));
        let mut gradient = vec![0.0; self.p];
        for (j, weight) in others().zip(&weights) {
            ticks.add(self.m + self.p);
            let slope = -2.0 * weight * (dot(&residual, self.direction(j)) - estimate);
            for ((total, square), v) in gradient.iter_mut().zip(self.differences(i, j)).zip(v) {
                *total += slope * v * square;
            }
        }
        (error, gradient)
    }
}

impl Objective for HeldOutError {
    fn dim(&self) -> usize {
        self.p
    }

    fn value_at(&self, v: &[f64], slopes: &mut [f64]) -> f64 {
        slopes.fill(0.0);
        let mut value = 0.0;
        let of_query = |query| self.of_query(query, v);
        let queries: Vec<(f64, Vec<f64>)> = parallel::map(self.len(), of_query);
        for (error, gradient) in queries {
            value += error / self.total;
            axpy(1.0 / self.total, &gradient, slopes);
        }
        value
    }
}

/// Standard deviation of each document feature within these queries (m).
pub(super) fn within_deviations(data: &Dataset, queries: &[usize]) -> Vec<f64> {
    let mut ticks = Ticks::default();
    let mut squares = vec![0.0; data.features.columns()];
    for rows in queries.iter().map(|query| data.rows(*query)) {
        for (column, total) in squares.iter_mut().enumerate() {
            ticks.add(2 * rows.len());
            let values = || rows.clone().map(|row| data.features.at(row, column));
            let mean = values().sum::<f64>() / rows.len() as f64;
            *total += values().map(|x| (x - mean) * (x - mean)).sum::<f64>();
        }
    }
    let documents: usize = queries.iter().map(|query| data.rows(*query).len()).sum();
    squares.into_iter().map(|square| (square / documents as f64).sqrt()).collect()
}

/// Scales a column of a row-major matrix to standard deviation 1. Returns the previous one; 0 for a constant column, left as is.
fn scale_column(rows: &mut [f64], column: usize, columns: usize) -> f64 {
    let values = || rows.iter().skip(column).step_by(columns);
    let n = values().count() as f64;
    let mean = values().sum::<f64>() / n;
    let deviation = (values().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n).sqrt();
    if deviation > 0.0 {
        rows.iter_mut().skip(column).step_by(columns).for_each(|x| *x /= deviation);
    }
    deviation
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three query features; the first decides the directions.
    fn error() -> HeldOutError {
        let mut random = Random::new(3);
        let features: Vec<f64> = (0..60).map(|_| random.symmetric()).collect();
        let directions: Vec<f64> =
            features.chunks_exact(3).flat_map(|q| [libm::cos(2.0 * q[0]), libm::sin(2.0 * q[0])]).collect();
        HeldOutError { p: 3, m: 2, total: dot(&directions, &directions), features, directions }
    }

    #[test]
    fn gradients_match_finite_differences() {
        let (error, v) = (error(), [0.7, 1.3, 0.4]);
        let mut gradient = vec![0.0; 3];
        error.value(&v, &mut gradient);
        for column in 0..3 {
            let at = |step: f64| {
                let mut moved = v;
                moved[column] += step;
                error.value(&moved, &mut [0.0; 3])
            };
            let slope = (at(1e-5) - at(-1e-5)) / 2e-5;
            assert!((gradient[column] - slope).abs() < 1e-8, "{column}: {} {slope}", gradient[column]);
        }
    }

    #[test]
    fn the_feature_that_decides_gets_the_weight() {
        let error = error();
        let start = vec![1.0; 3];
        let objective = Ridge { risk: &error, lambda: PENALTY, center: Some(&start) };
        let v = lbfgs::minimize(&objective, start.clone(), &RULE, &Control::default()).w;
        assert!(v[0] * v[0] > 20.0 * (v[1] * v[1] + v[2] * v[2]), "{v:?}");
    }

    #[test]
    fn gains_within_two_standard_errors_are_not_clear() {
        assert!(is_clearly_positive(&[0.2, 0.1, 0.3]) && !is_clearly_positive(&[1.0, -0.5, 0.4]));
    }
}
