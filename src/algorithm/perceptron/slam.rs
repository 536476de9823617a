//! The SLAM surrogate of one query (Chaudhuri & Tewari 2014, equations (5), (6), (9), (11), (14), (31)).
//!
//! phi_v(s, R) = sum_i v_i max(0, max_{j: R_j < R_i} 1 + s_j - s_i). With i = 1, 2, ... the documents by decreasing
//! grade, m their number, r that of the relevant ones, G gains, D discounts and Z the ideal DCG:
//!
//! | measure | v_i |
//! |---|---|
//! | NDCG | (G(R_i) - G(R_m)) (D(i) - D(m)) / Z |
//! | NDCG@k | G(R_i) D(i) / Z_k for i <= k, else 0 |
//! | MAP | (m - r) / (r (m - r + i)) for i <= r, else 0; grades are 1 from the threshold on, else 0 |
//!
//! The printed (31) has discounts that are not cut at k and bounds another quantity; this is that of NDCG@k. Documents
//! of equal grade share their weights by their mean, or have them by input order.

use crate::math::order::{compare, descending};
use crate::metric::{Metric, gains_for_ratios, logarithmic};
use crate::ranker::{Active, LabelTies};

/// Grades as the measure sees them: MAP knows relevant documents and others only.
pub fn grades(measure: &Metric, labels: &[f64]) -> Vec<f64> {
    if measure.def().name != "map" {
        return labels.to_vec();
    }
    let threshold = measure.options().threshold;
    labels.iter().map(|&label| f64::from(u8::from(label >= threshold))).collect()
}

/// The weights v of documents with these grades, each at least 0, of sum at most 1.
pub fn weights(measure: &Metric, grades: &[f64], ties: LabelTies) -> Vec<f64> {
    let order = descending(grades);
    let by_place = match (measure.def().name, measure.cutoff()) {
        ("map", _) => of_map(grades),
        (_, None) => of_ndcg(&sorted_gains(measure, grades, &order)),
        (_, Some(k)) => of_ndcg_at(k, &sorted_gains(measure, grades, &order)),
    };
    let mut weights = vec![0.0; grades.len()];
    let mut start = 0;
    for tie in order.chunk_by(|&a, &b| compare(grades[a], grades[b]).is_eq()) {
        let own = &by_place[start..start + tie.len()];
        let mean = own.iter().sum::<f64>() / tie.len() as f64;
        for (&document, &weight) in tie.iter().zip(own) {
            weights[document] = if ties == LabelTies::Average { mean } else { weight };
        }
        start += tie.len();
    }
    weights
}

fn sorted_gains(measure: &Metric, grades: &[f64], order: &[usize]) -> Vec<f64> {
    let gains = gains_for_ratios(grades, measure.options().gain);
    order.iter().map(|&document| gains[document]).collect()
}

fn of_ndcg(gains: &[f64]) -> Vec<f64> {
    let last = gains.len().saturating_sub(1);
    let ideal: f64 = gains.iter().enumerate().map(|(place, gain)| gain * logarithmic(place)).sum();
    let weight =
        |(place, gain): (usize, &f64)| (gain - gains[last]) * (logarithmic(place) - logarithmic(last));
    gains.iter().enumerate().map(weight).map(|weight| share(weight, ideal)).collect()
}

fn of_ndcg_at(k: usize, gains: &[f64]) -> Vec<f64> {
    let value = |(place, gain): (usize, &f64)| if place < k { gain * logarithmic(place) } else { 0.0 };
    let values: Vec<f64> = gains.iter().enumerate().map(value).collect();
    let ideal: f64 = values.iter().sum();
    values.into_iter().map(|value| share(value, ideal)).collect()
}

fn of_map(grades: &[f64]) -> Vec<f64> {
    let relevant = grades.iter().filter(|grade| **grade > 0.0).count();
    let (r, others) = (relevant as f64, (grades.len() - relevant) as f64);
    let weight =
        |place: usize| if place < relevant { others / (r * (others + (place + 1) as f64)) } else { 0.0 };
    (0..grades.len()).map(weight).collect()
}

/// Part of a whole; 0 of nothing.
fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

/// Of each document the best scored one of a lower grade, the first of equals; none where no grade is lower.
pub fn rivals(grades: &[f64], scores: &[f64]) -> Vec<Option<usize>> {
    let mut rivals = vec![None; grades.len()];
    let mut best: Option<usize> = None;
    let order = descending(grades);
    let mut ties: Vec<&[usize]> = order.chunk_by(|&a, &b| compare(grades[a], grades[b]).is_eq()).collect();
    ties.reverse();
    for tie in ties {
        for &document in tie {
            rivals[document] = best;
        }
        for &document in tie {
            let better =
                |known: usize| compare(scores[document], scores[known]).then(known.cmp(&document)).is_gt();
            if best.is_none_or(better) {
                best = Some(document);
            }
        }
    }
    rivals
}

/// Value of the surrogate of the active documents; adds its subgradient in the scores to `slope`.
///
/// With [`Active::Margin`] documents within the margin are active, with [`Active::Misorder`] those that a rival reaches.
pub fn subgradient(
    weights: &[f64],
    rivals: &[Option<usize>],
    scores: &[f64],
    active: Active,
    slope: &mut [f64],
) -> f64 {
    let mut value = 0.0;
    for (document, rival) in rivals.iter().enumerate() {
        let Some(rival) = *rival else { continue };
        let excess = 1.0 + scores[rival] - scores[document];
        if excess > 0.0 && is_counted(document, rival, scores, active) {
            value += weights[document] * excess;
            slope[rival] += weights[document];
            slope[document] -= weights[document];
        }
    }
    value
}

/// Whether a round's surrogate has the term of a document with this rival.
pub fn is_counted(document: usize, rival: usize, scores: &[f64], active: Active) -> bool {
    active == Active::Margin || scores[rival] >= scores[document]
}
