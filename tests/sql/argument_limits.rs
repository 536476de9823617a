//! What arguments may cost: memory that SQLite does not have (rule 13.9), levels of JSON on a small stack (rule 13.4), ids that JSON
//! or REALs round (rules 3.8, 11.7), long vectors and interrupts (rule 10.1), names of features (rule 15.4).

#![allow(unsafe_code, reason = "the heap of SQLite has a limit in C only")]

use std::ffi::{c_int, c_void};
use std::process::Command;

use rusqlite::{Connection, ErrorCode, ffi};

use crate::support::{database, value};

/// The variable that marks a child process.
const CHILD: &str = "LTR_ARGUMENT_LIMITS_CHILD";

/// Runs this test in a child process, which may die; true in that process.
fn is_child(test: &str) -> bool {
    if std::env::var_os(CHILD).is_some() {
        return true;
    }
    let output = Command::new(std::env::current_exe().unwrap())
        .args([&format!("argument_limits::{test}"), "--exact", "--nocapture", "--test-threads=1"])
        .env(CHILD, "1")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    false
}

fn error(connection: &Connection, sql: &str) -> rusqlite::Error {
    connection
        .prepare(sql)
        .and_then(|mut statement| statement.query([]).and_then(|mut rows| rows.next().map(drop)))
        .expect_err(sql)
}

#[test]
fn an_error_without_memory_for_its_text_is_an_error() {
    if !is_child("an_error_without_memory_for_its_text_is_an_error") {
        return;
    }
    let connection = database();
    let mut names =
        connection.prepare("SELECT name FROM pragma_module_list WHERE name GLOB 'ltr_*'").unwrap();
    let names: Vec<String> =
        names.query_map([], |row| row.get(0)).unwrap().collect::<rusqlite::Result<_>>().unwrap();
    let mut walked = 0;
    for name in &names {
        // 1. A call that fails in this library.
        let calls = [name.clone(), format!("{name}('nothing')")].map(|call| format!("SELECT * FROM {call}"));
        let fails = |sql: &&String| {
            let mut statement = connection.prepare(sql).ok()?;
            let mut rows = statement.query([]).ok()?;
            rows.next().err().map(|error| error.to_string().contains(&format!("{name}: ")))
        };
        let Some(sql) = calls.iter().find(|sql| fails(sql) == Some(true)) else { continue };
        // 2. The same without a free byte in the heap of SQLite.
        let mut statement = connection.prepare(sql).unwrap();
        let mut rows = statement.query([]).unwrap();
        // SAFETY: the functions set and lift a limit of this process.
        unsafe { ffi::sqlite3_hard_heap_limit64(1) };
        let outcome = rows.next().map(drop);
        // SAFETY: as above.
        unsafe { ffi::sqlite3_hard_heap_limit64(0) };
        let error = outcome.unwrap_err();
        assert_eq!(error.sqlite_error_code(), Some(ErrorCode::OutOfMemory), "{name}: {error}");
        walked += 1;
    }
    assert!(walked > 15, "{walked} of {names:?}");
    assert_eq!(value::<i64>(&connection, "SELECT count(*) > 0 FROM ltr_metrics()", []), 1);
}

#[test]
fn levels_of_json_fit_a_small_stack() {
    if !is_child("levels_of_json_fit_a_small_stack") {
        return;
    }
    let connection = database();
    connection
        .execute_batch(
            "CREATE TABLE j AS WITH RECURSIVE n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < 79)
             SELECT i / 4 AS query_id, i AS doc_id, i % 3 AS relevance, i * 7 % 11 AS x, i / 4 % 5 AS q_a, i % 9 AS other FROM n;
             SELECT ltr_train('q_svm', 'j', '{\"lambda\": 1, \"name\": \"m\"}');
             SELECT ltr_train('cofi_rank', 'SELECT query_id AS user_id, other AS item_id, relevance FROM j GROUP BY 1, 2',
                              '{\"lambda\": 1, \"factors\": 1, \"name\": \"f\"}')",
        )
        .unwrap();
    let list = format!("{}1{}", "[".repeat(100), "]".repeat(100));
    let object = format!("{}1{}", "{\"a\": ".repeat(100), "}".repeat(100));
    let calls = [
        "SELECT ltr_train('rank_svm', 'j', '{\"columns\": ?}')",
        "SELECT ltr_fit('rank_svm', 'j', '{\"params\": ?}')",
        "SELECT ltr_update('m', 'j', '{\"params\": ?}')",
        "SELECT ltr_import('{}', '{\"names\": ?}')",
        "SELECT ltr_activate('m', 1, '{\"schema\": ?}')",
        "SELECT ltr_begin('rank_svm', '{\"buckets\": 4, \"columns\": ?}')",
        "SELECT ltr_score('m', '?')",
        "SELECT ltr_score('m', '[1]', '?')",
        "SELECT ltr_vec('?')",
        "SELECT ltr_ndcg(1, 1, '{\"ties\": ?}')",
        "SELECT ltr_metric('alpha_ndcg', '?', 1)",
        "SELECT ltr_metric('alpha_ndcg', '[?]', 1)",
        "SELECT ltr_paired_test(1, 2, '{\"seed\": ?}')",
        "SELECT ltr_pack(1, 1, 1, '?')",
        "SELECT * FROM ltr_rank('m', 'j', '{\"params\": ?}')",
        "SELECT * FROM ltr_explain('m', '[1]', '?')",
        "SELECT * FROM ltr_recommend('f', '?')",
        "SELECT * FROM ltr_recommend('f', '[?]')",
        "SELECT * FROM ltr_recommend('f', 1, '{\"ratings\": ?}')",
        "SELECT * FROM ltr_recommend('f', 1, '{\"candidates\": ?}')",
        "SELECT * FROM ltr_compare('?', 'j')",
    ];
    let walk = move || {
        for call in calls {
            for json in [&list, &object] {
                let error = error(&connection, &call.replace('?', json)).to_string();
                assert!(error.contains("ltr_"), "{call}: {error}");
            }
        }
    };
    std::thread::Builder::new().stack_size(128 << 10).spawn(walk).unwrap().join().unwrap();
}

