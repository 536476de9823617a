//! Every solver against the known optima of `tests/rust/golden/qsvm`, against every other solver on random
//! problems, and against its report.

mod interior_point;
mod pair_weights;

use std::path::Path;

use interior_point::Answer;
use proptest::prelude::*;
use serde_json::Value;
use sqlite_ltr::internals::base::control::Control;
use sqlite_ltr::internals::cost::loss::PairLoss;
use sqlite_ltr::internals::learn::solve::{
    PairBlock, PairProblem, SOLVERS, Solution, SolveOptions, SolveReport, SolverDef, Stop, find,
    objective_by_definition, pair_path, solve,
};
use sqlite_ltr::internals::math::random::Random;

/// One query of the input.
#[derive(Debug, Clone)]
struct Query {
    c: f64,
    x: Vec<Vec<f64>>,
    labels: Vec<f64>,
}

/// A problem with its blocks.
struct Case {
    queries: Vec<Query>,
    blocks: Vec<PairBlock>,
    dim: usize,
}

impl Case {
    fn new(queries: Vec<Query>, dim: usize) -> Self {
        let blocks = queries
            .iter()
            .map(|query| PairBlock::new(&query.x.concat(), &query.labels, dim).unwrap())
            .collect();
        Self { queries, blocks, dim }
    }

    fn problem(&self, lambda: f64) -> PairProblem<'_> {
        let weights = self.queries.iter().map(|query| query.c);
        PairProblem::new(self.dim, self.blocks.iter().zip(weights).collect(), lambda).unwrap()
    }

    /// Calls `visit(c, z)` for every pair.
    fn each_pair(&self, mut visit: impl FnMut(f64, &[f64])) {
        for query in &self.queries {
            for (x, high) in query.x.iter().zip(&query.labels) {
                for (y, low) in query.x.iter().zip(&query.labels) {
                    if high > low {
                        let z: Vec<f64> = x.iter().zip(y).map(|(x, y)| x - y).collect();
                        visit(query.c, &z);
                    }
                }
            }
        }
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

fn fit(problem: &PairProblem<'_>, solver: &'static SolverDef, tolerance: f64) -> Solution {
    solve(problem, &SolveOptions { solver, tolerance, max_iterations: 20_000 }, &Control::default()).unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
}

/// A problem of the file, its lambda in the scoring form and its optimum.
fn golden(name: &str) -> (Case, f64, f64) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/rust/golden/qsvm/problems.json");
    let all: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let problem = all["problems"].as_array().unwrap().iter().find(|p| p["name"] == name).unwrap();
    let given = problem["queries"].as_array().unwrap();
    let queries: Vec<Query> = given
        .iter()
        .map(|query| {
            let x: Vec<Vec<f64>> = query["x"].as_array().unwrap().iter().map(numbers).collect();
            let pairs = (given.len() * x.len() * (x.len() - 1)) as f64;
            Query { c: 2.0 * query["pi"].as_f64().unwrap() / pairs, x, labels: numbers(&query["y"]) }
        })
        .collect();
    let factor = if problem["form"] == "ranking" { 2.0 } else { 1.0 };
    let dim = queries[0].x[0].len();
    let lambda = factor * problem["lambda"].as_f64().unwrap();
    (Case::new(queries, dim), lambda, problem["solution"]["objective"].as_f64().unwrap())
}

/// The reference solution as a report, its objective checked.
fn reference(case: &Case, lambda: f64, center: Option<&[f64]>, tolerance: f64) -> SolveReport {
    let mut pairs = Vec::new();
    case.each_pair(|c, z| pairs.push((c, z.to_vec())));
    pairs.retain(|(c, _)| *c > 0.0);
    if pairs.is_empty() {
        return SolveReport::new(Stop::Empty, 0, 0.0, 0.0, Vec::new());
    }
    let total: f64 = pairs.iter().map(|(c, _)| c).sum();
    let center = center.map_or_else(|| vec![0.0; case.dim], <[f64]>::to_vec);
    let problem = case.problem(lambda).with_center(center.clone()).unwrap();
    let reference = interior_point::Problem { pairs, lambda, center };
    let Answer { w, objective, gap, iterations } = interior_point::solve(&reference, tolerance);
    let plain = objective_by_definition(&problem, &w);
    assert!((plain - objective).abs() <= 1e-9 * plain + 1e-11 * total, "{plain} is not {objective}");
    let converged = gap <= tolerance * objective.max(1e-9 * total);
    let stop = if converged { Stop::Converged } else { Stop::Stalled };
    SolveReport::new(stop, iterations, objective, gap, Vec::new())
}

