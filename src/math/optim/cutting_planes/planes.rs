//! Planes below the risk, and the minimum of their maximum with the penalty.
//!
//! ```text
//! max D(a) = o.a - a'Qa / (4 lambda),   Q = G G',   over a >= 0, sum a = 1
//! ```
//!
//! by an active set F, the planes with a > 0. On F the solution satisfies Q a + k 1 1'a = 2 lambda o - eta 1. The term
//! with k is constant on the simplex and makes the matrix definite. A plane leaves F if its a becomes negative. Otherwise
//! the plane highest above the model enters F. A plane that depends linearly on F replaces one of its planes. The factor
//! of the matrix does not contain lambda and follows F row by row.

use crate::math::{axpy, dot};

/// Number of rounds without weight after which a plane is dropped.
const MOST_IDLE_ROUNDS: u32 = 50;
/// Number of removals from F after which the factor is recomputed.
const MOST_REMOVALS: usize = 100;

/// The planes g.u + o. The first is 0.
pub struct Planes {
    normals: Vec<Vec<f64>>,
    offsets: Vec<f64>,
    weights: Vec<f64>,
    idle: Vec<u32>,
    /// Q
    gram: Vec<Vec<f64>>,
    /// F, in the order of the factor's rows.
    active: Vec<usize>,
    factor: Factor,
    /// k, the largest diagonal entry of Q.
    shift: f64,
    removals: usize,
}

/// The minimum of the model.
pub struct Model {
    /// w - w0 at the minimum.
    pub u: Vec<f64>,
    /// D, a lower bound of min P.
    pub bound: f64,
}

impl Planes {
    /// The plane 0 of `dim` variables.
    pub fn new(dim: usize) -> Self {
        Self {
            normals: vec![vec![0.0; dim]],
            offsets: vec![0.0],
            weights: vec![1.0],
            idle: vec![0],
            gram: vec![vec![0.0]],
            active: vec![0],
            factor: Factor::default(),
            shift: 0.0,
            removals: 0,
        }
    }

    pub fn add(&mut self, normal: Vec<f64>, offset: f64) {
        let mut row: Vec<f64> = self.normals.iter().map(|other| dot(other, &normal)).collect();
        self.gram.iter_mut().zip(&row).for_each(|(gram, product)| gram.push(*product));
        row.push(dot(&normal, &normal));
        self.gram.push(row);
        self.normals.push(normal);
        self.offsets.push(offset);
        self.weights.push(0.0);
        self.idle.push(0);
    }

    /// Adds linear.u + constant to all planes but the plane 0.
    pub fn add_linear(&mut self, linear: &[f64], constant: f64) {
        let products: Vec<f64> = self.normals.iter().map(|normal| dot(normal, linear)).collect();
        let square = dot(linear, linear);
        for i in 1..self.normals.len() {
            axpy(1.0, linear, &mut self.normals[i]);
            self.offsets[i] += constant;
            for j in 1..self.normals.len() {
                self.gram[i][j] += products[i] + products[j] + square;
            }
        }
        self.factor = Factor::default();
    }

    /// The minimum of the model to this absolute accuracy. Drops planes that had no weight for a while.
    pub fn minimum(&mut self, lambda: f64, accuracy: f64) -> Model {
        let model = self.at_ridge(lambda, accuracy);
        self.drop_idle();
        model
    }

    /// The minimum of the model to this absolute accuracy.
    pub(super) fn at_ridge(&mut self, lambda: f64, accuracy: f64) -> Model {
        self.refresh_factor();
        for _ in 0..50 + 10 * self.offsets.len() {
            // 1. Optimize the weights on F. If a plane left F, try again with the rest.
            if !self.optimize_active(lambda) {
                continue;
            }
            // 2. Stop if no plane is above the model at u by more than the accuracy.
            let heights = self.heights(lambda);
            let mean = dot(&heights, &self.weights);
            let highest =
                (0..heights.len()).fold(0, |best, i| if heights[i] > heights[best] { i } else { best });
            if heights[highest] - mean <= 2.0 * lambda * accuracy || self.active.contains(&highest) {
                break;
            }
            // 3. Otherwise the highest plane enters F.
            self.enter(highest);
        }
        self.model(lambda)
    }

