//! How a function is fitted once it is known which judgments count, and how much.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Function;
use super::space::Space;
use crate::control::Control;
use crate::error::{Error, Result};
use crate::loss::PairLoss;
use crate::solve::{self, PairBlock, PairProblem, SolveOptions, SolveReport, SolverDef, Stop};

/// The choices of a fit.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Fitting {
    /// Weight of the penalty, > 0.
    pub lambda: f64,
    /// Relative duality gap at which a fit ends.
    pub tolerance: f64,
    /// What a pair costs.
    pub loss: PairLoss,
    /// The solver.
    #[serde(serialize_with = "write_solver", deserialize_with = "read_solver")]
    pub solver: &'static SolverDef,
    /// Weights to which the penalty pulls; 0 unless given.
    pub centre: Option<Vec<f64>>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the serialiser passes references")]
fn write_solver<S: serde::Serializer>(solver: &&'static SolverDef, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(solver.name)
}

fn read_solver<'de, D: serde::Deserializer<'de>>(from: D) -> Result<&'static SolverDef, D::Error> {
    let name = String::deserialize(from)?;
    solve::find(&name).map_err(serde::de::Error::custom)
}

impl Fitting {
    /// The optimisation problem of these blocks, each with the weight of its pairs.
    ///
    /// # Errors
    /// Too many features.
    pub fn problem<'a>(&self, space: &Space, blocks: &'a [(Arc<PairBlock>, f64)]) -> Result<PairProblem<'a>> {
        let blocks = blocks.iter().map(|(block, weight)| (&**block, *weight)).collect();
        let problem = PairProblem::new(space.dim(), blocks, space.solver_lambda(self.lambda))?;
        let problem = problem.with_loss(self.loss);
        match &self.centre {
            Some(centre) => problem.with_centre(centre.clone()),
            None => Ok(problem),
        }
    }

    /// Fits a function.
    ///
    /// # Errors
    /// Those of [`Self::solve`].
    pub fn fit(
        &self,
        space: &Space,
        blocks: &[(Arc<PairBlock>, f64)],
        control: &Control,
    ) -> Result<(Function, SolveReport)> {
        let (w, report) = self.solve(space, blocks, control)?;
        let weights = space.function(w)?;
        Ok((Function { weights, objective: report.objective, gap: report.gap }, report))
    }

    /// Finds the weights of a function as the solver sees them.
    ///
    /// # Errors
    /// [`Error::Interrupted`] when cancelled; too many features.
    pub fn solve(
        &self,
        space: &Space,
        blocks: &[(Arc<PairBlock>, f64)],
        control: &Control,
    ) -> Result<(Vec<f64>, SolveReport)> {
        let problem = self.problem(space, blocks)?;
        let (w, report) = solve::solve(&problem, &self.options(), &|| control.is_cancelled());
        if report.stop == Stop::Interrupted { Err(Error::Interrupted) } else { Ok((w, report)) }
    }

    /// The functions for several lambdas (largest first), for a choice among them.
    ///
    /// # Errors
    /// [`Error::Interrupted`] when cancelled; too many features.
    pub fn path(
        &self,
        space: &Space,
        blocks: &[(Arc<PairBlock>, f64)],
        lambdas: &[f64],
        control: &Control,
    ) -> Result<Vec<Vec<f64>>> {
        let lambdas: Vec<f64> = lambdas.iter().map(|lambda| space.solver_lambda(*lambda)).collect();
        let problem = self.problem(space, blocks)?;
        let fits = solve::path(&problem, &lambdas, &self.options(), &|| control.is_cancelled())?;
        control.check()?;
        fits.into_iter().map(|(weights, _)| space.function(weights)).collect()
    }

    fn options(&self) -> SolveOptions {
        SolveOptions { tolerance: self.tolerance, solver: self.solver, ..SolveOptions::default() }
    }

    /// True where the numbers are in their ranges and a centre has `dim` finite numbers.
    pub(super) fn is_sound(&self, dim: usize) -> bool {
        let positive = |value: f64| value.is_finite() && value > 0.0;
        let centred = |centre: &Vec<f64>| centre.len() == dim && centre.iter().all(|value| value.is_finite());
        positive(self.lambda) && positive(self.tolerance) && self.centre.as_ref().is_none_or(centred)
    }
}
