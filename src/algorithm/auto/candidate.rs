//! What is tried: scalings with kernels, in the order of their simplicity.

use serde_json::{Value, json};

use crate::algorithm::Recipe;
use crate::data::ScalingKind;

/// Below this many judged queries only linear functions are tried: kernels gained nothing on so few.
const FEW_QUERIES: usize = 60;

/// One scaling with one kernel.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    /// Scaling of document features.
    pub scale: ScalingKind,
    /// The kernel as a value of the option `kernel`.
    pub kernel: Value,
}

/// The candidates for a training set with so many judged queries; a scaling or kernel that the caller gave is the only one.
pub(super) fn candidates(recipe: &Recipe, judged: usize) -> Vec<Candidate> {
    let kernels = if recipe.kernel_given { vec![recipe.given_kernel.clone()] } else { kernels(judged) };
    let scales = if recipe.scale_given {
        vec![recipe.scale]
    } else {
        vec![ScalingKind::QuantileMinmax, ScalingKind::Quantile]
    };
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
