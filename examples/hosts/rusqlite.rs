//! host: rusqlite
//! tried: rusqlite 0.40.2
//! install: download the library; `cargo add rusqlite --features bundled,load_extension`
//! load: connection.load_extension("./libsqlite_ltr", None::<&str>)?;
//! note: Tested as an example in this project.
//! note: The crate `sqlite-ltr` needs no library and no unsafe code: `sqlite_ltr::register(&connection)?` ([Rust guide](guide/rust.md)).

#![allow(unsafe_code, reason = "loading a library is unsafe")]
#![allow(clippy::print_stdout, reason = "an example prints its result")]

use rusqlite::{Connection, LoadExtensionGuard};

const RANKING: &str = "
    SELECT rank, doc_id, printf('%.2f', score)
      FROM ltr_rank('q_svm', 'candidates') WHERE query_id = ? ORDER BY rank LIMIT 3";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let connection = Connection::open("shop.db")?;
    // SAFETY: the library is the published one, and nothing else can be loaded once the guard is dropped.
    unsafe {
        let _guard = LoadExtensionGuard::new(&connection)?;
        connection.load_extension("./libsqlite_ltr", None::<&str>)?;
    }
    connection.execute_batch(&std::fs::read_to_string("hotels.sql")?)?;

    let train = "SELECT ltr_train('q_svm', 'judgments') ->> 'warnings'";
    println!("{}", connection.query_row(train, [], |row| row.get::<_, String>(0))?);

    let mut statement = connection.prepare(RANKING)?;
    let mut rows = statement.query([90])?;
    while let Some(row) = rows.next()? {
        println!("{} {} {}", row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, String>(2)?);
    }
    Ok(())
}
