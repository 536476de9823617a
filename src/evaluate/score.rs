//! Scores of the documents of whole queries: functions that are not at hand are fitted batch by batch, between which
//! the caller may fetch the blocks of the model that the next batch needs.

use std::sync::Arc;

use rayon::prelude::*;

use super::cache::FitCache;
use crate::control::Control;
use crate::data::{Dataset, Documents};
use crate::error::{Error, Result};
use crate::model::{Factored, Target};
use crate::model::{Key, Model};
use crate::space::Function;

/// Functions fitted between two looks at the blocks that are needed.
const BATCH: usize = 64;

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

/// How far scoring has come.
#[derive(Debug)]
pub enum Progress<'a> {
    /// All the way.
    Done(Scored),
    /// The functions of these queries are to be fitted next, by [`Scoring::go_on`].
    Fit(Box<Scoring<'a>>, Vec<usize>),
}

/// A data set on the way to its scores.
#[derive(Debug)]
pub struct Scoring<'a> {
    model: &'a Model,
    key: Key,
    data: &'a Dataset,
    cache: &'a FitCache,
    /// Query features, scaled; empty where the model asks for none (`n_queries`).
    features: Vec<Vec<f64>>,
    /// The functions that are known (`n_queries`).
    functions: Vec<Option<Arc<Function>>>,
    seen: usize,
    fitted: usize,
    warnings: Vec<String>,
}

impl<'a> Scoring<'a> {
    /// Finds the functions that need no fitting, and the scores where no other is needed.
    ///
    /// # Errors
    /// Another number of features than in training, query features that are not there; those of [`Self::go_on`].
    pub fn start(
        model: &'a Model,
        key: Key,
        data: &'a Dataset,
        cache: &'a FitCache,
        control: &Control,
    ) -> Result<Progress<'a>> {
        if let Some(factored) = model.ranker.factored() {
            return by_id(factored, data).map(Progress::Done);
        }
        Self::new(model, key, data, cache)?.go_on(&[], control)
    }

    /// Fits the functions of these queries in the current thread pool, and scores once all functions are known.
    ///
    /// # Errors
    /// Judgments that are not at hand; scores beyond the range of numbers; an interruption.
    pub fn go_on(mut self, queries: &[usize], control: &Control) -> Result<Progress<'a>> {
        self.fit(queries, control)?;
        let next = self.unfitted();
        if next.is_empty() {
            return self.finish(control).map(Progress::Done);
        }
        Ok(Progress::Fit(Box::new(self), next))
    }

    fn new(model: &'a Model, key: Key, data: &'a Dataset, cache: &'a FitCache) -> Result<Self> {
        let (found, expected) = (data.features.columns(), model.card.features.len());
        if found != expected {
            return Err(Error::Shape { what: "number of features".to_owned(), found, expected });
        }
        let mut warnings = Vec::new();
        let features = query_features(model, data, &mut warnings)?;
        let mut seen = 0;
        let functions = (0..data.n_queries()).map(|query| {
            let target = Target { id: Some(&data.query_ids[query]), features: &features[query] };
            let stored = model.ranker.stored(&target);
            seen += usize::from(stored.is_some());
            stored.or_else(|| without_fitting(model, key, &features[query], cache))
        });
        let functions = functions.collect();
        if model.ranker.knows_only_stored() && seen < data.n_queries() {
            warnings.push(format!(
                "{} queries are novel; '{}' has no function for them, so their documents score 0",
                data.n_queries() - seen,
                model.card.algorithm
            ));
        }
        Ok(Self { model, key, data, cache, features, functions, seen, fitted: 0, warnings })
    }

    /// The next queries whose functions must be fitted; none when all are known.
    fn unfitted(&self) -> Vec<usize> {
        let unknown = (0..self.functions.len()).filter(|query| self.functions[*query].is_none());
        unknown.take(BATCH).collect()
    }

    /// Features of these queries, scaled.
    pub fn targets(&self, queries: &[usize]) -> Vec<&[f64]> {
        queries.iter().map(|query| &self.features[*query][..]).collect()
    }

    fn fit(&mut self, queries: &[usize], control: &Control) -> Result<()> {
        control.expect(queries.len());
        let fit = |query: &usize| {
            let function = Arc::new(self.model.ranker.fit(&self.features[*query], control)?);
            self.cache.put(self.key, &self.features[*query], &function);
            control.step();
            Ok(function)
        };
        let functions: Vec<Arc<Function>> = queries.par_iter().map(fit).collect::<Result<_>>()?;
        self.fitted += functions.len();
        for (query, function) in queries.iter().zip(functions) {
            self.functions[*query] = Some(function);
        }
        Ok(())
    }

    /// Scores every document; every function must be known by now.
    fn finish(self, control: &Control) -> Result<Scored> {
        let Self { model, data, functions, seen, fitted, warnings, .. } = self;
        let scaled = model.scaling.matrix(data.features.clone(), &data.offsets, control)?;
        let space = model.ranker.space();
        let per_query = |(query, function): (usize, &Option<Arc<Function>>)| {
            control.check()?;
            let (start, end) = (data.offsets[query], data.offsets[query + 1]);
            let documents = Documents { features: &scaled, start, end };
            let function =
                function.as_ref().ok_or_else(|| Error::Internal(format!("query {query} has no function")))?;
            let scores = space.scores(&documents, std::iter::once(&function.weights[..]), control)?;
            Ok(scores.concat())
        };
        let scores: Vec<Vec<f64>> = functions.par_iter().enumerate().map(per_query).collect::<Result<_>>()?;
        let scores = scores.concat();
        if scores.iter().all(|score| score.is_finite()) {
            Ok(Scored { scores, seen, fitted, warnings })
        } else {
            Err(Error::Data(super::point::BEYOND.to_owned()))
        }
    }
}

