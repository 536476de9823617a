//! The README's sessions in the sqlite3 shell, run as they are written, and the first fold of `sql/mq2008.sql`.

use std::path::PathBuf;

use crate::common::Answer;
use rusqlite::fallible_iterator::FallibleIterator;
use rusqlite::{Batch, Connection};

const README: &str = include_str!("../../README.md");
const MQ2008: &str = include_str!("../../sql/mq2008.sql");

fn connect() -> Connection {
    let connection = Connection::open_in_memory().expect("an in-memory database");
    sqlite_ltr::register(&connection).expect("registration");
    connection
}

/// Runs the statements of a text up to the one that begins with `end`, and returns the rows of each.
fn run(connection: &Connection, text: &str, end: Option<&str>) -> Vec<Vec<String>> {
    let mut batch = Batch::new(connection, text);
    let mut answers = Vec::new();
    while let Some(mut statement) = batch.next().unwrap_or_else(|error| panic!("{error} in\n{text}")) {
        let sql = statement.expanded_sql().unwrap_or_default();
        if end.is_some_and(|end| sql.contains(end)) {
            break;
        }
        let answer = Answer::of(&mut statement).unwrap_or_else(|error| panic!("{error} in\n{sql}"));
        if statement.column_count() > 0 {
            answers.push(answer.lines());
        }
    }
    answers
}

/// The fenced blocks of a part of the README: language and text.
fn blocks(part: &str) -> Vec<(&str, &str)> {
    let fenced = part.split("```").skip(1).step_by(2);
    fenced.filter_map(|block| block.split_once('\n')).collect()
}

/// The sections whose SQL is run, in the order in which they go on with the tables of one another.
const SESSIONS: &[&str] = &[
    "A session in the sqlite3 shell",
    "Kernels, losses and solvers",
    "The prior: when queries may have nothing of their own",
    "Large sets",
];

fn section(title: &str) -> &'static str {
    let (_, rest) =
        README.split_once(&format!("\n## {title}\n")).unwrap_or_else(|| panic!("the README lacks '{title}'"));
    rest.split_once("\n## ").expect("something follows every session").0
}

#[test]
fn the_sessions_print_what_the_readme_shows() {
    let connection = connect();
    let mut compared = 0;
    for title in SESSIONS {
        let mut answers = Vec::new();
        for (language, text) in blocks(section(title)) {
            match language {
                "sql" => answers = run(&connection, text, None),
                "text" if !answers.is_empty() => {
                    let shown: Vec<&str> = text.trim_end().lines().collect();
                    assert_eq!(answers.concat(), shown, "{title}: the README shows another output");
                    answers.clear();
                    compared += 1;
                }
                _ => {}
            }
        }
    }
    assert!(compared >= 13, "only {compared} outputs found: has the README another layout?");
}

#[test]
fn the_table_of_options_is_that_of_the_library() {
    let connection = connect();
    let mut statement = connection.prepare("SELECT name, summary FROM ltr_options").expect("ltr_options");
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).expect("rows");
    for row in rows {
        let (name, summary): (String, String) = row.expect("two texts");
        let line = format!("| `{name}` | {} |", summary.replace('|', "\\|"));
        assert!(README.contains(&line), "the README lacks the option: {line}");
    }
}

/// One fold only: five folds of four algorithms are too slow for a debug build.
#[test]
fn rank_svm_is_sane_on_the_first_fold_of_mq2008() {
    let data = std::env::var_os("LTR_DATA").map_or_else(|| PathBuf::from("../shared/data"), PathBuf::from);
    let folder = data.join("mq2008");
    if !folder.join("S5.txt").is_file() {
        eprintln!(
            "SKIPPED: no MQ2008 in {}; set LTR_DATA to the folder that holds mq2008/S1.txt",
            folder.display()
        );
        return;
    }
    let connection = connect();
    connection
        .execute("CREATE TEMP TABLE mq2008_data AS SELECT ?1 AS path", [folder.display().to_string()])
        .expect("the path");
    run(&connection, MQ2008, Some("ltr_train("));
    let ndcg: f64 = connection
        .query_row(
            "WITH model AS MATERIALIZED (
                 SELECT test, ltr_fit('rank_svm', train, json_set(options, '$.lambda', 0.01)) AS blob
                   FROM mq2008_trainings WHERE fold = 1)
             SELECT e.value FROM model, ltr_evaluate(model.blob, model.test, json_object(
                 'metric', 'ndcg@10', 'undefined', 'zero', 'ties', 'input', 'params', json_object('fold', 1))) AS e
              WHERE e.query_id IS NULL",
            [],
            |row| row.get(0),
        )
        .expect("training and evaluation");
    assert!((0.45..0.52).contains(&ndcg), "NDCG@10 of the first fold: {ndcg}");
}
