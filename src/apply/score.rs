//! Scores all documents of each query. Functions for new queries are fitted in batches. Before each batch, the caller loads
//! the blocks of the model that the fits need.

use std::sync::Arc;

use super::function::FitCache;
use crate::base::{
    Control, Error, Reservation, Result, Ticks, bytes_of, each_in_memory, matrix_bytes, parallel,
};
use crate::data::{Dataset, Documents, InputColumn, Missing, Scaling, UnknownValues};
use crate::learn::fit::BATCH;
use crate::learn::space::Function;
use crate::model::{Factored, GeneralTrees, Key, Model, QueryAware, QueryDependent, Ranker};
use crate::trees::Forest;

/// What scoring uses memory for, and advice if that is too much.
const SCORING: &str = "scoring the documents";
const FEWER_ROWS: &str = "score fewer queries in one call";

/// Operations per document besides products of factors: finding its id.
const FACTORED_COST: usize = 200;

/// Documents whose weighted sums one thread computes together.
const DOCUMENTS: usize = 512;

/// Why a score may be infinite.
pub(super) const TOO_LARGE: &str = "its features are too large for this model";

/// Scores of a data set.
pub struct Scored {
    /// One per document, in the order of the data set; higher is better.
    pub scores: Vec<f64>,
    /// Messages for the caller.
    pub warnings: Vec<String>,
    /// Values that the model does not know. If there are many, a warning mentions them.
    pub unknown: Vec<UnknownValues>,
    /// Each query's function; empty for a model without features.
    pub functions: Vec<Arc<Function>>,
    /// Memory for the functions.
    _memory: Reservation,
}

/// The state of a scoring job.
pub enum Step<'a> {
    /// Finished.
    Done(Scored),
    /// [`ScoringJob::advance`] must fit the functions of these queries next.
    NeedsFits(Box<ScoringJob<'a>>, Vec<usize>),
}

/// A data set that is being scored.
pub struct ScoringJob<'a> {
    model: &'a Model,
    key: Key,
    data: &'a Dataset,
    cache: &'a FitCache,
    /// Encoded query features (`n_queries`); empty for a model without query features.
    features: Vec<Vec<f64>>,
    /// Known functions (`n_queries`).
    functions: Vec<Option<Arc<Function>>>,
    warnings: Vec<String>,
    unknown: Vec<UnknownValues>,
    /// Memory for the query features and functions.
    memory: Reservation,
    /// Memory for the training queries that fits use, reserved before the first fit.
    prepared: Option<[Reservation; 2]>,
}

