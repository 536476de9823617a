//! SVM-MAP (Yue, Finley, Radlinski & Joachims 2007): a structured hinge that bounds 1 - average precision.
//!
//! ```text
//! r relevant documents k, with a grade of at least `threshold`; m others j
//! x_kj(pi) = 1 if k ranks above j in the ranking pi, otherwise -1
//! F(pi)    = 1 / (r m) sum_k sum_j x_kj(pi) (s_k - s_j)
//! L(s)     = max_pi (1 - AP(pi)) + F(pi) - F(pi*)          pi* a ranking with the relevant documents first
//! ```
//!
//! F is largest where the documents are sorted by s, so L >= 1 - AP(sort(s)) for every order of equal scores. L is a
//! maximum of linear functions, so it is convex. If all documents are relevant or none is, L is 0.
//!
//! **The most violated ranking** (section 3.3). Relevant documents keep the order of their scores, and so do the others.
//! If other j (the j-th best, from 1) ranks below relevant k (from 1), the objective does not change. If it ranks above,
//! the objective gains
//!
//! ```text
//! t_kj = k / (r (k + j - 1) (k + j)) - 2 (s_k - s_j) / (r m)
//! ```
//!
//! So j ranks above the relevant documents from that i on for which sum_{k >= i} t_kj is largest. t_kj falls with j, so i
//! does not fall, and the choices do not disturb each other. That also halves the search: the i of the middle j splits
//! the others and the relevant documents, and each half is searched on its own. With the sort O(n log n).

use std::ops::Range;
use std::sync::Arc;

use super::RELEVANT;
use crate::base::Ticks;
use crate::cost::loss::{ListwiseLoss, LossDef, QueryLoss, Shape};
use crate::data::RowGroup;
use crate::math::{compare, dot, sort_indices};

pub const SVM_MAP: LossDef = LossDef {
    parameters: &["threshold"],
    ..LossDef::listwise("svm_map", Shape::Convex, |params| {
        Ok(Arc::new(SvmMap { threshold: params.number("threshold").unwrap_or(RELEVANT) }))
    })
};

struct SvmMap {
    /// Lowest grade of a relevant document.
    threshold: f64,
}

/// The loss of one query.
struct SvmMapQuery {
    relevant: Vec<usize>,
    others: Vec<usize>,
}

impl ListwiseLoss for SvmMap {
    fn is_informative(&self, labels: &[f64]) -> bool {
        let relevant = labels.iter().filter(|label| **label >= self.threshold).count();
        0 < relevant && relevant < labels.len()
    }

    /// All pairs misordered: 2 for the relevant documents, 2 for the others.
    fn lipschitz(&self, labels: &[f64]) -> Option<f64> {
        Some(if self.is_informative(labels) { 4.0 } else { 0.0 })
    }

    fn prepare(&self, labels: &[f64], _row_groups: &[RowGroup]) -> Box<dyn QueryLoss> {
        let (relevant, others) = (0..labels.len()).partition(|&document| labels[document] >= self.threshold);
        Box::new(SvmMapQuery { relevant, others })
    }
}

impl QueryLoss for SvmMapQuery {
    fn value_and_subgradient(&self, scores: &[f64], subgradient: &mut [f64]) -> f64 {
        subgradient.fill(0.0);
        if self.relevant.is_empty() || self.others.is_empty() {
            return 0.0;
        }
        // 1. The most violated ranking.
        let [relevant, others] = [&self.relevant, &self.others].map(|documents| {
            let mut documents = documents.clone();
            sort_indices(&mut documents, &|a, b| compare(scores[b], scores[a]));
            documents
        });
        let at = |documents: &[usize]| documents.iter().map(|&document| scores[document]).collect();
        let above = WorstRanking::new(at(&relevant), at(&others)).relevant_above();
        // 2. The linear function: each misordered pair moves F by -2 (s_k - s_j) / (r m).
        let (r, m) = (relevant.len(), others.len());
        let slope = 2.0 / (r as f64 * m as f64);
        for (&document, &above) in others.iter().zip(&above) {
            subgradient[document] = slope * (r - above) as f64;
        }
        let (mut lost, mut others_above) = (0.0, 0);
        for (k, &document) in relevant.iter().enumerate() {
            others_above += above[others_above..].iter().take_while(|&&above| above <= k).count();
            subgradient[document] = -slope * others_above as f64;
            lost += others_above as f64 / (k + 1 + others_above) as f64;
        }
        (lost / r as f64 + dot(subgradient, scores)).max(0.0)
    }
}

