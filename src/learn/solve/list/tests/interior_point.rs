//! Convex problems whose losses are maxima of linear functions, and least squares, against an interior-point solver
//! (Clarabel). The constraints are the rankings of each query, by enumeration, without code of the losses.

use clarabel::algebra::CscMatrix;
use clarabel::solver::{DefaultSettings, DefaultSolver, IPSolver, NonnegativeConeT, SolverStatus};

use super::*;
use crate::math::all_orders;

/// min x'Px / 2 + q.x over a.x <= b for each constraint (a, b).
struct Quadratic {
    p: Vec<Vec<f64>>,
    q: Vec<f64>,
    constraints: Vec<(Vec<f64>, f64)>,
}

impl Quadratic {
    fn of(variables: usize) -> Self {
        Self { p: vec![vec![0.0; variables]; variables], q: vec![0.0; variables], constraints: Vec::new() }
    }

    fn minimum(&self) -> f64 {
        let upper = |i: usize, j: usize| if i <= j { self.p[i][j] } else { 0.0 };
        let n = self.q.len();
        let p = matrix(n, n, upper);
        let a = matrix(self.constraints.len(), n, |row, column| self.constraints[row].0[column]);
        let b: Vec<f64> = self.constraints.iter().map(|(_, b)| *b).collect();
        let settings = DefaultSettings {
            verbose: false,
            tol_gap_abs: 1e-13,
            tol_gap_rel: 1e-12,
            tol_feas: 1e-12,
            ..DefaultSettings::default()
        };
        let mut solver =
            DefaultSolver::new(&p, &self.q, &a, &b, &[NonnegativeConeT(b.len())], settings).unwrap();
        solver.solve();
        let status = solver.solution.status;
        assert!(matches!(status, SolverStatus::Solved | SolverStatus::AlmostSolved), "{status:?}");
        solver.solution.obj_val
    }
}

/// A matrix without its zeros.
fn matrix(rows: usize, columns: usize, entry: impl Fn(usize, usize) -> f64) -> CscMatrix {
    let (mut starts, mut numbers, mut values) = (vec![0], Vec::new(), Vec::new());
    for column in 0..columns {
        for row in 0..rows {
            let value = entry(row, column);
            if value != 0.0 {
                numbers.push(row);
                values.push(value);
            }
        }
        starts.push(values.len());
    }
    CscMatrix::new(rows, columns, starts, numbers, values)
}

/// A linear function of a query's scores: slopes and offset.
type Plane = (Vec<f64>, f64);

/// The linear functions whose maximum is SVM-MAP: 1 - AP and the pairs that a ranking misorders.
fn planes_of_map(labels: &[f64]) -> Vec<Plane> {
    let relevant: Vec<bool> = labels.iter().map(|label| *label >= 1.0).collect();
    let r = relevant.iter().filter(|relevant| **relevant).count();
    if r == 0 || r == labels.len() {
        return vec![(vec![0.0; labels.len()], 0.0)];
    }
    let slope = 2.0 / (r * (labels.len() - r)) as f64;
    let plane = |order: Vec<usize>| {
        let (mut slopes, mut precision, mut found) = (vec![0.0; labels.len()], 0.0, 0);
        for (position, &document) in order.iter().enumerate() {
            let others_above = order[..position].iter().filter(|other| !relevant[**other]);
            if relevant[document] {
                found += 1;
                precision += f64::from(found) / (position + 1) as f64;
                for &other in others_above {
                    slopes[document] -= slope;
                    slopes[other] += slope;
                }
            }
        }
        (slopes, 1.0 - precision / r as f64)
    };
    all_orders(labels.len()).into_iter().map(plane).collect()
}

impl Case {
    /// The features of a query, by documents.
    fn rows(&self, query: usize) -> Vec<Vec<f64>> {
        let column = |feature: usize| {
            let mut unit = vec![0.0; self.dim];
            unit[feature] = 1.0;
            self.blocks[query].scores(&unit)
        };
        let columns: Vec<Vec<f64>> = (0..self.dim).map(column).collect();
        (0..self.labels[query].len()).map(|row| columns.iter().map(|column| column[row]).collect()).collect()
    }

    /// sum of c xi over the queries, with xi above each plane. Variables: w, then xi, then `more`.
    fn program(&self, planes: impl Fn(&[f64]) -> Vec<Plane>, more: usize) -> Quadratic {
        let queries = self.labels.len();
        let mut program = Quadratic::of(self.dim + queries + more);
        for query in 0..queries {
            program.q[self.dim + query] = self.weights[query];
            let rows = self.rows(query);
            for (slopes, offset) in planes(&self.labels[query]) {
                let mut a = vec![0.0; program.q.len()];
                for (slope, row) in slopes.iter().zip(&rows) {
                    a.iter_mut().zip(row).for_each(|(a, x)| *a += slope * x);
                }
                a[self.dim + query] = -1.0;
                program.constraints.push((a, -offset));
            }
        }
        program
    }
}

#[test]
fn svm_map_is_minimized() {
    for seed in 0..5 {
        let case = Case::with_options(seed, [5, 5, 3], "svm_map", &json!({}));
        for lambda in [0.1, 0.001] {
            let mut program = case.program(planes_of_map, 0);
            (0..case.dim).for_each(|feature| program.p[feature][feature] = 2.0 * lambda);
            let expected = program.minimum();
            for solver in [&BUNDLE, &CONSTRAINT_GENERATION] {
                let report = fits(&case.problem(), &[lambda], solver, 1e-10).pop().unwrap().report;
                let error = (report.objective - expected).abs();
                assert!(
                    error <= 1e-8 * expected,
                    "{} {lambda}: {} {expected}",
                    solver.name,
                    report.objective
                );
            }
        }
    }
}

