//! Cost-sensitive ListMLE, plain and kernelized (Lu et al. 2010; Olinto & Fokoue 2018).

use super::{AlgorithmDef, trainer};

/// The definition.
pub const DEF: AlgorithmDef = AlgorithmDef {
    name: "cs_list_mle",
    summary: "ListMLE whose pairs weigh what swapping them costs in NDCG@k, linear or with a kernel",
    objective: "(1/n) sum_i (pi_i / Z_k) sum_j beta_j log2(1 + sum over y_t < y_j of alpha_jt exp(f(x_t) - f(x_j))) + lambda / 2 |f|^2",
    source: "Lu et al. 2010; Olinto & Fokoue 2018",
    loss: "cs_list_mle",
    ..trainer::PRESET
};
