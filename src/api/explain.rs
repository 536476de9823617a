//! Explanations in Rust: contributions of features to scores, and their importance.

use super::Answer;
use super::dataset::Dataset;
use super::model::{Model, RankOptions, run};
use super::read_request::ReadRequest;
use crate::apply::{
    self, DocumentOf, ExplainedRows, Explanation, ImportanceSpec, PairedTest, Sampling, Scored, TestKind,
    explain_document,
};
use crate::base::{Error, Params, Result};
use crate::cost::metric::{Metric, Undefined};
use crate::data::{Matrix, QueryValue, shaped};
use crate::train::options;

/// The contribution of a feature to a score.
#[derive(Debug, Clone, PartialEq)]
pub struct Contribution {
    /// Name of the feature; `"(base)"` for the score of the base.
    pub feature: String,
    /// The value before scaling; `None` for the base.
    pub value: Option<f64>,
    /// The feature's contribution. Contributions and base add up to the score.
    pub contribution: f64,
    /// Standard error of `contribution`; 0 if it is exact.
    pub standard_error: f64,
}

/// How much a metric drops without the information in a feature.
#[derive(Debug, Clone, PartialEq)]
pub struct Importance {
    /// Name of the feature.
    pub feature: String,
    /// Name of the metric.
    pub metric: String,
    /// Number of queries for which the metric is defined.
    pub queries: usize,
    /// The mean over these queries of the metric minus the metric with the feature permuted; `None` without queries.
    pub loss: Option<f64>,
    /// The 95 % confidence interval of `loss`; `None` for fewer than 2 queries.
    pub interval: Option<(f64, f64)>,
}

impl Model {
    /// Explains the score of a document: the score at the training means (`"(base)"`), then the contribution of
    /// each feature. They add up to the score. Contributions are exact for linear models, for trees and for at most 12
    /// features; otherwise they are Shapley values estimated from random orders of the features.
    ///
    /// ```
    /// use sqlite_ltr::{Dataset, Trainer};
    /// use ndarray::array;
    ///
    /// let data = Dataset::from_arrays(array![[0.0, 2.0], [1.0, 1.0]], [1, 1], &[0.0, 1.0])?;
    /// let model = Trainer::new("rank_svm").option("kernel", "gaussian").option("lambda", 0.1).fit(&data)?;
    /// let explained = model.explain(&[0.5, 1.0], None)?;
    /// assert_eq!(explained.iter().map(|part| &part.feature[..]).collect::<Vec<_>>(), ["(base)", "1", "2"]);
    /// let sum: f64 = explained.iter().map(|part| part.contribution).sum();
    /// assert!((sum - model.score(&[0.5, 1.0], None)?).abs() < 1e-9);
    /// # Ok::<(), sqlite_ltr::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`score`](Self::score).
    pub fn explain(
        &self,
        features: &[f64],
        query_features: Option<&[QueryValue]>,
    ) -> Result<Vec<Contribution>> {
        let function = self.function(query_features)?;
        self.inner().check_width(features.len())?;
        self.inner().check_pointwise()?;
        let query = Matrix::F64(shaped(1, features.len(), features.to_vec()));
        let document = DocumentOf { query: &query, row: 0 };
        let (base, sampling) = (&self.inner().card.means[..], Sampling::default());
        let explanation = run(&RankOptions::default(), |control| {
            apply::explain(self.inner(), &function, document, base, sampling, control)
        })?;
        Ok(self.contributions(features, &explanation))
    }

    /// Explains the score of a document of a data set, with any model. `row` is its row in the data set. `"(base)"` is the
    /// score at the means of its query. Models without features have the contributions `"(bias)"` and `"(factors)"`.
    ///
    /// ```
    /// use sqlite_ltr::{Dataset, Trainer};
    /// use ndarray::array;
    ///
    /// let data = Dataset::from_arrays(array![[0.0, 2.0], [1.0, 1.0]], [1, 1], &[0.0, 1.0])?;
    /// let model = Trainer::new("rank_svm").option("form", "ranking").option("lambda", 0.1).fit(&data)?;
    /// let sum: f64 = model.explain_row(&data, 1)?.iter().map(|part| part.contribution).sum();
    /// assert!((sum - model.rank(&data)?[0].score).abs() < 1e-9);
    /// # Ok::<(), sqlite_ltr::Error>(())
    /// ```
    ///
    /// # Errors
    /// A row that does not exist; errors of [`rank`](Self::rank).
    pub fn explain_row(&self, data: &Dataset, row: usize) -> Result<Answer<Contribution>> {
        self.explain_in(data, row, None)
    }

