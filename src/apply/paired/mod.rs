//! Paired comparison of two series of values, such as a metric of two models on the same queries: difference of the means,
//! interval and p-value.
//!
//! The three tests are those that Smucker, Allan and Carterette (2007) compare for information retrieval: randomization,
//! Student's t and bootstrap. All sums have a fixed order, so a seed gives the same bits on any number of threads.

mod bootstrap;
mod holm;
mod randomization;
mod student;

pub use holm::holm;
pub use student::{f_quantile, t_quantile, two_sided_t};

use crate::base::memory::bytes_of;
use crate::base::param::named;

/// Sums that differ by less than this part of the sum of absolute values are equal. Rounding makes such differences.
const TIE: f64 = 1e-12;

/// How p-value and interval are computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TestKind {
    /// Random signs of the differences.
    #[default]
    Randomization,
    /// Student's t distribution.
    T,
    /// Resampled differences.
    Bootstrap,
}

named!(TestKind { Randomization = "randomization", T = "t", Bootstrap = "bootstrap" });

/// A two-sided paired test.
#[derive(Debug, Clone, PartialEq)]
pub struct PairedTest {
    /// How p-value and interval are computed.
    pub kind: TestKind,
    /// Number of random sign patterns or resamples, at least 1.
    pub samples: usize,
    /// Probability that the interval covers the true difference, in 0..1.
    pub confidence: f64,
    /// Seed of the random numbers.
    pub seed: u64,
}

impl Default for PairedTest {
    fn default() -> Self {
        Self { kind: TestKind::default(), samples: 10_000, confidence: 0.95, seed: 0 }
    }
}

/// What a test finds.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Comparison {
    /// Number of pairs.
    pub n: usize,
    /// Mean of the first values; `None` without pairs, as the next two.
    pub mean_a: Option<f64>,
    /// Mean of the second values.
    pub mean_b: Option<f64>,
    /// `mean_a` - `mean_b`, as the mean of the differences.
    pub difference: Option<f64>,
    /// Lower and upper limit of the difference; `None` if it is unbounded because of too few pairs.
    pub interval: Option<(f64, f64)>,
    /// Probability of a difference at least as large as the observed one if both series are alike; `None` if n is too small
    /// for the test (0; for t and bootstrap 1).
    pub p_value: Option<f64>,
}

/// Interval and p-value of one test.
type Outcome = (Option<(f64, f64)>, Option<f64>);

impl PairedTest {
    /// Bytes that a comparison of `n` pairs takes, with both series.
    pub fn bytes(&self, n: usize) -> u64 {
        bytes_of::<[f64; 4]>(n) + bytes_of::<[f64; 6]>(self.samples)
    }

    /// Compares values that belong together by position. Values are at most [`LARGEST_VALUE`](crate::cost::metric::LARGEST_VALUE) in size.
    ///
    /// # Panics
    /// If the series differ in length.
    pub fn compare(&self, a: &[f64], b: &[f64]) -> Comparison {
        assert_eq!(a.len(), b.len(), "values in pairs");
        let n = a.len();
        if n == 0 {
            return Comparison::default();
        }
        // 1. Differences, divided by a power of 2 so that squares neither overflow nor vanish. This rounds nothing.
        let mut differences: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
        let largest = differences.iter().fold(0.0, |largest: f64, d| largest.max(d.abs()));
        let (_, exponent) = libm::frexp(largest);
        differences.iter_mut().for_each(|d| *d = libm::scalbn(*d, -exponent));
        // 2. The test.
        let (interval, p_value) = match self.kind {
            TestKind::Randomization => randomization::test(&differences, self),
            TestKind::T => student::test(&differences, self.confidence),
            TestKind::Bootstrap => bootstrap::test(&differences, self),
        };
        let unscaled = |value: f64| libm::scalbn(value, exponent);
        Comparison {
            n,
            mean_a: Some(mean(a)),
            mean_b: Some(mean(b)),
            difference: Some(unscaled(mean(&differences))),
            interval: interval.map(|(low, high)| (unscaled(low), unscaled(high))),
            p_value,
        }
    }
}

/// The mean, with a sum from first to last.
fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The sum of absolute values.
fn absolute_sum(values: &[f64]) -> f64 {
    values.iter().map(|value| value.abs()).sum()
}

#[cfg(test)]
mod tests;
