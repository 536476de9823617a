//! The specification of a training on the grid: every choice, parsed from parameters and checked, and the defaults that
//! depend on other choices, such as the tolerance of the solver.

use serde_json::{Map, Value, json};

use super::lambdas::{default_components, default_l1_fractions, default_lambdas, default_radii, for_width};
use crate::base::param::median_factor;
use crate::base::{Control, Error, Params, Result, Rule, stored_model};
use crate::cost::loss::{self, LOSSES, Loss, LossDef};
use crate::cost::metric::METRIC_ARGUMENTS;
use crate::data::query_distance::Comparison;
use crate::data::{Dataset, GivenDistances, Missing, QueryFeatureKind, QueryScale, ScalingKind};
use crate::learn::fit::{
    Combination, FitAt, HeldOut, Interaction, LambdaBy, LambdaScope, Penalty, PenaltyKind, Prior,
    QueryDependence,
};
use crate::learn::kernel;
use crate::learn::smoothing::{Bandwidth, Smoothing, SmoothingKind};
use crate::learn::solve::{self, SolverDef};
use crate::learn::space::Form;
use crate::model::LinearPrior;
use crate::train::algorithm::Weighting;
use crate::train::baseline::{self, BASELINE_ALONE, BaselineSpec};
use crate::train::monotone::Monotone;
use crate::train::options;
use crate::train::probability;
use crate::train::select::{TunedValue, ValidationSpec};

/// The option whose values validation compares.
pub(super) const DECODER_POWER: &str = "decoder_power";

/// Number of nearest training queries if the data do not choose it: the number of Dai & Wang (2019) for 40 queries.
const FALLBACK_NEIGHBORS: usize = 15;
/// Number of training queries in Dai & Wang (2019), whose default lambdas these are.
const QUERIES_OF_THE_PAPER: f64 = 40.0;

/// Largest number of training queries that span the functions of query features.
const QUERY_LANDMARKS: usize = 40;
/// Largest number of products of document and query features if `interaction` is "auto".
const PRODUCTS: usize = 500;
/// With fewer of these queries "auto" takes no interactions.
const LEAST_QUERY_LANDMARKS: usize = 4;

/// The text of the option `query_distance`.
const LEARNED: &str = "learned";

/// How query features are compared.
#[derive(Debug, Clone)]
pub enum DistanceChoice {
    /// As the caller says, otherwise by the type of the values.
    Given(GivenDistances),
    /// As numbers with learned weights.
    Learned,
}

impl DistanceChoice {
    /// The caller's comparisons; empty if the weights are learned.
    pub fn given(&self) -> &[(String, Comparison)] {
        match self {
            Self::Given(given) => given,
            Self::Learned => &[],
        }
    }
}

/// Choices that the caller leaves to the rows ([`GridSpec::for_rows`]).
#[derive(Debug, Clone, Copy)]
pub struct Open {
    pub neighbors: bool,
    pub novel_neighbors: bool,
    /// The candidates of lambda follow the numbers of neighbors and of features.
    pub lambdas: bool,
}

/// The choices of one training.
#[derive(Debug, Clone)]
pub struct GridSpec {
    /// Weights of the training queries for a target.
    pub smoothing: Smoothing,
    /// Where query features come from; `None` is the first kind that exists.
    pub query_features: Option<QueryFeatureKind>,
    pub query_scale: QueryScale,
    /// How the caller wants query features to be compared.
    pub query_distance: DistanceChoice,
    pub loss: Loss,
    /// The losses among which validation chooses, with their `decoder_power`. Empty if there is one loss.
    losses: Vec<(Value, Loss)>,
    pub weighting: Weighting,
    pub kernel: kernel::KernelSpec,
    /// Maximum number of pivots of a kernel's map.
    pub landmarks: usize,
    pub form: Form,
    /// Products of document features with query features.
    pub interaction: Interaction,
    /// At most [`QUERY_LANDMARKS`]; fewer for many features if `interaction` is "auto".
    pub query_landmarks: usize,
    pub solver: &'static SolverDef,
    /// Relative duality gap at which a fit stops.
    pub tolerance: f64,
    pub penalty: Penalty,
    pub prior: Prior,
    /// The stored model that is the prior, as the caller names it.
    pub prior_name: Option<String>,
    /// The function, once it was read.
    pub prior_model: Option<LinearPrior>,
    /// Lambda of the fitted prior, once chosen.
    pub prior_lambda: Option<f64>,
    /// Whether this is the training of a prior, which starts at 0.
    pub is_prior: bool,
    pub lambda: TunedValue,
    /// Choices that depend on the rows.
    pub open: Open,
    pub lambda_scope: LambdaScope,
    pub fit_at: FitAt,
    pub validation: ValidationSpec,
    /// The column that the penalty shrinks to.
    pub baseline: Option<BaselineSpec>,
    /// Features with an order, which the signs of their weights keep.
    pub monotone: Monotone,
    /// Whether the choice of lambda keeps scores, from which probabilities are learned.
    pub keeps_scores: bool,
    /// Scaling of document features.
    pub scale: ScalingKind,
    pub missing: Missing,
    pub seed: u64,
    /// The kernel and the parameters of the loss as the caller gave them.
    given: Map<String, Value>,
}

