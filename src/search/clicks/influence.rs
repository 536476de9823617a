//! The influence of log rows on propensities estimated by maximum likelihood.
//!
//! With l the log-likelihood of a row, and I the expected information of all rows, a row changes the estimate of gamma by
//! about C (dl/dgamma - I_gamma,alpha I_alpha^-1 dl/dalpha), where C is the covariance of gamma. (The influence function of the
//! maximum of the likelihood: van der Vaart, "Asymptotic Statistics", 1998, theorem 5.39.)

use super::estimate::{no_click, solved};
use super::{Cell, Shown};

/// Strength of a pair's prior, in rows: enough for a maximum to exist. A stronger prior pulls pairs with few rows towards
/// the rate of the first position, and so lowers the other propensities.
pub(super) const WEAK_PRIOR: f64 = 0.01;

/// Variance above which the log does not determine a propensity.
const LARGEST_VARIANCE: f64 = 1.0;

/// Propensities, and the effect of rows on them.
pub struct Influence {
    /// The position of each propensity, sorted.
    positions: Vec<u32>,
    /// Attractiveness by pair.
    alpha: Vec<f64>,
    /// Propensities by number; the first is 1.
    gamma: Vec<f64>,
    /// For each pair: the numbers of its positions, and I_gamma,alpha I_alpha^-1.
    of_pair: Vec<Vec<(u32, f64)>>,
    /// C, without the first position.
    covariance: Vec<Vec<f64>>,
}

impl Influence {
    /// Fits the position-based model to its cells; `None` if they do not determine its propensities.
    pub fn of(cells: &[Cell], pairs: usize) -> Option<Self> {
        let (mut problem, contexts, point) = solved(cells, pairs, WEAK_PRIOR);
        // The covariance excludes the prior, so rounding gives anything determined only by the prior a variance far
        // above 1.
        problem.prior = 0.0;
        let information = problem.information(&point);
        let covariance = problem.covariance(&information)?;
        let is_determined = |(number, row): (usize, &Vec<f64>)| row[number] < LARGEST_VARIANCE;
        if !covariance.iter().enumerate().all(is_determined) {
            return None;
        }
        let mut of_pair = vec![Vec::new(); pairs];
        for (cells, from) in problem.by_pair() {
            let pair = cells[0].pair as usize;
            let share = |cell: usize| {
                (problem.contexts[cell] as u32, information.both[cell] / information.of_alpha[pair])
            };
            of_pair[pair] = (from..from + cells.len()).map(share).collect();
        }
        let (alpha, gamma) = point.split_at(pairs);
        let positions = contexts.into_iter().map(|context| context + 1).collect();
        Some(Self { positions, alpha: alpha.to_vec(), gamma: gamma.to_vec(), of_pair, covariance })
    }

    /// Positions and their propensities.
    pub fn propensities(&self) -> impl Iterator<Item = (u32, f64)> {
        self.positions.iter().copied().zip(self.gamma.iter().copied())
    }

    /// Adds the slope of a row's log-likelihood to the slopes, which are indexed by position number.
    pub fn add_row(&self, row: &Shown, slopes: &mut [f64]) {
        let Shown { pair, position, clicked, .. } = *row;
        let Ok(number) = self.positions.binary_search(&position) else { return };
        let (a, g) = (self.alpha[pair as usize], self.gamma[number]);
        let surprise = (f64::from(u8::from(clicked)) - a * g) / no_click(a * g);
        slopes[number] += surprise / g;
        for (number, share) in &self.of_pair[pair as usize] {
            slopes[*number as usize] -= share * surprise / a;
        }
    }

    /// The change of the propensities due to rows with these slopes.
    pub fn change(&self, slopes: &[f64]) -> Vec<f64> {
        let product = |row: &Vec<f64>| row.iter().zip(&slopes[1..]).map(|(c, slope)| c * slope).sum();
        std::iter::once(0.0).chain(self.covariance.iter().map(product)).collect()
    }
}
