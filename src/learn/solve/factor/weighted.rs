//! Factorizes user-item pairs by weighted least squares over all items (Hu, Koren & Volinsky 2008, equations 3 to 5).
//!
//! ```text
//! min over U, V   lambda / 2 (|U|^2 + |V|^2) + 1/2 sum over all u, i  c_ui (p_ui - v_i.u)^2
//! ```
//!
//! p_ui is 1 for the pairs in the data and 0 for all others. The confidence c_ui is 1 + e_ui for pairs in the data,
//! with e_ui >= 0, and 1 for all others. If V is fixed, a separate linear system determines each user's row; likewise
//! for each item if U is fixed:
//!
//! ```text
//! (V'V + sum over pairs of u  e_ui v_i v_i' + lambda I) u = sum over pairs of u  (1 + e_ui) v_i
//! ```
//!
//! V'V is shared by all users, so a half step costs O(pairs rank^2 + (users + items) rank^2 + users rank^3): a
//! user-item combination that is not in the data costs nothing. Each half step finds the exact minimum. All sums are
//! computed in a fixed order.

use super::{Factors, factorization::by_item};
use crate::base::{Control, Error, Result, Ticks, checkpoint, parallel};
use crate::data::Ratings;
use crate::math::{Factor, LANES, Lanes, dot, gram, lanes};

/// Number of rows that are added to a Gram matrix at a time.
const SLAB: usize = 256;
/// Number of partial sums into which a Gram matrix is divided to compute it in parallel. It is fixed, so results do not
/// depend on the number of threads.
const PARTS: usize = 8;
/// Maximum number of iterations for the largest singular value, and the relative change at which they stop.
const POWER_STEPS: usize = 100;
const POWER_CHANGE: f64 = 1e-4;

/// The optimization problem. The values of the pairs are the e_ui.
pub struct WeightedSquares<'a> {
    pairs: &'a Ratings,
    /// The pairs by item, each as its user and its index in `pairs`. Item i has the range
    /// `item_offsets[i]..item_offsets[i + 1]`.
    by_item: Vec<(u32, u32)>,
    item_offsets: Vec<usize>,
}

/// The rows of one side (users or items), with the data that all systems of the other side share.
pub struct Side<'a> {
    rows: &'a [f64],
    rank: usize,
    /// The upper triangle of Y'Y, in blocks, where Y is the matrix of all rows.
    gram: Vec<Lanes>,
}

impl<'a> Side<'a> {
    /// `rows`: all rows, each of `rank` numbers, one after another.
    pub fn new(rows: &'a [f64], rank: usize) -> Self {
        let width = lanes::blocks_for(rank);
        let count = rows.len() / rank;
        let of_part = |part: usize| {
            let range = part * count / PARTS * rank..(part + 1) * count / PARTS * rank;
            let mut gram = vec![Lanes::ZERO; LANES * width * width];
            for slab in rows[range].chunks(SLAB * rank) {
                let slab = in_blocks(slab.chunks_exact(rank), width);
                gram::add_gram(&slab, &slab, width, slab.len() / width, &mut gram);
            }
            gram
        };
        let mut parts = parallel::map(PARTS, of_part).into_iter();
        let mut gram = parts.next().unwrap_or_default();
        for part in parts {
            gram.iter_mut().zip(&part).for_each(|(sum, block)| sum.add_scaled(1.0, block));
        }
        Self { rows, rank, gram }
    }

    fn row(&self, index: u32) -> &[f64] {
        &self.rows[index as usize * self.rank..][..self.rank]
    }

    /// Solves for the row of the other side that has these pairs, each given as a row of this side and e. Returns
    /// `None` if the system has no solution in double precision.
    pub fn solve(&self, pairs: &[(u32, f64)], lambda: f64) -> Option<Vec<f64>> {
        let width = lanes::blocks_for(self.rank);
        let mut matrix = self.gram.clone();
        let mut right = vec![Lanes::ZERO; width];
        for slab in pairs.chunks(SLAB) {
            let rows = in_blocks(slab.iter().map(|(index, _)| self.row(*index)), width);
            let mut weighted = rows.clone();
            for ((row, weighted), (_, extra)) in rows.chunks(width).zip(weighted.chunks_mut(width)).zip(slab)
            {
                lanes::axpy(1.0 + extra, row, &mut right);
                weighted.iter_mut().zip(row).for_each(|(to, block)| *to = block.map(|x| extra * x));
            }
            gram::add_gram(&weighted, &rows, width, slab.len(), &mut matrix);
        }
        for i in 0..self.rank {
            *lanes::get_mut(&mut matrix[i * width..], i) += lambda;
        }
        let row = Factor::of_blocks(matrix, self.rank)?.solve(&lanes::to_vec(&right, self.rank));
        row.iter().all(|value| value.is_finite()).then_some(row)
    }

    /// x' Y'Y x
    fn square(&self, x: &[f64]) -> f64 {
        let width = lanes::blocks_for(self.rank);
        let entry = |i: usize, j: usize| lanes::get(&self.gram[i * width..], j);
        let mut ticks = Ticks::default();
        let row = |i: usize| {
            ticks.add(self.rank);
            let above: f64 = (i + 1..self.rank).map(|j| entry(i, j) * x[j]).sum();
            x[i] * (entry(i, i) * x[i] + 2.0 * above)
        };
        (0..self.rank).map(row).sum()
    }
}

