//! Query features, which define the distance between queries (rules 4.1 to 4.3).
//!
//! | kind | a query's features are |
//! |---|---|
//! | `named` | the query features of the source |
//! | `constant` | the document features that are constant inside every training query but differ between them (Dai & Wang 2019, section 5.2) |
//! | `mean` | the mean of each document feature over the documents of the query (Geng et al. 2008) |
//!
//! They are standardized over the training queries, unless the option `query_scale` is `none`.

use ndarray::Array2;
use serde::{Deserialize, Serialize};

use super::dataset::Dataset;
use crate::error::{Error, Result, require};
use crate::math::bounds::are_bounded;
use crate::math::order::{compare, sort_ascending};
use crate::param::named;

/// Where query features come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum QueryFeatureKind {
    /// Those of the source.
    Named,
    /// Document features that are constant inside every query.
    Constant,
    /// Means of document features.
    Mean,
}

named!(QueryFeatureKind { Named = "named", Constant = "constant", Mean = "mean" });

/// Scaling of query features.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum QueryScale {
    /// Mean 0 and standard deviation 1.
    #[default]
    Standard,
    /// None.
    None,
}

named!(QueryScale { Standard = "standard", None = "none" });

/// How to form the features of a query, learned in training.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct QueryFeatureRule {
    /// Where they come from.
    pub kind: QueryFeatureKind,
    /// Their names (p).
    pub names: Vec<String>,
    /// For `constant`: the columns of the document features.
    columns: Vec<usize>,
    /// Center and factor of each (p); (0, 1) without standardization.
    scale: Vec<(f64, f64)>,
}

impl QueryFeatureRule {
    /// Learns the rule on a training set; by default of the first kind that exists.
    ///
    /// # Errors
    /// A kind that does not exist in the data.
    pub fn fit(data: &Dataset, kind: Option<QueryFeatureKind>, scale: QueryScale) -> Result<Self> {
        let constant = constant_columns(data);
        let kind = kind.unwrap_or(match () {
            () if !data.query_names.is_empty() => QueryFeatureKind::Named,
            () if !constant.is_empty() => QueryFeatureKind::Constant,
            () => QueryFeatureKind::Mean,
        });
        let (names, columns) = match kind {
            QueryFeatureKind::Named if data.query_names.is_empty() => {
                return Err(missing_kind(
                    "named",
                    "the source has no column query_features and none named q_*",
                ));
            }
            QueryFeatureKind::Constant if constant.is_empty() => {
                return Err(missing_kind(
                    "constant",
                    "no feature is constant inside every query but differs between queries",
                ));
            }
            QueryFeatureKind::Named => (data.query_names.clone(), Vec::new()),
            QueryFeatureKind::Constant => {
                (constant.iter().map(|&column| data.names[column].clone()).collect(), constant)
            }
            QueryFeatureKind::Mean => (data.names.clone(), Vec::new()),
        };
        let mut rule = Self { kind, scale: vec![(0.0, 1.0); names.len()], names, columns };
        if scale == QueryScale::Standard {
            rule.scale = standard(&rule.features(data)?);
        }
        Ok(rule)
    }

    /// Features of every query of `data` (`n_queries`, p), scaled.
    ///
    /// # Errors
    /// A data set without the named query features the rule needs, or with another number of them; scaled values beyond
    /// the bound of stored numbers.
    pub fn features(&self, data: &Dataset) -> Result<Array2<f64>> {
        let mut features = match self.kind {
            QueryFeatureKind::Named => self.named(data)?,
            QueryFeatureKind::Constant => means(data, &self.columns),
            QueryFeatureKind::Mean => means(data, &(0..data.features.columns()).collect::<Vec<_>>()),
        };
        for (mut row, id) in features.rows_mut().into_iter().zip(&data.query_ids) {
            let place = || format!("query {id}: query feature");
            self.scale_in_place(row.iter_mut(), place)?;
        }
        Ok(features)
    }

    /// Features that the caller gave for one query, scaled.
    ///
    /// # Errors
    /// Another number of features than in training; scaled values beyond the bound of stored numbers.
    pub fn scaled(&self, given: &[f64]) -> Result<Vec<f64>> {
        if given.len() != self.names.len() {
            let what = "number of query features".to_owned();
            return Err(Error::Shape { what, found: given.len(), expected: self.names.len() });
        }
        let mut features = given.to_vec();
        self.scale_in_place(features.iter_mut(), || "argument 'query_features':".to_owned())?;
        Ok(features)
    }

    /// Checks a rule that was read from bytes, for documents of `n_features` features.
    ///
    /// # Errors
    /// A reason why it does not fit.
    pub fn validate(&self, n_features: usize) -> Result<()> {
        let p = self.names.len();
        let columns = match self.kind {
            QueryFeatureKind::Named => self.columns.is_empty(),
            QueryFeatureKind::Constant => self.columns.len() == p,
            QueryFeatureKind::Mean => self.columns.is_empty() && p == n_features,
        };
        let finite = self.scale.iter().all(|(center, factor)| center.is_finite() && are_bounded([factor]));
        require(
            "query features",
            &[
                (columns, "a column for each"),
                (self.columns.iter().all(|column| *column < n_features), "columns of the features"),
                (self.scale.len() == p && finite, "a finite scale for each"),
            ],
        )
    }

