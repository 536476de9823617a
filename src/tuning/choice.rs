//! The best setting of a search, and the table of all.

use serde_json::{Value, json};

use super::{Score, Search, SearchRows, Setting};
use crate::algorithm::TrainingSpec;
use crate::control::Control;
use crate::error::Result;
use crate::select::argmax;

/// The result of a search.
#[derive(Debug)]
pub struct Choice {
    /// The training with the chosen setting; the first one if the metric has no value for any.
    pub spec: Box<dyn TrainingSpec>,
    /// The table of all settings, for reports.
    pub report: Value,
    /// What the caller should know.
    pub warnings: Vec<String>,
}

impl Search {
    /// The setting with the best mean over the folds, the first of equal ones.
    ///
    /// # Errors
    /// Those of [`Self::scores`].
    pub fn best(&self, rows: &SearchRows, control: &Control) -> Result<Choice> {
        let groups = 0..self.groups().len();
        let scores: Vec<Vec<Score>> =
            groups.map(|group| self.scores(rows, group, control)).collect::<Result<_>>()?;
        // 1. The table.
        let (mut settings, mut folds, mut means) = (Vec::new(), Vec::new(), Vec::new());
        for (group, scores) in self.groups().iter().zip(&scores) {
            for (setting, scores) in group.settings.iter().zip(scores.chunks(rows.folds.count())) {
                let values: Vec<Option<f64>> = scores.iter().map(|score| score.value).collect();
                means.push(mean(&values));
                settings.push(setting);
                folds.push(values);
            }
        }
        // 2. The best.
        let better = self.metric.def().better;
        let chosen = argmax(&means, better);
        let setting = settings[chosen.unwrap_or(0)];
        let mut warnings = Vec::new();
        if chosen.is_none() {
            warnings.push(format!(
                "cross-validation could not compare settings: {} has no value on the held-out queries; the first setting is \
                 used. Metrics with gains need a relevance above 0, most others one of at least 1",
                self.metric.name()
            ));
        }
        let line = |number: usize| {
            let Setting { values, .. } = settings[number];
            json!({ "setting": values, "value": means[number], "folds": folds[number] })
        };
        let table: Vec<Value> = (0..settings.len()).map(line).collect();
        let report = json!({
            "metric": self.metric.name(),
            "held_out": rows.folds.held_out(),
            "setting": setting.values,
            "value": chosen.and_then(|chosen| means[chosen]),
            "settings": table,
        });
        Ok(Choice { spec: self.spec(setting)?, report, warnings })
    }
}

/// The mean of the values that are defined.
fn mean(values: &[Option<f64>]) -> Option<f64> {
    let defined: Vec<f64> = values.iter().flatten().copied().collect();
    (!defined.is_empty()).then(|| defined.iter().sum::<f64>() / defined.len() as f64)
}
