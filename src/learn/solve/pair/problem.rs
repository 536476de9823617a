//! Weighted pairwise losses in a space of linear functions:
//!
//! ```text
//! min_w P(w) = sum_g c_g sum over pairs (a, b) of query g, y_a > y_b, of L(s_a - s_b) + v.w + lambda |w - w0|^2
//!
//! c_g    weight of each pair of the query; with weights of pairs (`weights`) c of a pair is c_g times its weight
//! L      loss of a pair; the default is the hinge max(0, 1 - (s_a - s_b))
//! v, w0  linear term and center of the penalty; the default is 0
//! s = X w                scores of the m documents with b features
//! z = x_a - x_b          a pair; T pairs
//! u = 1 - (s_a - s_b)    its violation
//! ```
//!
//! Problem (3.7) of Dai and Wang (2019) has `c_g = 2 pi_g / (n N_g (N_g - 1))`; rank-SVM has equal `pi_g`. The dual of
//! the hinge is
//!
//! ```text
//! max D(alpha) = sum of alpha + lambda |w0|^2 - |X'g + t|^2 / (4 lambda)    over 0 <= alpha <= c
//!
//! t   = 2 lambda w0 - v
//! g_j = (sum of alpha over pairs with j as the better document)
//!     - (sum of alpha over pairs with j as the worse one),    so X'g = sum of alpha z
//! ```
//!
//! Every solution is certified by an explicit alpha:
//!
//! ```text
//! P(w) - D(alpha) = [sum of c max(u, 0) - sum of alpha u] + |2 lambda w - X'g - t|^2 / (4 lambda)
//! ```
//!
//! `newton` is Newton's method on scores: a pass over all pairs reads no feature and stores nothing per pair. `dual`
//! has ADMM, which stores a number per pair. For any solver, `reduce` shrinks problems with fewer documents than
//! features, and `psi` solves the nonconvex psi loss by a sequence of hinge problems.

use super::super::{Solution, SolveOptions, SolveReport, Stop, check_lambda, check_weight};
use super::block::PairBlock;
use crate::base::{Control, Error, Result, Ticks};
use crate::cost::loss::{Loss, PairLoss, PairWeights};
use crate::math::lanes;

/// Largest number of features. A fit needs several matrices of 8 b^2 bytes and b^3 / 3 multiplications per iteration.
const MOST_FEATURES: usize = 10_000;

/// A weighted sum of queries with a penalty.
#[derive(Debug, Clone)]
pub struct PairProblem<'a> {
    /// Number of features.
    pub dim: usize,
    /// Queries and their weights c.
    pub blocks: Vec<(&'a PairBlock, f64)>,
    /// Factor of the penalty.
    pub lambda: f64,
    /// Loss of a pair.
    pub loss: PairLoss,
    pub(super) center: Option<Vec<f64>>,
    pub(super) linear_term: Option<Vec<f64>>,
    pub(super) start: Option<Vec<f64>>,
}

