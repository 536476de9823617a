//! Paired comparison of two series of values, such as a metric of two models on the same queries: mean difference, interval
//! and p-value.
//!
//! Four of the five tests that Smucker, Allan and Carterette (2007) compare for information retrieval: randomization,
//! Student's t, bootstrap, and Wilcoxon signed-rank. Sums have a fixed order, so results are bit-identical for any
//! number of threads.

#[cfg(test)]
mod tests;

use special::Beta;

use crate::base::{Ticks, bytes_of, named};
use crate::math::{Random, compare, normal, sort_ascending, sort_items};

/// Sums that differ by less than this fraction of the sum of absolute values count as equal: rounding alone can explain
/// the difference.
const TIE: f64 = 1e-12;

/// How the p-value and the interval are computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TestKind {
    /// Random signs of the differences.
    Randomization,
    /// Student's t distribution.
    T,
    /// Resampled differences.
    Bootstrap,
    /// Signed ranks of the differences.
    Wilcoxon,
}

named!(TestKind { Randomization = "randomization", T = "t", Bootstrap = "bootstrap", Wilcoxon = "wilcoxon" });

/// A two-sided paired test.
#[derive(Debug, Clone, PartialEq)]
pub struct PairedTest {
    /// How the p-value and the interval are computed.
    pub kind: TestKind,
    /// Number of random sign patterns or resamples, at least 1.
    pub samples: usize,
    /// Probability that the interval covers the true difference, in 0..1.
    pub confidence: f64,
    /// Seed of the random numbers.
    pub seed: u64,
}

/// The result of a paired test.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Comparison {
    /// Number of pairs.
    pub n: usize,
    /// Mean of the first series. Without pairs, the two means and the difference are `None`.
    pub mean_a: Option<f64>,
    /// Mean of the second series.
    pub mean_b: Option<f64>,
    /// `mean_a` - `mean_b`, as the mean of the differences.
    pub difference: Option<f64>,
    /// Confidence interval of the difference; `None` if too few pairs leave it unbounded.
    pub interval: Option<(f64, f64)>,
    /// Probability, under the null hypothesis, of a difference at least as large as the observed one; `None` if n is too
    /// small for the test (0; for t and bootstrap also 1).
    pub p_value: Option<f64>,
}

/// Interval and p-value of one test.
type Outcome = (Option<(f64, f64)>, Option<f64>);

impl PairedTest {
    /// With 10,000 random draws and the seed 0.
    pub fn new(kind: TestKind, confidence: f64) -> Self {
        Self { kind, samples: 10_000, confidence, seed: 0 }
    }

    /// Memory in bytes for comparing `n` pairs, both series included.
    pub fn bytes(&self, n: usize) -> u64 {
        bytes_of::<[f64; 4]>(n) + bytes_of::<[f64; 6]>(self.samples)
    }