    /// Explains why one document of a query ranks above another. `"(base)"` is the score of the second document. The other
    /// contributions add up to the difference of the two scores.
    ///
    /// ```
    /// use sqlite_ltr::{Dataset, Trainer};
    /// use ndarray::array;
    ///
    /// let data = Dataset::from_arrays(array![[0.0, 2.0], [1.0, 2.0]], [1, 1], &[0.0, 1.0])?;
    /// let model = Trainer::new("rank_svm").option("lambda", 0.1).fit(&data)?;
    /// let explained = model.explain_rank(&data, 1, 0)?;
    /// assert!(explained[1].contribution > 0.0 && explained[2].contribution == 0.0);
    /// # Ok::<(), sqlite_ltr::Error>(())
    /// ```
    ///
    /// # Errors
    /// Rows of two queries; errors of [`explain_row`](Self::explain_row).
    pub fn explain_rank(&self, data: &Dataset, row_a: usize, row_b: usize) -> Result<Answer<Contribution>> {
        self.explain_in(data, row_a, Some(row_b))
    }

    /// Measures how much each metric drops if the values of a feature are permuted within each query. Rows are sorted by
    /// feature, then by metric. The loss of a query is the mean over 10 random permutations.
    ///
    /// ```
    /// use sqlite_ltr::{Dataset, Trainer};
    /// use ndarray::array;
    ///
    /// let data = Dataset::from_arrays(array![[0.0, 2.0], [1.0, 2.0]], [1, 1], &[0.0, 1.0])?;
    /// let model = Trainer::new("rank_svm").option("lambda", 0.1).fit(&data)?;
    /// let found = model.importance(&data, &["ndcg@10"])?;
    /// assert!(found[0].loss > Some(0.0) && found[1].loss == Some(0.0));
    /// # Ok::<(), sqlite_ltr::Error>(())
    /// ```
    ///
    /// # Errors
    /// A model without features; errors of [`evaluate`](Self::evaluate).
    pub fn importance(&self, data: &Dataset, metrics: &[&str]) -> Result<Answer<Importance>> {
        let metrics: Vec<Metric> = metrics.iter().map(|name| Metric::parse(name)).collect::<Result<_>>()?;
        let options = RankOptions::default();
        self.inner().scorer()?;
        let (data, _) = data.ordered(self.read_request(self.constraint(&options)?, true))?;
        let Scored { functions, warnings, .. } = self.scored(&data, &options)?;
        let test = PairedTest::new(TestKind::T, options::number(&Params::default(), "confidence"));
        let spec = ImportanceSpec { metrics: &metrics, undefined: Undefined::Skip, seed: test.seed, test };
        let measure = |control: &_| apply::importance(self.inner(), &functions, &data, &spec, control);
        let importance = run(&options, measure)?;
        let columns = self.inner().card.input_names();
        let rows = columns.iter().zip(importance).flat_map(|(feature, importance)| {
            let row = |(metric, importance): (&Metric, apply::Comparison)| Importance {
                feature: feature.clone(),
                metric: metric.name(),
                queries: importance.n,
                loss: importance.difference,
                interval: importance.interval,
            };
            metrics.iter().zip(importance).map(row).collect::<Vec<_>>()
        });
        Ok(Answer { rows: rows.collect(), warnings })
    }

    fn explain_in(&self, data: &Dataset, row: usize, base: Option<usize>) -> Result<Answer<Contribution>> {
        let options = RankOptions::default();
        // 1. The documents of the query.
        let query = data.query_of(row)?;
        let request = self.read_request(self.constraint(&options)?, false);
        let (documents, read_report) = data.ordered(ReadRequest { query: Some(query), ..request })?;
        let rows: Vec<usize> = data.rows_of(Some(query)).collect();
        let position = |row: usize| read_report.rows.iter().position(|number| rows[*number] == row);
        let places = (position(row), base.map(position));
        let (Some(document), None | Some(Some(_))) = places else {
            let problem = format!("rows {row} and {}", base.unwrap_or(row));
            return Err(Error::value(
                "rows",
                problem,
                format!("rows of one query; row {row} has query {query}"),
            ));
        };
        // 2. Contributions.
        let Scored { functions, warnings, .. } = self.scored(&documents, &options)?;
        let contributions = run(&options, |control| {
            let rows = ExplainedRows { row: document, base: places.1.flatten() };
            explain_document(self.inner(), &functions, &documents, rows, Sampling::default(), control)
        })?;
        let rows = self.contributions(&documents.features.row_f64(document), &contributions);
        Ok(Answer { rows, warnings })
    }

    /// The rows of an explanation. `values`: the feature values; empty without features. A category has no number.
    fn contributions(&self, values: &[f64], found: &Explanation) -> Vec<Contribution> {
        let base = Contribution {
            feature: "(base)".to_owned(),
            value: None,
            contribution: found.base,
            standard_error: 0.0,
        };
        let numbers = self.inner().card.numbers();
        let part = |(index, feature): (usize, String)| Contribution {
            feature,
            value: values.get(index).copied().filter(|_| index < numbers),
            contribution: found.contributions[index].value,
            standard_error: found.contributions[index].standard_error,
        };
        let names = Explanation::names(self.inner()).into_iter().enumerate();
        std::iter::once(base).chain(names.map(part)).collect()
    }
}
