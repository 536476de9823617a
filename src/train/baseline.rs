//! The option `baseline`: training starts from the order of a column.
//!
//! The score is s b(x) + f(x). b is the column in units of its median standard deviation within queries, negated for
//! "-column". s >= 0 minimizes the loss with f = 0. f is penalized towards 0, and f = 0, which is the order of the column, is
//! a candidate of every choice: it is kept unless another candidate is more than a standard error better on held-out queries.

use serde_json::{Map, Value, json};

use super::averaged::Fitted;
use super::select::{Gain, Selection};
use crate::base::{Control, Error, Params, Result};
use crate::cost::loss::{Loss, PairLoss, PairWeights, Shape, least_squares};
use crate::data::{Dataset, Scaling, names_column};
use crate::learn::space::{Form, Member, Space};

/// Lambda of f = 0: the baseline alone.
pub const BASELINE_ALONE: f64 = crate::learn::fit::CENTER_ALONE;

/// The warning of a training that learned nothing.
pub fn warning(problem: &Error) -> String {
    format!("{problem}; the model is the baseline")
}

/// Key of the option, of a setting and in the report.
pub const KEY: &str = "baseline";

/// Linear functions have b as a column, divided by this number, so that the penalty of their weights keeps s as it is.
pub const COLUMN_UNIT: f64 = 1e4;

/// The penalty of s^2, so that judgments without contradictions have a finite s.
const RIDGE: f64 = 1e-3;
/// The smallest s, relative to the s fitted with the grades as b: below it the judgments contradict the baseline.
const FRACTION: f64 = 0.1;
/// The range in which s is sought.
const RANGE: (f64, f64) = (1e-3, 1024.0);
/// Bisections of the logarithm of s.
const BISECTIONS: usize = 40;

/// The column that a training starts at.
#[derive(Debug, Clone)]
pub struct BaselineSpec {
    /// The option.
    pub text: String,
}

/// The column in the units of a training set.
#[derive(Debug, Clone)]
pub struct Baseline {
    /// The option.
    text: String,
    /// The feature index of the column.
    feature: usize,
    /// Units of b(x) per unit of the column.
    factor: f64,
    /// s.
    pub weight: f64,
    /// Whether the judgments contradict its order: s is the smallest one.
    pub is_contradicted: bool,
    /// Whether they show that the opposite order is better.
    is_reversed: bool,
}

impl BaselineSpec {
    /// The option, if it is given.
    pub fn parse(params: &Params) -> Option<Self> {
        params.text(KEY).map(|text| Self { text: text.to_owned() })
    }

    /// The feature of the column and its sign.
    fn feature(&self, data: &Dataset) -> Result<(usize, f64)> {
        let numbers = &data.names[..data.categories.numbers(data.names.len())];
        let named = numbers.iter().position(|name| names_column(&self.text, name));
        let feature = named.ok_or_else(|| {
            let is_vector = numbers.iter().all(|name| name.parse::<usize>().is_ok());
            let way_out =
                if is_vector { "; append the column to the vector, and give its number" } else { "" };
            let names = crate::base::shorten(&numbers.join(", "));
            Error::Data(format!(
                "option 'baseline': \"{}\" is not one of the numeric features: {names}{way_out}",
                self.text
            ))
        })?;
        let is_plain = self.text.eq_ignore_ascii_case(&numbers[feature]);
        Ok((feature, if is_plain { 1.0 } else { -1.0 }))
    }

