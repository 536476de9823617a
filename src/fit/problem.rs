//! The fit of one function on weighted queries.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::choices::{FitAt, HeldOut, LambdaBy, LambdaScope, Penalty, Prior};
use super::conflicts::Combination;
use crate::control::Control;
use crate::error::{Error, Result, require};
use crate::kernel;
use crate::loss::{ListLoss, Loss, PairLoss};
use crate::math::bounds::{are_bounded, is_positive};
use crate::smoothing::SmoothingKind;
use crate::solve::{
    self, Cut, ListProblem, PairProblem, QueryBlock, Solution, SolveOptions, SolveReport, SolverDef, Stop,
};
use crate::space::{Function, Scorer, Space};

/// The choices of a fit.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct FitSpec {
    /// The parameter of the penalty, > 0: lambda, the smallest eigenvalue, the number of eigenfunctions, or the radius.
    pub lambda: f64,
    /// Relative duality gap at which a fit ends.
    pub tolerance: f64,
    /// The loss.
    pub loss: Loss,
    /// The regularization.
    pub penalty: Penalty,
    /// The solver.
    #[serde(serialize_with = "write_solver", deserialize_with = "read_solver")]
    pub solver: &'static SolverDef,
    /// Weights that the penalty shrinks to; 0 by default.
    pub center: Option<Vec<f64>>,
    /// Initial weights for a loss that is not convex; the center by default.
    pub start: Option<Vec<f64>>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the serializer passes references")]
fn write_solver<S: serde::Serializer>(solver: &&'static SolverDef, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(solver.name)
}

fn read_solver<'de, D: serde::Deserializer<'de>>(from: D) -> Result<&'static SolverDef, D::Error> {
    let name = String::deserialize(from)?;
    solve::find(&name).map_err(serde::de::Error::custom)
}

impl FitSpec {
    /// Fits a function.
    ///
    /// # Errors
    /// Those of [`Self::solve`].
    pub fn fit(
        &self,
        space: &Space,
        blocks: &[(Arc<QueryBlock>, f64)],
        control: &Control,
    ) -> Result<(Function, SolveReport)> {
        let Solution { w, report } = self.solve(space, blocks, control)?;
        let weights = space.function(w)?;
        Ok((Function { weights, objective: report.objective, gap: report.gap }, report))
    }

    /// Finds the weights of a function in the coordinates of the solver.
    ///
    /// # Errors
    /// [`Error::Interrupted`] when canceled; too many features.
    pub fn solve(
        &self,
        space: &Space,
        blocks: &[(Arc<QueryBlock>, f64)],
        control: &Control,
    ) -> Result<Solution> {
        let lambda = self.solver_lambda(space, self.lambda);
        let fit = self.solve_path(space, blocks, &[lambda], control)?.pop();
        let fit = fit.ok_or_else(|| Error::Internal("a solver without an answer".to_owned()))?;
        if fit.report.stop == Stop::Interrupted { Err(Error::Interrupted) } else { Ok(fit) }
    }

    /// The functions for several lambdas, largest first.
    ///
    /// # Errors
    /// [`Error::Interrupted`] when canceled; too many features.
    pub fn path(
        &self,
        space: &Space,
        blocks: &[(Arc<QueryBlock>, f64)],
        lambdas: &[f64],
        control: &Control,
    ) -> Result<Vec<Vec<f64>>> {
        let lambdas: Vec<f64> = lambdas.iter().map(|lambda| self.solver_lambda(space, *lambda)).collect();
        let fits = self.solve_path(space, blocks, &lambdas, control)?;
        control.check()?;
        fits.into_iter().map(|fit| space.function(fit.w)).collect()
    }

    /// The smallest lambda of the L1 penalty at which all weights are 0, or an upper bound of it. Listwise losses only.
    ///
    /// # Errors
    /// Judgments that were prepared for another loss.
    pub fn largest_l1_lambda(&self, space: &Space, blocks: &[(Arc<QueryBlock>, f64)]) -> Result<f64> {
        let Loss::List(loss) = &self.loss else { return Err(prepared_for_another()) };
        Ok(solve::largest_l1_lambda(&self.list_problem(loss, space, blocks)?))
    }

    /// Solvers minimize R(w) + lambda' |w - w0|^2. lambda' is lambda for pairwise losses and lambda / 2 for listwise ones, and
    /// twice that with the form `ranking`. Other penalties keep their parameter.
    fn solver_lambda(&self, space: &Space, lambda: f64) -> f64 {
        match self.penalty {
            Penalty::Ridge => self.loss.penalty_factor() * space.solver_lambda(lambda),
            Penalty::Threshold | Penalty::Components | Penalty::Ball | Penalty::Sphere | Penalty::L1 => {
                lambda
            }
        }
    }

