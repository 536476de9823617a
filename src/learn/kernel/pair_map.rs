//! Functions of pairs, f(x, x'): the preference of document x over document x'; and the recovery of scores.
//!
//! ```text
//! min_f sum_i c_i sum over pairs (j, l) of query i, y_j > y_l, of L(f(x_j, x_l)) + lambda |f|^2       (3.1)
//!
//! f(x, x') = -f(x', x)      holds at the solution, where both orders of a pair count
//! K         kernel on the concatenation (x, x'), outer(q(x, z) + q(x', z'))
//! H(t, t')  = K((x, x'), (z, z')) - K((x, x'), (z', z))     for the pairs t = (x, x') and t' = (z, z')
//! psi_t     psi_t.psi_t' = H(t, t'), by a pivoted Cholesky factor over pairs
//! f(t)      = w.psi_t, and |f|^2 = 2 |w|^2
//! ```
//!
//! of Dai & Wang (2019). It equals a function of documents, with one document psi_t per pair, one worse document 0 and
//! twice the lambda ([`as_documents`]). The score of a document is its mean preference over the k documents of its
//! query:
//!
//! ```text
//! s_j = (1/k) sum_l f(x_j, x_l),   f(x, x') = sum_p beta_p H((x, x'), (a_p, b_p))                     (3.6)
//! ```
//!
//! With outer(q + r) = outer(q) outer(r), as for the Gaussian, H is E(x, a) E(x', b) - E(x, b) E(x', a) and
//! the k scores of a query cost k times the number of pivot documents; else k^2 times the number of pivots.
//!
//! Candidates for pivots are all pairs with different labels, or a sample where they are more than four times
//! the `landmarks`.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::basis::{Basis, check_coefficients, check_width, in_blocks, is_valid_factor, solve_rows};
use super::kernel::Kernel;
use super::points::Points;
use super::sample::sample;
use super::{MapOptions, check_diagonal, coefficients, is_indefinite, reserve_candidates, warning};
use crate::base::{Control, Error, Result, check_size, parallel};
use crate::cost::loss::pair_count;
use crate::data::{Documents, Matrix};
use crate::math::{Gram, TILE, dot, pivoted, positive_part};

/// A feature map of pairs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PairMap {
    /// The documents that form the pivots.
    pub basis: Basis,
    /// Pivots (a_p, b_p), as document indices of the basis.
    pivots: Vec<(u32, u32)>,
    /// L with L L' = H at the pivots, packed as in `math::triangular`.
    factor: Vec<f64>,
    negative: f64,
}

/// The documents of a query, prepared for the preferences of other documents over them.
pub struct PairQuery {
    /// Number of documents k.
    count: usize,
    /// v of [`PairMap::product_weights`] where the kernel factorizes, else the columns of the documents.
    values: Vec<f64>,
}

/// The matrix H of the candidates.
struct PivotPairs<'a> {
    kernel: &'a Kernel,
    /// The better document of each pair, and the worse one.
    better: Side,
    worse: Side,
}

/// One document of each pair.
struct Side {
    rows: Vec<f64>,
    points: Points,
}

impl Side {
    fn row(&self, i: usize) -> &[f64] {
        &self.rows[i * self.points.dim..(i + 1) * self.points.dim]
    }
}

impl<'a> PivotPairs<'a> {
    fn new(kernel: &'a Kernel, features: &Matrix, pairs: &[(usize, usize)]) -> Self {
        let side = |rows: Vec<usize>| {
            let rows = features.select_rows(&rows).rows_f64(0..pairs.len());
            let points = Points::new(&rows, pairs.len(), features.columns());
            Side { rows, points }
        };
        let better = side(pairs.iter().map(|pair| pair.0).collect());
        let worse = side(pairs.iter().map(|pair| pair.1).collect());
        Self { kernel, better, worse }
    }
}

