//! Least squares by its linear system, for quadratic losses.
//!
//! ```text
//! (A + 2 lambda I) w = b + 2 lambda w0                              A = Z'Z (`gram`)
//! (A + 2 lambda I)^-1 g = (g - Z'(Z Z' + 2 lambda I)^-1 Z g) / (2 lambda)    where documents are fewer than features
//! ```
//!
//! The documents are read once for the matrix; every lambda takes a factor of it and a pass, whose gradient g certifies
//! the answer by |g|^2 / (4 lambda). Where that is not enough, w less (A + 2 lambda I)^-1 g is the next answer. Where the
//! matrix has no factor in double precision, L-BFGS solves the problem.

use std::time::Instant;

use super::gram::{Gram, Outer, scaled_rows};
use super::lbfgs::LBFGS;
use super::{ListProblem, Report};
use crate::loss::Shape;
use crate::math::dense::dot;
use crate::solve::{Canceled, ListWork, SolveOptions, SolveReport, SolverDef, Step, Stop};

/// Most corrections of one answer.
const CORRECTIONS: usize = 5;

/// The definition.
pub const LEAST_SQUARES: SolverDef = SolverDef {
    name: "least_squares",
    summary: "the linear system of least squares, for quadratic listwise losses",
    pair: None,
    list: Some(ListWork { shapes: &[Shape::Quadratic], path }),
};

/// The system in its smaller form.
enum System {
    /// Over features.
    Features(Gram),
    /// Over documents: Z Z' and the columns of Z.
    Documents(Outer, Vec<f64>),
}

fn path(
    problem: &ListProblem<'_>,
    lambdas: &[f64],
    options: &SolveOptions,
    canceled: &(dyn Fn() -> bool + Sync),
) -> Vec<Report> {
    let Some(system) = System::new(problem) else {
        return LBFGS.list_path()(problem, lambdas, options, canceled);
    };
    let mut fits = Vec::with_capacity(lambdas.len());
    for &lambda in lambdas {
        let Some(fit) = solve(problem, &system, lambda, options, canceled) else {
            let rest = &lambdas[fits.len()..];
            fits.extend(LBFGS.list_path()(problem, rest, options, canceled));
            break;
        };
        let stop = fit.1.stop;
        fits.push(fit);
        if stop == Stop::Interrupted {
            break;
        }
    }
    fits
}

impl System {
    /// `None` where the loss is not quadratic.
    fn new(problem: &ListProblem<'_>) -> Option<Self> {
        let documents: usize = problem.blocks().iter().map(|(block, _)| block.n_docs()).sum();
        if documents >= problem.dim() {
            return Gram::of(problem.dim(), problem.blocks()).ok().map(Self::Features);
        }
        let dim = problem.dim();
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

    /// The first answer, at best the last one.
    fn first(&self, problem: &ListProblem<'_>, lambda: f64) -> Option<Vec<f64>> {
        match self {
            Self::Features(gram) => gram.solve(lambda, problem.center()),
            Self::Documents(..) => Some(problem.beginning()),
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
            scores.iter_mut().zip(column).for_each(|(score, z)| *score += g * z);
        }
        let shares = outer.solve(2.0 * lambda, &scores)?;
        let back = columns.chunks_exact(documents).map(|column| dot(column, &shares));
        Some(g.iter().zip(back).map(|(g, back)| (g - back) / (2.0 * lambda)).collect())
    }
}

/// One lambda; `None` where its matrix has no factor.
fn solve(
    problem: &ListProblem<'_>,
    system: &System,
    lambda: f64,
    options: &SolveOptions,
    canceled: Canceled<'_>,
) -> Option<Report> {
    let began = Instant::now();
    let mut w = system.first(problem, lambda)?;
    let mut gradient = vec![0.0; problem.dim()];
    let mut objective = problem.objective(lambda, &w, &mut gradient);
    let scale = objective;
    let mut steps = Vec::new();
    let stop = loop {
        let gap = dot(&gradient, &gradient) / (4.0 * lambda);
        steps.push(Step { objective, gap, seconds: began.elapsed().as_secs_f64() });
        if gap <= options.allowed_gap(objective, scale) {
            break Stop::Converged;
        }
        if canceled() {
            break Stop::Interrupted;
        }
        if steps.len() > CORRECTIONS {
            break Stop::Stalled;
        }
        let change = system.inverse_times(lambda, &gradient)?;
        let next: Vec<f64> = w.iter().zip(change).map(|(w, change)| w - change).collect();
        let mut next_gradient = vec![0.0; problem.dim()];
        let next_objective = problem.objective(lambda, &next, &mut next_gradient);
        if dot(&next_gradient, &next_gradient) >= dot(&gradient, &gradient) {
            break Stop::Stalled;
        }
        (w, gradient, objective) = (next, next_gradient, next_objective);
    };
    let gap = dot(&gradient, &gradient) / (4.0 * lambda);
    Some((w, SolveReport { stop, iterations: steps.len() as u32 - 1, objective, gap, steps }))
}