    /// Compares two series, paired by position, of values up to +-[`LARGEST_VALUE`](crate::cost::metric::LARGEST_VALUE).
    ///
    /// # Panics
    /// If the series differ in length.
    pub fn compare(&self, a: &[f64], b: &[f64]) -> Comparison {
        assert_eq!(a.len(), b.len(), "series of equal length");
        let n = a.len();
        if n == 0 {
            return Comparison::default();
        }
        // 1. Differences, scaled by a power of 2 (which is exact) so that squares neither overflow nor underflow.
        let mut differences: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
        let largest = differences.iter().fold(0.0, |largest: f64, d| largest.max(d.abs()));
        let (_, exponent) = libm::frexp(largest);
        differences.iter_mut().for_each(|d| *d = libm::scalbn(*d, -exponent));
        // 2. The test.
        let (interval, p_value) = match self.kind {
            TestKind::Randomization => randomization(&differences, self),
            TestKind::T => student_t(&differences, self.confidence),
            TestKind::Bootstrap => bootstrap(&differences, self),
            TestKind::Wilcoxon => (None, Some(signed_rank(&differences))),
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

/// The mean, summed from first to last.
fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn absolute_sum(values: &[f64]) -> f64 {
    values.iter().map(|value| value.abs()).sum()
}

// Wilcoxon signed-rank test.

/// Largest number of differences for which all sign patterns are counted.
const MOST_COUNTED: usize = 50;

/// The p-value of the signed-rank test (Wilcoxon 1945). W is the sum of the ranks of |d| over the positive differences.
/// Zero differences are dropped, and ties get their mean rank. With at most [`MOST_COUNTED`] differences p is exact: twice
/// the fraction of sign patterns whose W is at least as far from its mean, on one side. Otherwise W is approximately normal
/// with variance n (n + 1) (2 n + 1) / 24 - sum of (t^3 - t) / 48 over groups of t ties (Hollander & Wolfe 1999, section
/// 3.1). Without a nonzero difference p is 1.
fn signed_rank(differences: &[f64]) -> f64 {
    // 1. Ranks times 2, which are integers.
    let tie = TIE * absolute_sum(differences);
    let mut sizes: Vec<(f64, bool)> =
        differences.iter().filter(|d| d.abs() > tie).map(|d| (d.abs(), *d > 0.0)).collect();
    sort_items(&mut sizes, |a, b| compare(a.0, b.0));
    let n = sizes.len();
    let (mut ranks, mut positive, mut ties, mut first) = (Vec::with_capacity(n), 0, 0.0, 0);
    for group in sizes.chunk_by(|a, b| b.0 - a.0 <= tie) {
        let twice = 2 * first + group.len() + 1;
        ranks.resize(ranks.len() + group.len(), twice);
        positive += twice * group.iter().filter(|(_, is_positive)| *is_positive).count();
        ties += (group.len() as f64).powi(3) - group.len() as f64;
        first += group.len();
    }
    let total = n * (n + 1);
    let tail = positive.min(total - positive);
    if n > MOST_COUNTED {
        // 2. Many differences: normal approximation.
        let (count, half) = (n as f64, total as f64 / 2.0);
        let variance = count * (count + 1.0) * (2.0 * count + 1.0) / 24.0 - ties / 48.0;
        return libm::erfc((half - tail as f64) / 2.0 / libm::sqrt(2.0 * variance));
    }
    // 3. Few differences: the number of sign patterns for each rank sum.
    let mut patterns = vec![0.0; total + 1];
    patterns[0] = 1.0;
    let mut reached = 0;
    for rank in ranks {
        reached += rank;
        for sum in (rank..=reached).rev() {
            patterns[sum] += patterns[sum - rank];
        }
    }
    let as_far: f64 = patterns[..=tail].iter().sum();
    libm::scalbn(2.0 * as_far, -(n as i32)).min(1.0)
}

// Bootstrap of paired differences.

/// The p-value and the interval for the mean of `differences`, from B resamples with replacement.
///
/// The p-value is (1 + c) / (1 + B), where c counts resampled means at least as far from the observed mean as that is
/// from 0 (Efron and Tibshirani 1993, section 16.4). The interval is BCa: bias-corrected and accelerated (Efron 1987,
/// "Better bootstrap confidence intervals", equation 3.10).
pub(super) fn bootstrap(differences: &[f64], test: &PairedTest) -> Outcome {
    if differences.len() < 2 {
        return (None, None);
    }
    let center = mean(differences);
    let mut means = resampled(differences, test);
    let tie = TIE * absolute_sum(differences) / differences.len() as f64;
    let extreme = means.iter().filter(|mean| (*mean - center).abs() >= center.abs() - tie).count();
    let p_value = (1 + extreme) as f64 / (1 + means.len()) as f64;
    // Bias correction: how far the observed mean is from the median of the resampled means. Ties count half.
    let count = |from: f64, to: f64| means.iter().filter(|mean| (from..to).contains(*mean)).count() as f64;
    let below = count(f64::NEG_INFINITY, center - tie) + 0.5 * count(center - tie, center + tie);
    let share = (below / means.len() as f64).clamp(1e-9, 1.0 - 1e-9);
    let (bias, acceleration) = (normal::quantile(share), acceleration(differences, center));
    sort_ascending(&mut means);
    let limit = |p: f64| {
        let z = bias + normal::quantile(p);
        quantile(&means, normal_distribution(bias + z / (1.0 - acceleration * z)))
    };
    let tail = (1.0 - test.confidence) / 2.0;
    (Some((limit(tail), limit(1.0 - tail))), Some(p_value))
}

fn resampled(differences: &[f64], test: &PairedTest) -> Vec<f64> {
    let (n, mut random, mut ticks) = (differences.len(), Random::new(test.seed), Ticks::default());
    let mut resample = || {
        let mut sum = 0.0;
        for _ in 0..n {
            sum += differences[random.below(n)];
            ticks.add(4);
        }
        sum / n as f64
    };
    (0..test.samples).map(|_| resample()).collect()
}

/// sum u^3 / (6 (sum u^2)^1.5) for u = d - mean: the jackknife estimate for a mean (Efron 1987, equation 6.6).
fn acceleration(differences: &[f64], center: f64) -> f64 {
    let (mut squares, mut cubes) = (0.0, 0.0);
    for d in differences {
        let u = d - center;
        squares += u * u;
        cubes += u * u * u;
    }
    if squares > 0.0 { cubes / (6.0 * squares * squares.sqrt()) } else { 0.0 }
}

/// P(Z <= z) for a standard normal Z.
fn normal_distribution(z: f64) -> f64 {
    0.5 * libm::erfc(-z * std::f64::consts::FRAC_1_SQRT_2)
}

/// The quantile of sorted values, with linear interpolation (Hyndman and Fan 1996, definition 7).
fn quantile(sorted: &[f64], p: f64) -> f64 {
    let at = p.clamp(0.0, 1.0) * (sorted.len() - 1) as f64;
    let (low, share) = (at as usize, at.fract());
    let high = (low + 1).min(sorted.len() - 1);
    sorted[low] + share * (sorted[high] - sorted[low])
}

// Paired randomization test: under the null hypothesis, each difference is as likely to have the opposite sign (Fisher
// 1935, "The Design of Experiments", section 21).
//
// A sign pattern is the set A of pairs whose signs are flipped. The resulting sum of differences is as extreme as the
// observed one if the sum over A, or over its complement, is at most 0. The interval contains every value v for which the
// same test of the differences minus v does not reject. The limits are order statistics of the means over the sets A
// (Hartigan 1969, "Using subsample values as typical values"), so it contains 0 exactly if p > 1 - confidence.

/// Largest number of pairs for which all sign patterns are counted.
const EXACT: usize = 16;

/// The p-value and the interval for the mean of `differences`.
///
/// With all 2^n patterns p = 2 (1 + c) / 2^n, where c is the number of nonempty proper subsets whose sum is at most 0 (for
/// a positive mean). With B random patterns p = (1 + c) / (1 + B) for the sets and their complements (Davison and Hinkley
/// 1997, equation 4.11).
pub(super) fn randomization(differences: &[f64], test: &PairedTest) -> Outcome {
    let total: f64 = differences.iter().sum();
    // 1. Sums and means of subsets. The sign makes the total nonnegative.
    let sign = if total < 0.0 { -1.0 } else { 1.0 };
    let subsets = if differences.len() <= EXACT {
        Subsets::all(differences)
    } else {
        Subsets::random(differences, total, test.samples, test.seed)
    };
    // 2. p-value.
    let tie = TIE * absolute_sum(differences);
    let extreme = subsets.sums.iter().filter(|sum| sign * **sum <= tie).count();
    let p_value = ((1 + extreme) as f64 / subsets.patterns as f64).min(1.0);
    // 3. Limits: the k-th smallest and the k-th largest mean. 1e-9 absorbs the rounding of the confidence.
    let k = ((1.0 - test.confidence) * subsets.patterns as f64 + 1e-9) as usize;
    (subsets.limits(k), Some(p_value))
}

/// Sums over subsets of the differences and over their complements.
struct Subsets {
    sums: Vec<f64>,
    means: Vec<f64>,
    /// Number of pairs of opposite patterns, including the observed one.
    patterns: usize,
}

impl Subsets {
    fn with_capacity(pairs: usize) -> Self {
        Self {
            sums: Vec::with_capacity(2 * pairs),
            means: Vec::with_capacity(2 * pairs),
            patterns: pairs + 1,
        }
    }

    fn push(&mut self, sum: f64, count: usize) {
        self.sums.push(sum);
        self.means.push(sum / count as f64);
    }

    /// All nonempty proper subsets. Each sum adds a subset of the first 8 differences to a subset of the others.
    fn all(differences: &[f64]) -> Self {
        let (first, rest) = differences.split_at(differences.len().min(EXACT / 2));
        let (first, rest) = (sums(first), sums(rest));
        let patterns = first.len() * rest.len();
        let mut subsets = Self::with_capacity(patterns / 2 - 1);
        for subset in 1..patterns - 1 {
            let sum = first[subset % first.len()] + rest[subset / first.len()];
            subsets.push(sum, subset.count_ones() as usize);
        }
        subsets
    }

    /// Random subsets and their complements. An empty subset counts as being as extreme as the observed pattern.
    fn random(differences: &[f64], total: f64, samples: usize, seed: u64) -> Self {
        let mut subsets = Self::with_capacity(samples);
        let (mut random, mut ticks) = (Random::new(seed), Ticks::default());
        for _ in 0..samples {
            let (sum, count) = random_subset(differences, &mut random, &mut ticks);
            let others = differences.len() - count;
            if count == 0 || others == 0 {
                subsets.sums.push(0.0);
                subsets.means.extend([f64::NEG_INFINITY, f64::INFINITY]);
            } else {
                subsets.push(sum, count);
                subsets.push(total - sum, others);
            }
        }
        subsets
    }

    /// The k-th smallest and the k-th largest mean, if there are finite ones.
    fn limits(mut self, k: usize) -> Option<(f64, f64)> {
        let (first, last) = (k.checked_sub(1)?, self.means.len().checked_sub(k)?);
        sort_ascending(&mut self.means);
        let (low, high) = (self.means[first], self.means[last]);
        (low.is_finite() && high.is_finite()).then_some((low.min(high), low.max(high)))
    }
}

/// The sums of all subsets: bit i of the index says whether the subset contains value i.
fn sums(values: &[f64]) -> Vec<f64> {
    values.iter().fold(vec![0.0], |mut sums, value| {
        sums.extend_from_within(..);
        let half = sums.len() / 2;
        sums[half..].iter_mut().for_each(|sum| *sum += value);
        sums
    })
}

/// Sum and size of a random subset. One random number decides 64 differences.
fn random_subset(differences: &[f64], random: &mut Random, ticks: &mut Ticks) -> (f64, usize) {
    let (mut lanes, mut count) = ([0.0; 4], 0);
    for chunk in differences.chunks(64) {
        let bits = random.bits() & (u64::MAX >> (64 - chunk.len()));
        count += bits.count_ones() as usize;
        for (index, value) in chunk.iter().enumerate() {
            // Keeps all bits of the value, or none.
            let mask = 0_u64.wrapping_sub(bits >> index & 1);
            lanes[index % 4] += f64::from_bits(value.to_bits() & mask);
        }
        ticks.add(chunk.len());
    }
    ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3]), count)
}

