//! Permutation importance: how much a metric drops if the values of a feature are permuted within each query (Breiman 2001;
//! Fisher, Rudin and Dominici 2019).

use std::sync::Arc;

use super::measure::METRIC_COST;
use super::paired::{Comparison, PairedTest};
use super::score::ScoringJob;
use crate::base::{Control, Error, Result, bytes_of, matrix_bytes, parallel};
use crate::cost::metric::{Metric, Undefined};
use crate::data::{
    Dataset, Documents, InputColumn, ListConstraint, Matrix, RowGroup, Shuffle, push_down_unselected,
};
use crate::learn::space::{Function, Scorer};
use crate::math::Random;
use crate::model::Model;

/// Permutations per feature and query. A query's loss is the mean over them.
const PERMUTATIONS: usize = 10;

/// Largest number of a query's scores in memory at once.
const SCORES: usize = 1 << 20;

/// Numbers per document for kernels that are products.
const KERNEL_NUMBERS: usize = 400;

/// Number of a query's columns that are permuted together.
fn inputs_at_once(documents: usize) -> usize {
    (SCORES / (PERMUTATIONS * documents).max(1)).max(1)
}

/// What to measure.
pub struct ImportanceSpec<'a> {
    pub metrics: &'a [Metric],
    /// Treatment of undefined values.
    pub undefined: Undefined,
    /// Seed of the permutations.
    pub seed: u64,
    /// The test that gives the interval over queries.
    pub test: PairedTest,
}

impl ImportanceSpec<'_> {
    /// Operations of about a nanosecond that [`importance`] takes.
    pub fn operations(&self, model: &Model, data: &Dataset) -> usize {
        let metric_cost = (METRIC_COST * self.metrics.len()).saturating_mul(data.n_docs());
        let once = ScoringJob::operations(model, data).saturating_add(metric_cost);
        once.saturating_mul(PERMUTATIONS * data.features.columns())
    }
}

/// For each feature and metric: the per-query values, and the values with the feature permuted.
///
/// `functions`: one per query. Functions and query features stay as they are.
///
/// # Errors
/// Grades that are too large for a metric; scores that are not finite; an interrupt; too much memory.
pub fn importance(
    model: &Model,
    functions: &[Arc<Function>],
    data: &Dataset,
    spec: &ImportanceSpec<'_>,
    control: &Control,
) -> Result<Vec<Vec<Comparison>>> {
    let (n, scorer) = (data.features.columns(), model.scorer()?);
    let inputs = model.card.categories.inputs(n);
    let _memory =
        control.reserve(bytes(data, spec, scorer), "the importance of features", "give fewer queries")?;
    // 1. Losses of queries. Each query has its own random numbers, so the number of threads does not matter.
    let scaled = model.scaling.matrix(data.features.clone(), &data.offsets, control)?;
    let mut random = Random::new(spec.seed);
    let seeds: Vec<u64> = (0..data.n_queries()).map(|_| random.bits()).collect();
    let query = |number: usize| {
        let (start, end) = (data.offsets[number], data.offsets[number + 1]);
        let rows: Vec<usize> = (start..end).collect();
        let query = Query {
            scorer,
            weights: &functions[number].weights,
            rows: scaled.select_rows(&rows),
            labels: data.labels(number),
            groups: (data.constraint, data.row_groups(number)),
            spec,
        };
        query.losses(&inputs, n, Random::new(seeds[number]), control)
    };
    let queries: Vec<Losses> = parallel::try_map(data.n_queries(), query)?;
    // 2. Means over queries and their intervals.
    let comparison = |feature: usize, metric: usize| {
        let values = queries.iter().filter_map(|losses| {
            let value = |values: &[Option<f64>]| spec.undefined.resolve(values[metric]);
            value(&losses.before).zip(value(&losses.after[feature]))
        });
        let (before, after): (Vec<f64>, Vec<f64>) = values.unzip();
        spec.test.compare(&before, &after)
    };
    let metrics = spec.metrics.len();
    parallel::try_map(inputs.len(), |feature| {
        control.check()?;
        Ok((0..metrics).map(|metric| comparison(feature, metric)).collect())
    })
}

