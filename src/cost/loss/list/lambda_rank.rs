//! LambdaRank (Burges 2010, section 4): pairs of documents that weigh what swapping them changes in NDCG@k.
//!
//! ```text
//! w_ij  = |a_p - a_q| (b_i - b_j) / (c + |s_i - s_j|)    for y_i > y_j at positions p and q, p <= k or q <= k
//! r_ij  = 1 / (1 + exp(s_i - s_j))
//! g_i   = z (sum over worse j of -w_ij r_ij + sum over better j of w_ji r_ji)
//! h_i   = z (sum over worse and better j of w r (1 - r))
//! z     = log2(1 + S) / S,    S = 2 sum over pairs of w r
//! ```
//!
//! a are the discounts of NDCG@k, 0 after position k, and b the gains divided by the largest DCG ([`Measure`]). The factor
//! sigma of the scores in Burges' r is 1: with Newton steps it is the unit of the scores. z, and c = 0.01 unless all scores
//! are equal, are the normalization of LightGBM's option `lambdarank_norm`: queries with many pairs do not count more, and
//! pairs with distant scores count less. Weights of documents are not supported. No function has these gradients. The value
//! is 1 - NDCG@k. Documents with equal scores are ordered by ascending grade, then as they come.

use std::cmp::Ordering;
use std::sync::Arc;

use super::measure::{Measure, PositionWeights};
use super::with_scratch;
use crate::base::{Params, Ticks};
use crate::cost::loss::{ListwiseLoss, LossDef, QueryLoss, Shape};
use crate::data::RowGroup;
use crate::math::{compare, descending_then};

/// k, if it is not given.
const TRUNCATION: usize = 10;

/// c.
const DISTANCE: f64 = 0.01;

/// Operations, for [`Ticks`], of a pair.
const PAIR_COST: usize = 32;

pub const LAMBDA_RANK: LossDef = LossDef {
    parameters: &["truncation"],
    ..LossDef::listwise("lambda_rank", Shape::Gradients, |params| Ok(Arc::new(LambdaRank::new(params))))
};

/// The loss: NDCG@k.
#[derive(Debug)]
struct LambdaRank(Measure);

/// The loss of one query.
#[derive(Debug)]
struct LambdaRankQuery {
    grades: Vec<f64>,
    /// a up to the last position with a discount, and b.
    weights: PositionWeights,
    /// The largest NDCG@k: 1, or 0 without a gain.
    largest: f64,
}

impl LambdaRank {
    fn new(params: &Params) -> Self {
        Self(Measure::Ndcg(Some(params.count("truncation").unwrap_or(TRUNCATION))))
    }
}

impl ListwiseLoss for LambdaRank {
    fn is_informative(&self, labels: &[f64]) -> bool {
        let weights = self.0.weights(labels);
        weights.largest() > weights.smallest()
    }

    fn prepare(&self, labels: &[f64], _row_groups: &[RowGroup]) -> Box<dyn QueryLoss> {
        let weights = self.0.weights(labels);
        Box::new(LambdaRankQuery { grades: labels.to_vec(), largest: weights.largest(), weights })
    }
}

impl QueryLoss for LambdaRankQuery {
    fn value_and_subgradient(&self, scores: &[f64], subgradient: &mut [f64]) -> f64 {
        with_scratch(scores.len(), |curvature| self.newton(scores, subgradient, curvature)).unwrap_or(0.0)
    }

