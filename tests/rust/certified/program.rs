//! Convex programs with linear, quadratic and exponential parts, solved by Clarabel (an interior-point method).

use clarabel::algebra::CscMatrix;
use clarabel::solver::SupportedConeT::{
    self, ExponentialConeT, NonnegativeConeT, SecondOrderConeT, ZeroConeT,
};
use clarabel::solver::{DefaultSettingsBuilder, DefaultSolver, IPSolver, SolverStatus};

/// An affine function of the variables of a program.
#[derive(Debug, Clone, Default)]
pub struct Affine {
    terms: Vec<(usize, f64)>,
    constant: f64,
}

impl Affine {
    pub fn constant(constant: f64) -> Self {
        Self { terms: Vec::new(), constant }
    }

    /// self + factor other.
    pub fn plus(&self, factor: f64, other: &Self) -> Self {
        let added = other.terms.iter().map(|(variable, value)| (*variable, factor * value));
        Self {
            terms: self.terms.iter().copied().chain(added).collect(),
            constant: self.constant + factor * other.constant,
        }
    }

    pub fn minus(&self, other: &Self) -> Self {
        self.plus(-1.0, other)
    }

    /// sum_j factors_j others_j.
    pub fn combination(factors: &[f64], others: &[Self]) -> Self {
        factors.iter().zip(others).fold(Self::default(), |sum, (factor, other)| sum.plus(*factor, other))
    }
}

/// A convex program, to be minimized.
#[derive(Debug, Default)]
pub struct Program {
    /// Per variable, the factors of x^2 and of x in the objective.
    costs: Vec<(f64, f64)>,
    constant: f64,
    /// Constraints: these functions are in this cone.
    constraints: Vec<(SupportedConeT<f64>, Vec<Affine>)>,
}

impl Program {
    pub fn variable(&mut self) -> Affine {
        self.costs.push((0.0, 0.0));
        Affine { terms: vec![(self.costs.len() - 1, 1.0)], constant: 0.0 }
    }

    /// Adds weight value to the objective.
    pub fn add(&mut self, weight: f64, value: &Affine) {
        self.constant += weight * value.constant;
        value.terms.iter().for_each(|(variable, factor)| self.costs[*variable].1 += weight * factor);
    }

    /// Adds weight value^2 to the objective.
    pub fn add_square(&mut self, weight: f64, value: &Affine) {
        let variable = self.variable();
        self.costs[variable.terms[0].0].0 += weight;
        self.constraints.push((ZeroConeT(1), vec![value.minus(&variable)]));
    }

    /// value^2, if it has a cost: u^2 <= t is |(2 u, t - 1)| <= t + 1.
    pub fn square(&mut self, value: &Affine) -> Affine {
        let square = self.variable();
        let one = Affine::constant(1.0);
        let cone = vec![square.plus(1.0, &one), Affine::default().plus(2.0, value), square.minus(&one)];
        self.constraints.push((SecondOrderConeT(3), cone));
        square
    }

    /// A variable that is at least each of these values: their maximum, if it has a cost.
    pub fn maximum(&mut self, values: &[Affine]) -> Affine {
        let largest = self.variable();
        let slacks: Vec<Affine> = values.iter().map(|value| largest.minus(value)).collect();
        self.constraints.push((NonnegativeConeT(slacks.len()), slacks));
        largest
    }

    /// max(0, value), if it has a cost.
    pub fn positive_part(&mut self, value: &Affine) -> Affine {
        self.maximum(&[Affine::default(), value.clone()])
    }

    /// log sum_i exp(values_i), if it has a cost: exp(values_i - t) <= z_i, sum_i z_i <= 1.
    pub fn log_sum_exp(&mut self, values: &[Affine]) -> Affine {
        let result = self.variable();
        let mut rest = Affine::constant(1.0);
        for value in values {
            let part = self.variable();
            rest = rest.minus(&part);
            let cone = vec![value.minus(&result), Affine::constant(1.0), part];
            self.constraints.push((ExponentialConeT(), cone));
        }
        self.constraints.push((NonnegativeConeT(1), vec![rest]));
        result
    }

    /// Requires the Euclidean norm of these values to be at most the radius.
    pub fn within_ball(&mut self, radius: f64, values: &[Affine]) {
        let cone: Vec<Affine> = [Affine::constant(radius)].into_iter().chain(values.to_vec()).collect();
        self.constraints.push((SecondOrderConeT(cone.len()), cone));
    }

    /// The minimum, certified by Clarabel to a relative gap of 1e-9.
    pub fn minimum(&self, what: &str) -> f64 {
        // 1. a.x + c in a cone is -a.x + s = c with s in the cone.
        let variables = self.costs.len();
        let (mut rows, mut columns, mut values, mut right) = (vec![], vec![], vec![], vec![]);
        for function in self.constraints.iter().flat_map(|(_, functions)| functions) {
            for (variable, factor) in merged(&function.terms) {
                rows.push(right.len());
                columns.push(variable);
                values.push(-factor);
            }
            right.push(function.constant);
        }
        let constraints = CscMatrix::new_from_triplets(right.len(), variables, rows, columns, values);
        let all: Vec<usize> = (0..variables).collect();
        let squares = self.costs.iter().map(|(square, _)| 2.0 * square).collect();
        let quadratic = CscMatrix::new_from_triplets(variables, variables, all.clone(), all, squares);
        let linear: Vec<f64> = self.costs.iter().map(|(_, linear)| *linear).collect();
        let cones: Vec<_> = self.constraints.iter().map(|(cone, _)| cone.clone()).collect();
        // 2. The solution and its certificate.
        let mut settings = DefaultSettingsBuilder::default();
        settings.verbose(false).tol_gap_abs(1e-12).tol_gap_rel(1e-12).tol_feas(1e-11).max_iter(100);
        // Less regularization and more refinement than by default: exponential cones else end at 1e-8.
        settings.static_regularization_constant(1e-10).iterative_refinement_max_iter(50);
        settings.iterative_refinement_reltol(1e-15).iterative_refinement_abstol(1e-15);
        let settings = settings.build().unwrap();
        let mut solver =
            DefaultSolver::new(&quadratic, &linear, &constraints, &right, &cones, settings).unwrap();
        solver.solve();
        let solution = &solver.solution;
        let (primal, dual) = (solution.obj_val + self.constant, solution.obj_val_dual + self.constant);
        let done = matches!(solution.status, SolverStatus::Solved | SolverStatus::AlmostSolved);
        let gap = (primal - dual).abs() / primal.abs().max(1e-3);
        let certified = gap <= 2e-9 && solution.r_prim <= 1e-7;
        assert!(
            done && certified,
            "{what}, Clarabel: {:?}, {primal} {dual} {:e}",
            solution.status,
            solution.r_prim
        );
        primal
    }
}

/// Terms with one entry per variable.
fn merged(terms: &[(usize, f64)]) -> Vec<(usize, f64)> {
    let mut merged: Vec<(usize, f64)> = Vec::new();
    let mut sorted = terms.to_vec();
    sorted.sort_unstable_by_key(|(variable, _)| *variable);
    for (variable, factor) in sorted {
        match merged.last_mut() {
            Some((last, sum)) if *last == variable => *sum += factor,
            _ => merged.push((variable, factor)),
        }
    }
    merged
}
