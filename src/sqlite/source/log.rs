//! Reads a log of impressions and clicks.
//!
//! Rules (docs/reference/rules.md, 16):
//! * 16.1: A log has a row for each document of an impression: impression, query, document, position from 1, and whether it was
//!   clicked. Columns get these roles by name; the option `columns` overrides.
//! * 16.2: A value that cannot be used is an error with source, impression and column. No row is skipped.

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row};
use serde_json::Value;

use super::column_choice::{interleaved_columns, log_columns};
use super::parameters::SourceCall;
use super::{Source, quote};
use crate::base::{Error, Params, Result};
use crate::data::{Id, repeated_name};
use crate::search::clicks::{Impression, LogRow, MOST_POSITIONS, TakesImpressions};
use crate::search::interleave::{Tally, Team};
use crate::sqlite::glue::{Call, RunLimits, describe, number_of, row_id};
use crate::train::options::LOG_KEYS;

fn is_position(number: f64) -> bool {
    (1.0..=f64::from(MOST_POSITIONS)).contains(&number) && number.fract() <= 0.0
}

/// Largest weight of a click.
const MOST_WEIGHT: f64 = 1e6;

/// Valid ids in a log, for messages.
const IDS: &str = "ids that are neither NULL nor empty";

pub struct LogSource<'a> {
    connection: &'a Connection,
    source: Source,
    columns: [String; LOG_KEYS.len()],
    /// Columns of additional events and their weights, from the option `event_weights`.
    events: Vec<(String, f64)>,
    options: &'a Params,
    values: Vec<ValueRef<'a>>,
    limits: &'a RunLimits,
}

impl<'a> LogSource<'a> {
    /// The log that a text names.
    ///
    /// # Errors
    /// No such source; a role without a column.
    pub fn new(
        call: &Call<'a>,
        text: &str,
        first_value: usize,
        options: &'a Params,
        limits: &'a RunLimits,
    ) -> Result<Self> {
        let (connection, values) = (call.connection, call.values(first_value));
        let source = Source::resolve(connection, text, limits)?;
        let names = source.columns(connection, limits)?;
        let columns = log_columns(&source, &names, options)?;
        let events = events(&source, &names, options)?;
        let roles = columns.iter().cloned();
        let used: Vec<String> = roles.chain(events.iter().map(|(name, _)| name.clone())).collect();
        if let Some(name) = repeated_name(&used) {
            return Err(source.error(format!(
                "the column \"{name}\" is used twice; each role and each event needs its own column"
            )));
        }
        Ok(Self { connection, source, columns, events, options, values, limits })
    }

