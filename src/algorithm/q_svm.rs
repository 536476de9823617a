//! q-SVM: a pairwise SVM per query, smoothed over the queries around it (Dai & Wang 2019).

use super::{AlgorithmDef, trainer};
use crate::smoothing::Kind;

/// The definition.
pub const DEF: AlgorithmDef = AlgorithmDef {
    name: "q_svm",
    summary: "query-dependent pairwise SVM: each query's function is fitted on the judgments of the queries around it",
    objective: "(1/n) sum_i 2 pi_i / (N_i (N_i - 1)) sum over pairs y_j > y_l of L(f(x_j) - f(x_l)) + lambda |f|^2; L the loss, of f(x_j, x_l) with form ranking; |f| the norm in the space of the kernel; with prior global |f - f0|^2, f0 the function of all queries; pi_i = W(|q_i - q0| / h), n training queries",
    source: "Dai & Wang 2019, equation (3.7)",
    smoothing: Kind::Gaussian,
    loss: "hinge",
    ..trainer::PRESET
};
