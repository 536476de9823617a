//! Query features as columns that trees can split on.

use crate::base::{Control, Error, Params, Result, matrix_bytes};
use crate::data::{Dataset, Matrix, QueryFeatureKind, QueryFeatureRule, QueryScale, shaped};
use crate::trees::{Prepared, TreeOptions};
use serde_json::Value;

/// Whether trees split on query features.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// If it improves the validation metric.
    Auto,
    Always,
    Never,
}

impl Use {
    pub fn parse(params: &Params) -> Self {
        match params.switch("query_columns") {
            Some(true) => Self::Always,
            Some(false) => Self::Never,
            None => Self::Auto,
        }
    }

    pub fn to_json(self) -> Value {
        match self {
            Self::Auto => Value::from("auto"),
            Self::Always => Value::from(true),
            Self::Never => Value::from(false),
        }
    }
}

/// The query features of a source.
pub struct QueryColumns {
    pub rule: QueryFeatureRule,
}

impl QueryColumns {
    /// The query features of the source; `None` if it has none or trees must not split on them.
    ///
    /// # Errors
    /// No query features although trees must split on them; values of different types.
    pub fn fit(of: Use, data: &Dataset) -> Result<Option<Self>> {
        if of == Use::Never || (of == Use::Auto && data.query_names.is_empty()) {
            return Ok(None);
        }
        if data.query_names.is_empty() {
            let problem = "option 'query_columns' is true, but the source has no column query_features and none named q_*";
            return Err(Error::Data(problem.to_owned()));
        }
        let (rule, _) = QueryFeatureRule::fit(data, Some(QueryFeatureKind::Named), QueryScale::None, &[])?;
        Ok(Some(Self { rule }))
    }

    /// Each document's encoded query features, in bins.
    ///
    /// # Errors
    /// Too little memory; an interrupt.
    pub fn prepared(&self, data: &Dataset, options: TreeOptions, control: &Control) -> Result<Prepared> {
        self.with_matrix(data, control, |matrix| Prepared::new(matrix, options.bins, options.seed, control))
    }

    /// Calls a function with each document's encoded query features, shape (documents, features).
    ///
    /// # Errors
    /// Too little memory; errors of the function.
    pub fn with_matrix<T>(
        &self,
        data: &Dataset,
        control: &Control,
        then: impl FnOnce(&Matrix) -> Result<T>,
    ) -> Result<T> {
        let (n, width) = (data.n_docs(), self.rule.width());
        let bytes = matrix_bytes(n.saturating_add(data.n_queries()), width);
        let _memory =
            control.reserve(bytes, "query features of documents", "use \"query_columns\": false")?;
        let features = self.rule.features(data)?;
        let mut rows = Vec::with_capacity(n * width);
        for (query, features) in features.rows().into_iter().enumerate() {
            control.check()?;
            data.rows(query).for_each(|_| rows.extend(features));
        }
        then(&Matrix::F64(shaped(n, width, rows)))
    }
}
