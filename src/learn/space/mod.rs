//! Vectors of documents in which a ranking function is linear, and the functions' scores.
//!
//! | file | contents |
//! |---|---|
//! | `space`, `function` | a space and its scores; a function's weights |
//! | `sum_space` | sums of spaces |

mod function;
#[allow(clippy::module_inception, reason = "the file of the type Space")]
mod space;
mod sum_space;

pub use function::{Form, Function, WeightsOf};
pub use space::{Opponents, Scorer, Space, Summand};
pub use sum_space::{AnySpace, Member, SumSpace};
