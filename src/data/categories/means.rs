//! The mean relevance of a category value, as an additional feature (rule 2.23). It helps if there are too many values for
//! separate features, and it helps trees, which need a split per separate feature.
//!
//! ```text
//! mean(v) = sum over rows with the value v of (relevance - mean relevance of the query) / (rows + SMOOTHING)
//! ```
//!
//! In training, the rows of a query get means over queries in other folds, never over their own query. A hash of the id
//! gives the fold. The order of summation does not depend on the order of the rows. If rows are held out, means are
//! recomputed from the others ([`means_without`]).
//!
//! The feature exists if means predict relevance: with g(q) the sum over the rows of query q of (relevance - its mean in q)
//! times the mean of the value in other folds,
//!
//! ```text
//! sum_q g(q) >= T * sqrt(2 * sum_q g(q)^2)
//! ```
//!
//! Two rows with the same value in different queries are each part of the other's mean. So terms are correlated, and
//! the variance is twice the variance of independent terms.

use serde::{Deserialize, Serialize};

use super::super::category_limits::{LONGEST_VALUE, MOST_DISTINCT};
use crate::base::Ticks;
use crate::data::Id;
use crate::math::{sort_ascending, sort_items};

/// Rows of average relevance added to each mean (shrinkage).
const SMOOTHING: f64 = 5.0;
/// Folds of queries.
const FOLDS: usize = 5;
/// Fewest queries of a training with means.
pub(super) const FEWEST_QUERIES: usize = 2 * FOLDS;
/// Fewest rows of a value whose mean the model keeps. A single training row has no other rows to average.
pub(super) const FEWEST_ROWS: u32 = 2;
/// Seed of the hash of queries.
const SEED: u64 = 37;
/// The code of a text that is not a value.
pub(super) const NO_VALUE: u32 = u32::MAX - 1;
/// T: how many standard errors above 0 the gains of means must be.
const T: f64 = 2.0;

/// The rows of value columns.
#[derive(Debug, Clone, Copy)]
pub struct RowsOfCodes<'a> {
    /// Query index of each row.
    pub queries: &'a [usize],
    pub query_ids: &'a [Id],
    /// Document index of each row; `None` without ids.
    pub documents: Option<&'a [usize]>,
    /// Relevance of each row; may be empty.
    pub relevance: &'a [f64],
}

/// The means of values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[expect(clippy::struct_field_names, reason = "values have means, and NULL has one")]
pub struct Means {
    /// The values, sorted by their bytes.
    values: Vec<String>,
    /// One for each value.
    means: Vec<f64>,
    /// The mean of NULL.
    null: f64,
}

impl Means {
    /// The mean of a value, 0 if it is unknown. `None` is NULL.
    pub fn of(&self, value: Option<&str>) -> f64 {
        self.find(value).unwrap_or(0.0)
    }

    /// The mean of a known value.
    pub(super) fn find(&self, value: Option<&str>) -> Option<f64> {
        let Some(value) = value else { return Some(self.null) };
        let index = self.values.binary_search_by(|known| known.as_str().cmp(value));
        index.ok().map(|at| self.means[at])
    }

    /// The sorted values with their means.
    pub fn entries(&self) -> impl Iterator<Item = (&String, f64)> {
        self.values.iter().zip(self.means.iter().copied())
    }

    /// Whether means decoded from bytes are valid.
    pub(super) fn is_valid(&self) -> bool {
        self.values.len() == self.means.len()
            && self.values.len() <= MOST_DISTINCT
            && self.values.iter().all(|value| value.len() <= LONGEST_VALUE)
            && self.values.is_sorted_by(|a, b| a < b)
            && self.null.is_finite()
            && self.means.iter().all(|mean| mean.is_finite())
    }

