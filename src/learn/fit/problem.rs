//! The fit of one function on weighted queries.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::choices::{FitAt, HeldOut, Interaction, LambdaBy, LambdaScope, Penalty, Prior};
use super::conflicts::Combination;
use crate::base::{Control, Error, Result, matrix_bytes, parallel, require};
use crate::cost::loss::{ListLoss, Loss, PairLoss, Shape};
use crate::learn::smoothing::SmoothingKind;
use crate::learn::solve::{
    Cut, ListProblem, PairProblem, PairRisk, QueryBlock, Solution, SolveOptions, SolveReport, SolverDef, Stop,
};
use crate::learn::space::{Function, Scorer, Space, WeightsOf};
use crate::learn::{kernel, solve};
use crate::math::projected_gradient::minimize_signed_path;
use crate::math::{LANES, Objective, are_bounded, is_positive};

/// Landmarks of functions among which validation chooses. A map with fewer landmarks is a prefix of one with more.
pub const CHOICE_LANDMARKS: usize = 500;

/// From this lambda on, a function is the center of the penalty, without a fit.
pub const CENTER_ALONE: f64 = 1e9;

/// The choices of a fit.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct FitSpec {
    /// The parameter of the penalty, > 0: lambda, the smallest eigenvalue, the number of eigenfunctions, or the radius.
    pub lambda: f64,
    /// Relative duality gap at which a fit ends.
    pub tolerance: f64,
    pub loss: Loss,
    /// The regularization.
    pub penalty: Penalty,
    #[serde(serialize_with = "write_solver", deserialize_with = "read_solver")]
    pub solver: &'static SolverDef,
    /// Weights that the penalty shrinks to; 0 by default.
    pub center: Option<Vec<f64>>,
    /// Initial weights for a loss that is not convex; the center by default.
    pub start: Option<Vec<f64>>,
    /// Signs of weights, 1 or -1, or 0 for any; empty without. Only smooth convex losses in the features themselves take them.
    #[serde(skip)]
    pub signs: Vec<i8>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the serializer passes references")]
fn write_solver<S: serde::Serializer>(solver: &&'static SolverDef, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(solver.name)
}

fn read_solver<'de, D: serde::Deserializer<'de>>(from: D) -> Result<&'static SolverDef, D::Error> {
    let name = String::deserialize(from)?;
    solve::find(&name).map_err(serde::de::Error::custom)
}

/// The parameter of a penalty as solvers have it. They minimize R(w) + lambda' |w - w0|^2: lambda' is lambda for pairwise
/// losses and lambda / 2 for listwise ones, and twice that with the form `ranking`. Other penalties keep their parameter.
#[derive(Debug, Clone, Copy)]
pub struct SolverParameter(f64);

impl SolverParameter {
    /// The regularization for a parameter of the caller.
    pub fn new(parameter: f64, penalty: Penalty, loss: &Loss, space: &Space) -> Self {
        Self(match penalty {
            Penalty::Ridge => loss.penalty_factor() * space.penalty_factor() * parameter,
            Penalty::Threshold | Penalty::Components | Penalty::Ball | Penalty::Sphere | Penalty::L1 => {
                parameter
            }
        })
    }

    /// Numbers for a solver.
    pub fn numbers(parameters: &[Self]) -> Vec<f64> {
        parameters.iter().map(|parameter| parameter.0).collect()
    }
}

impl FitSpec {
    /// Fits a function.
    ///
    /// # Errors
    /// As [`Self::solve`].
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

    /// Finds a function's weights in the solver's coordinates.
    ///
    /// # Errors
    /// [`Error::Interrupted`] when canceled; too many features.
    pub fn solve(
        &self,
        space: &Space,
        blocks: &[(Arc<QueryBlock>, f64)],
        control: &Control,
    ) -> Result<Solution> {
        let lambda = self.for_solver(space, &[self.lambda]);
        let fit = self.solve_path(space.dim(), blocks, &lambda, control)?.pop();
        let fit = fit.ok_or_else(|| Error::Internal("a solver without an answer".to_owned()))?;
        if fit.report.stop == Stop::Interrupted { Err(Error::Interrupted) } else { Ok(fit) }
    }

