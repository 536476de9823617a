//! Cutting planes with the penalty lambda |w|_1, for convex risks R >= 0.
//!
//! ```text
//! min_w P(w) = R(w) + lambda |w|_1
//! ```
//!
//! The minimum of the planes below R with the penalty is a linear program (below), whose dual is a lower bound of min
//! P. The line search works as for the quadratic penalty (`RiskLine`): it goes from the best point to the minimum of the
//! model, and the next plane touches R a tenth of the way further. Near minima of the model, which are not at its
//! corners, need far fewer planes than corners (Gondzio, Gonzalez-Brevis & Munari 2013), so the model is solved to half
//! the gap.
//!
//! **Zeros.** Points on a line have few zeros. The run itself reaches half of the requested gap. At its end it sets the
//! smallest weights to 0, as far as the requested gap allows.

use super::{
    Bundle, Model, RiskLine, Sample,
    bundle::{Penalized, Run},
};
use crate::base::{Control, checkpoint};
use crate::math::{
    Factor, Lanes, Objective, Solution, Stop, StopRule, dot, gram, iterate, lanes, solve_path, sort_indices,
};

/// Accuracy of the model's minimum, relative to the gap.
const MODEL_ACCURACY: f64 = 0.5;
/// Tolerance of the run before weights become 0, relative to the requested one.
const BEFORE_ZEROS: f64 = 0.5;

/// Minimizes P for each lambda, first from w, then from the previous solution.
pub fn minimize_path(
    risk: &dyn Objective,
    w: Vec<f64>,
    lambdas: &[f64],
    rule: &StopRule,
    control: &Control,
) -> Vec<Solution> {
    // Planes do not depend on lambda.
    let mut bundle = Bundle::with_planes(L1Planes::new(w.len()), &Absolutes { risk, lambda: 0.0 }, w);
    let inner = StopRule { tolerance: BEFORE_ZEROS * rule.tolerance, ..*rule };
    solve_path(lambdas, |lambda, _| {
        let mut solution = iterate(&inner, control, || Run::new(Absolutes { risk, lambda }, &mut bundle));
        if solution.report.stop != Stop::Interrupted {
            make_zeros(risk, lambda, &mut solution, rule);
        }
        solution
    })
}

/// |w|_1
pub fn sum_of_absolutes(w: &[f64]) -> f64 {
    w.iter().map(|w| w.abs()).sum()
}

/// Makes the most of the smallest weights 0 that leave a gap within the rule, or no larger than it is.
fn make_zeros(risk: &dyn Objective, lambda: f64, solution: &mut Solution, rule: &StopRule) {
    let Solution { w, report } = solution;
    let bound = report.objective - report.gap;
    let mut order: Vec<usize> = (0..w.len()).filter(|&feature| w[feature].abs() > 0.0).collect();
    sort_indices(&mut order, &|a, b| w[a].abs().total_cmp(&w[b].abs()));
    // Bisection: `low` zeros are allowed, `high` are not.
    let (mut low, mut high) = (0, order.len() + 1);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        let mut sparse = w.clone();
        order[..middle].iter().for_each(|&feature| sparse[feature] = 0.0);
        let image = risk.image(&sparse);
        let objective =
            risk.value_at(&image, &mut vec![0.0; image.len()]) + lambda * sum_of_absolutes(&sparse);
        if objective - bound <= rule.allowed_gap(objective, report.objective).max(report.gap) {
            low = middle;
        } else {
            high = middle;
        }
    }
    if low == 0 {
        return;
    }
    // The point with these zeros, and the last line of the log.
    order[..low].iter().for_each(|&feature| w[feature] = 0.0);
    let image = risk.image(w);
    report.objective = risk.value_at(&image, &mut vec![0.0; image.len()]) + lambda * sum_of_absolutes(w);
    report.gap = (report.objective - bound).max(0.0);
    if let Some(last) = report.steps.last_mut() {
        (last.objective, last.gap) = (report.objective, report.gap);
    }
}