    fn newton(&self, scores: &[f64], gradient: &mut [f64], curvature: &mut [f64]) -> Option<f64> {
        let Self { grades, weights, largest } = self;
        let PositionWeights { positions: a, documents: b } = weights;
        gradient.fill(0.0);
        curvature.fill(0.0);
        let order = descending_then(scores, Some(&|i, j| compare(grades[i], grades[j])));
        let is_flat = order.first().zip(order.last()).is_none_or(|(i, j)| scores[*i] <= scores[*j]);
        let (mut sum, mut ticks) = (0.0, Ticks::default());
        for (p, &first) in order.iter().enumerate().take(a.len()) {
            ticks.add(PAIR_COST * (order.len() - p));
            for (q, &second) in order.iter().enumerate().skip(p + 1) {
                let (better, worse) = match compare(grades[first], grades[second]) {
                    Ordering::Greater => (first, second),
                    Ordering::Less => (second, first),
                    Ordering::Equal => continue,
                };
                let margin = scores[better] - scores[worse];
                let distance = if is_flat { 1.0 } else { DISTANCE + margin.abs() };
                let weight = (a[p] - a.get(q).unwrap_or(&0.0)) * (b[better] - b[worse]) / distance;
                let r = 1.0 / (1.0 + libm::exp(margin));
                gradient[better] -= weight * r;
                gradient[worse] += weight * r;
                curvature[better] += weight * r * (1.0 - r);
                curvature[worse] += weight * r * (1.0 - r);
                sum += 2.0 * weight * r;
            }
        }
        if sum > 0.0 {
            let z = libm::log2(1.0 + sum) / sum;
            gradient.iter_mut().chain(curvature).for_each(|number| *number *= z);
        }
        Some(largest - weights.of_order(order.into_iter()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::metric::{Metric, MetricOptions, Ties};

    fn loss(k: usize) -> LambdaRank {
        LambdaRank(Measure::Ndcg(Some(k)))
    }

    /// NDCG@k of documents in this order, from its definition.
    fn ndcg(grades: &[f64], order: &[usize], k: usize) -> f64 {
        let dcg = |grades: &mut dyn Iterator<Item = f64>| -> f64 {
            grades
                .take(k)
                .zip(2..)
                .map(|(y, place)| (y.max(0.0).exp2() - 1.0) / f64::from(place).log2())
                .sum()
        };
        let mut ideal = grades.to_vec();
        ideal.sort_by(|a, b| b.total_cmp(a));
        let best = dcg(&mut ideal.into_iter());
        if best > 0.0 { dcg(&mut order.iter().map(|document| grades[*document])) / best } else { 0.0 }
    }

    /// Gradient and second derivatives from swaps of all pairs of documents.
    fn brute_force(grades: &[f64], scores: &[f64], k: usize) -> (Vec<f64>, Vec<f64>) {
        let n = grades.len();
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]).then(grades[*a].total_cmp(&grades[*b])));
        let place = |document: usize| order.iter().position(|other| *other == document).unwrap();
        let is_flat = scores.iter().all(|score| score.total_cmp(&scores[0]).is_eq());
        let (mut g, mut h, mut sum) = (vec![0.0; n], vec![0.0; n], 0.0);
        for i in 0..n {
            for j in (0..n).filter(|j| grades[i] > grades[*j] && (place(i) < k || place(*j) < k)) {
                let mut swapped = order.clone();
                swapped.swap(place(i), place(j));
                let change = (ndcg(grades, &swapped, k) - ndcg(grades, &order, k)).abs();
                let margin = scores[i] - scores[j];
                let weight = if is_flat { change } else { change / (0.01 + margin.abs()) };
                let r = 1.0 / (1.0 + margin.exp());
                (g[i], g[j]) = (g[i] - weight * r, g[j] + weight * r);
                (h[i], h[j]) = (h[i] + weight * r * (1.0 - r), h[j] + weight * r * (1.0 - r));
                sum += 2.0 * weight * r;
            }
        }
        let z = if sum > 0.0 { (1.0 + sum).log2() / sum } else { 1.0 };
        (g.iter().map(|g| z * g).collect(), h.iter().map(|h| z * h).collect())
    }

    proptest::proptest! {
        /// Lists with ties, equal grades and grades below 0, with k below and above the list size.
        #[test]
        fn derivatives_match_brute_force(rows in proptest::collection::vec((-1i8..4, -3i8..4), 1..9), k in 1usize..10) {
            let grades: Vec<f64> = rows.iter().map(|row| f64::from(row.0)).collect();
            let scores: Vec<f64> = rows.iter().map(|row| 0.5 * f64::from(row.1)).collect();
            let (mut g, mut h) = (vec![7.0; rows.len()], vec![7.0; rows.len()]);
            let value = loss(k).prepare(&grades, &[]).newton(&scores, &mut g, &mut h).unwrap();
            let (expected_g, expected_h) = brute_force(&grades, &scores, k);
            for (found, expected) in g.iter().chain(&h).zip(expected_g.iter().chain(&expected_h)) {
                proptest::prop_assert!((found - expected).abs() < 1e-12, "{g:?} {h:?} {expected_g:?} {expected_h:?}");
            }
            proptest::prop_assert!(g.iter().sum::<f64>().abs() < 1e-12);
            let options = MetricOptions { ties: Ties::Worst, ..MetricOptions::default() };
            let metric = Metric::parse(&format!("ndcg@{k}")).unwrap().with_options(options).unwrap();
            let lost = 1.0 - metric.value(&grades, &scores).unwrap_or(1.0);
            proptest::prop_assert!((value - lost).abs() < 1e-12, "{value} {lost}");
        }
    }

    #[test]
    fn distant_scores_and_large_grades_give_numbers() {
        let (mut g, mut h) = ([0.0; 4], [0.0; 4]);
        let query = loss(10).prepare(&[2000.0, 0.0, 1e300, 1.0], &[]);
        for scores in [[-1e300, 1e300, -5.0, 3.0], [0.0; 4]] {
            query.newton(&scores, &mut g, &mut h).unwrap();
            assert!(g.iter().chain(&h).all(|number| number.is_finite()), "{g:?} {h:?}");
        }
    }
}
