//! Gradient descent on a smoothed measure, annealed (Le et al., section 5).

use super::{AlgorithmDef, trainer};

/// The definition.
pub const DEF: AlgorithmDef = AlgorithmDef {
    name: "smooth_grad",
    summary: "ascent of smoothed NDCG, whose width is lowered step by step, from the least-squares function",
    objective: "(1/n) sum_i pi_i (max M - sum_p a_p sum_j b_j h_jp / sum_j h_jp) + lambda / 2 |f|^2, h_jp = exp(-(f(x_j) - f(x_(p)))^2 / (2 sigma^2)); with prior regression |f - f0|^2",
    source: "Le, Smola, Chapelle & Teo, section 5",
    loss: "smooth_grad",
    prior: "regression",
    ..trainer::PRESET
};
