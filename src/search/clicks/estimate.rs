//! Estimates of attractiveness and examination from counts.
//!
//! Symbols in addition to the folder's:
//! * n, c: rows and clicks of a cell, a (pair, context)
//! * m: rate of clicks in the first context, where gamma = 1
//! * k: strength of the prior of alpha, in rows
//!
//! The estimates maximize sum over cells of c log(gamma alpha) + (n - c) log(1 - gamma alpha), plus k m log(alpha) + k
//! (1 - m) log(1 - alpha) for each pair. They are found by expectation maximization (Chuklin, Markov & de Rijke 2015,
//! section 4.2). Standard errors come from the expected information of all estimates if there are at most 256
//! contexts; otherwise gamma is treated as known.
//!
//! Clicks may have weights w, relative to the largest. Then the attractiveness v of a pair, in this unit, maximizes the same
//! sum with the given gamma, the sum of w instead of c, and m times the mean weight instead of m: a click of weight w is a
//! fraction w of a click. More or heavier clicks never lower it.

use super::cells::{Cell, Numbers, number_of};
use crate::base::Ticks;
use crate::math::{Factor, sort_items};

/// Strength of a pair's prior, in rows with the mean rate.
pub const PRIOR: f64 = 2.0;
/// Largest number of passes over the cells.
const MOST_PASSES: usize = 1000;
/// Largest change of an estimate in the last pass.
const TOLERANCE: f64 = 1e-7;
/// Number of halvings of the interval that contains a weighted estimate.
const HALVINGS: usize = 60;
/// Largest number of contexts whose covariance is computed.
pub(super) const MOST_CONTEXTS: usize = 256;

/// An estimate with its standard error, which is infinite if the data do not determine the estimate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    pub value: f64,
    /// Standard error.
    pub error: f64,
}

impl Estimate {
    /// The product of two independent estimates, to first order.
    #[must_use]
    pub fn times(self, other: Self) -> Self {
        let (a, b) = (other.value * self.error, self.value * other.error);
        Self { value: self.value * other.value, error: libm::sqrt(a * a + b * b) }
    }
}

/// Information about a probability in a prior with this strength and mean.
pub(super) fn prior_information(strength: f64, mean: f64, value: f64) -> f64 {
    strength * (mean / (value * value) + (1.0 - mean) / ((1.0 - value) * (1.0 - value)))
}

/// The estimates of a model.
#[derive(Debug, Clone)]
pub struct Fitted {
    /// Attractiveness of each pair.
    pub alpha: Vec<Estimate>,
    /// Examination of each context, in order.
    pub gamma: Vec<(u32, Estimate)>,
    /// Expected number of examined rows of each pair.
    pub examined: Vec<f64>,
    /// Satisfaction of each pair; empty for models without it.
    pub satisfaction: Vec<f64>,
    /// Attractiveness times satisfaction of each pair; attractiveness for models without satisfaction.
    pub relevance: Vec<Estimate>,
    /// Relevance of each pair from weighted clicks; empty for fits without held-out impressions.
    pub weighted: Vec<f64>,
    /// The mean m, for pairs without rows.
    pub mean: f64,
    /// Mean examination, for contexts without rows.
    pub mean_gamma: f64,
}

impl Fitted {
    pub fn attractiveness(&self, pair: u32) -> f64 {
        self.alpha.get(pair as usize).map_or(self.mean, |alpha| alpha.value)
    }

    pub fn examination(&self, context: u32) -> f64 {
        let place = self.gamma.binary_search_by(|(known, _)| known.cmp(&context));
        place.map_or(self.mean_gamma, |number| self.gamma[number].1.value)
    }

    /// Each pair's attractiveness from click weights with this mean. The cells are sorted by pair.
    pub(super) fn weigh(&mut self, cells: &[Cell], mean_weight: f64) {
        let mean = within(self.mean * mean_weight);
        self.weighted = self.maxima(cells, self.alpha.len(), mean, |cell| cell.weight);
    }

