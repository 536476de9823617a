//! Half steps of a factorization: U for fixed V, user by user, and V for fixed U.

use super::bundle::{BestItems, ItemSearch};
use super::cuts::{Cuts, OfUser, minimize};
use super::factorization::{Factorization, gather};
use super::factors::Factors;
use super::user_loss::{HalfStep, MOST_USER_PLANES, UserLoss};
use crate::base::{Control, Result, parallel};
use crate::math::{Objective, newton_cg};

impl UserLoss {
    /// Fits u to the rows of the rated items (N rows) and their offsets (N), from `start`.
    pub fn fit_user(&self, rows: &[f64], offsets: &[f64], start: &[f64], step: HalfStep) -> Vec<f64> {
        let risk = OfUser { loss: self, rows, offsets, rank: start.len() };
        step.fit_user(&risk, start, &mut Cuts::new(MOST_USER_PLANES), &Control::default())
    }
}

impl HalfStep {
    fn fit_user(self, risk: &OfUser<'_>, start: &[f64], cuts: &mut Cuts, control: &Control) -> Vec<f64> {
        if risk.loss.smooth { self.newton(risk, start, control) } else { minimize(risk, start, self, cuts) }
    }

    fn newton(self, risk: &dyn Objective, start: &[f64], control: &Control) -> Vec<f64> {
        newton_cg::minimize_roughly(&self.ridge(risk), start.to_vec(), self.tolerance, self.most, control)
    }
}

impl Factorization<'_> {
    /// Fits U to V, users in parallel.
    ///
    /// # Errors
    /// An interrupt.
    pub fn fit_users(&mut self, factors: &mut Factors, step: HalfStep, control: &Control) -> Result<()> {
        let Factors { rank, users, items } = factors;
        let (rank, items) = (*rank, &*items);
        let most = if self.smooth { step.most } else { step.most.min(MOST_USER_PLANES) };
        let step = HalfStep { most, ..step };
        let mut all_cuts = std::mem::take(&mut self.cuts);
        let parts = users.chunks_mut(rank).zip(&mut all_cuts).collect();
        let fitted = parallel::map_of(parts, |user, (row, cuts): (&mut [f64], &mut Cuts)| {
            control.check()?;
            let range = self.ratings.of_user(user);
            let Some(loss) = &self.losses[user] else {
                row.fill(0.0);
                return Ok(());
            };
            let rows = gather(items, &self.ratings.items[range.clone()], rank);
            let risk = OfUser { loss, rows: &rows, offsets: &self.offsets[range], rank };
            row.copy_from_slice(&step.fit_user(&risk, row, cuts, control));
            Ok(())
        });
        self.cuts = all_cuts;
        fitted.into_iter().collect::<Result<()>>().and_then(|()| control.check())
    }

    /// Fits V to U. Returns the certified gap, relative to the objective without the penalty on U; `None` for smooth
    /// losses.
    ///
    /// # Errors
    /// An interrupt.
    pub fn fit_items(
        &mut self,
        factors: &mut Factors,
        step: HalfStep,
        control: &Control,
    ) -> Result<Option<f64>> {
        let Factors { rank, users, items } = factors;
        let rank = *rank;
        if self.smooth {
            let risk = OfItems { problem: self, users, rank };
            *items = step.newton(&risk, items, control);
            return control.check().map(|()| None);
        }
        let mut cuts = std::mem::take(&mut self.cuts);
        let mut search = ItemSearch { problem: self, cuts: &mut cuts, users, rank, step };
        let BestItems { items: found, relative_gap } = search.run(items, control);
        self.cuts = cuts;
        *items = found;
        control.check().map(|()| Some(relative_gap))
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
