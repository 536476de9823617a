//! Line search on scores: a step t > 0 at which the slope of the smoothed objective has become small.
//!
//! phi(t) is convex, so the minimum is on the side of t given by the sign of phi'(t). t = 1 is tried first; a step is
//! accepted if |phi'(t)| <= 0.3 |phi'(0)|. Otherwise the next step is that of the secant: inside the middle of the
//! bracket, or up to four times as long while there is no bracket. A jump of the slope makes the secant slow. So if a
//! step has not halved the bracket, the next one cuts it in half, or to a tenth while its lower end is zero. Cost one
//! pass over the pairs per step.

/// Fraction of the first slope that is accepted.
const REMAINING_SLOPE: f64 = 0.3;
/// Largest number of steps tried.
const MOST_STEPS: usize = 50;

/// Slope at a step, and the size below which it is rounding.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slope {
    pub value: f64,
    pub noise: f64,
}

/// The step found; the last call of `slope` was made there. `None` if no step decreases the objective for certain.
pub(super) fn search(slope_at_zero: f64, mut slope: impl FnMut(f64) -> Slope) -> Option<f64> {
    let (mut low, mut low_slope) = (0.0, slope_at_zero);
    let mut high: Option<(f64, f64)> = None;
    let mut step = 1.0;
    let mut slow = false;
    for _ in 0..MOST_STEPS {
        let Slope { value, noise } = slope(step);
        if value.abs() <= REMAINING_SLOPE * slope_at_zero.abs() || value.abs() <= noise {
            return Some(step);
        }
        let length = high.map_or(f64::INFINITY, |(high, _)| high - low);
        if value > 0.0 {
            high = Some((step, value));
        } else {
            (low, low_slope) = (step, value);
        }
        // A cut is always followed by a secant.
        slow = !slow && high.is_some_and(|(high, _)| high - low > 0.5 * length);
        step = match high {
            Some((high, _)) if slow => low + (high - low) * if low > 0.0 { 0.5 } else { 0.1 },
            _ => next_step(low, low_slope, high, slope_at_zero),
        };
        if !step.is_finite() {
            return None;
        }
    }
    (low > 0.0).then(|| {
        slope(low);
        low
    })
}

/// The secant's step, kept inside the bracket.
fn next_step(low: f64, low_slope: f64, high: Option<(f64, f64)>, slope_at_zero: f64) -> f64 {
    if let Some((high, high_slope)) = high {
        let fraction = (-low_slope / (high_slope - low_slope)).clamp(0.1, 0.9);
        return low + fraction * (high - low);
    }
    let secant = low * slope_at_zero / (slope_at_zero - low_slope);
    if secant > 1.5 * low { secant.min(4.0 * low) } else { 1.5 * low }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_minimum_is_found_on_either_side_of_one() {
        for minimum in [1e-4, 0.3, 1.0, 7.0, 1e3] {
            let slope = |t: f64| Slope { value: if t < minimum { -1.0 } else { t - minimum }, noise: 0.0 };
            let step = search(-1.0, slope).unwrap_or(f64::NAN);
            assert!(slope(step).value.abs() <= 0.3 || step > 0.9 * minimum, "{minimum}: {step}");
        }
    }

    #[test]
    fn a_slope_that_never_falls_ends_the_search() {
        assert!(search(-1.0, |_| Slope { value: 1.0, noise: 0.0 }).is_none());
    }
}
