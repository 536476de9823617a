//! Every solver against every other on random problems with losses of each shape, and against its report.

mod agreement;
mod interior_point;
mod losses;
mod rounds;

use ndarray::Array2;
use serde_json::json;

use super::*;
use crate::base::{Control, Params};
use crate::cost::loss::{ListLoss, Loss, QueryLoss, Shape, find};
use crate::data::Matrix;
use crate::learn::solve::{SOLVERS, SolverDef};
use crate::math::{Objective, Random, Solution, SolveReport, Stop, StopRule};

use losses::{Largest, Ramp, Swapped};

/// Queries with random documents and grades.
struct Case {
    dim: usize,
    loss: ListLoss,
    labels: Vec<Vec<f64>>,
    blocks: Vec<ListBlock>,
    weights: Vec<f64>,
}

const SQUARED: &str = "squared";
const LIST_NET: &str = "list_net";

impl Case {
    fn new(seed: u64, queries: usize, dim: usize, loss: &str) -> Self {
        Self::with_options(seed, [queries, 12, dim], loss, &json!({}))
    }

    /// The same queries for any loss, with at most `documents` documents each.
    fn with_options(
        seed: u64,
        [queries, documents, dim]: [usize; 3],
        loss: &str,
        options: &serde_json::Value,
    ) -> Self {
        let options: Params = options.as_object().unwrap().clone().into();
        let Loss::List(loss) = find(loss).unwrap().make(&options).unwrap() else { unreachable!() };
        let mut random = Random::new(seed);
        let (mut labels, mut blocks, mut weights) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..queries {
            let n = 1 + random.below(documents);
            let x: Vec<f64> = (0..n * dim).map(|_| 2.0 * random.symmetric()).collect();
            let y: Vec<f64> = (0..n).map(|row| (x[row * dim] + 2.0 * random.symmetric()).round()).collect();
            let rows = Rows::Own(Matrix::F64(Array2::from_shape_vec((n, dim), x).unwrap()));
            blocks.push(ListBlock::new(rows, &y, &[], &loss).unwrap());
            labels.push(y);
            weights.push((1.0 + 0.5 * random.symmetric()) / queries as f64);
        }
        Self { dim, loss, labels, blocks, weights }
    }

    fn problem(&self) -> ListProblem<'_> {
        let blocks = self.blocks.iter().zip(self.weights.iter().copied()).collect();
        ListProblem::new(self.dim, &self.loss, blocks).unwrap()
    }

    /// The problem with a loss of these tests.
    fn with<L: QueryLoss + 'static>(&self, shape: Shape, loss: fn(&[f64]) -> L) -> ListProblem<'_> {
        let losses = self.labels.iter().map(|labels| Some(Box::new(loss(labels)) as Box<dyn QueryLoss>));
        self.problem().with_losses(losses.collect(), shape)
    }
}

fn rule(tolerance: f64) -> StopRule {
    StopRule { tolerance, max_iterations: 20_000 }
}

/// P at w.
fn value(problem: &ListProblem<'_>, lambda: f64, w: &[f64]) -> f64 {
    problem.ridge(lambda).at(w.to_vec()).value
}

/// R at w.
fn risk(problem: &ListProblem<'_>, w: &[f64]) -> f64 {
    problem.value(w, &mut vec![0.0; w.len()])
}

/// The fits of a solver, whatever losses it takes.
fn fits(
    problem: &ListProblem<'_>,
    lambdas: &[f64],
    solver: &'static SolverDef,
    tolerance: f64,
) -> Vec<Solution> {
    (solver.list.unwrap().path)(problem, lambdas, &rule(tolerance), &Control::default())
}

/// The solvers that take a shape.
fn taking(shape: Shape) -> impl Iterator<Item = &'static SolverDef> {
    SOLVERS.iter().copied().filter(move |solver| solver.list.is_some_and(|list| list.shapes.contains(&shape)))
}

/// One problem of every convex shape.
fn each_convex(case: &Case, mut visit: impl FnMut(&ListProblem<'_>)) {
    visit(&case.with(Shape::Convex, Largest::of));
    visit(&case.problem());
}

fn center(dim: usize) -> Vec<f64> {
    (0..dim).map(|i| 0.3 * (i as f64).cos()).collect()
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    let case = Case::new(5, 900, 9, LIST_NET);
    each_convex(&case, |problem| {
        for solver in taking(problem.shape()) {
            let with = |threads| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                pool.install(|| fits(problem, &[0.01], solver, 1e-5)).pop().unwrap()
            };
            let Solution { w, report } = with(1);
            for threads in [2, 5] {
                let Solution { w: other, report: again } = with(threads);
                assert_eq!(w, other, "{}", solver.name);
                let bits = |report: &SolveReport| (report.gap.to_bits(), report.iterations);
                assert_eq!(bits(&report), bits(&again), "{}", solver.name);
            }
        }
    });
}
