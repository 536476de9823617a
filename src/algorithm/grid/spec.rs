//! A recipe: every choice of one training, checked. Made from an algorithm's preset and the caller's options.

use serde_json::{Map, Value, json};

use super::given::{
    check_loss_options, check_parameters, check_smoothing_options, lambda, metric, missing, penalty,
    validation, weighting,
};
use super::lambdas::{auto_grid, radii};

use crate::algorithm::{AlgorithmDef, cofi_rank, perceptron};
use crate::arrange::ListConstraint;
use crate::data::{Dataset, Missing, QueryFeatureKind, RowOrder, ScalingKind};
use crate::error::{Error, Result};
use crate::fit::Penalty;
use crate::kernel::{self, MapOptions};
use crate::loss::{self, Loss, Shape};
use crate::metric::{Metric, Undefined};
use crate::param::Params;
use crate::smoothing::{Bandwidth, Kind, Smoothing};
use crate::solve::{self, SolverDef};
use crate::space::FunctionKind;

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
    pub(super) loss_parameters: Map<String, Value>,
    /// The kernel of the functions' space.
    pub kernel: kernel::KernelSpec,
    /// The kernel as the caller named it.
    pub(in crate::algorithm) given_kernel: Value,
    /// Whether the caller gave a kernel.
    pub(in crate::algorithm) kernel_given: bool,
    /// Whether the caller gave a scaling.
    pub(in crate::algorithm) scale_given: bool,
    /// Whether the caller gave landmarks.
    landmarks_given: bool,
    /// Most pivots of a kernel's map.
    pub landmarks: usize,
    /// Whether documents are scored or pairs of them are ordered.
    pub form: FunctionKind,
    /// What minimizes.
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
    /// Whether query features are standardized.
    pub standardize_queries: bool,
    /// Where query features come from, where the caller says so.
    pub query_features: Option<QueryFeatureKind>,
    /// How lambda is found.
    pub lambda: LambdaChoice,
    /// What validation maximizes.
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
    pub factorization: Option<cofi_rank::Choices>,
}

impl Recipe {
    /// The algorithm's preset with the caller's options.
    ///
    /// # Errors
    /// Params that the algorithm does not take or that contradict one another.
    pub fn new(algorithm: &AlgorithmDef, options: &Params) -> Result<Self> {
        check_parameters(algorithm, options)?;
        let kind = options.text("smoothing").and_then(Kind::parse).unwrap_or(algorithm.smoothing);
        check_smoothing_options(kind, options)?;
        let given_kernel = options.get("kernel").cloned().unwrap_or_else(|| json!(kernel::NAMES[0]));
        let kernel = kernel::KernelSpec::parse(&given_kernel)?;
        let loss = loss::find(options.text("loss").unwrap_or(algorithm.loss))?;
        check_loss_options(algorithm, loss, options)?;
        let penalty = penalty(options, algorithm)?;
        let is_parameter = |key: &&String| loss.parameters.contains(&key.as_str());
        let loss_parameters = options.given().iter().filter(|(key, _)| is_parameter(key));
        let loss_parameters = loss_parameters.map(|(key, value)| (key.clone(), value.clone())).collect();
        let factorization = (!algorithm.features).then(|| cofi_rank::Choices::new(options)).transpose()?;
        let make = || loss.make(options);
        let loss = factorization.as_ref().map_or_else(make, |choices| Ok(choices.loss.clone()))?;
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
                factorization.as_ref().map_or_else(usual, cofi_rank::Choices::grid)
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
            form: options.text("form").and_then(FunctionKind::parse).unwrap_or(FunctionKind::Pointwise),
            solver: solve::find(options.text("solver").unwrap_or(solve::NAMES[0]))?,
            prior,
            penalty,
            weighting: weighting(options.text("weighting")),
            lambda_for_each: options.text("lambda_scope") == Some("each"),
            fits_at_query_time: options.text("fit_at") == Some("query_time"),
            scale: options.text("scale").and_then(ScalingKind::parse).unwrap_or(algorithm.scale),
            standardize_queries: options.text("query_scale") != Some("none"),
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
            factorization,
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
                self.form == FunctionKind::Pairwise && matches!(self.loss, Loss::List(_)),
                format!(
                    "option 'form': the loss '{}' is a function of scores; \"ranking\" is for pairwise losses",
                    self.loss.def().name
                ),
            ),
            (
                self.loss.constraint() == ListConstraint::Slots
                    && self.validation == Validation::Documents
                    && matches!(self.lambda, LambdaChoice::Among(_)),
                "option 'validation': \"documents\" takes documents away from slots; hold out queries, or give lambda"
                    .to_owned(),
            ),
            (
                self.lambda_for_each && self.validation != Validation::Documents,
                "option 'lambda_scope': a lambda for each query is chosen on its own held-out documents; use \
                 \"validation\": \"documents\" with it"
                    .to_owned(),
            ),
            (
                self.fits_at_query_time && individual,
                "option 'fit_at': with smoothing \"individual\" functions are fitted in training only".to_owned(),
            ),
            (
                self.fits_at_query_time && self.lambda_for_each,
                "option 'fit_at': functions with a lambda each are fitted in training only".to_owned(),
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
    pub(super) fn penalty_name(&self) -> &'static str {
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
        let columns = data.features.columns() * if self.scale == ScalingKind::QuantileMinmax { 2 } else { 1 };
        let lends = |query: &usize| self.loss.is_informative(data.labels(*query));
        let documents: usize = (0..data.n_queries()).filter(lends).map(|query| data.rows(query).len()).sum();
        let kept = if self.smoothing.kind == Kind::Individual { 0 } else { documents };
        let fitted = if self.fits_at_query_time || !self.kernel.is_linear() { 0 } else { data.n_queries() };
        (kept * (8 + columns * data.features.element_bytes()) + fitted * 8 * columns) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recipe(algorithm: &str, options: &str) -> Result<Recipe> {
        Recipe::new(
            crate::algorithm::find(algorithm)?,
            &serde_json::from_str::<Map<String, Value>>(options).unwrap().into(),
        )
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
        for algorithm in crate::algorithm::ALGORITHMS {
            assert!(recipe(algorithm.name, r#"{"seed": 7}"#).is_ok(), "{}", algorithm.name);
        }
    }
}