// Adjustment for multiple tests.

/// Adjusted p-values of a family of tests (Holm 1979, "A simple sequentially rejective multiple test procedure"): the i-th
/// smallest of m p-values becomes max over j <= i of min(1, (m - j + 1) p_(j)). A test without a p-value is not counted.
pub fn holm(p_values: &[Option<f64>]) -> Vec<Option<f64>> {
    let mut sorted: Vec<f64> = p_values.iter().flatten().copied().collect();
    sort_ascending(&mut sorted);
    let mut largest = 0.0_f64;
    let adjust = |(rank, p): (usize, &f64)| {
        largest = largest.max(((sorted.len() - rank) as f64 * p).min(1.0));
        largest
    };
    let adjusted: Vec<f64> = sorted.iter().enumerate().map(adjust).collect();
    let find = |p: f64| adjusted[sorted.partition_point(|other| *other < p)];
    p_values.iter().map(|p| p.map(find)).collect()
}

// Paired t test.

/// Above this many degrees of freedom, the t distribution is computed from the normal one.
const MANY: f64 = 2000.0;

/// The p-value and the interval for the mean of `differences`, by Student's t with n - 1 degrees of freedom (Student
/// 1908): t = mean / sqrt(s^2 / n), interval mean -+ q sqrt(s^2 / n). If all differences are equal, the interval is that
/// single value, and p is 1 if it is 0, else 0.
pub(super) fn student_t(differences: &[f64], confidence: f64) -> Outcome {
    let n = differences.len() as f64;
    if differences.len() < 2 {
        return (None, None);
    }
    let center = mean(differences);
    let variance = differences.iter().map(|d| (d - center) * (d - center)).sum::<f64>() / (n - 1.0);
    let error = (variance / n).sqrt();
    if differences.iter().all(|d| d.total_cmp(&differences[0]).is_eq()) || error <= 0.0 {
        let p = if center.abs() > 0.0 { 0.0 } else { 1.0 };
        return (Some((center, center)), Some(p));
    }
    let half = t_quantile(1.0 - confidence, n - 1.0) * error;
    (Some((center - half, center + half)), Some(two_sided_t(center / error, n - 1.0)))
}

