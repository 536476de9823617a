//! kNN-SVM: a pairwise SVM per query on its nearest training queries, all alike (Geng et al. 2008).

use super::{AlgorithmDef, pair_svm};
use crate::smoothing::Kind;

/// The definition.
pub const DEF: AlgorithmDef = AlgorithmDef {
    name: "knn_svm",
    summary: "query-dependent pairwise SVM in which the nearest queries count alike",
    objective: "(1/n) sum_i 2 pi_i / (N_i (N_i - 1)) sum over pairs y_j > y_l of max(0, 1 - w.(x_j - x_l)) + lambda |w|^2; pi_i = 1 for the nearest neighbors queries, n training queries",
    source: "Geng et al. 2008; Dai & Wang 2019, section 2",
    smoothing: Kind::Knn,
    parameters: pair_svm::PARAMETERS,
    train: pair_svm::train,
};
