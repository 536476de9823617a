//! Scores of the documents of whole queries.

use std::sync::Arc;

use rayon::prelude::*;

use super::cache::FitCache;
use crate::control::Control;
use crate::data::{Dataset, Documents};
use crate::error::{Error, Result};
use crate::model::{Key, Model};
use crate::ranker::{Function, Target};

/// Scores of a data set.
#[derive(Debug)]
pub struct Scored {
    /// One per document, in the order of the data set; higher is better.
    pub scores: Vec<f64>,
    /// Queries whose function was stored in the model.
    pub seen: usize,
    /// Queries whose function was fitted in this call.
    pub fitted: usize,
    /// What the caller should know.
    pub warnings: Vec<String>,
}

/// Scores every document; fits the functions of novel queries in the current thread pool.
///
/// # Errors
/// Another number of features than in training, query features that are not there, an interruption.
pub fn score(model: &Model, key: Key, data: &Dataset, cache: &FitCache, control: &Control) -> Result<Scored> {
    let (found, expected) = (data.features.columns(), model.card.features.len());
    if found != expected {
        return Err(Error::Shape { what: "number of features".to_owned(), found, expected });
    }
    let mut scored = Scored { scores: Vec::new(), seen: 0, fitted: 0, warnings: Vec::new() };
    let functions = functions(model, key, data, cache, control, &mut scored)?;
    let scaled = model.scaling.matrix(&data.features, &data.offsets, control)?;
    let per_query = |query: usize| {
        let documents =
            Documents { features: &scaled, start: data.offsets[query], end: data.offsets[query + 1] };
        functions[query].scores(&documents)
    };
    scored.scores = (0..data.n_queries()).flat_map(per_query).collect();
    if scored.scores.iter().all(|score| score.is_finite()) {
        Ok(scored)
    } else {
        Err(Error::Data(super::point::BEYOND.to_owned()))
    }
}

/// The function of every query: stored, kept from an earlier call, or fitted now.
fn functions(
    model: &Model,
    key: Key,
    data: &Dataset,
    cache: &FitCache,
    control: &Control,
    scored: &mut Scored,
) -> Result<Vec<Arc<Function>>> {
    let features = match model.ranker.query_rule() {
        None => vec![Vec::new(); data.n_queries()],
        Some(rule) => {
            let varying = rule.varying(data);
            if !varying.is_empty() {
                let list = varying.join(", ");
                scored
                    .warnings
                    .push(format!("query features that vary within a query (their mean is used): {list}"));
            }
            rule.features(data)?.rows().into_iter().map(|row| row.to_vec()).collect()
        }
    };
    let known: Vec<Option<Arc<Function>>> = (0..data.n_queries())
        .map(|query| {
            let target = Target { id: Some(&data.query_ids[query]), features: &features[query] };
            let stored = model.ranker.stored(&target);
            scored.seen += usize::from(stored.is_some());
            stored.or_else(|| without_fitting(model, key, &features[query], cache))
        })
        .collect();
    if model.ranker.knows_only_stored() && scored.seen < data.n_queries() {
        let novel = data.n_queries() - scored.seen;
        scored.warnings.push(format!(
            "{novel} queries are novel; '{}' has no function for them, so their documents score 0",
            model.card.algorithm
        ));
    }
    scored.fitted = known.iter().filter(|function| function.is_none()).count();
    control.expect(scored.fitted);
    known
        .into_par_iter()
        .zip(features)
        .map(|(known, features)| known.map_or_else(|| fit(model, key, &features, cache, control), Ok))
        .collect()
}

/// A novel query's function where it takes no fitting: kept from an earlier call, or 0 for all.
fn without_fitting(model: &Model, key: Key, features: &[f64], cache: &FitCache) -> Option<Arc<Function>> {
    if model.ranker.knows_only_stored() {
        let weights = vec![0.0; model.ranker.width()];
        return Some(Arc::new(Function { weights, objective: 0.0, gap: 0.0 }));
    }
    cache.get(key, features)
}

fn fit(
    model: &Model,
    key: Key,
    features: &[f64],
    cache: &FitCache,
    control: &Control,
) -> Result<Arc<Function>> {
    let function = Arc::new(model.ranker.fit(features, control)?);
    cache.put(key, features, &function);
    control.step();
    Ok(function)
}
