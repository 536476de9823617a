//! The report of a training: counts of the data, results of the fit, warnings.

use std::collections::HashMap;

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::ALGORITHMS;
use super::algorithm::{AlgorithmDef, LogStep, Trained, TrainingSpec};
use super::baseline;
use super::evidence::{Evidence, FEW_QUERIES};
use crate::base::{ColumnAdvice, Params};
use crate::cost::loss;
use crate::data::{Categories, Dataset, Id, ListConstraint, Quantities, QueryFeatureRule, is_part};
use crate::learn::fit::{Prior, QueryDependence};
use crate::math::compare;
use crate::model::{Card, Model, QueryAware, QueryDependent, Ranker, TrainingColumns};
use crate::train::select::{Selection, SelectionReport, significant};

/// The type of features in double precision.
const DOUBLE: &str = "f64";

/// Counts of a training set.
#[derive(Debug, Clone, Serialize)]
pub struct DataCounts {
    queries: u64,
    documents: u64,
    pairs: u64,
    features: usize,
    feature_type: &'static str,
}

impl DataCounts {
    /// The counts of a data set.
    pub fn of(data: &Dataset) -> Self {
        Self {
            queries: data.n_queries() as u64,
            documents: data.n_docs() as u64,
            pairs: (0..data.n_queries()).map(|query| loss::pair_count(data.labels(query))).sum(),
            features: data.features.columns(),
            feature_type: if data.features.element_bytes() == 4 { "f32" } else { DOUBLE },
        }
    }

    /// Counts of queries, documents and pairs.
    pub fn of_counts(counts: [f64; 3], features: usize, is_double: bool) -> Self {
        let [queries, documents, pairs] = counts.map(|count| count as u64);
        Self { queries, documents, pairs, features, feature_type: if is_double { DOUBLE } else { "f32" } }
    }

    /// Counts of these rows and of the rows in an earlier training's summary.
    #[must_use]
    pub fn added_to(&self, earlier: &Value) -> Self {
        let sum = |key: &str, added: u64| earlier[key].as_u64().unwrap_or(0).saturating_add(added);
        let was_double = earlier["feature_type"] == DOUBLE;
        Self {
            queries: sum("queries", self.queries),
            documents: sum("documents", self.documents),
            pairs: sum("pairs", self.pairs),
            features: self.features,
            feature_type: if was_double { DOUBLE } else { self.feature_type },
        }
    }
}

/// The results of a training. Nothing in it differs between two runs.
#[derive(Debug, Clone, Serialize)]
pub struct Summary {
    #[serde(flatten)]
    counts: DataCounts,
    lambda: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prior_lambda: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kernel: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pivots: Option<usize>,
    /// How lambda was chosen.
    pub validation: Option<SelectionReport>,
    query_features: Option<QueryFeatures>,
    functions: usize,
    unconverged: usize,
    largest_relative_gap: Option<f64>,
    #[serde(flatten)]
    details: Map<String, Value>,
}

/// Where query features come from.
#[derive(Debug, Clone, Serialize)]
struct QueryFeatures {
    kind: &'static str,
    names: Vec<String>,
    /// How each is compared, with its weight; empty if all are numbers that count equally.
    #[serde(skip_serializing_if = "Map::is_empty")]
    distances: Map<String, Value>,
}

impl QueryFeatures {
    fn new(ranker: &QueryDependent) -> Self {
        let (rule, distance) = (ranker.query_rule(), ranker.query_distance());
        let columns = rule.names.iter().zip(&distance.columns);
        let columns = columns.filter(|_| !distance.is_plain()).map(|(name, column)| {
            (name.clone(), json!({ "distance": column.comparison.name(), "weight": column.weight }))
        });
        Self { distances: columns.collect(), ..Self::of_rule(rule) }
    }

    /// The query features of a rule, which are not compared.
    fn of_rule(rule: &QueryFeatureRule) -> Self {
        Self { kind: rule.kind.name(), names: rule.names.clone(), distances: Map::new() }
    }
}

impl Summary {
    /// The results of a training on data with these counts.
    pub fn new(counts: DataCounts, trained: &Trained) -> Self {
        let kernel = trained.ranker.scorer().and_then(|space| Some((space.kernel()?, space.dim())));
        let of_trees = || trained.ranker.query_rule().map(QueryFeatures::of_rule);
        let query_features = trained.ranker.as_query_dependent().map(QueryFeatures::new).or_else(of_trees);
        Self {
            counts,
            lambda: trained.lambda,
            prior_lambda: trained.prior_lambda,
            kernel: kernel.map(|(kernel, _)| kernel.to_json()),
            pivots: kernel.map(|(_, dim)| dim),
            validation: trained.selection.as_ref().map(Selection::report),
            query_features,
            functions: trained.functions,
            unconverged: trained.unconverged,
            // A perceptron and sums of trees have no optimum, so no distance from it.
            largest_relative_gap: (!matches!(trained.ranker, Ranker::Online(_)) && !trained.log.is_empty())
                .then(|| largest_relative_gap(trained)),
            details: trained.details.clone(),
        }
    }
}

