//! Training on the grid: one function for all queries, or one per query.
//!
//! For each function, the smoothing gives the training query weights; the objective is stated in
//! `model/query_dependent.rs`. Validation chooses lambda unless the caller gives it, then every function is fitted on
//! all rows. With a prior, functions shrink to a function of all queries, which has its own lambda. Penalties without a
//! lambda report other parameters.

use std::sync::Arc;
use std::time::Instant;

use serde_json::{Map, Value, json};

use super::checks;
use super::choose::Lambdas;
use super::fits::{self, Fit, log};
use super::generalization::{self, Regularized};
use super::lambdas::default_components;
use super::session::{Session, encode_queries};
use super::spec::{DECODER_POWER, GridSpec};
use crate::base::{Control, Result};
use crate::cost::loss::{Loss, PairLoss};
use crate::data::{Dataset, QueryFeatureKind, RowOrder, Scaling, ScalingKind};
use crate::learn::fit::{FitSpec, Interaction, Penalty, Prior, QueryDependence};
use crate::learn::smoothing::{Bandwidth, Smoothing, bandwidth_rate};
use crate::learn::solve::{SolveReport, Stop};
use crate::learn::space::{Form, Function, Member, Scorer, Space, SumSpace};
use crate::math::{distance, dot};
use crate::model::{Linear, LinearPrior, LocalFit, QueryDependent, Ranker, TrainingQueries};
use crate::train::algorithm::{
    Columns, DocWeights, FoldUnit, Input, OutOfFold, Trained, TrainingSet, TrainingSpec,
};
use crate::train::baseline::{BASELINE_ALONE, COLUMN_UNIT};
use crate::train::select::{CandidatePath, Searched, Split, TunedValue, Validation};

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
            counts_spread: self.scale == ScalingKind::None,
        }
    }

    fn set_prior(&mut self, prior: LinearPrior) {
        self.scale = prior.scaling.kind();
        self.prior_model = Some(prior);
    }

    fn fit(&self, set: TrainingSet, control: &Control) -> Result<Trained> {
        let (spec, dependence) = self.for_rows(&set.data, set.dependence, control)?;
        let mut trained = spec.fit_rows(set, control)?;
        if self.smoothing.kind.uses_distance() || self.interaction != Interaction::None {
            trained.warnings.extend(spec.dependence_warning(dependence.as_ref()));
            let mut add = |key: &str, value: Value| trained.details.insert(key.to_owned(), value);
            add(QueryDependence::KEY, QueryDependence::report(dependence.as_ref()));
            if self.interaction != Interaction::None {
                add("interaction", json!(spec.interaction.name()));
            }
            if self.open.neighbors && self.smoothing.kind.uses_distance() {
                add("neighbors", json!(spec.smoothing.neighbors));
            }
            if self.prior == Prior::Auto {
                add("prior", json!(spec.prior.name()));
            }
        }
        Ok(trained)
    }

    fn settings(&self) -> Map<String, Value> {
        self.settings()
    }

    fn fold_unit(&self) -> Result<FoldUnit> {
        self.unit()
    }

    fn lambda_candidates(&self) -> Option<(&'static str, &[f64])> {
        match &self.lambda {
            TunedValue::Among(lambdas) if !self.lambdas_follow_neighbors() => {
                Some((self.candidate_option(), lambdas))
            }
            // Default candidates follow the number of neighbors, which rows decide.
            _ => None,
        }
    }

    fn fold_options(&self) -> &'static [&'static str] {
        let holds_out = self.chooses() && matches!(self.validation.data, Validation::Queries(_));
        if holds_out { &["split_by", "group_by"] } else { &[] }
    }

    fn path(&self) -> Option<&dyn CandidatePath> {
        Some(self)
    }

    fn bytes_kept(&self, data: &Dataset) -> u64 {
        self.bytes_kept(data)
    }
}

/// How much larger than the tolerance the gap of the weights may be, because solvers of shorter problems end with the gap
/// for their own weights.
const GAP_SLACK: f64 = 10.0;

