//! Weights of pairs: every solver against explicit pairs, each a query with the weight of the pair.

use proptest::prelude::*;
use sqlite_ltr::internals::base::control::Control;
use sqlite_ltr::internals::cost::loss::{Loss, PairLoss, PairWeights};
use sqlite_ltr::internals::learn::solve::{
    PairBlock, PairProblem, PairWeighting, SOLVERS, Solution, SolveOptions, SolverDef,
    objective_by_definition, solve,
};
use sqlite_ltr::internals::math::random::Random;

use super::interior_point;

const KINDS: [PairWeights; 3] = [PairWeights::Equal, PairWeights::Grade, PairWeights::Gain];
const LOSSES: [PairLoss; 4] = [PairLoss::Hinge, PairLoss::SquaredHinge, PairLoss::Logistic, PairLoss::Psi];

/// Queries with weights of documents, a quarter of them 0.
struct Case {
    dim: usize,
    queries: Vec<Query>,
}

struct Query {
    x: Vec<f64>,
    labels: Vec<f64>,
    weights: Vec<f64>,
    c: f64,
}

impl Case {
    fn new(seed: u64, queries: usize, docs: usize, dim: usize) -> Self {
        let mut numbers = Random::new(seed);
        let query = |index: usize| {
            let x: Vec<f64> = (0..docs * dim).map(|_| numbers.symmetric()).collect();
            let labels = (0..docs).map(|_| (2.5 * numbers.symmetric() + 2.5).floor()).collect();
            let weight = |number: f64| if number < -0.5 { 0.0 } else { 1.5 * (number + 0.6) };
            let weights = (0..docs).map(|_| weight(numbers.symmetric())).collect();
            Query { x, labels, weights, c: (0.2 + index as f64) / (docs * queries) as f64 }
        };
        Self { dim, queries: (0..queries).map(query).collect() }
    }

    fn blocks(&self, by: PairWeights) -> Vec<PairBlock> {
        let block = |Query { x, labels, weights, .. }: &Query| {
            let block = PairBlock::new(x, labels, self.dim).unwrap();
            block.weighted(PairWeighting { by, documents: weights }).unwrap().with_moment()
        };
        self.queries.iter().map(block).collect()
    }

    /// c times the weight of each pair, and z, by the definition.
    fn pairs(&self, by: PairWeights) -> Vec<(f64, Vec<f64>)> {
        let mut pairs = Vec::new();
        for Query { x, labels, weights, c } in &self.queries {
            for a in 0..labels.len() {
                for b in (0..labels.len()).filter(|b| labels[a] > labels[*b]) {
                    let by_grades = match by {
                        PairWeights::Equal => 1.0,
                        PairWeights::Grade => labels[a] - labels[b],
                        PairWeights::Gain => labels[a].exp2() - labels[b].exp2(),
                    };
                    let row = |i: usize| &x[i * self.dim..(i + 1) * self.dim];
                    let z = row(a).iter().zip(row(b)).map(|(x, y)| x - y).collect();
                    pairs.push((c * weights[a] * by_grades, z));
                }
            }
        }
        pairs
    }
}

