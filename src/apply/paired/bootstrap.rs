//! The bootstrap of paired differences.

use super::{Outcome, PairedTest, TIE, absolute_sum, mean};
use crate::base::control::Ticks;
use crate::math::normal;
use crate::math::order::sort_ascending;
use crate::math::random::Random;

/// p-value and interval of the mean of `differences` from B resamples with replacement.
///
/// The p-value is (1 + c) / (1 + B), where c counts resampled means that differ from the observed mean by at least its
/// size (Efron and Tibshirani 1993, section 16.4). The interval is BCa: bias-corrected and accelerated (Efron 1987, "Better
/// bootstrap confidence intervals", equation 3.10).
pub(super) fn test(differences: &[f64], test: &PairedTest) -> Outcome {
    if differences.len() < 2 {
        return (None, None);
    }
    let center = mean(differences);
    let mut means = resampled(differences, test);
    let tie = TIE * absolute_sum(differences) / differences.len() as f64;
    let extreme = means.iter().filter(|mean| (*mean - center).abs() >= center.abs() - tie).count();
    let p_value = (1 + extreme) as f64 / (1 + means.len()) as f64;
    // Bias correction: how far the observed mean is from the median of the resampled ones. Equal means count half.
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

/// Means of resamples.
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
