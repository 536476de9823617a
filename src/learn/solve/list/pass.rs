//! Passes over all documents.
//!
//! The queries form fixed groups. One thread processes a group, and the results of the groups are added in their order.
//! So the number of threads changes no bit. An image of w holds the scores of all documents, query after query.

use std::ops::Range;

use super::block::{ListBlock, add_columns_times, rows_times};
use super::problem::{Group, ListProblem};
use crate::base::{checkpoint, parallel};
use crate::cost::loss::QueryLoss;
use crate::math::{Objective, axpy, dot, moved};

/// One query in a pass.
struct Query<'p> {
    block: &'p ListBlock,
    loss: &'p dyn QueryLoss,
    weight: f64,
    /// The documents among the documents of the group.
    documents: Range<usize>,
}

impl Objective for ListProblem<'_> {
    fn dim(&self) -> usize {
        self.dim()
    }

    fn image(&self, w: &[f64]) -> Vec<f64> {
        let mut scores = vec![0.0; self.documents()];
        parallel::each_of(self.split(&mut scores), |number, scores| {
            for Query { block, documents, .. } in self.queries(&self.groups[number]) {
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
            let group = &self.groups[number];
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
        let groups = &self.groups;
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
        let groups = &self.groups;
        let of_group = |number: usize| -> Vec<T> {
            self.queries(&groups[number]).map(|query| visit(&groups[number], query)).collect()
        };
        parallel::map(groups.len(), of_group).into_iter().flatten().collect()
    }

    /// Sums over groups, in their order. `visit` returns a number and adds to a vector, which is 0 for each group.
    fn sum_groups(&self, visit: impl Fn(&Group, &mut [f64]) -> f64 + Sync) -> (f64, Vec<f64>) {
        let groups = &self.groups;
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
            let (block, weight) = self.blocks[number];
            let documents = start..start + block.n_docs();
            start = documents.end;
            checkpoint();
            Query { block, loss: self.loss_of(number), weight, documents }
        })
    }

    /// Number of documents of all queries.
    pub fn documents(&self) -> usize {
        self.groups.last().map_or(0, |group| group.documents.end)
    }

    /// Splits one number per document by group.
    fn split<'s>(&self, mut rest: &'s mut [f64]) -> Vec<&'s mut [f64]> {
        let split = |group: &Group| rest.split_off_mut(..group.documents.len()).unwrap_or_default();
        self.groups.iter().map(split).collect()
    }
}
