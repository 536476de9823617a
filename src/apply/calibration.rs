//! Mean grades of documents with about the same score.
//!
//! The sample consists of queries. Grades within a query are dependent, so a bin has a cluster-robust interval for a ratio
//! (Cochran 1977, Sampling Techniques, section 9A.1). With n documents and the mean grade g, query q adds
//! u_q = sum over its documents in the bin of (grade - g). The variance of g is m / (m - 1) sum_q u_q^2 / n^2 for m queries,
//! and the interval has the quantile of Student's t with m - 1 degrees of freedom. Documents must be judged independently
//! of the scores.

use super::paired::t_quantile;
use crate::base::Ticks;
use crate::math::{compare, sort_indices};

const BINS: usize = 10;

/// Scores within this fraction of the range above a bin's smallest score stay in that bin.
const NEAR: f64 = 1.0 / 500.0;

/// Probability that an interval misses the true value.
const TAIL: f64 = 0.05;

/// A bin of documents with about the same score.
#[derive(Debug, Clone, PartialEq)]
pub struct CalibrationBin {
    /// Number of documents.
    pub documents: usize,
    /// Number of their queries.
    pub queries: usize,
    /// Smallest and largest score.
    pub range: (f64, f64),
    /// Mean score.
    pub score: f64,
    /// Mean grade.
    pub grade: f64,
    /// 95% interval of the mean grade; `None` for one query.
    pub interval: Option<(f64, f64)>,
}

