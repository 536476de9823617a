//! ListMLE (Xia et al. 2008): minus the logarithm of the probability of the ideal order, drawn without replacement.
//!
//! ```text
//! L(y, s)  = sum_i (E_i - s_(i)),   E_i = log sum_{j >= i} exp(s_(j)),   s_(i) the i-th score of the ideal order
//! dL/ds_(j) = exp(s_(j) - E_j) B_j - 1,                  B_j = sum_{i <= j} exp(E_j - E_i)
//! (H d)_(j) = exp(s_(j) - E_j) (B_j d_(j) - C_j),        C_j = sum_{i <= j} exp(E_j - E_i) mu_i
//! mu_i     = sum_{j >= i} exp(s_(j) - E_i) d_(j)
//! ```
//!
//! E, mu, B and C are recursive sums, so a pass costs O(N). All exponents are at most 0, except in E, of which
//! the largest is factored out: nothing overflows. Olinto & Fokoue (2018) print the inner sum from j = 1, which is not
//! a probability.
//!
//! The ideal order is by decreasing grade. Equal grades get an order drawn with the seed (`label_order` "random", the
//! default), or keep the order of the documents ("stable"). The loss fits this order too, except in queries whose
//! grades are all equal: they are not informative.

use std::sync::Arc;

use super::{differ, with_scratch};
use crate::base::{Ticks, named};
use crate::cost::loss::{ListwiseLoss, LossDef, QueryLoss, Shape};
use crate::data::RowGroup;
use crate::math::{Random, compare, sort_indices};

pub const LIST_MLE: LossDef = LossDef {
    parameters: &["label_order"],
    defaults: &[("label_order", LabelOrder::Random.name())],
    ..LossDef::listwise("list_mle", Shape::Smooth, |params| {
        // Trainings give the order (`defaults`); a stored loss without it keeps the order of the documents.
        let order = params.choice("label_order")?.unwrap_or(LabelOrder::Stable);
        let seed = || params.count("seed").unwrap_or(0) as u64;
        Ok(Arc::new(ListMle { seed: (order == LabelOrder::Random).then(seed) }))
    })
};

/// The order of equal grades.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LabelOrder {
    /// The order of the documents.
    Stable,
    /// A random order.
    Random,
}

named!(LabelOrder { Stable = "stable", Random = "random" });

struct ListMle {
    /// Seed for the order of equal grades; without a seed they keep the document order.
    seed: Option<u64>,
}

/// The loss of one query: its documents in ideal order.
struct ListMleQuery(Vec<usize>);

impl ListwiseLoss for ListMle {
    fn is_informative(&self, labels: &[f64]) -> bool {
        differ(labels)
    }

    /// A distribution and a document at each position but the last.
    fn lipschitz(&self, labels: &[f64]) -> Option<f64> {
        Some(2.0 * labels.len().saturating_sub(1) as f64)
    }

    fn prepare(&self, labels: &[f64], _row_groups: &[RowGroup]) -> Box<dyn QueryLoss> {
        let mut order: Vec<usize> = (0..labels.len()).collect();
        if let Some(seed) = self.seed {
            Random::new(seed).shuffle(&mut order);
        }
        sort_indices(&mut order, &|a, b| compare(labels[b], labels[a]));
        Box::new(ListMleQuery(order))
    }
}

/// Operations, for [`Ticks`], of a document.
const EXPONENTIAL: usize = 32;

/// A sum of exponentials as exp(largest) times `sum`.
struct LogSum {
    largest: f64,
    sum: f64,
}

impl LogSum {
    const EMPTY: Self = Self { largest: f64::NEG_INFINITY, sum: 0.0 };

    /// Adds exp(score); returns the logarithm of the sum.
    fn add(&mut self, score: f64) -> f64 {
        if score > self.largest {
            self.sum *= libm::exp(self.largest - score);
            self.largest = score;
        }
        self.sum += libm::exp(score - self.largest);
        self.largest + libm::log(self.sum)
    }
}

