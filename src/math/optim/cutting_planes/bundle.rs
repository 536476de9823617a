//! Cutting planes with a line search (Teo et al. 2010; Le, Smola, Chapelle & Teo, algorithm 3), for convex risks R >= 0.
//!
//! A subgradient g of R at v gives a plane below R: R(w) >= g.w + o with o = R(v) - g.v. The plane 0 is below R too.
//! With u = w - w0 and offsets o + g.w0 the minimum of the model
//!
//! ```text
//! min_u  max_i (g_i.u + o_i) + lambda |u|^2
//!     =  max over the simplex  o.a - |G'a|^2 / (4 lambda),     u = -G'a / (2 lambda)
//! ```
//!
//! is a lower bound of min P for every a (`planes`). The least P found minus the largest bound is the certified gap.
//!
//! **Line search** (Franc & Sonnenburg 2009, OCAS). The minimum w' of the model may be far from any good point. The
//! next best point minimizes P between the best point and w' (`RiskLine`). The next plane touches R a tenth of the way from
//! there to w'. Planes do not depend on lambda and are kept along a path of lambdas.

use super::super::{Best, Method, Objective, Ridge, Solution, StopRule, iterate, solve_path};
use super::planes::{Model, Planes};
use crate::base::Control;
use crate::math::{difference, dot, moved};

/// Position of the next plane between the best point and the minimum of the model.
const CUT: f64 = 0.1;

/// Accuracy of the model's minimum, relative to the gap.
pub(super) const MODEL_ACCURACY: f64 = 1e-3;

/// Minimizes P for each lambda, first from w, then from the previous solution.
pub fn minimize_path(
    risk: &dyn Objective,
    center: Option<&[f64]>,
    w: &[f64],
    lambdas: &[f64],
    rule: &StopRule,
    control: &Control,
) -> Vec<Solution> {
    let mut bundle = None;
    solve_path(lambdas, |lambda, _| {
        let objective = Ridge { risk, lambda, center };
        let bundle = bundle.get_or_insert_with(|| Bundle::new(&objective, w.to_vec()));
        bundle.minimize(objective, rule, control)
    })
}

/// A point with its image and risk.
pub struct Sample {
    pub w: Vec<f64>,
    /// X w.
    pub image: Vec<f64>,
    /// R(w).
    pub risk: f64,
}

/// P = R + lambda penalty, with the model of the penalty.
pub(super) trait Penalized {
    /// Planes below R.
    type Planes;

    fn risk(&self) -> &dyn Objective;

    /// lambda times the penalty at w.
    fn penalty(&self, w: &[f64]) -> f64;

    /// Adds the plane with this normal that is `risk` high at w.
    fn add(&self, planes: &mut Self::Planes, normal: Vec<f64>, w: &[f64], risk: f64);

    /// The gap of the first model.
    fn first_gap(&self, risk_at_start: f64, best: &Sample) -> f64;

    /// The minimum of the planes with the penalty: the point, and a lower bound of min P.
    fn minimum(&self, planes: &mut Self::Planes, gap: f64, best: &Sample) -> (Vec<f64>, f64);

    fn line<'a>(&'a self, from: &'a Sample, to: &[f64]) -> RiskLine<'a>;
}

impl Penalized for Ridge<'_> {
    type Planes = Planes;

    fn risk(&self) -> &dyn Objective {
        self.risk
    }

    fn penalty(&self, w: &[f64]) -> f64 {
        Ridge::penalty(self, w)
    }

    fn add(&self, planes: &mut Planes, normal: Vec<f64>, w: &[f64], risk: f64) {
        let offset = risk - dot(&normal, &self.from_center(w));
        planes.add(normal, offset);
    }

    fn first_gap(&self, risk_at_start: f64, _: &Sample) -> f64 {
        risk_at_start
    }

    fn minimum(&self, planes: &mut Planes, gap: f64, _: &Sample) -> (Vec<f64>, f64) {
        let Model { u, bound } = planes.minimum(self.lambda, MODEL_ACCURACY * gap);
        (self.to_point(&u), bound)
    }

    fn line<'a>(&'a self, from: &'a Sample, to: &[f64]) -> RiskLine<'a> {
        RiskLine::new(self, from, to)
    }
}

/// Planes below a risk and its best point. Kept from one lambda to the next, and from a risk to one that differs from it by
/// a linear function.
pub struct Bundle<P = Planes> {
    pub(super) planes: P,
    best: Sample,
    /// Memory for the slopes of a plane.
    slopes: Vec<f64>,
    risk_at_start: f64,
}

