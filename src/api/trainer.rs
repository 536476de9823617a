//! Training by the name of an algorithm and options by key.

use std::time::Instant;

use serde_json::{Map, Value};

use super::Control;
use super::dataset::Dataset;
use super::model::Model;
use super::read_request::ReadRequest;
use crate::base::{
    ColumnAdvice, Error, Memory, Origin, Params, Reservation, Result, control, matrix_bytes, on_pool,
};
use crate::data::{self, ListConstraint, ReadReport, RowOrder};
use crate::model::{LinearPrior, TrainingColumns};
use crate::train::algorithm::{Columns, Input};
use crate::train::column_report::ColumnReport;
use crate::train::column_rules::{ONLY_IDS, ReadColumn, Usage};
use crate::train::options::Use;
use crate::train::protocol::{Encoded, Rows, Training, check_rows};
use crate::train::report::Finished;
use crate::train::tuning::{Search, SearchRows};
use crate::train::{ALGORITHMS, algorithm, options};

/// Options that concern tables or the terminal.
const SQL_ONLY: &[&str] =
    &["name", "schema", "keep_versions", "activate", "params", "columns", "progress", "report", "buckets"];

/// Options whose columns a data set has.
const FOLD_COLUMNS: [&str; 2] = ["split_by", "group_by"];

/// The option that [`Trainer::prior`] sets.
const PRIOR: &str = "prior";

/// An algorithm that [`Trainer::new`] accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AlgorithmInfo {
    /// The name.
    pub name: &'static str,
    /// One line for the reference tables.
    pub summary: &'static str,
    /// The objective.
    pub objective: &'static str,
    /// Authors, year, equation.
    pub source: &'static str,
}

/// All algorithms, as listed by the SQL table `ltr_algorithms`.
///
/// ```
/// assert!(sqlite_ltr::algorithms().any(|algorithm| algorithm.name == "q_svm"));
/// ```
pub fn algorithms() -> impl Iterator<Item = AlgorithmInfo> {
    ALGORITHMS.iter().map(|def| AlgorithmInfo {
        name: def.name,
        summary: def.summary,
        objective: def.objective,
        source: def.source,
    })
}

/// The metric of a setting on a fold's held-out queries.
#[derive(Debug, Clone, PartialEq)]
pub struct FoldScore {
    /// The options that vary, with their values, as a JSON object.
    pub setting: Value,
    /// The fold, from 1.
    pub fold: usize,
    /// Name of the metric.
    pub metric: String,
    /// The mean over the held-out queries; `None` if it is undefined for all of them.
    pub value: Option<f64>,
    /// Seconds of the fit and the evaluation. Settings that are computed together share the time equally.
    pub seconds: f64,
}

/// Trains models: an algorithm, options, and a handle to stop.
///
/// Options have the same keys, values, defaults and messages as `ltr_train` in SQL (docs/reference/options.md). The
/// same rows and options give the same bytes as `ltr_fit`, except for column names, which SQL stores.
///
/// ```
/// use sqlite_ltr::{Dataset, Trainer};
/// use ndarray::array;
///
/// let features = array![[3.0, 0.1], [1.0, 0.9], [2.0, 0.2], [0.5, 0.7]];
/// let data = Dataset::from_arrays(features, ["a", "a", "b", "b"], &[2.0, 0.0, 1.0, 0.0])?;
/// let model = Trainer::new("q_svm").option("neighbors", 40).option("lambda", [0.01, 0.1]).fit(&data)?;
/// assert_eq!(model.info().algorithm, "q_svm");
/// # Ok::<(), sqlite_ltr::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Trainer {
    algorithm: String,
    options: Map<String, Value>,
    prior: Option<Model>,
    control: Control,
}

