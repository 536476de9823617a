//! Cutting planes of a user, for losses with corners (Teo et al. 2010).
//!
//! A plane below the loss as a function of scores stays below it whatever the factors are. So the planes of a user are
//! kept for all half steps.

use std::collections::VecDeque;

use super::risk::OfUser;
use super::{HalfStep, UserLoss};
use crate::math::dense::dot;
use crate::math::order::sort_indices;
use crate::optim::Objective;
use crate::optim::cutting_planes::Planes;
use crate::optim::vector::axpy;

/// Accuracy of the minimum of the model, relative to the requested gap.
const MODEL_ACCURACY: f64 = 0.1;
/// A plane without weight is dropped after this many half steps or passes.
const MOST_IDLE: u32 = 10;
/// Weights are balanced when planes with weight are this close to the highest one, relative to the gap before.
const ENOUGH: f64 = 0.5;
/// Smaller weights are rounding errors.
const NO_WEIGHT: f64 = 1e-15;

/// Number of last values that are kept: a half step starts where one of the values of the half step before was.
const KEPT_VALUES: usize = 6;

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
struct Touch {
    scores: Vec<f64>,
    value: f64,
    slopes: Vec<f64>,
}

/// Planes below the loss of a user. For the fit of V they have weights, which are 0 or more and sum to 1.
#[derive(Debug, Clone)]
pub(super) struct Cuts {
    planes: Vec<Cut>,
    weights: Vec<f64>,
    /// Rounds without weight.
    idle: Vec<u32>,
    /// Products of the slopes.
    gram: Vec<Vec<f64>>,
    /// Most planes.
    most: usize,
    /// The last values of the loss.
    touches: VecDeque<Touch>,
}

impl Cuts {
    /// No planes, and space for `most` of them, 2 or more.
    pub(super) fn new(most: usize) -> Self {
        let (planes, weights, idle, gram) = Default::default();
        Self { planes, weights, idle, gram, most, touches: VecDeque::new() }
    }

    /// The value of the loss at these scores if it is among the last ones.
    pub(super) fn known(&self, scores: &[f64]) -> Option<f64> {
        self.touches.iter().find(|touch| touch.scores == scores).map(|touch| touch.value)
    }

    /// Adds the plane that touches the loss at these scores, and returns the value there. It is computed unless it is among
    /// the last ones.
    pub(super) fn cut_at(&mut self, loss: &UserLoss, scores: &[f64]) -> f64 {
        let known = self.touches.iter().find(|touch| touch.scores == scores).cloned();
        let Touch { value, slopes, .. } = known.unwrap_or_else(|| self.compute(loss, scores));
        if value.is_finite() {
            self.push(Cut { offset: value - dot(&slopes, scores), slopes });
        }
        value
    }

    /// Computes the loss at these scores, and keeps the result in place of the oldest one.
    fn compute(&mut self, loss: &UserLoss, scores: &[f64]) -> Touch {
        let mut slopes = vec![0.0; scores.len()];
        let value = loss.value_and_subgradient(scores, &mut slopes);
        if self.touches.len() == KEPT_VALUES {
            self.touches.pop_front();
        }
        let touch = Touch { scores: scores.to_vec(), value, slopes };
        self.touches.push_back(touch.clone());
        touch
    }

    /// Adds a plane without weight. If there are too many, another one is dropped.
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
        // 2. Their mean is a plane below the loss, too.
        let sum = self.weights[light] + self.weights[other];
        let (part, rest) = (self.weights[light] / sum, self.weights[other] / sum);
        let Cut { slopes, offset } = self.planes[light].clone();
        let merged = &mut self.planes[other];
        merged.slopes.iter_mut().for_each(|slope| *slope *= rest);
        axpy(part, &slopes, &mut merged.slopes);
        merged.offset = rest * merged.offset + part * offset;
        self.weights[other] = sum;
        // 3. Its products.
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

    /// The mean of the planes with their weights.
    pub(super) fn mean(&self, ratings: usize) -> Cut {
        let mut mean = Cut { slopes: vec![0.0; ratings], offset: 0.0 };
        for (cut, weight) in self.planes.iter().zip(&self.weights).filter(|(_, weight)| **weight > 0.0) {
            axpy(*weight, &cut.slopes, &mut mean.slopes);
            mean.offset += weight * cut.offset;
        }
        mean
    }

    /// Moves the weights to the maximum of their part of the dual:
    ///
    /// ```text
    /// max over changes d of the weights   d.h - curvature / 2 |sum_k d_k g_k|^2,     h heights of the planes at these scores
    /// ```
    ///
    /// A step moves weight from the lowest plane that has some to the highest one (Platt 1998). Returns the change of the
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
        cuts.planes.last().into_iter().for_each(|cut| add(&mut planes, cut));
        let allowed = step.tolerance * least;
        let model = planes.minimum(objective.lambda, MODEL_ACCURACY * allowed);
        if least - model.bound <= allowed {
            break;
        }
        w = model.u;
    }
    best
}
