//! The data set that a caller passes to the Rust API: documents with features, grouped by query.

use ndarray::Array2;

use super::features::{CategoryValues, Features};
use crate::base::{Error, Result, check_size};
use crate::data::{self, Id, QUERY_WEIGHTS, QueryValue, is_query_weight, is_weight};

/// The name of a data set in error messages.
pub(super) const SOURCE: &str = "Dataset";

/// One document of a query, for [`Dataset::from_rows`].
///
/// ```
/// use sqlite_ltr::Document;
///
/// let document = Document::new("rust book", vec![1.5, 0.0]).id(7).relevance(2.0);
/// assert_eq!(document.features, [1.5, 0.0]);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    /// The id of the query that the document belongs to.
    pub query_id: Id,
    /// Feature values; NaN means missing.
    pub features: Vec<f64>,
    /// The document's id. If no document has an id, documents are numbered within their query.
    pub doc_id: Option<Id>,
    /// The relevance grade; required for training and evaluation.
    pub relevance: Option<f64>,
}

impl Document {
    /// Creates a document for this query, without an id or a relevance grade.
    pub fn new(query_id: impl Into<Id>, features: Vec<f64>) -> Self {
        Self { query_id: query_id.into(), features, doc_id: None, relevance: None }
    }

    /// Sets the document's id.
    #[must_use]
    pub fn id(self, id: impl Into<Id>) -> Self {
        Self { doc_id: Some(id.into()), ..self }
    }

    /// Sets the relevance grade; higher is better.
    #[must_use]
    pub fn relevance(self, relevance: f64) -> Self {
        Self { relevance: Some(relevance), ..self }
    }
}

/// Documents grouped by query, for training, ranking and evaluation.
///
/// Each row is one document. The rows of a query need not be adjacent. The order of rows affects a model only with the
/// algorithm `perceptron`. All values are checked on construction.
///
/// ```
/// use sqlite_ltr::Dataset;
/// use ndarray::array;
///
/// let features = array![[3.0, 0.1], [1.0, 0.9], [2.0, 0.2], [0.5, 0.7]];
/// let data = Dataset::from_arrays(features, ["a", "a", "b", "b"], &[2.0, 0.0, 1.0, 0.0])?
///     .with_feature_names(["bm25", "age"])?
///     .with_doc_ids([10, 11, 20, 21])?;
/// assert_eq!((data.rows(), data.features()), (4, 2));
/// # Ok::<(), sqlite_ltr::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Dataset {
    pub(super) features: Features,
    /// `None`: features are identified by position.
    pub(super) names: Option<Vec<String>>,
    pub(super) query_ids: Vec<Id>,
    pub(super) doc_ids: Option<Vec<Id>>,
    pub(super) relevance: Option<Vec<f64>>,
    pub(super) weights: Option<Vec<f64>>,
    pub(super) doc_weights: Option<Vec<f64>>,
    pub(super) query_names: Vec<String>,
    /// Shape: rows x number of `query_names`.
    pub(super) query_features: Array2<QueryValue>,
    pub(super) groups: Option<Vec<Id>>,
    /// The values of the columns that the options `split_by` and `group_by` name in SQL.
    pub(super) fold_columns: [Option<Vec<Id>>; 2],
    pub(super) categories: Vec<CategoryValues>,
}

impl Dataset {
    /// Creates a data set of judged documents from a feature matrix with one row per document, and the query id and
    /// relevance grade of each row. Features are identified by position unless
    /// [`with_feature_names`](Self::with_feature_names) names them.
    ///
    /// ```
    /// use sqlite_ltr::Dataset;
    /// use ndarray::array;
    ///
    /// let data = Dataset::from_arrays(array![[0.2], [0.7], [0.4]], [1, 1, 2], &[0.0, 1.0, 0.0])?;
    /// assert_eq!(data.rows(), 3);
    ///
    /// let error = Dataset::from_arrays(array![[0.2], [0.7]], [1, 1], &[0.0]).unwrap_err();
    /// assert_eq!(error.to_string(), "relevance grades: found 1, expected 2");
    /// # Ok::<(), sqlite_ltr::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the arguments differ in their number of rows, a relevance grade is not finite, or a feature is infinite.
    pub fn from_arrays(
        features: impl Into<Features>,
        query_ids: impl IntoIterator<Item = impl Into<Id>>,
        relevance: &[f64],
    ) -> Result<Self> {
        let mut data = Self::unjudged(features, query_ids)?;
        check_size(&"relevance grades", relevance.len(), data.rows())?;
        check_numbers("relevance", relevance, f64::is_finite, "finite numbers")?;
        data.relevance = Some(relevance.to_vec());
        Ok(data)
    }