    /// Solves for each of the solver's lambdas, largest first.
    fn solve_path(
        &self,
        space: &Space,
        blocks: &[(Arc<QueryBlock>, f64)],
        lambdas: &[f64],
        control: &Control,
    ) -> Result<Vec<Solution>> {
        let reserve = |bytes: u64| {
            let what = format_args!("the solver of a function of {} weights", space.dim());
            control.reserve(bytes, what, "use fewer features, landmarks, rows or threads")
        };
        match &self.loss {
            Loss::Pair(loss, _) => {
                let problem = self.pair_problem(*loss, space, blocks)?;
                let _memory = reserve(solve::pair_bytes(&problem, self.solver))?;
                solve::pair_path(&problem, lambdas, &self.options(), control)
            }
            Loss::List(loss) => {
                let problem = self.list_problem(loss, space, blocks)?;
                let _memory = reserve(match self.penalty {
                    Penalty::Threshold | Penalty::Components => solve::spectral_bytes(space.dim()),
                    Penalty::Ridge | Penalty::Ball | Penalty::Sphere => {
                        solve::list_bytes(&problem, self.solver)
                    }
                    Penalty::L1 => solve::l1_bytes(&problem),
                })?;
                match self.penalty {
                    Penalty::Ridge => solve::list_path(&problem, lambdas, &self.options(), control),
                    Penalty::Threshold => solve::spectral_path(&problem, Cut::Threshold, lambdas, control),
                    Penalty::Components => solve::spectral_path(&problem, Cut::Components, lambdas, control),
                    Penalty::Ball => solve::ball_path(&problem, lambdas, &self.options().rule(), control),
                    Penalty::Sphere => solve::sphere_path(&problem, lambdas, &self.options().rule(), control),
                    Penalty::L1 => solve::l1_path(&problem, lambdas, &self.options().rule(), control),
                }
            }
        }
    }

    fn pair_problem<'a>(
        &self,
        loss: PairLoss,
        space: &Space,
        blocks: &'a [(Arc<QueryBlock>, f64)],
    ) -> Result<PairProblem<'a>> {
        let pairs = |(block, weight): &'a (Arc<QueryBlock>, f64)| match &**block {
            QueryBlock::Pair(block) => Ok((block, *weight)),
            QueryBlock::List(_) => Err(prepared_for_another()),
        };
        let blocks = blocks.iter().map(pairs).collect::<Result<_>>()?;
        let problem = PairProblem::new(space.dim(), blocks, self.lambda)?.with_loss(loss);
        match &self.center {
            Some(center) => problem.with_center(center.clone()),
            None => Ok(problem),
        }
    }

    fn list_problem<'a>(
        &self,
        loss: &'a ListLoss,
        space: &Space,
        blocks: &'a [(Arc<QueryBlock>, f64)],
    ) -> Result<ListProblem<'a>> {
        let lists = |(block, weight): &'a (Arc<QueryBlock>, f64)| match &**block {
            QueryBlock::List(block) => Ok((block, *weight)),
            QueryBlock::Pair(_) => Err(prepared_for_another()),
        };
        let blocks = blocks.iter().map(lists).collect::<Result<_>>()?;
        let mut problem = ListProblem::new(space.dim(), loss, blocks)?;
        if let Some(start) = &self.start {
            problem = problem.with_start(start.clone())?;
        }
        match &self.center {
            Some(center) => problem.with_center(center.clone()),
            None => Ok(problem),
        }
    }

    fn options(&self) -> SolveOptions {
        SolveOptions { tolerance: self.tolerance, solver: self.solver, ..SolveOptions::default() }
    }

    /// Checks choices that were read from bytes: numbers in range, and a combination that training accepts.
    ///
    /// # Errors
    /// [`Error::Corrupt`] with the reason.
    pub(crate) fn validate(&self, space: &Space, smoothing: SmoothingKind) -> Result<()> {
        let has_dim =
            |w: &Option<Vec<f64>>| w.as_ref().is_none_or(|w| w.len() == space.dim() && are_bounded(w));
        require(
            "fit",
            &[
                (matches!(self.loss, Loss::List(_)) || space.takes_pairs(), "a space for its loss"),
                (is_positive(self.lambda) && is_positive(self.tolerance), "a positive lambda and tolerance"),
                (
                    has_dim(&self.center) && has_dim(&self.start),
                    "as many weights, from -1e150 to 1e150, as its space has",
                ),
            ],
        )?;
        let combination = Combination {
            loss: &self.loss,
            solver: self.solver,
            penalty: self.penalty,
            prior: if self.center.is_some() { Prior::Global } else { Prior::Zero },
            form: space.form(),
            kernel: space.kernel().map_or(kernel::NAMES[0], |kernel| kernel.def().name),
            smoothing,
            fit_at: FitAt::Training,
            lambda_scope: LambdaScope::All,
            held_out: HeldOut::Source,
            lambda: LambdaBy::Number,
        };
        combination.check().map_err(|problem| Error::Corrupt(format!("fit: {problem}")))
    }
}

fn prepared_for_another() -> Error {
    Error::Internal("judgments that were prepared for another loss".to_owned())
}
