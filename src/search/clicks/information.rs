//! Empirical information of the estimates of the dynamic Bayesian network: the sum over impressions of outer products of the
//! gradient of the log-likelihood (Berndt, Hall, Hall & Hausman 1974).
//!
//! Estimates of different queries are never in one impression, so the matrix has a block for each query, and a border for the
//! perseverance p, which is in all impressions. Queries with more than 50 documents have a block for each document, so their
//! errors leave out what the estimate of a document owes to the others.

use std::ops::Range;

use super::counts::Counted;
use super::estimate::{no_click, solved};
use super::{Cell, Shown};
use crate::base::{Ticks, bytes_of};
use crate::math::Factor;

/// Largest number of documents of a query with one block.
const MOST_DOCS: usize = 50;

/// Estimates of a pair: alpha and s.
const OF_PAIR: usize = 2;

/// The information.
pub(super) struct Information {
    /// By block: its pairs.
    blocks: Vec<Range<usize>>,
    /// By pair: its block.
    block_of: Vec<u32>,
    /// By block: where its values begin.
    begins: Vec<usize>,
    /// Rows of the lower triangles of the blocks.
    values: Vec<f64>,
    /// By estimate: with p.
    border: Vec<f64>,
    /// Of p with itself.
    corner: f64,
}

/// Number of entries in the lower triangle of a matrix with `rows` rows.
fn triangle(rows: usize) -> usize {
    rows * (rows + 1) / 2
}

/// The blocks of a log: pairs of a query follow each other.
fn blocks(counted: &Counted) -> impl Iterator<Item = Range<usize>> {
    let mut first = 0;
    counted.pairs.chunk_by(|a, b| a.0 == b.0).flat_map(move |pairs| {
        let (begin, size) = (first, if pairs.len() > MOST_DOCS { 1 } else { pairs.len() });
        first += pairs.len();
        (begin..first).step_by(size).map(move |pair| pair..pair + size)
    })
}

impl Information {
    /// Bytes that it takes.
    pub fn bytes(counted: &Counted) -> u64 {
        let values: usize = blocks(counted).map(|block| triangle(OF_PAIR * block.len())).sum();
        // A block for each pair at most.
        bytes_of::<f64>(values) + bytes_of::<[u64; 6]>(counted.pairs.len())
    }

    /// No impression yet.
    pub fn new(counted: &Counted) -> Self {
        let blocks: Vec<Range<usize>> = blocks(counted).collect();
        let (mut block_of, mut begins, mut size) = (Vec::new(), Vec::new(), 0);
        for (number, block) in blocks.iter().enumerate() {
            block_of.resize(block.end, number as u32);
            begins.push(size);
            size += triangle(OF_PAIR * block.len());
        }
        let border = vec![0.0; OF_PAIR * block_of.len()];
        Self { blocks, block_of, begins, values: vec![0.0; size], border, corner: 0.0 }
    }

    /// Adds an impression: slopes by number of the estimate, and the slope in p.
    pub fn add(&mut self, slopes: &[(u32, f64)], of_p: f64) {
        for &(row, a) in slopes {
            let block = self.block_of[row as usize / OF_PAIR];
            let (first, begin) = (OF_PAIR * self.blocks[block as usize].start, self.begins[block as usize]);
            let local = row as usize - first;
            for &(column, b) in slopes.iter().filter(|(column, _)| *column <= row) {
                if column as usize >= first {
                    self.values[begin + triangle(local) + column as usize - first] += a * b;
                }
            }
            self.border[row as usize] += a * of_p;
        }
        self.corner += of_p * of_p;
    }