impl GridSpec {
    /// Parses and checks parameters.
    ///
    /// # Errors
    /// Choices that do not work together, or options without effect.
    pub fn parse(params: &Params) -> Result<Self> {
        // 1. The loss, the space of functions and the penalty decide the other defaults.
        let loss_def = loss::find(params.text("loss").unwrap_or(loss::NAMES[0]))?;
        check_loss_parameters(loss_def, params, &[probability::THRESHOLD])?;
        if !loss_def.parameters.contains(&probability::THRESHOLD) {
            probability::check_threshold(params)?;
        }
        let losses = parse_losses(loss_def, params)?;
        let loss = losses[0].1.clone();
        let given_kernel = params.get("kernel").cloned().unwrap_or_else(|| json!(kernel::NAMES[0]));
        let kernel = kernel::KernelSpec::parse(&given_kernel)?;
        let penalty = parse_penalty(params)?;
        let smoothing = parse_smoothing(params)?;
        let baseline = BaselineSpec::parse(params);
        let prior = match &baseline {
            None => parse_prior(params, penalty, smoothing.kind)?,
            Some(_) => Prior::Zero,
        };
        let prior_of_lambdas = if baseline.is_some() { Prior::Model } else { prior };
        let mut lambda = parse_lambda(params, &loss, kernel.is_linear(), penalty, prior_of_lambdas);
        if baseline.is_some() {
            lambda = lambda.with_largest(BASELINE_ALONE);
        }
        let open = Open {
            neighbors: params.count("neighbors").is_none(),
            novel_neighbors: params.count("novel_neighbors").is_none(),
            lambdas: penalty == Penalty::Ridge && params.get("lambda").is_none_or(|lambda| lambda == "auto"),
        };
        let held_out =
            if smoothing.kind == SmoothingKind::Individual { HeldOut::Documents } else { HeldOut::Queries };
        let mut given = Map::from_iter([("kernel".to_owned(), given_kernel)]);
        given.extend(loss_parameters(loss_def, params));
        let validation = ValidationSpec::parse(params, held_out)?;
        given.extend(validation.given.clone());
        let mut spec = Self {
            smoothing,
            query_features: params.choice("query_features")?,
            query_scale: options::choice(params, "query_scale")?,
            query_distance: parse_query_distance(params)?,
            tolerance: params.number("tolerance").unwrap_or_else(|| default_tolerance(&loss)),
            loss,
            losses: if losses.len() > 1 { losses } else { Vec::new() },
            weighting: options::choice(params, "weighting")?,
            kernel,
            landmarks: options::count(params, "landmarks"),
            form: options::choice(params, "form")?,
            interaction: params.choice("interaction")?.unwrap_or_default(),
            query_landmarks: QUERY_LANDMARKS,
            solver: solve::find(options::text(params, "solver"))?,
            penalty,
            prior,
            prior_name: params.get("prior").and_then(stored_model).map(str::to_owned),
            prior_model: None,
            prior_lambda: None,
            is_prior: false,
            lambda,
            open,
            lambda_scope: options::choice(params, "lambda_scope")?,
            fit_at: options::choice(params, "fit_at")?,
            validation,
            baseline,
            monotone: Monotone::of_linear(params)?,
            keeps_scores: params.flag(probability::KEY),
            scale: params.choice("scale")?.unwrap_or(ScalingKind::Quantile),
            missing: options::choice(params, "missing")?,
            seed: params.seed(),
            given,
        };
        // 2. `interaction` is "auto" by default only where the other choices support it.
        if !params.has("interaction") && (prior != Prior::Auto || !spec.can_shrink()) {
            spec.interaction = Interaction::None;
        }
        // 3. What does not work together is refused here, before a row is read.
        let combination = spec.combination();
        combination.check_given(|option| params.has(option))?;
        combination.check()?;
        if !spec.losses.is_empty() && !spec.lambda.is_validated() {
            let problem = "option 'decoder_power': validation chooses among several values together with lambda; leave \
                           lambda out or give an array";
            return Err(Error::Unsupported(problem.to_owned()));
        }
        Ok(spec)
    }

