//! A trained model in Rust: ranking, scoring, evaluation, bytes.

use std::sync::Arc;

use serde_json::Value;

use super::dataset::Dataset;
use super::read_request::ReadRequest;
use super::{Answer, Control};
use crate::apply::{
    self, FeatureWeight, Fit, FitCache, PairScorer, PointScorer, Scored, ScoringJob, Step,
    constrained_scores, function_for, function_weights, selected_rows,
};
use crate::base::{Error, Memory, Result, control, on_pool};
use crate::cost::metric::{Metric, Undefined};
use crate::data::{self, Id, ListConstraint, QueryValue, RowOrder};
use crate::exchange::{self, Format, Imported};
use crate::learn::space::Function;
use crate::model::{self, Key, read_key};
use crate::train::algorithm;

/// Largest size (bytes) of the fitted functions that a model caches for queries that it has ranked.
const FUNCTION_BYTES: usize = 64 << 20;

/// A trained model. Clones share the functions fitted for new queries.
///
/// ```
/// use sqlite_ltr::{Dataset, Model, Trainer};
/// use ndarray::array;
///
/// let data = Dataset::from_arrays(array![[0.0], [1.0], [2.0]], [1, 1, 1], &[0.0, 1.0, 2.0])?;
/// let model = Trainer::new("rank_svm").option("lambda", 0.1).fit(&data)?;
///
/// let bytes = model.to_bytes();
/// let ranked = Model::from_bytes(&bytes)?.rank(&Dataset::unjudged(array![[0.3], [0.9]], ["new", "new"])?)?;
/// assert_eq!((ranked[0].row, ranked[0].rank), (1, 1));
/// # Ok::<(), sqlite_ltr::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Model {
    inner: Arc<model::Model>,
    bytes: Arc<[u8]>,
    key: Key,
    functions: Arc<FitCache>,
    pub(super) warnings: Vec<String>,
    pub(super) search: Option<Value>,
    pub(super) columns: Option<Value>,
}

/// One line of a ranking.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranked {
    /// The query.
    pub query_id: Id,
    /// The document id; without ids, its number within the query, from 1.
    pub doc_id: Id,
    /// The row of the data set, from 0.
    pub row: usize,
    /// The score; higher is better. Scores of different queries are not comparable.
    pub score: f64,
    /// The rank within the query, from 1.
    pub rank: usize,
    /// The slot, for models that match documents to slots.
    pub slot: Option<Id>,
    /// The probability that the document is relevant, for models trained with the option `probability`.
    pub probability: Option<f64>,
}

/// Options for ranking.
#[derive(Debug, Clone, Default)]
pub struct RankOptions {
    /// Number of threads; all cores by default.
    pub threads: Option<usize>,
    /// Largest number of documents per group in a list (see [`Dataset::with_groups`]). No limit by default.
    pub max_per_value: Option<usize>,
    /// Stops the ranking and shows its progress.
    pub control: Control,
}

/// Options for [`Model::import_with`].
#[derive(Debug, Clone, Default)]
pub struct ImportOptions(exchange::ImportSpec);

impl ImportOptions {
    /// The format of the text, named as in the option `format` of `ltr_import`. By default it is detected.
    #[must_use]
    pub fn format(mut self, format: &str) -> Self {
        self.0.format = Some(format.to_owned());
        self
    }

    /// Names the column of a feature that has another name in the text.
    #[must_use]
    pub fn name(mut self, in_text: &str, column: &str) -> Self {
        self.0.names.insert(in_text.to_owned(), Value::from(column));
        self
    }
}

/// Metrics of a model on judged documents.
#[derive(Debug, Clone, PartialEq)]
pub struct Evaluation {
    /// The queries, in the order of their ids.
    pub query_ids: Vec<Id>,
    /// For each query the value of each metric; `None` where it is undefined.
    pub values: Vec<Vec<Option<f64>>>,
    /// For each metric the mean over the queries for which it is defined.
    pub means: Vec<Option<f64>>,
    /// Warnings for the caller.
    pub warnings: Vec<String>,
}

/// A model's description of itself.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelInfo {
    /// The algorithm that trained it.
    pub algorithm: String,
    /// Names of the features, in the order of [`Model::score`].
    pub features: Vec<String>,
    /// Whether single documents can be scored ([`Model::score`]).
    pub pointwise: bool,
    /// Whether scores are weighted sums of scaled features ([`Model::weights`]).
    pub linear: bool,
    /// Whether the function depends on the query.
    pub query_dependent: bool,
    /// The training options and their values, as a JSON object.
    pub settings: Value,
    /// Training results (counts, lambda, validation, gaps), as a JSON object.
    pub training: Value,
}