/// Scores of the pairs of users and items of a model without features.
fn by_id(factored: &Factored, data: &Dataset) -> Result<Scored> {
    let (mut seen, mut unknown_items) = (0, 0);
    let mut scores = Vec::with_capacity(data.n_docs());
    for (query, id) in data.query_ids.iter().enumerate() {
        seen += usize::from(factored.user_number(id).is_some());
        let user = factored.user(id);
        for row in data.rows(query) {
            let item = factored.item_number(&data.doc_ids[row]);
            unknown_items += usize::from(item.is_none());
            scores.push(factored.score(&user, item));
        }
    }
    if !scores.iter().all(|score| score.is_finite()) {
        return Err(Error::Data("a score is beyond the range of numbers".to_owned()));
    }
    let unknown_users = data.n_queries() - seen;
    let mut warnings = Vec::new();
    if unknown_users > 0 {
        warnings
            .push(format!("{unknown_users} users are not in the model; the biases of items rank for them"));
    }
    if unknown_items > 0 {
        warnings.push(format!("{unknown_items} rows have items that are not in the model; they score the bias of an item without ratings"));
    }
    Ok(Scored { scores, seen, fitted: 0, warnings })
}

fn query_features(model: &Model, data: &Dataset, warnings: &mut Vec<String>) -> Result<Vec<Vec<f64>>> {
    let Some(rule) = model.ranker.query_rule() else { return Ok(vec![Vec::new(); data.n_queries()]) };
    let varying = rule.varying(data);
    if !varying.is_empty() {
        let list = varying.join(", ");
        warnings.push(format!("query features that vary within a query (their mean is used): {list}"));
    }
    Ok(rule.features(data)?.rows().into_iter().map(|row| row.to_vec()).collect())
}

/// A novel query's function where it takes no fitting: kept from an earlier call, or 0 for all.
fn without_fitting(model: &Model, key: Key, features: &[f64], cache: &FitCache) -> Option<Arc<Function>> {
    if model.ranker.knows_only_stored() {
        let weights = vec![0.0; model.ranker.space().dim()];
        return Some(Arc::new(Function { weights, objective: 0.0, gap: 0.0 }));
    }
    cache.get(key, features)
}
