//! A model: its card, its scaling and its ranker, in memory and as bytes.

use super::Probability;
use super::card::Card;
use super::codec::{Encoded, decode_header, encode_header};
use super::envelope::{BlobSpan, header_end};
use super::online::Online;
use super::query_dependent::QueryDependent;
use super::ranker::{Capabilities, Ranker};
use super::sections::{self, Section};
use crate::base::{Error, Reservation, Result, bytes_of, require, shorten};
use crate::data::{ColumnSummary, Fingerprint, Scaling, position_names};
use crate::learn::fit::Loading;
use crate::learn::space::Scorer;
use serde::{Deserialize, Serialize};

/// What encoding a model uses memory for.
pub const ENCODING: &str = "encoding the model";

/// Advice if encoding needs too much memory.
pub const SMALLER_MODEL: &str = "use fewer factors, landmarks or queries, or \"fit_at\": \"query_time\"";

#[derive(Debug)]
pub struct Model {
    /// Facts about the model.
    pub card: Card,
    /// The scaling of document features.
    pub scaling: Scaling,
    /// The scoring function.
    pub ranker: Ranker,
    /// Statistics of the training data, for drift checks; `None` for online models and training in buckets.
    pub fingerprint: Option<Fingerprint>,
    /// Blocks in the bytes that the model was read from.
    index: Vec<BlobSpan>,
}

/// The part of the BLOB that is always needed.
#[derive(Serialize, Deserialize)]
pub(super) struct Header<'a> {
    card: Card,
    scaling: Scaling,
    tag: String,
    #[serde(serialize_with = "super::codec::byte_string")]
    ranker: &'a [u8],
    fingerprint: Option<Fingerprint>,
    #[serde(borrow)]
    sections: Vec<Section<'a>>,
}

/// The error for a model of users and items where features are needed.
pub fn no_features() -> Error {
    Error::NotPointwise("the model has no features".to_owned())
}

impl Model {
    /// A model from a newly fitted ranker.
    pub fn new(card: Card, scaling: Scaling, ranker: Ranker) -> Self {
        Self { card, scaling, ranker, fingerprint: None, index: Vec::new() }
    }

    /// The same model with the fingerprint of its training data.
    #[must_use]
    pub fn with_fingerprint(self, fingerprint: Option<Fingerprint>) -> Self {
        Self { fingerprint, ..self }
    }

    /// The model's capabilities.
    pub fn capabilities(&self) -> Capabilities {
        let ranker = self.ranker.capabilities();
        let pointwise = ranker.pointwise && self.scaling.pointwise() && !self.card.slots;
        Capabilities { pointwise, ..ranker }
    }

    /// The model's scorer of documents, which takes functions.
    ///
    /// # Errors
    /// A model of users and items, which has no features.
    pub fn scorer(&self) -> Result<&dyn Scorer> {
        self.ranker.scorer().ok_or_else(no_features)
    }

    /// Refuses models that cannot score a document without the other documents of its query.
    ///
    /// # Errors
    /// [`Error::NotPointwise`] with the reason.
    pub fn check_pointwise(&self) -> Result<()> {
        self.check_pairwise()?;
        if self.scorer()?.pointwise() {
            return Ok(());
        }
        Err(Error::NotPointwise("the model's form \"ranking\" needs all documents of a query".to_owned()))
    }

    /// Refuses models that cannot compare two documents without the other documents of their query.
    ///
    /// # Errors
    /// [`Error::NotPointwise`] with the reason.
    pub fn check_pairwise(&self) -> Result<()> {
        let scorer = self.scorer()?;
        let reason = if self.card.slots {
            "the model matches all documents of a query to its slots".to_owned()
        } else if !self.scaling.pointwise() {
            format!("the model's scaling \"{}\" needs all documents of a query", self.scaling.kind().name())
        } else if !scorer.pairwise() {
            "the scaling \"quantile_minmax\" of one of its functions needs all documents of a query"
                .to_owned()
        } else {
            return Ok(());
        };
        Err(Error::NotPointwise(reason))
    }

    /// Refuses documents whose number of features differs from training.
    ///
    /// # Errors
    /// [`Error::Shape`] with the feature names, unless they were vector indices.
    pub fn check_width(&self, found: usize) -> Result<()> {
        let names = &self.card.features;
        if found == names.len() {
            return Ok(());
        }
        let what = if found == 2 * names.len() {
            "number of features (twice as many as expected may be 64-bit floats; a feature takes 32 bits)"
                .to_owned()
        } else if *names == position_names(names.len()) {
            "number of features".to_owned()
        } else {
            format!("number of features ({})", shorten(&names.join(", ")))
        };
        Err(Error::Shape { what, found, expected: names.len() })
    }

