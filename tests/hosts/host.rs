//! A host program: loads a library into its SQLite and runs the statements of standard input, one per line.
//!
//! `host LIBRARY`. First line of the output: the version of SQLite. Then one line per statement: its rows, columns
//! separated by `|` and rows by `;`, or `error: ` and the message. A library that does not load gives `refused: ` and
//! the message, and the program ends as always.

use std::ffi::{CStr, CString, c_char, c_int};
use std::io::{BufRead, Write};
use std::ptr::null_mut;

use libsqlite3_sys as ffi;

/// An open database in memory.
struct Host(*mut ffi::sqlite3);

impl Host {
    fn open() -> Self {
        let mut db = null_mut();
        // SAFETY: the name ends in a zero byte and `db` is writable.
        let code = unsafe { ffi::sqlite3_open(c":memory:".as_ptr(), &raw mut db) };
        assert_eq!(code, ffi::SQLITE_OK, "sqlite3_open");
        Self(db)
    }

    fn load(&self, library: &str) -> Result<(), String> {
        let library = CString::new(library).map_err(|error| error.to_string())?;
        let mut message: *mut c_char = null_mut();
        // SAFETY: the database is open, the name ends in a zero byte, `message` is writable.
        let code = unsafe {
            ffi::sqlite3_enable_load_extension(self.0, 1);
            ffi::sqlite3_load_extension(self.0, library.as_ptr(), null_mut(), &raw mut message)
        };
        // SAFETY: null or a text of SQLite, which is not freed: the program ends soon.
        let text = if message.is_null() { String::new() } else { unsafe { text(message) } };
        if code == ffi::SQLITE_OK { Ok(()) } else { Err(text) }
    }

    /// The rows of one statement.
    fn run(&self, sql: &str) -> Result<String, String> {
        let sql = CString::new(sql).map_err(|error| error.to_string())?;
        let mut statement = null_mut();
        // SAFETY: the database is open and the statement's text ends in a zero byte.
        let code = unsafe { ffi::sqlite3_prepare_v2(self.0, sql.as_ptr(), -1, &raw mut statement, null_mut()) };
        let rows = self.check(code, ffi::SQLITE_OK).and_then(|()| self.rows(statement));
        // SAFETY: null or a statement of this database.
        unsafe { ffi::sqlite3_finalize(statement) };
        rows
    }

    fn rows(&self, statement: *mut ffi::sqlite3_stmt) -> Result<String, String> {
        let mut rows = Vec::new();
        loop {
            // SAFETY: a statement that was prepared and is not finalised.
            match unsafe { ffi::sqlite3_step(statement) } {
                ffi::SQLITE_ROW => rows.push(row(statement)),
                code => return self.check(code, ffi::SQLITE_DONE).map(|()| rows.join(";")),
            }
        }
    }

    fn check(&self, code: c_int, expected: c_int) -> Result<(), String> {
        // SAFETY: the database is open.
        if code == expected { Ok(()) } else { Err(unsafe { text(ffi::sqlite3_errmsg(self.0)) }) }
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // SAFETY: opened by `open`, without statements, and closed once.
        let code = unsafe { ffi::sqlite3_close(self.0) };
        assert_eq!(code, ffi::SQLITE_OK, "sqlite3_close: something is still open");
    }
}

/// # Safety
/// `pointer` is a text that ends in a zero byte.
unsafe fn text(pointer: *const c_char) -> String {
    // SAFETY: as above.
    unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned()
}

fn row(statement: *mut ffi::sqlite3_stmt) -> String {
    // SAFETY: the statement has a row, and its texts live until the next step.
    let column = |column| unsafe {
        let value = ffi::sqlite3_column_text(statement, column);
        if value.is_null() { "NULL".to_owned() } else { text(value.cast()) }
    };
    // SAFETY: the statement is alive.
    let columns = unsafe { ffi::sqlite3_column_count(statement) };
    (0..columns).map(column).collect::<Vec<_>>().join("|")
}

fn main() {
    let mut out = std::io::stdout().lock();
    let mut say = |line: &str| writeln!(out, "{line}").expect("standard output");
    // SAFETY: a text of SQLite's own.
    say(&unsafe { text(ffi::sqlite3_libversion()) });
    let library = std::env::args().nth(1).expect("usage: host LIBRARY");
    let host = Host::open();
    if let Err(message) = host.load(&library) {
        say(&format!("refused: {message}"));
        return;
    }
    for line in std::io::stdin().lock().lines() {
        let line = line.expect("standard input");
        say(&host.run(&line).unwrap_or_else(|message| format!("error: {message}")));
    }
}
