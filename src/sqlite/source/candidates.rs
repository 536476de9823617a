//! Views of candidates: `CREATE VIEW ... FROM ltr_query AS q JOIN ...`, and what changed in them since a training.
//!
//! A model keeps the name of its view, never a statement that it would run: SQLite's rules for views hold, and a stranger's
//! model can only name a view that the database already has.

use std::collections::{BTreeMap, HashMap, HashSet};

use rusqlite::{Connection, OptionalExtension};
use xxhash_rust::xxh3::xxh3_64;

use super::{Source, quote};
use crate::base::{Error, Result};
use crate::model::CandidateView;
use crate::sqlite::glue::{RunLimits, from_host, retry_busy, sql};

/// What a schema has under a name: its type, its name, and its CREATE statement.
type Entry = (String, String, String);

impl Source {
    /// The view of candidates with this name, and what it is now.
    ///
    /// # Errors
    /// No such view in the schema; a view that SQLite refuses; the schema `temp`.
    pub fn candidates(
        connection: &Connection,
        schema: &str,
        name: &str,
        limits: &RunLimits,
    ) -> Result<(Self, CandidateView)> {
        let problem = |problem: String| Error::Source { source_text: format!("'{name}'"), problem };
        if schema.eq_ignore_ascii_case("temp") {
            let allowed = "a view in the database of the model, which is not temp";
            return Err(Error::value("option 'candidates'", format!("'{name}' in temp"), allowed));
        }
        let entries =
            retry_busy(limits, || entries(connection, schema).map_err(|error| from_host(&error, problem)))?;
        let (kind, name, sql) = match entries.get(&name.to_ascii_lowercase()) {
            Some(entry) => entry.clone(),
            None => return Err(problem(format!("no view of this name in the database '{schema}'"))),
        };
        if kind != "view" {
            return Err(problem(format!(
                "a {kind}; candidates are a view that reads the queries from ltr_query, such as CREATE VIEW candidates AS \
                 SELECT q.query AS query_id, docs.rowid AS doc_id, ... FROM ltr_query AS q JOIN docs ON docs MATCH ltr_fts_query(q.query)"
            )));
        }
        let tables = tables_read(&entries, &name);
        let source = Self::view(&name, &format!("{}.{}", quote(schema), quote(&name)));
        // The statement tells what SQLite refuses, before a call reads rows.
        retry_busy(limits, || {
            let prepared = sql::prepare(connection, &source.select);
            prepared.map(drop).map_err(|error| source.view_error(&error))
        })?;
        Ok((source, CandidateView { name, sql, tables }))
    }

    /// The view of candidates of a model, with a warning if it, or what it reads, has changed since the training.
    ///
    /// # Errors
    /// As [`Self::candidates`]; if there is no such view, with the statement that creates it.
    pub fn of_model(
        connection: &Connection,
        schema: &str,
        trained: &CandidateView,
        limits: &RunLimits,
    ) -> Result<Self> {
        let exists = retry_busy(limits, || view_exists(connection, schema, &trained.name))?;
        if !exists {
            return Err(Error::Source {
                source_text: format!("'{}'", trained.name),
                problem: format!(
                    "the database '{schema}' has no view of this name, from which the model takes its candidates; the training had: {}",
                    trained.sql
                ),
            });
        }
        let (mut source, now) = Self::candidates(connection, schema, &trained.name, limits)?;
        let known: HashMap<&str, u64> = now.tables.iter().map(|(name, hash)| (&**name, *hash)).collect();
        let changed: Vec<&str> = (trained.tables.iter())
            .filter(|(name, hash)| known.get(&**name) != Some(hash))
            .map(|(name, _)| &**name)
            .collect();
        if !changed.is_empty() {
            source.warning = Some(format!(
                "candidates '{}': changed since the training: {}; train again if features have other values now",
                trained.name,
                changed.join(", ")
            ));
        }
        Ok(source)
    }

    /// An error of SQLite about a view of candidates.
    fn view_error(&self, error: &rusqlite::Error) -> Error {
        from_host(error, |problem| {
            let is_unsafe = problem.starts_with("unsafe use of");
            let advice = match (is_unsafe, problem.contains("ltr_")) {
                (true, true) => " in a view, which must not search, rank or train",
                (true, false) => {
                    " in a view, while PRAGMA trusted_schema is off; PRAGMA trusted_schema = ON or a newer SQLite allows it"
                }
                (false, _) => "",
            };
            self.error(format!("{problem}{advice}"))
        })
    }
}

fn view_exists(connection: &Connection, schema: &str, name: &str) -> Result<bool> {
    let sql = format!(
        "SELECT 1 FROM {}.sqlite_master WHERE name = ?1 COLLATE NOCASE AND type = 'view'",
        quote(schema)
    );
    let found = sql::query_row(connection, &sql, [name], |_| Ok(())).optional();
    found.map(|found| found.is_some()).map_err(|error| from_host(&error, Error::Host))
}

/// The tables and views of a schema, by their names in lower case.
fn entries(connection: &Connection, schema: &str) -> rusqlite::Result<BTreeMap<String, Entry>> {
    let all = format!(
        "SELECT type, name, sql FROM {}.sqlite_master WHERE type IN ('table', 'view') AND sql IS NOT NULL",
        quote(schema)
    );
    let mut statement = sql::prepare(connection, &all)?;
    let entry = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
    let entries = statement.query_map([], entry)?;
    entries
        .map(|entry: rusqlite::Result<Entry>| entry.map(|entry| (entry.1.to_ascii_lowercase(), entry)))
        .collect()
}

/// A view and the tables and views whose names occur in its text, or in the text of a view or virtual table among them, with
/// the hashes of their CREATE statements. It can only be too many.
fn tables_read(entries: &BTreeMap<String, Entry>, view: &str) -> Vec<(String, u64)> {
    let mut found = HashSet::from([view.to_ascii_lowercase()]);
    let mut open = vec![view.to_ascii_lowercase()];
    while let Some((_, _, sql)) = open.pop().and_then(|name| entries.get(&name)) {
        let words = words(sql);
        for (name, (kind, _, sql)) in entries {
            let is_named = words_of(name).all(|word| words.contains(word));
            if is_named && found.insert(name.clone()) && (kind == "view" || is_virtual(sql)) {
                open.push(name.clone());
            }
        }
    }
    let read = entries.iter().filter(|(name, _)| found.contains(*name));
    read.map(|(_, (_, name, sql))| (name.clone(), xxh3_64(sql.as_bytes()))).collect()
}

fn is_virtual(sql: &str) -> bool {
    sql.get(..14).is_some_and(|start| start.eq_ignore_ascii_case("CREATE VIRTUAL"))
}

/// The words of an SQL text in lower case.
fn words(sql: &str) -> HashSet<String> {
    words_of(&sql.to_ascii_lowercase()).map(str::to_owned).collect()
}

fn words_of(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| c.is_ascii() && !c.is_ascii_alphanumeric() && c != '_' && c != '$')
        .filter(|word| !word.is_empty())
}
