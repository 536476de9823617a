//! Warnings about the results of fits.

use super::fits::Fit;
use super::spec::GridSpec;
use crate::cost::loss::{Loss, Shape};
use crate::data::arrange::ListConstraint;
use crate::learn::fit::{Penalty, Prior};
use crate::learn::solve::STOCHASTIC;
use crate::train::select::significant;

/// A loss that training lowers by less than 1% is not lowered.
const COLLAPSED: f64 = 0.99;

/// A warning if the solver certifies no optimum and does not look for a local one.
pub(super) fn uncertified(spec: &GridSpec) -> Option<String> {
    let stochastic = spec.solver.name == STOCHASTIC.name && !spec.loss.shape().is_convex();
    stochastic.then(|| {
        let (solver, loss) = (spec.solver.name, spec.loss.def().name);
        format!(
            "solver \"{solver}\" makes a fixed number of passes for the loss '{loss}', which is not convex: no gap certifies \
             an optimum (the gap of the log is the objective); compare with solver \"auto\""
        )
    })
}

/// A smaller decrease of an objective is not worth a warning.
const CLEAR_DECREASE: f64 = 0.01;

/// A warning if other starts than the default one reached clearly lower objectives.
pub(super) fn better_starts(fits: &[Fit]) -> Option<String> {
    let clear = |fit: &&Fit| {
        let decrease = |first: f64| first - fit.report.objective > CLEAR_DECREASE * first.abs();
        fit.report.default_start.is_some_and(decrease)
    };
    let found: Vec<&Fit> = fits.iter().filter(clear).collect();
    match (fits, found.first()?.report.default_start?) {
        ([fit], first) => Some(format!(
            "the objective has several local minima: the default start reached {}, another start {}, which the model has",
            significant(first),
            significant(fit.report.objective)
        )),
        _ => Some(format!(
            "the objectives have several local minima: for {} of {} functions another start than the default one reached \
             a lower one, which the model has",
            found.len(),
            fits.len()
        )),
    }
}

/// A warning if the best functions score all documents 0, or are hardly better than that. Large-margin bounds have that on
/// noisy grades, penalties that set weights to 0 with a large lambda, and others with tiny features or weights.
pub fn collapse(spec: &GridSpec, lambda: f64, fits: &[Fit]) -> Option<String> {
    let is_zero = |fit: &Fit| fit.function.weights.iter().all(|weight| weight.abs() <= 0.0);
    let all_zero = !fits.is_empty() && fits.iter().all(is_zero);
    let lambda = significant(lambda);
    match spec.penalty {
        Penalty::L1 | Penalty::Threshold if all_zero => Some(format!(
            "with lambda {lambda} all weights are 0, so all scores are 0; set a smaller lambda"
        )),
        _ => bound_is_optimal(spec, fits).or_else(|| {
            all_zero.then(|| {
                "all weights are 0, so all scores are 0; if features or document weights are tiny, multiply them by a \
                 number, otherwise set a smaller lambda"
                    .to_owned()
            })
        }),
    }
}

/// A warning if cutting planes hardly lower the loss of the start.
fn bound_is_optimal(spec: &GridSpec, fits: &[Fit]) -> Option<String> {
    let [Fit { function, report, .. }] = fits else { return None };
    let first = report.steps.first()?.objective;
    let takes_planes = matches!(spec.loss, Loss::List(_)) && spec.loss.shape() == Shape::Convex;
    if !takes_planes || function.objective < COLLAPSED * first {
        return None;
    }
    let at = if spec.prior == Prior::Zero { "w = 0" } else { "its prior" };
    let name = spec.loss.def().name;
    let why = match spec.loss.constraint() {
        ListConstraint::Slots => "these features hardly tell which document belongs to which slot",
        _ => {
            "it is a bound that no function lowers on these grades; try the perceptron, direct with \"bound\": \
              \"nonconvex\", list_net or cs_list_mle"
        }
    };
    Some(format!("{at} is optimal here for the loss '{name}', or within 1% of it: {why}"))
}
