//! Pairwise hinge loss (Herbrich et al. 2000; Dai & Wang 2019, equation 3.7): max(0, 1 - m) for a pair of margin m.

use super::{Loss, PairDef, PairLoss, Shape, entry};

/// The definition.
pub const HINGE: PairDef = PairDef {
    def: entry(
        "hinge",
        "pairwise hinge: max(0, 1 - (s_j - s_l)) for each pair with y_j > y_l, mean over all pairs",
        Shape::Convex,
        |_| Ok(Loss::Pair(PairLoss::Hinge)),
    ),
    pair: PairLoss::Hinge,
    value: |margin| (1.0 - margin).max(0.0),
    slope: |margin| if margin < 1.0 { -1.0 } else { 0.0 },
};
