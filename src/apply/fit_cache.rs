//! Functions fitted for new queries, cached for the next call.

use std::sync::Arc;

use crate::base::cache::BoundedCache;
use crate::learn::smoothing::Target;
use crate::learn::space::Function;
use crate::model::Key;

/// The cache: functions by the key of their model, the bits of the query features, and the kind of target.
#[derive(Debug)]
pub struct FitCache(BoundedCache<(Key, Vec<u64>), Arc<Function>>);

fn bits(features: &[f64], target: Target) -> Vec<u64> {
    let target = u64::from(target == Target::Observed);
    features.iter().map(|value| value.to_bits()).chain([target]).collect()
}

impl FitCache {
    /// A cache of functions that take about this many bytes at most.
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
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no function.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
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
        assert_eq!(cache.len(), 2);
        let get = |model, feature| cache.get(model, &[feature], Target::Novel);
        assert!(get(1, 0.0).is_none() && get(1, 4.0).is_some() && get(2, 4.0).is_none());
        assert!(cache.get(1, &[4.0], Target::Observed).is_none());
    }
}