/// Ten bins of about the same size, by score. Documents of query i are `offsets[i]..offsets[i + 1]`.
pub fn calibration(offsets: &[usize], scores: &[f64], grades: &[f64]) -> Vec<CalibrationBin> {
    // 1. The bin of each document.
    let mut order: Vec<usize> = (0..scores.len()).collect();
    sort_indices(&mut order, &|a, b| compare(scores[a], scores[b]));
    let size = order.len().div_ceil(BINS);
    let score_at = |position: usize| order.get(position).map_or(0.0, |row| scores[*row]);
    let near = (score_at(order.len().saturating_sub(1)) - score_at(0)) * NEAR;
    let (mut bin_of, mut bins) = (vec![0; order.len()], Vec::new());
    let mut start = 0;
    while start < order.len() {
        let mut end = (start + size).min(order.len());
        // Equal scores are never split: the order of their rows can depend on their grades.
        let stays = |position: usize| {
            let score = score_at(position);
            score <= score_at(start) + near || compare(score, score_at(position - 1)).is_eq()
        };
        while end < order.len() && stays(end) {
            end += 1;
        }
        let rows = &order[start..end];
        let n = rows.len() as f64;
        let mean = |values: &[f64]| rows.iter().map(|row| values[*row] / n).sum::<f64>();
        rows.iter().for_each(|row| bin_of[*row] = bins.len());
        bins.push(CalibrationBin {
            documents: rows.len(),
            queries: 0,
            range: (score_at(start), score_at(end - 1)),
            score: mean(scores),
            grade: mean(grades),
            interval: None,
        });
        start = end;
    }
    // 2. Deviations of each query in each bin.
    let mut squares = vec![0.0; bins.len()];
    let mut ticks = Ticks::default();
    for query in offsets.windows(2) {
        ticks.add(query[1] - query[0] + BINS);
        let mut deviations = vec![None; bins.len()];
        for row in query[0]..query[1] {
            let bin = bin_of[row];
            *deviations[bin].get_or_insert(0.0) += grades[row] - bins[bin].grade;
        }
        for (bin, deviation) in deviations.into_iter().enumerate() {
            let Some(deviation): Option<f64> = deviation else { continue };
            bins[bin].queries += 1;
            squares[bin] += (deviation / bins[bin].documents as f64).powi(2);
        }
    }
    // 3. Intervals.
    for (bin, squares) in bins.iter_mut().zip(squares) {
        let m = bin.queries as f64;
        if m > 1.0 {
            let half = t_quantile(TAIL, m - 1.0) * (m / (m - 1.0) * squares).sqrt();
            bin.interval = Some((bin.grade - half, bin.grade + half));
        }
    }
    bins
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Random;

    /// The coverage of the true mean grade, 0, in 400 data sets of 60 queries. Half of a grade's variance
    /// is between queries, and scores within a query are close to each other.
    #[test]
    fn intervals_cover_if_grades_of_a_query_depend_on_each_other() {
        let mut random = Random::new(1);
        let offsets: Vec<usize> = (0..=60).map(|query| query * 10).collect();
        let (mut all, mut covered, mut by_documents) = (0.0, 0.0, 0.0);
        for _ in 0..400 {
            let (mut scores, mut grades) = (Vec::new(), Vec::new());
            for _ in 0..60 {
                let (level, effect) = (random.symmetric(), random.symmetric());
                for _ in 0..10 {
                    scores.push(level + 0.3 * random.symmetric());
                    grades.push(effect + random.symmetric());
                }
            }
            for bin in calibration(&offsets, &scores, &grades) {
                let (low, high) = bin.interval.expect("several queries");
                all += 1.0;
                covered += f64::from(u8::from(low <= 0.0 && 0.0 <= high));
                // Grades are uniform sums: each has the variance 2 / 3.
                let half = 1.96 * (2.0 / 3.0 / bin.documents as f64).sqrt();
                by_documents += f64::from(u8::from(bin.grade.abs() <= half));
            }
        }
        assert!((0.93..0.97).contains(&(covered / all)), "{}", covered / all);
        assert!(by_documents / all < 0.85, "{}", by_documents / all);
    }

    #[test]
    fn one_document_per_query_gives_the_usual_interval() {
        let offsets: Vec<usize> = (0..=40).collect();
        let scores: Vec<f64> = (0..40_i32).map(f64::from).collect();
        let grades: Vec<f64> = (0..40_i32).map(|row| f64::from(row * row % 7)).collect();
        let bins = calibration(&offsets, &scores, &grades);
        assert_eq!(bins.len(), 10);
        for (bin, grades) in bins.iter().zip(grades.chunks(4)) {
            let mean = grades.iter().sum::<f64>() / 4.0;
            let variance = grades.iter().map(|grade| (grade - mean).powi(2)).sum::<f64>() / 3.0;
            // The .975 quantile of t with 3 degrees of freedom.
            let half = 3.182_446_305_284_263 * (variance / 4.0).sqrt();
            let (low, high) = bin.interval.expect("4 queries");
            assert_eq!((bin.documents, bin.queries), (4, 4));
            assert!((bin.grade - mean).abs() < 1e-12);
            assert!((low - mean + half).abs() < 1e-9 && (high - mean - half).abs() < 1e-9);
        }
    }

    /// Rows 2 to 7 have one score and different grades; with 40 rows a bin has 4 rows.
    #[test]
    fn equal_scores_at_the_end_of_a_bin_stay_together_in_any_order_of_rows() {
        let offsets: Vec<usize> = (0..=40).collect();
        let rows: Vec<(f64, f64)> = (0..40_i32)
            .map(|row| (f64::from(if row < 8 { row.min(2) } else { row }), f64::from(row % 3)))
            .collect();
        let bins_of = |rows: &[(f64, f64)]| {
            let (scores, grades): (Vec<f64>, Vec<f64>) = rows.iter().copied().unzip();
            calibration(&offsets, &scores, &grades)
        };
        let found = bins_of(&rows);
        assert_eq!((found[0].documents, found[0].range, found[1].range.0), (8, (0.0, 2.0), 8.0));
        let reversed: Vec<(f64, f64)> = rows.into_iter().rev().collect();
        for (a, b) in found.iter().zip(bins_of(&reversed)) {
            assert_eq!((a.documents, a.range), (b.documents, b.range));
            assert!((a.grade - b.grade).abs() < 1e-12);
        }
    }

    #[test]
    fn one_query_has_no_interval_and_equal_scores_one_bin() {
        let bins = calibration(&[0, 3], &[1.0; 3], &[0.0, 1.0, 2.0]);
        assert_eq!(bins.len(), 1);
        assert_eq!((bins[0].documents, bins[0].queries, bins[0].interval), (3, 1, None));
        assert!((bins[0].grade - 1.0).abs() < 1e-12);
        assert!(calibration(&[0], &[], &[]).is_empty());
    }
}
