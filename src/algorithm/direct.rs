//! Direct optimization of ranking measures by structured estimation (Le, Smola, Chapelle & Teo).

use super::{AlgorithmDef, trainer};

/// The definition.
pub const DEF: AlgorithmDef = AlgorithmDef {
    name: "direct",
    summary: "direct optimization of a measure: a bound of the regret, which a linear assignment evaluates",
    objective: "(1/n) sum_i pi_i (max over rankings p of (c[p].f - a[p].b) - c[p*].f + max M) + lambda / 2 |f|^2, M(p) = a[p].b the measure, c the decoder, p* an ideal ranking, or with bound nonconvex that of the scores; with prior regression |f - f0|^2",
    source: "Le, Smola, Chapelle & Teo, equations (20), (22)",
    loss: "direct",
    prior: "regression",
    ..trainer::PRESET
};
