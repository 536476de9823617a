//! Cutting planes, for convex risks: with a quadratic or an L1 penalty, or over a ball.
//!
//! | file | contents |
//! |---|---|
//! | `planes` | planes, and the minimum of their maximum |
//! | `bundle`, `l1`, `ball` | quadratic penalty; L1 penalty; a ball |

pub mod ball;
mod bundle;
pub mod l1;
mod planes;

pub(super) use bundle::RiskLine;
pub use bundle::{Bundle, Sample, minimize_path};
pub use planes::{Model, Planes};
