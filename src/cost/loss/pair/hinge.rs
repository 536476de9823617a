//! Pairwise hinge loss (Herbrich et al. 2000; Dai & Wang 2019, equation 3.7): max(0, 1 - m) for a pair of margin m.

use crate::cost::loss::def::{LossDef, PairDef, PairLoss, Shape};

/// The declaration.
pub const HINGE: PairDef = PairDef {
    def: LossDef::pairwise(
        "hinge",
        "pairwise hinge: max(0, 1 - (s_j - s_l)) for each pair with y_j > y_l, mean over all pairs",
        Shape::Convex,
        PairLoss::Hinge,
    ),
    value: |margin| (1.0 - margin).max(0.0),
    slope: |margin| if margin < 1.0 { -1.0 } else { 0.0 },
};
