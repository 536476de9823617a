//! The real shared library in real hosts: the newest SQLite, Debian's shell and Python, and hosts of old SQLite.
//!
//! The library is built in the profile of the tests, unless `LTR_LIBRARY` names one, as in `.ci/run`. All hosts run the same session,
//! `tests/hosts/session.sql`, and must list the same functions and tables, `tests/hosts/surface.txt`.
//!
//! A host that is not installed is passed over with a note on stderr, so that `cargo test` needs nothing but Rust; with
//! `LTR_REQUIRE_HOSTS=1` (as in `.ci/run`) it is a failure.

#![allow(unsafe_code, reason = "loading a library is unsafe")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use rusqlite::{Connection, LoadExtensionGuard, ffi};

#[path = "hosts/failed_loads.rs"]
mod failed_loads;

use failed_loads::{in_own_process, walk_allocations, walk_functions_in_use};

/// Lists what a library adds, named as in `tests/hosts/surface.txt`.
const SURFACE: &str = "SELECT 'function ' || name || '/' || narg || CASE type WHEN 's' THEN '' ELSE ' window' END \
     || iif(flags & 0x800, ' deterministic', '') || iif(flags & 0x80000, ' directonly', '') \
     || iif(flags & 0x200000, ' innocuous', '') AS line FROM pragma_function_list \
     UNION SELECT 'table ' || name FROM pragma_module_list";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The directory that all builds share.
fn target() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("target/tmp")
}

/// The loadable library: `LTR_LIBRARY`, or else one built in the test profile, which is faster than `cargo ext`.
fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        if let Some(path) = std::env::var_os("LTR_LIBRARY") {
            return std::fs::canonicalize(&path)
                .unwrap_or_else(|error| panic!("LTR_LIBRARY={}: {error}", path.display()));
        }
        let arguments = "rustc --locked --quiet --lib --crate-type cdylib --features loadable";
        let status = Command::new(env!("CARGO"))
            .current_dir(root())
            .args(arguments.split(' '))
            .env("CARGO_TARGET_DIR", target())
            .status()
            .expect("cargo");
        assert!(status.success(), "cargo {arguments}");
        let (prefix, suffix) = (std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
        target().join("debug").join(format!("{prefix}sqlite_ltr{suffix}"))
    })
}

fn required() -> bool {
    std::env::var_os("LTR_REQUIRE_HOSTS").is_some_and(|value| !value.is_empty() && value != "0")
}

/// Notes loudly that a host is absent, or fails where hosts are required.
fn absent(what: &str, remedy: &str) {
    assert!(!required(), "{what}: {remedy}");
    // Not the macro, whose output `cargo test` keeps to itself.
    let note = format!("\n*** NOT TESTED: {what}. {remedy} ***\n");
    std::io::stderr().write_all(note.as_bytes()).expect("stderr");
}

/// What a program prints when it is fed `input`; its exit must be a success, else its stderr is shown.
fn run(command: &mut Command, input: &str) -> Output {
    let command =
        command.current_dir(root()).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_owned();
    // A program that refuses the library reads nothing.
    let feeder = std::thread::spawn(move || drop(stdin.write_all(input.as_bytes())));
    let output = child.wait_with_output().unwrap();
    feeder.join().unwrap();
    output
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn read(name: &str) -> String {
    std::fs::read_to_string(root().join("tests/hosts").join(name)).unwrap()
}

/// A statement of the session and what it gives.
struct Step {
    line: usize,
    sql: String,
    /// The row, `None` for no row, or the message of an error.
    expected: Result<Option<String>, String>,
}

/// The session of `tests/hosts/session.sql`, whose first lines say how it is written.
fn session() -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for (index, line) in read("session.sql").lines().enumerate() {
        if let Some(row) = line.strip_prefix("--> ") {
            steps.last_mut().unwrap().expected = Ok(Some(row.to_owned()));
        } else if let Some(message) = line.strip_prefix("--! ") {
            steps.last_mut().unwrap().expected = Err(message.to_owned());
        } else if !line.is_empty() && !line.starts_with("--") {
            steps.push(Step { line: index + 1, sql: line.to_owned(), expected: Ok(None) });
        }
    }
    steps
}

