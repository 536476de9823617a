//! Losses of queries that trees minimize instead of least squares.
//!
//! A tree is fitted to the negative gradients by least squares (Friedman 2001, algorithm 1). With g_j the derivative of
//! the loss by the score of document j among N, the target of document j is -N g_j and its weight is 1 / N times the
//! weight of the query. Then a leaf's sums are sums of the gradient, and documents of long queries weigh less, as
//! they do in the curvature of the losses. A step along the whole tree minimizes the loss before the learning rate.
//!
//! [`Shape::Gradients`](crate::cost::loss::Shape::Gradients) has second derivatives h_j instead of 1 / N: the target is
//! -g_j / h_j, and leaf values are Newton steps (Burges 2010, section 7). It has no function that a longer or
//! shorter step could minimize.

use crate::base::Ticks;
use crate::cost::loss::{Loss, PairDef, PairWeights, QueryLoss, pair_normalizer};

/// Operations, for [`Ticks`], of a pair.
const PAIR_COST: usize = 8;

/// Largest step along a tree.
const LONGEST_STEP: f64 = 1024.0;

/// Bisections of a step.
const BISECTIONS: usize = 6;

/// The loss of one query.
pub enum QueryObjective {
    /// Nothing: no document has a weight.
    Nothing,
    /// A sum over pairs.
    Pairs {
        /// The loss of a pair.
        loss: &'static PairDef,
        /// For each document k and h: a pair weighs k of its better document less h of its worse one, times the weight of
        /// the better one. Empty if all pairs weigh 1.
        levels: Vec<(f64, f64)>,
        /// Weights of documents; empty if all are 1.
        weights: Vec<f64>,
    },
    /// A function of all scores.
    List(Box<dyn QueryLoss>),
}

/// The loss in a list has no fields that can be printed.
impl QueryObjective {
    /// The loss of a query with these grades (N) and document weights (N, or empty if all are 1).
    pub fn new(loss: &Loss, grades: &[f64], weights: &[f64]) -> Self {
        if !weights.is_empty() && weights.iter().all(|weight| *weight <= 0.0) {
            return Self::Nothing;
        }
        match loss {
            Loss::Pair(loss, pair_weights) => {
                let is_plain = *pair_weights == PairWeights::Equal && weights.is_empty();
                let levels = grades.iter().map(|grade| pair_weights.levels(*grade));
                Self::Pairs {
                    loss: loss.def(),
                    levels: if is_plain { Vec::new() } else { levels.collect() },
                    weights: weights.to_vec(),
                }
            }
            Loss::List(loss) if weights.is_empty() => Self::List(loss.prepare(grades, &[])),
            Loss::List(loss) => loss.prepare_weighted(grades, weights).map_or(Self::Nothing, Self::List),
        }
    }

    /// Writes gradient and second derivatives at these scores (N, overwritten) if the loss is of
    /// [`Shape::Gradients`](crate::cost::loss::Shape::Gradients), and returns whether it is.
    pub fn newton(&self, scores: &[f64], gradient: &mut [f64], curvature: &mut [f64]) -> bool {
        matches!(self, Self::List(loss) if loss.newton(scores, gradient, curvature).is_some())
    }

    /// The loss at these scores (N). Writes the gradient into the last argument (N, overwritten).
    pub fn value_and_gradient(&self, grades: &[f64], scores: &[f64], gradient: &mut [f64]) -> f64 {
        match self {
            Self::Nothing => {
                gradient.fill(0.0);
                0.0
            }
            Self::List(loss) => loss.value_and_subgradient(scores, gradient),
            Self::Pairs { loss, levels, .. } if levels.is_empty() => {
                loss.value_and_subgradient(grades, scores, gradient)
            }
            Self::Pairs { loss, levels, weights } => {
                weighted_pairs(loss, grades, levels, weights, scores, gradient)
            }
        }
    }
}

/// The mean over all pairs, each with its weight.
fn weighted_pairs(
    loss: &PairDef,
    grades: &[f64],
    levels: &[(f64, f64)],
    weights: &[f64],
    scores: &[f64],
    gradient: &mut [f64],
) -> f64 {
    gradient.fill(0.0);
    let normalizer = pair_normalizer(grades.len());
    let (mut sum, mut ticks) = (0.0, Ticks::default());
    for better in 0..grades.len() {
        ticks.add(PAIR_COST * grades.len());
        let weight = normalizer * weights.get(better).copied().unwrap_or(1.0);
        for worse in (0..grades.len()).filter(|worse| grades[better] > grades[*worse]) {
            let weight = weight * (levels[better].0 - levels[worse].1);
            let margin = scores[better] - scores[worse];
            sum += weight * (loss.value)(margin);
            let slope = weight * (loss.slope)(margin);
            gradient[better] += slope;
            gradient[worse] -= slope;
        }
    }
    sum
}

/// The step that minimizes a convex function with this derivative, up to a factor of 2^(1/64); 0 if it rises at 0.
pub fn step(derivative: impl Fn(f64) -> f64) -> f64 {
    if derivative(0.0) >= 0.0 {
        return 0.0;
    }
    // 1. A bracket within a factor of 2.
    let mut high = 1.0;
    if derivative(high) < 0.0 {
        while high < LONGEST_STEP && derivative(2.0 * high) < 0.0 {
            high *= 2.0;
        }
        high *= 2.0;
    } else {
        while high > 1.0 / LONGEST_STEP && derivative(high / 2.0) >= 0.0 {
            high /= 2.0;
        }
    }
    // 2. Bisection.
    let mut low = high / 2.0;
    for _ in 0..BISECTIONS {
        let middle = f64::midpoint(low, high);
        if derivative(middle) < 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Params;
    use crate::cost::loss;

    #[test]
    fn a_step_minimizes_a_convex_function() {
        for minimum in [0.004, 0.3, 1.0, 1.7, 900.0] {
            let objective = step(|x| x - minimum);
            assert!((objective / minimum - 1.0).abs() < 0.02, "{objective} {minimum}");
        }
        assert!(step(|_| 1.0).abs() < 1e-300);
    }

    /// Documents of weight 2 count as the pairs of two documents, and gradients are differences of values.
    #[test]
    fn gradients_match_finite_differences() {
        let (grades, scores) = ([0.0, 2.0, 1.0, 1.0, 0.0], [0.3, -0.2, 0.5, 0.1, 1.0]);
        for (name, options) in [
            ("logistic", r#"{"pair_weights": "gain"}"#),
            ("logistic", "{}"),
            ("squared_hinge", "{}"),
            ("list_net", "{}"),
            ("list_mle", "{}"),
        ] {
            let options: serde_json::Map<String, serde_json::Value> = serde_json::from_str(options).unwrap();
            let loss = loss::find(name).unwrap().make(&Params::from(options)).unwrap();
            let weighted: &[f64] = if loss.weighs_documents() { &[1.0, 2.0, 0.0, 1.5, 1.0] } else { &[] };
            for weights in [&[][..], weighted] {
                let objective = QueryObjective::new(&loss, &grades, weights);
                let (mut gradient, mut unused) = ([0.0; 5], [0.0; 5]);
                objective.value_and_gradient(&grades, &scores, &mut gradient);
                for j in 0..5 {
                    let mut at = |step: f64| {
                        let mut scores = scores;
                        scores[j] += step;
                        objective.value_and_gradient(&grades, &scores, &mut unused)
                    };
                    let difference = (at(1e-5) - at(-1e-5)) / 2e-5;
                    assert!((difference - gradient[j]).abs() < 1e-7, "{name} {j} {difference} {gradient:?}");
                }
            }
        }
    }
}
