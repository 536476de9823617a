//! Passes over all documents.
//!
//! The queries form fixed groups. One thread processes a group, and the results of the groups are added in their order.
//! So the number of threads changes no bit. An image of w holds the scores of all documents, query after query.

#![allow(clippy::inline_always, reason = "kernels are compiled again for wider registers")]
#![allow(clippy::needless_range_loop, reason = "the packaged library inlines few iterators (`math::lanes`)")]

use std::ops::Range;

use super::ListProblem;
use super::problem::{Group, ListBlock};
use crate::base::control::{Ticks, checkpoint};
use crate::base::parallel;
use crate::cost::loss::QueryLoss;
use crate::data::Slice;
use crate::math::dense::{Element, dot};
use crate::math::lanes::{LANES, Lanes};
use crate::math::optim::Objective;
use crate::math::optim::objective::{axpy, moved};
use crate::math::simd::simd;

/// One query in a pass.
struct Query<'p> {
    block: &'p ListBlock,
    loss: &'p dyn QueryLoss,
    weight: f64,
    /// Its documents among those of the group.
    documents: Range<usize>,
}

impl Objective for ListProblem<'_> {
    fn dim(&self) -> usize {
        self.dim()
    }

    fn image(&self, w: &[f64]) -> Vec<f64> {
        let mut scores = vec![0.0; self.documents()];
        parallel::each_of(self.split(&mut scores), |number, scores| {
            for Query { block, documents, .. } in self.queries(&self.groups()[number]) {
                rows_times(block.slice(), w, &mut scores[documents]);
            }
        });
        scores
    }

    fn linear_image(&self, v: &[f64]) -> Vec<f64> {
        self.image(v)
    }

    fn transposed(&self, h: &[f64]) -> Vec<f64> {
        let (_, sum) = self.sum_groups(|group, sum| {
            let h = &h[group.documents.clone()];
            for Query { block, documents, .. } in self.queries(group) {
                add_columns_times(block.slice(), &h[documents], sum);
            }
            0.0
        });
        sum
    }

    /// Writes c times a subgradient of each loss.
    fn value_at(&self, scores: &[f64], slopes: &mut [f64]) -> f64 {
        let values = parallel::map_of(self.split(slopes), |number, slopes| {
            let group = &self.groups()[number];
            let scores = &scores[group.documents.clone()];
            let mut risk = 0.0;
            for Query { loss, weight, documents, .. } in self.queries(group) {
                let slopes = &mut slopes[documents.clone()];
                risk += weight * loss.value_and_subgradient(&scores[documents], slopes);
                slopes.iter_mut().for_each(|slope| *slope *= weight);
            }
            risk
        });
        values.iter().sum()
    }

    fn value_on_line(&self, s: &[f64], r: &[f64], t: f64) -> (f64, f64) {
        let groups = self.groups();
        let of_group = |number: usize| {
            let group = &groups[number];
            let (s, r) = (&s[group.documents.clone()], &r[group.documents.clone()]);
            let (mut risk, mut derivative) = (0.0, 0.0);
            let mut slope = Vec::new();
            let scores = moved(s, t, r);
            for Query { loss, weight, documents, .. } in self.queries(group) {
                slope.resize(documents.len(), 0.0);
                risk += weight * loss.value_and_subgradient(&scores[documents.clone()], &mut slope);
                derivative += weight * dot(&slope, &r[documents]);
            }
            (risk, derivative)
        };
        let parts = parallel::map(groups.len(), of_group);
        parts.iter().fold((0.0, 0.0), |(risk, derivative), part| (risk + part.0, derivative + part.1))
    }

    /// One pass that reads the documents of a query twice, the second time from the cache.
    fn value(&self, w: &[f64], gradient: &mut [f64]) -> f64 {
        let (risk, sum) = self.sum_groups(|group, sum| {
            let mut risk = 0.0;
            let (mut scores, mut slope) = (Vec::new(), Vec::new());
            for Query { block, loss, weight, documents } in self.queries(group) {
                scores.resize(documents.len(), 0.0);
                slope.resize(documents.len(), 0.0);
                rows_times(block.slice(), w, &mut scores);
                risk += weight * loss.value_and_subgradient(&scores, &mut slope);
                slope.iter_mut().for_each(|slope| *slope *= weight);
                add_columns_times(block.slice(), &slope, sum);
            }
            risk
        });
        gradient.copy_from_slice(&sum);
        risk
    }

    fn hessian_times(&self, scores: &[f64], v: &[f64]) -> Vec<f64> {
        let (_, sum) = self.sum_groups(|group, sum| {
            let scores = &scores[group.documents.clone()];
            let (mut direction, mut product) = (Vec::new(), Vec::new());
            for Query { block, loss, weight, documents } in self.queries(group) {
                direction.resize(documents.len(), 0.0);
                product.resize(documents.len(), 0.0);
                rows_times(block.slice(), v, &mut direction);
                loss.hessian_times(&scores[documents], &direction, &mut product);
                product.iter_mut().for_each(|product| *product *= weight);
                add_columns_times(block.slice(), &product, sum);
            }
            0.0
        });
        sum
    }
}

