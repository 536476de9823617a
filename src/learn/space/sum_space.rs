//! Weighted sums of spaces, which share scaling and landmarks.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::function::WeightsOf;
use super::space::{KERNEL_COST, Map, Scorer, Space, Summand};
use crate::base::{Control, Result, require};
use crate::data::{Documents, Matrix, Scaling, Shuffle};
use crate::learn::kernel::Basis;

/// A space or a sum of spaces.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum AnySpace {
    /// One space of scaled documents.
    One(Space),
    /// A sum of functions of several spaces.
    Sum(SumSpace),
}

impl AnySpace {
    /// The scorer of documents.
    pub fn scorer(&self) -> &dyn Scorer {
        match self {
            Self::One(space) => space,
            Self::Sum(sum) => sum,
        }
    }
}

impl From<Space> for AnySpace {
    fn from(space: Space) -> Self {
        Self::One(space)
    }
}

impl From<SumSpace> for AnySpace {
    fn from(sum: SumSpace) -> Self {
        Self::Sum(sum)
    }
}

/// A sum of functions, one per member. The weights are the members' weights, concatenated.
///
/// Members that share scaling and kernel documents share them in memory and in a model: later members have no
/// scaling there, and a kernel without documents, whose dimension is the first member's number of documents.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(from = "(usize, Vec<Member>)", into = "(usize, Vec<Member>)")]
pub struct SumSpace {
    width: usize,
    /// The spaces of its summands.
    pub members: Vec<Member>,
    /// For each member, the first one with the same scaling.
    scalings: Vec<usize>,
    /// For each member, the first one with the same scaling and kernel documents.
    landmarks: Vec<usize>,
}

impl From<(usize, Vec<Member>)> for SumSpace {
    fn from((width, mut members): (usize, Vec<Member>)) -> Self {
        for index in 0..members.len() {
            let (before, Member { space, .. }) = (&members[..index], &members[index]);
            let WeightsOf::Documents(basis) = space.weights_of() else { continue };
            let first = before.get(basis.points.dim).filter(|_| basis.points.is_empty());
            if let Some((WeightsOf::Documents(shared), first)) = first.map(|of| (of.space.weights_of(), of)) {
                let space = Space { map: Map::Fitted(basis.with_points_of(shared)), ..*space };
                members[index] = Member { scaling: first.scaling.clone(), space };
            }
        }
        Self::new(width, members)
    }
}

impl From<SumSpace> for (usize, Vec<Member>) {
    fn from(SumSpace { width, mut members, landmarks, .. }: SumSpace) -> Self {
        for (member, first) in landmarks.into_iter().enumerate().filter(|(member, first)| first < member) {
            let Member { scaling, space } = &mut members[member];
            if let Map::Fitted(basis) = &mut space.map {
                *scaling = Scaling::None.into();
                *basis = Basis::new(basis.kernel.clone(), &[], 0, first);
            }
        }
        (width, members)
    }
}

/// A space whose functions are summands.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Member {
    /// How it scales the documents.
    pub scaling: Arc<Scaling>,
    /// The space of scaled documents.
    pub space: Space,
}

impl SumSpace {
    /// Sums of functions of documents with `width` features.
    pub fn new(width: usize, members: Vec<Member>) -> Self {
        let first = |is_same: &dyn Fn(usize, usize) -> bool| -> Vec<usize> {
            let of = |index| (0..index).find(|other| is_same(*other, index)).unwrap_or(index);
            (0..members.len()).map(of).collect()
        };
        let scalings = first(&|a, b| members[a].scaling == members[b].scaling);
        let landmarks =
            first(&|a, b| scalings[a] == scalings[b] && members[a].space.has_basis_of(&members[b].space));
        Self { width, members, scalings, landmarks }
    }

