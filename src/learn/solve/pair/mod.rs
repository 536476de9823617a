//! Weighted pairwise losses in a space of linear functions:
//!
//! ```text
//! min_w P(w) = sum_g c_g sum over pairs (a, b) of query g, y_a > y_b, of L(s_a - s_b) + v.w + lambda |w - w0|^2
//!
//! c_g    weight of each pair of the query; with pair weights (`weights`) c of a pair is c_g times its weight
//! L      loss of a pair; the default is the hinge max(0, 1 - (s_a - s_b))
//! v, w0  linear term and center of the penalty; the default is 0
//! s = X w                scores of the m documents with b features
//! z = x_a - x_b          a pair; T pairs
//! u = 1 - (s_a - s_b)    its violation
//! ```
//!
//! Problem (3.7) of Dai and Wang (2019) has `c_g = 2 pi_g / (n N_g (N_g - 1))`; rank-SVM has equal `pi_g`. The dual of
//! the hinge is
//!
//! ```text
//! max D(alpha) = sum of alpha + lambda |w0|^2 - |X'g + t|^2 / (4 lambda)    over 0 <= alpha <= c
//!
//! t   = 2 lambda w0 - v
//! g_j = (sum of alpha over pairs with j as the better document)
//!     - (sum of alpha over pairs with j as the worse one),    so X'g = sum of alpha z
//! ```
//!
//! Every solution is certified by an explicit alpha:
//!
//! ```text
//! P(w) - D(alpha) = [sum of c max(u, 0) - sum of alpha u] + |2 lambda w - X'g - t|^2 / (4 lambda)
//! ```
//!
//! `newton` is Newton's method on scores: a pass over all pairs reads no feature and stores nothing per pair. `admm`
//! stores a number per pair. For any solver, `reduce` shrinks problems with fewer documents than
//! features, and `psi` solves the nonconvex psi loss by a sequence of hinge problems.
//!
//! | file | contents |
//! |---|---|
//! | `problem`, `path` | the problem; solutions for several lambdas |
//! | `newton/`, `admm`, `admm_pairs` | the solvers |
//! | `psi`, `reduce`, `weights`, `risk` | the psi loss; fewer documents than features; pair weights; smooth risks |
//! | `block` | a prepared query |

pub mod admm;
mod admm_pairs;
mod block;
mod newton;
mod path;
mod problem;
mod psi;
mod reduce;
mod risk;
#[cfg(test)]
mod tests;
mod weights;

pub use admm::ADMM;
pub use block::PairBlock;
pub use newton::{
    AskHinge, NEWTON, NEWTON_ON_PAIRS, RemoteProblem, hinge_origin, hinge_origin_len, hinge_sums,
    hinge_sums_len, hinge_sums_pairs, largest_chunk_count, product_bytes, solve_hinge,
};
pub use path::{path, solve};
pub use problem::{PairProblem, objective_by_definition};
pub use reduce::reduced_dim;
pub use risk::PairRisk;
pub use weights::PairWeighting;
