//! The fits of a training on the grid: one function of all queries, or one per training query, and the function to which they
//! shrink; and warnings about the results.

use std::collections::HashMap;
use std::iter::repeat_n;
use std::sync::Arc;
use std::time::Instant;

use super::interactions::Products;
use super::session::Session;
use super::spec::GridSpec;
use crate::base::{Result, each_in_memory};
use crate::cost::loss::{Loss, Shape};
use crate::data::ListConstraint;
use crate::learn::fit::{FitAt, FitSpec, Neighbor, Neighborhood, Penalty, Prior, TrainingBlocks};
use crate::learn::smoothing::{SmoothingKind, Target, lambda_rate};
use crate::learn::solve::{self, STOCHASTIC, SolveReport, Step};
use crate::learn::space::{Form, Function, Space};
use crate::model::{Interactions, LocalFit};
use crate::train::algorithm::LogStep;
use crate::train::select::significant;

/// One fitted function; times are seconds since training began.
#[derive(Clone)]
pub struct Fit {
    pub function: Function,
    pub report: SolveReport,
    pub began: f64,
    pub ended: f64,
}

/// How one function of all queries is fitted, to which others shrink or at which their solver starts.
pub(super) struct PriorFit {
    loss: Loss,
    lambda: f64,
    role: PriorRole,
}

/// The purpose of a prior.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PriorRole {
    /// The penalty shrinks to it.
    Center,
    /// The solver of a loss that is not convex starts at it.
    Start,
}

/// The steps of the solver if one fit took any, otherwise one line per fit.
pub fn log(fits: &[Fit]) -> Vec<LogStep> {
    let last =
        |fit: &Fit| LogStep { objective: fit.function.objective, gap: fit.function.gap, seconds: fit.ended };
    let [fit] = fits else { return fits.iter().map(last).collect() };
    let step =
        |step: &Step| LogStep { objective: step.objective, gap: step.gap, seconds: fit.began + step.seconds };
    let mut log: Vec<LogStep> = fit.report.steps.iter().map(step).collect();
    // Some solvers compute a smaller gap after their last step.
    if log.last().is_none_or(|step| step.gap > fit.function.gap) {
        log.push(last(fit));
    }
    log
}