    /// The BLOB.
    ///
    /// # Errors
    /// A header that is too long; values that [`Model::from_bytes`] would refuse.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        self.encode(&mut Reservation::default())
    }

    /// The BLOB. `memory` counts the model, its bytes twice, and the copy decoded from them; blocks count only their bytes.
    ///
    /// # Errors
    /// As [`Self::to_bytes`]; too much memory.
    pub fn encode(&self, memory: &mut Reservation) -> Result<Vec<u8>> {
        self.validate().map_err(|error| self.cannot_be_stored(&error))?;
        let block_memory = 2 * self.ranker.as_query_dependent().map_or(0, QueryDependent::block_bytes);
        memory.resize(block_memory, ENCODING, SMALLER_MODEL)?;
        let Encoded { header: ranker, blocks } = self.ranker.encode()?;
        memory.resize(block_memory + bytes_of::<[u8; 5]>(ranker.len()), ENCODING, SMALLER_MODEL)?;
        let tag = self.ranker.tag().to_owned();
        let (card, scaling) = (self.card.clone(), self.scaling.clone());
        let (fingerprint, sections) = (self.fingerprint.clone(), sections::encode(&self.card)?);
        let header = Header { card, scaling, tag, ranker: &ranker, fingerprint, sections };
        let encoded = encode_header(&header)?;
        drop(header);
        drop(ranker);
        let bytes = super::envelope::seal(&encoded, &blocks)?;
        drop(encoded);
        // Blocks contain rows that were checked before the fit, so only the header can be wrong.
        let end = header_end(&bytes, bytes.len() as u64)?;
        match Self::from_header(&bytes[..end], bytes.len() as u64) {
            Ok(_) => Ok(bytes),
            Err(error) => Err(self.cannot_be_stored(&error)),
        }
    }

    /// Checks a model with one function that was read from text.
    ///
    /// # Errors
    /// [`Error::Corrupt`] for values that [`Model::from_bytes`] would refuse.
    pub fn check(&self) -> Result<()> {
        self.validate()?;
        Ranker::decode(self.ranker.tag(), &self.ranker.encode()?.header, 0, Loading::All).map(drop)
    }

    fn cannot_be_stored(&self, error: &Error) -> Error {
        let name = &self.card.algorithm;
        Error::Data(format!(
            "the model of '{name}' cannot be stored: {error}; are features or grades too large?"
        ))
    }

    /// The model of a BLOB, with all its blocks loaded.
    ///
    /// # Errors
    /// [`Error::Corrupt`] for anything that [`Model::to_bytes`] does not write.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let model = Self::open(bytes, bytes.len() as u64, Loading::All)?;
        for number in 0..model.index.len() {
            let span = &model.index[number];
            model.load_block(number, &bytes[span.offset..span.offset + span.length])?;
        }
        Ok(model)
    }

    /// Decodes a model of `length` bytes from its bytes up to [`header_end`]. [`Self::load_blocks`] reads the rest.
    ///
    /// # Errors
    /// [`Error::Corrupt`] for anything that [`Model::to_bytes`] does not write.
    pub fn from_header(start: &[u8], length: u64) -> Result<Self> {
        Self::open(start, length, Loading::OnDemand)
    }

    fn open(start: &[u8], length: u64, loading: Loading) -> Result<Self> {
        let opened = super::envelope::open(start, length)?;
        let Header { mut card, scaling, tag, ranker, fingerprint, sections } = decode_header(opened.header)?;
        sections::decode(&sections, &mut card)?;
        let ranker = Ranker::decode(&tag, ranker, opened.index.len(), loading)?;
        let model = Self { ranker, card, scaling, fingerprint, index: opened.index };
        model.validate()?;
        Ok(model)
    }

    /// Numbers of the blocks that must be loaded before functions for these query features are fitted.
    pub fn missing_blocks(&self, targets: &[&[f64]]) -> Vec<usize> {
        self.ranker.as_query_dependent().map_or_else(Vec::new, |ranker| ranker.missing_blocks(targets))
    }

    /// Loads these blocks. `read` gets an offset in the BLOB and a buffer to fill.
    ///
    /// # Errors
    /// Errors of `read`; [`Error::Corrupt`] for bytes that are not the block.
    pub fn load_blocks(
        &self,
        blocks: &[usize],
        read: &mut dyn FnMut(usize, &mut [u8]) -> Result<()>,
    ) -> Result<()> {
        let mut bytes = Vec::new();
        for &number in blocks {
            let span = &self.index[number];
            bytes.resize(span.length, 0);
            read(span.offset, &mut bytes)?;
            self.load_block(number, &bytes)?;
        }
        Ok(())
    }

    fn load_block(&self, number: usize, bytes: &[u8]) -> Result<()> {
        self.index[number].check(bytes)?;
        match self.ranker.as_query_dependent() {
            Some(ranker) => ranker.load_block(number, bytes),
            None => Err(Error::Corrupt(format!("there is no block {number}"))),
        }
    }

    fn validate(&self) -> Result<()> {
        let Self { card, scaling, ranker, .. } = self;
        let n = card.features.len();
        let width = ranker.scorer().map_or(0, Scorer::width);
        let means = |online: &Online| -> Vec<f64> {
            online.state.summaries.iter().map(ColumnSummary::mean).collect()
        };
        scaling.validate(n)?;
        card.categories.validate(&card.features)?;
        card.probability.as_ref().map_or(Ok(()), Probability::validate)?;
        let fits = |fingerprint: &Fingerprint| fingerprint.validate(n, ranker.named_query_features());
        self.fingerprint.as_ref().map_or(Ok(()), fits)?;
        ranker.query_rule().map_or(Ok(()), |rule| rule.validate(n))?;
        ranker.as_general_trees().map_or(Ok(()), |trees| trees.check_features(n, &card.categories))?;
        require(
            "model",
            &[
                ((n > 0) == ranker.capabilities().has_features, "features, or factors without features"),
                (
                    card.means.len() == n && card.means.iter().all(|mean| mean.is_finite()),
                    "a finite mean per feature",
                ),
                (
                    !matches!(ranker, Ranker::Online(online) if means(online) != card.means),
                    "means of its features",
                ),
                (scaling.width(n) == width, "a weight per scaled feature"),
                (
                    ranker.as_general_trees().is_none() || (matches!(scaling, Scaling::None) && !card.slots),
                    "trees of another library without scaling and slots",
                ),
                (card.log.iter().all(|(p, gap)| p.is_finite() && gap.is_finite()), "a finite training log"),
            ],
        )
    }
}
