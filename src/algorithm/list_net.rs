//! ListNet: cross entropy of top-one probabilities (Cao et al. 2007).

use super::{AlgorithmDef, trainer};
use crate::data::{RowOrder, ScalingKind};
use crate::smoothing::Kind;

/// The definition.
pub const DEF: AlgorithmDef = AlgorithmDef {
    name: "list_net",
    summary: "cross entropy between the top-one probabilities of grades and of scores",
    objective: "(1/n) sum_i pi_i (log sum_j exp f(x_j) - sum_j t_j f(x_j)) + lambda / 2 |f|^2, t = softmax(y)",
    source: "Cao et al. 2007; Olinto & Fokoue 2018",
    smoothing: Kind::Uniform,
    loss: "list_net",
    scale: ScalingKind::Quantile,
    order: RowOrder::Canonical,
    parameters: trainer::PARAMETERS,
    train: trainer::train,
    go_on: None,
};
