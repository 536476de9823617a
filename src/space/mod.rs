//! The space in which a ranking function is linear, and what turns its weights into scores.
//!
//! | form | score of document j among k |
//! |---|---|
//! | `scoring` | s(x_j), equation (3.7) of Dai & Wang (2019) |
//! | `ranking` | (1 / k) sum_l f(x_j, x_l), the least-squares scores (3.6) of a ranking function f of pairs, (3.1) |
//!
//! A linear f of pairs is a difference of linear scores, and its squared norm is twice theirs, so the ranking form is the
//! scoring form with 2 lambda and centered scores. Other kernels become linear by a map of documents, or of pairs in the
//! ranking form (`kernel`); the weights of a function are then coefficients of the map's pivots.

use std::cmp::Ordering;
use std::ops::Range;

use serde::{Deserialize, Deserializer, Serialize};

use crate::control::Control;
use crate::data::{Dataset, Documents, Matrix, Scaling, shaped};
use crate::error::{Error, Result};
use crate::kernel::{self, Basis, FeatureMap, MapOptions, PairMap};
use crate::loss;
use crate::math::dense::dot;
use crate::solve::PairBlock;

/// What a function takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum FunctionKind {
    /// One document: a scoring function s(x).
    Pointwise,
    /// Two documents: an antisymmetric ranking function f(x, x').
    Pairwise,
}

/// Values of the option `form`, in the order of [`FunctionKind`].
pub const FUNCTION_KIND_NAMES: &[&str] = &["scoring", "ranking"];

impl FunctionKind {
    /// The kind with this name.
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Pointwise, Self::Pairwise].into_iter().find(|kind| kind.name() == name)
    }

    /// The value of the option `form`.
    pub fn name(self) -> &'static str {
        FUNCTION_KIND_NAMES[self as usize]
    }
}

/// A ranking function: weights in a [`Space`], which turns them into scores.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Function {
    /// As many weights as the space has.
    pub weights: Vec<f64>,
    /// Value of the objective at the weights.
    pub objective: f64,
    /// Certified distance of `objective` from the optimum.
    pub gap: f64,
}

impl Function {
    /// The function 0, whose optimality is not certified.
    pub fn zero(dim: usize) -> Self {
        Self { weights: vec![0.0; dim], objective: 0.0, gap: 0.0 }
    }

    /// Whether all its numbers are finite.
    pub fn is_finite(&self) -> bool {
        self.weights.iter().chain([&self.objective, &self.gap]).all(|number| number.is_finite())
    }
}

/// A space of functions of scaled documents.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Space {
    width: usize,
    kind: FunctionKind,
    map: Map,
}

/// What makes functions linear.
#[derive(Debug, Clone, Serialize, Deserialize)]
enum Map {
    /// The documents as they are.
    Linear,
    /// A kernel on documents.
    Documents(FeatureMap),
    /// Sums of the kernel at documents: what functions of a kernel on documents are once they are fitted, and what is
    /// fitted where the coefficients themselves are bounded.
    Fitted(Basis),
    /// A kernel on pairs of documents.
    Pairs(PairMap),
    /// The sum of functions of several spaces, each with a scaling of its own.
    Sum(Vec<Member>),
}

/// One of several spaces whose functions are added up.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Member {
    /// How it scales the documents.
    pub scaling: Scaling,
    /// The space, of scaled documents; no sum.
    #[serde(deserialize_with = "read_single")]
    pub space: Space,
}

/// A space as it is written, where it is no sum: bytes cannot nest one in another.
#[derive(Deserialize)]
struct Single {
    width: usize,
    kind: FunctionKind,
    map: SingleMap,
}

/// The variants of [`Map`] before the sum, in their order.
#[derive(Deserialize)]
enum SingleMap {
    Linear,
    Documents(FeatureMap),
    Fitted(Basis),
    Pairs(PairMap),
}

fn read_single<'de, D: Deserializer<'de>>(from: D) -> std::result::Result<Space, D::Error> {
    let Single { width, kind, map } = Single::deserialize(from)?;
    let map = match map {
        SingleMap::Linear => Map::Linear,
        SingleMap::Documents(map) => Map::Documents(map),
        SingleMap::Fitted(basis) => Map::Fitted(basis),
        SingleMap::Pairs(map) => Map::Pairs(map),
    };
    Ok(Space { width, kind, map })
}

