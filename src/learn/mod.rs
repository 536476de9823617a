//! Fitting one ranking function: spaces and kernels, query weights, optimization problems and their solvers.
//!
//! | file | contents |
//! |---|---|
//! | `kernel/`, `space/` | vectors of documents |
//! | `smoothing/` | weights of queries |
//! | `solve/` | problems, solvers, certified gaps |
//! | `fit/` | which queries with which weights; conflicts of choices |

pub mod fit;
pub mod kernel;
pub mod smoothing;
pub mod solve;
pub mod space;
