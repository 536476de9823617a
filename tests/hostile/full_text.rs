//! Damaged full-text indexes: whatever the tables of FTS5 hold, `ltr_fts` answers with features or an error, soon, without
//! panics and without much memory.
//!
//! ```text
//! LTR_LONG=1 cargo test --test hostile full_text -- --nocapture
//! ```
//!
//! Rule 17.7: numbers of a damaged full-text index are refused.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use rusqlite::types::Value;
use sqlite_ltr::internals::math::random::Random;

use crate::allocated::measured;

/// Damaged indexes, and with `LTR_LONG`.
const TRIALS: [u64; 2] = [1_000, 100_000];
const MOST_BYTES: usize = 64 << 20;
const LONGEST: Duration = Duration::from_secs(5);
const DATABASE: &str = "file:/damaged_full_text?vfs=memdb";

/// Columns and options of each table.
const TABLES: &[(&str, &str)] = &[
    ("a, b", ""),
    ("a, b", "detail = column"),
    ("a, b", "detail = none"),
    ("a", "prefix = '1 2 3'"),
    ("a, b, c UNINDEXED, d, e", "prefix = '2', detail = column"),
    ("a, b", "content = ''"),
    ("a, b", "content = '', detail = column"),
    ("a, b", "content = '', detail = none"),
    ("a, b", "content = '', contentless_delete = 1"),
    ("a, b", "content = '', columnsize = 0"),
    ("a, b", "columnsize = 0"),
    ("a, b", "content = source, content_rowid = id"),
    ("a, b", "content = source, content_rowid = id, detail = none"),
    ("a, b", "tokenize = 'porter'"),
    ("a, b", "tokenize = 'trigram', prefix = '1'"),
    ("a, b", "tokenize = 'trigram', detail = none"),
];

const QUERIES: &[&str] = &[
    "red",
    "red blue",
    "red OR blue",
    "red NOT shoes",
    "\"red blue\"",
    "\"red bl\" * OR shoes",
    "NEAR(red blue, 3)",
    "NEAR(\"red blue\" shoes) OR garden",
    "s*",
    "sho* OR re* OR \"\"",
    "a : red",
    "{a} : (blue OR sho*)",
    "^red",
    "a : ^red OR blue",
];

const WORDS: [&str; 9] =
    ["red", "blue", "shoes", "shoe", "garden", "running", "reddish", "x", "verylongword"];

/// The tables that FTS5 keeps, each with a key.
const SHADOWS: [(&str, &str); 9] = [
    ("data", "id"),
    ("data", "id"),
    ("data", "id"),
    ("data", "id"),
    ("data", "id"),
    ("idx", "segid, term"),
    ("docsize", "id"),
    ("content", "id"),
    ("config", "k"),
];

fn texts(random: &mut Random) -> String {
    let words: Vec<&str> = (0..random.below(12)).map(|_| WORDS[random.below(WORDS.len())]).collect();
    words.join(" ")
}

/// The tables, with several segments and pages, and a copy of all that FTS5 keeps.
fn database() -> Connection {
    let connection = Connection::open(DATABASE).unwrap();
    connection.execute_batch("CREATE TABLE source(id INTEGER PRIMARY KEY, a, b)").unwrap();
    let mut random = Random::new(7);
    for id in 1..=40 {
        let row = (id, texts(&mut random), texts(&mut random));
        connection.execute("INSERT INTO source VALUES (?, ?, ?)", row).unwrap();
    }
    for (number, (columns, options)) in TABLES.iter().enumerate() {
        let options = if options.is_empty() { String::new() } else { format!(", {options}") };
        let made = format!(
            "CREATE VIRTUAL TABLE t{number} USING fts5({columns}{options});
             INSERT INTO t{number}(t{number}, rank) VALUES ('pgsz', 64);"
        );
        connection.execute_batch(&made).unwrap();
        let second = if columns.contains('b') { ", b" } else { "" };
        for rows in ["id < 15", "id BETWEEN 15 AND 25", "id > 25"] {
            let filled = format!(
                "INSERT INTO t{number}(rowid, a{second}) SELECT id, a{second} FROM source WHERE {rows}"
            );
            connection.execute(&filled, []).unwrap();
        }
        if options.contains("_delete") {
            connection.execute_batch(&format!("DELETE FROM t{number} WHERE rowid IN (3, 20)")).unwrap();
        }
        if number % 3 == 2 {
            let merged = format!("INSERT INTO t{number}(t{number}) VALUES ('optimize')");
            connection.execute_batch(&merged).unwrap();
        }
        for shadow in ["data", "idx", "docsize", "config", "content"] {
            if exists(&connection, &format!("t{number}_{shadow}")) {
                let copied =
                    format!("CREATE TABLE copy{number}_{shadow} AS SELECT * FROM t{number}_{shadow}");
                connection.execute_batch(&copied).unwrap();
            }
        }
    }
    connection
}

