//! The result of a method: the solution, its certificate and the record of steps; and the stop rule.

use serde::{Deserialize, Serialize};

/// A point with the report of the run that found it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Solution {
    pub w: Vec<f64>,
    /// How it was found.
    pub report: SolveReport,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SolveReport {
    /// Why it stopped.
    pub stop: Stop,
    /// Iterations made.
    pub iterations: u32,
    /// Objective at the returned point.
    pub objective: f64,
    /// Certified upper bound of objective minus optimum, absolute.
    pub gap: f64,
    /// State after each iteration.
    pub steps: Vec<Step>,
    /// Eigenvalue and coefficient of each kept eigenfunction, leading ones first; of spectral fits only.
    pub eigenfunctions: Vec<(f64, f64)>,
    /// The objective that the default start reached, if another start reached a lower one. Only for losses that are not
    /// convex.
    pub default_start: Option<f64>,
    /// The factor of |w|^2 / 2 with which the penalty has the same minimum; of fits over a ball only.
    pub multiplier: Option<f64>,
}

impl SolveReport {
    /// The report of a run without eigenfunctions, other starts and multipliers.
    pub fn new(stop: Stop, iterations: u32, objective: f64, gap: f64, steps: Vec<Step>) -> Self {
        let (eigenfunctions, default_start, multiplier) = (Vec::new(), None, None);
        Self { stop, iterations, objective, gap, steps, eigenfunctions, default_start, multiplier }
    }
}

/// State after one iteration.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// Best objective so far.
    pub objective: f64,
    /// Best certified gap so far, absolute.
    pub gap: f64,
    /// Seconds since the start. Nothing else in a report differs between runs, so bytes omit it.
    #[serde(skip)]
    pub seconds: f64,
}

/// Why a run stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stop {
    /// The requested gap is certified.
    Converged,
    /// A point without a direction of descent, to the requested accuracy. Nothing bounds its distance from the optimum.
    Stationary,
    /// The iteration limit was reached.
    IterationLimit,
    /// Rounding allows no further progress.
    Stalled,
    /// The caller canceled the run.
    Interrupted,
    /// No pair of documents has different labels; only the penalty was minimized.
    Empty,
}

/// When a run may stop.
#[derive(Debug, Clone, Copy)]
pub struct StopRule {
    /// Requested gap, relative to the objective.
    pub tolerance: f64,
    /// Largest number of iterations.
    pub max_iterations: u32,
}

impl StopRule {
    /// Objectives below this multiple of their scale count as this multiple.
    const OBJECTIVE_FLOOR: f64 = 1e-9;

    /// The gap at which a run has converged. `scale` is a typical objective, such as the one at the start.
    pub fn allowed_gap(&self, objective: f64, scale: f64) -> f64 {
        self.tolerance * objective.abs().max(Self::OBJECTIVE_FLOOR * scale)
    }
}