    /// By pair: variance of alpha, covariance of alpha and s, variance of s; infinite variances where the log does not
    /// determine them. `priors`: the information that the prior adds to each estimate, p last.
    pub fn inverse(&self, priors: &[f64]) -> Vec<[f64; 3]> {
        let mut found = Vec::new();
        // 1. As if p were known; and what p changes: the solution for the border.
        let mut solutions = Vec::new();
        let mut left = self.corner + priors[self.border.len()];
        for (block, begin) in self.blocks.iter().zip(&self.begins) {
            self.invert(block, *begin, priors, &mut found, &mut solutions);
        }
        left -= self.border.iter().zip(&solutions).map(|(a, b)| a * b).sum::<f64>();
        // 2. The variance of p is 1 / left.
        for ([of_alpha, of_both, of_s], solution) in found.iter_mut().zip(solutions.chunks_exact(OF_PAIR)) {
            let (a, s) = (solution[0], solution[1]);
            if left > 0.0 {
                *of_alpha += a * a / left;
                *of_both += a * s / left;
                *of_s += s * s / left;
            }
        }
        found
    }

    /// Appends variances and solutions for the border of one block.
    fn invert(
        &self,
        block: &Range<usize>,
        begin: usize,
        priors: &[f64],
        found: &mut Vec<[f64; 3]>,
        solutions: &mut Vec<f64>,
    ) {
        let (first, size) = (OF_PAIR * block.start, OF_PAIR * block.len());
        let entry = |column: usize, row: usize| {
            let prior = if row == column { priors[first + row] } else { 0.0 };
            self.values[begin + triangle(row) + column] + prior
        };
        let Some(factor) = Factor::of(size, entry) else {
            found.extend(block.clone().map(|_| [f64::INFINITY, 0.0, f64::INFINITY]));
            solutions.resize(solutions.len() + size, 0.0);
            return;
        };
        let mut ticks = Ticks::default();
        solutions.extend(factor.solve(&self.border[first..first + size]));
        for pair in 0..block.len() {
            ticks.add(4 * size * size);
            let [of_alpha, of_s] = [0, 1].map(|which| {
                let mut unit = vec![0.0; size];
                unit[OF_PAIR * pair + which] = 1.0;
                factor.solve(&unit)
            });
            let at = OF_PAIR * pair;
            found.push([of_alpha[at], of_alpha[at + 1], of_s[at + 1]]);
        }
    }
}

// Influence of the rows of a log on propensities by likelihood.
//
// With l the log-likelihood of a row, and I the expected information of all rows, a row changes the estimate of gamma by
// about C (dl/dgamma - I_gamma,alpha I_alpha^-1 dl/dalpha), where C is the covariance of gamma. (The influence function of the
// maximum of the likelihood: van der Vaart, "Asymptotic Statistics", 1998, theorem 5.39.)

/// Strength of the prior of a pair, in rows: enough for a maximum. A stronger one draws pairs with few rows to the rate of the
/// first position, and so lowers the propensities of the others.
pub(super) const WEAK_PRIOR: f64 = 0.01;

/// Variance of a propensity from which the log does not determine it.
const LARGEST_VARIANCE: f64 = 1.0;

/// Propensities, and what rows do to them.
pub struct Influence {
    /// The position of each propensity, sorted.
    positions: Vec<u32>,
    /// Attractiveness by pair.
    alpha: Vec<f64>,
    /// Propensities by number; the first is 1.
    gamma: Vec<f64>,
    /// By pair: the numbers of its positions, and I_gamma,alpha I_alpha^-1.
    of_pair: Vec<Vec<(u32, f64)>>,
    /// C, without the first position.
    covariance: Vec<Vec<f64>>,
}

impl Influence {
    /// Fits the position-based model to its cells; `None` if they do not determine its propensities.
    pub fn of(cells: &[Cell], pairs: usize) -> Option<Self> {
        let (mut problem, contexts, point) = solved(cells, pairs, WEAK_PRIOR);
        // The covariance is without the prior, so what only the prior determines gets a variance far above 1 by rounding.
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

    /// Adds the slope of the log-likelihood of a row to the slopes by number of the position.
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

    /// What rows with these slopes do to the propensities.
    pub fn change(&self, slopes: &[f64]) -> Vec<f64> {
        let product = |row: &Vec<f64>| row.iter().zip(&slopes[1..]).map(|(c, slope)| c * slope).sum();
        std::iter::once(0.0).chain(self.covariance.iter().map(product)).collect()
    }
}
