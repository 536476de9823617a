//! A space as a scorer of documents.

use serde::{Deserialize, Serialize};

use super::{Form, Map, Scorer, Space, Summand};
use crate::base::{Control, Result, require};
use crate::data::{Documents, Scaling};
use crate::learn::kernel::Kernel;
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

// Sums of functions of several spaces, each with a scaling of its own.

/// A sum of functions, one of each member. Its weights are the weights of the members, in their order.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SumSpace {
    width: usize,
    members: Vec<Member>,
}

/// A space whose functions are summands.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Member {
    /// How it scales the documents.
    pub scaling: Scaling,
    /// The space of scaled documents.
    pub space: Space,
}

impl SumSpace {
    /// Sums of functions of documents with `width` features.
    pub fn new(width: usize, members: Vec<Member>) -> Self {
        Self { width, members }
    }

    /// The spaces of its summands.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// The sum of scores of the documents of one query. `of_member` is given a member, the documents with its scaling, and
    /// its weights.
    ///
    /// # Errors
    /// Errors of `of_member`; values that the scaling does not take; an interruption.
    pub fn add_scores(
        &self,
        documents: &Documents<'_>,
        weights: &[f64],
        control: &Control,
        of_member: impl Fn(&Member, &Documents<'_>, &[f64]) -> Result<Vec<f64>>,
    ) -> Result<Vec<f64>> {
        let n = documents.len();
        let features = documents.features.select_rows(&documents.range().collect::<Vec<usize>>());
        let mut sums = vec![0.0; n];
        for (member, summand) in self.members.iter().zip(self.summands(weights)) {
            let scaled = member.scaling.matrix(features.clone(), &[0, n], control)?;
            let documents = Documents { features: &scaled, start: 0, end: n };
            let scores = of_member(member, &documents, summand.weights)?;
            sums.iter_mut().zip(scores).for_each(|(sum, score)| *sum += score);
        }
        Ok(sums)
    }
}

impl Scorer for SumSpace {
    fn width(&self) -> usize {
        self.width
    }

    fn dim(&self) -> usize {
        self.members.iter().fold(0, |dim: usize, member| dim.saturating_add(member.space.dim()))
    }

    fn pointwise(&self) -> bool {
        self.members.iter().all(|member| member.scaling.pointwise() && member.space.pointwise())
    }

    fn validate(&self) -> Result<()> {
        for Member { scaling, space } in &self.members {
            space.validate()?;
            scaling.validate(self.width)?;
            let fits = scaling.width(self.width) == space.width();
            require("member of a sum", &[(fits, "a space of its scaled features")])?;
        }
        require("sum", &[(!self.members.is_empty(), "a member")])
    }

    fn scores(&self, documents: &Documents<'_>, weights: &[f64], control: &Control) -> Result<Vec<f64>> {
        let of_member = |member: &Member, documents: &Documents<'_>, weights: &[f64]| {
            member.space.scores(documents, weights, control)
        };
        self.add_scores(documents, weights, control, of_member)
    }

    fn summands<'a>(&'a self, weights: &'a [f64]) -> Vec<Summand<'a>> {
        let mut rest = weights;
        let summand = |Member { scaling, space }: &'a Member| {
            let (weights, others) = rest.split_at(space.dim());
            rest = others;
            Summand { scaling: Some(scaling), space, weights }
        };
        self.members.iter().map(summand).collect()
    }
}
