//! The weights alpha and beta of cost-sensitive ListMLE for one query, the schemes that they come from, and sums over pairs
//! of positions with the weights of `swap` in O(N).
//!
//! ```text
//! with j, t positions of the ideal order, y_t < y_j, G = 2^y - 1, D_k(p) = 1 / log2(1 + p) for p <= k, else 0:
//! swap     beta_j = sum_t w_jt, alpha_jt = w_jt / beta_j,   w_jt = (G_j - G_t) (D_k(j) - D_k(t))
//! unit     beta_j = G_j D_k(j),                             alpha_jt = 1
//! rank     beta_j = G_j D(j) D(j + 1),                      alpha_jt = 1 / (1 + p), p the first position of grade y_j
//! tables   beta_j = document[y_j] D_k(j),                   alpha_jt = pair[y_j][y_t]
//! ```
//!
//! Olinto & Fokoue (2018) leave alpha and beta open. The first three make the loss an upper bound of 1 - NDCG@k (`rank`
//! without truncation): log2(1 + x) >= x on 0..1 for `swap`, the weights of SLAM for `unit`, and for `rank`
//! D(j) - D(j + u) = D(j) D(j + u) log2(1 + u / (j + 1)).
//!
//! With `label_ties` "average", the default with a truncation, D_k and beta are means over a group of equal grades. The loss stays
//! a bound: it is concave in w and beta, so it is at least the mean over the orders of equal grades.

use serde::Deserialize;

use crate::base::{Result, Ticks};
use crate::cost::loss::list::slam::LabelTies;
use crate::cost::loss::list::{MOST_WEIGHT, check_grades, grade_number, largest_dcg};
use crate::cost::metric::{Gain, gains, gains_for_ratios, logarithmic};
use crate::math::{compare, descending};

/// Where alpha and beta come from.
#[derive(Debug, Clone, PartialEq)]
pub enum Scheme {
    /// The loss of DCG when two documents are exchanged.
    Swap,
    /// The discounted gain of a document at its position.
    Unit,
    /// The same with pairs weighed by the first position of their grade.
    Rank,
    /// Tables by whole grades 0, 1, ...
    Tables(Tables),
}

/// Weights by grade, at least 0 and finite.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Tables {
    /// alpha of a document of grade j with one of grade t, row j.
    pub pair: Vec<Vec<f64>>,
    /// beta of a document at a position with discount 1.
    pub document: Vec<f64>,
}

/// alpha and beta of one query.
pub struct Costs {
    /// The documents in ideal order, equal grades in theirs (N).
    pub order: Vec<usize>,
    /// beta_j / Z_k by position, Z_k the largest DCG of the first k; 0 if Z_k = 0 or no grade is lower (N).
    pub beta: Vec<f64>,
    /// The first position of a lower grade, by position (N).
    pub lower: Vec<usize>,
    alpha: Alpha,
}

/// alpha by position.
enum Alpha {
    /// (G_j - G_t) (D_j - D_t) / scale_j.
    Swap { gains: Vec<f64>, discounts: Vec<f64>, scales: Vec<f64> },
    /// The same for all t.
    Row(Vec<f64>),
    /// A table by grade, and grades.
    Table(Vec<Vec<f64>>, Vec<usize>),
}

impl Tables {
    /// Whether the tables have a row and a column for each grade, and all weights are in range.
    pub(super) fn is_valid(&self) -> bool {
        let grades = self.document.len();
        let square = self.pair.len() == grades && self.pair.iter().all(|row| row.len() == grades);
        let mut weights = self.pair.iter().flatten().chain(&self.document);
        grades > 0 && square && weights.all(|weight| (0.0..=MOST_WEIGHT).contains(weight))
    }

    /// Refuses grades that are not in the tables.
    pub(super) fn check(&self, labels: &[f64]) -> Result<()> {
        let grades = self.document.len();
        let why = format!("as the tables have {grades} grades");
        check_grades(labels, grades, "tables in the option 'cost_weights'", &why)
    }
}