impl Session<'_> {
    pub(super) fn space(&self) -> &Space {
        &self.neighborhood.blocks.space
    }

    /// Number of query features that are numbers; 0 without any.
    pub(super) fn query_features(&self) -> usize {
        self.neighborhood.distance.numbers
    }

    /// How functions are fitted on the judgments of a neighborhood.
    pub(super) fn fit_spec(
        &self,
        neighborhood: &Neighborhood,
        lambda: f64,
        tolerance: f64,
        prior: Option<&PriorFit>,
    ) -> Result<LocalFit> {
        let GridSpec { loss, solver, penalty, .. } = self.spec;
        let (loss, penalty, center) = (loss.clone(), *penalty, self.center.clone());
        let spec = FitSpec {
            lambda,
            tolerance,
            loss,
            penalty,
            solver,
            center,
            start: None,
            signs: self.signs.clone(),
        };
        let Some(prior) = prior else { return Ok(LocalFit { spec, prior: None }) };
        if let Some(products) = &self.prior_products {
            let prior = self.prior_with_products(neighborhood, prior, products, tolerance)?;
            return Ok(LocalFit { spec, prior: Some(prior) });
        }
        let w = Some(self.prior_weights(neighborhood, prior, tolerance)?);
        let spec = match prior.role {
            PriorRole::Center => FitSpec { center: w, ..spec },
            PriorRole::Start => FitSpec { start: w, ..spec },
        };
        Ok(LocalFit { spec, prior: None })
    }

    /// The prior as a function of document features and their products with query features.
    fn prior_with_products(
        &self,
        neighborhood: &Neighborhood,
        prior: &PriorFit,
        products: &Products,
        tolerance: f64,
    ) -> Result<Interactions> {
        let what = "a copy of the documents for the prior";
        let _copy = self.control.reserve(self.data.bytes(), what, "use \"interaction\": \"none\"")?;
        let mut data = (*self.data).clone();
        let phi = products.functions_of(&neighborhood.features, self.control)?;
        let _memory = products.add(&phi, &mut data, self.control)?;
        let space = Space::linear(data.features.columns(), Form::Scoring);
        let blocks = TrainingBlocks::from_rows(Arc::new(space), Arc::new(data), prior.loss.clone());
        let neighborhood = Neighborhood { blocks: Arc::new(blocks), ..neighborhood.clone() };
        let weights = self.prior_weights(&neighborhood, prior, tolerance)?;
        products.function(&Function { weights, ..Function::zero(0) })
    }

    /// The prior with its lambda, if one is needed.
    pub(super) fn prior(&self) -> Option<PriorFit> {
        let loss = self.spec.prior_loss()?;
        let role = if self.spec.prior == Prior::Zero { PriorRole::Start } else { PriorRole::Center };
        Some(PriorFit { loss, lambda: self.spec.prior_lambda?, role })
    }

    /// The rate of lambda for these queries.
    pub(super) fn rate(&self) -> f64 {
        lambda_rate(self.data.n_queries(), self.query_features())
    }

    /// The lambda of the L1 penalty at which all weights of the global function are 0; 1 without one.
    pub(super) fn largest_l1_lambda(&self) -> Result<f64> {
        let neighborhood = self.neighborhood.uniform(&self.spec.loss)?;
        let neighbors = neighborhood.neighbors(&[], Target::Observed);
        let _memory = neighborhood.reserve(&neighbors, self.control)?;
        let blocks = neighborhood.weighted_blocks(&neighbors, self.control)?;
        let spec = self.fit_spec(&neighborhood, 1.0, self.spec.tolerance, None)?.spec;
        let largest = spec.largest_l1_lambda(self.space(), &blocks)?;
        Ok(if largest > 0.0 { largest } else { 1.0 })
    }

    /// How the prior is fitted.
    fn prior_spec(&self, prior: &PriorFit, tolerance: f64) -> FitSpec {
        let PriorFit { lambda, .. } = *prior;
        let loss = prior.loss.clone();
        let solver = if loss == self.spec.loss { self.spec.solver } else { solve::SOLVERS[0] };
        FitSpec {
            lambda,
            tolerance,
            loss,
            penalty: Penalty::Ridge,
            solver,
            center: None,
            start: None,
            signs: Vec::new(),
        }
    }

    /// The prior's weights on a neighborhood's judgments, in the solver's coordinates.
    fn prior_weights(
        &self,
        neighborhood: &Neighborhood,
        prior: &PriorFit,
        tolerance: f64,
    ) -> Result<Vec<f64>> {
        let neighborhood = neighborhood.uniform(&prior.loss)?;
        let neighbors = neighborhood.neighbors(&[], Target::Observed);
        let _memory = neighborhood.reserve(&neighbors, self.control)?;
        let blocks = neighborhood.weighted_blocks(&neighbors, self.control)?;
        let spec = self.prior_spec(prior, tolerance);
        spec.solve(&neighborhood.blocks.space, &blocks, self.control).map(|fit| fit.w)
    }

    /// One function for all queries, one per training query, or empty if they are fitted at query time.
    pub(super) fn fit_all(
        &self,
        local: &LocalFit,
        each: Option<&[f64]>,
        started: Instant,
    ) -> Result<Vec<Fit>> {
        if self.spec.smoothing.kind == SmoothingKind::Uniform {
            return Ok(vec![self.fit_one(
                &self.neighborhood.neighbors(&[], Target::Observed),
                &local.spec,
                started,
            )?]);
        }
        if self.spec.fit_at == FitAt::QueryTime {
            return Ok(Vec::new());
        }
        // Queries with the same features and lambda have the same function.
        let key = |query: usize| {
            let own = (self.spec.smoothing.kind == SmoothingKind::Individual).then_some(query as f64);
            let lambda = each.map(|each| each[query]);
            self.neighborhood.features.row(query).iter().copied().chain(own).chain(lambda).collect()
        };
        let groups = groups((0..self.data.n_queries()).map(key));
        let queries: Vec<usize> = groups.iter().map(|group| group[0]).collect();
        self.control.expect(queries.len());
        let batches: Vec<&[usize]> = queries.chunks(Neighborhood::batch(queries.len())).collect();
        let fits = |batch: &&[usize]| -> Result<Vec<Fit>> {
            let neighbors = self.neighborhood.neighbors_of_queries(batch);
            let fit = |(query, neighbors): (&usize, &Vec<Neighbor>)| {
                let spec = local.at(&self.neighborhood.features.row(*query).to_vec(), self.control)?;
                let lambda = each.map_or(spec.lambda, |each| each[*query]);
                self.fit_one(neighbors, &FitSpec { lambda, ..spec.into_owned() }, started)
            };
            let fits: Vec<Fit> = batch.iter().zip(&neighbors).map(fit).collect::<Result<_>>()?;
            batch.iter().for_each(|_| self.control.step());
            Ok(fits)
        };
        let fits = each_in_memory(&batches, fits)?.into_iter().flatten();
        let copies =
            |(fit, group)| repeat_n(fit, Vec::len(group)).zip(group).map(|(fit, query)| (*query, fit));
        Ok(in_order(fits.zip(&groups).flat_map(copies)))
    }

    fn fit_one(&self, neighbors: &[Neighbor], spec: &FitSpec, started: Instant) -> Result<Fit> {
        let began = started.elapsed().as_secs_f64();
        let (function, report) = self.neighborhood.fit(neighbors, spec, self.control)?;
        Ok(Fit { function, report, began, ended: started.elapsed().as_secs_f64() })
    }
}

