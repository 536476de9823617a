//! Means of relevance without held-out rows.

use super::means::{FEWEST_ROWS, MeanSums, NO_VALUE, RowsOfCodes};
use crate::data::Dataset;

/// Relearns the means of categories without the held-out rows. Returns each mean feature and its values (`n_docs`); nothing
/// if training learned no means. `held_out`: one flag per row (`n_docs`).
pub fn means_without(data: &Dataset, held_out: &[bool]) -> Vec<(usize, Vec<f64>)> {
    if !data.has_means() {
        return Vec::new();
    }
    // 1. The rows that are not held out.
    let query_of = |query: usize| data.rows(query).map(move |_| query);
    let queries: Vec<usize> = (0..data.n_queries()).flat_map(query_of).collect();
    let kept: Vec<usize> = (0..data.n_docs()).filter(|row| !held_out[*row]).collect();
    let kept_queries: Vec<usize> = kept.iter().map(|row| queries[*row]).collect();
    let relevance: Vec<f64> = kept.iter().map(|row| data.relevance[*row]).collect();
    let query_ids = &data.query_ids;
    let rows = RowsOfCodes { queries: &kept_queries, query_ids, documents: None, relevance: &relevance };
    // 2. The mean of each row: held-out rows have the mean over all folds, if a model trained on the others would keep it.
    let means = |codes: &[u32]| -> Vec<f64> {
        let kept_codes: Vec<u32> = kept.iter().map(|row| codes[*row]).collect();
        // Codes are dense, and NULL has the largest one.
        let most = codes.iter().filter(|code| **code != NO_VALUE).max();
        let sums = MeanSums::new(&kept_codes, most.map_or(0, |most| *most as usize + 1), rows);
        let mean = |row: usize| match sums.value(codes[row]) {
            Some(value) if !held_out[row] => sums.mean(value, Some(sums.folds[queries[row]])),
            Some(value) if sums.rows(value) >= FEWEST_ROWS => sums.mean(value, None),
            _ => 0.0,
        };
        (0..codes.len()).map(mean).collect()
    };
    let features = data.categories.mean_features(data.names.len()).zip(&data.mean_codes);
    let learned = features.filter(|(_, codes)| !codes.is_empty());
    learned.filter_map(|((_, feature), codes)| Some((feature?, means(codes)))).collect()
}