impl Space {
    /// Linear functions of `width` scaled features.
    pub fn linear(width: usize, kind: FunctionKind) -> Self {
        Self { width, kind, map: Map::Linear }
    }

    /// The space of a kernel for these documents, whose features are scaled.
    ///
    /// # Errors
    /// A kernel that is 0 or not finite on the documents; an interruption.
    pub fn fit(
        kernel: &kernel::KernelSpec,
        kind: FunctionKind,
        data: &Dataset,
        options: &MapOptions,
        control: &Control,
    ) -> Result<Self> {
        let features = &data.features;
        let width = features.columns();
        if kernel.is_linear() {
            return Ok(Self::linear(width, kind));
        }
        let kernel = kernel.fit(features, options.seed, control)?;
        let map = match kind {
            FunctionKind::Pointwise => Map::Documents(FeatureMap::fit(&kernel, features, options, control)?),
            FunctionKind::Pairwise => {
                let (offsets, labels) = (&data.offsets, &data.relevance);
                Map::Pairs(PairMap::fit(&kernel, features, offsets, labels, options, control)?)
            }
        };
        let space = Self { width, kind, map };
        if space.dim() == 0 {
            let name = kernel.def().name;
            let what = if kind == FunctionKind::Pointwise {
                "training document"
            } else {
                "pair of different relevance"
            };
            return Err(Error::Data(format!("the kernel {name} is 0 on every {what}")));
        }
        Ok(space)
    }

    /// The functions sum over l of theta_l K(x, x_l) of these documents x_l, whose features are scaled, or of as many of
    /// them as `landmarks` says; linear ones of the features with the linear kernel. Their weights are theta itself.
    ///
    /// # Errors
    /// As [`Self::fit`].
    pub fn expansion(
        kernel: &kernel::KernelSpec,
        features: &Matrix,
        options: &MapOptions,
        control: &Control,
    ) -> Result<Self> {
        let (width, kind) = (features.columns(), FunctionKind::Pointwise);
        if kernel.is_linear() {
            return Ok(Self::linear(width, kind));
        }
        let kernel = kernel.fit(features, options.seed, control)?;
        let map = Map::Fitted(Basis::of_documents(&kernel, features, options)?);
        Ok(Self { width, kind, map })
    }

    /// Sums of fitted functions, one of each member, of documents with `width` features. The weights of a sum are those
    /// of its terms one after the other.
    pub fn sum(width: usize, members: Vec<Member>) -> Self {
        Self { width, kind: FunctionKind::Pointwise, map: Map::Sum(members) }
    }

    /// Number of scaled features of a document.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Number of weights, as a solver finds them and as a function keeps them.
    pub fn dim(&self) -> usize {
        match &self.map {
            Map::Linear => self.width,
            Map::Documents(map) => map.dim(),
            Map::Fitted(basis) => basis.points().len(),
            Map::Pairs(map) => map.dim(),
            Map::Sum(members) => members.iter().map(|member| member.space.dim()).sum(),
        }
    }

    /// Bytes of all training documents (pairs in the ranking form) as a solver sees them; 0 where they are as they are.
    pub fn bytes(&self, data: &Dataset) -> u64 {
        let rows: u64 = match &self.map {
            Map::Linear | Map::Sum(_) => 0,
            Map::Documents(_) | Map::Fitted(_) => data.n_docs() as u64,
            Map::Pairs(_) => (0..data.n_queries()).map(|query| loss::pair_count(data.labels(query))).sum(),
        };
        rows * 8 * self.dim() as u64
    }

    /// True where one document can be scored without the rest of its query.
    pub fn pointwise(&self) -> bool {
        match &self.map {
            Map::Sum(members) => {
                members.iter().all(|member| member.scaling.pointwise() && member.space.pointwise())
            }
            _ => self.kind == FunctionKind::Pointwise,
        }
    }

    /// True where a score is a weighted sum of scaled features.
    pub fn is_linear(&self) -> bool {
        matches!(self.map, Map::Linear)
    }

