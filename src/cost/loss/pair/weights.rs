//! Weights of pairs by their grades.

use crate::base::param::named;

/// What a pair of documents with grades y > y' weighs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PairWeights {
    /// 1.
    #[default]
    Equal,
    /// y - y'.
    Grade,
    /// The difference of the gains 2^y - 1.
    Gain,
}

named!(PairWeights { Equal = "equal", Grade = "grade", Gain = "gain" });

impl PairWeights {
    /// k and h of a document with this grade: a pair weighs k of its better document minus h of its worse one.
    pub fn levels(self, grade: f64) -> (f64, f64) {
        let level = match self {
            Self::Equal => return (1.0, 0.0),
            Self::Grade => grade,
            Self::Gain => libm::exp2(grade),
        };
        (level, level)
    }
}
