//! The contribution of each feature to the difference between a document's score and a base score.
//!
//! The contributions and the base score add up to the score. They are the Shapley values of the features: the
//! value of a set of features is the score of a mixed document, which has these features from the document and the
//! others from the base. Features are replaced after scaling. The other documents of the query and its function stay as
//! they are. Parts of a score that are linear in scaled features are additive, so their contributions are exact: weight
//! times difference from the base. Contributions in trees are exact, too, because a tree depends on few features.
//!
//! Trees from other libraries are explained as by those libraries: the value of a set is the mean of a tree over the
//! training documents, given only the features in the set (`src/trees/general/treeshap.rs`). They need no base. For the
//! difference of two documents, the base is the second document's score.

use super::super::point::check_features;
use super::explanation::{Contribution, Explanation};
use super::shapley::{Parts, Sampling};
use crate::base::{Control, Error, Result, Ticks, matrix_bytes, parallel};
use crate::data::{Dataset, Id, InputColumn, Matrix};
use crate::learn::space::{Function, Scorer, Summand};
use crate::model::{Factored, GeneralTrees, Model, Ranker};
use std::ops::Range;
use std::sync::Arc;

/// Each feature's mean over a query's documents that have it; NaN if no document has it.
fn feature_means(query: &Matrix) -> Vec<f64> {
    let mut ticks = Ticks::default();
    let mut mean = |column: usize| {
        ticks.add(6 * query.rows());
        let values = || (0..query.rows()).map(|row| query.at(row, column)).filter(|value| !value.is_nan());
        let n = values().count();
        if n == 0 {
            return f64::NAN;
        }
        // Rounding must not move the mean out of the range, because scaling within queries depends on the range.
        let (low, high) =
            values().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
        values().map(|x| x / n as f64).sum::<f64>().max(low).min(high)
    };
    (0..query.columns()).map(&mut mean).collect()
}

/// A document within its query.
#[derive(Clone, Copy)]
pub struct DocumentOf<'a> {
    /// Features of the query's documents before scaling, shape (documents, features).
    pub query: &'a Matrix,
    /// The row of the document.
    pub row: usize,
}

/// What to explain, a document or a difference, as rows of a data set.
#[derive(Clone, Copy)]
pub struct ExplainedRows {
    /// The row of the document.
    pub row: usize,
    /// The row of another document, used as the base.
    pub base: Option<usize>,
}

/// Explains a score under a query's function. `base`: a value per feature. If the model scores single documents,
/// `document.query` has one row.
///
/// # Errors
/// A number of features that differs from training; features or contributions that are not finite; an interrupt; too much
/// memory.
pub fn explain(
    model: &Model,
    function: &Function,
    document: DocumentOf<'_>,
    base: &[f64],
    sampling: Sampling,
    control: &Control,
) -> Result<Explanation> {
    let DocumentOf { query, row } = document;
    model.check_width(query.columns())?;
    check_features("argument 'features'", &query.row_f64(row), model)?;
    if let Some(trees) = model.ranker.as_general_trees() {
        let contributions = explain_trees(model, trees, &query.row_f64(row), None)?;
        check_contributions(model, document, &contributions.contributions)?;
        return Ok(contributions);
    }
    // 1. The documents and the base, scaled together.
    let (rows, n) = (query.rows() + 1, query.columns());
    let query_trees = model.ranker.as_query_trees().map(|trees| trees.for_query(&function.weights));
    let (scorer, weights) = match &query_trees {
        Some(trees) => (trees.scorer(), &trees.function.weights),
        None => (model.scorer()?, &function.weights),
    };
    let copies = 2 + 2 * scorer.summands(weights).len();
    let what = format_args!("explaining a score among {} documents", query.rows());
    let scaled = matrix_bytes(rows, 2 * n).saturating_mul(copies as u64);
    // A pair kernel has a column for each document, and each thread has a copy.
    let columns = if scorer.is_linear() || scorer.pointwise() { 0 } else { 2 * scorer.dim() };
    let threads = 1 + parallel::threads() as u64;
    let pairs = matrix_bytes(rows, columns).saturating_mul(threads);
    // For a kernel: factors of each feature, and terms on each thread.
    let kernels = scorer.summands(weights).into_iter().filter(|summand| summand.space.kernel().is_some());
    let factors = |summand: Summand<'_>| matrix_bytes(n + 2 + parallel::threads(), summand.space.dim());
    let bytes = kernels.map(factors).fold(pairs.saturating_add(scaled), u64::saturating_add);
    let _memory = control.reserve(bytes, what, "give fewer documents")?;
    let values = [query.rows_f64(0..query.rows()), base.to_vec()].concat();
    let parts = Parts::new(model, scorer, weights, &query.like(rows, n, values), row, control)?;
    // 2. Linear parts and trees are exact. The contribution of a category is the sum over its features.
    let added = parts.exact();
    let columns: Vec<Range<usize>> =
        model.card.categories.inputs(n).iter().map(InputColumn::features).collect();
    let exact = |features: &Range<usize>| added[features.clone()].iter().sum();
    let mut contributions: Vec<Contribution> =
        columns.iter().map(|features| Contribution { value: exact(features), standard_error: 0.0 }).collect();
    // 3. Other parts, where all features of a category are one player.
    let differing = parts.differing(&columns);
    let players: Vec<Range<usize>> = differing.iter().map(|column| columns[*column].clone()).collect();
    if let Some(game) = parts.game(&players) {
        for (column, found) in differing.iter().zip(super::shapley::values(&game, sampling, control)?) {
            contributions[*column].value += found.value;
            contributions[*column].standard_error = found.standard_error;
        }
    }
    check_contributions(model, document, &contributions)?;
    let base = parts.base(control)?;
    if !base.is_finite() {
        return Err(Error::Data("the score of the base is beyond the range of numbers".to_owned()));
    }
    Ok(Explanation { base, contributions })
}

