//! The problem, and passes over all of its documents.
//!
//! A pass goes through the queries in fixed groups, each group on one thread, and adds up what the groups give in their
//! order, so that the number of threads changes no bit. Documents are read twice, the second time from the cache.

use std::ops::Range;

use rayon::prelude::*;

use super::block::ListBlock;
use super::check_lambda;
use crate::data::Slice;
use crate::error::{Error, Result};
use crate::loss::ListLoss;
use crate::math::dense::{Element, dot};

/// Documents of a group of queries, about.
const GROUP: usize = 2048;

/// A weighted sum of the losses of queries with a penalty.
#[derive(Debug, Clone)]
pub struct ListProblem<'a> {
    dim: usize,
    blocks: Vec<(&'a ListBlock, f64)>,
    groups: Vec<Range<usize>>,
    loss: &'a ListLoss,
    lambda: f64,
    centre: Option<Vec<f64>>,
}

impl<'a> ListProblem<'a> {
    /// The problem with these queries, whose loss is `loss`, each with its weight c >= 0, and lambda > 0.
    ///
    /// # Errors
    /// When a query has another number of features, or a weight or lambda is out of range.
    pub fn new(
        dim: usize,
        loss: &'a ListLoss,
        blocks: Vec<(&'a ListBlock, f64)>,
        lambda: f64,
    ) -> Result<Self> {
        if let Some((block, _)) = blocks.iter().find(|(block, _)| block.dim() != dim) {
            let what = "number of features of a query".to_owned();
            return Err(Error::Shape { what, found: block.dim(), expected: dim });
        }
        if let Some((_, weight)) = blocks.iter().find(|(_, weight)| !(weight.is_finite() && *weight >= 0.0)) {
            let (got, allowed) = (weight.to_string(), "a finite number of at least 0");
            return Err(Error::value("weight of a query", got, allowed));
        }
        check_lambda(lambda)?;
        let groups = groups(&blocks);
        Ok(Self { dim, blocks, groups, loss, lambda, centre: None })
    }

    /// The problem with the penalty lambda |w - w0|^2.
    ///
    /// # Errors
    /// When w0 has another number of features or a number that is not finite.
    pub fn with_centre(self, centre: Vec<f64>) -> Result<Self> {
        if centre.len() != self.dim {
            let what = "number of features of the centre".to_owned();
            return Err(Error::Shape { what, found: centre.len(), expected: self.dim });
        }
        if !centre.iter().all(|value| value.is_finite()) {
            return Err(Error::Data("the centre of the penalty must be finite numbers".to_owned()));
        }
        Ok(Self { centre: Some(centre), ..self })
    }

    /// Number of features b.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Queries and their weights c.
    pub fn blocks(&self) -> &[(&'a ListBlock, f64)] {
        &self.blocks
    }

    /// The loss.
    pub fn loss(&self) -> &'a ListLoss {
        self.loss
    }

    /// Factor of the penalty.
    pub fn lambda(&self) -> f64 {
        self.lambda
    }

    /// Centre w0 of the penalty, where it is not 0.
    pub fn centre(&self) -> Option<&[f64]> {
        self.centre.as_deref()
    }

    /// |w - w0|^2.
    pub fn distance2(&self, w: &[f64]) -> f64 {
        match &self.centre {
            None => dot(w, w),
            Some(centre) => {
                let difference: Vec<f64> = w.iter().zip(centre).map(|(w, w0)| w - w0).collect();
                dot(&difference, &difference)
            }
        }
    }

    /// R(w); writes a subgradient of it (b, overwritten). One pass.
    pub fn risk(&self, w: &[f64], subgradient: &mut [f64]) -> f64 {
        let of_group = |group: &Range<usize>| {
            let mut gradient = vec![0.0; self.dim];
            let mut risk = 0.0;
            let (mut scores, mut slope) = (Vec::new(), Vec::new());
            for (block, c) in &self.blocks[group.clone()] {
                let x = block.slice();
                scores.resize(block.n_docs(), 0.0);
                slope.resize(block.n_docs(), 0.0);
                rows_times(x, w, &mut scores);
                risk += c * block.loss().value_and_subgradient(&scores, &mut slope);
                slope.iter_mut().for_each(|slope| *slope *= c);
                add_columns_times(x, &slope, &mut gradient);
            }
            (risk, gradient)
        };
        let parts: Vec<(f64, Vec<f64>)> = self.groups.par_iter().map(of_group).collect();
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
            *g += 2.0 * lambda * (w - self.centre.as_ref().map_or(0.0, |centre| centre[place]));
        }
        risk + lambda * self.distance2(w)
    }
}

/// Runs of queries with about [`GROUP`] documents.
fn groups(blocks: &[(&ListBlock, f64)]) -> Vec<Range<usize>> {
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

/// out = X w.
fn rows_times(x: Slice<'_>, w: &[f64], out: &mut [f64]) {
    fn typed<T: Element>(x: &[T], w: &[f64], out: &mut [f64]) {
        out.iter_mut().zip(x.chunks_exact(w.len())).for_each(|(out, row)| *out = dot(row, w));
    }
    match x {
        Slice::F32(x) => typed(x, w, out),
        Slice::F64(x) => typed(x, w, out),
    }
}

/// out += X' g.
fn add_columns_times(x: Slice<'_>, g: &[f64], out: &mut [f64]) {
    fn typed<T: Element>(x: &[T], g: &[f64], out: &mut [f64]) {
        for (row, g) in x.chunks_exact(out.len()).zip(g).filter(|(_, g)| **g != 0.0) {
            out.iter_mut().zip(row).for_each(|(out, x)| *out += g * x.to_f64());
        }
    }
    match x {
        Slice::F32(x) => typed(x, g, out),
        Slice::F64(x) => typed(x, g, out),
    }
}
