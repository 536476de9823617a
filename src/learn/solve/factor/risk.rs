//! The risks that the half steps minimize: of the row of a user, and of the rows of all items.

use super::{Factorization, UserLoss};
use crate::base::parallel;
use crate::math::dense::dot;
use crate::math::optim::Objective;
use crate::math::optim::vector::axpy;

/// w l(V_u u + b_u) as a function of u.
pub(super) struct OfUser<'a> {
    pub(super) loss: &'a UserLoss,
    /// V_u (N * rank).
    pub(super) rows: &'a [f64],
    /// b_u (N).
    pub(super) offsets: &'a [f64],
    pub(super) rank: usize,
}

impl Objective for OfUser<'_> {
    fn dim(&self) -> usize {
        self.rank
    }

    fn image(&self, u: &[f64]) -> Vec<f64> {
        let mut scores = self.linear_image(u);
        axpy(1.0, self.offsets, &mut scores);
        scores
    }

    fn linear_image(&self, u: &[f64]) -> Vec<f64> {
        self.rows.chunks(self.rank).map(|row| dot(row, u)).collect()
    }

    fn transposed(&self, slopes: &[f64]) -> Vec<f64> {
        let mut sum = vec![0.0; self.rank];
        self.rows.chunks(self.rank).zip(slopes).for_each(|(row, slope)| axpy(*slope, row, &mut sum));
        sum
    }

    fn value_at(&self, scores: &[f64], slopes: &mut [f64]) -> f64 {
        self.loss.value_and_subgradient(scores, slopes)
    }

    fn hessian_times(&self, scores: &[f64], v: &[f64]) -> Vec<f64> {
        let direction = self.linear_image(v);
        let mut product = vec![0.0; direction.len()];
        self.loss.hessian_times(scores, &direction, &mut product);
        self.transposed(&product)
    }
}

/// sum_u w_u l_u(V_u u + b_u) as a function of V.
pub(super) struct OfItems<'a, 'p> {
    pub(super) problem: &'a Factorization<'p>,
    /// U
    pub(super) users: &'a [f64],
    pub(super) rank: usize,
}

impl Objective for OfItems<'_, '_> {
    fn dim(&self) -> usize {
        self.problem.ratings.n_items * self.rank
    }

    fn image(&self, items: &[f64]) -> Vec<f64> {
        self.problem.scores(self.users, items, self.rank)
    }

    fn linear_image(&self, items: &[f64]) -> Vec<f64> {
        self.problem.products(self.users, items, self.rank)
    }

    fn transposed(&self, slopes: &[f64]) -> Vec<f64> {
        self.problem.to_items(slopes, self.users, self.rank)
    }

    fn value_at(&self, scores: &[f64], slopes: &mut [f64]) -> f64 {
        self.problem.value_at(scores, slopes)
    }

    fn hessian_times(&self, scores: &[f64], v: &[f64]) -> Vec<f64> {
        let direction = self.linear_image(v);
        let mut product = vec![0.0; direction.len()];
        parallel::each_of(self.problem.by_user(&mut product), |user, product| {
            let range = self.problem.ratings.of_user(user);
            if let Some(loss) = &self.problem.losses[user] {
                loss.hessian_times(&scores[range.clone()], &direction[range], product);
            }
        });
        self.transposed(&product)
    }
}
