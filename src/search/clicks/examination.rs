//! Estimates examination as far as a log determines it, and how well the log separates a document from its positions.
//!
//! Symbols, in addition to the ones in the parent module and `estimate`:
//! * h_ir = n_ir gamma_r alpha_i: expected clicks in a cell. If clicks are rare, this is the expected information of the cell about
//!   log(gamma_r alpha_i), otherwise a lower bound; H_i = sum over r of h_ir
//! * L = diag(sum over i of h_ir) - sum over i of h_i h_i' / H_i: the information about log gamma if each log alpha_i is estimated
//!   too, the Laplacian of a graph of contexts. It is 0 for contrasts between unconnected contexts.
//! * mu_r: click rate in a context, relative to the first; l_r = log(mu_r) / 2; v_r = l_r^2 + 0.01
//! * u_i = h_i / H_i; u_q: mean of u, weighted by H, over the documents of i's query
//!
//! Let gamma^ be the maximum-likelihood estimate; then log gamma = (L + V^-1)^-1 (L log(gamma^) + V^-1 l). Whatever the log
//! does not determine is attributed half to examination and half to attractiveness: the prior mean l lies midway
//! between "users look at every row" and "documents are equally good at every position", and v makes both one standard
//! deviation away.
//!
//! To first order, an error e of log gamma changes log alpha_i by -u_i' e, and log alpha_i relative to the other documents of
//! the query by -(u_i - u_q)' e. So with s_i^2 = (u_i - u_q)' L^+ (u_i - u_q), infinite if no document connects the contexts,
//!
//! ```text
//! determined_i = 1 / (1 + s_i^2 / 0.25)
//! ```
//!
//! It is 1/2 if uncertainty about examination alone changes relative attractiveness by a factor of e^0.5 = 1.65 (one
//! standard error).
//!
//! `propensities` has the examination of positions, relative to the first one.

use super::Cell;
use super::estimate::{
    Estimate, Fitted, MOST_CONTEXTS, PRIOR, Problem, no_click, prior_information, solved, within,
};
use super::influence::WEAK_PRIOR;
use crate::base::Ticks;
use crate::math::{Factor, sort_items};

/// The variance s^2 at which `determined` is 1/2.
const HALF_DETERMINED: f64 = 0.25;
/// Smallest prior variance v of log examination.
const LEAST_VARIANCE: f64 = 0.01;
/// Smallest number added to the diagonal of L to make it invertible: absolute, and relative to L's largest entry.
const LEAST_INFORMATION: [f64; 2] = [1e-6, 1e-11];
/// Prior information to fix the first context.
const FIXED: f64 = 1e9;

/// Examination in each context.
pub struct Examination {
    /// Sorted contexts with their log gamma.
    log_gamma: Vec<(u32, f64)>,
    /// Covariance of log gamma; `None` if gamma is known.
    covariance: Option<Inverse>,
    /// The inverse of L with a small number added to the diagonal.
    of_log: Option<Inverse>,
    /// The context number and h of each cell.
    of_cell: Vec<(usize, f64)>,
}

/// The rows of an inverse; with more than 256 contexts, only the diagonal.
struct Inverse {
    rows: Vec<Vec<f64>>,
    is_diagonal: bool,
}

impl Inverse {
    /// x' M y for sparse vectors, sorted by context.
    fn form(&self, x: &[(usize, f64)], y: &[(usize, f64)]) -> f64 {
        let same = |i: &usize| y.binary_search_by_key(i, |(j, _)| *j).map_or(0.0, |found| y[found].1);
        let row = |(i, x): &(usize, f64)| {
            let row = &self.rows[*i];
            let sum = if self.is_diagonal {
                row[0] * same(i)
            } else {
                y.iter().map(|(j, y)| y * row[*j]).sum::<f64>()
            };
            x * sum
        };
        x.iter().map(row).sum()
    }

    /// M y.
    fn times(&self, y: &[f64]) -> Vec<f64> {
        let row = |(row, here): (&Vec<f64>, &f64)| {
            if self.is_diagonal { row[0] * here } else { row.iter().zip(y).map(|(m, y)| m * y).sum() }
        };
        self.rows.iter().zip(y).map(row).collect()
    }
}

