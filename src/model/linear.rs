//! One function for all queries.

use std::sync::Arc;

use super::codec::{decode_header, encode_header};
use crate::base::error::{Result, require};
use crate::learn::space::{AnySpace, Function, Scorer};
use crate::math::bounds::BOUNDED;

pub(super) const TAG: &str = "linear";

/// A function of all queries and its space.
#[derive(Debug)]
pub struct Linear {
    space: AnySpace,
    function: Arc<Function>,
}

impl Linear {
    /// A ranker with this function of a space.
    pub fn new(space: impl Into<AnySpace>, function: Function) -> Self {
        Self { space: space.into(), function: Arc::new(function) }
    }

    /// What scores documents by the function.
    pub fn scorer(&self) -> &dyn Scorer {
        self.space.scorer()
    }

    /// The space of the function.
    pub fn space(&self) -> &AnySpace {
        &self.space
    }

    /// The function.
    pub fn function(&self) -> &Arc<Function> {
        &self.function
    }

    /// The weights of the scaled features, if it is a linear function of one space.
    pub(super) fn linear_weights(&self) -> Option<&[f64]> {
        match &self.space {
            AnySpace::One(space) if space.is_linear() => Some(&self.function.weights),
            _ => None,
        }
    }

    /// The bytes of everything but the scaling.
    ///
    /// # Errors
    /// Too many bytes.
    pub fn encode(&self) -> Result<Vec<u8>> {
        encode_header(&(&self.space, &*self.function))
    }

    /// The ranker of bytes that are not trusted.
    ///
    /// # Errors
    /// [`Error::Corrupt`](crate::base::error::Error::Corrupt) for bytes that [`Self::encode`] does not write.
    pub fn decode(header: &[u8]) -> Result<Self> {
        let (space, function): (AnySpace, Function) = decode_header(header)?;
        space.scorer().validate()?;
        let dim = space.scorer().dim();
        require(
            "linear ranker",
            &[
                (function.weights.len() == dim, "as many weights as its space has"),
                (function.is_bounded(), BOUNDED),
            ],
        )?;
        Ok(Self::new(space, function))
    }
}
