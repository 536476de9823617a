//! The table of click models. A file has one model.

mod cascade;
mod ctr;
mod dbn;
mod pbm;
mod sdbn;
mod ubm;

use super::{Fitted, Shown};
use crate::base::error::{Error, Result};

/// By row of an impression: its context; `None` if the model takes the row as not examined.
pub type Contexts = Vec<Option<u32>>;

/// A click model. Its functions take the rows of one impression, in the order of positions.
#[derive(Debug)]
pub struct ClickModel {
    /// The name, lowercase.
    pub name: &'static str,
    /// One line.
    pub summary: &'static str,
    /// The probability of a click, in ASCII.
    pub formula: &'static str,
    /// Authors, title, year.
    pub source: &'static str,
    /// Whether a click may satisfy, so that satisfaction is estimated from last clicks.
    pub has_satisfaction: bool,
    /// Whether counts are not enough, so that fits read the log again ([`super::Network`]).
    pub takes_passes: bool,
    /// The contexts of rows.
    pub contexts: fn(&[Shown]) -> Contexts,
    /// The probability of a click on each row, given the clicks above it.
    pub given_above: fn(&Fitted, &[Shown]) -> Vec<f64>,
    /// The probability of a click on each row, whatever is clicked above it.
    pub overall: fn(&Fitted, &[Shown]) -> Vec<f64>,
}

/// All models, the simplest first.
pub static CLICK_MODELS: [&ClickModel; 6] =
    [&ctr::MODEL, &pbm::MODEL, &cascade::MODEL, &sdbn::MODEL, &dbn::MODEL, &ubm::MODEL];

/// What the option `model` takes: the choice among all models, or one of them.
pub const CLICK_MODEL_NAMES: [&str; 7] = ["auto", "ctr", "pbm", "cascade", "sdbn", "dbn", "ubm"];

/// The model of a name.
///
/// # Errors
/// No such model.
pub fn find(name: &str) -> Result<&'static ClickModel> {
    let found = CLICK_MODELS.iter().find(|model| model.name == name);
    found
        .copied()
        .ok_or_else(|| Error::unknown("click model", name, CLICK_MODELS.iter().map(|model| model.name)))
}

/// One context for the rows down to the last one that is examined; all are if there is none.
fn down_to(last: Option<usize>, rows: &[Shown]) -> Contexts {
    let last = last.unwrap_or(rows.len());
    (0..rows.len()).map(|index| (index <= last).then_some(0)).collect()
}

/// Probabilities of clicks that depend on the contexts alone: gamma alpha.
fn by_context(fitted: &Fitted, rows: &[Shown], contexts: Contexts) -> Vec<f64> {
    let click = |(row, context): (&Shown, Option<u32>)| {
        context.map_or(0.0, |context| fitted.examination(context) * fitted.attractiveness(row.pair))
    };
    rows.iter().zip(contexts).map(click).collect()
}

/// Probabilities of a user who examines documents from the top, stops when satisfied, and otherwise goes on with the
/// perseverance p: e = 1 for the first row. After a click e = p (1 - s), with the satisfaction s. After a row without one,
/// e = p e (1 - alpha) / (1 - e alpha) if that row is known to have no click, otherwise p e (1 - alpha s).
fn chain(fitted: &Fitted, rows: &[Shown], satisfaction: impl Fn(u32) -> f64, is_given: bool) -> Vec<f64> {
    let mut examined = 1.0;
    let next = |row: &Shown| {
        let (alpha, s) = (fitted.attractiveness(row.pair), satisfaction(row.pair));
        let click = examined * alpha;
        let unsatisfied = match (is_given, row.clicked) {
            (false, _) => examined * (1.0 - alpha * s),
            (true, true) => 1.0 - s,
            (true, false) => examined * (1.0 - alpha) / (1.0 - click).max(f64::MIN_POSITIVE),
        };
        examined = fitted.perseverance * unsatisfied;
        click
    };
    rows.iter().map(next).collect()
}