impl Gram for PivotPairs<'_> {
    fn len(&self) -> usize {
        self.better.points.len()
    }

    fn diagonal(&self, i: usize) -> f64 {
        let (a, b) = (self.better.row(i), self.worse.row(i));
        let inner = |x, z| self.kernel.inner_of(x, z);
        let mut values = [inner(a, a) + inner(b, b), 2.0 * inner(a, b)];
        self.kernel.outer(&mut values);
        values[0] - values[1]
    }

    fn column(&self, pivot: usize, rows: Range<usize>, out: &mut [f64]) {
        let (a, b) = (self.better.row(pivot), self.worse.row(pivot));
        let n = rows.len();
        let sum = |better: &[f64], worse: &[f64]| {
            let (mut q, mut r) = ([0.0; TILE], [0.0; TILE]);
            self.better.points.inner_of(self.kernel.def.inner, better, rows.clone(), &mut q[..n]);
            self.worse.points.inner_of(self.kernel.def.inner, worse, rows.clone(), &mut r[..n]);
            q.iter_mut().zip(r).for_each(|(q, r)| *q += r);
            self.kernel.outer(&mut q[..n]);
            q
        };
        let (straight, crossed) = (sum(a, b), sum(b, a));
        out.iter_mut().zip(straight).zip(crossed).for_each(|((out, s), c)| *out = s - c);
    }
}

impl PairMap {
    /// The map of a kernel for the pairs with different labels of the queries whose rows start and end at
    /// `offsets`.
    ///
    /// # Errors
    /// A kernel that is not a finite number on a pair, or an interrupt.
    pub fn fit(
        kernel: &Kernel,
        features: &Matrix,
        offsets: &[usize],
        labels: &[f64],
        options: &MapOptions,
        control: &Control,
    ) -> Result<Self> {
        let candidates = |count: usize| {
            let chosen = sampled_pairs(offsets, labels, count, options.seed);
            let memory = reserve_candidates(4 * chosen.len(), features.columns(), control)?;
            Ok::<_, Error>((PivotPairs::new(kernel, features, &chosen), chosen, memory))
        };
        let (mut pairs, mut chosen, mut _memory) = candidates(options.candidates())?;
        check_diagonal(&pairs)?;
        let mut factor = pivoted::factor(&pairs, options.limits(), control)?;
        if is_indefinite(factor.negative) {
            (pairs, chosen, _memory) = candidates(options.landmarks)?;
            factor = positive_part(&pairs, control)?;
        }
        let pivots: Vec<(usize, usize)> = factor.pivots.iter().map(|&pivot| chosen[pivot]).collect();
        let mut numbers: BTreeMap<usize, u32> = pivots.iter().flat_map(|&(a, b)| [(a, 0), (b, 0)]).collect();
        numbers.values_mut().zip(0..).for_each(|(value, number)| *value = number);
        let documents: Vec<usize> = numbers.keys().copied().collect();
        let rows = features.select_rows(&documents).rows_f64(0..documents.len());
        let basis = Basis::new(kernel.clone(), &rows, documents.len(), features.columns());
        let pivots = pivots.iter().map(|(a, b)| (numbers[a], numbers[b])).collect();
        Ok(Self { basis, pivots, factor: factor.factor, negative: factor.negative })
    }

    /// Number of features r: of pivot pairs.
    pub fn dim(&self) -> usize {
        self.pivots.len()
    }

    /// Number of features of a document.
    pub fn width(&self) -> usize {
        self.basis.points.dim
    }

    pub fn kernel(&self) -> &Kernel {
        &self.basis.kernel
    }

    /// psi of the pairs of one query, whose documents are `rows` and have these labels: shape `(pairs, r)`,
    /// row-major, in the order of [`ordered_pairs`].
    ///
    /// # Errors
    /// A different number of features or labels, or an interrupt.
    pub fn features(
        &self,
        features: &Matrix,
        rows: Range<usize>,
        labels: &[f64],
        control: &Control,
    ) -> Result<Vec<f64>> {
        check_size(&"number of labels of a query", labels.len(), rows.len())?;
        let columns = self.columns(features, rows, control)?;
        let pairs = ordered_pairs(labels);
        in_blocks(pairs.len(), self.dim(), control, |block, out| {
            let mut other = vec![0.0; self.dim()];
            for (&(j, l), row) in pairs[block].iter().zip(out.chunks_exact_mut(self.dim())) {
                self.preferences(&columns, j, l, row, &mut other);
            }
            solve_rows(&self.factor, self.dim(), out);
        })
    }

    /// beta = U^-1 w, the coefficients of the pivots.
    ///
    /// # Errors
    /// A number of weights that differs from the number of features.
    pub fn coefficients(&self, w: &[f64]) -> Result<Vec<f64>> {
        coefficients(&self.factor, self.dim(), w)
    }

