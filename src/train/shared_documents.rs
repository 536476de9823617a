//! Queries that share documents, as the contests of a season do (rule 2.31).
//!
//! Folds of queries train on the documents that they hold out. A function that knows how good these are has a good value, whatever
//! it knows of new documents. Where documents fall into groups, the training is repeated with folds of whole groups.

use std::collections::HashMap;

use super::algorithm::{Trained, TrainingSet, TrainingSpec};
use super::select::Selection;
use crate::base::{Control, Error, Result, Ticks};
use crate::data::{Dataset, Id};

/// Passes over the documents. Groups of long chains of queries may stay in parts.
const PASSES: usize = 4;
/// A group has at most this part of the queries, so that each can be held out.
const PART: usize = 5;
/// With more documents the second training would take long.
const MOST_DOCUMENTS: usize = 100_000;

/// Groups of queries with common documents. `None` unless documents have two rows on average, and the groups can be held out.
fn groups(data: &Dataset) -> Option<Vec<Id>> {
    let (mut ticks, mut documents) = (Ticks::default(), HashMap::new());
    let mut groups: Vec<usize> = (0..data.n_queries()).collect();
    for query in (0..PASSES).flat_map(|_| 0..data.n_queries()) {
        ticks.add(64 * data.rows(query).len());
        for id in &data.doc_ids[data.rows(query)] {
            let group: &mut usize = documents.entry(id).or_insert(groups[query]);
            groups[query] = groups[query].min(*group);
            *group = groups[query];
        }
    }
    let mut sizes = vec![0; groups.len()];
    groups.iter().for_each(|group| sizes[*group] += 1);
    let are_small = sizes.iter().all(|size| PART * size <= groups.len());
    (are_small && 2 * documents.len() <= data.n_docs())
        .then(|| groups.into_iter().map(|group| Id::Integer(group as i64)).collect())
}

/// What validation finds if queries with common documents are held out together; `None` if they cannot be, or already are.
///
/// # Errors
/// An interrupt; too little memory.
pub fn held_out(spec: &dyn TrainingSpec, set: &TrainingSet, control: &Control) -> Result<Option<Selection>> {
    let TrainingSet { data, summaries, dependence, .. } = set;
    let by_query = spec.fold_options().contains(&"group_by") && data.fold_keys.bytes() == 0;
    let groups = if by_query && data.n_docs() <= MOST_DOCUMENTS { groups(data) } else { None };
    let Some(groups) = groups else { return Ok(None) };
    let _memory = control.reserve(data.bytes(), "a copy of the rows", "use fewer rows")?;
    let mut data = data.clone();
    data.fold_keys.groups = groups;
    let (summaries, dependence) = (summaries.clone(), *dependence);
    match spec.fit(TrainingSet { data, validation: None, summaries, dependence }, control) {
        Err(Error::Data(_)) => Ok(None), // The judged queries are one group.
        trained => Ok(trained?.selection),
    }
}

/// A warning if a training has a better value than with whole groups held out, by more than a standard error.
pub fn warning(trained: &Trained, held_out: Option<&Selection>) -> Option<String> {
    let (by_query, by_group) = (trained.selection.as_ref()?, held_out?);
    let (value, other) = (by_query.value()?, by_group.value()?);
    (by_query.better().sign() * (value - other) > by_query.error?.error).then(|| {
        format!(
            "{} is {value:.4} on held-out queries, but {other:.4} if the other queries of their documents are held out too; if later \
             queries rank other documents, name a column that has one value for queries with common documents, such as a season, with \
             the option 'group_by'",
            by_query.metric
        )
    })
}
