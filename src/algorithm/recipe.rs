//! A recipe: every choice of one training, checked. Made from an algorithm's preset and the caller's options.

use serde_json::{Map, Value, json};

use super::{AlgorithmDef, cofi_rank, perceptron};
use crate::arrange::Grouping;
use crate::data::{Dataset, Missing, QueryFeatureKind, RowOrder, ScalingKind};
use crate::error::{Error, Result};
use crate::kernel::{self, MapOptions};
use crate::loss::{self, Given, LOSSES, Loss, LossDef, Shape};
use crate::metric::{Metric, Undefined};
use crate::option::Options;
use crate::ranker::{Form, Penalty};
use crate::smoothing::{Bandwidth, Kind, Smoothing};
use crate::solve::{self, SolverDef};

/// How lambda is found.
#[derive(Debug, Clone, PartialEq)]
pub enum LambdaChoice {
    /// This one.
    Fixed(f64),
    /// The best of these by validation, largest first.
    Among(Vec<f64>),
}

/// What candidates are validated on.
#[derive(Debug, Clone, PartialEq)]
pub enum Validation {
    /// This share of the queries, held out.
    Queries(f64),
    /// A fifth of the documents of every query, held out.
    Documents,
    /// A source that the caller names.
    Source(String),
}

/// What the penalty of a query's function pulls to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prior {
    /// 0.
    Zero,
    /// The function of all queries together.
    Global,
    /// The least-squares function of all queries together.
    Regression,
}

/// How queries weigh in the mean of their losses, besides their weights in the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weighting {
    /// All alike.
    Queries,
    /// By their numbers of documents.
    Documents,
    /// By their numbers of pairs of documents.
    Pairs,
}

/// Names of the priors, as the option `prior` has them.
pub const PRIOR_NAMES: &[&str] = &["zero", "global", "regression"];

/// The choices of one training.
#[allow(clippy::struct_excessive_bools, reason = "independent choices")]
#[derive(Debug, Clone)]
pub struct Recipe {
    /// Which queries count.
    pub smoothing: Smoothing,
    /// What misplaced documents cost.
    pub loss: Loss,
    /// Its parameters, as far as the caller gave them.
    loss_parameters: Map<String, Value>,
    /// The kernel of the functions' space.
    pub kernel: kernel::Choice,
    /// The kernel as the caller named it.
    pub(super) given_kernel: Value,
    /// Whether the caller gave a kernel.
    pub(super) kernel_given: bool,
    /// Whether the caller gave a scaling.
    pub(super) scale_given: bool,
    /// Whether the caller gave landmarks.
    landmarks_given: bool,
    /// Most pivots of a kernel's map.
    pub landmarks: usize,
    /// Whether documents are scored or pairs of them are ordered.
    pub form: Form,
    /// What minimises.
    pub solver: &'static SolverDef,
    /// What the penalty pulls to.
    pub prior: Prior,
    /// What keeps functions simple.
    pub penalty: Penalty,
    /// How queries weigh.
    pub weighting: Weighting,
    /// Whether every training query has a lambda of its own.
    pub lambda_for_each: bool,
    /// Whether the functions of training queries are fitted when they are asked for, not in training.
    pub fits_at_query_time: bool,
    /// Scaling of document features.
    pub scale: ScalingKind,
    /// Whether query features are standardised.
    pub standardise_queries: bool,
    /// Where query features come from, where the caller says so.
    pub query_features: Option<QueryFeatureKind>,
    /// How lambda is found.
    pub lambda: LambdaChoice,
    /// What validation maximises.
    pub metric: Metric,
    /// What a query without a relevant document counts.
    pub undefined: Undefined,
    /// What candidates are validated on.
    pub validation: Validation,
    /// Changes what is held out.
    pub seed: u64,
    /// Relative duality gap at which a fit ends.
    pub tolerance: f64,
    /// What a missing feature counts as.
    pub missing: Missing,
    /// Bytes that rows, and documents or pairs in the space of a kernel, may take.
    pub max_memory: Option<u64>,
    /// The choices of an algorithm that learns from a stream.
    pub online: Option<perceptron::Choices>,
    /// The choices of an algorithm of users and items.
    pub factorisation: Option<cofi_rank::Choices>,
}

