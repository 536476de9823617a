//! Cells of numbers: the index of a table that is searched from the cell of a number on.
//!
//! A cell is the leading bits of 1 + s |x - c| in single precision, so cells are equally wide within each power of two of this
//! number: all of them up to 2, and growing like |x - c| beyond. The cells below c mirror those above. So the same few
//! operations without a branch serve values that are spread evenly, with one long tail or with two. The map is monotone.

#![allow(clippy::inline_always, reason = "compiled again for wider registers")]

/// Number of cells, a power of 2.
const CELLS: usize = 512;

/// Cells above the center.
const ABOVE: u32 = CELLS as u32 / 2;

/// Bits of the mantissa in single precision, and of the number 1.
const MANTISSA: u32 = 23;
const ONE: u32 = 1.0f32.to_bits();

/// Of so many values one is looked at to choose the cells.
const SAMPLED: usize = 4;

/// How numbers are assigned to cells.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cells {
    /// c.
    pub center: f64,
    /// s, finite and >= 0; 0 if all numbers are in one cell.
    pub scale: f64,
    /// Bits of the mantissa that do not count.
    pub shift: u32,
}

impl Cells {
    /// One cell for all numbers.
    pub const ONE: Self = Self { center: 0.0, scale: 0.0, shift: MANTISSA };

    /// Cells that separate these increasing values best.
    pub fn of(values: &[f64]) -> Self {
        let mut best = (usize::MAX, Self::ONE);
        let [first, .., last] = values else { return best.1 };
        let sample: Vec<f64> = values.iter().copied().step_by(SAMPLED).collect();
        let centers = [0.5 * first + 0.5 * last, *first, *last, values[values.len() / 2]];
        for cells_per_octave in [ABOVE, ABOVE / 4, ABOVE / 16, ABOVE / 32] {
            let octaves = (ABOVE / cells_per_octave) as i32;
            for center in centers {
                let range = (last - center).max(center - first);
                let scale = (f64::from(2.0f32.powi(octaves)) - 1.0) / range;
                let cells = Self { center, scale, shift: MANTISSA - cells_per_octave.ilog2() };
                let near = |pair: &[f64]| cells.cell(pair[1]) < cells.cell(pair[0]) + SAMPLED / 2;
                let crowded = sample.windows(2).filter(|pair| near(pair)).count();
                if scale.is_finite() && center.is_finite() && crowded < best.0 {
                    best = (crowded, cells);
                }
                if best.0 == 0 {
                    return best.1;
                }
            }
        }
        best.1
    }

    /// The cell of a number; any for NaN.
    #[inline(always)]
    pub fn cell(self, x: f64) -> usize {
        cell(x, self.center, self.scale, self.shift) as usize
    }

    /// For each cell the last of these increasing values in an earlier cell, or the first. A power of 2 of them: the index is
    /// a cell modulo their number.
    pub fn starts(self, values: &[f64]) -> Vec<u16> {
        if self.scale <= 0.0 {
            return vec![0];
        }
        let mut last = 0;
        let start = |cell: usize| {
            while last + 1 < values.len() && self.cell(values[last + 1]) < cell {
                last += 1;
            }
            last.min(usize::from(u16::MAX)) as u16
        };
        (0..CELLS).map(start).collect()
    }
}

/// The cell of x with the center, the scale and the shift of [`Cells`].
#[inline(always)]
pub fn cell(x: f64, center: f64, scale: f64, shift: u32) -> u32 {
    let difference = x - center;
    let size = ((difference.abs() * scale + 1.0) as f32).to_bits().wrapping_sub(ONE) >> (shift & 31);
    // All bits if x is below the center.
    let below = ((difference.to_bits() >> 32) as i32 >> 31) as u32;
    (size.min(ABOVE - 1) ^ below).wrapping_add(ABOVE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_monotone() {
        let numbers =
            [-f64::MAX, -1e300, -7.0, -0.3, -5e-324, -0.0, 0.0, 5e-324, 1e-9, 0.3, 1.0, 7.0, 1e300, f64::MAX];
        let sets: [&[f64]; 4] =
            [&[0.0, 1.0], &[-1e300, 0.3, 1e300], &[1.0, 1.0 + 1e-15], &[-f64::MAX, 0.0, f64::MAX]];
        for values in sets {
            let cells = Cells::of(values);
            let found: Vec<usize> = numbers.iter().map(|x| cells.cell(*x)).collect();
            assert!(found.is_sorted() && found.iter().all(|cell| *cell < CELLS), "{values:?}: {found:?}");
        }
    }

    #[test]
    fn values_of_usual_distributions_are_separated() {
        let share = |i: usize| (i as f64 + 0.5) / 256.0;
        let most = |values: Vec<f64>| {
            let cells = Cells::of(&values);
            let cells: Vec<usize> = values.iter().map(|x| cells.cell(*x)).collect();
            cells.chunk_by(|a, b| a == b).map(<[usize]>::len).max().unwrap()
        };
        let normal = |i: usize| crate::math::normal::quantile(share(i));
        assert!(most((0..256).map(share).collect()) <= 1);
        assert!(most((0..256).map(|i| f64::from(i) - 128.0).collect()) <= 1);
        assert!(most((0..256).map(|i| (2.0 * normal(i)).exp()).collect()) <= 4);
        assert!(most((0..256).map(normal).collect()) <= 3);
        assert!(most((0..256).map(|i| (3.1 * (share(i) - 0.5)).tan()).collect()) <= 4);
    }
}
