//! One linear function for all queries.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::codec::{Encoded, decode_header, encode_header};
use super::{Ranker, Target};
use crate::control::Control;
use crate::error::{Error, Result};
use crate::space::{Function, Space};

/// Name of the form.
pub(super) const FORM: &str = "linear";

/// The ranker.
#[derive(Debug)]
pub struct Linear {
    space: Space,
    function: Arc<Function>,
}

#[derive(Serialize, Deserialize)]
struct Header {
    space: Space,
    weights: Vec<f64>,
    objective: f64,
    gap: f64,
}

impl Linear {
    /// A ranker with this function of a space.
    pub fn new(space: Space, function: Function) -> Self {
        Self { space, function: Arc::new(function) }
    }
}

impl Ranker for Linear {
    fn form(&self) -> &'static str {
        FORM
    }

    fn space(&self) -> &Space {
        &self.space
    }

    fn stored(&self, _target: &Target<'_>) -> Option<Arc<Function>> {
        Some(Arc::clone(&self.function))
    }

    fn fit(&self, _features: &[f64], _control: &Control) -> Result<Function> {
        Ok((*self.function).clone())
    }

    fn encode(&self) -> Result<Encoded<'_>> {
        let Function { weights, objective, gap } = (*self.function).clone();
        let header = Header { space: self.space.clone(), weights, objective, gap };
        Ok(Encoded { header: encode_header(&header)?, blocks: Vec::new() })
    }
}

/// Reads the ranker, which has no blocks.
pub(super) fn decode(header: &[u8], blocks: usize, _whole: bool) -> Result<Box<dyn Ranker>> {
    let Header { space, weights, objective, gap } = decode_header(header)?;
    let finite = weights.iter().chain([&objective, &gap]).all(|value| value.is_finite());
    if finite && blocks == 0 && space.is_sound() && space.dim() == weights.len() {
        return Ok(Box::new(Linear::new(space, Function { weights, objective, gap })));
    }
    let problem = "linear ranker: as many finite weights as its space has, and no blocks, are needed";
    Err(Error::Corrupt(problem.to_owned()))
}
