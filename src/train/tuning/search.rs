//! Choosing settings by cross-validation.
//!
//! Options of a training may be arrays of values (`settings`). Each combination is fitted on the training rows of every
//! fold (`folds`) and measured on the held-out rows. The setting with the best mean over the folds is chosen
//! (`choice`).
//!
//! A fold sees its training rows only: scalings, landmarks of kernels and neighbors come from there. So a value equals
//! the result of `ltr_fit` on the training rows and `ltr_evaluate` on the held-out rows. Settings that differ only in
//! lambda are computed together; their solver starts at the solution of the larger lambda.

use super::folds::Folds;
use super::settings::{Group, Lambdas, Setting};
use crate::apply::{FitCache, ScoringJob, Step, constrained_scores, evaluate};
use crate::base::{Control, Error, Params, Result, each_in_memory};
use crate::cost::metric::{Mean, Metric, Undefined};
use crate::data::{ColumnSummary, Dataset, Id, means_without};
use crate::math::sort_items;
use crate::model::{Key, LinearPrior, Model, TrainingColumns};
use crate::train::algorithm::{AlgorithmDef, FoldUnit, Input, TrainingSet, TrainingSpec};
use crate::train::options;
use crate::train::report::{DataCounts, FeatureColumns, Finished};
use crate::train::select::{CandidatePath, FOLD_OPTIONS, metric};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// Advice if folds take too much memory.
const FEWER: &str = "use fewer threads, rows or features";

/// The settings that a call compares, and how.
pub struct Search {
    algorithm: &'static AlgorithmDef,
    /// Groups of settings, ordered by value. Settings of a group are computed together.
    pub groups: Vec<Group>,
    /// The metric to compare by.
    pub metric: Metric,
    undefined: Undefined,
    prior: Option<LinearPrior>,
    /// Number of folds.
    folds: usize,
    /// Fits that were finished.
    finished: AtomicUsize,
}

/// The value of a setting on a fold.
#[derive(Debug, Clone, PartialEq)]
pub struct Score {
    /// Index of the setting in its group.
    pub setting: usize,
    /// The fold, from 0.
    pub fold: usize,
    /// The mean of the metric over the held-out queries; `None` if it is undefined for all of them.
    pub value: Option<f64>,
    /// Value and weight of each query that counts.
    pub(super) queries: Vec<(f64, f64)>,
    /// Seconds of the fit and the evaluation. Settings that are computed together share the time equally.
    pub seconds: f64,
}

/// The rows of a search.
pub struct SearchRows {
    pub data: Dataset,
    /// Which of them each fold uses.
    pub folds: Folds,
    /// Summary of each feature.
    pub summaries: Vec<ColumnSummary>,
}

impl Search {
    /// The search of a training: `None` if no option asks for a search.
    ///
    /// # Errors
    /// Settings that the algorithm refuses; options that do not work with folds; only one setting.
    pub fn of_training(algorithm: &'static AlgorithmDef, options: &Params) -> Result<Option<Self>> {
        let asked: Vec<&str> = FOLD_OPTIONS.iter().copied().filter(|key| options.has(key)).collect();
        let has_arrays = super::settings::has_arrays(options);
        if asked.is_empty() && !has_arrays {
            return Ok(None);
        }
        // Groups alone leave the choice to the training.
        if asked == ["group_by"] && !has_arrays {
            let spec = algorithm.spec(&options.clone().without(&asked))?;
            refuse_groups_of_ratings(&*spec, options)?;
            return if spec.fold_options().contains(&asked[0]) {
                Ok(None)
            } else {
                Err(nothing_to_choose(algorithm, asked[0]))
            };
        }
        refuse_validation(options, |_| false)?;
        let groups = super::settings::groups(algorithm, options, Lambdas::AreSettings)?;
        match (&groups[..], asked.first()) {
            ([group], Some(_))
                if group.settings.len() < 2
                    && asked.iter().all(|key| group.spec.fold_options().contains(key)) =>
            {
                Ok(None)
            }
            (_, Some(key)) if groups.iter().map(|group| group.settings.len()).sum::<usize>() < 2 => {
                Err(nothing_to_choose(algorithm, key))
            }
            _ => Self::new(algorithm, options, groups).map(Some),
        }
    }

    /// The search of `ltr_cross_validate`. Without an array there is one setting, which chooses its own lambda in each fold.
    ///
    /// # Errors
    /// As [`Self::of_training`], but a single setting is not an error.
    pub fn of_validation(algorithm: &'static AlgorithmDef, options: &Params) -> Result<Self> {
        let searches = super::settings::has_any_arrays(options);
        refuse_validation(options, |value| !searches && value.is_number())?;
        let lambdas = if searches { Lambdas::AreSettings } else { Lambdas::ChosenInFold };
        Self::new(algorithm, options, super::settings::groups(algorithm, options, lambdas)?)
    }

