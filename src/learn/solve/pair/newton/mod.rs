//! Newton's method on scores, for the hinge (`hinge`, smoothed) and for losses with a curvature (`smooth`).
//!
//! A query costs a pass over its pairs, which reads scores only (`pass`, `curve`), and products with its feature
//! matrix. Queries are grouped into chunks (`chunk`) that run in parallel (`space`). For the hinge the rows may be
//! elsewhere (`remote_rows`).
//!
//! | file | contents |
//! |---|---|
//! | `method` | the solver, and the method for each loss |
//! | `hinge`, `smooth`, `state` | Newton's method for the hinge, for smooth losses; what both share |
//! | `pass`, `sorted_pass`, `curve` | passes over pairs: short queries, long ones, losses with a curvature |
//! | `hessian`, `woodbury` | Hessians; directions of few pairs |
//! | `space`, `chunk`, `remote_rows` | the problem in score space; chunks of queries; rows elsewhere |

mod chunk;
mod curve;
mod hessian;
mod hinge;
mod method;
mod pass;
mod remote_rows;
mod smooth;
mod sorted_pass;
mod space;
mod state;
mod woodbury;

pub use method::{NEWTON, NEWTON_ON_PAIRS};
pub use remote_rows::{
    AskHinge, RemoteProblem, hinge_origin, hinge_origin_len, hinge_sums, hinge_sums_len, hinge_sums_pairs,
    solve_hinge,
};
pub use space::largest_chunk_count;
pub use woodbury::product_bytes;