impl ListProblem<'_> {
    /// For each query its loss at X w, and X' g with a subgradient g there. Neither is weighted.
    pub(super) fn query_planes(&self, w: &[f64]) -> Vec<(f64, Vec<f64>)> {
        self.map_queries(|_, Query { block, loss, documents, .. }| {
            let (mut scores, mut slope) = (vec![0.0; documents.len()], vec![0.0; documents.len()]);
            let mut normal = vec![0.0; self.dim()];
            rows_times(block.slice(), w, &mut scores);
            let value = loss.value_and_subgradient(&scores, &mut slope);
            add_columns_times(block.slice(), &slope, &mut normal);
            (value, normal)
        })
    }

    /// For each query the result of `visit` for its loss and its scores.
    pub(super) fn map_losses<T: Send>(
        &self,
        scores: &[f64],
        visit: impl Fn(&dyn QueryLoss, &[f64]) -> T + Sync,
    ) -> Vec<T> {
        self.map_queries(|group, query| visit(query.loss, &scores[group.documents.clone()][query.documents]))
    }

    fn map_queries<T: Send>(&self, visit: impl Fn(&Group, Query<'_>) -> T + Sync) -> Vec<T> {
        let groups = self.groups();
        let of_group = |number: usize| -> Vec<T> {
            self.queries(&groups[number]).map(|query| visit(&groups[number], query)).collect()
        };
        parallel::map(groups.len(), of_group).into_iter().flatten().collect()
    }

    /// Sums over groups, in their order. `visit` returns a number and adds to a vector, which is 0 for each group.
    fn sum_groups(&self, visit: impl Fn(&Group, &mut [f64]) -> f64 + Sync) -> (f64, Vec<f64>) {
        let groups = self.groups();
        let of_group = |number: usize| {
            let mut vector = vec![0.0; self.dim()];
            (visit(&groups[number], &mut vector), vector)
        };
        let mut sum = (0.0, vec![0.0; self.dim()]);
        for (number, vector) in parallel::map(groups.len(), of_group) {
            sum.0 += number;
            axpy(1.0, &vector, &mut sum.1);
        }
        sum
    }

    fn queries<'p>(&'p self, group: &Group) -> impl Iterator<Item = Query<'p>> {
        let mut start = 0;
        group.queries.clone().map(move |number| {
            let (block, weight) = self.blocks()[number];
            let documents = start..start + block.n_docs();
            start = documents.end;
            checkpoint();
            Query { block, loss: self.loss_of(number), weight, documents }
        })
    }

    /// Number of documents of all queries.
    pub fn documents(&self) -> usize {
        self.groups().last().map_or(0, |group| group.documents.end)
    }

    /// The part of each group of a number per document.
    fn split<'s>(&self, mut rest: &'s mut [f64]) -> Vec<&'s mut [f64]> {
        let split = |group: &Group| rest.split_off_mut(..group.documents.len()).unwrap_or_default();
        self.groups().iter().map(split).collect()
    }
}

// Products of the documents of a query with a vector: s = X w and g += X' h.
//
// Four rows at a time share the loads of w and g. A score has the bits of `math::dense::dot`. A gradient adds four rows
// as `(h0 x0 + h1 x1) + (h2 x2 + h3 x3)`, then the remaining rows one by one. The order does not depend on the width of
// registers.

/// Rows at a time.
const ROWS: usize = 4;

/// s = X w; X is row-major with a row for each number of s.
pub(super) fn rows_times(x: Slice<'_>, w: &[f64], scores: &mut [f64]) {
    match x {
        Slice::F32(x) => score_rows(x, w, scores),
        Slice::F64(x) => score_rows(x, w, scores),
    }
}

/// g += X' h; X is row-major with a row for each number of h.
pub(super) fn add_columns_times(x: Slice<'_>, h: &[f64], gradient: &mut [f64]) {
    match x {
        Slice::F32(x) => add_columns(x, h, gradient),
        Slice::F64(x) => add_columns(x, h, gradient),
    }
}

simd! {
    fn score_rows<'a; T: Element>(x: &'a [T], w: &'a [f64], scores: &'a mut [f64]) {
        let dim = w.len();
        let (fours, rest) = scores.as_chunks_mut::<ROWS>();
        let mut ticks = Ticks::default();
        for (number, scores) in fours.iter_mut().enumerate() {
            ticks.add(dim);
            *scores = dots(four(x, number, dim), w);
        }
        let start = fours.len() * ROWS;
        for (row, score) in (start..).zip(rest) {
            [*score] = dots([&x[row * dim..(row + 1) * dim]], w);
        }
    }
}

