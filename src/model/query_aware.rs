//! The interface shared by rankers whose functions depend on query features.

use crate::base::{Control, Result};
use crate::data::QueryFeatureRule;
use crate::learn::space::{Function, Scorer};

/// A ranker whose function depends on the features of the query.
pub trait QueryAware: Sync {
    /// How query features are encoded.
    fn query_rule(&self) -> &QueryFeatureRule;

    /// The scorer of a query's documents by its function.
    fn scorer(&self) -> &dyn Scorer;

    /// The function for a new query with these encoded features.
    ///
    /// # Errors
    /// An interrupt; blocks that are not loaded; weights that are too large.
    fn function(&self, features: &[f64], control: &Control) -> Result<Function>;

    /// Whether its functions see the named query feature at this position.
    fn sees(&self, _position: usize) -> bool {
        true
    }
}
