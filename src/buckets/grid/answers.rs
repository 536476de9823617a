//! The answers of a bucket.

use std::sync::Arc;

use super::statistics::{self, First, Prepared, STATISTICS, VARIANCES, answer_bytes, wrong_length};
use crate::base::{Control, Result, parallel};
use crate::buckets::replay::{Question, Replay};
use crate::buckets::round::of_another_training;
use crate::buckets::sums::BucketSums;
use crate::cost::loss::Loss;
use crate::cost::metric::Mean;
use crate::data::{Dataset, ScalingKind};
use crate::learn::fit::TrainingBlocks;
use crate::learn::solve::{Gram, ListBlock, ListProblem, PairProblem, QueryBlock, hinge_origin, hinge_sums};
use crate::learn::space::{Form, Space};
use crate::math::{BOUNDED, Objective, are_bounded};
use crate::train::algorithm::scale;
use crate::train::grid::checks;
use crate::train::grid::session::relative_weight;
use crate::train::grid::spec::GridSpec;

/// Kinds of questions, besides the kinds in [`statistics`].
pub const GRAM: u64 = 2;
pub const VALUES: u64 = 3;
pub const NEWTON: u64 = 4;
pub const HINGE: u64 = 5;

/// A query with its weight.
type Weighted = (Arc<QueryBlock>, f64);

/// The answers to the questions of a round.
pub fn answer(
    spec: &GridSpec,
    replay: &Replay,
    bucket: u32,
    mut data: Dataset,
    control: &Control,
) -> Result<Vec<BucketSums>> {
    let questions = &replay.questions;
    let takes_part = |question: &Question| question.part.has(bucket);
    if let [(_, Question { kind: STATISTICS | VARIANCES, .. })] = questions[..] {
        let (_, question) = &questions[0];
        let sums = if question.kind == STATISTICS {
            first(spec, bucket, &data)
        } else {
            statistics::squares(&mut data, &question.numbers)
        };
        return sums.map(|sums| vec![sums]);
    }
    if !questions.iter().any(|(_, question)| takes_part(question)) {
        return Ok(vec![BucketSums::default(); questions.len()]);
    }
    // 1. Documents as in the fit.
    let Prepared { statistics, scaling } = Prepared::recorded(spec, replay)?;
    statistics.complete(&mut data, bucket, spec.missing)?;
    let _memory = scale(&scaling, spec.scale, &mut data, control)?;
    let dim = statistics.dim();
    let data = Arc::new(data);
    let space = Arc::new(Space::linear(dim, Form::Scoring));
    let blocks = TrainingBlocks::of_rows(space, Arc::clone(&data), spec.loss.clone(), true);
    let mean_size = statistics.mean_size(spec.weighting);
    // 2. Queries with their weights, once for all questions.
    let informative: Vec<usize> =
        (0..data.n_queries()).filter(|query| blocks.is_informative(*query)).collect();
    let weighted = |number: usize| {
        let query = informative[number];
        let weight = relative_weight(&data, query, spec.weighting, mean_size) * blocks.normalizer(query);
        Ok((blocks.prepare(query, control)?, weight))
    };
    let queries: Vec<Weighted> = parallel::try_map(informative.len(), weighted)?;
    let what = format_args!("{} sums of bucket {bucket} over {dim} features", questions.len());
    let _sums = control.reserve(
        (questions.len() as u64).saturating_mul(answer_bytes(dim) as u64),
        what,
        "use fewer features or fewer values of lambda",
    )?;
    let of_question = |(_, question): &(usize, Question)| {
        control.check()?;
        if !are_bounded(&question.numbers) {
            return Err(of_another_training("question", &format!("it needs {BOUNDED}")));
        }
        let numbers = match question {
            question if !takes_part(question) => Vec::new(),
            Question { kind: GRAM, .. } => Gram::of(dim, &lists(&queries))?.numbers(),
            Question { kind: VALUES, numbers, .. } => values(spec, &data, &informative, numbers)?,
            Question { kind: NEWTON, numbers, .. } => newton(spec, dim, &queries, numbers)?,
            Question { kind: HINGE, numbers, .. } => hinge(dim, &queries, numbers, control)?,
            _ => return Err(wrong_length()),
        };
        Ok(numbers.into())
    };
    questions.iter().map(of_question).collect()
}

/// The answer to the first question.
fn first(spec: &GridSpec, bucket: u32, data: &Dataset) -> Result<BucketSums> {
    if matches!(spec.loss, Loss::Pair(..)) {
        checks::pairs_of_queries(spec, data)?;
    }
    let first = First {
        informative: &|grades, weights| spec.loss.is_informative(grades, weights),
        missing: spec.missing,
        counts_bins: spec.scale == ScalingKind::Quantile,
    };
    first.answer(bucket, data)
}

fn lists(queries: &[Weighted]) -> Vec<(&ListBlock, f64)> {
    queries.iter().filter_map(|(block, weight)| Some((block.as_list()?, *weight))).collect()
}

/// For each function, the weighted sum of the metric over these queries, and the sum of their weights.
fn values(spec: &GridSpec, data: &Dataset, queries: &[usize], functions: &[f64]) -> Result<Vec<f64>> {
    let (dim, validation) = (data.features.columns(), &spec.validation);
    if functions.is_empty() || !functions.len().is_multiple_of(dim) {
        return Err(wrong_length());
    }
    let of_function = |number: usize| {
        let w = &functions[number * dim..(number + 1) * dim];
        let mut mean = Mean::new(validation.metric.def(), validation.undefined);
        for &query in queries {
            let scores: Vec<f64> = data.rows(query).map(|row| data.features.row_dot(row, w)).collect();
            mean.add(validation.metric.finite_value(data.labels(query), &scores)?, data.labels(query));
        }
        Ok(mean.sums())
    };
    Ok(parallel::try_map(functions.len() / dim, of_function)?.concat())
}

/// The sums of the smoothed hinge: the numbers are two widths, then w. Without numbers: the sums that do not depend on w.
fn hinge(dim: usize, queries: &[Weighted], numbers: &[f64], control: &Control) -> Result<Vec<f64>> {
    let pairs = queries.iter().filter_map(|(block, weight)| Some((block.as_pair()?, *weight)));
    let problem = PairProblem::new(dim, pairs.collect(), 1.0)?;
    let sums = match numbers {
        [] => hinge_origin(&problem, control),
        [first, second, w @ ..] if w.len() == dim && *first > 0.0 && *second > 0.0 => {
            hinge_sums(&problem, w, [*first, *second], control)
        }
        _ => return Err(wrong_length()),
    };
    control.check()?;
    Ok(sums)
}

/// Value and gradient of the risk at w, and the entries of its Hessian on and above the diagonal.
fn newton(spec: &GridSpec, dim: usize, queries: &[Weighted], w: &[f64]) -> Result<Vec<f64>> {
    let (Loss::List(loss), true) = (&spec.loss, w.len() == dim) else { return Err(wrong_length()) };
    let problem = ListProblem::new(dim, loss, lists(queries))?;
    let mut gradient = vec![0.0; dim];
    let value = problem.value(w, &mut gradient);
    let image = problem.image(w);
    let mut numbers = [vec![value], gradient].concat();
    for row in 0..dim {
        let mut unit = vec![0.0; dim];
        unit[row] = 1.0;
        numbers.extend(&problem.hessian_times(&image, &unit)[row..]);
    }
    Ok(numbers)
}
