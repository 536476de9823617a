//! The trainer of the pairwise SVMs: one linear function for all queries, or one per query.
//!
//! Which judgments count for a function is the smoothing's affair, the optimisation problem is stated in
//! `ranker/query_dependent.rs`. Lambda is chosen by validation unless it is given; then every function is fitted on all
//! rows.

use std::sync::Arc;
use std::time::Instant;

use ndarray::Array2;
use rayon::prelude::*;

use super::recipe::{LambdaChoice, Recipe, Validation};
use super::validation::{Choice, Curve, Judge, Trial, nothing_to_learn};
use super::{LogStep, Trained, TrainingSet};
use crate::control::Control;
use crate::data::{Dataset, Matrix, QueryFeatureRule, Scaling};
use crate::error::{Error, Result};
use crate::loss;
use crate::ranker::{
    Fitting, Function, JudgmentPool, Lender, Lending, Linear, Observed, QueryDependent, Ranker,
};
use crate::select::{Folds, held_out_documents};
use crate::smoothing::Kind;
use crate::solve::{SolveReport, Stop};

/// Options of this trainer besides those of every training.
pub(super) const PARAMETERS: &[&str] =
    &["smoothing", "neighbors", "bandwidth", "loss", "lambda", "tolerance"];

/// Lambda where no judged query can be spared to choose it.
const FALLBACK_LAMBDA: f64 = 0.01;

/// More pairs of one query are refused: one pass over so many takes about 0.1 s, and nothing stops it.
const MOST_PAIRS: u64 = 500_000_000;

/// Share of the documents of each query that validation on documents holds out.
const HELD_OUT_DOCUMENTS: f64 = 0.2;

/// What is fixed before anything is fitted.
struct Session<'a> {
    recipe: &'a Recipe,
    data: &'a Dataset,
    scaling: Scaling,
    scaled: Matrix,
    rule: Option<QueryFeatureRule>,
    lending: Lending,
    control: &'a Control,
}

/// One fitted function; seconds since training began.
struct Fit {
    function: Function,
    report: SolveReport,
    began: f64,
    ended: f64,
}

/// Fits the recipe.
///
/// # Errors
/// Data without a pair of documents to learn from, query features that are not there, an interruption.
pub(super) fn train(recipe: &Recipe, set: &TrainingSet, control: &Control) -> Result<Trained> {
    let started = Instant::now();
    let session = Session::new(recipe, &set.data, control)?;
    let mut warnings = Vec::new();
    let (lambda, choice) = session.lambda(set.validation.as_ref(), &mut warnings)?;
    let fitting = Fitting { lambda, tolerance: recipe.tolerance };
    control.check()?;
    let fits = session.fit_all(&fitting, started)?;
    let unconverged =
        fits.iter().filter(|fit| !matches!(fit.report.stop, Stop::Converged | Stop::Empty)).count();
    let log = log(&fits);
    let functions = fits.len();
    let (ranker, scaling) = session.ranker(fitting, fits.into_iter().map(|fit| fit.function).collect());
    Ok(Trained { ranker, scaling, lambda, choice, log, functions, unconverged, warnings })
}

