//! One linear function of documents whose weights depend on the features of the query:
//!
//! ```text
//! w(q) = w_0 + sum over k of phi_k(z) w_k
//!
//! z        the numbers among the encoded query features (p); missing ones are 0
//! phi(z)   z itself, or kernels exp(-gamma |z - z_k|^2) at some training queries z_k
//! w_k      scaled document feature weights (m)
//! ```
//!
//! It is a linear function of the features and of their products with phi(z), so it has the kernel <x, x'> (1 + K(z, z')) of
//! Evgeniou, Micchelli and Pontil (2005), "Learning multiple tasks with kernel methods".

use serde::{Deserialize, Serialize};

use super::codec::decode_header;
use super::query_aware::QueryAware;
use crate::base::{Control, Result, require};
use crate::data::{Matrix, QueryFeatureRule, shaped};
use crate::learn::space::{Form, Function, Scorer, Space};
use crate::math::{BOUNDED, are_bounded};

pub(super) const TAG: &str = "interactions";

#[derive(Debug, Serialize, Deserialize)]
pub struct Interactions {
    /// How query features are encoded.
    rule: QueryFeatureRule,
    documents: Space,
    /// Functions of z.
    queries: Space,
    /// `w_0`, and for each scaled document feature its `w_k` (m).
    constant: Vec<f64>,
    /// Shape (m, dimensions of `queries`), row-major.
    varying: Vec<f64>,
    objective: f64,
    gap: f64,
}

impl Interactions {
    /// The function with these weights: `w_0` (m), then `varying` (m, dimensions of `queries`), with what the solver found.
    pub fn new(
        rule: QueryFeatureRule,
        queries: Space,
        constant: Vec<f64>,
        varying: Vec<f64>,
        fitted: &Function,
    ) -> Self {
        let documents = Space::linear(constant.len(), Form::Scoring);
        let Function { objective, gap, .. } = *fitted;
        Self { rule, documents, queries, constant, varying, objective, gap }
    }

    pub(super) fn decode(header: &[u8]) -> Result<Self> {
        let model: Self = decode_header(header)?;
        model.validate()?;
        Ok(model)
    }

    /// Checks values that were read from bytes.
    pub(super) fn validate(&self) -> Result<()> {
        self.documents.validate()?;
        self.queries.validate()?;
        let (m, numbers) = (self.constant.len(), self.rule.number_count());
        let is_linear = self.documents.is_linear() && self.documents.form == Form::Scoring;
        let values = m.checked_mul(self.queries.dim());
        require(
            "interactions",
            &[
                (
                    is_linear && self.documents.width() == m,
                    "a linear function with a weight for each feature",
                ),
                (self.queries.form == Form::Scoring, "functions of single queries"),
                (self.queries.width() == numbers, "functions of the numbers among the query features"),
                (values == Some(self.varying.len()), "weights for each function of queries"),
                (are_bounded(&self.constant) && are_bounded(&self.varying), BOUNDED),
                (self.objective.is_finite() && self.gap.is_finite(), BOUNDED),
            ],
        )
    }
}

impl QueryAware for Interactions {
    fn query_rule(&self) -> &QueryFeatureRule {
        &self.rule
    }

    fn scorer(&self) -> &dyn Scorer {
        &self.documents
    }

    fn function(&self, features: &[f64], control: &Control) -> Result<Function> {
        let z = self.rule.numbers_of(features);
        let z = Matrix::F64(shaped(1, z.len(), z));
        let phi = self.queries.rows(&z, 0..1, control)?.rows_f64(0..1);
        let of_feature = |(constant, varying): (&f64, &[f64])| {
            constant + phi.iter().zip(varying).map(|(phi, w)| phi * w).sum::<f64>()
        };
        let weights =
            self.constant.iter().zip(self.varying.chunks_exact(phi.len())).map(of_feature).collect();
        Ok(Function { weights, objective: self.objective, gap: self.gap })
    }

    fn sees(&self, position: usize) -> bool {
        self.rule.is_number(position)
    }
}
