//! Pairwise hinge loss (Herbrich et al. 2000; Dai & Wang 2019, equation 3.7).
//!
//!   L(y, s) = 2 / (N (N - 1)) sum over pairs with y_j > y_l of max(0, 1 - (s_j - s_l))
//!
//! for the N documents of one query; pairs with equal labels cost nothing. Cost of one evaluation: O(N^2).

use super::{LossDef, PairLoss, pair_share};

/// The definition.
pub const HINGE: LossDef = LossDef {
    name: "hinge",
    summary: "pairwise hinge: max(0, 1 - (s_j - s_l)) for each pair with y_j > y_l, mean over all pairs",
    pair: PairLoss::Hinge,
    value_and_subgradient,
};

fn value_and_subgradient(labels: &[f64], scores: &[f64], subgradient: &mut [f64]) -> f64 {
    subgradient.fill(0.0);
    let weight = pair_share(labels.len());
    let mut value = 0.0;
    for j in 0..labels.len() {
        for l in 0..labels.len() {
            let slack = 1.0 - (scores[j] - scores[l]);
            if labels[j] > labels[l] && slack > 0.0 {
                value += weight * slack;
                subgradient[j] -= weight;
                subgradient[l] += weight;
            }
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::dense::dot;

    proptest::proptest! {
        /// f(b) >= f(a) + g . (b - a): the law of a subgradient of a convex function.
        #[test]
        fn the_subgradient_inequality_holds(
            rows in proptest::collection::vec((0u8..4, -2.0f64..2.0, -2.0f64..2.0), 0..12)
        ) {
            let labels: Vec<f64> = rows.iter().map(|row| f64::from(row.0)).collect();
            let a: Vec<f64> = rows.iter().map(|row| row.1).collect();
            let b: Vec<f64> = rows.iter().map(|row| row.2).collect();
            let mut g = vec![0.0; rows.len()];
            let at_b = value_and_subgradient(&labels, &b, &mut g);
            let at_a = value_and_subgradient(&labels, &a, &mut g);
            let step: Vec<f64> = b.iter().zip(&a).map(|(x, y)| x - y).collect();
            proptest::prop_assert!(at_b >= at_a + dot(&g, &step) - 1e-12);
        }
    }
}
