//! Runs the SQL of every page in a separate connection, and compares the outputs that the page shows.
//!
//! A page shows an output in a `text` block directly after an `sql` block. Lines of an `sql` block that begin with a dot
//! are commands of the sqlite3 shell: `.read` runs a file, the others are skipped.

use std::path::PathBuf;

use rusqlite::fallible_iterator::FallibleIterator;
use rusqlite::{Batch, Connection};

use super::common::Answer;
use super::page::{Block, connect, pages, root};

const MQ2008: &str = include_str!("../../sql/mq2008.sql");

/// Runs the statements of a text up to the first that contains `end`, and returns the lines of each result.
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

/// Runs one `sql` block and returns the lines that the shell would print.
fn run_block(connection: &Connection, block: &Block<'_>) -> Vec<String> {
    let (commands, statements): (Vec<&str>, Vec<&str>) =
        block.lines.iter().partition(|line| line.starts_with('.'));
    for file in commands.iter().filter_map(|command| command.strip_prefix(".read ")) {
        let text =
            std::fs::read_to_string(root().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
        run(connection, &text, None);
    }
    run(connection, &statements.join("\n"), None).concat()
}

#[test]
fn every_page_with_sql_begins_in_a_new_shell() {
    for page in pages() {
        let blocks = page.blocks();
        let Some(first) = blocks.iter().find(|block| block.language == "sql") else { continue };
        let has = |command: &str| first.lines.iter().any(|line| line.starts_with(command));
        for command in [".load ./libsqlite_ltr", ".mode column"] {
            assert!(has(command), "{}: the first SQL block has no {command}", page.path);
        }
        // The shell prints NULL as nothing, and breaks values of more than 60 characters, by default.
        let outputs = blocks.windows(2).filter(|two| two[0].language == "sql" && two[1].is_adjacent);
        let lines: Vec<&str> = outputs.flat_map(|two| two[1].lines.iter().copied()).collect();
        let shows_null = lines.iter().any(|line| line.split_whitespace().any(|word| word == "NULL"));
        assert!(has(".nullvalue NULL") || !shows_null, "{}: NULL without .nullvalue", page.path);
        let is_wide = |line: &&str| {
            line.split("  ").any(|rule| rule.len() > 60 && rule.bytes().all(|byte| byte == b'-'))
        };
        assert!(has(".mode column --wrap") || !lines.iter().any(is_wide), "{}: a wide column", page.path);
    }
}

/// Without the guard a version that does not exist leaves a model without an active version.
#[test]
fn statements_that_go_back_to_a_version_are_guarded() {
    let mut found = 0;
    for page in pages() {
        for statement in page.text.split("UPDATE ltr_models SET active").skip(1) {
            let statement = statement.split(';').next().unwrap_or_default();
            assert!(statement.contains("IN (SELECT version FROM ltr_models"), "{}: {statement}", page.path);
            found += 1;
        }
    }
    assert!(found >= 1, "{found} statements");
}

#[test]
fn sessions_print_what_the_pages_show() {
    let (mut executed, mut compared) = (0, 0);
    for page in pages() {
        let connection = connect();
        let mut output = Vec::new();
        for block in page.blocks() {
            match block.language {
                "sql" => {
                    output = run_block(&connection, &block);
                    executed += 1;
                }
                "text" if block.is_adjacent && !output.is_empty() => {
                    let (found, shown) = (output.join("\n"), block.lines.join("\n"));
                    if std::env::var_os("LTR_BLESS").is_some() {
                        bless(&page.path, shown.trim_end(), &found);
                    } else {
                        assert_eq!(found, shown.trim_end(), "{} (LTR_BLESS=1 writes it)", page.path);
                    }
                    output.clear();
                    compared += 1;
                }
                _ => output.clear(),
            }
        }
    }
    assert!(executed >= 20 && compared >= 15, "only {executed} blocks and {compared} outputs found");
}

/// Writes what a session printed into its page.
fn bless(path: &str, shown: &str, found: &str) {
    let path = root().join(path);
    let text = std::fs::read_to_string(&path).expect("a page");
    let block = |output: &str| format!("```text\n{output}\n");
    std::fs::write(&path, text.replace(&block(shown), &block(found))).expect("a page that can be written");
}

/// The page promises this.
#[test]
fn each_job_has_fewer_than_20_statements() {
    let text = std::fs::read_to_string(root().join("docs/guide/jobs.md")).expect("the page of jobs");
    let jobs: Vec<&str> = text.split("\n## ").skip(1).collect();
    assert_eq!(jobs.len(), 2);
    for job in jobs {
        let code = job.split("```sql\n").skip(1).map(|rest| rest.split("```").next().unwrap_or_default());
        let statements = code.flat_map(str::lines).filter(|line| line.ends_with(';')).count();
        assert!((5..20).contains(&statements), "{statements} statements");
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
