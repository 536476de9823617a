//! Least squares by a linear system, for quadratic losses; over very many documents from sums in single precision.
//!
//! ```text
//! (A + 2 lambda I) w = b + 2 lambda w0                              A = Z'Z (`gram`)
//! (A + 2 lambda I)^-1 g = (g - Z'(Z Z' + 2 lambda I)^-1 Z g) / (2 lambda)    if documents are fewer than features
//! ```
//!
//! One pass over the documents computes the matrix. Each lambda needs a factor of it and a pass, whose gradient g certifies
//! the solution by |g|^2 / (4 lambda). If the gap is too large, w - (A + 2 lambda I)^-1 g is the next solution. If the
//! matrix has no factor in double precision, L-BFGS solves the problem.

use std::ops::Range;

use super::ListProblem;
use super::gram::{Gram, Outer, scaled_rows};
use crate::base::{Control, Error, Reservation, Result, matrix_bytes, parallel};
use crate::cost::loss::{Quadratic, QueryLoss, Shape};
use crate::data::{Dataset, Matrix};
use crate::learn::kernel::SingleMap;
use crate::learn::solve::{ListMethod, SolverDef, least_squares_bytes};
use crate::math::{
    Best, Method, PANEL, Panels, Point, Ridge, Row, SingleSums, Solution, StopRule, axpy, difference, dot,
    iterate, lbfgs, panels_for, solve_path,
};

const MOST_CORRECTIONS: usize = 5;

pub(super) const METHOD: ListMethod = ListMethod {
    shapes: &[Shape::Quadratic],
    path,
    bytes: |problem| least_squares_bytes(problem.dim(), problem.documents()),
};

pub const LEAST_SQUARES: SolverDef = SolverDef { name: "least_squares", pair: None, list: Some(METHOD) };

fn path(problem: &ListProblem<'_>, lambdas: &[f64], rule: &StopRule, control: &Control) -> Vec<Solution> {
    let objective = Ridge { risk: problem, lambda: 0.0, center: problem.center() };
    solve_all(objective, System::new(problem), problem.start(), lambdas, rule, control)
}

/// The solutions for each lambda, from the sums over documents, without a center.
pub fn path_of_sums(gram: &Gram, lambdas: &[f64], rule: &StopRule, control: &Control) -> Vec<Solution> {
    let system = System::Features(gram.clone());
    let objective = Ridge { risk: gram, lambda: 0.0, center: None };
    solve_all(objective, Some(system), vec![0.0; gram.dim()], lambdas, rule, control)
}

/// Solves for each lambda instead of the one of `objective`.
fn solve_all(
    objective: Ridge<'_>,
    mut system: Option<System>,
    mut start: Vec<f64>,
    lambdas: &[f64],
    rule: &StopRule,
    control: &Control,
) -> Vec<Solution> {
    solve_path(lambdas, |lambda, _| {
        let ridge = Ridge { lambda, ..objective };
        let direct = system.as_ref().and_then(|system| solve(ridge, system, &start, rule, control));
        direct.unwrap_or_else(|| {
            // Smaller lambdas would have no factor either.
            system = None;
            let solution = lbfgs::minimize(&ridge, start.clone(), rule, control);
            start.clone_from(&solution.w);
            solution
        })
    })
}

/// The smaller of both systems.
enum System {
    /// Over features.
    Features(Gram),
    /// Over documents: Z Z' and the columns of Z.
    Documents(Outer, Vec<f64>),
}

impl System {
    /// `None` if the loss is not quadratic.
    fn new(problem: &ListProblem<'_>) -> Option<Self> {
        let (dim, documents) = (problem.dim(), problem.documents());
        // Without documents (all neighbors too far away) the matrix over features is 0 and the solution is the prior.
        if documents >= dim || documents == 0 {
            return Gram::of(dim, &problem.blocks).ok().map(Self::Features);
        }
        let mut columns = vec![0.0; dim * documents];
        let mut document = 0;
        for (block, weight) in &problem.blocks {
            for row in scaled_rows(block, block.loss(), *weight, dim).ok()?.chunks_exact(dim + 1) {
                (0..dim).for_each(|feature| columns[feature * documents + document] = row[feature]);
                document += 1;
            }
        }
        let mut outer = Outer::zero(documents);
        outer.add_rows(&columns);
        Some(Self::Documents(outer, columns))
    }

