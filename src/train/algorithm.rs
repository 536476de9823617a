//! Training algorithms.
//!
//! Most are presets of one grid (`grid`); others are fitted in their own way. To add a preset, add it to the table in
//! `grid/presets.rs`. To add an algorithm, write its file with a `DEF` and add it to `OTHERS` in `mod.rs`. Help, checks of
//! options and the conformance tests read the tables.

use std::any::Any;
use std::fmt;

use serde_json::{Map, Value};

use super::ALGORITHMS;
use super::averaged::BOTH_SCALES;
use crate::base::{Control, Defaults, Error, Params, Reservation, Result, columns_text, named};
use crate::data::{ColumnSummary, Dataset, ListConstraint, Missing, RowOrder, Scaling, ScalingKind};
use crate::learn::fit::QueryDependence;
use crate::model::{IMPORTED, LinearPrior, Ranker};
use crate::train::select::{CandidatePath, FoldScores, Selection};

/// Kind of user feedback on items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Feedback {
    Ratings,
    /// Which items they took, and maybe how often.
    Implicit,
}

named!(Feedback { Ratings = "ratings", Implicit = "implicit" });

/// Weight of a query in the mean of losses, besides its weight in the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weighting {
    /// 1.
    Queries,
    /// The number of documents.
    Documents,
    /// The number of pairs of documents.
    Pairs,
}

named!(Weighting { Queries = "queries", Documents = "documents", Pairs = "pairs" });

/// One named algorithm.
#[derive(Debug)]
pub struct AlgorithmDef {
    /// Name in SQL.
    pub name: &'static str,
    /// One line for the reference tables.
    pub summary: &'static str,
    /// The objective in ASCII, with the convention of lambda.
    pub objective: &'static str,
    /// Authors, year, equation.
    pub source: &'static str,
    /// Defaults of its options where they differ from the table of options.
    pub defaults: Defaults,
    /// Whether an option belongs to it. Options that belong to no algorithm, such as `seed`, are accepted by all.
    pub reads: fn(&str) -> bool,
    /// Checks parameters and makes the spec.
    pub parse: fn(&Params) -> Result<Box<dyn TrainingSpec>>,
    /// Trains a model further with new documents, if the algorithm can.
    pub resume: Option<ResumeFn>,
    /// How it trains in buckets.
    pub in_buckets: InBuckets,
}

/// Training on buckets of rows.
#[derive(Debug, Clone, Copy)]
pub enum InBuckets {
    /// As a point of the grid, from sums over buckets.
    Sums,
    /// As trees, in one process that reads the buckets several times.
    Passes,
    /// Not at all: why, after the name of the algorithm, and what to do instead.
    No(&'static str),
}

/// One training: an algorithm with its checked parameters.
pub trait TrainingSpec: Any + Send + Sync {
    fn input(&self) -> Input<'_>;

    /// Fits a model.
    ///
    /// # Errors
    /// Data that it cannot learn from, a limit, an interrupt.
    fn fit(&self, set: TrainingSet, control: &Control) -> Result<Trained>;

    /// The parameters as JSON. The model keeps them.
    fn settings(&self) -> Map<String, Value>;

    /// Makes a function the center of the penalty. [`Input::prior`] names the model of this function.
    fn set_prior(&mut self, _prior: LinearPrior) {}

    /// The unit that cross-validation holds out.
    ///
    /// # Errors
    /// A training whose model has no function for held-out queries.
    fn fold_unit(&self) -> Result<FoldUnit> {
        Ok(FoldUnit::Queries)
    }

    /// The option of lambda or the parameter that replaces it, with the candidates (largest first) among which validation
    /// chooses, if they do not depend on the data.
    fn lambda_candidates(&self) -> Option<(&'static str, &[f64])> {
        None
    }

    /// The fold options that it reads when it chooses numbers, such as trees, on held-out queries.
    fn fold_options(&self) -> &'static [&'static str] {
        &[]
    }

    /// How candidates are measured on held-out queries together, if that is faster than one by one.
    fn path(&self) -> Option<&dyn CandidatePath> {
        None
    }

