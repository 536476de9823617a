//! Least squares on the grades: the baseline, and the start of methods that are not convex (Cossock & Zhang 2006).

use super::{AlgorithmDef, trainer};

/// The definition.
pub const DEF: AlgorithmDef = AlgorithmDef {
    name: "regression",
    summary: "least squares on the grades, centered within queries: pairwise least squares",
    objective: "(1/n) sum_i pi_i / (2 N_i) sum_j (f(x_j) - y_j)^2 + lambda / 2 |f|^2, f and y less their means in the query unless centering is none",
    source: "Cossock & Zhang 2006",
    loss: "squared",
    ..trainer::PRESET
};
