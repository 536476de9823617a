//! Passes over all documents.
//!
//! A pass goes through the queries in fixed groups, each group on one thread, and adds up what the groups give in their
//! order, so that the number of threads changes no bit. [`ListProblem::risk`] reads documents twice, the second time
//! from the cache. Where a solver looks at several points of one line it works on scores instead: they are linear in w,
//! so that a pass over scores touches no document.

use std::ops::Range;

use rayon::prelude::*;

use super::ListProblem;
use super::block::ListBlock;
use super::product::{add_columns_times, rows_times};
use crate::loss::QueryLoss;
use crate::math::dense::dot;

/// Documents of a group of queries, about.
const GROUP: usize = 2048;

/// A number for every document: for each group, those of its queries one after the other.
pub(super) type PerDocument = Vec<Vec<f64>>;

/// One query in a pass.
struct Query<'p> {
    block: &'p ListBlock,
    loss: &'p dyn QueryLoss,
    weight: f64,
    /// Its documents among those of the group.
    documents: Range<usize>,
}

impl ListProblem<'_> {
    /// R(w); writes a subgradient of it (b, overwritten). One pass.
    pub fn risk(&self, w: &[f64], subgradient: &mut [f64]) -> f64 {
        let of_group = |group: &Range<usize>| {
            let mut gradient = vec![0.0; self.dim()];
            let mut risk = 0.0;
            let (mut scores, mut slope) = (Vec::new(), Vec::new());
            for Query { block, loss, weight, documents } in self.queries(group) {
                scores.resize(documents.len(), 0.0);
                slope.resize(documents.len(), 0.0);
                rows_times(block.slice(), w, &mut scores);
                risk += weight * loss.value_and_subgradient(&scores, &mut slope);
                slope.iter_mut().for_each(|slope| *slope *= weight);
                add_columns_times(block.slice(), &slope, &mut gradient);
            }
            (risk, gradient)
        };
        let parts: Vec<(f64, Vec<f64>)> = self.groups().par_iter().map(of_group).collect();
        subgradient.fill(0.0);
        let mut risk = 0.0;
        for (part, gradient) in parts {
            risk += part;
            subgradient.iter_mut().zip(gradient).for_each(|(sum, part)| *sum += part);
        }
        risk
    }

    /// P(w) for a lambda; writes a subgradient of it (b, overwritten). One pass.
    pub fn objective(&self, lambda: f64, w: &[f64], subgradient: &mut [f64]) -> f64 {
        let risk = self.risk(w, subgradient);
        for (place, (g, w)) in subgradient.iter_mut().zip(w).enumerate() {
            *g += 2.0 * lambda * (w - self.center().map_or(0.0, |center| center[place]));
        }
        risk + lambda * self.distance2(w)
    }

    /// X w of all queries. Reads the documents once.
    pub(super) fn scores(&self, w: &[f64]) -> PerDocument {
        let of_group = |group: &Range<usize>| {
            let mut scores = vec![0.0; self.documents(group)];
            for Query { block, documents, .. } in self.queries(group) {
                rows_times(block.slice(), w, &mut scores[documents]);
            }
            scores
        };
        self.groups().par_iter().map(of_group).collect()
    }

    /// R at these scores; writes c times a subgradient of every loss with respect to its scores. Reads no document.
    pub(super) fn slopes(&self, scores: &PerDocument, slopes: &mut PerDocument) -> f64 {
        let of_group = |((group, scores), slopes): ((&Range<usize>, &Vec<f64>), &mut Vec<f64>)| {
            slopes.resize(scores.len(), 0.0);
            let mut risk = 0.0;
            for Query { loss, weight, documents, .. } in self.queries(group) {
                let slopes = &mut slopes[documents.clone()];
                risk += weight * loss.value_and_subgradient(&scores[documents], slopes);
                slopes.iter_mut().for_each(|slope| *slope *= weight);
            }
            risk
        };
        slopes.resize(scores.len(), Vec::new());
        let groups = self.groups().par_iter().zip(scores).zip(slopes);
        groups.map(of_group).collect::<Vec<f64>>().iter().sum()
    }

    /// R at the scores s + t r and its derivative in t. Reads no document.
    pub(super) fn along(&self, s: &PerDocument, r: &PerDocument, t: f64) -> (f64, f64) {
        let of_group = |((group, s), r): ((&Range<usize>, &Vec<f64>), &Vec<f64>)| {
            let (mut scores, mut slope) = (Vec::new(), Vec::new());
            let (mut risk, mut derivative) = (0.0, 0.0);
            for Query { loss, weight, documents, .. } in self.queries(group) {
                let (s, r) = (&s[documents.clone()], &r[documents]);
                scores.clear();
                scores.extend(s.iter().zip(r).map(|(s, r)| s + t * r));
                slope.resize(scores.len(), 0.0);
                risk += weight * loss.value_and_subgradient(&scores, &mut slope);
                derivative += weight * dot(&slope, r);
            }
            (risk, derivative)
        };
        let parts: Vec<(f64, f64)> = self.groups().par_iter().zip(s).zip(r).map(of_group).collect();
        parts.iter().fold((0.0, 0.0), |(risk, derivative), part| (risk + part.0, derivative + part.1))
    }

    /// X' h. Reads the documents once.
    pub(super) fn columns_times(&self, h: &PerDocument) -> Vec<f64> {
        let of_group = |(group, h): (&Range<usize>, &Vec<f64>)| {
            let mut gradient = vec![0.0; self.dim()];
            for Query { block, documents, .. } in self.queries(group) {
                add_columns_times(block.slice(), &h[documents], &mut gradient);
            }
            gradient
        };
        let parts: Vec<Vec<f64>> = self.groups().par_iter().zip(h).map(of_group).collect();
        sum(self.dim(), parts)
    }

    /// X' L'' X v, the Hessian of R at these scores times v. One pass.
    pub(super) fn hessian_times(&self, scores: &PerDocument, v: &[f64]) -> Vec<f64> {
        let of_group = |(group, scores): (&Range<usize>, &Vec<f64>)| {
            let mut sum = vec![0.0; self.dim()];
            let (mut direction, mut product) = (Vec::new(), Vec::new());
            for Query { block, loss, weight, documents } in self.queries(group) {
                direction.resize(documents.len(), 0.0);
                product.resize(documents.len(), 0.0);
                rows_times(block.slice(), v, &mut direction);
                loss.hessian_times(&scores[documents], &direction, &mut product);
                product.iter_mut().for_each(|product| *product *= weight);
                add_columns_times(block.slice(), &product, &mut sum);
            }
            sum
        };
        let parts: Vec<Vec<f64>> = self.groups().par_iter().zip(scores).map(of_group).collect();
        sum(self.dim(), parts)
    }

    /// For every query its loss at X w and X' g with a subgradient g there, neither weighted. One pass.
    pub(super) fn query_planes(&self, w: &[f64]) -> Vec<(f64, Vec<f64>)> {
        let of_group = |group: &Range<usize>| {
            let of_query = |Query { block, loss, documents, .. }: Query<'_>| {
                let (mut scores, mut slope) = (vec![0.0; documents.len()], vec![0.0; documents.len()]);
                let mut normal = vec![0.0; self.dim()];
                rows_times(block.slice(), w, &mut scores);
                let value = loss.value_and_subgradient(&scores, &mut slope);
                add_columns_times(block.slice(), &slope, &mut normal);
                (value, normal)
            };
            self.queries(group).map(of_query).collect::<Vec<_>>()
        };
        let parts: Vec<Vec<(f64, Vec<f64>)>> = self.groups().par_iter().map(of_group).collect();
        parts.into_iter().flatten().collect()
    }

    /// For every query its loss and its scores, in order, as `visit` makes something of them.
    pub(super) fn each_query<T: Send>(
        &self,
        scores: &PerDocument,
        visit: impl Fn(&dyn QueryLoss, &[f64]) -> T + Sync,
    ) -> Vec<T> {
        let of_group = |(group, scores): (&Range<usize>, &Vec<f64>)| {
            self.queries(group).map(|query| visit(query.loss, &scores[query.documents])).collect::<Vec<T>>()
        };
        let parts: Vec<Vec<T>> = self.groups().par_iter().zip(scores).map(of_group).collect();
        parts.into_iter().flatten().collect()
    }

    /// The queries of a group.
    fn queries<'p>(&'p self, group: &Range<usize>) -> impl Iterator<Item = Query<'p>> {
        let mut start = 0;
        group.clone().map(move |place| {
            let (block, weight) = self.blocks()[place];
            let documents = start..start + block.n_docs();
            start = documents.end;
            Query { block, loss: self.loss_of(place), weight, documents }
        })
    }

    fn documents(&self, group: &Range<usize>) -> usize {
        self.blocks()[group.clone()].iter().map(|(block, _)| block.n_docs()).sum()
    }
}

/// The sum of vectors, in their order.
fn sum(dim: usize, parts: Vec<Vec<f64>>) -> Vec<f64> {
    let mut total = vec![0.0; dim];
    for part in parts {
        total.iter_mut().zip(part).for_each(|(total, part)| *total += part);
    }
    total
}

/// a + t b.
pub(super) fn moved(a: &PerDocument, b: &PerDocument, t: f64) -> PerDocument {
    let of_group = |(a, b): (&Vec<f64>, &Vec<f64>)| a.iter().zip(b).map(|(a, b)| a + t * b).collect();
    a.par_iter().zip(b).map(of_group).collect()
}

/// Runs of queries with about [`GROUP`] documents.
pub(super) fn groups(blocks: &[(&ListBlock, f64)]) -> Vec<Range<usize>> {
    let mut groups = Vec::new();
    let (mut start, mut documents) = (0, 0);
    for (place, (block, _)) in blocks.iter().enumerate() {
        documents += block.n_docs();
        if documents >= GROUP || place + 1 == blocks.len() {
            groups.push(start..place + 1);
            (start, documents) = (place + 1, 0);
        }
    }
    groups
}
