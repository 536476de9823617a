//! Least squares by a linear system, for quadratic losses.
//!
//! ```text
//! (A + 2 lambda I) w = b + 2 lambda w0                              A = Z'Z (`gram`)
//! (A + 2 lambda I)^-1 g = (g - Z'(Z Z' + 2 lambda I)^-1 Z g) / (2 lambda)    if documents are fewer than features
//! ```
//!
//! One pass over the documents computes the matrix. Each lambda needs a factor of it and a pass, whose gradient g certifies
//! the solution by |g|^2 / (4 lambda). If the gap is too large, w - (A + 2 lambda I)^-1 g is the next solution. If the
//! matrix has no factor in double precision, L-BFGS solves the problem.

use super::ListProblem;
use super::gram::{Gram, Outer, scaled_rows};
use crate::base::control::Control;
use crate::cost::loss::Shape;
use crate::learn::solve::{ListMethod, SolverDef};
use crate::math::dense::dot;
use crate::math::optim::vector::{axpy, difference};
use crate::math::optim::{
    Best, Method, Objective, Point, Ridge, Solution, StopRule, iterate, lbfgs, solve_path,
};

const MOST_CORRECTIONS: usize = 5;

/// The definition.
pub const LEAST_SQUARES: SolverDef = SolverDef {
    name: "least_squares",
    summary: "the linear system of least squares, for quadratic listwise losses",
    pair: None,
    list: Some(ListMethod { shapes: &[Shape::Quadratic], path }),
};

fn path(problem: &ListProblem<'_>, lambdas: &[f64], rule: &StopRule, control: &Control) -> Vec<Solution> {
    solve_all((problem, problem.center()), System::new(problem), problem.start(), (lambdas, rule), control)
}

/// The solutions for each lambda, from the sums over documents, without a center.
pub fn path_of_sums(gram: &Gram, lambdas: &[f64], rule: &StopRule, control: &Control) -> Vec<Solution> {
    let system = System::Features(gram.clone());
    solve_all((gram, None), Some(system), vec![0.0; gram.dim()], (lambdas, rule), control)
}

fn solve_all(
    (risk, center): (&dyn Objective, Option<&[f64]>),
    mut system: Option<System>,
    mut start: Vec<f64>,
    (lambdas, rule): (&[f64], &StopRule),
    control: &Control,
) -> Vec<Solution> {
    solve_path(lambdas, |lambda, _| {
        let ridge = Ridge { risk, lambda, center };
        let direct = system.as_ref().and_then(|system| solve(ridge, system, &start, rule, control));
        direct.unwrap_or_else(|| {
            // Smaller lambdas would have no factor either.
            system = None;
            let solution = lbfgs::minimize(&ridge, start.clone(), rule, control);
            start.clone_from(&solution.w);
            solution
        })
    })
}

/// The smaller of both systems.
enum System {
    /// Over features.
    Features(Gram),
    /// Over documents: Z Z' and the columns of Z.
    Documents(Outer, Vec<f64>),
}

impl System {
    /// `None` if the loss is not quadratic.
    fn new(problem: &ListProblem<'_>) -> Option<Self> {
        let (dim, documents) = (problem.dim(), problem.documents());
        // Without documents (all neighbors too far away) the matrix over features is 0 and the solution is the prior.
        if documents >= dim || documents == 0 {
            return Gram::of(dim, problem.blocks()).ok().map(Self::Features);
        }
        let mut columns = vec![0.0; dim * documents];
        let mut document = 0;
        for (block, weight) in problem.blocks() {
            for row in scaled_rows(block, block.loss(), *weight, dim).ok()?.chunks_exact(dim + 1) {
                (0..dim).for_each(|feature| columns[feature * documents + document] = row[feature]);
                document += 1;
            }
        }
        let mut outer = Outer::zero(documents);
        outer.add_rows(&columns);
        Some(Self::Documents(outer, columns))
    }

    /// The first solution.
    fn first(&self, ridge: &Ridge<'_>, start: &[f64]) -> Option<Vec<f64>> {
        match self {
            Self::Features(gram) => gram.solve(ridge.lambda, ridge.center),
            Self::Documents(..) => Some(start.to_vec()),
        }
    }

    /// (A + 2 lambda I)^-1 g.
    fn inverse_times(&self, lambda: f64, g: &[f64]) -> Option<Vec<f64>> {
        let (outer, columns) = match self {
            Self::Features(gram) => return gram.inverse_times(lambda, g),
            Self::Documents(outer, columns) => (outer, columns),
        };
        let documents = columns.len() / g.len();
        let mut scores = vec![0.0; documents];
        for (column, g) in columns.chunks_exact(documents).zip(g) {
            axpy(*g, column, &mut scores);
        }
        let dual = outer.solve(2.0 * lambda, &scores)?;
        let back = columns.chunks_exact(documents).map(|column| dot(column, &dual));
        Some(g.iter().zip(back).map(|(g, back)| (g - back) / (2.0 * lambda)).collect())
    }
}

/// Solves for one lambda. `None` if the matrix has no factor.
fn solve(
    objective: Ridge<'_>,
    system: &System,
    start: &[f64],
    rule: &StopRule,
    control: &Control,
) -> Option<Solution> {
    let first = system.first(&objective, start)?;
    let mut factor_exists = true;
    let solution = iterate(rule, control, || Refinement {
        objective,
        system,
        point: objective.at(first),
        corrections: 0,
        factor_exists: &mut factor_exists,
    });
    factor_exists.then_some(solution)
}

/// Iterative refinement of a solution.
struct Refinement<'p> {
    objective: Ridge<'p>,
    system: &'p System,
    point: Point,
    corrections: usize,
    factor_exists: &'p mut bool,
}

impl Method for Refinement<'_> {
    fn best(&self) -> Best<'_> {
        self.objective.certify(&self.point)
    }

    fn advance(&mut self, _control: &Control) -> bool {
        self.corrections += 1;
        if self.corrections > MOST_CORRECTIONS {
            return false;
        }
        let Some(change) = self.system.inverse_times(self.objective.lambda, &self.point.gradient) else {
            *self.factor_exists = false;
            return false;
        };
        let next = self.objective.at(difference(&self.point.w, &change));
        let size = |point: &Point| dot(&point.gradient, &point.gradient);
        let improves = size(&next) < size(&self.point);
        if improves {
            self.point = next;
        }
        improves
    }
}