impl<'a> ScoringJob<'a> {
    /// Starts to score a data set. Finishes immediately if no function must be fitted.
    ///
    /// # Errors
    /// A number of features that differs from training; missing query features; errors of [`Self::advance`].
    pub fn start(
        model: &'a Model,
        key: Key,
        data: &'a Dataset,
        cache: &'a FitCache,
        control: &Control,
    ) -> Result<Step<'a>> {
        if let Ranker::Factored(factored) = &model.ranker {
            return score_by_id(factored, data).map(Step::Done);
        }
        let what = "fitting functions of the queries";
        let memory = control.reserve(functions_bytes(model, data), what, FEWER_ROWS)?;
        Self::new(model, key, data, cache, memory, control)?.advance(&[], control)
    }

    fn new(
        model: &'a Model,
        key: Key,
        data: &'a Dataset,
        cache: &'a FitCache,
        memory: Reservation,
        control: &Control,
    ) -> Result<Self> {
        model.check_width(data.features.columns())?;
        let n = data.n_queries();
        let mut unknown = unknown_values(model, data)?;
        unknown.extend(new_missing_values(model, data));
        let warnings = data.repeated_rows().into_iter().collect();
        let (features, functions) = (vec![Vec::new(); n], vec![model.ranker.global_function().cloned(); n]);
        let mut job =
            Self { model, key, data, cache, features, functions, warnings, unknown, memory, prepared: None };
        if let Some(ranker) = model.ranker.as_query_dependent() {
            job.find_functions(ranker)?;
        } else if let Some(ranker) = model.ranker.as_query_aware() {
            let features = ranker.query_rule().features(data)?;
            let function = |row: ndarray::ArrayView1<'_, f64>| ranker.function(&row.to_vec(), control);
            let functions = features.rows().into_iter().map(|row| Ok(Some(Arc::new(function(row)?))));
            job.functions = functions.collect::<Result<_>>()?;
        }
        Ok(job)
    }

    /// Looks up functions that are stored, cached or 0.
    fn find_functions(&mut self, ranker: &QueryDependent) -> Result<()> {
        let Self { data, key, cache, .. } = *self;
        let rule = ranker.query_rule();
        let varying = rule.varying(data);
        if !varying.is_empty() {
            let list = varying.join(", ");
            let warning = format!("query features that vary within a query (their mean is used): {list}");
            self.warnings.push(warning);
        }
        self.features = rule.features(data)?.rows().into_iter().map(|row| row.to_vec()).collect();
        let queries = data.query_ids.iter().zip(&self.features);
        self.functions = queries.map(|(id, features)| ranker.stored(id, features)).collect();
        let new = self.functions.iter().filter(|function| function.is_none()).count();
        // Functions of new queries: cached by an earlier call, or 0 if none can be fitted.
        let zero = (!ranker.fits_new_queries()).then(|| Arc::new(Function::zero(ranker.scorer().dim())));
        for ((function, features), id) in self.functions.iter_mut().zip(&self.features).zip(&data.query_ids) {
            if function.is_none() {
                *function = zero.clone().or_else(|| cache.get(key, features, ranker.target(id, features)));
            }
        }
        if zero.is_some() && new > 0 {
            let name = &self.model.card.algorithm;
            self.warnings.push(format!(
                "{new} queries are new; '{name}' has no function for them, so their documents score 0"
            ));
        }
        Ok(())
    }

    /// Operations of about a nanosecond for scoring the documents, without fits.
    pub fn operations(model: &Model, data: &Dataset) -> usize {
        Self::operations_of_document(model).saturating_mul(data.n_docs())
    }

    /// Operations of about a nanosecond for scoring a document, without a fit.
    pub fn operations_of_document(model: &Model) -> usize {
        match (&model.ranker, model.scorer()) {
            (Ranker::Factored(factored), _) => factored.factors.rank + FACTORED_COST,
            (_, Ok(scorer)) => scorer.operations(),
            (_, Err(_)) => 0,
        }
    }

    /// Encoded features of these queries.
    pub fn targets(&self, queries: &[usize]) -> Vec<&[f64]> {
        queries.iter().map(|query| &self.features[*query][..]).collect()
    }

    /// Fits the functions of these queries in the current thread pool. If all functions are then known, scores the
    /// documents.
    ///
    /// # Errors
    /// Blocks that are not loaded; scores that are not finite; an interrupt; too much memory.
    pub fn advance(mut self, queries: &[usize], control: &Control) -> Result<Step<'a>> {
        let ranker = self.model.ranker.as_query_dependent();
        if let Some(ranker) = ranker {
            self.fit(ranker, queries, control)?;
        }
        if let Some(functions) = self.functions.iter().cloned().collect() {
            return self.finish(functions, control).map(Step::Done);
        }
        let unknown: Vec<usize> =
            (0..self.functions.len()).filter(|query| self.functions[*query].is_none()).collect();
        if let (Some(ranker), None) = (ranker, &self.prepared) {
            self.prepared = Some(ranker.reserve_cache(unknown.len(), control.memory())?);
        }
        let next = unknown.into_iter().take(BATCH).collect();
        Ok(Step::NeedsFits(Box::new(self), next))
    }

    fn fit(&mut self, ranker: &QueryDependent, queries: &[usize], control: &Control) -> Result<()> {
        control.expect(queries.len());
        let fit = |query: &usize| {
            let features = &self.features[*query];
            let target = ranker.target(&self.data.query_ids[*query], features);
            let function = Arc::new(ranker.fit(features, target, control)?);
            self.cache.put(self.key, features, target, &function);
            control.step();
            Ok(function)
        };
        let functions: Vec<Arc<Function>> = each_in_memory(queries, fit)?;
        for (query, function) in queries.iter().zip(functions) {
            self.functions[*query] = Some(function);
        }
        Ok(())
    }

    /// Scores every document by the function of its query.
    fn finish(self, functions: Vec<Arc<Function>>, control: &Control) -> Result<Scored> {
        let Self { model, data, mut warnings, unknown, memory, .. } = self;
        warnings.extend(without_neighbors(model, &functions));
        warnings.extend(unknown.iter().filter_map(UnknownValues::warning));
        if model.scaling.pointwise() && model.scorer()?.pointwise() && model.scorer()?.is_linear() {
            let scores = weighted_sums(model, data, &functions, control)?;
            return Scored { scores, warnings, unknown, functions, _memory: memory }.checked(data, TOO_LARGE);
        }
        let _scoring = control.reserve(scoring_bytes(model, data)?, SCORING, FEWER_ROWS)?;
        let scaled = match &model.scaling {
            Scaling::None => None,
            scaling => Some(scaling.matrix(data.features.clone(), &data.offsets, control)?),
        };
        let features = scaled.as_ref().unwrap_or(&data.features);
        let scorer = model.scorer()?;
        let score_query = |query: usize| {
            control.check()?;
            let (start, end) = (data.offsets[query], data.offsets[query + 1]);
            let documents = Documents { features, start, end };
            scorer.scores(&documents, &functions[query].weights, control)
        };
        let scores: Vec<Vec<f64>> = parallel::try_map(functions.len(), score_query)?;
        let scores = scores.concat();
        Scored { scores, warnings, unknown, functions, _memory: memory }.checked(data, TOO_LARGE)
    }
}

