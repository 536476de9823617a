//! The folds of a trial: functions for several lambdas, fitted on all cells but the cells of a fold and evaluated on these.
//! [`Partitions`] divide the queries into folds; a cell has the queries that share their folds in some partitions.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use super::AutoSpec;
use super::documents::{FoldSums, Parts};
use super::prepared::{FEWER, Prepared, judged_queries};
use crate::base::{Control, Result, parallel};
use crate::cost::metric::Mean;
use crate::data::{Dataset, Scaling};
use crate::learn::space::Scorer;
use crate::train::averaged::weight;
use crate::train::select::{Curve, FoldScores, Folds, Split, argmax_smoothed, fold_numbers, smoothed};

/// The queries that a fold holds out, and for each lambda their values, and the function; none for lambdas that were not tried.
pub(super) type FoldValues = (Vec<usize>, Vec<Vec<Option<f64>>>, Vec<Vec<f64>>);

/// The documents of a query by the function of a fold that did not see it.
pub(super) struct QueryScores {
    pub query: usize,
    pub fold: usize,
    pub scores: Vec<f64>,
}

/// The sums of the scores of functions with these factors, for queries that all functions have scored.
pub(super) fn sums(data: &Dataset, functions: &[(f64, &[QueryScores])]) -> Vec<FoldScores> {
    let mut sums = vec![(Vec::new(), Vec::new()); data.n_queries()];
    for (factor, scored) in functions {
        for QueryScores { query, fold, scores } in *scored {
            let (folds, sum): &mut (Vec<usize>, Vec<f64>) = &mut sums[*query];
            // A sample has no documents of the other queries.
            if scores.len() == data.rows(*query).len() {
                sum.resize(scores.len(), 0.0);
                sum.iter_mut().zip(scores).for_each(|(sum, score)| *sum += factor * score);
                folds.push(*fold);
            }
        }
    }
    // Queries with the same folds have the same functions.
    let mut by_folds: BTreeMap<Vec<usize>, FoldScores> = BTreeMap::new();
    for (query, (folds, scores)) in sums.into_iter().enumerate() {
        if !folds.is_empty() && folds.len() == functions.len() {
            let fold_scores = by_folds.entry(folds).or_default();
            fold_scores.queries.push(query);
            fold_scores.scores.extend(scores);
        }
    }
    by_folds.into_values().collect()
}

/// What the folds of a candidate have in common.
pub(super) struct FoldRun<'a> {
    pub spec: &'a AutoSpec,
    pub data: &'a Dataset,
    pub prepared: &'a Prepared,
    /// The scores of the baseline; empty without one.
    pub start: &'a [f64],
    /// How the documents of the candidate are scaled.
    pub scaling: &'a Scaling,
    pub lambdas: &'a [f64],
    pub control: &'a Control,
}

/// Documents in cells, and the sums of each cell.
pub(super) struct CellSums {
    parts: Parts,
    sums: Vec<FoldSums>,
}

