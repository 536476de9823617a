//! Declaration of a kernel and of its parameters.

use crate::base::Rule;
use std::fmt;

/// The declaration of one kernel.
#[derive(Debug)]
pub struct KernelDef {
    /// Name in options and in models.
    pub name: &'static str,
    /// K(x, z) in ASCII.
    pub formula: &'static str,
    /// Authors and year.
    pub source: &'static str,
    /// Parameters, in the order in which `outer` takes them.
    pub parameters: &'static [ParameterDef],
    /// q, the argument of the kernel's outer function.
    pub inner: Inner,
    /// Whether every Gram matrix is positive semidefinite.
    pub positive_semidefinite: bool,
    /// Whether outer(q + r) = outer(q) outer(r), so that K of a concatenation is the product of two K.
    pub factorizes: bool,
    /// Turns each q into K, given the parameters.
    pub outer: fn(&[f64], &mut [f64]),
}

/// One parameter of a kernel.
#[derive(Debug)]
pub struct ParameterDef {
    /// Name in options.
    pub name: &'static str,
    /// The values it accepts. The word `median` means 1 / (median distance between documents).
    pub rule: Rule,
    /// The default.
    pub fallback: Fallback,
}

/// A default in the scale of the documents. A scale of 0 counts as 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Fallback {
    /// The number itself.
    Number(f64),
    /// The number / v, the total variance of the features.
    PerVariance(f64),
    /// The number / sqrt(2 v), the root mean square distance of two documents.
    PerDistance(f64),
    /// The number / d, the number of features.
    PerFeature(f64),
}

impl Fallback {
    /// The gamma of a kernel with the width s > 0: 1 / (2 s^2 v) of squared distances, 1 / (s sqrt(2 v)) of distances
    /// and 1 / (s d) of sums of absolute differences.
    #[must_use]
    pub fn of_width(self, s: f64) -> Self {
        match self {
            Self::Number(_) => self,
            Self::PerVariance(_) => Self::PerVariance(0.5 / (s * s)),
            Self::PerDistance(_) => Self::PerDistance(1.0 / s),
            Self::PerFeature(_) => Self::PerFeature(1.0 / s),
        }
    }
}

impl fmt::Display for Fallback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::PerVariance(number) => write!(f, "{number} / (total variance of the features)"),
            Self::PerDistance(number) => write!(f, "{number} / (root mean square distance of two documents)"),
            Self::PerFeature(number) => write!(f, "{number} / (number of features)"),
        }
    }
}

/// q(x, z) of two documents: a sum over features, so it is additive over concatenation.
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
    /// One feature's contribution to q.
    #[allow(clippy::inline_always, reason = "part of a loop over features")]
    #[inline(always)]
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