simd! {
    fn add_columns<'a; T: Element>(x: &'a [T], h: &'a [f64], gradient: &'a mut [f64]) {
        let dim = gradient.len();
        let (fours, rest) = h.as_chunks::<ROWS>();
        let mut ticks = Ticks::default();
        for (number, h) in fours.iter().enumerate() {
            ticks.add(dim);
            if h.iter().any(|h| *h != 0.0) {
                add_four(four(x, number, dim), h, gradient);
            }
        }
        for (row, h) in (fours.len() * ROWS..).zip(rest).filter(|(_, h)| **h != 0.0) {
            let row = &x[row * dim..(row + 1) * dim];
            gradient.iter_mut().zip(row).for_each(|(g, x)| *g += h * x.to_f64());
        }
    }
}

/// Rows 4 number .. 4 number + 4.
#[inline(always)]
fn four<T>(x: &[T], number: usize, dim: usize) -> [&[T]; ROWS] {
    let start = number * ROWS * dim;
    let x = &x[start..start + ROWS * dim];
    [&x[..dim], &x[dim..2 * dim], &x[2 * dim..3 * dim], &x[3 * dim..]]
}

/// Dot products of R rows with w.
#[inline(always)]
fn dots<T: Element, const R: usize>(rows: [&[T]; R], w: &[f64]) -> [f64; R] {
    let mut sums = [Lanes::ZERO; R];
    let (weights, rest) = w.as_chunks::<LANES>();
    for block in 0..weights.len() {
        let y = Lanes(weights[block]);
        for r in 0..R {
            let values = &rows[r][block * LANES..(block + 1) * LANES];
            let mut x = Lanes::ZERO;
            for lane in 0..LANES {
                x.0[lane] = values[lane].to_f64();
            }
            sums[r].add_product(&x, &y);
        }
    }
    if !rest.is_empty() {
        // Padded: sums with a lane of any number would not stay in registers.
        let y = padded(rest);
        for r in 0..R {
            let x = padded(&rows[r][weights.len() * LANES..w.len()]);
            sums[r].add_product(&x, &y);
        }
    }
    folded(&sums)
}

/// The numbers, then zeros.
#[inline(never)]
fn padded<T: Element>(values: &[T]) -> Lanes {
    let mut lanes = Lanes::ZERO;
    for (lane, value) in values.iter().enumerate() {
        lanes.0[lane] = value.to_f64();
    }
    lanes
}

/// The sum of each. Not inlined, so that compilers keep sums in wide registers until they are stored.
#[inline(never)]
fn folded<const R: usize>(sums: &[Lanes; R]) -> [f64; R] {
    let mut products = [0.0; R];
    for r in 0..R {
        products[r] = sums[r].fold();
    }
    products
}

#[inline(always)]
fn add_four<T: Element>([a, b, c, d]: [&[T]; ROWS], h: &[f64; ROWS], gradient: &mut [f64]) {
    let n = gradient.len();
    let (a, b, c, d) = (&a[..n], &b[..n], &c[..n], &d[..n]);
    for j in 0..n {
        let first = h[0] * a[j].to_f64() + h[1] * b[j].to_f64();
        let second = h[2] * c[j].to_f64() + h[3] * d[j].to_f64();
        gradient[j] += first + second;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::dense::dot;

    #[test]
    fn products_hold_all_terms_whatever_the_sizes() {
        for (n, dim) in (0..10).flat_map(|n| [1, 3, 8, 13, 17].map(|dim| (n, dim))) {
            let number = |i: usize| (i as f64 * 0.37).sin();
            let x: Vec<f64> = (0..n * dim).map(number).collect();
            let single: Vec<f32> = x.iter().map(|x| *x as f32).collect();
            let w: Vec<f64> = (0..dim).map(|i| number(i + 7)).collect();
            let h: Vec<f64> = (0..n).map(|i| if i == 1 { 0.0 } else { number(i + 3) }).collect();
            let mut scores = vec![0.0; n];
            rows_times(Slice::F64(&x), &w, &mut scores);
            let expected: Vec<f64> = x.chunks_exact(dim).map(|row| dot(row, &w)).collect();
            assert_eq!(scores, expected);
            let mut gradient = vec![0.5; dim];
            add_columns_times(Slice::F64(&x), &h, &mut gradient);
            for (index, g) in gradient.iter().enumerate() {
                let sum: f64 = (0..n).map(|row| h[row] * x[row * dim + index]).sum();
                assert!((g - 0.5 - sum).abs() < 1e-13);
            }
            rows_times(Slice::F32(&single), &w, &mut scores);
            let expected: Vec<f64> = single.chunks_exact(dim).map(|row| dot(row, &w)).collect();
            assert_eq!(scores, expected);
            let mut rounded = vec![0.5; dim];
            add_columns_times(Slice::F32(&single), &h, &mut rounded);
            assert!(rounded.iter().zip(&gradient).all(|(a, b)| (a - b).abs() < 1e-5));
        }
    }
}
