//! V for losses with corners: block-coordinate Frank-Wolfe (Lacoste-Julien, Jaggi, Schmidt & Pletscher 2013).
//!
//! ```text
//! min over V   lambda / 2 |V|^2 + sum_u R_u(V u + b_u)
//! ```
//!
//! Of every user one plane g.s + o below R_u is kept, a mean of planes that touch R_u somewhere; V = -(1/lambda) sum_u
//! g_u u' is the minimum with these planes in the place of the losses. A step takes one user, finds the plane that
//! touches R_u at V, and goes towards it as far as the minimum rises:
//!
//! ```text
//! t = min(1, lambda gap / |(g' - g) u'|^2),   gap = (g' - g).s + o' - o
//! ```
//!
//! The gaps of a pass add up to about the distance from the optimum. Planes are functions of scores and hold whatever U
//! is, so the next half step begins with them. The planes of a batch are found in parallel at the V before it; they are
//! planes all the same. Finding them is the dear part, so between two passes that find some there are passes over those
//! that were found before (Shah, Kolmogorov & Lampert 2015).

use rayon::prelude::*;

use super::cuts::{Cut, Cuts};
use super::{Factorization, HalfStep};
use crate::control::Control;
use crate::math::dense::dot;
use crate::optim::vector::{axpy, difference};

/// Users whose planes are found at once.
const BATCH: usize = 32;
/// Passes that find planes.
const PASSES: usize = 10;
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
    /// 0 for every user.
    pub(super) fn new(users: usize, ratings: usize) -> Self {
        Self { slopes: vec![0.0; ratings], offsets: vec![0.0; users] }
    }

    /// Their sum at V = 0.
    fn at_zero(&self, problem: &Factorization<'_>) -> f64 {
        self.offsets.iter().sum::<f64>() + dot(&self.slopes, &problem.offsets)
    }
}

/// V on its way to the optimum for rows U.
pub(super) struct Search<'a, 'p> {
    pub(super) problem: &'a Factorization<'p>,
    pub(super) planes: &'a mut Planes,
    /// Known planes of each user.
    pub(super) cuts: &'a mut [Cuts],
    /// U.
    pub(super) users: &'a [f64],
    pub(super) rank: usize,
    pub(super) lambda: f64,
}

impl Search<'_, '_> {
    /// V with a gap of about `step.tolerance`, or after so many passes; a batch is the last after `canceled`.
    pub(super) fn run(&mut self, step: HalfStep, control: &Control) -> Vec<f64> {
        let mut items = self.problem.to_items(&self.planes.slopes, self.users, self.rank);
        items.iter_mut().for_each(|value| *value /= -self.lambda);
        for _ in 0..PASSES.min(step.most) {
            let gap = self.pass(&mut items, control);
            let bound = self.planes.at_zero(self.problem) - 0.5 * self.lambda * dot(&items, &items);
            if gap <= step.tolerance * bound || control.is_canceled() {
                break;
            }
            for _ in 0..CHEAP_PASSES {
                self.cheap_pass(&mut items);
            }
        }
        items
    }

    /// One step for each user towards a plane that touches its loss; answers with the sum of gaps.
    fn pass(&mut self, items: &mut [f64], control: &Control) -> f64 {
        let numbers: Vec<usize> = (0..self.problem.losses.len()).collect();
        let mut gap = 0.0;
        for batch in numbers.chunks(BATCH) {
            let here = &*self;
            let found: Vec<Cut> = batch.par_iter().map(|&user| here.touching(user, items)).collect();
            for (&user, cut) in batch.iter().zip(found) {
                let scores = self.scores(user, items);
                gap += self.go(items, user, &scores, &cut);
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
                self.go(items, user, &scores, cut);
            }
            self.cuts[user] = cuts;
        }
    }

    fn scores(&self, user: usize, items: &[f64]) -> Vec<f64> {
        self.problem.scores_of(user, &self.users[user * self.rank..][..self.rank], items)
    }

    /// The plane that touches the loss of a user at V.
    fn touching(&self, user: usize, items: &[f64]) -> Cut {
        let scores = self.scores(user, items);
        let mut slopes = vec![0.0; scores.len()];
        let loss = self.problem.losses[user].as_ref();
        let value = loss.map_or(0.0, |loss| loss.value_and_subgradient(&scores, &mut slopes));
        Cut { offset: value - dot(&slopes, &scores), slopes }
    }

    /// Goes towards a plane of a user, whose scores at V these are; answers with the gap there was.
    fn go(&mut self, items: &mut [f64], user: usize, scores: &[f64], cut: &Cut) -> f64 {
        let row = &self.users[user * self.rank..][..self.rank];
        let range = self.problem.ratings.of_user(user);
        let slopes = &mut self.planes.slopes[range.clone()];
        let direction = difference(&cut.slopes, slopes);
        let rise = cut.offset - self.planes.offsets[user];
        let gap = dot(&direction, scores) + rise;
        if gap <= 0.0 {
            return 0.0;
        }
        let square = dot(&direction, &direction) * dot(row, row);
        let t = if square > 0.0 { (self.lambda * gap / square).min(1.0) } else { 1.0 };
        axpy(t, &direction, slopes);
        self.planes.offsets[user] += t * rise;
        for (&item, slope) in self.problem.ratings.items[range].iter().zip(&direction) {
            axpy(-t * slope / self.lambda, row, &mut items[item as usize * self.rank..][..self.rank]);
        }
        gap
    }
}