impl Model {
    /// The underlying model, without the parts that only this interface needs.
    pub(super) fn inner(&self) -> &model::Model {
        &self.inner
    }

    /// Reads a model from the bytes of [`to_bytes`](Self::to_bytes), `ltr_fit` or `ltr_models`. The bytes need not be
    /// trusted: damaged or forged bytes are an error.
    ///
    /// ```
    /// use sqlite_ltr::{Error, Model};
    ///
    /// assert!(matches!(Model::from_bytes(b"not a model"), Err(Error::Corrupt(_))));
    /// ```
    ///
    /// # Errors
    /// [`Error::Corrupt`] for bytes that are not a model.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Ok(Self {
            inner: Arc::new(model::Model::from_bytes(bytes)?),
            key: read_key(bytes)?,
            bytes: bytes.into(),
            functions: Arc::new(FitCache::new(FUNCTION_BYTES)),
            warnings: Vec::new(),
            search: None,
            columns: None,
        })
    }

    /// Returns the model as bytes, which SQL functions accept as a BLOB. The bytes contain no names, times or machine
    /// properties: the same data and options give the same bytes. Query-dependent models contain their training documents.
    ///
    /// ```
    /// use sqlite_ltr::{Dataset, Trainer};
    /// use ndarray::array;
    ///
    /// let data = Dataset::from_arrays(array![[0.0], [1.0]], [1, 1], &[0.0, 1.0])?;
    /// let trainer = Trainer::new("rank_svm").option("lambda", 0.1);
    /// assert_eq!(trainer.fit(&data)?.to_bytes(), trainer.option("threads", 1).fit(&data)?.to_bytes());
    /// # Ok::<(), sqlite_ltr::Error>(())
    /// ```
    pub fn to_bytes(&self) -> Vec<u8> {
        self.bytes.to_vec()
    }

    /// Returns the model as text for other programs: `"json"`, `"sql"`, `"elasticsearch"`, `"opensearch"`, `"solr"` or
    /// `"xgboost"` (docs/guide/export.md).
    ///
    /// ```
    /// use sqlite_ltr::{Dataset, Model, Trainer};
    /// use ndarray::array;
    ///
    /// let data = Dataset::from_arrays(array![[0.0], [1.0]], [1, 1], &[0.0, 1.0])?;
    /// let model = Trainer::new("rank_svm").option("lambda", 0.1).option("scale", "none").fit(&data)?;
    /// assert!(model.export("sql")?.contains("`1`"));
    /// assert_eq!(Model::import(&model.export("json")?)?.to_bytes(), model.to_bytes());
    /// # Ok::<(), sqlite_ltr::Error>(())
    /// ```
    ///
    /// # Errors
    /// An unknown format; a model that cannot be written in it, with the formats that work.
    pub fn export(&self, format: &str) -> Result<String> {
        let format = Format::to_write(format)?;
        exchange::export(&self.inner, &self.inner.card.algorithm, format, &Memory::default())
    }

    /// Reads a model from the text of [`export`](Self::export) in the format `"json"`, or from a file of LightGBM, XGBoost,
    /// CatBoost, RankLib, Solr, or the plugin of Elasticsearch and OpenSearch (docs/guide/export.md). The text need not be
    /// trusted.
    ///
    /// ```
    /// use sqlite_ltr::Model;
    ///
    /// assert!(Model::import("{}").unwrap_err().to_string().contains("argument 'text'"));
    /// let trees = r#"[{"nodeid": 0, "split": "price", "split_condition": 10, "yes": 1, "no": 2, "missing": 1,
    ///     "children": [{"nodeid": 1, "leaf": 0.5}, {"nodeid": 2, "leaf": -0.25}]}]"#;
    /// let model = Model::import(trees)?;
    /// assert_eq!(model.score(&[9.5], None)?, 0.5);
    /// assert_eq!(model.info().features, ["price"]);
    /// # Ok::<(), sqlite_ltr::Error>(())
    /// ```
    ///
    /// # Errors
    /// Text that is not a supported model, with the problem; a model with unsupported parts.
    pub fn import(text: impl AsRef<[u8]>) -> Result<Self> {
        Self::import_with(text, &ImportOptions::default())
    }

    /// Like [`import`](Self::import), with a given format or column names.
    ///
    /// ```
    /// use sqlite_ltr::{ImportOptions, Model};
    ///
    /// let text = "## Coordinate Ascent\n1:0.5 2:-1";
    /// let options = ImportOptions::default().format("ranklib").name("1", "price").name("2", "stars");
    /// assert_eq!(Model::import_with(text, &options)?.info().features, ["price", "stars"]);
    /// # Ok::<(), sqlite_ltr::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`import`](Self::import); text in a different format; names for features that are not in the text.
    pub fn import_with(text: impl AsRef<[u8]>, options: &ImportOptions) -> Result<Self> {
        let control = control::Control::default();
        let Imported { model, warnings, .. } =
            exchange::import(text.as_ref(), &options.0, algorithm::find_name, &control)?;
        Ok(Self { warnings, ..Self::from_bytes(&model.to_bytes()?)? })
    }

    /// Training warnings, such as fits that stopped early; empty for a loaded model.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The settings that training compared, like the key `search` of an SQL report (docs/reference/report.md); `None` if
    /// there was only one, and for a loaded model.
    pub fn search(&self) -> Option<&Value> {
        self.search.as_ref()
    }

    /// The role of each part of the data set in training, like the key `columns` of an SQL report
    /// (docs/reference/report.md); `None` for a loaded model.
    ///
    /// ```
    /// use sqlite_ltr::{Dataset, Trainer};
    /// use ndarray::array;
    ///
    /// let data = Dataset::from_arrays(array![[0.0], [1.0]], [1, 1], &[0.0, 1.0])?.with_feature_names(["bm25"])?;
    /// let model = Trainer::new("rank_svm").option("lambda", 0.1).fit(&data)?;
    /// let columns = model.columns().ok_or("none")?;
    /// assert_eq!((&columns[2]["name"], &columns[2]["usage"]), (&"bm25".into(), &"feature".into()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn columns(&self) -> Option<&Value> {
        self.columns.as_ref()
    }

    /// The model's description of itself.
    ///
    /// ```
    /// use sqlite_ltr::{Dataset, Trainer};
    /// use ndarray::array;
    ///
    /// let data = Dataset::from_arrays(array![[0.0], [1.0]], [1, 1], &[0.0, 1.0])?;
    /// let info = Trainer::new("rank_svm").option("lambda", 0.1).fit(&data)?.info();
    /// assert!(info.linear && !info.query_dependent);
    /// assert_eq!(info.settings["loss"], "hinge");
    /// assert_eq!(info.training["documents"], 2);
    /// # Ok::<(), sqlite_ltr::Error>(())
    /// ```
    pub fn info(&self) -> ModelInfo {
        let capabilities = self.inner.capabilities();
        ModelInfo {
            algorithm: self.inner.card.algorithm.clone(),
            features: self.inner.card.features.clone(),
            pointwise: capabilities.pointwise,
            linear: capabilities.linear,
            query_dependent: capabilities.query_dependent,
            settings: self.inner.card.settings.clone(),
            training: self.inner.card.summary.clone(),
        }
    }

    /// Ranks the documents of each query: queries in the order of their ids, documents by decreasing score, ties by id.
    /// Relevance is ignored.
    ///
    /// ```
    /// use sqlite_ltr::{Dataset, Trainer};
    /// use ndarray::array;
    ///
    /// let data = Dataset::from_arrays(array![[0.0], [1.0], [2.0], [0.5]], [1, 1, 2, 2], &[0.0, 1.0, 1.0, 0.0])?;
    /// let model = Trainer::new("rank_svm").option("lambda", 0.1).fit(&data)?;
    /// let rows: Vec<usize> = model.rank(&data)?.iter().map(|ranked| ranked.row).collect();
    /// assert_eq!(rows, [1, 0, 2, 3]);
    /// # Ok::<(), sqlite_ltr::Error>(())
    /// ```
    ///
    /// # Errors
    /// Features of the model that the data set does not have; missing values, unless the model was trained with the option
    /// `missing`; a score beyond the range of numbers.
    pub fn rank(&self, data: &Dataset) -> Result<Answer<Ranked>> {
        self.rank_with(data, &RankOptions::default())
    }

    /// Like [`rank`](Self::rank), with a limit per group, a number of threads, or a handle to stop it.
    ///
    /// ```
    /// use sqlite_ltr::{Dataset, RankOptions, Trainer};
    /// use ndarray::array;
    ///
    /// let data = Dataset::from_arrays(array![[3.0], [2.0], [1.0]], [1, 1, 1], &[2.0, 1.0, 0.0])?;
    /// let model = Trainer::new("rank_svm").option("lambda", 0.1).fit(&data)?;
    /// let pages = data.with_groups(["a.org", "a.org", "b.org"])?;
    /// let options = RankOptions { max_per_value: Some(1), ..RankOptions::default() };
    /// let rows: Vec<usize> = model.rank_with(&pages, &options)?.iter().map(|ranked| ranked.row).collect();
    /// assert_eq!(rows, [0, 2]);
    /// # Ok::<(), sqlite_ltr::Error>(())
    /// ```
    ///
    /// # Errors
    /// Errors of [`rank`](Self::rank); missing groups; [`Error::Interrupted`].
    pub fn rank_with(&self, data: &Dataset, options: &RankOptions) -> Result<Answer<Ranked>> {
        let constraint = self.constraint(options)?;
        let (data, read_report) = data.ordered(self.read_request(constraint, false))?;
        if data.n_docs() == 0 {
            return Ok(Answer { rows: Vec::new(), warnings: Vec::new() });
        }
        let Scored { scores, warnings, .. } = self.scored(&data, options)?;
        let probability = self.inner.card.probability.as_ref();
        let mut ranked = Vec::with_capacity(scores.len());
        for query in 0..data.n_queries() {
            let max_per_value = options.max_per_value.unwrap_or(1);
            for (index, document) in
                selected_rows(&data, query, &scores, constraint, max_per_value)?.into_iter().enumerate()
            {
                let slot = data.groups.get(document).filter(|_| constraint == ListConstraint::Slots);
                ranked.push(Ranked {
                    query_id: data.query_ids[query].clone(),
                    doc_id: data.doc_ids[document].clone(),
                    row: read_report.rows[document],
                    score: scores[document],
                    rank: index + 1,
                    slot: slot.cloned(),
                    probability: probability.map(|map| map.at(scores[document])),
                });
            }
        }
        Ok(Answer { rows: ranked, warnings })
    }

    /// The score of one document; higher is better. Query-dependent models need the features of its query.
    ///
    /// ```
    /// use sqlite_ltr::{Dataset, Trainer};
    /// use ndarray::array;
    ///
    /// let data = Dataset::from_arrays(array![[0.0], [1.0]], [1, 1], &[0.0, 1.0])?;
    /// let model = Trainer::new("rank_svm").option("lambda", 0.1).fit(&data)?;
    /// assert!(model.score(&[0.9], None)? > model.score(&[0.1], None)?);
    /// # Ok::<(), sqlite_ltr::Error>(())
    /// ```
    ///
    /// # Errors
    /// A wrong number of features; values that are not finite; a model that needs all documents of a
    /// query; query features that are missing or not wanted.
    pub fn score(&self, features: &[f64], query_features: Option<&[QueryValue]>) -> Result<f64> {
        let function = self.function(query_features)?;
        PointScorer::new(Arc::clone(&self.inner), function)?.score(features)
    }

    /// The preference for document a over document b: f(a, b) of the form `ranking`, otherwise the difference of their
    /// scores. Above 0 document a is better. `prefer(b, a)` is the same number with the other sign.
    ///
    /// ```
    /// use sqlite_ltr::{Dataset, Trainer};
    /// use ndarray::array;
    ///
    /// let data = Dataset::from_arrays(array![[0.0], [1.0]], [1, 1], &[0.0, 1.0])?;
    /// let model = Trainer::new("rank_svm").option("form", "ranking").option("lambda", 0.1).fit(&data)?;
    /// assert!(model.prefer(&[0.9], &[0.1], None)? > 0.0);
    /// # Ok::<(), sqlite_ltr::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`score`](Self::score), but a model of the form `ranking` is not an error.
    pub fn prefer(&self, a: &[f64], b: &[f64], query_features: Option<&[QueryValue]>) -> Result<f64> {
        let function = self.function(query_features)?;
        PairScorer::new(Arc::clone(&self.inner), function)?.preference(a, b)
    }

    /// The weight of each scaled feature, and of the unscaled feature, for linear models.
    ///
    /// ```
    /// use sqlite_ltr::{Dataset, Trainer};
    /// use ndarray::array;
    ///
    /// let data = Dataset::from_arrays(array![[0.0], [1.0]], [1, 1], &[0.0, 1.0])?;
    /// let model = Trainer::new("rank_svm").option("lambda", 0.1).option("scale", "standard").fit(&data)?;
    /// let weights = model.weights(None)?;
    /// assert!(weights[0].feature == "1" && weights[0].weight > 0.0);
    /// assert_eq!((weights[0].center, weights[0].scale), (Some(0.5), Some(0.5)));
    /// assert_eq!(weights[0].raw_weight, Some(2.0 * weights[0].weight));
    /// # Ok::<(), sqlite_ltr::Error>(())
    /// ```
    ///
    /// # Errors
    /// A model that is not linear; query features that are missing or not wanted.
    pub fn weights(&self, query_features: Option<&[QueryValue]>) -> Result<Vec<FeatureWeight>> {
        let function = self.function(query_features)?;
        function_weights(&self.inner, &function)
    }

    /// Evaluates the model's ranking on judged documents. Metrics are named as in SQL, such as `ndcg@10` or `map`.
    ///
    /// ```
    /// use sqlite_ltr::{Dataset, Trainer};
    /// use ndarray::array;
    ///
    /// let data = Dataset::from_arrays(array![[0.0], [1.0], [2.0]], [1, 1, 1], &[0.0, 1.0, 2.0])?;
    /// let model = Trainer::new("rank_svm").option("lambda", 0.1).fit(&data)?;
    /// assert_eq!(model.evaluate(&data, &["ndcg@10", "mrr"])?.means, [Some(1.0), Some(1.0)]);
    /// # Ok::<(), sqlite_ltr::Error>(())
    /// ```
    ///
    /// # Errors
    /// An unknown metric; a data set without relevance or rows; errors of [`rank`](Self::rank).
    pub fn evaluate(&self, data: &Dataset, metrics: &[&str]) -> Result<Evaluation> {
        let metrics: Vec<Metric> = metrics.iter().map(|name| Metric::parse(name)).collect::<Result<_>>()?;
        let options = RankOptions::default();
        let constraint = self.constraint(&options)?;
        let (data, _) = data.ordered(self.read_request(constraint, true))?;
        if data.n_docs() == 0 {
            return Err(Error::Data("0 rows; there is nothing to evaluate".to_owned()));
        }
        let Scored { scores, mut warnings, .. } = self.scored(&data, &options)?;
        let scores = constrained_scores(&data, scores, constraint, 1)?;
        warnings.extend(apply::without_relevant(&data, "the data set"));
        let measure =
            |control: &control::Control| apply::evaluate(&data, &scores, &metrics, Undefined::Skip, control);
        let measured = run(&options, measure)?;
        let apply::Evaluation { values, means } = measured;
        Ok(Evaluation { query_ids: data.query_ids.clone(), values, means, warnings })
    }

    pub(super) fn constraint(&self, options: &RankOptions) -> Result<ListConstraint> {
        match (self.inner.card.slots, options.max_per_value) {
            (true, Some(_)) => {
                Err(Error::Unsupported("max_per_value: the model matches documents to slots".to_owned()))
            }
            (_, Some(0)) => Err(Error::value("max_per_value", "0", "a whole number from 1")),
            (true, None) => Ok(ListConstraint::Slots),
            (false, Some(_)) => Ok(ListConstraint::Diversity),
            (false, None) => Ok(ListConstraint::None),
        }
    }

    pub(super) fn read_request(&self, constraint: ListConstraint, relevance: bool) -> ReadRequest<'_> {
        ReadRequest {
            model: Some(&self.inner),
            known: Some((&self.inner.card.categories, &self.inner.card.quantities)),
            compared: None,
            relevance,
            missing: self.inner.card.missing,
            constraint,
            order: RowOrder::Canonical,
            features: self.inner.capabilities().has_features,
            query: None,
        }
    }

    /// Scores of the documents; functions of new queries are fitted.
    pub(super) fn scored(&self, data: &data::Dataset, options: &RankOptions) -> Result<Scored> {
        run(options, |control| {
            let mut step = ScoringJob::start(&self.inner, self.key, data, &self.functions, control)?;
            loop {
                step = match step {
                    Step::Done(scored) => return Ok(scored),
                    Step::NeedsFits(job, queries) => job.advance(&queries, control)?,
                };
            }
        })
    }

    pub(super) fn function(&self, query_features: Option<&[QueryValue]>) -> Result<Arc<Function>> {
        let fit = |_: &[f64], fit: &Fit<'_>| run(&RankOptions::default(), |control| fit(control));
        function_for(&self.inner, self.key, query_features, &self.functions, fit)
    }
}

/// Runs work on a ranking's threads.
pub(super) fn run<T: Send>(
    options: &RankOptions,
    work: impl FnOnce(&control::Control) -> Result<T> + Send,
) -> Result<T> {
    on_pool(options.threads, &options.control.0, |_| Ok(()), work)
}
