//! One function for all queries.

use std::sync::Arc;

use super::codec::{decode_header, encode_header};
use crate::error::{Result, require};
use crate::space::{Function, Space};

pub(super) const TAG: &str = "linear";

/// A function of all queries and its space.
#[derive(Debug)]
pub struct Linear {
    space: Space,
    function: Arc<Function>,
}

impl Linear {
    /// A ranker with this function of a space.
    pub fn new(space: Space, function: Function) -> Self {
        Self { space, function: Arc::new(function) }
    }

    /// The space of the function.
    pub fn space(&self) -> &Space {
        &self.space
    }

    /// The function.
    pub fn function(&self) -> &Arc<Function> {
        &self.function
    }

    pub(super) fn encode(&self) -> Result<Vec<u8>> {
        encode_header(&(&self.space, &*self.function))
    }

    pub(super) fn decode(header: &[u8]) -> Result<Self> {
        let (space, function): (Space, Function) = decode_header(header)?;
        space.validate()?;
        let dim = space.dim();
        require(
            "linear ranker",
            &[
                (function.weights.len() == dim, "as many weights as its space has"),
                (function.is_finite(), "finite numbers"),
            ],
        )?;
        Ok(Self::new(space, function))
    }
}
