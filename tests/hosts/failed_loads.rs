//! Loads that fail at every registration, for any way to load: by `register` or as a library (rule 13.8).
//!
//! Whatever failed, functions that stay registered answer with an error, a later load works, and a connection that was loaded
//! before keeps working.
#![allow(unsafe_code, reason = "the allocator of SQLite is replaced through the C interface")]

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::process::Command;

use rusqlite::functions::FunctionFlags;
use rusqlite::{Connection, ffi};

/// A way to load all functions.
pub type Load = fn(&Connection) -> Result<(), String>;

/// A function: name, number of arguments, whether it is an aggregate.
type Function = (String, c_int, bool);

fn functions(connection: &Connection) -> Vec<Function> {
    let sql = "SELECT name, narg, type <> 's' FROM pragma_function_list WHERE name LIKE 'ltr!_%' ESCAPE '!' ORDER BY 1, 2";
    let mut statement = connection.prepare(sql).expect("the list");
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).expect("functions");
    rows.collect::<rusqlite::Result<_>>().expect("functions")
}

fn call((name, arguments, _): &Function) -> String {
    format!("SELECT {name}({})", vec!["1"; *arguments.max(&0) as usize].join(", "))
}

fn fails(connection: &Connection, sql: &str) {
    let outcome = connection.query_row(sql, [], |_| Ok(()));
    let problem = outcome.expect_err(sql).to_string();
    // Functions that answer wrong calls, and the host's functions, have other messages.
    let expected = ["not loaded completely", "call ", "argument"];
    assert!(expected.iter().any(|text| problem.contains(text)), "{sql}: {problem}");
}

/// All functions but `host` fail.
fn assert_incomplete(connection: &Connection, host: Option<&Function>) {
    let is_ours =
        |function: &&Function| host.is_none_or(|host| (&host.0, host.1) != (&function.0, function.1));
    for function in functions(connection).iter().filter(is_ours) {
        let sql = call(function);
        fails(connection, &sql);
        if function.2 && function.1 >= 0 {
            fails(connection, &format!("{sql} FROM (SELECT 1 WHERE 0)"));
        }
    }
    for table in ["ltr_metrics", "ltr_options"] {
        let outcome = connection.query_row(&format!("SELECT count(*) FROM {table}"), [], |_| Ok(()));
        assert!(outcome.is_err(), "{table}");
    }
}

const FIT: &str = "SELECT ltr_fit('rank_svm', 'SELECT 1 AS query_id, value AS doc_id, value AS relevance, value / 2.0 AS a \
     FROM json_each(''[3, 1, 2]'')', '{\"lambda\": 1}')";

/// Scalar functions, aggregates and tables work, and use one state.
fn assert_works(connection: &Connection) {
    let number = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, f64>(0)).expect(sql);
    number(&format!("SELECT ltr_score(({FIT}), '[1]')"));
    assert!(number("SELECT ltr_debug() ->> 'models_kept'") >= 1.0);
    assert!(number("SELECT count(*) FROM ltr_metrics") > 9.0);
    assert!(number("SELECT ltr_ndcg(1, 1)") > 0.9);
}

/// Each function of the extension is once in use by a statement of the host, so that SQLite refuses to replace it. Returns the
/// number of functions.
pub fn walk_functions_in_use(load: Load) -> usize {
    let connection = Connection::open_in_memory().expect("a database");
    load(&connection).expect("a load");
    let all = functions(&connection);
    for function in &all {
        let connection = Connection::open_in_memory().expect("a database");
        let (name, arguments, _) = function;
        connection
            .create_scalar_function(name.as_str(), *arguments, FunctionFlags::SQLITE_UTF8, |_| Ok(1))
            .expect("a function");
        let mut statement =
            connection.prepare(&format!("{} UNION ALL SELECT 2", call(function))).expect("a statement");
        let mut rows = statement.query([]).expect("rows");
        assert!(rows.next().expect("a row").is_some());
        let problem = load(&connection).expect_err("in use");
        assert!(problem.contains("active statements"), "{problem}");
        assert_incomplete(&connection, Some(function));
        // Again, while the statement still runs.
        load(&connection).expect_err("in use");
        assert_incomplete(&connection, Some(function));
        drop(rows);
        drop(statement);
        load(&connection).expect("nothing is in use");
        assert_works(&connection);
        // A load into a connection that has all functions fails, and changes nothing.
        let mut statement = connection.prepare("SELECT 1 UNION ALL SELECT 2").expect("a statement");
        let mut rows = statement.query([]).expect("rows");
        assert!(rows.next().expect("a row").is_some());
        load(&connection).expect_err("a statement runs");
        assert_works(&connection);
    }
    all.len()
}