/// The candidates for lambda where the caller names none, largest first: of pairwise losses with the linear kernel those
/// of Dai & Wang (2019), section 5, 10^((v - 31) / 10) for v = 61, ..., 1; else half decades, because fits are dearer,
/// from 10 to 1e-6 with the linear kernel and from 1 to 1e-7 with others, whose spaces are larger; from 1 to 1e-4 of
/// convex losses that take cutting planes and of annealed ones, from 100 to 0.01 of differences of convex ones. Where the
/// penalty pulls to a prior, which may be best left alone, cutting planes begin at 1000.
pub(super) fn auto_grid(loss: &Loss, is_linear: bool, pulls: bool) -> Vec<f64> {
    let half_decades = |largest: f64, steps: u32| -> Vec<f64> {
        (0..=steps).map(|step| libm::exp10(largest - 0.5 * f64::from(step))).collect()
    };
    match (loss, loss.shape()) {
        (Loss::Pair(_), _) if is_linear => {
            (1..=61).rev().map(|v| libm::exp10((f64::from(v) - 31.0) / 10.0)).collect()
        }
        (Loss::List(_), Shape::Convex) if pulls => half_decades(3.0, 12),
        (Loss::List(_), Shape::Difference) => half_decades(2.0, 8),
        (Loss::List(_), Shape::Convex | Shape::Annealed) => half_decades(0.0, 8),
        _ if is_linear => half_decades(1.0, 14),
        _ => half_decades(0.0, 14),
    }
}

impl Recipe {
    /// The algorithm's preset with the caller's options.
    ///
    /// # Errors
    /// Options that the algorithm does not take or that contradict one another.
    pub fn new(algorithm: &AlgorithmDef, options: &Options) -> Result<Self> {
        check_parameters(algorithm, options)?;
        let kind = options.text("smoothing").and_then(Kind::parse).unwrap_or(algorithm.smoothing);
        check_smoothing_options(kind, options)?;
        let given_kernel = options.get("kernel").cloned().unwrap_or_else(|| json!(kernel::NAMES[0]));
        let kernel = kernel::Choice::parse(&given_kernel)?;
        let loss = loss::find(options.text("loss").unwrap_or(algorithm.loss))?;
        check_loss_options(algorithm, loss, options)?;
        let penalty = penalty(options, algorithm)?;
        let is_parameter = |key: &&String| loss.parameters.contains(&key.as_str());
        let loss_parameters = options.given().iter().filter(|(key, _)| is_parameter(key));
        let loss_parameters = loss_parameters.map(|(key, value)| (key.clone(), value.clone())).collect();
        let factorisation = (!algorithm.features).then(|| cofi_rank::Choices::new(options)).transpose()?;
        let make = || (loss.make)(&Given(options.given()));
        let loss = factorisation.as_ref().map_or_else(make, |choices| Ok(choices.loss.clone()))?;
        let tolerance = options.number("tolerance").unwrap_or(match loss {
            Loss::Pair(_) => 1e-6,
            Loss::List(_) if loss.shape().is_convex() => 1e-4,
            Loss::List(_) => 1e-2,
        });
        // A preset's prior goes with its ridge.
        let prior = match options.text("prior").or((penalty == Penalty::Ridge).then_some(algorithm.prior)) {
            Some("global") => Prior::Global,
            Some("regression") => Prior::Regression,
            _ => Prior::Zero,
        };
        let lambda = match (penalty, options.get("radius")) {
            (Penalty::Ball, None) => LambdaChoice::Fixed(1.0),
            (Penalty::Ball, radius) => lambda(radius, radii),
            (Penalty::Components, _) => {
                lambda(options.get("components"), || auto_grid(&loss, kernel.is_linear(), false))
            }
            _ => lambda(options.get("lambda"), || {
                let usual = || auto_grid(&loss, kernel.is_linear(), prior != Prior::Zero);
                factorisation.as_ref().map_or_else(usual, cofi_rank::Choices::grid)
            }),
        };
        let recipe = Self {
            smoothing: Smoothing {
                kind,
                neighbors: options.count("neighbors").unwrap_or(15),
                bandwidth: options.number("bandwidth").map_or(Bandwidth::Median, Bandwidth::Fixed),
            },
            loss,
            loss_parameters,
            kernel,
            landmarks: options.count("landmarks").unwrap_or(MapOptions::default().landmarks),
            landmarks_given: options.has("landmarks"),
            given_kernel,
            kernel_given: options.has("kernel"),
            scale_given: options.has("scale"),
            form: options.text("form").and_then(Form::parse).unwrap_or(Form::Scoring),
            solver: solve::find(options.text("solver").unwrap_or(solve::NAMES[0]))?,
            prior,
            penalty,
            weighting: weighting(options.text("weighting")),
            lambda_for_each: options.text("lambda_for") == Some("each"),
            fits_at_query_time: options.text("fits") == Some("query_time"),
            scale: options.text("scale").and_then(ScalingKind::parse).unwrap_or(algorithm.scale),
            standardise_queries: options.text("query_scale") != Some("none"),
            query_features: options.text("query_features").and_then(QueryFeatureKind::parse),
            lambda,
            metric: metric(options.get("metric"))?,
            undefined: options.text("undefined").map_or(Ok(Undefined::Skip), Undefined::parse)?,
            validation: validation(
                options.get("validation"),
                kind == Kind::Individual || !algorithm.features,
            ),
            seed: options.get("seed").and_then(Value::as_u64).unwrap_or(0),
            tolerance,
            missing: missing(options),
            max_memory: options.get("max_memory").and_then(Value::as_u64),
            online: match algorithm.order {
                RowOrder::Canonical => None,
                RowOrder::Stream => Some(perceptron::Choices::new(options)?),
            },
            factorisation,
        };
        recipe.check()?;
        Ok(recipe)
    }