impl Trainer {
    /// Creates a trainer with this algorithm (see [`algorithms`]). An unknown name is an error in [`fit`](Self::fit).
    ///
    /// ```
    /// use sqlite_ltr::{Dataset, Trainer};
    /// use ndarray::array;
    ///
    /// let data = Dataset::from_arrays(array![[0.0], [1.0]], [1, 1], &[0.0, 1.0])?;
    /// let error = Trainer::new("qsvm").fit(&data).unwrap_err();
    /// assert!(error.to_string().starts_with("unknown algorithm 'qsvm', did you mean 'q_svm'?"));
    /// # Ok::<(), sqlite_ltr::Error>(())
    /// ```
    pub fn new(algorithm: &str) -> Self {
        Self { algorithm: algorithm.to_owned(), options: Map::new(), prior: None, control: Control::new() }
    }

    /// Sets an option. If an option is searchable (see `ltr_options` and docs/guide/choosing.md), it accepts an array of
    /// values, from which [`fit`](Self::fit) chooses by cross-validation over queries. A later value replaces an
    /// earlier one. [`fit`](Self::fit) checks keys and values. `threads` (all cores by default), `time_limit` in
    /// seconds and `max_memory` in bytes are options too.
    ///
    /// ```
    /// use sqlite_ltr::{Dataset, Trainer};
    /// use ndarray::array;
    /// use serde_json::json;
    ///
    /// let data = Dataset::from_arrays(array![[0.0], [1.0]], [1, 1], &[0.0, 1.0])?;
    /// let trainer = Trainer::new("rank_svm").option("threads", 1).option("lambda", 0.1);
    /// trainer.clone().option("kernel", json!({ "gaussian": { "width": 2 } })).fit(&data)?;
    ///
    /// let error = trainer.option("lambda", -1).fit(&data).unwrap_err();
    /// assert!(error.to_string().starts_with("option 'lambda': got -1, expected a number above 0"));
    /// # Ok::<(), sqlite_ltr::Error>(())
    /// ```
    #[must_use]
    pub fn option(mut self, key: &str, value: impl Into<Value>) -> Self {
        if key == PRIOR {
            self.prior = None;
        }
        self.options.insert(key.to_owned(), value.into());
        self
    }

    /// Centers the penalty at the function of a trained model, replacing any earlier option `prior`. Use this to retrain
    /// incrementally, or to transfer from a large data set to a small one. The model needs one linear function and the
    /// features of the new data. Documents are scaled as for that model.
    ///
    /// ```
    /// use sqlite_ltr::{Dataset, Trainer};
    /// use ndarray::array;
    ///
    /// let large = Dataset::from_arrays(array![[0.0], [1.0], [2.0]], [1, 1, 1], &[0.0, 1.0, 2.0])?;
    /// let small = Dataset::from_arrays(array![[0.0], [1.0]], [7, 7], &[0.0, 1.0])?;
    /// let trainer = Trainer::new("rank_svm").option("lambda", 0.1);
    /// let model = trainer.clone().prior(&trainer.fit(&large)?).fit(&small)?;
    /// assert_eq!(model.info().algorithm, "rank_svm");
    /// # Ok::<(), sqlite_ltr::Error>(())
    /// ```
    #[must_use]
    pub fn prior(mut self, model: &Model) -> Self {
        self = self.option(PRIOR, "@the model of the caller");
        self.prior = Some(model.clone());
        self
    }

    /// Sets the handle that stops the training and shows its progress.
    #[must_use]
    pub fn control(mut self, control: &Control) -> Self {
        self.control = control.clone();
        self
    }

    /// Trains on these documents. Unless `lambda` is a number, some queries are held out to choose it
    /// (option `validation`).
    ///
    /// ```
    /// use sqlite_ltr::{Dataset, Trainer};
    /// use ndarray::array;
    ///
    /// let features = array![[0.1, 2.0], [0.9, 1.0], [0.2, 0.5], [0.7, 3.0]];
    /// let data = Dataset::from_arrays(features, [1, 1, 2, 2], &[0.0, 1.0, 0.0, 1.0])?;
    /// let model = Trainer::new("list_net").option("lambda", 0.01).fit(&data)?;
    /// assert!(model.warnings().is_empty());
    /// # Ok::<(), sqlite_ltr::Error>(())
    /// ```
    ///
    /// # Errors
    /// An unknown algorithm, option or combination; data from which nothing can be learned;
    /// [`Error::Interrupted`], [`Error::TimeLimit`], [`Error::Memory`].
    pub fn fit(&self, data: &Dataset) -> Result<Model> {
        if self.options.get("validation").is_some_and(|value| value.is_string() && value != "documents") {
            let reason = "option 'validation': a source is for SQL; use Trainer::fit_with_validation";
            return Err(Error::Unsupported(reason.to_owned()));
        }
        self.run(data, None)
    }

