//! Pairwise squared hinge loss (Chapelle & Keerthi 2010): max(0, 1 - m)^2 for a pair of margin m.

use crate::cost::loss::def::{LossDef, PairDef, PairLoss, Shape};

/// The declaration.
pub const SQUARED_HINGE: PairDef = PairDef {
    def: LossDef::pairwise(
        "squared_hinge",
        "pairwise squared hinge: max(0, 1 - (s_j - s_l))^2 for each pair with y_j > y_l, mean over all pairs",
        Shape::Smooth,
        PairLoss::SquaredHinge,
    ),
    value: |margin| (1.0 - margin).max(0.0) * (1.0 - margin).max(0.0),
    slope: |margin| -2.0 * (1.0 - margin).max(0.0),
};