impl Costs {
    /// Weights of a query with these labels. With tables, each label is a grade of the tables (`check_query`).
    pub fn of(scheme: &Scheme, truncation: Option<usize>, ties: LabelTies, labels: &[f64]) -> Self {
        let order = descending(labels);
        let by_position = |values: Vec<f64>| -> Vec<f64> { order.iter().map(|j| values[*j]).collect() };
        let grades = by_position(labels.to_vec());
        let gains = by_position(match scheme {
            Scheme::Tables(_) => gains(labels, Gain::Exp2),
            _ => gains_for_ratios(labels, Gain::Exp2),
        });
        let depth = truncation.unwrap_or(usize::MAX);
        let mut discounts: Vec<f64> =
            (0..labels.len()).map(|p| if p < depth { logarithmic(p) } else { 0.0 }).collect();
        let largest = largest_dcg(gains.iter().copied(), truncation);
        let lower = first_lower(&grades);
        if ties == LabelTies::Average {
            average(&mut discounts, &lower);
        }
        let (mut beta, alpha) = match scheme {
            Scheme::Swap => swap(gains, discounts, &lower),
            Scheme::Unit => (products(&gains, &discounts), Alpha::Row(vec![1.0; grades.len()])),
            Scheme::Rank => rank(&gains, &discounts, &lower),
            Scheme::Tables(tables) => from_tables(tables, &grades, &discounts),
        };
        if ties == LabelTies::Average {
            average(&mut beta, &lower);
        }
        let scale = if largest > 0.0 { 1.0 / largest } else { 0.0 };
        for (beta, lower) in beta.iter_mut().zip(&lower) {
            *beta *= if *lower < labels.len() { scale } else { 0.0 };
        }
        Self { order, beta, lower, alpha }
    }

    /// alpha of position j with position t, of a lower grade.
    pub fn alpha(&self, j: usize, t: usize) -> f64 {
        match &self.alpha {
            Alpha::Swap { gains, discounts, scales } => {
                (gains[j] - gains[t]) * (discounts[j] - discounts[t]) * scales[j]
            }
            Alpha::Row(row) => row[j],
            Alpha::Table(pair, grades) => pair[grades[j]][grades[t]],
        }
    }

    /// The weights of `swap`, with the factors of alpha by position.
    pub(super) fn swaps(&self) -> Option<(Swaps<'_>, &[f64])> {
        let Alpha::Swap { gains, discounts, scales } = &self.alpha else { return None };
        Some((Swaps { gains, discounts, lower: &self.lower }, scales))
    }

    /// Whether alpha is the same for all positions of a grade.
    pub(super) fn alpha_is_of_grades(&self) -> bool {
        !matches!(self.alpha, Alpha::Swap { .. })
    }
}

/// For each position, the first position with a lower grade, or the number of positions.
fn first_lower(grades: &[f64]) -> Vec<usize> {
    let mut lower = vec![grades.len(); grades.len()];
    for position in (1..grades.len()).rev() {
        let same = compare(grades[position - 1], grades[position]).is_eq();
        lower[position - 1] = if same { lower[position] } else { position };
    }
    lower
}

/// Means over groups of equal grades.
fn average(values: &mut [f64], lower: &[usize]) {
    let mut start = 0;
    for group in lower.chunk_by(|a, b| a == b) {
        let group = &mut values[start..start + group.len()];
        let mean = group.iter().sum::<f64>() / group.len() as f64;
        group.fill(mean);
        start += group.len();
    }
}

fn products(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a * b).collect()
}

fn swap(gains: Vec<f64>, discounts: Vec<f64>, lower: &[usize]) -> (Vec<f64>, Alpha) {
    let swaps = Swaps { gains: &gains, discounts: &discounts, lower };
    let beta = swaps.over_lower(&vec![1.0; gains.len()]);
    let scales = beta.iter().map(|beta| if *beta > 0.0 { 1.0 / beta } else { 0.0 }).collect();
    (beta, Alpha::Swap { gains, discounts, scales })
}

fn rank(gains: &[f64], discounts: &[f64], lower: &[usize]) -> (Vec<f64>, Alpha) {
    let beta = (0..gains.len()).map(|j| gains[j] * discounts[j] * logarithmic(j + 1)).collect();
    let mut first = 0;
    let mut row = Vec::with_capacity(gains.len());
    for position in 0..gains.len() {
        if position > 0 && lower[position - 1] == position {
            first = position;
        }
        row.push(1.0 / (first + 2) as f64);
    }
    (beta, Alpha::Row(row))
}

