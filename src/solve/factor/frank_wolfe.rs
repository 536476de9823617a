//! V for losses with corners: block-coordinate Frank-Wolfe (Lacoste-Julien, Jaggi, Schmidt & Pletscher 2013).
//!
//! ```text
//! min over V   lambda / 2 |V|^2 + sum_u R_u(V u + b_u)
//! ```
//!
//! Each user has one plane g.s + o below R_u, a mean of planes that touch R_u. V = -(1/lambda) sum_u g_u u' minimizes the
//! objective with these planes in place of the losses. A step takes one user, finds the plane that touches R_u at V, and
//! moves towards it to the largest minimum:
//!
//! ```text
//! t = min(1, lambda gap / |(g' - g) u'|^2),   gap = (g' - g).s + o' - o
//! ```
//!
//! The gaps of a pass sum to about the distance from the optimum. Planes are functions of scores and hold for every U, so
//! they are kept for the next half step. The planes of a batch are found in parallel at the V before the batch. Finding a
//! plane takes most of the time, so passes over known planes follow (Shah, Kolmogorov & Lampert 2015).

use rayon::prelude::*;

use super::cuts::{Cut, Cuts};
use super::{Factorization, HalfStep};
use crate::control::Control;
use crate::math::dense::dot;
use crate::optim::vector::{axpy, difference};

/// Users whose planes are found in parallel.
const BATCH: usize = 32;
/// Most passes that find planes.
const MOST_PASSES: usize = 10;
/// Passes over known planes after each of them.
const CHEAP_PASSES: usize = 2;

/// The plane of every user.
#[derive(Debug)]
pub(super) struct Planes {
    /// g, one number per rating.
    slopes: Vec<f64>,
    /// o, one per user.
    offsets: Vec<f64>,
}

impl Planes {
    /// 0 for each user.
    pub(super) fn new(users: usize, ratings: usize) -> Self {
        Self { slopes: vec![0.0; ratings], offsets: vec![0.0; users] }
    }

    /// Their sum at V = 0.
    fn at_zero(&self, problem: &Factorization<'_>) -> f64 {
        self.offsets.iter().sum::<f64>() + dot(&self.slopes, &problem.offsets)
    }
}

/// The search for V at fixed U.
pub(super) struct Search<'a, 'p> {
    pub(super) problem: &'a Factorization<'p>,
    pub(super) planes: &'a mut Planes,
    /// Known planes of each user.
    pub(super) cuts: &'a mut [Cuts],
    /// U.
    pub(super) users: &'a [f64],
    pub(super) rank: usize,
    pub(super) step: HalfStep,
}

impl Search<'_, '_> {
    /// V with a gap of about the tolerance, or after the last pass.
    pub(super) fn run(&mut self, control: &Control) -> Vec<f64> {
        let mut items = self.problem.to_items(&self.planes.slopes, self.users, self.rank);
        items.iter_mut().for_each(|value| *value /= -self.step.lambda);
        for _ in 0..MOST_PASSES.min(self.step.most) {
            let gap = self.pass(&mut items, control);
            let bound = self.planes.at_zero(self.problem) - 0.5 * self.step.lambda * dot(&items, &items);
            if gap <= self.step.tolerance * bound || control.is_canceled() {
                break;
            }
            for _ in 0..CHEAP_PASSES {
                self.cheap_pass(&mut items);
            }
        }
        items
    }

    /// One step for each user towards a plane that touches its loss. Returns the sum of gaps.
    fn pass(&mut self, items: &mut [f64], control: &Control) -> f64 {
        let numbers: Vec<usize> = (0..self.problem.losses.len()).collect();
        let mut gap = 0.0;
        for batch in numbers.chunks(BATCH) {
            let search = &*self;
            let found: Vec<Cut> = batch.par_iter().map(|&user| search.touching(user, items)).collect();
            for (&user, cut) in batch.iter().zip(found) {
                let scores = self.scores(user, items);
                gap += self.move_towards(items, user, &scores, &cut);
                self.cuts[user].push(cut);
            }
            if control.is_canceled() {
                break;
            }
        }
        gap
    }

    /// One step for each user towards the highest of its known planes.
    fn cheap_pass(&mut self, items: &mut [f64]) {
        for user in 0..self.problem.losses.len() {
            let scores = self.scores(user, items);
            let cuts = std::mem::take(&mut self.cuts[user]);
            if let Some(cut) = cuts.highest(&scores) {
                self.move_towards(items, user, &scores, cut);
            }
            self.cuts[user] = cuts;
        }
    }

    fn scores(&self, user: usize, items: &[f64]) -> Vec<f64> {
        self.problem.user_scores(user, &self.users[user * self.rank..][..self.rank], items)
    }

    /// The plane that touches the loss of a user at V.
    fn touching(&self, user: usize, items: &[f64]) -> Cut {
        let scores = self.scores(user, items);
        let mut slopes = vec![0.0; scores.len()];
        let loss = self.problem.losses[user].as_ref();
        let value = loss.map_or(0.0, |loss| loss.value_and_subgradient(&scores, &mut slopes));
        Cut { offset: value - dot(&slopes, &scores), slopes }
    }

    /// Moves towards a plane of a user with these scores at V. Returns the gap before.
    fn move_towards(&mut self, items: &mut [f64], user: usize, scores: &[f64], cut: &Cut) -> f64 {
        // 1. The gap between the new plane and the old one.
        let row = &self.users[user * self.rank..][..self.rank];
        let range = self.problem.ratings.of_user(user);
        let slopes = &mut self.planes.slopes[range.clone()];
        let direction = difference(&cut.slopes, slopes);
        let rise = cut.offset - self.planes.offsets[user];
        let gap = dot(&direction, scores) + rise;
        if gap <= 0.0 {
            return 0.0;
        }
        // 2. The step to the largest minimum, for the plane and for V.
        let square = dot(&direction, &direction) * dot(row, row);
        let t = if square > 0.0 { (self.step.lambda * gap / square).min(1.0) } else { 1.0 };
        axpy(t, &direction, slopes);
        self.planes.offsets[user] += t * rise;
        for (&item, slope) in self.problem.ratings.items[range].iter().zip(&direction) {
            axpy(-t * slope / self.step.lambda, row, &mut items[item as usize * self.rank..][..self.rank]);
        }
        gap
    }
}