thread_local! {
    /// Allocations of SQLite on this thread that succeed; then one fails, or all.
    static LEFT: Cell<usize> = const { Cell::new(usize::MAX) };
    static ALL_LATER: Cell<bool> = const { Cell::new(false) };
}

/// Whether this allocation fails.
fn is_refused() -> bool {
    match LEFT.get() {
        usize::MAX => false,
        0 => {
            LEFT.set(if ALL_LATER.get() { 0 } else { usize::MAX });
            true
        }
        left => {
            LEFT.set(left - 1);
            false
        }
    }
}

static mut SYSTEM: Option<ffi::sqlite3_mem_methods> = None;

unsafe extern "C" fn allocate(bytes: c_int) -> *mut c_void {
    // SAFETY: set before the first use of SQLite, and then only read.
    let system = unsafe { SYSTEM }.and_then(|methods| methods.xMalloc);
    if is_refused() {
        std::ptr::null_mut()
    } else {
        // SAFETY: a method of SQLite with its own argument.
        system.map_or(std::ptr::null_mut(), |system| unsafe { system(bytes) })
    }
}

unsafe extern "C" fn reallocate(memory: *mut c_void, bytes: c_int) -> *mut c_void {
    // SAFETY: as above.
    let system = unsafe { SYSTEM }.and_then(|methods| methods.xRealloc);
    if is_refused() {
        std::ptr::null_mut()
    } else {
        // SAFETY: a method of SQLite with its own arguments.
        system.map_or(std::ptr::null_mut(), |system| unsafe { system(memory, bytes) })
    }
}

/// Puts `allocate` before the allocator of SQLite.
fn install() {
    // SAFETY: no other thread of this process uses SQLite yet.
    unsafe {
        let mut methods = std::mem::zeroed::<ffi::sqlite3_mem_methods>();
        assert_eq!(ffi::sqlite3_config(ffi::SQLITE_CONFIG_GETMALLOC, &raw mut methods), ffi::SQLITE_OK);
        SYSTEM = Some(methods);
        methods.xMalloc = Some(allocate);
        methods.xRealloc = Some(reallocate);
        assert_eq!(ffi::sqlite3_config(ffi::SQLITE_CONFIG_MALLOC, &raw mut methods), ffi::SQLITE_OK);
    }
}

/// Each allocation of SQLite during a load fails once: alone, and with all later ones. In new connections, and in connections
/// that have all functions. Returns the number of failures. The process must not have used SQLite.
pub fn walk_allocations(load: Load) -> usize {
    install();
    let mut failed = 0;
    for (is_loaded, all_later) in [(false, false), (false, true), (true, false), (true, true)] {
        for left in 0.. {
            let connection = Connection::open_in_memory().expect("a database");
            if is_loaded {
                load(&connection).expect("a load");
            }
            ALL_LATER.set(all_later);
            LEFT.set(left);
            let outcome = load(&connection);
            let was_reached = LEFT.replace(usize::MAX) == if all_later { 0 } else { usize::MAX };
            match outcome {
                Err(_) if is_loaded => assert_works(&connection),
                Err(_) => assert_incomplete(&connection, None),
                Ok(()) => assert_works(&connection),
            }
            failed += usize::from(outcome.is_err());
            load(&connection).expect("enough memory");
            assert_works(&connection);
            if !was_reached {
                outcome.expect("nothing failed");
                break;
            }
        }
    }
    failed
}

/// Runs the test `name` of this program in a child process. True in that process.
pub fn in_own_process(name: &str) -> bool {
    const MARK: &str = "LTR_OWN_PROCESS";
    if std::env::var_os(MARK).is_some() {
        return true;
    }
    let this = std::env::current_exe().expect("this program");
    let status =
        Command::new(this).args(["--exact", name, "--nocapture"]).env(MARK, "1").status().expect("a process");
    assert!(status.success(), "{name}: {status}");
    false
}
