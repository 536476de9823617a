//! Reads a log of interleaved lists.
//!
//! Rules (docs/reference/rules.md, 18):
//! * 18.5: A log has a row for each document of a list: impression, team and whether it was clicked; also query and position, if it
//!   has such columns. Rows with the same impression and query are one list.
//! * 18.6: A row of another team than a and b, clicks in all rows, and in a log with positions a position that
//!   a list has twice and teams that differ by more than one document are warnings.

use rusqlite::Row;
use rusqlite::types::ValueRef;

use super::Source;
use super::column_choice::InterleavedColumns;
use super::log::each_row;
use crate::base::error::Result;
use crate::base::param::Params;
use crate::data::Id;
use crate::search::interleave::{Tally, Team};
use crate::sqlite::glue::run_limits::RunLimits;
use crate::sqlite::glue::value::{describe, id_of, number_of};

/// What a log has.
#[derive(Debug, Default)]
pub struct Votes {
    /// Its lists by who got more clicks.
    pub tally: Tally,
    /// What may be wrong with it.
    pub warnings: Vec<String>,
}

/// Things that a warning counts, and the first of them.
#[derive(Debug, Default)]
struct Found(u64, String);

impl Found {
    fn add(&mut self, what: impl FnOnce() -> String) {
        if self.0 == 0 {
            self.1 = what();
        }
        self.0 += 1;
    }
}

/// The lists that were read.
#[derive(Debug, Default)]
struct Lists {
    tally: Tally,
    /// Impression and query of the last list.
    ids: Option<(Id, Id)>,
    /// Its rows and clicks by team.
    rows: [u64; 2],
    clicks: [u64; 2],
    /// Its last position, and whether it has a position twice.
    position: Id,
    is_repeated: bool,
    all_rows: u64,
    all_clicks: u64,
    other_teams: Found,
    repeated: Found,
    uneven: Found,
}

impl Lists {
    fn push(&mut self, ids: (Id, Id), position: Id, team: Option<Team>, clicked: bool) {
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

    /// The end of a list.
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
        let Self { other_teams, repeated, uneven, .. } = self;
        let mut warnings = Vec::new();
        if other_teams.0 > 0 {
            let Found(count, first) = other_teams;
            warnings.push(format!(
                "rows with a team other than 'a' and 'b': {count} (the first: {first}); their clicks are not counted"
            ));
        }
        if repeated.0 > 0 {
            let Found(count, first) = repeated;
            warnings.push(format!(
                "impressions with a position twice: {count} (the first: {first}), each counted as one list; give each list that is \
                 shown an id of its own, and log one row for a document, however often it is clicked"
            ));
        }
        if self.all_rows > 0 && self.all_clicks == self.all_rows {
            warnings.push(
                "every row has a click, so lists without a click are missing from the log; log all documents that are shown"
                    .to_owned(),
            );
        } else if uneven.0 > 0 {
            let Found(count, first) = uneven;
            warnings.push(format!(
                "impressions with two or more documents more of one team than of the other: {count} (the first: {first}); team \
                 draft makes no such lists, so log all documents that are shown, and all from the top"
            ));
        }
        warnings
    }
}

/// Reads a log.
///
/// # Errors
/// No such source; a role without a column; a value that cannot be used; those of the database; the time limit.
pub fn read_votes(
    (connection, text): (&rusqlite::Connection, &str),
    (options, values): (&Params, &[ValueRef<'_>]),
    limits: &RunLimits,
) -> Result<Votes> {
    let source = Source::resolve(connection, text, limits)?;
    let names = source.columns(connection, limits)?;
    let columns = InterleavedColumns::find(&source, &names, options)?;
    // 1. The columns that exist, ordered by all but the last two: team and click.
    let columns = columns.names();
    let present: Vec<&str> = columns.into_iter().flatten().collect();
    let order: Vec<String> = (1..present.len() - 1).map(|number| number.to_string()).collect();
    let select = source.ordered(&present, &order.join(", "));
    // 2. Their numbers in the row.
    let number = |role: usize| columns[role].map(|_| columns[..role].iter().flatten().count());
    let [impression, query, position, team, clicked] = [0, 1, 2, 3, 4].map(number);
    let mut lists = Lists::default();
    let take = &mut |row: &Row<'_>| {
        let value = |column: Option<usize>| match column {
            Some(column) => row.get_ref(column).map_err(|error| source.host_error(&error)),
            None => Ok(ValueRef::Null),
        };
        let id = id_of(value(impression)?);
        let refuse = |role: usize, found: ValueRef<'_>, allowed: &str| {
            let (name, found) = (columns[role].unwrap_or_default(), describe(found));
            source.error(format!("impression {id}, column \"{name}\": {found}; allowed are {allowed}"))
        };
        if id == Id::Null {
            return Err(refuse(0, ValueRef::Null, "ids that are not NULL"));
        }
        let clicks = value(clicked)?;
        let clicked = number_of(clicks).filter(|clicked| [0.0, 1.0].contains(clicked));
        let Some(clicked) = clicked else { return Err(refuse(4, clicks, "0 and 1")) };
        let found = value(team)?;
        let team =
            [Team::A, Team::B].into_iter().find(|team| found == ValueRef::Text(team.name().as_bytes()));
        if team.is_none() {
            lists.other_teams.add(|| describe(found));
        }
        lists.push((id, id_of(value(query)?)), id_of(value(position)?), team, clicked > 0.0);
        Ok(())
    };
    each_row((connection, &source), &select, (options, values), limits, take)?;
    lists.close();
    Ok(Votes { tally: lists.tally, warnings: lists.warnings() })
}
