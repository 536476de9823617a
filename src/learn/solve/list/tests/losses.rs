//! Small losses with obvious values. A pair is two documents a, b with y_a > y_b.

use crate::cost::loss::QueryLoss;

struct Pairs(Vec<(usize, usize)>);

impl Pairs {
    fn of(labels: &[f64]) -> Self {
        let all = (0..labels.len()).flat_map(|a| (0..labels.len()).map(move |b| (a, b)));
        Self(all.filter(|&(a, b)| labels[a] > labels[b]).collect())
    }

    /// max(0, max over pairs of margin + s_b - s_a); adds `sign` times a subgradient.
    fn largest(&self, scores: &[f64], margin: f64, sign: f64, subgradient: &mut [f64]) -> f64 {
        let mut largest = (0.0, None);
        for &(a, b) in &self.0 {
            let violation = margin + scores[b] - scores[a];
            if violation > largest.0 {
                largest = (violation, Some((a, b)));
            }
        }
        if let Some((a, b)) = largest.1 {
            subgradient[a] -= sign;
            subgradient[b] += sign;
        }
        sign * largest.0
    }
}

/// The largest violation: convex.
pub(super) struct Largest(Pairs);

impl Largest {
    pub(super) fn of(labels: &[f64]) -> Self {
        Self(Pairs::of(labels))
    }
}

impl QueryLoss for Largest {
    fn value_and_subgradient(&self, scores: &[f64], subgradient: &mut [f64]) -> f64 {
        subgradient.fill(0.0);
        self.0.largest(scores, 1.0, 1.0, subgradient)
    }
}

/// The largest violation with a margin less that without: a difference.
pub(super) struct Ramp(Pairs);

/// The ramp with its second term replaced by the tangent at some scores.
struct Tangent {
    first: Pairs,
    slope: Vec<f64>,
}

impl Ramp {
    pub(super) fn of(labels: &[f64]) -> Self {
        Self(Pairs::of(labels))
    }
}

impl QueryLoss for Ramp {
    fn value_and_subgradient(&self, scores: &[f64], subgradient: &mut [f64]) -> f64 {
        subgradient.fill(0.0);
        self.0.largest(scores, 1.0, 1.0, subgradient) + self.0.largest(scores, 0.0, -1.0, subgradient)
    }

    fn majorant(&self, scores: &[f64]) -> Option<Box<dyn QueryLoss>> {
        let mut slope = vec![0.0; scores.len()];
        self.0.largest(scores, 0.0, -1.0, &mut slope);
        Some(Box::new(Tangent { first: Pairs(self.0.0.clone()), slope }))
    }
}

impl QueryLoss for Tangent {
    fn value_and_subgradient(&self, scores: &[f64], subgradient: &mut [f64]) -> f64 {
        subgradient.copy_from_slice(&self.slope);
        let tangent: f64 = self.slope.iter().zip(scores).map(|(slope, score)| slope * score).sum();
        tangent + self.first.largest(scores, 1.0, 1.0, subgradient)
    }
}

/// The fraction of pairs that are swapped: a limit of sigmoids.
pub(super) struct Swapped(Pairs);

struct Sigmoids(Pairs, f64);

impl Swapped {
    pub(super) fn of(labels: &[f64]) -> Self {
        Self(Pairs::of(labels))
    }
}

impl QueryLoss for Swapped {
    fn value_and_subgradient(&self, scores: &[f64], subgradient: &mut [f64]) -> f64 {
        subgradient.fill(0.0);
        let swapped = self.0.0.iter().filter(|&&(a, b)| scores[b] >= scores[a]).count();
        swapped as f64 / self.0.0.len().max(1) as f64
    }

    fn smoothed(&self, sigma: f64) -> Option<Box<dyn QueryLoss>> {
        Some(Box::new(Sigmoids(Pairs(self.0.0.clone()), sigma)))
    }
}

impl QueryLoss for Sigmoids {
    fn value_and_subgradient(&self, scores: &[f64], subgradient: &mut [f64]) -> f64 {
        subgradient.fill(0.0);
        let weight = 1.0 / self.0.0.len().max(1) as f64;
        let mut sum = 0.0;
        for &(a, b) in &self.0.0 {
            let p = 1.0 / (1.0 + libm::exp((scores[a] - scores[b]) / self.1));
            let slope = weight * p * (1.0 - p) / self.1;
            subgradient[a] -= slope;
            subgradient[b] += slope;
            sum += weight * p;
        }
        sum
    }
}
