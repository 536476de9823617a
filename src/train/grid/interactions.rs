//! Products of document features with features of the query, for one function of all queries (`model/interactions.rs`).
//!
//! The documents x of a query with the numbers z become (x, phi_1(z) x, ..., phi_K(z) x), and a linear function is fitted.
//!
//! | option | phi(z) |
//! |---|---|
//! | `linear` | z / sqrt(p), p numbers |
//! | `gaussian` | phi(z).phi(z') = exp(-gamma |z - z'|^2), by at most `query_landmarks` training queries (`learn/kernel/map.rs`) |

use ndarray::Array2;
use serde_json::json;

use super::spec::GridSpec;
use crate::base::{Control, Error, Reservation, Result, matrix_bytes};
use crate::data::{Dataset, Matrix, QueryFeatureRule, shaped};
use crate::learn::fit::Interaction;
use crate::learn::kernel::{KernelSpec, MapOptions};
use crate::learn::space::{Form, Function, Scorer, Space};
use crate::model::Interactions;

/// Width of the kernel of queries.
const WIDTH: f64 = 1.0;

/// The products with documents in a training.
pub(super) struct Products {
    rule: QueryFeatureRule,
    /// Functions of z.
    queries: Space,
    /// Factor of phi(z).
    factor: f64,
}

impl Products {
    /// The products that a training asks for; `None` without an interaction.
    ///
    /// # Errors
    /// No numeric query feature; an interrupt; too little memory.
    pub fn fit(spec: &GridSpec, data: &Dataset, control: &Control) -> Result<Option<Self>> {
        if matches!(spec.interaction, Interaction::None | Interaction::Auto) {
            return Ok(None);
        }
        let (rule, _) =
            QueryFeatureRule::fit(data, spec.query_features, spec.query_scale, spec.query_distance.given())?;
        let p = rule.number_count();
        if p == 0 {
            let problem = "option 'interaction' needs a query feature that is a number; found none";
            return Err(Error::Data(problem.to_owned()));
        }
        if spec.interaction == Interaction::Linear {
            let (queries, factor) = (Space::linear(p, Form::Scoring), 1.0 / (p as f64).sqrt());
            return Ok(Some(Self { rule, queries, factor }));
        }
        let (encoded, _memory) = encode(&rule, data, control)?;
        let z = numbers(&rule, &encoded);
        let kernel =
            KernelSpec::parse(&json!({ "gaussian": { "width": WIDTH } }))?.fit(&z, spec.seed, control)?;
        let options = MapOptions::new(spec.query_landmarks, spec.seed);
        let queries = Space::spanned_by(&kernel, &z, &options, control)?;
        Ok(Some(Self { rule, queries, factor: 1.0 }))
    }

    /// Number of functions of z.
    pub fn count(&self) -> usize {
        self.queries.dim()
    }

    /// phi(z) of each query, shape (`n_queries`, count), of documents that are not scaled yet.
    ///
    /// # Errors
    /// Query features that are missing; an interrupt; too little memory.
    pub fn functions(&self, data: &Dataset, control: &Control) -> Result<Matrix> {
        let (encoded, _memory) = encode(&self.rule, data, control)?;
        self.functions_of(&encoded, control)
    }

    /// phi(z) of queries with these encoded features (`n_queries`, width of a row).
    ///
    /// # Errors
    /// An interrupt.
    pub fn functions_of(&self, encoded: &Array2<f64>, control: &Control) -> Result<Matrix> {
        self.queries.rows(&numbers(&self.rule, encoded), 0..encoded.nrows(), control)
    }

    /// Adds the products with these functions to scaled documents.
    ///
    /// # Errors
    /// An interrupt; too little memory.
    pub fn add(&self, phi: &Matrix, data: &mut Dataset, control: &Control) -> Result<Reservation> {
        let (n, m, count) = (data.n_docs(), data.features.columns(), self.count());
        let width = m.saturating_mul(1 + count);
        let what = format_args!("products of {m} features with {count} of the query for {n} documents");
        let memory = control.reserve(
            matrix_bytes(n, width),
            what,
            "use \"interaction\": \"none\", or fewer features",
        )?;
        let mut rows = Vec::with_capacity(n * width);
        for query in 0..data.n_queries() {
            control.check()?;
            let phi: Vec<f64> = (0..count).map(|k| self.factor * phi.at(query, k)).collect();
            for row in data.rows(query) {
                let x = || (0..m).map(|column| data.features.at(row, column));
                rows.extend(x());
                phi.iter().for_each(|phi| rows.extend(x().map(|x| phi * x)));
            }
        }
        data.features = Matrix::F64(shaped(n, width, rows));
        Ok(memory)
    }

    /// The function with the weights of these products.
    ///
    /// # Errors
    /// A number of weights that differs from the number of products.
    pub fn function(&self, fitted: &Function) -> Result<Interactions> {
        let count = self.count();
        let m = fitted.weights.len() / (1 + count);
        let (constant, products) = fitted.weights.split_at(m);
        let mut varying = Vec::with_capacity(m * count);
        for feature in 0..m {
            let w = (0..count).map(|k| self.factor * products[k * m + feature]).collect();
            varying.extend(self.queries.function(w)?);
        }
        let queries = self.queries.fitted();
        Ok(Interactions::new(self.rule.clone(), queries, constant.to_vec(), varying, fitted))
    }
}

/// The encoded features of each query, and the bytes of them and of their numbers.
fn encode(rule: &QueryFeatureRule, data: &Dataset, control: &Control) -> Result<(Array2<f64>, Reservation)> {
    let bytes = matrix_bytes(data.n_queries(), rule.number_count() + rule.width());
    let memory = control.reserve(bytes, "query features", "use fewer query features")?;
    Ok((rule.features(data)?, memory))
}

/// Numbers z among encoded query features, shape (`n_queries`, p).
fn numbers(rule: &QueryFeatureRule, encoded: &Array2<f64>) -> Matrix {
    let z = encoded.rows().into_iter().flat_map(|row| rule.numbers_of(&row.to_vec())).collect();
    Matrix::F64(shaped(encoded.nrows(), rule.number_count(), z))
}