fn check_contributions(model: &Model, document: DocumentOf<'_>, found: &[Contribution]) -> Result<()> {
    let DocumentOf { query, row } = document;
    let Some(index) = found.iter().position(|found| !found.value.is_finite()) else { return Ok(()) };
    let columns = model.card.categories.inputs(query.columns());
    let with_value = match columns[index] {
        InputColumn::Number(feature) => format!(" with the value {:e}", query.at(row, feature)),
        InputColumn::Category(..) => String::new(),
    };
    let feature = &model.card.input_names()[index];
    Err(Error::Data(format!(
        "the contribution of feature \"{feature}\"{with_value} is beyond the range of numbers"
    )))
}

/// Explains the score of another library's trees, or its difference from another document's score.
fn explain_trees(
    model: &Model,
    trees: &GeneralTrees,
    document: &[f64],
    other: Option<&[f64]>,
) -> Result<Explanation> {
    let (mut added, mut base) = trees.contributions(document)?;
    if let Some(other) = other {
        let (of_other, base_of_other) = trees.contributions(other)?;
        base = of_other.iter().fold(base_of_other, |sum, value| sum + value);
        added.iter_mut().zip(of_other).for_each(|(added, other)| *added -= other);
    }
    let columns = model.card.categories.inputs(added.len());
    let contribution = |column: &InputColumn<'_>| Contribution {
        value: added[column.features().start],
        standard_error: 0.0,
    };
    Ok(Explanation { base, contributions: columns.iter().map(contribution).collect() })
}

/// Explains the score of a document within its query. The base is another document, or the query's means.
///
/// `data`: the documents of the query. `functions`: the query's function; empty for a model without features.
///
/// # Errors
/// As [`explain`].
pub fn explain_document(
    model: &Model,
    functions: &[Arc<Function>],
    data: &Dataset,
    ExplainedRows { row, base }: ExplainedRows,
    sampling: Sampling,
    control: &Control,
) -> Result<Explanation> {
    let query = &data.features;
    if let Ranker::Factored(factored) = &model.ranker {
        let items = base.map_or(&data.doc_ids[..], |base| &data.doc_ids[base..=base]);
        return Ok(explain_factors(factored, &data.query_ids[0], &data.doc_ids[row], items));
    }
    if let (Some(trees), Some(other)) = (model.ranker.as_general_trees(), base) {
        return explain_trees(model, trees, &query.row_f64(row), Some(&query.row_f64(other)));
    }
    let function =
        functions.first().ok_or_else(|| Error::Internal("a query without a function".to_owned()))?;
    let base = base.map_or_else(|| feature_means(query), |base| query.row_f64(base));
    explain(model, function, DocumentOf { query, row }, &base, sampling, control)
}

/// Explains an item's score for a user by bias and factors. The base is the mean score of some items.
fn explain_factors(factored: &Factored, user: &Id, item: &Id, base: &[Id]) -> Explanation {
    let user = factored.user(factored.user_index(user));
    let nobody = factored.user(None);
    let parts = |id: &Id| {
        let item = factored.item_index(id);
        let bias = factored.score(&nobody, item);
        [bias, factored.score(&user, item) - bias]
    };
    let bases: Vec<[f64; 2]> = base.iter().map(parts).collect();
    let mean = |part: usize| bases.iter().map(|parts| parts[part]).sum::<f64>() / base.len().max(1) as f64;
    let (means, parts) = ([mean(0), mean(1)], parts(item));
    let contribution = |part: usize| Contribution { value: parts[part] - means[part], standard_error: 0.0 };
    Explanation { base: means.iter().sum(), contributions: vec![contribution(0), contribution(1)] }
}