    /// The sum of scores of the documents of one query. `of_member` is given a member, the documents with its scaling, and
    /// its weights. `last`: features after the scaled ones, for kernels that have more.
    ///
    /// # Errors
    /// Errors of `of_member`; values that the scaling does not take; an interrupt.
    pub fn add_scores(
        &self,
        documents: &Documents<'_>,
        last: &[f64],
        weights: &[f64],
        control: &Control,
        of_member: impl Fn(&Member, &Documents<'_>, &[f64]) -> Result<Vec<f64>>,
    ) -> Result<Vec<f64>> {
        let n = documents.len();
        let features = documents.features.select_rows(&documents.range().collect::<Vec<usize>>());
        let mut sums = vec![0.0; n];
        let summands = self.summands(weights);
        let mut copies: Vec<Option<Matrix>> = vec![None; summands.len()];
        let mut by_summand: Vec<Option<Vec<f64>>> = vec![None; summands.len()];
        for (index, member) in self.members.iter().enumerate() {
            if by_summand[index].is_none() {
                let scaled = match &mut copies[self.scalings[index]] {
                    Some(scaled) => scaled,
                    none => none.insert(member.scaling.matrix(features.clone(), &[0, n], control)?),
                };
                // Kernels at the same documents, all together.
                let alike: Vec<usize> =
                    (index..summands.len()).filter(|other| self.landmarks[*other] == index).collect();
                let functions: Vec<_> = alike
                    .iter()
                    .filter_map(|other| {
                        Some((self.members[*other].space.kernel()?, summands[*other].weights))
                    })
                    .collect();
                if let WeightsOf::Documents(basis) = member.space.weights_of() {
                    let joined = (basis.points.dim > scaled.columns()).then(|| scaled.followed_by(last));
                    let scaled = joined.as_ref().unwrap_or(scaled);
                    let scores = basis.scores_by(scaled, 0..n, &functions, control)?;
                    alike.iter().zip(scores).for_each(|(other, scores)| by_summand[*other] = Some(scores));
                } else {
                    let documents = Documents { features: scaled, start: 0, end: n };
                    by_summand[index] = Some(of_member(member, &documents, summands[index].weights)?);
                }
            }
            sums.iter_mut().zip(by_summand[index].iter().flatten()).for_each(|(sum, score)| *sum += score);
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

    fn pairwise(&self) -> bool {
        self.members.iter().all(|member| member.scaling.pointwise())
    }

    fn operations(&self) -> usize {
        let of_member = |(number, Member { space, .. }): (usize, &Member)| {
            // Distances to the same landmarks are computed once.
            let shares = self.landmarks[number] < number;
            if shares { space.dim().saturating_mul(KERNEL_COST) } else { space.operations() }
        };
        self.members.iter().enumerate().map(of_member).fold(0, usize::saturating_add)
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
        self.add_scores(documents, &[], weights, control, of_member)
    }

    fn shuffled(
        &self,
        documents: &Documents<'_>,
        weights: &[f64],
        shuffles: &[Shuffle],
        control: &Control,
    ) -> Result<Vec<Vec<f64>>> {
        let (n, columns) = (documents.len(), documents.features.columns());
        let features = documents.features.select_rows(&documents.range().collect::<Vec<usize>>());
        let summands = self.summands(weights);
        let mut sums: Vec<Vec<f64>> =
            shuffles.iter().map(|shuffle| vec![0.0; n * shuffle.orders.len()]).collect();
        for (index, Member { scaling, space }) in self.members.iter().enumerate() {
            // Kernels at the same documents are computed with the first of them.
            let alike = (index..summands.len()).filter(|other| self.landmarks[*other] == index);
            let functions: Vec<_> = alike
                .filter_map(|other| Some((self.members[other].space.kernel()?, summands[other].weights)))
                .collect();
            let scaled = scaling.matrix(features.clone(), &[0, n], control)?;
            // The columns i, i + n, ... are scalings of feature i.
            let scalings = |column: &usize| (*column..scaled.columns()).step_by(columns);
            let widened = |Shuffle { columns, orders }: &Shuffle| Shuffle {
                columns: columns.iter().flat_map(scalings).collect(),
                orders: orders.clone(),
            };
            let shuffles: Vec<Shuffle> = shuffles.iter().map(widened).collect();
            let values = match &space.map {
                Map::Fitted(_) if self.landmarks[index] < index => continue,
                Map::Fitted(basis) if basis.kernel.def.factorizes => {
                    basis.shuffled(&scaled.rows_f64(0..n), n, &shuffles, &functions, control)?
                }
                _ => {
                    let documents = Documents { features: &scaled, start: 0, end: n };
                    space.shuffled(&documents, summands[index].weights, &shuffles, control)?
                }
            };
            for (sums, values) in sums.iter_mut().zip(values) {
                sums.iter_mut().zip(values).for_each(|(sum, score)| *sum += score);
            }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{VALUE_COST, shaped};
    use crate::learn::kernel::Kernel;
    use crate::learn::space::Form;

    /// Two Gaussian kernels of the documents -1 and 2, then one of the document 5.
    fn sum() -> SumSpace {
        let member = |gamma: f64, rows: &[f64]| {
            let kernel = Kernel::new("gaussian", vec![gamma]).unwrap();
            let space = Space::of_basis(Basis::new(kernel, rows, rows.len(), 1));
            Member { scaling: Scaling::MaxNorm(0.5).into(), space }
        };
        SumSpace::new(1, vec![member(1.0, &[-1.0, 2.0]), member(3.0, &[-1.0, 2.0]), member(1.0, &[5.0])])
    }

    fn basis(member: &Member) -> &Basis {
        let WeightsOf::Documents(basis) = member.space.weights_of() else { panic!("no documents") };
        basis
    }

    #[test]
    fn shared_documents_are_stored_once_and_shared_again_when_read() {
        let (sum, rows) = (sum(), Matrix::F64(shaped(3, 1, vec![0.0, 1.0, -4.0])));
        let (_, stored): (usize, Vec<Member>) = sum.clone().into();
        assert_eq!(stored.iter().map(|member| basis(member).points.len()).collect::<Vec<_>>(), [2, 0, 1]);
        assert!(*stored[1].scaling == Scaling::None && *stored[2].scaling == Scaling::MaxNorm(0.5));
        let read = SumSpace::from((1, stored));
        read.validate().unwrap();
        assert!(Arc::ptr_eq(&basis(&read.members[0]).points, &basis(&read.members[1]).points));
        assert_eq!(read.landmarks, [0, 0, 2]);
        let documents = Documents { features: &rows, start: 0, end: 3 };
        let scores = |sum: &SumSpace| {
            sum.scores(&documents, &[1.0, -2.0, 0.5, 4.0, 3.0], &Control::default()).unwrap()
        };
        assert_eq!(scores(&read), scores(&sum));
    }

    #[test]
    fn distances_to_shared_documents_are_counted_once() {
        let values = 2 * VALUE_COST;
        assert_eq!(sum().operations(), values + 5 * KERNEL_COST);
        let wide = Space::linear(100, Form::Scoring);
        assert_eq!(wide.operations(), 100 * (1 + VALUE_COST));
    }

    #[test]
    fn members_refer_to_documents_of_members_before_them() {
        let refers_to = |number: usize| {
            let (width, mut members): (usize, Vec<Member>) = sum().into();
            let kernel = basis(&members[1]).kernel.clone();
            members[1].space.map = Map::Fitted(Basis::new(kernel, &[], 0, number));
            SumSpace::from((width, members)).validate()
        };
        assert!(refers_to(0).is_ok());
        assert!([1, 2, 3, usize::MAX].into_iter().all(|number| refers_to(number).is_err()));
    }
}
