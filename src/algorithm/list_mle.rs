//! ListMLE: likelihood of the ideal order (Xia et al. 2008).

use super::{AlgorithmDef, trainer};

/// The definition.
pub const DEF: AlgorithmDef = AlgorithmDef {
    name: "list_mle",
    summary: "likelihood of the ideal order under the Plackett-Luce model",
    objective: "(1/n) sum_i pi_i sum_j (log sum over l >= j of exp f(x_(l)) - f(x_(j))) + lambda / 2 |f|^2, documents in ideal order",
    source: "Xia et al. 2008; Olinto & Fokoue 2018",
    loss: "list_mle",
    ..trainer::PRESET
};