    /// Names of the features that should be constant in each query but are not; their mean is used (rule 4.3).
    pub fn varying<'a>(&self, data: &'a Dataset) -> Vec<&'a str> {
        let varies = |column: usize| (0..data.n_queries()).any(|query| !constant_in(data, query, column));
        self.columns
            .iter()
            .filter(|column| varies(**column))
            .map(|column| data.names[*column].as_str())
            .collect()
    }

    fn named(&self, data: &Dataset) -> Result<Array2<f64>> {
        if data.query_names.len() == self.names.len() {
            return Ok(data.query_features.clone());
        }
        let found = if data.query_names.is_empty() { "none".to_owned() } else { data.query_names.join(", ") };
        Err(Error::Data(format!(
            "the model needs the query features {} (columns of the source, or one column query_features); found {found}",
            self.names.join(", ")
        )))
    }

    /// Scales the features of one query. With scaled values in the bound, distances of queries are finite.
    fn scale_in_place<'a>(
        &self,
        features: impl Iterator<Item = &'a mut f64>,
        place: impl Fn() -> String,
    ) -> Result<()> {
        for ((value, (center, factor)), name) in features.zip(&self.scale).zip(&self.names) {
            let given = *value;
            *value = (given - center) * factor;
            if !are_bounded([&*value]) {
                let problem =
                    format!("{} \"{name}\" with the value {given:e} is too large for distances", place());
                return Err(Error::Data(problem));
            }
        }
        Ok(())
    }
}

fn missing_kind(kind: &str, problem: &str) -> Error {
    Error::Data(format!("option 'query_features' is \"{kind}\", but {problem}"))
}

/// Whether a feature is constant in a query.
fn constant_in(data: &Dataset, query: usize, column: usize) -> bool {
    let mut rows = data.rows(query);
    let first = rows.next().map_or(0.0, |row| data.features.at(row, column));
    rows.all(|row| compare(data.features.at(row, column), first).is_eq())
}

/// Features that are constant in every query but not over all of them.
fn constant_columns(data: &Dataset) -> Vec<usize> {
    let first = |query: usize, column: usize| data.features.at(data.offsets[query], column);
    let differs = |column: usize| {
        (1..data.n_queries()).any(|query| compare(first(query, column), first(0, column)).is_ne())
    };
    let several = (0..data.n_queries()).any(|query| data.rows(query).len() > 1);
    (0..data.features.columns())
        .filter(|&column| {
            several && (0..data.n_queries()).all(|query| constant_in(data, query, column)) && differs(column)
        })
        .collect()
}

/// Mean of some columns over the documents of each query (`n_queries`, number of columns).
fn means(data: &Dataset, columns: &[usize]) -> Array2<f64> {
    let mut means = Array2::zeros((data.n_queries(), columns.len()));
    for query in 0..data.n_queries() {
        for (target, &column) in means.row_mut(query).iter_mut().zip(columns) {
            *target = mean_in(data, query, column);
        }
    }
    means
}

/// Sums below this fraction of the sum of absolute values are rounding errors.
const CANCELLATION: f64 = 1e-12;

/// Mean of a feature over the documents of a query, 0 without any.
///
/// Training queries are recognized by equal features, so the bits do not depend on the order of the documents, and the
/// mean of a constant is exactly that constant.
fn mean_in(data: &Dataset, query: usize, column: usize) -> f64 {
    let mut values: Vec<f64> = data.rows(query).map(|row| data.features.at(row, column) + 0.0).collect();
    sort_ascending(&mut values);
    match values[..] {
        [] => 0.0,
        [low, .., high] if compare(low, high).is_lt() => {
            let (sum, size) = values.iter().fold((0.0, 0.0), |(sum, size), x| (sum + x, size + x.abs()));
            // The rest of values that cancel out is rounding; standardized, it would distinguish queries.
            if sum.abs() <= CANCELLATION * size { 0.0 } else { sum / values.len() as f64 }
        }
        [constant, ..] => constant,
    }
}

/// Mean and 1 / standard deviation (0 if constant) of each column.
fn standard(features: &Array2<f64>) -> Vec<(f64, f64)> {
    features
        .columns()
        .into_iter()
        .map(|column| {
            let n = column.len().max(1) as f64;
            let mean = column.iter().sum::<f64>() / n;
            let spread = (column.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n).sqrt();
            let factor = 1.0 / spread;
            (mean, if spread > 1e-12 * mean.abs() && factor.is_finite() { factor } else { 0.0 })
        })
        .collect()
}