/// R + lambda |w|_1.
struct Absolutes<'r> {
    risk: &'r dyn Objective,
    lambda: f64,
}

impl Penalized for Absolutes<'_> {
    type Planes = L1Planes;

    fn risk(&self) -> &dyn Objective {
        self.risk
    }

    fn penalty(&self, w: &[f64]) -> f64 {
        self.lambda * sum_of_absolutes(w)
    }

    fn add(&self, planes: &mut L1Planes, normal: Vec<f64>, w: &[f64], risk: f64) {
        planes.add(&normal, risk - dot(&normal, w));
    }

    fn first_gap(&self, _: f64, best: &Sample) -> f64 {
        best.risk + self.penalty(&best.w)
    }

    fn minimum(&self, planes: &mut L1Planes, gap: f64, best: &Sample) -> (Vec<f64>, f64) {
        let Model { u, bound } = planes.minimum(self.lambda, MODEL_ACCURACY * gap, gap, &best.w);
        (u, bound)
    }

    fn line<'a>(&'a self, from: &'a Sample, to: &[f64]) -> RiskLine<'a> {
        RiskLine::with_absolutes(self.risk, self.lambda, from, to)
    }
}

// The model: minimum of the maximum of planes with an L1 penalty, a linear program:
//
// ```text
// min_w max_i (g_i.w + o_i) + lambda |w|_1
//     = max o.a    over a >= 0, sum a = 1, |G'a|_j <= lambda
// ```
//
// by a primal-dual interior-point method (Mehrotra 1992). With w = p - n and the maximum xi, all of these are above 0:
//
// ```text
// s_i = xi - o_i - g_i.w     u = lambda + G'a     v = lambda - G'a     a, p, n
// ```
//
// and a s, p u and n v are all 0 at the minimum. A step solves for products of equal size. Eliminating all but dw and
// the step of xi leaves a system over features, (G'(A/S)G + 1/D) dw = ..., with D = p/u + n/v. All iterates satisfy the
// constraints up to rounding, so each a gives a lower bound after a scaling that removes the rest.

/// Largest number of steps for one minimum.
const MOST_STEPS: usize = 60;
/// Fraction of the way to the nearest constraint that a step goes at most.
const TO_CONSTRAINT: f64 = 0.95;
/// Weight of all planes but the first at the start.
const FIRST_WEIGHT: f64 = 0.01;
/// A plane with less than this fraction of the mean weight is idle. Interior points have no weight of 0.
const IDLE_WEIGHT: f64 = 1e-3;
/// Number of idle minima after which a plane is dropped.
const MOST_IDLE_ROUNDS: u32 = 50;

/// The planes g.w + o. The first is 0.
pub(super) struct L1Planes {
    dim: usize,
    /// G, (planes, dim) in rows of blocks of eight.
    normals: Vec<Lanes>,
    offsets: Vec<f64>,
    idle: Vec<u32>,
}

impl L1Planes {
    /// The plane 0 of `dim` variables.
    pub(super) fn new(dim: usize) -> Self {
        let normals = vec![Lanes::ZERO; lanes::blocks_for(dim)];
        Self { dim, normals, offsets: vec![0.0], idle: vec![0] }
    }

    fn width(&self) -> usize {
        lanes::blocks_for(self.dim)
    }

    pub(super) fn add(&mut self, normal: &[f64], offset: f64) {
        self.normals.extend(lanes::from_slice(normal));
        self.offsets.push(offset);
        self.idle.push(0);
    }

    /// A point near the minimum, to this absolute accuracy. `gap` is the size of P minus the minimum at `around`.
    pub(super) fn minimum(&mut self, lambda: f64, accuracy: f64, gap: f64, around: &[f64]) -> Model {
        let mut point = Interior::new(self, lambda, gap, around);
        for _ in 0..MOST_STEPS {
            if point.gap() <= accuracy || !point.step(accuracy) {
                break;
            }
        }
        let model = Model { u: point.w(), bound: point.bound() };
        let weights = point.x[..self.offsets.len()].to_vec();
        self.drop_idle(&weights);
        model
    }

