//! The documents of a trial in the space of a candidate, and the sums of least squares over parts of them.
//!
//! Kernel features are in single precision if that has enough digits (`kernel::SingleMap`), otherwise in double precision, as
//! the features of linear functions.

use std::ops::Range;
use std::sync::Arc;

use super::prepared::{FEWER, Prepared, block, doc_weights};
use crate::base::{Control, Reservation, Result, matrix_bytes, parallel};
use crate::cost::loss::{QueryLoss, least_squares};
use crate::data::Dataset;
use crate::learn::solve::{Gram, ListBlock, Slabs, StopRule};
use crate::learn::space::Scorer;
use crate::math::projected_gradient::minimize_signed_path;
use crate::math::{PANEL, Panels, Row, SingleSums, panels_for, rows_times, solve_last_column};
use crate::train::averaged::weight;

pub use super::prepared::reserve_blocks;

/// The documents of a trial in parts of queries.
pub(super) enum Parts {
    Single(Vec<Part>),
    Double(Vec<(ListBlock, f64)>, Vec<Vec<usize>>),
}

/// A query, and its rows of a slab.
type QueryRows = (usize, Range<usize>);

/// The queries of a part, in slabs.
pub(super) struct Part {
    /// For each slab its queries.
    slabs: Vec<(Panels, Vec<QueryRows>)>,
    dim: usize,
}

/// Sums over some parts.
pub(super) enum FoldSums {
    Single(SingleSums),
    Double(Gram),
}

/// The loss of a query. With the [`weight`] of the query each document counts as often as its weight says.
pub(super) fn query_loss(data: &Dataset, query: usize) -> Box<dyn QueryLoss> {
    let (loss, labels) = (least_squares(), data.labels(query));
    let weighted = Some(doc_weights(data, query)).filter(|weights| !weights.is_empty());
    let weighted = weighted.and_then(|weights| loss.prepare_weighted(labels, weights));
    weighted.unwrap_or_else(|| loss.prepare(labels, &[]))
}

impl Parts {
    /// Reserves the bytes of the documents, of `sums` sums over them, and of a solution on each thread.
    ///
    /// # Errors
    /// [`Error::Memory`](crate::base::error::Error::Memory).
    pub fn reserve(prepared: &Prepared, sums: usize, control: &Control) -> Result<Reservation> {
        let (documents, dim) = (prepared.data.n_docs(), prepared.space.dim());
        if prepared.single.is_none() {
            return reserve_blocks(&prepared.space, documents, sums, control);
        }
        // A solution has a factor, and sums in double precision if single precision has none.
        let [rows, factor] = [documents, dim + PANEL].map(|rows| Panels::bytes(rows, dim + 1));
        let solution = factor.saturating_add(matrix_bytes(2 * (dim + PANEL), dim + PANEL));
        let solutions = solution.saturating_mul(parallel::threads() as u64);
        let sums = SingleSums::bytes(dim + 1).saturating_mul(sums as u64);
        let bytes = rows.saturating_add(sums).saturating_add(solutions);
        let what = format_args!("fitting {documents} documents in a space of {dim} landmarks");
        control.reserve(bytes, what, FEWER)
    }

    /// Maps scaled documents to the space of a candidate. `parts`: the queries of each part.
    pub fn new(
        prepared: &Prepared,
        data: &Arc<Dataset>,
        parts: Vec<Vec<usize>>,
        control: &Control,
    ) -> Result<Self> {
        let space = &prepared.space;
        let Some(map) = &prepared.single else {
            let blocks = parallel::try_map(data.n_queries(), |query| block(space, data, query, control))?;
            return Ok(Self::Double(blocks, parts));
        };
        let queries = queries(data);
        let loss = |query: usize| Ok(query_loss(data, query));
        let slabs = Slabs { map, features: &data.features, queries: &queries, loss: &loss };
        let part = |queries: &Vec<usize>| -> Result<Part> {
            let slab = |members: &[usize]| {
                let mut start = 0;
                let place = |query: &usize| {
                    let rows = start..start + data.rows(*query).len();
                    start = rows.end;
                    (*query, rows)
                };
                Ok((slabs.slab(members, control)?, members.iter().map(place).collect()))
            };
            let slabs = slabs.partition(queries).into_iter().map(slab).collect::<Result<_>>()?;
            Ok(Part { slabs, dim: space.dim() })
        };
        Ok(Self::Single(parallel::try_map(parts.len(), |number| part(&parts[number]))?))
    }