/// P(|T| >= |t|) for Student's T with `degrees` >= 1 degrees of freedom.
///
/// Up to 2000 degrees it is I_x(degrees / 2, 1/2) with x = degrees / (degrees + t^2) (Abramowitz and Stegun 1964, 26.7.1 and
/// 26.5.2). Above that, where the series is long, t is mapped to a normal deviate (Hill 1970, ACM algorithm 395), with an
/// error below 1e-12.
pub fn two_sided_t(t: f64, degrees: f64) -> f64 {
    let square = t * t;
    if !square.is_finite() {
        return 0.0;
    }
    if degrees <= MANY {
        let (p, q) = (degrees / 2.0, 0.5);
        return incomplete_beta(degrees / (degrees + square), p, q);
    }
    let a = degrees - 0.5;
    let b = 48.0 * a * a;
    let y = a * libm::log1p(square / degrees);
    let series = (((-0.4 * y - 3.3) * y - 24.0) * y - 85.5) / (0.8 * y * y + 100.0 + b) + y + 3.0;
    let z = (series / b + 1.0) * y.sqrt();
    libm::erfc(z * std::f64::consts::FRAC_1_SQRT_2)
}

/// I_x(p, q). Not inlined, to keep one copy.
#[inline(never)]
fn incomplete_beta(x: f64, p: f64, q: f64) -> f64 {
    x.inc_beta(p, q, p.ln_beta(q))
}