impl Examination {
    /// Estimates examination from the cells, sorted by pair.
    pub fn of(cells: &[Cell], pairs: usize) -> Self {
        let (problem, contexts, point) = solved(cells, pairs, WEAK_PRIOR);
        let (alpha, gamma) = point.split_at(pairs);
        let expected = |(cell, context): (&Cell, &usize)| {
            (*context, cell.rows * gamma[*context] * alpha[cell.pair as usize])
        };
        let of_cell: Vec<(usize, f64)> = cells.iter().zip(&problem.contexts).map(expected).collect();
        // 1. Click rates by context, and the prior.
        let mut sums = vec![[0.5, 1.0]; contexts.len()];
        for (cell, context) in cells.iter().zip(&problem.contexts) {
            let sum = &mut sums[*context];
            *sum = [sum[0] + cell.clicks, sum[1] + cell.rows];
        }
        let rate = |[clicks, rows]: &[f64; 2]| libm::log(clicks / rows);
        let half: Vec<f64> = sums.iter().map(|sum| 0.5 * (rate(sum) - rate(&sums[0]))).collect();
        let mut beliefs: Vec<f64> = half.iter().map(|half| 1.0 / (half * half + LEAST_VARIANCE)).collect();
        beliefs[0] = FIXED;
        // 2. The information in the log.
        let laplacian = Laplacian::of(&problem, &of_cell, contexts.len());
        let covariance = laplacian.inverse(&beliefs);
        let [least, relative] = LEAST_INFORMATION;
        let least = laplacian.values.iter().fold(least, |least, value| least.max(relative * value));
        let of_log = laplacian.inverse(&vec![least; contexts.len()]);
        let logs: Vec<f64> = gamma.iter().map(|gamma| libm::log(*gamma)).collect();
        let both = laplacian.times(&logs).into_iter().zip(&beliefs).zip(&half);
        let right: Vec<f64> = both.map(|((log, belief), half)| log + belief * half).collect();
        let log_gamma = covariance.times(&right).into_iter().map(|log_gamma| log_gamma.min(0.0));
        let log_gamma = contexts.into_iter().zip(log_gamma).collect();
        Self { log_gamma, covariance: Some(covariance), of_log: Some(of_log), of_cell }
    }

    /// Uses known propensities, sorted by position from 1. If the largest exceeds 1, all are divided by it.
    pub fn known(propensities: &[(u32, f64)]) -> Self {
        let most = propensities.iter().map(|(_, propensity)| *propensity).fold(1.0, f64::max);
        let log_gamma = |(position, propensity): &(u32, f64)| (position - 1, libm::log(propensity / most));
        let log_gamma = propensities.iter().map(log_gamma).collect();
        Self { log_gamma, covariance: None, of_log: None, of_cell: Vec::new() }
    }

    /// Whether the examination in a context is known.
    pub fn has(&self, context: u32) -> bool {
        self.log_gamma.binary_search_by(|(known, _)| known.cmp(&context)).is_ok()
    }

    /// Estimates for the cells, sorted by pair. The prior mean is the mean attractiveness of all rows.
    pub fn fitted(&self, cells: &[Cell], pairs: usize) -> Fitted {
        let number = |cell: &Cell| self.log_gamma.binary_search_by(|(known, _)| known.cmp(&cell.context));
        // Cells with unknown examination have no clicks and count as not examined.
        let found = |cell: &Cell| number(cell).map_or(0.0, |number| libm::exp(self.log_gamma[number].1));
        let mut examined = vec![0.0; pairs];
        let mut clicks = 0.0;
        for cell in cells {
            examined[cell.pair as usize] += cell.rows * found(cell);
            clicks += cell.clicks;
        }
        let all: f64 = examined.iter().sum();
        let mean = within((clicks + 0.5) / (all + 1.0));
        let gamma = |(number, (context, log_gamma)): (usize, &(u32, f64))| {
            let unit = [(number, 1.0)];
            let variance = self.covariance.as_ref().map_or(0.0, |covariance| covariance.form(&unit, &unit));
            let value = libm::exp(*log_gamma);
            let error = if number == 0 { 0.0 } else { value * libm::sqrt(variance) };
            (*context, Estimate { value, error })
        };
        let mut fitted = Fitted {
            alpha: Vec::new(),
            gamma: self.log_gamma.iter().enumerate().map(gamma).collect(),
            examined,
            satisfaction: Vec::new(),
            relevance: Vec::new(),
            weighted: Vec::new(),
            mean,
            mean_gamma: 0.0,
        };
        let values = fitted.maxima(cells, pairs, mean, |cell| cell.clicks);
        let mut alpha: Vec<Estimate> =
            values.into_iter().map(|value| Estimate { value, error: f64::INFINITY }).collect();
        let mut ticks = Ticks::default();
        for cells in cells.chunk_by(|a, b| a.pair == b.pair) {
            ticks.add(10 * cells.len() * cells.len());
            let Estimate { value, error } = &mut alpha[cells[0].pair as usize];
            let told = |cell: &Cell| {
                let click = *value * found(cell);
                number(cell).ok().map(|number| (number, cell.rows * click / no_click(click)))
            };
            let told: Vec<(usize, f64)> = cells.iter().filter_map(told).collect();
            let prior = *value * *value * prior_information(PRIOR, mean, *value);
            let information = prior + told.iter().map(|(_, told)| told).sum::<f64>();
            let shares: Vec<(usize, f64)> =
                told.into_iter().map(|(number, told)| (number, told / information)).collect();
            let of_gamma =
                self.covariance.as_ref().map_or(0.0, |covariance| covariance.form(&shares, &shares));
            *error = *value * libm::sqrt(1.0 / information + of_gamma);
        }
        fitted.relevance.clone_from(&alpha);
        fitted.alpha = alpha;
        fitted
    }