/// The search for the most violated ranking.
struct WorstRanking {
    /// Scores of relevant documents, decreasing.
    relevant: Vec<f64>,
    /// Scores of others, decreasing.
    others: Vec<f64>,
    /// Number of relevant documents above each of the others; found so far.
    above: Vec<usize>,
    ticks: Ticks,
}

impl WorstRanking {
    fn new(relevant: Vec<f64>, others: Vec<f64>) -> Self {
        let above = vec![0; others.len()];
        Self { relevant, others, above, ticks: Ticks::default() }
    }

    /// For each of the others the number of relevant documents above it.
    fn relevant_above(mut self) -> Vec<usize> {
        self.search(0..self.others.len(), 0, self.relevant.len());
        self.above
    }

    /// Finds the numbers of these others, which are known to be in `least..=most`.
    fn search(&mut self, others: Range<usize>, least: usize, most: usize) {
        if others.is_empty() {
            return;
        }
        // 1. The middle: the largest of the best numbers.
        let middle = others.start + others.len() / 2;
        let (mut best, mut largest, mut sum) = (most, 0.0, 0.0);
        self.ticks.add(most - least);
        for k in (least..most).rev() {
            sum += self.gain(k, middle);
            if sum > largest {
                (best, largest) = (k, sum);
            }
        }
        self.above[middle] = best;
        // 2. Both sides.
        self.search(others.start..middle, least, best);
        self.search(middle + 1..others.end, best, most);
    }

