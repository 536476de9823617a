//! The mean relevance of the values of a category, as one more feature (rule 2.23). It serves values that are too many for
//! features of their own, and trees, which need a split for each of those.
//!
//! ```text
//! mean(v) = sum over rows with the value v of (relevance - mean relevance of the query) / (rows + SMOOTHING)
//! ```
//!
//! In training the rows of a query get means of the queries in other folds, never of their own query: folds are those of a hash of
//! the id. Sums are taken in an order that does not depend on that of the rows.

use serde::{Deserialize, Serialize};

use super::{LONGEST_VALUE, MOST_DISTINCT, RowsOfCodes};
use crate::base::Ticks;
use crate::math::{sort_ascending, sort_items};

/// Rows of relevance 0 that each mean has besides its own.
const SMOOTHING: f64 = 5.0;
/// Folds of queries.
const FOLDS: usize = 5;
/// Fewest queries of a training with means.
pub(super) const FEWEST_QUERIES: usize = 2 * FOLDS;
/// Fewest rows of a value whose mean the model keeps. One row in training has no others.
const FEWEST_ROWS: u32 = 2;
/// Seed of the hash of queries.
const SEED: u64 = 37;

/// The means of values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[expect(clippy::struct_field_names, reason = "values have means, and NULL has one")]
pub struct Means {
    /// The values, ascending by their bytes.
    values: Vec<String>,
    /// One for each value.
    means: Vec<f64>,
    /// That of NULL.
    null: f64,
}

impl Means {
    /// The mean of a value, 0 if it is unknown. `None` is NULL.
    pub fn of(&self, value: Option<&str>) -> f64 {
        self.find(value).unwrap_or(0.0)
    }

    /// The mean of a value that is known.
    pub(super) fn find(&self, value: Option<&str>) -> Option<f64> {
        let Some(value) = value else { return Some(self.null) };
        let found = self.values.binary_search_by(|known| known.as_str().cmp(value));
        found.ok().map(|at| self.means[at])
    }

    /// The values with their means, ascending.
    pub fn entries(&self) -> impl Iterator<Item = (&String, f64)> {
        self.values.iter().zip(self.means.iter().copied())
    }

    /// Whether values that were read from bytes are possible.
    pub(super) fn is_valid(&self) -> bool {
        self.values.len() == self.means.len()
            && self.values.len() <= MOST_DISTINCT
            && self.values.iter().all(|value| value.len() <= LONGEST_VALUE)
            && self.values.is_sorted_by(|a, b| a < b)
            && self.null.is_finite()
            && self.means.iter().all(|mean| mean.is_finite())
    }

    /// The means of all rows, and for each row that of the other folds. `codes`: the number of the value of each row, below
    /// `texts`; that number for NULL; larger for texts that are no value.
    pub(super) fn learn(codes: &[u32], texts: &[&str], rows: RowsOfCodes<'_>) -> (Self, Vec<f64>) {
        let folds: Vec<usize> =
            rows.query_ids.iter().map(|id| (id.xxh64(SEED) % FOLDS as u64) as usize).collect();
        let sums = MeanSums::new(codes, texts.len() + 1, &folds, rows);
        let kept = (0..texts.len()).filter(|value| sums.rows(*value) >= FEWEST_ROWS);
        let mut kept: Vec<(&str, f64)> = kept.map(|value| (texts[value], sums.mean(value, None))).collect();
        sort_items(&mut kept, |a, b| a.0.cmp(b.0));
        let of_rows = codes.iter().zip(rows.queries).map(|(code, query)| {
            let is_value = *code as usize <= texts.len();
            if is_value { sums.mean(*code as usize, Some(folds[*query])) } else { 0.0 }
        });
        let of_rows = of_rows.collect();
        let null = sums.mean(texts.len(), None);
        let (values, means) = kept.into_iter().map(|(value, mean)| (value.to_owned(), mean)).unzip();
        (Self { values, means, null }, of_rows)
    }
}

