//! Algorithms over one grid of loss, kernel, penalty, prior, solver and query weights.
//!
//! A preset names one point of the grid (`presets`). `spec` parses and checks the choices, `session` prepares data,
//! `train` fits functions, `choose` chooses lambda and `decoder_power`, `measure` measures held-out queries.
//!
//! | file | contents |
//! |---|---|
//! | `presets`, `spec` | names of points; options and their checks |
//! | `session`, `train`, `fits` | scaling and space; the training; one function or one per query |
//! | `choose`, `measure`, `lambdas` | lambda and `decoder_power`; held-out queries; candidates |
//! | `checks` | refused data, warnings |
//! | `interactions` | products with query features |
//! | `generalization` | the generalization bound of convex losses |

pub mod checks;
pub mod choose;
pub mod fits;
mod generalization;
mod interactions;
mod lambdas;
pub mod measure;
mod presets;
pub mod session;
pub mod spec;
pub mod train;

pub use checks::{not_distinguished, nothing_to_learn, pairs as check_pairs};
pub use lambdas::default_lambdas;
pub(super) use presets::PRESETS;
pub use spec::GridSpec;
pub(super) use spec::{check_loss_parameters, loss_parameters};
