//! Constraint generation (Le, Smola, Chapelle & Teo, section 4.5; Tsochantaridis et al. 2005), for convex losses.
//!
//! Each query q has its own planes, g_k.u + o_k <= L_q at w = w0 + u, and the plane 0. If the maximum of its planes
//! replaces the loss of each query, the problem has the dual
//!
//! ```text
//! max over a_q >= 0, sum a_q <= 1 of  sum_q c_q o_q.a_q - lambda |u|^2,     u = -sum_q c_q G_q'a_q / (2 lambda)
//! ```
//!
//! This is a lower bound of min P for every a. A round adds to each query the plane of its loss at w. Then it visits the
//! queries several times and moves weight from the lowest plane that has any to the highest one, to the maximum of the
//! dual. Each plane takes b numbers of memory, and there is one per query and round; `bundle` has one per round.

use super::ListProblem;
use crate::base::{Control, matrix_bytes};
use crate::cost::loss::Shape;
use crate::learn::solve::{ListMethod, SolverDef, plane_bytes};
use crate::math::{Best, Method, Ridge, axpy, difference, dot, iterate, solve_path};

/// Largest number of sweeps over all queries per round.
const MOST_SWEEPS: usize = 30;
/// Accuracy of the dual in a round, relative to the gap.
const INNER_ACCURACY: f64 = 0.1;
/// Largest number of weight moves per visit of a query.
const MOST_MOVES: usize = 5;
/// Number of rounds without weight after which a plane is dropped.
const MOST_IDLE_ROUNDS: u32 = 50;

pub const CONSTRAINT_GENERATION: SolverDef = SolverDef {
    name: "constraint_generation",
    pair: None,
    list: Some(ListMethod {
        shapes: &[Shape::Convex],
        path: |problem, lambdas, rule, control| {
            let mut sets: Vec<WorkingSet> = problem.blocks.iter().map(|(_, c)| WorkingSet::new(*c)).collect();
            solve_path(lambdas, |lambda, _| {
                iterate(rule, control, || Run::new(problem, problem.ridge(lambda), &mut sets))
            })
        },
        bytes: |problem| {
            plane_bytes(problem).saturating_add(matrix_bytes(problem.blocks.len(), 5 * problem.dim()))
        },
    }),
};

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

/// The planes of a query.
struct WorkingSet {
    c: f64,
    planes: Vec<Plane>,
    /// Weight of the zero plane: 1 minus the sum of the other weights.
    zero_weight: f64,
}

/// A plane of a query; `None` is the plane 0.
type PlaneIndex = Option<usize>;

impl WorkingSet {
    fn new(c: f64) -> Self {
        Self { c, planes: Vec::new(), zero_weight: 1.0 }
    }

    /// The highest plane and the lowest one with weight, with their heights.
    fn extremes(&self, u: &[f64]) -> ((PlaneIndex, f64), (PlaneIndex, f64)) {
        let mut highest = (None, 0.0);
        let mut lowest = (None, if self.zero_weight > 0.0 { 0.0 } else { f64::INFINITY });
        for (index, plane) in self.planes.iter().enumerate() {
            let height = plane.height(u);
            if height > highest.1 {
                highest = (Some(index), height);
            }
            if plane.weight > 0.0 && height < lowest.1 {
                lowest = (Some(index), height);
            }
        }
        (highest, lowest)
    }

    fn weight(&mut self, index: PlaneIndex) -> &mut f64 {
        match index {
            None => &mut self.zero_weight,
            Some(index) => &mut self.planes[index].weight,
        }
    }

