//! Default candidates for lambda, and for the parameter that replaces it.

use crate::cost::loss::list::LIST_MLE;
use crate::cost::loss::{Loss, Shape};
use crate::learn::fit::Prior;

/// Default candidates for lambda, largest first.
///
/// | loss | kernel | candidates |
/// |---|---|---|
/// | pairwise | linear | 10^((v - 31) / 10), v = 61, ..., 1 (Dai & Wang 2019, section 5); [`for_width`] |
/// | difference of convex functions, with a prior | any | 100, 10, and half decades from 1 to 1e-4 |
/// | convex with cutting planes, with a prior | any | half decades from 1000 to 0.001: the prior may be best |
/// | convex with cutting planes, difference of convex functions, annealed | any | half decades from 1 to 1e-4 |
/// | list_mle, a sum over documents | linear | half decades from 10^4 to 1e-6 |
/// | list_mle | others | half decades from 1000 to 1e-7 |
/// | others, with a stored model as prior | linear | half decades from 1000 to 1e-6: the prior may be best |
/// | others | linear | half decades from 10 to 1e-6: fits take longer |
/// | others | others | half decades from 1 to 1e-7: the space is larger |
pub fn default_lambdas(loss: &Loss, is_linear: bool, prior: Prior) -> Vec<f64> {
    let half_decades = |largest: f64, steps: u32| -> Vec<f64> {
        (0..=steps).map(|step| libm::exp10(largest - 0.5 * f64::from(step))).collect()
    };
    let wider = if is_linear { 1.0 } else { 0.0 };
    match (loss, loss.shape()) {
        (Loss::Pair(..), _) if is_linear => {
            (1..=61).rev().map(|v| libm::exp10((f64::from(v) - 31.0) / 10.0)).collect()
        }
        (Loss::List(_), Shape::Convex) if prior != Prior::Zero => half_decades(3.0, 12),
        (Loss::List(_), Shape::Difference) if prior != Prior::Zero => {
            [vec![100.0, 10.0], half_decades(0.0, 8)].concat()
        }
        (Loss::List(_), Shape::Convex | Shape::Difference | Shape::Annealed) => half_decades(0.0, 8),
        (Loss::List(list), _) if list.def().name == LIST_MLE.name => half_decades(3.0 + wider, 20),
        _ if prior == Prior::Model => half_decades(3.0, 18),
        _ => half_decades(wider, 14),
    }
}

/// From this number of features on, a fit of pairs takes so long that only every fifth candidate is tried.
const WIDE: usize = 256;

/// These default candidates, or half decades of those for linear functions of many features and pairs. The first one, which
/// may stand for a baseline, stays.
pub(super) fn for_width(lambdas: Vec<f64>, loss: &Loss, is_linear: bool, features: usize) -> Vec<f64> {
    if !matches!(loss, Loss::Pair(..)) || !is_linear || features < WIDE {
        return lambdas;
    }
    let count = lambdas.len();
    let is_kept = |index: &usize| *index == 0 || (count - 1 - index).is_multiple_of(5);
    (0..count).filter(is_kept).map(|index| lambdas[index]).collect()
}

/// Default candidates for lambda of the L1 penalty, in units of the lambda at which all weights are 0: half decades from 1
/// to 1e-4, largest first.
pub(super) fn default_l1_fractions() -> Vec<f64> {
    (0..=8).map(|step| libm::exp10(-0.5 * f64::from(step))).collect()
}

/// Default candidates for the radius of a ball: half decades from 1000 to 0.1, largest first.
pub(super) fn default_radii() -> Vec<f64> {
    (0..=8).map(|step| libm::exp10(3.0 - 0.5 * f64::from(step))).collect()
}

/// Default candidates for the number of components: powers of two from 512 to 1, largest first.
pub(super) fn default_components() -> Vec<f64> {
    (0..=9).rev().map(|power| f64::from(1_u32 << power)).collect()
}