    /// The first solution.
    fn first(&self, ridge: &Ridge<'_>, start: &[f64]) -> Option<Vec<f64>> {
        match self {
            Self::Features(gram) => gram.solve(ridge.lambda, ridge.center),
            Self::Documents(..) => Some(start.to_vec()),
        }
    }

    /// (A + 2 lambda I)^-1 g.
    fn inverse_times(&self, lambda: f64, g: &[f64]) -> Option<Vec<f64>> {
        let (outer, columns) = match self {
            Self::Features(gram) => return gram.inverse_times(lambda, g),
            Self::Documents(outer, columns) => (outer, columns),
        };
        let documents = columns.len() / g.len();
        let mut scores = vec![0.0; documents];
        for (column, g) in columns.chunks_exact(documents).zip(g) {
            axpy(*g, column, &mut scores);
        }
        let dual = outer.solve(2.0 * lambda, &scores)?;
        let back = columns.chunks_exact(documents).map(|column| dot(column, &dual));
        Some(g.iter().zip(back).map(|(g, back)| (g - back) / (2.0 * lambda)).collect())
    }
}

/// Solves for one lambda. `None` if the matrix has no factor.
fn solve(
    objective: Ridge<'_>,
    system: &System,
    start: &[f64],
    rule: &StopRule,
    control: &Control,
) -> Option<Solution> {
    let first = system.first(&objective, start)?;
    let mut factor_exists = true;
    let solution = iterate(rule, control, || Refinement {
        objective,
        system,
        point: objective.at(first),
        corrections: 0,
        factor_exists: &mut factor_exists,
    });
    factor_exists.then_some(solution)
}

/// Iterative refinement of a solution.
struct Refinement<'p> {
    objective: Ridge<'p>,
    system: &'p System,
    point: Point,
    corrections: usize,
    factor_exists: &'p mut bool,
}

impl Method for Refinement<'_> {
    fn best(&self) -> Best<'_> {
        self.objective.certify(&self.point)
    }

    fn advance(&mut self, _control: &Control) -> bool {
        self.corrections += 1;
        if self.corrections > MOST_CORRECTIONS {
            return false;
        }
        let Some(change) = self.system.inverse_times(self.objective.lambda, &self.point.gradient) else {
            *self.factor_exists = false;
            return false;
        };
        let next = self.objective.at(difference(&self.point.w, &change));
        let size = |point: &Point| dot(&point.gradient, &point.gradient);
        let improves = size(&next) < size(&self.point);
        if improves {
            self.point = next;
        }
        improves
    }
}

// Sums of least squares over very many documents. Kernel features are computed in slabs of whole queries, in single
// precision, and are never all in memory.
//
// ```text
// slab      the rows of [Z t] of the next queries, until they have [`DOCUMENTS`] documents (`gram`)
// sums      products within slabs in single precision, sums over slabs in double precision (`math::single_sums`)
// ```
//
// Slabs follow from the queries alone. So the bits of the sums do not depend on the number of threads.

/// A slab ends with the query that reaches this number of documents.
const DOCUMENTS: usize = 384;

/// Slabs whose sums are added together.
const AT_ONCE: usize = 8;

/// Queries for least squares in the space of a kernel.
pub struct Slabs<'a> {
    /// The map of documents.
    pub map: &'a SingleMap,
    /// The scaled documents.
    pub features: &'a Matrix,
    /// The documents and the weight c >= 0 of each query.
    pub queries: &'a [(Range<usize>, f64)],
    /// The centered quadratic loss of each query, by its number.
    pub loss: &'a (dyn Fn(usize) -> Result<Box<dyn QueryLoss>> + Sync),
}

