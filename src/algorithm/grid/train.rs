//! The trainer of the pairwise SVMs: one function for all queries, or one per query.
//!
//! Which judgments count for a function is the smoothing's affair, the optimization problem is stated in
//! `model/query_dependent.rs`. Lambda is chosen by validation unless it is given (`choice`, `round`); then every
//! function is fitted on all rows. With the prior `global` the penalty of a query's function pulls to the uniform one
//! instead of to 0; the uniform one has a lambda of its own, chosen in the same way.

use std::sync::Arc;
use std::time::Instant;

use ndarray::Array2;
use rayon::prelude::*;
use serde_json::json;

use super::checks;
use super::lambdas::auto_grid;
use super::select_lambda::Choice;
use super::spec::{LambdaChoice, Prior, Recipe, Weighting};
use super::validation_rounds::Round;
use crate::algorithm::{AlgorithmDef, LogStep, Trained, TrainingSet};
use crate::control::Control;
use crate::data::{Dataset, QueryFeatureRule, RowOrder, Scaling, ScalingKind};
use crate::error::{Error, Result};
use crate::fit::{FitSpec, Neighbor, Neighborhood, Penalty, TrainingBlocks};
use crate::kernel::MapOptions;
use crate::loss::{Loss, Shape, least_squares};
use crate::model::{Linear, QueryDependent, Ranker, TrainingQueries};
use crate::smoothing::Kind;
use crate::solve::{self, SolveReport, Step, Stop};
use crate::space::{Function, Space};

/// Options of this trainer besides those of every training.
const PARAMETERS: &[&str] = &[
    "smoothing",
    "neighbors",
    "bandwidth",
    "prior",
    "loss",
    "form",
    "kernel",
    "landmarks",
    "solver",
    "lambda",
    "lambda_scope",
    "fit_at",
    "tolerance",
    "centering",
    "weighting",
    "penalty",
    "components",
    "radius",
    "target",
    "label_order",
    "cost_weights",
    "truncation",
    "measure",
    "margin",
    "label_ties",
    "scale",
    "query_features",
    "query_scale",
    "metric",
    "validation",
    "undefined",
    "decoder",
    "decoder_power",
    "bound",
    "neutral_grade",
    "half_life",
    "diversify_by",
];

/// What algorithms of this trainer have in common: one function for all queries, lambda |f|^2.
pub(in crate::algorithm) const PRESET: AlgorithmDef = AlgorithmDef {
    name: "",
    summary: "",
    objective: "",
    source: "",
    smoothing: Kind::Uniform,
    loss: "hinge",
    penalty: "ridge",
    prior: "zero",
    scale: ScalingKind::Quantile,
    order: RowOrder::Canonical,
    features: true,
    parameters: PARAMETERS,
    train,
    go_on: None,
};

/// Fits that only serve the choice of lambda end at these relative gaps: of pairwise losses, of smooth listwise ones, of
/// convex ones that take cutting planes, and of others. Cutting planes that stop early rank like the point where they
/// began, and would judge that instead of the function that is kept.
const CHOICE_TOLERANCES: (f64, f64, f64, f64) = (1e-4, 1e-3, 1e-4, 1e-2);

/// Lambda where no judged query can be spared to choose it.
pub(super) const FALLBACK_LAMBDA: f64 = 0.01;

/// What is fixed before anything is fitted.
pub(super) struct Session<'a> {
    pub(super) recipe: &'a Recipe,
    /// The training set, its features scaled.
    pub(super) data: Arc<Dataset>,
    pub(super) scaling: Scaling,
    pub(super) rule: Option<QueryFeatureRule>,
    pub(super) neighborhood: Neighborhood,
    pub(super) control: &'a Control,
}

/// One fitted function; seconds since training began.
pub(super) struct Fit {
    pub(super) function: Function,
    pub(super) report: SolveReport,
    pub(super) began: f64,
    pub(super) ended: f64,
}

/// A function of all queries.
struct Anchor {
    loss: Loss,
    lambda: f64,
    /// Whether the penalty pulls to it; else the solver of a loss that is not convex begins there.
    pulls: bool,
}

