//! Least squares in the space of a kernel over very many documents, whose vectors in its map are never all in memory.
//!
//! The sums of least squares are made from slabs of documents in single precision (`solve::Slabs`). One system for each
//! lambda gives the functions. Small training sets are fitted in double precision.

use super::kept_sums::KeptSums;
use super::neighborhood::{Neighbor, Neighborhood};
use super::problem::{FitSpec, SolverParameter};
use super::{Penalty, TrainingBlocks};
use crate::base::{Control, Error, Result, matrix_bytes, parallel};
use crate::cost::loss::{Loss, QueryLoss, Shape};
use crate::data::Dataset;
use crate::learn::kernel::SingleMap;
use crate::learn::smoothing::SmoothingKind;
use crate::learn::solve::{
    self, Gram, Slabs, Solution, SolveReport, Stop, check_lambda, fits_single_precision,
};
use crate::learn::space::{Form, Function, Scorer};
use crate::math::SingleSums;

/// With fewer documents double precision takes little time.
const FEWEST_DOCUMENTS: usize = 5_000;
/// Approximate number of documents that are scored at a time.
const SCORED: usize = 1_536;
/// Functions that score documents together.
const FUNCTIONS: usize = crate::math::single::PANEL;

impl Neighborhood {
    /// The map for fitting and scoring a spec's functions without keeping its vectors; `None` if they are fitted in
    /// double precision.
    ///
    /// # Errors
    /// [`Error::Memory`].
    pub fn streams(&self, spec: &FitSpec, control: &Control) -> Result<Option<&SingleMap>> {
        if self.is_streamed(spec) { self.blocks.single_map(control) } else { Ok(None) }
    }

    /// Whether functions of a spec are fitted in single precision, if that has enough digits.
    fn is_streamed(&self, spec: &FitSpec) -> bool {
        let Loss::List(loss) = &spec.loss else { return false };
        let solver = [solve::NAMES[0], "least_squares"].contains(&spec.solver.name);
        let is_plain = loss.shape() == Shape::Quadratic
            && solver
            && spec.penalty == Penalty::Ridge
            && spec.center.is_none()
            && spec.signs.is_empty()
            && spec.loss == self.blocks.loss
            && self.smoothing.kind == SmoothingKind::Uniform;
        let documents: usize = self.blocks.sizes.iter().map(|size| *size as usize).sum();
        let is_large = documents >= FEWEST_DOCUMENTS.max(4 * self.blocks.space.dim());
        let is_scoring = self.blocks.space.form == Form::Scoring && self.blocks.rows().is_some();
        let is_centered = || {
            let query = self.blocks.sizes.iter().position(|size| *size > 0)?;
            let loss = query_loss(&self.blocks, query).ok()?;
            loss.quadratic().map(|quadratic| quadratic.centered)
        };
        let fits = || self.blocks.rows().is_some_and(|data| fits_single_precision(data));
        is_plain && is_large && is_scoring && is_centered() == Some(true) && fits()
    }

    /// The function of these neighbors.
    ///
    /// # Errors
    /// As [`Self::streamed_path`].
    pub(super) fn streamed_fit(
        &self,
        neighbors: &[Neighbor],
        spec: &FitSpec,
        map: &SingleMap,
        control: &Control,
    ) -> Result<(Function, SolveReport)> {
        let solution = self.streamed_path(neighbors, spec, map, &[spec.lambda], control)?.pop();
        let Some(Solution { w, report }) = solution else {
            return Err(Error::Internal("a solver without an answer".to_owned()));
        };
        if report.stop == Stop::Interrupted {
            return Err(Error::Interrupted);
        }
        let weights = self.blocks.space.function(w)?;
        Ok((Function { weights, objective: report.objective, gap: report.gap }, report))
    }

    /// The solutions for these neighbors and each lambda, largest first.
    ///
    /// # Errors
    /// [`Error::Memory`]; a lambda out of range.
    pub fn streamed_path(
        &self,
        neighbors: &[Neighbor],
        spec: &FitSpec,
        map: &SingleMap,
        lambdas: &[f64],
        control: &Control,
    ) -> Result<Vec<Solution>> {
        let space = &self.blocks.space;
        let lambdas = SolverParameter::numbers(&spec.for_solver(space, lambdas));
        lambdas.iter().try_for_each(|lambda| check_lambda(*lambda))?;
        let gram = self.streamed_gram(neighbors, map, control)?;
        let bytes = solve::least_squares_bytes(space.dim(), space.dim());
        let what = format_args!("the solver of a function of {} weights", space.dim());
        let _memory = control.reserve(bytes, what, "use fewer landmarks")?;
        Ok(solve::least_squares_of_sums(&gram, &lambdas, &spec.options().rule(), control))
    }

