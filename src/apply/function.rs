//! How a score is computed: the function of a query and its weights.

use std::sync::Arc;

use crate::base::{BoundedCache, Control, Error, Result};
use crate::data::{QueryFeatureKind, QueryValue, Scaling};
use crate::learn::smoothing::Target;
use crate::learn::space::{AnySpace, Function, Scorer, SumSpace};
use crate::model::{Key, Linear, Model, Ranker, no_features};

/// The fit of one function.
pub type Fit<'a> = dyn Fn(&Control) -> Result<Function> + Sync + 'a;

/// The function of the query with these features; `None` for a model with one function for all queries.
///
/// If the function must be fitted, `run` gets the encoded query features and the fit. `run` must load the blocks that
/// the fit needs and choose threads and limits.
///
/// # Errors
/// Query features that are missing or superfluous; a model without functions for new queries.
pub fn function_for(
    model: &Model,
    key: Key,
    query_features: Option<&[QueryValue]>,
    cache: &FitCache,
    run: impl FnOnce(&[f64], &Fit<'_>) -> Result<Function>,
) -> Result<Arc<Function>> {
    let Some(ranker) = model.ranker.as_query_aware() else {
        let function = model.ranker.global_function().ok_or_else(no_features)?;
        return match query_features {
            None => Ok(Arc::clone(function)),
            Some(_) => Err(Error::Unsupported(format!(
                "a model of '{}' has one function for all queries and takes no query features",
                model.card.algorithm
            ))),
        };
    };
    let rule = ranker.query_rule();
    let Some(query_features) = query_features else {
        let names = rule.names.join(", ");
        let of = if rule.kind == QueryFeatureKind::Mean { "the means over the query of " } else { "" };
        return Err(Error::Unsupported(format!(
            "the model's function depends on the query; give its query features ({of}{names}) too, or rank all documents of the query"
        )));
    };
    let features = rule.encoded(query_features, model.card.missing, &model.card.quantities)?;
    if model.ranker.as_query_dependent().is_some_and(|ranker| !ranker.fits_new_queries()) {
        let name = &model.card.algorithm;
        return Err(Error::NotPointwise(format!("'{name}' has functions for its training queries only")));
    }
    let dependent = model.ranker.as_query_dependent();
    let target = dependent.map_or(Target::Novel, |ranker| ranker.target_of(&features));
    if let Some(function) = cache.get(key, &features, target) {
        return Ok(function);
    }
    let function = Arc::new(run(&features, &|control| ranker.function(&features, control))?);
    cache.put(key, &features, target, &function);
    Ok(function)
}

/// The weight of one scaled feature.
#[derive(Debug, Clone, PartialEq)]
pub struct FeatureWeight {
    /// Name of the scaled feature.
    pub feature: String,
    /// The weight of the scaled value.
    pub weight: f64,
    /// The weight of the unscaled value; `None` if the scaling is not affine.
    pub raw_weight: Option<f64>,
    /// The value that scaling maps to 0; `None` if the scaling is not affine.
    pub center: Option<f64>,
    /// Divisor after subtracting the center; `None` if the scaling is not affine, and for a constant
    /// feature, which is scaled to 0.
    pub scale: Option<f64>,
}

/// The weight of every scaled feature, then of a baseline. If the scaling is affine, sums of `raw_weight` times value order the
/// documents of a query like their scores.
///
/// # Errors
/// A model whose scores are not weighted sums of features.
pub fn function_weights(model: &Model, function: &Function) -> Result<Vec<FeatureWeight>> {
    let names = &model.card.features;
    let Some(sum) = sum_with_baseline(model) else {
        check_linear(model)?;
        return Ok(scaled_weights(&model.scaling, names, &function.weights));
    };
    let (of_baseline, own) = function.weights.split_at(sum.members[0].space.dim());
    let mut weights = match &sum.members[1..] {
        [member] => scaled_weights(&member.scaling, names, own),
        _ => Vec::new(),
    };
    let of_baseline = scaled_weights(&sum.members[0].scaling, names, of_baseline).into_iter();
    weights.extend(
        of_baseline
            .filter(|column| column.weight.abs() > 0.0)
            .map(|column| FeatureWeight { feature: format!("{} (baseline)", column.feature), ..column }),
    );
    Ok(weights)
}

/// The sum of a baseline and one linear function or none, if the model is one.
fn sum_with_baseline(model: &Model) -> Option<&SumSpace> {
    let Ranker::Linear(Linear { space: AnySpace::Sum(sum), .. }) = &model.ranker else { return None };
    let is_sum = sum.members.len() <= 2 && sum.members.iter().all(|member| member.space.is_linear());
    Some(sum).filter(|_| is_sum && model.card.settings["baseline"].is_string())
}

/// The weights of a linear function of features with this scaling.
fn scaled_weights(scaling: &Scaling, names: &[String], weights: &[f64]) -> Vec<FeatureWeight> {
    let finite = |value: f64| Some(value).filter(|value| value.is_finite());
    let weight = |(index, feature): (usize, String)| {
        let weight = weights[index];
        let affine = scaling.affine(index);
        FeatureWeight {
            feature,
            weight,
            raw_weight: affine.and_then(|(_, factor)| finite(weight * factor)),
            center: affine.map(|(center, _)| center),
            scale: affine.and_then(|(_, factor)| finite(1.0 / factor)),
        }
    };
    scaling.names(names).into_iter().enumerate().map(weight).collect()
}

fn check_linear(model: &Model) -> Result<()> {
    if model.capabilities().linear {
        return Ok(());
    }
    let problem = "the model's functions are not linear in one set of scaled features, so its scores are not weighted sums of \
                   them; use ltr_importance or ltr_explain";
    Err(Error::Unsupported(problem.to_owned()))
}

// A cache of functions fitted for new queries, kept between calls.

/// Functions by model key, bits of the query features, and kind of target.
#[derive(Debug)]
pub struct FitCache(BoundedCache<(Key, Vec<u64>), Arc<Function>>);

fn bits(features: &[f64], target: Target) -> Vec<u64> {
    let target = u64::from(target == Target::Observed);
    features.iter().map(|value| value.to_bits()).chain([target]).collect()
}

impl FitCache {
    /// A cache for functions of about `max_bytes` bytes in total.
    pub fn new(max_bytes: usize) -> Self {
        Self(BoundedCache::new(max_bytes))
    }

    /// The function of a model for these query features.
    pub fn get(&self, model: Key, features: &[f64], target: Target) -> Option<Arc<Function>> {
        self.0.get(&(model, bits(features, target)))
    }

    /// Adds a function.
    pub fn put(&self, model: Key, features: &[f64], target: Target, function: &Arc<Function>) {
        let bytes = 8 * (features.len() + function.weights.len()) + 256;
        self.0.put((model, bits(features, target)), Arc::clone(function), bytes);
    }

    /// Number of functions.
    pub fn functions(&self) -> usize {
        self.0.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_belong_to_one_model_and_query() {
        let cache = FitCache::new(1000);
        let function = Arc::new(Function::zero(10));
        for target in 0..5 {
            cache.put(1, &[f64::from(target)], Target::Novel, &function);
        }
        assert_eq!(cache.functions(), 2);
        let get = |model, feature| cache.get(model, &[feature], Target::Novel);
        assert!(get(1, 0.0).is_none() && get(1, 4.0).is_some() && get(2, 4.0).is_none());
        assert!(cache.get(1, &[4.0], Target::Observed).is_none());
    }
}