/// The session as `tests/hosts/host.rs` prints it.
fn transcript() -> String {
    session().into_iter().fold(String::new(), |mut text, step| {
        match step.expected {
            Ok(row) => writeln!(text, "{}", row.unwrap_or_default()).unwrap(),
            Err(message) => writeln!(text, "error: {message}").unwrap(),
        }
        text
    })
}

fn load(connection: &Connection) {
    // SAFETY: the library is this crate's.
    unsafe {
        let _guard = LoadExtensionGuard::new(connection).unwrap();
        connection.load_extension(library(), None::<&str>).unwrap();
    }
}

fn lines(connection: &Connection, sql: &str) -> Vec<String> {
    let mut statement = connection.prepare(sql).unwrap();
    let rows = statement.query_map([], |row| row.get(0)).unwrap();
    rows.collect::<Result<_, _>>().unwrap()
}

/// The lines equal `surface.txt`. Only metric aggregates may come in addition.
fn assert_pinned(found: &[&str]) {
    let pinned = read("surface.txt");
    let pinned: Vec<&str> = pinned.lines().collect();
    let is_aggregate = |line: &str| line.ends_with(" window deterministic innocuous");
    let found: Vec<&str> =
        found.iter().copied().filter(|line| pinned.contains(line) || !is_aggregate(line)).collect();
    assert_eq!(found, pinned, "\n{}", found.join("\n"));
}

#[test]
fn newest_host_gets_exactly_the_pinned_functions_and_tables() {
    let connections = [(); 2].map(|()| Connection::open_in_memory().unwrap());
    for connection in &connections {
        let before = lines(connection, SURFACE);
        load(connection);
        let after = lines(connection, SURFACE);
        let added: Vec<_> = after.iter().filter(|line| !before.contains(line)).map(String::as_str).collect();
        assert_pinned(&added);
        assert!(before.iter().all(|line| after.contains(line)), "a function of the host was replaced");
        load(connection);
        assert_eq!(lines(connection, SURFACE), after, "loading twice");
    }
    // Each connection keeps working when another one closes.
    let [first, second] = connections;
    first.close().unwrap();
    assert_eq!(lines(&second, "SELECT ltr_version()"), [env!("CARGO_PKG_VERSION")]);
}

/// A training of three documents; true if it gives a model.
const FIT: &str = "SELECT length(ltr_fit('rank_svm', 'SELECT 1 AS query_id, value AS doc_id, value AS relevance, value / 2.0 AS a \
     FROM json_each(''[3, 1, 2]'')', '{\"lambda\": 1}')) > 0";

/// While a statement runs, SQLite refuses to replace a function.
#[test]
fn functions_can_be_loaded_by_a_select() {
    // 1. The newest SQLite. What cannot be loaded again stays.
    let connection = Connection::open_in_memory().unwrap();
    let select = || {
        // SAFETY: the library is this crate's.
        let _guard = unsafe { LoadExtensionGuard::new(&connection).unwrap() };
        connection.query_row("SELECT load_extension(?1)", [library().to_str()], |_| Ok(()))
    };
    select().unwrap();
    for _ in 0..2 {
        assert!(connection.query_row(FIT, [], |row| row.get::<_, bool>(0)).unwrap());
        drop(select());
    }
    // 2. The shell.
    let Some(shell) = shell() else { return };
    let load = format!("SELECT load_extension('{}');\n{FIT};\n", library().display());
    let output = run(Command::new(shell).args(["-batch", ":memory:"]), &load);
    assert!(stdout(&output).ends_with("1\n"), "{}{}", stdout(&output), stderr(&output));
}