    /// Creates a data set of documents to rank, without relevance grades.
    ///
    /// ```
    /// use sqlite_ltr::Dataset;
    /// use ndarray::array;
    ///
    /// let candidates = Dataset::unjudged(array![[0.2, 1.0], [0.7, 0.0]], ["query", "query"])?;
    /// assert_eq!(candidates.rows(), 2);
    /// # Ok::<(), sqlite_ltr::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the arguments differ in their number of rows, or a feature is infinite.
    pub fn unjudged(
        features: impl Into<Features>,
        query_ids: impl IntoIterator<Item = impl Into<Id>>,
    ) -> Result<Self> {
        let features = features.into();
        let query_ids = ids(query_ids);
        check_size(&"query ids", query_ids.len(), features.rows())?;
        features.check()?;
        Ok(Self {
            query_features: Array2::default((features.rows(), 0)),
            features,
            names: None,
            query_ids,
            doc_ids: None,
            relevance: None,
            weights: None,
            doc_weights: None,
            query_names: Vec::new(),
            groups: None,
            fold_columns: [None, None],
            categories: Vec::new(),
        })
    }

    /// Creates a data set with named features from single documents. Either all documents or none must have an id, and
    /// either all or none must have a relevance grade.
    ///
    /// ```
    /// use sqlite_ltr::{Dataset, Document};
    ///
    /// let rows = [
    ///     Document::new("rust book", vec![3.0, 0.1]).relevance(2.0),
    ///     Document::new("rust book", vec![1.0, 0.9]).relevance(0.0),
    /// ];
    /// let data = Dataset::from_rows(["bm25", "age"], rows)?;
    /// assert_eq!((data.rows(), data.features()), (2, 2));
    /// # Ok::<(), sqlite_ltr::Error>(())
    /// ```
    ///
    /// # Errors
    /// If a document's number of features differs from the number of names, or only some documents have an id or a
    /// relevance grade; also the errors of [`from_arrays`](Self::from_arrays).
    pub fn from_rows(
        names: impl IntoIterator<Item = impl Into<String>>,
        rows: impl IntoIterator<Item = Document>,
    ) -> Result<Self> {
        let names: Vec<String> = names.into_iter().map(Into::into).collect();
        let (mut features, mut query_ids) = (Vec::new(), Vec::new());
        let (mut doc_ids, mut relevance) = (Vec::new(), Vec::new());
        for row in rows {
            check_size(&"features of a row", row.features.len(), names.len())?;
            features.extend(row.features);
            query_ids.push(row.query_id);
            doc_ids.extend(row.doc_id);
            relevance.extend(row.relevance);
        }
        let features = data::shaped(query_ids.len(), names.len(), features);
        let mut data = Self::unjudged(features, query_ids)?;
        if !relevance.is_empty() {
            data = Self::from_arrays(data.features, data.query_ids, &relevance)?;
        }
        if !doc_ids.is_empty() {
            data = data.with_doc_ids(doc_ids)?;
        }
        data.with_feature_names(names)
    }

    /// Creates a data set of item ratings for the algorithm `cofi_rank`, which needs no features. Users take the place
    /// of queries, and items take the place of documents.
    ///
    /// ```
    /// use sqlite_ltr::Dataset;
    ///
    /// let ratings = Dataset::from_ratings(["ann", "ann", "bob"], ["tea", "milk", "tea"], &[5.0, 2.0, 4.0])?;
    /// assert_eq!((ratings.rows(), ratings.features()), (3, 0));
    /// # Ok::<(), sqlite_ltr::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the arguments differ in length, or a rating is not finite.
    pub fn from_ratings(
        users: impl IntoIterator<Item = impl Into<Id>>,
        items: impl IntoIterator<Item = impl Into<Id>>,
        ratings: &[f64],
    ) -> Result<Self> {
        Self::from_arrays(Array2::<f64>::zeros((ratings.len(), 0)), users, ratings)?.with_doc_ids(items)
    }