fn exists(connection: &Connection, table: &str) -> bool {
    let sql = "SELECT count(*) FROM sqlite_schema WHERE name = ?1";
    connection.query_row(sql, [table], |row| row.get::<_, i64>(0)).unwrap() > 0
}

/// Another value in the place of one.
fn damaged(value: Value, random: &mut Random) -> Value {
    const WHOLES: [i64; 9] = [0, 1, -1, 2, 255, 1 << 20, i32::MAX as i64, i64::MAX, i64::MIN];
    match value {
        Value::Blob(mut bytes) if !bytes.is_empty() => {
            let at = random.below(bytes.len());
            match random.below(8) {
                0 => bytes.truncate(at),
                1 => bytes.insert(at, random.below(256) as u8),
                2 => drop(bytes.remove(at)),
                3 => bytes[at] ^= 1 << random.below(8),
                // Large numbers of 7 bits a byte.
                4 => {
                    let end = bytes.len().min(at + 1 + random.below(9));
                    bytes[at..end].fill(255);
                }
                5 => bytes[at] = random.below(256) as u8,
                // Position lists are made of small numbers.
                _ => bytes[at] = [0, 1, 2, 3, 4, 5, 7, 9, 127, 128][random.below(10)],
            }
            Value::Blob(bytes)
        }
        Value::Text(text) if random.below(2) == 0 => Value::Blob(text.into_bytes()),
        _ if random.below(8) == 0 => Value::Null,
        Value::Integer(number) if random.below(2) == 0 => Value::Integer(number ^ 1 << random.below(40)),
        _ if random.below(4) == 0 => Value::Text("red".to_owned()),
        _ => Value::Integer(WHOLES[random.below(WHOLES.len())]),
    }
}

/// Changes one value of what FTS5 keeps of a table. Returns what was changed.
fn damage(connection: &Connection, number: usize, random: &mut Random) -> Option<String> {
    let (shadow, key) = SHADOWS[random.below(SHADOWS.len())];
    let table = format!("t{number}_{shadow}");
    if !exists(connection, &table) {
        return None;
    }
    let all = format!("SELECT * FROM {table} ORDER BY {key}");
    let mut statement = connection.prepare(&all).unwrap();
    let columns: Vec<String> = statement.column_names().into_iter().map(str::to_owned).collect();
    let read =
        |row: &rusqlite::Row<'_>| (0..columns.len()).map(|column| row.get::<_, Value>(column)).collect();
    let rows: Vec<Vec<Value>> = statement.query_map([], read).unwrap().map(Result::unwrap).collect();
    if rows.is_empty() {
        return None;
    }
    // The first rows of the data are the averages and the structure; keys rarely change.
    let row = &rows[random.below(rows.len())];
    let first = usize::from(random.below(10) > 0).min(columns.len() - 1);
    let column = first + random.below(columns.len() - first);
    let new = damaged(row[column].clone(), random);
    let conditions: Vec<String> = columns.iter().map(|name| format!("{name} IS ?")).collect();
    let sql =
        format!("UPDATE OR REPLACE {table} SET {} = ? WHERE {}", columns[column], conditions.join(" AND "));
    let parameters = std::iter::once(&new).chain(row);
    // A key may refuse a value of this type.
    connection.execute(&sql, rusqlite::params_from_iter(parameters)).ok()?;
    Some(format!("{table}.{} = {new:?} in the place of {:?}", columns[column], row[column]))
}