/// Loads through the C interface: the message may be missing when memory is exhausted.
fn try_load(connection: &Connection) -> Result<(), String> {
    let path = std::ffi::CString::new(library().to_str().unwrap()).unwrap();
    let mut message = std::ptr::null_mut();
    // SAFETY: a live connection; the library is this crate's; SQLite made the message.
    unsafe {
        let _guard = LoadExtensionGuard::new(connection).unwrap();
        let code = ffi::sqlite3_load_extension(
            connection.handle(),
            path.as_ptr(),
            std::ptr::null(),
            &raw mut message,
        );
        let text =
            (!message.is_null()).then(|| std::ffi::CStr::from_ptr(message).to_string_lossy().into_owned());
        ffi::sqlite3_free(message.cast());
        if code == ffi::SQLITE_OK { Ok(()) } else { Err(text.unwrap_or_default()) }
    }
}

/// Rule 13.8: SQLite unloads a library whose entry point fails; what it has registered stays.
#[test]
fn a_load_that_fails_half_way_leaves_no_dangling_function() {
    if in_own_process("a_load_that_fails_half_way_leaves_no_dangling_function") {
        assert!(walk_functions_in_use(try_load) > 100);
    }
}

#[test]
fn a_load_without_memory_leaves_no_dangling_function() {
    if in_own_process("a_load_without_memory_leaves_no_dangling_function") {
        library();
        assert!(walk_allocations(try_load) > 400);
    }
}

#[test]
fn newest_host_runs_the_session() {
    let connection = Connection::open_in_memory().unwrap();
    load(&connection);
    // `cargo test` starts this program in the package's root, where the session's file is.
    for step in session() {
        let actual = one_row(&connection, &step.sql).map_err(|error| message(&error));
        assert_eq!(actual, step.expected, "line {}: {}", step.line, step.sql);
    }
}

/// The only row of a statement, its columns separated by `|`.
fn one_row(connection: &Connection, sql: &str) -> rusqlite::Result<Option<String>> {
    let mut statement = connection.prepare(sql)?;
    let columns = statement.column_count();
    let mut rows = statement.query([])?;
    let mut found = None;
    while let Some(row) = rows.next()? {
        assert!(found.is_none(), "two rows: {sql}");
        let texts =
            (0..columns).map(|column| row.get_ref(column).map(shown)).collect::<Result<Vec<_>, _>>()?;
        found = Some(texts.join("|"));
    }
    Ok(found)
}

fn shown(value: rusqlite::types::ValueRef<'_>) -> String {
    match value {
        rusqlite::types::ValueRef::Integer(value) => value.to_string(),
        rusqlite::types::ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned(),
        other => format!("{other:?}"),
    }
}

/// SQLite's own message, without what rusqlite adds.
fn message(error: &rusqlite::Error) -> String {
    match error {
        rusqlite::Error::SqliteFailure(_, Some(message)) => message.clone(),
        rusqlite::Error::SqlInputError { msg, .. } => msg.clone(),
        other => other.to_string(),
    }
}

/// The `sqlite3` shell, if it is installed and can load extensions.
fn shell() -> Option<&'static str> {
    let remedy = "Debian's package `sqlite3` has one; it must be 3.38 or newer and able to load extensions";
    let sql = "SELECT sqlite_compileoption_used('OMIT_LOAD_EXTENSION') = 0 AND '.load' <> ''; \
               SELECT CAST(substr(sqlite_version(), 3) AS REAL) >= 38;\n";
    let output = Command::new("sqlite3").args([":memory:", sql]).output();
    if output.is_ok_and(|output| stdout(&output) == "1\n1\n") {
        Some("sqlite3")
    } else {
        absent("the sqlite3 shell", remedy);
        None
    }
}

#[test]
fn shell_runs_the_session() {
    let Some(shell) = shell() else { return };
    let load = format!(".load {}", library().with_extension("").display());
    let output = run(
        Command::new(shell).args(["-batch", "-cmd", &load, "-cmd", ".nullvalue NULL", ":memory:"]),
        &read("session.sql"),
    );
    let errors = stderr(&output);
    let mut errors = errors.lines();
    let mut rows = String::new();
    for step in session() {
        match step.expected {
            Ok(row) => rows.extend(row.map(|row| row + "\n")),
            Err(message) => {
                let found = errors.by_ref().find(|line| line.contains(&format!("near line {}:", step.line)));
                assert!(found.is_some_and(|line| line.contains(&message)), "line {}: {found:?}", step.line);
            }
        }
    }
    assert_eq!(stdout(&output), rows, "stderr: {}", stderr(&output));
}