    /// Attractiveness of each pair with the given examination, for these clicks of cells and this mean of the prior. The cells
    /// are sorted by pair.
    pub(super) fn maxima(
        &self,
        cells: &[Cell],
        pairs: usize,
        mean: f64,
        clicks: impl Fn(&Cell) -> f64,
    ) -> Vec<f64> {
        let mut rates = vec![mean; pairs];
        let mut ticks = Ticks::default();
        for cells in cells.chunk_by(|a, b| a.pair == b.pair) {
            ticks.add(HALVINGS * cells.len());
            let sum = PRIOR * mean + cells.iter().map(&clicks).sum::<f64>();
            let others = |cell: &Cell| (cell.rows - clicks(cell), self.examination(cell.context));
            let others: Vec<(f64, f64)> = cells.iter().map(others).collect();
            // The slope of the sum decreases from infinity at 0; find where it is 0.
            let rises = |value: f64| {
                let of = |(count, gamma): &(f64, f64)| count * gamma / no_click(value * gamma);
                sum / value > PRIOR * (1.0 - mean) / (1.0 - value) + others.iter().map(of).sum::<f64>()
            };
            let (mut low, mut high) = (0.0, 1.0);
            for _ in 0..HALVINGS {
                let middle = f64::midpoint(low, high);
                *if rises(middle) { &mut low } else { &mut high } = middle;
            }
            rates[cells[0].pair as usize] = within(high);
        }
        rates
    }

    /// Satisfaction of a pair; 0 for models without it.
    pub fn satisfaction(&self, pair: u32) -> f64 {
        self.satisfaction.get(pair as usize).copied().unwrap_or(0.0)
    }

    /// Satisfaction from the number of clicks and last clicks of each pair, with the same prior.
    #[must_use]
    pub fn with_satisfaction(mut self, clicks: &[[f64; 2]]) -> Self {
        let [all, last] = clicks.iter().fold([0.0, 0.0], |sum, [all, last]| [sum[0] + all, sum[1] + last]);
        let mean = within(if all > 0.0 { last / all } else { 0.5 });
        self.satisfaction =
            clicks.iter().map(|[all, last]| within((last + PRIOR * mean) / (all + PRIOR))).collect();
        // Whether a click is the last one does not depend on the rows that were examined before it.
        let of = |((alpha, s), [all, _]): ((&Estimate, &f64), &[f64; 2])| {
            let information = all / (s * (1.0 - s)) + prior_information(PRIOR, mean, *s);
            alpha.times(Estimate { value: *s, error: 1.0 / libm::sqrt(information) })
        };
        self.relevance = self.alpha.iter().zip(&self.satisfaction).zip(clicks).map(of).collect();
        self.weighted.iter_mut().zip(&self.satisfaction).for_each(|(value, s)| *value *= s);
        self
    }
}

/// The cells, with contexts replaced by numbers.
pub(super) struct Problem<'a> {
    cells: &'a [Cell],
    /// Context number of each cell.
    pub(super) contexts: Vec<usize>,
    pairs: usize,
    mean: f64,
    /// Strength of a pair's prior, in rows.
    pub(super) prior: f64,
}

/// The expected information of a point.
pub(super) struct Information {
    /// Information about alpha, for each pair.
    pub(super) of_alpha: Vec<f64>,
    /// Information about gamma, by context number.
    of_gamma: Vec<f64>,
    /// Joint information about alpha and gamma, for each cell.
    pub(super) both: Vec<f64>,
}

/// The problem of these cells, sorted by pair; its contexts, sorted; and its maximum. The first context has gamma = 1.
pub(super) fn solved(cells: &[Cell], pairs: usize, prior: f64) -> (Problem<'_>, Vec<u32>, Point) {
    // 1. Contexts.
    let (known, contexts) = numbered_contexts(cells);
    let in_first = cells.iter().zip(&contexts).filter(|(_, context)| **context == 0).map(|(cell, _)| cell);
    let [n, c] = in_first.fold([0.0, 0.0], |[n, c], cell| [n + cell.rows, c + cell.clicks]);
    let mean = within((c + 0.5) / (n + 1.0));
    let problem = Problem { cells, contexts, pairs, mean, prior };
    // 2. The maximum.
    let mut start = vec![mean; pairs + known.len()];
    start[pairs..].fill(if known.len() > 1 { 0.5 } else { 1.0 });
    if let Some(first) = start.get_mut(pairs) {
        *first = 1.0;
    }
    let point = problem.maximum(start);
    (problem, known, point)
}