#[test]
fn every_solver_finds_the_known_optimum() {
    let names = [
        "p1_scoring_linear",
        "p2_scoring_linear_ties_flat_zero",
        "p5_ranking_linear",
        "p7_scoring_linear_8q_tiny_lambda",
    ];
    for name in names {
        let (case, lambda, optimum) = golden(name);
        let problem = case.problem(lambda);
        let known = reference(&case, lambda, None, 1e-9);
        assert_eq!(known.stop, Stop::Converged, "{name}: {known:?}");
        assert!((known.objective - optimum).abs() <= 1e-8 * optimum, "{name}: {known:?}");
        for solver in SOLVERS.iter().filter(|solver| solver.pair.is_some()) {
            let report = fit(&problem, solver, 1e-9).report;
            let what = format!("{name} by {}: {:?} after {}", solver.name, report.stop, report.iterations);
            let error = report.objective - optimum;
            assert!(error.abs() <= report.gap + 1e-8 * optimum, "{what}: {error:e}, gap {:e}", report.gap);
            assert!(
                report.objective - report.gap <= optimum * (1.0 + 1e-8),
                "{what}: the certificate is wrong"
            );
            if solver.name == "admm" {
                // Nearly unregularized, the last problem takes it more iterations than it is given.
                let relative = if name.starts_with("p7") { 1e-3 } else { 1e-6 };
                assert!(report.gap <= relative * optimum, "{what}: gap {:e}", report.gap);
            } else {
                assert_eq!(report.stop, Stop::Converged, "{what}");
                assert!(error.abs() <= 1e-8 * optimum, "{what}: {error:e}");
            }
        }
    }
}

/// Parameters of a random problem.
#[derive(Debug, Clone)]
struct Shape {
    seed: u64,
    queries: usize,
    most_docs: usize,
    dim: usize,
    grades: u32,
}

fn shapes() -> impl Strategy<Value = Shape> {
    (any::<u64>(), 1..6usize, 1..12usize, 1..16usize, 1..6u32)
        .prop_map(|(seed, queries, most_docs, dim, grades)| Shape { seed, queries, most_docs, dim, grades })
}

/// Queries with ties, some of them flat, without weight, or with one document or one document twice.
fn random_case(shape: &Shape) -> Case {
    let mut numbers = Random::new(shape.seed);
    let truth: Vec<f64> = (0..shape.dim).map(|_| numbers.symmetric()).collect();
    let queries = (0..shape.queries)
        .map(|i| {
            let docs = 1 + (shape.most_docs as f64 * numbers.symmetric().abs()) as usize;
            let mut x: Vec<Vec<f64>> =
                (0..docs).map(|_| (0..shape.dim).map(|_| numbers.symmetric()).collect()).collect();
            if docs > 2 && i % 2 == 0 {
                let copy = x[0].clone();
                x[docs - 1] = copy;
            }
            let grades = f64::from(if i % 4 == 3 { 1 } else { shape.grades });
            let label = |row: &Vec<f64>, noise: f64| (grades * (0.5 * dot(row, &truth) + noise)).floor();
            let labels = x.iter().map(|row| label(row, numbers.symmetric())).collect();
            let labels = if grades > 1.0 { labels } else { vec![1.0; docs] };
            let c = if numbers.symmetric() < -0.7 {
                0.0
            } else {
                numbers.symmetric().abs() / shape.queries as f64
            };
            Query { c, x, labels }
        })
        .collect();
    Case::new(queries, shape.dim)
}

/// Solvers that take a center.
const CENTERED: [&str; 2] = ["newton", "admm"];

fn quick(solver: &'static SolverDef) -> SolveOptions {
    let (tolerance, max_iterations) = match solver.name {
        "newton" => (1e-6, 1000),
        _ => (1e-6, 300),
    };
    SolveOptions { solver, tolerance, max_iterations }
}

/// Sum of c over all pairs.
fn total_weight(case: &Case) -> f64 {
    let mut total = 0.0;
    case.each_pair(|c, _| total += c);
    total
}

