//! Plots of features: their weights and their importance.

use super::{first_name, model_name};
use crate::apply::{FeatureWeight, function_weights};
use crate::base::error::{Error, Result};
use crate::data::QueryValue;
use crate::plot::{Bar, Bars, counted};
use crate::sqlite::functions::importance::IMPORTANCE;
use crate::sqlite::functions::inspect::{function_of, open_model, optional_query};
use crate::sqlite::functions::ranking_call::RankingCall;
use crate::sqlite::glue::state::ModelHandle;
use crate::sqlite::glue::value::Output;
use crate::sqlite::glue::vtab::Call;
use crate::train::options::Use;

/// `ltr_plot('weights', model [, query_features])`: the weights of `ltr_weights`, the largest first.
pub fn weights(call: &Call<'_>) -> Result<String> {
    let handle = open_model(call)?;
    let query = optional_query(call, 1)?;
    draw_weights(call, &handle, query.as_deref(), &first_name(call, &handle.model)?)
}

/// Draws the weights of a query's function. `name`: that of the model.
///
/// # Errors
/// A model without weights.
pub fn draw_weights(
    call: &Call<'_>,
    handle: &ModelHandle,
    query: Option<&[QueryValue]>,
    name: &str,
) -> Result<String> {
    let function = function_of(call, handle, query)?;
    let bar = |weight: FeatureWeight| Bar { name: weight.feature, value: weight.weight, interval: None };
    let bars: Vec<Bar> = function_weights(&handle.model, &function)?.into_iter().map(bar).collect();
    if bars.is_empty() {
        return Err(Error::Unsupported("the model has no features".to_owned()));
    }
    let count = counted(bars.len(), "feature", "features");
    let negative = if bars.iter().any(|bar| bar.value < 0.0) { "; orange is negative" } else { "" };
    let mut plot = Bars {
        title: format!("Weights of {name}"),
        subtitle: format!("Weights of {count} after scaling, the largest first{negative}"),
        axis: "weight".to_owned(),
        rows: bars,
    };
    plot.sort(f64::abs);
    plot.draw()
}

/// `ltr_plot('importance', model, source [, options])`: the losses of `ltr_importance` by its first metric.
pub fn importance(call: &Call<'_>) -> Result<String> {
    let rows: Vec<Vec<Output>> = (IMPORTANCE.execute)(call)?.collect::<Result<_>>()?;
    let metric = match rows.first().map(|row| &row[1]) {
        Some(Output::Text(metric)) => metric.clone(),
        _ => return Err(Error::Unsupported("the model has no features".to_owned())),
    };
    let bar = |row: Vec<Output>| match <[Output; 6]>::try_from(row) {
        Ok([Output::Text(name), Output::Text(of), _, Output::Real(value), low, high]) if of == metric => {
            let interval = if let (Output::Real(low), Output::Real(high)) = (low, high) {
                Some((low, high))
            } else {
                None
            };
            Some(Bar { name, value, interval })
        }
        _ => None,
    };
    let bars: Vec<Bar> = rows.into_iter().filter_map(bar).collect();
    if bars.is_empty() {
        return Err(Error::Data(format!("{metric} has no value for any query of the source")));
    }
    let name = model_name(call, call.argument(0), &RankingCall::new(call, Use::Importance)?)?;
    let mut plot = Bars {
        title: format!("Importance of features in {name}"),
        subtitle: format!(
            "Loss of {metric} if a feature is permuted within queries, with its confidence interval"
        ),
        axis: format!("loss of {metric}"),
        rows: bars,
    };
    plot.sort(std::convert::identity);
    plot.draw()
}