fn fit(problem: &PairProblem<'_>, solver: &'static SolverDef, tolerance: f64) -> Solution {
    solve(problem, &SolveOptions { solver, tolerance, max_iterations: 200_000 }, &Control::default()).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: crate::cases(24), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_optimum_matches_explicit_pairs(
        seed in any::<u64>(), queries in 1..4usize, docs in 2..20usize, dim in 1..7usize, exponent in -2.5..0.5
    ) {
        let (case, lambda) = (Case::new(seed, queries, docs, dim), 10f64.powf(exponent));
        for by in KINDS {
            let (blocks, pairs) = (case.blocks(by), case.pairs(by));
            let weighted = blocks.iter().zip(&case.queries).map(|(block, query)| (block, query.c)).collect();
            let problem = PairProblem::new(dim, weighted, lambda).unwrap();
            // 1. The objective, and the sums that need no loop over pairs.
            let single = |(c, z): &(f64, Vec<f64>)| {
                let rows: Vec<f64> = z.iter().copied().chain(vec![0.0; dim]).collect();
                (PairBlock::new(&rows, &[1.0, 0.0], dim).unwrap(), *c)
            };
            let singles: Vec<(PairBlock, f64)> = pairs.iter().map(single).collect();
            let explicit = singles.iter().map(|(block, c)| (block, *c)).collect();
            let explicit = PairProblem::new(dim, explicit, lambda).unwrap();
            let total: f64 = pairs.iter().map(|(c, _)| c).sum();
            let actual: f64 = problem.blocks.iter().map(|(block, c)| c * block.total_weight()).sum();
            prop_assert!((actual - total).abs() <= 1e-13 * total);
            // 2. Each loss by each solver that takes it.
            for loss in LOSSES {
                let (problem, explicit) = (problem.clone().with_loss(loss), explicit.clone().with_loss(loss));
                let w: Vec<f64> = (0..dim).map(|j| (j as f64).cos()).collect();
                let (value, expected) = (objective_by_definition(&problem, &w), objective_by_definition(&explicit, &w));
                prop_assert!((value - expected).abs() <= 1e-13 * expected, "{by:?} {loss:?}");
                let newton = sqlite_ltr::internals::learn::solve::find("newton").unwrap();
                // Psi is not convex: rounding decides which local minimum is found. There only the value is compared.
                let optimum = (loss != PairLoss::Psi).then(|| fit(&explicit, newton, 1e-10).report);
                let takes = |solver: &&&SolverDef| solver.takes(&Loss::Pair(loss, by));
                for solver in SOLVERS.iter().filter(takes) {
                    let tolerance = if solver.name == "newton" { 1e-10 } else { 1e-6 };
                    let solution = fit(&problem, solver, tolerance);
                    let report = solution.report;
                    let (objective, gap) = match &optimum {
                        Some(optimum) => (optimum.objective, report.gap + optimum.gap),
                        None => (objective_by_definition(&explicit, &solution.w), 0.0),
                    };
                    let allowed = gap.max(1e-12 * total) + 1e-9 * objective;
                    let difference = (report.objective - objective).abs();
                    prop_assert!(difference <= allowed, "{by:?} {loss:?} {}: {report:?} {optimum:?}", solver.name);
                }
                if loss == PairLoss::Hinge && total > 0.0 {
                    let given = pairs.iter().filter(|(c, _)| *c > 0.0).cloned().collect();
                    let answer = interior_point::solve(
                        &interior_point::Problem { pairs: given, lambda, center: vec![0.0; dim] },
                        1e-10,
                    );
                    let optimum = fit(&problem, newton, 1e-10).report.objective;
                    let allowed = 1e-8 * answer.objective.max(1e-6 * total);
                    prop_assert!((optimum - answer.objective).abs() <= allowed, "{by:?}: {optimum} {answer:?}");
                }
            }
        }
    }
}

/// Fewer documents than features: the problem is solved in the span of the documents.
#[test]
fn a_reduced_problem_keeps_its_weights() {
    let case = Case::new(7, 2, 9, 80);
    for by in KINDS {
        let blocks = case.blocks(by);
        let weighted = blocks.iter().zip(&case.queries).map(|(block, query)| (block, query.c)).collect();
        let problem = PairProblem::new(80, weighted, 0.02).unwrap();
        let pairs = case.pairs(by).into_iter().filter(|(c, _)| *c > 0.0).collect();
        let answer = interior_point::solve(
            &interior_point::Problem { pairs, lambda: 0.02, center: vec![0.0; 80] },
            1e-10,
        );
        let found = fit(&problem, SOLVERS[0], 1e-10).report;
        assert!(
            (found.objective - answer.objective).abs() <= 1e-8 * answer.objective,
            "{found:?} {answer:?}"
        );
    }
}

#[test]
fn weights_out_of_range_are_refused() {
    let block = || PairBlock::new(&[1.0, 2.0], &[1.0, 400.0], 1).unwrap();
    let weighted = |by, documents: &[f64]| block().weighted(PairWeighting { by, documents }).map(|_| ());
    for documents in [&[1.0][..], &[1.0, -1.0], &[f64::NAN, 1.0], &[f64::INFINITY, 1.0]] {
        assert!(weighted(PairWeights::Equal, documents).is_err(), "{documents:?}");
    }
    let error = weighted(PairWeights::Gain, &[]).unwrap_err().to_string();
    assert!(error.contains("grade 400") && error.contains("up to 300"), "{error}");
    assert!(weighted(PairWeights::Grade, &[0.0, 0.0]).is_ok());
}
