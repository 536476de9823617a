//! Least squares in the span of leading eigenfunctions (Xu, Fang & Wang 2014, theorem 7), in a space where functions are
//! linear.
//!
//! ```text
//! A = Z'Z, b = Z't                       the sums of least squares (`gram`)
//! A u_i = lambda_i u_i, |u_i| = 1        phi_i(x) = u_i.x: the eigenfunctions of the empirical ranking operator
//! w = sum over kept i of c_i u_i         c_i = S_i / lambda_i with S_i = u_i.b
//! ```
//!
//! Kept are the eigenvalues of at least a threshold (the paper prints "less than or equal", which would keep the trailing
//! ones; its proofs keep the leading ones) or a number of leading ones, and those equal to the last of them (to 1e-8).
//! Eigenvalues below 1e-12 of the largest are rounding and are never kept. There is no other penalty. One set of
//! eigenpairs serves each threshold.

use std::time::Instant;

use super::{Gram, ListProblem};
use crate::base::control::Control;
use crate::base::error::Result;
use crate::math::dense::dot;
use crate::math::eigen;
use crate::math::eigen::Eigen;
use crate::math::optim::vector::axpy;
use crate::math::optim::{Solution, SolveReport, Step, Stop};

/// Eigenvalues below this fraction of the largest are rounding.
const ROUNDING: f64 = 1e-12;
/// Eigenvalues that differ by less than this, relative, are equal.
const CLUSTER: f64 = 1e-8;

/// The meaning of the parameters of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// The smallest kept eigenvalue.
    Threshold,
    /// The number of kept eigenvalues.
    Components,
}

/// The least-squares function for each parameter. `iterations` of a report is the number of kept components. The gap is 0
/// because nothing is iterated.
///
/// # Errors
/// A loss that is not quadratic; an interruption.
pub fn path(
    problem: &ListProblem<'_>,
    cut: Cut,
    parameters: &[f64],
    control: &Control,
) -> Result<Vec<Solution>> {
    path_of_sums(&Gram::of(problem.dim(), problem.blocks())?, cut, parameters, control)
}

/// As [`path`], from the sums over documents.
///
/// # Errors
/// An interruption.
pub fn path_of_sums(gram: &Gram, cut: Cut, parameters: &[f64], control: &Control) -> Result<Vec<Solution>> {
    let began = Instant::now();
    let pairs = eigen::symmetric(gram.matrix(), gram.dim(), control)?;
    let b = gram.right();
    let projections: Vec<f64> = pairs.vectors.chunks_exact(gram.dim()).map(|u| dot(u, &b)).collect();
    let fit = |parameter: &f64| {
        let kept = kept(&pairs.values, cut, *parameter);
        let mut w = vec![0.0; gram.dim()];
        let mut explained = 0.0;
        let mut eigenfunctions = Vec::with_capacity(kept);
        let vectors = pairs.vectors.chunks_exact(gram.dim());
        for ((u, value), projection) in vectors.zip(&pairs.values).zip(&projections).take(kept) {
            let c = projection / value;
            explained += c * projection;
            axpy(c, u, &mut w);
            eigenfunctions.push((*value, c));
        }
        let objective = (0.5 * (gram.square() - explained)).max(0.0);
        let steps = vec![Step { objective, gap: 0.0, seconds: began.elapsed().as_secs_f64() }];
        let stop = if kept == 0 { Stop::Empty } else { Stop::Converged };
        let report = SolveReport::new(stop, kept as u32, objective, 0.0, steps);
        Solution { w, report: SolveReport { eigenfunctions, ..report } }
    };
    Ok(parameters.iter().map(fit).collect())
}

/// The number of kept eigenvalues. The largest is first.
fn kept(values: &[f64], cut: Cut, parameter: f64) -> usize {
    let largest = values.first().copied().unwrap_or(0.0).max(0.0);
    let significant = values.iter().take_while(|value| **value > ROUNDING * largest).count();
    let mut kept = match cut {
        Cut::Threshold => values.iter().take_while(|value| **value >= parameter).count(),
        Cut::Components => parameter as usize,
    };
    while kept > 0 && kept < significant && values[kept - 1] - values[kept] < CLUSTER * values[kept - 1] {
        kept += 1;
    }
    kept.min(significant)
}

/// The eigenpairs of the empirical ranking operator of a problem, largest eigenvalue first.
///
/// # Errors
/// A loss that is not quadratic; an interruption.
pub fn eigenpairs(problem: &ListProblem<'_>, control: &Control) -> Result<Eigen> {
    let gram = Gram::of(problem.dim(), problem.blocks())?;
    eigen::symmetric(gram.matrix(), gram.dim(), control)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_eigenvalues_stay_together_and_rounding_is_left_out() {
        let values = [4.0, 2.0, 2.0, 1.0, 1e-13];
        assert_eq!(kept(&values, Cut::Components, 1.0), 1);
        assert_eq!(kept(&values, Cut::Components, 2.0), 3);
        assert_eq!(kept(&values, Cut::Components, 9.0), 4);
        assert_eq!(kept(&values, Cut::Threshold, 2.0), 3);
        assert_eq!(kept(&values, Cut::Threshold, 5.0), 0);
        assert_eq!(kept(&[0.0; 3], Cut::Components, 2.0), 0);
    }
}
