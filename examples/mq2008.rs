//! Runs `sql/mq2008.sql` on the LETOR 4.0 data set MQ2008 and prints the tables that it makes.
//!
//! `cargo run --release --example mq2008`, with the folder that holds `mq2008/S1.txt` to `S5.txt` in the environment
//! variable `LTR_DATA` (default: `../shared/data`). The data are not part of the project.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example talks to the person who runs it")]

mod common;

use std::path::PathBuf;
use std::process::ExitCode;

use common::Answer;
use rusqlite::fallible_iterator::FallibleIterator;
use rusqlite::{Batch, Connection};

const SCRIPT: &str = include_str!("../sql/mq2008.sql");

fn main() -> ExitCode {
    let data = std::env::var_os("LTR_DATA").map_or_else(|| PathBuf::from("../shared/data"), PathBuf::from);
    let folder = data.join("mq2008");
    let absent: Vec<String> =
        (1..=5).map(|part| format!("S{part}.txt")).filter(|file| !folder.join(file).is_file()).collect();
    if !absent.is_empty() {
        eprintln!("mq2008: THE DATA ARE NOT THERE. Missing in {}: {}.", folder.display(), absent.join(", "));
        eprintln!(
            "Set LTR_DATA to the folder that holds mq2008/S1.txt to mq2008/S5.txt (LETOR 4.0, MQ2008)."
        );
        return ExitCode::FAILURE;
    }
    match run(&folder.display().to_string()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("mq2008: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(folder: &str) -> rusqlite::Result<()> {
    let connection = Connection::open_in_memory()?;
    sqlite_ltr::register(&connection)?;
    connection.execute("CREATE TEMP TABLE mq2008_data AS SELECT ?1 AS path", [folder])?;
    let mut script = Batch::new(&connection, SCRIPT);
    while let Some(mut statement) = script.next()? {
        let comment = statement.expanded_sql().map_or_else(String::new, |sql| comment(&sql));
        let answer = Answer::of(&mut statement)?;
        if statement.column_count() > 0 {
            println!("{comment}\n");
            answer.lines().iter().for_each(|line| println!("    {line}"));
            println!("    ({:.2} s)\n", answer.took.as_secs_f64());
        }
    }
    Ok(())
}

/// The comment in front of a statement.
fn comment(sql: &str) -> String {
    let lines = sql.trim_start().lines().map_while(|line| line.strip_prefix("--"));
    lines.map(str::trim_start).collect::<Vec<_>>().join("\n")
}
