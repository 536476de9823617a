//! Bounds of the sum of RML over the rounds of one call (Chaudhuri & Tewari 2014).
//!
//! | bound, for every u | holds |
//! |---|---|
//! | sum f_t(u) + \|u - w_1\|^2 / (2 eta) + (eta / 2) sum \|z_t\|^2, (15) | always |
//! | 2 sum f_t(u) + 4 \|u - a w_1\|^2 m R_X^2 v_max, Theorem 5 (17) | with `update_on` misorder |
//! | the same at u = s u_* with f_t(u) = 0, Corollary 6 | as Theorem 5, if u_* has a margin above 0 |
//!
//! w_1 = 0 in a training, and the model's last weights in an update. Theorem 5 has w_1 = 0. The proof is for the
//! rate 1 / (4 m R_X^2 v_max), a eta in this table. With misorder the ranking does not change if eta and w_1 are multiplied
//! by the same number, so the bound holds for every eta; with margin the ranking does change, and the value has no proof.
//! m is the largest number of documents with a positive weight, which is k for NDCG@k (Corollary 7). m and v_max of the rounds
//! with an update are enough, because z_t = 0 in the others; the report has the paper's, of all rounds, too.
//!
//! f_t counts the documents that were active in round t, so it is convex and f_t(w_t) >= RML.
//!
//! The first two are evaluated at u = c times the averaged weights, c >= 0 the best: with g_i the score of document i
//! minus its rival's score under the averaged weights, a sum of f_t is sum n_i v_i max(0, 1 - c g_i), n_i the number of
//! rounds that counted i. Corollary 6 is evaluated at a separator u (below). With gamma its margin, any s
//! >= 1 / gamma gives f_t(s u / |u|) = 0; the best s is used.

use serde_json::{Value, json};

use super::rounds::{Perceptron, weight_range};
use crate::base::{Control, Result};
use crate::cost::loss::list::Active;
use crate::data::Dataset;
use crate::learn::kernel::Basis;
use crate::math::descending;

/// One term n v max(0, 1 - c g).
#[derive(Debug, Clone, Copy)]
struct Term {
    weight: f64,
    lead: f64,
}

/// The state before the first round of a call.
pub(super) struct Start {
    /// w_1.
    weights: Vec<f64>,
    rounds: u64,
    loss: f64,
    surrogate: f64,
    squared_steps: f64,
}

impl Start {
    /// The state of a perceptron before the rounds of a call.
    pub(super) fn of(perceptron: &Perceptron) -> Self {
        let progress = &perceptron.progress;
        Self {
            weights: progress.weights.clone(),
            rounds: progress.rounds,
            loss: progress.cumulative_loss,
            surrogate: progress.cumulative_surrogate,
            squared_steps: progress.squared_steps,
        }
    }
}

/// |c u - a w_1|^2 times a factor, as a function of c: square c^2 - 2 product c + constant.
#[derive(Debug, Clone, Copy)]
struct Parabola {
    square: f64,
    product: f64,
    constant: f64,
}

impl Parabola {
    /// `inner`: u.u, u.w_1 and w_1.w_1.
    fn new(factor: f64, a: f64, inner: [f64; 3]) -> Self {
        Self {
            square: factor * inner[0],
            product: factor * a * inner[1],
            constant: factor * a * a * inner[2],
        }
    }

    fn at(self, c: f64) -> f64 {
        // The value is a square, but rounding may leave a number below 0.
        (c * c * self.square - 2.0 * c * self.product + self.constant).max(0.0)
    }
}

