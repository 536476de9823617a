//! Constraint generation (Le, Smola, Chapelle & Teo, section 4.5; Tsochantaridis et al. 2005), for convex losses.
//!
//! Every query has planes of its own, g_k.u + o_k <= L_q at w = w0 + u, and the plane 0. The problem with the largest
//! plane of each query in the place of its loss has the dual
//!
//! ```text
//! max over a_q >= 0, sum a_q <= 1 of  sum_q c_q o_q.a_q - lambda |u|^2,     u = -sum_q c_q G_q'a_q / (2 lambda)
//! ```
//!
//! which is a lower bound of min P whatever a is. A round adds to every query the plane of its loss at w, then goes
//! through the queries several times and moves weight from the lowest plane that has any to the highest one, as far as
//! the dual rises. Planes without weight for [`IDLE`] rounds are dropped. Memory is that of the planes, b numbers each:
//! `bundle` has far fewer of them, one for all queries at a time.

use std::time::Instant;

use super::{ListProblem, Report, along};
use crate::loss::Shape;
use crate::math::dense::dot;
use crate::solve::{Canceled, ListWork, SolveOptions, SolveReport, SolverDef, Step, Stop};

/// Most times that a round goes through the queries.
const SWEEPS: usize = 30;
/// The working set is solved to this share of the gap.
const INNER: f64 = 0.1;
/// Most moves of weight within a query at a time.
const MOVES: usize = 5;
/// Rounds without weight after which a plane is dropped.
const IDLE: u32 = 50;

/// The definition.
pub const CONSTRAINT_GENERATION: SolverDef = SolverDef {
    name: "constraint_generation",
    summary: "cutting planes for each query and coordinate ascent on their dual, for convex listwise losses",
    pair: None,
    list: Some(ListWork { shapes: &[Shape::Convex], path }),
};

fn path(
    problem: &ListProblem<'_>,
    lambdas: &[f64],
    options: &SolveOptions,
    canceled: &(dyn Fn() -> bool + Sync),
) -> Vec<Report> {
    let mut sets: Vec<WorkingSet> = problem.blocks().iter().map(|(_, c)| WorkingSet::new(*c)).collect();
    along(lambdas, |lambda, _| Run::new(problem, lambda, &mut sets).run(options, canceled))
}

/// g.u + o with its weight a.
struct Plane {
    normal: Vec<f64>,
    offset: f64,
    weight: f64,
    idle: u32,
}

impl Plane {
    fn height(&self, u: &[f64]) -> f64 {
        self.offset + dot(&self.normal, u)
    }
}

/// The planes of a query; the weight of the plane 0 is what is left of 1.
struct WorkingSet {
    c: f64,
    planes: Vec<Plane>,
    left: f64,
}

/// A plane among those of a query; `None` is the plane 0.
type Choice = Option<usize>;

impl WorkingSet {
    fn new(c: f64) -> Self {
        Self { c, planes: Vec::new(), left: 1.0 }
    }

    /// The highest plane and the lowest one with weight, with their heights.
    fn extremes(&self, u: &[f64]) -> ((Choice, f64), (Choice, f64)) {
        let mut highest = (None, 0.0);
        let mut lowest = (None, if self.left > 0.0 { 0.0 } else { f64::INFINITY });
        for (place, plane) in self.planes.iter().enumerate() {
            let height = plane.height(u);
            if height > highest.1 {
                highest = (Some(place), height);
            }
            if plane.weight > 0.0 && height < lowest.1 {
                lowest = (Some(place), height);
            }
        }
        (highest, lowest)
    }

    fn weight(&mut self, choice: Choice) -> &mut f64 {
        match choice {
            None => &mut self.left,
            Some(place) => &mut self.planes[place].weight,
        }
    }

    /// Moves weight to the highest plane; u follows. Answers how much higher it was than the lowest with weight.
    fn ascend(&mut self, lambda: f64, u: &mut [f64]) -> f64 {
        let ((to, high), (from, low)) = self.extremes(u);
        if high <= low {
            return 0.0;
        }
        let zero = vec![0.0; u.len()];
        let normal = |choice: Choice| choice.map_or(&*zero, |place| &*self.planes[place].normal);
        let change: Vec<f64> = normal(to).iter().zip(normal(from)).map(|(to, from)| to - from).collect();
        let curvature = self.c * dot(&change, &change) / (2.0 * lambda);
        let most = *self.weight(from);
        let share = if curvature > 0.0 { ((high - low) / curvature).min(most) } else { most };
        *self.weight(from) -= share;
        *self.weight(to) += share;
        let step = self.c * share / (2.0 * lambda);
        u.iter_mut().zip(&change).for_each(|(u, change)| *u -= step * change);
        high - low
    }
}