/// The lambdas to fit with.
pub(super) struct Lambdas {
    /// That of every function without one of its own.
    pub(super) all: f64,
    /// That of each training query (`n_queries`), where they were chosen apart.
    pub(super) each: Option<Vec<f64>>,
    /// How they were chosen.
    pub(super) choice: Option<Choice>,
}

/// Fits the recipe.
///
/// # Errors
/// Data without a pair of documents to learn from, query features that are not there, an interruption.
pub(super) fn train(recipe: &Recipe, set: TrainingSet, control: &Control) -> Result<Trained> {
    let started = Instant::now();
    let session = Session::new(recipe, set.data, control)?;
    let mut warnings: Vec<String> = session.space().warning().into_iter().collect();
    let rounds = session.rounds(set.validation)?;
    let anchor = session.anchor(&rounds, &mut warnings)?;
    let lambdas = session.lambdas(&rounds, anchor.as_ref(), &mut warnings)?;
    drop(rounds);
    control.check()?;
    let fitting = session.fitting(&session.neighborhood, lambdas.all, recipe.tolerance, anchor.as_ref())?;
    let fits = session.fit_all(&fitting, lambdas.each.as_deref(), started)?;
    let unconverged =
        fits.iter().filter(|fit| !matches!(fit.report.stop, Stop::Converged | Stop::Empty)).count();
    warnings.extend(checks::collapse(recipe, &fits));
    let log = log(&fits);
    let functions = fits.len();
    let (ranker, scaling) = session.ranker(fitting, fits.into_iter().map(|fit| fit.function).collect());
    Ok(Trained {
        ranker,
        scaling,
        lambda: Some(lambdas.all),
        prior_lambda: anchor.map(|anchor| anchor.lambda),
        choice: lambdas.choice,
        log,
        functions,
        unconverged,
        warnings,
        report: json!({}),
        aside: json!({}),
    })
}

/// The steps of the solver where there is one fit that took any, else one line per fit.
fn log(fits: &[Fit]) -> Vec<LogStep> {
    match fits {
        [Fit { function, report, began, ended }] if !report.steps.is_empty() => {
            let step = |step: &Step| LogStep {
                objective: step.objective,
                gap: step.gap,
                seconds: began + step.seconds,
            };
            let mut log: Vec<LogStep> = report.steps.iter().map(step).collect();
            // Some solvers look once more after their last step.
            let (objective, gap) = (function.objective, function.gap);
            if log.last().is_some_and(|last| last.gap > gap) {
                log.push(LogStep { objective, gap, seconds: *ended });
            }
            log
        }
        _ => fits
            .iter()
            .map(|Fit { function, ended, .. }| LogStep {
                objective: function.objective,
                gap: function.gap,
                seconds: *ended,
            })
            .collect(),
    }
}

impl<'a> Session<'a> {
    fn new(recipe: &'a Recipe, mut data: Dataset, control: &'a Control) -> Result<Self> {
        if matches!(recipe.loss, Loss::Pair(_)) {
            checks::pairs(&data)?;
        }
        checks::informative(&recipe.loss, &data)?;
        let scaling = Scaling::fit(recipe.scale, &data, control)?;
        let rule = if recipe.smoothing.kind == Kind::Uniform {
            None
        } else {
            Some(QueryFeatureRule::fit(&data, recipe.query_features, recipe.standardize_queries)?)
        };
        let features = query_features(rule.as_ref(), &data)?;
        control.check()?;
        scale(&scaling, &mut data, control)?;
        if !data.features.is_finite() {
            let scale = recipe.scale.name();
            return Err(Error::Data(format!("features are too large for the option 'scale' \"{scale}\"")));
        }
        let map = MapOptions { landmarks: recipe.landmarks, seed: recipe.seed, ..MapOptions::default() };
        let space = match recipe.penalty {
            Penalty::Ball => Space::expansion(&recipe.kernel, &data.features, &map, control)?,
            _ => Space::fit(&recipe.kernel, recipe.form, &data, &map, control)?,
        };
        let space = Arc::new(space);
        let data = Arc::new(data);
        checks::memory(&space, &data, recipe.max_memory)?;
        let blocks = TrainingBlocks::from_rows(space, Arc::clone(&data), recipe.loss.clone());
        let neighborhood = Neighborhood {
            smoothing: recipe.smoothing,
            features: Arc::new(features),
            weights: Arc::new(weights(&data, recipe.weighting)),
            held_out: Arc::new(vec![false; data.n_queries()]),
            blocks: Arc::new(blocks),
        };
        Ok(Self { recipe, data, scaling, rule, neighborhood, control })
    }

