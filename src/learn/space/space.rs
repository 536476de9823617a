//! Spaces in which a ranking function is linear. A space turns a function's weights into scores.
//!
//! | form | score of document j among k |
//! |---|---|
//! | scoring | s(x_j), equation (3.7) of Dai & Wang (2019) |
//! | ranking | (1 / k) sum_l f(x_j, x_l), the least-squares scores (3.6) of a ranking function f of pairs, (3.1) |
//!
//! A linear f of pairs is a difference of linear scores and has twice their squared norm. So it is fitted like a scoring
//! function with 2 lambda, and its scores are centered. Other kernels become linear by a map of documents or of pairs
//! (`kernel`). A function's weights are then coefficients of the map's pivots.

use super::function::{Form, WeightsOf, centered, linear_score};
use std::cmp::Ordering;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::base::{Control, Error, FEWER_LANDMARKS, Reservation, Result, matrix_bytes, require};
use crate::cost::loss::PairWeights;
use crate::data::{Dataset, Documents, Matrix, Scaling, Shuffle, VALUE_COST, shaped};
use crate::learn::kernel::{self, Basis, FeatureMap, Kernel, MapOptions, PairMap, PairQuery, SingleMap};
use crate::learn::solve::{PairBlock, PairWeighting};
use crate::math::{TILE, dot, sort_indices};
use crate::trees::Forest;

/// Scores a query's documents from a function's weights.
pub trait Scorer: Sync {
    /// Number of features of a document.
    fn width(&self) -> usize;

    /// Number of weights per function.
    fn dim(&self) -> usize;

    /// Whether one document can be scored without the other documents of its query.
    fn pointwise(&self) -> bool;

    /// Whether two documents can be compared without the other documents of their query.
    fn pairwise(&self) -> bool {
        true
    }

    /// Operations of about a nanosecond that the score of a document takes.
    fn operations(&self) -> usize;

    /// Whether a score is a weighted sum of the features.
    fn is_linear(&self) -> bool {
        false
    }

    /// The kernel; `None` for linear functions and sums.
    fn kernel(&self) -> Option<&Kernel> {
        None
    }

    /// The trees whose leaves the weights belong to; `None` for other functions.
    fn trees(&self) -> Option<&Forest> {
        None
    }

    /// Checks a space that was read from bytes.
    ///
    /// # Errors
    /// [`crate::base::Error::Corrupt`] with the reason.
    fn validate(&self) -> Result<()>;

    /// Scores of the documents of one query; higher is better.
    ///
    /// # Errors
    /// A kernel that is not finite on the documents; an interrupt.
    fn scores(&self, documents: &Documents<'_>, weights: &[f64], control: &Control) -> Result<Vec<f64>>;

    /// [`Self::scores`] with features of some other documents of the query: of each shuffle, the scores of its orders one
    /// after the other. A kernel can differ from [`Self::scores`] by rounding; equal documents have equal scores.
    ///
    /// # Errors
    /// As [`Self::scores`].
    fn shuffled(
        &self,
        documents: &Documents<'_>,
        weights: &[f64],
        shuffles: &[Shuffle],
        control: &Control,
    ) -> Result<Vec<Vec<f64>>> {
        documents.shuffled(shuffles, &|documents| self.scores(documents, weights, control))
    }

    /// The functions of single spaces that a function is the sum of.
    fn summands<'a>(&'a self, _weights: &'a [f64]) -> Vec<Summand<'a>> {
        Vec::new()
    }
}

/// A function of one space, as a summand of a score.
#[derive(Debug, Clone, Copy)]
pub struct Summand<'a> {
    /// How it scales documents, in addition to the scaling of the model.
    pub scaling: Option<&'a Scaling>,
    /// The space of the function.
    pub space: &'a Space,
    /// The weights of the function.
    pub weights: &'a [f64],
}

/// A space of functions of scaled documents.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Space {
    pub(super) width: usize,
    /// The form of its functions.
    pub form: Form,
    pub(super) map: Map,
}

/// The documents that a query's document is compared with.
pub enum Opponents {
    /// Nothing: documents are scored one by one.
    None,
    /// The mean of linear scores.
    Mean(f64),
    /// The documents of the query.
    Pairs(PairQuery),
}

