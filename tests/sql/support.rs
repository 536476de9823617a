//! What several test files share.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use rusqlite::{Connection, Params};
use sqlite_ltr::internals::data::Ratings;
use sqlite_ltr::internals::math::random::Random;

/// An in-memory database with all functions.
pub fn database() -> Connection {
    let connection = Connection::open_in_memory().unwrap();
    sqlite_ltr::register(&connection).unwrap();
    connection
}

/// The single value that a statement returns.
pub fn value<T: rusqlite::types::FromSql>(connection: &Connection, sql: &str, params: impl Params) -> T {
    connection.query_row(sql, params, |row| row.get(0)).unwrap_or_else(|error| panic!("{sql}: {error}"))
}

/// Ratings of this many users, each of random items. `rating`: of a user and an item.
pub fn random_ratings(
    random: &mut Random,
    (users, each, n_items): (usize, usize, usize),
    rating: impl Fn(&mut Random, usize, u32) -> f64,
) -> Ratings {
    let mut ratings = Ratings { offsets: vec![0], items: Vec::new(), values: Vec::new(), n_items };
    for user in 0..users {
        let mut items: Vec<u32> = (0..n_items as u32).collect();
        random.shuffle(&mut items);
        items.truncate(each);
        items.sort_unstable();
        ratings.values.extend(items.iter().map(|item| rating(random, user, *item)));
        ratings.items.extend(items);
        ratings.offsets.push(ratings.items.len());
    }
    ratings
}

/// The folder of real data of that name, or none with a loud message.
pub fn real_data(name: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("LTR_DATA").map_or_else(|| PathBuf::from("../shared/data"), PathBuf::from);
    let folder = folder.join(name);
    if folder.is_dir() {
        return Some(folder);
    }
    not_tested(&format!("there is no {} (set LTR_DATA to the folder of real data)", folder.display()));
    None
}

/// The SQLite file that `simulate.py` of the real data writes, or none with a loud message. The script needs numpy, which
/// `.ci/run` installs under target/.
pub fn simulated_data(name: &str) -> Option<PathBuf> {
    let script = real_data(".")?.join("simulate.py");
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.db"));
    let _ = std::fs::remove_file(&file);
    let modules = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/tools/python");
    let output =
        Command::new("python3").env("PYTHONPATH", modules).arg(&script).arg(name).arg(&file).output();
    let problem = match output {
        Ok(output) if output.status.success() => return Some(file),
        Ok(output) => String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        Err(problem) => problem.to_string(),
    };
    let last = problem.lines().last().unwrap_or_default();
    not_tested(&format!("python3 {} {name} failed: {last}", script.display()));
    None
}

/// Written past the test harness, which would swallow what a passing test prints.
fn not_tested(why: &str) {
    std::io::stderr().write_all(format!("*** NOT TESTED: {why} ***\n").as_bytes()).unwrap();
}

/// Rows of a file of comma-separated numbers, by the names of its header; texts are kept unchanged.
pub fn csv(text: &str) -> (Vec<String>, Vec<Vec<String>>) {
    let mut lines = text.lines().map(|line| line.split(',').map(str::to_owned).collect::<Vec<_>>());
    (lines.next().unwrap(), lines.collect())
}

/// Whether `LTR_LONG` asks for the long forms of the tests.
pub fn is_long() -> bool {
    std::env::var_os("LTR_LONG").is_some()
}
