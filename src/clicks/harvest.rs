//! Propensities: how much more often users examine a position than the first.
//!
//! By likelihood: the examination of the position-based model. Harvested: only documents that a log shows at two positions
//! count, for each pair of positions with the same weight at both. So the choice of what stands where cancels.
//!
//! Source: Agarwal, Zaitsev, Wang, Li, Najork & Joachims, "Estimating position bias without intrusive interventions",
//! WSDM 2019, section 4.3 (AllPairs).

use std::collections::BTreeMap;

use super::estimate::{Estimate, fit};
use super::{Cell, MOST_POSITIONS};
use crate::param::named;

/// Groups of pairs for the standard error (delete-a-group jackknife).
const GROUPS: u32 = 20;

/// How propensities are estimated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// By likelihood.
    Em,
    /// Harvested.
    Harvest,
    /// Both, one after the other.
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

fn of(gamma: BTreeMap<u32, Estimate>) -> Vec<Propensity> {
    gamma.into_iter().map(|(context, estimate)| Propensity { position: context + 1, estimate }).collect()
}

/// Propensities by the likelihood of the position-based model. The cells are those of its contexts.
pub fn by_likelihood(cells: &[Cell], pairs: usize) -> Vec<Propensity> {
    of(fit(cells, pairs).gamma)
}

/// Harvested propensities, from the same cells; with errors by a jackknife over groups of pairs. Positions
/// whose documents stand nowhere else are left out.
pub fn harvested(cells: &[Cell]) -> Vec<Propensity> {
    let all = fit_swaps(cells, |_| true);
    // 1. Estimates without each group.
    let without = |group: u32| fit_swaps(cells, move |pair| pair % GROUPS != group);
    let without: Vec<BTreeMap<u32, f64>> = (0..GROUPS).map(without).collect();
    // 2. Their variance.
    let of_position = |(context, value): (&u32, &f64)| {
        let found: Option<Vec<f64>> = without.iter().map(|found| found.get(context).copied()).collect();
        let error = found.map_or(f64::INFINITY, |found| {
            let groups = f64::from(GROUPS);
            let mean = found.iter().sum::<f64>() / groups;
            let squares: f64 = found.iter().map(|value| (value - mean) * (value - mean)).sum();
            libm::sqrt((groups - 1.0) / groups * squares)
        });
        Propensity { position: context + 1, estimate: Estimate { value: *value, error } }
    };
    all.iter().map(of_position).collect()
}

/// The examination of each context, from the documents that stand at two positions.
fn fit_swaps(cells: &[Cell], takes_part: impl Fn(u32) -> bool) -> BTreeMap<u32, f64> {
    // By two positions: documents, and their click rates at both.
    let mut swaps: BTreeMap<(u32, u32), [f64; 3]> = BTreeMap::new();
    for cells in cells.chunk_by(|a, b| a.pair == b.pair).filter(|cells| takes_part(cells[0].pair)) {
        for (index, a) in cells.iter().enumerate() {
            for b in &cells[index + 1..] {
                let [documents, at_a, at_b] = swaps.entry((a.context, b.context)).or_default();
                *documents += 1.0;
                *at_a += a.clicks / a.rows;
                *at_b += b.clicks / b.rows;
            }
        }
    }
    let of_swap = |(number, (&(a, b), &[documents, at_a, at_b])): (u32, (&(u32, u32), &[f64; 3]))| {
        let cell = |context: u32, clicks: f64| Cell { pair: number, context, rows: documents, clicks };
        [cell(a, at_a), cell(b, at_b)]
    };
    let cells: Vec<Cell> = (0..).zip(&swaps).flat_map(of_swap).collect();
    debug_assert!(cells.iter().all(|cell| cell.context < MOST_POSITIONS));
    fit(&cells, swaps.len()).gamma.into_iter().map(|(context, gamma)| (context, gamma.value)).collect()
}
