//! SmoothGrad (Le, Smola, Chapelle & Teo, section 5): a measure with smoothed positions.
//!
//! ```text
//! L(y, s)        = max M - M(documents by decreasing score),   M = sum_j a_j b_(document at position j)
//! L(y, s, sigma) = max M - A,   A = sum_j a_j m_j,   m_j = sum_i b_i p_ij,   p_ij = h_ij / sum_i h_ij
//! h_ij = exp(-(s_i - s_(j))^2 / (2 sigma^2)),   s_(j) the j-th largest score
//! dA/ds_i = sum_j q_ij - [i at position j] sum_i' q_i'j,   q_ij = -a_j p_ij (b_i - m_j) (s_i - s_(j)) / sigma^2
//! ```
//!
//! A document may count at several positions, so A may exceed max M and the smoothed loss fall below 0.
//!
//! The paper's display omits a_j, without which A tends to a constant, and prints Algorithm 4 with the sign of a
//! loss. The measure is a [`Measure`] without parameters, by default "ndcg@10": a position costs O(N). The
//! loss is not convex; it is a step function without smoothing, and with it has no gradient where two scores at the
//! positions of a are equal (the documents then keep their order).

use std::sync::Arc;

use super::measure::{Measure, PositionWeights};
use super::{check_gains, in_range, measure, unknown_measure, with_scratch};
use crate::base::{Params, Result, checkpoint};
use crate::cost::loss::{ListwiseLoss, LossDef, QueryLoss, Shape};
use crate::data::RowGroup;
use crate::math::descending;

pub const SMOOTH_GRAD: LossDef = LossDef {
    parameters: &["measure", "sigma"],
    measures: &["ndcg", "ndcg@k", "dcg", "dcg@k", "precision@k", "wta"],
    ..LossDef::listwise("smooth_grad", Shape::Annealed, |params| Ok(Arc::new(SmoothGrad::new(params)?)))
};

#[derive(Debug)]
struct SmoothGrad {
    /// The measure that it maximizes.
    measure: Measure,
    /// The first sigma; by the scores if `None`.
    sigma: Option<f64>,
}

/// The loss of one query.
struct SmoothGradQuery {
    weights: Arc<PositionWeights>,
    largest: f64,
}

/// The smoothed loss of one query.
struct Smoothed {
    weights: Arc<PositionWeights>,
    largest: f64,
    sigma: f64,
}

impl SmoothGrad {
    /// The reciprocal rank needs queries with one relevant document, and `eru` has parameters.
    fn new(params: &Params) -> Result<Self> {
        let metric = measure(params, "ndcg@10")?;
        match Measure::of(&metric) {
            Some(measure) if !matches!(measure, Measure::Mrr(_)) => {
                Ok(Self { measure, sigma: params.number("sigma") })
            }
            _ => Err(unknown_measure(&metric.name(), &SMOOTH_GRAD)),
        }
    }
}

impl ListwiseLoss for SmoothGrad {
    fn validate(&self) -> Result<()> {
        let sigma = self.sigma.unwrap_or(1.0);
        in_range((1e-9..=1e9).contains(&sigma), "sigma", &sigma, "a number from 1e-9 to 1e9")
    }

    fn first_sigma(&self) -> Option<f64> {
        self.sigma
    }

    fn is_informative(&self, labels: &[f64]) -> bool {
        let weights = self.measure.weights(labels);
        weights.largest() > weights.smallest()
    }

    fn check_query(&self, labels: &[f64], _row_groups: &[RowGroup]) -> Result<()> {
        check_gains(labels, SMOOTH_GRAD.name)
    }

    fn prepare(&self, labels: &[f64], _row_groups: &[RowGroup]) -> Box<dyn QueryLoss> {
        let weights = Arc::new(self.measure.weights(labels));
        Box::new(SmoothGradQuery { largest: weights.largest(), weights })
    }
}

impl QueryLoss for SmoothGradQuery {
    /// The subgradient is 0, and so is the derivative where it exists.
    fn value_and_subgradient(&self, scores: &[f64], subgradient: &mut [f64]) -> f64 {
        subgradient.fill(0.0);
        self.largest - self.weights.of_order(descending(scores).into_iter())
    }

    fn worth(&self) -> Option<&[f64]> {
        Some(&self.weights.documents)
    }

    fn smoothed(&self, sigma: f64) -> Option<Box<dyn QueryLoss>> {
        Some(Box::new(Smoothed { weights: Arc::clone(&self.weights), largest: self.largest, sigma }))
    }
}

