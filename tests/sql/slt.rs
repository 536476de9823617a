//! Golden SQL: every file of `tests/slt` runs on its own database, errors included.
//!
//! A record is one or more statements; rows of the last one count. Texts of errors are compared word for word. With
//! `SLT_UPDATE=1` the files are rewritten with what was found: read the difference before you keep it.

use std::path::{Path, PathBuf};

use rusqlite::types::ValueRef;
use rusqlite::{Batch, Connection};
use sqllogictest::{DB, DBOutput, DefaultColumnType as Type, Runner, default_normalizer, default_validator};

struct Database(Connection);

fn cell(value: ValueRef<'_>) -> (Type, String) {
    match value {
        ValueRef::Null => (Type::Any, "NULL".to_owned()),
        ValueRef::Integer(value) => (Type::Integer, value.to_string()),
        ValueRef::Real(value) => (Type::FloatingPoint, format!("{value:?}")),
        ValueRef::Text([]) => (Type::Text, "(empty)".to_owned()),
        ValueRef::Text(bytes) => (Type::Text, String::from_utf8_lossy(bytes).into_owned()),
        ValueRef::Blob(bytes) => {
            let digits: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            (Type::Any, format!("x'{}'", digits.concat()))
        }
    }
}

impl DB for Database {
    type Error = rusqlite::Error;
    type ColumnType = Type;

    fn run(&mut self, sql: &str) -> Result<DBOutput<Type>, rusqlite::Error> {
        let mut output = DBOutput::StatementComplete(0);
        let mut batch = Batch::new(&self.0, sql);
        while let Some(mut statement) = rusqlite::fallible_iterator::FallibleIterator::next(&mut batch)? {
            let columns = statement.column_count();
            let (mut types, mut lines) = (vec![Type::Any; columns], Vec::new());
            let mut rows = statement.raw_query();
            while let Some(row) = rows.next()? {
                let cells: Vec<(Type, String)> =
                    (0..columns).map(|column| row.get_ref(column).map(cell)).collect::<Result<_, _>>()?;
                for (known, (found, _)) in types.iter_mut().zip(&cells) {
                    if *known == Type::Any {
                        *known = found.clone();
                    }
                }
                lines.push(cells.into_iter().map(|(_, text)| text).collect());
            }
            output = if columns == 0 {
                DBOutput::StatementComplete(0)
            } else {
                DBOutput::Rows { types, rows: lines }
            };
        }
        Ok(output)
    }

    fn engine_name(&self) -> &'static str {
        "sqlite"
    }
}

/// The number of columns is as written, and each type is. A `?` means any type.
#[allow(clippy::ptr_arg, reason = "the signature is the library's")]
fn columns_agree(found: &Vec<Type>, expected: &Vec<Type>) -> bool {
    let agree = |(found, expected): (&Type, &Type)| {
        *found == Type::Any || *expected == Type::Any || found == expected
    };
    found.len() == expected.len() && found.iter().zip(expected).all(agree)
}

fn files() -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/slt");
    let entries = std::fs::read_dir(directory).expect("the folder of tests");
    let mut files: Vec<PathBuf> =
        entries.map(|entry| entry.expect("an entry of the folder").path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "slt"));
    files.sort();
    files
}

fn connect() -> Result<Database, rusqlite::Error> {
    let connection = Connection::open_in_memory()?;
    sqlite_ltr::register(&connection)?;
    Ok(Database(connection))
}

fn runner() -> Runner<Database, impl sqllogictest::MakeConnection<Conn = Database>> {
    let mut runner = Runner::new(|| async { connect() });
    runner.with_column_validator(columns_agree);
    runner
}

#[test]
fn every_file_gives_what_it_says() {
    let update = std::env::var_os("SLT_UPDATE").is_some();
    let only = std::env::var("SLT_FILE").unwrap_or_default();
    let mut problems = Vec::new();
    let files = files();
    assert!(update || files.len() >= 15, "only {} files were found", files.len());
    for file in files.iter().filter(|file| file.to_string_lossy().contains(&only)) {
        let outcome = if update {
            let mut runner = runner();
            let written =
                runner.update_test_file(file, " ", default_validator, default_normalizer, columns_agree);
            block_on(written).map_err(|error| error.to_string())
        } else {
            runner().run_file(file).map_err(|error| error.display(false).to_string())
        };
        problems.extend(outcome.err());
    }
    assert!(problems.is_empty(), "{}", problems.join("\n\n"));
    assert!(
        !update,
        "the files were rewritten, nothing was tested; read the difference and run again without SLT_UPDATE"
    );
}

/// Waits for a future that never sleeps: SQLite runs on this thread.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    let mut future = std::pin::pin!(future);
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    loop {
        if let std::task::Poll::Ready(value) = future.as_mut().poll(&mut context) {
            return value;
        }
    }
}
