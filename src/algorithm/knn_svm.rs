//! kNN-SVM: a pairwise SVM per query on its nearest training queries, all alike (Geng et al. 2008).

use super::{AlgorithmDef, trainer};
use crate::smoothing::Kind;

/// The definition.
pub const DEF: AlgorithmDef = AlgorithmDef {
    name: "knn_svm",
    summary: "query-dependent pairwise SVM in which the nearest queries count alike",
    objective: "(1/n) sum_i 2 pi_i / (N_i (N_i - 1)) sum over pairs y_j > y_l of L(f(x_j) - f(x_l)) + lambda |f|^2; L the loss, of f(x_j, x_l) with form ranking; |f| the norm in the space of the kernel; with prior global |f - f0|^2, f0 the function of all queries; pi_i = 1 for the nearest neighbors queries, n training queries",
    source: "Geng et al. 2008; Dai & Wang 2019, section 2",
    smoothing: Kind::Knn,
    loss: "hinge",
    ..trainer::PRESET
};
