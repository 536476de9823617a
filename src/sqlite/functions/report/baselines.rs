//! Simpler rankings beside the model: the previous version, the best single feature, a random order.

use rusqlite::types::ValueRef;

use super::{Measured, Subject, measured, text_of};
use crate::apply::{METRIC_COST, evaluate};
use crate::base::control::Control;
use crate::base::error::Result;
use crate::cost::metric::Undefined;
use crate::plot::{Bar, Bars, Page, counted, shortened};
use crate::sqlite::functions::compare::other_queries;
use crate::sqlite::functions::plot::ranked::draw_pair;
use crate::sqlite::functions::ranking_call::{NO_VALUES, RankingCall};
use crate::sqlite::glue::vtab::Call;
use crate::train::select::fold_numbers;
use crate::train::single_feature::{CrossFitted, cross_fitted, order_by};

/// Folds of the queries in which a single feature is chosen.
const FOLDS: usize = 5;

/// Bars of the model and of simpler rankings; each query with this version and the previous one.
pub fn compare(call: &Call<'_>, subject: &Subject<'_>, page: &mut Page) -> Result<()> {
    let Subject { request, measured: Measured { judged, evaluation, .. }, .. } = subject;
    let metric = subject.metric();
    let bar = |name: String, value: Option<f64>| value.map(|value| Bar { name, value, interval: None });
    let mut bars: Vec<Option<Bar>> = vec![bar("this model".to_owned(), evaluation.means[0])];
    let (mut plots, mut notes) = (Vec::new(), Vec::new());
    // 1. The previous version, if it can rank these rows.
    if let Some((name, version)) = &subject.previous {
        match measure_previous(call, subject, &format!("{name}@{version}")) {
            Ok(found) => {
                bars.push(bar(format!("version {version} (previous)"), found.evaluation.means[0]));
                plots.extend(draw_pair(
                    metric,
                    &judged.data.query_ids,
                    [
                        (&subject.name, evaluation),
                        (&format!("{name} (version {version})"), &found.evaluation),
                    ],
                )?);
                if found.judged.in_training {
                    notes.push(format!(
                        "Version {version} was trained on these rows, so its value is too good."
                    ));
                }
            }
            Err(error) => {
                notes.push(format!("The previous version could not be measured: {}", text_of(error)?));
            }
        }
    }
    // 2. The best single feature, and a random order: all documents have the same score.
    if let Some(found) = best_feature(call, subject)? {
        let CrossFitted { value, chosen } = found;
        let name =
            if let [(only, _)] = &chosen[..] { only.clone() } else { "best single feature".to_owned() };
        bars.push(bar(name, Some(value)));
        let folds = |(name, count): &(String, usize)| {
            format!("{} in {}", shortened(&order_by(name), 30), counted(*count, "fold", "folds"))
        };
        let chosen: Vec<String> = chosen.iter().map(folds).collect();
        notes.push(format!(
            "The best single feature is chosen by cross-fitting: for each fold of the queries on the other folds, and \
             measured on that fold. Chosen: {}.",
            chosen.join(", ")
        ));
    }
    let undefined = request.options.choice("undefined")?.unwrap_or_default();
    let same = vec![0.0; judged.scores.len()];
    let operations = same.len().saturating_mul(METRIC_COST);
    let work =
        |control: &Control| evaluate(&judged.data, &same, std::slice::from_ref(metric), undefined, control);
    bars.push(bar(
        "random order".to_owned(),
        request.limits.run_sized(call.connection, operations, work)?.means[0],
    ));
    let bars: Vec<Bar> = bars.into_iter().flatten().collect();
    if bars.is_empty() {
        page.paragraph("The metric has no value for any query: no query has a relevant document.");
        return Ok(());
    }
    let bars = Bars {
        title: format!("{} of simpler rankings", metric.name()),
        subtitle: "Mean over the queries of this source".to_owned(),
        axis: metric.name(),
        rows: bars,
    };
    plots.insert(0, bars.draw()?);
    page.figures(&plots);
    notes.iter().for_each(|note| page.paragraph(note));
    Ok(())
}

/// The first metric of the previous version on the same source.
fn measure_previous(call: &Call<'_>, subject: &Subject<'_>, previous: &str) -> Result<Measured> {
    let request = subject.request;
    let model = ValueRef::Text(previous.as_bytes());
    let (options, limits) = (request.options.clone(), request.limits.clone());
    let request = RankingCall::of(call, model, call.argument(1), NO_VALUES, options, limits)?;
    let found = measured(call, &request, &subject.metrics[..1])?;
    if found.judged.data.query_ids != subject.measured.judged.data.query_ids {
        return Err(other_queries(&request));
    }
    Ok(found)
}

/// The best ranking by one feature, cross-fitted; `None` without features, or with one query.
fn best_feature(call: &Call<'_>, subject: &Subject<'_>) -> Result<Option<CrossFitted>> {
    let Subject { request, measured: Measured { judged, evaluation, .. }, .. } = subject;
    let (data, constraint) = (&judged.data, request.constraint()?);
    let undefined: Undefined = request.options.choice("undefined")?.unwrap_or_default();
    // 1. Folds of the queries that have a value.
    let counts: Vec<bool> =
        evaluation.values.iter().map(|values| undefined.resolve(values[0]).is_some()).collect();
    let folds = counts.iter().filter(|counts| **counts).count().min(FOLDS);
    if folds < 2 {
        return Ok(None);
    }
    let fold_of = fold_numbers(&data.query_ids, &counts, folds, 0);
    // 2. Every feature, ascending and descending.
    let operations = data.n_docs().saturating_mul(data.names.len()).saturating_mul(2 * METRIC_COST);
    let measure = (subject.metric(), undefined);
    let work = |control: &Control| cross_fitted(data, measure, constraint, (folds, &fold_of), control);
    request.limits.run_sized(call.connection, operations, work)
}
