//! Averages of functions: each is divided by the standard deviation of its scores within the training queries, so units do
//! not matter.

use crate::base::{Control, Result, parallel};
use crate::data::{Dataset, QueryFeatureRule, Scaling};
use crate::learn::space::{Function, Member, Space, SumSpace};
use crate::model::{Linear, QueryTrees, Ranker, fill};
use crate::trees::Forest;

/// The value of the option `scale` of trees with an ensemble for each of two scales.
pub const BOTH_SCALES: &str = "none+quantile_minmax";

pub struct Fitted {
    /// The scaling and space.
    pub member: Member,
    /// The weights there, divided by the standard deviation of its scores within the training queries.
    pub weights: Vec<f64>,
    /// Factor of the weights.
    pub factor: f64,
    /// (1/(2 N)) sum of squared errors + lambda / 2 |f|^2 before the division.
    pub objective: f64,
}

impl Fitted {
    /// Multiplies the function, in its own units, by a number.
    pub fn scale_to(&mut self, share: f64) {
        self.weights.iter_mut().for_each(|weight| *weight *= share / self.factor);
    }
}

/// The sum of functions of documents with `width` features. `rule`: how the query features are encoded that some of its trees
/// split.
pub fn sum(width: usize, fitted: Vec<Fitted>, rule: Option<QueryFeatureRule>) -> Ranker {
    let objective = fitted.iter().map(|fitted| fitted.objective).sum();
    let (mut members, mut weights) = (Vec::with_capacity(fitted.len()), Vec::new());
    for fitted in fitted {
        members.push(fitted.member);
        weights.extend(fitted.weights);
    }
    if let Some(rule) = rule {
        return Ranker::QueryTrees(Box::new(QueryTrees::sum(width, rule, members, weights)));
    }
    Ranker::Linear(Linear::new(SumSpace::new(width, members), Function { weights, objective, gap: 0.0 }))
}

/// The factor that scales scores to standard deviation 1. `spread`: the sum of squared scores, minus query means.
pub fn normalizer(spread: f64, documents: f64) -> f64 {
    let deviation = (spread / documents).sqrt();
    if deviation > 0.0 { 1.0 / deviation } else { 1.0 }
}

/// The weight of a query: the sum of its documents' weights.
pub fn weight(data: &Dataset, query: usize) -> f64 {
    match data.doc_weights(query) {
        [] => data.rows(query).len() as f64,
        weights => weights.iter().sum(),
    }
}

/// The weight of all documents.
pub fn total_weight(data: &Dataset) -> f64 {
    (0..data.n_queries()).map(|query| weight(data, query)).sum()
}

/// The function of trees with these leaf values. `rule`: encoding of the query features, which follow
/// the document features.
///
/// # Errors
/// Query feature values without a code; an interrupt.
pub fn of_trees(
    forest: Forest,
    values: &[f64],
    scaling: &Scaling,
    data: &Dataset,
    rule: Option<&QueryFeatureRule>,
    control: &Control,
) -> Result<Fitted> {
    let width = data.features.columns();
    let query_features = rule.map(|rule| rule.features(data)).transpose()?;
    let of_query = |query: usize| -> Result<(f64, f64)> {
        let scores = match &query_features {
            None => forest.scores(&data.features, data.rows(query), values, control)?,
            Some(features) => {
                let (forest, values) = fill(&forest, values, width, &features.row(query).to_vec());
                forest.scores(&data.features, data.rows(query), &values, control)?
            }
        };
        let errors: Vec<f64> =
            data.labels(query).iter().zip(&scores).map(|(grade, score)| grade - score).collect();
        let weights = data.doc_weights(query);
        Ok((squares(&scores, weights), squares(&errors, weights)))
    };
    let sums = parallel::try_map(data.n_queries(), of_query)?;
    let (spread, errors) = sums.into_iter().fold((0.0, 0.0), |sum, of| (sum.0 + of.0, sum.1 + of.1));
    let documents = total_weight(data);
    let scale = normalizer(spread, documents);
    let columns = width + rule.map_or(0, QueryFeatureRule::width);
    let member = Member { scaling: scaling.clone().into(), space: Space::of_trees(columns, forest) };
    let weights = values.iter().map(|value| value * scale).collect();
    Ok(Fitted { member, weights, factor: scale, objective: 0.5 * errors / documents })
}

/// Weighted sum of squared deviations from the mean. `weights`: empty if all are 1.
pub fn squares(numbers: &[f64], weights: &[f64]) -> f64 {
    let weighted = || numbers.iter().enumerate().map(|(i, x)| (weights.get(i).copied().unwrap_or(1.0), *x));
    let (total, sum) = weighted().fold((0.0, 0.0), |(total, sum), (w, x)| (total + w, sum + w * x));
    let mean = if total > 0.0 { sum / total } else { 0.0 };
    weighted().map(|(w, x)| w * (x - mean) * (x - mean)).sum()
}
