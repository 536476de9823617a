//! The margin of a function u: the least difference of scores of two documents of a query that the measure tells apart,
//! divided by |u|. If it is above 0, u separates the documents.
//!
//! The largest margin of linear functions is gamma = 1 / |w| for the shortest w with all differences at least 1. With
//! 2 lambda <= gamma^2 that w minimizes lambda |w|^2 + max(0, 1 - the least difference of w): in the dual, the multiplier
//! of the least difference is 2 lambda / gamma^2 <= 1. The margin of a known separator is at most gamma, so it gives such a
//! lambda.

use super::rounds::{Perceptron, ROW_COST};
use crate::base::control::{Control, Ticks};
use crate::base::error::Result;
use crate::base::memory::{bytes_of, matrix_bytes};
use crate::base::parallel;
use crate::cost::loss::list::SlamQuery;
use crate::data::Dataset;
use crate::math::optim::{Objective, StopRule, cutting_planes};

/// The largest margin is found to this relative accuracy, or in so many iterations.
const RULE: StopRule = StopRule { tolerance: 1e-4, max_iterations: 100 };

/// Rows whose scores one thread computes.
const ROWS: usize = 256;

/// Numbers that the search keeps per document: the order and the weights of SLAM, and images of cutting planes.
const NUMBERS: usize = 10;

/// A function with a margin above 0.
#[derive(Debug)]
pub(super) struct Separator {
    /// Where it comes from.
    pub name: &'static str,
    pub weights: Vec<f64>,
    pub margin: f64,
}

/// The best known separator: of linear functions the one with the largest margin, otherwise the averaged or the last
/// weights. `None` if neither the averaged nor the last weights separate.
///
/// # Errors
/// An interruption; [`Error::Memory`](crate::base::error::Error::Memory).
pub(super) fn best_separator(
    perceptron: &Perceptron,
    data: &Dataset,
    average: &[f64],
    control: &Control,
) -> Result<Option<Separator>> {
    let separator = |name, weights: &[f64]| -> Result<Option<Separator>> {
        let margin = margin(perceptron, data, weights, control)?;
        Ok(margin.map(|margin| Separator { name, weights: weights.to_vec(), margin }))
    };
    // 1. The functions of the training.
    let known =
        [separator("averaged weights", average)?, separator("last weights", &perceptron.progress().weights)?];
    let better = |a: Separator, b: Separator| if b.margin > a.margin { b } else { a };
    let Some(best) = known.into_iter().flatten().reduce(better) else { return Ok(None) };
    if perceptron.progress().support.is_some() {
        return Ok(Some(best));
    }
    // 2. The linear function with the largest margin.
    let per_query = bytes_of::<(SlamQuery, f64, [usize; 2])>(data.n_queries());
    let iterations = RULE.max_iterations as usize;
    let planes = matrix_bytes(iterations, 2 * data.features.columns() + iterations);
    let bytes = matrix_bytes(data.n_docs(), NUMBERS) + per_query + planes;
    let _memory = control.reserve(bytes, "the largest margin of the documents", "train on fewer rows")?;
    let least = LeastDifference::new(perceptron, data);
    let start: Vec<f64> =
        best.weights.iter().map(|w| w / least.of_scores(&least.image(&best.weights)).0).collect();
    let lambdas = [0.5 * best.margin * best.margin];
    let found = cutting_planes::minimize_path(&least, None, &start, &lambdas, &RULE, control);
    control.check()?;
    let found = found.first().map(|found| separator("largest margin", &found.w)).transpose()?.flatten();
    Ok(Some(found.into_iter().fold(best, better)))
}

/// The margin of a function; `None` unless it is above 0.
fn margin(perceptron: &Perceptron, data: &Dataset, u: &[f64], control: &Control) -> Result<Option<f64>> {
    let mut least = f64::INFINITY;
    for query in 0..data.n_queries() {
        control.check()?;
        let scores = perceptron.scores(&data.documents(query), u, control)?;
        let (difference, _) = least_difference(&perceptron.surrogate().of(data.labels(query)), &scores);
        least = least.min(difference);
        if difference.is_nan() || least <= 0.0 {
            return Ok(None);
        }
    }
    let length = perceptron.inner_products(u, u)[0].sqrt();
    Ok(Some(least / length).filter(|margin| margin.is_finite() && *margin > 0.0))
}

/// The least difference of scores of a document and a worse one of a query, and the two; infinite without such a pair.
fn least_difference(query: &SlamQuery, scores: &[f64]) -> (f64, [usize; 2]) {
    let pairs = query.rivals(scores).into_iter().enumerate().filter_map(|(i, rival)| Some([i, rival?]));
    let difference = |[i, k]: [usize; 2]| (scores[i] - scores[k], [i, k]);
    pairs.map(difference).fold((f64::INFINITY, [0; 2]), |a, b| if b.0 < a.0 || b.0.is_nan() { b } else { a })
}

/// max(0, 1 - the least difference of scores of all queries), of linear functions.
struct LeastDifference<'a> {
    data: &'a Dataset,
    queries: Vec<SlamQuery>,
}

impl<'a> LeastDifference<'a> {
    fn new(perceptron: &Perceptron, data: &'a Dataset) -> Self {
        let query = |query: usize| perceptron.surrogate().of(data.labels(query));
        Self { data, queries: (0..data.n_queries()).map(query).collect() }
    }

    /// The least difference and its two rows.
    fn of_scores(&self, scores: &[f64]) -> (f64, [usize; 2]) {
        let of = |number: usize| {
            let rows = self.data.rows(number);
            Ticks::default().add(ROW_COST * rows.len());
            let (difference, pair) = least_difference(&self.queries[number], &scores[rows.clone()]);
            (difference, pair.map(|document| rows.start + document))
        };
        let all = parallel::map(self.queries.len(), of);
        all.into_iter().fold((f64::INFINITY, [0; 2]), |a, b| if b.0 < a.0 { b } else { a })
    }
}

impl Objective for LeastDifference<'_> {
    fn dim(&self) -> usize {
        self.data.features.columns()
    }

    fn image(&self, w: &[f64]) -> Vec<f64> {
        let mut image = vec![0.0; self.data.n_docs()];
        parallel::each_of(image.chunks_mut(ROWS).collect(), |chunk, scores: &mut [f64]| {
            let mut ticks = Ticks::default();
            for (row, score) in (chunk * ROWS..).zip(scores) {
                ticks.add(ROW_COST + w.len());
                *score = self.data.features.row_dot(row, w);
            }
        });
        image
    }

    fn linear_image(&self, v: &[f64]) -> Vec<f64> {
        self.image(v)
    }

    fn transposed(&self, h: &[f64]) -> Vec<f64> {
        let mut sum = vec![0.0; self.dim()];
        for (row, factor) in h.iter().enumerate().filter(|(_, factor)| **factor != 0.0) {
            let document = self.data.features.row_f64(row);
            sum.iter_mut().zip(document).for_each(|(sum, value)| *sum += factor * value);
        }
        sum
    }

    fn value_at(&self, image: &[f64], slopes: &mut [f64]) -> f64 {
        slopes.fill(0.0);
        let (difference, [i, k]) = self.of_scores(image);
        if difference < 1.0 {
            (slopes[i], slopes[k]) = (-1.0, 1.0);
        }
        (1.0 - difference).max(0.0)
    }

    fn hessian_times(&self, _image: &[f64], v: &[f64]) -> Vec<f64> {
        vec![0.0; v.len()]
    }
}
