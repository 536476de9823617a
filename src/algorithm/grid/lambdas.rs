//! Candidates for lambda and for what takes its place, where the caller names none.

use crate::loss::{Loss, Shape};

/// The candidates for lambda where the caller names none, largest first: of pairwise losses with the linear kernel
/// those of Dai & Wang (2019), section 5, 10^((v - 31) / 10) for v = 61, ..., 1; else half decades, because fits are
/// dearer, from 10 to 1e-6 with the linear kernel and from 1 to 1e-7 with others, whose spaces are larger; from 1 to
/// 1e-4 of convex losses that take cutting planes and of annealed ones, from 100 to 0.01 of differences of convex ones.
/// Where the penalty pulls to a prior, which may be best left alone, cutting planes begin at 1000.
pub fn auto_grid(loss: &Loss, is_linear: bool, pulls: bool) -> Vec<f64> {
    let half_decades = |largest: f64, steps: u32| -> Vec<f64> {
        (0..=steps).map(|step| libm::exp10(largest - 0.5 * f64::from(step))).collect()
    };
    match (loss, loss.shape()) {
        (Loss::Pair(_), _) if is_linear => {
            (1..=61).rev().map(|v| libm::exp10((f64::from(v) - 31.0) / 10.0)).collect()
        }
        (Loss::List(_), Shape::Convex) if pulls => half_decades(3.0, 12),
        (Loss::List(_), Shape::Difference) => half_decades(2.0, 8),
        (Loss::List(_), Shape::Convex | Shape::Annealed) => half_decades(0.0, 8),
        _ if is_linear => half_decades(1.0, 14),
        _ => half_decades(0.0, 14),
    }
}

/// The candidates for the radius of a ball where the caller wants some, largest first: half decades from 1000 to 0.1.
pub(super) fn radii() -> Vec<f64> {
    (0..=8).map(|step| libm::exp10(3.0 - 0.5 * f64::from(step))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::PairLoss;

    #[test]
    fn the_grid_is_the_papers() {
        let grid = auto_grid(&Loss::Pair(PairLoss::Hinge), true, false);
        assert_eq!(grid.len(), 61);
        assert!((grid[0] - 1e3).abs() < 1e-9 && (grid[60] - 1e-3).abs() < 1e-15);
    }
}
