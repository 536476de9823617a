//! Candidates: scalings with kernels, simple ones first.

use serde_json::{Value, json};

use super::AutoSpec;
use crate::data::ScalingKind;

/// With fewer judged queries only linear functions are tried: kernels gained nothing.
pub(super) const FEW_QUERIES: usize = 60;

/// One scaling with one kernel.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    /// Scaling of document features.
    pub scale: ScalingKind,
    /// The kernel as a value of the option `kernel`.
    pub kernel: Value,
}

/// The kernels for a training set with `judged` queries. A scaling or kernel that the caller gave is the only one. Beside
/// trees of many documents a few kernels are tried.
pub(super) fn candidates(spec: &AutoSpec, judged: usize, is_of_many: bool) -> Vec<Candidate> {
    let few = || vec![json!("linear"), json!({ "gaussian": { "width": 2 } })];
    let kernels = || if is_of_many { few() } else { kernels(judged) };
    let kernels = spec.kernel.as_ref().map_or_else(kernels, |kernel| vec![kernel.clone()]);
    let both = vec![ScalingKind::QuantileMinmax, ScalingKind::Quantile];
    let scales = spec.scale.map_or(both, |scale| vec![scale]);
    let with = |scale: ScalingKind| {
        kernels.iter().map(move |kernel| Candidate { scale, kernel: kernel.clone() }).collect::<Vec<_>>()
    };
    scales.into_iter().flat_map(with).collect()
}

fn kernels(judged: usize) -> Vec<Value> {
    let mut kernels = vec![json!("linear")];
    if judged >= FEW_QUERIES {
        kernels.extend([4, 2, 1].map(|width| json!({ "gaussian": { "width": width } })));
        kernels.extend([8, 4, 2].map(|width| json!({ "laplace_l1": { "width": width } })));
    }
    kernels
}
