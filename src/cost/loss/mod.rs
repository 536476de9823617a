//! Losses: the cost of ranking one query, as a function of its scores.
//!
//! A loss depends on the labels and scores of one query, and with a [`ListConstraint`](crate::data::ListConstraint) on its
//! row groups. It does not depend on features, weights or threads. `pair` has the pairwise losses, which solvers know by
//! name. `list` has the listwise losses; solvers use only their values and subgradients. A new listwise loss is one file
//! and one line of [`list::LOSSES`].
//!
//! | file | contents |
//! |---|---|
//! | `def`, `table` | declaration of a loss; the table of all |
//! | `loss` | a loss with its options |
//! | `pair`, `logistic_tiles` | pairwise losses; the logistic loss, eight pairs at a time |
//! | `list/` | listwise losses |

mod def;
pub mod list;
mod logistic_tiles;
#[allow(clippy::module_inception, reason = "the file of the type Loss")]
mod loss;
pub mod pair;
mod table;

pub use def::{
    ListwiseLoss, LossDef, LossKind, MakeListwise, PairDef, PairLoss, Quadratic, QueryLoss, Shape,
};
pub use loss::{ListLoss, Loss, least_squares};
pub use pair::{HINGE, LOGISTIC, PSI, PairWeights, SQUARED_HINGE, pair_count, pair_normalizer};
pub use table::{LOSSES, NAMES, find};