    /// The means over all rows; `None` if they do not predict relevance. `codes`: the number of each row's value, below
    /// `texts`; `texts` for NULL; [`NO_VALUE`] for texts that are not values.
    pub(super) fn learn(codes: Vec<u32>, texts: &[&str], rows: RowsOfCodes<'_>) -> Option<LearnedMeans> {
        let sums = MeanSums::new(&codes, texts.len() + 1, rows);
        let of_rows = sums.of_other_folds(&codes, rows);
        if !sums.predict_relevance(&of_rows, rows) {
            return None;
        }
        let kept = (0..texts.len()).filter(|value| sums.rows(*value) >= FEWEST_ROWS);
        let mut kept: Vec<(&str, f64)> = kept.map(|value| (texts[value], sums.mean(value, None))).collect();
        sort_items(&mut kept, |a, b| a.0.cmp(b.0));
        let null = sums.mean(texts.len(), None);
        let (values, means) = kept.into_iter().map(|(value, mean)| (value.to_owned(), mean)).unzip();
        Some(LearnedMeans { means: Self { values, means, null }, of_rows, codes })
    }
}

/// Means, and per-row data from learning them.
pub(super) struct LearnedMeans {
    pub means: Means,
    /// For each row, the mean of its value in other folds.
    pub of_rows: Vec<f64>,
    /// For each row the number of its value.
    pub codes: Vec<u32>,
}

/// The mean relevance of each query.
fn means_of_queries(rows: RowsOfCodes<'_>) -> Vec<f64> {
    let (mut of_query, mut ticks) = (vec![Vec::new(); rows.query_ids.len()], Ticks::default());
    for (query, relevance) in rows.queries.iter().zip(rows.relevance) {
        ticks.add(8);
        of_query[*query].push(*relevance);
    }
    let mean = |values: Vec<f64>| {
        let n = values.len() as f64;
        sum(values.into_iter().map(|value| value / n).collect())
    };
    of_query.into_iter().map(mean).collect()
}

/// The sum of values, in an order that does not depend on the order of the rows.
fn sum(mut values: Vec<f64>) -> f64 {
    sort_ascending(&mut values);
    values.iter().sum()
}

/// Sums of relevance by value and fold.
pub(super) struct MeanSums {
    /// For each value and fold, the number of rows, and the sum of relevance minus the query mean.
    sums: Vec<[(u32, f64); FOLDS]>,
    /// The fold of each query.
    pub(super) folds: Vec<usize>,
    /// The mean relevance of each query.
    relevance: Vec<f64>,
}

impl MeanSums {
    /// `values`: the number of codes of values.
    pub(super) fn new(codes: &[u32], values: usize, rows: RowsOfCodes<'_>) -> Self {
        let fold = |id: &Id| (id.xxh64(SEED) % FOLDS as u64) as usize;
        let folds: Vec<usize> = rows.query_ids.iter().map(fold).collect();
        let (means, mut ticks) = (means_of_queries(rows), Ticks::default());
        // Sums in the order of values, folds and relevance.
        let row = |((code, query), relevance): ((&u32, &usize), &f64)| {
            (*code, folds[*query], relevance - means[*query])
        };
        let all = codes.iter().zip(rows.queries).zip(rows.relevance).map(row);
        let mut sorted: Vec<(u32, usize, f64)> = all.filter(|(code, ..)| (*code as usize) < values).collect();
        sort_items(&mut sorted, |a, b| (a.0, a.1).cmp(&(b.0, b.1)).then_with(|| a.2.total_cmp(&b.2)));
        let mut sums = vec![[(0, 0.0); FOLDS]; values];
        for (code, fold, relevance) in sorted {
            ticks.add(8);
            let (rows, sum) = &mut sums[code as usize][fold];
            (*rows, *sum) = (*rows + 1, *sum + relevance);
        }
        Self { sums, folds, relevance: means }
    }

    pub(super) fn rows(&self, value: usize) -> u32 {
        self.sums[value].iter().map(|(rows, _)| rows).sum()
    }

    /// The number of the value with this code, if it is one.
    pub(super) fn value(&self, code: u32) -> Option<usize> {
        Some(code as usize).filter(|value| *value < self.sums.len())
    }