    /// Creates a data set of user-item pairs without ratings, for the algorithm `cofi_rank` with the option
    /// `"feedback": "implicit"`. Each row counts as one occurrence of the pair; to pass counts instead, use
    /// [`from_ratings`](Self::from_ratings).
    ///
    /// ```
    /// use sqlite_ltr::{Dataset, RecommendOptions, Trainer};
    ///
    /// let pairs = Dataset::from_pairs([1, 1, 2, 2, 3], ["tea", "milk", "tea", "honey", "honey"])?;
    /// let trainer = Trainer::new("cofi_rank").option("feedback", "implicit").option("factors", 1).option("lambda", 0.1);
    /// let best = trainer.fit(&pairs)?.recommend(3, &RecommendOptions::default())?;
    /// assert_eq!(best[0].doc_id, "tea".into());
    /// # Ok::<(), sqlite_ltr::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the arguments differ in length.
    pub fn from_pairs(
        users: impl IntoIterator<Item = impl Into<Id>>,
        items: impl IntoIterator<Item = impl Into<Id>>,
    ) -> Result<Self> {
        let users: Vec<Id> = users.into_iter().map(Into::into).collect();
        let ones = vec![1.0; users.len()];
        Self::from_ratings(users, items, &ones)
    }

    /// Reads LETOR or SVMlight text: `grade qid:ID index:value ... # comment`. Features are numbered from 1; features
    /// that a line does not list are 0. `docid = ID` in the comment sets the document's id.
    ///
    /// ```
    /// use sqlite_ltr::Dataset;
    ///
    /// let text = "2 qid:1 1:0.5 2:1.0\n0 qid:1 1:0.1\n";
    /// let data = Dataset::from_letor(text.as_bytes())?;
    /// assert_eq!((data.rows(), data.features()), (2, 2));
    /// # Ok::<(), sqlite_ltr::Error>(())
    /// ```
    ///
    /// # Errors
    /// If a line does not have this form (the error shows its number), or the text cannot be read.
    pub fn from_letor(text: impl std::io::BufRead) -> Result<Self> {
        Self::from_letor_numbered(text, 1)
    }

    /// Like [`Self::from_letor`], but features are numbered from `first_feature`, which is 1, or 0 for files written by
    /// scikit-learn, LightGBM or XGBoost.
    ///
    /// # Errors
    /// The errors of [`Self::from_letor`].
    pub fn from_letor_numbered(text: impl std::io::BufRead, first_feature: usize) -> Result<Self> {
        let lines: Vec<data::letor::Line> = data::letor::lines(text, first_feature)
            .map(|line| line.map(|(_, line)| line))
            .collect::<Result<_>>()?;
        let width = lines.iter().map(data::letor::Line::width).max().unwrap_or(0);
        let values = lines.iter().flat_map(|line| line.dense(width)).collect();
        let relevance: Vec<f64> = lines.iter().map(|line| line.relevance).collect();
        let query_ids = lines.iter().map(|line| line.query.clone());
        let data = Self::from_arrays(data::shaped::<f32>(lines.len(), width, values), query_ids, &relevance)?;
        match lines.into_iter().map(|line| line.doc).collect::<Option<Vec<Id>>>() {
            Some(docs) => data.with_doc_ids(docs),
            None => Ok(data),
        }
    }

