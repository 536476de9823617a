//! Views of candidates: `CREATE VIEW ... FROM ltr_query AS q JOIN ...`, and what changed in them since training.
//!
//! A model stores the name of its view, never a statement to run. So SQLite's rules for views apply, and an untrusted model
//! can only name a view that already exists in the database.

use std::collections::{BTreeMap, HashMap, HashSet};

use rusqlite::{Connection, OptionalExtension};
use xxhash_rust::xxh3::xxh3_64;

use super::names::schema_and_name;
use super::source::is_query;
use super::{Source, quote};
use crate::base::{Error, Result, nearest, shorten};
use crate::model::CandidateView;
use crate::sqlite::glue::{RunLimits, from_host, retry_busy, sql};

/// Largest number of changed tables that a warning names.
const MOST_NAMES: usize = 10;

/// Longest statement in a message, in characters.
const LONGEST_SQL: usize = 4000;

const EXAMPLE: &str = "CREATE VIEW candidates AS SELECT q.query AS query_id, docs.rowid AS doc_id, ... FROM ltr_query AS q JOIN docs ON \
     docs MATCH ltr_fts_query(q.query)";

/// A schema entry: type, name and CREATE statement.
type Entry = (String, String, String);

impl Source {
    /// The current view of candidates with this name.
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
        // 1. The name, possibly with a schema.
        let own_schema = |(of, name): (String, String)| of.eq_ignore_ascii_case(schema).then_some(name);
        let bare = schema_and_name(name).and_then(own_schema);
        let mut names = [Some(name), bare.as_deref()].into_iter().flatten();
        let entry = names.find_map(|name| entries.get(&name.to_ascii_lowercase()));
        let Some((kind, name, sql)) = entry.cloned() else {
            return Err(problem(no_such_view(&entries, schema, name)));
        };
        if kind != "view" {
            return Err(problem(format!(
                "a {kind}; candidates are a view that reads ltr_query, such as {EXAMPLE}"
            )));
        }
        if let Some((kind, ..)) = entries.get("ltr_query") {
            return Err(problem(format!(
                "the database '{schema}' has a {kind} named ltr_query, which hides the function from views; rename it"
            )));
        }
        // 2. What it reads.
        let (tables, reads_queries) = tables_read(&entries, &name);
        if !reads_queries {
            return Err(problem(format!(
                "the view does not read ltr_query, which has the queries, as in {EXAMPLE}"
            )));
        }
        let source = Self::view(&name, &format!("{}.{}", quote(schema), quote(&name)));
        // Prepare a statement, to check that SQLite accepts the view before a call reads rows.
        retry_busy(limits, || {
            let prepared = sql::prepare(connection, &source.select);
            prepared.map(drop).map_err(|error| source.view_error(&error))
        })?;
        Ok((source, CandidateView { name, judged: Default::default(), sql, tables }))
    }

    /// A model's view of candidates, with a warning if the view, or anything it reads, has changed since training.
    ///
    /// # Errors
    /// Like [`Self::candidates`]; if the view is missing, the message contains its CREATE statement.
    pub fn of_model(
        connection: &Connection,
        schema: &str,
        trained: &CandidateView,
        limits: &RunLimits,
    ) -> Result<Self> {
        let source_text = format!("'{}'", shorten(&printable(&trained.name)));
        let problem = |problem| Error::Source { source_text: source_text.clone(), problem };
        let exists = retry_busy(limits, || {
            view_exists(connection, schema, &trained.name).map_err(|error| from_host(&error, problem))
        })?;
        if !exists {
            return Err(problem(format!(
                "the database '{schema}' has no view of this name, from which the model takes its candidates; the training had: {}",
                printable(&trained.sql)
            )));
        }
        let (mut source, now) = Self::candidates(connection, schema, &trained.name, limits)?;
        let hashes: HashMap<&str, u64> = now.tables.iter().map(|(name, hash)| (&**name, *hash)).collect();
        let changed = trained.tables.iter().filter(|(name, hash)| hashes.get(&**name) != Some(hash));
        let changed: Vec<String> =
            changed.take(MOST_NAMES).map(|(name, _)| shorten(&printable(name))).collect();
        if !changed.is_empty() {
            source.warning = Some(format!(
                "candidates {}: changed since the training: {}; train again if feature values are different now",
                source.shown,
                changed.join(", ")
            ));
        }
        Ok(source)
    }

    /// An SQLite error about a view of candidates.
    fn view_error(&self, error: &rusqlite::Error) -> Error {
        from_host(error, |problem| {
            let is_unsafe = problem.starts_with("unsafe use of");
            let advice = match (is_unsafe, problem.contains("ltr_")) {
                (true, true) => " in a view, which must not search, rank or train",
                (true, false) => {
                    " in a view; if PRAGMA trusted_schema is off, it may work with PRAGMA trusted_schema = ON, and FTS5 with a newer SQLite"
                }
                (false, _) if problem.starts_with("fts5: syntax error") => {
                    "; write MATCH ltr_fts_query(q.query) in the view"
                }
                (false, _) => "",
            };
            self.error(format!("{problem}{advice}"))
        })
    }
}