    /// The kernel, where it is not the linear one.
    pub fn kernel(&self) -> Option<&kernel::Kernel> {
        match &self.map {
            Map::Linear | Map::Sum(_) => None,
            Map::Documents(map) => Some(map.basis().kernel()),
            Map::Fitted(basis) => Some(basis.kernel()),
            Map::Pairs(map) => Some(map.kernel()),
        }
    }

    /// What the caller should know.
    pub fn warning(&self) -> Option<String> {
        match &self.map {
            Map::Linear | Map::Fitted(_) | Map::Sum(_) => None,
            Map::Documents(map) => map.warning(),
            Map::Pairs(map) => map.warning(),
        }
    }

    /// The space for functions that are fitted, without what fitting others takes.
    #[must_use]
    pub fn fitted(&self) -> Self {
        let map = match &self.map {
            Map::Documents(map) => Map::Fitted(map.basis().clone()),
            other => other.clone(),
        };
        Self { map, ..*self }
    }

    /// The lambda with which a solver finds the function that the caller's lambda means.
    pub fn solver_lambda(&self, lambda: f64) -> f64 {
        match self.kind {
            FunctionKind::Pointwise => lambda,
            FunctionKind::Pairwise => 2.0 * lambda,
        }
    }

    /// Some rows of scaled documents, those of one query, prepared for a solver of pairwise losses.
    ///
    /// # Errors
    /// Labels and documents that do not fit together; an interruption.
    pub fn pair_block(
        &self,
        documents: &Matrix,
        rows: Range<usize>,
        labels: &[f64],
        control: &Control,
    ) -> Result<PairBlock> {
        match &self.map {
            Map::Linear => match documents {
                Matrix::F32(_) => PairBlock::new(&documents.rows_f32(rows), labels, self.width),
                Matrix::F64(_) => PairBlock::new(&documents.rows_f64(rows), labels, self.width),
            },
            Map::Documents(map) => {
                PairBlock::new(&map.features(documents, rows, control)?, labels, map.dim())
            }
            Map::Pairs(map) => {
                let psi = map.features(documents, rows, labels, control)?;
                let (rows, labels) = kernel::as_documents(psi, map.dim());
                PairBlock::new(&rows, &labels, map.dim())
            }
            Map::Fitted(_) | Map::Sum(_) => {
                Err(Error::Internal("a space of fitted functions fits no other".to_owned()))
            }
        }
    }

    /// Some rows of scaled documents as a solver of listwise losses sees them: (rows, dim).
    ///
    /// # Errors
    /// A space of pairs; an interruption.
    pub fn rows(&self, documents: &Matrix, rows: Range<usize>, control: &Control) -> Result<Matrix> {
        match &self.map {
            Map::Linear => Ok(documents.select_rows(&rows.collect::<Vec<usize>>())),
            Map::Documents(map) => {
                let phi = map.features(documents, rows.clone(), control)?;
                Ok(Matrix::F64(shaped(rows.len(), map.dim(), phi)))
            }
            Map::Fitted(basis) => {
                let columns = basis.columns(documents, rows.clone(), control)?;
                Ok(Matrix::F64(shaped(rows.len(), basis.points().len(), columns)))
            }
            Map::Pairs(_) | Map::Sum(_) => {
                Err(Error::Internal("a space without features of single documents".to_owned()))
            }
        }
    }

    /// The weights of the function that a solver has found.
    ///
    /// # Errors
    /// Another number of weights than the space has.
    pub fn function(&self, w: Vec<f64>) -> Result<Vec<f64>> {
        match &self.map {
            Map::Linear | Map::Fitted(_) | Map::Sum(_) => Ok(w),
            Map::Documents(map) => map.coefficients(&w),
            Map::Pairs(map) => map.coefficients(&w),
        }
    }