    /// G w.
    fn times(&self, w: &[f64]) -> Vec<f64> {
        let w = lanes::from_slice(w);
        self.normals.chunks_exact(self.width()).map(|g| lanes::dot(g, &w)).collect()
    }

    /// G'a.
    fn transposed_times(&self, a: &[f64]) -> Vec<f64> {
        let mut sum = vec![Lanes::ZERO; self.width()];
        for (g, a) in self.normals.chunks_exact(self.width()).zip(a) {
            lanes::axpy(*a, g, &mut sum);
        }
        lanes::to_vec(&sum, self.dim)
    }

    /// Drops planes that had no weight for a while, except the plane 0.
    fn drop_idle(&mut self, weights: &[f64]) {
        let least = IDLE_WEIGHT / weights.len() as f64;
        for (idle, weight) in self.idle.iter_mut().zip(weights) {
            *idle = if *weight > least { 0 } else { *idle + 1 };
        }
        let keep = |plane: usize| plane == 0 || self.idle[plane] <= MOST_IDLE_ROUNDS;
        let kept: Vec<usize> = (0..weights.len()).filter(|&plane| keep(plane)).collect();
        if kept.len() < weights.len() {
            let width = self.width();
            let row = |plane: &usize| self.normals[plane * width..(plane + 1) * width].to_vec();
            self.normals = kept.iter().flat_map(row).collect();
            self.offsets = kept.iter().map(|&plane| self.offsets[plane]).collect();
            self.idle = kept.iter().map(|&plane| self.idle[plane]).collect();
        }
    }
}

/// A point inside of all constraints.
struct Interior<'p> {
    planes: &'p L1Planes,
    lambda: f64,
    /// (a, p, n)
    x: Vec<f64>,
    /// (s, u, v)
    z: Vec<f64>,
    xi: f64,
}

/// A direction of an interior point.
struct Direction {
    x: Vec<f64>,
    z: Vec<f64>,
    xi: f64,
}

/// The system of a step and what each solution needs.
struct System {
    /// The factor of G'(A/S)G + 1/D.
    factor: Factor,
    /// G'(a/s)
    sum: Vec<f64>,
    /// The solution with the right side G'(a/s).
    solved: Vec<f64>,
    /// p/u + n/v
    d: Vec<f64>,
}

impl<'p> Interior<'p> {
    /// A first point: near `around`, with nearly all weight on the plane 0.
    fn new(planes: &'p L1Planes, lambda: f64, gap: f64, around: &[f64]) -> Self {
        let (t, dim) = (planes.offsets.len(), planes.dim);
        // 1. Weights a with |G'a| <= lambda / 2.
        let mut a = vec![FIRST_WEIGHT / t as f64; t];
        a[0] = 0.0;
        let largest = planes.transposed_times(&a).iter().fold(0.0, |most: f64, sum| most.max(sum.abs()));
        if largest > 0.5 * lambda {
            a.iter_mut().for_each(|a| *a *= 0.5 * lambda / largest);
        }
        a[0] = 1.0 - a.iter().sum::<f64>();
        let sums = planes.transposed_times(&a);
        // 2. Slacks of the size at which all products sum to about the gap.
        let product = gap.max(f64::MIN_POSITIVE) / (t + 2 * dim) as f64;
        let part = |sign: f64| around.iter().map(move |w| (sign * w).max(0.0) + product / lambda);
        let heights: Vec<f64> =
            planes.times(around).iter().zip(&planes.offsets).map(|(g, o)| g + o).collect();
        let xi = heights.iter().fold(0.0, |most: f64, height| most.max(*height)) + product;
        let x = a.into_iter().chain(part(1.0)).chain(part(-1.0)).collect();
        let slack = |sign: f64| sums.iter().map(move |sum| lambda + sign * sum);
        let z = heights.iter().map(|height| xi - height).chain(slack(1.0)).chain(slack(-1.0)).collect();
        Self { planes, lambda, x, z, xi }
    }

    /// The difference between P of the model and the dual.
    fn gap(&self) -> f64 {
        dot(&self.x, &self.z)
    }

