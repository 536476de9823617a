//! Numerical optimization. These modules know functions of a vector only; queries, documents and losses are in `solve`.
//!
//! | module | method |
//! |---|---|
//! | `driver` | the loop of all methods: stop rule, record of steps, cancellation; the best of several starts |
//! | `objective` | risks R(w) = F(X w + b), also with a quadratic penalty |
//! | `line_search` | backtracking, bisection |
//! | `newton_cg`, `lbfgs` | smooth risks |
//! | `cutting_planes` | convex risks, also with a penalty \|w\|_1, or over a ball |
//! | `projected_gradient` | smooth risks over a ball or a sphere |

pub mod cutting_planes;
mod driver;
pub mod lbfgs;
mod line_search;
pub mod newton_cg;
pub mod objective;
pub mod projected_gradient;
mod solution;

pub use driver::{Best, Method, iterate, several_starts, solve_path};
pub use objective::{Objective, Point, Ridge};
pub use solution::{Solution, SolveReport, Step, Stop, StopRule};