/// Rules 3.8 and 11.7.
#[test]
fn ids_are_not_rounded() {
    let connection = database();
    let first = 1_541_815_603_606_036_480_i64;
    connection
        .execute_batch(&format!(
            "CREATE TABLE r AS WITH RECURSIVE n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < 199)
             SELECT {first} + i / 10 AS user_id, {first} + i * 7 % 30 AS item_id, 1 + i * 3 % 5 AS rating FROM n;
             SELECT ltr_train('cofi_rank', 'r', '{{\"lambda\": 1, \"factors\": 2}}')"
        ))
        .unwrap();
    let count = |call: &str| {
        value::<i64>(&connection, &format!("SELECT count(*) FROM ltr_recommend('cofi_rank', {call})"), [])
    };
    assert_eq!(count(&format!("{first}, 2")), 2);
    assert_eq!(count(&format!("'[{first}]', 2")), 2);
    let rounded = format!("{first}.0");
    for call in [
        format!("{rounded}, 1"),
        format!("'[{rounded}]', 1"),
        format!("{first}, 1, '{{\"include_seen\": true, \"candidates\": [{rounded}]}}'"),
        format!("{first}, 1, '{{\"include_seen\": true, \"candidates\": \"SELECT {rounded} AS item_id\"}}'"),
        format!("{first}, 1, '{{\"ratings\": [[{rounded}, 5], [{}, 1]]}}'", first + 7),
    ] {
        let error =
            error(&connection, &format!("SELECT * FROM ltr_recommend('cofi_rank', {call})")).to_string();
        assert!(error.contains("expected an INTEGER: a REAL beyond 2^53 means several"), "{call}: {error}");
    }
    for long in [
        "18446744073709551615",
        "9223372036854775808",
        "-9223372036854775809",
        "123456789012345678901234567890",
    ] {
        for call in [
            format!("ltr_recommend('cofi_rank', '[{long}]')"),
            format!("ltr_recommend('cofi_rank', 1, '{{\"candidates\": [1, \"a\\\"[\", {long}]}}')"),
            format!("ltr_recommend('cofi_rank', 1, '{{\"ratings\": [[{long}, 1]]}}')"),
            format!(
                "ltr_rank('cofi_rank', 'SELECT ?1 AS user_id, 1 AS item_id', '{{\"params\": [{long}]}}')"
            ),
            format!(
                "ltr_rank('cofi_rank', 'SELECT :a AS user_id, 1 AS item_id', '{{\"params\": {{\"a\": {long}}}}}')"
            ),
        ] {
            let error = error(&connection, &format!("SELECT * FROM {call}")).to_string();
            assert!(error.contains(&format!("got {long}, expected 64-bit integers")), "{call}: {error}");
        }
        let error =
            error(&connection, &format!("SELECT ltr_metric('alpha_ndcg', '[{long}.0, {long}e0]', 1)"))
                .to_string();
        assert!(error.contains("subtopics in row 1"), "{error}");
    }
    // Other numbers and texts with digits stay what they are.
    let params = "{\"params\": [1e300, \"18446744073709551616\", \"\\\\\", 1.5, -9223372036854775808]}";
    let source = "SELECT 1 AS user_id, ?4 + ?1 AS item_id WHERE ?2 = ''18446744073709551616'' AND ?3 <> '''' AND ?5 < 0";
    let sql = format!("SELECT count(*) FROM ltr_rank('cofi_rank', '{source}', '{params}')");
    assert_eq!(value::<i64>(&connection, &sql, []), 1);
}