    /// Bytes that a model is known to take before it is trained.
    fn bytes_kept(&self, _data: &Dataset) -> u64 {
        0
    }
}

/// The name of the trait: a supertrait `Debug` would link the code that prints the fields of each type.
impl fmt::Debug for dyn TrainingSpec {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("TrainingSpec")
    }
}

/// The unit that cross-validation holds out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FoldUnit {
    /// Queries with all their documents.
    Queries,
    /// Some documents of each query: ratings of users.
    Documents,
}

/// The input of a training.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    /// The columns that it needs.
    pub columns: Columns,
    /// Which lists are allowed, and so which groups of rows it needs.
    pub constraint: ListConstraint,
    /// The order of the rows.
    pub order: RowOrder,
    /// Value of a missing feature.
    pub missing: Missing,
    /// A source to validate on.
    pub validation: Option<&'a str>,
    /// Whether documents may have weights.
    pub doc_weights: DocWeights,
    /// The stored model that the penalty shrinks to: its name, or name@version.
    pub prior: Option<&'a str>,
    /// Whether features count by their spread: they are not scaled, and the functions are not trees.
    pub counts_spread: bool,
}

/// Support for document weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DocWeights {
    /// It does.
    Taken,
    /// The loss of this name does not.
    RefusedByLoss(&'static str),
    /// The algorithm of this name does not, whatever its options.
    RefusedByAlgorithm(&'static str),
}

impl DocWeights {
    /// The message for data with weights, if they are refused.
    pub fn problem(self) -> Option<String> {
        match self {
            Self::Taken => None,
            Self::RefusedByLoss(name) => Some(format!(
                "'{name}' does not weigh documents; use a pairwise loss, \"list_net\" or least squares (\"regression\")"
            )),
            Self::RefusedByAlgorithm(name) => Some(format!(
                "'{name}' does not weigh documents; use another algorithm, such as \"rank_svm\""
            )),
        }
    }
}

/// The columns that a training needs besides ids and relevance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Columns {
    /// Features of documents.
    Features,
    /// None: it learns from ids.
    Ids,
    /// None, and no relevance: it learns from pairs of ids, and from their counts if there are any.
    Pairs,
}

/// Trains a model further.
pub type ResumeFn = fn(PreviousFit<'_>, TrainingSet, &Control) -> Result<Trained>;

/// The components of a model from which training resumes.
#[derive(Debug, Clone, Copy)]
pub struct PreviousFit<'a> {
    pub ranker: &'a Ranker,
    /// The scaling of its features.
    pub scaling: &'a Scaling,
}

/// The data of a training.
pub struct TrainingSet {
    /// Judged documents, at least one.
    pub data: Dataset,
    /// Judged documents to validate on, if [`Input::validation`] names a source.
    pub validation: Option<Dataset>,
    /// Summary of each feature, including earlier trainings that are resumed.
    pub summaries: Vec<ColumnSummary>,
    /// Evidence from named query features on differences between queries, if they were compared.
    pub dependence: Option<QueryDependence>,
}

/// Where scores of documents by functions come from that were fitted without their queries.
pub enum OutOfFold {
    /// The choice of the training has them, fold by fold.
    Scores(Vec<FoldScores>),
    /// Trainings of this kind on folds, with the numbers that the choice found.
    Folds(Box<dyn TrainingSpec>),
}

/// The result of a training.
pub struct Trained {
    pub ranker: Ranker,
    /// The scaling of its features.
    pub scaling: Scaling,
    /// The lambda of the fits; `None` if there is no lambda or another parameter replaces it.
    pub lambda: Option<f64>,
    /// Lambda of the function that others shrink to or start at.
    pub prior_lambda: Option<f64>,
    /// How lambda was chosen.
    pub selection: Option<Selection>,
    /// Steps of the solver if one function was fitted, otherwise one entry per function.
    pub log: Vec<LogStep>,
    /// Number of fitted functions.
    pub functions: usize,
    /// Number of functions whose solver stopped before its tolerance.
    pub unconverged: usize,
    /// Warnings for the caller.
    pub warnings: Vec<String>,
    /// More entries of the report. The model keeps them.
    pub details: Map<String, Value>,
    /// More entries of the report that the model does not keep.
    pub volatile: Map<String, Value>,
    /// Data to fit the map of probabilities; `None` if no function scores documents of all queries.
    pub out_of_fold: Option<OutOfFold>,
}

