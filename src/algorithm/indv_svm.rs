//! indv-SVM: a pairwise SVM per training query on its own judgments; queries never seen score 0, or by the prior.

use super::{AlgorithmDef, trainer};
use crate::smoothing::Kind;

/// The definition.
pub const DEF: AlgorithmDef = AlgorithmDef {
    name: "indv_svm",
    summary: "pairwise SVM per observed query; novel queries score 0, or by f0 with prior global",
    objective: "2 / (N (N - 1)) sum over pairs y_j > y_l of L(f(x_j) - f(x_l)) + lambda |f|^2; L the loss, of f(x_j, x_l) with form ranking; |f| the norm in the space of the kernel; with prior global |f - f0|^2, f0 the function of all queries",
    source: "Dai & Wang 2019, equation (3.4)",
    smoothing: Kind::Individual,
    loss: "hinge",
    ..trainer::PRESET
};