/// Values not seen in a model's training, for each category and each text query feature (rule 2.24).
///
/// # Errors
/// Query features of the model that the data set does not have.
pub fn unknown_values(model: &Model, data: &Dataset) -> Result<Vec<UnknownValues>> {
    if data.category_rows.is_empty() && model.ranker.named_query_features().is_empty() {
        return Ok(Vec::new());
    }
    let inputs = model.card.categories.inputs(model.card.features.len());
    let categories = inputs.iter().filter_map(|input| match input {
        InputColumn::Category(category, features) => Some((*category, features.clone())),
        InputColumn::Number(_) => None,
    });
    let mut unknown: Vec<UnknownValues> = categories
        .zip(&data.category_rows)
        .map(|((category, features), rows)| {
            UnknownValues::of_category(category, rows, data.n_docs(), &model.card.means[features])
        })
        .collect();
    if let Some(rule) = model.ranker.query_rule() {
        unknown.extend(rule.unknown_values(data)?);
    }
    Ok(unknown)
}

/// Numeric features that had a value in every training row but are missing in some rows (rule 2.24).
fn new_missing_values(model: &Model, data: &Dataset) -> Vec<UnknownValues> {
    // Otherwise no values are missing: reading fills or refuses them.
    let may_miss = data.missing == Missing::Branch && data.features.count_nan() > 0;
    let Some(fingerprint) = model.fingerprint.as_ref().filter(|_| may_miss) else { return Vec::new() };
    let missing =
        |feature: usize| (0..data.n_docs()).filter(|row| data.features.at(*row, feature).is_nan()).count();
    let numbers = model.card.features[..model.card.numbers()].iter().zip(&fingerprint.features).enumerate();
    let always_known = numbers.filter(|(_, (_, profile))| profile.missing == 0);
    let unknown = always_known.filter_map(|(feature, (name, _))| match missing(feature) {
        0 => None,
        missing => Some(UnknownValues::of_number(name, missing, data.n_docs())),
    });
    unknown.collect()
}

/// Weighted sums of scaled features, computed without keeping scaled documents in memory.
fn weighted_sums(
    model: &Model,
    data: &Dataset,
    functions: &[Arc<Function>],
    control: &Control,
) -> Result<Vec<f64>> {
    let mut scores = vec![0.0; data.n_docs()];
    let operations = ScoringJob::operations_of_document(model);
    let score_chunk = |chunk: usize, scores: &mut [f64]| {
        control.check()?;
        let first = chunk * DOCUMENTS;
        let mut query = data.offsets.partition_point(|start| *start <= first) - 1;
        let mut ticks = Ticks::default();
        for (row, score) in (first..).zip(scores) {
            ticks.add(operations);
            while data.offsets[query + 1] <= row {
                query += 1;
            }
            *score = model.scaling.row_sum(&data.features, row, &functions[query].weights);
        }
        Ok(())
    };
    parallel::try_each_of(scores.chunks_mut(DOCUMENTS).collect(), score_chunk)?;
    Ok(scores)
}

/// A warning if functions fitted to nearby training queries are 0.
fn without_neighbors(model: &Model, functions: &[Arc<Function>]) -> Option<String> {
    model.ranker.as_query_dependent().filter(|ranker| ranker.fits_new_queries())?;
    let is_zero = |function: &&Arc<Function>| function.weights.iter().all(|weight| weight.abs() <= 0.0);
    let n = functions.iter().filter(is_zero).count();
    (n > 0).then(|| {
        format!(
            "the functions of {n} queries have no weight other than 0, so their documents score 0; if no training query is \
             near enough, train with a larger bandwidth or with \"prior\": \"global\""
        )
    })
}

/// Memory in bytes for query features and the functions fitted for them.
fn functions_bytes(model: &Model, data: &Dataset) -> u64 {
    let numbers = |ranker: &dyn QueryAware| ranker.scorer().dim() + 2 * ranker.query_rule().width() + 16;
    let numbers = model.ranker.as_query_aware().map_or(0, numbers);
    matrix_bytes(data.n_queries(), numbers)
}

/// Bytes that scoring takes besides the data set: its scaled features, and each thread's buffers for a query.
fn scoring_bytes(model: &Model, data: &Dataset) -> Result<u64> {
    let scorer = model.scorer()?;
    let scaled = 1 + (scorer.width() / data.features.columns().max(1)) as u64;
    let longest = (0..data.n_queries()).map(|query| data.rows(query).len()).max().unwrap_or(0);
    let columns = if scorer.is_linear() { 0 } else { 2 * (scorer.dim() + scorer.width()) };
    let per_thread = matrix_bytes(longest, columns);
    let scores = bytes_of::<[f64; 2]>(data.n_docs()) + bytes_of::<[usize; 8]>(data.n_queries());
    Ok(scaled * data.features.bytes() + scores + per_thread.saturating_mul(parallel::threads() as u64))
}

