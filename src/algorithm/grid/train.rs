//! Training on the grid: one function for all queries, or one per query.
//!
//! The smoothing gives the weights of the training queries for each function; the objective is stated in
//! `model/query_dependent.rs`. Validation chooses lambda unless the caller gives it, then every function is fitted on
//! all rows. With a prior the penalty shrinks to a function of all queries, which has a lambda of its own.

use std::sync::Arc;
use std::time::Instant;

use serde_json::{Map, Value, json};

use super::buckets;
use super::checks;
use super::choose::FALLBACK_LAMBDA;
use super::generalization::{self, Generalization};
use super::penalty;
use super::session::{Session, encode_queries};
use super::spec::{DECODER_POWER, GridSpec};
use crate::algorithm::{
    BucketTraining, Columns, DocWeights, FoldUnit, Input, LogStep, Trained, TrainingSet, TrainingSpec,
    entries,
};
use crate::control::{Control, each_in_memory};
use crate::data::{Dataset, QueryFeatureKind, RowOrder, Scaling};
use crate::error::Result;
use crate::fit::{FitAt, FitSpec, Neighbor, Neighborhood, Penalty, Prior};
use crate::loss::Loss;
use crate::model::{Linear, LinearPrior, QueryDependent, Ranker, TrainingQueries};
use crate::select::{CandidatePath, Searched, Selection, TunedValue};
use crate::smoothing::{Bandwidth, Smoothing, SmoothingKind, Target, bandwidth_rate, lambda_rate};
use crate::solve::{self, SolveReport, Step, Stop};
use crate::space::{Function, Scorer, Space};

impl TrainingSpec for GridSpec {
    fn input(&self) -> Input<'_> {
        Input {
            columns: Columns::Features,
            constraint: self.loss.constraint(),
            order: RowOrder::Canonical,
            missing: self.missing,
            validation: self.validation.data.source(),
            doc_weights: if self.loss.weighs_documents() {
                DocWeights::Taken
            } else {
                DocWeights::RefusedByLoss(self.loss.def().name)
            },
            prior: self.prior_name.as_deref(),
        }
    }

    fn set_prior(&mut self, prior: LinearPrior) {
        self.scale = prior.scaling().kind();
        self.prior_model = Some(prior);
    }

    fn fit(&self, set: TrainingSet, control: &Control) -> Result<Trained> {
        let started = Instant::now();
        let mut warnings = checks::informative(self, &set.data)?;
        let TrainingSet { data, validation, .. } = set;
        // 1. What validation chooses. Wrong query features are told of all rows first.
        encode_queries(self, &data, control)?;
        let held_out = self.held_out(&data, validation.as_ref());
        let chosen = self.choose(&held_out, control)?;
        let single_feature = chosen.single_feature_warning(&held_out, control)?;
        drop(held_out);
        drop(validation);
        control.check()?;
        // 2. The functions, on all rows.
        let session = Session::new(&chosen.spec, data, control)?;
        warnings.extend(session.space().warning());
        warnings.extend(session.query_warnings()?);
        warnings.extend(chosen.warnings);
        let lambdas = chosen.lambdas.unwrap_or_else(|| Lambdas::given(session.rate()));
        let searched = session.searched(lambdas.all);
        warnings.extend(lambdas.selection.as_ref().and_then(|selection| selection.warning(&searched)));
        warnings.extend(single_feature);
        let prior = session.prior();
        let spec = session.fit_spec(&session.neighborhood, lambdas.all, self.tolerance, prior.as_ref())?;
        let fits = session.fit_all(&spec, lambdas.each.as_deref(), started)?;
        // 3. The report.
        let unconverged = fits.iter().filter(|fit| !self.has_converged(&fit.report)).count();
        // Of fits that stopped early nothing is known.
        if unconverged == 0 {
            warnings.extend(checks::collapse(self, lambdas.all, &fits));
        }
        warnings.extend(checks::better_starts(&fits));
        warnings.extend(penalty::warning(self, lambdas.all, &fits));
        warnings.extend(checks::uncertified(self));
        let (lambda, mut details) = penalty::report(self, lambdas.all, &fits);
        let (log, functions) = (log(&fits), fits.len());
        let (bandwidth, learned) = (session.bandwidth_report(), session.learned);
        let generalization = session.generalization(&spec, &fits)?;
        let (ranker, scaling) = session.ranker(spec, fits.into_iter().map(|fit| fit.function).collect());
        details.extend(bandwidth);
        if let Some(bound) = generalization {
            details.insert("generalization".to_owned(), Value::Object(entries(&bound)?));
        }
        details.extend(chosen.power.map(|power| (DECODER_POWER.to_owned(), power)));
        details.extend(chosen.powers.map(|powers| (format!("{DECODER_POWER}_curve"), json!(powers))));
        details.extend(learned.map(|learned| ("learned_distance".to_owned(), json!(learned))));
        Ok(Trained {
            lambda,
            prior_lambda: prior.map(|prior| prior.lambda),
            selection: lambdas.selection,
            log,
            functions,
            unconverged,
            warnings,
            details,
            ..Trained::new(ranker, scaling)
        })
    }

    fn in_buckets(&self) -> Result<&dyn BucketTraining> {
        buckets::check(self).map(|()| self as &dyn BucketTraining)
    }

    fn settings(&self) -> Result<Map<String, Value>> {
        Ok(self.settings())
    }

    fn fold_unit(&self) -> Result<FoldUnit> {
        self.unit()
    }

    fn lambda_candidates(&self) -> Option<(&'static str, &[f64])> {
        match &self.lambda {
            TunedValue::Among(lambdas) => Some((self.candidate_option(), lambdas)),
            TunedValue::Fixed(_) | TunedValue::Rate | TunedValue::Fractions(_) => None,
        }
    }

    fn path(&self) -> Option<&dyn CandidatePath> {
        Some(self)
    }

    fn bytes_kept(&self, data: &Dataset) -> u64 {
        self.bytes_kept(data)
    }
}

