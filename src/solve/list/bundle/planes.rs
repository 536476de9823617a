//! Planes below the risk, and the minimum of their maximum with the penalty.
//!
//! ```text
//! max D(a) = o.a - a'Qa / (4 lambda),   Q = G G',   over a >= 0, sum a = 1
//! ```
//!
//! by an active set: on the planes F with a > 0 the solution has Q a + k 1 1'a = 2 lambda o - eta 1 (the term with k
//! is constant on the simplex and makes the matrix definite). A plane whose a would be negative leaves F; where none
//! would, the plane that is highest above the maximum at u enters it. A plane that depends on those of F takes the
//! place of one of them. The factor of the matrix does not contain lambda and follows F row by row.

use super::factor::Factor;
use crate::math::dense::dot;

/// Rounds without weight after which a plane is dropped.
const IDLE: u32 = 50;
/// Planes that left F since the factor was made anew.
const STALE: usize = 100;

/// The planes g.u + o; the first one is 0.
#[derive(Debug)]
pub(in crate::solve) struct Planes {
    normals: Vec<Vec<f64>>,
    offsets: Vec<f64>,
    weights: Vec<f64>,
    idle: Vec<u32>,
    /// Q.
    gram: Vec<Vec<f64>>,
    /// F, in the order of the factor's rows.
    active: Vec<usize>,
    factor: Factor,
    /// k, of the size of the entries of Q.
    shift: f64,
    removed: usize,
}

/// The minimum of the model.
#[derive(Debug)]
pub(in crate::solve) struct Model {
    /// Where it is, less w0.
    pub(in crate::solve) u: Vec<f64>,
    /// No smaller than D, a lower bound of min P.
    pub(in crate::solve) bound: f64,
}

impl Planes {
    pub(in crate::solve) fn new(dim: usize) -> Self {
        Self {
            normals: vec![vec![0.0; dim]],
            offsets: vec![0.0],
            weights: vec![1.0],
            idle: vec![0],
            gram: vec![vec![0.0]],
            active: vec![0],
            factor: Factor::default(),
            shift: 0.0,
            removed: 0,
        }
    }

    /// Adds a plane.
    pub(in crate::solve) fn add(&mut self, normal: Vec<f64>, offset: f64) {
        let mut row: Vec<f64> = self.normals.iter().map(|other| dot(other, &normal)).collect();
        self.gram.iter_mut().zip(&row).for_each(|(gram, product)| gram.push(*product));
        row.push(dot(&normal, &normal));
        self.gram.push(row);
        self.normals.push(normal);
        self.offsets.push(offset);
        self.weights.push(0.0);
        self.idle.push(0);
    }

    /// The minimum of the model to this accuracy, absolute.
    pub(in crate::solve) fn minimum(&mut self, lambda: f64, accuracy: f64) -> Model {
        self.renew();
        for _ in 0..50 + 10 * self.offsets.len() {
            if !self.solve_on_active(lambda) {
                continue;
            }
            let heights = self.heights(lambda);
            let mean = dot(&heights, &self.weights);
            let highest =
                (0..heights.len()).fold(0, |best, i| if heights[i] > heights[best] { i } else { best });
            if heights[highest] - mean <= 2.0 * lambda * accuracy || self.active.contains(&highest) {
                break;
            }
            self.enter(highest);
        }
        let model = self.model(lambda);
        self.age();
        model
    }

    /// 2 lambda times the heights of the planes at u: 2 lambda o - Q a.
    fn heights(&self, lambda: f64) -> Vec<f64> {
        let height = |(row, offset): (&Vec<f64>, &f64)| {
            let pull: f64 = self.active.iter().map(|&i| row[i] * self.weights[i]).sum();
            2.0 * lambda * offset - pull
        };
        self.gram.iter().zip(&self.offsets).map(height).collect()
    }

    /// Goes to the solution on F; false where a plane had to leave F before.
    fn solve_on_active(&mut self, lambda: f64) -> bool {
        let mut by_offset: Vec<f64> = self.active.iter().map(|&i| 2.0 * lambda * self.offsets[i]).collect();
        let mut by_one = vec![1.0; self.active.len()];
        self.factor.solve(&mut by_offset);
        self.factor.solve(&mut by_one);
        let eta = (by_offset.iter().sum::<f64>() - 1.0) / by_one.iter().sum::<f64>();
        let step: Vec<f64> = self
            .active
            .iter()
            .zip(by_offset.iter().zip(&by_one))
            .map(|(&i, (offset, one))| offset - eta * one - self.weights[i])
            .collect();
        self.go(&step, 1.0)
    }