    /// Refuses combinations that cannot work, with the reason.
    fn check(&self) -> Result<()> {
        let individual = self.smoothing.kind == Kind::Individual;
        self.solver
            .check(&self.loss)
            .map_err(|problem| Error::Unsupported(format!("option 'solver': {problem}")))?;
        let refusals = [
            (
                individual && matches!(self.validation, Validation::Queries(_)),
                "option 'validation': with smoothing \"individual\" a query that is held out has no function; \
                 use \"validation\": \"documents\" or a source"
                    .to_owned(),
            ),
            (
                self.kernel.is_linear() && self.landmarks_given,
                "option 'landmarks': it has no meaning with the kernel \"linear\"".to_owned(),
            ),
            (
                self.is_spectral() && self.loss.shape() != Shape::Quadratic,
                format!("option 'penalty': \"spectral\" is for least squares, not for the loss '{}'", self.loss.def().name),
            ),
            (
                self.penalty != Penalty::Ridge && self.prior != Prior::Zero,
                format!("option 'prior': the penalty \"{}\" pulls to nothing", self.penalty_name()),
            ),
            (
                self.penalty == Penalty::Ball && !self.is_smooth_list(),
                format!(
                    "option 'penalty': \"ball\" is for smooth listwise losses and least squares, not for the loss '{}'",
                    self.loss.def().name
                ),
            ),
            (
                self.form == Form::Ranking && matches!(self.loss, Loss::List(_)),
                format!(
                    "option 'form': the loss '{}' is a function of scores; \"ranking\" is for pairwise losses",
                    self.loss.def().name
                ),
            ),
            (
                self.loss.grouping() == Grouping::Slots
                    && self.validation == Validation::Documents
                    && matches!(self.lambda, LambdaChoice::Among(_)),
                "option 'validation': \"documents\" takes documents away from slots; hold out queries, or give lambda"
                    .to_owned(),
            ),
            (
                self.lambda_for_each && self.validation != Validation::Documents,
                "option 'lambda_for': a lambda for each query is chosen on its own held-out documents; use \
                 \"validation\": \"documents\" with it"
                    .to_owned(),
            ),
            (
                self.fits_at_query_time && individual,
                "option 'fits': with smoothing \"individual\" functions are fitted in training only".to_owned(),
            ),
            (
                self.fits_at_query_time && self.lambda_for_each,
                "option 'fits': functions with a lambda each are fitted in training only".to_owned(),
            ),
        ];
        match refusals.into_iter().find(|(refused, _)| *refused) {
            Some((_, reason)) => Err(Error::Unsupported(reason)),
            None => Ok(()),
        }
    }