/// Memory in bytes for the scaled features, all queries' values, and each thread's copies.
fn bytes(data: &Dataset, spec: &ImportanceSpec<'_>, scorer: &dyn Scorer) -> u64 {
    let (n, width) = (data.features.columns(), scorer.width());
    let longest = (0..data.n_queries()).map(|query| data.rows(query).len()).max().unwrap_or(0);
    let columns = if scorer.is_linear() { 3 * width } else { 5 * width + 2 * scorer.dim() };
    let values = bytes_of::<Option<f64>>((n + 1).saturating_mul(spec.metrics.len() + 2));
    let threads = parallel::threads() as u64;
    let scaled = data.features.bytes().saturating_mul(1 + (width / n.max(1)) as u64);
    let shuffled = 3 * PERMUTATIONS * n.min(inputs_at_once(longest)) + KERNEL_NUMBERS;
    let thread_bytes = matrix_bytes(longest, columns + shuffled).saturating_mul(threads);
    scaled.saturating_add(values.saturating_mul(data.n_queries() as u64)).saturating_add(thread_bytes)
}

/// Metric values of a query.
struct Losses {
    before: Vec<Option<f64>>,
    /// Values with each feature permuted, averaged over permutations.
    after: Vec<Vec<Option<f64>>>,
}

/// The documents of a query.
struct Query<'a> {
    scorer: &'a dyn Scorer,
    weights: &'a [f64],
    /// Scaled features.
    rows: Matrix,
    labels: &'a [f64],
    /// The list constraint, and the groups of the documents.
    groups: (ListConstraint, &'a [RowGroup]),
    spec: &'a ImportanceSpec<'a>,
}

impl Query<'_> {
    /// `inputs`: the columns, whose features are permuted together. `n`: number of features.
    fn losses(
        &self,
        inputs: &[InputColumn<'_>],
        n: usize,
        mut random: Random,
        control: &Control,
    ) -> Result<Losses> {
        let documents = Documents { features: &self.rows, start: 0, end: self.rows.rows() };
        let before = self.values(self.scorer.scores(&documents, self.weights, control)?)?;
        let is_undefined = before.iter().all(Option::is_none);
        let mut after = Vec::with_capacity(inputs.len());
        for inputs in inputs.chunks(inputs_at_once(documents.len())) {
            let mut shuffles = Vec::with_capacity(inputs.len());
            let mut places = Vec::with_capacity(inputs.len());
            for input in inputs {
                let scaled = |feature: usize| (feature..self.rows.columns()).step_by(n);
                let columns: Vec<usize> = input.features().flat_map(scaled).collect();
                let same = is_undefined || columns.iter().all(|column| self.is_constant(*column));
                places.push((!same).then_some(shuffles.len()));
                if !same {
                    let mut order: Vec<usize> = documents.range().collect();
                    let mut next = || {
                        random.shuffle(&mut order);
                        order.clone()
                    };
                    shuffles.push(Shuffle { columns, orders: (0..PERMUTATIONS).map(|_| next()).collect() });
                }
            }
            let scores = self.scorer.shuffled(&documents, self.weights, &shuffles, control)?;
            for place in places {
                after.push(match place {
                    Some(place) => self.mean_values(&scores[place], control)?,
                    None => before.clone(),
                });
            }
        }
        Ok(Losses { before, after })
    }

    /// Averages metrics over permutations, one permutation's scores at a time.
    fn mean_values(&self, scores: &[f64], control: &Control) -> Result<Vec<Option<f64>>> {
        let mut sums = vec![Some(0.0); self.spec.metrics.len()];
        for scores in scores.chunks_exact(self.rows.rows()) {
            control.check()?;
            let values = self.values(scores.to_vec())?;
            sums.iter_mut().zip(values).for_each(|(sum, value)| *sum = sum.zip(value).map(|(a, b)| a + b));
        }
        Ok(sums.into_iter().map(|sum| sum.map(|sum| sum / PERMUTATIONS as f64)).collect())
    }

    fn is_constant(&self, column: usize) -> bool {
        let bits = |row: usize| self.rows.at(row, column).to_bits();
        (1..self.rows.rows()).all(|row| bits(row) == bits(0))
    }

    /// The query's metrics with these scores.
    fn values(&self, scores: Vec<f64>) -> Result<Vec<Option<f64>>> {
        let (constraint, groups) = self.groups;
        let scores = push_down_unselected(constraint, groups, scores).map_err(Error::Data)?;
        self.spec.metrics.iter().map(|metric| metric.finite_value(self.labels, &scores)).collect()
    }
}