impl FoldRun<'_> {
    /// The sums of each cell, which its partitions share.
    pub fn sums(&self, cells: &Cells) -> Result<CellSums> {
        let parts = Parts::new(self.prepared, &self.prepared.data, cells.queries.clone(), self.control)?;
        let sums = parts.sums(0..cells.queries.len(), self.prepared.space.dim(), self.control)?;
        Ok(CellSums { parts, sums })
    }

    /// The values of each fold of a partition for some of the lambdas.
    pub fn partition_values(
        &self,
        cells: &Cells,
        shared: &CellSums,
        partition: usize,
        tried: Range<usize>,
    ) -> Result<Vec<FoldValues>> {
        // 1. The sums of each fold, and of the queries that are never held out.
        let sum = |fold: usize| -> Result<Option<FoldSums>> {
            self.control.check()?;
            let mut cells = cells.of_fold(partition, fold).map(|cell| &shared.sums[cell]);
            let mut sums = cells.next().map(FoldSums::copied);
            for cell in cells {
                sums.iter_mut().for_each(|sums| sums.add(cell));
            }
            Ok(sums)
        };
        let sums = parallel::try_map(FOLDS + 1, sum)?;
        // 2. The functions of each fold.
        let values =
            |number| self.values(cells, &shared.parts, Fold { partition, number }, &sums, tried.clone());
        parallel::try_map(FOLDS, values)
    }

    /// The same where documents have means of categories. These are learned again without the queries of the fold (rule 2.23),
    /// so each fold has its own sums.
    pub fn partition_values_with_means(
        &self,
        cells: &Cells,
        partition: usize,
        tried: Range<usize>,
    ) -> Result<Vec<FoldValues>> {
        let what = "a scaled copy of the documents";
        let _copy = self.control.reserve(self.prepared.data.bytes(), what, FEWER)?;
        let values = |fold: usize| {
            let cells = cells.single_fold(partition, fold);
            let mut left_out = vec![true; self.data.n_queries()];
            cells.queries[1].iter().for_each(|query| left_out[*query] = false);
            let mut documents = Dataset::clone(&self.prepared.data);
            for (feature, values) in self.scaling.means_without(self.data, &left_out, self.control)? {
                documents.features.set_column(feature, values.into_iter());
            }
            let parts = Parts::new(self.prepared, &Arc::new(documents), cells.queries.clone(), self.control)?;
            let others = parts.sums(1..2, self.prepared.space.dim(), self.control)?.pop();
            self.values(&cells, &parts, Fold { partition: 0, number: 0 }, &[None, others], tried.clone())
        };
        (0..FOLDS).map(values).collect()
    }

    /// Fits on all queries but the queries of a fold, and evaluates these. `sums`: of each fold.
    fn values(
        &self,
        cells: &Cells,
        parts: &Parts,
        Fold { partition, number: fold }: Fold,
        sums: &[Option<FoldSums>],
        tried: Range<usize>,
    ) -> Result<FoldValues> {
        // 1. The sums of the other folds.
        let is_other = |(other, _): &(usize, &Option<FoldSums>)| cells.trains(*other, fold);
        let mut others = sums.iter().enumerate().filter(is_other).filter_map(|(_, sums)| sums.as_ref());
        let mut training = others.next().map(FoldSums::copied);
        for sums in others {
            training.iter_mut().for_each(|training| training.add(sums));
        }
        let others = (0..cells.queries.len()).filter(|cell| cells.trains(cells.fold(*cell, partition), fold));
        let others = others.flat_map(|cell| &cells.queries[cell]);
        let documents: f64 = others.map(|query| weight(self.data, *query)).sum();
        // 2. A function for each lambda; 0 where there is none.
        let signs = self.spec.monotone.signs(self.data, self.scaling)?;
        let of_lambda = |number: usize| {
            self.control.check()?;
            let ridge = self.lambdas[tried.start + number] * documents;
            Ok(training.as_ref().and_then(|training| training.solve(ridge, &signs, self.control)))
        };
        let fits = parallel::try_map(tried.len(), of_lambda)?;
        let functions: Vec<Vec<f64>> =
            fits.iter().map(|w| w.clone().unwrap_or_else(|| vec![0.0; self.prepared.space.dim()])).collect();
        // 3. The held-out queries.
        let metric = &self.spec.validation.metric;
        let (mut held_out, mut values) = (Vec::new(), vec![Vec::new(); self.lambdas.len()]);
        for cell in cells.of_fold(partition, fold) {
            self.control.check()?;
            for (query, mut scores) in parts.scores(cell, &functions) {
                held_out.push(query);
                if !self.start.is_empty() {
                    let start = &self.start[self.data.rows(query)];
                    let add = |scores: &mut Vec<f64>| {
                        scores.iter_mut().zip(start).for_each(|(score, start)| *score += start);
                    };
                    scores.iter_mut().for_each(add);
                }
                for ((scores, w), values) in scores.iter().zip(&fits).zip(&mut values[tried.clone()]) {
                    let value = || metric.finite_value(self.data.labels(query), scores);
                    values.push(if w.is_some() { value()? } else { None });
                }
            }
        }
        let mut kept = Vec::new();
        if self.spec.keeps_scores {
            kept.resize(self.lambdas.len(), Vec::new());
            kept.splice(tried, functions);
        }
        Ok((held_out, values, kept))
    }
}