impl QueryLoss for ListMleQuery {
    fn value_and_subgradient(&self, scores: &[f64], subgradient: &mut [f64]) -> f64 {
        // From the last document to the first: E, kept in `subgradient`.
        let (mut value, mut ticks) = (0.0, Ticks::default());
        let mut rest = LogSum::EMPTY;
        for &document in self.0.iter().rev() {
            ticks.add(EXPONENTIAL);
            subgradient[document] = rest.add(scores[document]);
            value += subgradient[document] - scores[document];
        }
        // From the first to the last: B.
        let (mut before, mut b) = (f64::INFINITY, 0.0);
        for &document in &self.0 {
            ticks.add(EXPONENTIAL);
            let e = subgradient[document];
            b = 1.0 + b * libm::exp(e - before);
            subgradient[document] = b * libm::exp(scores[document] - e) - 1.0;
            before = e;
        }
        value
    }

    fn hessian_times(&self, scores: &[f64], direction: &[f64], product: &mut [f64]) -> bool {
        with_scratch(scores.len(), |sums| {
            // From the last document to the first: E in `sums`, mu in `product`.
            let mut rest = LogSum::EMPTY;
            let mut ticks = Ticks::default();
            let (mut behind, mut mean) = (f64::NEG_INFINITY, 0.0);
            for &document in self.0.iter().rev() {
                ticks.add(EXPONENTIAL);
                let e = rest.add(scores[document]);
                mean = mean * libm::exp(behind - e) + libm::exp(scores[document] - e) * direction[document];
                (sums[document], product[document]) = (e, mean);
                behind = e;
            }
            // From the first to the last: B and C.
            let (mut before, mut b, mut c) = (f64::INFINITY, 0.0, 0.0);
            for &document in &self.0 {
                ticks.add(EXPONENTIAL);
                let e = sums[document];
                let decay = libm::exp(e - before);
                (b, c) = (1.0 + b * decay, product[document] + c * decay);
                product[document] = libm::exp(scores[document] - e) * (b * direction[document] - c);
                before = e;
            }
        });
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The probabilities of all orders add up to one.
    #[test]
    fn it_is_a_probability_over_orders() {
        let (scores, mut g) = ([0.3, -1.2, 2.0, 0.7], [0.0; 4]);
        let mut total = 0.0;
        for code in 0..256usize {
            let labels: Vec<f64> = (0..4).map(|position| ((code >> (2 * position)) % 4) as f64).collect();
            if (0..4).all(|grade| labels.iter().any(|label| (label - f64::from(grade)).abs() < 0.5)) {
                let loss = ListMle { seed: None }.prepare(&labels, &[]);
                total += libm::exp(-loss.value_and_subgradient(&scores, &mut g));
            }
        }
        assert!((total - 1.0).abs() < 1e-14, "{total}");
    }

    #[test]
    fn the_seed_decides_the_order_of_equal_grades_only() {
        let labels = [1.0, 0.0, 1.0, 1.0, 0.0, 2.0, 1.0, 1.0];
        let scores = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8];
        let value = |labels: &[f64], seed| {
            ListMle { seed }.prepare(labels, &[]).value_and_subgradient(&scores, &mut [0.0; 8])
        };
        let values: Vec<f64> = (0..5).map(|seed| value(&labels, Some(seed))).collect();
        assert!(values.iter().any(|other| (other - values[0]).abs() > 1e-3));
        assert_eq!(value(&labels, Some(3)).to_bits(), values[3].to_bits());
        let distinct = [1.0, 0.0, 7.0, 3.0, 4.0, 2.0, 5.0, 6.0];
        assert_eq!(value(&distinct, Some(3)).to_bits(), value(&distinct, None).to_bits());
    }

    #[test]
    fn nothing_overflows() {
        let scores = [-1000.0, 1000.0, -1000.5, 999.0];
        let (mut g, mut h) = ([0.0; 4], [0.0; 4]);
        let loss = ListMle { seed: None }.prepare(&[3.0, 2.0, 1.0, 0.0], &[]);
        let value = loss.value_and_subgradient(&scores, &mut g);
        assert!((value - 2000.0 - 1999.5 - 2.0 * libm::log1p(libm::exp(-1.0))).abs() < 1e-9, "{value}");
        assert!(loss.hessian_times(&scores, &[1.0, -1.0, 2.0, 0.5], &mut h));
        assert!(g.iter().chain(&h).all(|x| x.is_finite()));
    }
}
