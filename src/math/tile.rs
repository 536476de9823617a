//! Thirty-two numbers, one lane per document, so that no sum has to be folded.
//!
//! A sum over features or pivots runs in their order, lane by lane. The bits of a lane depend on its document alone.
#![allow(clippy::inline_always, reason = "kernels are compiled again for wider registers")]

use super::lanes::{LANES, Lanes};

/// Blocks of eight in a tile. Its sums take eight AVX2 registers; seven are left for the rest.
pub const BLOCKS: usize = 4;

/// Numbers per tile.
pub const TILE: usize = BLOCKS * LANES;

/// One number for each of [`TILE`] documents.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tile(pub [Lanes; BLOCKS]);

impl Tile {
    /// All zeros.
    pub const ZERO: Self = Self([Lanes::ZERO; BLOCKS]);

    /// self += factor * x.
    #[inline(always)]
    pub fn add_scaled(&mut self, factor: f64, x: &Self) {
        for block in 0..BLOCKS {
            self.0[block].add_scaled(factor, &x.0[block]);
        }
    }

    /// self += term(x) lane by lane.
    #[inline(always)]
    pub fn add_terms(&mut self, x: &Self, term: impl Fn(f64) -> f64) {
        for block in 0..BLOCKS {
            let terms = x.0[block].map(&term);
            self.0[block].add_scaled(1.0, &terms);
        }
    }

    /// self *= factor.
    #[inline(always)]
    pub fn scale(&mut self, factor: f64) {
        self.0.iter_mut().flat_map(|lanes| lanes.0.iter_mut()).for_each(|value| *value *= factor);
    }

    /// The number of one lane.
    #[inline(always)]
    pub fn get(&self, lane: usize) -> f64 {
        self.0[lane / LANES].0[lane % LANES]
    }

    /// The number of one lane, mutable.
    #[inline(always)]
    pub fn get_mut(&mut self, lane: usize) -> &mut f64 {
        &mut self.0[lane / LANES].0[lane % LANES]
    }

    /// All numbers in order.
    #[inline(always)]
    pub fn values(&self) -> impl Iterator<Item = f64> + '_ {
        self.0.iter().flat_map(|lanes| lanes.0)
    }
}

/// Number of tiles that hold `len` numbers.
pub const fn tiles_for(len: usize) -> usize {
    len.div_ceil(TILE)
}