/// The linear functions whose maximum is the convex bound of `direct`, with the measure NDCG@2 and its discounts as
/// decoder.
fn planes_of_direct(labels: &[f64]) -> Vec<Plane> {
    let a: Vec<f64> = [1.0, 1.0 / 3f64.log2()].into_iter().chain([0.0; 10]).take(labels.len()).collect();
    let gains: Vec<f64> = labels.iter().map(|label| label.max(0.0).exp2() - 1.0).collect();
    let mut ideal: Vec<usize> = (0..labels.len()).collect();
    ideal.sort_by(|&x, &y| gains[y].total_cmp(&gains[x]));
    let of = |order: &[usize]| order.iter().zip(&a).map(|(&document, a)| a * gains[document]).sum::<f64>();
    let best = of(&ideal);
    if best <= 0.0 || gains.iter().all(|gain| (gain - gains[0]).abs() < 1e-12) {
        return vec![(vec![0.0; labels.len()], 0.0)];
    }
    let plane = |order: Vec<usize>| {
        let mut slopes = vec![0.0; labels.len()];
        order.iter().zip(&a).for_each(|(&document, a)| slopes[document] += a);
        ideal.iter().zip(&a).for_each(|(&document, a)| slopes[document] -= a);
        (slopes, 1.0 - of(&order) / best)
    };
    all_orders(labels.len()).into_iter().map(plane).collect()
}

impl Quadratic {
    /// Adds lambda sum t with t >= |w|: the last variables.
    fn with_absolutes(mut self, lambda: f64, dim: usize) -> Self {
        let first = self.q.len() - dim;
        for feature in 0..dim {
            self.q[first + feature] = lambda;
            for sign in [1.0, -1.0] {
                let mut a = vec![0.0; self.q.len()];
                (a[feature], a[first + feature]) = (sign, -1.0);
                self.constraints.push((a, 0.0));
            }
        }
        self
    }
}

/// The fits with an L1 penalty, with their gaps checked against the optima.
fn check_l1(problem: &ListProblem<'_>, lambdas: &[f64], optimum: impl Fn(f64) -> f64, tolerance: f64) {
    let fits = l1_path(problem, lambdas, &rule(tolerance), &Control::default()).unwrap();
    for (&lambda, Solution { w, report }) in lambdas.iter().zip(&fits) {
        let (expected, what) = (optimum(lambda), format!("{lambda}: {w:?} {:?}", report.stop));
        assert_eq!(report.stop, Stop::Converged, "{what} {}", report.gap);
        let absolutes: f64 = w.iter().map(|w| w.abs()).sum();
        assert!((risk(problem, w) + lambda * absolutes - report.objective).abs() < 1e-13, "{what}");
        assert!((report.objective - expected).abs() <= tolerance.max(1e-8) * expected, "{what} {expected}");
        assert!(report.gap <= tolerance * report.objective);
        assert!(report.objective - report.gap <= expected * (1.0 + 1e-9), "{what}: a wrong certificate");
    }
    let zeros = |fit: &Solution| fit.w.iter().filter(|w| w.abs() <= 0.0).count();
    assert_eq!(zeros(&fits[0]), problem.dim(), "the largest lambda");
    assert!(zeros(&fits[1]) > 0 && zeros(fits.last().unwrap()) < zeros(&fits[0]), "{fits:?}");
}

#[test]
fn least_squares_with_few_weights_are_minimized() {
    for (seed, loss) in (0..4).flat_map(|seed| [(seed, SQUARED), (seed, "pair_squared")]) {
        let case = Case::new(seed, 12, 8, loss);
        let problem = case.problem();
        let gram = Gram::of(8, &problem.blocks).unwrap();
        let (a, b) = (gram.matrix(), gram.right());
        let largest = largest_l1_lambda(&problem);
        assert!((largest - b.iter().fold(0.0, |most: f64, b| most.max(b.abs()))).abs() < 1e-12);
        let optimum = |lambda: f64| {
            let mut program = Quadratic::of(16);
            (0..64).for_each(|k| program.p[k / 8][k % 8] = a[k]);
            (0..8).for_each(|k| program.q[k] = -b[k]);
            program.with_absolutes(lambda, 8).minimum() + 0.5 * gram.square()
        };
        check_l1(&problem, &[1.0, 0.3, 0.03, 0.001].map(|fraction| fraction * largest), optimum, 1e-10);
    }
}

#[test]
fn convex_bounds_with_few_weights_are_minimized() {
    for seed in 0..4 {
        let options = json!({"bound": "convex", "measure": "ndcg@2", "decoder": "metric"});
        let case = Case::with_options(seed, [8, 5, 6], "direct", &options);
        let problem = case.problem();
        let largest = largest_l1_lambda(&problem);
        let optimum = |lambda: f64| case.program(planes_of_direct, 6).with_absolutes(lambda, 6).minimum();
        check_l1(&problem, &[1.0, 0.3, 0.1, 0.01].map(|fraction| fraction * largest), optimum, 1e-7);
    }
}

#[test]
fn an_l1_penalty_is_interrupted_and_refuses_other_shapes() {
    for loss in [SQUARED, "slam"] {
        let case = Case::new(3, 30, 6, loss);
        let fits =
            l1_path(&case.problem(), &[0.01, 1e-4], &rule(1e-13), &Control::canceled_after(1)).unwrap();
        assert_eq!(fits.last().unwrap().report.stop, Stop::Interrupted);
    }
    let case = Case::new(3, 30, 6, LIST_NET);
    assert!(l1_path(&case.problem(), &[0.1], &rule(1e-4), &Control::default()).is_err());
}