/// How much larger than the tolerance the gap of the weights may be, because solvers of shorter problems end with that of
/// their own weights.
const GAP_SLACK: f64 = 10.0;

impl GridSpec {
    /// Whether a fit ended as its solver promises. Solvers stop too when an objective is tiny beside the weights of its
    /// queries, so the gap of a convex loss must be small in itself.
    pub(super) fn has_converged(&self, report: &SolveReport) -> bool {
        match report.stop {
            Stop::Converged if self.loss.shape().is_convex() => {
                report.gap <= GAP_SLACK * self.tolerance * report.objective.abs()
            }
            stop => matches!(stop, Stop::Converged | Stop::Stationary | Stop::Empty),
        }
    }
}

/// One fitted function; times are seconds since training began.
pub(super) struct Fit {
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

/// What a prior is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PriorRole {
    /// The penalty shrinks to it.
    Center,
    /// The solver of a loss that is not convex starts at it.
    Start,
}

/// The lambdas to fit with.
pub(super) struct Lambdas {
    /// Lambda of every function without one of its own.
    pub all: f64,
    /// Lambda of each training query, if chosen separately.
    pub each: Option<Vec<f64>>,
    pub selection: Option<Selection>,
}

impl Lambdas {
    /// The same lambda for every function, without validation.
    pub fn given(lambda: f64) -> Self {
        Self { all: lambda, each: None, selection: None }
    }
}

