//! Cutting planes of a user, for nonsmooth losses (Teo et al. 2010), and the risks that the half steps minimize.
//!
//! A plane below the loss as a function of scores stays below it whatever the factors are. So the planes of a user are
//! kept for all half steps. So are the last evaluations of the loss: a half step begins where an earlier one ended.

use std::collections::VecDeque;

use super::user_loss::{HalfStep, MOST_USER_PLANES, UserLoss};
use crate::math::{Objective, Planes, axpy, dot, sort_indices};

/// Accuracy of the model's minimum, relative to the requested gap.
const MODEL_ACCURACY: f64 = 0.1;
/// Number of half steps or passes without weight after which a plane is dropped.
const MOST_IDLE: u32 = 10;
/// Weights are balanced when planes with weight are this close to the highest one, relative to the gap before.
const ENOUGH: f64 = 0.5;
/// Smaller weights are rounding errors.
const NO_WEIGHT: f64 = 1e-15;

/// Evaluations of a user's loss that are kept. A half step starts at the best point of the one before, which is usually
/// among them: that half step adds at most this number of planes to a user.
pub const KEPT_EVALUATIONS: usize = MOST_USER_PLANES;

/// The plane slopes.s + offset.
#[derive(Debug, Clone)]
pub(super) struct Cut {
    pub(super) slopes: Vec<f64>,
    pub(super) offset: f64,
}

impl Cut {
    fn height(&self, scores: &[f64]) -> f64 {
        dot(&self.slopes, scores) + self.offset
    }
}

/// The value of a loss at some scores, with a subgradient.
#[derive(Debug, Clone)]
struct Evaluation {
    scores: Vec<f64>,
    value: f64,
    slopes: Vec<f64>,
}

/// Planes below the loss of a user. For the fit of V they have weights, which are 0 or more and sum to 1.
#[derive(Debug, Clone, Default)]
pub(super) struct Cuts {
    planes: Vec<Cut>,
    weights: Vec<f64>,
    /// Rounds without weight.
    idle: Vec<u32>,
    /// Products of the slopes.
    gram: Vec<Vec<f64>>,
    /// Largest number of planes.
    most: usize,
    /// The last ones used, the oldest first.
    last: VecDeque<Evaluation>,
}

impl Cuts {
    /// No planes, and space for `most` of them, 2 or more.
    pub(super) fn new(most: usize) -> Self {
        Self { most, ..Self::default() }
    }

    /// The value of the loss at these scores if the evaluation is kept.
    pub(super) fn known(&self, scores: &[f64]) -> Option<f64> {
        self.last.iter().find(|kept| kept.scores == scores).map(|kept| kept.value)
    }

    /// Adds the plane that touches the loss at these scores, and returns the value there.
    pub(super) fn cut_at(&mut self, loss: &UserLoss, scores: &[f64]) -> f64 {
        let evaluation = self.evaluation(loss, scores);
        let (value, slopes) = (evaluation.value, evaluation.slopes.clone());
        if value.is_finite() {
            self.push(Cut { offset: value - dot(&slopes, scores), slopes });
        }
        value
    }

    /// The loss at these scores: an evaluation that is kept, or a new one instead of the oldest.
    fn evaluation(&mut self, loss: &UserLoss, scores: &[f64]) -> &Evaluation {
        let known = self.last.iter().position(|kept| kept.scores == scores);
        let evaluation = known.and_then(|index| self.last.remove(index)).unwrap_or_else(|| {
            let mut slopes = vec![0.0; scores.len()];
            let value = loss.value_and_subgradient(scores, &mut slopes);
            Evaluation { scores: scores.to_vec(), value, slopes }
        });
        if self.last.len() == KEPT_EVALUATIONS {
            self.last.pop_front();
        }
        self.last.push_back(evaluation);
        &self.last[self.last.len() - 1]
    }

    /// Adds a plane without weight. If there are too many, another is dropped.
    pub(super) fn push(&mut self, cut: Cut) {
        if self.planes.len() >= self.most {
            self.drop_one();
        }
        let mut row: Vec<f64> = self.planes.iter().map(|other| dot(&other.slopes, &cut.slopes)).collect();
        self.gram.iter_mut().zip(&row).for_each(|(gram, product)| gram.push(*product));
        row.push(dot(&cut.slopes, &cut.slopes));
        self.gram.push(row);
        self.planes.push(cut);
        self.weights.push(0.0);
        self.idle.push(0);
    }