/// The largest gap of a function, relative to its objective.
fn largest_relative_gap(trained: &Trained) -> f64 {
    let steps = if trained.functions == 1 { trained.log.len().saturating_sub(1) } else { 0 };
    let relative = |step: &LogStep| if step.objective > 0.0 { step.gap / step.objective } else { 0.0 };
    trained.log[steps..].iter().map(relative).fold(0.0, f64::max)
}

/// The feature columns of a training.
pub struct FeatureColumns {
    /// Names of the features.
    pub names: Vec<String>,
    /// The categories among them.
    pub categories: Categories,
    /// The columns whose texts are numbers, dates or durations.
    pub quantities: Quantities,
    /// Mean of each feature over the rows that have it.
    pub means: Vec<f64>,
    /// The columns that the caller names for roles.
    pub roles: TrainingColumns,
}

/// A finished training: the model, and what reports say about it.
#[derive(Debug)]
pub struct Finished {
    pub model: Model,
    pub summary: Summary,
    /// More entries of the report that the model does not keep.
    pub volatile: Map<String, Value>,
    /// Number of missing features that were replaced.
    pub missing_filled: usize,
    /// Evidence from named query features on differences between queries.
    pub dependence: Option<QueryDependence>,
    /// Evidence from held-out queries, if known.
    pub evidence: Option<Evidence>,
    /// Warnings for the caller.
    pub warnings: Vec<String>,
    /// Role of each source column; null if unknown.
    pub columns: Value,
    /// Seconds since the start of training, for each entry of the model's log.
    pub log_seconds: Vec<f64>,
}

impl Finished {
    /// A training's model with its report. `counts`: row counts.
    pub fn new(
        algorithm: &AlgorithmDef,
        spec: &dyn TrainingSpec,
        counts: DataCounts,
        columns: FeatureColumns,
        trained: Trained,
    ) -> Self {
        let (input, settings) = (spec.input(), Value::Object(spec.settings()));
        let other = other_preset(algorithm, &settings);
        let card = Card {
            algorithm: algorithm.name.to_owned(),
            settings,
            missing: input.missing,
            slots: input.constraint == ListConstraint::Slots,
            features: columns.names,
            categories: columns.categories,
            quantities: columns.quantities,
            candidates: None,
            probability: None,
            columns: columns.roles,
            means: columns.means,
            summary: Value::Null,
            log: trained.log.iter().map(|step| (step.objective, step.gap)).collect(),
        };
        let mut finished = Self::with_card(card, counts, trained);
        finished.warnings.extend(other);
        finished
    }

    /// The model of a training that continues one with this card. `counts`: row counts of both.
    pub fn continued(card: &Card, counts: DataCounts, means: Vec<f64>, trained: Trained) -> Self {
        Self::with_card(Card { means, ..card.clone() }, counts, trained)
    }

    /// Replaces the report on the choice.
    pub fn with_validation(mut self, validation: SelectionReport) -> Self {
        self.summary.validation = Some(validation);
        self.model.card.summary = json!(self.summary);
        self
    }

    /// Adds an entry to the results.
    pub fn add_detail(&mut self, key: &str, value: Value) {
        self.summary.details.insert(key.to_owned(), value);
        self.model.card.summary = json!(self.summary);
    }

    fn with_card(card: Card, counts: DataCounts, trained: Trained) -> Self {
        let summary = Summary::new(counts, &trained);
        let card = Card { summary: json!(summary), ..card };
        let warnings = fit_warnings(&trained);
        let log_seconds = trained.log.iter().map(|step| step.seconds).collect();
        let model = Model::new(card, trained.scaling, trained.ranker);
        Self {
            model,
            summary,
            volatile: trained.volatile,
            missing_filled: 0,
            dependence: None,
            evidence: None,
            warnings,
            columns: Value::Null,
            log_seconds,
        }
    }
}

/// Warnings about the fits.
fn fit_warnings(trained: &Trained) -> Vec<String> {
    let mut warnings = trained.warnings.clone();
    if trained.unconverged > 0 {
        let (stopped, all) = (trained.unconverged, trained.functions.max(trained.unconverged));
        warnings.push(format!(
            "{stopped} of {all} fits stopped before the tolerance was reached (relative gaps up to {}); a larger lambda or a \
             smaller radius takes fewer steps, a larger tolerance accepts the gap",
            significant(largest_relative_gap(trained))
        ));
    }
    warnings
}