    /// Whether the means of the rows' values predict relevance.
    fn predict_relevance(&self, means: &[f64], rows: RowsOfCodes<'_>) -> bool {
        let (mut of_queries, mut ticks) = (vec![Vec::new(); self.relevance.len()], Ticks::default());
        for ((query, relevance), mean) in rows.queries.iter().zip(rows.relevance).zip(means) {
            ticks.add(8);
            of_queries[*query].push((relevance - self.relevance[*query]) * mean);
        }
        let gains: Vec<f64> = of_queries.into_iter().map(sum).collect();
        let squares = sum(gains.iter().map(|gain| gain * gain).collect());
        squares > 0.0 && sum(gains) >= T * (2.0 * squares).sqrt()
    }

    /// For each row, the mean of its value over all folds but its own.
    fn of_other_folds(&self, codes: &[u32], rows: RowsOfCodes<'_>) -> Vec<f64> {
        let of_row = |(code, query): (&u32, &usize)| self.of_code(*code, Some(self.folds[*query]));
        codes.iter().zip(rows.queries).map(of_row).collect()
    }

    /// The mean of the value with this code over all folds but one; 0 if it is not a value.
    fn of_code(&self, code: u32, without: Option<usize>) -> f64 {
        self.value(code).map_or(0.0, |value| self.mean(value, without))
    }

    /// The mean of a value over all folds but one.
    pub(super) fn mean(&self, value: usize, without: Option<usize>) -> f64 {
        let (mut rows, mut sum) = (SMOOTHING, 0.0);
        for (fold, (more, added)) in self.sums[value].iter().enumerate() {
            if Some(fold) != without {
                (rows, sum) = (rows + f64::from(*more), sum + added);
            }
        }
        sum / rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Categories, Category, Dataset, Matrix, means_without};

    const TEXTS: [&str; 4] = ["a", "b", "c", "d"];

    /// 40 queries of 4 rows: the value 0 has relevance 1, the others 0; row 7 is NULL, row 11 a long text.
    fn data() -> (Vec<u32>, Vec<usize>, Vec<f64>, Vec<Id>) {
        let mut codes: Vec<u32> = (0..160).map(|row| row % 4).collect();
        (codes[7], codes[11]) = (4, NO_VALUE);
        let relevance = (0..160).map(|row| f64::from(row % 4 == 0)).collect();
        (codes, (0..160).map(|row| row / 4).collect(), relevance, (0..40).map(Id::Integer).collect())
    }

    fn learned(codes: &[u32], queries: &[usize], query_ids: &[Id], relevance: &[f64]) -> (Means, Vec<f64>) {
        let rows = RowsOfCodes { queries, query_ids, documents: None, relevance };
        let found = Means::learn(codes.to_vec(), &TEXTS, rows).unwrap();
        (found.means, found.of_rows)
    }

    #[test]
    fn a_query_has_no_part_in_its_own_means_and_the_order_of_rows_does_not_matter() {
        let (codes, queries, relevance, ids) = data();
        let learn = |relevance: &[f64], order: &[usize]| {
            let codes: Vec<u32> = order.iter().map(|row| codes[*row]).collect();
            let queries: Vec<usize> = order.iter().map(|row| queries[*row]).collect();
            let relevance: Vec<f64> = order.iter().map(|row| relevance[*row]).collect();
            learned(&codes, &queries, &ids, &relevance)
        };
        let in_order: Vec<usize> = (0..160).collect();
        let (means, of_rows) = learn(&relevance, &in_order);
        assert!((means.of(Some("a")) - 40.0 * 0.75 / 45.0).abs() < 1e-12, "{means:?}");
        assert!(means.of(Some("b")) < 0.0 && means.of(Some("new")).abs() <= 0.0 && means.null < 0.0);
        assert!(of_rows[0] > 0.5 && of_rows[7].abs() <= 0.0 && of_rows[11].abs() <= 0.0);
        // Changing the grades of a query only changes means of other queries.
        let mut other = relevance.clone();
        other[20..24].copy_from_slice(&[0.0, 3.0, 3.0, 3.0]);
        let (changed, of_changed) = learn(&other, &in_order);
        assert!(changed != means && of_changed != of_rows);
        assert!(of_rows[20..24].iter().zip(&of_changed[20..24]).all(|(a, b)| a.to_bits() == b.to_bits()));
        // In a different row order.
        let mixed: Vec<usize> = (0..160).map(|row| row * 77 % 160).collect();
        let (same, of_mixed) = learn(&relevance, &mixed);
        assert!(same == means);
        assert!(mixed.iter().zip(&of_mixed).all(|(row, mean)| mean.to_bits() == of_rows[*row].to_bits()));
    }

