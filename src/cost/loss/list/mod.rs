//! Listwise losses: functions of all scores of a query.
//!
//! A [`ListwiseLoss`] holds the parameters. `prepare` takes the labels of one query and returns a [`QueryLoss`],
//! which gives value and subgradient at any scores. Objectives are means over queries plus lambda / 2 |f|^2. A constant
//! added to all scores of a query does not change its loss, unless a file states otherwise.
//!
//! | file | contents |
//! |---|---|
//! | `list_net`, `list_mle`, `squared`, `svm_map`, `slam`, `smooth_grad`, `matching`, `lambda_rank` | the loss of that name |
//! | `cs_list_mle`, `cs_list_mle_costs` | cost-sensitive ListMLE; its weights |
//! | `direct`, `direct_query` | direct optimization of a measure; one query of it |
//! | `measure` | measures inside losses |
//! | `checks`, `scratch` | shared options and checks; memory of a thread |

mod checks;
pub mod cs_list_mle;
mod cs_list_mle_costs;
mod direct;
mod direct_query;
mod lambda_rank;
mod list_mle;
mod list_net;
mod matching;
mod measure;
mod scratch;
mod slam;
mod smooth_grad;
mod squared;
mod svm_map;
#[cfg(test)]
mod tests;

use super::def::LossDef;

pub use super::def::{ListwiseLoss, QueryLoss};
pub use checks::MOST_WEIGHT;
pub(super) use checks::{
    RELEVANT, check_gains, check_grades, check_weights, differ, given_weights, grade_number, in_range,
    largest_dcg, measure, unknown_measure,
};
pub use cs_list_mle::CS_LIST_MLE;
pub use direct::{Bound, DECODERS, DIRECT, Decoder, Direct, DirectQuery};
pub use lambda_rank::LAMBDA_RANK;
pub use list_mle::{LIST_MLE, LabelOrder};
pub use list_net::{LIST_NET, Target};
pub use matching::{MATCHING, MatchingQuery};
pub use measure::{Measure, PositionWeights};
use scratch::with_scratch;
pub use slam::{Active, Bounded, LabelTies, SLAM, Slam, SlamQuery, SlamWeights};
pub use smooth_grad::SMOOTH_GRAD;
pub(super) use squared::Squared;
pub use squared::{Centering, PAIR_SQUARED, SQUARED};
pub use svm_map::SVM_MAP;

/// Every listwise loss.
pub const LOSSES: &[&LossDef] = &[
    &SQUARED,
    &PAIR_SQUARED,
    &LIST_NET,
    &LIST_MLE,
    &CS_LIST_MLE,
    &LAMBDA_RANK,
    &SLAM,
    &SVM_MAP,
    &SMOOTH_GRAD,
    &DIRECT,
    &MATCHING,
];