    /// `determined` for each pair, from 0 to 1. `cells` are as in [`Self::of`]; `queries` has the query of each pair, sorted.
    pub fn determined(&self, cells: &[Cell], queries: &[u32]) -> Vec<f64> {
        let mut determined = vec![1.0; queries.len()];
        let Some(of_log) = &self.of_log else { return determined };
        let (mut from, mut ticks) = (0, Ticks::default());
        for cells in cells.chunk_by(|a, b| queries[a.pair as usize] == queries[b.pair as usize]) {
            let of_cell = &self.of_cell[from..from + cells.len()];
            from += cells.len();
            // 1. The mean of the query.
            let mut of_query: Vec<(usize, f64)> = of_cell.to_vec();
            sort_items(&mut of_query, |a, b| a.0.cmp(&b.0));
            of_query.dedup_by(|next, first| {
                let is_same = next.0 == first.0;
                first.1 += if is_same { next.1 } else { 0.0 };
                is_same
            });
            let mean = shares(&of_query);
            let of_mean = of_log.form(&mean, &mean);
            // 2. The documents.
            let mut first = 0;
            for cells in cells.chunk_by(|a, b| a.pair == b.pair) {
                let of_doc = shares(&of_cell[first..first + cells.len()]);
                first += cells.len();
                ticks.add(4 * of_doc.len() * (of_doc.len() + mean.len()));
                let variance = of_log.form(&of_doc, &of_doc) - 2.0 * of_log.form(&of_doc, &mean) + of_mean;
                determined[cells[0].pair as usize] = HALF_DETERMINED / (HALF_DETERMINED + variance.max(0.0));
            }
        }
        determined
    }
}

/// The numbers divided by their sum.
fn shares(numbers: &[(usize, f64)]) -> Vec<(usize, f64)> {
    let sum: f64 = numbers.iter().map(|(_, number)| number).sum();
    numbers.iter().map(|(context, number)| (*context, number / sum.max(f64::MIN_POSITIVE))).collect()
}

/// The rows of L; with more than 256 contexts, only the diagonal.
struct Laplacian {
    values: Vec<f64>,
    contexts: usize,
    is_diagonal: bool,
}

impl Laplacian {
    fn of(problem: &Problem<'_>, of_cell: &[(usize, f64)], contexts: usize) -> Self {
        let is_diagonal = contexts > MOST_CONTEXTS;
        let mut values = vec![0.0; if is_diagonal { contexts } else { contexts * contexts }];
        let mut ticks = Ticks::default();
        for (cells, from) in problem.by_pair() {
            ticks.add(4 * cells.len() * cells.len());
            let of_pair = &of_cell[from..from + cells.len()];
            let sum = of_pair.iter().map(|(_, h)| h).sum::<f64>().max(f64::MIN_POSITIVE);
            for (index, (i, a)) in of_pair.iter().enumerate() {
                if is_diagonal {
                    values[*i] += a * (sum - a) / sum;
                    continue;
                }
                // Add both directions of an edge, so that rows sum to 0 despite rounding.
                for (j, b) in &of_pair[index + 1..] {
                    let edge = a * b / sum;
                    for (row, column, change) in
                        [(*i, *i, edge), (*j, *j, edge), (*i, *j, -edge), (*j, *i, -edge)]
                    {
                        values[row * contexts + column] += change;
                    }
                }
            }
        }
        Self { values, contexts, is_diagonal }
    }

    fn times(&self, x: &[f64]) -> Vec<f64> {
        if self.is_diagonal {
            return self.values.iter().zip(x).map(|(l, x)| l * x).collect();
        }
        let row = |row: &[f64]| row.iter().zip(x).map(|(l, x)| l * x).sum();
        self.values.chunks_exact(self.contexts).map(row).collect()
    }

    /// The inverse of L with these positive numbers added to the diagonal.
    fn inverse(&self, more: &[f64]) -> Inverse {
        let count = self.contexts;
        let dense = || {
            let entry = |i: usize, j: usize| self.values[i * count + j] + if i == j { more[i] } else { 0.0 };
            let factor = Factor::of(count, entry)?;
            let row = |i: usize| {
                let mut unit = vec![0.0; count];
                unit[i] = 1.0;
                factor.solve(&unit)
            };
            Some(Inverse { rows: (0..count).map(row).collect(), is_diagonal: false })
        };
        let diagonal = || {
            let at = |i: usize| if self.is_diagonal { self.values[i] } else { self.values[i * count + i] };
            Inverse { rows: (0..count).map(|i| vec![1.0 / (at(i) + more[i])]).collect(), is_diagonal: true }
        };
        if self.is_diagonal { diagonal() } else { dense().unwrap_or_else(diagonal) }
    }
}