    /// Heights of the planes at u, times 2 lambda: 2 lambda o - Q a.
    fn heights(&self, lambda: f64) -> Vec<f64> {
        let height = |(row, offset): (&Vec<f64>, &f64)| {
            let descent: f64 = self.active.iter().map(|&i| row[i] * self.weights[i]).sum();
            2.0 * lambda * offset - descent
        };
        self.gram.iter().zip(&self.offsets).map(height).collect()
    }

    /// Moves the weights to the solution on F. False if planes left F on the way.
    fn optimize_active(&mut self, lambda: f64) -> bool {
        // Solve for the right sides 2 lambda o and 1. eta follows from sum a = 1.
        let mut by_offset: Vec<f64> = self.active.iter().map(|&i| 2.0 * lambda * self.offsets[i]).collect();
        let mut by_one = vec![1.0; self.active.len()];
        self.factor.solve(&mut by_offset);
        self.factor.solve(&mut by_one);
        let eta = (by_offset.iter().sum::<f64>() - 1.0) / by_one.iter().sum::<f64>();
        let solution = by_offset.iter().zip(&by_one).map(|(offset, one)| offset - eta * one);
        let step: Vec<f64> =
            solution.zip(&self.active).map(|(weight, &i)| weight - self.weights[i]).collect();
        self.move_weights(&step, 1.0)
    }

    /// Adds `step` to the weights of F, `most` times or until a weight is 0. Then planes without weight leave F.
    /// Returns whether no weight limited the step.
    fn move_weights(&mut self, step: &[f64], most: f64) -> bool {
        // 1. The longest step that keeps all weights positive, and the weight that limits it.
        let mut t = most;
        let mut limit = None;
        for (&i, step) in self.active.iter().zip(step) {
            if self.weights[i] + t * step < 0.0 {
                (t, limit) = (self.weights[i] / -step, Some(i));
            }
        }
        // 2. The step. Rounding must not leave the limiting weight above 0.
        for (&i, step) in self.active.iter().zip(step) {
            self.weights[i] = (self.weights[i] + t * step).max(0.0);
        }
        let Some(limit) = limit else { return true };
        self.weights[limit] = 0.0;
        // 3. Remove planes without weight from F and from the factor.
        for row in (0..self.active.len()).rev() {
            if self.weights[self.active[row]] == 0.0 {
                self.active.remove(row);
                self.factor.remove(row);
                self.removals += 1;
            }
        }
        false
    }

    /// Adds a plane to F.
    fn enter(&mut self, new: usize) {
        let mut received = 0.0;
        while !self.factor.push(self.row(new)) {
            // The plane is a combination of planes of F. Move their weights to it until one of them is 0 and leaves F.
            let mut step = self.row(new);
            step.pop();
            self.factor.solve(&mut step);
            step.iter_mut().for_each(|coefficient| *coefficient = -*coefficient);
            let before = self.active_weight();
            let limited = !self.move_weights(&step, 1.0 - received);
            received += before - self.active_weight();
            // All weight has moved and the plane still depends on F: it replaces F.
            if !limited {
                self.clear_active();
            }
        }
        self.weights[new] = received;
        self.active.push(new);
        self.normalize();
    }

    /// The row that plane `new` adds to the matrix of F.
    fn row(&self, new: usize) -> Vec<f64> {
        self.active.iter().chain([&new]).map(|&i| self.gram[new][i] + self.shift).collect()
    }

    fn active_weight(&self) -> f64 {
        self.active.iter().map(|&i| self.weights[i]).sum()
    }

    fn clear_active(&mut self) {
        for i in self.active.drain(..) {
            self.weights[i] = 0.0;
        }
        self.factor = Factor::default();
    }

    /// Makes the weights sum to 1.
    fn normalize(&mut self) {
        let sum = self.active_weight();
        if sum > 0.0 {
            self.active.iter().for_each(|&i| self.weights[i] /= sum);
        } else if let Some(&last) = self.active.last() {
            self.weights[last] = 1.0;
        }
    }