/// The steps of the solver where there is one fit that took any, else one line per fit.
fn log(fits: &[Fit]) -> Vec<LogStep> {
    match fits {
        [Fit { report, began, .. }] if !report.steps.is_empty() => report
            .steps
            .iter()
            .map(|step| LogStep { objective: step.objective, gap: step.gap, seconds: began + step.seconds })
            .collect(),
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
    fn new(recipe: &'a Recipe, data: &'a Dataset, control: &'a Control) -> Result<Self> {
        let scaling = Scaling::fit(recipe.scale, data, control)?;
        let scaled = scaling.matrix(&data.features, &data.offsets, control)?;
        if !scaled.is_finite() {
            let scale = recipe.scale.name();
            return Err(Error::Data(format!("features are too large for the option 'scale' \"{scale}\"")));
        }
        let uniform = recipe.smoothing.kind == Kind::Uniform;
        let rule = if uniform {
            None
        } else {
            Some(QueryFeatureRule::fit(data, recipe.query_features, recipe.standardise_queries)?)
        };
        let features = match &rule {
            Some(rule) => rule.features(data)?,
            None => Array2::zeros((data.n_queries(), 0)),
        };
        control.check()?;
        let pool = pool(data, &scaled, !uniform);
        if (0..pool.len()).all(|query| !pool.lends(query)) {
            return Err(nothing_to_learn(data.n_queries()));
        }
        check_pairs(data)?;
        let lending = Lending {
            smoothing: recipe.smoothing,
            features: Arc::new(features),
            weights: Arc::new(data.weights.clone()),
            held_out: Arc::new(vec![false; data.n_queries()]),
            pool: Arc::new(pool),
        };
        Ok(Self { recipe, data, scaling, scaled, rule, lending, control })
    }

    /// The lambda to fit with, and how it was chosen.
    fn lambda(
        &self,
        validation: Option<&Dataset>,
        warnings: &mut Vec<String>,
    ) -> Result<(f64, Option<Choice>)> {
        let lambdas = match &self.recipe.lambda {
            LambdaChoice::Fixed(lambda) => return Ok((*lambda, None)),
            LambdaChoice::Among(lambdas) => lambdas,
        };
        let choice = match (&self.recipe.validation, validation) {
            (_, Some(source)) => self.on_source(lambdas, source)?,
            (Validation::Documents, _) => self.on_documents(lambdas)?,
            (Validation::Queries(share), _) => self.on_queries(lambdas, *share)?,
            (Validation::Source(name), None) => {
                return Err(Error::Internal(format!("validation source '{name}' was not read")));
            }
        };
        let lambda = choice.winner.map(|winner| choice.curve[winner].0);
        if lambda.is_none() {
            warnings.push(format!(
                "too few judged queries or documents to choose lambda by validation; {FALLBACK_LAMBDA} was taken"
            ));
        }
        Ok((lambda.unwrap_or(FALLBACK_LAMBDA), Some(choice)))
    }

    fn on_queries(&self, lambdas: &[f64], share: f64) -> Result<Choice> {
        let judged: Vec<bool> =
            (0..self.data.n_queries()).map(|query| self.lending.pool.lends(query)).collect();
        let folds = Folds::by_query(&self.data.query_ids, &judged, share, self.recipe.seed).held_out;
        let mut curve = Curve::new(self.recipe, lambdas);
        let judge = Judge { documents: &self.scaled, data: self.data };
        let mut queries = 0;
        for held_out in &folds {
            let lending = Lending { held_out: Arc::new(held_out.clone()), ..self.lending.clone() };
            let chosen: Vec<usize> = (0..held_out.len()).filter(|query| held_out[*query]).collect();
            queries += chosen.len();
            let trials = self.trials(&lending, &chosen, |query| lending.lenders(&self.features(query)))?;
            curve.add(self.recipe, &lending, judge, &trials, self.control)?;
        }
        let sentence = format!("{queries} of {} queries, in {} folds", self.data.n_queries(), folds.len());
        Ok(curve.choice(self.recipe, sentence))
    }

    fn on_documents(&self, lambdas: &[f64]) -> Result<Choice> {
        let held_out = held_out_documents(self.data, HELD_OUT_DOCUMENTS, self.recipe.seed);
        let rows =
            |held: bool| -> Vec<usize> { (0..held_out.len()).filter(|row| held_out[*row] == held).collect() };
        let (kept, held) = (rows(false), rows(true));
        let (train, judges) = (self.data.with_rows(&kept), self.data.with_rows(&held));
        let pool = pool(&train, &self.scaled.select_rows(&kept), self.recipe.smoothing.kind != Kind::Uniform);
        let lending = Lending { pool: Arc::new(pool), ..self.lending.clone() };
        let documents = self.scaled.select_rows(&held);
        let queries: Vec<usize> = (0..self.data.n_queries()).collect();
        let trials = self.trials(&lending, &queries, |query| lending.lenders_of(query))?;
        let mut curve = Curve::new(self.recipe, lambdas);
        let judge = Judge { documents: &documents, data: &judges };
        curve.add(self.recipe, &lending, judge, &trials, self.control)?;
        Ok(curve.choice(self.recipe, format!("{} of {} documents", held.len(), held_out.len())))
    }

    fn on_source(&self, lambdas: &[f64], source: &Dataset) -> Result<Choice> {
        let documents = self.scaling.matrix(&source.features, &source.offsets, self.control)?;
        let features = match &self.rule {
            Some(rule) => rule.features(source)?,
            None => Array2::zeros((source.n_queries(), 0)),
        };
        let queries: Vec<usize> = (0..source.n_queries()).collect();
        let own = |query: usize| self.data.query_ids.binary_search(&source.query_ids[query]);
        let trials = self.trials(&self.lending, &queries, |query| match self.recipe.smoothing.kind {
            Kind::Individual => own(query).map_or(Vec::new(), |own| self.lending.lenders_of(own)),
            _ => self.lending.lenders(&features.row(query).to_vec()),
        })?;
        let mut curve = Curve::new(self.recipe, lambdas);
        curve.add(
            self.recipe,
            &self.lending,
            Judge { documents: &documents, data: source },
            &trials,
            self.control,
        )?;
        Ok(curve.choice(self.recipe, format!("{} queries of the validation source", source.n_queries())))
    }

    /// One trial per query, or one for all of them where one function serves all.
    fn trials(
        &self,
        lending: &Lending,
        queries: &[usize],
        lenders: impl Fn(usize) -> Vec<crate::ranker::Lender> + Sync,
    ) -> Result<Vec<Trial>> {
        if self.recipe.smoothing.kind == Kind::Uniform {
            return Ok(vec![Trial { lenders: lending.lenders(&[]), queries: queries.to_vec() }]);
        }
        let trial = |query: &usize| {
            self.control.check()?;
            Ok(Trial { lenders: lenders(*query), queries: vec![*query] })
        };
        queries.par_iter().map(trial).collect()
    }

    fn features(&self, query: usize) -> Vec<f64> {
        self.lending.features.row(query).to_vec()
    }

    /// One function for all queries, or one for each training query.
    fn fit_all(&self, fitting: &Fitting, started: Instant) -> Result<Vec<Fit>> {
        if self.recipe.smoothing.kind == Kind::Uniform {
            return Ok(vec![self.fit(&self.lending.lenders(&[]), fitting, started)?]);
        }
        self.control.expect(self.data.n_queries());
        (0..self.data.n_queries())
            .into_par_iter()
            .map(|query| {
                let fit = self.fit(&self.lending.lenders_of(query), fitting, started);
                self.control.step();
                fit
            })
            .collect()
    }

    fn fit(&self, lenders: &[Lender], fitting: &Fitting, started: Instant) -> Result<Fit> {
        let began = started.elapsed().as_secs_f64();
        let (function, report) = self.lending.fit(lenders, self.scaled.columns(), fitting, self.control)?;
        Ok(Fit { function, report, began, ended: started.elapsed().as_secs_f64() })
    }

    fn ranker(self, fitting: Fitting, mut functions: Vec<Function>) -> (Box<dyn Ranker>, Scaling) {
        let width = self.scaled.columns();
        let ranker: Box<dyn Ranker> = match self.rule {
            None => Box::new(Linear::new(functions.swap_remove(0))),
            Some(rule) => {
                let ids = self.data.query_ids.clone();
                let functions = functions.into_iter().map(Arc::new).collect();
                Box::new(QueryDependent::new(self.lending, fitting, Observed { rule, ids, functions }, width))
            }
        };
        (ranker, self.scaling)
    }
}

/// Refuses queries whose pairs would take too long: a fit goes through all of them many times.
fn check_pairs(data: &Dataset) -> Result<()> {
    for query in 0..data.n_queries() {
        let pairs = loss::pairs(data.labels(query));
        if pairs > MOST_PAIRS {
            return Err(Error::Data(format!(
                "query {} has {} documents with {pairs} pairs of different relevance; at most {MOST_PAIRS} pairs of \
                 one query are allowed, so leave out some of its less relevant documents",
                data.query_ids[query],
                data.rows(query).len(),
            )));
        }
    }
    Ok(())
}

/// The judgments of every query that has a pair of documents of different relevance.
fn pool(data: &Dataset, scaled: &Matrix, shared: bool) -> JudgmentPool {
    let queries = (0..data.n_queries()).map(|query| {
        let labels = data.labels(query);
        let rows: Vec<usize> = data.rows(query).collect();
        (loss::pairs(labels) > 0).then(|| (labels.to_vec(), scaled.select_rows(&rows)))
    });
    JudgmentPool::new(queries, shared)
}
