//! The probability of a grade, given the score.

use serde::{Deserialize, Serialize};

use crate::base::{Result, require};

/// Most knots of a map.
pub const MOST_KNOTS: usize = 64;

/// The probability that a document with a score has at least the grade `threshold`: linear between knots, constant outside.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Probability {
    /// The lowest grade of a relevant document.
    pub threshold: f64,
    /// Scores, ascending, with their probabilities, which never fall.
    pub knots: Vec<[f64; 2]>,
}

impl Probability {
    /// The probability at a score.
    pub fn at(&self, score: f64) -> f64 {
        let next = self.knots.partition_point(|knot| knot[0] <= score);
        let [a, b] = [next.saturating_sub(1), next.min(self.knots.len() - 1)].map(|index| self.knots[index]);
        if a[0] >= b[0] || score <= a[0] {
            return a[1];
        }
        // Halve first, so that differences of finite scores are finite.
        let share = (0.5 * score - 0.5 * a[0]) / (0.5 * b[0] - 0.5 * a[0]);
        (a[1] + share * (b[1] - a[1])).clamp(a[1], b[1])
    }

    /// Refuses a map that training would not write.
    ///
    /// # Errors
    /// The requirement that does not hold.
    pub(super) fn validate(&self) -> Result<()> {
        let Self { threshold, knots } = self;
        let ascends = |pair: &[[f64; 2]]| pair[0][0] < pair[1][0] && pair[0][1] <= pair[1][1];
        let is_written = |knot: &[f64; 2]| knot[0].is_finite() && (0.0..=1.0).contains(&knot[1]);
        require(
            "probability",
            &[
                (threshold.is_finite(), "a finite threshold"),
                ((1..=MOST_KNOTS).contains(&knots.len()), "1 to 64 knots"),
                (knots.iter().all(is_written), "finite scores with probabilities from 0 to 1"),
                (knots.windows(2).all(ascends), "ascending knots"),
            ],
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(knots: &[[f64; 2]]) -> Probability {
        Probability { threshold: 1.0, knots: knots.to_vec() }
    }

    #[test]
    fn a_map_is_linear_between_knots_and_constant_outside() {
        let map = map(&[[-1.0, 0.1], [0.0, 0.5], [4.0, 0.9]]);
        let actual = [-7.0, -1.0, -0.5, 0.0, 1.0, 4.0, 9.0].map(|score| map.at(score));
        let expected = [0.1, 0.1, 0.3, 0.5, 0.6, 0.9, 0.9];
        assert!(
            actual.iter().zip(expected).all(|(actual, expected)| (actual - expected).abs() < 1e-15),
            "{actual:?}"
        );
        let huge = super::tests::map(&[[f64::MIN, 0.0], [f64::MAX, 1.0]]);
        assert!((huge.at(0.0) - 0.5).abs() < 1e-15);
        assert!((super::tests::map(&[[3.0, 0.2]]).at(-3.0) - 0.2).abs() < 1e-15);
    }

    /// 3,000 random maps: higher scores never have lower probabilities, and what a training would not write is refused.
    #[test]
    fn a_map_keeps_the_order_of_scores() {
        let mut random = crate::math::Random::new(5);
        for case in 0..3000 {
            let n = 1 + case % MOST_KNOTS;
            let mut knots: Vec<[f64; 2]> = (0..n)
                .map(|_| {
                    [
                        10f64.powi((random.bits() % 9) as i32) * random.symmetric(),
                        random.symmetric().abs().min(1.0),
                    ]
                })
                .collect();
            knots.sort_by(|a, b| a[0].total_cmp(&b[0]));
            knots.dedup_by(|a, b| a[0] <= b[0]);
            let mut rates: Vec<f64> = knots.iter().map(|knot| knot[1]).collect();
            rates.sort_by(f64::total_cmp);
            knots.iter_mut().zip(rates).for_each(|(knot, rate)| knot[1] = rate);
            let map = map(&knots);
            map.validate().unwrap();
            let mut scores: Vec<f64> =
                (0..50).map(|_| 10f64.powi((random.bits() % 9) as i32) * random.symmetric()).collect();
            scores.extend(knots.iter().map(|knot| knot[0]));
            scores.sort_by(f64::total_cmp);
            let found: Vec<f64> = scores.iter().map(|score| map.at(*score)).collect();
            assert!(found.is_sorted() && found.iter().all(|p| (0.0..=1.0).contains(p)), "{knots:?}");
        }
        for wrong in
            [&[][..], &[[0.0, 1.5]], &[[f64::NAN, 0.5]], &[[0.0, 0.5], [0.0, 0.6]], &[[0.0, 0.5], [1.0, 0.4]]]
        {
            assert!(map(wrong).validate().is_err(), "{wrong:?}");
        }
        assert!(map(&(0..65).map(|n| [f64::from(n), 0.5]).collect::<Vec<_>>()).validate().is_err());
    }
}