/// The mean over all held-out queries for each lambda.
pub(super) fn curve(spec: &AutoSpec, data: &Dataset, lambdas: &[f64], folds: &[FoldValues]) -> Curve {
    let mean = |index: usize| {
        let mut mean = Mean::new(spec.validation.metric.def(), spec.validation.undefined);
        for (held_out, values, _) in folds {
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

/// For each query that folds held out its mean value with the chosen lambda and its weight (`n_queries`).
pub(super) fn of_queries(
    spec: &AutoSpec,
    data: &Dataset,
    folds: &[FoldValues],
    chosen: Option<usize>,
) -> Vec<Option<(f64, f64)>> {
    // The sum of values, their number, and the weight.
    let mut sums = vec![(0.0, 0.0, 0.0); data.n_queries()];
    let counted = Mean::new(spec.validation.metric.def(), spec.validation.undefined);
    for (held_out, of_lambda, _) in folds.iter().filter(|_| chosen.is_some()) {
        for (query, value) in held_out.iter().zip(&of_lambda[chosen.unwrap_or(0)]) {
            if let Some((value, weight)) = counted.weighted(*value, data.labels(*query)) {
                let (sum, times, _) = sums[*query];
                sums[*query] = (sum + value, times + 1.0, weight);
            }
        }
    }
    let of_query = |(sum, times, weight)| (times > 0.0).then(|| (sum / times, weight));
    sums.into_iter().map(of_query).collect()
}

// Folds of the queries, and cells: the queries that share their folds in some partitions.

/// Folds of each partition.
pub(super) const FOLDS: usize = 5;

/// A fold of a partition.
#[derive(Clone, Copy)]
struct Fold {
    partition: usize,
    number: usize,
}

/// Several partitions of the queries into folds.
pub(super) struct Partitions {
    /// The folds of each partition.
    folds: Vec<Folds>,
}

/// The queries of some partitions.
pub(super) struct Cells {
    /// The queries of each cell. The last one has those that are never held out.
    pub queries: Vec<Vec<usize>>,
    /// Number of partitions.
    pub partitions: usize,
    /// Whether a fold trains on earlier folds only, and on queries that are never held out.
    is_forward: bool,
}

impl Partitions {
    /// Partitions the judged queries. With means of categories the folds of a partition share no sums, so there is only one; in an
    /// order too. A sample of many documents may have one group or place: then its queries are on their own.
    ///
    /// # Errors
    /// As [`Folds::by_query`].
    pub fn new(spec: &AutoSpec, data: &Dataset, is_sample: bool) -> Result<Self> {
        let judged = judged_queries(data);
        let is_one = data.has_means() || !data.fold_keys.order.is_empty();
        let count = if is_one { 1 } else { spec.effort.partitions };
        let folds = |number: usize| Folds::of_number(data, &judged, FOLDS, spec.seed ^ number as u64);
        match (0..count).map(folds).collect() {
            Err(_) if is_sample => {
                let numbers = fold_numbers(&data.query_ids, &judged, FOLDS, spec.seed);
                Ok(Self { folds: vec![Folds::of_numbers(numbers)] })
            }
            folds => Ok(Self { folds: folds? }),
        }
    }

    /// What is held out of `all` queries.
    pub fn split(&self, all: usize) -> Split {
        match (self.folds[0].split(), self.folds.len()) {
            (Split::Queries { held_out, folds, by, .. }, times) if times > 1 => {
                Split::RepeatedQueries { held_out, all, times, folds, by }
            }
            (Split::Queries { held_out, folds, by, .. }, _) => Split::Queries { held_out, all, folds, by },
            (other, _) => other,
        }
    }

    /// The queries that are held out.
    pub fn held_out(&self) -> Vec<usize> {
        let of_query = &self.folds[0].of_query;
        (0..of_query.len()).filter(|query| of_query[*query].is_some()).collect()
    }

    /// The cells of each group of `together` partitions.
    pub fn cells(&self, together: usize) -> impl Iterator<Item = Cells> {
        self.folds.chunks(together).map(|folds| {
            let of_queries: Vec<&[Option<usize>]> = folds.iter().map(|folds| &folds.of_query[..]).collect();
            Cells::new(&of_queries, folds[0].is_forward())
        })
    }
}

impl Cells {
    fn new(partitions: &[&[Option<usize>]], is_forward: bool) -> Self {
        let cells = FOLDS.pow(partitions.len() as u32);
        let mut queries = vec![Vec::new(); cells + 1];
        for query in 0..partitions[0].len() {
            let add = |cell: Option<usize>, folds: &&[Option<usize>]| Some(cell? * FOLDS + folds[query]?);
            queries[partitions.iter().fold(Some(0), add).unwrap_or(cells)].push(query);
        }
        Self { queries, partitions: partitions.len(), is_forward }
    }

    /// A single fold: one cell is held out, the other is not.
    fn single_fold(&self, partition: usize, fold: usize) -> Self {
        let queries = |is_wanted: &dyn Fn(usize) -> bool| {
            let cells = (0..self.queries.len()).filter(|cell| is_wanted(self.fold(*cell, partition)));
            cells.flat_map(|cell| &self.queries[cell]).copied().collect()
        };
        let queries = vec![queries(&|of| of == fold), queries(&|of| self.trains(of, fold))];
        Self { queries, partitions: 1, is_forward: false }
    }

    /// The fold of a cell in a partition; [`FOLDS`] for queries that are never held out.
    pub fn fold(&self, cell: usize, partition: usize) -> usize {
        let digit = (self.partitions - 1 - partition) as u32;
        if cell + 1 < self.queries.len() { cell / FOLDS.pow(digit) % FOLDS } else { FOLDS }
    }

    /// Whether the cells of a fold are in another fold's training part.
    pub fn trains(&self, cells_of: usize, fold: usize) -> bool {
        cells_of == FOLDS || if self.is_forward { cells_of < fold } else { cells_of != fold }
    }

    /// The cells with this fold in a partition.
    pub fn of_fold(&self, partition: usize, fold: usize) -> impl Iterator<Item = usize> {
        (0..self.queries.len()).filter(move |cell| self.fold(*cell, partition) == fold)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_has_the_queries_with_its_folds() {
        let partitions: Vec<Vec<Option<usize>>> = [7, 3]
            .map(|step| (0..60).map(|query| (query % 4 > 0).then_some(query * step / 2 % FOLDS)).collect())
            .into();
        for count in [1, 2] {
            let parts: Vec<&[Option<usize>]> = partitions[..count].iter().map(Vec::as_slice).collect();
            let cells = Cells::new(&parts, false);
            assert_eq!(cells.queries.iter().map(Vec::len).sum::<usize>(), 60);
            for (number, folds) in partitions[..count].iter().enumerate() {
                for fold in 0..=FOLDS {
                    let mut actual: Vec<usize> =
                        cells.of_fold(number, fold).flat_map(|cell| cells.queries[cell].clone()).collect();
                    actual.sort_unstable();
                    let expected: Vec<usize> =
                        (0..60).filter(|query| folds[*query].unwrap_or(FOLDS) == fold).collect();
                    assert_eq!(actual, expected, "{count} partitions, {number}, fold {fold}");
                }
            }
        }
    }
}
