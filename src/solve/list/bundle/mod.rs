//! Cutting planes with a penalty (Le, Smola, Chapelle & Teo, algorithm 3; Teo et al. 2010), for convex losses.
//!
//! Every subgradient g of the risk at a point v gives a plane below it, R(w) >= g.w + o with o = R(v) - g.v; the plane
//! 0 is below it too, as no loss is negative. With u = w - w0 and offsets o + g.w0 the model
//!
//! ```text
//! min_u  max_i (g_i.u + o_i) + lambda |u|^2
//!     =  max over the simplex  o.a - |G'a|^2 / (4 lambda),     u = -G'a / (2 lambda)
//! ```
//!
//! is a lower bound of min P whatever a is (`planes`). Best P found less the best bound is the certified gap.
//!
//! **Line search** (Franc & Sonnenburg 2009, OCAS). The minimum of the model, w', may be far from any good point. P is
//! minimized along the line from the best point to w', which gives the next best point; the next plane is cut a
//! tenth of the way from there to w'. Scores are linear along the line, so the search reads no document (`line`). Planes
//! stay below the risk for every lambda and are kept along a path of lambdas.

mod factor;
mod line;
mod planes;

use std::time::Instant;

use self::line::Line;
pub(in crate::solve) use self::planes::Planes;
use super::differences;
use super::pass::PerDocument;
use super::{ListProblem, Report};
use crate::loss::Shape;
use crate::math::dense::dot;
use crate::solve::{Canceled, ListWork, SolveOptions, SolveReport, SolverDef, Step, Stop};

/// The next plane is cut this share of the way from the best point to the minimum of the model.
const CUT: f64 = 0.1;
/// The model is solved to this share of the gap.
const MODEL: f64 = 1e-3;
/// Rounds without a smaller gap after which rounding is to blame.
const PATIENCE: u32 = 100;

/// The definition.
pub const BUNDLE: SolverDef = SolverDef {
    name: "bundle",
    summary: "cutting planes with a line search, for convex listwise losses and, in rounds, for differences of convex ones",
    pair: None,
    list: Some(ListWork {
        shapes: &[Shape::Quadratic, Shape::Smooth, Shape::Convex, Shape::Difference],
        path,
    }),
};

fn path(
    problem: &ListProblem<'_>,
    lambdas: &[f64],
    options: &SolveOptions,
    canceled: &(dyn Fn() -> bool + Sync),
) -> Vec<Report> {
    if problem.shape() == Shape::Difference {
        return differences::path(problem, lambdas, options, canceled);
    }
    solve_from(problem, &problem.beginning(), lambdas, options, canceled)
}

/// Solves a convex problem for each lambda, the first from w on, every other one from the one before.
pub(super) fn solve_from(
    problem: &ListProblem<'_>,
    w: &[f64],
    lambdas: &[f64],
    options: &SolveOptions,
    canceled: Canceled<'_>,
) -> Vec<Report> {
    let mut bundle = Bundle::new(problem, w);
    let mut fits = Vec::with_capacity(lambdas.len());
    for &lambda in lambdas {
        let report = bundle.solve(lambda, options, canceled);
        let stop = report.stop;
        fits.push((bundle.best.w.clone(), report));
        if stop == Stop::Interrupted {
            break;
        }
    }
    fits
}

/// A point with its scores and risk.
#[derive(Debug, Clone)]
struct Place {
    w: Vec<f64>,
    scores: PerDocument,
    risk: f64,
}

/// What is kept along a path.
struct Bundle<'p, 'a> {
    problem: &'p ListProblem<'a>,
    planes: Planes,
    /// The best point of the lambda at hand.
    best: Place,
    slopes: PerDocument,
    loss_at_start: f64,
}

impl<'p, 'a> Bundle<'p, 'a> {
    fn new(problem: &'p ListProblem<'a>, w: &[f64]) -> Self {
        let scores = problem.scores(w);
        let mut slopes = PerDocument::new();
        let risk = problem.slopes(&scores, &mut slopes);
        let planes = Planes::new(problem.dim());
        let best = Place { w: w.to_vec(), scores, risk };
        let mut bundle = Self { problem, planes, best, slopes, loss_at_start: risk };
        bundle.cut(w, risk);
        bundle
    }

    /// Adds the plane at w, whose slopes were computed last.
    fn cut(&mut self, w: &[f64], risk: f64) {
        let g = self.problem.columns_times(&self.slopes);
        let offset = risk - dot(&g, &self.problem.less_center(w));
        self.planes.add(g, offset);
    }

    fn solve(&mut self, lambda: f64, options: &SolveOptions, canceled: Canceled<'_>) -> SolveReport {
        let began = Instant::now();
        let mut steps: Vec<Step> = Vec::new();
        let (mut bound, mut gap, mut since) = (0.0, f64::INFINITY, 0);
        let stop = loop {
            let accuracy = MODEL * if gap.is_finite() { gap } else { self.loss_at_start };
            let model = self.planes.minimum(lambda, accuracy);
            let objective = self.best.risk + lambda * self.problem.distance2(&self.best.w);
            bound = model.bound.max(bound);
            since = if objective - bound < gap { 0 } else { since + 1 };
            gap = gap.min(objective - bound).max(0.0);
            steps.push(Step { objective, gap, seconds: began.elapsed().as_secs_f64() });
            if gap <= options.allowed_gap(objective, self.loss_at_start) {
                break Stop::Converged;
            }
            if canceled() {
                break Stop::Interrupted;
            }
            if steps.len() > options.max_iterations as usize {
                break Stop::IterationLimit;
            }
            if since > PATIENCE {
                break Stop::Stalled;
            }
            self.advance(lambda, &self.problem.to_point(&model.u));
        };
        let objective = self.best.risk + lambda * self.problem.distance2(&self.best.w);
        SolveReport { stop, iterations: steps.len() as u32 - 1, objective, gap, steps }
    }

    /// Searches the line from the best point to w' and cuts a plane near its minimum.
    fn advance(&mut self, lambda: f64, w: &[f64]) {
        let line = Line::new(self.problem, lambda, &self.best, w);
        let (t, risk) = line.minimum();
        let cut = line.place(t + CUT * (1.0 - t));
        if t > 0.0 {
            self.best = Place { risk, ..line.place(t) };
        }
        let risk = self.problem.slopes(&cut.scores, &mut self.slopes);
        self.cut(&cut.w, risk);
    }
}
