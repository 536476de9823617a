//! The click models: a table of definitions, each with formula and source.

use super::Fitted;
use crate::base::{Error, Result};

/// A row of an impression.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shown {
    /// Number of the (query, document) pair.
    pub pair: u32,
    /// From 1.
    pub position: u32,
    /// Whether it was clicked.
    pub clicked: bool,
    /// Weight of the click, such as 5 for a purchase; 0 without a click.
    pub weight: f64,
}

/// Largest position. Contexts of a model are numbers below its square.
pub const MOST_POSITIONS: u32 = 1000;

/// The context of each row of an impression; `None` if the model treats the row as not examined.
pub type Contexts = Vec<Option<u32>>;

/// A click model. The functions take the rows of one impression, in the order of positions.
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
    /// The contexts of rows.
    pub contexts: fn(&[Shown]) -> Contexts,
    /// The probability of a click on each row, given the clicks above it.
    pub given_above: fn(&Fitted, &[Shown]) -> Vec<f64>,
    /// The probability of a click on each row, not conditioned on the clicks above it.
    pub overall: fn(&Fitted, &[Shown]) -> Vec<f64>,
}

/// All models, the simplest first.
pub static CLICK_MODELS: [&ClickModel; 5] = [&CTR, &PBM, &CASCADE, &SDBN, &UBM];

/// Values of the option `model`: automatic choice, or one of the models.
pub const CLICK_MODEL_NAMES: [&str; 6] = ["auto", "ctr", "pbm", "cascade", "sdbn", "ubm"];

/// The model of a name.
///
/// # Errors
/// No such model.
pub fn find(name: &str) -> Result<&'static ClickModel> {
    let model = CLICK_MODELS.iter().find(|model| model.name == name);
    model
        .copied()
        .ok_or_else(|| Error::unknown("click model", name, CLICK_MODELS.iter().map(|model| model.name)))
}

/// One context for the rows down to the last examined one, or for all rows if there is none.
fn down_to(last: Option<usize>, rows: &[Shown]) -> Contexts {
    let last = last.unwrap_or(rows.len());
    (0..rows.len()).map(|index| (index <= last).then_some(0)).collect()
}

/// Click probabilities that only depend on contexts: gamma alpha.
fn by_context(fitted: &Fitted, rows: &[Shown], contexts: Contexts) -> Vec<f64> {
    let click = |(row, context): (&Shown, Option<u32>)| {
        context.map_or(0.0, |context| fitted.examination(context) * fitted.attractiveness(row.pair))
    };
    rows.iter().zip(contexts).map(click).collect()
}

/// Click probabilities for a user who examines documents from the top and stops when satisfied. e = 1 for the first
/// row. After a click, e = 1 - s, with satisfaction s. After a row without a click, e becomes e (1 - alpha) / (1 - e
/// alpha) if the row is known to have no click, otherwise e (1 - alpha s).
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

// Simplified dynamic Bayesian network: a user examines rows from the top, and a click satisfies with the probability s of
// the document. The last click is assumed to have satisfied.
//
// Source: Chapelle & Zhang, "A dynamic Bayesian network click model for web search ranking", WWW 2009, algorithm 1.

pub const SDBN: ClickModel = ClickModel {
    name: "sdbn",
    summary: "rows are examined from the top down to the last click, which satisfied; relevance is alpha s",
    formula: "P(click) = alpha(query, doc) down to the row that satisfies; P(satisfied | click) = s(query, doc)",
    source: "Chapelle & Zhang, WWW 2009",
    has_satisfaction: true,
    contexts: |rows| down_to(rows.iter().rposition(|row| row.clicked), rows),
    given_above: |fitted, rows| chain(fitted, rows, |pair| fitted.satisfaction(pair), true),
    overall: |fitted, rows| chain(fitted, rows, |pair| fitted.satisfaction(pair), false),
};

// Document-based click-through rate: users examine every row. P(click) = alpha.
//
// Source: Craswell, Zoeter, Taylor & Ramsey, "An experimental comparison of click position-bias models", WSDM 2008
// (the baseline).

pub const CTR: ClickModel = ClickModel {
    name: "ctr",
    summary: "click-through rate: every row is examined; no correction for positions",
    formula: "P(click) = alpha(query, doc)",
    source: "Craswell, Zoeter, Taylor & Ramsey, WSDM 2008",
    has_satisfaction: false,
    contexts: |rows| down_to(None, rows),
    given_above: |fitted, rows| by_context(fitted, rows, down_to(None, rows)),
    overall: |fitted, rows| by_context(fitted, rows, down_to(None, rows)),
};

// Cascade model: a user examines rows from the top and stops at the first click.
//
// Source: Craswell, Zoeter, Taylor & Ramsey, "An experimental comparison of click position-bias models", WSDM 2008.

pub const CASCADE: ClickModel = ClickModel {
    name: "cascade",
    summary: "rows are examined from the top down to the first click",
    formula: "P(click) = alpha(query, doc) as long as no row above is clicked, then 0",
    contexts: |rows| down_to(rows.iter().position(|row| row.clicked), rows),
    given_above: |fitted, rows| chain(fitted, rows, |_| 1.0, true),
    overall: |fitted, rows| chain(fitted, rows, |_| 1.0, false),
    ..CTR
};

// Position-based model: whether a row is examined depends on its position. P(click) = gamma(position) alpha.
//
// Source: Craswell, Zoeter, Taylor & Ramsey, "An experimental comparison of click position-bias models", WSDM 2008;
// Chuklin, Markov & de Rijke, "Click Models for Web Search", 2015, section 3.3.

pub const PBM: ClickModel = ClickModel {
    name: "pbm",
    summary: "position-based: examination depends on the position alone",
    formula: "P(click) = gamma(position) alpha(query, doc), gamma = 1 at the first position",
    contexts,
    given_above: |fitted, rows| by_context(fitted, rows, contexts(rows)),
    overall: |fitted, rows| by_context(fitted, rows, contexts(rows)),
    ..CTR
};

fn contexts(rows: &[Shown]) -> Contexts {
    rows.iter().map(|row| Some(row.position - 1)).collect()
}

// User browsing model: whether a row is examined depends on its position r and on the position r' of the last click above it
// (0 if there is none). P(click) = gamma(r, r') alpha.
//
// Source: Dupret & Piwowarski, "A user browsing model to predict search engine click data from past observations",
// SIGIR 2008.

pub const UBM: ClickModel = ClickModel {
    name: "ubm",
    summary: "user browsing: examination depends on the position and on the last click above",
    formula: "P(click) = gamma(position, position of the last click above) alpha(query, doc), gamma(1, none) = 1",
    source: "Dupret & Piwowarski, SIGIR 2008",
    contexts: ubm_contexts,
    given_above: |fitted, rows| by_context(fitted, rows, ubm_contexts(rows)),
    overall,
    ..CTR
};

/// The context of a row at `position` whose last click above is at `last`.
fn context(position: u32, last: u32) -> u32 {
    (position - 1) * MOST_POSITIONS + last
}

fn ubm_contexts(rows: &[Shown]) -> Contexts {
    let mut last = 0;
    let next = |row: &Shown| {
        let context = context(row.position, last);
        last = if row.clicked { row.position } else { last };
        Some(context)
    };
    rows.iter().map(next).collect()
}

fn overall(fitted: &Fitted, rows: &[Shown]) -> Vec<f64> {
    // For each position, the probability that the last click so far was there.
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
