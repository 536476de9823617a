//! What both half steps minimize: a convex risk of one user's row, and of the rows of all items.

use rayon::prelude::*;

use super::minimize::Risk;
use super::{Factorization, UserLoss, add, split};
use crate::math::dense::dot;

/// w l(V_u u + b) as a function of u.
pub(super) struct OfUser<'a> {
    pub(super) loss: &'a UserLoss,
    /// V_u (N * rank).
    pub(super) rows: &'a [f64],
    /// b (N).
    pub(super) offsets: &'a [f64],
    pub(super) rank: usize,
}

impl OfUser<'_> {
    fn products(&self, u: &[f64]) -> Vec<f64> {
        self.rows.chunks(self.rank).map(|row| dot(row, u)).collect()
    }
}

impl Risk for OfUser<'_> {
    fn value_and_slopes(&self, scores: &[f64], slopes: &mut [f64]) -> f64 {
        self.loss.value_and_subgradient(scores, slopes)
    }

    fn back(&self, slopes: &[f64], out: &mut [f64]) {
        out.fill(0.0);
        self.rows.chunks(self.rank).zip(slopes).for_each(|(row, slope)| add(out, *slope, row));
    }

    fn scores(&self, point: &[f64]) -> Vec<f64> {
        let mut scores = self.products(point);
        scores.iter_mut().zip(self.offsets).for_each(|(score, offset)| *score += offset);
        scores
    }

    fn hessian_times(&self, scores: &[f64], direction: &[f64], product: &mut [f64]) {
        let along = self.products(direction);
        let mut slopes = vec![0.0; along.len()];
        self.loss.hessian_times(scores, &along, &mut slopes);
        self.back(&slopes, product);
    }
}

/// sum_u w_u l_u(V_u u + b_u) as a function of V.
pub(super) struct OfItems<'a, 'p> {
    pub(super) problem: &'a Factorization<'p>,
    pub(super) users: &'a [f64],
    pub(super) rank: usize,
}

impl Risk for OfItems<'_, '_> {
    fn value_and_slopes(&self, scores: &[f64], slopes: &mut [f64]) -> f64 {
        self.problem.slopes(scores, slopes)
    }

    fn back(&self, slopes: &[f64], out: &mut [f64]) {
        out.copy_from_slice(&self.problem.to_items(slopes, self.users, self.rank));
    }

    fn scores(&self, point: &[f64]) -> Vec<f64> {
        self.problem.scores(self.users, point, self.rank)
    }

    fn hessian_times(&self, scores: &[f64], direction: &[f64], product: &mut [f64]) {
        let along = self.problem.products(self.users, direction, self.rank);
        let mut slopes = vec![0.0; along.len()];
        split(&mut slopes, &self.problem.ratings.offsets).into_par_iter().enumerate().for_each(
            |(user, slopes)| {
                let range = self.problem.ratings.of_user(user);
                if let Some(loss) = &self.problem.losses[user] {
                    loss.hessian_times(&scores[range.clone()], &along[range], slopes);
                }
            },
        );
        product.copy_from_slice(&self.problem.to_items(&slopes, self.users, self.rank));
    }
}
