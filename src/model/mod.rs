//! A model: a fitted ranker with all it takes to use it, as one BLOB.
//!
//! The BLOB holds nothing volatile (no name, time or number of threads), so the same rows and options give the same
//! bytes. It is untrusted when it comes back: `envelope` checks every byte, the decoders check every value.

mod codec;
mod envelope;
mod factor;
mod linear;
mod online;
mod query_dependent;
mod ranker;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::data::{Missing, Scaling};
use crate::error::{Error, Result};

pub use codec::{Block, Encoded, decode_header, encode_header};
pub use envelope::{KEY_END, Key, header_end, read_key};
pub use factor::{Factor, Factored, Folding, Labels, MOST_STEPS, User};
pub use linear::Linear;
pub use online::{ACTIVE_NAMES, LABEL_TIES_NAMES, LabelTies, Online, Progress, Rules};
pub use query_dependent::{QueryDependent, TrainingQueries};
pub use ranker::{Capabilities, Decode, FORMS, Ranker, Target, decode};

use envelope::Place;

/// What a model says of itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Card {
    /// Name of the algorithm.
    pub algorithm: String,
    /// Names of the document features, in the order of a vector.
    pub features: Vec<String>,
    /// What a missing feature counts as, unless a call says otherwise.
    pub missing: Missing,
    /// Mean of each feature over the training documents.
    pub means: Vec<f64>,
    /// Whether its rows are documents at slots.
    pub slots: bool,
    /// The recipe's choices, as JSON.
    settings: String,
    /// What training found, as JSON.
    summary: String,
    /// Objective and gap of each step of the training log.
    pub log: Vec<(f64, f64)>,
}

/// A model.
#[derive(Debug)]
pub struct Model {
    /// What it says of itself.
    pub card: Card,
    /// The scaling of document features.
    pub scaling: Scaling,
    /// What scores documents.
    pub ranker: Box<dyn Ranker>,
    /// Blocks of the bytes that it was read from.
    index: Vec<Place>,
}

/// The always-needed part of the BLOB.
#[derive(Serialize, Deserialize)]
struct Header {
    card: Card,
    scaling: Scaling,
    form: String,
    ranker: Vec<u8>,
}

/// What [`Model::new`] needs besides the fit.
#[derive(Debug)]
pub struct Origin {
    /// Name of the algorithm.
    pub algorithm: String,
    /// What it was told, as a JSON object.
    pub settings: Value,
    /// What a missing feature counts as.
    pub missing: Missing,
    /// Whether its rows are documents at slots.
    pub slots: bool,
    /// Names of the document features.
    pub features: Vec<String>,
    /// Mean of each feature.
    pub means: Vec<f64>,
    /// What training found; nothing volatile.
    pub summary: Value,
    /// Objective and gap of each step of the training log.
    pub log: Vec<(f64, f64)>,
}

impl Model {
    /// A model from a fit.
    pub fn new(origin: Origin, scaling: Scaling, ranker: Box<dyn Ranker>) -> Self {
        let Origin { algorithm, settings, missing, slots, features, means, summary, log } = origin;
        let (settings, summary) = (settings.to_string(), summary.to_string());
        let card = Card { algorithm, features, missing, means, slots, settings, summary, log };
        Self { card, scaling, ranker, index: Vec::new() }
    }

    /// The model that has gone on from this one.
    #[must_use]
    pub fn continued(
        &self,
        means: Vec<f64>,
        summary: &Value,
        scaling: Scaling,
        ranker: Box<dyn Ranker>,
    ) -> Self {
        let card = Card { means, summary: summary.to_string(), ..self.card.clone() };
        Self { card, scaling, ranker, index: Vec::new() }
    }

    /// What it can do.
    pub fn capabilities(&self) -> Capabilities {
        let ranker = self.ranker.capabilities();
        let alone = self.scaling.pointwise() && !self.card.slots;
        Capabilities { pointwise: ranker.pointwise && alone, ..ranker }
    }

    /// Refuses a model that reads no features where they are asked for.
    ///
    /// # Errors
    /// A model of users and items.
    pub fn check_features(&self) -> Result<()> {
        if self.ranker.capabilities().has_features {
            return Ok(());
        }
        Err(Error::Unsupported("the model has no features; use ltr_rank or ltr_recommend".to_owned()))
    }

    /// Refuses to score a document without the rest of its query where the scaling needs it.
    ///
    /// # Errors
    /// A model that is not pointwise.
    pub fn check_pointwise(&self) -> Result<()> {
        self.check_features()?;
        if self.capabilities().pointwise {
            return Ok(());
        }
        if self.card.slots {
            let reason = "the model matches all documents of a query to its slots; use ltr_rank";
            return Err(Error::Unsupported(reason.to_owned()));
        }
        let what = if self.scaling.pointwise() {
            "form \"ranking\"".to_owned()
        } else {
            format!("scaling \"{}\"", self.scaling.kind().name())
        };
        Err(Error::Unsupported(format!("the model's {what} needs the whole query; use ltr_rank")))
    }