    /// Gives all weight to the plane 0 if no plane has weight. `ratings`: their number.
    pub(super) fn start(&mut self, ratings: usize) {
        if self.weights.iter().all(|weight| *weight == 0.0) {
            self.push(Cut { slopes: vec![0.0; ratings], offset: 0.0 });
            self.weights.last_mut().into_iter().for_each(|weight| *weight = 1.0);
        }
    }

    /// Drops the plane that has had no weight for the longest time. If all have weight, the two lightest become one.
    fn drop_one(&mut self) {
        let without = (0..self.planes.len()).filter(|&i| self.weights[i] == 0.0);
        if let Some(oldest) = without.rev().max_by_key(|&i| self.idle[i]) {
            return self.remove(oldest);
        }
        // 1. The two lightest.
        let mut order: Vec<usize> = (0..self.planes.len()).collect();
        sort_indices(&mut order, &|i, j| self.weights[i].total_cmp(&self.weights[j]));
        let (light, other) = (order[0], order[1]);
        // 2. The mean of the two is also a plane below the loss.
        let sum = self.weights[light] + self.weights[other];
        let (part, rest) = (self.weights[light] / sum, self.weights[other] / sum);
        let Cut { slopes, offset } = self.planes[light].clone();
        let merged = &mut self.planes[other];
        merged.slopes.iter_mut().for_each(|slope| *slope *= rest);
        axpy(part, &slopes, &mut merged.slopes);
        merged.offset = rest * merged.offset + part * offset;
        self.weights[other] = sum;
        // 3. The products of the cut.
        for i in 0..self.planes.len() {
            let product = dot(&self.planes[i].slopes, &self.planes[other].slopes);
            (self.gram[i][other], self.gram[other][i]) = (product, product);
        }
        self.remove(light);
    }

    fn remove(&mut self, index: usize) {
        self.planes.remove(index);
        self.weights.remove(index);
        self.idle.remove(index);
        self.gram.remove(index);
        self.gram.iter_mut().for_each(|row| {
            row.remove(index);
        });
    }

    /// Drops planes that have had no weight for a long time.
    pub(super) fn drop_idle(&mut self) {
        for (idle, weight) in self.idle.iter_mut().zip(&self.weights) {
            *idle = if *weight > 0.0 { 0 } else { *idle + 1 };
        }
        for index in (0..self.planes.len()).rev() {
            if self.idle[index] > MOST_IDLE {
                self.remove(index);
            }
        }
    }

    /// The weighted mean of the planes.
    pub(super) fn mean(&self, ratings: usize) -> Cut {
        let mut mean = Cut { slopes: vec![0.0; ratings], offset: 0.0 };
        for (cut, weight) in self.planes.iter().zip(&self.weights).filter(|(_, weight)| **weight > 0.0) {
            axpy(*weight, &cut.slopes, &mut mean.slopes);
            mean.offset += weight * cut.offset;
        }
        mean
    }

    /// Moves the weights to the maximum of these planes' share of the dual:
    ///
    /// ```text
    /// max over changes d of the weights   d.h - curvature / 2 |sum_k d_k g_k|^2,     h heights of the planes at these scores
    /// ```
    ///
    /// A step moves weight from the lowest plane with weight to the highest plane (Platt 1998). Returns the change of the
    /// mean slopes, and how far the highest plane was above the mean.
    pub(super) fn balance(&mut self, scores: &[f64], curvature: f64) -> (Vec<f64>, f64) {
        let mut heights: Vec<f64> = self.planes.iter().map(|cut| cut.height(scores)).collect();
        let before = self.weights.clone();
        let highest = heights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let gap = (highest - dot(&heights, &before)).max(0.0);
        for _ in 0..self.planes.len() {
            let Some((to, from)) = self.extremes(&heights) else { break };
            if heights[to] - heights[from] <= ENOUGH * gap {
                break;
            }
            let [to_row, from_row] = [&self.gram[to], &self.gram[from]];
            let square = curvature * (to_row[to] + from_row[from] - 2.0 * to_row[from]);
            let most = self.weights[from];
            let step = if square > 0.0 { ((heights[to] - heights[from]) / square).min(most) } else { most };
            for (height, (to, from)) in heights.iter_mut().zip(to_row.iter().zip(from_row)) {
                *height -= step * curvature * (to - from);
            }
            self.weights[to] += step;
            self.weights[from] = if most - step > NO_WEIGHT { most - step } else { 0.0 };
        }
        let mut change = vec![0.0; scores.len()];
        for (cut, (new, old)) in self.planes.iter().zip(self.weights.iter().zip(before)) {
            if (new - old).abs() > 0.0 {
                axpy(new - old, &cut.slopes, &mut change);
            }
        }
        (change, gap)
    }