    /// t_kj of relevant document k and other j, both counted from 0.
    fn gain(&self, k: usize, j: usize) -> f64 {
        let (r, m) = (self.relevant.len() as f64, self.others.len() as f64);
        let position = (k + j + 1) as f64;
        let precision = (k + 1) as f64 / (position * (position + 1.0));
        (precision - 2.0 * (self.relevant[k] - self.others[j]) / m) / r
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Params;
    use crate::cost::metric::{Metric, MetricOptions, Ties};
    use crate::math::descending;

    /// 1 - AP of a ranking of relevant (true) and other documents.
    fn lost(ranking: &[bool]) -> f64 {
        let relevant = ranking.iter().filter(|relevant| **relevant).count() as f64;
        let mut area = 0.0;
        let precisions =
            ranking.iter().enumerate().filter(|(_, relevant)| **relevant).map(|(position, _)| {
                area += 1.0;
                area / (position + 1) as f64
            });
        1.0 - precisions.sum::<f64>() / relevant
    }

    /// F of a ranking, pair by pair.
    fn pair_score(order: &[usize], relevant: &[bool], scores: &[f64]) -> f64 {
        let (mut sum, mut pairs) = (0.0, 0.0);
        for (position, &a) in order.iter().enumerate() {
            for &b in &order[position + 1..] {
                if relevant[a] != relevant[b] {
                    sum += scores[a] - scores[b];
                    pairs += 1.0;
                }
            }
        }
        sum / pairs
    }

    /// The loss by its definition: all permutations.
    fn by_definition(relevant: &[bool], scores: &[f64]) -> f64 {
        let mut ideal: Vec<usize> = (0..relevant.len()).collect();
        ideal.sort_by_key(|&document| !relevant[document]);
        let reached = pair_score(&ideal, relevant, scores);
        let mut largest = f64::NEG_INFINITY;
        let mut order: Vec<usize> = Vec::new();
        permutations(relevant.len(), &mut order, &mut |order| {
            let ranking: Vec<bool> = order.iter().map(|&document| relevant[document]).collect();
            largest = largest.max(lost(&ranking) + pair_score(order, relevant, scores) - reached);
        });
        largest
    }

    fn permutations(documents: usize, order: &mut Vec<usize>, visit: &mut dyn FnMut(&[usize])) {
        if order.len() == documents {
            return visit(order);
        }
        for document in 0..documents {
            if !order.contains(&document) {
                order.push(document);
                permutations(documents, order, visit);
                order.pop();
            }
        }
    }

    fn prepared(labels: &[f64]) -> Box<dyn QueryLoss> {
        let crate::cost::loss::Loss::List(loss) = SVM_MAP.make(&Params::default()).unwrap() else {
            unreachable!()
        };
        loss.prepare(labels, &[])
    }

    proptest::proptest! {
        #[test]
        fn it_is_the_maximum_over_all_rankings(rows in proptest::collection::vec((0u8..3, -6i8..6), 2..7), size in 0.05f64..2.0) {
            let labels: Vec<f64> = rows.iter().map(|row| f64::from(row.0)).collect();
            let scores: Vec<f64> = rows.iter().map(|row| size * f64::from(row.1)).collect();
            let relevant: Vec<bool> = labels.iter().map(|label| *label >= 1.0).collect();
            let mut g = vec![0.0; rows.len()];
            let value = prepared(&labels).value_and_subgradient(&scores, &mut g);
            if relevant.contains(&true) && relevant.contains(&false) {
                let expected = by_definition(&relevant, &scores);
                proptest::prop_assert!((value - expected).abs() < 1e-12, "{} {}", value, expected);
            } else {
                proptest::prop_assert!(value == 0.0 && g.iter().all(|g| *g == 0.0));
            }
        }

        /// For every order of equal scores. Long lists, in which the search must split often.
        #[test]
        fn it_bounds_one_less_the_average_precision(rows in proptest::collection::vec((0u8..2, -20i8..20), 1..60), size in 0.001f64..1.0) {
            let labels: Vec<f64> = rows.iter().map(|row| f64::from(row.0)).collect();
            let scores: Vec<f64> = rows.iter().map(|row| size * f64::from(row.1)).collect();
            let mut g = vec![0.0; rows.len()];
            let loss = prepared(&labels);
            let value = loss.value_and_subgradient(&scores, &mut g);
            let options = MetricOptions { ties: Ties::Worst, ..MetricOptions::default() };
            let metric = Metric::parse("map").unwrap().with_options(options).unwrap();
            let lost = 1.0 - metric.value(&labels, &scores).unwrap_or(1.0);
            proptest::prop_assert!(value >= lost - 1e-12, "{} {}", value, lost);
            // The choice of each document on its own, without the search.
            let relevant: Vec<f64> = descending(&scores).into_iter().filter(|i| labels[*i] >= 1.0).map(|i| scores[i]).collect();
            let others: Vec<f64> = descending(&scores).into_iter().filter(|i| labels[*i] < 1.0).map(|i| scores[i]).collect();
            let search = WorstRanking::new(relevant.clone(), others.clone());
            let alone = |j: usize| {
                let mut sums = vec![0.0];
                (0..relevant.len()).rev().for_each(|k| sums.push(sums[sums.len() - 1] + search.gain(k, j)));
                sums.into_iter().fold(0.0, f64::max)
            };
            let sum: f64 = (0..others.len()).map(alone).sum();
            proptest::prop_assert!(relevant.is_empty() || (value - sum).abs() < 1e-10, "{} {}", value, sum);
        }
    }

    #[test]
    fn a_threshold_decides_what_is_relevant() {
        let options = serde_json::json!({ "threshold": 2 });
        let crate::cost::loss::Loss::List(loss) =
            SVM_MAP.make(&options.as_object().unwrap().clone().into()).unwrap()
        else {
            unreachable!()
        };
        assert!(!loss.is_informative(&[1.0, 0.0, 1.5]) && loss.is_informative(&[2.0, 1.0]));
        let mut g = [0.0; 2];
        // Equal scores: the other document ranks above, AP is 1/2.
        let value = loss.prepare(&[2.0, 1.0], &[]).value_and_subgradient(&[0.0; 2], &mut g);
        assert!((value - 0.5).abs() < 1e-15 && (g[0] + 2.0).abs() < 1e-15 && (g[1] - 2.0).abs() < 1e-15);
    }
}
