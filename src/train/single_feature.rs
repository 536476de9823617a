//! The best ranking by a single feature, which a model should surpass.
//!
//! Every feature ranks the queries, ascending and descending. Cost: O(documents log documents) per feature.

use crate::base::{ColumnAdvice, Control, Error, Result, checkpoint, parallel};
use crate::cost::metric::{Mean, Metric, Undefined};
use crate::data::{
    CategoryFeature, Dataset, InputColumn, ListConstraint, names_column, push_down_unselected,
};
use crate::train::select::{Baseline, Gain, Selection, ValidationSpec, argmax, numbers};

/// Queries that judge.
pub struct Judge<'a> {
    /// The data set that holds them. Scaled features are as good as raw ones: scaling keeps the order of each feature.
    pub data: &'a Dataset,
    /// Their indices.
    pub queries: &'a [usize],
}

/// A feature that ranks.
#[derive(Clone, Copy)]
struct SingleFeature {
    feature: usize,
    is_descending: bool,
}

impl SingleFeature {
    /// Factor of the feature in the scores.
    fn sign(self) -> f64 {
        if self.is_descending { 1.0 } else { -1.0 }
    }

    /// The feature and its direction in SQL, or in words if SQL cannot express them.
    fn name(self, data: &Dataset) -> String {
        let inputs = data.categories.inputs(data.names.len());
        let input = inputs.into_iter().find(|input| input.features().contains(&self.feature));
        let name = match input {
            Some(InputColumn::Category(category, features)) => {
                let column = format!("\"{}\"", category.name);
                match category.feature(self.feature - features.start) {
                    CategoryFeature::Value(value) => format!("{column} = '{}'", value.replace('\'', "''")),
                    CategoryFeature::Null => format!("{column} IS NULL"),
                    CategoryFeature::Mean => format!("the mean relevance of {column}"),
                    CategoryFeature::Other => format!("rare values of {column}"),
                }
            }
            _ => format!("\"{}\"", data.names[self.feature]),
        };
        format!("{name}{}", if self.is_descending { " DESC" } else { "" })
    }
}

/// The words of SQL before the name of a ranking by one feature.
pub fn order_by(name: &str) -> String {
    format!("ORDER BY {name}")
}

/// From this fraction of the possible gain on, a feature knows nearly as much as the relevance.
const NEARLY_PERFECT: f64 = 0.98;

/// What to do if the training is not shown to be better than what there is.
pub const CURRENT_ORDER: &str = "set the option 'baseline' to the column that orders the documents today, so that the model \
                                 departs from it only where the judgments show a gain";

/// A warning if validation finds a single feature as good as the model, or as good as nearly any ranking can be.
/// `baseline`: the option; `may_have_baseline`: whether the training accepts one, and has none.
pub fn warning(
    selection: &Selection,
    baseline: Option<&str>,
    may_have_baseline: bool,
    advice: ColumnAdvice<'_>,
) -> Option<String> {
    let (value, best, better) = (selection.value()?, selection.baseline.as_ref()?, selection.better());
    if baseline.is_some_and(|text| names_column(text, &best.column)) {
        return None; // The report compares the model with it.
    }
    let (comparison, otherwise) = if better.sign() * (value - best.value) <= 0.0 {
        // The best of many columns on few queries may be the best by chance, so it isn't proposed as the baseline.
        let way_out = match baseline {
            Some(_) => return None,
            None if may_have_baseline => CURRENT_ORDER,
            None => "check the roles, or try another algorithm",
        };
        ("not better", way_out)
    } else if best.share >= NEARLY_PERFECT {
        ("hardly better", "this feature is all that a ranking needs")
    } else {
        return None;
    };
    Some(format!(
        "on validation {} is {value:.4}, {comparison} than the {:.4} of {} alone; if this feature is known only after users saw \
         the ranking, or is made from the relevance, {}; otherwise {otherwise}",
        selection.metric,
        best.value,
        best.order_by,
        advice.ignore_features(&[&best.column])
    ))
}

/// How rankings are measured.
#[derive(Clone, Copy)]
pub struct Measure<'a> {
    pub metric: &'a Metric,
    pub undefined: Undefined,
    pub constraint: ListConstraint,
}

