//! Functions fitted for novel queries, kept for the next call. Bounded: the oldest go first.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::model::Key;
use crate::space::Function;

/// Which function: that of a model for a target with these query features (their bits).
type Place = (Key, Vec<u64>);

/// The cache.
#[derive(Debug)]
pub struct FitCache {
    bytes_allowed: usize,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    functions: HashMap<Place, Arc<Function>>,
    order: VecDeque<Place>,
    bytes: usize,
}

fn place(model: Key, features: &[f64]) -> Place {
    (model, features.iter().map(|value| value.to_bits()).collect())
}

fn bytes(place: &Place, function: &Function) -> usize {
    8 * (2 * place.1.len() + function.weights.len()) + 256
}

impl FitCache {
    /// A cache that holds functions of about this many bytes.
    pub fn new(bytes_allowed: usize) -> Self {
        Self { bytes_allowed, kept: Mutex::default() }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The function of a model for these query features, if it is kept.
    pub fn get(&self, model: Key, features: &[f64]) -> Option<Arc<Function>> {
        self.kept().functions.get(&place(model, features)).cloned()
    }

    /// Keeps a function.
    pub fn put(&self, model: Key, features: &[f64], function: &Arc<Function>) {
        let place = place(model, features);
        let mut kept = self.kept();
        let size = bytes(&place, function);
        if size > self.bytes_allowed || kept.functions.contains_key(&place) {
            return;
        }
        kept.bytes += size;
        kept.order.push_back(place.clone());
        kept.functions.insert(place, Arc::clone(function));
        while kept.bytes > self.bytes_allowed {
            let Some(oldest) = kept.order.pop_front() else { return };
            if let Some(function) = kept.functions.remove(&oldest) {
                kept.bytes -= bytes(&oldest, &function);
            }
        }
    }

    /// Number of functions kept.
    pub fn len(&self) -> usize {
        self.kept().functions.len()
    }

    /// True where none is kept.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_function_goes_when_the_cache_is_full() {
        let cache = FitCache::new(1000);
        let function = Arc::new(Function { weights: vec![0.0; 10], objective: 0.0, gap: 0.0 });
        for target in 0..5 {
            cache.put(1, &[f64::from(target)], &function);
        }
        assert_eq!(cache.len(), 2);
        assert!(cache.get(1, &[0.0]).is_none() && cache.get(1, &[4.0]).is_some());
        assert!(cache.get(2, &[4.0]).is_none());
    }
}
