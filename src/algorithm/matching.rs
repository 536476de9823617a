//! Matching: which document belongs to which slot of a page (Le, Smola, Chapelle & Teo, section 7.3).

use super::{AlgorithmDef, trainer};

/// The definition.
pub const DEF: AlgorithmDef = AlgorithmDef {
    name: "matching",
    summary: "position-dependent assignment of documents to slots; a row is a document at a slot",
    objective: "(1/n) sum_i pi_i (max over arrangements of sum_j (f + d)(x_j) - sum_j (f + d)(x*_j)) + lambda / 2 |f|^2, d = 1/slots at rows that do not belong, 0 at those that do",
    source: "Le, Smola, Chapelle & Teo, section 7.3",
    loss: "matching",
    ..trainer::PRESET
};
