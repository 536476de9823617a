//! Pairwise logistic loss (Burges et al. 2005, RankNet): log(1 + exp(-m)) for a pair of margin m.

use crate::cost::loss::def::{LossDef, PairDef, PairLoss, Shape};

/// The declaration.
pub const LOGISTIC: PairDef = PairDef {
    def: LossDef::pairwise(
        "logistic",
        "pairwise logistic: log(1 + exp(-(s_j - s_l))) for each pair with y_j > y_l, mean over all pairs",
        Shape::Smooth,
        PairLoss::Logistic,
    ),
    value: |margin| (-margin).max(0.0) + libm::log1p(libm::exp(-margin.abs())),
    slope,
};

/// -1 / (1 + exp(m)), with an exponent that cannot overflow.
fn slope(margin: f64) -> f64 {
    let small = libm::exp(-margin.abs());
    if margin > 0.0 { -small / (1.0 + small) } else { -1.0 / (1.0 + small) }
}