    /// Trains on these documents, and chooses lambda by the metric (option `metric`) on others.
    ///
    /// ```
    /// use sqlite_ltr::{Dataset, Trainer};
    /// use ndarray::array;
    ///
    /// let judged = |offset: f64| {
    ///     let features = array![[offset, 2.0], [offset + 1.0, 1.0], [offset, 0.5], [offset + 1.0, 3.0]];
    ///     Dataset::from_arrays(features, [1, 1, 2, 2], &[0.0, 1.0, 0.0, 1.0])
    /// };
    /// let trainer = Trainer::new("rank_svm").option("lambda", [0.001, 0.1]).option("metric", "ndcg@1");
    /// let model = trainer.fit_with_validation(&judged(0.0)?, &judged(0.1)?)?;
    /// assert!(model.info().training["lambda"].is_number());
    /// # Ok::<(), sqlite_ltr::Error>(())
    /// ```
    ///
    /// # Errors
    /// Errors of [`fit`](Self::fit); `validation` with other features than `data`.
    pub fn fit_with_validation(&self, data: &Dataset, validation: &Dataset) -> Result<Model> {
        self.clone().option("validation", "the data set of the caller").run(data, Some(validation))
    }

    fn run(&self, data: &Dataset, validation: Option<&Dataset>) -> Result<Model> {
        // 1. Checks that need no data.
        let started = Instant::now();
        let algorithm = algorithm::find(&self.algorithm)?;
        let mut training = Training::new(algorithm, self.parsed_options(data, Use::Train)?)?;
        if training.input().prior.is_some() {
            training.set_prior(self.stored_prior()?);
        }
        if validation.is_some() && training.input().validation.is_none() {
            let reason = format!("the algorithm '{}' takes no validation data", algorithm.name);
            return Err(Error::Unsupported(reason));
        }
        check_weights(data, training.input())?;

        // 2. The training.
        // Runs that share a handle have separate limits.
        let memory = Memory::limited(training.options.get("max_memory").and_then(Value::as_u64));
        let control = self.control.0.for_memory(memory);
        let train = |control: &control::Control| train(&training, data, validation, control);
        let finished = within_time(&training.options, started, &control, train);
        let Finished { model, mut volatile, warnings, columns, .. } =
            finished.map_err(|problem| training.error(problem))?;

        // 3. Decode the model from its bytes, so it behaves exactly like a stored one.
        let encoded = Encoded::new(model, u64::MAX, control.memory())?;
        let mut model = Model::from_bytes(&encoded.bytes)?;
        (model.warnings, model.search) = (warnings, volatile.remove("search"));
        model.columns = Some(columns);
        Ok(model)
    }