    /// Recomputes the factor if there is none or rounding has accumulated in it. Planes that depend on others leave F.
    fn refresh_factor(&mut self) {
        if self.factor.len() > 0 && self.removals < MOST_REMOVALS {
            return;
        }
        let largest = (0..self.gram.len()).map(|i| self.gram[i][i]).fold(0.0, f64::max);
        self.shift = if largest > 0.0 { largest } else { 1.0 };
        self.removals = 0;
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
            axpy(-(self.weights[i] / (2.0 * lambda)), &self.normals[i], &mut u);
            bound += self.weights[i] * self.offsets[i];
        }
        bound -= lambda * dot(&u, &u);
        Model { u, bound }
    }

    /// Drops planes without weight in the last rounds, except the plane 0.
    pub(super) fn drop_idle(&mut self) {
        for (idle, weight) in self.idle.iter_mut().zip(&self.weights) {
            *idle = if *weight > 0.0 { 0 } else { *idle + 1 };
        }
        let keep: Vec<bool> =
            (0..self.idle.len()).map(|i| i == 0 || self.idle[i] <= MOST_IDLE_ROUNDS).collect();
        if keep.iter().all(|keep| *keep) {
            return;
        }
        // Active planes are never idle: only their numbers change.
        self.active.iter_mut().for_each(|i| *i = keep[..*i].iter().filter(|keep| **keep).count());
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

// Updates of the Cholesky factor K = L L': the matrix gains and loses rows, one at a time.

/// A row depends on the others if its pivot is below this fraction of its diagonal entry.
const DEPENDENT: f64 = 1e-11;

/// L by rows, each up to its diagonal.
#[derive(Debug, Clone, Default)]
pub(super) struct Factor(Vec<Vec<f64>>);

impl Factor {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Adds the row k of K, which ends with the diagonal entry. If the row depends on the others, returns false and
    /// changes nothing. A first row is always added.
    pub(super) fn push(&mut self, mut k: Vec<f64>) -> bool {
        let n = self.len();
        self.forward(&mut k[..n]);
        let pivot = k[n] - dot(&k[..n], &k[..n]);
        if n > 0 && pivot <= DEPENDENT * k[n] {
            return false;
        }
        k[n] = pivot.sqrt();
        self.0.push(k);
        true
    }

    /// Removes row and column `index` of K. Rotations of columns restore the triangle.
    pub(super) fn remove(&mut self, index: usize) {
        self.0.remove(index);
        for column in index..self.len() {
            let (x, y) = (self.0[column][column], self.0[column][column + 1]);
            let size = (x * x + y * y).sqrt();
            let (cos, sin) = (x / size, y / size);
            for row in &mut self.0[column..] {
                let (x, y) = (row[column], row[column + 1]);
                row[column] = cos * x + sin * y;
                row[column + 1] = cos * y - sin * x;
            }
            self.0[column].truncate(column + 1);
        }
    }

    /// Solves K x = b in place.
    pub(super) fn solve(&self, b: &mut [f64]) {
        self.forward(b);
        for (i, row) in self.0.iter().enumerate().rev() {
            let (before, rest) = b.split_at_mut(i);
            rest[0] /= row[i];
            before.iter_mut().zip(row).for_each(|(value, entry)| *value -= rest[0] * entry);
        }
    }

    fn forward(&self, b: &mut [f64]) {
        for (i, row) in self.0.iter().enumerate() {
            let (before, rest) = b.split_at_mut(i);
            rest[0] = (rest[0] - dot(before, &row[..i])) / row[i];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_first_row_is_always_taken() {
        for entry in [0.0, 1e-300, f64::INFINITY, f64::NAN] {
            assert!(Factor::default().push(vec![entry]), "{entry}");
        }
    }

    fn entry(i: usize, j: usize) -> f64 {
        if i == j { 5.0 } else { 1.0 / (1 + i + j) as f64 }
    }

    #[test]
    fn solutions_satisfy_the_equations_after_rows_come_and_go() {
        let mut rows: Vec<usize> = Vec::new();
        let mut factor = Factor::default();
        for i in 0..9 {
            rows.push(i);
            assert!(factor.push(rows.iter().map(|&j| entry(i, j)).collect()));
        }
        for index in [3, 0, 6, 4] {
            rows.remove(index);
            factor.remove(index);
            let b: Vec<f64> = (0..rows.len()).map(|i| i as f64 - 1.5).collect();
            let mut x = b.clone();
            factor.solve(&mut x);
            for (i, b) in rows.iter().zip(b) {
                let sum: f64 = rows.iter().zip(&x).map(|(&j, x)| entry(*i, j) * x).sum();
                assert!((sum - b).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn a_dependent_row_is_refused() {
        let mut factor = Factor::default();
        assert!(factor.push(vec![2.0]));
        assert!(!factor.push(vec![2.0, 2.0]));
        assert_eq!(factor.len(), 1);
    }
}