    /// The column and s on a training set, before its features are scaled.
    ///
    /// # Errors
    /// A column that is not a feature, has missing values, or is constant within each query; an interrupt.
    pub fn fit(&self, data: &Dataset, loss: &Loss, control: &Control) -> Result<Baseline> {
        let (feature, sign) = self.feature(data)?;
        let values: Vec<f64> = (0..data.n_docs()).map(|row| data.features.at(row, feature)).collect();
        let problem = |text: &str| Err(Error::Data(format!("option 'baseline' \"{}\": {text}", self.text)));
        if values.iter().any(|value| !value.is_finite()) {
            return problem("the column has missing values; the baseline needs a number in every row");
        }
        let mut spreads: Vec<f64> =
            (0..data.n_queries()).map(|query| deviation(&values[data.rows(query)])).collect();
        spreads.retain(|spread| *spread > 0.0 && spread.is_finite());
        spreads.sort_by(f64::total_cmp);
        let overall = deviation(&values);
        let Some(spread) = spreads.get(spreads.len() / 2).or((overall > 0.0).then_some(&overall)) else {
            return problem("the column has the same value in every row, so it does not order documents");
        };
        let factor = sign / spread;
        let b: Vec<f64> = values.iter().map(|value| factor * value).collect();
        let loss = stand_in(loss);
        // The smallest s is a fraction of the s fitted with the grades themselves.
        let unit = 1.0 / deviation(&data.relevance).max(f64::MIN_POSITIVE);
        let grades: Vec<f64> = data.relevance.iter().map(|grade| unit * grade).collect();
        let smallest = FRACTION * minimum(|s| slope(&loss, data, &grades, s, control))?;
        let weight = minimum(|s| slope(&loss, data, &b, s, control))?.max(smallest);
        let is_contradicted = weight <= smallest;
        let is_reversed = is_contradicted && is_reversed(data, &b);
        Ok(Baseline { text: self.text.clone(), feature, factor, weight, is_contradicted, is_reversed })
    }
}

impl Baseline {
    /// b for each row of a data set with unscaled features.
    pub fn values(&self, data: &Dataset) -> Vec<f64> {
        (0..data.n_docs()).map(|row| self.factor * data.features.at(row, self.feature)).collect()
    }

    /// The score of each row by the baseline.
    pub fn scores(&self, data: &Dataset) -> Vec<f64> {
        self.values(data).into_iter().map(|value| self.weight * value).collect()
    }

    /// The baseline as a summand of a sum.
    pub fn fitted(&self, width: usize) -> Fitted {
        let (member, weights) = self.member(width, self.weight);
        Fitted { member, weights, factor: 1.0, objective: 0.0 }
    }

    /// The baseline column of unscaled documents.
    pub fn column(&self, data: &Dataset) -> Vec<f64> {
        self.values(data).into_iter().map(|value| value / COLUMN_UNIT).collect()
    }

    /// The weight of the raw column: s in its units.
    pub fn column_weight(&self) -> f64 {
        self.weight * COLUMN_UNIT
    }

    /// The function `weight` b(x) of documents with `width` features as a summand.
    pub fn member(&self, width: usize, weight: f64) -> (Member, Vec<f64>) {
        let mut weights = vec![0.0; width];
        weights[self.feature] = weight * self.factor;
        (Member { scaling: Scaling::None.into(), space: Space::linear(width, Form::Scoring) }, weights)
    }

    /// The entry in the report. `is_alone`: whether the model is only the baseline.
    pub fn report(
        &self,
        selection: Option<&Selection>,
        value: Option<f64>,
        is_alone: bool,
    ) -> (String, Value) {
        let gain = selection.and_then(|selection| selection.gain);
        let mut report = Map::new();
        report.insert("column".to_owned(), json!(self.text));
        report.insert("weight".to_owned(), json!(self.weight));
        report.insert("value".to_owned(), json!(value));
        report.insert("difference".to_owned(), json!(gain.map(|gain| gain.mean)));
        report.insert("interval".to_owned(), json!(gain.map(Gain::interval)));
        report.insert("is_better".to_owned(), json!(gain.map(|gain| !is_alone && gain.is_shown(false))));
        report.insert("alone".to_owned(), json!(is_alone));
        (KEY.to_owned(), Value::Object(report))
    }

