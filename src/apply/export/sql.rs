//! Scores as an expression of SQL, for an SQLite without this library.
//!
//! Columns are written in backquotes: SQLite takes an unknown name in double quotes for a text, silently.

use std::fmt::{Arguments, Write as _};
use std::ops::Range;

use super::Term;
use crate::base::{Error, Result, Ticks};
use crate::data::{Category, CategoryValue, Missing, QuantileLine, Quantiles, Scaling};
use crate::learn::space::{Form, WeightsOf};
use crate::model::Model;
use crate::trees::Split;

/// Most summands in a row: SQLite allows expressions of depth 1000, and each summand adds 1.
pub(super) const LONGEST_SUM: usize = 400;

/// Pieces of a scaling in one text.
const PIECES: usize = 8;

/// Longest expression (bytes). SQLite takes 3 seconds and 500 MB to prepare one.
const LONGEST: usize = 20_000_000;

/// Bytes of an expression above which means of categories are written once.
const LONG: usize = 1_000_000;

/// Most times that the name of a feature is written before the length is checked again.
const MOST_REPEATED: usize = 16;

/// The name of the query column of a model that was trained without SQL.
const QUERY_COLUMN: &str = "query_id";

/// The score as an expression of the columns of a table. Scalings within queries and the form `ranking` make it one with
/// window functions.
///
/// # Errors
/// An expression longer than [`LONGEST`].
pub(super) fn expression(model: &Model, terms: &[Term<'_>]) -> Result<String> {
    let mut columns = Columns::new(model);
    let summands: Vec<Summand<'_>> = terms.iter().flat_map(|term| summands(&columns, term)).collect();
    if summands.is_empty() {
        return Ok("0.0".to_owned());
    }
    let mut sql = Sql::default();
    let written = sql.sum(&columns, &summands);
    // Subqueries are not allowed in generated columns, and window functions would not see the other rows of the table there.
    let is_of_row = |term: &Term<'_>| term.scaling.pointwise() && term.space.form == Form::Scoring;
    let is_long = written.is_err() || sql.text.len() > LONG;
    let means =
        if is_long && terms.iter().all(is_of_row) { columns.name_means(model) } else { String::new() };
    if means.is_empty() {
        return written.map(|()| sql.text);
    }
    sql.text.clear();
    sql.push(format_args!("(SELECT "))?;
    sql.sum(&columns, &summands)?;
    sql.push(format_args!(" FROM (SELECT {means}))"))?;
    Ok(sql.text)
}

/// Why a name cannot be written.
pub(super) fn check_names(model: &Model) -> Result<(), String> {
    let columns = &model.card.columns;
    let inputs = model.card.input_names();
    let features = model.card.features.iter().chain(&inputs);
    let mut names = features.chain(&columns.query).chain(&columns.features);
    match names.find(|name| name.contains('\0')) {
        None => Ok(()),
        Some(name) => Err(format!("the name \"{}\" has a zero byte", crate::base::error::shorten(name))),
    }
}

/// How the columns of the table are written.
pub(super) struct Columns {
    /// The features, as numbers; NULL if they are missing and nothing replaces them.
    pub(super) features: Vec<String>,
    /// What replaces a missing feature.
    missing: Missing,
    /// The rows of the same query.
    window: String,
    /// A name that begins no name of a column.
    pieces: String,
}

impl Columns {
    pub(super) fn new(model: &Model) -> Self {
        let (card, mut ticks) = (&model.card, Ticks::default());
        let given = |(index, name): (usize, &String)| {
            ticks.add(64 + name.len());
            match &card.columns.features {
                Some(vector) => format!("json_extract({}, '$[{index}]')", quoted(vector)),
                None => quoted(name),
            }
        };
        let filled = |(given, mean): (String, &f64)| match card.missing {
            Missing::Error | Missing::Branch => given,
            Missing::Zero => format!("coalesce({given}, 0.0)"),
            Missing::Mean => format!("coalesce({given}, {mean:?})"),
        };
        let numbers = card.features[..card.numbers()].iter().enumerate();
        let mut features: Vec<String> = numbers.map(given).zip(&card.means).map(filled).collect();
        for category in card.categories.iter() {
            features.extend(of_category(category, &mut ticks));
        }
        let query = card.columns.query.as_deref().unwrap_or(QUERY_COLUMN);
        let inputs = card.input_names();
        let mut pieces = "pieces".to_owned();
        let names = inputs.iter().chain(&card.columns.features).map(String::as_str).chain([query]);
        let begins = |name: &str, pieces: &str| {
            name.get(..pieces.len()).is_some_and(|start| start.eq_ignore_ascii_case(pieces))
        };
        while names.clone().any(|name| begins(name, &pieces)) {
            pieces.push('_');
        }
        Self {
            features,
            missing: card.missing,
            window: format!("OVER (PARTITION BY {})", quoted(query)),
            pieces,
        }
    }

    /// Moves the means of categories into columns of a subquery, and returns what it selects. Splits of trees repeat a mean often.
    fn name_means(&mut self, model: &Model) -> String {
        let features = model.card.categories.mean_features(self.features.len());
        let select = |(number, feature): (usize, usize)| {
            let name = quoted(&format!("{}{number}", self.pieces));
            let mean = std::mem::replace(&mut self.features[feature], name.clone());
            format!("{mean} AS {name}")
        };
        features
            .filter_map(|(_, feature)| feature)
            .enumerate()
            .map(select)
            .collect::<Vec<String>>()
            .join(", ")
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

/// The features of a category as comparisons, which are 1 or 0 (rule 2.20).
fn of_category(category: &Category, ticks: &mut Ticks) -> Vec<String> {
    let column = quoted(&category.name);
    let text = format!("CAST({column} AS TEXT) COLLATE BINARY");
    let literal = |value: &str| format!("'{}'", value.replace('\'', "''"));
    // A number that is stored as REAL has another text: 5.0 for the value 5.
    let number = |value: &str| {
        let number = value.parse::<f64>().ok().filter(|number| number.is_finite())?;
        (CategoryValue::Real(number).text()? == value)
            .then(|| format!("typeof({column}) IS 'real' AND {column} = {number:?}"))
    };
    let mut is_value = |value: &String| {
        ticks.add(64 + value.len());
        match number(value) {
            Some(number) => format!("({text} IS {} OR {number})", literal(value)),
            None if value.parse::<f64>().is_ok() => {
                format!("(typeof({column}) IS 'text' AND {text} IS {})", literal(value))
            }
            None => format!("({text} IS {})", literal(value)),
        }
    };
    let values: Vec<String> = category.values.iter().map(&mut is_value).collect();
    let (plain, others): (Vec<&String>, Vec<&String>) =
        category.values.iter().partition(|value| value.parse::<f64>().is_err());
    let listed: Vec<String> = plain.into_iter().map(|value| literal(value)).collect();
    let mut other = format!("({column} IS NOT NULL AND {text} NOT IN ({})", listed.join(", "));
    for (value, condition) in category.values.iter().zip(&values) {
        if others.contains(&value) {
            other.push_str(" AND NOT ");
            other.push_str(condition);
        }
    }
    other.push(')');
    let mean = category.means().map(|means| {
        let mut mean = format!("CASE WHEN {column} IS NULL THEN {:?}", means.of(None));
        for (value, number) in means.entries() {
            _ = write!(mean, " WHEN {} THEN {number:?}", is_value(value));
        }
        mean + " ELSE 0.0 END"
    });
    values.into_iter().chain([other, format!("({column} IS NULL)")]).chain(mean).collect()
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
fn summands<'a>(columns: &Columns, term: &'a Term<'a>) -> Vec<Summand<'a>> {
    if let WeightsOf::Leaves(_) = term.space.weights_of() {
        return trees(term).into_iter().map(Summand::Tree).collect();
    }
    let n = columns.features.len();
    let summand = move |(index, weight): (usize, &f64)| {
        // With a factor of 0 the feature is constant.
        let factor =
            if index < n { term.scaling.affine(index).map_or(1.0, |(_, factor)| factor) } else { 1.0 };
        let weight = weight * factor;
        (weight.abs() > 0.0).then_some(Summand::Feature(Weighted { term, index, weight }))
    };
    term.weights.iter().enumerate().filter_map(summand).collect()
}

/// An expression that is written.
#[derive(Default)]
pub(super) struct Sql {
    pub(super) text: String,
    ticks: Ticks,
}

impl Sql {
    /// Appends a part.
    ///
    /// # Errors
    /// An expression longer than [`LONGEST`].
    pub(super) fn push(&mut self, part: Arguments<'_>) -> Result<()> {
        let start = self.text.len();
        // Writing to a text does not fail.
        self.text.write_fmt(part).unwrap_or_default();
        self.ticks.add(64 + self.text.len() - start);
        self.check_length(0)
    }

    /// Refuses an expression that is too long with this many bytes more.
    fn check_length(&self, more: usize) -> Result<()> {
        if self.text.len().saturating_add(more) <= LONGEST {
            return Ok(());
        }
        Err(Error::Unsupported(format!(
            "the expression has more than {LONGEST} bytes; use fewer features or trees, shorter names or \"scale\": \"standard\", \
             or export the model as 'json'"
        )))
    }

    /// The sum of some summands, in groups of at most [`LONGEST_SUM`].
    fn sum(&mut self, columns: &Columns, summands: &[Summand<'_>]) -> Result<()> {
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
                        self.tree(columns, tree)
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

    /// A scaled feature divided by the factor of its scaling. With the form `ranking` its mean over the query is subtracted: the
    /// scores of a linear function are then centered.
    fn scaled(&mut self, columns: &Columns, summand: &Weighted<'_>) -> Result<()> {
        let (n, term) = (columns.features.len(), summand.term);
        let x = &columns.features[summand.index % n];
        self.check_length(MOST_REPEATED.saturating_mul(x.len() + columns.window.len()))?;
        let centered = term.space.form == Form::Ranking;
        // Text from a file counts as a number in arithmetic, but not in comparisons.
        let number = format!("{x} + 0.0");
        if summand.index >= n || matches!(term.scaling, Scaling::QueryMinmax) {
            return self.minmax(columns, &number, centered);
        }
        let number = format!("({number})");
        match term.scaling {
            Scaling::Quantile(quantiles) | Scaling::QuantileMinmax(quantiles) => {
                let lines = quantiles[summand.index].lines();
                if !centered {
                    return self.normal_score(columns, &number, lines);
                }
                self.push(format_args!("("))?;
                self.normal_score(columns, &number, lines)?;
                self.push(format_args!(" - avg("))?;
                self.normal_score(columns, &number, lines)?;
                self.push(format_args!(") {})", columns.window))
            }
            scaling => {
                let (center, _) = scaling.affine(summand.index).unwrap_or((0.0, 1.0));
                match (centered, center.abs() > 0.0) {
                    (true, _) => self.push(format_args!("({x} - {})", columns.mean(x))),
                    (false, true) => self.push(format_args!("({x} {})", minus(center))),
                    (false, false) => self.push(format_args!("{x}")),
                }
            }
        }
    }

    /// (x - min) / (max - min) over the query, or 0 if all values are equal; less its mean if centered.
    fn minmax(&mut self, columns: &Columns, x: &str, centered: bool) -> Result<()> {
        let window = &columns.window;
        let (min, max) = (format!("min({x}) {window}"), format!("max({x}) {window}"));
        let start = if centered { columns.mean(x) } else { min.clone() };
        self.push(format_args!(
            "CASE WHEN {max} > {min} THEN ({x} - {start}) / ({max} - {min}) ELSE 0.0 * ({x}) END"
        ))
    }

    /// The score of a value: linear between the quantiles, constant outside.
    ///
    /// SQLite compares each constant of a statement with all others when it prepares it. So the pieces are not constants of their
    /// own: [`PIECES`] of them are one text, of which a value reads those that it needs.
    fn normal_score(&mut self, columns: &Columns, x: &str, lines: &[QuantileLine]) -> Result<()> {
        let (first, pieces) = (lines[0], &columns.pieces);
        let numbers_of = |line: &QuantileLine| [line.x, line.z, line.slope];
        let numbers = lines.iter().flat_map(numbers_of);
        let width = numbers.map(|number| format!("{number:?}").len()).max().unwrap_or(0);
        let number = |index: usize| format!("CAST(substr({pieces}, {}, {width}) AS REAL)", 1 + width * index);
        let groups: Vec<&[QuantileLine]> = lines.chunks(PIECES).collect();
        self.push(format_args!("(SELECT CASE WHEN {x} < {:?} THEN {:?} ELSE ", first.x, first.z))?;
        let length = groups[0].len();
        self.search(0..length, &|index| format!("{x} < {}", number(3 * index)), &mut |sql, index| {
            let [value, score, slope] = [0, 1, 2].map(|part| number(3 * index + part));
            sql.push(format_args!("{score} + {slope} * ({x} - {value})"))
        })?;
        self.push(format_args!(" END FROM (SELECT "))?;
        let is_before = |index: usize| format!("{x} < {:?}", groups[index][0].x);
        self.search(0..groups.len(), &is_before, &mut |sql, index| {
            // A short last group is filled with its last piece.
            let last = groups[index].len() - 1;
            let pieces = (0..length).map(|piece| &groups[index][piece.min(last)]);
            let mut text = String::new();
            for number in pieces.flat_map(numbers_of) {
                let number = format!("{number:?}");
                _ = write!(text, "{number:>width$}");
            }
            sql.push(format_args!("'{text}'"))
        })?;
        self.push(format_args!(" AS {pieces} LIMIT 1) LIMIT 1)"))
    }

    /// A binary search for the last of these indices that `is_before` does not exclude, and what `found` writes for it.
    fn search(
        &mut self,
        indices: Range<usize>,
        is_before: &dyn Fn(usize) -> String,
        found: &mut dyn FnMut(&mut Self, usize) -> Result<()>,
    ) -> Result<()> {
        if indices.len() <= 1 {
            return found(self, indices.start);
        }
        let middle = indices.start.midpoint(indices.end);
        self.push(format_args!("CASE WHEN {} THEN ", is_before(middle)))?;
        self.search(indices.start..middle, is_before, found)?;
        self.push(format_args!(" ELSE "))?;
        self.search(middle..indices.end, is_before, found)?;
        self.push(format_args!(" END"))
    }
}

/// `- number` or `+ number`. Two signs in a row would start a comment.
fn minus(number: f64) -> String {
    let sign = if number < 0.0 { '+' } else { '-' };
    format!("{sign} {:?}", number.abs())
}

// Trees as cases of SQL: `CASE WHEN x > border THEN ... ELSE ... END`, level by level.

/// A tree.
pub(super) struct Tree<'a> {
    scaling: &'a Scaling,
    /// One per level.
    splits: Vec<Split>,
    /// The values of its leaves: a value above the border of level i adds 2^i to the number of the leaf.
    values: &'a [f64],
}

/// A level of a tree.
struct Question {
    above: String,
    /// What holds for a value that is not above; none if that is every other value.
    below: Option<String>,
}

/// The trees of a term.
pub(super) fn trees<'a>(term: &Term<'a>) -> Vec<Tree<'a>> {
    let WeightsOf::Leaves(forest) = term.space.weights_of() else { return Vec::new() };
    let mut splits = forest.splits();
    let values = term.weights.chunks_exact(1 << forest.depth());
    let tree = |values| {
        let splits = splits.by_ref().take(forest.depth()).collect();
        Tree { scaling: term.scaling, splits, values }
    };
    values.map(tree).collect()
}

impl Sql {
    /// The value of the leaf of a document.
    pub(super) fn tree(&mut self, columns: &Columns, tree: &Tree<'_>) -> Result<()> {
        let questions: Vec<Question> =
            tree.splits.iter().map(|split| question(columns, tree.scaling, split)).collect();
        self.below(&questions, 0, 0, tree.values)
    }

    /// The part of a tree below the answers to some levels, which are the bits of `leaf`.
    fn below(&mut self, questions: &[Question], level: usize, leaf: usize, values: &[f64]) -> Result<()> {
        let Some(Question { above, below }) = questions.get(level) else {
            return self.push(format_args!("{:?}", values[leaf]));
        };
        self.push(format_args!("CASE WHEN {above} THEN "))?;
        self.below(questions, level + 1, leaf | 1 << level, values)?;
        match below {
            Some(below) => self.push(format_args!(" WHEN {below} THEN "))?,
            None => self.push(format_args!(" ELSE "))?,
        }
        self.below(questions, level + 1, leaf, values)?;
        self.push(format_args!(" END"))
    }
}

fn question(columns: &Columns, scaling: &Scaling, split: &Split) -> Question {
    // Text from a file counts as a number in arithmetic, but not in comparisons.
    let x = format!("{} + 0.0", columns.features[split.feature]);
    let (x, border) = match scaling {
        Scaling::Quantile(quantiles) => (x, last_not_above(&quantiles[split.feature], split.border)),
        scaling => match scaling.affine(split.feature) {
            Some((center, factor)) if scaling != &Scaling::None => {
                (format!("({x} {}) * {factor:?}", minus(center)), split.border)
            }
            _ => (x, split.border),
        },
    };
    let above = format!("{x} > {border:?}");
    match columns.missing {
        // The score of a missing value is NULL.
        Missing::Error => Question { above, below: Some(format!("{x} <= {border:?}")) },
        // A comparison with NULL is NULL.
        Missing::Branch if split.missing_above => {
            Question { above: format!("({above}) IS NOT 0"), below: None }
        }
        Missing::Branch | Missing::Zero | Missing::Mean => Question { above, below: None },
    }
}

/// The largest value whose score is not above a border: scores rise with values. At the ends it is the first or last number.
fn last_not_above(quantiles: &Quantiles, border: f64) -> f64 {
    let (mut low, mut high) = (rank(f64::MIN), rank(f64::MAX));
    if quantiles.normal_score(f64::MAX) <= border {
        return f64::MAX;
    }
    // The score of `high` is above the border.
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if quantiles.normal_score(of_rank(middle)) <= border {
            low = middle;
        } else {
            high = middle;
        }
    }
    of_rank(low)
}

/// The place of a number among all finite numbers of its type.
fn rank(value: f64) -> i128 {
    let size = i128::from(value.abs().to_bits());
    if value.is_sign_negative() { -size } else { size }
}

fn of_rank(rank: i128) -> f64 {
    let size = f64::from_bits(rank.unsigned_abs() as u64);
    if rank < 0 { -size } else { size }
}
