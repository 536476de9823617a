//! Algorithms over one grid: smoothing x loss x kernel x penalty x prior x solver. A preset names one point of it.

mod checks;
mod given;
mod lambdas;
pub(super) mod presets;
mod select_lambda;
mod settings;
mod spec;
mod train;
mod validation_rounds;

pub use given::missing;
pub use select_lambda::Choice;
pub use spec::{LambdaChoice, Prior, Recipe, Validation, Weighting};

pub(super) use checks::nothing_to_learn;
pub(super) use lambdas::auto_grid;
pub(super) use train::PRESET;