impl GridSpec {
    /// Chooses what validation chooses, and fits with these choices.
    fn fit_rows(&self, set: TrainingSet, control: &Control) -> Result<Trained> {
        let started = Instant::now();
        let mut warnings = checks::informative(self, &set.data)?;
        let TrainingSet { data, validation, .. } = set;
        // 1. The choice by validation. Wrong query features are reported for all rows, before a fold is fitted.
        let held_out = self.held_out(&data, validation.as_ref())?;
        if held_out.split != Split::Nothing {
            encode_queries(self, &data, control)?;
        }
        let mut chosen = self.choose(&held_out, control)?;
        chosen.compare_features(&held_out, control)?;
        drop(held_out);
        drop(validation);
        control.check()?;
        // 2. The functions, on all rows.
        let session = Session::new(&chosen.spec, data, control)?;
        warnings.extend(session.space().warning());
        warnings.extend(session.query_warnings());
        warnings.extend(chosen.warnings);
        let lambdas = chosen.lambdas.unwrap_or_else(|| Lambdas::given(session.rate()));
        let searched = session.searched(lambdas.all);
        let is_alone = self.baseline.is_some() && lambdas.all >= BASELINE_ALONE;
        let reported = lambdas.selection.as_ref().filter(|_| !is_alone);
        warnings.extend(reported.and_then(|selection| selection.warning(&searched)));
        let prior = session.prior();
        let local = session.fit_spec(&session.neighborhood, lambdas.all, self.tolerance, prior.as_ref())?;
        let fits = session.fit_all(&local, lambdas.each.as_deref(), started)?;
        // 3. The report.
        let unconverged = fits.iter().filter(|fit| !self.has_converged(&fit.report)).count();
        // Skip: unconverged fits say nothing about collapse.
        if unconverged == 0 {
            warnings.extend(fits::collapse(self, lambdas.all, &fits));
        }
        warnings.extend(fits::better_starts(&fits));
        warnings.extend(penalty_warning(self, lambdas.all, &fits));
        warnings.extend(fits::uncertified(self));
        let (lambda, mut details) = penalty_report(self, lambdas.all, &fits);
        let (log, functions) = (log(&fits), fits.len());
        let (bandwidth, learned) = (session.bandwidth_report(), session.learned);
        let generalization = session.generalization(&local.spec, &fits)?;
        if let Some(baseline) = &session.baseline {
            let selection = lambdas.selection.as_ref();
            let value = selection.and_then(|selection| selection.curve.first()?.1);
            details.extend([baseline.report(selection, value, is_alone)]);
            warnings.extend(baseline.warning());
        }
        let (ranker, scaling) = session.ranker(local, fits.into_iter().map(|fit| fit.function).collect())?;
        details.extend(bandwidth);
        details.extend(chosen.power.map(|power| (DECODER_POWER.to_owned(), power)));
        details.extend(chosen.powers.map(|powers| (format!("{DECODER_POWER}_curve"), json!(powers))));
        details.extend(learned.map(|learned| ("learned_distance".to_owned(), json!(learned))));
        let out_of_fold = if lambdas.scores.is_empty() {
            let mut settled = chosen.spec.clone();
            settled.lambda = TunedValue::Fixed(lambdas.all);
            OutOfFold::Folds(Box::new(settled))
        } else {
            OutOfFold::Scores(lambdas.scores)
        };
        Ok(Trained {
            out_of_fold: Some(out_of_fold),
            lambda: lambda.filter(|_| !is_alone),
            prior_lambda: chosen.spec.prior_lambda,
            selection: lambdas.selection,
            log,
            functions,
            unconverged,
            warnings,
            details,
            volatile: generalization.map(|bound| ("generalization".to_owned(), bound)).into_iter().collect(),
            ..Trained::new(ranker, scaling)
        })
    }

    /// A warning if a function per query has nothing to gain.
    fn dependence_warning(&self, found: Option<&QueryDependence>) -> Option<String> {
        let found = found.filter(|found| !found.differ && self.uses_query_features())?;
        let is_hinge = matches!(self.loss, Loss::Pair(PairLoss::Hinge, _));
        let one = if is_hinge { "rank_svm" } else { "\"smoothing\": \"uniform\"" };
        let then = if self.interaction != Interaction::None {
            "so products with them hardly help; leave out the option 'interaction', or set it to \"auto\""
                .to_owned()
        } else if self.prior == Prior::Global {
            format!("so this model shrinks to one function of all queries; {one} is as good and faster")
        } else if self.can_shrink() {
            format!("so a function per query hardly helps; use {one}, or \"prior\": \"global\"")
        } else {
            format!("so a function per query hardly helps; use {one}")
        };
        Some(format!("the query features hardly predict what queries prefer ({found}), {then}"))
    }

