//! Which points of the grid train in buckets.

use crate::base::{Params, Result};
use crate::buckets::replay::FOLDS;
use crate::buckets::training::unsupported;
use crate::cost::loss::{Loss, PairLoss, Shape};
use crate::data::{ListConstraint, ScalingKind};
use crate::learn::fit::{Interaction, Penalty, Prior};
use crate::learn::smoothing::SmoothingKind;
use crate::learn::solve;
use crate::learn::space::Form;
use crate::train::grid::spec::GridSpec;

/// Refuses choices that need more than sums over buckets.
///
/// # Errors
/// The choice, and what to use instead.
pub fn check(spec: &GridSpec, params: &Params) -> Result<()> {
    let name = spec.loss.def().name;
    let problem = if spec.smoothing.kind != SmoothingKind::Uniform {
        "a query-dependent model keeps the documents of all training queries; train it with ltr_fit on rows and \"fit_at\": \
         \"query_time\", and rank with it on every worker"
            .to_owned()
    } else if spec.form != Form::Scoring {
        "the form \"ranking\" needs pairs of documents of different buckets; use \"form\": \"scoring\" without a kernel, or train on rows".to_owned()
    } else if !spec.kernel.is_linear() {
        "functions of a kernel need documents of other buckets; leave out the option 'kernel', train \"boosted_trees\" on packs, or \
         train on rows on one machine"
            .to_owned()
    } else if let Some(why) = match (&spec.loss, spec.loss.shape()) {
        (Loss::Pair(PairLoss::Hinge, _), _) | (Loss::List(_), Shape::Quadratic | Shape::Smooth) => None,
        (Loss::List(_), Shape::Convex) => Some(
            "is not smooth: its solver passes over the rows hundreds of times, and each pass would be a round",
        ),
        (_, Shape::Difference | Shape::Annealed) => {
            Some("is not convex: its solver minimizes several approximations, each in a separate training")
        }
        (Loss::List(_), Shape::Gradients) => Some("has gradients, but no function to minimize"),
        (Loss::Pair(..), _) => Some("has no sums over buckets, as the hinge has"),
    } {
        format!("the loss '{name}' {why}; use 'rank_svm', 'regression' or 'list_net', or train on rows")
    } else if spec.baseline.is_some() {
        "the option 'baseline' is not supported; train on rows".to_owned()
    } else if !spec.monotone.is_empty() {
        "the option 'monotone' is not supported; train on rows".to_owned()
    } else if spec.prior != Prior::Zero {
        format!("\"prior\": \"{}\" is not supported; use \"zero\", or train on rows", spec.prior.name())
    } else if spec.interaction != Interaction::None {
        "packs have no query features; use \"interaction\": \"none\", or train on rows".to_owned()
    } else if !(spec.penalty == Penalty::Ridge
        || matches!(spec.penalty, Penalty::Threshold | Penalty::Components)
            && spec.loss.shape() == Shape::Quadratic)
    {
        "this penalty is not supported; use \"penalty\": \"ridge\", or train on rows".to_owned()
    } else if spec.solver.name != solve::NAMES[0] {
        format!("the solver '{}' is not supported; leave out the option 'solver'", spec.solver.name)
    } else if !matches!(spec.scale, ScalingKind::None | ScalingKind::Standard | ScalingKind::Quantile) {
        format!(
            "\"scale\": \"{}\" is not supported; use \"quantile\", \"standard\" or \"none\"",
            spec.scale.name()
        )
    } else if spec.loss.constraint() != ListConstraint::None {
        "lists with a constraint are not supported; train on rows".to_owned()
    } else if params.has("validation") {
        format!(
            "lambda is chosen by holding out the buckets with the same number modulo {FOLDS}; leave out the option 'validation'"
        )
    } else {
        return Ok(());
    };
    Err(unsupported(&problem))
}