    /// The sums over each of these parts.
    pub fn sums(&self, numbers: Range<usize>, dim: usize, control: &Control) -> Result<Vec<FoldSums>> {
        match self {
            Self::Single(parts) => parallel::try_map(numbers.len(), |number| {
                control.check()?;
                let mut sums = SingleSums::zero(dim + 1);
                sums.add(
                    &parts[numbers.start + number]
                        .slabs
                        .iter()
                        .map(|(slab, _)| slab)
                        .collect::<Vec<&Panels>>(),
                );
                Ok(FoldSums::Single(sums))
            }),
            Self::Double(blocks, parts) => {
                let gram = |queries: &Vec<usize>| {
                    let queries: Vec<(&ListBlock, f64)> =
                        queries.iter().map(|query| (&blocks[*query].0, blocks[*query].1)).collect();
                    control.check()?;
                    Gram::of(dim, &queries).map(FoldSums::Double)
                };
                parts[numbers].iter().map(gram).collect()
            }
        }
    }

    /// Scores of the documents of the queries of a part by these functions, up to a constant for each query: for each query
    /// a vector for each function.
    pub fn scores(&self, part: usize, functions: &[Vec<f64>]) -> Vec<(usize, Vec<Vec<f64>>)> {
        match self {
            Self::Single(parts) => parts[part].scores(functions),
            Self::Double(blocks, parts) => {
                let of_query =
                    |query: &usize| (*query, functions.iter().map(|w| blocks[*query].0.scores(w)).collect());
                parts[part].iter().map(of_query).collect()
            }
        }
    }
}

/// The documents of each query, and its weight.
pub(super) fn queries(data: &Dataset) -> Vec<(Range<usize>, f64)> {
    let query = |query: usize| (data.rows(query), weight(data, query));
    (0..data.n_queries()).map(query).collect()
}

impl Part {
    fn scores(&self, functions: &[Vec<f64>]) -> Vec<(usize, Vec<Vec<f64>>)> {
        let weights: Vec<Vec<Row>> = functions.iter().map(|w| in_panels(w)).collect();
        let mut scores = Vec::new();
        for (slab, queries) in &self.slabs {
            let panels: Vec<&[Row]> = (0..panels_for(self.dim)).map(|panel| slab.panel(panel)).collect();
            let mut products = vec![0.0; slab.rows() * functions.len()];
            rows_times(&panels, &weights, &mut products);
            for (query, rows) in queries {
                let of_function = |function: usize| {
                    rows.clone().map(|row| products[row * functions.len() + function]).collect()
                };
                scores.push((*query, (0..functions.len()).map(of_function).collect()));
            }
        }
        scores
    }
}

/// A function as a row for each panel.
fn in_panels(w: &[f64]) -> Vec<Row> {
    let row = |w: &[f64]| {
        let mut row = Row::ZERO;
        row.values_mut().iter_mut().zip(w).for_each(|(value, w)| *value = *w as f32);
        row
    };
    w.chunks(PANEL).map(row).collect()
}

/// The minimum of least squares with this ridge and these signs of weights; after an interruption another point.
pub(super) fn signed_least_squares(sums: &Gram, ridge: f64, signs: &[i8], control: &Control) -> Vec<f64> {
    let rule = StopRule { tolerance: 1e-8, max_iterations: 2000 };
    let last = minimize_signed_path(sums, signs, &[0.5 * ridge], &rule, control).pop();
    last.map_or_else(|| vec![0.0; sums.dim()], |solution| solution.w)
}

impl FoldSums {
    /// Adds the sums over other parts, in the same precision.
    pub fn add(&mut self, other: &Self) {
        match (self, other) {
            (Self::Single(sums), Self::Single(other)) => sums.add_sums(other),
            (Self::Double(sums), Self::Double(other)) => sums.add(other),
            _ => {}
        }
    }

    pub fn copied(&self) -> Self {
        match self {
            Self::Single(sums) => Self::Single(sums.clone()),
            Self::Double(sums) => Self::Double(sums.clone()),
        }
    }

    /// The function with this ridge and these signs of weights, which may be empty; `None` if features are so large that there is none.
    pub fn solve(&self, ridge: f64, signs: &[i8], control: &Control) -> Option<Vec<f64>> {
        match self {
            Self::Single(sums) if !signs.is_empty() => {
                Some(signed_least_squares(&Gram::of_single(sums), ridge, signs, control))
            }
            Self::Double(sums) if !signs.is_empty() => {
                Some(signed_least_squares(sums, ridge, signs, control))
            }
            Self::Single(sums) => {
                let single = solve_last_column(sums, ridge);
                single.or_else(|| Gram::of_single(sums).solve(0.5 * ridge, None))
            }
            Self::Double(sums) => sums.solve(0.5 * ridge, None),
        }
    }
}
