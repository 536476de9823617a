//! Scores as an SQL expression, for SQLite without this library.
//!
//! Columns are quoted with backquotes, because SQLite silently reads an unknown name in double quotes as text.

use std::fmt::Arguments;
use std::ops::Range;

use super::super::term::Term;
use super::super::text::Text;
use super::columns::{Columns, Feature, minus};
use super::oblivious::{Tree, trees};
use crate::base::{Memory, Result, shorten};
use crate::data::{QuantileLine, Scaling};
use crate::learn::space::{Form, WeightsOf};
use crate::model::Model;

/// Most summands in a flat sum: SQLite limits expression depth to 1000, and each summand adds 1.
pub(super) const LONGEST_SUM: usize = 400;

/// Pieces of a scaling per text.
const PIECES: usize = 8;

/// Longest expression (bytes). SQLite needs 3 seconds and 500 MB to prepare one of this size.
const LONGEST: usize = 20_000_000;

/// Advice for longer expressions.
const WAY_OUT: &str = "use fewer features or trees, shorter names or \"scale\": \"standard\"";

/// Expression size (bytes) above which each category mean is written only once.
const LONG: usize = 1_000_000;

/// The score as an expression of a table's columns. Scalings within queries and the form `ranking` need window
/// functions.
///
/// # Errors
/// An expression longer than [`LONGEST`].
pub(in super::super) fn expression(model: &Model, terms: &[Term<'_>], memory: &Memory) -> Result<String> {
    let mut columns = Columns::new(model);
    let summands: Vec<Summand<'_>> =
        terms.iter().flat_map(|term| summands(columns.features.len(), term)).collect();
    // Generated columns allow no subqueries, and in a subquery window functions would not see the other rows of the table.
    let is_of_row = |term: &Term<'_>| term.scaling.pointwise() && term.space.form == Form::Scoring;
    let by_query = !terms.iter().all(is_of_row);
    let mut sql = Sql::new(memory);
    let written = sql.checked(&columns, by_query, |sql| sql.sum(&columns, &summands));
    let is_long = written.is_err() || sql.text.len() > LONG;
    let means = if is_long && !by_query { columns.name_means() } else { Vec::new() };
    if means.is_empty() {
        written?;
        return sql.text.finish();
    }
    sql.text.clear();
    sql.checked(&columns, false, |sql| {
        sql.push(format_args!("(SELECT "))?;
        sql.sum(&columns, &summands)?;
        sql.push(format_args!(" FROM (SELECT "))?;
        for (at, (mean, name)) in means.iter().enumerate() {
            sql.push(format_args!("{}{mean} AS {name}", if at == 0 { "" } else { ", " }))?;
        }
        sql.push(format_args!("))"))
    })?;
    sql.text.finish()
}

/// Why a name or a category value cannot be written.
pub(in super::super) fn check_names(model: &Model) -> Result<(), String> {
    let columns = &model.card.columns;
    let inputs = model.card.input_names();
    // Feature names contain category values, except for categories encoded as means only.
    let means = model.card.categories.iter().filter_map(|category| category.means());
    let values = means.flat_map(|means| means.entries().map(|(value, _)| value));
    let features = model.card.features.iter().chain(&inputs).chain(values);
    let mut names = features.chain(&columns.query).chain(&columns.features);
    match names.find(|name| name.contains('\0')) {
        None => Ok(()),
        Some(name) => Err(format!("the name \"{}\" has a zero byte", shorten(name))),
    }
}

/// A summand of a score.
enum Summand<'a> {
    Feature(Weighted<'a>),
    Tree(Tree<'a>),
}

/// A scaled feature with its weight.
struct Weighted<'a> {
    term: &'a Term<'a>,
    /// The number of the scaled feature.
    index: usize,
    weight: f64,
}

/// The trees, or the features whose weights are not 0.
fn summands<'a>(n: usize, term: &'a Term<'a>) -> Vec<Summand<'a>> {
    if let WeightsOf::Leaves(_) = term.space.weights_of() {
        return trees(term).into_iter().map(Summand::Tree).collect();
    }
    let summand = move |(index, weight): (usize, &f64)| {
        // With a factor of 0 the feature is constant.
        let factor =
            if index < n { term.scaling.affine(index).map_or(1.0, |(_, factor)| factor) } else { 1.0 };
        let weight = weight * factor;
        (weight.abs() > 0.0).then_some(Summand::Feature(Weighted { term, index, weight }))
    };
    term.weights.iter().enumerate().filter_map(summand).collect()
}

/// An expression being written.
pub(super) struct Sql {
    pub(super) text: Text,
}

impl Sql {
    pub(super) fn new(memory: &Memory) -> Self {
        Self { text: Text::new(memory, LONGEST, WAY_OUT) }
    }

    /// Appends text.
    ///
    /// # Errors
    /// An expression longer than [`LONGEST`]; too much memory.
    pub(super) fn push(&mut self, part: Arguments<'_>) -> Result<()> {
        self.text.push(part)
    }

    /// Writes an expression that is NULL where `ltr_rank` refuses a value in the row or in another row of the query
    /// (rules 3.1 to 3.4).
    ///
    /// # Errors
    /// As [`Self::push`].
    pub(super) fn checked(
        &mut self,
        columns: &Columns<'_>,
        by_query: bool,
        expression: impl FnOnce(&mut Self) -> Result<()>,
    ) -> Result<()> {
        self.push(format_args!("CASE WHEN {}", if by_query { "min(" } else { "" }))?;
        for (at, check) in columns.checks().enumerate() {
            // In groups, like sums.
            let between = match at {
                0 => "(",
                at if at.is_multiple_of(LONGEST_SUM) => ") AND (",
                _ => " AND ",
            };
            self.push(format_args!("{between}{check}"))?;
        }
        if by_query {
            self.push(format_args!(")) {} THEN ", columns.window))?;
        } else {
            self.push(format_args!(") THEN "))?;
        }
        // `ltr_rank` also refuses scores that are not finite.
        self.push(format_args!("nullif(nullif("))?;
        expression(self)?;
        self.push(format_args!(", 9e999), -9e999) END"))
    }

    /// The sum of some summands, in groups of at most [`LONGEST_SUM`].
    fn sum(&mut self, columns: &Columns<'_>, summands: &[Summand<'_>]) -> Result<()> {
        if summands.is_empty() {
            return self.push(format_args!("0.0"));
        }
        if summands.len() <= LONGEST_SUM {
            return summands.iter().enumerate().try_for_each(|(at, summand)| {
                self.push(format_args!("{}", if at == 0 { "" } else { " " }))?;
                match summand {
                    Summand::Feature(feature) => {
                        self.signed(feature.weight, at == 0)?;
                        self.scaled(columns, feature)
                    }
                    Summand::Tree(tree) => {
                        self.push(format_args!("{}", if at == 0 { "" } else { "+ " }))?;
                        tree.write(columns, &mut self.text, 0, 0)
                    }
                }
            });
        }
        let mut group = LONGEST_SUM;
        while group * LONGEST_SUM < summands.len() {
            group *= LONGEST_SUM;
        }
        for (at, part) in summands.chunks(group).enumerate() {
            self.push(format_args!("{}", if at == 0 { "(" } else { " + (" }))?;
            self.sum(columns, part)?;
            self.push(format_args!(")"))?;
        }
        Ok(())
    }

    /// `+ number * ` or `- number * `; the first summand has no plus.
    fn signed(&mut self, number: f64, is_first: bool) -> Result<()> {
        let sign = match (number < 0.0, is_first) {
            (true, _) => "- ",
            (false, true) => "",
            (false, false) => "+ ",
        };
        self.push(format_args!("{sign}{:?} * ", number.abs()))
    }

    /// A scaled feature divided by the factor of its scaling. With the form `ranking`, the mean over the query is
    /// subtracted, which centers the scores of a linear function.
    fn scaled(&mut self, columns: &Columns<'_>, summand: &Weighted<'_>) -> Result<()> {
        let (n, term) = (columns.features.len(), summand.term);
        let x = &columns.features[summand.index % n];
        let centered = term.space.form == Form::Ranking;
        if summand.index >= n || matches!(term.scaling, Scaling::QueryMinmax) {
            return self.minmax(columns, x, centered);
        }
        let window = &columns.window;
        match term.scaling {
            Scaling::Quantile(quantiles) | Scaling::QuantileMinmax(quantiles) => {
                let lines = quantiles[summand.index].lines();
                if !centered {
                    return self.normal_score(columns, x, lines);
                }
                self.push(format_args!("("))?;
                self.normal_score(columns, x, lines)?;
                self.push(format_args!(" - avg("))?;
                self.normal_score(columns, x, lines)?;
                self.push(format_args!(") {window})"))
            }
            scaling => {
                let (center, _) = scaling.affine(summand.index).unwrap_or((0.0, 1.0));
                match (centered, center.abs() > 0.0) {
                    (true, _) => self.push(format_args!("({x} - avg({x}) {window})")),
                    (false, true) => self.push(format_args!("({x} {})", minus(center))),
                    (false, false) => self.push(format_args!("({x})")),
                }
            }
        }
    }

    /// (x - min) / (max - min) over the query, or 0 if all values are equal; minus the mean if centered.
    fn minmax(&mut self, columns: &Columns<'_>, x: &Feature<'_>, centered: bool) -> Result<()> {
        let (window, start) = (&columns.window, if centered { "avg" } else { "min" });
        self.push(format_args!(
            "CASE WHEN max({x}) {window} > min({x}) {window} THEN ({x} - {start}({x}) {window}) \
             / (max({x}) {window} - min({x}) {window}) ELSE 0.0 END"
        ))
    }

    /// The score of a value: linear between the quantiles, constant outside.
    ///
    /// While preparing a statement, SQLite compares each constant with all others. So the pieces are not separate
    /// constants: [`PIECES`] of them are in one text, and each value reads the ones it needs.
    fn normal_score(&mut self, columns: &Columns<'_>, x: &Feature<'_>, lines: &[QuantileLine]) -> Result<()> {
        let (first, pieces) = (lines[0], &columns.pieces);
        let numbers_of = |line: &QuantileLine| [line.x, line.z, line.slope];
        let numbers = lines.iter().flat_map(numbers_of);
        let width = numbers.map(|number| format!("{number:?}").len()).max().unwrap_or(0);
        let number = |index: usize| format!("CAST(substr({pieces}, {}, {width}) AS REAL)", 1 + width * index);
        let groups: Vec<&[QuantileLine]> = lines.chunks(PIECES).collect();
        self.push(format_args!("(SELECT CASE WHEN {x} < {:?} THEN {:?} ELSE ", first.x, first.z))?;
        let length = groups[0].len();
        self.search(0..length, x, &|index| number(3 * index), &mut |sql, index| {
            let [value, score, slope] = [0, 1, 2].map(|part| number(3 * index + part));
            sql.push(format_args!("{score} + {slope} * ({x} - {value})"))
        })?;
        self.push(format_args!(" END FROM (SELECT "))?;
        self.search(0..groups.len(), x, &|index| format!("{:?}", groups[index][0].x), &mut |sql, index| {
            // A short last group is padded with its last piece.
            let last = groups[index].len() - 1;
            let pieces = (0..length).map(|piece| &groups[index][piece.min(last)]);
            sql.push(format_args!("'"))?;
            for number in pieces.flat_map(numbers_of) {
                sql.push(format_args!("{:>width$}", format!("{number:?}")))?;
            }
            sql.push(format_args!("'"))
        })?;
        self.push(format_args!(" AS {pieces} LIMIT 1) LIMIT 1)"))
    }

    /// Writes a binary search for the last of these indices whose `start` is at most x; `found` writes the result.
    fn search(
        &mut self,
        indices: Range<usize>,
        x: &Feature<'_>,
        start: &dyn Fn(usize) -> String,
        found: &mut dyn FnMut(&mut Self, usize) -> Result<()>,
    ) -> Result<()> {
        if indices.len() <= 1 {
            return found(self, indices.start);
        }
        let middle = indices.start.midpoint(indices.end);
        self.push(format_args!("CASE WHEN {x} < {} THEN ", start(middle)))?;
        self.search(indices.start..middle, x, start, found)?;
        self.push(format_args!(" ELSE "))?;
        self.search(middle..indices.end, x, start, found)?;
        self.push(format_args!(" END"))
    }
}
