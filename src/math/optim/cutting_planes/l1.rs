//! Cutting planes with the penalty lambda |w|_1, for convex risks R >= 0.
//!
//! ```text
//! min_w P(w) = R(w) + lambda |w|_1
//! ```
//!
//! The minimum of the planes below R with the penalty is a linear program (`l1_model`), whose dual is a lower bound of
//! min P. The line search is that of the quadratic penalty (`line`): from the best point to the minimum of the model, and
//! the next plane touches R a tenth of the way further. Near minima of the model, which are not at its corners, need far
//! fewer planes than corners (Gondzio, Gonzalez-Brevis & Munari 2013), so the model is solved to half the gap.
//!
//! **Zeros.** Points of lines have few zeros. The end of a run makes as many of the smallest weights 0 as the requested
//! gap allows, which the run itself reaches to a half.

use super::l1_model::L1Planes;
use super::line::Line;
use super::{Bundle, Model, Penalized, Run, Sample};
use crate::base::control::Control;
use crate::math::dense::dot;
use crate::math::optim::{Objective, Solution, Stop, StopRule, iterate, solve_path};
use crate::math::order::sort_indices;

/// Accuracy of the minimum of the model, relative to the gap.
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

    fn line<'a>(&'a self, from: &'a Sample, to: &[f64]) -> Line<'a> {
        Line::with_absolutes(self.risk, self.lambda, from, to)
    }
}
