//! Memory of solvers: upper bounds of the bytes that they allocate besides the prepared queries. They are reserved
//! before a problem is solved. The vectors of all methods are counted here; the `SolverDef` of a method adds its `bytes`.

use super::list::ListProblem;
use super::pair::{PairProblem, reduced_dim};
use super::solver::SolverDef;
use crate::base::{bytes_of, matrix_bytes};
use crate::math::LANES;

/// Vectors of weights that iterative methods keep: 20 steps and gradients of L-BFGS, and the vectors of an iteration.
const WEIGHT_VECTORS: usize = 60;

/// Vectors of one number per document.
const SCORE_VECTORS: usize = 12;

/// Planes that cutting planes keep, about.
const PLANES: usize = 100;

/// Rows of documents that are copied at a time for least squares.
const COPIED_ROWS: usize = 2048;

/// Memory in bytes of a pairwise solver.
pub fn pair_bytes(problem: &PairProblem<'_>, solver: &SolverDef) -> u64 {
    let documents: usize = problem.blocks.iter().map(|(block, _)| block.n_docs()).sum();
    // 1. A problem with more features than documents is copied with fewer.
    let dim = reduced_dim(problem, documents);
    let copied = if dim == problem.dim {
        0
    } else {
        let both = matrix_bytes(documents, problem.dim + LANES)
            .saturating_add(matrix_bytes(documents, documents + LANES));
        both.saturating_mul(2)
    };
    let vectors = vectors_bytes(documents, dim);
    // 2. The method.
    let method = solver.pair.map_or(0, |method| (method.bytes)(problem, dim));
    copied.saturating_add(vectors).saturating_add(method)
}

/// Memory in bytes for the vectors of iterative methods.
fn vectors_bytes(documents: usize, dim: usize) -> u64 {
    matrix_bytes(documents, SCORE_VECTORS).saturating_add(matrix_bytes(dim, WEIGHT_VECTORS))
}

/// Memory in bytes of a listwise solver.
pub fn list_bytes(problem: &ListProblem<'_>, solver: &SolverDef) -> u64 {
    let method = solver.list.map_or(0, |method| (method.bytes)(problem));
    vectors_bytes(problem.documents(), problem.dim()).saturating_add(method)
}

/// Bytes of the planes of cutting planes.
pub fn plane_bytes(problem: &ListProblem<'_>) -> u64 {
    matrix_bytes(problem.dim() + PLANES, 3 * PLANES)
}

/// Bytes of a solver with an L1 penalty: a matrix over features twice, and planes or copied documents.
pub fn l1_bytes(problem: &ListProblem<'_>) -> u64 {
    let (dim, documents) = (problem.dim() + LANES, problem.documents());
    let copied = bytes_of::<f64>(3 * COPIED_ROWS.min(documents)).saturating_mul(dim as u64);
    let planes = matrix_bytes(dim, 3 * PLANES);
    let square = matrix_bytes(dim, dim).saturating_mul(3);
    vectors_bytes(documents, dim).saturating_add(square).saturating_add(copied).saturating_add(planes)
}

/// Memory in bytes of the eigenpairs of a least-squares problem.
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
