//! Automatic choice: cross-validates candidates by query, averages the best and fits them on all rows.
//!
//! A candidate is a scaling with a kernel (`candidates`). Each fits the grades by pairwise least squares, in which a
//! document of weight w counts as w copies, and is cross-validated twice with five folds of the queries, for several
//! lambdas (`trial`, `folds`). The second time is left out if the first shows that it is clearly worse than three
//! others. The other widths of a kernel are skipped if the first one is worse by more than an error. The three best are
//! fitted again on all rows with more landmarks. Their functions are added, each divided by the standard deviation of its
//! scores within the training queries (`refit`).
//!
//! These numbers belong to the default level of the option `effort` (`effort`).
//!
//! Boosted trees are trained on all rows and validated on the first five folds (`trees`). They are half of the sum, unless
//! they are clearly worse. They are all of it if every kernel is clearly worse, and they split query features or there are
//! more than 100,000 documents.
//!
//! Averages of the best few were more reliable on held-out queries than the single best (docs/adr/0011).

use super::effort::Effort;
use crate::base::{Error, Params, Result};
use crate::data::{Dataset, Missing, QueryFeatureKind, QueryFeatureRule, QueryScale, ScalingKind};
use crate::learn::fit::{HeldOut, QueryDependence};
use crate::learn::kernel;
use crate::train::baseline::BaselineSpec;
use crate::train::monotone::Monotone;
use crate::train::options;
use crate::train::probability;
use crate::train::select::ValidationSpec;
use serde_json::Value;

/// The choices of one training.
#[derive(Debug, Clone)]
pub struct AutoSpec {
    /// The only scaling to try, if given.
    pub(super) scale: Option<ScalingKind>,
    /// The only kernel to try, if given.
    pub(super) kernel: Option<Value>,
    landmarks: Option<usize>,
    pub effort: &'static Effort,
    pub validation: ValidationSpec,
    pub missing: Missing,
    /// The column whose order the functions are added to.
    pub baseline: Option<BaselineSpec>,
    /// Features with an order, which only linear functions and trees keep.
    pub monotone: Monotone,
    /// Whether folds keep scores, from which probabilities are learned.
    pub keeps_scores: bool,
    pub seed: u64,
}

impl AutoSpec {
    /// Parses and checks parameters.
    ///
    /// # Errors
    /// A kernel that is malformed, or landmarks for the linear one.
    pub(super) fn parse(params: &Params) -> Result<Self> {
        let kernel = params.get("kernel").cloned();
        let is_linear = match &kernel {
            Some(kernel) => kernel::KernelSpec::parse(kernel)?.is_linear(),
            None => false,
        };
        if is_linear && params.has("landmarks") {
            let problem = "option 'landmarks' has no effect with kernel \"linear\"";
            return Err(Error::Unsupported(problem.to_owned()));
        }
        probability::check_threshold(params)?;
        let monotone = Monotone::parse(params)?;
        if kernel.is_some() && !is_linear && !monotone.is_empty() {
            let problem =
                "option 'monotone': functions of this kernel cannot keep it; leave out the option 'kernel'";
            return Err(Error::Unsupported(problem.to_owned()));
        }
        let baseline = BaselineSpec::parse(params);
        Ok(Self {
            scale: params.choice("scale")?,
            kernel,
            landmarks: params.count("landmarks"),
            effort: Effort::of(options::count(params, "effort")),
            validation: ValidationSpec::parse(params, HeldOut::Queries)?,
            missing: options::choice(params, "missing")?,
            keeps_scores: params.flag(probability::KEY) && baseline.is_none(),
            baseline,
            monotone,
            seed: params.seed(),
        })
    }

    /// Largest number of landmarks of a chosen kernel.
    pub fn landmarks(&self) -> usize {
        self.landmarks.unwrap_or(self.effort.landmarks)
    }

    /// How named query features are encoded, if there are any.
    pub(super) fn query_rule(data: &Dataset) -> Result<Option<QueryFeatureRule>> {
        if data.query_names.is_empty() {
            return Ok(None);
        }
        let kind = Some(QueryFeatureKind::Named);
        Ok(Some(QueryFeatureRule::fit(data, kind, QueryScale::Standard, &[])?.0))
    }

    /// Whether kernels see query features: if these predict what queries prefer, and the kernel is a product over features.
    pub(super) fn joins_kernels(&self, dependence: Option<QueryDependence>) -> bool {
        let given = self.kernel.as_ref().and_then(|kernel| kernel::KernelSpec::parse(kernel).ok());
        dependence.is_some_and(|found| found.differ_by_numbers())
            && given.is_none_or(|kernel| kernel.def().factorizes || kernel.is_linear())
    }
}

/// Whether a validated value is better than another.
pub(super) fn is_better(spec: &AutoSpec, value: Option<f64>, other: Option<f64>) -> bool {
    let sign = spec.validation.metric.def().better.sign();
    value.is_some_and(|value| other.is_none_or(|other| sign * (value - other) > 0.0))
}