    /// Moves weight from the lowest plane to the highest one and updates u. Returns their difference in height before.
    fn ascend(&mut self, lambda: f64, u: &mut [f64]) -> f64 {
        let ((to, high), (from, low)) = self.extremes(u);
        if high <= low {
            return 0.0;
        }
        let zero = vec![0.0; u.len()];
        let normal = |index: PlaneIndex| index.map_or(&*zero, |index| &*self.planes[index].normal);
        let change = difference(normal(to), normal(from));
        // The dual is a parabola in the moved weight.
        let curvature = self.c * dot(&change, &change) / (2.0 * lambda);
        let most = *self.weight(from);
        let moved = if curvature > 0.0 { ((high - low) / curvature).min(most) } else { most };
        *self.weight(from) -= moved;
        *self.weight(to) += moved;
        axpy(-(self.c * moved / (2.0 * lambda)), &change, u);
        high - low
    }

    /// Drops idle planes, then adds the plane of the loss at u if it is higher than all others.
    fn update(&mut self, u: &[f64], value: f64, normal: Vec<f64>) {
        self.planes.retain(|plane| plane.weight > 0.0 || plane.idle <= MOST_IDLE_ROUNDS);
        self.planes.iter_mut().for_each(|p| p.idle = if p.weight > 0.0 { 0 } else { p.idle + 1 });
        if self.c > 0.0 && value > self.extremes(u).0.1 {
            let offset = value - dot(&normal, u);
            self.planes.push(Plane { normal, offset, weight: 0.0, idle: 0 });
        }
    }
}

/// The state of one fit.
struct Run<'p, 'a, 's> {
    problem: &'p ListProblem<'a>,
    objective: Ridge<'p>,
    sets: &'s mut [WorkingSet],
    u: Vec<f64>,
    /// The best point and P there.
    best: (Vec<f64>, f64),
    bound: f64,
}

impl<'p, 'a, 's> Run<'p, 'a, 's> {
    fn new(problem: &'p ListProblem<'a>, objective: Ridge<'p>, sets: &'s mut [WorkingSet]) -> Self {
        let (u, best) = (vec![0.0; problem.dim()], (problem.start(), f64::INFINITY));
        let mut run = Self { problem, objective, sets, u, best, bound: 0.0 };
        run.add_planes();
        run
    }

    /// Adds to each query the plane of its loss at the u of the weights.
    fn add_planes(&mut self) {
        // 1. u and the dual from the weights, because updates of u accumulate rounding.
        self.u.fill(0.0);
        let mut dual = 0.0;
        for set in &*self.sets {
            for plane in set.planes.iter().filter(|plane| plane.weight > 0.0) {
                dual += set.c * plane.weight * plane.offset;
                axpy(-(set.c * plane.weight / (2.0 * self.objective.lambda)), &plane.normal, &mut self.u);
            }
        }
        self.bound = self.bound.max(dual - self.objective.lambda * dot(&self.u, &self.u));
        // 2. P and the planes at u.
        let w = self.objective.to_point(&self.u);
        let mut risk = 0.0;
        for (set, (value, normal)) in self.sets.iter_mut().zip(self.problem.query_planes(&w)) {
            risk += set.c * value;
            set.update(&self.u, value, normal);
        }
        let objective = risk + self.objective.penalty(&w);
        if objective < self.best.1 {
            self.best = (w, objective);
        }
    }

    /// Maximizes the dual until the gap of the current planes is at most `accuracy`.
    fn maximize_dual(&mut self, accuracy: f64) {
        for _ in 0..MOST_SWEEPS {
            let mut gap = 0.0;
            for set in self.sets.iter_mut().filter(|set| !set.planes.is_empty()) {
                gap += set.c * set.ascend(self.objective.lambda, &mut self.u);
                for _ in 1..MOST_MOVES {
                    if set.ascend(self.objective.lambda, &mut self.u) <= 0.0 {
                        break;
                    }
                }
            }
            if gap <= accuracy {
                break;
            }
        }
    }
}

impl Method for Run<'_, '_, '_> {
    fn best(&self) -> Best<'_> {
        Best::with_bound(&self.best.0, self.best.1, self.bound)
    }

    fn advance(&mut self, _control: &Control) -> bool {
        self.maximize_dual(INNER_ACCURACY * self.best().gap);
        self.add_planes();
        true
    }
}