/// The map that makes functions linear.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum Map {
    /// The documents themselves.
    Linear,
    /// A kernel of documents.
    Documents(FeatureMap),
    /// Sums of the kernel at documents. Functions of [`Map::Documents`] have this form after the fit. It is also fitted
    /// directly if the coefficients themselves are bounded.
    Fitted(Basis),
    /// A kernel of pairs of documents.
    Pairs(PairMap),
    /// The leaves of trees: of each tree, 1 for the leaf of a document and 0 for the others. Functions are not fitted in it.
    Leaves(Forest),
}

impl Space {
    /// Linear functions of `width` scaled features.
    pub fn linear(width: usize, form: Form) -> Self {
        Self { width, form, map: Map::Linear }
    }

    /// The space of a kernel, for these documents with scaled features.
    ///
    /// # Errors
    /// A kernel that is 0 or not finite on the documents; an interrupt.
    pub fn fit(
        kernel: &kernel::KernelSpec,
        form: Form,
        data: &Dataset,
        options: &MapOptions,
        control: &Control,
    ) -> Result<Self> {
        let features = &data.features;
        let width = features.columns();
        if kernel.is_linear() {
            return Ok(Self::linear(width, form));
        }
        let kernel = kernel.fit(features, options.seed, control)?;
        let map = match form {
            Form::Scoring => Map::Documents(FeatureMap::fit(&kernel, features, options, control)?),
            Form::Ranking => {
                let (offsets, labels) = (&data.offsets, &data.relevance);
                Map::Pairs(PairMap::fit(&kernel, features, offsets, labels, options, control)?)
            }
        };
        let space = Self { width, form, map };
        if space.dim() == 0 {
            let name = kernel.def.name;
            let what =
                if form == Form::Scoring { "training document" } else { "pair of different relevance" };
            return Err(Error::Data(format!("the kernel {name} is 0 on every {what}")));
        }
        Ok(space)
    }

    /// The space of a document kernel, spanned by some of these documents.
    ///
    /// # Errors
    /// As [`Self::fit`].
    pub fn spanned_by(
        kernel: &Kernel,
        documents: &Matrix,
        options: &MapOptions,
        control: &Control,
    ) -> Result<Self> {
        let map = FeatureMap::fit(kernel, documents, options, control)?;
        if map.dim() == 0 {
            return Err(Error::Data(format!("the kernel {} is 0 on every document", kernel.def.name)));
        }
        Ok(Self { width: documents.columns(), form: Form::Scoring, map: Map::Documents(map) })
    }

    /// The functions sum_l theta_l K(x, x_l) with weights theta; x_l are these documents, or `landmarks` of them. Linear
    /// functions of the scaled features for the linear kernel.
    ///
    /// # Errors
    /// As [`Self::fit`].
    pub fn expansion(
        kernel: &kernel::KernelSpec,
        features: &Matrix,
        options: &MapOptions,
        control: &Control,
    ) -> Result<Self> {
        let (width, form) = (features.columns(), Form::Scoring);
        if kernel.is_linear() {
            return Ok(Self::linear(width, form));
        }
        let kernel = kernel.fit(features, options.seed, control)?;
        let map = Map::Fitted(Basis::of_documents(&kernel, features, options)?);
        Ok(Self { width, form, map })
    }

    /// The functions sum_l beta_l K(x, x_l) over a basis's documents.
    pub fn of_basis(basis: Basis) -> Self {
        Self { width: basis.points.dim, form: Form::Scoring, map: Map::Fitted(basis) }
    }

    /// Sums of leaf values, for documents with `width` features.
    pub fn of_trees(width: usize, forest: Forest) -> Self {
        Self { width, form: Form::Scoring, map: Map::Leaves(forest) }
    }