    /// Scores of the scaled documents of one query by one function after the other; higher is better.
    ///
    /// # Errors
    /// Another number of features or weights; an interruption.
    pub fn scores<'a>(
        &self,
        documents: &Documents<'_>,
        functions: impl Iterator<Item = &'a [f64]>,
        control: &Control,
    ) -> Result<Vec<Vec<f64>>> {
        if self.kind == FunctionKind::Pairwise {
            return self.preferences(documents, functions, control);
        }
        let (features, rows) = (documents.features, documents.range());
        let columns = match &self.map {
            Map::Documents(map) => map.columns(features, rows, control)?,
            Map::Fitted(basis) => {
                return functions.map(|beta| basis.scores(features, rows.clone(), beta, control)).collect();
            }
            Map::Sum(members) => {
                return functions.map(|weights| sums(members, documents, weights, control)).collect();
            }
            Map::Linear | Map::Pairs(_) => {
                let by = |w: &[f64]| rows.clone().map(|row| features.row_dot(row, w)).collect();
                return Ok(functions.map(by).collect());
            }
        };
        let by = |beta: &[f64]| columns.chunks_exact(self.dim()).map(|row| dot(row, beta)).collect();
        Ok(functions.map(by).collect())
    }

    /// Scores (3.6). They hold sums over the documents of the query, taken in the order of their features, so that the
    /// order in which documents come changes no bit.
    fn preferences<'a>(
        &self,
        documents: &Documents<'_>,
        functions: impl Iterator<Item = &'a [f64]>,
        control: &Control,
    ) -> Result<Vec<Vec<f64>>> {
        let mut order: Vec<usize> = documents.range().collect();
        let by_features = |a: &usize, b: &usize| {
            let values = |row: usize| (0..self.width).map(move |column| documents.features.at(row, column));
            values(*a).partial_cmp(values(*b)).unwrap_or(Ordering::Equal)
        };
        order.sort_by(by_features);
        let sorted = documents.features.select_rows(&order);
        let by = |weights: &[f64]| {
            let scores = match &self.map {
                Map::Pairs(map) => map.scores(&sorted, 0..order.len(), weights, control)?,
                _ => centered((0..order.len()).map(|row| sorted.row_dot(row, weights)).collect()),
            };
            let mut places = vec![0.0; order.len()];
            order.iter().zip(scores).for_each(|(row, score)| places[row - documents.start] = score);
            Ok(places)
        };
        functions.map(by).collect()
    }

    /// Checks a space that was read from bytes.
    ///
    /// # Errors
    /// [`Error::Corrupt`] with the reason.
    pub fn validate(&self) -> Result<()> {
        if self.is_sound() { Ok(()) } else { Err(Error::Corrupt("the space".to_owned())) }
    }

    fn is_sound(&self) -> bool {
        let kernel_width = match &self.map {
            Map::Linear => self.width,
            Map::Documents(map) if map.is_sound() => map.basis().points().dim(),
            Map::Fitted(basis) => basis.points().dim(),
            Map::Pairs(map) if map.is_sound() => map.width(),
            Map::Sum(members) if members.iter().all(|member| member.is_sound(self.width)) => self.width,
            _ => return false,
        };
        let kind_fits =
            self.is_linear() || (self.kind == FunctionKind::Pairwise) == matches!(self.map, Map::Pairs(_));
        self.width > 0 && kernel_width == self.width && self.dim() > 0 && kind_fits
    }
}

impl Member {
    /// True where the parts fit together and take documents of so many features.
    fn is_sound(&self, width: usize) -> bool {
        let nested = matches!(self.space.map, Map::Sum(_));
        !nested
            && self.scaling.validate(width).is_ok()
            && self.scaling.width(width) == self.space.width()
            && self.space.is_sound()
    }
}

/// Scores of the documents of one query by a sum of functions.
fn sums(
    members: &[Member],
    documents: &Documents<'_>,
    weights: &[f64],
    control: &Control,
) -> Result<Vec<f64>> {
    let n = documents.len();
    let features = documents.features.select_rows(&documents.range().collect::<Vec<usize>>());
    let mut sums = vec![0.0; n];
    let mut rest = weights;
    for Member { scaling, space } in members {
        let (own, others) = rest.split_at(space.dim());
        rest = others;
        let scaled = scaling.matrix(features.clone(), &[0, n], control)?;
        let documents = Documents { features: &scaled, start: 0, end: n };
        let scores = space.scores(&documents, std::iter::once(own), control)?;
        sums.iter_mut().zip(scores.concat()).for_each(|(sum, score)| *sum += score);
    }
    Ok(sums)
}

/// Scores less their mean.
fn centered(mut scores: Vec<f64>) -> Vec<f64> {
    let mean = scores.iter().sum::<f64>() / scores.len().max(1) as f64;
    for score in &mut scores {
        *score -= mean;
    }
    scores
}