    fn is_spectral(&self) -> bool {
        matches!(self.penalty, Penalty::Threshold | Penalty::Components)
    }

    fn is_smooth_list(&self) -> bool {
        matches!(self.loss, Loss::List(_)) && matches!(self.loss.shape(), Shape::Quadratic | Shape::Smooth)
    }

    /// The name in the option `penalty`.
    fn penalty_name(&self) -> &'static str {
        match self.penalty {
            Penalty::Ridge => "ridge",
            Penalty::Threshold | Penalty::Components => "spectral",
            Penalty::Ball => "ball",
        }
    }

    /// Bytes that a model is known to take before it is trained: of the documents that it keeps for queries that it has
    /// not seen, and of linear functions of the training queries.
    pub fn bytes_kept(&self, data: &Dataset) -> u64 {
        if self.smoothing.kind == Kind::Uniform {
            return 0;
        }
        let columns = data.features.columns() * if self.scale == ScalingKind::Both { 2 } else { 1 };
        let lends = |query: &usize| self.loss.teaches(data.labels(*query));
        let documents: usize = (0..data.n_queries()).filter(lends).map(|query| data.rows(query).len()).sum();
        let kept = if self.smoothing.kind == Kind::Individual { 0 } else { documents };
        let fitted = if self.fits_at_query_time || !self.kernel.is_linear() { 0 } else { data.n_queries() };
        (kept * (8 + columns * data.features.element_bytes()) + fitted * 8 * columns) as u64
    }

    /// The choices as JSON, for the model's card.
    pub fn settings(&self) -> Value {
        if let Some(online) = &self.online {
            let mut settings = online.settings();
            settings["scale"] = json!(self.scale.name());
            if online.shuffles() {
                settings["seed"] = json!(self.seed);
            }
            return settings;
        }
        if let Some(factorisation) = &self.factorisation {
            let mut settings = factorisation.settings();
            for (key, value) in &self.loss_parameters {
                settings[key] = value.clone();
            }
            settings["seed"] = json!(self.seed);
            return settings;
        }
        let mut settings = json!({
            "smoothing": self.smoothing.kind.name(),
            "loss": self.loss.def().name,
            "form": self.form.name(),
            "kernel": self.given_kernel,
            "solver": self.solver.name,
            "scale": self.scale.name(),
            "tolerance": self.tolerance,
        });
        for (key, value) in &self.loss_parameters {
            settings[key] = value.clone();
        }
        if self.smoothing.kind != Kind::Uniform || self.prior != Prior::Zero {
            settings["prior"] = json!(PRIOR_NAMES[self.prior as usize]);
        }
        match self.weighting {
            Weighting::Queries => {}
            Weighting::Documents => settings["weighting"] = json!("documents"),
            Weighting::Pairs => settings["weighting"] = json!("pairs"),
        }
        if self.penalty != Penalty::Ridge {
            settings["penalty"] = json!(self.penalty_name());
        }
        if self.smoothing.kind != Kind::Uniform {
            settings["fits"] = json!(if self.fits_at_query_time { "query_time" } else { "training" });
        }
        if self.smoothing.kind.uses_distance() {
            settings["neighbors"] = json!(self.smoothing.neighbors);
            settings["query_scale"] = json!(if self.standardise_queries { "standard" } else { "none" });
            if self.smoothing.kind != Kind::Knn {
                settings["bandwidth"] = match self.smoothing.bandwidth {
                    Bandwidth::Median => json!("median"),
                    Bandwidth::Fixed(h) => json!(h),
                };
            }
        }
        settings
    }
}