    /// The things that a function's weights belong to.
    pub fn weights_of(&self) -> WeightsOf<'_> {
        match &self.map {
            Map::Linear => WeightsOf::Features,
            Map::Documents(map) => WeightsOf::Documents(&map.basis),
            Map::Fitted(basis) => WeightsOf::Documents(basis),
            Map::Pairs(_) => WeightsOf::Pairs,
            Map::Leaves(forest) => WeightsOf::Leaves(forest),
        }
    }

    /// Reserves the bytes that it takes.
    ///
    /// # Errors
    /// [`Error::Memory`].
    pub fn reserve(&self, control: &Control) -> Result<Reservation> {
        let what = format_args!("a kernel space of {} landmarks", self.dim());
        let documents = |basis: &Basis| matrix_bytes(basis.points.len() + TILE, basis.points.dim);
        let bytes = match &self.map {
            Map::Linear | Map::Leaves(_) => 0,
            Map::Documents(map) => documents(&map.basis) + matrix_bytes(map.dim(), map.dim()),
            Map::Fitted(basis) => documents(basis),
            Map::Pairs(map) => documents(&map.basis) + matrix_bytes(map.dim(), map.dim()),
        };
        control.reserve(bytes, what, FEWER_LANDMARKS)
    }

    /// Whether functions of pairs of documents can be fitted in it.
    pub fn takes_pairs(&self) -> bool {
        !matches!(self.map, Map::Fitted(_) | Map::Leaves(_))
    }

    /// The map of a document kernel in single precision, if that has enough digits.
    pub fn single_map(&self) -> Option<SingleMap> {
        match &self.map {
            Map::Documents(map) => SingleMap::of(map),
            _ => None,
        }
    }

    /// Bytes of [`Self::single_map`], to be reserved before it is made.
    pub fn single_map_bytes(&self) -> u64 {
        match &self.map {
            Map::Documents(map) => SingleMap::bytes_of(map),
            _ => 0,
        }
    }

    /// A message for the caller, if the kernel needs one.
    pub fn warning(&self) -> Option<String> {
        match &self.map {
            Map::Linear | Map::Fitted(_) | Map::Leaves(_) => None,
            Map::Documents(map) => map.warning(),
            Map::Pairs(map) => map.warning(),
        }
    }

    /// The space without what only fits need.
    #[must_use]
    pub fn fitted(&self) -> Self {
        let map = match &self.map {
            Map::Documents(map) => Map::Fitted(map.basis.clone()),
            other => other.clone(),
        };
        Self { map, ..*self }
    }

    /// The space of all features but the last ones, which are fixed at these values, and a function's weights there, up to
    /// a constant. For linear functions, and sums of kernels that are products over features.
    pub fn at(&self, weights: &[f64], last: &[f64]) -> (Self, Vec<f64>) {
        let width = self.width - last.len();
        match &self.map {
            Map::Fitted(basis) => {
                let (basis, factors) = basis.at(last);
                (Self::of_basis(basis), weights.iter().zip(factors).map(|(w, factor)| w * factor).collect())
            }
            _ => (Self::linear(width, self.form), weights[..width.min(weights.len())].to_vec()),
        }
    }

    /// Whether [`Self::at`] fixes features of its functions.
    pub fn can_fix(&self) -> bool {
        match &self.map {
            Map::Linear => true,
            Map::Fitted(basis) => basis.kernel.def.factorizes,
            _ => false,
        }
    }

    /// Whether the kernels of fitted functions can be computed together with another space's kernels: the same documents and the
    /// same kernel, but for parameters.
    pub(super) fn has_basis_of(&self, other: &Self) -> bool {
        let (Map::Fitted(basis), Map::Fitted(other)) = (&self.map, &other.map) else { return false };
        basis.kernel.def.name == other.kernel.def.name && basis.points == other.points
    }

    /// A solver's penalty is this factor times the function's penalty.
    pub fn penalty_factor(&self) -> f64 {
        match self.form {
            Form::Scoring => 1.0,
            Form::Ranking => 2.0,
        }
    }

    /// Scaled documents of one query, prepared for solvers of pairwise losses.
    ///
    /// # Errors
    /// Labels and documents of different number; weights out of range; an interrupt.
    pub fn pair_block(
        &self,
        documents: &Matrix,
        rows: Range<usize>,
        labels: &[f64],
        weighting: PairWeighting<'_>,
        control: &Control,
    ) -> Result<PairBlock> {
        let block = match &self.map {
            Map::Linear => match documents {
                Matrix::F32(_) => PairBlock::new(&documents.rows_f32(rows), labels, self.width),
                Matrix::F64(_) => PairBlock::new(&documents.rows_f64(rows), labels, self.width),
            },
            Map::Documents(map) => {
                PairBlock::new(&map.features(documents, rows, control)?, labels, map.dim())
            }
            Map::Pairs(map) => {
                let psi = map.features(documents, rows, labels, control)?;
                let (rows, as_labels) = kernel::as_documents(psi, map.dim());
                // Each pair is a document, so it has the weight of a document.
                let documents = weighting.of_pairs(labels, &kernel::ordered_pairs(labels))?;
                let weighting = PairWeighting { by: PairWeights::Equal, documents: &documents };
                return PairBlock::new(&rows, &as_labels, map.dim())?.weighted(weighting);
            }
            Map::Fitted(_) | Map::Leaves(_) => {
                Err(Error::Internal("pairs of documents in a space of fitted functions".to_owned()))
            }
        };
        block?.weighted(weighting)
    }

    /// Scaled documents of one query, prepared for solvers of listwise losses: a matrix (rows, dim).
    ///
    /// # Errors
    /// A space of pairs; an interrupt.
    pub fn rows(&self, documents: &Matrix, rows: Range<usize>, control: &Control) -> Result<Matrix> {
        match &self.map {
            Map::Linear => Ok(documents.select_rows(&rows.collect::<Vec<usize>>())),
            Map::Documents(map) => {
                let phi = map.features(documents, rows.clone(), control)?;
                Ok(Matrix::F64(shaped(rows.len(), map.dim(), phi)))
            }
            Map::Fitted(basis) => {
                let columns = basis.columns(documents, rows.clone(), control)?;
                Ok(Matrix::F64(shaped(rows.len(), basis.points.len(), columns)))
            }
            Map::Pairs(_) => Err(Error::Internal("single documents in a space of pairs".to_owned())),
            Map::Leaves(_) => Err(Error::Internal("documents in a space of fitted trees".to_owned())),
        }
    }

    /// The function's weights from a solver's result.
    ///
    /// # Errors
    /// A wrong number of weights.
    pub fn function(&self, w: Vec<f64>) -> Result<Vec<f64>> {
        match &self.map {
            Map::Linear | Map::Fitted(_) | Map::Leaves(_) => Ok(w),
            Map::Documents(map) => map.coefficients(&w),
            Map::Pairs(map) => map.coefficients(&w),
        }
    }

    /// Scores of the documents of one query by several functions.
    ///
    /// # Errors
    /// As [`Scorer::scores`].
    pub fn scores_by<'a>(
        &self,
        documents: &Documents<'_>,
        functions: impl Iterator<Item = &'a [f64]>,
        control: &Control,
    ) -> Result<Vec<Vec<f64>>> {
        if self.form == Form::Ranking {
            return self.ranking_scores(documents, functions, control);
        }
        let (features, rows) = (documents.features, documents.range());
        match &self.map {
            // All functions use the same kernel values.
            Map::Documents(map) => {
                let columns = map.columns(features, rows, control)?;
                let score =
                    |beta: &[f64]| columns.chunks_exact(map.dim()).map(|row| dot(row, beta)).collect();
                Ok(functions.map(score).collect())
            }
            Map::Fitted(basis) => {
                functions.map(|beta| basis.scores(features, rows.clone(), beta, control)).collect()
            }
            Map::Leaves(forest) => {
                functions.map(|values| forest.scores(features, rows.clone(), values, control)).collect()
            }
            Map::Linear | Map::Pairs(_) => {
                let score = |w: &[f64]| rows.clone().map(|row| linear_score(features, row, w)).collect();
                Ok(functions.map(score).collect())
            }
        }
    }

    /// Prepares [`Self::scores_in`] for a query.
    ///
    /// # Errors
    /// As [`Scorer::scores`].
    pub fn query(&self, query: &Documents<'_>, weights: &[f64], control: &Control) -> Result<Opponents> {
        Ok(match (&self.map, self.form) {
            (Map::Pairs(map), _) => Opponents::Pairs(map.query(query, weights, control)?),
            (_, Form::Scoring) => Opponents::None,
            (_, Form::Ranking) => {
                let scores = query.range().map(|row| query.features.row_dot(row, weights));
                Opponents::Mean(scores.sum::<f64>() / query.len().max(1) as f64)
            }
        })
    }

    /// Counterfactual scores: each document replaces one document of the query. The other documents of the query stay
    /// as they are: with the form `ranking`, the score is the mean preference over the documents of the query.
    ///
    /// # Errors
    /// As [`Scorer::scores`].
    pub fn scores_in(
        &self,
        query: &Opponents,
        replacements: &Matrix,
        weights: &[f64],
        control: &Control,
    ) -> Result<Vec<f64>> {
        let all = Documents { features: replacements, start: 0, end: replacements.rows() };
        match (query, &self.map) {
            (Opponents::Pairs(query), Map::Pairs(map)) => {
                map.scores_in(query, replacements, weights, control)
            }
            (Opponents::Mean(mean), _) => {
                Ok(all.range().map(|row| replacements.row_dot(row, weights) - mean).collect())
            }
            _ => self.scores(&all, weights, control),
        }
    }

    /// Scores (3.6). They are sums over the documents of the query. The sums run in the order of the features, so the order
    /// of the documents does not change a bit.
    fn ranking_scores<'a>(
        &self,
        documents: &Documents<'_>,
        functions: impl Iterator<Item = &'a [f64]>,
        control: &Control,
    ) -> Result<Vec<Vec<f64>>> {
        let mut order: Vec<usize> = documents.range().collect();
        let by_features = |a: usize, b: usize| {
            let values = |row: usize| (0..self.width).map(move |column| documents.features.at(row, column));
            values(a).partial_cmp(values(b)).unwrap_or(Ordering::Equal)
        };
        sort_indices(&mut order, &by_features);
        let sorted = documents.features.select_rows(&order);
        let score = |weights: &[f64]| {
            let sorted_scores = match &self.map {
                Map::Pairs(map) => map.scores(&sorted, weights, control)?,
                _ => centered((0..order.len()).map(|row| sorted.row_dot(row, weights)).collect()),
            };
            let mut scores = vec![0.0; order.len()];
            order.iter().zip(sorted_scores).for_each(|(row, score)| scores[row - documents.start] = score);
            Ok(scores)
        };
        functions.map(score).collect()
    }
}

