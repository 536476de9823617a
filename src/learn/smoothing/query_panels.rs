//! Squared distances of some targets from all training queries in single precision, as products of matrices.
//!
//! ```text
//! d^2 = sum_f w_f (a_f - b_f)^2 = |a|^2 + |b|^2 - 2 sum_f w_f a_f b_f
//! ```
//!
//! is the product of the columns (-2 w_f a_f, |a|^2, 1) and (b_f, 1, |b|^2). The mean of each number is subtracted first. With
//! u = 2^-24, p numbers and n terms = p + 2 the error is at most
//!
//! ```text
//! 2 (n + 6) u (|a|^2 + |b|^2)    rounded inputs, and n sums of terms of at most 2 (|a|^2 + |b|^2) together
//! 8 D sqrt(|a|^2 + |b|^2) + 4 D^2    D the length of the errors of a - mean and b - mean in double precision
//! ```
#![allow(clippy::needless_range_loop, reason = "one index for several arrays")]

use ndarray::Array2;

use crate::base::control::Ticks;
use crate::data::query_distance::QueryDistance;
use crate::math::single::{PANEL, Row, add_product, panels_for};

/// Largest numbers, and largest |a|^2 + |b|^2, so that nothing overflows in single precision.
const LARGEST: f64 = 1e15;
const LONGEST: f64 = 1e30;

/// Largest error of a term with a factor that is too small for single precision.
const SMALLEST: f64 = 1e-28;

/// The numbers of all training queries in panels, with their squared lengths.
#[derive(Debug)]
pub(super) struct Panels {
    /// Weights of the numbers.
    weights: Vec<f64>,
    means: Vec<f64>,
    /// Largest absolute value of each number.
    largest: Vec<f64>,
    /// Largest |b|^2.
    longest: f64,
    rows: Vec<Row>,
}

impl Panels {
    /// The numbers of these rows.
    pub(super) fn new(rows: &Array2<f64>, distance: &QueryDistance) -> Self {
        let (queries, numbers) = (rows.nrows(), distance.numbers());
        let weights = weights(distance);
        let mut ticks = Ticks::default();
        let (mut means, mut largest) = (vec![0.0; numbers], vec![0.0_f64; numbers]);
        for row in rows.rows() {
            ticks.add(numbers);
            for (number, &value) in row.iter().take(numbers).enumerate() {
                means[number] += value / queries as f64;
                largest[number] = largest[number].max(value.abs());
            }
        }
        let length = numbers + 2;
        let mut panels = vec![Row::ZERO; panels_for(queries) * length];
        let mut longest = 0.0_f64;
        for (query, row) in rows.rows().into_iter().enumerate() {
            ticks.add(numbers);
            let (panel, lane) = (&mut panels[query / PANEL * length..][..length], query % PANEL);
            let mut square = 0.0;
            for number in 0..numbers {
                let value = row[number] - means[number];
                square += weights[number] * value * value;
                panel[number].values_mut()[lane] = value as f32;
            }
            panel[numbers].values_mut()[lane] = 1.0;
            panel[numbers + 1].values_mut()[lane] = square as f32;
            // Unlike `max`, this keeps NaN.
            longest = if square <= longest { longest } else { square };
        }
        // Lanes without a query are infinitely far.
        for query in queries..panels_for(queries) * PANEL {
            panels[query / PANEL * length + numbers + 1].values_mut()[query % PANEL] = f32::INFINITY;
        }
        Self { weights, means, largest, longest, rows: panels }
    }

    /// Whether they are for this distance.
    pub(super) fn are_for(&self, distance: &QueryDistance) -> bool {
        self.weights == weights(distance)
    }

    /// Largest error of the squares of a target; `None` if they could overflow.
    pub(super) fn error(&self, target: &[f64]) -> Option<f64> {
        let (mut square, mut deviation, mut fits) = (0.0, 0.0, true);
        for (number, weight) in self.weights.iter().enumerate() {
            let value = target[number] - self.means[number];
            square += weight * value * value;
            let size = target[number].abs() + self.largest[number] + self.means[number].abs();
            fits &= size <= LARGEST;
            let rounding = f64::EPSILON * size;
            deviation += weight * rounding * rounding;
        }
        let squares = square + self.longest;
        let terms = (self.weights.len() + 8) as f64;
        let error = terms * (f64::from(f32::EPSILON) * squares + SMALLEST)
            + 8.0 * (deviation * squares).sqrt()
            + 4.0 * deviation;
        (fits && squares <= LONGEST).then_some(error)
    }

    /// How many squares there are for each target: those of the queries, then infinite ones up to a whole panel.
    pub(super) fn stride(&self) -> usize {
        self.rows.len() / (self.weights.len() + 2) * PANEL
    }

    /// Writes the squares of each target, one target after the other. At most [`PANEL`] targets.
    pub(super) fn squares<T>(&self, targets: &[(&[f64], T)], squares: &mut [f32]) {
        let numbers = self.weights.len();
        let mut columns = vec![Row::ZERO; numbers + 2];
        for (lane, (target, _)) in targets.iter().enumerate() {
            let mut square = 0.0;
            for (number, weight) in self.weights.iter().enumerate() {
                let value = target[number] - self.means[number];
                square += weight * value * value;
                columns[number].values_mut()[lane] = (-2.0 * weight * value) as f32;
            }
            columns[numbers].values_mut()[lane] = square as f32;
            columns[numbers + 1].values_mut()[lane] = 1.0;
        }
        let (stride, mut ticks) = (self.stride(), Ticks::default());
        let mut products = [Row::ZERO; PANEL];
        for (panel, first) in self.rows.chunks_exact(numbers + 2).zip((0..).step_by(PANEL)) {
            ticks.add(panel.len() * targets.len());
            products[..targets.len()].fill(Row::ZERO);
            add_product(&columns, panel, targets.len(), &mut products);
            for (lane, row) in products[..targets.len()].iter().enumerate() {
                let start = lane * stride + first;
                squares[start..start + PANEL].copy_from_slice(row.values());
            }
        }
    }
}

/// The weights of all numbers.
fn weights(distance: &QueryDistance) -> Vec<f64> {
    match distance.number_weights() {
        [] => vec![1.0; distance.numbers()],
        weights => weights.to_vec(),
    }
}
