//! Metrics as plain functions over the documents of one query, with the default options.
//!
//! Arguments: the relevance grade and the score of each document (same length, finite numbers), and the number k of
//! documents from the top that count (`10`, or `None` for all). Higher scores rank first. A tie gives the exact mean
//! over its orders. The result is `None` where the metric is undefined. [`Metric`] has other options.

use super::MetricDef;
use super::binary::{MAP, MRR, PRECISION, RECALL, WTA};
use super::err::ERR;
use super::named::{Judgments, Metric};
use super::ndcg::{DCG, NDCG};
use super::options::MetricOptions;
use super::pairs::{KENDALL_TAU, MRE};
use super::subtopics::{ALPHA_NDCG, SUBTOPIC_RECALL, Subtopics};

#[expect(clippy::expect_used, reason = "documented panic")]
fn value<L: Judgments + ?Sized>(
    def: &'static MetricDef<L>,
    judgments: &L,
    scores: &[f64],
    k: impl Into<Option<usize>>,
) -> Option<f64> {
    let metric = Metric::new(def, k.into(), MetricOptions::default()).expect("k of 1 or more");
    metric.value(judgments, scores)
}

/// Normalized discounted cumulative gain (Jarvelin and Kekalainen 2002; gain 2^y - 1 of Burges et al. 2005), from 0 to
/// 1. Undefined if no grade is above 0.
///
/// ```
/// use sqlite_ltr::metric::ndcg;
///
/// let (relevance, scores) = ([2.0, 0.0, 1.0], [0.5, 0.9, 0.7]);
/// assert!((ndcg(&relevance, &scores, 10).unwrap() - 0.586_883).abs() < 1e-6);
/// assert_eq!(ndcg(&relevance, &relevance, None), Some(1.0));
/// assert_eq!(ndcg(&[0.0, 0.0], &[1.0, 2.0], None), None);
/// ```
///
/// # Panics
/// If relevance and scores differ in length; if k is 0.
pub fn ndcg(relevance: &[f64], scores: &[f64], k: impl Into<Option<usize>>) -> Option<f64> {
    value(&NDCG, relevance, scores, k)
}

/// Discounted cumulative gain: the sum of (2^y - 1) / log2(1 + rank) (Burges et al. 2005).
///
/// ```
/// use sqlite_ltr::metric::dcg;
///
/// assert_eq!(dcg(&[2.0, 0.0], &[0.9, 0.1], None), Some(3.0));
/// assert_eq!(dcg(&[2.0, 0.0], &[0.1, 0.9], 1), Some(0.0));
/// ```
///
/// # Panics
/// If relevance and scores differ in length; if k is 0.
pub fn dcg(relevance: &[f64], scores: &[f64], k: impl Into<Option<usize>>) -> Option<f64> {
    value(&DCG, relevance, scores, k)
}

/// Expected reciprocal rank at which a user stops (Chapelle et al. 2009), from 0 to 1. The highest grade of the query
/// is taken as the largest of the scale; set [`MetricOptions::max_grade`] to compare queries.
///
/// ```
/// use sqlite_ltr::metric::err;
///
/// assert_eq!(err(&[1.0, 0.0], &[0.9, 0.1], None), Some(0.5));
/// assert_eq!(err(&[1.0, 0.0], &[0.1, 0.9], None), Some(0.25));
/// ```
///
/// # Panics
/// If relevance and scores differ in length; if k is 0.
pub fn err(relevance: &[f64], scores: &[f64], k: impl Into<Option<usize>>) -> Option<f64> {
    value(&ERR, relevance, scores, k)
}

/// Average precision, whose mean over queries is MAP (Buckley and Voorhees 2000). Grades of 1 and more are relevant.
/// Undefined if no document is relevant.
///
/// ```
/// use sqlite_ltr::metric::average_precision;
///
/// let precision = average_precision(&[1.0, 0.0, 1.0], &[3.0, 2.0, 1.0], None).unwrap();
/// assert!((precision - (1.0 + 2.0 / 3.0) / 2.0).abs() < 1e-12);
/// ```
///
/// # Panics
/// If relevance and scores differ in length; if k is 0.
pub fn average_precision(relevance: &[f64], scores: &[f64], k: impl Into<Option<usize>>) -> Option<f64> {
    value(&MAP, relevance, scores, k)
}

/// Reciprocal rank of the first relevant document, whose mean over queries is MRR (Voorhees 1999). Grades of 1 and more
/// are relevant. Undefined if no document is relevant.
///
/// ```
/// use sqlite_ltr::metric::reciprocal_rank;
///
/// assert_eq!(reciprocal_rank(&[0.0, 1.0, 1.0], &[3.0, 2.0, 1.0], None), Some(0.5));
/// assert_eq!(reciprocal_rank(&[0.0, 1.0, 1.0], &[3.0, 2.0, 1.0], 1), Some(0.0));
/// ```
///
/// # Panics
/// If relevance and scores differ in length; if k is 0.
pub fn reciprocal_rank(relevance: &[f64], scores: &[f64], k: impl Into<Option<usize>>) -> Option<f64> {
    value(&MRR, relevance, scores, k)
}