impl Measure<'_> {
    /// The mean over no queries yet.
    fn no_queries(self) -> Mean {
        Mean::new(self.metric.def(), self.undefined)
    }

    /// The metric of a query by one feature.
    fn value(self, data: &Dataset, query: usize, by: SingleFeature) -> Result<Option<f64>> {
        let score = |row: usize| {
            let value = data.features.at(row, by.feature);
            // Documents without the value come last.
            if value.is_nan() { f64::MIN } else { by.sign() * value }
        };
        let scores: Vec<f64> = data.rows(query).map(score).collect();
        let scores =
            push_down_unselected(self.constraint, data.row_groups(query), scores).map_err(Error::Data)?;
        Ok(self.metric.value(data.labels(query), &scores))
    }
}

/// The best single feature on the held-out queries. `None` if there is only one, and for slots, whose features belong to
/// pairs of document and slot. `selection`: the choice that is compared.
///
/// # Errors
/// An interrupt.
pub(super) fn baseline(
    judges: &[Judge<'_>],
    selection: &Selection,
    validation: &ValidationSpec,
    constraint: ListConstraint,
    control: &Control,
) -> Result<Option<Baseline>> {
    let Some(Judge { data, .. }) = judges.first() else { return Ok(None) };
    let (names, metric) = (&data.names, &validation.metric);
    if names.len() < 2 || constraint == ListConstraint::Slots {
        return Ok(None);
    }
    let measure = Measure { metric, undefined: validation.undefined, constraint };
    // 1. Every feature, on all held-out queries and on each part of them.
    let parts = Parts::of(judges);
    let measured = measured(judges, names.len(), measure, &parts, control)?;
    let values: Vec<Option<f64>> = measured.iter().map(|ranking| ranking.all.value()).collect();
    let best = argmax(&values, metric.def().better);
    let Some((by, value)) = best.and_then(|index| Some((measured[index].by, values[index]?))) else {
        return Ok(None);
    };
    // 2. The gain of the selection over it.
    let gain = gain(judges, selection, measure, (&measured, &parts))?;
    // The fraction of the possible gain.
    let labels = judges.iter().flat_map(|judge| judge.queries.iter().map(|query| judge.data.labels(*query)));
    let of_scores = |scores: fn(&[f64]) -> Vec<f64>| {
        let mut mean = measure.no_queries();
        for labels in labels.clone() {
            checkpoint();
            mean.add(metric.value(labels, &scores(labels)), labels);
        }
        mean.value().unwrap_or_default()
    };
    // Equal scores are a ranking by chance.
    let (chance, best) = (of_scores(|labels| vec![0.0; labels.len()]), of_scores(<[f64]>::to_vec));
    let share = (value - chance) / (best - chance);
    let mut columns = data.categories.input_names(names);
    let inputs = data.categories.inputs(names.len());
    let column = inputs.iter().position(|input| input.features().contains(&by.feature)).unwrap_or_default();
    Ok(Some(Baseline {
        order_by: order_by(&by.name(data)),
        column: columns.swap_remove(column),
        value,
        share: if share.is_finite() { share } else { 0.0 },
        gain,
    }))
}

/// The gain of a selection on each part over the single feature that is best on the other parts.
fn gain(
    judges: &[Judge<'_>],
    selection: &Selection,
    measure: Measure<'_>,
    (measured, parts): (&[Ranking], &Parts),
) -> Result<Option<Gain>> {
    let chosen: Vec<Option<usize>> =
        (0..parts.count).map(|part| best_elsewhere(measured, measure, part)).collect();
    let sign = measure.metric.def().better.sign();
    let (mut values, mut differences) = (selection.values.iter(), Vec::new());
    for (number, judge) in judges.iter().enumerate() {
        for &query in judge.queries {
            checkpoint();
            let (own, part) = (values.next().copied().flatten(), parts.of_query(number, query));
            let (Some(own), Some(index)) = (own, part.and_then(|part| chosen[part])) else { continue };
            let labels = judge.data.labels(query);
            let value = measure.value(judge.data, query, measured[index].by)?;
            let weighted = measure.no_queries().weighted(value, labels);
            differences.extend(weighted.map(|(value, weight)| (sign * (own - value), weight)));
        }
    }
    Ok(Gain::of(&differences, selection.split.error_factor()))
}

/// Parts of the held-out queries.
struct Parts {
    /// For each judge, its queries' parts; empty if all queries are one part.
    of_query: Vec<Vec<Option<usize>>>,
    count: usize,
}

/// Parts of the queries of a single judge.
const PARTS: usize = 5;

impl Parts {
    /// One part per judge; [`PARTS`] parts of the queries if there is one judge.
    fn of(judges: &[Judge<'_>]) -> Self {
        let [judge] = judges else { return Self { of_query: Vec::new(), count: judges.len() } };
        let mut counted = vec![false; judge.data.n_queries()];
        judge.queries.iter().for_each(|query| counted[*query] = true);
        Self { of_query: vec![numbers(judge.data, &counted, PARTS, 0)], count: PARTS }
    }

    fn of_query(&self, judge: usize, query: usize) -> Option<usize> {
        if self.of_query.is_empty() { Some(judge) } else { self.of_query[judge][query] }
    }
}

/// The index of the ranking that is best on the other parts.
fn best_elsewhere(measured: &[Ranking], measure: Measure<'_>, part: usize) -> Option<usize> {
    let elsewhere = |ranking: &Ranking| {
        let mut mean = measure.no_queries();
        let others = ranking.parts.iter().enumerate().filter(|(other, _)| *other != part);
        others.for_each(|(_, part)| mean.merge(part));
        mean.value()
    };
    let values: Vec<Option<f64>> = measured.iter().map(elsewhere).collect();
    argmax(&values, measure.metric.def().better)
}

/// The best single feature, measured on queries that did not choose it.
pub struct CrossFitted {
    /// The mean of the metric.
    pub value: f64,
    /// Names of the chosen rankings with their number of folds, the most frequent first.
    pub chosen: Vec<(String, usize)>,
}

/// The value of choosing a single feature: for each fold of the queries, the ranking that is best on the other folds is
/// measured on this one. `fold_of`: the fold of each query, below `folds`; `None` for queries that do not count.
///
/// # Errors
/// An interrupt.
pub fn cross_fitted(
    data: &Dataset,
    measure: Measure<'_>,
    folds: usize,
    fold_of: &[Option<usize>],
    control: &Control,
) -> Result<Option<CrossFitted>> {
    let queries: Vec<usize> = (0..data.n_queries()).filter(|query| fold_of[*query].is_some()).collect();
    let judges = [Judge { data, queries: &queries }];
    let parts = Parts { of_query: vec![fold_of.to_vec()], count: folds };
    let measured = measured(&judges, data.names.len(), measure, &parts, control)?;
    let mut total = measure.no_queries();
    let mut chosen: Vec<(String, usize)> = Vec::new();
    for fold in 0..folds {
        let Some(index) = best_elsewhere(&measured, measure, fold) else { continue };
        total.merge(&measured[index].parts[fold]);
        let name = measured[index].by.name(data);
        match chosen.iter_mut().find(|(known, _)| *known == name) {
            Some((_, count)) => *count += 1,
            None => chosen.push((name, 1)),
        }
    }
    // Stable: the first fold comes first among equals.
    chosen.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    Ok(total.value().map(|value| CrossFitted { value, chosen }))
}

/// A ranking by one feature, with its metric on all queries and on each part of them.
struct Ranking {
    by: SingleFeature,
    all: Mean,
    parts: Vec<Mean>,
}

/// Every ranking by one of the first `features` features.
fn measured(
    judges: &[Judge<'_>],
    features: usize,
    measure: Measure<'_>,
    parts: &Parts,
    control: &Control,
) -> Result<Vec<Ranking>> {
    let of_feature = |feature: usize| -> Result<[Ranking; 2]> {
        let mut rankings = [true, false].map(|is_descending| Ranking {
            by: SingleFeature { feature, is_descending },
            all: measure.no_queries(),
            parts: vec![measure.no_queries(); parts.count],
        });
        for Ranking { by, all, parts: of_parts } in &mut rankings {
            for (number, Judge { data, queries }) in judges.iter().enumerate() {
                for &query in *queries {
                    control.check()?;
                    let (value, labels) = (measure.value(data, query, *by)?, data.labels(query));
                    all.add(value, labels);
                    if let Some(part) = parts.of_query(number, query) {
                        of_parts[part].add(value, labels);
                    }
                }
            }
        }
        Ok(rankings)
    };
    Ok(parallel::try_map(features, of_feature)?.into_iter().flatten().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{DatasetBuilder, FinishOptions, Id, Missing, NewRow, QueryValues};
    use crate::math::Random;

    const FEATURES: usize = 30;
    const QUERIES: usize = 40;
    const FOLDS: usize = 5;

    /// Queries of 8 documents. Features are noise; feature 3 has `signal` times the grade.
    fn queries(random: &mut Random, signal: f64) -> Dataset {
        let names = (0..FEATURES).map(|feature| format!("f{feature}")).collect();
        let mut builder = DatasetBuilder::new("test", Some(names), Vec::new());
        for query in 0..QUERIES {
            for _ in 0..8 {
                let grade = random.below(3) as f64;
                let row = NewRow {
                    query: Id::Integer(query as i64),
                    doc: None,
                    relevance: Some(grade),
                    doc_weight: None,
                    group: None,
                    query_values: QueryValues::default(),
                };
                builder.begin(row).expect("a row");
                for feature in 0..FEATURES {
                    let signal = if feature == 3 { signal * grade } else { 0.0 };
                    builder.cell(feature, Some(random.symmetric() - signal));
                }
            }
        }
        let options = FinishOptions { missing: Missing::Error, summarized: true, ..FinishOptions::default() };
        builder.finish(options).expect("a data set").0
    }

    fn plain(metric: &Metric) -> Measure<'_> {
        Measure { metric, undefined: Undefined::Skip, constraint: ListConstraint::None }
    }

    fn best_on(data: &Dataset, metric: &Metric, queries: &[usize]) -> (SingleFeature, f64) {
        let judges = [Judge { data, queries }];
        let measured = measured(&judges, FEATURES, plain(metric), &Parts::of(&judges), &Control::default());
        let measured = measured.expect("no interruption");
        let values: Vec<Option<f64>> = measured.iter().map(|ranking| ranking.all.value()).collect();
        let best = argmax(&values, metric.def().better).expect("a value");
        (measured[best].by, values[best].expect("a value"))
    }

    fn fitted(data: &Dataset, metric: &Metric, fold_of: &[Option<usize>]) -> CrossFitted {
        let found = cross_fitted(data, plain(metric), FOLDS, fold_of, &Control::default());
        found.expect("no interruption").expect("a value")
    }

    fn folds() -> Vec<Option<usize>> {
        (0..QUERIES).map(|query| Some(query % FOLDS)).collect()
    }

    #[test]
    fn each_fold_is_measured_with_the_best_feature_of_the_others() {
        let mut random = Random::new(5);
        let metric = Metric::parse("ndcg@5").expect("a metric");
        for signal in [0.0, 0.3, 2.0] {
            let data = queries(&mut random, signal);
            let mut mean = Mean::new(metric.def(), Undefined::Skip);
            for fold in 0..FOLDS {
                let (inside, outside): (Vec<usize>, Vec<usize>) =
                    (0..QUERIES).partition(|query| query % FOLDS == fold);
                let chosen = best_on(&data, &metric, &outside).0;
                for query in inside {
                    let score = |row| chosen.sign() * data.features.at(row, chosen.feature);
                    let scores: Vec<f64> = data.rows(query).map(score).collect();
                    mean.add(metric.value(data.labels(query), &scores), data.labels(query));
                }
            }
            let found = fitted(&data, &metric, &folds());
            let expected = mean.value().expect("a value");
            assert!((found.value - expected).abs() < 1e-12, "{} {expected}", found.value);
            assert_eq!(found.chosen.iter().map(|(_, count)| count).sum::<usize>(), FOLDS);
            if signal > 1.0 {
                assert_eq!(found.chosen, [("\"f3\"".to_owned(), FOLDS)]);
            }
        }
    }

    /// Features without information: chosen and measured on the same queries, the best of them seems good.
    #[test]
    fn noise_is_as_good_as_a_random_order() {
        let mut random = Random::new(6);
        let metric = Metric::parse("ndcg@5").expect("a metric");
        let all: Vec<usize> = (0..QUERIES).collect();
        let (mut cross, mut same, mut one) = (0.0, 0.0, 0.0);
        for _ in 0..30 {
            let data = queries(&mut random, 0.0);
            cross += fitted(&data, &metric, &folds()).value / 30.0;
            same += best_on(&data, &metric, &all).1 / 30.0;
            let mut mean = Mean::new(metric.def(), Undefined::Skip);
            for query in 0..QUERIES {
                let scores: Vec<f64> = data.rows(query).map(|row| data.features.at(row, 0)).collect();
                mean.add(metric.value(data.labels(query), &scores), data.labels(query));
            }
            one += mean.value().expect("a value") / 30.0;
        }
        assert!((cross - one).abs() < 0.02, "{cross} {one}");
        assert!(same > one + 0.05, "{same} {one}");
    }
}
