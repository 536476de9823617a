//! rank-SVM: one pairwise SVM for all queries (Herbrich et al. 2000).

use super::{AlgorithmDef, trainer};

/// The definition.
pub const DEF: AlgorithmDef = AlgorithmDef {
    name: "rank_svm",
    summary: "pairwise SVM: one function for all queries",
    objective: "(1/n) sum_i 2 pi_i / (N_i (N_i - 1)) sum over pairs y_j > y_l of L(f(x_j) - f(x_l)) + lambda |f|^2; L the loss, of f(x_j, x_l) with form ranking; |f| the norm in the space of the kernel; pi_i = 1, n training queries",
    source: "Herbrich et al. 2000; Dai & Wang 2019, section 2",
    loss: "hinge",
    ..trainer::PRESET
};
