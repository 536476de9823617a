//! The last solution of an assignment, and buffers for the next one.

use super::levels::Heads;
use super::line::Line;
use super::paths::Paths;

/// The last solution, and buffers that are reused for the next problem.
#[derive(Debug, Default)]
pub struct Workspace {
    pub(super) chosen: Vec<u32>,
    pub(super) paths: Paths,
    pub(super) heads: Heads,
    pub(super) line: Line,
    pub(super) values: Vec<f64>,
}

impl Workspace {
    /// Each row's column in the last solution.
    pub fn chosen(&self) -> &[u32] {
        &self.chosen
    }
}
