//! indv-SVM: a pairwise SVM per training query on its own judgments; queries never seen score 0.

use super::{AlgorithmDef, pair_svm};
use crate::smoothing::Kind;

/// The definition.
pub const DEF: AlgorithmDef = AlgorithmDef {
    name: "indv_svm",
    summary: "pairwise SVM per observed query; novel queries score 0",
    objective: "2 / (N (N - 1)) sum over pairs y_j > y_l of max(0, 1 - w.(x_j - x_l)) + lambda |w|^2",
    source: "Dai & Wang 2019, equation (3.4)",
    smoothing: Kind::Individual,
    parameters: pair_svm::PARAMETERS,
    train: pair_svm::train,
};