/// The suite of docs/guide/test-suites.md prints nothing if it passes, and otherwise each expectation that fails.
#[test]
fn a_test_suite_in_sql_names_what_fails() {
    let Some(shell) = shell() else { return };
    let load = format!(".load {}", library().with_extension("").display());
    let train = r#"SELECT ltr_train('q_svm', 'judgments', '{"name": "hotels", "lambda": 0.01}') IS NULL;"#;
    let outcome = |suite: &str| {
        let commands = ["-cmd", &load, "-cmd", ".read sql/hotels.sql", "-cmd", train];
        let output = run(Command::new(shell).args(["-batch", "-bail"]).args(commands).arg(":memory:"), suite);
        (output.status.code(), stdout(&output), stderr(&output))
    };
    let suite = std::fs::read_to_string(root().join("sql/test_suite.sql")).unwrap();
    assert_eq!(outcome(&suite), (Some(0), "0\n".to_owned(), String::new()));
    // Each expectation, changed, is named with what was found.
    let changes = [
        ("39480", "39481", "hash of the model is 39480, not 39481"),
        ("'hotels' AND active", "'hotel' AND active", "hash of the model is NULL, not 39480"),
        ("training', '[]'", "training', '[1]'", "warnings of the training is [], not [1]"),
        ("'3,1,5'", "'3,1,4'", "query 82 is 3,1,5, not 3,1,4"),
        ("(90, ", "(900, ", "query 900 is NULL, not 5,1,3"),
        ("ranking', '[]'", "ranking', '[1]'", "warnings of the ranking is [], not [1]"),
        ("0.95, 1 FROM", "0.995, 1 FROM", "mean ndcg@10 is 0.9"),
        ("'ci_low', 0, 1", "'ci_low', 0.9, 1", "lower 95% bound of the gain over ORDER BY stars is 0."),
        ("count(*), 0, 0", "count(*), 1, 2", "alerts of the monitor is 0, not 1 to 2"),
    ];
    for (old, new, failure) in changes {
        assert!(suite.contains(old), "{old}");
        let (code, rows, error) = outcome(&suite.replace(old, new));
        let is_named = rows.contains(&format!("FAILED: {failure}"));
        assert!(code == Some(1) && is_named && error.contains("CHECK constraint failed"), "{rows}{error}");
    }
    // All of them are listed.
    let all = changes.iter().fold(suite.clone(), |suite, (old, new, _)| suite.replace(old, new));
    let failed = outcome(&all).1.matches("FAILED").count();
    assert_eq!(failed, 9, "{}", outcome(&all).1);
}

#[test]
fn shell_gets_the_pinned_functions_and_tables() {
    let Some(shell) = shell() else { return };
    let sql = format!("SELECT line FROM ({SURFACE}) WHERE line LIKE '% ltr!_%' ESCAPE '!';");
    let load = format!(".load {}", library().with_extension("").display());
    let output = run(Command::new(shell).args(["-batch", "-cmd", &load, ":memory:"]), &sql);
    assert_pinned(&stdout(&output).lines().collect::<Vec<_>>());
}

/// The entry point without the functions that read files (rule 10.9).
const NO_FILES: &str = "sqlite3_sqliteltr_nofiles_init";