/// The indices of equal keys, in the order of their first ones.
pub(super) fn groups(keys: impl Iterator<Item = Vec<f64>>) -> Vec<Vec<usize>> {
    let mut numbers: HashMap<Vec<u64>, usize> = HashMap::new();
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (index, key) in keys.enumerate() {
        let key = key.into_iter().map(f64::to_bits).collect();
        let number = *numbers.entry(key).or_insert(groups.len());
        if number == groups.len() {
            groups.push(Vec::new());
        }
        groups[number].push(index);
    }
    groups
}

/// Values by their indices.
pub(super) fn in_order<T>(values: impl Iterator<Item = (usize, T)>) -> Vec<T> {
    let mut values: Vec<(usize, T)> = values.collect();
    values.sort_unstable_by_key(|(index, _)| *index);
    values.into_iter().map(|(_, value)| value).collect()
}

// Warnings about the results of fits.

/// A loss that training lowers by less than 1% is not lowered.
const COLLAPSED: f64 = 0.99;

/// A warning if the solver certifies no optimum and does not look for a local one.
pub(super) fn uncertified(spec: &GridSpec) -> Option<String> {
    let stochastic = spec.solver.name == STOCHASTIC.name && !spec.loss.shape().is_convex();
    stochastic.then(|| {
        let (solver, loss) = (spec.solver.name, spec.loss.def().name);
        format!(
            "solver \"{solver}\" makes a fixed number of passes for the loss '{loss}', which is not convex: no gap certifies \
             an optimum (the gap of the log is the objective); compare with solver \"auto\""
        )
    })
}

/// A smaller decrease of an objective is not worth a warning.
const CLEAR_DECREASE: f64 = 0.01;

/// A warning if other starts than the default one reached clearly lower objectives.
pub(super) fn better_starts(fits: &[Fit]) -> Option<String> {
    let clear = |fit: &&Fit| {
        let decrease = |first: f64| first - fit.report.objective > CLEAR_DECREASE * first.abs();
        fit.report.default_start.is_some_and(decrease)
    };
    let clear_fits: Vec<&Fit> = fits.iter().filter(clear).collect();
    match (fits, clear_fits.first()?.report.default_start?) {
        ([fit], first) => Some(format!(
            "the objective has several local minima: the default start reached {}, another start {}, which the model uses",
            significant(first),
            significant(fit.report.objective)
        )),
        _ => Some(format!(
            "the objectives have several local minima: for {} of {} functions a start other than the default reached \
             a lower one, which the model uses",
            clear_fits.len(),
            fits.len()
        )),
    }
}

/// A warning if the best functions score all documents 0, or are hardly better than that. Large-margin bounds have that on
/// noisy grades, penalties that set weights to 0 with a large lambda, and others with tiny features or weights.
pub fn collapse(spec: &GridSpec, lambda: f64, fits: &[Fit]) -> Option<String> {
    let is_zero = |fit: &Fit| fit.function.weights.iter().all(|weight| weight.abs() <= 0.0);
    let all_zero = !fits.is_empty() && fits.iter().all(is_zero);
    let lambda = significant(lambda);
    match spec.penalty {
        Penalty::L1 | Penalty::Threshold if all_zero => Some(format!(
            "with lambda {lambda} all weights are 0, so all scores are 0; set a smaller lambda"
        )),
        _ => bound_is_optimal(spec, fits).or_else(|| {
            all_zero.then(|| {
                "all weights are 0, so all scores are 0; if features or document weights are tiny, multiply them by a \
                 number, otherwise set a smaller lambda"
                    .to_owned()
            })
        }),
    }
}

/// A warning if cutting planes hardly lower the loss of the start.
fn bound_is_optimal(spec: &GridSpec, fits: &[Fit]) -> Option<String> {
    let [Fit { function, report, .. }] = fits else { return None };
    let first = report.steps.first()?.objective;
    let takes_planes = matches!(spec.loss, Loss::List(_)) && spec.loss.shape() == Shape::Convex;
    if !takes_planes || function.objective < COLLAPSED * first {
        return None;
    }
    let at = if spec.prior == Prior::Zero { "w = 0" } else { "its prior" };
    let name = spec.loss.def().name;
    let why = match spec.loss.constraint() {
        ListConstraint::Slots => "these features hardly predict which document belongs to which slot",
        _ => {
            "it is a bound that no function lowers on these grades; try the perceptron, direct with \"bound\": \
              \"nonconvex\", list_net or cs_list_mle"
        }
    };
    Some(format!("{at} is optimal here for the loss '{name}', or within 1% of it: {why}"))
}
