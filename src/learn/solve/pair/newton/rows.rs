//! What Newton's method asks of the rows of a problem: of rows in memory (`space`), or of rows elsewhere (`asked`).

use super::chunk::Sums;
use super::few::ZonePair;
use super::hessian::Precision;
use crate::math::lanes::Lanes;

/// Facts of a problem that no point changes.
pub(super) struct Totals {
    /// Blocks per vector of features.
    pub width: usize,
    /// Number of features.
    pub dim: usize,
    /// Sum of c over all pairs, the loss of w = 0.
    pub total_weight: f64,
    /// Number of pairs.
    pub pairs: u64,
    /// Sum of c z over all pairs, weights of pairs included.
    pub pair_sum: Vec<Lanes>,
}

/// The rows of a problem.
pub(super) trait Rows {
    /// What no point changes.
    fn totals(&self) -> &Totals;

    /// Makes w the accepted point.
    fn set_point(&mut self, w: &[Lanes]);

    /// Makes d the direction of the next passes.
    fn set_direction(&mut self, d: &[Lanes]);

    /// Accepts the point of the last pass.
    fn accept(&mut self);

    /// X'g of the last pass.
    fn transpose_times(&mut self) -> Vec<Lanes>;

    /// Sum of c z z' over all pairs, blocks on and above the diagonal.
    fn moment(&mut self, precision: Precision) -> Vec<Lanes>;
}

/// Rows with the smoothed hinge. The defaults are those of rows that store nothing per pair.
pub(super) trait HingeRows: Rows {
    /// Pass at (accepted point) + step * (direction) with the given width of the zone.
    fn pass(&mut self, step: f64, delta: f64) -> Sums;

    /// Sum of (c / delta) z z' over the zone at the accepted point, blocks on and above the diagonal; and the number
    /// of pairs in the zone.
    fn hessian(&mut self, delta: f64, precision: Precision) -> (Vec<Lanes>, u64);

    /// Largest margin of a pair at the accepted point, or infinity if that is not known.
    fn largest_margin(&mut self) -> f64 {
        f64::INFINITY
    }

    /// Tells the width that is likely to follow the current one.
    fn expect_width(&mut self, _width: f64) {}

    /// A width near this one whose pass at the accepted point costs nothing; otherwise this one.
    fn near_width(&self, width: f64) -> f64 {
        width
    }

    /// The pairs in the zone at the accepted point, weighted with c / delta, if they and the documents are few.
    fn few_pairs(&mut self, _delta: f64) -> Option<Vec<ZonePair>> {
        None
    }

    /// The solution of (H + 2 lambda I) d = r, H the Hessian of these pairs.
    fn solve_pairs(&mut self, _pairs: &[ZonePair], _lambda: f64, _r: &[Lanes]) -> Option<Vec<Lanes>> {
        None
    }

    /// Bytes that one center per pair would take.
    fn center_bytes(&self) -> usize {
        usize::MAX
    }

    /// Replaces every center p0 by the p of the accepted point.
    fn update_centers(&mut self, _delta: f64) {}

    /// Makes every center 1/2 again.
    fn clear_centers(&mut self) {}
}