    fn new(algorithm: &'static AlgorithmDef, options: &Params, groups: Vec<Group>) -> Result<Self> {
        let search = Self {
            algorithm,
            groups,
            metric: metric(options)?,
            undefined: options::choice(options, "undefined")?,
            prior: None,
            folds: super::folds::number(options),
            finished: AtomicUsize::new(0),
        };
        let first = search.input();
        for group in &search.groups {
            refuse_groups_of_ratings(&*group.spec, options)?;
            let other = group.spec.input();
            if (other.constraint, other.columns, other.order)
                != (first.constraint, first.columns, first.order)
            {
                let problem = "losses that need slots cannot be compared with others; call for each of them";
                return Err(Error::Unsupported(problem.to_owned()));
            }
        }
        Ok(search)
    }

    pub fn input(&self) -> Input<'_> {
        let inputs = self.groups.iter().map(|group| group.spec.input());
        let refused = inputs.into_iter().find(|input| input.doc_weights.problem().is_some());
        refused.unwrap_or_else(|| self.groups[0].spec.input())
    }

    /// Makes a stored function the center of every penalty.
    pub fn set_prior(&mut self, prior: LinearPrior) {
        self.groups.iter_mut().for_each(|group| group.spec.set_prior(prior.clone()));
        self.prior = Some(prior);
    }

    /// The training with a setting.
    pub(super) fn spec(&self, setting: &Setting) -> Result<Box<dyn TrainingSpec>> {
        let mut spec = self.algorithm.spec(&setting.params)?;
        if let Some(prior) = &self.prior {
            spec.set_prior(prior.clone());
        }
        Ok(spec)
    }

    /// The folds of these rows, as the options say.
    ///
    /// # Errors
    /// Too few queries or values for the folds.
    pub fn folds(&self, data: &Dataset, split: Option<&[Id]>, options: &Params) -> Result<Folds> {
        let unit = self.groups[0].spec.fold_unit()?;
        Folds::new(data, unit, split, options)
    }

    /// Fits and measures the settings of a group on every fold, in the current thread pool. Scores are in the order of
    /// settings, then folds.
    ///
    /// # Errors
    /// Errors of the fits; an interrupt; too much memory.
    pub fn scores(&self, rows: &SearchRows, group: usize, control: &Control) -> Result<Vec<Score>> {
        let group = &self.groups[group];
        let folds: Vec<usize> = (0..rows.folds.number).collect();
        let mut scores: Vec<Score> = if let Some(path) = group.spec.path() {
            let of_fold = |fold: &usize| self.path_scores(path, &group.candidates, rows, *fold, control);
            each_in_memory(&folds, of_fold)?.concat()
        } else {
            let n = folds.len();
            let tasks: Vec<usize> = (0..n * group.settings.len()).collect();
            let of_task = |task: &usize| self.fitted_score(group, task / n, rows, task % n, control);
            each_in_memory(&tasks, of_task)?
        };
        sort_items(&mut scores, |a, b| (a.setting, a.fold).cmp(&(b.setting, b.fold)));
        Ok(scores)
    }

    /// An error during the search. If the time limit passed, it says how many fits were finished.
    pub fn error(&self, problem: Error) -> Error {
        let settings: usize = self.groups.iter().map(|group| group.settings.len()).sum();
        let (finished, all) = (self.finished.load(Ordering::Relaxed), settings * self.folds);
        let Error::TimeLimit { seconds, .. } = problem else { return problem };
        if finished == all {
            return Error::time_limit(seconds);
        }
        let progress = format!("; {finished} of {all} fits of the cross-validation were finished");
        Error::TimeLimit { seconds, progress }
    }

    /// The score of a setting on a fold, given the value and the grades of each query.
    fn score<'a>(
        &self,
        setting: usize,
        fold: usize,
        values: impl Iterator<Item = (Option<f64>, &'a [f64])>,
        seconds: f64,
    ) -> Score {
        let mut mean = Mean::new(self.metric.def(), self.undefined);
        let mut queries = Vec::new();
        for (value, labels) in values {
            mean.add(value, labels);
            queries.extend(mean.weighted(value, labels));
        }
        self.finished.fetch_add(1, Ordering::Relaxed);
        Score { setting, fold, value: mean.value(), queries, seconds }
    }

    /// A fold's training and held-out rows. Category means come from the training rows (rule 2.23).
    fn parts(rows: &SearchRows, fold: usize) -> (Dataset, Dataset) {
        let (training, held_out) = rows.folds.rows(&rows.data, fold);
        let mut is_other = vec![true; rows.data.n_docs()];
        training.iter().for_each(|row| is_other[*row] = false);
        let means = means_without(&rows.data, &is_other);
        (rows.data.subset_with(&training, &means), rows.data.subset_with(&held_out, &means))
    }

    /// The values of all candidates on a fold, computed together.
    fn path_scores(
        &self,
        path: &dyn CandidatePath,
        candidates: &[f64],
        rows: &SearchRows,
        fold: usize,
        control: &Control,
    ) -> Result<Vec<Score>> {
        let started = Instant::now();
        let _copy = control.reserve(rows.data.bytes(), "a copy of the rows of a fold", FEWER)?;
        let (training, held_out) = Self::parts(rows, fold);
        let labels: Vec<Vec<f64>> =
            (0..held_out.n_queries()).map(|query| held_out.labels(query).to_vec()).collect();
        let values = path.values(training, held_out, candidates, control)?;
        let count = candidates.len().max(1);
        let seconds = started.elapsed().as_secs_f64() / count as f64;
        let score = |setting: usize| {
            let values =
                values.iter().zip(&labels).map(|(values, labels)| (values[setting], labels.as_slice()));
            self.score(setting, fold, values, seconds)
        };
        Ok((0..count).map(score).collect())
    }

    /// The value of one setting on a fold, by a model.
    fn fitted_score(
        &self,
        group: &Group,
        setting: usize,
        rows: &SearchRows,
        fold: usize,
        control: &Control,
    ) -> Result<Score> {
        let started = Instant::now();
        let _copy = control.reserve(rows.data.bytes(), "a copy of the rows of a fold", FEWER)?;
        let (training, held_out) = Self::parts(rows, fold);
        let own;
        let spec: &dyn TrainingSpec = if group.candidates.is_empty() {
            &*group.spec
        } else {
            own = self.spec(&group.settings[setting])?;
            &*own
        };
        let model = fitted_model(self.algorithm, spec, training, &rows.summaries, control)?;
        let values = self.values(&model, spec, &held_out, control)?;
        let values = values.iter().enumerate().map(|(query, values)| (values[0], held_out.labels(query)));
        Ok(self.score(setting, fold, values, started.elapsed().as_secs_f64()))
    }

    /// The metric of each held-out query.
    fn values(
        &self,
        model: &Model,
        spec: &dyn TrainingSpec,
        held_out: &Dataset,
        control: &Control,
    ) -> Result<Vec<Vec<Option<f64>>>> {
        let scores =
            constrained_scores(held_out, scores_of(model, held_out, control)?, spec.input().constraint, 1)?;
        let metrics = std::slice::from_ref(&self.metric);
        let evaluation = evaluate(held_out, &scores, metrics, self.undefined, control)?;
        Ok(evaluation.values)
    }
}