#[test]
fn hosts_can_leave_out_what_reads_files() {
    let pinned: Vec<String> =
        read("surface.txt").lines().filter(|line| !line.contains("ltr_letor")).map(str::to_owned).collect();
    let sql = format!("SELECT line FROM ({SURFACE}) WHERE line LIKE '% ltr!_%' ESCAPE '!'");
    // 1. The newest SQLite.
    let connection = Connection::open_in_memory().unwrap();
    // SAFETY: the library is this crate's.
    unsafe {
        let _guard = LoadExtensionGuard::new(&connection).unwrap();
        connection.load_extension(library(), Some(NO_FILES)).unwrap();
    }
    let found = lines(&connection, &sql);
    assert!(pinned.iter().all(|line| found.contains(line)), "{found:?}");
    assert!(!found.iter().any(|line| line.contains("ltr_letor")), "{found:?}");
    // 2. The shell.
    let Some(shell) = shell() else { return };
    let load = format!(".load {} {NO_FILES}", library().with_extension("").display());
    let output = run(Command::new(shell).args(["-batch", "-cmd", &load, ":memory:"]), &format!("{sql};"));
    let shown = stdout(&output);
    assert!(pinned.iter().all(|line| shown.lines().any(|shown| shown == line)), "{shown}{}", stderr(&output));
    assert!(!shown.contains("ltr_letor"));
    let read = "SELECT * FROM ltr_letor('tests/hosts/sample.letor');";
    let output = run(Command::new(shell).args(["-batch", "-cmd", &load, ":memory:"]), read);
    assert!(
        stdout(&output).is_empty() && stderr(&output).contains("no such table: ltr_letor"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn python_runs_the_session_stops_a_training_and_checks_text_features() {
    // Not the first python3 of PATH: many are built without the loading of extensions.
    let python = "/usr/bin/python3";
    let probe = "import sqlite3; sqlite3.Connection.enable_load_extension";
    if !Command::new(python).args(["-c", probe]).output().is_ok_and(|output| output.status.success()) {
        absent(
            "the system's Python",
            "Debian's package `python3` gives it; it must be able to load extensions",
        );
        return;
    }
    for script in ["tests/hosts/python.py", "tests/hosts/fts.py", "tests/hosts/views.py"] {
        let output = run(Command::new(python).arg(script).arg(library()), "");
        assert!(output.status.success(), "{}{}", stdout(&output), stderr(&output));
        // Measured times are worth reading.
        std::io::stderr().write_all(&output.stdout).unwrap();
    }
}

/// The system's Python, if its SQLite loads extensions and has FTS5.
fn python_with_fts5() -> Option<&'static str> {
    let python = "/usr/bin/python3";
    let probe = "import sqlite3; db = sqlite3.connect(':memory:'); db.enable_load_extension(True); \
                 db.execute('CREATE VIRTUAL TABLE t USING fts5(x)')";
    if Command::new(python).args(["-c", probe]).output().is_ok_and(|output| output.status.success()) {
        return Some(python);
    }
    absent("the system's Python with FTS5", "Debian's package `python3` gives it");
    None
}

/// The shop of `examples/shop`: data, SQL in the shell, the server, and a user with headless Chromium.
/// `LTR_PICTURES` names a folder for pictures.
#[test]
fn the_shop_works_as_a_user_tries_it() {
    let Some(shell) = shell() else { return };
    let Some(python) = python_with_fts5() else { return };
    let is_there = |name: &&str| Command::new(name).arg("--version").output().is_ok();
    let chromium = ["chromium", "chromium-browser", "google-chrome"].into_iter().find(is_there);
    if chromium.is_none() {
        absent("the pages of the shop in a browser", "Debian's package `chromium` gives it");
    }
    let mut command = Command::new(python);
    command.arg("tests/hosts/shop.py").arg(library()).arg(shell).args(chromium);
    let output = run(&mut command, "");
    assert!(output.status.success(), "{}{}", stdout(&output), stderr(&output));
    std::io::stderr().write_all(&output.stdout).unwrap();
}

/// The memory of docs/guide/agent-memory.md recalls better notes after training.
#[test]
fn an_agent_memory_learns_from_outcomes() {
    let Some(python) = python_with_fts5() else { return };
    let output = run(Command::new(python).arg("examples/agent_memory.py").arg(library()), "");
    assert!(output.status.success(), "{}{}", stdout(&output), stderr(&output));
    let text = stdout(&output);
    let lasts =
        text.lines().filter_map(|line| line.strip_suffix(" of the last")?.rsplit(' ').next()?.parse().ok());
    let [fused, learned] = lasts.collect::<Vec<f64>>()[..] else { panic!("{text}") };
    assert!(learned > fused + 0.04, "{text}");
}

/// Fusion of text, vectors and columns: what is learned against reciprocal rank fusion (docs/guide/hybrid.md).
#[test]
fn hybrid_search_learns_what_fusion_by_ranks_cannot_know() {
    let Some(python) = python_with_fts5() else { return };
    let output = run(Command::new(python).arg("tests/hosts/hybrid.py").arg(library()).arg("1"), "");
    assert!(output.status.success(), "{}{}", stdout(&output), stderr(&output));
}

/// The tables of a paper in docs/experiments.md: the page says what its program prints.
#[test]
fn the_page_of_a_paper_is_what_its_program_prints() {
    let Some(python) = python_with_fts5() else { return };
    let output = run(Command::new(python).arg("tests/hosts/papers.py").arg(library()), "");
    assert!(output.status.success(), "{}{}", stdout(&output), stderr(&output));
}

/// A host of old SQLite, built from its package under `tests/hosts`, if hosts are required.
fn old_host(package: &str) -> Option<PathBuf> {
    if !required() {
        absent(package, "This host is compiled from source, so it runs only with LTR_REQUIRE_HOSTS=1");
        return None;
    }
    let target = target().join("hosts").join(package);
    let status = Command::new(env!("CARGO"))
        .current_dir(root().join("tests/hosts").join(package))
        .args(["build", "--quiet", "--target-dir"])
        .arg(&target)
        .status()
        .expect("cargo");
    assert!(status.success(), "tests/hosts/{package} does not build");
    Some(target.join("debug").join(format!("host{}", std::env::consts::EXE_SUFFIX)))
}

#[test]
fn oldest_host_runs_the_session() {
    let Some(host) = old_host("sqlite-3.38") else { return };
    let input: String = session().iter().map(|step| step.sql.clone() + "\n").collect();
    let output = run(Command::new(host).arg(library()), &input);
    assert_eq!(stdout(&output), format!("3.38.2\n{}", transcript()), "{}", stderr(&output));
    assert!(output.status.success(), "{}", stderr(&output));
}

/// Rule 13.8: SQLite before 3.38 is refused.
#[test]
fn older_host_refuses_with_a_message_and_lives_on() {
    let Some(host) = old_host("sqlite-3.33") else { return };
    let output = run(Command::new(host).arg(library()), "SELECT ltr_version()\n");
    let message =
        "refused: error during initialization: sqlite_ltr needs SQLite 3.38.0 or newer, this is 3.33.0";
    assert_eq!(stdout(&output), format!("3.33.0\n{message}\n"));
    assert!(output.status.success(), "{}", stderr(&output));
}

#[test]
#[cfg(target_os = "linux")]
fn library_exports_its_entry_points_and_needs_no_sqlite() {
    let Ok(output) = Command::new("nm").arg("-D").arg(library()).output() else {
        return absent("nm", "Debian's package `binutils` gives it");
    };
    let symbols = stdout(&output);
    let kinds = |kind: &str| -> Vec<&str> {
        let lines = symbols.lines().filter(|line| line.contains("sqlite3_"));
        lines.filter_map(|line| line.split_once(kind).map(|(_, name)| name)).collect()
    };
    assert_eq!(
        kinds(" T "),
        ["sqlite3_extension_init", "sqlite3_sqliteltr_init", "sqlite3_sqliteltr_nofiles_init"]
    );
    assert!(!symbols.contains("U sqlite3_"), "symbols of SQLite are left to the linker:\n{symbols}");
    let defined = symbols.lines().filter(|line| line.contains(" T ")).count();
    assert_eq!(defined, 3, "more than the entry points is exported:\n{symbols}");
}