/// Bytes of the slabs and sums of [`Slabs::gram`] for queries of at most `longest` documents.
fn slab_bytes(dim: usize, longest: usize) -> u64 {
    let slab = Panels::bytes(DOCUMENTS + longest, dim + 1);
    slab.saturating_mul(AT_ONCE as u64)
        .saturating_add(SingleSums::bytes(dim + 1))
        .saturating_add(matrix_bytes(dim + 1, dim + 1))
}

impl Slabs<'_> {
    /// The sums over these queries, given by their numbers.
    ///
    /// # Errors
    /// A loss that is not quadratic; an interrupt; too little memory.
    pub fn gram(&self, control: &Control) -> Result<Gram> {
        let mut sums = SingleSums::zero(self.map.dim() + 1);
        self.add_to(&mut sums, control)?;
        Ok(Gram::of_single(&sums))
    }

    /// Adds the rows of these queries to sums of others.
    ///
    /// # Errors
    /// As [`Self::gram`].
    pub fn add_to(&self, sums: &mut SingleSums, control: &Control) -> Result<()> {
        let all: Vec<usize> = (0..self.queries.len()).collect();
        let _memory = self.reserve(control)?;
        for slabs in self.partition(&all).chunks(AT_ONCE) {
            let slabs = parallel::try_map(slabs.len(), |number| self.slab(slabs[number], control))?;
            sums.add(&slabs.iter().collect::<Vec<&Panels>>());
        }
        Ok(())
    }

    fn reserve(&self, control: &Control) -> Result<Reservation> {
        let longest = self.queries.iter().map(|(rows, _)| rows.len()).max().unwrap_or(0);
        let what = format_args!("least squares in a space of {} landmarks", self.map.dim());
        control.reserve(slab_bytes(self.map.dim(), longest), what, "use fewer landmarks")
    }

    /// Consecutive queries of each slab.
    pub fn partition<'q>(&self, queries: &'q [usize]) -> Vec<&'q [usize]> {
        let (mut slabs, mut rest) = (Vec::new(), queries);
        while !rest.is_empty() {
            let mut documents = 0;
            let fits = |query: &&usize| {
                let fits = documents < DOCUMENTS;
                documents += self.queries[**query].0.len();
                fits
            };
            let slab;
            (slab, rest) = rest.split_at(rest.iter().take_while(fits).count());
            slabs.push(slab);
        }
        slabs
    }

    /// The rows of [Z t] of these queries.
    ///
    /// # Errors
    /// As [`Self::gram`].
    pub fn slab(&self, queries: &[usize], control: &Control) -> Result<Panels> {
        let rows: Vec<usize> = queries.iter().flat_map(|query| self.queries[*query].0.clone()).collect();
        let dim = self.map.dim();
        let mut slab = Panels::zero(rows.len(), dim + 1);
        self.map.fill(self.features, &rows, &mut slab, control)?;
        let mut start = 0;
        for query in queries {
            let loss = (self.loss)(*query)?;
            let quadratic = loss.quadratic().filter(|quadratic| quadratic.centered);
            let quadratic = quadratic
                .ok_or_else(|| Error::Internal("slabs of a loss without centered squares".to_owned()))?;
            let range = start..start + quadratic.targets.len();
            for (row, target) in range.clone().zip(quadratic.targets) {
                *slab.get_mut(row, dim) = *target as f32;
            }
            for panel in 0..panels_for(dim + 1) {
                center(&mut slab.panel_mut(panel)[range.clone()], &quadratic, self.queries[*query].1);
            }
            start = range.end;
        }
        Ok(slab)
    }
}

/// Largest grade and weight whose sums are far from the ends of single precision.
const LARGEST: f64 = 1e6;

