//! The generalization bound of Theorem 8 (Chaudhuri & Tewari 2014), for convex losses with a Lipschitz constant and one linear
//! function of all queries:
//!
//! ```text
//! E L(w) <= L(w*) + 2 L_2 B (8 / n + sqrt(2 / n)),   L_2 = R_X L_1
//! ```
//!
//! n is the number of queries, R_X the largest norm of a scaled document, L_1 a bound of |g|_1 for loss subgradients g
//! in the scores (SLAM: twice the sum of the weights v), w* the best function with |w - w0| <= B, w0 the prior. w minimizes
//! the mean loss + lambda / 2 |w - w0|^2 over the same ball, with
//!
//! ```text
//! lambda = 2 L_2 / (B sqrt(n) sqrt(1/2 + 4/n)),
//! ```
//!
//! which minimizes the last bound of the proof, lambda B^2 / 2 + 4 (lambda B + L_2)^2 / (lambda n). B and lambda determine
//! each other, so a training has one of them:
//!
//! | penalty | given | it is the function of the theorem if |
//! |---|---|---|
//! | ridge | lambda | \|w - w0\| <= B: the ball changes nothing |
//! | ball | B | lambda is at most the multiplier of \|w\| <= B: the penalty changes nothing |
//!
//! The proof is for a lambda or B fixed before training, and for w0 = 0 or a w0 from other rows.

use serde_json::{Value, json};

use crate::base::{Control, Result};
use crate::cost::loss::Loss;
use crate::data::Dataset;
use crate::math::dot;

/// Rounding of norms and multipliers.
const ROUNDED: f64 = 1.0 + 1e-9;

/// The values of lambda and B in a training.
#[derive(Debug, Clone, Copy)]
pub(super) enum Regularized {
    /// The ridge penalty.
    Ridge {
        /// lambda, as the factor of |w - w0|^2 / 2.
        lambda: f64,
        /// |w - w0|.
        length: f64,
    },
    /// The penalty ball.
    Ball {
        /// B.
        radius: f64,
        /// The multiplier of |w| <= B, as the factor of |w|^2 / 2.
        multiplier: f64,
    },
}

/// The bound for a function of scaled documents without weights, with its terms. `fixed`: lambda or B was fixed before
/// the training, and w0 is from other rows. `None` if the loss has no Lipschitz constant.
///
/// # Errors
/// An interrupt.
pub(super) fn bound(
    loss: &Loss,
    data: &Dataset,
    regularized: Regularized,
    fixed: bool,
    control: &Control,
) -> Result<Option<Value>> {
    let mut lipschitz = 0.0_f64;
    let mut largest_square = 0.0_f64;
    for query in 0..data.n_queries() {
        control.check()?;
        let Some(of_query) = loss.lipschitz(data.labels(query)) else { return Ok(None) };
        lipschitz = lipschitz.max(of_query);
        for row in data.rows(query) {
            let document = data.features.row_f64(row);
            largest_square = largest_square.max(dot(&document, &document));
        }
    }
    let (n, lipschitz) = (data.n_queries() as f64, lipschitz * largest_square.sqrt());
    if !(lipschitz > 0.0 && lipschitz.is_finite()) {
        return Ok(None);
    }
    let product = 2.0 * lipschitz / (n.sqrt() * (0.5 + 4.0 / n).sqrt());
    let (radius, lambda, problem) = match regularized {
        Regularized::Ridge { lambda, length } => {
            let radius = product / lambda;
            let outside = length > radius * ROUNDED;
            (radius, lambda, outside.then(|| format!("the function is {length:.4} from the prior; use a larger lambda, or penalty \"ball\" with this radius")))
        }
        Regularized::Ball { radius, multiplier } => {
            let lambda = product / radius;
            let free = lambda > multiplier * ROUNDED;
            (radius, lambda, free.then(|| format!("the multiplier of the radius is {multiplier:.4e}; use a smaller radius, or penalty \"ridge\" with this lambda")))
        }
    };
    let value = 2.0 * lipschitz * radius * (8.0 / n + (2.0 / n).sqrt());
    Ok(Some(json!({
        "formula": "2 L_2 B (8 / n + sqrt(2 / n))",
        "lipschitz": lipschitz,
        "radius": radius,
        "queries": data.n_queries(),
        "lambda": lambda / (2.0 * loss.penalty_factor()),
        "value": problem.is_none().then_some(value),
        "proved": fixed && problem.is_none(),
        "problem": problem,
    })))
}

#[cfg(test)]
mod tests {
    /// The lambda of the report minimizes the last bound of the proof, which is then at most the value of the report.
    #[test]
    fn lambda_minimizes_the_bound_of_the_proof() {
        for (lipschitz, radius, n) in [(3.0, 0.5, 80.0), (0.1, 7.0, 3.0), (2.0, 2.0, 1e5)] {
            let of = |lambda: f64| {
                let sum: f64 = lambda * radius + lipschitz;
                0.5 * lambda * radius * radius + 4.0 * sum * sum / (lambda * n)
            };
            let lambda = 2.0 * lipschitz / (radius * f64::sqrt(n) * f64::sqrt(0.5 + 4.0 / n));
            let least = (1..20_000).map(|i| of(lambda * f64::from(i) / 5000.0)).fold(f64::INFINITY, f64::min);
            assert!(of(lambda) <= least + 1e-12 * least);
            assert!(of(lambda) <= 2.0 * lipschitz * radius * (8.0 / n + f64::sqrt(2.0 / n)) * (1.0 + 1e-12));
        }
    }
}
