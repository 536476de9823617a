//! A cache with a limit on the total size of its entries. The least recently used entries are dropped first.

use std::hash::Hash;
use std::sync::{Mutex, MutexGuard};

use lru::LruCache;

/// A cache. The owner chooses the unit of sizes.
#[derive(Debug)]
pub struct BoundedCache<K: Hash + Eq, V> {
    limit: usize,
    state: Mutex<State<K, V>>,
}

#[derive(Debug)]
struct State<K: Hash + Eq, V> {
    /// Values with their sizes.
    entries: LruCache<K, (V, usize)>,
    size: usize,
}

impl<K: Hash + Eq, V: Clone> BoundedCache<K, V> {
    /// An empty cache that holds entries up to this total size.
    pub fn new(limit: usize) -> Self {
        Self { limit, state: Mutex::new(State { entries: LruCache::unbounded(), size: 0 }) }
    }

    fn state(&self) -> MutexGuard<'_, State<K, V>> {
        super::parallel::lock(&self.state)
    }

    /// The value of a key, which becomes the most recently used one.
    pub fn get(&self, key: &K) -> Option<V> {
        self.state().entries.get(key).map(|(value, _)| value.clone())
    }

    /// Whether the key has a value. This does not count as a use.
    pub fn contains(&self, key: &K) -> bool {
        self.state().entries.contains(key)
    }

    /// Adds or replaces a value, and drops others if the limit is exceeded. Values above the limit are not kept.
    pub fn put(&self, key: K, value: V, size: usize) {
        if size <= self.limit {
            self.put_without_limit(key, value, size);
            self.trim();
        }
    }

    /// Adds or replaces a value. Nothing is dropped before the next [`Self::trim`] or [`Self::put`].
    pub fn put_without_limit(&self, key: K, value: V, size: usize) {
        let mut state = self.state();
        state.size = state.size.saturating_add(size);
        if let Some((_, replaced)) = state.entries.put(key, (value, size)) {
            state.size -= replaced;
        }
    }

    /// Drops the least recently used values until the rest fit within the limit.
    pub fn trim(&self) {
        let mut state = self.state();
        while state.size > self.limit {
            let Some((_, (_, size))) = state.entries.pop_lru() else { return };
            state.size -= size;
        }
    }

    /// Number of values.
    #[allow(clippy::len_without_is_empty, reason = "no caller needs it")]
    pub fn len(&self) -> usize {
        self.state().entries.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_value_is_dropped_first() {
        let cache = BoundedCache::new(10);
        for key in 0..3 {
            cache.put(key, key, 3);
        }
        assert_eq!(cache.get(&0), Some(0));
        cache.put(3, 3, 3);
        assert_eq!((cache.get(&1), cache.len()), (None, 3));
        cache.put(0, 7, 9);
        assert_eq!((cache.get(&0), cache.len()), (Some(7), 1), "a replaced value counts once");
        cache.put(4, 4, 11);
        assert_eq!((cache.get(&4), cache.len()), (None, 1), "too large for the cache");
    }

    #[test]
    fn values_beyond_the_limit_stay_until_the_cache_is_trimmed() {
        let cache = BoundedCache::new(5);
        (0..3).for_each(|key| cache.put_without_limit(key, key, 3));
        assert_eq!(cache.len(), 3);
        cache.trim();
        assert!(cache.len() == 1 && cache.contains(&2));
    }
}