/// Fraction of the first k documents that is relevant (grade 1 or more; Kent et al. 1955). Undefined if no document is
/// relevant.
///
/// ```
/// use sqlite_ltr::metric::precision;
///
/// assert_eq!(precision(&[1.0, 0.0, 0.0], &[3.0, 2.0, 1.0], 2), Some(0.5));
/// ```
///
/// # Panics
/// If relevance and scores differ in length; if k is 0.
pub fn precision(relevance: &[f64], scores: &[f64], k: impl Into<Option<usize>>) -> Option<f64> {
    value(&PRECISION, relevance, scores, k)
}

/// Fraction of the relevant documents (grade 1 or more) among the first k (Kent et al. 1955). Undefined if no document
/// is relevant.
///
/// ```
/// use sqlite_ltr::metric::recall;
///
/// assert_eq!(recall(&[1.0, 0.0, 1.0], &[3.0, 2.0, 1.0], 2), Some(0.5));
/// ```
///
/// # Panics
/// If relevance and scores differ in length; if k is 0.
pub fn recall(relevance: &[f64], scores: &[f64], k: impl Into<Option<usize>>) -> Option<f64> {
    value(&RECALL, relevance, scores, k)
}

/// 1 if the first document is relevant (grade 1 or more), else 0; `wta` ("winner takes all") in SQL. Undefined if no
/// document is relevant.
///
/// ```
/// use sqlite_ltr::metric::success;
///
/// assert_eq!(success(&[1.0, 0.0], &[0.9, 0.1]), Some(1.0));
/// // A tie: relevant first in one of two orders.
/// assert_eq!(success(&[1.0, 0.0], &[0.5, 0.5]), Some(0.5));
/// ```
///
/// # Panics
/// If relevance and scores differ in length.
pub fn success(relevance: &[f64], scores: &[f64]) -> Option<f64> {
    value(&WTA, relevance, scores, None)
}

/// Rank correlation tau-b of relevance and score (Kendall 1945), from -1 to 1. Undefined if all grades or all scores
/// are equal.
///
/// ```
/// use sqlite_ltr::metric::kendall_tau;
///
/// assert_eq!(kendall_tau(&[2.0, 1.0, 0.0], &[0.1, 0.2, 0.3]), Some(-1.0));
/// ```
///
/// # Panics
/// If relevance and scores differ in length.
pub fn kendall_tau(relevance: &[f64], scores: &[f64]) -> Option<f64> {
    value(&KENDALL_TAU, relevance, scores, None)
}

/// Fraction of all pairs of documents that are in the wrong order, lower is better (Dai and Wang 2019); `mre` in SQL.
/// Undefined for fewer than two documents.
///
/// ```
/// use sqlite_ltr::metric::misranking_error;
///
/// let error = misranking_error(&[2.0, 1.0, 0.0], &[0.9, 0.1, 0.5]).unwrap();
/// assert!((error - 1.0 / 3.0).abs() < 1e-12);
/// ```
///
/// # Panics
/// If relevance and scores differ in length.
pub fn misranking_error(relevance: &[f64], scores: &[f64]) -> Option<f64> {
    value(&MRE, relevance, scores, None)
}

/// Alpha-NDCG with alpha 0.5: discounted gain in which a repeated subtopic counts half (Clarke et al. 2008), from 0 to
/// 1. Takes the subtopics of each document. Undefined if no document has one.
///
/// ```
/// use sqlite_ltr::metric::alpha_ndcg;
///
/// let subtopics = [vec!["animal"], vec!["animal"], vec!["car"]];
/// let diverse = alpha_ndcg(&subtopics, &[3.0, 1.0, 2.0], None);
/// assert_eq!(diverse, Some(1.0));
/// assert!(alpha_ndcg(&subtopics, &[3.0, 2.0, 1.0], None) < diverse);
/// ```
///
/// # Panics
/// If subtopics and scores differ in length; if k is 0.
pub fn alpha_ndcg<T: Ord>(subtopics: &[Vec<T>], scores: &[f64], k: impl Into<Option<usize>>) -> Option<f64> {
    value(&ALPHA_NDCG, &Subtopics::new(subtopics), scores, k)
}

/// Fraction of the query's subtopics that the first k documents cover (Zhai, Cohen, Lafferty 2003). Undefined if no
/// document has a subtopic.
///
/// ```
/// use sqlite_ltr::metric::subtopic_recall;
///
/// let subtopics = [vec!["animal"], vec!["animal"], vec!["car"]];
/// assert_eq!(subtopic_recall(&subtopics, &[3.0, 2.0, 1.0], 2), Some(0.5));
/// ```
///
/// # Panics
/// If subtopics and scores differ in length; if k is 0.
pub fn subtopic_recall<T: Ord>(
    subtopics: &[Vec<T>],
    scores: &[f64],
    k: impl Into<Option<usize>>,
) -> Option<f64> {
    value(&SUBTOPIC_RECALL, &Subtopics::new(subtopics), scores, k)
}