    /// The choices for these rows: neighbors, prior and candidates of lambda that the caller leaves open. `known`: the
    /// dependence on named query features. Returns the dependence on the query features in use.
    ///
    /// # Errors
    /// An interrupt; [`Error::Memory`].
    pub(super) fn for_rows(
        &self,
        data: &Dataset,
        known: Option<QueryDependence>,
        control: &Control,
    ) -> Result<(Self, Option<QueryDependence>)> {
        let mut spec = self.clone();
        let (is_linear, features) = (self.kernel.is_linear(), data.features.columns());
        if let (true, TunedValue::Among(lambdas)) = (self.open.lambdas, &mut spec.lambda) {
            *lambdas = for_width(std::mem::take(lambdas), &self.loss, is_linear, features);
        }
        if !self.uses_query_features() {
            return Ok((spec, known));
        }
        let given = self.query_distance.given();
        let is_named = matches!(self.query_features, None | Some(QueryFeatureKind::Named));
        let dependence = match known.filter(|_| is_named && given.is_empty()) {
            Some(known) => Some(known),
            None => QueryDependence::of(data, self.query_features, given, control)?,
        };
        // 1. Neighbors: as many as the statistic proposes if queries differ, else the default. Prior: the function of all queries
        // if they do not differ.
        let differ = dependence.filter(|queries| queries.differ);
        if self.interaction == Interaction::Auto {
            spec.query_landmarks = QUERY_LANDMARKS.min(PRODUCTS / data.features.columns().max(1));
            let multiplies = dependence.is_some_and(|queries| queries.differ_by_numbers())
                && spec.query_landmarks >= LEAST_QUERY_LANDMARKS;
            spec.interaction = if multiplies { Interaction::Gaussian } else { Interaction::None };
        }
        if self.open.neighbors {
            spec.smoothing.neighbors = differ.map_or(FALLBACK_NEIGHBORS, |queries| queries.neighbors);
        }
        if self.open.novel_neighbors {
            spec.smoothing.novel_neighbors = spec.smoothing.neighbors;
        }
        if self.prior == Prior::Auto {
            let shrinks = spec.interaction != Interaction::None
                || dependence.is_some() && differ.is_none() && self.can_shrink();
            spec.prior = if shrinks { Prior::Global } else { Prior::Zero };
        }
        // 2. The weights of K neighbors among n queries have the sum K / n, and lambda is relative to it.
        if self.lambdas_follow_neighbors() {
            let share = spec.smoothing.neighbors as f64 / data.n_queries().max(1) as f64;
            let factor = (share / (FALLBACK_NEIGHBORS as f64 / QUERIES_OF_THE_PAPER)).min(1.0);
            let lambdas = default_lambdas(&spec.loss, is_linear, spec.prior);
            let lambdas = for_width(lambdas, &spec.loss, is_linear, features);
            spec.lambda = TunedValue::Among(lambdas.into_iter().map(|lambda| factor * lambda).collect());
        }
        Ok((spec, dependence))
    }

    /// Whether the candidates of lambda depend on the number of neighbors.
    pub(super) fn lambdas_follow_neighbors(&self) -> bool {
        self.open.lambdas && self.smoothing.kind.uses_distance()
    }

    /// Whether functions depend on query features.
    pub(super) fn uses_query_features(&self) -> bool {
        self.smoothing.kind.uses_distance() || self.interaction != Interaction::None
    }

    /// Whether the prior can be the function of all queries.
    pub(super) fn can_shrink(&self) -> bool {
        Self { prior: Prior::Global, ..self.clone() }.combination().check().is_ok()
    }

    /// The choices with each loss among which validation chooses, and the value of `decoder_power`.
    pub(super) fn candidates(&self) -> Vec<(Option<Value>, Self)> {
        if self.losses.is_empty() {
            return vec![(None, self.clone())];
        }
        let with = |(power, loss): &(Value, Loss)| {
            (Some(power.clone()), Self { loss: loss.clone(), losses: Vec::new(), ..self.clone() })
        };
        self.losses.iter().map(with).collect()
    }

