//! The one door between this crate and SQLite: no panic crosses it, and every error carries the function's name.

use std::panic::{AssertUnwindSafe, catch_unwind};

use rusqlite::ffi;

use crate::error::{Error, Result};

/// Runs the body of the SQL function `name`; panics and errors become SQL errors that begin with the name.
pub fn guard<T>(name: &str, body: impl FnOnce() -> Result<T>) -> rusqlite::Result<T> {
    let outcome = catch_unwind(AssertUnwindSafe(body))
        .unwrap_or_else(|payload| Err(Error::Internal(panic_text(payload.as_ref()))));
    outcome.map_err(|error| to_sqlite(name, &error))
}

/// The SQL error for an error of this crate. An interruption keeps its code, which hosts look for.
fn to_sqlite(name: &str, error: &Error) -> rusqlite::Error {
    match error {
        Error::Interrupted => rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_INTERRUPT), None),
        // A zero byte (of a name that the caller gave) would end or lose the text on its way through C.
        _ => rusqlite::Error::UserFunctionError(format!("{name}: {error}").replace('\0', "\u{2400}").into()),
    }
}

/// The text of a panic's payload.
pub fn panic_text(payload: &(dyn std::any::Any + Send)) -> String {
    payload
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "panic without a message".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text<T: std::fmt::Debug>(outcome: rusqlite::Result<T>) -> String {
        outcome.unwrap_err().to_string()
    }

    #[test]
    fn a_panic_becomes_an_error_with_its_text() {
        let panics: [(fn(), &str); 3] = [
            (|| panic!("plain"), "plain"),
            (|| panic!("number {}", std::hint::black_box(7)), "number 7"),
            (|| std::panic::panic_any(1_u8), "panic without a message"),
        ];
        for (panic, expected) in panics {
            let found = text(guard("ltr_x", || {
                panic();
                Ok(())
            }));
            assert_eq!(found, format!("ltr_x: internal error: {expected}; please report it"));
        }
    }

    #[test]
    fn a_panic_in_a_pool_becomes_an_error() {
        use rayon::prelude::*;
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        let body = || Ok(pool.install(|| (0..100).into_par_iter().map(|i| 10 / (50 - i)).sum::<i32>()));
        assert!(text(guard("ltr_x", body)).starts_with("ltr_x: internal error: attempt to divide by zero"));
    }

    #[test]
    fn an_interruption_keeps_its_code() {
        let error = guard("ltr_x", || Err::<(), _>(Error::Interrupted)).unwrap_err();
        assert_eq!(error.sqlite_error_code(), Some(rusqlite::ErrorCode::OperationInterrupted));
    }

    #[test]
    fn a_zero_byte_does_not_cut_the_message() {
        let found = text(guard("ltr_x", || Err::<(), _>(Error::Data("a\0b".to_owned()))));
        assert_eq!(found, "ltr_x: a\u{2400}b");
    }
}