    /// The recipe's choices.
    pub fn settings(&self) -> Value {
        serde_json::from_str(&self.card.settings).unwrap_or(Value::Null)
    }

    /// What training found.
    pub fn summary(&self) -> Value {
        serde_json::from_str(&self.card.summary).unwrap_or(Value::Null)
    }

    /// The BLOB.
    ///
    /// # Errors
    /// More than the format can hold; what [`Model::from_bytes`] would refuse.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        if let Some(problem) = self.problem() {
            return Err(Error::Data(format!(
                "the model cannot be stored: {problem}; are features or grades too large?"
            )));
        }
        let Encoded { header: ranker, blocks } = self.ranker.encode()?;
        let form = self.ranker.form().to_owned();
        let header = Header { card: self.card.clone(), scaling: self.scaling.clone(), form, ranker };
        let bytes = envelope::seal(&encode_header(&header)?, &blocks)?;
        self.check_readable(&bytes)?;
        Ok(bytes)
    }

    /// Refuses bytes that no one could read again. Blocks are rows and functions, which were checked before they were
    /// fitted.
    fn check_readable(&self, bytes: &[u8]) -> Result<()> {
        let end = header_end(bytes, bytes.len() as u64)?;
        Self::from_header(&bytes[..end], bytes.len() as u64).map(|_| ()).map_err(|error| {
            let name = &self.card.algorithm;
            Error::Data(format!(
                "what '{name}' learned cannot be stored: {error}; are features or grades too large?"
            ))
        })
    }

    /// The model of a BLOB, every byte of it checked.
    ///
    /// # Errors
    /// [`Error::Corrupt`] for anything that [`Model::to_bytes`] does not write.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let model = Self::open(bytes, bytes.len() as u64, true)?;
        for (number, place) in model.index.iter().enumerate() {
            let block = &bytes[place.offset..place.offset + place.length];
            place.check(block)?;
            model.ranker.receive_block(number, block)?;
        }
        Ok(model)
    }

    /// The model of a BLOB of `length` bytes, from its bytes up to [`header_end`]. Blocks are read by [`Self::fetch`].
    ///
    /// # Errors
    /// [`Error::Corrupt`] for anything that [`Model::to_bytes`] does not write.
    pub fn from_header(start: &[u8], length: u64) -> Result<Self> {
        Self::open(start, length, false)
    }

    fn open(start: &[u8], length: u64, whole: bool) -> Result<Self> {
        let opened = envelope::open(start, length)?;
        let Header { card, scaling, form, ranker } = decode_header(opened.header)?;
        let ranker = ranker::decode(&form, &ranker, opened.index.len(), whole)?;
        let model = Self { ranker, card, scaling, index: opened.index };
        model.problem().map_or(Ok(model), |problem| Err(Error::Corrupt(problem.to_owned())))
    }

    /// Reads these blocks and checks them. `read` gets a place in the BLOB and memory of the length to read.
    ///
    /// # Errors
    /// Those of `read`; [`Error::Corrupt`] for bytes that are not the block.
    pub fn fetch(
        &self,
        blocks: &[usize],
        read: &mut dyn FnMut(usize, &mut [u8]) -> Result<()>,
    ) -> Result<()> {
        let mut bytes = Vec::new();
        for &number in blocks {
            let Some(place) = self.index.get(number) else {
                return Err(Error::Internal(format!("block {number} has no place")));
            };
            bytes.resize(place.length, 0);
            read(place.offset, &mut bytes)?;
            place.check(&bytes)?;
            self.ranker.receive_block(number, &bytes)?;
        }
        Ok(())
    }

    /// The first thing that does not fit together, if any.
    fn problem(&self) -> Option<&'static str> {
        let n = self.card.features.len();
        let json = |text: &str| serde_json::from_str::<Value>(text).is_ok_and(|value| value.is_object());
        let checks = [
            (
                (n > 0) == self.ranker.capabilities().has_features && self.card.means.len() == n,
                "number of features",
            ),
            (self.card.means.iter().all(|mean| mean.is_finite()), "a mean that is not finite"),
            (self.scaling.features().is_none_or(|learned| learned == n), "number of scaled features"),
            (self.scaling.is_sound(), "the scaling"),
            (self.scaling.width(n) == self.ranker.space().width(), "number of weights"),
            (self.ranker.query_rule().is_none_or(|rule| rule.is_sound(n)), "the query features"),
            (json(&self.card.settings) && json(&self.card.summary), "settings or summary"),
            (self.card.log.iter().all(|(p, gap)| p.is_finite() && gap.is_finite()), "the training log"),
        ];
        checks.into_iter().find(|(holds, _)| !holds).map(|(_, problem)| problem)
    }
}
