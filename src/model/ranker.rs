//! Fitted rankers: what a training leaves behind, and how each form is written to and read from bytes.
//!
//! A ranker gives, for a target query, a [`Function`] that scores documents. Some are stored ([`Ranker::stored`]), others
//! are fitted when asked for ([`Ranker::fit`]); who keeps and shares them is the caller's affair.

use std::fmt::Debug;
use std::sync::Arc;

use super::codec::Encoded;
use super::factor::Factored;
use super::online::Online;
use super::{factor, linear, online, query_dependent};
use crate::control::Control;
use crate::data::{Id, QueryFeatureRule};
use crate::error::{Error, Result};
use crate::fit::Neighbor;
use crate::space::{Function, Space};

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

    /// The space of its functions.
    fn space(&self) -> &Space;

    /// True where its function depends on the query.
    fn query_dependent(&self) -> bool {
        false
    }

    /// What it can do, its scaling left aside.
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            pointwise: self.space().pointwise(),
            linear: self.space().is_linear(),
            has_features: true,
            query_dependent: self.query_dependent(),
        }
    }

    /// How query features are formed, where it uses any.
    fn query_rule(&self) -> Option<&QueryFeatureRule> {
        None
    }

    /// The function for a target that needs no fitting.
    fn stored(&self, target: &Target<'_>) -> Option<Arc<Function>>;

    /// Fits the function of a target with these query features.
    ///
    /// # Errors
    /// [`Error::Interrupted`] when canceled.
    fn fit(&self, features: &[f64], control: &Control) -> Result<Function>;

    /// True where a target that is not stored has no function but 0.
    fn knows_only_stored(&self) -> bool {
        false
    }

    /// What an online algorithm goes on from, where one has learned it.
    fn online(&self) -> Option<&Online> {
        None
    }

    /// Users and items that are scored by their ids, where there are no features.
    fn factored(&self) -> Option<&Factored> {
        None
    }

    /// The training queries that a target with these features borrows from, nearest first.
    fn neighbors(&self, _features: &[f64]) -> Vec<Neighbor> {
        Vec::new()
    }

    /// Id of a training query, by its number in [`Neighbor`].
    fn training_id(&self, _query: usize) -> Option<&Id> {
        None
    }

    /// Numbers of the blocks that fits for targets with these features need and that must be received first.
    fn missing_blocks(&self, _targets: &[&[f64]]) -> Vec<usize> {
        Vec::new()
    }

    /// Takes a block of the model that it was read from.
    ///
    /// # Errors
    /// [`Error::Corrupt`] for bytes that are not that block.
    fn receive_block(&self, block: usize, _bytes: &[u8]) -> Result<()> {
        Err(Error::Corrupt(format!("there is no block {block}")))
    }

    /// Writes everything but the scaling.
    ///
    /// # Errors
    /// More than the format can hold.
    fn encode(&self) -> Result<Encoded<'_>>;
}

/// How a header becomes a ranker of one form again; told the number of blocks, and whether all of them will follow.
pub type Decode = fn(&[u8], usize, bool) -> Result<Box<dyn Ranker>>;

/// Every form of ranker.
pub const FORMS: &[(&str, Decode)] = &[
    (factor::FORM, factor::decode),
    (linear::FORM, linear::decode),
    (online::FORM, online::decode),
    (query_dependent::FORM, query_dependent::decode),
];

/// Reads a ranker of the named form, whose blocks are still to be received; `whole`: all of them will be.
///
/// # Errors
/// An unknown form; bytes that are not what the form writes.
pub fn decode(form: &str, header: &[u8], blocks: usize, whole: bool) -> Result<Box<dyn Ranker>> {
    let known = FORMS.iter().find(|(name, _)| *name == form);
    let (_, decode) = known.ok_or_else(|| Error::Corrupt(format!("unknown form of ranker '{form}'")))?;
    decode(header, blocks, whole)
}