    /// The choices that can conflict.
    fn combination(&self) -> Combination<'_> {
        Combination {
            loss: &self.loss,
            solver: self.solver,
            penalty: self.penalty,
            prior: self.prior,
            form: self.form,
            interaction: self.interaction,
            kernel: self.kernel.def().name,
            smoothing: self.smoothing.kind,
            fit_at: self.fit_at,
            lambda_scope: self.lambda_scope,
            held_out: self.validation.data.held_out(),
            lambda: match self.lambda {
                TunedValue::Fixed(_) => LambdaBy::Number,
                TunedValue::Rate => LambdaBy::Rate,
                TunedValue::Among(_) | TunedValue::Fractions(_) => LambdaBy::Validation,
            },
        }
    }

    /// A result of the stored prior, whose problem names it.
    pub(super) fn in_prior<T>(&self, result: Result<T, String>) -> Result<T> {
        let name = self.prior_name.as_deref().unwrap_or_default();
        result.map_err(|problem| Error::Data(format!("prior \"@{name}\": {problem}")))
    }

    /// Whether a function of all queries is fitted first, as the prior or as the start of the solver.
    pub(super) fn fits_prior(&self) -> bool {
        self.prior_loss().is_some()
    }

    /// Whether the solver starts at the least-squares function: local minima near 0 are poor.
    pub(super) fn starts_at_regression(&self) -> bool {
        matches!(self.loss, Loss::List(_))
            && !self.loss.shape().is_convex()
            && !self.is_prior
            && self.baseline.is_none()
    }

    /// The choices as JSON.
    pub(super) fn settings(&self) -> Map<String, Value> {
        let kind = self.smoothing.kind;
        let mut settings = Map::new();
        let mut set = |key: &str, value: Value| settings.insert(key.to_owned(), value);
        set("smoothing", json!(kind.name()));
        set("loss", json!(self.loss.def().name));
        set("form", json!(self.form.name()));
        set("kernel", self.given["kernel"].clone());
        set("solver", json!(self.solver.name));
        set("scale", json!(self.scale.name()));
        set("tolerance", json!(self.tolerance));
        for (key, value) in &self.given {
            set(key, value.clone());
        }
        if kind != SmoothingKind::Uniform || self.prior != Prior::Zero {
            // The name of a stored model is in the report only: the model does not depend on it.
            set("prior", json!(self.prior.name()));
        }
        if self.weighting != Weighting::Queries {
            set("weighting", json!(self.weighting.name()));
        }
        if self.interaction != Interaction::None {
            set("interaction", json!(self.interaction.name()));
        }
        if self.penalty != Penalty::Ridge {
            set("penalty", json!(self.penalty.kind().name()));
        }
        if kind != SmoothingKind::Uniform {
            set("fit_at", json!(self.fit_at.name()));
        }
        if kind.uses_distance() {
            let Smoothing { neighbors, novel_neighbors, .. } = self.smoothing;
            set("neighbors", if self.open.neighbors { json!("auto") } else { json!(neighbors) });
            if !self.open.novel_neighbors && (self.open.neighbors || novel_neighbors != neighbors) {
                set("novel_neighbors", json!(novel_neighbors));
            }
            set("query_scale", json!(self.query_scale.name()));
        }
        match &self.query_distance {
            DistanceChoice::Learned => set("query_distance", json!(LEARNED)),
            DistanceChoice::Given(given) if given.is_empty() => None,
            DistanceChoice::Given(given) => {
                let given = given.iter().map(|(name, how)| (name.clone(), json!(how.name())));
                set("query_distance", given.collect())
            }
        };
        if kind.uses_distance() && kind != SmoothingKind::Knn {
            let bandwidth = match self.smoothing.bandwidth {
                Bandwidth::Median => json!("median"),
                Bandwidth::Fixed(h) => json!(h),
                Bandwidth::Rate => json!("rate"),
                Bandwidth::Scaled(factor) => json!(format!("{factor} median")),
            };
            set("bandwidth", bandwidth);
        }
        if self.lambda == TunedValue::Rate {
            set("lambda", json!("rate"));
        }
        if let Some(baseline) = &self.baseline {
            set(baseline::KEY, json!(baseline.text));
        }
        self.monotone.report(&mut settings);
        settings
    }

    /// Bytes that a model is known to take: documents kept for new queries, and linear functions of training queries.
    pub(super) fn bytes_kept(&self, data: &Dataset) -> u64 {
        if self.smoothing.kind == SmoothingKind::Uniform {
            return 0;
        }
        let columns = data.features.columns() * if self.scale == ScalingKind::QuantileMinmax { 2 } else { 1 };
        let informative =
            |query: &usize| self.loss.is_informative(data.labels(*query), data.doc_weights(*query));
        let documents: usize =
            (0..data.n_queries()).filter(informative).map(|query| data.rows(query).len()).sum();
        let kept = if self.smoothing.kind == SmoothingKind::Individual { 0 } else { documents };
        let fitted =
            if self.fit_at == FitAt::QueryTime || !self.kernel.is_linear() { 0 } else { data.n_queries() };
        (kept * (8 + columns * data.features.element_bytes()) + fitted * 8 * columns) as u64
    }
}