impl<'a> PairProblem<'a> {
    /// The problem with the given queries, each with its weight c >= 0, and lambda > 0.
    ///
    /// # Errors
    /// When a query has another number of features, there are too many, or a weight or lambda is out of range.
    pub fn new(dim: usize, blocks: Vec<(&'a PairBlock, f64)>, lambda: f64) -> Result<Self> {
        if dim > MOST_FEATURES {
            return Err(Error::Unsupported(format!(
                "{dim} features, products with query features included, are too many for this solver, which takes \
                 {MOST_FEATURES}; use fewer features, or \"interaction\": \"none\""
            )));
        }
        if let Some((block, _)) = blocks.iter().find(|(block, _)| block.dim != dim) {
            let what = "number of features of a query".to_owned();
            return Err(Error::Shape { what, found: block.dim, expected: dim });
        }
        blocks.iter().try_for_each(|(_, weight)| check_weight(*weight))?;
        check_lambda(lambda)?;
        Ok(Self { dim, blocks, lambda, loss: PairLoss::Hinge, center: None, linear_term: None, start: None })
    }

    /// The problem with another loss per pair than the hinge.
    #[must_use]
    pub fn with_loss(self, loss: PairLoss) -> Self {
        Self { loss, ..self }
    }

    /// The problem with the penalty lambda |w - w0|^2.
    ///
    /// # Errors
    /// When w0 has another number of features or a number that is not finite.
    pub fn with_center(self, center: Vec<f64>) -> Result<Self> {
        super::super::point("the center of the penalty", &center, self.dim)?;
        Ok(Self { center: Some(center), ..self })
    }

    /// The problem with v.w added to its objective; v has `dim` numbers.
    pub(super) fn with_linear_term(self, linear_term: Vec<f64>) -> Self {
        Self { linear_term: Some(linear_term), ..self }
    }

    /// The problem with a point from which a solver may start; w has `dim` numbers.
    pub(super) fn with_start(self, w: Vec<f64>) -> Self {
        Self { start: Some(w), ..self }
    }

    /// Center w0 of the penalty, if it is not 0.
    pub fn center(&self) -> Option<&[f64]> {
        self.center.as_deref()
    }

    /// t = 2 lambda w0 - v, so that 2 lambda w = X'g + t at the solution.
    pub(super) fn center_term(&self, lambda: f64) -> Vec<f64> {
        let mut term = vec![0.0; self.dim];
        if let Some(center) = &self.center {
            term.iter_mut().zip(center).for_each(|(t, w0)| *t += 2.0 * lambda * w0);
        }
        if let Some(linear_term) = &self.linear_term {
            term.iter_mut().zip(linear_term).for_each(|(t, v)| *t -= v);
        }
        term
    }

    /// Queries with a positive weight and at least one pair.
    pub(super) fn useful_blocks(&self) -> impl Iterator<Item = (&'a PairBlock, f64)> + '_ {
        self.blocks.iter().copied().filter(|(block, weight)| *weight > 0.0 && block.total_weight() > 0.0)
    }
}

/// Solves one problem with the solver of the options, which must support the loss (`SolverDef::takes`).
pub fn solve(problem: &PairProblem<'_>, options: &SolveOptions, control: &Control) -> Solution {
    solve_all(problem, &[problem.lambda], options, control).pop().unwrap_or_else(|| {
        // Never taken: a solver returns a solution for each lambda, interrupted or not.
        let (stop, steps) = (Stop::Stalled, Vec::new());
        let report = SolveReport::new(stop, 0, f64::INFINITY, f64::INFINITY, steps);
        Solution { w: vec![0.0; problem.dim], report }
    })
}

/// Solves the problem for each of `lambdas`, best ordered from large to small; each fit starts from the previous one.
/// The lambda of `problem` is ignored. An interrupted path ends with the interrupted solution.
///
/// # Errors
/// When a lambda is out of range or the solver does not support the loss.
pub fn path(
    problem: &PairProblem<'_>,
    lambdas: &[f64],
    options: &SolveOptions,
    control: &Control,
) -> Result<Vec<Solution>> {
    lambdas.iter().try_for_each(|&lambda| check_lambda(lambda))?;
    options.solver.check(&Loss::Pair(problem.loss, PairWeights::Equal))?;
    Ok(solve_all(problem, lambdas, options, control))
}

/// Solves the problem in its smallest coordinates.
fn solve_all(
    problem: &PairProblem<'_>,
    lambdas: &[f64],
    options: &SolveOptions,
    control: &Control,
) -> Vec<Solution> {
    let reduced = super::reduce::Reduced::new(problem, control);
    let small = reduced.as_ref().map(super::reduce::Reduced::problem);
    let (given, rule, solver) =
        (small.as_ref().unwrap_or(problem), options.rule(), options.solver.on_pairs().path);
    let solutions = if problem.loss == PairLoss::Psi {
        super::psi::path(given, lambdas, &rule, control, solver)
    } else {
        solver(given, lambdas, &rule, control)
    };
    match &reduced {
        Some(reduced) => reduced.lifted(lambdas, solutions, &rule),
        None => solutions,
    }
}

// Objective by its definition: plain loops over documents, pairs and features.

/// P(w), pair by pair: the sum of c times the weight of the pair times L(margin), plus v.w + lambda |w - w0|^2. Cost T + m b.
pub fn certificate(problem: &PairProblem<'_>, w: &[f64]) -> f64 {
    let value = problem.loss.def().value;
    let mut loss = 0.0;
    for (block, weight) in &problem.blocks {
        let labels = &block.labels;
        let scores: Vec<f64> = (0..labels.len())
            .map(|document| w.iter().enumerate().map(|(j, w)| w * lanes::get(block.row(document), j)).sum())
            .collect();
        let (mut query_loss, mut ticks) = (0.0, Ticks::default());
        for a in 0..labels.len() {
            ticks.add(labels.len());
            for b in 0..labels.len() {
                if labels[a] > labels[b] {
                    query_loss += block.pair_weight(a, b) * value(scores[a] - scores[b]);
                }
            }
        }
        loss += weight * query_loss;
    }
    let number = |vector: Option<&[f64]>, j: usize| vector.map_or(0.0, |vector| vector[j]);
    let parts = w.iter().enumerate().map(|(j, w)| {
        let distance = w - number(problem.center(), j);
        number(problem.linear_term.as_deref(), j) * w + problem.lambda * distance * distance
    });
    loss + parts.sum::<f64>()
}