    /// p - n.
    fn w(&self) -> Vec<f64> {
        let (p, n) = self.x[self.planes.offsets.len()..].split_at(self.planes.dim);
        p.iter().zip(n).map(|(p, n)| p - n).collect()
    }

    /// The dual, with a scaled so that it satisfies the constraints in spite of rounding; the rest is weight of the plane 0.
    fn bound(&self) -> f64 {
        let a = &self.x[..self.planes.offsets.len()];
        let largest = self.planes.transposed_times(a).iter().fold(0.0, |most: f64, sum| most.max(sum.abs()));
        let total: f64 = a.iter().sum();
        let scale = total.max(largest / self.lambda);
        (dot(a, &self.planes.offsets) / scale).max(0.0)
    }

    /// A predictor step, and a step with its curvature to products of equal size. False if rounding allows no more.
    fn step(&mut self, accuracy: f64) -> bool {
        checkpoint();
        let Some(system) = self.system() else { return false };
        // 1. To products of 0: its progress determines the target size.
        let products: Vec<f64> = self.x.iter().zip(&self.z).map(|(x, z)| -x * z).collect();
        let predictor = self.direction(&system, &products);
        let length = self.longest(&predictor);
        let reached: f64 = (self.x.iter().zip(&predictor.x).map(|(x, dx)| x + length * dx))
            .zip(self.z.iter().zip(&predictor.z).map(|(z, dz)| z + length * dz))
            .map(|(x, z)| x * z)
            .sum();
        let gap = self.gap();
        let aim = ((reached / gap).powi(3) * gap).max(0.5 * accuracy) / self.x.len() as f64;
        // 2. The step.
        let curved = products.iter().zip(predictor.x.iter().zip(&predictor.z));
        let target: Vec<f64> = curved.map(|(product, (dx, dz))| aim + product - dx * dz).collect();
        let direction = self.direction(&system, &target);
        let length = (TO_CONSTRAINT * self.longest(&direction)).min(1.0);
        if !length.is_finite() || length <= 0.0 {
            return false;
        }
        self.x.iter_mut().zip(&direction.x).for_each(|(x, dx)| *x += length * dx);
        self.z.iter_mut().zip(&direction.z).for_each(|(z, dz)| *z += length * dz);
        self.xi += length * direction.xi;
        self.x.iter().chain(&self.z).all(|value| *value > 0.0 && value.is_finite())
    }

    fn system(&self) -> Option<System> {
        let (t, dim, width) = (self.planes.offsets.len(), self.planes.dim, self.planes.width());
        // 1. G'(A/S)G.
        let ratios: Vec<f64> = self.x.iter().zip(&self.z).map(|(x, z)| x / z).collect();
        let (of_planes, of_weights) = ratios.split_at(t);
        let rows = self.planes.normals.chunks_exact(width).zip(of_planes);
        let scaled: Vec<Lanes> = rows.flat_map(|(g, ratio)| lanes::scaled(g, *ratio)).collect();
        let mut h = vec![Lanes::ZERO; lanes::LANES * width * width];
        gram::add_gram(&self.planes.normals, &scaled, width, t, &mut h);
        // 2. The diagonal 1/D, and the factor.
        let (of_p, of_n) = of_weights.split_at(dim);
        let d: Vec<f64> = of_p.iter().zip(of_n).map(|(p, n)| p + n).collect();
        for (feature, d) in d.iter().enumerate() {
            *lanes::get_mut(&mut h[feature * width..], feature) += 1.0 / d;
        }
        let factor = Factor::of_blocks(h, dim)?;
        let sum = self.planes.transposed_times(of_planes);
        Some(System { solved: factor.solve(&sum), factor, d, sum })
    }

