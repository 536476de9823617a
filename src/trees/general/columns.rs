//! The values that splits compare: those of a feature, with the missing ones replaced.

/// How a split reads a feature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A number.
    Number,
    /// A number; those around 0 are missing.
    NumberOrZero,
    /// The code of a category.
    Category,
}

/// A feature and how splits read it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Column {
    /// Number of the feature, from 0.
    pub feature: u32,
    /// Whether documents without the feature go left.
    pub missing_left: bool,
    /// How the values are read.
    pub kind: Kind,
}

/// LightGBM's kZeroThreshold: a number that is not farther from 0 than this counts as 0.
pub const ZERO: f64 = 1e-35_f32 as f64;

/// What stands for a missing value that goes left: it is at most every threshold.
pub const LEFT: f64 = f64::NEG_INFINITY;

/// What stands for a missing value that goes right: it is above every threshold, and in no set.
pub const RIGHT: f64 = f64::INFINITY;

impl Column {
    /// What a split compares for a value; NaN is a missing one. The result is no NaN.
    pub fn read(self, value: f64) -> f64 {
        let missing = value.is_nan() || (self.kind == Kind::NumberOrZero && value.abs() <= ZERO);
        if missing {
            return if self.missing_left { LEFT } else { RIGHT };
        }
        match self.kind {
            Kind::Number | Kind::NumberOrZero => value,
            // A code is a whole number, the rest is cut off; other numbers are in no set.
            Kind::Category if value > -1.0 && value < f64::from(u32::MAX) => value.trunc().abs(),
            Kind::Category => RIGHT,
        }
    }
}