/// Computes the bounds. `counted`: number of rounds of the call that used each document (`n_docs`).
///
/// # Errors
/// An interrupt.
pub(super) fn report(
    perceptron: &Perceptron,
    start: &Start,
    data: &Dataset,
    counted: &[u32],
    control: &Control,
) -> Result<Value> {
    let (rules, progress) = (&perceptron.rules, &perceptron.progress);
    // 1. The comparator, and where the call started. Support documents of the call had the weight 0 before.
    let average = progress.average();
    let mut first = start.weights.clone();
    first.resize(average.len(), 0.0);
    let inner = perceptron.inner_products(&average, &first);
    let terms = terms(perceptron, data, counted, &average, control)?;
    let leads: Vec<f64> = terms.iter().map(|term| term.lead).collect();
    let terms: Vec<Term> = descending(&leads).into_iter().map(|index| terms[index]).collect();
    // 2. The bounds at the best scale of the comparator.
    let eta = rules.learning_rate;
    let size = 4.0
        * progress.most_weighted as f64
        * progress.largest_norm
        * progress.largest_norm
        * progress.largest_ratio;
    // Rate of the proof of Theorem 5, relative to eta.
    let relative_rate = if size > 0.0 { 1.0 / (size * eta) } else { 0.0 };
    let regret = least(&terms, Parabola::new(0.5 / eta, 1.0, inner));
    let theorem = least(&terms, Parabola::new(0.5 * size, relative_rate, inner));
    // The proofs need norms, which exist only if the kernel is positive semidefinite.
    let definite = |support: &Basis| support.kernel.def.positive_semidefinite;
    let has_lengths = progress.support.as_ref().is_none_or(definite);
    let proved = has_lengths && rules.update_on == Active::Misorder;
    // 3. The bound of the separator with the larger margin, if there is one.
    let separator = best_separator(perceptron, data, &average, control)?;
    let name = separator.as_ref().map(|separator| separator.name);
    let of_margin = separator.map(|separator| {
        let [square, product, constant] = perceptron.inner_products(separator.weights, &first);
        let (gamma, length) = (separator.margin, square.sqrt());
        let parabola = Parabola::new(size, relative_rate, [1.0, product / length, constant]);
        let scale = (1.0 / gamma).max(relative_rate * product / length);
        (gamma, parabola.at(scale))
    });
    let (most_weighted, largest_ratio) = weights_of_all_rounds(perceptron, data);
    Ok(json!({
        "rounds": progress.rounds - start.rounds,
        "largest_weight_ratio": largest_ratio,
        "most_weighted_documents": most_weighted,
        "cumulative_loss": progress.cumulative_loss - start.loss,
        "cumulative_surrogate": progress.cumulative_surrogate - start.surrogate,
        "comparator": "averaged weights, best of scales",
        "regret": {
            "formula": "sum f_t(u) + |u - w_1|^2 / (2 eta) + eta / 2 sum |z_t|^2",
            "value": regret.1 + 0.5 * eta * (progress.squared_steps - start.squared_steps),
            "scale": regret.0,
            "proved": has_lengths,
        },
        "theorem_5": {
            "formula": "2 sum f_t(u) + 4 |u - a w_1|^2 m R_X^2 v_max",
            "value": 2.0 * theorem.1,
            "scale": theorem.0,
            "proved": proved,
        },
        "corollary_6": {
            "formula": "4 |u - a w_1|^2 m R_X^2 v_max, u a separator with margin 1; 4 m R_X^2 v_max / gamma^2 if w_1 = 0",
            "gamma": of_margin.map(|(gamma, _)| gamma),
            "value": of_margin.map(|(_, value)| value),
            "separator": name,
            "proved": proved && of_margin.is_some(),
        },
    }))
}

/// m and v_max of all queries, with and without an update.
fn weights_of_all_rounds(perceptron: &Perceptron, data: &Dataset) -> (u64, f64) {
    let of = |query: usize| weight_range(perceptron.surrogate.of(data.labels(query)).weights());
    let counts = (0..data.n_queries()).map(of);
    counts.fold((0, 1.0), |(m, v), (count, ratio)| (count.max(m), ratio.max(v)))
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
        let counted = &counted[rows];
        if counted.iter().all(|count| *count == 0) {
            continue;
        }
        let surrogate = perceptron.surrogate.of(data.labels(query));
        let scores = perceptron.scores(&data.documents(query), direction, control)?;
        for (document, rival) in surrogate.rivals(&scores).into_iter().enumerate() {
            if let (Some(rival), count @ 1..) = (rival, counted[document]) {
                let lead = scores[document] - scores[rival];
                terms.push(Term { weight: f64::from(count) * surrogate.weights()[document], lead });
            }
        }
    }
    Ok(terms)
}