    /// A warning about judgments that show the opposite order to be better.
    pub fn warning(&self) -> Option<String> {
        let text = &self.text;
        self.is_reversed.then(|| {
            let other = text.strip_prefix('-').map_or_else(|| format!("-{text}"), str::to_owned);
            format!(
                "documents with lower values of the baseline \"{text}\" have higher grades; if lower values are better, set \"baseline\": \
                 \"{other}\""
            )
        })
    }
}

/// The standard deviation of a query's values.
fn deviation(values: &[f64]) -> f64 {
    let n = values.len().max(1) as f64;
    let mean = values.iter().sum::<f64>() / n;
    (values.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>() / n).sqrt()
}

/// Whether the mean covariance of b and the grades within queries is more than two standard errors below 0.
fn is_reversed(data: &Dataset, b: &[f64]) -> bool {
    let covariance = |query: usize| {
        let (grades, b) = (data.labels(query), &b[data.rows(query)]);
        let n = grades.len() as f64;
        let mean = grades.iter().sum::<f64>() / n;
        grades.iter().zip(b).map(|(grade, b)| (grade - mean) * b).sum::<f64>() / n
    };
    let covariances: Vec<f64> =
        (0..data.n_queries()).map(covariance).filter(|covariance| covariance.abs() > 0.0).collect();
    let n = covariances.len() as f64;
    let mean = covariances.iter().sum::<f64>() / n;
    mean + 2.0 * deviation(&covariances) / (n - 1.0).sqrt() < 0.0
}

/// A smooth loss, or one of pairs, instead of others.
fn stand_in(loss: &Loss) -> Loss {
    match (loss, loss.shape()) {
        (Loss::Pair(PairLoss::Psi, weights), _) => Loss::Pair(PairLoss::Hinge, *weights),
        (Loss::List(_), Shape::Gradients) => Loss::Pair(PairLoss::Logistic, PairWeights::Equal),
        (Loss::Pair(..), _) | (Loss::List(_), Shape::Quadratic | Shape::Smooth) => loss.clone(),
        // Bounds with margins are often lowest at 0 on noisy grades.
        _ => Loss::List(least_squares()),
    }
}

/// The derivative by s of the mean loss of the scores s b, without documents of weight 0.
fn slope(loss: &Loss, data: &Dataset, b: &[f64], s: f64, control: &Control) -> Result<f64> {
    let (mut sum, mut weight) = (0.0, 0.0);
    for query in 0..data.n_queries() {
        control.check()?;
        let (labels, weights, b) = (data.labels(query), data.doc_weights(query), &b[data.rows(query)]);
        let kept: Vec<usize> =
            (0..labels.len()).filter(|row| weights.get(*row).is_none_or(|weight| *weight > 0.0)).collect();
        let labels: Vec<f64> = kept.iter().map(|row| labels[*row]).collect();
        if !loss.is_informative(&labels, &[]) {
            continue;
        }
        let b: Vec<f64> = kept.iter().map(|row| b[*row]).collect();
        let scores: Vec<f64> = b.iter().map(|b| s * b).collect();
        let mut gradient = vec![0.0; scores.len()];
        match loss {
            Loss::Pair(loss, _) => loss.def().value_and_subgradient(&labels, &scores, &mut gradient),
            Loss::List(loss) => loss.prepare(&labels, &[]).value_and_subgradient(&scores, &mut gradient),
        };
        sum += data.weights[query] * crate::math::dot(&gradient, &b);
        weight += data.weights[query];
    }
    Ok(if weight > 0.0 { sum / weight } else { 0.0 } + 2.0 * RIDGE * s)
}

/// Where a convex function has its minimum, in [`RANGE`].
fn minimum(slope: impl Fn(f64) -> Result<f64>) -> Result<f64> {
    let (mut low, mut high) = RANGE;
    for _ in 0..BISECTIONS {
        let middle = (low * high).sqrt();
        if slope(middle)? < 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    Ok((low * high).sqrt())
}
