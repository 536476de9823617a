//! Expectation maximization by passes over counts or over a log, accelerated: SQUAREM, scheme S3.
//!
//! Source: Varadhan & Roland, "Simple and globally convergent methods for accelerating the convergence of any EM algorithm",
//! Scandinavian Journal of Statistics, 2008.

/// Estimates stay this far from 0 and 1.
pub(super) const MARGIN: f64 = 1e-9;

/// Probabilities to estimate.
pub(super) type Point = Vec<f64>;

/// A probability away from 0 and 1.
pub(super) fn within(probability: f64) -> f64 {
    probability.clamp(MARGIN, 1.0 - MARGIN)
}

/// A pass: the next point, and the log-likelihood of this one.
pub(super) type Pass<'a, E> = dyn FnMut(&Point) -> Result<(Point, f64), E> + 'a;

/// When the passes end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Passes {
    /// Largest number of passes, from 3.
    pub most: usize,
    /// Largest change of an estimate in the last pass.
    pub tolerance: f64,
    /// The number of an estimate that is 1.
    pub fixed: Option<usize>,
}

impl Passes {
    /// The maximum, from a start, and the number of passes.
    ///
    /// # Errors
    /// Those of a pass.
    pub fn maximum<E>(&self, start: Point, pass: &mut Pass<'_, E>) -> Result<(Point, usize), E> {
        let (mut point, mut passes) = (start, 0);
        while passes + 3 <= self.most {
            // 1. Two passes.
            let (once, _) = pass(&point)?;
            let (twice, before) = pass(&once)?;
            let change = once.iter().zip(&twice).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            if change <= self.tolerance {
                return Ok((twice, passes + 2));
            }
            // 2. A step along their change, if it does not lower the likelihood.
            let (next, value) = pass(&self.further(&point, &once, &twice))?;
            point = if value >= before { next } else { twice };
            passes += 3;
        }
        Ok((point, passes))
    }

    /// The point that two passes from `point` lead to, extrapolated.
    fn further(&self, point: &Point, once: &Point, twice: &Point) -> Point {
        let r: Vec<f64> = once.iter().zip(point).map(|(b, a)| b - a).collect();
        let v: Vec<f64> = twice.iter().zip(once).zip(&r).map(|((c, b), r)| c - b - r).collect();
        let length = |x: &[f64]| libm::sqrt(x.iter().map(|x| x * x).sum());
        let step = (length(&r) / length(&v).max(f64::MIN_POSITIVE)).max(1.0);
        let at = |i: usize| within(point[i] + step * (2.0 * r[i] + step * v[i]));
        (0..point.len()).map(|i| if self.fixed == Some(i) { 1.0 } else { at(i) }).collect()
    }
}