    fn call(&self) -> SourceCall<'_> {
        let Self { connection, source, options, values, limits, .. } = self;
        SourceCall { connection, source, options, values, limits }
    }

    /// Column names, in the order of [`crate::train::options::LOG_KEYS`].
    pub fn names(&self) -> [&str; 5] {
        self.columns.each_ref().map(String::as_str)
    }

    /// Reads all impressions, in the order of their ids. Impression ids that are equal only under their column's
    /// collation are different.
    ///
    /// # Errors
    /// Rule 16.2; errors of SQLite and of `to`; the time limit.
    pub fn read(&self, to: &mut dyn TakesImpressions) -> Result<()> {
        let select = self.source.ordered(&self.read_columns(), "1 COLLATE BINARY");
        let mut impression = Impression::default();
        self.call().each_row(&select, &mut |row| {
            impression.push(self.row(row, 0)?, to).map_err(|error| self.of_source(error))
        })?;
        impression.close(to).map_err(|error| self.of_source(error))
    }

    /// Passes all rows to `take`, with all columns of the source, ordered by impression and position.
    ///
    /// # Errors
    /// Errors of [`Self::read`] and of `take`.
    pub fn read_with_all(&self, take: &mut dyn FnMut(&Row<'_>, LogRow) -> Result<()>) -> Result<()> {
        let first = self.source.columns(self.connection, self.limits)?.len();
        let names = self.names();
        // Positions may be texts.
        let order = format!("{} COLLATE BINARY, CAST({} AS REAL)", first + 1, quote(names[3]));
        let select = self.source.ordered_with_all(&self.read_columns(), &order);
        self.call().each_row(&select, &mut |row| {
            take(row, self.row(row, first)?).map_err(|error| self.of_source(error))
        })
    }

    /// Turns an error about the data into one about this source.
    pub fn of_source(&self, error: Error) -> Error {
        match error {
            Error::Data(problem) => self.source.error(problem),
            other => other,
        }
    }

    /// The columns of the log, then the columns of events.
    fn read_columns(&self) -> Vec<&str> {
        self.names().into_iter().chain(self.events.iter().map(|(name, _)| name.as_str())).collect()
    }

    /// A row whose log columns start at this index.
    fn row(&self, row: &Row<'_>, first: usize) -> Result<LogRow> {
        let value = |column: usize| self.source.value(row, first + column);
        let position = number_of(value(3)?).filter(|number| is_position(*number));
        let clicked = number_of(value(4)?).filter(|weight| (0.0..=MOST_WEIGHT).contains(weight));
        // If there are several events, the one with the largest weight counts.
        let mut weight = clicked.unwrap_or(0.0);
        for (index, (name, of_event)) in self.events.iter().enumerate() {
            let cell = value(LOG_KEYS.len() + index)?;
            match number_of(cell).or_else(|| (cell == ValueRef::Null).then_some(0.0)) {
                Some(number) if number > 0.0 => weight = weight.max(*of_event),
                Some(_) => {}
                None => {
                    let problem = format!("column \"{name}\": {}; expected numbers and NULL", describe(cell));
                    return Err(self.source.error(problem));
                }
            }
        }
        let row = LogRow {
            impression: row_id(value(0)?),
            query: row_id(value(1)?),
            doc: row_id(value(2)?),
            position: position.unwrap_or(0.0) as u32,
            weight,
        };
        let null = [&row.impression, &row.query, &row.doc].iter().position(|id| **id == Id::Null);
        let (column, allowed) = match (null, position, clicked) {
            (Some(column), _, _) => (column, IDS.to_owned()),
            (None, None, _) => (3, format!("whole numbers from 1 to {MOST_POSITIONS}")),
            (None, Some(_), None) => (4, format!("0, 1, and weights up to {MOST_WEIGHT}")),
            (None, Some(_), Some(_)) => return Ok(row),
        };
        let (name, cell) = (&self.columns[column], value(column)?);
        let (found, way_out) =
            (describe(cell), if column == 4 { as_click(name, cell) } else { String::new() });
        let problem =
            format!("impression {}, column \"{name}\": {found}; expected {allowed}{way_out}", row.impression);
        Err(self.source.error(problem))
    }
}

/// Texts for a click and for no click.
const SPELLINGS: [&str; 12] = ["true", "t", "yes", "y", "x", "on", "", "false", "f", "no", "n", "off"];

/// The expression that turns a value which is no number into 0 or 1, for the end of a message.
fn as_click(name: &str, cell: ValueRef<'_>) -> String {
    let name = quote(name);
    let (expression, condition) = match cell {
        ValueRef::Null => (format!("coalesce({name}, 0)"), "NULL"),
        ValueRef::Text(text) if text.len() <= 60 => {
            let text = String::from_utf8_lossy(text);
            if SPELLINGS.contains(&&*text.to_lowercase()) {
                (
                    format!("coalesce(lower({name}) IN ('true', 't', 'yes', 'y', 'x', 'on', '1'), 0)"),
                    "another text",
                )
            } else {
                (format!("coalesce({name} = '{}', 0)", text.replace('\'', "''")), "another value")
            }
        }
        _ => return String::new(),
    };
    format!("; if {condition} means no click, use {expression} AS {name} in the source")
}

/// The columns of the option `event_weights`, with their weights.
fn events(source: &Source, names: &[String], options: &Params) -> Result<Vec<(String, f64)>> {
    let given = options.get("event_weights").and_then(Value::as_object).into_iter().flatten();
    let event = |(name, value): (&String, &Value)| {
        let weight = value.as_f64().filter(|weight| *weight > 0.0 && *weight <= MOST_WEIGHT);
        let allowed = format!("names of columns with weights above 0, at most {MOST_WEIGHT}");
        let weight = weight
            .ok_or_else(|| Error::value("option 'event_weights'", format!("{name}: {value}"), allowed))?;
        let key = names.iter().find(|known| known.eq_ignore_ascii_case(name));
        let missing = || {
            let columns = names.join(", ");
            source.error(format!("option 'event_weights': no column \"{name}\"; the columns are {columns}"))
        };
        Ok((key.ok_or_else(missing)?.clone(), weight))
    };
    given.map(event).collect()
}

