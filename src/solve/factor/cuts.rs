//! Planes below the loss of a user as a function of its scores. They stay below it whatever the factors are, so one half
//! step hands them to the next.

use crate::math::dense::dot;

/// Cuts that are kept.
const KEPT: usize = 12;

/// The plane slopes.s + offset.
#[derive(Debug, Clone)]
pub(super) struct Cut {
    pub(super) slopes: Vec<f64>,
    pub(super) offset: f64,
}

impl Cut {
    /// The height of the plane at these scores.
    pub(super) fn height(&self, scores: &[f64]) -> f64 {
        dot(&self.slopes, scores) + self.offset
    }
}

/// The newest cuts of a user.
#[derive(Debug, Default, Clone)]
pub(super) struct Cuts(Vec<Cut>);

impl Cuts {
    /// All of them, the newest last.
    pub(super) fn all(&self) -> &[Cut] {
        &self.0
    }

    /// Takes in a cut; the oldest makes room.
    pub(super) fn push(&mut self, cut: Cut) {
        if self.0.len() == KEPT {
            self.0.remove(0);
        }
        self.0.push(cut);
    }

    /// The highest at these scores.
    pub(super) fn highest(&self, scores: &[f64]) -> Option<&Cut> {
        self.0.iter().max_by(|a, b| a.height(scores).total_cmp(&b.height(scores)))
    }
}