    /// The functions for several lambdas, largest first, among which validation chooses. Functions of a kernel have the
    /// first [`CHOICE_LANDMARKS`] landmarks.
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
        let lambdas = self.for_solver(space, lambdas);
        let fits = if self.chooses_with_fewer(space) {
            let documents: usize = blocks.iter().map(|(block, _)| block.n_docs()).sum();
            let what = format_args!("{documents} documents of {CHOICE_LANDMARKS} landmarks");
            let bytes = matrix_bytes(documents, CHOICE_LANDMARKS + LANES);
            let _memory = control.reserve(bytes, what, "use fewer rows or landmarks")?;
            let first = |number: usize| {
                let (block, weight) = &blocks[number];
                (Arc::new(block.leading(CHOICE_LANDMARKS)), *weight)
            };
            self.solve_path(CHOICE_LANDMARKS, &parallel::map(blocks.len(), first), &lambdas, control)?
        } else {
            self.solve_path(space.dim(), blocks, &lambdas, control)?
        };
        control.check()?;
        let function = |mut fit: Solution| {
            fit.w.resize(space.dim(), 0.0);
            space.function(fit.w)
        };
        fits.into_iter().map(function).collect()
    }

    /// Whether functions among which validation chooses have the first landmarks only. Least squares has one factorization
    /// for all lambdas.
    fn chooses_with_fewer(&self, space: &Space) -> bool {
        space.dim() > CHOICE_LANDMARKS
            && matches!(space.weights_of(), WeightsOf::Documents(_))
            && space.takes_pairs()
            && self.penalty == Penalty::Ridge
            && self.loss.shape() != Shape::Quadratic
            && self.center.is_none()
            && self.start.is_none()
    }

    /// The smallest lambda of the L1 penalty at which all weights are 0, or an upper bound of it. Listwise losses only.
    ///
    /// # Errors
    /// Judgments that were prepared for another loss.
    pub fn largest_l1_lambda(&self, space: &Space, blocks: &[(Arc<QueryBlock>, f64)]) -> Result<f64> {
        let Loss::List(loss) = &self.loss else { return Err(prepared_for_another()) };
        Ok(solve::largest_l1_lambda(&self.list_problem(loss, space.dim(), blocks)?))
    }

    /// Parameters of the penalty for solvers.
    pub(super) fn for_solver(&self, space: &Space, lambdas: &[f64]) -> Vec<SolverParameter> {
        let parameter = |lambda: &f64| match &self.center {
            Some(_) if *lambda >= CENTER_ALONE => SolverParameter(f64::INFINITY),
            _ => SolverParameter::new(*lambda, self.penalty, &self.loss, space),
        };
        lambdas.iter().map(parameter).collect()
    }

    /// Solves for each lambda, largest first; the center of the penalty for an infinite one.
    fn solve_path(
        &self,
        dim: usize,
        blocks: &[(Arc<QueryBlock>, f64)],
        lambdas: &[SolverParameter],
        control: &Control,
    ) -> Result<Vec<Solution>> {
        let finite = lambdas.iter().position(|lambda| lambda.0.is_finite()).unwrap_or(lambdas.len());
        let center = || Solution {
            w: self.center.clone().unwrap_or_else(|| vec![0.0; dim]),
            report: SolveReport::new(Stop::Empty, 0, 0.0, 0.0, Vec::new()),
        };
        let mut solutions: Vec<Solution> = (0..finite).map(|_| center()).collect();
        if finite < lambdas.len() {
            solutions.extend(self.solve_finite(dim, blocks, &lambdas[finite..], control)?);
        }
        Ok(solutions)
    }

    fn solve_finite(
        &self,
        dim: usize,
        blocks: &[(Arc<QueryBlock>, f64)],
        lambdas: &[SolverParameter],
        control: &Control,
    ) -> Result<Vec<Solution>> {
        let lambdas = &SolverParameter::numbers(lambdas)[..];
        let reserve = |bytes: u64| {
            let what = format_args!("the solver of a function of {dim} weights");
            control.reserve(bytes, what, "use fewer features, landmarks, rows or threads")
        };
        let (options, rule) = (self.options(), self.options().rule());
        let signed = |risk: &dyn Objective| minimize_signed_path(risk, &self.signs, lambdas, &rule, control);
        match &self.loss {
            Loss::Pair(loss, _) => {
                let problem = self.pair_problem(*loss, dim, blocks)?;
                if !self.signs.is_empty() {
                    let risk = PairRisk::new(&problem);
                    let _memory = reserve(risk.bytes())?;
                    return Ok(signed(&risk));
                }
                let _memory = reserve(solve::pair_bytes(&problem, self.solver))?;
                solve::pair_path(&problem, lambdas, &options, control)
            }
            Loss::List(loss) => {
                let problem = self.list_problem(loss, dim, blocks)?;
                if !self.signs.is_empty() {
                    return Ok(signed(&problem));
                }
                let _memory = reserve(match self.penalty {
                    Penalty::Threshold | Penalty::Components => solve::spectral_bytes(dim),
                    Penalty::L1 => solve::l1_bytes(&problem),
                    _ => solve::list_bytes(&problem, self.solver),
                })?;
                match self.penalty {
                    Penalty::Ridge => solve::list_path(&problem, lambdas, &options, control),
                    Penalty::Threshold => solve::spectral_path(&problem, Cut::Threshold, lambdas, control),
                    Penalty::Components => solve::spectral_path(&problem, Cut::Components, lambdas, control),
                    Penalty::Ball => solve::ball_path(&problem, lambdas, &rule, control),
                    Penalty::Sphere => solve::sphere_path(&problem, lambdas, &rule, control),
                    Penalty::L1 => solve::l1_path(&problem, lambdas, &rule, control),
                }
            }
        }
    }

    fn pair_problem<'a>(
        &self,
        loss: PairLoss,
        dim: usize,
        blocks: &'a [(Arc<QueryBlock>, f64)],
    ) -> Result<PairProblem<'a>> {
        let pairs = blocks.iter().map(|(block, weight)| Some((block.as_pair()?, *weight)));
        let pairs = pairs.collect::<Option<_>>().ok_or_else(prepared_for_another)?;
        let problem = PairProblem::new(dim, pairs, self.lambda)?.with_loss(loss);
        match &self.center {
            Some(center) => problem.with_center(center.clone()),
            None => Ok(problem),
        }
    }

    fn list_problem<'a>(
        &self,
        loss: &'a ListLoss,
        dim: usize,
        blocks: &'a [(Arc<QueryBlock>, f64)],
    ) -> Result<ListProblem<'a>> {
        let lists = blocks.iter().map(|(block, weight)| Some((block.as_list()?, *weight)));
        let lists = lists.collect::<Option<_>>().ok_or_else(prepared_for_another)?;
        let mut problem = ListProblem::new(dim, loss, lists)?;
        if let Some(start) = &self.start {
            problem = problem.with_start(start.clone())?;
        }
        match &self.center {
            Some(center) => problem.with_center(center.clone()),
            None => Ok(problem),
        }
    }

    pub(super) fn options(&self) -> SolveOptions {
        SolveOptions { solver: self.solver, ..SolveOptions::new(self.tolerance) }
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
            interaction: Interaction::None,
            form: space.form,
            kernel: space.kernel().map_or(kernel::NAMES[0], |kernel| kernel.def.name),
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
