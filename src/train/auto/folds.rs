//! The folds of a trial: functions for several lambdas, fitted on all cells but those of a fold and evaluated on these.

use std::ops::Range;

use super::AutoSpec;
use super::blocks::weight;
use super::cells::{Cells, FOLDS};
use super::documents::{Parts, Sums};
use crate::base::control::Control;
use crate::base::error::Result;
use crate::base::parallel;
use crate::cost::metric::Mean;
use crate::data::Dataset;
use crate::train::select::{Curve, argmax_smoothed, smoothed};

/// The queries that a fold holds out, and for each lambda their values; none for lambdas that were not tried.
pub(super) type FoldValues = (Vec<usize>, Vec<Vec<Option<f64>>>);

/// What the folds of a candidate have in common.
pub(super) struct FoldRun<'a> {
    pub spec: &'a AutoSpec,
    pub data: &'a Dataset,
    pub parts: &'a Parts,
    pub cells: &'a Cells,
    /// Of each cell.
    pub sums: &'a [Sums],
    pub lambdas: &'a [f64],
    pub control: &'a Control,
}

impl FoldRun<'_> {
    /// The values of each fold of a partition for some of the lambdas.
    pub fn partition(&self, dim: usize, partition: usize, tried: Range<usize>) -> Result<Vec<FoldValues>> {
        // 1. The sums of each fold, and of the queries that are never held out.
        let sum = |fold: usize| -> Result<Option<Sums>> {
            self.control.check()?;
            let mut cells = self.cells.of_fold(partition, fold).map(|cell| &self.sums[cell]);
            let mut sums = cells.next().map(Sums::copied);
            for cell in cells {
                sums.iter_mut().for_each(|sums| sums.add(cell));
            }
            Ok(sums)
        };
        let sums = parallel::try_map(FOLDS + 1, sum)?;
        // 2. The functions of each fold.
        parallel::try_map(FOLDS, |fold| self.values(dim, (partition, fold), &sums, tried.clone()))
    }

    /// Fits on all queries but those of a fold, and evaluates these. `sums`: of each fold.
    fn values(
        &self,
        dim: usize,
        (partition, fold): (usize, usize),
        sums: &[Option<Sums>],
        tried: Range<usize>,
    ) -> Result<FoldValues> {
        // 1. The sums of the other folds.
        let mut others =
            sums.iter().enumerate().filter(|(other, _)| *other != fold).filter_map(|(_, sums)| sums.as_ref());
        let mut training = others.next().map(Sums::copied);
        for sums in others {
            training.iter_mut().for_each(|training| training.add(sums));
        }
        let others = (0..self.cells.queries.len()).filter(|cell| self.cells.fold(*cell, partition) != fold);
        let others = others.flat_map(|cell| &self.cells.queries[cell]);
        let documents: f64 = others.map(|query| weight(self.data, *query)).sum();
        // 2. A function for each lambda; 0 where there is none.
        let of_lambda = |number: usize| {
            self.control.check()?;
            let ridge = self.lambdas[tried.start + number] * documents;
            Ok(training.as_ref().and_then(|training| training.solve(ridge)))
        };
        let found = parallel::try_map(tried.len(), of_lambda)?;
        let functions: Vec<Vec<f64>> =
            found.iter().map(|w| w.clone().unwrap_or_else(|| vec![0.0; dim])).collect();
        // 3. The held-out queries.
        let metric = &self.spec.validation.metric;
        let (mut held_out, mut values) = (Vec::new(), vec![Vec::new(); self.lambdas.len()]);
        for cell in self.cells.of_fold(partition, fold) {
            self.control.check()?;
            for (query, scores) in self.parts.scores(cell, &functions) {
                held_out.push(query);
                for ((scores, found), values) in scores.iter().zip(&found).zip(&mut values[tried.clone()]) {
                    let value = || metric.finite_value(self.data.labels(query), scores);
                    values.push(if found.is_some() { value()? } else { None });
                }
            }
        }
        Ok((held_out, values))
    }
}

/// The mean over all held-out queries for each lambda.
pub(super) fn curve(spec: &AutoSpec, data: &Dataset, lambdas: &[f64], folds: &[FoldValues]) -> Curve {
    let mean = |index: usize| {
        let mut mean = Mean::new(spec.validation.metric.def(), spec.validation.undefined);
        for (held_out, values) in folds {
            for (query, value) in held_out.iter().zip(&values[index]) {
                mean.add(*value, data.labels(*query));
            }
        }
        mean.value()
    };
    lambdas.iter().enumerate().map(|(index, lambda)| (*lambda, mean(index))).collect()
}

/// The best lambda of a part of a curve, and its value there: both smoothed over adjacent lambdas.
pub(super) fn chosen(spec: &AutoSpec, curve: &Curve, part: Range<usize>) -> (Option<usize>, Option<f64>) {
    let (first, part) = (part.start, &curve[part]);
    let chosen = argmax_smoothed(part, spec.validation.metric.def().better);
    (chosen.map(|chosen| first + chosen), chosen.and_then(|chosen| smoothed(part, chosen)))
}

/// The value of each query in folds with the chosen lambda (`n_queries`), negated if lower ones are better.
pub(super) fn of_queries(
    spec: &AutoSpec,
    data: &Dataset,
    folds: &[FoldValues],
    chosen: Option<usize>,
) -> Vec<Option<f64>> {
    let metric = spec.validation.metric.def();
    let counted = Mean::new(metric, spec.validation.undefined);
    let mut values = vec![None; data.n_queries()];
    for (held_out, of_lambda) in folds.iter().filter(|_| chosen.is_some()) {
        for (query, value) in held_out.iter().zip(&of_lambda[chosen.unwrap_or(0)]) {
            let value = counted.weighted(*value, data.labels(*query));
            values[*query] = value.map(|(value, _)| metric.better.sign() * value);
        }
    }
    values
}

/// The mean value and weight of each held-out query with the chosen lambda.
pub(super) fn means(
    spec: &AutoSpec,
    data: &Dataset,
    folds: &[FoldValues],
    chosen: Option<usize>,
) -> Vec<(f64, f64)> {
    let mut values = vec![(0.0, 0.0); data.n_queries()];
    let mut times = vec![0.0; data.n_queries()];
    let counted = Mean::new(spec.validation.metric.def(), spec.validation.undefined);
    for (held_out, of_lambda) in folds.iter().filter(|_| chosen.is_some()) {
        for (query, value) in held_out.iter().zip(&of_lambda[chosen.unwrap_or(0)]) {
            if let Some((value, weight)) = counted.weighted(*value, data.labels(*query)) {
                values[*query] = (values[*query].0 + value, weight);
                times[*query] += 1.0;
            }
        }
    }
    let of_query = |((sum, weight), times): ((f64, f64), f64)| (times > 0.0).then(|| (sum / times, weight));
    values.into_iter().zip(times).filter_map(of_query).collect()
}