/// Rule 2.17 for the counts of a new user.
#[test]
fn counts_of_another_name_are_a_warning() {
    let connection = database();
    connection
        .execute_batch(
            "CREATE TABLE r AS WITH RECURSIVE n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < 199)
             SELECT i / 10 AS user_id, i * 7 % 30 AS item_id, 1 + i * 3 % 5 AS relevance FROM n;
             SELECT ltr_train('cofi_rank', 'r', '{\"lambda\": 1, \"factors\": 2, \"feedback\": \"implicit\"}')",
        )
        .unwrap();
    let warnings = |source: &str, options: &str| {
        let sql = format!(
            "SELECT count(*) FROM ltr_recommend('cofi_rank', 'new', 1, '{{\"ratings\": \"{source}\"{options}}}')"
        );
        assert_eq!(value::<i64>(&connection, &sql, []), 1);
        value::<String>(&connection, "SELECT json_extract(ltr_debug(), '$.last_warnings')", [])
    };
    let rows =
        |more: &str| format!("SELECT column1 AS item_id{more} FROM (VALUES (1, 40), (2, 3), (3, 500))");
    for name in ["plays", "num_tx", "quantity"] {
        let found = warnings(&rows(&format!(", column2 AS {name}")), "");
        assert!(found.contains(&format!("the numeric column \\\"{name}\\\" is left out")), "{found}");
    }
    let plays = rows(", column2 AS plays");
    for (source, options) in [
        (rows(""), ""),
        (rows(", column2 AS relevance"), ""),
        (rows(", NULL AS note, 1700000000 AS at, column2 AS rating_id"), ""),
        (plays.clone(), ", \"columns\": {\"ignore\": [\"plays\"]}"),
        (plays, ", \"columns\": {\"relevance\": \"plays\"}"),
    ] {
        assert_eq!(warnings(&source, options), "[]", "{source} {options}");
    }
}

#[test]
fn the_message_about_equal_gains_is_true() {
    let connection = database();
    connection
        .execute_batch(
            "CREATE TABLE t AS WITH RECURSIVE n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < 79)
             SELECT i / 4 AS query_id, i AS doc_id, -(i % 3) AS relevance, i * 7 % 11 AS x FROM n",
        )
        .unwrap();
    let train =
        |source: &str| error(&connection, &format!("SELECT ltr_train('lambdamart', '{source}')")).to_string();
    let negative = train("t");
    assert!(
        negative.contains("the loss 'lambda_rank' finds no query with two documents of different relevance"),
        "{negative}"
    );
    assert!(negative.contains("all grades of 0 and less alike"), "{negative}");
    let equal = train("SELECT query_id, doc_id, 0 AS relevance, x FROM t");
    assert!(equal.contains("no query has two documents with different relevance"), "{equal}");
    // The remedy of the message.
    let shifted =
        "SELECT ltr_train('lambdamart', 'SELECT query_id, doc_id, relevance + 2 AS relevance, x FROM t')";
    assert!(connection.query_row(shifted, [], |_| Ok(())).is_ok());
}

unsafe extern "C" fn stop(_: *mut c_void) -> c_int {
    1
}

/// Sets or removes the progress handler.
fn interrupt(connection: &Connection, handler: Option<unsafe extern "C" fn(*mut c_void) -> c_int>) {
    // SAFETY: an open connection; the handler needs no data.
    unsafe { ffi::sqlite3_progress_handler(connection.handle(), 1000, handler, std::ptr::null_mut()) };
}

/// Rule 10.1: numbers in both directions, and interrupts in a long vector.
#[test]
fn long_vectors_are_read_in_parts() {
    let connection = database();
    let numbers = [1.0_f32, -0.0, 1e-7, 3.4e38, 1e16, 123_456.79, f32::MIN_POSITIVE, 0.1, -5e-5];
    for number in numbers {
        let json: String = value(&connection, "SELECT ltr_vec_to_json(?1)", [number.to_le_bytes()]);
        let back: Vec<u8> = value(&connection, "SELECT ltr_vec(?1)", [&json]);
        assert_eq!(back, number.to_le_bytes(), "{json}");
        let parsed: Vec<f64> = serde_json::from_str(&json).unwrap();
        assert_eq!(json, serde_json::to_string(&parsed).unwrap());
    }
    assert_eq!(value::<String>(&connection, "SELECT ltr_vec_to_json(x'0000c07f0000803f')", []), "[null,1.0]");
    assert_eq!(value::<String>(&connection, "SELECT ltr_vec_to_json(x'')", []), "[]");
    connection.execute_batch("CREATE TABLE long AS SELECT zeroblob(8000000) AS blob, '[1' || hex(zeroblob(4000000)) || ']' AS digits").unwrap();
    connection.execute_batch("UPDATE long SET digits = replace(digits, '00', ',0')").unwrap();
    for call in
        ["ltr_vec_to_json(blob)", "ltr_vec(digits)", "ltr_vec(blob, blob)", "ltr_pack(1, 1, 1, digits)"]
    {
        // Stops at the first question of a function.
        interrupt(&connection, Some(stop));
        let stopped = error(&connection, &format!("SELECT length({call}) FROM long"));
        interrupt(&connection, None);
        assert_eq!(stopped.sqlite_error_code(), Some(ErrorCode::OperationInterrupted), "{call}: {stopped}");
    }
}