/// Features whose distances to a landmark take an operation, with AVX-512.
const FEATURES_AT_ONCE: usize = 16;
/// Operations for a kernel value besides the distance.
pub(super) const KERNEL_COST: usize = 3;

impl Scorer for Space {
    fn width(&self) -> usize {
        self.width
    }

    fn dim(&self) -> usize {
        match &self.map {
            Map::Linear => self.width,
            Map::Documents(map) => map.dim(),
            Map::Fitted(basis) => basis.points.len(),
            Map::Pairs(map) => map.dim(),
            Map::Leaves(forest) => forest.leaves(),
        }
    }

    fn pointwise(&self) -> bool {
        self.form == Form::Scoring
    }

    fn operations(&self) -> usize {
        let values = VALUE_COST * self.width;
        match &self.map {
            Map::Linear => values + self.width,
            Map::Documents(_) | Map::Fitted(_) => {
                values + self.dim().saturating_mul(self.width / FEATURES_AT_ONCE + KERNEL_COST)
            }
            Map::Pairs(_) => usize::MAX,
            Map::Leaves(forest) => forest.operations(),
        }
    }

    fn is_linear(&self) -> bool {
        matches!(self.map, Map::Linear)
    }

    fn kernel(&self) -> Option<&Kernel> {
        match &self.map {
            Map::Linear | Map::Leaves(_) => None,
            Map::Documents(map) => Some(&map.basis.kernel),
            Map::Fitted(basis) => Some(&basis.kernel),
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
            Map::Documents(map) => (map.is_valid(), map.basis.points.dim),
            Map::Fitted(basis) => (true, basis.points.dim),
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

    fn shuffled(
        &self,
        documents: &Documents<'_>,
        weights: &[f64],
        shuffles: &[Shuffle],
        control: &Control,
    ) -> Result<Vec<Vec<f64>>> {
        match &self.map {
            Map::Fitted(basis) if basis.kernel.def.factorizes => {
                let (x, n) = (documents.features.rows_f64(documents.range()), documents.len());
                basis.shuffled(&x, n, shuffles, &[(&basis.kernel, weights)], control)
            }
            _ => documents.shuffled(shuffles, &|documents| self.scores(documents, weights, control)),
        }
    }

    fn summands<'a>(&'a self, weights: &'a [f64]) -> Vec<Summand<'a>> {
        vec![Summand { scaling: None, space: self, weights }]
    }
}