    /// Cross-validates over queries, like `ltr_cross_validate` in SQL, and returns one row per setting and fold.
    /// Settings are the combinations of all arrays of values. Without an array there is one setting, which chooses its
    /// own lambda in each fold.
    ///
    /// ```
    /// use sqlite_ltr::{Dataset, Trainer};
    /// use ndarray::Array2;
    ///
    /// let features = Array2::from_shape_fn((12, 1), |(row, _)| (row % 2) as f64);
    /// let relevance: Vec<f64> = (0..12).map(|row| f64::from(row % 2)).collect();
    /// let data = Dataset::from_arrays(features, (0..12).map(|row| row / 2), &relevance)?;
    /// let trainer = Trainer::new("rank_svm").option("lambda", [0.1, 1.0]).option("folds", 3);
    /// let scores = trainer.cross_validate(&data)?;
    /// assert_eq!(scores.len(), 2 * 3);
    /// assert!(scores.iter().all(|score| score.value == Some(1.0)));
    /// # Ok::<(), sqlite_ltr::Error>(())
    /// ```
    ///
    /// # Errors
    /// Errors of [`fit`](Self::fit); too few queries for the folds.
    pub fn cross_validate(&self, data: &Dataset) -> Result<Vec<FoldScore>> {
        let started = Instant::now();
        let options = self.parsed_options(data, Use::CrossValidate)?;
        let mut search = Search::of_validation(algorithm::find(&self.algorithm)?, &options)?;
        if search.input().prior.is_some() {
            search.set_prior(self.stored_prior()?);
        }
        check_weights(data, search.input())?;
        let memory = Memory::limited(options.get("max_memory").and_then(Value::as_u64));
        let control = self.control.0.for_memory(memory);
        within_time(&options, started, &control, |control| fold_scores(&search, data, &options, control))
            .map_err(|problem| search.error(problem))
    }

    /// The function of [`Self::prior`].
    fn stored_prior(&self) -> Result<LinearPrior> {
        let prior = self.prior.as_ref().ok_or_else(|| {
            let reason = "option 'prior': stored models are for SQL; use Trainer::prior";
            Error::Unsupported(reason.to_owned())
        })?;
        prior.inner().linear_prior()
    }

    fn parsed_options(&self, data: &Dataset, used: Use) -> Result<Params> {
        if let Some(key) = SQL_ONLY.iter().find(|key| self.options.contains_key(**key)) {
            return Err(Error::Unsupported(format!("option '{key}' has a meaning in SQL only")));
        }
        let mut options = self.options.clone();
        for (key, values) in FOLD_COLUMNS.into_iter().zip(&data.fold_columns) {
            if options.contains_key(key) {
                return Err(Error::Unsupported(format!(
                    "option '{key}': columns are for SQL; use Dataset::with_{key}"
                )));
            }
            options.extend(values.as_ref().map(|_| (key.to_owned(), Value::from(key))));
        }
        options::parse(Some(&Value::Object(options).to_string()), used)
    }
}

/// Refuses document weights if this training does not support them.
fn check_weights(data: &Dataset, input: Input<'_>) -> Result<()> {
    let refused = input.doc_weights.problem().filter(|_| data.doc_weights.is_some());
    let problem = |problem| Error::Unsupported(format!("data with weights of documents: {problem}"));
    refused.map_or(Ok(()), |refused| Err(problem(refused)))
}

/// Runs work on the threads of the options. The calling thread checks the time limit.
fn within_time<T: Send>(
    options: &Params,
    started: Instant,
    control: &control::Control,
    work: impl FnOnce(&control::Control) -> Result<T> + Send,
) -> Result<T> {
    let time_limit = options.number("time_limit");
    let poll = |_: &control::Control| match time_limit {
        Some(limit) if started.elapsed().as_secs_f64() > limit => Err(Error::time_limit(limit)),
        _ => Ok(()),
    };
    on_pool(options.count("threads"), control, poll, work)
}

/// The rows in the order that training needs, with their memory. `more`: additional rows that are sorted too.
fn judged_rows(
    data: &Dataset,
    input: Input<'_>,
    options: &Params,
    more: usize,
    control: &control::Control,
) -> Result<((data::Dataset, ReadReport), Reservation)> {
    control.check()?;
    let bytes = matrix_bytes(data.rows() + more, data.features()).saturating_mul(2);
    let what = "a sorted copy of the data set";
    let memory = control.reserve(bytes, what, "use fewer rows, or f32 features")?;
    let (mut data, read_report) = data.ordered(request(input, options))?;
    check_rows(&mut data, input).map_err(|problem| Error::Data(problem.to_owned()))?;
    Ok(((data, read_report), memory))
}

