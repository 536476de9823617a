//! Bytes that solvers allocate besides the prepared queries: upper bounds, to be reserved before a problem is solved.

use super::SolverDef;
use super::list::ListProblem;
use super::pair::{PairProblem, largest_chunk_count, product_bytes, reduced_dim};
use crate::base::memory::{bytes_of, matrix_bytes};
use crate::base::parallel;
use crate::cost::loss::{PairLoss, Shape};
use crate::math::lanes::LANES;
use crate::math::single_products::SingleProducts;

/// Vectors of weights that iterative methods keep: 20 steps and gradients of L-BFGS and those of an iteration.
const WEIGHT_VECTORS: usize = 60;
/// Vectors of one number per document.
const SCORE_VECTORS: usize = 12;
/// Planes that cutting planes keep, about.
const PLANES: usize = 100;
/// Rows of documents that are copied at a time for least squares.
const COPIED_ROWS: usize = 2048;

/// Bytes of a solver of a pairwise problem.
pub fn pair_bytes(problem: &PairProblem<'_>, solver: &SolverDef) -> u64 {
    let sizes = || problem.blocks().iter().map(|(block, _)| block);
    let documents: usize = sizes().map(|block| block.n_docs()).sum();
    let longest = sizes().map(|block| block.n_docs()).max().unwrap_or(0);
    let pairs: u64 = sizes().map(|block| block.pairs()).sum();
    // 1. A problem with more features than documents is copied with fewer.
    let dim = reduced_dim(problem, documents);
    let copied = if dim == problem.dim() {
        0
    } else {
        let both = matrix_bytes(documents, problem.dim() + LANES)
            .saturating_add(matrix_bytes(documents, documents + LANES));
        both.saturating_mul(2)
    };
    let vectors = vectors_bytes(documents, dim);
    let method = if solver.name == "admm" {
        // 2. A multiplier of each pair.
        pairs.saturating_mul(8)
    } else {
        // 3. Newton: Hessians of chunks, the product of a graph of pairs and the documents, products of documents, and
        // curvatures of the pairs of a query.
        let square = matrix_bytes(dim + LANES, dim + LANES);
        let hessians = square.saturating_mul(4 + largest_chunk_count(problem, dim));
        let threads = parallel::threads() as u64;
        let of_pairs = match problem.loss() {
            // Its multipliers are reserved if they become necessary.
            PairLoss::Hinge | PairLoss::Psi => matrix_bytes(longest, 3 * (dim + 2 * LANES))
                .saturating_add(SingleProducts::bytes(dim + LANES).saturating_mul(threads))
                .saturating_add(product_bytes(documents, dim)),
            _ => matrix_bytes(longest, longest + LANES).saturating_mul(threads),
        };
        hessians.saturating_add(of_pairs)
    };
    copied.saturating_add(vectors).saturating_add(method)
}

/// Bytes of the vectors that iterative methods keep.
fn vectors_bytes(documents: usize, dim: usize) -> u64 {
    matrix_bytes(documents, SCORE_VECTORS).saturating_add(matrix_bytes(dim, WEIGHT_VECTORS))
}

/// Bytes of a solver of a listwise problem.
pub fn list_bytes(problem: &ListProblem<'_>, solver: &SolverDef) -> u64 {
    let (dim, documents) = (problem.dim(), problem.documents());
    let vectors = vectors_bytes(documents, dim);
    let method = match problem.loss().shape() {
        Shape::Quadratic => least_squares_bytes(dim, documents),
        Shape::Smooth => 0,
        _ => matrix_bytes(dim + PLANES, 3 * PLANES),
    };
    let per_query = if solver.name == "constraint_generation" { problem.blocks().len() } else { 0 };
    vectors.saturating_add(method).saturating_add(matrix_bytes(per_query, 5 * dim))
}

/// Bytes of a solver with an L1 penalty: a matrix over features twice, and planes or copied documents.
pub fn l1_bytes(problem: &ListProblem<'_>) -> u64 {
    let (dim, documents) = (problem.dim() + LANES, problem.documents());
    let copied = bytes_of::<f64>(3 * COPIED_ROWS.min(documents)).saturating_mul(dim as u64);
    let planes = matrix_bytes(dim, 3 * PLANES);
    let square = matrix_bytes(dim, dim).saturating_mul(3);
    vectors_bytes(documents, dim).saturating_add(square).saturating_add(copied).saturating_add(planes)
}

/// Bytes of the eigenpairs of a least-squares problem.
pub fn spectral_bytes(dim: usize) -> u64 {
    least_squares_bytes(dim, dim).saturating_add(matrix_bytes(dim, 4 * dim))
}

/// Bytes of the system over features, or over documents if they are fewer.
pub fn least_squares_bytes(dim: usize, documents: usize) -> u64 {
    let smaller = dim.min(documents) + 2 * LANES;
    let columns = if documents < dim { matrix_bytes(documents, 2 * dim) } else { 0 };
    let copied = bytes_of::<f64>(3 * COPIED_ROWS.min(documents)).saturating_mul(dim as u64 + 1);
    matrix_bytes(smaller, 2 * smaller).saturating_add(columns).saturating_add(copied)
}
