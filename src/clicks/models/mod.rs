//! The table of click models. A file has one model.

mod cascade;
mod ctr;
mod pbm;
mod sdbn;
mod ubm;

use std::fmt::Debug;

use super::{Fitted, Shown};
use crate::error::{Error, Result};

/// A click model.
pub trait ClickModel: Debug + Sync {
    /// The name, lowercase.
    fn name(&self) -> &'static str;
    /// One line.
    fn summary(&self) -> &'static str;
    /// The probability of a click, in ASCII.
    fn formula(&self) -> &'static str;
    /// Authors, title, year.
    fn source(&self) -> &'static str;
    /// The context of each row; `None` if the model takes the row as not examined. The rows are those of one impression, in
    /// the order of positions.
    fn contexts(&self, rows: &[Shown]) -> Vec<Option<u32>>;
    /// Whether a click may satisfy, so that satisfaction is estimated from last clicks.
    fn has_satisfaction(&self) -> bool {
        false
    }
    /// The probability of a click on each row, given the clicks above it.
    fn given_above(&self, fitted: &Fitted, rows: &[Shown]) -> Vec<f64>;
    /// The probability of a click on each row, whatever is clicked above it.
    fn overall(&self, fitted: &Fitted, rows: &[Shown]) -> Vec<f64>;
}

/// All models, the simplest first.
pub static CLICK_MODELS: [&dyn ClickModel; 5] =
    [&ctr::Ctr, &pbm::Pbm, &cascade::Cascade, &sdbn::Sdbn, &ubm::Ubm];

/// What the option `model` takes: the choice among all models, or one of them.
pub const CLICK_MODEL_NAMES: [&str; 6] = ["auto", "ctr", "pbm", "cascade", "sdbn", "ubm"];

/// The model of a name.
///
/// # Errors
/// No such model.
pub fn find(name: &str) -> Result<&'static dyn ClickModel> {
    let found = CLICK_MODELS.iter().find(|model| model.name() == name);
    found
        .copied()
        .ok_or_else(|| Error::unknown("click model", name, CLICK_MODELS.iter().map(|model| model.name())))
}

/// Probabilities of a user who examines documents from the top and stops when satisfied: e = 1 for the first row. After a
/// click e = 1 - s, with the satisfaction s. After a row without one, e = e (1 - alpha) / (1 - e alpha) if that row is known
/// to have no click, otherwise e (1 - alpha s).
fn chain(fitted: &Fitted, rows: &[Shown], satisfaction: impl Fn(u32) -> f64, is_given: bool) -> Vec<f64> {
    let mut examined = 1.0;
    let next = |row: &Shown| {
        let (alpha, s) = (fitted.attractiveness(row.pair), satisfaction(row.pair));
        let click = examined * alpha;
        examined = match (is_given, row.clicked) {
            (false, _) => examined * (1.0 - alpha * s),
            (true, true) => 1.0 - s,
            (true, false) => examined * (1.0 - alpha) / (1.0 - click).max(f64::MIN_POSITIVE),
        };
        click
    };
    rows.iter().map(next).collect()
}
