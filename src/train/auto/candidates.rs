//! The candidates that `auto` compares.

use super::AutoSpec;
use crate::data::ScalingKind;
use serde_json::{Value, json};

/// With fewer judged queries only linear functions are tried: kernels gained nothing, unless they see query features.
pub(super) const FEWEST_FOR_KERNELS: usize = 60;

/// One scaling with one kernel.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// Scaling of document features.
    pub scale: ScalingKind,
    /// The kernel as a value of the option `kernel`.
    pub kernel: Value,
    /// The kernel that chooses the landmarks: the one with the smallest width in its family, so that the family shares them.
    pub chooser: Value,
}

impl Candidate {
    /// Whether another candidate has the same kernel with a different width.
    pub fn is_like(&self, other: &Self) -> bool {
        self.scale == other.scale && self.chooser == other.chooser
    }
}

/// The candidates for a training set with `judged` queries: the first width of each kernel, then the other widths. A scaling
/// or kernel that the caller gives is the only one. With many documents only a few kernels are tried. `sees_queries`: kernels see
/// query features, which linear functions cannot use.
pub(super) fn candidates(
    spec: &AutoSpec,
    judged: usize,
    has_many_documents: bool,
    sees_queries: bool,
) -> Vec<Candidate> {
    let few = || vec![alone(json!("linear")), alone(width("gaussian", 2))];
    let kernels = || match has_many_documents {
        _ if !spec.monotone.is_empty() => vec![alone(json!("linear"))],
        true => few(),
        false => kernels(spec, judged >= FEWEST_FOR_KERNELS || sees_queries),
    };
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
    let all: Vec<Candidate> = scales.into_iter().flat_map(with).collect();
    let is_later = |number: &usize| all[..*number].iter().any(|before| before.is_like(&all[*number]));
    let (later, first): (Vec<usize>, Vec<usize>) = (0..all.len()).partition(is_later);
    first.into_iter().chain(later).map(|number| all[number].clone()).collect()
}

/// Kernels with what chooses their landmarks.
fn kernels(spec: &AutoSpec, tries_kernels: bool) -> Vec<(Value, Value)> {
    let mut kernels = vec![alone(json!("linear"))];
    if tries_kernels {
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