/// The model of a training on a part of the rows.
///
/// # Errors
/// Errors of the fit.
pub fn fitted_model(
    algorithm: &AlgorithmDef,
    spec: &dyn TrainingSpec,
    data: Dataset,
    summaries: &[ColumnSummary],
    control: &Control,
) -> Result<Model> {
    let (counts, names, categories) = (DataCounts::of(&data), data.names.clone(), data.categories.clone());
    let quantities = data.quantities.clone();
    let means = summaries.iter().map(ColumnSummary::mean).collect();
    let set = TrainingSet { data, validation: None, summaries: summaries.to_vec(), dependence: None };
    let trained = spec.fit(set, control)?;
    let roles = TrainingColumns::default();
    let columns = FeatureColumns { names, categories, quantities, means, roles };
    Ok(Finished::new(algorithm, spec, counts, columns, trained).model)
}

/// The score of each document.
///
/// # Errors
/// Documents that have no scores; an interrupt.
pub fn scores_of(model: &Model, data: &Dataset, control: &Control) -> Result<Vec<f64>> {
    let cache = FitCache::new(0);
    let mut step = ScoringJob::start(model, Key::default(), data, &cache, control)?;
    loop {
        step = match step {
            Step::Done(scored) => return Ok(scored.scores),
            Step::NeedsFits(job, queries) => job.advance(&queries, control)?,
        };
    }
}

/// Refuses groups of queries where folds hold out some documents of each query. Also refuses a training that cannot hold out.
fn refuse_groups_of_ratings(spec: &dyn TrainingSpec, options: &Params) -> Result<()> {
    if spec.fold_unit()? == FoldUnit::Documents && options.has("group_by") {
        let problem = "option 'group_by': 'cofi_rank' holds out ratings of every user, so no user is held out with others";
        return Err(Error::Unsupported(problem.to_owned()));
    }
    Ok(())
}

fn nothing_to_choose(algorithm: &AlgorithmDef, option: &str) -> Error {
    Error::Unsupported(format!(
        "option '{option}': there is nothing to choose; give an option an array of values, as in {{\"{}\": [...]}}",
        super::settings::example(algorithm)
    ))
}

/// Refuses the option `validation` where folds choose.
fn refuse_validation(options: &Params, accepts: impl Fn(&serde_json::Value) -> bool) -> Result<()> {
    match options.get("validation") {
        Some(value) if !accepts(value) => {
            let problem = "option 'validation': cross-validation holds out queries itself; leave it out, and set the options \
                           'folds' or 'split_by'";
            Err(Error::Unsupported(problem.to_owned()))
        }
        _ => Ok(()),
    }
}
