//! Bounds of the sum of RML over the rounds of a training (Chaudhuri & Tewari 2014).
//!
//! | bound, for every u | holds |
//! |---|---|
//! | sum f_t(u) + \|u\|^2 / (2 eta) + (eta / 2) sum \|z_t\|^2, (15) | always |
//! | 2 sum f_t(u) + 4 \|u\|^2 m R_X^2 v_max, Theorem 5 (17) | with `update_on` misorder |
//!
//! f_t counts the documents that were active in round t, so it is convex and f_t(w_t) >= RML. The proof of Theorem 5 is
//! for eta = 1 / (4 m R_X^2 v_max). With misorder the ranking does not depend on eta, so it holds for every eta; with
//! margin the ranking does depend on it, and the value has no proof. m is the largest number of documents
//! with a positive weight, which is k for NDCG@k (Corollary 7).
//!
//! Both are evaluated at u = c times the averaged weights, c >= 0 the best: with g_i the score of document i minus that of its rival
//! under the averaged weights, a sum of f_t is sum n_i v_i max(0, 1 - c g_i), n_i the number of rounds that counted i.

use serde::Serialize;

use super::rounds::Perceptron;
use crate::control::Control;
use crate::data::Dataset;
use crate::error::Result;
use crate::loss::list::Active;
use crate::math::dense::dot;
use crate::math::order::compare;

/// One term n v max(0, 1 - c g).
#[derive(Debug, Clone, Copy)]
struct Term {
    weight: f64,
    lead: f64,
}

/// The bounds of a training.
#[derive(Debug, Serialize)]
pub(super) struct Bounds {
    comparator: &'static str,
    regret: Bound,
    theorem_5: Bound,
}

/// A bound at the best scale of the comparator.
#[derive(Debug, Serialize)]
struct Bound {
    formula: &'static str,
    value: f64,
    scale: f64,
    proved: bool,
}

/// Computes the bounds. `counted`: number of rounds that used each document (`n_docs`).
///
/// # Errors
/// An interruption.
pub(super) fn report(
    perceptron: &Perceptron,
    data: &Dataset,
    counted: &[u32],
    control: &Control,
) -> Result<Bounds> {
    let (rules, progress) = (perceptron.rules(), perceptron.progress());
    let direction = progress.average();
    let mut terms = terms(perceptron, data, counted, &direction, control)?;
    terms.sort_by(|a, b| compare(b.lead, a.lead));
    let square = dot(&direction, &direction);
    let size = progress.most_weighted as f64 * progress.largest_norm * progress.largest_norm;
    let regret = least(&terms, square / (2.0 * rules.learning_rate));
    let theorem = least(&terms, 2.0 * square * size * progress.largest_ratio);
    Ok(Bounds {
        comparator: "averaged weights, best of scales",
        regret: Bound {
            formula: "sum f_t(u) + |u|^2 / (2 eta) + eta / 2 sum |z_t|^2",
            value: regret.1 + 0.5 * rules.learning_rate * progress.squared_steps,
            scale: regret.0,
            proved: true,
        },
        theorem_5: Bound {
            formula: "2 sum f_t(u) + 4 |u|^2 m R_X^2 v_max",
            value: 2.0 * theorem.1,
            scale: theorem.0,
            proved: rules.update_on == Active::Misorder,
        },
    })
}

fn terms(
    perceptron: &Perceptron,
    data: &Dataset,
    counted: &[u32],
    direction: &[f64],
    control: &Control,
) -> Result<Vec<Term>> {
    let mut terms = Vec::new();
    for query in 0..data.n_queries() {
        control.check()?;
        let rows = data.rows(query);
        let counted = &counted[rows.clone()];
        if counted.iter().all(|count| *count == 0) {
            continue;
        }
        let surrogate = perceptron.surrogate().of(data.labels(query));
        let scores: Vec<f64> = rows.map(|row| data.features.row_dot(row, direction)).collect();
        for (document, rival) in surrogate.rivals(&scores).into_iter().enumerate() {
            if let (Some(rival), count @ 1..) = (rival, counted[document]) {
                let lead = scores[document] - scores[rival];
                terms.push(Term { weight: f64::from(count) * surrogate.weights()[document], lead });
            }
        }
    }
    Ok(terms)
}

/// The c >= 0 with the least sum of terms + c^2 `curvature`, and that least value. Terms by decreasing lead.
///
/// The term of a lead above 0 ends at c = 1 / lead. Between two such ends the sum is a parabola.
fn least(terms: &[Term], curvature: f64) -> (f64, f64) {
    let mut slope: f64 = terms.iter().map(|term| term.weight * term.lead).sum();
    let mut best = 0.0;
    for term in terms.iter().filter(|term| term.lead > 0.0) {
        if slope <= 0.0 {
            break;
        }
        let end = 1.0 / term.lead;
        // The sum falls up to this part, so its minimum is not left of it.
        best = (0.5 * slope / curvature).max(best).min(end);
        if best < end {
            break;
        }
        slope -= term.weight * term.lead;
    }
    let value = |c: f64| {
        let losses = terms.iter().map(|term| term.weight * (1.0 - c * term.lead).max(0.0)).sum::<f64>();
        losses + c * c * curvature
    };
    // If numbers are too large for a parabola, c = 0 may be better.
    let (there, zero) = (value(best), value(0.0));
    if there <= zero { (best, there) } else { (0.0, zero) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_value_is_that_of_a_fine_search() {
        let mut random = crate::math::random::Random::new(5);
        for round in 0..200 {
            let mut terms: Vec<Term> = (0..=round % 7)
                .map(|_| Term { weight: random.symmetric().abs(), lead: 0.3 + random.symmetric() })
                .collect();
            terms.sort_by(|a, b| compare(b.lead, a.lead));
            let curvature = 0.5 * random.symmetric().abs();
            let value = |c: f64| {
                terms.iter().map(|t| t.weight * (1.0 - c * t.lead).max(0.0)).sum::<f64>() + c * c * curvature
            };
            let (scale, found) = least(&terms, curvature);
            let searched = (0..200_000).map(|n| value(f64::from(n) * 1e-3)).fold(f64::INFINITY, f64::min);
            assert!((value(scale) - found).abs() <= 1e-12, "{terms:?}");
            assert!(found <= searched + 1e-12, "{found} {searched} {terms:?} {curvature}");
        }
    }
}