/// sum of c L + lambda |w - w0|^2, pair by pair.
fn objective(case: &Case, lambda: f64, loss: PairLoss, center: &[f64], w: &[f64]) -> f64 {
    let mut sum = 0.0;
    case.each_pair(|c, z| {
        let violation = (1.0 - dot(w, z)).max(0.0);
        sum += c * if loss == PairLoss::SquaredHinge { violation * violation } else { violation };
    });
    sum + lambda * w.iter().zip(center).map(|(w, w0)| (w - w0) * (w - w0)).sum::<f64>()
}

/// Optima that are known to within their gaps cannot differ by more than the larger gap.
fn assert_agreement(reports: &[(&str, SolveReport)], noise: f64) -> Result<(), TestCaseError> {
    for (i, (name, one)) in reports.iter().enumerate() {
        for (other_name, other) in &reports[..i] {
            let difference = (one.objective - other.objective).abs();
            let allowed = one.gap.max(other.gap) + noise;
            prop_assert!(difference <= allowed, "{name} {one:?}\n{other_name} {other:?}\n{difference:e}");
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: crate::cases(120), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn solvers_agree_within_their_gaps(shape in shapes(), exponent in -8.0..3.0) {
        let case = random_case(&shape);
        let problem = case.problem(10f64.powf(exponent));
        let noise = 1e-12 * total_weight(&case);
        let known = reference(&case, problem.lambda, None, 1e-7);
        prop_assert!(matches!(known.stop, Stop::Converged | Stop::Empty), "{known:?}");
        let mut reports = vec![("reference", known)];
        for solver in SOLVERS.iter().filter(|solver| solver.pair.is_some()) {
            let Solution { w, report } = solve(&problem, &quick(solver), &Control::default()).unwrap();
            let plain = objective_by_definition(&problem, &w);
            prop_assert!((plain - report.objective).abs() <= 1e-9 * plain + noise, "{} {plain}", solver.name);
            prop_assert_eq!(report.steps.len(), report.iterations as usize, "{}", solver.name);
            if solver.name == "newton" {
                let ended = matches!(report.stop, Stop::Converged | Stop::Empty);
                prop_assert!(ended, "{} {report:?}", solver.name);
            }
            reports.push((solver.name, report));
        }
        assert_agreement(&reports, noise)?;
    }

    #[test]
    fn a_center_moves_the_optimum(shape in shapes(), exponent in -5.0..2.0, far in -2.0..2.0) {
        let case = random_case(&shape);
        let lambda = 10f64.powf(exponent);
        let mut numbers = Random::new(shape.seed + 1);
        let center: Vec<f64> = (0..case.dim).map(|_| 10f64.powf(far) * numbers.symmetric()).collect();
        let problem = case.problem(lambda).with_center(center.clone()).unwrap();
        let scale = total_weight(&case) + lambda * dot(&center, &center);
        let known = reference(&case, lambda, Some(&center), 1e-7);
        prop_assert!(matches!(known.stop, Stop::Converged | Stop::Empty), "{known:?}");
        let mut reports = vec![("reference", known)];
        for name in CENTERED {
            let solver = find(name).unwrap();
            let Solution { w, report } = solve(&problem, &quick(solver), &Control::default()).unwrap();
            let plain = objective(&case, lambda, PairLoss::Hinge, &center, &w);
            let noise = 1e-11 * scale * (1.0 + 10f64.powf(far));
            prop_assert!((plain - report.objective).abs() <= noise, "{name} {plain} {report:?}");
            if report.stop == Stop::Empty {
                prop_assert!(w.iter().zip(&center).all(|(w, w0)| (w - w0).abs() <= 1e-12 * w0.abs()));
            }
            if name == "newton" {
                prop_assert!(matches!(report.stop, Stop::Converged | Stop::Empty), "{report:?}");
            }
            reports.push((name, report));
        }
        assert_agreement(&reports, 1e-11 * scale * (1.0 + 10f64.powf(far)))?;
    }

    /// With the squared hinge P is smooth: |gradient|^2 <= 2 (Lipschitz constant) (P - P*).
    #[test]
    fn the_squared_hinge_has_no_gradient_left(shape in shapes(), exponent in -2.0..2.0) {
        let case = random_case(&shape);
        let lambda = 10f64.powf(exponent);
        let center: Vec<f64> = (0..case.dim).map(|j| 0.1 * j as f64).collect();
        let problem = case.problem(lambda).with_loss(PairLoss::SquaredHinge);
        let problem = problem.with_center(center.clone()).unwrap();
        let solver = find("newton").unwrap();
        let options = SolveOptions { solver, tolerance: 1e-9, max_iterations: 100_000 };
        let Solution { w, report } = solve(&problem, &options, &Control::default()).unwrap();
        prop_assert!(matches!(report.stop, Stop::Converged | Stop::Empty), "{report:?}");
        let plain = objective(&case, lambda, PairLoss::SquaredHinge, &center, &w);
        prop_assert!((plain - report.objective).abs() <= 1e-11 * plain, "{plain} {report:?}");
        let mut gradient: Vec<f64> = w.iter().zip(&center).map(|(w, w0)| 2.0 * lambda * (w - w0)).collect();
        let mut lipschitz = 2.0 * lambda;
        case.each_pair(|c, z| {
            let alpha = 2.0 * c * (1.0 - dot(&w, z)).max(0.0);
            gradient.iter_mut().zip(z).for_each(|(gradient, z)| *gradient -= alpha * z);
            lipschitz += 2.0 * c * dot(z, z);
        });
        let noise = 1e-12 * plain;
        let allowed = 2.0 * lipschitz * (report.gap + noise) + 1e-24;
        prop_assert!(dot(&gradient, &gradient) <= allowed, "{gradient:?}");
    }
}

/// Scales of features, copies of features, huge features: every solution is finite and no certificate is wrong.
#[test]
fn awkward_features_break_no_certificate() {
    let mut uncertified = Vec::new();
    for (seed, scale) in (0..).zip([1e-6, 1e-3, 1.0, 1e3, 1e6]) {
        for kind in 0..4 {
            let mut case = random_case(&Shape { seed, queries: 4, most_docs: 20, dim: 7, grades: 4 });
            for row in case.queries.iter_mut().flat_map(|query| &mut query.x) {
                for x in row.iter_mut() {
                    *x *= scale;
                }
                match kind {
                    0 => {}
                    1 => row[6] = row[0],
                    2 => row[6] = 1e3 * row[0],
                    _ => row[1..].fill(5.0),
                }
            }
            let case = Case::new(case.queries, case.dim);
            for lambda in [1e3, 1e-1, 1e-4, 1e-8] {
                let problem = case.problem(lambda);
                let known = reference(&case, lambda, None, 1e-6);
                if known.stop != Stop::Converged {
                    uncertified.push(format!("{seed} {scale:e} {kind} {lambda:e} {known:?}"));
                }
                let mut reports = vec![("reference", known)];
                for solver in SOLVERS.iter().filter(|solver| solver.pair.is_some()) {
                    let options = SolveOptions { tolerance: 1e-6, ..quick(solver) };
                    let Solution { w, report } = solve(&problem, &options, &Control::default()).unwrap();
                    assert!(w.iter().all(|w| w.is_finite()) && report.gap.is_finite(), "{}", solver.name);
                    reports.push((solver.name, report));
                }
                assert_agreement(&reports, 1e-11 * total_weight(&case)).unwrap();
            }
        }
    }
    assert!(uncertified.is_empty(), "{}:\n{}", uncertified.len(), uncertified.join("\n"));
}

/// Large enough for several sweeps and steps.
fn ordinary() -> Case {
    random_case(&Shape { seed: 7, queries: 5, most_docs: 25, dim: 6, grades: 5 })
}

#[test]
fn an_interruption_is_reported_whenever_it_comes() {
    let case = ordinary();
    let problem = case.problem(1e-7);
    for solver in SOLVERS.iter().filter(|solver| solver.pair.is_some()) {
        for after in [0, 1, 2, 5, 20, 60] {
            let control = Control::canceled_after(after);
            let options = SolveOptions { solver, tolerance: 1e-15, max_iterations: 1_000_000 };
            let Solution { w, report } = solve(&problem, &options, &control).unwrap();
            assert_eq!(report.stop, Stop::Interrupted, "{} after {after}", solver.name);
            assert!(report.gap.is_finite() && report.objective.is_finite(), "{} {report:?}", solver.name);
            if !["auto", "newton"].contains(&solver.name) {
                let plain = objective_by_definition(&problem, &w);
                assert!((plain - report.objective).abs() <= 1e-12 * plain, "{} after {after}", solver.name);
            }
        }
    }
}

#[test]
fn a_path_ends_where_single_fits_end() {
    let case = ordinary();
    let problem = case.problem(1.0);
    let lambdas: Vec<f64> = (0..16).map(|i| 10f64.powf(2.0 - 0.3 * f64::from(i))).collect();
    for solver in SOLVERS.iter().filter(|solver| solver.pair.is_some()) {
        let options = SolveOptions { solver, tolerance: 1e-4, max_iterations: 20_000 };
        let fits = pair_path(&problem, &lambdas, &options, &Control::default()).unwrap();
        assert_eq!(fits.len(), lambdas.len());
        for (&lambda, Solution { w, report }) in lambdas.iter().zip(&fits) {
            let single = case.problem(lambda);
            let cold = solve(&single, &options, &Control::default()).unwrap().report;
            let what = format!("{} at {lambda:e}: {:?} {}", solver.name, report.stop, report.iterations);
            assert_eq!((report.stop, cold.stop), (Stop::Converged, Stop::Converged), "{what}");
            assert!((report.objective - cold.objective).abs() <= report.gap.max(cold.gap) + 1e-12, "{what}");
            assert!((objective_by_definition(&single, w) - report.objective).abs() <= 1e-12, "{what}");
        }
        // At the first lambda no margin exceeds 1, and alpha = c is known to be optimal.
        assert!(fits[0].report.iterations == 0, "{}", solver.name);
    }
}

#[test]
fn a_limit_on_iterations_is_kept() {
    let case = ordinary();
    let problem = case.problem(1e-6);
    for solver in SOLVERS.iter().filter(|solver| solver.pair.is_some()) {
        for max_iterations in [0, 3] {
            let options = SolveOptions { solver, tolerance: 1e-14, max_iterations };
            let Solution { w, report } = solve(&problem, &options, &Control::default()).unwrap();
            assert_eq!(
                (report.stop, report.iterations),
                (Stop::IterationLimit, max_iterations),
                "{}",
                solver.name
            );
            assert_eq!(report.steps.len(), max_iterations as usize, "{}", solver.name);
            let plain = objective_by_definition(&problem, &w);
            assert!((plain - report.objective).abs() <= 1e-12 * plain, "{}", solver.name);
        }
    }
}

#[test]
fn without_pairs_or_features_nothing_is_learned() {
    let flat = Query { c: 1.0, x: vec![vec![1.0, 2.0], vec![3.0, 4.0]], labels: vec![1.0, 1.0] };
    let useless = Query { c: 0.0, labels: vec![1.0, 2.0], ..flat.clone() };
    let empty = Case::new(vec![flat, useless], 2);
    let bare = Case::new(vec![Query { c: 0.5, x: vec![vec![]; 3], labels: vec![1.0, 2.0, 3.0] }], 0);
    for solver in SOLVERS.iter().filter(|solver| solver.pair.is_some()) {
        let Solution { w, report } = fit(&empty.problem(0.1), solver, 1e-6);
        assert_eq!((report.stop, w), (Stop::Empty, vec![0.0, 0.0]), "{}", solver.name);
        assert_eq!((report.objective.to_bits(), report.gap.to_bits()), (0, 0), "{}", solver.name);
        let Solution { w, report } = fit(&bare.problem(0.1), solver, 1e-6);
        assert_eq!((report.stop, w.len()), (Stop::Converged, 0), "{}", solver.name);
        assert!((report.objective - 1.5).abs() < 1e-15, "{}", solver.name);
    }
    for name in CENTERED {
        let problem = empty.problem(0.1).with_center(vec![3.0, -1.0]).unwrap();
        let Solution { w, report } = fit(&problem, find(name).unwrap(), 1e-6);
        assert_eq!(report.stop, Stop::Empty, "{name}");
        assert!((w[0] - 3.0).abs() < 1e-14 && (w[1] + 1.0).abs() < 1e-14, "{name}: {w:?}");
        assert!(report.objective.abs() < 1e-30, "{name}");
    }
}

#[test]
fn two_runs_give_the_same_bits() {
    let case = ordinary();
    let problem = case.problem(1e-4);
    for solver in SOLVERS.iter().filter(|solver| solver.pair.is_some()) {
        let options = SolveOptions { solver, tolerance: 1e-5, max_iterations: 500 };
        let run = || {
            let Solution { w, mut report } = solve(&problem, &options, &Control::default()).unwrap();
            report.steps.iter_mut().for_each(|step| step.seconds = 0.0);
            (w.iter().map(|w| w.to_bits()).collect::<Vec<u64>>(), report)
        };
        assert_eq!(run(), run(), "{}", solver.name);
    }
}