impl<P> Bundle<P> {
    /// These planes and the one that touches the risk at w.
    pub(super) fn with_planes<O: Penalized<Planes = P>>(planes: P, objective: &O, w: Vec<f64>) -> Self {
        let image = objective.risk().image(&w);
        let slopes = vec![0.0; image.len()];
        let mut bundle = Self { planes, best: Sample { w, image, risk: 0.0 }, slopes, risk_at_start: 0.0 };
        let Sample { w, image, .. } = &bundle.best;
        bundle.risk_at_start = cut(objective, w, image, &mut bundle.slopes, &mut bundle.planes);
        bundle.best.risk = bundle.risk_at_start;
        bundle
    }
}

impl Bundle {
    /// The plane that touches the risk at w.
    pub fn new(objective: &Ridge<'_>, w: Vec<f64>) -> Self {
        Self::with_planes(Planes::new(w.len()), objective, w)
    }

    pub fn best(&self) -> &Sample {
        &self.best
    }

    /// Minimizes P from the best point.
    pub fn minimize(&mut self, objective: Ridge<'_>, rule: &StopRule, control: &Control) -> Solution {
        iterate(rule, control, || Run::new(objective, self))
    }

    /// Replaces the risk by the risk of `objective`, which is the old one plus linear.w + constant. The best point becomes w,
    /// which has this image.
    pub fn replace_risk(
        &mut self,
        objective: &Ridge<'_>,
        linear: &[f64],
        constant: f64,
        w: Vec<f64>,
        image: Vec<f64>,
    ) {
        let at_center = objective.center.map_or(0.0, |center| dot(linear, center));
        self.planes.add_linear(linear, constant + at_center);
        self.risk_at_start = cut(objective, &w, &image, &mut self.slopes, &mut self.planes);
        self.best = Sample { w, image, risk: self.risk_at_start };
    }
}

/// Adds the plane that touches R at w. Returns R(w).
fn cut<O: Penalized>(
    objective: &O,
    w: &[f64],
    image: &[f64],
    slopes: &mut [f64],
    planes: &mut O::Planes,
) -> f64 {
    let risk = objective.risk().value_at(image, slopes);
    let g = objective.risk().transposed(slopes);
    objective.add(planes, g, w, risk);
    risk
}

/// The run for one lambda.
pub(super) struct Run<'b, O: Penalized> {
    objective: O,
    bundle: &'b mut Bundle<O::Planes>,
    /// The minimum of the model.
    w: Vec<f64>,
    bound: f64,
    gap: f64,
}

impl<'b, O: Penalized> Run<'b, O> {
    pub(super) fn new(objective: O, bundle: &'b mut Bundle<O::Planes>) -> Self {
        let mut run = Self { objective, bundle, w: Vec::new(), bound: 0.0, gap: f64::INFINITY };
        run.minimize_model();
        run
    }

    /// P at the best point.
    fn value(&self) -> f64 {
        self.bundle.best.risk + self.objective.penalty(&self.bundle.best.w)
    }

    fn minimize_model(&mut self) {
        let Bundle { planes, best, risk_at_start, .. } = &mut *self.bundle;
        let first_gap = || self.objective.first_gap(*risk_at_start, best);
        let gap = if self.gap.is_finite() { self.gap } else { first_gap() };
        let (w, bound) = self.objective.minimum(planes, gap, best);
        self.w = w;
        self.bound = self.bound.max(bound);
        self.gap = self.gap.min(self.value() - self.bound).max(0.0);
    }
}

impl<O: Penalized> Method for Run<'_, O> {
    const PATIENCE: usize = 100;

    fn best(&self) -> Best<'_> {
        Best { w: &self.bundle.best.w, objective: self.value(), gap: self.gap }
    }

    fn scale(&self) -> f64 {
        self.bundle.risk_at_start
    }

    fn advance(&mut self, _control: &Control) -> bool {
        let Bundle { planes, best, slopes, .. } = &mut *self.bundle;
        let line = self.objective.line(best, &self.w);
        let (t, risk) = line.minimum();
        let next = line.sample(t + CUT * (1.0 - t));
        let better = (t > 0.0).then(|| Sample { risk, ..line.sample(t) });
        cut(&self.objective, &next.w, &next.image, slopes, planes);
        if let Some(better) = better {
            *best = better;
        }
        self.minimize_model();
        true
    }
}

// Line search: the minimum of P between the best point and the model's minimizer.
//
// ```text
// P(t) = R(t) + lambda |u + t v|^2, or R(t) + lambda |u + t v|_1,     t in 0..1;  u + t v = w - w0
// ```
//
// P is convex in t. The tangents at both ends of a bracket meet at the next trial. This point is a lower bound,
// which shows when a trial is close enough to the minimum. Trials use images only.

const MOST_TRIALS: usize = 12;