    /// Names the features. A model trained on named features finds features by name, in any order.
    ///
    /// ```
    /// use sqlite_ltr::{Dataset, Trainer};
    /// use ndarray::array;
    ///
    /// let data = Dataset::from_arrays(array![[0.0, 1.0], [1.0, 0.5]], [1, 1], &[0.0, 1.0])?
    ///     .with_feature_names(["bm25", "age"])?;
    /// let model = Trainer::new("rank_svm").option("lambda", 0.1).fit(&data)?;
    /// assert_eq!(model.info().features, ["bm25", "age"]);
    /// # Ok::<(), sqlite_ltr::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the number of names differs from the number of features, a name is repeated, or the features are `f32`, which
    /// are identified by position.
    pub fn with_feature_names(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Result<Self> {
        let names: Vec<String> = names.into_iter().map(Into::into).collect();
        check_size(&"feature names", names.len(), self.features())?;
        if matches!(self.features, Features::F32(_)) {
            return Err(Error::Unsupported(
                "f32 features are identified by position and cannot have names".into(),
            ));
        }
        if let Some(name) = data::repeated_name(&names) {
            return Err(Error::value(
                "feature names",
                format!("'{name}' twice"),
                "names that differ by more than case",
            ));
        }
        self.names = Some(names);
        Ok(self)
    }

    /// Sets the document id of each row. Without ids, documents are numbered from 1 within their query.
    ///
    /// # Errors
    /// If the number of ids differs from the number of rows.
    pub fn with_doc_ids(mut self, doc_ids: impl IntoIterator<Item = impl Into<Id>>) -> Result<Self> {
        let doc_ids = ids(doc_ids);
        check_size(&"document ids", doc_ids.len(), self.rows())?;
        self.doc_ids = Some(doc_ids);
        Ok(self)
    }

    /// Sets the weight in training of each row's query (above 0, 1 by default). All rows of a query must have the same
    /// weight.
    ///
    /// ```
    /// use sqlite_ltr::Dataset;
    /// use ndarray::array;
    ///
    /// let data = Dataset::from_arrays(array![[0.0], [1.0]], [1, 2], &[0.0, 1.0])?.with_weights(&[1.0, 0.5])?;
    /// assert!(data.with_weights(&[1.0, 0.0]).is_err());
    /// # Ok::<(), sqlite_ltr::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the number of weights differs from the number of rows, or a weight is not in (0, 1e100].
    pub fn with_weights(mut self, weights: &[f64]) -> Result<Self> {
        check_size(&"weights", weights.len(), self.rows())?;
        check_numbers("weight", weights, is_query_weight, QUERY_WEIGHTS)?;
        self.weights = Some(weights.to_vec());
        Ok(self)
    }

    /// Sets the weight of each document in training (at least 0, 1 by default). In pairwise losses, a pair gets the
    /// weight of its more relevant document; in least squares and ListNet, a document of weight w counts as w copies.
    /// Other losses do not accept weights. Metrics ignore weights.
    ///
    /// ```
    /// use sqlite_ltr::{Dataset, Trainer};
    /// use ndarray::array;
    ///
    /// let data = Dataset::from_arrays(array![[0.0], [1.0], [2.0]], [1, 1, 1], &[0.0, 1.0, 1.0])?;
    /// let data = data.with_doc_weights(&[1.0, 2.5, 0.0])?;
    /// assert!(Trainer::new("rank_svm").option("lambda", 1).fit(&data).is_ok());
    /// assert!(Trainer::new("slam").option("lambda", 1).fit(&data).is_err());
    /// # Ok::<(), sqlite_ltr::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the number of weights differs from the number of rows, or a weight is not in [0, 1e100].
    pub fn with_doc_weights(mut self, weights: &[f64]) -> Result<Self> {
        check_size(&"weights of documents", weights.len(), self.rows())?;
        check_numbers("weight of a document", weights, is_weight, "numbers from 0 to 1e100")?;
        self.doc_weights = Some(weights.to_vec());
        Ok(self)
    }

    /// Sets the features of each row's query, as a matrix with one column per name. Query-dependent models such as
    /// `q_svm` use them to find similar queries. All rows of a query must have the same values. Without query features,
    /// these models use the document features that are constant within each query or, if there are none, the means of
    /// the document features over each query (option `query_features`).
    ///
    /// Values are plain numbers or [`QueryValue`]s, which can be numbers, categories or orders of items (option
    /// `query_distance`).
    ///
    /// ```
    /// use sqlite_ltr::{Dataset, QueryValue};
    /// use ndarray::array;
    ///
    /// let data = Dataset::from_arrays(array![[0.0], [1.0]], [1, 2], &[0.0, 1.0])?
    ///     .with_query_features(["words"], array![[3.0], [1.0]])?;
    /// assert_eq!(data.rows(), 2);
    ///
    /// let shoes = ["shoes".into(), QueryValue::order(["price", "brand"])];
    /// let books = ["books".into(), QueryValue::order(["brand", "price"])];
    /// let data = data.with_query_features(["category", "taste"], ndarray::arr2(&[shoes, books]))?;
    /// # Ok::<(), sqlite_ltr::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the number of rows or names does not match, or a value is not finite.
    #[allow(clippy::needless_pass_by_value, reason = "arrays are given as in `from_arrays`")]
    pub fn with_query_features(
        mut self,
        names: impl IntoIterator<Item = impl Into<String>>,
        values: Array2<impl Into<QueryValue> + Clone>,
    ) -> Result<Self> {
        let values = values.mapv(Into::into);
        let names: Vec<String> = names.into_iter().map(Into::into).collect();
        check_size(&"rows of query features", values.nrows(), self.rows())?;
        check_size(&"query features", values.ncols(), names.len())?;
        let infinite = |value: &QueryValue| matches!(value, QueryValue::Number(x) if !x.is_finite());
        if values.iter().any(infinite) {
            return Err(Error::value("query features", "a value that is not finite", "finite numbers"));
        }
        (self.query_names, self.query_features) = (names, values);
        Ok(self)
    }

    /// Sets the group of each row. [`RankOptions::max_per_value`](crate::RankOptions::max_per_value) limits the number
    /// of documents per group. For the algorithm `matching`, the group is the slot.
    ///
    /// # Errors
    /// If the number of groups differs from the number of rows.
    pub fn with_groups(mut self, groups: impl IntoIterator<Item = impl Into<Id>>) -> Result<Self> {
        let groups = ids(groups);
        check_size(&"groups", groups.len(), self.rows())?;
        self.groups = Some(groups);
        Ok(self)
    }

    /// Sets a value for each row, such as a date or a number, so that validation trains on earlier queries and measures
    /// on later ones. In SQL, the option `split_by` names the column with this value.
    ///
    /// # Errors
    /// If the number of values differs from the number of rows.
    pub fn with_split_by(self, values: impl IntoIterator<Item = impl Into<Id>>) -> Result<Self> {
        self.with_fold_column(0, ids(values))
    }

    /// Sets the group of each row's query, such as a user or a season. Validation holds out all queries of a group
    /// together. In SQL, the option `group_by` names the column with the group.
    ///
    /// ```
    /// use sqlite_ltr::{Dataset, Trainer};
    /// use ndarray::Array2;
    ///
    /// let features = Array2::from_shape_fn((24, 1), |(row, _)| (row % 2) as f64);
    /// let relevance: Vec<f64> = (0..24).map(|row| f64::from(row % 2)).collect();
    /// let data = Dataset::from_arrays(features, (0..24).map(|row| row / 2), &relevance)?;
    /// let data = data.with_group_by((0..24).map(|row| row / 8))?;
    /// let folds = Trainer::new("rank_svm").option("folds", 3).cross_validate(&data)?;
    /// assert_eq!(folds.len(), 3);
    /// # Ok::<(), sqlite_ltr::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the number of values differs from the number of rows.
    pub fn with_group_by(self, values: impl IntoIterator<Item = impl Into<Id>>) -> Result<Self> {
        self.with_fold_column(1, ids(values))
    }

    fn with_fold_column(mut self, column: usize, values: Vec<Id>) -> Result<Self> {
        check_size(&"values of a column of folds", values.len(), self.rows())?;
        self.fold_columns[column] = Some(values);
        Ok(self)
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.features.rows()
    }

    /// Number of features.
    pub fn features(&self) -> usize {
        self.features.columns()
    }
}

fn ids(ids: impl IntoIterator<Item = impl Into<Id>>) -> Vec<Id> {
    ids.into_iter().map(Into::into).collect()
}

fn check_numbers(what: &str, values: &[f64], accepts: impl Fn(f64) -> bool, allowed: &str) -> Result<()> {
    match values.iter().position(|&value| !accepts(value)) {
        None => Ok(()),
        Some(row) => Err(Error::value(format!("{what} of row {row}"), values[row].to_string(), allowed)),
    }
}
