//! The generalization bound of Theorem 8 (Chaudhuri & Tewari 2014), for convex losses with a Lipschitz constant and one linear
//! function of all queries:
//!
//! ```text
//! E L(w) <= L(w*) + 2 L_2 B (8 / n + sqrt(2 / n)),   L_2 = R_X L_1
//! ```
//!
//! n is the number of queries, R_X the largest norm of a scaled document, L_1 the largest |g|_1 of a subgradient of the loss
//! in the scores (SLAM: twice the sum of the weights v), B a bound of |w - w0|, w0 the prior. The theorem holds for a B that
//! is fixed before training, for the lambda below, and for w0 = 0 or a w0 from other rows. The report takes B = |w - w0| of
//! the fitted function. The bound is proportional to B, and lambda to 1 / B.
//!
//! lambda = 2 L_2 / (B sqrt(n) sqrt(1/2 + 4/n)), which is O(1 / sqrt(n)), minimizes the last bound of the proof,
//! lambda B^2 / 2 + 4 (lambda B + L_2)^2 / (lambda n).

use serde_json::{Value, json};

use crate::base::{Control, Result};
use crate::cost::loss::ListLoss;
use crate::data::Dataset;
use crate::math::dot;

/// The bound for a function with these weights on scaled documents, with what it is made of: L_2, B, n, and the lambda of the
/// proof, null if B = 0. `None` if the loss has no Lipschitz constant.
///
/// # Errors
/// An interruption.
pub(super) fn bound(
    loss: &ListLoss,
    data: &Dataset,
    (w, center): (&[f64], Option<&[f64]>),
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
    let difference = |(index, w): (usize, &f64)| w - center.map_or(0.0, |center| center[index]);
    let from_center: Vec<f64> = w.iter().enumerate().map(difference).collect();
    let radius = dot(&from_center, &from_center).sqrt();
    let (n, lipschitz) = (data.n_queries() as f64, lipschitz * largest_square.sqrt());
    let lambda = (radius > 0.0).then(|| 2.0 * lipschitz / (radius * n.sqrt() * (0.5 + 4.0 / n).sqrt()));
    Ok(Some(json!({
        "formula": "2 L_2 B (8 / n + sqrt(2 / n))",
        "lipschitz": lipschitz,
        "radius": radius,
        "queries": data.n_queries(),
        "value": 2.0 * lipschitz * radius * (8.0 / n + (2.0 / n).sqrt()),
        "lambda": lambda,
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
