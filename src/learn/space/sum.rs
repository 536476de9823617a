//! Sums of functions of several spaces, each with a scaling of its own.

use serde::{Deserialize, Serialize};

use super::{Scorer, Space, Summand};
use crate::base::control::Control;
use crate::base::error::{Result, require};
use crate::data::{Documents, Scaling};
use crate::learn::kernel::Kernel;

/// A sum of functions, one of each member. Its weights are those of the members, in their order.
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
}

impl Scorer for SumSpace {
    fn width(&self) -> usize {
        self.width
    }

    fn dim(&self) -> usize {
        self.members.iter().fold(0, |dim: usize, member| dim.saturating_add(member.space.dim()))
    }

    fn bytes(&self) -> u64 {
        self.members.iter().map(|member| member.space.bytes()).sum()
    }

    fn pointwise(&self) -> bool {
        self.members.iter().all(|member| member.scaling.pointwise() && member.space.pointwise())
    }

    fn is_linear(&self) -> bool {
        false
    }

    fn kernel(&self) -> Option<&Kernel> {
        None
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
        let n = documents.len();
        let features = documents.features.select_rows(&documents.range().collect::<Vec<usize>>());
        let mut sums = vec![0.0; n];
        for (Member { scaling, space }, summand) in self.members.iter().zip(self.summands(weights)) {
            let scaled = scaling.matrix(features.clone(), &[0, n], control)?;
            let documents = Documents { features: &scaled, start: 0, end: n };
            let scores = space.scores(&documents, summand.weights, control)?;
            sums.iter_mut().zip(scores).for_each(|(sum, score)| *sum += score);
        }
        Ok(sums)
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
