//! SLAM: a large-margin surrogate of listwise measures (Chaudhuri & Tewari 2014).

use super::{AlgorithmDef, trainer};

/// The definition.
pub const DEF: AlgorithmDef = AlgorithmDef {
    name: "slam",
    summary: "listwise large-margin surrogate of NDCG, NDCG@k or MAP, one slack per relevant document",
    objective: "(1/n) sum_i pi_i sum_j v_j max(0, max over y_l < y_j of (margin + f(x_l) - f(x_j))) + lambda / 2 |f - f0|^2, v the weights of the measure, f0 the least-squares function (prior)",
    source: "Chaudhuri & Tewari 2014, equation (4)",
    loss: "slam",
    prior: "regression",
    ..trainer::PRESET
};
