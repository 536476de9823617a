//! The quantities q(x, z) that kernels are functions of: sums over features, so additive over concatenation.

/// q(x, z) of two documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inner {
    /// x.z.
    Dot,
    /// |x - z|^2.
    SquaredDistance,
    /// |x - z|_1, the sum of absolute differences.
    Manhattan,
}

impl Inner {
    /// What one feature adds to q.
    pub(super) fn term(self, x: f64, z: f64) -> f64 {
        match self {
            Self::Dot => x * z,
            Self::SquaredDistance => (x - z) * (x - z),
            Self::Manhattan => (x - z).abs(),
        }
    }

    /// The distance that q gives; `None` for the dot product.
    pub fn distance(self, q: f64) -> Option<f64> {
        match self {
            Self::Dot => None,
            Self::SquaredDistance => Some(q.sqrt()),
            Self::Manhattan => Some(q),
        }
    }
}

/// exp(-gamma q) with gamma the only parameter.
pub(super) fn decay(parameters: &[f64], q: f64) -> f64 {
    libm::exp(-parameters[0] * q)
}