/// The steps of the solver if one fit took any, otherwise one line per fit.
pub(super) fn log(fits: &[Fit]) -> Vec<LogStep> {
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
    fn space(&self) -> &Space {
        self.neighborhood.blocks.space()
    }

    /// Number of query features that are numbers; 0 without any.
    fn query_features(&self) -> usize {
        self.neighborhood.distance.numbers()
    }

    /// Warnings about query features.
    fn query_warnings(&self) -> Result<Vec<String>> {
        let (near, n_queries) = (&self.neighborhood, self.data.n_queries());
        let mut warnings: Vec<String> =
            checks::equally_near(near, n_queries, self.control)?.into_iter().collect();
        if self.rule.as_ref().is_some_and(|rule| rule.kind == QueryFeatureKind::Named) {
            warnings.extend(checks::broken_orders(self.spec, &self.data, near));
        }
        Ok(warnings)
    }

    /// What the report tells about the bandwidth: the factor of the median distance.
    fn bandwidth_report(&self) -> Option<(String, Value)> {
        let Smoothing { kind, bandwidth, .. } = self.spec.smoothing;
        let factor = || bandwidth_rate(self.data.n_queries(), self.query_features());
        (kind.uses_distance() && bandwidth == Bandwidth::Rate)
            .then(|| ("bandwidth_factor".to_owned(), json!(factor())))
    }

    /// How functions are fitted on the judgments of a neighborhood.
    pub(super) fn fit_spec(
        &self,
        neighborhood: &Neighborhood,
        lambda: f64,
        tolerance: f64,
        prior: Option<&PriorFit>,
    ) -> Result<FitSpec> {
        let GridSpec { loss, solver, penalty, .. } = self.spec;
        let w = prior.map(|prior| self.prior_weights(neighborhood, prior, tolerance)).transpose()?;
        let (center, start) = match prior.map(|prior| prior.role) {
            Some(PriorRole::Center) => (w, None),
            Some(PriorRole::Start) => (None, w),
            None => (self.center.clone(), None),
        };
        Ok(FitSpec { lambda, tolerance, loss: loss.clone(), penalty: *penalty, solver, center, start })
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

    /// The lambda of the L1 penalty at which all weights of the function of all queries are 0; 1 if there is none.
    pub(super) fn largest_l1_lambda(&self) -> Result<f64> {
        let neighborhood = self.neighborhood.uniform(&self.spec.loss)?;
        let neighbors = neighborhood.neighbors(&[], Target::Observed);
        let _memory = neighborhood.reserve(&neighbors, self.control)?;
        let blocks = neighborhood.weighted_blocks(&neighbors, self.control)?;
        let spec = self.fit_spec(&neighborhood, FALLBACK_LAMBDA, self.spec.tolerance, None)?;
        let largest = spec.largest_l1_lambda(self.space(), &blocks)?;
        Ok(if largest > 0.0 { largest } else { 1.0 })
    }

    /// What validation chooses.
    fn searched(&self, used: f64) -> Searched {
        let center = (self.spec.prior != Prior::Zero).then_some("the prior");
        let dim = self.space().dim() as f64;
        match self.spec.penalty {
            Penalty::Ridge | Penalty::Threshold | Penalty::L1 => {
                Searched { center, ..Searched::new("lambda", used) }
            }
            Penalty::Components => Searched { limits: (1.0, dim), ..Searched::new("components", used) },
            Penalty::Ball | Penalty::Sphere => Searched::new("radius", used),
        }
    }

    /// How the prior is fitted.
    fn prior_spec(&self, prior: &PriorFit, tolerance: f64) -> FitSpec {
        let PriorFit { lambda, .. } = *prior;
        let loss = prior.loss.clone();
        let solver = if loss == self.spec.loss { self.spec.solver } else { solve::SOLVERS[0] };
        FitSpec { lambda, tolerance, loss, penalty: Penalty::Ridge, solver, center: None, start: None }
    }

    /// The weights of the prior on the judgments of a neighborhood, as a solver sees them.
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
        spec.solve(self.space(), &blocks, self.control).map(|fit| fit.w)
    }

    /// One function for all queries, one per training query, or none if they are fitted at query time.
    fn fit_all(&self, spec: &FitSpec, each: Option<&[f64]>, started: Instant) -> Result<Vec<Fit>> {
        if self.spec.smoothing.kind == SmoothingKind::Uniform {
            return Ok(vec![self.fit_one(
                &self.neighborhood.neighbors(&[], Target::Observed),
                spec,
                started,
            )?]);
        }
        if self.spec.fit_at == FitAt::QueryTime {
            return Ok(Vec::new());
        }
        self.control.expect(self.data.n_queries());
        let queries: Vec<usize> = (0..self.data.n_queries()).collect();
        let batches: Vec<&[usize]> = queries.chunks(Neighborhood::batch(queries.len())).collect();
        let fits = |batch: &&[usize]| -> Result<Vec<Fit>> {
            let neighbors = self.neighborhood.neighbors_of_queries(batch);
            let fit = |(query, neighbors): (&usize, &Vec<Neighbor>)| {
                let lambda = each.map_or(spec.lambda, |each| each[*query]);
                self.fit_one(neighbors, &FitSpec { lambda, ..spec.clone() }, started)
            };
            let fits: Vec<Fit> = batch.iter().zip(&neighbors).map(fit).collect::<Result<_>>()?;
            batch.iter().for_each(|_| self.control.step());
            Ok(fits)
        };
        Ok(each_in_memory(&batches, fits)?.into_iter().flatten().collect())
    }

    fn fit_one(&self, neighbors: &[Neighbor], spec: &FitSpec, started: Instant) -> Result<Fit> {
        let began = started.elapsed().as_secs_f64();
        let (function, report) = self.neighborhood.fit(neighbors, spec, self.control)?;
        Ok(Fit { function, report, began, ended: started.elapsed().as_secs_f64() })
    }

    /// The bound of Theorem 8, if the model has one linear function, every query the same weight, and the loss is convex.
    fn generalization(&self, spec: &FitSpec, fits: &[Fit]) -> Result<Option<Generalization>> {
        let (Loss::List(loss), [fit], None) = (&spec.loss, fits, &self.rule) else { return Ok(None) };
        let equal = self.neighborhood.weights.iter().all(|weight| weight.total_cmp(&1.0).is_eq());
        if !equal || !self.space().is_linear() || !loss.shape().is_convex() || spec.penalty != Penalty::Ridge
        {
            return Ok(None);
        }
        let (w, center) = (fit.function.weights.as_slice(), spec.center.as_deref());
        generalization::bound(loss, &self.data, (w, center), self.control)
    }

    fn ranker(self, spec: FitSpec, mut functions: Vec<Function>) -> (Ranker, Scaling) {
        let ranker = match self.rule {
            None => {
                let space = self.neighborhood.blocks.space().fitted();
                Ranker::Linear(Linear::new(space, functions.swap_remove(0)))
            }
            Some(rule) => {
                let functions = functions.into_iter().map(Arc::new).collect();
                let queries = TrainingQueries { rule, ids: self.data.query_ids.clone(), functions };
                Ranker::QueryDependent(Box::new(QueryDependent::new(self.neighborhood, spec, queries)))
            }
        };
        (ranker, self.scaling)
    }
}
