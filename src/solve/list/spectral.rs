//! Least squares in the span of leading eigenfunctions (Xu, Fang & Wang 2014, theorem 7), in a space where functions are
//! linear.
//!
//! ```text
//! A = Z'Z, b = Z't                       the sums of least squares (`gram`)
//! A u_i = lambda_i u_i, |u_i| = 1        phi_i(x) = u_i.x: the eigenfunctions of the empirical ranking operator
//! w = sum over kept i of c_i u_i         c_i = S_i / lambda_i with S_i = u_i.b
//! ```
//!
//! Kept are the eigenvalues from a threshold, or so many leading ones, and those equal (to 1e-8) to the last of them.
//! Eigenvalues below 1e-12 of the largest are rounding and never kept. There is no other penalty; one set of eigenpairs
//! serves every threshold.

use std::time::Instant;

use super::{Gram, ListProblem, Report};
use crate::control::Control;
use crate::error::Result;
use crate::math::dense::dot;
use crate::math::eigen::{self, Eigen};
use crate::solve::{SolveReport, Step, Stop};

/// Eigenvalues below this share of the largest are rounding.
const ROUNDING: f64 = 1e-12;
/// Eigenvalues that differ by less than this share are equal.
const CLUSTER: f64 = 1e-8;

/// What the parameters of a path are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// The smallest eigenvalue that is kept.
    Threshold,
    /// The number of eigenvalues that are kept.
    Components,
}

/// The least-squares functions for each parameter. The `iterations` of a report are the components that were kept; the
/// gap is 0 because nothing is iterated.
///
/// # Errors
/// A loss that is not quadratic; an interruption.
pub fn path(
    problem: &ListProblem<'_>,
    cut: Cut,
    parameters: &[f64],
    control: &Control,
) -> Result<Vec<Report>> {
    let began = Instant::now();
    let gram = Gram::of(problem.dim(), problem.blocks())?;
    let pairs = eigen::symmetric(gram.matrix(), gram.dim(), control)?;
    let b = gram.right();
    let shares: Vec<f64> = pairs.vectors.chunks_exact(gram.dim()).map(|u| dot(u, &b)).collect();
    let fit = |parameter: &f64| {
        let kept = kept(&pairs.values, cut, *parameter);
        let mut w = vec![0.0; gram.dim()];
        let mut explained = 0.0;
        let vectors = pairs.vectors.chunks_exact(gram.dim());
        for ((u, value), share) in vectors.zip(&pairs.values).zip(&shares).take(kept) {
            let c = share / value;
            explained += c * share;
            w.iter_mut().zip(u).for_each(|(w, u)| *w += c * u);
        }
        let objective = (0.5 * (gram.square() - explained)).max(0.0);
        let step = Step { objective, gap: 0.0, seconds: began.elapsed().as_secs_f64() };
        let stop = if kept == 0 { Stop::Empty } else { Stop::Converged };
        (w, SolveReport { stop, iterations: kept as u32, objective, gap: 0.0, steps: vec![step] })
    };
    Ok(parameters.iter().map(fit).collect())
}

/// How many of these eigenvalues (largest first) are kept.
fn kept(values: &[f64], cut: Cut, parameter: f64) -> usize {
    let largest = values.first().copied().unwrap_or(0.0).max(0.0);
    let sound = values.iter().take_while(|value| **value > ROUNDING * largest).count();
    let mut kept = match cut {
        Cut::Threshold => values.iter().take_while(|value| **value >= parameter).count(),
        Cut::Components => parameter as usize,
    };
    while kept > 0 && kept < sound && values[kept - 1] - values[kept] < CLUSTER * values[kept - 1] {
        kept += 1;
    }
    kept.min(sound)
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
