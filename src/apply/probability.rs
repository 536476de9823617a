//! Reliability of predicted probabilities on judged documents.

use super::calibration::calibration;
use super::paired::t_quantile;
use crate::cost::metric::StandardError;

/// Probability that an interval misses the true value.
const TAIL: f64 = 0.05;

/// Reliability estimates from judged documents.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reliability {
    /// The mean squared difference between probability and relevance (1 or 0).
    pub brier: f64,
    /// The mean difference between the probability and the share of relevant documents, over ten groups of documents
    /// with similar probabilities.
    pub calibration_error: f64,
    /// The share of documents with at least the minimum probability.
    pub kept: f64,
    /// The mean probability of these documents, and the share of relevant ones.
    pub precision: Option<[f64; 2]>,
    /// The 95% interval of that share, with the queries as the sample.
    pub interval: Option<[f64; 2]>,
}

impl Reliability {
    /// The reliability over queries: query i has the documents `offsets[i]..offsets[i + 1]`; at least one document. `relevant`: 1 or 0.
    pub fn of(offsets: &[usize], probabilities: &[f64], relevant: &[f64], least: f64) -> Self {
        let n = probabilities.len() as f64;
        let squares = probabilities.iter().zip(relevant).map(|(p, y)| (p - y) * (p - y));
        let bins = calibration(offsets, probabilities, relevant);
        let errors = bins.iter().map(|bin| bin.documents as f64 * (bin.score - bin.grade).abs());
        // Each query's sums over the kept documents.
        let of_query = |query: &[usize]| {
            let rows = (query[0]..query[1]).filter(|row| probabilities[*row] >= least);
            rows.fold([0.0; 3], |[count, p, y], row| [count + 1.0, p + probabilities[row], y + relevant[row]])
        };
        let sums: Vec<[f64; 3]> = offsets.windows(2).map(of_query).filter(|sums| sums[0] > 0.0).collect();
        let total =
            sums.iter().fold([0.0; 3], |total, sums| [0, 1, 2].map(|index| total[index] + sums[index]));
        let precision = (total[0] > 0.0).then(|| [total[1] / total[0], total[2] / total[0]]);
        let shares: Vec<(f64, f64)> = sums.iter().map(|sums| (sums[2] / sums[0], sums[0])).collect();
        let interval = StandardError::of(&shares).zip(precision).map(|(error, [_, share])| {
            let half = t_quantile(TAIL, error.queries as f64 - 1.0) * error.error;
            [(share - half).max(0.0), (share + half).min(1.0)]
        });
        Self {
            brier: squares.sum::<f64>() / n,
            calibration_error: errors.sum::<f64>() / n,
            kept: total[0] / n,
            precision,
            interval,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Random;

    #[test]
    fn four_documents_by_hand() {
        let found = Reliability::of(&[0, 2, 4], &[0.8, 0.2, 0.6, 0.4], &[1.0, 0.0, 0.0, 1.0], 0.4);
        assert!((found.brier - (0.04 + 0.04 + 0.36 + 0.36) / 4.0).abs() < 1e-15);
        // Each document is a bin.
        assert!((found.calibration_error - (0.2 + 0.2 + 0.6 + 0.6) / 4.0).abs() < 1e-15);
        assert!((found.kept - 0.75).abs() < 1e-15);
        let [promised, share] = found.precision.unwrap();
        assert!((promised - 0.6).abs() < 1e-15 && (share - 2.0 / 3.0).abs() < 1e-15);
        let nothing = Reliability::of(&[0, 2], &[0.3, 0.2], &[1.0, 0.0], 0.9);
        assert_eq!((nothing.kept, nothing.precision, nothing.interval), (0.0, None, None));
    }

    /// The share of intervals that cover the true share, .5, in 400 data sets whose queries have different shares.
    #[test]
    fn intervals_cover_if_documents_of_a_query_depend_on_each_other() {
        let mut random = Random::new(3);
        let offsets: Vec<usize> = (0..=60).map(|query| query * 10).collect();
        let mut covered = 0;
        for _ in 0..400 {
            let of_query = |_| {
                let share = f64::midpoint(random.symmetric(), 1.0);
                [(); 10].map(|()| f64::from(u8::from(f64::midpoint(random.symmetric(), 1.0) < share)))
            };
            let relevant: Vec<f64> = (0..60).flat_map(of_query).collect();
            let [low, high] = Reliability::of(&offsets, &[0.5; 600], &relevant, 0.5).interval.unwrap();
            covered += usize::from(low <= 0.5 && 0.5 <= high);
        }
        assert!((368..=392).contains(&covered), "{covered} of 400");
    }
}