impl Trained {
    /// One fitted function and nothing else to report.
    pub fn new(ranker: Ranker, scaling: Scaling) -> Self {
        Self {
            ranker,
            scaling,
            lambda: None,
            prior_lambda: None,
            selection: None,
            log: Vec::new(),
            functions: 1,
            unconverged: 0,
            warnings: Vec::new(),
            details: Map::new(),
            volatile: Map::new(),
            out_of_fold: None,
        }
    }
}

/// One line of a training log.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LogStep {
    pub objective: f64,
    /// Certified distance from the optimum.
    pub gap: f64,
    /// Seconds since training began.
    pub seconds: f64,
}

/// Name of the tree algorithm.
pub const BOOSTED_TREES: &str = "boosted_trees";

/// The preset with the loss `lambda_rank`.
pub const LAMBDAMART: &str = "lambdamart";

/// The name of the algorithm, for readers of models.
///
/// # Errors
/// An unknown name, with the known ones.
pub fn find_name(name: &str) -> Result<&'static str> {
    if name == IMPORTED {
        return Ok(IMPORTED);
    }
    find(name).map(|algorithm| algorithm.name)
}

/// The algorithm with this name.
///
/// # Errors
/// An unknown name, with the known ones.
pub fn find(name: &str) -> Result<&'static AlgorithmDef> {
    ALGORITHMS.iter().find(|algorithm| algorithm.name == name).copied().ok_or_else(|| {
        if name == IMPORTED {
            let problem = "'imported' is not an algorithm: it marks models of ltr_import, which cannot be trained or updated; train them \
                           in their library and import them again";
            return Error::Unsupported(problem.to_owned());
        }
        let known = ALGORITHMS.iter().map(|algorithm| algorithm.name);
        match Error::unknown("algorithm", name, known) {
            Error::Unknown { what, name, place, known, .. }
                if OTHER_NAMES.contains(&&*name.to_ascii_lowercase()) =>
            {
                Error::Unknown { what, name, place, known, nearest: Some(BOOSTED_TREES.to_owned()) }
            }
            error => error,
        }
    })
}

/// Programs and algorithms of boosted trees, by the names that people look for.
const OTHER_NAMES: [&str; 7] = ["xgboost", "lightgbm", "catboost", "mart", "gbdt", "gbm", "gbrt"];

impl AlgorithmDef {
    /// The spec with these parameters.
    ///
    /// # Errors
    /// Parameters that the algorithm does not read or that do not work together.
    pub fn spec(&self, params: &Params) -> Result<Box<dyn TrainingSpec>> {
        (self.parse)(&self.params(params)?)
    }

    /// These parameters with the defaults of the algorithm.
    ///
    /// # Errors
    /// Parameters that the algorithm does not read.
    pub fn params(&self, params: &Params) -> Result<Params> {
        for key in params.given().keys().filter(|key| !(self.reads)(key)) {
            let others: Vec<&str> =
                ALGORITHMS.iter().filter(|other| (other.reads)(key)).map(|other| other.name).collect();
            if let Some(first) = others.first() {
                return Err(Error::Unsupported(format!(
                    "'{}' has no option '{key}'; it belongs to {first}{}",
                    self.name,
                    if others.len() > 1 { " and others" } else { "" }
                )));
            }
        }
        let is_trees = [BOOSTED_TREES, LAMBDAMART].contains(&self.name);
        if params.choice("missing")? == Some(Missing::Branch) && !is_trees {
            let allowed = "\"zero\", \"mean\" or \"error\"; only boosted_trees has branches";
            return Err(Error::value("option 'missing'", "\"branch\"".to_owned(), allowed));
        }
        if params.text("scale") == Some(BOTH_SCALES) && !is_trees {
            let allowed =
                "one scaling; only boosted_trees averages ensembles of two, and auto does so without it";
            return Err(Error::value("option 'scale'", format!("\"{BOTH_SCALES}\""), allowed));
        }
        Ok(params.clone().with_defaults(self.defaults))
    }
}