/// Refuses parameters of other algorithms.
fn check_parameters(algorithm: &AlgorithmDef, options: &Options) -> Result<()> {
    let of_another = |key: &&String| {
        let takes = |algorithm: &AlgorithmDef| algorithm.parameters.contains(&key.as_str());
        !takes(algorithm) && super::ALGORITHMS.iter().any(|other| takes(other))
    };
    match options.given().keys().find(of_another) {
        Some(key) => Err(Error::Unsupported(format!(
            "option '{key}': it is no option of '{}', which takes {}",
            algorithm.name,
            algorithm.parameters.join(", ")
        ))),
        None => Ok(()),
    }
}

/// Refuses parameters of other losses.
fn check_loss_options(algorithm: &AlgorithmDef, loss: &LossDef, options: &Options) -> Result<()> {
    let of_another = |key: &&String| {
        let takes = |loss: &LossDef| loss.parameters.contains(&key.as_str());
        // What 'cofi_rank' sees of a rating is a choice of its own.
        let own = !algorithm.features && *key == "target";
        !takes(loss) && !own && LOSSES.iter().any(|other| takes(other))
    };
    match options.given().keys().find(of_another) {
        Some(key) => Err(Error::Unsupported(format!(
            "option '{key}': it has no meaning with the loss \"{}\"",
            loss.name
        ))),
        None => Ok(()),
    }
}

/// The penalty; what takes the place of lambda goes with its own one only.
fn penalty(options: &Options, algorithm: &AlgorithmDef) -> Result<Penalty> {
    let name = options.text("penalty").unwrap_or(algorithm.penalty);
    let refused = |key: &str, reason: &str| Err(Error::Unsupported(format!("option '{key}': {reason}")));
    if options.has("components") && name != "spectral" {
        return refused("components", "it has no meaning without \"penalty\": \"spectral\"");
    }
    if options.has("radius") && name != "ball" {
        return refused("radius", "it has no meaning without \"penalty\": \"ball\"");
    }
    match (name, options.has("lambda")) {
        ("ball", true) => {
            refused("lambda", "it has no meaning with \"penalty\": \"ball\", which takes 'radius'")
        }
        ("ball", false) => Ok(Penalty::Ball),
        ("spectral", true) if options.has("components") => {
            refused("components", "give the number of components or the smallest eigenvalue lambda, not both")
        }
        ("spectral", _) if options.has("components") => {
            check_counts(options.get("components")).map(|()| Penalty::Components)
        }
        ("spectral", _) => Ok(Penalty::Threshold),
        _ => Ok(Penalty::Ridge),
    }
}

/// Refuses numbers of components that are not whole.
fn check_counts(given: Option<&Value>) -> Result<()> {
    let numbers = match given {
        Some(Value::Array(numbers)) => numbers.as_slice(),
        Some(other) => std::slice::from_ref(other),
        None => &[],
    };
    match numbers.iter().filter_map(Value::as_f64).find(|number| number.fract() > 0.0) {
        Some(number) => Err(Error::value(
            "option 'components'",
            number.to_string(),
            "a whole number, an array of such numbers, or \"auto\"",
        )),
        None => Ok(()),
    }
}

/// The candidates for the radius of a ball where the caller wants some, largest first: half decades from 1000 to 0.1.
fn radii() -> Vec<f64> {
    (0..=8).map(|step| libm::exp10(3.0 - 0.5 * f64::from(step))).collect()
}