/// Puts back what FTS5 keeps of a table.
fn restore(connection: &Connection, number: usize) {
    for shadow in ["data", "idx", "docsize", "config", "content"] {
        if exists(connection, &format!("t{number}_{shadow}")) {
            let sql = format!(
                "DELETE FROM t{number}_{shadow}; INSERT INTO t{number}_{shadow} SELECT * FROM copy{number}_{shadow};"
            );
            connection.execute_batch(&sql).unwrap();
        }
    }
}

/// The number of rows with features of a query.
fn features(connection: &Connection, number: usize, query: &str, order: &str) -> rusqlite::Result<usize> {
    let sql = format!("SELECT ltr_fts(t{number}) FROM t{number} WHERE t{number} MATCH ?1 {order}");
    let mut statement = connection.prepare(&sql)?;
    let mut rows = statement.query([query])?;
    let mut count = 0;
    while let Some(row) = rows.next()? {
        let bytes: Vec<u8> = row.get(0)?;
        let width = 7 * TABLES[number].0.split(',').count() + 1;
        assert_eq!(bytes.len(), 4 * width, "{sql}: {query}");
        let values = bytes.as_chunks::<4>().0.iter().map(|value| f32::from_le_bytes(*value));
        assert!(values.clone().all(|value| !value.is_infinite()), "{sql}: {query}");
        count += 1;
    }
    Ok(count)
}

#[test]
fn damaged_indexes_give_features_or_errors() {
    let writer = database();
    let long = crate::is_long();
    let trials = TRIALS[usize::from(long)];
    let (mut statements, mut answered, mut most, mut longest) = (0, 0, 0, Duration::ZERO);
    let (mut problems, mut errors) = (Vec::new(), BTreeMap::<String, usize>::new());
    let reader = Connection::open(DATABASE).unwrap();
    sqlite_ltr::register(&reader).unwrap();
    for (number, table) in TABLES.iter().enumerate() {
        assert!(features(&reader, number, "red", "").unwrap() > 9, "{table:?}");
    }
    drop(reader);
    for trial in 0..trials {
        let mut random = Random::new(trial);
        let number = random.below(TABLES.len());
        writer.execute_batch("BEGIN").unwrap();
        let damages = 1 + random.below(3);
        let changes: Vec<String> =
            (0..damages).filter_map(|_| damage(&writer, number, &mut random)).collect();
        writer.execute_batch("COMMIT").unwrap();
        // FTS5 keeps a part of what it has read.
        let reader = Connection::open(DATABASE).unwrap();
        sqlite_ltr::register(&reader).unwrap();
        for _ in 0..4 {
            let query = QUERIES[random.below(QUERIES.len())];
            let order = ["", "ORDER BY rank", "ORDER BY rowid DESC"][random.below(3)];
            let began = Instant::now();
            let (outcome, bytes) = measured(|| features(&reader, number, query, order));
            let elapsed = began.elapsed();
            (most, longest) = (most.max(bytes), longest.max(elapsed));
            statements += 1;
            let mut is_wrong = bytes > MOST_BYTES || elapsed > LONGEST;
            match &outcome {
                Ok(rows) => answered += rows,
                Err(error) => {
                    let text = error.to_string();
                    is_wrong |= text.contains("internal error") || text.contains("panic");
                    let kind: String =
                        text.chars().filter(|letter| !letter.is_ascii_digit()).take(90).collect();
                    *errors.entry(kind).or_default() += 1;
                }
            }
            if is_wrong {
                problems.push(format!(
                    "{trial}: {query} {order}: {outcome:?}, {bytes} bytes, {elapsed:?}\n    {changes:?}"
                ));
            }
        }
        drop(reader);
        restore(&writer, number);
    }
    let shown = format!(
        "{statements} statements on {trials} damaged indexes, {answered} rows, at most {most} bytes and {longest:?}: {errors:#?}"
    );
    if crate::is_long() {
        std::io::Write::write_all(&mut std::io::stderr(), format!("{shown}\n").as_bytes()).unwrap();
    }
    assert!(
        problems.is_empty(),
        "{} problems, {shown}\n{}",
        problems.len(),
        problems[..problems.len().min(8)].join("\n")
    );
    let refused: usize = errors
        .iter()
        .filter(|(text, _)| text.contains("index of the query is damaged"))
        .map(|(_, n)| n)
        .sum();
    assert!(answered > 1000 && refused > 20, "{shown}");
}