    /// Whether a fit ended as its solver promises. Solvers also stop at an objective that is tiny for the weights of its
    /// queries, so the gap of a convex loss must be small in itself.
    pub fn has_converged(&self, report: &SolveReport) -> bool {
        match report.stop {
            Stop::Converged if self.loss.shape().is_convex() => {
                report.gap <= GAP_SLACK * self.tolerance * report.objective.abs()
            }
            stop => matches!(stop, Stop::Converged | Stop::Stationary | Stop::Empty),
        }
    }
}

impl Session<'_> {
    /// Warnings about query features.
    fn query_warnings(&self) -> Vec<String> {
        let is_named = self.rule.as_ref().is_some_and(|rule| rule.kind == QueryFeatureKind::Named);
        let warnings = is_named.then(|| checks::broken_orders(self.spec, &self.data, &self.neighborhood));
        warnings.unwrap_or_default()
    }

    /// The entry of the report for the bandwidth, as a multiple of the median distance.
    fn bandwidth_report(&self) -> Option<(String, Value)> {
        let Smoothing { kind, bandwidth, .. } = self.spec.smoothing;
        let factor = || bandwidth_rate(self.data.n_queries(), self.query_features());
        (kind.uses_distance() && bandwidth == Bandwidth::Rate)
            .then(|| ("bandwidth_factor".to_owned(), json!(factor())))
    }

    /// The parameter that validation chooses.
    fn searched(&self, used: f64) -> Searched {
        let is_center = self.baseline.is_some()
            || self.spec.prior != Prior::Zero && self.spec.interaction == Interaction::None;
        let center = is_center.then_some(if self.baseline.is_some() { "the baseline" } else { "the prior" });
        let dim = self.space().dim() as f64;
        // A given lambda has no neighbors that could be tried.
        let is_given = matches!(&self.spec.lambda, TunedValue::Among(lambdas) if self.baseline.is_some() && lambdas.len() == 2);
        let limits = (if is_given { used } else { 0.0 }, f64::INFINITY);
        match self.spec.penalty {
            Penalty::Ridge | Penalty::Threshold | Penalty::L1 => {
                Searched { limits, center, ..Searched::new("lambda", used) }
            }
            Penalty::Components => Searched { limits: (1.0, dim), ..Searched::new("components", used) },
            Penalty::Ball | Penalty::Sphere => Searched::new("radius", used),
        }
    }

    /// The bound of Theorem 8, if the model has one linear function, every query and document the same weight, and the loss is
    /// convex.
    fn generalization(&self, spec: &FitSpec, fits: &[Fit]) -> Result<Option<Value>> {
        let ([fit], None, None) = (fits, &self.rule, &self.baseline) else { return Ok(None) };
        let equal = self.neighborhood.weights.iter().all(|weight| weight.total_cmp(&1.0).is_eq())
            && (0..self.data.n_queries()).all(|query| self.data.doc_weights(query).is_empty());
        if !equal
            || !self.space().is_linear()
            || !spec.loss.shape().is_convex()
            || self.spec.form != Form::Scoring
        {
            return Ok(None);
        }
        let w = fit.function.weights.as_slice();
        let length = spec.center.as_ref().map_or_else(|| dot(w, w).sqrt(), |w0| distance(w, w0));
        let regularized = match (spec.penalty, fit.report.multiplier) {
            (Penalty::Ridge, _) => {
                Regularized::Ridge { lambda: 2.0 * spec.loss.penalty_factor() * spec.lambda, length }
            }
            (Penalty::Ball, Some(multiplier)) => Regularized::Ball { radius: spec.lambda, multiplier },
            _ => return Ok(None),
        };
        let fixed = !self.spec.lambda.is_validated()
            && self.spec.lambda != TunedValue::Rate
            && matches!(self.spec.prior, Prior::Zero | Prior::Model);
        generalization::bound(&spec.loss, &self.data, regularized, fixed, self.control)
    }

    fn ranker(self, fit: LocalFit, mut functions: Vec<Function>) -> Result<(Ranker, Scaling)> {
        if let Some(baseline) = &self.baseline {
            let mut function = functions.swap_remove(0);
            let weight = function.weights.pop().unwrap_or_default();
            let width = self.data.names.len();
            let (first, mut weights) = baseline.member(width, weight / COLUMN_UNIT);
            let mut members = vec![first];
            if function.weights.iter().any(|weight| weight.abs() > 0.0) {
                let space = Space::linear(function.weights.len(), Form::Scoring);
                members.push(Member { scaling: self.scaling.into(), space });
                weights.append(&mut function.weights);
            }
            let function = Function { weights, ..function };
            return Ok((Ranker::Linear(Linear::new(SumSpace::new(width, members), function)), Scaling::None));
        }
        let ranker = match self.rule {
            None if let Some(products) = self.products => {
                Ranker::Interactions(Box::new(products.function(&functions.swap_remove(0))?))
            }
            None => {
                let space = self.neighborhood.blocks.space.fitted();
                Ranker::Linear(Linear::new(space, functions.swap_remove(0)))
            }
            Some(rule) => {
                let functions = functions.into_iter().map(Arc::new).collect();
                let queries = TrainingQueries { rule, ids: self.data.query_ids.clone(), functions };
                Ranker::QueryDependent(Box::new(QueryDependent::new(self.neighborhood, fit, queries)))
            }
        };
        Ok((ranker, self.scaling))
    }
}

