//! The paired t test.

use special::Beta;

use super::{Outcome, mean};
use crate::math::normal;

/// Degrees of freedom from which the t distribution is computed from the normal one.
const MANY: f64 = 2000.0;

/// p-value and interval of the mean of `differences` by Student's t distribution with n - 1 degrees of freedom (Student
/// 1908): t = mean / sqrt(s^2 / n), interval mean -+ q sqrt(s^2 / n). If all differences are equal, the interval is that
/// value, and p is 1 for 0 and 0 otherwise.
pub(super) fn test(differences: &[f64], confidence: f64) -> Outcome {
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
/// 26.5.2). For more, where that series is long, t is turned into a normal deviate (Hill 1970, ACM algorithm 395), with an
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

/// I_x(p, q). One copy for all callers.
#[inline(never)]
fn incomplete_beta(x: f64, p: f64, q: f64) -> f64 {
    x.inc_beta(p, q, p.ln_beta(q))
}

/// f with P(F >= f) = `tail` in 0..1 for Fisher's F with `above` and `below` degrees of freedom, at least 1 each; of more
/// than 2000 below the quantile of 2000 is used, which is slightly larger. P(F >= f) = I_x(below / 2, above / 2) with
/// x = below / (below + above f) (Abramowitz and Stegun 1964, 26.6.2), and bisection finds x.
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

/// t with P(|T| >= t) = `tail` in 0..1, by Newton's method from the normal quantile. The tail is a convex function of t and
/// the start is below the solution, so that each step comes closer to it.
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