fn from_tables(tables: &Tables, grades: &[f64], discounts: &[f64]) -> (Vec<f64>, Alpha) {
    let codes: Vec<Option<usize>> = grades.iter().map(|y| grade_number(*y, tables.document.len())).collect();
    let weights: Vec<f64> =
        codes.iter().map(|grade| grade.map_or(0.0, |grade| tables.document[grade])).collect();
    let grades = codes.into_iter().map(Option::unwrap_or_default).collect();
    (products(&weights, discounts), Alpha::Table(tables.pair.clone(), grades))
}

// Sums over pairs of positions with the weights of `swap`, in O(N).
//
// ```text
// S_j = sum over t of a lower grade    (G_j - G_t) (D_j - D_t) x_t
// W_t = sum over j of a higher grade   (G_j - G_t) (D_j - D_t) x_j
// ```
//
// Gains G and discounts D fall with the position. From one position to the next, a sum changes by the step of D times a
// sum without D; from one grade to the next by the step of G times a sum without G. Both steps have one sign, so nothing
// cancels that the sums themselves do not cancel.

/// Operations, for [`Ticks`], of a position.
const POSITION_COST: usize = 8;

/// Gains, discounts and the first position of a lower grade, by position of the ideal order.
#[derive(Debug, Clone, Copy)]
pub struct Swaps<'a> {
    /// G.
    pub gains: &'a [f64],
    /// D.
    pub discounts: &'a [f64],
    /// The same number for all positions of a grade.
    pub lower: &'a [usize],
}

impl Swaps<'_> {
    /// S.
    pub fn over_lower(&self, x: &[f64]) -> Vec<f64> {
        let last = x.len().saturating_sub(1);
        self.sums(x, &|index| last - index)
    }

    /// W.
    pub fn over_higher(&self, x: &[f64]) -> Vec<f64> {
        self.sums(x, &|index| index)
    }

    /// The sums over the grades that come before in the order of the positions `at`, which goes up or down.
    fn sums(&self, x: &[f64], at: &dyn Fn(usize) -> usize) -> Vec<f64> {
        let Self { gains, discounts, lower } = *self;
        let n = x.len();
        let step = |values: &[f64], a: usize, b: usize| (values[at(a)] - values[at(b)]).abs();
        let mut sums = vec![0.0; n];
        let mut ticks = Ticks::default();
        // Sums over earlier grades of x, with D, with G and with both, as the current position sees them.
        let (mut plain, mut by_discount, mut by_gain, mut by_both) = (0.0, 0.0, 0.0, 0.0);
        let mut first = 0;
        for index in 0..n {
            ticks.add(POSITION_COST);
            if index > 0 {
                let moved = step(discounts, index, index - 1);
                by_both += moved * by_gain;
                by_discount += moved * plain;
            }
            if index > 0 && lower[at(index)] != lower[at(index - 1)] {
                let earlier = std::mem::replace(&mut first, index);
                for other in earlier..first {
                    by_discount += step(discounts, index, other) * x[at(other)];
                    plain += x[at(other)];
                }
                let gained = step(gains, index, index - 1);
                by_both += gained * by_discount;
                by_gain += gained * plain;
            }
            sums[at(index)] = by_both;
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_those_over_pairs() {
        let grades = [3.0, 3.0, 3.0, 2.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0];
        let gains: Vec<f64> = grades.iter().map(|y: &f64| y.exp2() - 1.0).collect();
        let discounts: Vec<f64> =
            (0..10).map(|p| if p < 8 { 1.0 / f64::from(p + 2).log2() } else { 0.0 }).collect();
        let lower = [3, 3, 3, 4, 6, 6, 10, 10, 10, 10];
        let swaps = Swaps { gains: &gains, discounts: &discounts, lower: &lower };
        let x: Vec<f64> = (0..10).map(|i| (f64::from(i) * 1.7).sin()).collect();
        let weight = |j: usize, t: usize| (gains[j] - gains[t]) * (discounts[j] - discounts[t]);
        let (over_lower, over_higher) = (swaps.over_lower(&x), swaps.over_higher(&x));
        for p in 0..10 {
            let expected: f64 = (lower[p]..10).map(|t| weight(p, t) * x[t]).sum();
            assert!((over_lower[p] - expected).abs() < 1e-14, "{p}");
            let expected: f64 = (0..p).filter(|j| lower[*j] <= p).map(|j| weight(j, p) * x[j]).sum();
            assert!((over_higher[p] - expected).abs() < 1e-14, "{p}");
        }
        assert!(swaps.over_lower(&[]).is_empty());
    }
}
