//! V for nonsmooth losses: cutting planes with a model for each user.
//!
//! ```text
//! min over V   P(V) = lambda / 2 |V|^2 + sum_u R_u(V u + b_u)
//! ```
//!
//! In the model of P the largest of the known planes g_uk.s + o_uk of user u takes the role of R_u. The dual of the model
//! has a weight a_uk for each plane, and the weights of a user sum to 1:
//!
//! ```text
//! max over a   D(a) = sum_u sum_k a_uk (g_uk.b_u + o_uk) - lambda / 2 |V(a)|^2,   V(a) = -(1/lambda) sum_u sum_k a_uk g_uk u'
//! ```
//!
//! D(a) is a lower bound of min P for all weights. The least P found minus the largest D found is the certified gap.
//!
//! A pass finds the planes that touch the losses of all users, in parallel, between the best V and V(a). Then sweeps
//! improve the weights of one user after the other until the dual is close to its maximum. Finding planes takes most of
//! the time. Planes and weights are functions of scores and hold for every U, so the next half step starts with them.
//!
//! Teo, Vishwanathan, Smola & Le (2010) have one model of the whole risk, and Joachims, Finley & Yu (2009) one for each
//! example; the point between them is from Franc & Sonnenburg (2009).

use super::cuts::Cuts;
use super::factorization::Factorization;
use super::user_loss::HalfStep;
use crate::base::{Control, parallel};
use crate::math::{axpy, dot};

/// Position of the next planes between the best V and V(a).
const STEP: f64 = 0.4;
/// Largest number of sweeps per pass.
const MOST_SWEEPS: usize = 5;
/// Sweeps end when the dual is this close to its maximum, relative to the gap.
const MODEL_ACCURACY: f64 = 0.5;

/// The search for V at fixed U.
pub(super) struct ItemSearch<'a, 'p> {
    pub(super) problem: &'a Factorization<'p>,
    /// Planes and weights of each user.
    pub(super) cuts: &'a mut [Cuts],
    /// U.
    pub(super) users: &'a [f64],
    pub(super) rank: usize,
    pub(super) step: HalfStep,
}

/// The best V.
pub(super) struct BestItems {
    pub(super) items: Vec<f64>,
    /// P(V) - min P is at most this fraction of P(V).
    pub(super) relative_gap: f64,
}

impl ItemSearch<'_, '_> {
    /// The best V, not above `start`.
    pub(super) fn run(&mut self, start: &[f64], control: &Control) -> BestItems {
        // V(a) for the weights of the last half step.
        let (mut dual, mut bound) = self.restart();
        let mut best = start.to_vec();
        let mut least = f64::INFINITY;
        let mut point = best.clone();
        for _ in 0..self.step.most {
            // 2. P and new planes.
            let value = self.cut_at(&point) + self.penalty(&point);
            if value < least {
                (least, best) = (value, point);
            }
            // 3. New weights and the gap.
            let enough = self.step.tolerance * least;
            bound = self.sweep(&mut dual, bound, least, enough).max(bound);
            if least - bound <= enough || control.is_canceled() {
                break;
            }
            // 4. The next point.
            point = best.iter().zip(&dual).map(|(best, dual)| best + STEP * (dual - best)).collect();
        }
        let relative_gap = match least {
            0.0 => 0.0,
            _ if least.is_finite() => ((least - bound) / least).max(0.0),
            _ => 1.0,
        };
        BestItems { items: best, relative_gap }
    }

    fn penalty(&self, items: &[f64]) -> f64 {
        0.5 * self.step.lambda * dot(items, items)
    }

    /// V(a) and D(a).
    fn restart(&mut self) -> (Vec<f64>, f64) {
        let ratings = self.problem.ratings;
        let length = |user: usize| ratings.of_user(user).len();
        parallel::each_of(self.cuts.iter_mut().collect(), |user, cuts: &mut Cuts| cuts.start(length(user)));
        let means = parallel::map(self.cuts.len(), |user| self.cuts[user].mean(length(user)));
        let offsets: f64 = means.iter().map(|mean| mean.offset).sum();
        let slopes: Vec<f64> = means.into_iter().flat_map(|mean| mean.slopes).collect();
        let mut dual = self.problem.to_items(&slopes, self.users, self.rank);
        dual.iter_mut().for_each(|value| *value /= -self.step.lambda);
        let bound = offsets + dot(&slopes, &self.problem.offsets) - self.penalty(&dual);
        (dual, bound)
    }

    /// Adds the planes that touch the losses at V, and returns the sum of the losses there.
    fn cut_at(&mut self, items: &[f64]) -> f64 {
        let (problem, users, rank) = (self.problem, self.users, self.rank);
        let touch = |user: usize, cuts: &mut Cuts| {
            let Some(loss) = &problem.losses[user] else { return 0.0 };
            cuts.cut_at(loss, &problem.user_scores(user, &users[user * rank..][..rank], items))
        };
        parallel::map_of(self.cuts.iter_mut().collect(), touch).iter().sum()
    }

    /// Improves the weights of all users and V(a), and returns D(a).
    fn sweep(&mut self, dual: &mut Vec<f64>, bound: f64, least: f64, enough: f64) -> f64 {
        let accuracy = MODEL_ACCURACY * (least - bound).max(enough);
        for _ in 0..MOST_SWEEPS {
            let gap: f64 = (0..self.cuts.len()).map(|user| self.balance(user, dual)).sum();
            if gap <= accuracy {
                break;
            }
        }
        self.cuts.iter_mut().for_each(Cuts::drop_idle);
        // Without the rounding errors of the sweeps.
        let (exact, bound) = self.restart();
        *dual = exact;
        bound
    }

    /// Maximizes the dual over the weights of one user. Returns how far its highest plane was above the mean.
    fn balance(&mut self, user: usize, dual: &mut [f64]) -> f64 {
        if self.problem.losses[user].is_none() {
            return 0.0;
        }
        let row = &self.users[user * self.rank..][..self.rank];
        let scores = self.problem.user_scores(user, row, dual);
        let (change, gap) = self.cuts[user].balance(&scores, dot(row, row) / self.step.lambda);
        let rated = &self.problem.ratings.items[self.problem.ratings.of_user(user)];
        for (&item, slope) in rated.iter().zip(&change) {
            axpy(-slope / self.step.lambda, row, &mut dual[item as usize * self.rank..][..self.rank]);
        }
        gap
    }
}
