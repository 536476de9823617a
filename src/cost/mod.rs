//! What a ranking costs: metrics measure it, losses are what trainings minimize.

pub mod loss;
pub mod metric;