/// The c >= 0 with the least sum of terms + `parabola`, and that least value. Terms by decreasing lead.
///
/// The term of a lead above 0 ends at c = 1 / lead. Between two such ends, and after the last, the sum is a parabola.
fn least(terms: &[Term], parabola: Parabola) -> (f64, f64) {
    let mut slope = terms.iter().map(|term| term.weight * term.lead).sum::<f64>() + 2.0 * parabola.product;
    let mut best = 0.0;
    let ends =
        terms.iter().filter(|term| term.lead > 0.0).map(|term| (1.0 / term.lead, term.weight * term.lead));
    for (end, ended) in ends.chain([(f64::INFINITY, 0.0)]) {
        if slope <= 0.0 {
            break;
        }
        // The sum falls up to this part, so its minimum is not left of it.
        best = (0.5 * slope / parabola.square).max(best).min(end);
        if best < end {
            break;
        }
        slope -= ended;
    }
    let value = |c: f64| {
        terms.iter().map(|term| term.weight * (1.0 - c * term.lead).max(0.0)).sum::<f64>() + parabola.at(c)
    };
    // If numbers are too large for a parabola, c = 0 may be better.
    let (there, zero) = (value(best), value(0.0));
    if there <= zero { (best, there) } else { (0.0, zero) }
}

// Margin of a function u: the least difference of scores of two documents of a query that the measure distinguishes,
// divided by |u|. If it is above 0, u separates the documents.

/// A function with a margin above 0.
struct Separator<'a> {
    name: &'static str,
    weights: &'a [f64],
    margin: f64,
}

/// The averaged or the last weights, whichever has the larger margin, if one of them separates.
fn best_separator<'a>(
    perceptron: &'a Perceptron,
    data: &Dataset,
    average: &'a [f64],
    control: &Control,
) -> Result<Option<Separator<'a>>> {
    let mut best: Option<Separator<'_>> = None;
    let functions = [("averaged weights", average), ("last weights", &*perceptron.progress.weights)];
    for (name, weights) in functions {
        let margin = margin(perceptron, data, weights, control)?;
        if let Some(margin) = margin.filter(|margin| best.as_ref().is_none_or(|best| *margin > best.margin)) {
            best = Some(Separator { name, weights, margin });
        }
    }
    Ok(best)
}

/// The margin of a function; `None` unless it is above 0.
fn margin(perceptron: &Perceptron, data: &Dataset, u: &[f64], control: &Control) -> Result<Option<f64>> {
    let mut least = f64::INFINITY;
    for query in 0..data.n_queries() {
        control.check()?;
        let scores = perceptron.scores(&data.documents(query), u, control)?;
        let rivals = perceptron.surrogate.of(data.labels(query)).rivals(&scores);
        for (document, rival) in rivals.into_iter().enumerate() {
            let difference = rival.map_or(f64::INFINITY, |rival| scores[document] - scores[rival]);
            if difference.is_nan() || difference <= 0.0 {
                return Ok(None);
            }
            least = least.min(difference);
        }
    }
    let length = perceptron.inner_products(u, u)[0].sqrt();
    Ok(Some(least / length).filter(|margin| margin.is_finite() && *margin > 0.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::dot;

    #[test]
    fn the_least_value_matches_a_fine_search() {
        let mut random = crate::math::random::Random::new(5);
        for round in 0..200 {
            let mut terms: Vec<Term> = (0..=round % 7)
                .map(|_| Term { weight: random.symmetric().abs(), lead: 0.3 + random.symmetric() })
                .collect();
            terms.sort_by(|a, b| b.lead.total_cmp(&a.lead));
            // Every other parabola starts at w_1 = 0.
            let (u, first) =
                ([random.symmetric(), random.symmetric()], [random.symmetric(), random.symmetric()]);
            let first = if round % 2 == 0 { [0.0; 2] } else { first };
            let inner = [dot(&u, &u), dot(&u, &first), dot(&first, &first)];
            let parabola = Parabola::new(0.5, 0.8, inner);
            let value = |c: f64| {
                let distance: f64 =
                    u.iter().zip(first).map(|(u, w)| (c * u - 0.8 * w) * (c * u - 0.8 * w)).sum();
                terms.iter().map(|t| t.weight * (1.0 - c * t.lead).max(0.0)).sum::<f64>() + 0.5 * distance
            };
            let (scale, found) = least(&terms, parabola);
            let searched = (0..200_000).map(|n| value(f64::from(n) * 1e-3)).fold(f64::INFINITY, f64::min);
            assert!((value(scale) - found).abs() <= 1e-12, "{terms:?}");
            assert!(found <= searched + 1e-12, "{found} {searched} {terms:?} {parabola:?}");
        }
    }
}