    /// The direction that changes the products x z by `target`, to first order.
    fn direction(&self, system: &System, target: &[f64]) -> Direction {
        let (t, dim) = (self.planes.offsets.len(), self.planes.dim);
        let ratio = |index: usize| target[index] / self.z[index];
        // 1. dw and the step of xi.
        let of_planes: Vec<f64> = (0..t).map(ratio).collect();
        let sums = self.planes.transposed_times(&of_planes);
        let e: Vec<f64> = (0..dim).map(|j| ratio(t + j) - ratio(t + dim + j)).collect();
        let right: Vec<f64> = (0..dim).map(|j| e[j] / system.d[j] - sums[j]).collect();
        let mut dw = system.factor.solve(&right);
        let total: f64 = (0..t).map(|i| self.x[i] / self.z[i]).sum();
        let xi = (of_planes.iter().sum::<f64>() + dot(&system.sum, &dw))
            / (total - dot(&system.sum, &system.solved));
        dw.iter_mut().zip(&system.solved).for_each(|(dw, solved)| *dw += xi * solved);
        // 2. All others. The change of u is G'dx too, but that sum cancels if some s are small.
        let mut z: Vec<f64> = self.planes.times(&dw).iter().map(|change| xi - change).collect();
        let mut x: Vec<f64> = (0..t).map(|i| of_planes[i] - self.x[i] / self.z[i] * z[i]).collect();
        let du: Vec<f64> = (0..dim).map(|j| (e[j] - dw[j]) / system.d[j]).collect();
        z.extend(&du);
        z.extend(du.iter().map(|du| -du));
        x.extend((t..t + 2 * dim).map(|i| ratio(i) - self.x[i] / self.z[i] * z[i]));
        Direction { x, z, xi }
    }

    /// The longest step, at most 1, that keeps all of x and z at least 0.
    fn longest(&self, direction: &Direction) -> f64 {
        let values = self.x.iter().chain(&self.z).zip(direction.x.iter().chain(&direction.z));
        values.filter(|(_, change)| **change < 0.0).fold(1.0, |most: f64, (x, change)| most.min(x / -change))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// max(0, 1 - w) + lambda |w|: w = 1 below lambda = 1, above it 0.
    #[test]
    fn the_minimum_of_a_hinge_is_known() {
        for (lambda, expected) in [(0.25, 0.25), (0.75, 0.75), (3.0, 1.0)] {
            let mut planes = L1Planes::new(1);
            planes.add(&[-1.0], 1.0);
            let Model { u, bound } = planes.minimum(lambda, 1e-12, 1.0, &[0.3]);
            let value = (1.0 - u[0]).max(0.0) + lambda * u[0].abs();
            assert!(
                (bound - expected).abs() < 1e-10 && (value - expected).abs() < 1e-10,
                "{lambda}: {bound} {value}"
            );
        }
    }

    /// No value is below the bound in any direction, with linearly dependent planes, too.
    #[test]
    fn no_point_is_below_the_bound() {
        let mut random = crate::math::random::Random::new(1);
        for dim in [1, 3, 9, 17] {
            let mut planes = L1Planes::new(dim);
            for _ in 0..2 * dim {
                let normal: Vec<f64> = (0..dim).map(|_| random.symmetric()).collect();
                planes.add(&normal, random.symmetric());
                planes.add(&normal, random.symmetric());
            }
            let lambda = 0.1;
            let value = |w: &[f64]| {
                let highest =
                    planes.times(w).iter().zip(&planes.offsets).map(|(g, o)| g + o).fold(0.0, f64::max);
                highest + lambda * w.iter().map(|w| w.abs()).sum::<f64>()
            };
            let points: Vec<Vec<f64>> =
                (0..200).map(|_| (0..dim).map(|_| 3.0 * random.symmetric()).collect()).collect();
            let smallest = points.iter().map(|w| value(w)).fold(f64::INFINITY, f64::min);
            let around = vec![0.0; dim];
            let mut same = L1Planes {
                normals: planes.normals.clone(),
                offsets: planes.offsets.clone(),
                idle: planes.idle.clone(),
                dim,
            };
            let Model { u, bound } = same.minimum(lambda, 1e-10, 1.0, &around);
            assert!(bound <= smallest && value(&u) - bound <= 1e-9, "{dim}: {bound} {}", value(&u));
        }
    }
}
