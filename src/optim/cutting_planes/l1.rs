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
use super::{CUT, Model, Sample};
use crate::control::Control;
use crate::math::dense::dot;
use crate::optim::{Best, Method, Objective, Solution, Stop, StopRule, iterate, solve_path};

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
    let mut bundle = Bundle::new(risk, w);
    let inner = StopRule { tolerance: BEFORE_ZEROS * rule.tolerance, ..*rule };
    solve_path(lambdas, |lambda, _| {
        let mut solution = iterate(&inner, control, || Run::new(risk, lambda, &mut bundle));
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
    order.sort_by(|&a, &b| w[a].abs().total_cmp(&w[b].abs()));
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

/// What is kept from one lambda to the next.
struct Bundle {
    planes: L1Planes,
    best: Sample,
    slopes: Vec<f64>,
    risk_at_start: f64,
}

impl Bundle {
    fn new(risk: &dyn Objective, w: Vec<f64>) -> Self {
        let image = risk.image(&w);
        let (planes, slopes) = (L1Planes::new(w.len()), vec![0.0; image.len()]);
        let mut bundle = Self { planes, best: Sample { w, image, risk: 0.0 }, slopes, risk_at_start: 0.0 };
        let Sample { w, image, .. } = &bundle.best;
        bundle.risk_at_start = cut(risk, w, image, &mut bundle.slopes, &mut bundle.planes);
        bundle.best.risk = bundle.risk_at_start;
        bundle
    }
}

/// Adds the plane that touches R at w. Returns R(w).
fn cut(risk: &dyn Objective, w: &[f64], image: &[f64], slopes: &mut [f64], planes: &mut L1Planes) -> f64 {
    let value = risk.value_at(image, slopes);
    let g = risk.transposed(slopes);
    planes.add(&g, value - dot(&g, w));
    value
}

/// The run for one lambda.
struct Run<'r, 'b> {
    risk: &'r dyn Objective,
    lambda: f64,
    bundle: &'b mut Bundle,
    /// The minimum of the model.
    w: Vec<f64>,
    bound: f64,
    gap: f64,
}

impl<'r, 'b> Run<'r, 'b> {
    fn new(risk: &'r dyn Objective, lambda: f64, bundle: &'b mut Bundle) -> Self {
        let mut run = Self { risk, lambda, bundle, w: Vec::new(), bound: 0.0, gap: f64::INFINITY };
        run.gap = run.value();
        run.minimize_model();
        run
    }

    /// P at the best point.
    fn value(&self) -> f64 {
        self.bundle.best.risk + self.lambda * sum_of_absolutes(&self.bundle.best.w)
    }

    fn minimize_model(&mut self) {
        let Bundle { planes, best, .. } = &mut *self.bundle;
        let Model { u, bound } = planes.minimum(self.lambda, MODEL_ACCURACY * self.gap, self.gap, &best.w);
        self.w = u;
        self.bound = self.bound.max(bound);
        self.gap = self.gap.min(self.value() - self.bound).max(0.0);
    }
}

impl Method for Run<'_, '_> {
    const PATIENCE: usize = 100;

    fn best(&self) -> Best<'_> {
        Best { w: &self.bundle.best.w, objective: self.value(), gap: self.gap }
    }

    fn scale(&self) -> f64 {
        self.bundle.risk_at_start
    }

    fn advance(&mut self, _control: &Control) -> bool {
        let Bundle { planes, best, slopes, .. } = &mut *self.bundle;
        let line = Line::with_absolutes(self.risk, self.lambda, best, &self.w);
        let (t, risk) = line.minimum();
        let next = line.sample(t + CUT * (1.0 - t));
        let better = (t > 0.0).then(|| Sample { risk, ..line.sample(t) });
        cut(self.risk, &next.w, &next.image, slopes, planes);
        if let Some(better) = better {
            *best = better;
        }
        self.minimize_model();
        true
    }
}