    fn space(&self) -> &Space {
        self.neighborhood.blocks.space()
    }

    /// Whether the loss is a listwise one whose solver does not begin at 0.
    pub(super) fn begins_elsewhere(&self) -> bool {
        matches!(self.recipe.loss, Loss::List(_)) && !self.recipe.loss.shape().is_convex()
    }

    /// How functions are fitted on these judgments.
    fn fitting(
        &self,
        neighborhood: &Neighborhood,
        lambda: f64,
        tolerance: f64,
        anchor: Option<&Anchor>,
    ) -> Result<FitSpec> {
        let Recipe { loss, solver, .. } = self.recipe;
        let w = anchor.map(|anchor| self.uniform(neighborhood, anchor, tolerance)).transpose()?;
        let pulls = anchor.is_some_and(|anchor| anchor.pulls);
        let (center, start) = if pulls { (w, None) } else { (None, w) };
        Ok(FitSpec {
            lambda,
            tolerance,
            loss: loss.clone(),
            penalty: self.recipe.penalty,
            solver,
            center,
            start,
        })
    }

    /// The function of all queries that others are pulled to or begin at, where the recipe wants one.
    fn anchor(&self, rounds: &[Round], warnings: &mut Vec<String>) -> Result<Option<Anchor>> {
        let recipe = self.recipe;
        let regression = || Loss::List(least_squares());
        let loss = match recipe.prior {
            Prior::Global => recipe.loss.clone(),
            Prior::Regression => regression(),
            Prior::Zero if self.begins_elsewhere() => regression(),
            Prior::Zero => return Ok(None),
        };
        let rounds = rounds.iter().map(|round| round.uniform(&loss)).collect::<Result<Vec<Round>>>()?;
        let lambdas = auto_grid(&loss, recipe.kernel.is_linear(), false);
        let pulls = recipe.prior != Prior::Zero;
        let mut anchor = Anchor { loss, lambda: FALLBACK_LAMBDA, pulls };
        let plain = FitSpec { lambda: lambdas[0], ..self.plain(&anchor, choice_tolerance(&anchor.loss)) };
        anchor.lambda = self.chosen(&rounds, &lambdas, &|_| Ok(plain.clone()), false, warnings)?.all;
        Ok(Some(anchor))
    }

    /// The lambdas to fit with, and how they were chosen.
    fn lambdas(
        &self,
        rounds: &[Round],
        anchor: Option<&Anchor>,
        warnings: &mut Vec<String>,
    ) -> Result<Lambdas> {
        match &self.recipe.lambda {
            LambdaChoice::Fixed(lambda) => Ok(Lambdas { all: *lambda, each: None, choice: None }),
            LambdaChoice::Among(lambdas) => {
                let tolerance = choice_tolerance(&self.recipe.loss);
                let fitting =
                    |round: &Round| self.fitting(&round.neighborhood, lambdas[0], tolerance, anchor);
                // With a prior the largest lambda gives the function of all queries, which is left for good reasons only.
                let careful = self.recipe.prior != Prior::Zero && self.recipe.smoothing.kind != Kind::Uniform;
                self.chosen(rounds, lambdas, &fitting, careful, warnings)
            }
        }
    }

    /// How the function of all queries is fitted.
    fn plain(&self, anchor: &Anchor, tolerance: f64) -> FitSpec {
        let loss = anchor.loss.clone();
        let solver = if loss == self.recipe.loss { self.recipe.solver } else { solve::SOLVERS[0] };
        let penalty = Penalty::Ridge;
        FitSpec { lambda: anchor.lambda, tolerance, loss, penalty, solver, center: None, start: None }
    }