/// The propensities of the option `propensities`: an array by position, or a source with position and propensity.
///
/// # Errors
/// No such source or column; a value that cannot be used; the time limit.
pub fn given_propensities(
    connection: &Connection,
    given: &Value,
    limits: &RunLimits,
) -> Result<Vec<(u32, f64)>> {
    const OPTION: &str = "option 'propensities'";
    const ALLOWED: &str = "numbers above 0 and up to 1000";
    const COLUMNS: [&str; 2] = ["position", "propensity"];
    let is_propensity = |value: &f64| *value > 0.0 && *value <= 1000.0;
    if let Some(numbers) = given.as_array() {
        let number = |(value, position): (&Value, u32)| {
            let number = value.as_f64().filter(is_propensity);
            let refused = || Error::value(OPTION, value.to_string(), ALLOWED);
            number.map(|number| (position, number)).ok_or_else(refused)
        };
        if numbers.len() > MOST_POSITIONS as usize {
            let allowed = format!("at most {MOST_POSITIONS}, one for each position");
            return Err(Error::value(OPTION, format!("{} numbers", numbers.len()), allowed));
        }
        return numbers.iter().zip(1..).map(number).collect();
    }
    let source = Source::resolve(connection, given.as_str().unwrap_or_default(), limits)?;
    // SQLite would read the name of a missing column as text.
    let names = source.columns(connection, limits)?;
    let exists = |column: &&str| names.iter().any(|name| name.eq_ignore_ascii_case(column));
    if let Some(column) = COLUMNS.iter().find(|column| !exists(column)) {
        let names = names.join(", ");
        return Err(source.error(format!("{OPTION}: no column \"{column}\"; the columns are {names}")));
    }
    let select = source.ordered(&COLUMNS, "CAST(position AS REAL)");
    let mut shown: Vec<(u32, f64)> = Vec::new();
    let options = Params::default();
    let call = SourceCall { connection, source: &source, options: &options, values: &[], limits };
    call.each_row(&select, &mut |row| {
        let value = |column: usize| source.value(row, column);
        let position = number_of(value(0)?).filter(|number| is_position(*number));
        let propensity = number_of(value(1)?).filter(is_propensity);
        let refuse = |column: usize, allowed: &str| {
            let (name, shown) = (COLUMNS[column], describe(value(column)?));
            Err(source.error(format!("{OPTION}, column \"{name}\": {shown}; expected {allowed}")))
        };
        match (position, propensity) {
            (None, _) => refuse(0, "whole numbers from 1 to 1000"),
            (_, None) => refuse(1, ALLOWED),
            (Some(position), Some(propensity)) => {
                if shown.last().is_some_and(|(last, _)| f64::from(*last) >= position) {
                    return Err(source.error(format!("{OPTION}: position {position} appears twice")));
                }
                shown.push((position as u32, propensity));
                Ok(())
            }
        }
    })?;
    Ok(shown)
}

// Reading a log of interleaved lists.
//
// Rules (docs/reference/rules.md, 18):
// * 18.5: A log has a row for each document of a list: impression, team and whether it was clicked; also query and position, if it
//   has such columns. Rows with the same impression and query are one list.
// * 18.6: A row of another team than a and b, clicks in all rows, and in a log with positions a position that
//   a list has twice and teams that differ by more than one document are warnings.

/// The contents of a log.
#[derive(Debug, Default)]
pub struct Votes {
    /// The lists, by the team with more clicks.
    pub tally: Tally,
    /// Warnings about the log.
    pub warnings: Vec<String>,
}

/// The number of cases for a warning, and the first case.
#[derive(Debug, Default)]
struct Occurrences(u64, String);

impl Occurrences {
    fn add(&mut self, what: impl FnOnce() -> String) {
        if self.0 == 0 {
            self.1 = what();
        }
        self.0 += 1;
    }

    fn warning(&self, what: &str, advice: &str) -> Option<String> {
        let Self(count, first) = self;
        (*count > 0).then(|| format!("{what}: {count} (the first: {first}){advice}"))
    }
}

/// The lists read so far.
#[derive(Debug, Default)]
struct Lists {
    tally: Tally,
    /// Impression and query of the last list.
    ids: Option<(Id, Id)>,
    /// The rows and clicks by team.
    rows: [u64; 2],
    clicks: [u64; 2],
    /// The last position, and whether a position is repeated.
    position: Id,
    is_repeated: bool,
    all_rows: u64,
    all_clicks: u64,
    other_teams: Occurrences,
    repeated: Occurrences,
    uneven: Occurrences,
}