fn view_exists(connection: &Connection, schema: &str, name: &str) -> rusqlite::Result<bool> {
    let sql = format!(
        "SELECT 1 FROM {}.sqlite_master WHERE name = ?1 COLLATE NOCASE AND type = 'view'",
        quote(schema)
    );
    sql::query_row(connection, &sql, [name], |_| Ok(())).optional().map(|found| found.is_some())
}

/// The tables and views of a schema, by lowercase name.
fn entries(connection: &Connection, schema: &str) -> rusqlite::Result<BTreeMap<String, Entry>> {
    let query = format!(
        "SELECT type, name, sql FROM {}.sqlite_master WHERE type IN ('table', 'view') AND sql IS NOT NULL",
        quote(schema)
    );
    let mut statement = sql::prepare(connection, &query)?;
    let entry = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
    let entries = statement.query_map([], entry)?;
    entries
        .map(|entry: rusqlite::Result<Entry>| entry.map(|entry| (entry.1.to_ascii_lowercase(), entry)))
        .collect()
}

/// A view and the tables and views whose names occur in its text, or in the text of a view or virtual table among them, with
/// the hashes of their CREATE statements; possibly too many, but never too few. Also whether one of the texts has the
/// word `ltr_query`.
fn tables_read(entries: &BTreeMap<String, Entry>, view: &str) -> (Vec<(String, u64)>, bool) {
    let mut visited = HashSet::from([view.to_ascii_lowercase()]);
    let mut open = vec![view.to_ascii_lowercase()];
    let mut reads_queries = false;
    while let Some((_, _, sql)) = open.pop().and_then(|name| entries.get(&name)) {
        let words = words(sql);
        reads_queries |= words.contains("ltr_query");
        for (name, (kind, _, sql)) in entries {
            let is_named = words_of(name).all(|word| words.contains(word));
            if is_named && visited.insert(name.clone()) && (kind == "view" || is_virtual(sql)) {
                open.push(name.clone());
            }
        }
    }
    let read = entries.iter().filter(|(name, _)| visited.contains(*name));
    (read.map(|(_, (_, name, sql))| (name.clone(), xxh3_64(sql.as_bytes()))).collect(), reads_queries)
}

/// The error for a name that is not a view.
fn no_such_view(entries: &BTreeMap<String, Entry>, schema: &str, name: &str) -> String {
    let views = entries.values().filter(|(kind, ..)| kind == "view").map(|(_, name, _)| name.as_str());
    match nearest(name, views) {
        _ if is_query(name) => format!("a statement; create a view of it, as in {EXAMPLE}"),
        Some(view) => format!("no view of this name in the database '{schema}', did you mean '{view}'?"),
        None => format!(
            "no view of this name in the database '{schema}', which is the model's; views in temp do not count, and the option 'schema' names another database for both"
        ),
    }
}

/// Text from an untrusted model, for messages: shortened and without control characters.
fn printable(text: &str) -> String {
    let plain = |c: char| if c.is_control() && c != '\n' { ' ' } else { c };
    text.chars().take(LONGEST_SQL).map(plain).collect()
}

fn is_virtual(sql: &str) -> bool {
    sql.get(..14).is_some_and(|start| start.eq_ignore_ascii_case("CREATE VIRTUAL"))
}

/// The words of an SQL text, in lowercase.
/// Whether an SQL text has a name, possibly in a string or comment.
pub fn has_name(sql: &str, name: &str) -> bool {
    let words = words(sql);
    words_of(&name.to_ascii_lowercase()).all(|word| words.contains(word))
}

fn words(sql: &str) -> HashSet<String> {
    words_of(&sql.to_ascii_lowercase()).map(str::to_owned).collect()
}

fn words_of(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| c.is_ascii() && !c.is_ascii_alphanumeric() && c != '_' && c != '$')
        .filter(|word| !word.is_empty())
}