    /// The highest plane and the lowest one with weight.
    fn extremes(&self, heights: &[f64]) -> Option<(usize, usize)> {
        let (mut highest, mut lowest) = (0, None);
        for (i, (height, weight)) in heights.iter().zip(&self.weights).enumerate() {
            if *height > heights[highest] {
                highest = i;
            }
            if *weight > 0.0 && lowest.is_none_or(|lowest: usize| *height < heights[lowest]) {
                lowest = Some(i);
            }
        }
        lowest.map(|lowest| (highest, lowest))
    }
}

/// Minimizes lambda / 2 |u|^2 + the risk from `start` and returns the best u. `cuts` are used and extended. The problems are
/// small and solved roughly, so there is no line search.
pub(super) fn minimize(risk: &OfUser<'_>, start: &[f64], step: HalfStep, cuts: &mut Cuts) -> Vec<f64> {
    // 1. The model starts with the known planes.
    let objective = step.ridge(risk);
    let offsets = risk.image(&vec![0.0; start.len()]);
    let mut planes = Planes::new(start.len());
    let add = |planes: &mut Planes, cut: &Cut| {
        planes.add(risk.transposed(&cut.slopes), cut.height(&offsets));
    };
    cuts.planes.iter().for_each(|cut| add(&mut planes, cut));
    // 2. Each iteration adds the plane at the minimum of the model.
    let (mut best, mut least) = (start.to_vec(), f64::INFINITY);
    let mut w = start.to_vec();
    for _ in 0..step.most {
        let value = cuts.cut_at(risk.loss, &risk.image(&w));
        let objective_value = value + objective.penalty(&w);
        if objective_value < least {
            least = objective_value;
            best.copy_from_slice(&w);
        }
        if !value.is_finite() {
            break;
        }
        // The plane that was added.
        if let Some(cut) = cuts.planes.last() {
            add(&mut planes, cut);
        }
        let allowed = step.tolerance * least;
        let model = planes.minimum(objective.lambda, MODEL_ACCURACY * allowed);
        if least - model.bound <= allowed {
            break;
        }
        w = model.u;
    }
    best
}

// Risks that the half steps minimize: for a user's row, and for all item rows.

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

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::cost::loss::QueryLoss;

    /// The largest score, which counts how often it is computed.
    struct Counted(Arc<AtomicUsize>);

    impl QueryLoss for Counted {
        fn value_and_subgradient(&self, scores: &[f64], subgradient: &mut [f64]) -> f64 {
            self.0.fetch_add(1, Ordering::Relaxed);
            subgradient.fill(0.0);
            let largest = usize::from(scores[1] > scores[0]);
            subgradient[largest] = 1.0;
            scores[largest]
        }
    }

    #[test]
    fn a_loss_is_computed_once_at_the_last_scores() {
        let times = Arc::new(AtomicUsize::new(0));
        let loss = UserLoss { loss: Box::new(Counted(Arc::clone(&times))), weight: 2.0, smooth: false };
        let mut cuts = Cuts::new(100);
        for at in 0..KEPT_EVALUATIONS {
            let scores = [1.0, at as f64];
            assert_eq!(cuts.known(&scores), None);
            let value = cuts.cut_at(&loss, &scores);
            assert_eq!((cuts.known(&scores), cuts.cut_at(&loss, &scores)), (Some(value), value));
            assert!((value - 2.0 * scores[1].max(1.0)).abs() < 1e-12);
        }
        assert_eq!(
            (times.load(Ordering::Relaxed), cuts.planes.len()),
            (KEPT_EVALUATIONS, 2 * KEPT_EVALUATIONS)
        );
        // All planes touch the loss at their scores.
        assert!(cuts.planes.chunks(2).enumerate().all(|(at, same)| {
            let scores = [1.0, at as f64];
            same.iter().all(|cut| (cut.height(&scores) - 2.0 * scores[1].max(1.0)).abs() < 1e-12)
        }));
        // One more, and the oldest one is forgotten.
        cuts.cut_at(&loss, &[1.0, 100.0]);
        assert_eq!(cuts.known(&[1.0, 0.0]), None);
        assert!(cuts.known(&[1.0, 1.0]).is_some());
    }
}