/// The state of one fit.
struct Run<'p, 'a> {
    problem: &'p ListProblem<'a>,
    lambda: f64,
    sets: &'p mut [WorkingSet],
    u: Vec<f64>,
    best: (Vec<f64>, f64),
    bound: f64,
}

impl<'p, 'a> Run<'p, 'a> {
    fn new(problem: &'p ListProblem<'a>, lambda: f64, sets: &'p mut [WorkingSet]) -> Self {
        let (u, best) = (vec![0.0; problem.dim()], (problem.beginning(), f64::INFINITY));
        Self { problem, lambda, sets, u, best, bound: 0.0 }
    }

    fn run(mut self, options: &SolveOptions, canceled: Canceled<'_>) -> Report {
        let began = Instant::now();
        let mut steps: Vec<Step> = Vec::new();
        let mut loss_at_start = None;
        let stop = loop {
            self.bound_by_weights();
            self.look_and_cut();
            let objective = self.best.1;
            let gap = self.gap();
            steps.push(Step { objective, gap, seconds: began.elapsed().as_secs_f64() });
            if gap <= options.allowed_gap(objective, *loss_at_start.get_or_insert(objective)) {
                break Stop::Converged;
            }
            if canceled() {
                break Stop::Interrupted;
            }
            if steps.len() > options.max_iterations as usize {
                break Stop::IterationLimit;
            }
            self.ascend(INNER * gap);
        };
        let (iterations, gap) = (steps.len() as u32 - 1, self.gap());
        let (w, objective) = self.best;
        (w, SolveReport { stop, iterations, objective, gap, steps })
    }

    fn gap(&self) -> f64 {
        (self.best.1 - self.bound).max(0.0)
    }

    /// Computes u and the dual from the weights, without what rounding has added up.
    fn bound_by_weights(&mut self) {
        self.u.fill(0.0);
        let mut dual = 0.0;
        for set in &*self.sets {
            for plane in set.planes.iter().filter(|plane| plane.weight > 0.0) {
                dual += set.c * plane.weight * plane.offset;
                let step = set.c * plane.weight / (2.0 * self.lambda);
                self.u.iter_mut().zip(&plane.normal).for_each(|(u, g)| *u -= step * g);
            }
        }
        self.bound = self.bound.max(dual - self.lambda * dot(&self.u, &self.u));
    }

    /// P at u; adds to every query the plane of its loss there where it is higher than all it has.
    fn look_and_cut(&mut self) {
        let w = self.problem.to_point(&self.u);
        let mut risk = 0.0;
        for (set, (value, normal)) in self.sets.iter_mut().zip(self.problem.query_planes(&w)) {
            risk += set.c * value;
            set.planes.retain(|plane| plane.weight > 0.0 || plane.idle <= IDLE);
            set.planes.iter_mut().for_each(|p| p.idle = if p.weight > 0.0 { 0 } else { p.idle + 1 });
            if set.c > 0.0 && value > set.extremes(&self.u).0.1 {
                let offset = value - dot(&normal, &self.u);
                set.planes.push(Plane { normal, offset, weight: 0.0, idle: 0 });
            }
        }
        let objective = risk + self.lambda * self.problem.distance2(&w);
        if objective < self.best.1 {
            self.best = (w, objective);
        }
    }

    /// Ascends on the dual until the planes' own gap is at most this.
    fn ascend(&mut self, enough: f64) {
        for _ in 0..SWEEPS {
            let mut missing = 0.0;
            for set in self.sets.iter_mut().filter(|set| !set.planes.is_empty()) {
                missing += set.c * set.ascend(self.lambda, &mut self.u);
                for _ in 1..MOVES {
                    if set.ascend(self.lambda, &mut self.u) <= 0.0 {
                        break;
                    }
                }
            }
            if missing <= enough {
                break;
            }
        }
    }
}
