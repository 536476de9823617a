//! Listwise losses in a space of linear functions:
//!
//! ```text
//! min_w P(w) = R(w) + lambda |w - w0|^2,     R(w) = sum_q c_q L_q(X_q w)
//!
//! L_q    the loss of query q, a function of its scores; c_q >= 0 its weight
//! X_q    its documents (N_q, b); w0 is 0 by default
//! ```
//!
//! P is strongly convex if the losses are convex. Then P(w) - min P <= |g|^2 / (4 lambda) for each subgradient g of P at
//! w. This certifies solutions of smooth losses. Solvers of other losses compute their own lower bounds.
//!
//! | file | contents |
//! |---|---|
//! | `problem`, `path` | the problem; solutions for several lambdas |
//! | `methods` | the method for each shape of loss: L-BFGS, Newton, bundle |
//! | `least_squares`, `gram` | quadratic losses; their sums |
//! | `nonconvex`, `stochastic`, `constraint_generation` | other solvers |
//! | `penalties` | ball, sphere, eigenpairs, L1 |
//! | `block`, `pass` | a prepared query; passes over documents |

mod block;
mod constraint_generation;
mod gram;
mod least_squares;
mod methods;
mod nonconvex;
mod pass;
mod path;
mod penalties;
mod problem;
mod stochastic;
#[cfg(test)]
mod tests;

pub use block::{ListBlock, Rows};
pub use constraint_generation::CONSTRAINT_GENERATION;
pub use gram::Gram;
pub use least_squares::{LEAST_SQUARES, Slabs, fits_single_precision, path_of_sums as least_squares_of_sums};
pub use methods::{AUTO_ON_LISTS, BUNDLE, LBFGS, NEWTON_ON_LISTS};
pub use path::path;
pub use penalties::{
    Cut, ball_path, l1_path, largest_lambda as largest_l1_lambda, spectral_of_sums, spectral_path,
    sphere_path,
};
pub use problem::ListProblem;
pub use stochastic::STOCHASTIC;
