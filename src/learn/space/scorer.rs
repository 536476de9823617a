//! A space as a scorer of documents.

use super::{Form, Map, Scorer, Space, Summand};
use crate::base::control::Control;
use crate::base::error::{Result, require};
use crate::base::memory::matrix_bytes;
use crate::data::Documents;
use crate::learn::kernel::{Basis, Kernel};
use crate::math::tile::TILE;
use crate::trees::Forest;

impl Scorer for Space {
    fn width(&self) -> usize {
        self.width
    }

    fn dim(&self) -> usize {
        match &self.map {
            Map::Linear => self.width,
            Map::Documents(map) => map.dim(),
            Map::Fitted(basis) => basis.points().len(),
            Map::Pairs(map) => map.dim(),
            Map::Leaves(forest) => forest.leaves(),
        }
    }

    fn bytes(&self) -> u64 {
        let documents = |basis: &Basis| matrix_bytes(basis.points().len() + TILE, basis.points().dim());
        match &self.map {
            Map::Linear => 0,
            Map::Documents(map) => documents(map.basis()) + matrix_bytes(map.dim(), map.dim()),
            Map::Fitted(basis) => documents(basis),
            Map::Pairs(map) => documents(map.basis()) + matrix_bytes(map.dim(), map.dim()),
            Map::Leaves(forest) => forest.bytes(),
        }
    }

    fn pointwise(&self) -> bool {
        self.form == Form::Scoring
    }

    fn is_linear(&self) -> bool {
        matches!(self.map, Map::Linear)
    }

    fn kernel(&self) -> Option<&Kernel> {
        match &self.map {
            Map::Linear | Map::Leaves(_) => None,
            Map::Documents(map) => Some(map.basis().kernel()),
            Map::Fitted(basis) => Some(basis.kernel()),
            Map::Pairs(map) => Some(map.kernel()),
        }
    }

    fn trees(&self) -> Option<&Forest> {
        if let Map::Leaves(forest) = &self.map { Some(forest) } else { None }
    }

    fn validate(&self) -> Result<()> {
        if let Map::Leaves(forest) = &self.map {
            forest.validate(self.width)?;
        }
        let (map_is_valid, map_width) = match &self.map {
            Map::Linear | Map::Leaves(_) => (true, self.width),
            Map::Documents(map) => (map.is_valid(), map.basis().points().dim()),
            Map::Fitted(basis) => (true, basis.points().dim()),
            Map::Pairs(map) => (map.is_valid(), map.width()),
        };
        let of_pairs = matches!(self.map, Map::Pairs(_));
        require(
            "space",
            &[
                (map_is_valid, "a valid kernel map"),
                (self.width > 0 && map_width == self.width, "a map of as many features as it has"),
                (self.is_linear() || (self.form == Form::Ranking) == of_pairs, "a map of its form"),
                (self.dim() > 0, "a weight"),
            ],
        )
    }

    fn scores(&self, documents: &Documents<'_>, weights: &[f64], control: &Control) -> Result<Vec<f64>> {
        Ok(self.scores_by(documents, std::iter::once(weights), control)?.concat())
    }

    fn summands<'a>(&'a self, weights: &'a [f64]) -> Vec<Summand<'a>> {
        vec![Summand { scaling: None, space: self, weights }]
    }
}