/// A warning if the options turn a preset into another, such as `list_net` with the loss hinge.
fn other_preset(algorithm: &AlgorithmDef, settings: &Value) -> Option<String> {
    let axes = ["smoothing", "loss", "penalty", "prior"];
    // Settings omit the penalty ridge and the prior zero.
    let chosen =
        |axis: &str| settings[axis].as_str().unwrap_or(if axis == "penalty" { "ridge" } else { "zero" });
    let is_chosen = |other: &AlgorithmDef| {
        axes.iter().all(|axis| other.defaults.iter().any(|(key, name)| key == axis && *name == chosen(axis)))
    };
    // A default "auto" means any value: a caller who sets one does not leave the preset.
    let changed = |key: &str| {
        let is_default = |name: &str| name == chosen(key) || name == Prior::Auto.name();
        algorithm.defaults.iter().any(|(known, name)| *known == key && !is_default(name))
    };
    let other = ALGORITHMS.iter().find(|other| is_chosen(other)).filter(|_| !is_chosen(algorithm))?;
    let options: Vec<String> = axes
        .into_iter()
        .filter(|axis| changed(axis))
        .map(|axis| format!("\"{axis}\": \"{}\"", chosen(axis)))
        .collect();
    // Algorithms outside the grid have no such options.
    if options.is_empty() {
        return None;
    }
    Some(format!("with {} this is the algorithm {}, not {}", options.join(", "), other.name, algorithm.name))
}

/// The number of queries with documents of different relevance.
pub fn informative_queries(data: &Dataset) -> usize {
    (0..data.n_queries()).filter(|query| loss::pair_count(data.labels(*query)) > 0).count()
}

/// The advice to give a baseline, if there are few informative queries and the training can have one.
pub fn baseline_advice(algorithm: &AlgorithmDef, options: &Params, data: &Dataset) -> Option<String> {
    let informative = informative_queries(data);
    let takes_one = || algorithm.spec(&options.clone().with(baseline::KEY, json!(""))).is_ok();
    let is_missing =
        !options.has(baseline::KEY) && (algorithm.reads)(baseline::KEY) && informative < FEW_QUERIES;
    (is_missing && takes_one()).then(|| {
        format!(
            "only {informative} queries have documents of different relevance; name the column that orders the documents today \
             with the option 'baseline', so that the model departs from it only where the judgments show a gain"
        )
    })
}

/// Signs of leakage, ids among the features, negative grades, and repeated rows.
pub fn signs_of_leakage(data: &Dataset, advice: ColumnAdvice<'_>) -> Vec<String> {
    let mut warnings = Vec::new();
    for (column, name) in data.names.iter().enumerate() {
        if is_part(name) {
            warnings.push(format!(
                "the feature \"{name}\" is named like a part of the data; if it is one, {}",
                advice.ignore_features(&[name])
            ));
        }
        let equal = |row: usize| data.features.at(row, column).total_cmp(&data.relevance[row]).is_eq();
        if data.n_docs() > 1 && (0..data.n_docs()).all(equal) {
            warnings.push(format!("the feature \"{name}\" equals the relevance in every row (leakage?)"));
        }
        let is_id = |row: usize| data.doc_ids[row].is_number(data.features.at(row, column));
        if let Some(doc) = advice.doc.filter(|_| data.n_docs() > 1 && (0..data.n_docs()).all(is_id)) {
            warnings.push(format!(
                "the feature \"{name}\" equals the document (\"{doc}\") in every row; if it is an id, {}",
                advice.ignore_features(&[name])
            ));
        }
    }
    warnings.extend(negative_grades(data));
    warnings.extend(data.repeated_rows());
    warnings
}

/// A warning if the column `rating` became the relevance by its name, but is a property of documents: each document has one
/// rating in all its queries, and chance gives that in less than one of a million sources.
pub fn rating_of_documents(data: &Dataset, column: Option<&str>, advice: ColumnAdvice<'_>) -> Option<String> {
    let name = column.filter(|name| name.eq_ignore_ascii_case("rating") && !advice.gives("relevance"))?;
    advice.doc.filter(|_| data.features.columns() > 0)?;
    let (mut known, mut counts): (HashMap<&Id, f64>, HashMap<u64, f64>) = Default::default();
    for (doc, rating) in data.doc_ids.iter().zip(&data.relevance) {
        if compare(*known.entry(doc).or_insert(*rating), *rating).is_ne() {
            return None;
        }
        *counts.entry(rating.to_bits()).or_default() += 1.0;
    }
    let rows = data.n_docs() as f64;
    let equal: f64 = counts.values().map(|count| (count / rows) * (count / rows)).sum();
    (libm::pow(equal, rows - known.len() as f64) < 1e-6).then(|| {
        format!(
            "the column \"{name}\" is the relevance, but each document has one rating in all its queries; if it is a property of \
             the documents, name the column of the judgments with the options {}",
            advice.role("relevance", json!("..."))
        )
    })
}

/// A warning about grades below 0. Ratings come without features and may have any range.
fn negative_grades(data: &Dataset) -> Option<String> {
    let lowest = data.relevance.iter().copied().fold(f64::INFINITY, f64::min);
    (lowest < 0.0 && data.features.columns() > 0).then(|| {
        format!(
            "the lowest grade is {lowest}, but for metrics such as ndcg a grade of 0 or less means not relevant; if this is \
             intended, add {} to all grades",
            -lowest
        )
    })
}
