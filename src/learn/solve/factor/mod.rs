//! Factorization of ratings with a ranking loss per user (Le, Smola, Chapelle & Teo, section 7.2, equation 42; Weimer et
//! al. 2008).
//!
//! ```text
//! min over U, V   lambda_u / 2 |U|^2 + lambda_v / 2 |V|^2 + sum_u w_u l_u(V_u u + b_u)
//! ```
//!
//! V_u are the rows of V for the items that user u rated, and b_u fixed offsets. Only rated items count: a rating of 0 is
//! a rating. Users with fewer than two ratings have no loss. For fixed V each user has a separate convex problem. For
//! fixed U all items have one convex problem. Half steps solve them in turn: smooth losses by Newton-CG, others by cutting
//! planes (`cuts` for U, `bundle` for V). The objective never increases.
//!
//! w_u is 1, except for least squares: there it turns means over ratings into sums, so that a rating of a user with many
//! ratings has the same weight as others. Then `squared` and `pair_squared` are the same function.
//!
//! | file | contents |
//! |---|---|
//! | `factorization`, `factors` | the problem; the factors and their start |
//! | `half_steps`, `user_loss` | U for fixed V and back; the loss of a user |
//! | `cuts`, `bundle` | cutting planes for U; for V |
//! | `weighted` | implicit feedback by weighted least squares |

mod bundle;
mod cuts;
mod factorization;
mod factors;
mod half_steps;
#[cfg(test)]
mod tests;
mod user_loss;
mod weighted;

pub use cuts::KEPT_EVALUATIONS;
pub use factorization::{Factorization, gather, kept_planes};
pub use factors::Factors;
pub use user_loss::{HalfStep, UserLoss};
pub use weighted::{Side, WeightedSquares, no_solution};