    fn streamed_gram(&self, neighbors: &[Neighbor], map: &SingleMap, control: &Control) -> Result<Gram> {
        let data = self.blocks.rows().ok_or_else(|| Error::Internal("no rows to stream".to_owned()))?;
        let (terms, n) = self.query_terms(neighbors);
        // 1. The sums from the choice of lambda, if they are a subset of these.
        let kept = self.blocks.kept_sums().take().filter(|kept| kept.is_part_of(&terms));
        let bytes = SingleSums::bytes(map.dim() + 1);
        let what = format_args!("sums of least squares in a space of {} landmarks", map.dim());
        let memory = control.reserve(bytes, what, "use fewer landmarks")?;
        let is_new = |(query, _): &&(usize, f64)| kept.as_ref().is_none_or(|kept| !kept.has(*query));
        let rest: Vec<(usize, f64)> = terms.iter().filter(is_new).copied().collect();
        let mut sums = match kept {
            Some(kept) => kept.sums.scaled(kept.n / n),
            None => SingleSums::zero(map.dim() + 1),
        };
        // 2. The other queries.
        let queries: Vec<_> = rest.iter().map(|(query, term)| (data.rows(*query), term / n)).collect();
        let loss = |number: usize| query_loss(&self.blocks, rest[number].0);
        Slabs { map, features: &data.features, queries: &queries, loss: &loss }.add_to(&mut sums, control)?;
        let gram = Gram::of_single(&sums);
        *self.blocks.kept_sums() = Some(KeptSums { terms, n, sums, _memory: memory });
        Ok(gram)
    }
}

/// The loss on a training query.
fn query_loss(blocks: &TrainingBlocks, query: usize) -> Result<Box<dyn QueryLoss>> {
    let (Some(data), Loss::List(loss)) = (blocks.rows(), &blocks.loss) else {
        return Err(Error::Internal("no rows to stream".to_owned()));
    };
    let (labels, weights) = (data.labels(query), data.doc_weights(query));
    let weighted = if weights.is_empty() {
        loss.check_query(labels, data.row_groups(query))?;
        Some(loss.prepare(labels, data.row_groups(query)))
    } else {
        loss.prepare_weighted(labels, weights)
    };
    weighted
        .ok_or_else(|| Error::Unsupported(format!("the loss '{}' does not weigh documents", loss.def().name)))
}

/// Scores of the documents of some queries of a data set by functions of [`Neighborhood::streamed_path`], up to a constant for
/// each function: for each query a vector for each function.
///
/// # Errors
/// An interrupt; too little memory.
pub fn streamed_scores(
    map: &SingleMap,
    functions: &[Vec<f64>],
    data: &Dataset,
    queries: &[usize],
    control: &Control,
) -> Result<Vec<Vec<Vec<f64>>>> {
    let total: usize = queries.iter().map(|query| data.rows(*query).len()).sum();
    let bytes = matrix_bytes(total.saturating_mul(2), functions.len());
    let what = format_args!("scores of {total} documents by {} functions", functions.len());
    let _memory = control.reserve(bytes, what, "give fewer values of lambda, or hold out fewer queries")?;
    let panels: Vec<_> = functions.chunks(FUNCTIONS).map(|functions| map.functions(functions)).collect();
    // 1. Queries that are scored together.
    let (mut groups, mut documents) = (vec![Vec::new()], 0);
    for &query in queries {
        if documents >= SCORED {
            groups.push(Vec::new());
            documents = 0;
        }
        documents += data.rows(query).len();
        groups.last_mut().into_iter().for_each(|group| group.push(query));
    }
    // 2. Scores, function by function.
    let scores = |number: usize| -> Result<Vec<Vec<f64>>> {
        let rows: Vec<usize> = groups[number].iter().flat_map(|query| data.rows(*query)).collect();
        let parts = panels.iter().map(|panel| map.scores(&data.features, &rows, panel, control));
        Ok(parts.collect::<Result<Vec<_>>>()?.concat())
    };
    let scores = parallel::try_map(groups.len(), scores)?;
    // 3. The scores of each query.
    let mut query_scores = Vec::with_capacity(queries.len());
    for (group, scores) in groups.iter().zip(&scores) {
        let mut start = 0;
        for query in group {
            let range = start..start + data.rows(*query).len();
            start = range.end;
            query_scores.push(scores.iter().map(|scores| scores[range.clone()].to_vec()).collect());
        }
    }
    Ok(query_scores)
}
