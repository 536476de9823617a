//! Risks whose rows are in buckets. The image of w is w; a new point is a question.

use std::sync::Mutex;

use super::answers::{HINGE, NEWTON};
use super::statistics::wrong_length;
use crate::base::{parallel, unwind};
use crate::buckets::replay::{Asking, Part, Question};
use crate::learn::solve::{hinge_origin_len, hinge_sums_len, hinge_sums_pairs};
use crate::math::{Objective, axpy, dot};

/// The hinge sums that do not depend on the point, as means over queries.
pub fn ask_hinge_origin(asking: &Asking<'_>, part: Part, dim: usize, queries: f64) -> Vec<f64> {
    let mut numbers = asking.ask(Question::new(HINGE, part)).numbers;
    if numbers.len() != hinge_origin_len(dim) {
        unwind(wrong_length());
    }
    numbers.iter_mut().for_each(|number| *number /= queries);
    numbers
}

/// The sums of the smoothed hinge at w for two widths, as means over queries.
pub fn ask_hinge_sums(
    asking: &Asking<'_>,
    part: Part,
    queries: f64,
    w: &[f64],
    widths: [f64; 2],
) -> Vec<f64> {
    let (dim, numbers) = (w.len(), [&widths, w].concat());
    let mut numbers = asking.ask(Question { kind: HINGE, part, numbers }).numbers;
    if numbers.len() != hinge_sums_len(dim) {
        unwind(wrong_length());
    }
    for (index, number) in numbers.iter_mut().enumerate() {
        // The number of pairs is a count.
        *number /= if index == hinge_sums_pairs(dim) { 1.0 } else { queries };
    }
    numbers
}

/// Shows objective and gap of a point from its sums.
pub fn show_hinge(asking: &Asking<'_>, sums: &[f64], w: &[f64], lambda: f64) {
    let [loss, alpha, _, rest @ ..] = sums else { return };
    let alpha_z = &rest[..w.len()];
    let objective = loss + lambda * dot(w, w);
    asking.show(objective, objective - (alpha - dot(alpha_z, alpha_z) / (4.0 * lambda)));
}

/// A mean over queries of a smooth loss.
pub struct AskedRisk<'a> {
    asking: &'a Asking<'a>,
    part: Part,
    dim: usize,
    queries: f64,
    /// Lambda of the penalty, to show the objective.
    lambda: f64,
    /// The last point and its answer.
    last: Mutex<Option<(Vec<f64>, Vec<f64>)>>,
}

impl<'a> AskedRisk<'a> {
    /// The risk on a part's `queries` queries, in `dim` dimensions.
    pub fn new(asking: &'a Asking<'a>, part: Part, dim: usize, queries: f64, lambda: f64) -> Self {
        Self { asking, part, dim, queries, lambda, last: Mutex::new(None) }
    }

    /// A result of value, gradient and Hessian at w.
    fn at<T>(&self, w: &[f64], read: impl FnOnce(&[f64]) -> T) -> T {
        let mut last = parallel::lock(&self.last);
        let is_same =
            |(point, _): &(Vec<f64>, Vec<f64>)| point.iter().zip(w).all(|(a, b)| a.to_bits() == b.to_bits());
        if let Some((_, numbers)) = last.as_ref().filter(|last| is_same(last)) {
            return read(numbers);
        }
        let mut numbers =
            self.asking.ask(Question { kind: NEWTON, part: self.part, numbers: w.to_vec() }).numbers;
        if numbers.len() != 1 + self.dim + self.dim * (self.dim + 1) / 2 {
            unwind(wrong_length());
        }
        numbers.iter_mut().for_each(|number| *number /= self.queries);
        let mut gradient = numbers[1..=self.dim].to_vec();
        axpy(2.0 * self.lambda, w, &mut gradient);
        let gap = dot(&gradient, &gradient) / (4.0 * self.lambda);
        self.asking.show(numbers[0] + self.lambda * dot(w, w), gap);
        let result = read(&numbers);
        *last = Some((w.to_vec(), numbers));
        result
    }
}

impl Objective for AskedRisk<'_> {
    fn dim(&self) -> usize {
        self.dim
    }

    fn value_at(&self, w: &[f64], slopes: &mut [f64]) -> f64 {
        self.at(w, |numbers| {
            slopes.copy_from_slice(&numbers[1..=self.dim]);
            numbers[0]
        })
    }

    fn hessian_times(&self, w: &[f64], v: &[f64]) -> Vec<f64> {
        self.at(w, |numbers| {
            let mut rest = numbers[1 + self.dim..].iter();
            let mut product = vec![0.0; self.dim];
            for i in 0..self.dim {
                for j in i..self.dim {
                    let entry = rest.next().copied().unwrap_or_default();
                    product[i] += entry * v[j];
                    if j > i {
                        product[j] += entry * v[i];
                    }
                }
            }
            product
        })
    }
}