    /// The weights of the function of all queries with these judgments, as a solver sees them.
    fn uniform(&self, neighborhood: &Neighborhood, anchor: &Anchor, tolerance: f64) -> Result<Vec<f64>> {
        let neighborhood = neighborhood.uniform(&anchor.loss)?;
        let blocks = neighborhood.weighted_blocks(&neighborhood.neighbors(&[]), self.control)?;
        let fitting = self.plain(anchor, tolerance);
        fitting.solve(self.space(), &blocks, self.control).map(|fit| fit.w)
    }

    /// One function for all queries, or one for each training query; none where they are fitted when asked for.
    fn fit_all(&self, fitting: &FitSpec, each: Option<&[f64]>, started: Instant) -> Result<Vec<Fit>> {
        if self.recipe.smoothing.kind == Kind::Uniform {
            return Ok(vec![self.fit(&self.neighborhood.neighbors(&[]), fitting, started)?]);
        }
        if self.recipe.fits_at_query_time {
            return Ok(Vec::new());
        }
        self.control.expect(self.data.n_queries());
        (0..self.data.n_queries())
            .into_par_iter()
            .map(|query| {
                let lambda = each.map_or(fitting.lambda, |each| each[query]);
                let fitting = FitSpec { lambda, ..fitting.clone() };
                let fit = self.fit(&self.neighborhood.neighbors_of(query), &fitting, started);
                self.control.step();
                fit
            })
            .collect()
    }

    fn fit(&self, neighbors: &[Neighbor], fitting: &FitSpec, started: Instant) -> Result<Fit> {
        let began = started.elapsed().as_secs_f64();
        let (function, report) = self.neighborhood.fit(neighbors, fitting, self.control)?;
        Ok(Fit { function, report, began, ended: started.elapsed().as_secs_f64() })
    }

    fn ranker(self, fitting: FitSpec, mut functions: Vec<Function>) -> (Ranker, Scaling) {
        let ranker = match self.rule {
            None => {
                let space = self.neighborhood.blocks.space().fitted();
                Ranker::Linear(Linear::new(space, functions.swap_remove(0)))
            }
            Some(rule) => {
                let ids = self.data.query_ids.clone();
                let functions = functions.into_iter().map(Arc::new).collect();
                let training = TrainingQueries { rule, ids, functions };
                let ranker = QueryDependent::new(self.neighborhood, fitting, training);
                Ranker::QueryDependent(Box::new(ranker))
            }
        };
        (ranker, self.scaling)
    }
}

/// The relative gap of fits that only serve the choice of lambda.
fn choice_tolerance(loss: &Loss) -> f64 {
    let (pairs, smooth, planes, others) = CHOICE_TOLERANCES;
    match (loss, loss.shape()) {
        (Loss::Pair(_), _) => pairs,
        (_, Shape::Quadratic | Shape::Smooth) => smooth,
        (_, Shape::Convex) => planes,
        _ => others,
    }
}

/// The weight of each query (`n_queries`): that of the data, and its share of the documents where they decide.
fn weights(data: &Dataset, weighting: Weighting) -> Vec<f64> {
    let size = |query: usize| {
        let documents = data.rows(query).len() as f64;
        match weighting {
            Weighting::Queries => 1.0,
            Weighting::Documents => documents,
            Weighting::Pairs => documents * (documents - 1.0),
        }
    };
    let mean = (0..data.n_queries()).map(size).sum::<f64>() / data.n_queries() as f64;
    let weight = |(query, weight): (usize, &f64)| weight * size(query) / mean.max(f64::MIN_POSITIVE);
    data.weights.iter().enumerate().map(weight).collect()
}

/// Replaces the features of a data set by the scaled ones.
pub(super) fn scale(scaling: &Scaling, data: &mut Dataset, control: &Control) -> Result<()> {
    let features = data.take_features();
    data.features = scaling.matrix(features, &data.offsets, control)?;
    Ok(())
}

/// Scaled features of every query (`n_queries`, p); p = 0 where no distance is used.
pub(super) fn query_features(rule: Option<&QueryFeatureRule>, data: &Dataset) -> Result<Array2<f64>> {
    rule.map_or_else(|| Ok(Array2::zeros((data.n_queries(), 0))), |rule| rule.features(data))
}