    /// Scores (3.6) of all documents of a query, given beta; their sum is 0.
    ///
    /// # Errors
    /// A different number of features or coefficients, or an interrupt.
    pub fn scores(&self, features: &Matrix, coefficients: &[f64], control: &Control) -> Result<Vec<f64>> {
        check_coefficients(coefficients.len(), self.dim())?;
        let count = features.rows();
        let columns = self.columns(features, 0..count, control)?;
        let sums = if self.kernel().def.factorizes {
            self.product_sums(&columns, count, coefficients)
        } else {
            self.plain_sums(&columns, count, coefficients, control)?
        };
        Ok(sums.into_iter().map(|sum| sum / count as f64).collect())
    }

    /// Prepares [`Self::scores_in`] for the documents of a query, given beta.
    ///
    /// # Errors
    /// As [`Self::scores`].
    pub fn query(&self, query: &Documents<'_>, coefficients: &[f64], control: &Control) -> Result<PairQuery> {
        check_coefficients(coefficients.len(), self.dim())?;
        let count = query.len();
        let mut values = self.columns(query.features, query.range(), control)?;
        if self.kernel().def.factorizes {
            values = self.product_weights(&values, count, coefficients);
        }
        Ok(PairQuery { count, values })
    }

    /// Mean preferences (1/k) sum_l f(z, x_l) of other documents z over the k documents x_l of a query, given beta.
    ///
    /// # Errors
    /// As [`Self::scores`].
    pub fn scores_in(
        &self,
        query: &PairQuery,
        others: &Matrix,
        coefficients: &[f64],
        control: &Control,
    ) -> Result<Vec<f64>> {
        let (count, width) = (query.count, self.basis.points.len());
        let rows = self.columns(others, 0..others.rows(), control)?;
        let sums: Vec<f64> = if self.kernel().def.factorizes {
            rows.chunks_exact(width).map(|row| dot(row, &query.values)).collect()
        } else {
            // Each document in turn is the last one, after the query's documents.
            let mut columns = query.values.clone();
            columns.resize((count + 1) * width, 0.0);
            let (mut values, mut other) = (vec![0.0; self.dim()], vec![0.0; self.dim()]);
            let mut sum = |row: &[f64]| {
                columns[count * width..].copy_from_slice(row);
                let preference = |l: usize| {
                    control.check()?;
                    self.preferences(&columns, count, l, &mut values, &mut other);
                    Ok(dot(&values, coefficients))
                };
                (0..count).map(preference).sum::<Result<f64>>()
            };
            rows.chunks_exact(width).map(&mut sum).collect::<Result<_>>()?
        };
        Ok(sums.into_iter().map(|sum| sum / count.max(1) as f64).collect())
    }

    /// As [`super::FeatureMap::negative`].
    #[cfg(test)]
    pub fn negative(&self) -> f64 {
        self.negative
    }

    /// A warning if the map clearly differs from the kernel.
    pub fn warning(&self) -> Option<String> {
        warning(self.kernel().def.name, self.negative)
    }

    /// Whether sizes agree, every number is finite, the factor has a positive diagonal, and the rest is not negative.
    pub fn is_valid(&self) -> bool {
        let documents = self.basis.points.len();
        let inside = |number: u32| (number as usize) < documents;
        self.pivots.iter().all(|&(a, b)| inside(a) && inside(b))
            && is_valid_factor(&self.factor, self.dim())
            && (0.0..=f64::MAX).contains(&self.negative)
    }

    /// Shape `(rows, documents of the basis)`: E of each document with each of the basis where the kernel
    /// factorizes, else q.
    fn columns(&self, features: &Matrix, rows: Range<usize>, control: &Control) -> Result<Vec<f64>> {
        let points = &self.basis.points;
        check_width(features.columns(), points.dim)?;
        in_blocks(rows.len(), points.len(), control, |block, out| {
            let x = features.rows_f64(rows.start + block.start..rows.start + block.end);
            points.inner_of(self.kernel().def.inner, &x, 0..points.len(), out);
            if self.kernel().def.factorizes {
                self.kernel().outer(out);
            }
        })
    }

    /// H of a pair of documents with each pivot.
    fn preferences(&self, columns: &[f64], j: usize, l: usize, out: &mut [f64], other: &mut [f64]) {
        let width = self.basis.points.len();
        let (first, second) = (&columns[j * width..(j + 1) * width], &columns[l * width..(l + 1) * width]);
        let factorizes = self.kernel().def.factorizes;
        let join = |x: f64, y: f64| if factorizes { x * y } else { x + y };
        for ((&(a, b), straight), crossed) in self.pivots.iter().zip(&mut *out).zip(&mut *other) {
            let (a, b) = (a as usize, b as usize);
            *straight = join(first[a], second[b]);
            *crossed = join(first[b], second[a]);
        }
        if !factorizes {
            self.kernel().outer(out);
            self.kernel().outer(other);
        }
        out.iter_mut().zip(other).for_each(|(straight, crossed)| *straight -= *crossed);
    }