impl Lists {
    fn push(&mut self, impression: Id, query: Id, position: Id, team: Option<Team>, clicked: bool) {
        let ids = (impression, query);
        if self.ids.as_ref() != Some(&ids) {
            self.close();
            self.ids = Some(ids);
        } else if position != Id::Null && position == self.position {
            self.is_repeated = true;
        }
        self.position = position;
        self.all_rows += 1;
        self.all_clicks += u64::from(clicked);
        if let Some(team) = team {
            self.rows[team as usize] += 1;
            self.clicks[team as usize] += u64::from(clicked);
        }
    }

    /// Ends a list.
    fn close(&mut self) {
        let Some((impression, _)) = self.ids.take() else { return };
        let rows = std::mem::take(&mut self.rows);
        self.tally.add(std::mem::take(&mut self.clicks));
        if std::mem::take(&mut self.is_repeated) {
            self.repeated.add(|| impression.to_string());
        }
        if self.position != Id::Null && rows[0].abs_diff(rows[1]) > 1 {
            self.uneven.add(|| impression.to_string());
        }
    }

    fn warnings(&self) -> Vec<String> {
        let last = if self.all_rows > 0 && self.all_clicks == self.all_rows {
            let text = "every row has a click, so lists without a click are missing from the log; log all documents shown";
            Some(text.to_owned())
        } else {
            self.uneven.warning(
                "impressions in which one team has at least two documents more than the other",
                "; team draft does not make such lists, so log all documents shown, from the top",
            )
        };
        let repeated = self.repeated.warning(
            "impressions with a repeated position",
            ", each counted as one list; give each list that is shown its own id, and log one row per document, however \
             often it is clicked",
        );
        let other = ("rows with a team other than 'a' and 'b'", "; their clicks are not counted");
        [self.other_teams.warning(other.0, other.1), repeated, last].into_iter().flatten().collect()
    }
}

/// Reads a log.
///
/// # Errors
/// No such source; a role without a column; a value that cannot be used; errors of SQLite; the time limit.
pub fn read_votes(call: SourceCall<'_>) -> Result<Votes> {
    let source = call.source;
    let names = source.columns(call.connection, call.limits)?;
    let columns = interleaved_columns(source, &names, call.options)?;
    // 1. The existing columns, ordered by all except the last two, team and click.
    let columns = columns.each_ref().map(Option::as_deref);
    let present: Vec<&str> = columns.into_iter().flatten().collect();
    let order: Vec<String> = (1..present.len() - 1).map(|number| number.to_string()).collect();
    let select = source.ordered(&present, &order.join(", "));
    // Indices into the row.
    let number = |role: usize| columns[role].map(|_| columns[..role].iter().flatten().count());
    let [impression, query, position, team, clicked] = [0, 1, 2, 3, 4].map(number);
    let mut lists = Lists::default();
    let take = &mut |row: &Row<'_>| {
        let value =
            |column: Option<usize>| column.map_or(Ok(ValueRef::Null), |column| source.value(row, column));
        let id = row_id(value(impression)?);
        let refuse = |role: usize, cell: ValueRef<'_>, allowed: &str| {
            let (name, found) = (columns[role].unwrap_or_default(), describe(cell));
            let way_out = if role == 4 { as_click(name, cell) } else { String::new() };
            source.error(format!("impression {id}, column \"{name}\": {found}; expected {allowed}{way_out}"))
        };
        if id == Id::Null {
            return Err(refuse(0, value(impression)?, IDS));
        }
        let clicks = value(clicked)?;
        let clicked = number_of(clicks).filter(|clicked| [0.0, 1.0].contains(clicked));
        let Some(clicked) = clicked else { return Err(refuse(4, clicks, "0 and 1")) };
        let cell = value(team)?;
        let team = cell.as_str().ok().and_then(Team::parse);
        if team.is_none() {
            lists.other_teams.add(|| describe(cell));
        }
        lists.push(id, row_id(value(query)?), row_id(value(position)?), team, clicked > 0.0);
        Ok(())
    };
    call.each_row(&select, take)?;
    lists.close();
    Ok(Votes { tally: lists.tally, warnings: lists.warnings() })
}
