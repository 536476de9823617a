//! One linear function for all queries.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::bytes::{Encoded, decode_header, encode_header};
use super::{Capabilities, Function, Ranker, Target};
use crate::control::Control;
use crate::error::{Error, Result};

/// Name of the form.
pub(super) const FORM: &str = "linear";

/// The ranker.
#[derive(Debug)]
pub struct Linear {
    function: Arc<Function>,
}

#[derive(Serialize, Deserialize)]
struct Header {
    weights: Vec<f64>,
    objective: f64,
    gap: f64,
}

impl Linear {
    /// A ranker with this function.
    pub fn new(function: Function) -> Self {
        Self { function: Arc::new(function) }
    }
}

impl Ranker for Linear {
    fn form(&self) -> &'static str {
        FORM
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { pointwise: true, linear: true, has_features: true, query_dependent: false }
    }

    fn width(&self) -> usize {
        self.function.weights.len()
    }

    fn stored(&self, _target: &Target<'_>) -> Option<Arc<Function>> {
        Some(Arc::clone(&self.function))
    }

    fn fit(&self, _features: &[f64], _control: &Control) -> Result<Function> {
        Ok((*self.function).clone())
    }

    fn encode(&self) -> Result<Encoded> {
        let Function { weights, objective, gap } = (*self.function).clone();
        Ok(Encoded { header: encode_header(&Header { weights, objective, gap })?, blocks: Vec::new() })
    }
}

/// Reads the ranker.
pub(super) fn decode(header: &[u8], blocks: &[&[u8]]) -> Result<Box<dyn Ranker>> {
    let Header { weights, objective, gap } = decode_header(header)?;
    let finite = weights.iter().chain([&objective, &gap]).all(|value| value.is_finite());
    if !finite || !blocks.is_empty() {
        return Err(Error::Corrupt("linear ranker: weights must be finite and blocks absent".to_owned()));
    }
    Ok(Box::new(Linear::new(Function { weights, objective, gap })))
}