/// Whether sums over a data set are far from the ends of single precision: where they would overflow or vanish.
pub fn fits_single_precision(data: &Dataset) -> bool {
    let weighs = |weight: &f64| *weight <= 0.0 || (1.0 / LARGEST..=LARGEST).contains(weight);
    data.relevance.iter().all(|grade| grade.abs() <= LARGEST)
        && data.weights.iter().chain(&data.doc_weights).all(weighs)
}

/// Subtracts the mean of the query's documents, and multiplies each row by the square root of its weight.
fn center(rows: &mut [Row], quadratic: &Quadratic<'_>, weight: f64) {
    let mut means = [0.0; PANEL];
    for (document, row) in rows.iter().enumerate() {
        let weight = quadratic.weight(document);
        for (mean, value) in means.iter_mut().zip(row.values()) {
            *mean += weight * f64::from(*value);
        }
    }
    let total = quadratic.total_weight();
    let means = means.map(|mean| (mean / total) as f32);
    for (document, row) in rows.iter_mut().enumerate() {
        let scale = (weight * quadratic.factor * quadratic.weight(document)).sqrt() as f32;
        for (value, mean) in row.values_mut().iter_mut().zip(&means) {
            *value = (*value - mean) * scale;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::loss::least_squares;
    use crate::data::shaped;
    use crate::learn::kernel::{FeatureMap, KernelSpec, MapOptions};
    use crate::learn::solve::{ListBlock, Rows};
    use crate::math::Random;

    #[test]
    fn sums_of_slabs_match_double_precision() {
        let (documents, width, control) = (900, 6, Control::default());
        let mut random = Random::new(2);
        let values: Vec<f64> = (0..documents * width).map(|_| random.symmetric()).collect();
        let labels: Vec<f64> = (0..documents).map(|row| (row % 5) as f64).collect();
        let features = Matrix::F64(shaped(documents, width, values));
        let kernel = KernelSpec::parse(&serde_json::json!({"gaussian": {"width": 1}})).unwrap();
        let kernel = kernel.fit(&features, 0, &control).unwrap();
        let options = MapOptions::new(70, 0);
        let map = FeatureMap::fit(&kernel, &features, &options, &control).unwrap();
        let single = SingleMap::of(&map).unwrap();
        // 1. Queries of 1 to 400 documents, with weights.
        let ends = [1, 150, 550, 600, 900];
        let starts = [0, 1, 150, 550, 600];
        let queries: Vec<(Range<usize>, f64)> =
            starts.iter().zip(ends).map(|(start, end)| (*start..end, 1.0 + end as f64)).collect();
        let loss = |query: usize| Ok(least_squares().prepare(&labels[queries[query].0.clone()], &[]));
        let slabs = Slabs { map: &single, features: &features, queries: &queries, loss: &loss };
        let found = slabs.gram(&control).unwrap();
        // 2. The same in double precision.
        let block = |(rows, weight): &(Range<usize>, f64)| {
            let phi = map.features(&features, rows.clone(), &control).unwrap();
            let own = Rows::Own(Matrix::F64(shaped(rows.len(), map.dim(), phi)));
            (ListBlock::new(own, &labels[rows.clone()], &[], &least_squares()).unwrap(), *weight)
        };
        let blocks: Vec<(ListBlock, f64)> = queries.iter().map(block).collect();
        let exact = Gram::of(map.dim(), &blocks.iter().map(|(b, w)| (b, *w)).collect::<Vec<_>>()).unwrap();
        let scale = exact.square();
        for (found, exact) in found.numbers().iter().zip(exact.numbers()) {
            assert!((found - exact).abs() < 1e-6 * scale, "{found} {exact}");
        }
        // 3. Solutions.
        for lambda in [1.0, 0.1] {
            let (found, exact) = (found.solve(lambda, None).unwrap(), exact.solve(lambda, None).unwrap());
            let size = exact.iter().fold(0.0_f64, |size, w| size.max(w.abs()));
            assert!(found.iter().zip(&exact).all(|(a, b)| (a - b).abs() < 1e-3 * size));
        }
    }
}
