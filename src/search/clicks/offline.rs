//! Estimates the value of rankings from a log of another ranking, by inverse propensity scoring.
//!
//! The value of a ranking is the mean over impressions of sum_d a_d g(rank of d). a_d is the attractiveness of document d, and
//! g the gain of a rank. With the rows i of the log that have a click, their propensities p_i and n impressions:
//!
//! ```text
//! IPS   = 1/n sum_i g(rank_i) w_i                     w_i = 1 / max(p_i, clip)
//! SNIPS = sum_i g(rank_i) w_i / sum_i w_i             the mean gain of an attractive document
//! ```
//!
//! IPS has no bias if clicks follow the position-based model with these propensities, and no propensity is below clip.
//! SNIPS is a ratio of two such means. Metrics that are not sums over documents, such as NDCG, are not supported.
//!
//! Impressions are the sample, in 256 groups by the hash of their id. The variance is estimated from each group's
//! contribution to the linearized estimate. If propensities are estimated from the log, this includes the group's
//! influence on them ([`super::Influence`]).
//!
//! Sources: Joachims, Swaminathan & Schnabel, "Unbiased learning-to-rank with biased feedback", WSDM 2017, equation 8;
//! Swaminathan & Joachims, "The self-normalized estimator for counterfactual learning", NIPS 2015, equation 7.

use crate::base::{Memory, Reservation, Result, bytes_of};
use crate::data::{Id, bucket_of};

/// Number of groups of impressions.
pub const GROUPS: usize = 256;

pub fn group_of(impression: &Id) -> usize {
    bucket_of(impression, GROUPS as u32) as usize
}

/// Sums over the clicks of a log.
pub struct ClickSums {
    metrics: usize,
    /// Impressions by group.
    impressions: Vec<f64>,
    /// By position, from 1: for each group the number of clicks, then the gain of each metric.
    clicks: Vec<Vec<f64>>,
    memory: Reservation,
}

/// Weights of clicks by position, from 1.
#[derive(Debug, Clone)]
pub struct Weights {
    /// The weight 1 / max(p, clip) and its derivative by the propensity p; `None` for positions without a propensity.
    of_position: Vec<Option<[f64; 2]>>,
}

impl Weights {
    /// The weights for these propensities.
    pub fn new(propensities: impl IntoIterator<Item = (u32, f64)>, clip: f64) -> Self {
        let mut of_position = Vec::new();
        for (position, propensity) in propensities {
            let index = position as usize;
            of_position.resize(of_position.len().max(index + 1), None);
            let is_clipped = propensity < clip;
            let weight = 1.0 / if is_clipped { clip } else { propensity };
            of_position[index] = Some([weight, if is_clipped { 0.0 } else { -weight * weight }]);
        }
        Self { of_position }
    }

    /// The weight of a click at a position and its derivative.
    pub fn at(&self, position: usize) -> Option<[f64; 2]> {
        self.of_position.get(position).copied().flatten()
    }
}

/// The influence of each group's impressions on the propensities.
pub type Changes = Vec<Vec<(u32, f64)>>;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OfflineValue {
    /// The value; `None` without clicks.
    pub value: Option<f64>,
    /// The standard error; `None` with fewer than two groups of impressions.
    pub error: Option<f64>,
}

impl ClickSums {
    /// Starts without impressions.
    pub fn new(metrics: usize, memory: &Memory) -> Self {
        Self { metrics, impressions: vec![0.0; GROUPS], clicks: Vec::new(), memory: memory.nothing() }
    }

    /// Counts an impression.
    pub fn add_impression(&mut self, group: usize) {
        self.impressions[group] += 1.0;
    }

    /// Adds a click at a position, with the gain of its document in each metric.
    ///
    /// # Errors
    /// More memory than is allowed.
    pub fn add_click(&mut self, group: usize, position: u32, gains: impl Iterator<Item = f64>) -> Result<()> {
        let width = self.metrics + 1;
        while self.clicks.len() <= position as usize {
            let bytes = bytes_of::<f64>(GROUPS * width).saturating_mul(self.clicks.len() as u64 + 1);
            self.memory.resize(bytes, "sums of clicks by position", "measure fewer metrics in one call")?;
            self.clicks.push(vec![0.0; GROUPS * width]);
        }
        let sums = &mut self.clicks[position as usize][group * width..][..width];
        sums.iter_mut().zip(std::iter::once(1.0).chain(gains)).for_each(|(sum, gain)| *sum += gain);
        Ok(())
    }

    /// Number of impressions.
    pub fn impressions(&self) -> f64 {
        self.impressions.iter().sum()
    }

    /// The sum of a column, over all groups, at each position with a click.
    fn totals(&self, column: usize) -> impl Iterator<Item = (usize, f64)> {
        let width = self.metrics + 1;
        let total = move |sums: &Vec<f64>| sums.iter().skip(column).step_by(width).sum::<f64>();
        self.clicks.iter().map(total).enumerate()
    }

    /// Positions with clicks, and the number of clicks.
    pub fn clicks(&self) -> impl Iterator<Item = (usize, f64)> {
        self.totals(0).filter(|(_, clicks)| *clicks > 0.0)
    }

    /// The sums of all click weights and of their squares.
    pub fn weight(&self, weights: &Weights) -> [f64; 2] {
        let of = |position: usize| weights.at(position).map_or(0.0, |[weight, _]| weight);
        self.clicks().fold([0.0; 2], |[sum, squares], (position, clicks)| {
            let weight = of(position);
            [sum + clicks * weight, squares + clicks * weight * weight]
        })
    }

    /// IPS and SNIPS of a metric.
    pub fn values(&self, metric: usize, weights: &Weights, changes: Option<&Changes>) -> [OfflineValue; 2] {
        let (n, [total, _]) = (self.impressions(), self.weight(weights));
        let of = |position: usize| weights.at(position).map_or(0.0, |[weight, _]| weight);
        let gain: f64 = self.totals(metric + 1).map(|(position, gain)| gain * of(position)).sum();
        let ips = (n > 0.0).then(|| gain / n);
        let snips = (total > 0.0).then(|| gain / total);
        // Each group's contribution to the estimate minus the mean, times the divisor. `per_click` is 0 for IPS.
        let error = |mean: f64, per_click: f64, divisor: f64| {
            let mut parts: Vec<f64> = self.impressions.iter().map(|count| -count * mean).collect();
            for (position, sums) in self.clicks.iter().enumerate() {
                let [weight, slope] = weights.at(position).unwrap_or_default();
                let mut here = 0.0;
                for (part, sums) in parts.iter_mut().zip(sums.chunks_exact(self.metrics + 1)) {
                    let gain = sums[metric + 1] - per_click * sums[0];
                    *part += gain * weight;
                    here += gain;
                }
                for (part, changes) in parts.iter_mut().zip(changes.into_iter().flatten()) {
                    if let Ok(change) = changes.binary_search_by_key(&(position as u32), |(known, _)| *known)
                    {
                        *part += here * slope * changes[change].1;
                    }
                }
            }
            let groups = self.groups();
            let squares: f64 = parts.iter().map(|part| part * part).sum();
            (groups > 1.0).then(|| libm::sqrt(squares * groups / (groups - 1.0)) / divisor)
        };
        let ips_error = ips.and_then(|ips| error(ips, 0.0, n));
        let snips_error = snips.and_then(|snips| error(0.0, snips, total));
        [OfflineValue { value: ips, error: ips_error }, OfflineValue { value: snips, error: snips_error }]
    }

    /// Groups with impressions.
    pub fn groups(&self) -> f64 {
        self.impressions.iter().filter(|count| **count > 0.0).count() as f64
    }
}