impl Scored {
    /// Refuses a score that is not finite.
    fn checked(self, data: &Dataset, cause: &str) -> Result<Self> {
        check_finite(data, &self.scores, cause).map(|()| self)
    }
}

/// Refuses a score of a document that is not finite.
pub(super) fn check_finite(data: &Dataset, scores: &[f64], cause: &str) -> Result<()> {
    let Some(row) = scores.iter().position(|score| !score.is_finite()) else { return Ok(()) };
    let query = data.offsets.partition_point(|start| *start <= row) - 1;
    let (query, document) = (&data.query_ids[query], &data.doc_ids[row]);
    Err(Error::Data(format!(
        "query {query}, document {document}: the score is beyond the range of numbers; {cause}"
    )))
}

/// Scores pairs of users and items by the factors of a model without features.
fn score_by_id(factored: &Factored, data: &Dataset) -> Result<Scored> {
    let (mut seen, mut unknown_items) = (0, 0);
    let mut scores = Vec::with_capacity(data.n_docs());
    for (query, id) in data.query_ids.iter().enumerate() {
        let index = factored.user_index(id);
        seen += usize::from(index.is_some());
        let user = factored.user(index);
        for row in data.rows(query) {
            let item = factored.item_index(&data.doc_ids[row]);
            unknown_items += usize::from(item.is_none());
            scores.push(factored.score(&user, item));
        }
    }
    let unknown_users = data.n_queries() - seen;
    let mut warnings = Vec::new();
    if unknown_users > 0 {
        let warning = format!("{unknown_users} users are not in the model; their items are ranked by bias");
        warnings.push(warning);
    }
    if unknown_items > 0 {
        warnings.push(format!("{unknown_items} rows have items that are not in the model; they score the bias of an item without ratings"));
    }
    let memory = Reservation::default();
    Scored { scores, warnings, unknown: Vec::new(), functions: Vec::new(), _memory: memory }
        .checked(data, "the factors of the model are too large")
}

// Scores rows as they are read, for functions that are about as fast as reading: features are never all in memory.

/// Operations of about a nanosecond for a document. Slower functions are evaluated on all threads.
const FAST: usize = 4000;

/// A function that scores a document of any query on its own.
#[derive(Debug)]
pub struct RowScorer<'a> {
    model: &'a Model,
    function: &'a Arc<Function>,
    kind: RowFunction<'a>,
}

/// The kind of function of a [`RowScorer`].
#[derive(Debug)]
enum RowFunction<'a> {
    /// A weighted sum of the scaled features.
    Sum,
    Trees(&'a Forest),
    GeneralTrees(&'a GeneralTrees),
}

impl<'a> RowScorer<'a> {
    /// A model's scorer; `None` if the function is slow, depends on the query, or needs all documents of a query.
    pub fn of(model: &'a Model) -> Option<Self> {
        let function = model.ranker.global_function()?;
        let scorer = model.scorer().ok().filter(|scorer| scorer.pointwise() && model.scaling.pointwise())?;
        let kind = match (&model.ranker, scorer.trees(), &model.scaling) {
            (Ranker::GeneralTrees(trees), ..) => RowFunction::GeneralTrees(trees),
            (_, Some(forest), Scaling::None) => RowFunction::Trees(forest),
            _ if scorer.is_linear() => RowFunction::Sum,
            _ => return None,
        };
        let is_fast = ScoringJob::operations_of_document(model) <= FAST;
        is_fast.then_some(Self { model, function, kind })
    }

    /// Appends the scores of documents of this width, row-major.
    ///
    /// # Errors
    /// A number of features that differs from the training.
    pub fn add_scores(&self, documents: &[f32], width: usize, scores: &mut Vec<f64>) -> Result<()> {
        self.model.check_width(width)?;
        let weights = &self.function.weights;
        match self.kind {
            RowFunction::Trees(forest) => {
                scores.extend(forest.scores_of(documents, width, weights, &Control::default())?);
            }
            RowFunction::GeneralTrees(trees) => trees.add_scores(documents, scores),
            RowFunction::Sum => self.model.scaling.add_weighted_sums(documents, weights, scores),
        }
        Ok(())
    }
}

/// Refuses scores that are not finite. Returns the warnings of a ranking by these scores.
///
/// # Errors
/// A score that is not finite.
pub fn check_scores(data: &Dataset, scores: &[f64]) -> Result<Vec<String>> {
    check_finite(data, scores, TOO_LARGE)?;
    Ok(data.repeated_rows().into_iter().collect())
}