/// Fits alpha and gamma with a prior of this strength. The cells are sorted by pair.
pub fn fit(cells: &[Cell], pairs: usize, prior: f64) -> Fitted {
    let (problem, known, point) = solved(cells, pairs, prior);
    let (alpha_errors, mut gamma_errors) = problem.errors(&point);
    for (error, is_determined) in gamma_errors.iter_mut().zip(problem.determined(known.len())) {
        *error = if is_determined { *error } else { f64::INFINITY };
    }
    let estimate = |(value, error): (&f64, f64)| Estimate { value: *value, error };
    let (alpha, gamma) = point.split_at(pairs);
    let mut examined = vec![0.0; pairs];
    let mut gamma_sum = [0.0, 0.0];
    for (cell, context) in cells.iter().zip(&problem.contexts) {
        examined[cell.pair as usize] += cell.rows * gamma[*context];
        gamma_sum = [gamma_sum[0] + cell.rows * gamma[*context], gamma_sum[1] + cell.rows];
    }
    let alpha: Vec<Estimate> = alpha.iter().zip(alpha_errors).map(estimate).collect();
    Fitted {
        relevance: alpha.clone(),
        weighted: Vec::new(),
        alpha,
        gamma: known.into_iter().zip(gamma.iter().zip(gamma_errors).map(estimate)).collect(),
        examined,
        satisfaction: Vec::new(),
        mean: problem.mean,
        mean_gamma: if gamma_sum[1] > 0.0 { gamma_sum[0] / gamma_sum[1] } else { 1.0 },
    }
}

/// The sorted contexts, and each cell's context number.
fn numbered_contexts(cells: &[Cell]) -> (Vec<u32>, Vec<usize>) {
    let mut numbers = Numbers::default();
    let mut contexts: Vec<usize> =
        cells.iter().map(|cell| number_of(&mut numbers, 0, cell.context) as usize).collect();
    let mut sorted: Vec<((u32, u32), u32)> = numbers.into_iter().collect();
    sort_items(&mut sorted, Ord::cmp);
    let mut ranks = vec![0; sorted.len()];
    sorted.iter().enumerate().for_each(|(rank, (_, number))| ranks[*number as usize] = rank);
    contexts.iter_mut().for_each(|context| *context = ranks[*context]);
    (sorted.into_iter().map(|((_, context), _)| context).collect(), contexts)
}

/// The representative of the set with this number.
fn root(parents: &mut [usize], mut number: usize) -> usize {
    while parents[number] != number {
        parents[number] = parents[parents[number]];
        number = parents[number];
    }
    number
}

/// 1 - p for a click probability p, bounded away from 0.
pub(super) fn no_click(click: f64) -> f64 {
    (1.0 - click).max(MARGIN)
}