/// For each value and fold the number of rows, and the sum of relevance less that of the query.
struct MeanSums(Vec<[(u32, f64); FOLDS]>);

impl MeanSums {
    fn new(codes: &[u32], values: usize, folds: &[usize], rows: RowsOfCodes<'_>) -> Self {
        // 1. Means of queries.
        let mut ticks = Ticks::default();
        let mut of_query = vec![Vec::new(); rows.query_ids.len()];
        for (query, relevance) in rows.queries.iter().zip(rows.relevance) {
            ticks.add(8);
            of_query[*query].push(*relevance);
        }
        let mean = |mut values: Vec<f64>| {
            sort_ascending(&mut values);
            values.iter().map(|value| value / values.len() as f64).sum::<f64>()
        };
        let means: Vec<f64> = of_query.into_iter().map(mean).collect();
        // 2. Sums in the order of values, folds and relevance.
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
        Self(sums)
    }

    fn rows(&self, value: usize) -> u32 {
        self.0[value].iter().map(|(rows, _)| rows).sum()
    }

    /// The mean of a value over the folds but one.
    fn mean(&self, value: usize, without: Option<usize>) -> f64 {
        let (mut rows, mut sum) = (SMOOTHING, 0.0);
        for (fold, (more, added)) in self.0[value].iter().enumerate() {
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
    use crate::data::Id;

    /// 40 queries of 4 rows: the value 0 has relevance 1, the others 0; row 7 is NULL, row 11 a long text.
    fn data() -> (Vec<u32>, Vec<usize>, Vec<f64>, Vec<Id>) {
        let mut codes: Vec<u32> = (0..160).map(|row| row % 4).collect();
        (codes[7], codes[11]) = (4, u32::MAX - 1);
        let relevance = (0..160).map(|row| f64::from(row % 4 == 0)).collect();
        (codes, (0..160).map(|row| row / 4).collect(), relevance, (0..40).map(Id::Integer).collect())
    }

    #[test]
    fn a_query_has_no_part_in_its_own_means_and_the_order_of_rows_does_not_matter() {
        let (codes, queries, relevance, ids) = data();
        let texts = ["a", "b", "c", "d"];
        let learn = |relevance: &[f64], order: &[usize]| {
            let codes: Vec<u32> = order.iter().map(|row| codes[*row]).collect();
            let queries: Vec<usize> = order.iter().map(|row| queries[*row]).collect();
            let relevance: Vec<f64> = order.iter().map(|row| relevance[*row]).collect();
            let rows =
                RowsOfCodes { queries: &queries, query_ids: &ids, documents: None, relevance: &relevance };
            Means::learn(&codes, &texts, rows)
        };
        let in_order: Vec<usize> = (0..160).collect();
        let (means, of_rows) = learn(&relevance, &in_order);
        assert!((means.of(Some("a")) - 40.0 * 0.75 / 45.0).abs() < 1e-12, "{means:?}");
        assert!(means.of(Some("b")) < 0.0 && means.of(Some("new")).abs() <= 0.0 && means.null < 0.0);
        assert!(of_rows[0] > 0.5 && of_rows[7].abs() <= 0.0 && of_rows[11].abs() <= 0.0);
        // Other grades of a query change means of other queries only.
        let mut other = relevance.clone();
        other[20..24].copy_from_slice(&[0.0, 3.0, 3.0, 3.0]);
        let (changed, of_changed) = learn(&other, &in_order);
        assert!(changed != means && of_changed != of_rows);
        assert!(of_rows[20..24].iter().zip(&of_changed[20..24]).all(|(a, b)| a.to_bits() == b.to_bits()));
        // Another order of the rows.
        let mixed: Vec<usize> = (0..160).map(|row| row * 77 % 160).collect();
        let (same, of_mixed) = learn(&relevance, &mixed);
        assert!(same == means);
        assert!(mixed.iter().zip(&of_mixed).all(|(row, mean)| mean.to_bits() == of_rows[*row].to_bits()));
    }
}