impl Smoothed {
    /// Adds -a_j dm_j/ds for the position of weight a that this document has; returns m_j.
    fn position(&self, a: f64, holder: usize, scores: &[f64], h: &mut [f64], gradient: &mut [f64]) -> f64 {
        checkpoint();
        let b = &self.weights.documents;
        let distance = |i: usize| (scores[i] - scores[holder]) / self.sigma;
        let (mut total, mut gain) = (0.0, 0.0);
        for (i, h) in h.iter_mut().enumerate() {
            let z = distance(i);
            *h = libm::exp(-0.5 * z * z);
            total += *h;
            gain += b[i] * *h;
        }
        let mean = gain / total;
        let factor = a / (total * self.sigma);
        for (i, h) in h.iter().enumerate().filter(|(_, h)| **h > 0.0) {
            let slope = factor * h * (b[i] - mean) * distance(i);
            gradient[i] += slope;
            gradient[holder] -= slope;
        }
        mean
    }
}

impl QueryLoss for Smoothed {
    fn value_and_subgradient(&self, scores: &[f64], subgradient: &mut [f64]) -> f64 {
        subgradient.fill(0.0);
        let order = descending(scores);
        with_scratch(scores.len(), |h| {
            let positions = self.weights.positions.iter().zip(order);
            let terms = positions.map(|(&a, holder)| a * self.position(a, holder, scores, h, subgradient));
            self.largest - terms.sum::<f64>()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::metric::Metric;

    const MEASURES: &[&str] = &["ndcg", "ndcg@3", "dcg", "dcg@2", "precision@2", "wta"];

    fn of(name: &str, labels: &[f64]) -> Box<dyn QueryLoss> {
        let measure = Measure::of(&Metric::parse(name).unwrap()).unwrap();
        SmoothGrad { measure, sigma: None }.prepare(labels, &[])
    }

    proptest::proptest! {
        #[test]
        fn the_gradient_matches_finite_differences(rows in proptest::collection::vec((0u8..4, -3.0f64..3.0), 1..9)) {
            let labels: Vec<f64> = rows.iter().map(|row| f64::from(row.0)).collect();
            let scores: Vec<f64> = rows.iter().map(|row| row.1).collect();
            let order = descending(&scores);
            proptest::prop_assume!(order.windows(2).all(|pair| scores[pair[0]] > scores[pair[1]] + 1e-4));
            let (mut g, mut unused) = (vec![0.0; rows.len()], vec![0.0; rows.len()]);
            for name in MEASURES {
                for sigma in [0.3, 1.0, 4.0] {
                    let loss = of(name, &labels).smoothed(sigma).unwrap();
                    loss.value_and_subgradient(&scores, &mut g);
                    for i in 0..rows.len() {
                        let mut at = |h: f64| {
                            let mut moved = scores.clone();
                            moved[i] += h;
                            loss.value_and_subgradient(&moved, &mut unused)
                        };
                        let difference = (at(1e-5) - at(-1e-5)) / 2e-5;
                        proptest::prop_assert!((difference - g[i]).abs() < 1e-6, "{name}: {difference}, {}", g[i]);
                    }
                }
            }
        }
    }

    #[test]
    fn other_metrics_are_refused() {
        for name in ["map", "mrr", "precision", "err", "eru"] {
            let options = serde_json::json!({ "measure": name });
            let error =
                SmoothGrad::new(&options.as_object().unwrap().clone().into()).unwrap_err().to_string();
            let allowed = "ndcg, ndcg@k, dcg, dcg@k, precision@k or wta with the loss 'smooth_grad'";
            assert_eq!(error, format!("option 'measure': got '{name}', expected {allowed}"));
        }
    }

    #[test]
    fn it_tends_to_the_measure() {
        let (labels, scores) = ([0.0, 2.0, 1.0, 3.0], [0.4, 0.1, 0.3, 0.2]);
        let mut g = [1.0; 4];
        for name in MEASURES {
            let loss = of(name, &labels);
            let exact = loss.value_and_subgradient(&scores, &mut g);
            let metric = Metric::parse(name).unwrap();
            let (found, best) =
                (metric.value(&labels, &scores).unwrap(), metric.value(&labels, &labels).unwrap());
            assert!((exact - (best - found)).abs() < 1e-12, "{name}");
            assert_eq!(g.to_vec(), [0.0; 4]);
            for sigma in [1e-3, 1e-100, 1e-300] {
                let value = loss.smoothed(sigma).unwrap().value_and_subgradient(&scores, &mut g);
                assert!(
                    (value - exact).abs() < 1e-12 && g.iter().all(|g| g.abs() < 1e-12),
                    "{name}, {sigma}"
                );
            }
            let value = loss.smoothed(1e-300).unwrap().value_and_subgradient(&[0.5; 4], &mut g);
            assert!(value.is_finite() && g.iter().all(|g| g.abs() < 1e-300));
        }
    }
}
