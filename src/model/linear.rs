//! One function for all queries.

use std::sync::Arc;

use super::codec::{decode_header, encode_header};
use crate::base::{Result, require};
use crate::learn::space::{AnySpace, Function, Scorer};
use crate::math::BOUNDED;

pub(super) const TAG: &str = "linear";

/// A function for all queries, and its space.
#[derive(Debug)]
pub struct Linear {
    /// The space of the function.
    pub space: AnySpace,
    pub function: Arc<Function>,
}

impl Linear {
    /// A ranker with this function of a space.
    pub fn new(space: impl Into<AnySpace>, function: Function) -> Self {
        Self { space: space.into(), function: Arc::new(function) }
    }

    /// The scorer of the function.
    pub fn scorer(&self) -> &dyn Scorer {
        self.space.scorer()
    }

    /// The weights of the scaled features, if the function is linear in one space.
    pub(super) fn linear_weights(&self) -> Option<&[f64]> {
        match &self.space {
            AnySpace::One(space) if space.is_linear() => Some(&self.function.weights),
            _ => None,
        }
    }

    /// Memory in bytes without the scaling.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Scaling;
    use crate::learn::kernel::{Basis, Kernel};
    use crate::learn::space::{Member, Space, SumSpace};

    #[test]
    fn kernels_that_share_documents_are_stored_with_them_once() {
        let rows: Vec<f64> = (0..100).map(f64::from).collect();
        let encoded = |rows_of: [&[f64]; 2]| {
            let member = |gamma: f64, rows: &[f64]| {
                let kernel = Kernel::new("gaussian", vec![gamma]).unwrap();
                let space = Space::of_basis(Basis::new(kernel, rows, 50, 2));
                Member { scaling: Scaling::MaxNorm(1.0).into(), space }
            };
            let sum = SumSpace::new(2, vec![member(1.0, rows_of[0]), member(2.0, rows_of[1])]);
            Linear::new(sum, Function::zero(100)).encode().unwrap()
        };
        let reversed: Vec<f64> = rows.iter().rev().copied().collect();
        let (apart, shared) = (encoded([&rows, &reversed]), encoded([&rows, &rows]));
        assert!(shared.len() + 800 <= apart.len(), "{} and {} bytes", shared.len(), apart.len());
        for bytes in [apart, shared] {
            let read = Linear::decode(&bytes).unwrap();
            assert_eq!(read.encode().unwrap(), bytes);
            assert!((0..bytes.len()).all(|length| Linear::decode(&bytes[..length]).is_err()));
        }
    }
}
