//! What a score is made of: the function of a query, its weights, and the contribution of each feature.

use std::sync::Arc;

use super::cache::FitCache;
use crate::control::Control;
use crate::error::{Error, Result};
use crate::math::dense::Element;
use crate::model::Target;
use crate::model::{Key, Model};
use crate::space::Function;

/// One feature's part in a score.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// Name of the scaled feature.
    pub feature: String,
    /// Its value before scaling.
    pub value: f64,
    /// Weight times scaled value; the parts of a document add up to its score.
    pub contribution: f64,
}

/// A fit of one function that is still to be run.
pub type Fit<'a> = dyn Fn(&Control) -> Result<Function> + Sync + 'a;

/// The function for a target given by its query features alone (`None` where the caller gave none).
///
/// `run` is called with the scaled query features only where the function must be fitted; it brings what the fit needs
/// and decides on which threads it runs and how it can be stopped.
///
/// # Errors
/// Query features that are missing, too many or not wanted; a model without functions for novel queries.
pub fn function_for(
    model: &Model,
    key: Key,
    query_features: Option<&[f64]>,
    cache: &FitCache,
    run: impl FnOnce(&[f64], &Fit<'_>) -> Result<Function>,
) -> Result<Arc<Function>> {
    model.check_features()?;
    let Some(rule) = model.ranker.query_rule() else {
        if query_features.is_some() {
            let name = &model.card.algorithm;
            return Err(Error::Unsupported(format!(
                "the model '{name}' has one function for all queries and takes no query features"
            )));
        }
        let target = Target { id: None, features: &[] };
        return model
            .ranker
            .stored(&target)
            .ok_or_else(|| Error::Internal("a linear model without function".to_owned()));
    };
    let Some(given) = query_features else {
        let names = rule.names.join(", ");
        return Err(Error::Unsupported(format!(
            "the model's function depends on the query; give the query features ({names}) as one more argument, or use ltr_rank"
        )));
    };
    let features = rule.scaled(given)?;
    if model.ranker.knows_only_stored() {
        return Err(Error::Unsupported(format!(
            "'{}' has functions for its training queries only; use ltr_rank",
            model.card.algorithm
        )));
    }
    if let Some(function) = cache.get(key, &features) {
        return Ok(function);
    }
    let function = Arc::new(run(&features, &|control| model.ranker.fit(&features, control))?);
    cache.put(key, &features, &function);
    Ok(function)
}

/// Name and weight of every scaled feature.
///
/// # Errors
/// A model whose scores are not weighted sums of features.
pub fn function_weights(model: &Model, function: &Function) -> Result<Vec<(String, f64)>> {
    check_linear(model)?;
    let names = model.scaling.names(&model.card.features);
    Ok(names.into_iter().zip(function.weights.iter().copied()).collect())
}

fn check_linear(model: &Model) -> Result<()> {
    if model.capabilities().linear {
        return Ok(());
    }
    Err(Error::Unsupported(
        "the model's functions are not linear in one set of scaled features, so its scores are no weighted sums of them".to_owned(),
    ))
}

/// The parts of the score of one document, given by its features before scaling, in the type of their source.
///
/// Scaled features are rounded to that type, as they are in the score.
///
/// # Errors
/// A model that does not score documents one by one or is not linear; another number of features than in training.
pub fn parts<T: Element>(model: &Model, function: &Function, features: &[T]) -> Result<Vec<Part>> {
    let (found, expected) = (features.len(), model.card.features.len());
    if found != expected {
        return Err(Error::Shape { what: "number of features".to_owned(), found, expected });
    }
    model.check_pointwise()?;
    check_linear(model)?;
    let part = |(place, (name, value)): (usize, (&String, &T))| {
        let value = value.to_f64();
        let scaled = T::from_f64(model.scaling.value(place, value)).to_f64();
        Part { feature: name.clone(), value, contribution: scaled * function.weights[place] }
    };
    Ok(model.card.features.iter().zip(features).enumerate().map(part).collect())
}
