//! The worked examples of `sql/` that make their own data, run statement by statement as a host would.

#[path = "../examples/common/mod.rs"]
mod common;

use common::Answer;
use rusqlite::fallible_iterator::FallibleIterator;
use rusqlite::{Batch, Connection};

/// The rows of every statement that has any, as the sqlite3 shell prints them.
fn run(text: &str) -> Vec<Vec<String>> {
    let connection = Connection::open_in_memory().expect("an in-memory database");
    sqlite_ltr::register(&connection).expect("registration");
    let mut batch = Batch::new(&connection, text);
    let mut answers = Vec::new();
    while let Some(mut statement) = batch.next().unwrap_or_else(|error| panic!("{error}")) {
        let sql = statement.expanded_sql().unwrap_or_default();
        let answer = Answer::of(&mut statement).unwrap_or_else(|error| panic!("{error} in\n{sql}"));
        if statement.column_count() > 0 {
            answers.push(answer.lines());
        }
    }
    answers
}

#[test]
fn diversity() {
    let answers = run(include_str!("../sql/diversity.sql"));
    println!("{answers:#?}");
}

#[test]
fn slots() {
    let answers = run(include_str!("../sql/slots.sql"));
    println!("{answers:#?}");
}