/// The parts of a data set as training columns.
fn read_columns<'a>(data: &'a Dataset, input: Input<'_>) -> Vec<ReadColumn<'a>> {
    let groups = match input.constraint {
        ListConstraint::Slots => Usage::Role("slot"),
        ListConstraint::Diversity => Usage::Role("diversify_by"),
        ListConstraint::None | ListConstraint::Vectors => {
            Usage::LeftOut("only matching and diverse rankings use groups")
        }
    };
    let open = Usage::Open { is_category: true, like_role: None };
    let has_features = input.columns == Columns::Features;
    let feature = if has_features { open } else { Usage::LeftOut(ONLY_IDS) };
    let vector = data.names.is_none() && data.features() > 0 && has_features;
    let parts = [
        ("query_ids", Usage::Role("query"), true),
        ("doc_ids", Usage::Role("doc"), data.doc_ids.is_some()),
        ("relevance", Usage::Role("relevance"), data.relevance.is_some()),
        ("weights", Usage::Role("weight"), data.weights.is_some()),
        ("doc_weights", Usage::Role("doc_weight"), data.doc_weights.is_some()),
        ("groups", groups, data.groups.is_some()),
        ("features", Usage::Role("features"), vector),
    ];
    let parts = parts.into_iter().filter(|(.., is_given)| *is_given).map(|(name, usage, _)| (name, usage));
    let names = data.names.iter().flatten().chain(data.categories.iter().map(|category| &category.name));
    let query_features = data.query_names.iter().map(|name| (&**name, Usage::Role("query_features")));
    let columns = parts.chain(names.map(|name| (&**name, feature))).chain(query_features);
    columns.map(|(name, usage)| ReadColumn { name, usage, observed: None }).collect()
}

fn request<'a>(input: Input<'_>, options: &'a Params) -> ReadRequest<'a> {
    ReadRequest {
        query: None,
        model: None,
        known: None,
        compared: options.get("query_distance").and_then(Value::as_object),
        relevance: true,
        missing: input.missing,
        constraint: input.constraint,
        order: input.order,
        features: input.columns == Columns::Features,
    }
}

/// The scores of all settings on all folds, in the current thread pool.
fn fold_scores(
    search: &Search,
    data: &Dataset,
    options: &Params,
    control: &control::Control,
) -> Result<Vec<FoldScore>> {
    let ((data, read_report), _memory) = judged_rows(data, search.input(), options, 0, control)?;
    let folds = search.folds(&data, read_report.split.as_deref(), options)?;
    let rows = SearchRows { data, folds, summaries: read_report.summaries };
    let mut fold_scores = Vec::new();
    for (number, group) in search.groups.iter().enumerate() {
        let scores = search.scores(&rows, number, control)?;
        fold_scores.extend(scores.into_iter().map(|score| FoldScore {
            setting: Value::Object(group.settings[score.setting].values.clone()),
            fold: score.fold + 1,
            metric: search.metric.name(),
            value: score.value,
            seconds: score.seconds,
        }));
    }
    Ok(fold_scores)
}

/// Trains in the current thread pool.
fn train(
    training: &Training,
    data: &Dataset,
    validation: Option<&Dataset>,
    control: &control::Control,
) -> Result<Finished> {
    let (input, more) = (training.input(), validation.map_or(0, Dataset::rows));
    let advice = ColumnAdvice { origin: Origin::DataSet, doc: data.doc_name(), vector: None };
    let given = data;
    let ((data, read_report), _memory) = judged_rows(data, input, &training.options, more, control)?;
    let column_report = ColumnReport::of(&read_columns(given, input), &data, &read_report, false, advice);
    let matched = |validation: &Dataset| {
        let known = Some((&data.categories, &data.quantities));
        let request = ReadRequest { order: RowOrder::Canonical, known, ..request(input, &training.options) };
        let (other, _) = validation.ordered(request)?;
        other.matching(&data).map_err(|problem| Error::Data(format!("validation data: {problem}")))
    };
    let validation = validation.map(matched).transpose()?;
    let roles = TrainingColumns::default();
    training.run(Rows { data, read_report, validation, roles, advice, column_report }, u64::MAX, control)
}
