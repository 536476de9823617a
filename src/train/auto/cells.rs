//! Folds of the queries, and the cells of queries that share their folds in some partitions.

use super::{AutoSpec, judged_queries};
use crate::data::Dataset;
use crate::train::select::{Split, fold_numbers};

/// Folds of each partition.
pub(super) const FOLDS: usize = 5;

/// Several partitions of the queries into folds.
pub(super) struct Partitions {
    /// For each partition the fold of each query; `None` for queries that are never held out.
    folds: Vec<Vec<Option<usize>>>,
}

/// The queries of some partitions.
pub(super) struct Cells {
    /// The queries of each cell. The last one has those that are never held out.
    pub queries: Vec<Vec<usize>>,
    /// Number of partitions.
    pub partitions: usize,
}

impl Partitions {
    /// Partitions the judged queries.
    pub fn new(spec: &AutoSpec, data: &Dataset) -> Self {
        let judged = judged_queries(data);
        let folds = |number: usize| fold_numbers(&data.query_ids, &judged, FOLDS, spec.seed ^ number as u64);
        Self { folds: (0..spec.effort.partitions).map(folds).collect() }
    }

    /// The queries that are held out.
    pub fn held_out(&self) -> Vec<usize> {
        (0..self.folds[0].len()).filter(|query| self.folds[0][*query].is_some()).collect()
    }

    /// The cells of each group of so many partitions.
    pub fn cells(&self, together: usize) -> impl Iterator<Item = Cells> {
        self.folds.chunks(together).map(Cells::new)
    }
}

impl Cells {
    fn new(partitions: &[Vec<Option<usize>>]) -> Self {
        let cells = FOLDS.pow(partitions.len() as u32);
        let mut queries = vec![Vec::new(); cells + 1];
        for query in 0..partitions[0].len() {
            let add = |cell: Option<usize>, folds: &Vec<Option<usize>>| Some(cell? * FOLDS + folds[query]?);
            queries[partitions.iter().fold(Some(0), add).unwrap_or(cells)].push(query);
        }
        Self { queries, partitions: partitions.len() }
    }

    /// The fold of a cell in a partition; [`FOLDS`] for queries that are never held out.
    pub fn fold(&self, cell: usize, partition: usize) -> usize {
        let digit = (self.partitions - 1 - partition) as u32;
        if cell + 1 < self.queries.len() { cell / FOLDS.pow(digit) % FOLDS } else { FOLDS }
    }

    /// The cells with this fold in a partition.
    pub fn of_fold(&self, partition: usize, fold: usize) -> impl Iterator<Item = usize> {
        (0..self.queries.len()).filter(move |cell| self.fold(*cell, partition) == fold)
    }
}

/// What is held out.
pub fn split(partitions: usize, held_out: usize, all: usize) -> Split {
    match partitions {
        1 => Split::Queries { held_out, all, folds: FOLDS },
        times => Split::RepeatedQueries { held_out, all, times, folds: FOLDS },
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
            let cells = Cells::new(&partitions[..count]);
            assert_eq!(cells.queries.iter().map(Vec::len).sum::<usize>(), 60);
            for (number, folds) in partitions[..count].iter().enumerate() {
                for fold in 0..=FOLDS {
                    let mut found: Vec<usize> =
                        cells.of_fold(number, fold).flat_map(|cell| cells.queries[cell].clone()).collect();
                    found.sort_unstable();
                    let expected: Vec<usize> =
                        (0..60).filter(|query| folds[*query].unwrap_or(FOLDS) == fold).collect();
                    assert_eq!(found, expected, "{count} partitions, {number}, fold {fold}");
                }
            }
        }
    }
}