    /// sum_l f(x_j, x_l) of each document j = E_j.v.
    fn product_sums(&self, columns: &[f64], count: usize, beta: &[f64]) -> Vec<f64> {
        let width = self.basis.points.len();
        let v = self.product_weights(columns, count, beta);
        (0..count).map(|j| dot(&columns[j * width..(j + 1) * width], &v)).collect()
    }

    /// v with v_a += beta_p S_b and v_b -= beta_p S_a for each pivot (a, b), S the sum of all E_l.
    fn product_weights(&self, columns: &[f64], count: usize, beta: &[f64]) -> Vec<f64> {
        let width = self.basis.points.len();
        let row = |j: usize| &columns[j * width..(j + 1) * width];
        let mut sums = vec![0.0; width];
        (0..count).for_each(|l| sums.iter_mut().zip(row(l)).for_each(|(sum, value)| *sum += value));
        let mut v = vec![0.0; width];
        for (&(a, b), beta) in self.pivots.iter().zip(beta) {
            v[a as usize] += beta * sums[b as usize];
            v[b as usize] -= beta * sums[a as usize];
        }
        v
    }

    /// The same sums pair by pair.
    fn plain_sums(&self, columns: &[f64], count: usize, beta: &[f64], control: &Control) -> Result<Vec<f64>> {
        let after = |j: usize| -> Result<Vec<f64>> {
            let (mut values, mut other) = (vec![0.0; self.dim()], vec![0.0; self.dim()]);
            let one = |l: usize| {
                control.check()?;
                self.preferences(columns, j, l, &mut values, &mut other);
                Ok(dot(&values, beta))
            };
            (j + 1..count).map(one).collect()
        };
        let upper: Vec<Vec<f64>> = if count <= TILE {
            (0..count).map(after).collect::<Result<_>>()?
        } else {
            parallel::try_map(count, after)?
        };
        let mut sums = vec![0.0; count];
        for (j, values) in upper.iter().enumerate() {
            for (l, f) in (j + 1..).zip(values) {
                sums[j] += f;
                sums[l] -= f;
            }
        }
        Ok(sums)
    }
}

/// Pairs (j, l) with y_j > y_l, by j and then by l.
pub fn ordered_pairs(labels: &[f64]) -> Vec<(usize, usize)> {
    each_pair(labels).collect()
}

fn each_pair(labels: &[f64]) -> impl Iterator<Item = (usize, usize)> + '_ {
    let below =
        move |j: usize| (0..labels.len()).filter(move |&l| labels[j] > labels[l]).map(move |l| (j, l));
    (0..labels.len()).flat_map(below)
}

/// Pairs as one query of documents for a linear solver: the rows of psi with label 1 and a last row 0 with
/// label 0, whose pairs are the rows of psi.
pub fn as_documents(mut psi: Vec<f64>, dim: usize) -> (Vec<f64>, Vec<f64>) {
    let mut labels = vec![1.0; psi.len().checked_div(dim).unwrap_or(0)];
    psi.resize(psi.len() + dim, 0.0);
    labels.push(0.0);
    (psi, labels)
}

/// Rows of the two documents of the candidates: all pairs, or a sample where they are many.
fn sampled_pairs(offsets: &[usize], labels: &[f64], count: usize, seed: u64) -> Vec<(usize, usize)> {
    let counts: Vec<usize> =
        offsets.windows(2).map(|bounds| pair_count(&labels[bounds[0]..bounds[1]]) as usize).collect();
    let chosen = sample(counts.iter().sum(), count, seed);
    let mut rest = &chosen[..];
    let mut pairs = Vec::with_capacity(chosen.len());
    let mut first = 0;
    for (bounds, count) in offsets.windows(2).zip(counts) {
        let (here, after) = rest.split_at(rest.partition_point(|&pair| pair < first + count));
        if !here.is_empty() {
            let numbered = (first..).zip(each_pair(&labels[bounds[0]..bounds[1]]));
            let wanted = numbered.filter(|(number, _)| here.binary_search(number).is_ok());
            pairs.extend(wanted.map(|(_, (j, l))| (bounds[0] + j, bounds[0] + l)));
        }
        rest = after;
        first += count;
    }
    pairs
}
