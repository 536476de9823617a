//! Pairwise psi loss (Shen et al. 2003; Dai & Wang 2019, section 2): min(1, max(0, 1 - m)) for a pair of margin m.
//!
//! It is the hinge with an upper limit of 1, which bounds the influence of outliers. It is not convex:
//! psi(m) = max(0, 1 - m) - max(0, -m).

use crate::cost::loss::def::{LossDef, PairDef, PairLoss, Shape};

/// The declaration.
pub const PSI: PairDef = PairDef {
    def: LossDef::pairwise(
        "psi",
        "pairwise psi: the hinge, at most 1 for each pair; not convex, ignores gross outliers",
        Shape::Difference,
        PairLoss::Psi,
    ),
    value: |margin| (1.0 - margin).clamp(0.0, 1.0),
    slope: |margin| if (0.0..1.0).contains(&margin) { -1.0 } else { 0.0 },
};