/// A point has alpha by pair, then gamma by context; gamma of the first context is 1.
impl Problem<'_> {
    /// One pass of expectation maximization, and the penalized log-likelihood before it.
    fn pass(&self, point: &Point) -> (Point, f64) {
        let (alpha, gamma) = point.split_at(self.pairs);
        let (prior_clicks, prior_others) = (self.prior * self.mean, self.prior * (1.0 - self.mean));
        // 1. Expected numbers of attractive and examined rows.
        let mut sums = vec![[prior_clicks, self.prior]; self.pairs];
        sums.resize(point.len(), [0.0, 0.0]);
        let mut value = 0.0;
        let mut ticks = Ticks::default();
        for (cell, context) in self.cells.iter().zip(&self.contexts) {
            ticks.add(64);
            let (a, g) = (alpha[cell.pair as usize], gamma[*context]);
            let (others, no_click) = (cell.rows - cell.clicks, (1.0 - a * g).max(MARGIN * MARGIN));
            value += cell.clicks * libm::log(a * g) + others * libm::log(no_click);
            let of_pair = &mut sums[cell.pair as usize];
            *of_pair = [of_pair[0] + cell.clicks + others * a * (1.0 - g) / no_click, of_pair[1] + cell.rows];
            let of_context = &mut sums[self.pairs + context];
            *of_context =
                [of_context[0] + cell.clicks + others * g * (1.0 - a) / no_click, of_context[1] + cell.rows];
        }
        for a in alpha {
            value += prior_clicks * libm::log(*a) + prior_others * libm::log(1.0 - a);
        }
        // 2. Fractions.
        let share = |(index, [part, all]): (usize, &[f64; 2])| {
            if index == self.pairs { 1.0 } else { within(part / all) }
        };
        (sums.iter().enumerate().map(share).collect(), value)
    }

    /// The expected information.
    pub(super) fn information(&self, point: &Point) -> Information {
        let (alpha, gamma) = point.split_at(self.pairs);
        let prior = |a: &f64| prior_information(self.prior, self.mean, *a);
        let mut of_alpha: Vec<f64> = alpha.iter().map(prior).collect();
        let mut of_gamma = vec![0.0; gamma.len()];
        let mut both = vec![0.0; self.cells.len()];
        for (index, (cell, context)) in self.cells.iter().zip(&self.contexts).enumerate() {
            let (a, g) = (alpha[cell.pair as usize], gamma[*context]);
            let no_click = no_click(a * g);
            of_alpha[cell.pair as usize] += cell.rows * g / (a * no_click);
            of_gamma[*context] += cell.rows * a / (g * no_click);
            both[index] = cell.rows / no_click;
        }
        Information { of_alpha, of_gamma, both }
    }

    /// Standard errors of alpha and gamma: roots of the inverse information's diagonal. The block of alpha is diagonal, so
    /// only a matrix of contexts is inverted.
    fn errors(&self, point: &Point) -> (Vec<f64>, Vec<f64>) {
        let (alpha, gamma) = point.split_at(self.pairs);
        let free = gamma.len().saturating_sub(1);
        let information = self.information(point);
        let Information { of_alpha, of_gamma, both } = &information;
        let alone = |information: &f64| 1.0 / libm::sqrt(*information);
        if free == 0 || free > MOST_CONTEXTS {
            let mut gamma_errors: Vec<f64> = of_gamma.iter().map(alone).collect();
            gamma_errors.first_mut().into_iter().for_each(|first| *first = 0.0);
            return (of_alpha.iter().map(alone).collect(), gamma_errors);
        }
        // 1. The inverse of the remaining information about gamma, with alpha estimated.
        let Some(covariance) = self.covariance(&information) else {
            let mut gamma_errors = vec![f64::INFINITY; gamma.len()];
            gamma_errors[0] = 0.0;
            return (vec![f64::INFINITY; alpha.len()], gamma_errors);
        };
        // 2. Variances.
        let mut variances: Vec<f64> = of_alpha.iter().map(|information| 1.0 / information).collect();
        for (cells, from) in self.by_pair() {
            let pair = cells[0].pair as usize;
            let mut row = vec![0.0; free];
            for (index, _) in cells.iter().enumerate() {
                if let Some(context) = self.contexts[from + index].checked_sub(1) {
                    row[context] += both[from + index] / of_alpha[pair];
                }
            }
            for (i, x) in row.iter().enumerate().filter(|(_, x)| **x > 0.0) {
                variances[pair] += x * row.iter().zip(&covariance[i]).map(|(y, c)| y * c).sum::<f64>();
            }
        }
        let gamma_errors = (0..free).map(|i| libm::sqrt(covariance[i][i].max(0.0)));
        let gamma_errors = std::iter::once(0.0).chain(gamma_errors).collect();
        (variances.iter().map(|variance| libm::sqrt(*variance)).collect(), gamma_errors)
    }

    /// The covariance of gamma without the first context; `None` if undetermined or if there are too many contexts.
    pub(super) fn covariance(&self, information: &Information) -> Option<Vec<Vec<f64>>> {
        let Information { of_alpha, of_gamma, both } = information;
        let free = of_gamma.len().saturating_sub(1);
        if free == 0 || free > MOST_CONTEXTS {
            return (free == 0).then(Vec::new);
        }
        let mut matrix = vec![0.0; free * free];
        (0..free).for_each(|i| matrix[i * free + i] = of_gamma[i + 1]);
        for (cells, from) in self.by_pair() {
            let information = of_alpha[cells[0].pair as usize];
            for i in from..from + cells.len() {
                for j in i..from + cells.len() {
                    let (Some(row), Some(column)) =
                        (self.contexts[i].checked_sub(1), self.contexts[j].checked_sub(1))
                    else {
                        continue;
                    };
                    matrix[row * free + column] -= both[i] * both[j] / information;
                }
            }
        }
        let factor = Factor::of(free, |i, j| matrix[i * free + j])?;
        let column = |i: usize| {
            let mut unit = vec![0.0; free];
            unit[i] = 1.0;
            factor.solve(&unit)
        };
        Some((0..free).map(column).collect())
    }

    /// For each context, whether the cells determine its examination relative to the first context: they do if the
    /// context has clicks and is connected to the first by pairs with clicks, where each pair connects all of its contexts
    /// (union-find). Otherwise only the prior separates examination from attractiveness.
    fn determined(&self, contexts: usize) -> Vec<bool> {
        let mut parents: Vec<usize> = (0..contexts).collect();
        let mut has_clicks = vec![false; contexts];
        let mut ticks = Ticks::default();
        for (cells, from) in self.by_pair() {
            ticks.add(10 * cells.len());
            if cells.iter().all(|cell| cell.clicks <= 0.0) {
                continue;
            }
            let first = root(&mut parents, self.contexts[from]);
            for (cell, context) in cells.iter().zip(&self.contexts[from..]) {
                has_clicks[*context] |= cell.clicks > 0.0;
                let other = root(&mut parents, *context);
                parents[other] = first;
            }
        }
        let mut is_determined =
            |(context, has_clicks)| has_clicks && root(&mut parents, context) == root(&mut parents, 0);
        has_clicks.into_iter().enumerate().map(&mut is_determined).collect()
    }

    /// The cells of each pair, and the number of the first of them.
    pub(super) fn by_pair(&self) -> impl Iterator<Item = (&[Cell], usize)> {
        let mut from = 0;
        self.cells.chunk_by(|a, b| a.pair == b.pair).map(move |cells| {
            let first = from;
            from += cells.len();
            (cells, first)
        })
    }
}

