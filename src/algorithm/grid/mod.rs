//! Algorithms over one grid of loss, kernel, penalty, prior, solver and weights of queries.
//!
//! A preset names one point of the grid (`presets`). `spec` parses and checks the choices, `session` prepares data,
//! `train` fits functions, `choose` and `select_lambda` choose `decoder_power` and lambda on `validation_rounds`.

pub(super) mod buckets;
mod checks;
mod choose;
mod generalization;
mod held_out;
mod lambdas;
mod penalty;
mod presets;
mod select_lambda;
mod session;
mod spec;
mod train;
mod validation_rounds;

pub use spec::Weighting;

pub(super) use checks::{nothing_to_learn, pairs as check_pairs};
pub(super) use lambdas::default_lambdas;
pub(super) use presets::PRESETS;
pub(super) use spec::{check_loss_parameters, loss_parameters};
