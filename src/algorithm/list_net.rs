//! ListNet: cross entropy of top-one probabilities (Cao et al. 2007).

use super::{AlgorithmDef, trainer};

/// The definition.
pub const DEF: AlgorithmDef = AlgorithmDef {
    name: "list_net",
    summary: "cross entropy between the top-one probabilities of grades and of scores",
    objective: "(1/n) sum_i pi_i (log sum_j exp f(x_j) - sum_j t_j f(x_j)) + lambda / 2 |f|^2, t = softmax(y)",
    source: "Cao et al. 2007; Olinto & Fokoue 2018",
    loss: "list_net",
    ..trainer::PRESET
};