/// Replaces the features of a data set by the scaled ones. Returns the bytes of additional features.
///
/// # Errors
/// [`Error::Data`] for features that are too large; too little memory; an interrupt.
pub fn scale(
    scaling: &Scaling,
    kind: ScalingKind,
    data: &mut Dataset,
    control: &Control,
) -> Result<Reservation> {
    let columns = data.features.columns();
    let more = if scaling.width(columns) > columns { 2 * data.features.bytes() } else { 0 };
    let what = format_args!("scaling {} documents to {} features", data.n_docs(), scaling.width(columns));
    let memory = control.reserve(more, what, "use \"scale\": \"quantile\", or fewer rows")?;
    let features = data.take_features();
    // Missing values are NaN, and only they may be.
    let missing = if data.missing == Missing::Branch { features.count_nan() } else { 0 };
    let copies = scaling.width(columns) / columns.max(1);
    data.features = scaling.matrix(features, &data.offsets, control)?;
    let kept = missing > 0 && data.features.count_infinite() == 0;
    if data.features.is_finite() || kept && data.features.count_nan() == copies * missing {
        return Ok(memory);
    }
    Err(Error::Data(format!("features are too large for the option 'scale' \"{}\"", kind.name())))
}

/// Refuses query weights, which `algorithm` does not support. `query`: the noun for a query there.
///
/// # Errors
/// [`Error::Unsupported`] with the first query that has a weight other than 1.
pub fn refuse_query_weights(data: &Dataset, query: &str, algorithm: &str) -> Result<()> {
    let weighted = data.query_ids.iter().zip(&data.weights).find(|(_, weight)| (*weight - 1.0).abs() > 0.0);
    let Some((id, weight)) = weighted else { return Ok(()) };
    let way_out = columns_text(None, None, &["..."]);
    Err(Error::Unsupported(format!(
        "{query} {id} has the weight {weight}; {algorithm} supports no weights; ignore the column of weights with the options {way_out}"
    )))
}

/// The entries of a JSON object; empty for other values.
pub fn entries(object: Value) -> Map<String, Value> {
    if let Value::Object(entries) = object { entries } else { Map::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique() {
        for (index, algorithm) in ALGORITHMS.iter().enumerate() {
            assert!(ALGORITHMS[..index].iter().all(|earlier| earlier.name != algorithm.name));
        }
    }

    fn parse(algorithm: &str, options: &str) -> Result<Box<dyn TrainingSpec>> {
        let given: Map<String, Value> = serde_json::from_str(options).unwrap();
        find(algorithm)?.spec(&given.into())
    }

    #[test]
    fn options_without_effect_are_refused() {
        let error = parse("rank_svm", r#"{"neighbors": 5}"#).unwrap_err().to_string();
        assert_eq!(
            error,
            "option 'neighbors' has no effect with smoothing \"uniform\" (the algorithm's default)"
        );
        let error = parse("indv_svm", r#"{"validation": 0.3}"#).unwrap_err().to_string();
        assert!(error.starts_with("validation on held-out queries does not support smoothing"), "{error}");
        assert!(parse("rank_svm", r#"{"smoothing": "knn", "neighbors": 5}"#).is_ok());
    }

    #[test]
    fn options_of_other_algorithms_are_refused() {
        let error = parse("rank_svm", r#"{"epochs": 5}"#).unwrap_err().to_string();
        assert_eq!(error, "'rank_svm' has no option 'epochs'; it belongs to perceptron");
    }

    #[test]
    fn the_seed_is_an_option_of_every_training() {
        for algorithm in ALGORITHMS {
            assert!(parse(algorithm.name, r#"{"seed": 7}"#).is_ok(), "{}", algorithm.name);
        }
    }

    #[test]
    fn an_unknown_algorithm_is_answered_with_the_nearest() {
        let error = find("qsvm").unwrap_err().to_string();
        assert!(error.starts_with("unknown algorithm 'qsvm', did you mean 'q_svm'?"), "{error}");
    }
}
