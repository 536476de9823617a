//! Sums over pairs of positions with the weights of `swap`, in O(N).
//!
//! ```text
//! S_j = sum over t of a lower grade    (G_j - G_t) (D_j - D_t) x_t
//! W_t = sum over j of a higher grade   (G_j - G_t) (D_j - D_t) x_j
//! ```
//!
//! Gains G and discounts D fall with the position. From one position to the next, a sum changes by the step of D times a
//! sum without D; from one grade to the next by the step of G times a sum without G. Both steps have one sign, so nothing
//! cancels that the sums themselves do not cancel.

use crate::base::control::Ticks;

/// Operations, for [`Ticks`], of a position.
const POSITION_COST: usize = 8;

/// Gains, discounts and the first position of a lower grade, by position of the ideal order.
#[derive(Debug, Clone, Copy)]
pub struct Swaps<'a> {
    /// G.
    pub gains: &'a [f64],
    /// D.
    pub discounts: &'a [f64],
    /// The same number for all positions of a grade.
    pub lower: &'a [usize],
}

impl Swaps<'_> {
    /// S.
    pub fn over_lower(&self, x: &[f64]) -> Vec<f64> {
        let last = x.len().saturating_sub(1);
        self.sums(x, &|index| last - index)
    }

    /// W.
    pub fn over_higher(&self, x: &[f64]) -> Vec<f64> {
        self.sums(x, &|index| index)
    }

    /// The sums over the grades that come before in the order of the positions `at`, which goes up or down.
    fn sums(&self, x: &[f64], at: &dyn Fn(usize) -> usize) -> Vec<f64> {
        let Self { gains, discounts, lower } = *self;
        let n = x.len();
        let step = |values: &[f64], a: usize, b: usize| (values[at(a)] - values[at(b)]).abs();
        let mut sums = vec![0.0; n];
        let mut ticks = Ticks::default();
        // Sums over earlier grades of x, with D, with G and with both, as the current position sees them.
        let (mut plain, mut by_discount, mut by_gain, mut by_both) = (0.0, 0.0, 0.0, 0.0);
        let mut first = 0;
        for index in 0..n {
            ticks.add(POSITION_COST);
            if index > 0 {
                let moved = step(discounts, index, index - 1);
                by_both += moved * by_gain;
                by_discount += moved * plain;
            }
            if index > 0 && lower[at(index)] != lower[at(index - 1)] {
                let earlier = std::mem::replace(&mut first, index);
                for other in earlier..first {
                    by_discount += step(discounts, index, other) * x[at(other)];
                    plain += x[at(other)];
                }
                let gained = step(gains, index, index - 1);
                by_both += gained * by_discount;
                by_gain += gained * plain;
            }
            sums[at(index)] = by_both;
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_those_over_pairs() {
        let grades = [3.0, 3.0, 3.0, 2.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0];
        let gains: Vec<f64> = grades.iter().map(|y: &f64| y.exp2() - 1.0).collect();
        let discounts: Vec<f64> =
            (0..10).map(|p| if p < 8 { 1.0 / f64::from(p + 2).log2() } else { 0.0 }).collect();
        let lower = [3, 3, 3, 4, 6, 6, 10, 10, 10, 10];
        let swaps = Swaps { gains: &gains, discounts: &discounts, lower: &lower };
        let x: Vec<f64> = (0..10).map(|i| (f64::from(i) * 1.7).sin()).collect();
        let weight = |j: usize, t: usize| (gains[j] - gains[t]) * (discounts[j] - discounts[t]);
        let (over_lower, over_higher) = (swaps.over_lower(&x), swaps.over_higher(&x));
        for p in 0..10 {
            let expected: f64 = (lower[p]..10).map(|t| weight(p, t) * x[t]).sum();
            assert!((over_lower[p] - expected).abs() < 1e-14, "{p}");
            let expected: f64 = (0..p).filter(|j| lower[*j] <= p).map(|j| weight(j, p) * x[j]).sum();
            assert!((over_higher[p] - expected).abs() < 1e-14, "{p}");
        }
        assert!(swaps.over_lower(&[]).is_empty());
    }
}