/// Refuses parameters of other losses. `own`: options that the algorithm reads itself. Those that the option `metric`
/// reads too are checked with it.
pub(in crate::train) fn check_loss_parameters(loss: &LossDef, params: &Params, own: &[&str]) -> Result<()> {
    let of_another = |key: &&String| {
        let key = key.as_str();
        !own.contains(&key)
            && !METRIC_ARGUMENTS.contains(&key)
            && !loss.parameters.contains(&key)
            && LOSSES.iter().any(|other| other.parameters.contains(&key))
    };
    let option = |key: &String| LOSSES.iter().flat_map(|other| other.parameters).find(|known| *known == key);
    params.given().keys().find(of_another).and_then(option).map_or(Ok(()), |option| {
        let reason = format!("loss \"{}\"", loss.name);
        Err(Error::NoEffect { option, reason, because_of: "loss" })
    })
}

/// The parameters of a loss as the caller gave them; names of measures in lower case.
pub(in crate::train) fn loss_parameters(
    loss: &LossDef,
    params: &Params,
) -> impl Iterator<Item = (String, Value)> {
    let given = params.given().iter().filter(|(key, _)| loss.parameters.contains(&key.as_str()));
    let given = given.map(|(key, value)| match (key.as_str(), value) {
        ("measure", Value::String(name)) => (key.clone(), json!(name.to_ascii_lowercase())),
        _ => (key.clone(), value.clone()),
    });
    let missing = loss.defaults.iter().filter(|(key, _)| !params.has(key));
    given.chain(missing.map(|(key, value)| ((*key).to_owned(), json!(value))))
}

/// The loss for each value of `decoder_power`, or the only loss.
fn parse_losses(loss: &'static LossDef, params: &Params) -> Result<Vec<(Value, Loss)>> {
    let several = params.get(DECODER_POWER).and_then(Value::as_array).filter(|powers| !powers.is_empty());
    let Some(powers) = several else { return Ok(vec![(Value::Null, loss.make(params)?)]) };
    let make = |power: &Value| {
        let params = params.clone().with(DECODER_POWER, power.clone());
        Ok((power.clone(), loss.make(&params)?))
    };
    powers.iter().map(make).collect()
}

fn parse_smoothing(params: &Params) -> Result<Smoothing> {
    let kind = params.choice("smoothing")?.unwrap_or(SmoothingKind::Uniform);
    let neighbors = params.count("neighbors").unwrap_or(FALLBACK_NEIGHBORS);
    let bandwidth = match (params.number("bandwidth"), options::text(params, "bandwidth")) {
        (Some(h), _) => Bandwidth::Fixed(h),
        (None, "rate") => Bandwidth::Rate,
        (None, "median") => Bandwidth::Median,
        (None, text) => median_factor(text).map_or(Bandwidth::Median, Bandwidth::Scaled),
    };
    let novel_neighbors = params.count("novel_neighbors").unwrap_or(neighbors);
    Ok(Smoothing { novel_neighbors, ..Smoothing::new(kind, neighbors, bandwidth) })
}

