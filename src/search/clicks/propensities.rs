//! Propensities: how often users examine a position, relative to the first one.
//!
//! Method "likelihood": examination in the position-based model. "Harvested": only documents shown at two positions
//! count. For each pair of positions, a document has the same weight at both, n n' / (n + n') for n and n' rows (1 in
//! the source).
//!
//! Source: Agarwal, Zaitsev, Wang, Li, Najork & Joachims, "Estimating position bias without intrusive interventions",
//! WSDM 2019, section 4.3 (AllPairs).

use super::Cell;
use super::cells::{Numbers, number_of};
use super::estimate::{Estimate, PRIOR, fit};
use crate::base::named;
use crate::math::sort_items;

/// Groups of pairs for the standard error (delete-a-group jackknife).
const GROUPS: u32 = 20;

/// How propensities are estimated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// By likelihood.
    Em,
    Harvest,
    /// Both methods.
    Both,
}

named!(Method { Em = "em", Harvest = "harvest", Both = "both" });

/// The propensity of a position.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Propensity {
    /// From 1.
    pub position: u32,
    /// Relative to the first position of the log.
    pub estimate: Estimate,
}

/// Propensities by maximum likelihood in the position-based model. `cells`: the cells of that model.
pub fn by_likelihood(cells: &[Cell], pairs: usize) -> Vec<Propensity> {
    let propensity = |(context, estimate)| Propensity { position: context + 1, estimate };
    fit(cells, pairs, PRIOR).gamma.into_iter().map(propensity).collect()
}

/// Harvested propensities, from the same cells, with jackknife errors over groups of pairs. Omits positions
/// that share no document with another position.
pub fn harvested(cells: &[Cell]) -> Vec<Propensity> {
    let estimates = fit_swaps(cells, |_| true);
    // 1. Estimates, leaving out each group.
    let without = |group: u32| fit_swaps(cells, move |pair| pair % GROUPS != group);
    let without: Vec<Vec<(u32, f64)>> = (0..GROUPS).map(without).collect();
    // 2. Variances.
    let of_position = |(context, value): &(u32, f64)| {
        let at = |found: &Vec<(u32, f64)>| {
            found.iter().find(|(known, _)| known == context).map(|(_, value)| *value)
        };
        let values: Option<Vec<f64>> = without.iter().map(at).collect();
        let error = values.map_or(f64::INFINITY, |values| {
            let groups = f64::from(GROUPS);
            let mean = values.iter().sum::<f64>() / groups;
            let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
            libm::sqrt((groups - 1.0) / groups * squares)
        });
        Propensity { position: context + 1, estimate: Estimate { value: *value, error } }
    };
    estimates.iter().map(of_position).collect()
}

/// The examination of each context, estimated from documents shown at two positions.
fn fit_swaps(cells: &[Cell], takes_part: impl Fn(u32) -> bool) -> Vec<(u32, f64)> {
    // 1. For each pair of positions: document weights, and weighted sums of click rates at both. A document has the
    //    same weight at both, so the choice of documents cancels; rates from few rows have small weights.
    let (mut numbers, mut sums) = (Numbers::default(), Vec::new());
    for cells in cells.chunk_by(|a, b| a.pair == b.pair).filter(|cells| takes_part(cells[0].pair)) {
        for (index, a) in cells.iter().enumerate() {
            for b in &cells[index + 1..] {
                let number = number_of(&mut numbers, a.context, b.context) as usize;
                sums.resize(numbers.len(), [0.0; 3]);
                let weight = a.rows * b.rows / (a.rows + b.rows);
                let rates = [1.0, a.clicks / a.rows, b.clicks / b.rows];
                sums[number].iter_mut().zip(rates).for_each(|(sum, rate)| *sum += weight * rate);
            }
        }
    }
    let mut swaps: Vec<((u32, u32), u32)> = numbers.into_iter().collect();
    sort_items(&mut swaps, Ord::cmp);
    // 2. Each pair of positions becomes a pair in the estimate.
    let mut cells = Vec::new();
    for (((a, b), number), pair) in swaps.into_iter().zip(0..) {
        let [rows, at_a, at_b] = sums[number as usize];
        let cell = |(context, clicks)| Cell { pair, context, rows, clicks, weight: clicks };
        cells.extend([(a, at_a), (b, at_b)].map(cell));
    }
    // No prior: two positions share few documents, whose rates have no common mean.
    fit(&cells, cells.len() / 2, 0.0)
        .gamma
        .into_iter()
        .map(|(context, gamma)| (context, gamma.value))
        .collect()
}
