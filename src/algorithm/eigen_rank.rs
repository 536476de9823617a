//! Ranking by empirical eigenfunctions (Xu, Fang & Wang 2014): least squares on pairs in the span of the leading ones.

use super::{AlgorithmDef, trainer};

/// The definition.
pub const DEF: AlgorithmDef = AlgorithmDef {
    name: "eigen_rank",
    summary: "least squares on pairs in the span of the leading eigenfunctions of the empirical ranking operator",
    objective: "(1/n) sum_i pi_i / (4 N_i (N_i - 1)) sum over pairs of (f(x_j) - f(x_l) - (y_j - y_l))^2 over f in the span of eigenfunctions whose eigenvalues are at least lambda, or of the leading components",
    source: "Xu, Fang & Wang 2014, theorem 7",
    loss: "pair_squared",
    penalty: "spectral",
    ..trainer::PRESET
};