// Accelerated expectation maximization by passes over the cells: SQUAREM, scheme S3.
//
// Source: Varadhan & Roland, "Simple and globally convergent methods for accelerating the convergence of any EM algorithm",
// Scandinavian Journal of Statistics, 2008.

/// Estimates stay this far from 0 and 1.
const MARGIN: f64 = 1e-9;

/// Probabilities to estimate.
pub(super) type Point = Vec<f64>;

/// A probability, bounded away from 0 and 1.
pub(super) fn within(probability: f64) -> f64 {
    probability.clamp(MARGIN, 1.0 - MARGIN)
}

impl Problem<'_> {
    /// The maximum, found from a starting point.
    fn maximum(&self, start: Point) -> Point {
        let (mut point, mut passes) = (start, 0);
        while passes + 3 <= MOST_PASSES {
            // 1. Two passes.
            let (once, _) = self.pass(&point);
            let (twice, before) = self.pass(&once);
            let change = once.iter().zip(&twice).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            if change <= TOLERANCE {
                return twice;
            }
            // 2. An extrapolated step, if it does not lower the likelihood.
            let (next, value) = self.pass(&self.further(&point, &once, &twice));
            point = if value >= before { next } else { twice };
            passes += 3;
        }
        point
    }

    /// Extrapolates two passes from `point`.
    fn further(&self, point: &Point, once: &Point, twice: &Point) -> Point {
        let r: Vec<f64> = once.iter().zip(point).map(|(b, a)| b - a).collect();
        let v: Vec<f64> = twice.iter().zip(once).zip(&r).map(|((c, b), r)| c - b - r).collect();
        let length = |x: &[f64]| libm::sqrt(x.iter().map(|x| x * x).sum());
        let step = (length(&r) / length(&v).max(f64::MIN_POSITIVE)).max(1.0);
        let at = |i: usize| within(point[i] + step * (2.0 * r[i] + step * v[i]));
        (0..point.len()).map(|i| if i == self.pairs { 1.0 } else { at(i) }).collect()
    }
}