/// Copies rows one after another into blocks of eight numbers. The last block of a row is padded with 0.
fn in_blocks<'r>(rows: impl Iterator<Item = &'r [f64]>, width: usize) -> Vec<Lanes> {
    let mut blocks = Vec::with_capacity(rows.size_hint().0 * width);
    for row in rows {
        let (whole, rest) = row.as_chunks::<LANES>();
        blocks.extend(whole.iter().map(|block| Lanes(*block)));
        if !rest.is_empty() {
            let mut last = Lanes::ZERO;
            last.0[..rest.len()].copy_from_slice(rest);
            blocks.push(last);
        }
    }
    blocks
}

impl<'a> WeightedSquares<'a> {
    /// Creates the problem from pairs whose value is e, the confidence minus 1.
    pub fn new(pairs: &'a Ratings) -> Self {
        let (item_offsets, by_item) = by_item(pairs);
        Self { pairs, by_item, item_offsets }
    }

    /// The smallest lambda at which U = V = 0 is a minimum. It is the largest singular value of the matrix (1 + e) p,
    /// computed by the power method. No entry of the matrix is negative, so the start vector of ones is not orthogonal
    /// to the singular vector.
    ///
    /// # Errors
    /// An interrupt.
    pub fn largest_lambda(&self, control: &Control) -> Result<f64> {
        let weight = |pair: usize| 1.0 + self.pairs.values[pair];
        let (mut items, mut found) = (vec![1.0; self.pairs.n_items], 0.0);
        for _ in 0..POWER_STEPS {
            control.check()?;
            let users = parallel::map(self.pairs.n_users(), |user| {
                checkpoint();
                self.pairs
                    .of_user(user)
                    .map(|at| weight(at) * items[self.pairs.items[at] as usize])
                    .sum::<f64>()
            });
            items = parallel::map(self.pairs.n_items, |item| {
                checkpoint();
                let pairs = self.of_item(item).iter();
                pairs.map(|&(user, at)| weight(at as usize) * users[user as usize]).sum::<f64>()
            });
            let length = dot(&items, &items).sqrt();
            items.iter_mut().for_each(|value| *value /= length);
            let before = std::mem::replace(&mut found, length.sqrt());
            if (found - before).abs() <= POWER_CHANGE * found {
                break;
            }
        }
        Ok(found)
    }

    fn of_item(&self, item: usize) -> &[(u32, u32)] {
        &self.by_item[self.item_offsets[item]..self.item_offsets[item + 1]]
    }

    /// Fits U for fixed V, with users in parallel.
    ///
    /// # Errors
    /// An interrupt; a system that has no solution in double precision.
    pub fn fit_users(&self, factors: &mut Factors, lambda: f64, control: &Control) -> Result<()> {
        let Factors { rank, users, items } = factors;
        let pairs = |user: usize| -> Vec<(u32, f64)> {
            self.pairs.of_user(user).map(|at| (self.pairs.items[at], self.pairs.values[at])).collect()
        };
        fit_rows(users, &Side::new(items, *rank), &pairs, lambda, control)
    }

    /// Fits V for fixed U, with items in parallel.
    ///
    /// # Errors
    /// The errors of [`Self::fit_users`].
    pub fn fit_items(&self, factors: &mut Factors, lambda: f64, control: &Control) -> Result<()> {
        let Factors { rank, users, items } = factors;
        let pairs = |item: usize| -> Vec<(u32, f64)> {
            self.of_item(item).iter().map(|&(user, at)| (user, self.pairs.values[at as usize])).collect()
        };
        fit_rows(items, &Side::new(users, *rank), &pairs, lambda, control)
    }

    pub fn objective(&self, factors: &Factors, lambda: f64) -> f64 {
        let items = Side::new(&factors.items, factors.rank);
        let of_user = |user: usize| {
            checkpoint();
            let row = &factors.users[user * factors.rank..][..factors.rank];
            let of_pair = |at: usize| {
                let score = dot(row, items.row(self.pairs.items[at]));
                (1.0 + self.pairs.values[at]) * (1.0 - score) * (1.0 - score) - score * score
            };
            items.square(row) + self.pairs.of_user(user).map(of_pair).sum::<f64>()
        };
        let squares: f64 = parallel::map(self.pairs.n_users(), of_user).iter().sum();
        let lengths = dot(&factors.users, &factors.users) + dot(&factors.items, &factors.items);
        0.5 * (squares + lambda * lengths)
    }
}

/// Fits the rows of one side while the other side is fixed.
fn fit_rows(
    rows: &mut [f64],
    other: &Side<'_>,
    pairs: &(dyn Fn(usize) -> Vec<(u32, f64)> + Sync),
    lambda: f64,
    control: &Control,
) -> Result<()> {
    parallel::try_each_of(rows.chunks_mut(other.rank).collect(), |index, row: &mut [f64]| {
        control.check()?;
        row.copy_from_slice(&other.solve(&pairs(index), lambda).ok_or_else(|| no_solution(lambda))?);
        Ok(())
    })?;
    control.check()
}

/// The error for a system that has no solution.
pub fn no_solution(lambda: f64) -> Error {
    Error::Data(format!(
        "weighted least squares with lambda {lambda:e} has no solution in double precision: counts times 'count_weight' are too \
         large relative to lambda; use a larger lambda or a smaller 'count_weight'"
    ))
}