/// The search ends if at most this fraction of the decrease is missing.
const MISSING: f64 = 0.1;

/// Smallest distance of a trial from the ends of the bracket, relative to its width.
const MARGIN: f64 = 0.1;

/// The line through two points.
pub struct RiskLine<'a> {
    risk: &'a dyn Objective,
    from: &'a Sample,
    /// v
    direction: Vec<f64>,
    /// X v
    step: Vec<f64>,
    lambda: f64,
    penalty: Penalty,
}

/// The penalty on the line, without lambda.
pub(super) enum Penalty {
    /// |u|^2, u.v and |v|^2.
    Squares([f64; 3]),
    /// u and v.
    Absolutes(Vec<f64>, Vec<f64>),
}

impl Penalty {
    /// The penalty at t times lambda, and its derivative.
    fn at(&self, t: f64, lambda: f64) -> (f64, f64) {
        match self {
            Self::Squares([uu, uv, vv]) => {
                (lambda * (uu + t * (2.0 * uv + t * vv)), 2.0 * lambda * (uv + t * vv))
            }
            Self::Absolutes(u, v) => {
                let (mut sum, mut slope) = (0.0, 0.0);
                for (u, v) in u.iter().zip(v) {
                    let weight = u + t * v;
                    sum += weight.abs();
                    slope += if weight > 0.0 { *v } else { -v };
                }
                (lambda * sum, lambda * slope)
            }
        }
    }
}

/// P at a point of the line, with its slope and the risk.
#[derive(Clone, Copy)]
struct Trial {
    t: f64,
    value: f64,
    slope: f64,
    risk: f64,
}

impl<'a> RiskLine<'a> {
    pub(super) fn new(objective: &'a Ridge<'a>, from: &'a Sample, to: &[f64]) -> Self {
        let u = objective.from_center(&from.w);
        let v = difference(to, &from.w);
        let penalty = Penalty::Squares([dot(&u, &u), dot(&u, &v), dot(&v, &v)]);
        Self::of(objective.risk, objective.lambda, from, v, penalty)
    }

    /// The line with the penalty lambda |w|_1.
    pub(super) fn with_absolutes(risk: &'a dyn Objective, lambda: f64, from: &'a Sample, to: &[f64]) -> Self {
        let v = difference(to, &from.w);
        let penalty = Penalty::Absolutes(from.w.clone(), v.clone());
        Self::of(risk, lambda, from, v, penalty)
    }

    pub(super) fn of(
        risk: &'a dyn Objective,
        lambda: f64,
        from: &'a Sample,
        v: Vec<f64>,
        penalty: Penalty,
    ) -> Self {
        let step = risk.linear_image(&v);
        Self { risk, from, direction: v, step, lambda, penalty }
    }

    /// The point at t, with the risk of the point at 0.
    pub(super) fn sample(&self, t: f64) -> Sample {
        let w = moved(&self.from.w, t, &self.direction);
        Sample { w, image: moved(&self.from.image, t, &self.step), risk: self.from.risk }
    }

    fn trial(&self, t: f64) -> Trial {
        let (risk, slope) = self.risk.value_on_line(&self.from.image, &self.step, t);
        let (penalty, penalty_slope) = self.penalty.at(t, self.lambda);
        Trial { t, value: risk + penalty, slope: slope + penalty_slope, risk }
    }

    /// t of about the smallest P, with its risk.
    pub(super) fn minimum(&self) -> (f64, f64) {
        let (start, end) = (self.trial(0.0), self.trial(1.0));
        if end.slope <= 0.0 {
            return (1.0, end.risk);
        }
        let (mut low, mut high) = (start, end);
        let mut best = if end.value < start.value { end } else { start };
        for _ in 0..MOST_TRIALS {
            let (t, bound) = tangents_meet(&low, &high);
            if best.value - bound <= MISSING * (start.value - best.value) {
                break;
            }
            let trial = self.trial(t);
            if trial.value < best.value {
                best = trial;
            }
            if trial.slope < 0.0 {
                low = trial;
            } else {
                high = trial;
            }
        }
        (best.t, best.risk)
    }
}

/// The next trial and a lower bound of P on the bracket.
fn tangents_meet(low: &Trial, high: &Trial) -> (f64, f64) {
    let width = high.t - low.t;
    let offset = (low.value - high.value + high.slope * width) / (high.slope - low.slope);
    if low.slope >= 0.0 || !offset.is_finite() {
        // On an edge the slope may come from the other side. Numbers may also overflow.
        return (low.t + 0.5 * width, f64::NEG_INFINITY);
    }
    let bound = low.value + low.slope * offset;
    (low.t + offset.clamp(MARGIN * width, (1.0 - MARGIN) * width), bound)
}
