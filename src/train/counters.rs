//! Features that look like counters of the clicks that the judgments come from (rule 2.29).
//!
//! `ltr_judgments` gives a document that users saw e times the weight w = e / (e + 10), about. Of documents with relevance above 0, those
//! that were seen often have more clicks, and a counter of the same clicks has larger values; prices or text matches have not. For each
//! such document
//!
//! * E: sum of the mean of e = 10 w / (1 - w) in the queries where its relevance is above 0
//! * x: mean of the feature in these queries
//!
//! A counter has all of these signs:
//!
//! * atanh(r) sqrt(n - 3) > 3.5, where r is Spearman's rank correlation of x and E over the n documents (about standard normal if they
//!   are independent: Fisher 1921)
//! * of the rows with relevance 0, four tenths have the smallest value, as documents without a click have
//! * in queries with both, documents with relevance above 0 have a larger mean than the others, by 2 standard errors.

use crate::base::{ColumnAdvice, Control, Result, parallel};
use crate::data::Dataset;
use crate::math::{ends_of_runs, sort_indices, sort_items};
use crate::train::select::Gain;

/// Least standardized rank correlation with how often documents were seen.
const CORRELATED: f64 = 3.5;
/// Least fraction of rows with relevance 0 that have the smallest value. Counters have .74 or more in simulated logs, matches of words
/// .31 or less.
const SMALLEST: f64 = 0.4;
/// Least difference to documents without a click, in standard errors.
const LARGER: f64 = 2.0;

/// A warning that names the features with these signs. `data`: judgments from clicks.
///
/// # Errors
/// An interrupt.
pub fn warning(data: &Dataset, advice: ColumnAdvice<'_>, control: &Control) -> Result<Option<String>> {
    if data.doc_weights.is_empty() {
        return Ok(None);
    }
    // 1. The rows with relevance above 0, how often their queries were seen, and the documents that they belong to.
    let mut clicked: Vec<(usize, f64)> = Vec::new();
    for query in 0..data.n_queries() {
        control.check()?;
        let weights = data.doc_weights(query);
        let seen = weights.iter().map(|w| w / (1.0 - w.min(0.999))).sum::<f64>() / weights.len() as f64;
        let rows = data.rows(query).filter(|row| data.relevance[*row] > 0.0);
        clicked.extend(rows.map(|row| (row, seen)));
    }
    let id = |(row, _): &(usize, f64)| &data.doc_ids[*row];
    sort_items(&mut clicked, |a, b| id(a).cmp(id(b)));
    let documents: Vec<&[(usize, f64)]> = clicked.chunk_by(|a, b| id(a) == id(b)).collect();
    let sums: Vec<f64> = documents.iter().map(|rows| rows.iter().map(|(_, seen)| seen).sum()).collect();
    let seen = ranks(&sums);
    // 2. The features.
    let is_counter = |feature: usize| {
        control.check()?;
        let value = |row: usize| data.features.at(row, feature);
        let smallest = (0..data.n_docs()).map(value).fold(f64::INFINITY, f64::min);
        let without: Vec<usize> = (0..data.n_docs()).filter(|row| data.relevance[*row] <= 0.0).collect();
        let smallest = without.iter().filter(|row| value(**row) <= smallest).count();
        if (smallest as f64) < SMALLEST * without.len() as f64 {
            return Ok(false);
        }
        let mean = |rows: &mut dyn Iterator<Item = usize>| {
            let (mut sum, mut count) = (0.0, 0.0);
            rows.for_each(|row| (sum, count) = (sum + value(row), count + 1.0));
            sum / count
        };
        let values: Vec<f64> =
            documents.iter().map(|rows| mean(&mut rows.iter().map(|(row, _)| *row))).collect();
        let n = values.len() as f64;
        let correlation = pearson(&ranks(&values), &seen).min(0.999);
        if n < 4.0
            || values.iter().any(|value| value.is_nan())
            || libm::atanh(correlation) * (n - 3.0).sqrt() <= CORRELATED
        {
            return Ok(false);
        }
        let difference = |query: usize| {
            let is_clicked = |row: &usize| data.relevance[*row] > 0.0;
            let difference = mean(&mut data.rows(query).filter(is_clicked))
                - mean(&mut data.rows(query).filter(|row| !is_clicked(row)));
            // Without one of the two kinds it is not a number.
            (!difference.is_nan()).then_some((difference, 1.0))
        };
        let differences: Vec<(f64, f64)> = (0..data.n_queries()).filter_map(difference).collect();
        let gain = Gain::of(&differences, 1.0);
        Ok(gain.is_some_and(|gain| gain.mean > LARGER * gain.error.error))
    };
    let numbers = data.categories.numbers(data.names.len());
    let are_counters = parallel::try_map(numbers, is_counter)?;
    let names: Vec<&str> = data
        .names
        .iter()
        .zip(are_counters)
        .filter(|(_, are_counters)| *are_counters)
        .map(|(name, _)| name.as_str())
        .collect();
    Ok((!names.is_empty()).then(|| {
        format!(
            "features that look like counters of the clicks behind the judgments (they grow with how often users saw a clicked \
             document): \"{}\"; such a counter repeats the order that was shown, so count earlier clicks in other lists, or {}",
            names.join("\", \""),
            advice.ignore_features(&names)
        )
    }))
}

/// The rank of each value; equal values have the mean of theirs.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    sort_indices(&mut order, &|a, b| values[a].total_cmp(&values[b]));
    let (mut ranks, mut start) = (vec![0.0; values.len()], 0);
    for end in ends_of_runs(&order, |a, b| values[*a].total_cmp(&values[*b]).is_eq()) {
        order[start..end].iter().for_each(|index| ranks[*index] = 0.5 * (start + end) as f64);
        start = end;
    }
    ranks
}

/// Pearson's correlation; 0 if it is not defined.
fn pearson(a: &[f64], b: &[f64]) -> f64 {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let (of_a, of_b) = (mean(a), mean(b));
    let sum = |x: &[f64], y: &[f64], of_x: f64, of_y: f64| {
        x.iter().zip(y).map(|(x, y)| (x - of_x) * (y - of_y)).sum::<f64>()
    };
    let norm = (sum(a, a, of_a, of_a) * sum(b, b, of_b, of_b)).sqrt();
    if norm > 0.0 { sum(a, b, of_a, of_b) / norm } else { 0.0 }
}
