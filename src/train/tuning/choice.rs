//! The setting that a search chooses, and the results of the others.

use super::settings::{PATHS, Setting};
use super::{Search, SearchRows};
use crate::base::{Control, Result};
use crate::cost::metric::StandardError;
use crate::math::compare;
use crate::train::algorithm::TrainingSpec;
use crate::train::options::OPTIONS;
use crate::train::select::{Curve, FoldsBy, Searched, Selection, SelectionReport, Split, argmax};
use serde_json::{Map, Value, json};

/// The result of a search.
pub struct Choice {
    /// The training with the chosen setting; the first one if the metric has no value for any.
    pub spec: Box<dyn TrainingSpec>,
    /// The table of all settings, for reports.
    pub report: Value,
    /// The value of the chosen setting, as other trainings report the value of their lambda.
    pub validation: SelectionReport,
    /// Warnings for the caller.
    pub warnings: Vec<String>,
}

/// A setting with its values.
struct SettingLine<'a> {
    setting: &'a Setting,
    /// The value of each fold.
    folds: Vec<Option<f64>>,
    /// The mean over the folds that have a value.
    mean: Option<f64>,
    /// The standard error over the held-out queries; `None` if only some of their documents are held out.
    error: Option<StandardError>,
}

impl Search {
    /// The setting with the best mean over the folds, the first of equal ones.
    ///
    /// # Errors
    /// As [`Self::scores`].
    pub fn best(&self, rows: &SearchRows, control: &Control) -> Result<Choice> {
        let lines = self.lines(rows, control)?;
        let means: Vec<Option<f64>> = lines.iter().map(|line| line.mean).collect();
        let chosen = argmax(&means, self.metric.def().better);
        let best = &lines[chosen.unwrap_or(0)];
        let spec = self.spec(best.setting)?;
        let mut warnings = Vec::new();
        if chosen.is_none() {
            warnings.push(format!(
                "cross-validation could not compare settings: {} has no value on the held-out queries; the first setting is \
                 used. Metrics with gains need a relevance above 0, most others one of at least 1",
                self.metric.name()
            ));
        }
        let curves = curves(&lines, best);
        let center = spec.settings().contains_key("prior").then_some("the prior");
        warnings.extend(
            curves.iter().filter_map(|(option, curve)| self.end_warning(option, curve, best, center)),
        );
        let (metric, held_out) = (self.metric.name(), rows.folds.held_out());
        let (option, curve) = curves.into_iter().next().unzip();
        // Later values come from a function that was fitted on other queries.
        let by = FoldsBy::default();
        let split = Split::Queries { held_out: 0, all: 0, folds: rows.folds.number, by };
        let error = best.error.map(|one| StandardError { factor: split.error_factor(), ..one });
        let mut validation = SelectionReport::new(metric.clone(), held_out.clone(), best.mean, error, curve);
        validation.option = option;
        Ok(Choice {
            report: json!({
                "metric": metric,
                "held_out": held_out,
                "setting": best.setting.values,
                "value": best.mean,
                "settings": lines.iter().map(SettingLine::report).collect::<Vec<Value>>(),
            }),
            validation,
            spec,
            warnings,
        })
    }

    /// The values of all settings.
    fn lines(&self, rows: &SearchRows, control: &Control) -> Result<Vec<SettingLine<'_>>> {
        let mut lines = Vec::new();
        for (number, group) in self.groups.iter().enumerate() {
            let scores = self.scores(rows, number, control)?;
            for (setting, scores) in group.settings.iter().zip(scores.chunks(rows.folds.number)) {
                let folds: Vec<Option<f64>> = scores.iter().map(|score| score.value).collect();
                let queries: Vec<(f64, f64)> =
                    scores.iter().flat_map(|score| &score.queries).copied().collect();
                let error = StandardError::of(&queries).filter(|_| rows.folds.are_of_queries());
                lines.push(SettingLine { setting, mean: mean(&folds), folds, error });
            }
        }
        Ok(lines)
    }

    /// A warning if the chosen value of an option is at an end of its array.
    fn end_warning(
        &self,
        option: &'static str,
        curve: &Curve,
        best: &SettingLine<'_>,
        center: Option<&'static str>,
    ) -> Option<String> {
        let used = best.number(option)?;
        let chosen = curve.iter().position(|(value, _)| compare(*value, used).is_eq());
        let rule = OPTIONS.iter().find(|def| def.key == option)?.rule;
        let searched = Searched {
            advice: (!PATHS.contains(&option)).then_some("extend its array"),
            limits: rule.range(),
            center: center.filter(|_| option == "lambda"),
            ..Searched::new(option, used)
        };
        Selection::new(&self.metric, Split::Nothing, curve.clone(), chosen).end_warning(&searched)
    }
}

impl SettingLine<'_> {
    /// The value of an option, if it is a number.
    fn number(&self, option: &str) -> Option<f64> {
        self.setting.values.get(option)?.as_f64()
    }

    /// Values of the other options.
    fn without(&self, option: &str) -> Map<String, Value> {
        let mut values = self.setting.values.clone();
        values.remove(option);
        values
    }

    fn report(&self) -> Value {
        json!({
            "setting": self.setting.values,
            "value": self.mean,
            "error": self.error.map(|error| error.error),
            "folds": self.folds,
        })
    }
}

/// One curve for each option with several numbers, largest first; the other options keep their best values. Lambda or the parameter
/// that replaces it, comes first.
fn curves(lines: &[SettingLine<'_>], best: &SettingLine<'_>) -> Vec<(&'static str, Curve)> {
    let others = OPTIONS.iter().filter(|def| def.searchable && !PATHS.contains(&def.key)).map(|def| def.key);
    let keys = PATHS.iter().copied().chain(others).filter(|key| best.number(key).is_some());
    let curve = |key: &'static str| {
        let rest = best.without(key);
        let along = lines.iter().filter(|line| line.without(key) == rest);
        let mut curve: Curve = along.filter_map(|line| Some((line.number(key)?, line.mean))).collect();
        curve.sort_by(|a, b| compare(b.0, a.0));
        (key, curve)
    };
    keys.map(curve).filter(|(_, curve)| curve.len() > 1).collect()
}

/// The mean of the defined values.
fn mean(values: &[Option<f64>]) -> Option<f64> {
    let defined: Vec<f64> = values.iter().flatten().copied().collect();
    (!defined.is_empty()).then(|| defined.iter().sum::<f64>() / defined.len() as f64)
}
