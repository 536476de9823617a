//! User browsing model: whether a row is examined depends on its position r and on the position r' of the last click above it
//! (0 if there is none). P(click) = gamma(r, r') alpha.
//!
//! Source: Dupret & Piwowarski, "A user browsing model to predict search engine click data from past observations",
//! SIGIR 2008.

use super::{ClickModel, Contexts, by_context};
use crate::search::clicks::{Fitted, MOST_POSITIONS, Shown};

/// The model.
pub static MODEL: ClickModel = ClickModel {
    name: "ubm",
    summary: "user browsing: examination depends on the position and on the last click above",
    formula: "P(click) = gamma(position, position of the last click above) alpha(query, doc), gamma(1, none) = 1",
    source: "Dupret & Piwowarski, SIGIR 2008",
    has_satisfaction: false,
    takes_passes: false,
    contexts,
    given_above: |fitted, rows| by_context(fitted, rows, contexts(rows)),
    overall,
};

/// Of a row at `position` whose last click above is at `last`.
fn context(position: u32, last: u32) -> u32 {
    (position - 1) * MOST_POSITIONS + last
}

fn contexts(rows: &[Shown]) -> Contexts {
    let mut last = 0;
    let next = |row: &Shown| {
        let found = context(row.position, last);
        last = if row.clicked { row.position } else { last };
        Some(found)
    };
    rows.iter().map(next).collect()
}

fn overall(fitted: &Fitted, rows: &[Shown]) -> Vec<f64> {
    // The probability of each position of the last click so far.
    let mut last = vec![(0, 1.0)];
    let next = |row: &Shown| {
        let mut click = 0.0;
        for (position, probability) in &mut last {
            let gamma = fitted.examination(context(row.position, *position));
            let here = *probability * gamma * fitted.attractiveness(row.pair);
            *probability -= here;
            click += here;
        }
        last.push((row.position, click));
        click
    };
    rows.iter().map(next).collect()
}