/// The f with P(F >= f) = `tail` in 0..1 for Fisher's F with `above` and `below` degrees of freedom, each at least 1.
/// `below` is capped at 2000, which makes f slightly larger. P(F >= f) = I_x(below / 2, above / 2) with
/// x = below / (below + above f) (Abramowitz and Stegun 1964, 26.6.2); x is computed by bisection.
pub fn f_quantile(tail: f64, above: f64, below: f64) -> f64 {
    let below = below.min(MANY);
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        if incomplete_beta(middle, below / 2.0, above / 2.0) < tail {
            low = middle;
        } else {
            high = middle;
        }
    }
    below * (1.0 - high) / (above * high)
}

/// The t with P(|T| >= t) = `tail` in 0..1, by Newton's method from the normal quantile. The tail probability is convex in
/// t and the start is below the solution, so each step gets closer to it.
pub fn t_quantile(tail: f64, degrees: f64) -> f64 {
    let ln_beta = (degrees / 2.0).ln_beta(0.5);
    let mut t = -normal::quantile(tail / 2.0);
    for _ in 0..200 {
        let log_density =
            -0.5 * (degrees + 1.0) * libm::log1p(t * t / degrees) - ln_beta - 0.5 * libm::log(degrees);
        let step = (two_sided_t(t, degrees) - tail) / (2.0 * libm::exp(log_density));
        t += step;
        if step.abs() <= 1e-14 * t {
            break;
        }
    }
    t
}
