//! Scores as an expression of SQL, for an SQLite without this library.
//!
//! Columns are written in backquotes: SQLite takes an unknown name in double quotes for a text, silently.

use super::Term;
use crate::data::{Missing, Scaling};
use crate::model::Model;
use crate::space::Form;

/// Most summands in a row: SQLite allows expressions of depth 1000, and each summand adds 1.
const LONGEST_SUM: usize = 400;

/// Most cases in a row: a value is compared with all of them.
const LONGEST_CASE: usize = 16;

/// The name of the query column of a model that was trained without SQL.
const QUERY_COLUMN: &str = "query_id";

/// The score as an expression of the columns of a table. Scalings within queries and the form `ranking` make it one with
/// window functions.
pub(super) fn expression(model: &Model, terms: &[Term<'_>]) -> String {
    let columns = Columns::new(model);
    let summands: Vec<String> = terms.iter().flat_map(|term| summands(&columns, term)).collect();
    sum(&summands)
}

/// How the columns of the table are written.
struct Columns {
    /// The features, as numbers; NULL if they are missing and nothing replaces them.
    features: Vec<String>,
    /// The rows of the same query.
    window: String,
}

impl Columns {
    fn new(model: &Model) -> Self {
        let card = &model.card;
        let given = |(index, name): (usize, &String)| match &card.columns.features {
            Some(vector) => format!("json_extract({}, '$[{index}]')", quoted(vector)),
            None => quoted(name),
        };
        let filled = |(given, mean): (String, &f64)| match card.missing {
            Missing::Error => given,
            Missing::Zero => format!("coalesce({given}, 0.0)"),
            Missing::Mean => format!("coalesce({given}, {mean:?})"),
        };
        let features = card.features.iter().enumerate().map(given).zip(&card.means).map(filled).collect();
        let query = card.columns.query.as_deref().unwrap_or(QUERY_COLUMN);
        Self { features, window: format!("OVER (PARTITION BY {})", quoted(query)) }
    }

    /// The mean of a value over its query.
    fn mean(&self, value: &str) -> String {
        format!("avg({value}) {}", self.window)
    }
}

/// A name as SQL writes it.
fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// One summand per weight that is not 0, each with its sign in front.
fn summands(columns: &Columns, term: &Term<'_>) -> Vec<String> {
    let n = columns.features.len();
    let summand = |(index, weight): (usize, &f64)| {
        let (value, factor) = scaled(columns, term, index, index % n);
        signed(weight * factor, &value)
    };
    let used = term.weights.iter().enumerate().filter(|(index, weight)| {
        let constant = matches!(term.scaling.affine(*index), Some((_, factor)) if factor.abs() <= 0.0);
        weight.abs() > 0.0 && !constant
    });
    used.map(summand).collect()
}

/// A scaled feature divided by a factor, and the factor. With the form `ranking` its mean over the query is subtracted: the
/// scores of a linear function are then centered.
fn scaled(columns: &Columns, term: &Term<'_>, index: usize, feature: usize) -> (String, f64) {
    let x = &columns.features[feature];
    let centered = term.space.form() == Form::Ranking;
    // Text from a file counts as a number in arithmetic, but not in comparisons.
    let number = format!("{x} + 0.0");
    let within_query = index >= columns.features.len() || matches!(term.scaling, Scaling::QueryMinmax);
    if within_query {
        return (minmax(columns, &number, centered), 1.0);
    }
    match term.scaling {
        Scaling::Quantile(quantiles) | Scaling::QuantileMinmax(quantiles) => {
            let lines: Vec<Line> = quantiles[feature].lines().map(Line::from).collect();
            let value = normal_score(&format!("({number})"), &lines);
            let value = if centered { format!("({value} - {})", columns.mean(&value)) } else { value };
            (value, 1.0)
        }
        scaling => {
            let (center, factor) = scaling.affine(feature).unwrap_or((0.0, 1.0));
            let value = match (centered, center.abs() > 0.0) {
                (true, _) => format!("({x} - {})", columns.mean(x)),
                (false, true) => format!("({x} {})", minus(center)),
                (false, false) => x.clone(),
            };
            (value, factor)
        }
    }
}

/// (x - min) / (max - min) over the query, or 0 if all values are equal; less its mean if centered.
fn minmax(columns: &Columns, x: &str, centered: bool) -> String {
    let window = &columns.window;
    let (min, max) = (format!("min({x}) {window}"), format!("max({x}) {window}"));
    let start = if centered { columns.mean(x) } else { min.clone() };
    format!("CASE WHEN {max} > {min} THEN ({x} - {start}) / ({max} - {min}) ELSE 0.0 * ({x}) END")
}

/// A stored quantile: from this value on the score is `score + slope (x - value)`.
#[derive(Clone, Copy)]
struct Line {
    value: f64,
    score: f64,
    slope: f64,
}

impl From<(f64, f64, f64)> for Line {
    fn from((value, score, slope): (f64, f64, f64)) -> Self {
        Self { value, score, slope }
    }
}

/// The score of a value: linear between the quantiles, constant outside.
fn normal_score(x: &str, lines: &[Line]) -> String {
    let first = lines[0];
    let mut cases = vec![
        format!("WHEN {x} IS NULL THEN NULL"),
        format!("WHEN {x} < {:?} THEN {:?}", first.value, first.score),
    ];
    // Two levels, so that a value is compared with few quantiles.
    let groups: Vec<&[Line]> = lines.chunks(LONGEST_CASE).collect();
    for (number, group) in groups.iter().enumerate() {
        let last = number + 1 == groups.len();
        let inside = in_group(x, group);
        cases.push(match groups.get(number + 1) {
            Some(next) if !last => format!("WHEN {x} < {:?} THEN {inside}", next[0].value),
            _ => format!("ELSE {inside}"),
        });
    }
    format!("CASE {} END", cases.join(" "))
}

/// The score of a value that is not below the first of these quantiles, and below those that follow them.
fn in_group(x: &str, lines: &[Line]) -> String {
    let on_line = |line: &Line| {
        let Line { value, score, slope } = *line;
        if slope.abs() <= 0.0 {
            return format!("{score:?}");
        }
        format!("{score:?} {}", signed(slope, &format!("({x} {})", minus(value))))
    };
    if let [line] = lines {
        return on_line(line);
    }
    let bounds = lines.iter().skip(1).map(|line| line.value);
    let cases: Vec<String> = lines
        .iter()
        .zip(bounds)
        .map(|(line, end)| format!("WHEN {x} < {end:?} THEN {}", on_line(line)))
        .collect();
    format!("CASE {} ELSE {} END", cases.join(" "), on_line(&lines[lines.len() - 1]))
}

/// `+ weight * value` or `- weight * value`.
fn signed(weight: f64, value: &str) -> String {
    let sign = if weight < 0.0 { '-' } else { '+' };
    format!("{sign} {:?} * {value}", weight.abs())
}

/// `- number` or `+ number`. Two signs in a row would start a comment.
fn minus(number: f64) -> String {
    let sign = if number < 0.0 { '+' } else { '-' };
    format!("{sign} {:?}", number.abs())
}

/// The sum of summands with signs.
fn sum(summands: &[String]) -> String {
    let joined = |summands: &[String]| {
        let text = summands.join(" ");
        match text.strip_prefix("+ ") {
            Some(text) => text.to_owned(),
            None => text,
        }
    };
    if summands.is_empty() {
        return "0.0".to_owned();
    }
    if summands.len() <= LONGEST_SUM {
        return joined(summands);
    }
    let parts: Vec<String> =
        summands.chunks(LONGEST_SUM).map(|part| format!("+ ({})", joined(part))).collect();
    sum(&parts)
}