    /// 200 columns of values at random: few have means. With independent terms and two standard errors, 5 would.
    #[test]
    fn values_at_random_have_no_means() {
        let (_, queries, relevance, ids) = data();
        let mut random = crate::math::Random::new(3);
        let mut has_means = || {
            let codes: Vec<u32> = (0..160).map(|_| random.below(4) as u32).collect();
            let rows =
                RowsOfCodes { queries: &queries, query_ids: &ids, documents: None, relevance: &relevance };
            Means::learn(codes, &TEXTS, rows).is_some()
        };
        let found = (0..200).filter(|_| has_means()).count();
        assert!(found <= 10, "{found}");
    }

    #[test]
    fn means_without_rows_equal_means_of_the_other_rows() {
        let (codes, queries, relevance, ids) = data();
        let (means, _) = learned(&codes, &queries, &ids, &relevance);
        let category = Category { name: "x".to_owned(), values: Vec::new(), means: Some(means) };
        let categories: Categories = vec![category].into();
        let data = Dataset {
            names: categories.feature_names().collect(),
            features: Matrix::F64(ndarray::Array2::zeros((160, 3))),
            categories,
            mean_codes: vec![codes.clone()],
            offsets: (0..=40).map(|query| 4 * query).collect(),
            query_ids: ids.clone(),
            doc_ids: (0..160).map(Id::Integer).collect(),
            relevance: relevance.clone(),
            ..Dataset::default()
        };
        // With all rows of a value held out but one: a model of the remaining rows would not keep its mean.
        let held_out: Vec<bool> = (0..160).map(|row| codes[row] == 1 && row > 1).collect();
        let [(_, found)] = &means_without(&data, &held_out)[..] else { panic!("one category") };
        assert!((0..160).filter(|row| held_out[*row]).all(|row| found[row].abs() <= 0.0));
        // Without the last ten queries, and without the first document of each query.
        for is_held in
            [&(|row: usize| row >= 120) as &dyn Fn(usize) -> bool, &|row: usize| row.is_multiple_of(4)]
        {
            let held_out: Vec<bool> = (0..160).map(is_held).collect();
            let [(feature, found)] = &means_without(&data, &held_out)[..] else { panic!("one category") };
            assert_eq!(*feature, 2);
            let kept: Vec<usize> = (0..160).filter(|row| !held_out[*row]).collect();
            let of = |values: &[f64]| -> Vec<f64> { kept.iter().map(|row| values[*row]).collect() };
            let kept_codes: Vec<u32> = kept.iter().map(|row| codes[*row]).collect();
            let kept_queries: Vec<usize> = kept.iter().map(|row| queries[*row]).collect();
            let rows = RowsOfCodes {
                queries: &kept_queries,
                query_ids: &ids,
                documents: None,
                relevance: &of(&relevance),
            };
            let sums = MeanSums::new(&kept_codes, 5, rows);
            assert_eq!(of(found), sums.of_other_folds(&kept_codes, rows));
            for row in (0..160).filter(|row| held_out[*row]) {
                assert_eq!(found[row].to_bits(), sums.of_code(codes[row], None).to_bits());
            }
        }
        assert!(means_without(&Dataset { mean_codes: Vec::new(), ..data }, &[false; 160]).is_empty());
    }
}
