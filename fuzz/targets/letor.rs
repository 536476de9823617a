//! LETOR text: `ltr_letor` of a file and `Dataset::from_letor` agree.
#![no_main]

use std::path::PathBuf;

use libfuzzer_sys::fuzz_target;
use rusqlite::Connection;
use sqlite_ltr::Dataset;
use sqlite_ltr_fuzz::{Database, check_message};

thread_local! {
    static FILE: (Database, PathBuf) = {
        let connection = Connection::open_in_memory().expect("a database");
        sqlite_ltr::register(&connection).expect("registration");
        let file = std::env::temp_dir().join(format!("sqlite-ltr-fuzz-{}.letor", std::process::id()));
        (Database::new(connection), file)
    };
}

const READ: &str = "SELECT count(*), coalesce(sum(abs(relevance) > 1.7976931348623157e308), 0), coalesce(max(length(features)), 0)
                      FROM ltr_letor(?1)";

fuzz_target!(|data: &[u8]| {
    FILE.with(|(database, file)| {
        std::fs::write(file, data).expect("the file");
        let path = file.to_str().expect("a path in UTF-8");
        let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
        let found: Option<(i64, i64, i64)> =
            database.answer(READ, |statement| statement.query_row([path], read));
        std::fs::remove_file(file).expect("the file");
        // A data set has all rows at the same time.
        if let Some((rows, infinite, width)) = found {
            assert!(infinite == 0, "grades are not finite");
            if rows * width < 1 << 26 {
                match Dataset::from_letor(data) {
                    Ok(set) => assert_eq!((set.rows() as i64, 4 * set.features() as i64), (rows, width)),
                    Err(problem) => check_message("from_letor", &problem),
                }
            }
        } else if let Ok(set) = Dataset::from_letor(data) {
            // A file without features is not a source of rows.
            assert!(set.features() == 0, "ltr_letor refuses what from_letor reads");
        }
    });
});
