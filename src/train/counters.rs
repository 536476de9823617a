//! Features that look like counters of the clicks that the judgments come from, or rates of them (rule 2.29).
//!
//! `ltr_judgments` gives a document that users saw e times the weight w = e / (e + 10), about. Queries that were searched often have
//! more clicks, so counters of the same clicks are larger there, and the smallest rates, such as (clicks + 1) / (shows + 10), are
//! smaller; prices or text matches are not. For each query with two documents or more
//!
//! * E: mean of e = 10 w / (1 - w)
//! * mean: of the feature
//! * low: the smallest value of the feature that is above its smallest value in all rows
//!
//! Both are larger in documents with relevance above 0 than in the query's others, by 2 standard errors. z is atanh(r) sqrt(n - 3) for
//! Spearman's rank correlation r over n queries (about standard normal if they are independent: Fisher 1921).
//!
//! * Counter: z > 3.5 for mean and E. Of the rows with relevance 0, four tenths have the smallest value, as documents without a
//!   click have.
//! * Rate: z < -3.5 for low and E. Of the rows with relevance 0, four tenths share the smallest value of their query.

use crate::base::{ColumnAdvice, Control, Result, parallel};
use crate::data::Dataset;
use crate::math::{ends_of_runs, sort_indices};
use crate::train::select::Gain;

/// Least standardized rank correlation with how often queries were searched. Other features have at most 2.9 in 20 simulated logs.
const CORRELATED: f64 = 3.5;
/// Least fraction of rows with relevance 0 that have the smallest value. Counters have .74 or more in simulated logs, matches of words
/// .31 or less.
const SMALLEST: f64 = 0.4;
/// Least difference to documents without a click, in standard errors.
const LARGER: f64 = 2.0;

/// The names of features with these signs. `data`: judgments from clicks.
///
/// # Errors
/// An interrupt.
pub fn names(data: &Dataset, control: &Control) -> Result<Vec<String>> {
    if data.doc_weights.is_empty() {
        return Ok(Vec::new());
    }
    let queries: Vec<usize> = (0..data.n_queries()).filter(|query| data.rows(*query).len() > 1).collect();
    let seen = |query: &usize| {
        let weights = data.doc_weights(*query);
        weights.iter().map(|w| w / (1.0 - w.min(0.999))).sum::<f64>() / weights.len() as f64
    };
    let seen: Vec<f64> = queries.iter().map(seen).collect();
    let is_counter = |feature: usize| {
        control.check()?;
        let values: Vec<f64> = (0..data.n_docs()).map(|row| data.features.at(row, feature)).collect();
        let column = Column { data, queries: &queries, seen: &seen, values: &values };
        Ok(!values.iter().any(|value| value.is_nan())
            && column.is_larger_with_clicks()
            && (column.is_count() || column.is_rate()))
    };
    let numbers = data.categories.numbers(data.names.len());
    let are_counters = parallel::try_map(numbers, is_counter)?;
    let named = data.names.iter().zip(are_counters).filter(|(_, is_counter)| *is_counter);
    Ok(named.map(|(name, _)| name.clone()).collect())
}

/// The warning about these features.
pub fn warning(names: &[String], advice: ColumnAdvice<'_>) -> Option<String> {
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    (!names.is_empty()).then(|| {
        format!(
            "features that look like counters or rates of the clicks behind the judgments (they follow how often queries were \
             searched): \"{}\"; such a feature repeats the order that was shown, and a comparison on the same clicks cannot show \
             that; train again with clicks of other lists, or {}",
            names.join("\", \""),
            advice.ignore_features(&names)
        )
    })
}

/// A feature in judgments from clicks.
struct Column<'a> {
    data: &'a Dataset,
    /// Those with two documents or more.
    queries: &'a [usize],
    /// How often users saw the documents of each of them.
    seen: &'a [f64],
    /// Of each row.
    values: &'a [f64],
}

impl Column<'_> {
    fn smallest(&self, rows: impl Iterator<Item = usize>) -> f64 {
        rows.map(|row| self.values[row]).fold(f64::INFINITY, f64::min)
    }

    /// Whether rows without a click make four tenths of the rows counted. `of_query`: how many of these rows of a query count.
    fn are_frequent(&self, of_query: impl Fn(usize, &[f64]) -> usize) -> bool {
        let (mut counted, mut all) = (0, 0);
        for &query in self.queries {
            let rows = self.data.rows(query).filter(|row| self.data.relevance[*row] <= 0.0);
            let values: Vec<f64> = rows.map(|row| self.values[row]).collect();
            counted += of_query(query, &values);
            all += values.len();
        }
        all > 0 && counted as f64 >= SMALLEST * all as f64
    }

    fn is_larger_with_clicks(&self) -> bool {
        let difference = |&query: &usize| {
            let mean = |clicked: bool| {
                let rows = self.data.rows(query).filter(|row| (self.data.relevance[*row] > 0.0) == clicked);
                mean(&rows.map(|row| self.values[row]).collect::<Vec<f64>>())
            };
            let difference = mean(true) - mean(false);
            // Without one of the two kinds it is not a number.
            (!difference.is_nan()).then_some((difference, 1.0))
        };
        let gain = Gain::of(&self.queries.iter().filter_map(difference).collect::<Vec<_>>(), 1.0);
        gain.is_some_and(|gain| gain.mean > LARGER * gain.error.error)
    }

    fn is_count(&self) -> bool {
        let smallest = self.smallest(0..self.values.len());
        let of_query = |query: &usize| mean(&self.values[self.data.rows(*query)]);
        self.are_frequent(|_, values| values.iter().filter(|value| **value <= smallest).count())
            && standardized(&self.queries.iter().map(of_query).collect::<Vec<f64>>(), self.seen) > CORRELATED
    }

    fn is_rate(&self) -> bool {
        let smallest = self.smallest(0..self.values.len());
        let sharing = |query: usize, values: &[f64]| {
            let lowest = self.smallest(self.data.rows(query));
            let sharing = values.iter().filter(|value| **value <= lowest).count();
            if sharing > 1 { sharing } else { 0 }
        };
        let low = |(&query, &seen): (&usize, &f64)| {
            let low = self.smallest(self.data.rows(query).filter(|row| self.values[*row] > smallest));
            low.is_finite().then_some((low, seen))
        };
        let (lows, seen): (Vec<f64>, Vec<f64>) = self.queries.iter().zip(self.seen).filter_map(low).unzip();
        self.are_frequent(sharing) && standardized(&lows, &seen) < -CORRELATED
    }
}

/// Spearman's rank correlation, divided by its standard error for independent values.
fn standardized(a: &[f64], b: &[f64]) -> f64 {
    if a.len() < 4 {
        return 0.0;
    }
    libm::atanh(pearson(&ranks(a), &ranks(b)).clamp(-0.999, 0.999)) * (a.len() as f64 - 3.0).sqrt()
}

/// NaN without values.
fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
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
    let (of_a, of_b) = (mean(a), mean(b));
    let sum = |x: &[f64], y: &[f64], of_x: f64, of_y: f64| {
        x.iter().zip(y).map(|(x, y)| (x - of_x) * (y - of_y)).sum::<f64>()
    };
    let norm = (sum(a, a, of_a, of_a) * sum(b, b, of_b, of_b)).sqrt();
    if norm > 0.0 { sum(a, b, of_a, of_b) / norm } else { 0.0 }
}