    /// Adds `step` to the weights of F, or as much of it as keeps them positive, at most `most` times; planes without
    /// weight leave F. True where nothing stood in the way.
    fn go(&mut self, step: &[f64], most: f64) -> bool {
        let mut t = most;
        let mut first = None;
        for (place, (&i, step)) in self.active.iter().zip(step).enumerate() {
            if self.weights[i] + t * step < 0.0 {
                (t, first) = (self.weights[i] / -step, Some(place));
            }
        }
        for (&i, step) in self.active.iter().zip(step) {
            self.weights[i] = (self.weights[i] + t * step).max(0.0);
        }
        let Some(first) = first else { return true };
        self.weights[self.active[first]] = 0.0;
        for place in (0..self.active.len()).rev() {
            if self.weights[self.active[place]] == 0.0 {
                self.active.remove(place);
                self.factor.remove(place);
                self.removed += 1;
            }
        }
        false
    }

    /// Brings a plane into F.
    fn enter(&mut self, new: usize) {
        let mut given = 0.0;
        while !self.factor.push(self.row(new)) {
            // Weight moves to the plane from those of F that make it up, until one of them has none left.
            let mut step = self.row(new);
            step.pop();
            self.factor.solve(&mut step);
            step.iter_mut().for_each(|share| *share = -*share);
            let before: f64 = self.active.iter().map(|&i| self.weights[i]).sum();
            let blocked = !self.go(&step, 1.0 - given);
            given += before - self.active.iter().map(|&i| self.weights[i]).sum::<f64>();
            if !blocked {
                self.clear();
            }
        }
        self.weights[new] = given;
        self.active.push(new);
        self.normalize();
    }

    /// The row of the matrix that `new` adds to those of F.
    fn row(&self, new: usize) -> Vec<f64> {
        self.active.iter().chain([&new]).map(|&i| self.gram[new][i] + self.shift).collect()
    }

    fn clear(&mut self) {
        for i in self.active.drain(..) {
            self.weights[i] = 0.0;
        }
        self.factor = Factor::default();
    }

    fn normalize(&mut self) {
        let sum: f64 = self.active.iter().map(|&i| self.weights[i]).sum();
        if sum > 0.0 {
            self.active.iter().for_each(|&i| self.weights[i] /= sum);
        } else if let Some(&last) = self.active.last() {
            self.weights[last] = 1.0;
        }
    }

    /// Makes the factor anew where it is missing or has lost many rows.
    fn renew(&mut self) {
        if self.factor.len() > 0 && self.removed < STALE {
            return;
        }
        let largest = (0..self.gram.len()).map(|i| self.gram[i][i]).fold(0.0, f64::max);
        self.shift = if largest > 0.0 { largest } else { 1.0 };
        self.removed = 0;
        self.factor = Factor::default();
        for i in std::mem::take(&mut self.active) {
            if self.factor.push(self.row(i)) {
                self.active.push(i);
            } else {
                self.weights[i] = 0.0;
            }
        }
        self.normalize();
    }

    fn model(&self, lambda: f64) -> Model {
        let mut u = vec![0.0; self.normals[0].len()];
        let mut bound = 0.0;
        for &i in &self.active {
            let weight = self.weights[i];
            u.iter_mut().zip(&self.normals[i]).for_each(|(u, g)| *u -= weight / (2.0 * lambda) * g);
            bound += weight * self.offsets[i];
        }
        bound -= lambda * dot(&u, &u);
        Model { u, bound }
    }

    /// Drops planes that have had no weight for long.
    fn age(&mut self) {
        for (i, idle) in self.idle.iter_mut().enumerate() {
            *idle = if self.weights[i] > 0.0 { 0 } else { *idle + 1 };
        }
        let keep: Vec<bool> = (0..self.idle.len()).map(|i| i == 0 || self.idle[i] <= IDLE).collect();
        if keep.iter().all(|keep| *keep) {
            return;
        }
        let mut places = Vec::with_capacity(keep.len());
        let mut kept = 0;
        for keep in &keep {
            places.push(kept);
            kept += usize::from(*keep);
        }
        self.active.iter_mut().for_each(|i| *i = places[*i]);
        retain(&mut self.normals, &keep);
        retain(&mut self.offsets, &keep);
        retain(&mut self.weights, &keep);
        retain(&mut self.idle, &keep);
        retain(&mut self.gram, &keep);
        self.gram.iter_mut().for_each(|row| retain(row, &keep));
    }
}

fn retain<T>(values: &mut Vec<T>, keep: &[bool]) {
    let mut keep = keep.iter();
    values.retain(|_| keep.next().copied().unwrap_or(true));
}