// Report of penalties without a lambda.

/// Number of leading eigenfunctions whose eigenvalues and coefficients are reported.
const MOST_LISTED: usize = 100;

/// Lambda, or the report's replacement, for the chosen parameter.
pub fn penalty_report(spec: &GridSpec, value: f64, fits: &[Fit]) -> (Option<f64>, Map<String, Value>) {
    let mut details = Map::new();
    let mut set = |key: &str, value: Value| details.insert(key.to_owned(), value);
    match spec.penalty {
        Penalty::Ridge | Penalty::L1 => {}
        Penalty::Threshold | Penalty::Components => {
            let most = fits.iter().map(kept).max();
            if spec.penalty == Penalty::Components {
                set("components", json!(most.unwrap_or(value as usize)));
            }
            if most.is_some() {
                set("eigenfunctions", eigenfunctions(fits));
            }
        }
        Penalty::Ball => {
            set("radius", json!(value));
        }
        Penalty::Sphere => {
            set("radius", json!(value));
            set("certified", json!(fits.iter().all(|fit| fit.report.stop != Stop::Stationary)));
        }
    }
    (matches!(spec.penalty, Penalty::Ridge | Penalty::Threshold | Penalty::L1).then_some(value), details)
}

/// A warning if fewer eigenfunctions exist than `asked`, the number in use. The default candidates may be larger than any
/// data set needs.
pub fn penalty_warning(spec: &GridSpec, asked: f64, fits: &[Fit]) -> Option<String> {
    if spec.penalty != Penalty::Components || spec.lambda == TunedValue::Among(default_components()) {
        return None;
    }
    let fewest = fits.iter().map(kept).min().filter(|fewest| (*fewest as f64) < asked)?;
    Some(format!(
        "option 'components': {asked} eigenfunctions are more than the {fewest} with an eigenvalue above 0; these are used"
    ))
}

/// Number of eigenfunctions of a fit.
fn kept(fit: &Fit) -> usize {
    fit.report.eigenfunctions.len()
}

/// Number of eigenfunctions that are kept; for a single function also their eigenvalues and coefficients.
fn eigenfunctions(fits: &[Fit]) -> Value {
    let [fit] = fits else {
        let counts = fits.iter().map(kept);
        return json!({ "fewest": counts.clone().min(), "most": counts.max() });
    };
    let listed = fit.report.eigenfunctions.iter().take(MOST_LISTED);
    let (values, coefficients): (Vec<f64>, Vec<f64>) = listed.copied().unzip();
    json!({ "kept": kept(fit), "eigenvalues": values, "coefficients": coefficients })
}
