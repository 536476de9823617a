//! Fitted rankers: what a training leaves behind, and how each form is written to and read from bytes.
//!
//! A ranker gives, for a target query, a [`Function`] that scores documents. Some are stored ([`Ranker::stored`]), others
//! are fitted when asked for ([`Ranker::fit`]); who keeps and shares them is the caller's affair.

mod bytes;
mod linear;
mod pool;
mod query_dependent;

use std::fmt::Debug;
use std::sync::Arc;

use crate::control::Control;
use crate::data::{Documents, Id, QueryFeatureRule};
use crate::error::{Error, Result};
use crate::math::dense::dot;

pub use bytes::{Encoded, decode_header, encode_header};
pub use linear::Linear;
pub use pool::{JudgmentPool, Lender};
pub use query_dependent::{Fitting, Lending, Observed, QueryDependent};

/// A ranking function of scaled document features.
#[derive(Debug, Clone, PartialEq)]
pub struct Function {
    /// One weight per scaled feature.
    pub weights: Vec<f64>,
    /// Value of the objective at the weights.
    pub objective: f64,
    /// Certified distance of `objective` from the optimum.
    pub gap: f64,
}

impl Function {
    /// Score of one scaled document; higher is better.
    pub fn score(&self, features: &[f64]) -> f64 {
        dot(features, &self.weights)
    }

    /// Scores of scaled documents.
    pub fn scores(&self, documents: &Documents<'_>) -> Vec<f64> {
        documents.range().map(|row| documents.features.row_dot(row, &self.weights)).collect()
    }
}

/// The query for which a function is wanted.
#[derive(Debug, Clone, Copy)]
pub struct Target<'a> {
    /// Its id, if known.
    pub id: Option<&'a Id>,
    /// Its scaled query features; empty where the ranker asks for none.
    pub features: &'a [f64],
}

/// What a ranker can do.
#[allow(clippy::struct_excessive_bools, reason = "four independent abilities")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capabilities {
    /// It scores one document without the rest of its query.
    pub pointwise: bool,
    /// Its score is a weighted sum of (scaled) features.
    pub linear: bool,
    /// It reads document features.
    pub has_features: bool,
    /// Its function depends on the query.
    pub query_dependent: bool,
}

/// A fitted ranker.
pub trait Ranker: Send + Sync + Debug {
    /// The name under which its bytes are decoded, one of [`FORMS`].
    fn form(&self) -> &'static str;

    /// What it can do, its scaling left aside.
    fn capabilities(&self) -> Capabilities;

    /// Number of scaled features.
    fn width(&self) -> usize;

    /// How query features are formed, where it uses any.
    fn query_rule(&self) -> Option<&QueryFeatureRule> {
        None
    }

    /// The function for a target that needs no fitting.
    fn stored(&self, target: &Target<'_>) -> Option<Arc<Function>>;

    /// Fits the function of a target with these query features.
    ///
    /// # Errors
    /// [`Error::Interrupted`] when cancelled.
    fn fit(&self, features: &[f64], control: &Control) -> Result<Function>;

    /// True where a target that is not stored has no function but 0.
    fn knows_only_stored(&self) -> bool {
        false
    }

    /// The training queries that a target with these features borrows from, nearest first.
    fn lenders(&self, _features: &[f64]) -> Vec<Lender> {
        Vec::new()
    }

    /// Id of a training query, by its number in [`Lender`].
    fn training_id(&self, _query: usize) -> Option<&Id> {
        None
    }

    /// Writes everything but the scaling.
    ///
    /// # Errors
    /// More than the format can hold.
    fn encode(&self) -> Result<Encoded>;
}

/// How the bytes of one form become a ranker again: from its header and its blocks.
pub type Decode = fn(&[u8], &[&[u8]]) -> Result<Box<dyn Ranker>>;

/// Every form of ranker.
pub const FORMS: &[(&str, Decode)] =
    &[(linear::FORM, linear::decode), (query_dependent::FORM, query_dependent::decode)];

/// Reads a ranker of the named form.
///
/// # Errors
/// An unknown form; bytes that are not what the form writes.
pub fn decode(form: &str, header: &[u8], blocks: &[&[u8]]) -> Result<Box<dyn Ranker>> {
    let known = FORMS.iter().find(|(name, _)| *name == form);
    let (_, decode) = known.ok_or_else(|| Error::Corrupt(format!("unknown form of ranker '{form}'")))?;
    decode(header, blocks)
}