fn check_smoothing_options(kind: Kind, options: &Options) -> Result<()> {
    let unused = |key: &str| {
        let reason = format!("it has no meaning with smoothing \"{}\"", kind.name());
        Err(Error::Unsupported(format!("option '{key}': {reason}")))
    };
    match kind {
        Kind::Uniform | Kind::Individual if options.has("neighbors") => unused("neighbors"),
        Kind::Uniform | Kind::Individual | Kind::Knn if options.has("bandwidth") => unused("bandwidth"),
        Kind::Uniform if options.has("query_features") => unused("query_features"),
        Kind::Uniform if options.has("query_scale") => unused("query_scale"),
        Kind::Uniform if options.text("prior") == Some("global") => unused("prior"),
        Kind::Uniform if options.has("fits") => unused("fits"),
        Kind::Uniform if options.has("lambda_for") => unused("lambda_for"),
        _ => Ok(()),
    }
}

fn lambda(given: Option<&Value>, auto: impl FnOnce() -> Vec<f64>) -> LambdaChoice {
    match given {
        Some(Value::Number(number)) => LambdaChoice::Fixed(number.as_f64().unwrap_or(1.0)),
        Some(Value::Array(list)) => {
            let mut lambdas: Vec<f64> = list.iter().filter_map(Value::as_f64).collect();
            lambdas.sort_by(|a, b| b.total_cmp(a));
            lambdas.dedup_by(|a, b| a.to_bits() == b.to_bits());
            LambdaChoice::Among(lambdas)
        }
        _ => LambdaChoice::Among(auto()),
    }
}

fn metric(given: Option<&Value>) -> Result<Metric> {
    match given {
        None => Metric::parse("ndcg@10"),
        Some(Value::String(name)) => Metric::parse(name),
        Some(other) => {
            Err(Error::value("option 'metric'", other.to_string(), "one metric, such as \"ndcg@10\""))
        }
    }
}

fn weighting(given: Option<&str>) -> Weighting {
    match given {
        Some("documents") => Weighting::Documents,
        Some("pairs") => Weighting::Pairs,
        _ => Weighting::Queries,
    }
}

fn validation(given: Option<&Value>, of_documents: bool) -> Validation {
    match given {
        Some(Value::Number(share)) => Validation::Queries(share.as_f64().unwrap_or(0.2)),
        Some(Value::String(text)) if text == "documents" => Validation::Documents,
        Some(Value::String(text)) => Validation::Source(text.clone()),
        _ if of_documents => Validation::Documents,
        _ => Validation::Queries(0.2),
    }
}

/// What a missing feature counts as, from the options of any call that reads a source.
pub fn missing(options: &Options) -> Missing {
    match options.text("missing") {
        Some("zero") => Missing::Zero,
        Some("mean") => Missing::Mean,
        _ => Missing::Error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::PairLoss;
    use crate::option::Use;

    fn recipe(algorithm: &str, options: &str) -> Result<Recipe> {
        Recipe::new(super::super::find(algorithm)?, &Options::parse(Some(options), Use::Train)?)
    }

    #[test]
    fn the_grid_is_the_papers() {
        let grid = auto_grid(&Loss::Pair(PairLoss::Hinge), true, false);
        assert_eq!(grid.len(), 61);
        assert!((grid[0] - 1e3).abs() < 1e-9 && (grid[60] - 1e-3).abs() < 1e-15);
    }

    #[test]
    fn options_without_meaning_are_refused() {
        let error = recipe("rank_svm", r#"{"neighbors": 5}"#).unwrap_err().to_string();
        assert_eq!(error, "option 'neighbors': it has no meaning with smoothing \"uniform\"");
        let error = recipe("indv_svm", r#"{"validation": 0.3}"#).unwrap_err().to_string();
        assert!(error.starts_with("option 'validation': with smoothing \"individual\""), "{error}");
        assert!(recipe("rank_svm", r#"{"smoothing": "knn", "neighbors": 5}"#).is_ok());
    }

    #[test]
    fn the_seed_is_an_option_of_every_training() {
        for algorithm in super::super::ALGORITHMS {
            assert!(recipe(algorithm.name, r#"{"seed": 7}"#).is_ok(), "{}", algorithm.name);
        }
    }
}
