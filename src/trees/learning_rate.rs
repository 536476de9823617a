//! Default of the learning rate of boosted trees.
//!
//! More documents allow larger steps, and fewer trees need them. CatBoost has a rule of this form with other constants
//! (Prokhorenkova et al. 2018). The constants here were chosen on validation data: sets of 12,000 to 600,000 documents,
//! and 80 to 400 trees.

/// The learning rate for few documents and [`TREES`] trees.
const FEW: f64 = 0.05;

/// Numbers of documents between which the rate grows.
const DOCUMENTS: (f64, f64) = (1e4, 1e6);

/// Exponent of the number of documents.
const OF_DOCUMENTS: f64 = 0.4;

/// Trees that have the rate [`FEW`].
const TREES: f64 = 240.0;

/// Exponent of the number of trees.
const OF_TREES: f64 = -0.6;

/// The largest rate.
const LARGEST: f64 = 0.5;

/// The learning rate for this number of documents and trees.
pub(super) fn default_rate(documents: usize, trees: usize) -> f64 {
    let documents = (documents as f64).clamp(DOCUMENTS.0, DOCUMENTS.1) / DOCUMENTS.0;
    let trees = trees.max(1) as f64 / TREES;
    (FEW * libm::pow(documents, OF_DOCUMENTS) * libm::pow(trees, OF_TREES)).min(LARGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_grows_with_documents_and_falls_with_trees() {
        let rounded = |documents, trees| (1000.0 * default_rate(documents, trees)).round();
        let of_documents: Vec<f64> = [0, 10_000, 60_000, 600_000, 1_000_000, 100_000_000]
            .map(|documents| rounded(documents, 240))
            .to_vec();
        assert_eq!(of_documents, [50.0, 50.0, 102.0, 257.0, 315.0, 315.0]);
        let of_trees: Vec<f64> = [1, 100, 240, 1000].map(|trees| rounded(0, trees)).to_vec();
        assert_eq!(of_trees, [500.0, 85.0, 50.0, 21.0]);
    }
}
