//! Candidates: scalings with kernels, simple ones first.

use serde_json::{Value, json};

use super::AutoSpec;
use crate::data::ScalingKind;

/// With fewer judged queries only linear functions are tried: kernels gained nothing.
pub(super) const FEW_QUERIES: usize = 60;

/// One scaling with one kernel.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// Scaling of document features.
    pub scale: ScalingKind,
    /// The kernel as a value of the option `kernel`.
    pub kernel: Value,
    /// The kernel that chooses the landmarks: that of the smallest width in its family, so that the family shares them.
    pub chooser: Value,
}

/// The kernels for a training set with `judged` queries. A scaling or kernel that the caller gave is the only one. Beside
/// trees of many documents a few kernels are tried.
pub(super) fn candidates(spec: &AutoSpec, judged: usize, is_of_many: bool) -> Vec<Candidate> {
    let few = || vec![alone(json!("linear")), alone(width("gaussian", 2))];
    let kernels = || if is_of_many { few() } else { kernels(spec, judged) };
    let kernels = spec.kernel.as_ref().map_or_else(kernels, |kernel| vec![alone(kernel.clone())]);
    let both = vec![ScalingKind::QuantileMinmax, ScalingKind::Quantile];
    let scales = spec.scale.map_or(both, |scale| vec![scale]);
    let with = |scale: ScalingKind| {
        let candidate = move |(kernel, chooser): &(Value, Value)| Candidate {
            scale,
            kernel: kernel.clone(),
            chooser: chooser.clone(),
        };
        kernels.iter().map(candidate).collect::<Vec<_>>()
    };
    scales.into_iter().flat_map(with).collect()
}

/// Kernels with what chooses their landmarks.
fn kernels(spec: &AutoSpec, judged: usize) -> Vec<(Value, Value)> {
    let mut kernels = vec![alone(json!("linear"))];
    if judged >= FEW_QUERIES {
        for (name, widths) in [("gaussian", spec.effort.gaussian), ("laplace_l1", spec.effort.laplace_l1)] {
            let chooser = || width(name, widths.iter().copied().min().unwrap_or(1));
            kernels.extend(widths.iter().map(|s| (width(name, *s), chooser())));
        }
    }
    kernels
}

/// A kernel that chooses its landmarks.
fn alone(kernel: Value) -> (Value, Value) {
    (kernel.clone(), kernel)
}

fn width(name: &str, s: u32) -> Value {
    json!({ name: { "width": s } })
}