/// The comparisons that the caller chose for query features.
fn parse_query_distance(params: &Params) -> Result<DistanceChoice> {
    if let Some(text) = params.text("query_distance") {
        let allowed = "\"learned\" or a JSON object";
        let wrong = || Error::value("option 'query_distance'", format!("\"{text}\""), allowed);
        return if text == LEARNED { Ok(DistanceChoice::Learned) } else { Err(wrong()) };
    }
    let given = params.get("query_distance").and_then(Value::as_object);
    let names: Vec<&String> = given.into_iter().flat_map(|given| given.keys()).collect();
    for (index, name) in names.iter().enumerate() {
        if let Some(other) = names[..index].iter().find(|other| other.eq_ignore_ascii_case(name)) {
            let pair = format!("\"{other}\" and \"{name}\"");
            return Err(Error::value("option 'query_distance'", pair, "one distance for each query feature"));
        }
    }
    let comparison = |(name, value): (&String, &Value)| {
        let known = value.as_str().and_then(Comparison::parse);
        known.map(|known| (name.clone(), known)).ok_or_else(|| {
            let what = format!("option 'query_distance', key '{name}'");
            let named = Rule::OneOf(Comparison::NAMES);
            let allowed = if value == LEARNED {
                format!(
                    "{named}; weights are learned for all numbers together: \"query_distance\": \"{LEARNED}\""
                )
            } else {
                named.to_string()
            };
            Error::value(what, value.to_string(), allowed)
        })
    };
    given.into_iter().flatten().map(comparison).collect::<Result<_>>().map(DistanceChoice::Given)
}

fn parse_penalty(params: &Params) -> Result<Penalty> {
    let kind = params.choice("penalty")?.unwrap_or(PenaltyKind::Ridge);
    Ok(match kind {
        PenaltyKind::Ridge => Penalty::Ridge,
        PenaltyKind::Ball => Penalty::Ball,
        PenaltyKind::Sphere => Penalty::Sphere,
        PenaltyKind::L1 => Penalty::L1,
        PenaltyKind::Spectral if !params.has("components") => Penalty::Threshold,
        PenaltyKind::Spectral if params.has("lambda") => {
            let problem = "option 'components' does not work with option 'lambda'; give one of them";
            return Err(Error::Unsupported(problem.to_owned()));
        }
        PenaltyKind::Spectral => {
            check_whole(params.get("components"))?;
            Penalty::Components
        }
    })
}

/// The prior. The default of an algorithm holds with its own penalty, ridge, and with its own smoothing.
fn parse_prior(params: &Params, penalty: Penalty, smoothing: SmoothingKind) -> Result<Prior> {
    if params.get("prior").is_some_and(|value| stored_model(value).is_some()) {
        return Ok(Prior::Model);
    }
    let prior = params.choice("prior")?.unwrap_or_default();
    let fits = penalty == Penalty::Ridge && (prior != Prior::Auto || smoothing.uses_distance());
    Ok(if fits || params.has("prior") { prior } else { Prior::Zero })
}

/// Lambda, or the parameter that replaces it.
fn parse_lambda(params: &Params, loss: &Loss, is_linear: bool, penalty: Penalty, prior: Prior) -> TunedValue {
    match penalty {
        Penalty::Ball | Penalty::Sphere if !params.has("radius") => TunedValue::Fixed(1.0),
        Penalty::Ball | Penalty::Sphere => TunedValue::parse(params.get("radius"), default_radii),
        Penalty::Components => TunedValue::parse(params.get("components"), default_components),
        Penalty::L1 if params.get("lambda").is_none_or(|lambda| lambda == "auto") => {
            TunedValue::Fractions(default_l1_fractions())
        }
        Penalty::Ridge | Penalty::Threshold | Penalty::L1 => {
            TunedValue::parse(params.get("lambda"), || default_lambdas(loss, is_linear, prior))
        }
    }
}

/// Refuses numbers of components that are not whole.
fn check_whole(given: Option<&Value>) -> Result<()> {
    let numbers = match given {
        Some(Value::Array(numbers)) => numbers.as_slice(),
        Some(other) => std::slice::from_ref(other),
        None => &[],
    };
    let fraction = numbers.iter().filter_map(Value::as_f64).find(|number| number.fract() > 0.0);
    fraction.map_or(Ok(()), |number| {
        let allowed = "a whole number, an array of such numbers, or \"auto\"";
        Err(Error::value("option 'components'", number.to_string(), allowed))
    })
}

fn default_tolerance(loss: &Loss) -> f64 {
    match loss {
        Loss::Pair(..) => 1e-6,
        Loss::List(_) if loss.shape().is_convex() => 1e-4,
        Loss::List(_) => 1e-2,
    }
}
