//! Remote rows against the same rows in memory.

use std::cell::Cell;

use super::*;
use crate::learn::solve::{RemoteProblem, StopRule, hinge_origin, hinge_sums, solve_hinge};

/// The solution of a problem with remote rows, and the number of questions.
fn asked(problem: &PairProblem<'_>, tolerance: f64) -> (Solution, usize) {
    let (control, questions) = (Control::default(), Cell::new(0));
    let pairs = problem.useful_blocks().map(|(block, _)| block.pairs).sum();
    let ask = |w: &[f64], widths: [f64; 2]| {
        questions.set(questions.get() + 1);
        hinge_sums(problem, w, widths, &control)
    };
    let origin = hinge_origin(problem, &control);
    let rule = StopRule { tolerance, max_iterations: 1000 };
    let remote =
        RemoteProblem { dim: problem.dim, origin: &origin, pairs, lambda: problem.lambda, start: None };
    let solution = solve_hinge(&remote, &ask, &rule, &control).unwrap();
    (solution, questions.get())
}

/// A question is a round over all rows. Only problems of few pairs, whose solutions are at vertices, take many.
#[test]
fn asked_rows_have_the_solution_of_rows_in_memory_after_few_questions() {
    for (queries, docs, dim, most) in [(20, 10, 5, 50), (60, 10, 5, 25), (200, 20, 10, 10), (400, 20, 10, 10)]
    {
        let shape = Shape { seed: 7, queries, docs, dim, grades: 5, noise: 1.5 };
        let blocks = blocks(&shape);
        let weight = |block: &PairBlock| 1.0 / (queries as u64 * block.pairs.max(1)) as f64;
        let weights: Vec<_> = blocks.iter().map(|block| (block, weight(block))).collect();
        for lambda in [1.0, 0.01, 1e-4] {
            let problem = problem(&weights, lambda);
            let (w, report) = fit(&problem, 1e-6);
            let (own, questions) = asked(&problem, 1e-6);
            let what = format!("{queries} x {docs} x {dim}, lambda {lambda}: {questions} questions");
            assert!(questions <= most, "{what}");
            assert_eq!(own.report.stop, Stop::Converged, "{what}");
            // Both objectives are within the tolerance of the least one.
            let (objective, expected) = (own.report.objective, report.objective);
            assert!((objective - expected).abs() <= 1.01e-6 * expected, "{what}: {objective} {expected}");
            // P is strongly convex: lambda |w - w*|^2 is at most the gap.
            let distance: f64 = w.iter().zip(&own.w).map(|(a, b)| (a - b) * (a - b)).sum();
            assert!(lambda * distance <= 4.04e-6 * expected, "{what}: {distance}");
        }
    }
}
