//! Fitting a chosen candidate on all rows.

use std::sync::Arc;

use super::AutoSpec;
use super::documents::{queries, query_loss, reserve_blocks, signed_least_squares};
use super::prepared::{Scaled, block};
use super::trial::Trial;
use crate::base::{Control, Error, Result, parallel};
use crate::data::{Dataset, Scaling};
use crate::learn::kernel::SingleMap;
use crate::learn::solve::{Gram, ListBlock, Slabs};
use crate::learn::space::{Member, Scorer, Space, WeightsOf};
use crate::math::Objective;
use crate::train::averaged::{Fitted, normalizer, total_weight};

/// Approximate number of documents whose kernel features are in memory at a time.
const CHUNK: usize = 16_384;

/// Fits the candidate of a trial at its lambda.
pub(super) fn fit(spec: &AutoSpec, trial: &Trial, scaled: &mut Scaled, control: &Control) -> Result<Fitted> {
    let prepared = scaled.prepare(spec, &trial.candidate, spec.landmarks(), control)?;
    let gram = gram(&prepared.space, prepared.single.as_ref(), &prepared.data, control)?;
    let weight = total_weight(&prepared.data);
    let ridge = trial.lambda() * weight;
    let signs = spec.monotone.signs(&prepared.data, &scaled.scaling)?;
    let w = if signs.is_empty() {
        gram.solve(0.5 * ridge, None)
    } else {
        Some(signed_least_squares(&gram, ridge, &signs, control)).filter(|_| !control.is_canceled())
    };
    control.check()?;
    let large = || Error::Data("features are so large that least squares has no solution".to_owned());
    let w = w.ok_or_else(large)?;
    solved(&gram, (&w, signs.is_empty().then_some(ridge)), weight, scaled.scaling.clone(), &prepared.space)
}

/// The sums of least squares of scaled documents.
fn gram(space: &Space, single: Option<&SingleMap>, data: &Arc<Dataset>, control: &Control) -> Result<Gram> {
    if let Some(map) = single {
        let loss = |query: usize| Ok(query_loss(data, query));
        let queries = queries(data);
        return Slabs { map, features: &data.features, queries: &queries, loss: &loss }.gram(control);
    }
    let longest = (0..data.n_queries()).map(|query| data.rows(query).len()).max().unwrap_or(0);
    let _memory = reserve_blocks(space, data.n_docs().min(CHUNK + longest), 2, control)?;
    let mut gram = Gram::zero(space.dim());
    let mut query = 0;
    while query < data.n_queries() {
        let limit = data.offsets[query] + CHUNK;
        let end = data.offsets.partition_point(|offset| *offset <= limit).saturating_sub(1).max(query + 1);
        let blocks = parallel::try_map(end - query, |number| block(space, data, query + number, control))?;
        let queries: Vec<(&ListBlock, f64)> = blocks.iter().map(|(block, weight)| (block, *weight)).collect();
        gram.add(&Gram::of(space.dim(), &queries)?);
        query = end;
    }
    Ok(gram)
}

/// The function with these weights, for sums over documents with this total weight.
fn solved(
    gram: &Gram,
    (w, ridge): (&[f64], Option<f64>),
    documents: f64,
    scaling: Scaling,
    space: &Space,
) -> Result<Fitted> {
    // w'A w is the sum of squared scores less their means in the query. Without signs (A + ridge I) w = b.
    let b_w: f64 = gram.right().iter().zip(w).map(|(b, w)| b * w).sum();
    let (spread, error) = if let Some(ridge) = ridge {
        (b_w - ridge * w.iter().map(|w| w * w).sum::<f64>(), 0.5 * (gram.square() - b_w))
    } else {
        let error = gram.value(w, &mut vec![0.0; w.len()]);
        (2.0 * (error + b_w) - gram.square(), error)
    };
    let objective = error.max(0.0) / documents;
    let scale = normalizer(spread, documents);
    let mut weights = space.function(w.iter().map(|w| w * scale).collect())?;
    let mut space = space.fitted();
    // Kernels of the same landmarks, in whatever order they were chosen, are evaluated together.
    if let WeightsOf::Documents(basis) = space.weights_of() {
        let (basis, sorted) = basis.sorted(&weights);
        (space, weights) = (Space::of_basis(basis), sorted);
    }
    Ok(Fitted { member: Member { scaling: scaling.into(), space }, weights, factor: scale, objective })
}
