//! Click models of hostile logs (rules 16.1, 16.2): values of wrong types, extreme shapes, ids of every type, interrupts, memory.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use rusqlite::functions::FunctionFlags;

use crate::support::database;

const MODELS: [&str; 6] = ["auto", "ctr", "pbm", "cascade", "sdbn", "ubm"];

fn log() -> Connection {
    let connection = database();
    connection.execute_batch(include_str!("../../sql/clicks.sql")).unwrap();
    connection
}

fn text(connection: &Connection, sql: &str) -> String {
    crate::support::value(connection, sql, [])
}

fn error(connection: &Connection, sql: &str) -> String {
    connection.query_row(sql, [], |_| Ok(())).unwrap_err().to_string()
}

/// A call with a source, and the option `model`.
fn judgments(source: &str, model: &str) -> String {
    format!("ltr_judgments('{}', '{{\"model\": \"{model}\"}}')", source.replace('\'', "''"))
}

/// Rows with the columns of a log, from VALUES.
fn rows(values: &str) -> String {
    format!(
        "SELECT column1 AS impression, column2 AS query_id, column3 AS doc_id, column4 AS position, column5 AS clicked FROM (VALUES {values})"
    )
}

#[test]
fn values_that_are_not_positions_or_clicks_are_refused() {
    let connection = database();
    for (position, found) in [
        ("0e0 / 0", "NULL"),
        ("9e999", "inf"),
        ("-1", "-1"),
        ("0", "0"),
        ("1.5", "1.5"),
        ("1001", "1001"),
        ("1e12", "1000000000000"),
        ("9223372036854775807", "9223372036854775807"),
        ("'first'", "text 'first'"),
        ("x'01'", "BLOB"),
        ("NULL", "NULL"),
    ] {
        let log = rows(&format!("(7, 1, 1, {position}, 0)"));
        for model in ["auto", "ubm"] {
            let problem = error(&connection, &format!("SELECT * FROM {}", judgments(&log, model)));
            let expected = "impression 7, column \"position\": ";
            assert!(problem.contains(expected) && problem.contains(found), "{position}: {problem}");
            assert!(problem.contains("expected whole numbers from 1 to 1000"), "{position}: {problem}");
        }
    }
    for (clicked, found) in [("NULL", "NULL"), ("-1", "-1"), ("'yes'", "text 'yes'"), ("2e6", "2000000.0")] {
        let log = rows(&format!("(7, 1, 1, 1, {clicked})"));
        let problem = error(&connection, &format!("SELECT * FROM {}", judgments(&log, "auto")));
        let expected =
            format!("impression 7, column \"clicked\": {found}; expected 0, 1, and weights up to 1000000");
        assert!(problem.contains(&expected), "{clicked}: {problem}");
    }
}

/// The advice about clicks that are no numbers makes 0 and 1 of them, in every function that reads a log.
#[test]
fn clicks_that_are_no_numbers_come_with_sql_that_reads_them() {
    let connection = database();
    connection
        .execute_batch("CREATE TABLE log(impression, query_id, doc_id, position, team, clicked)")
        .unwrap();
    for [yes, no] in [
        ["1", "NULL"],
        ["'true'", "'false'"],
        ["'TRUE'", "NULL"],
        ["'Y'", "'N'"],
        ["'t'", "'f'"],
        ["'on'", "'off'"],
        ["'No'", "'yes'"],
        ["'it''s clicked'", "''"],
        ["'purchase'", "NULL"],
    ] {
        let (yes, no) = if yes == "'No'" { (no, yes) } else { (yes, no) };
        connection.execute_batch("DELETE FROM log").unwrap();
        let sql = format!(
            "WITH RECURSIVE n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < 59)
             INSERT INTO log SELECT i / 3, i / 3 % 4, i % 3, i % 3 + 1, iif(i % 2, 'a', 'b'), iif(i % 3 = (i / 3) % 3, {yes}, {no}) FROM n"
        );
        connection.execute_batch(&sql).unwrap();
        let columns = "impression, query_id, doc_id, position";
        for (call, columns) in [
            ("SELECT count(*) FROM ltr_judgments(?1)", columns),
            ("SELECT sum(clicks) FROM ltr_judgments(?1)", columns),
            ("SELECT wins_a + 1000 * wins_b FROM ltr_interleave_result(?1)", "impression, team"),
        ] {
            let read = |clicked: &str| {
                let source = format!("SELECT {columns}, {clicked} FROM log");
                connection
                    .query_row(call, [source], |row| row.get::<_, f64>(0))
                    .map_err(|error| error.to_string())
            };
            let right = read(&format!("(coalesce(clicked, 0) = {yes}) AS clicked"));
            let problem = read("clicked").unwrap_err();
            let advice = problem.split(", use ").nth(1).and_then(|rest| rest.strip_suffix(" in the source"));
            assert_eq!(
                read(advice.unwrap_or_else(|| panic!("{yes} {no} {problem}"))),
                right,
                "{yes} {no} {problem}"
            );
            assert!(right.is_ok(), "{right:?}");
        }
    }
}

#[test]
fn impressions_that_are_not_lists_are_refused() {
    let connection = database();
    let thousand = "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 1001) \
                    SELECT 'a' AS impression, 1 AS query, i AS doc, 1 + i % 1000 AS position, 0 AS clicked FROM n";
    for (source, message) in [
        (
            rows("(1, 5, 1, 1, 0), (1, 6, 2, 2, 0)"),
            "impression 1: queries 5 and 6; an impression shows documents for one query",
        ),
        (rows("(1, 5, 1, 1, 0), (1, 5, 1, 1, 0)"), "impression 1: two rows have position 1"),
        (rows("(1, 5, 1, 2, 0), (1, 5, 2, 1, 0), (1, 5, 3, 2, 0)"), "impression 1: two rows have position 2"),
        (thousand.to_owned(), "impression 'a': more than 1000 rows; each position is allowed once"),
    ] {
        for function in [judgments(&source, "auto"), judgments(&source, "ubm")] {
            let problem = error(&connection, &format!("SELECT * FROM {function}"));
            assert!(problem.contains(message), "{function}: {problem}");
        }
    }
}

/// Every model has judgments of all pairs, and all values are in their ranges.
fn assert_judged(connection: &Connection, source: &str) {
    let pairs = text(
        connection,
        &format!("SELECT '' || count(*) FROM (SELECT DISTINCT query_id, doc_id FROM ({source}))"),
    );
    for model in MODELS {
        let found = text(
            connection,
            &format!(
                "SELECT count(*) || ' ' || count(*) FILTER (WHERE attractiveness > 0 AND attractiveness < 1
                   AND ci_low >= 0 AND ci_low <= attractiveness AND ci_high >= attractiveness AND ci_high <= 1
                   AND doc_weight >= 0 AND doc_weight < 1 AND impressions >= clicks AND relevance BETWEEN 0 AND 3
                   AND passes BETWEEN 1 AND 2) FROM {}",
                judgments(source, model)
            ),
        );
        assert_eq!(found, format!("{pairs} {pairs}"), "{model}: {source}");
    }
    let source = source.replace('\'', "''");
    let sql = format!(
        "SELECT count(*) || ' ' || count(*) FILTER (WHERE log_likelihood <= 0 AND perplexity >= 1) FROM ltr_click_models('{source}')"
    );
    assert_eq!(text(connection, &sql), "5 5", "{source}");
    let sql = format!(
        "SELECT min(propensity > 0) AND min(coalesce(standard_error >= 0, 1)) FROM ltr_propensities('{source}')"
    );
    assert!(crate::support::value::<bool>(connection, &sql, []), "{source}");
}

#[test]
fn logs_of_extreme_shapes_are_judged() {
    let connection = log();
    // A single row; one row in each impression; all clicked; none clicked; one impression.
    assert_judged(&connection, &rows("(1, 1, 1, 1, 1)"));
    assert_judged(&connection, "SELECT * FROM log WHERE position = 3");
    assert_judged(&connection, "SELECT impression, query_id, doc_id, position, 1 AS clicked FROM log");
    assert_judged(&connection, "SELECT impression, query_id, doc_id, position, 0 AS clicked FROM log");
    assert_judged(&connection, "SELECT * FROM log WHERE impression = 1");
    // One document at all positions of a list; gaps between positions.
    assert_judged(&connection, "SELECT impression, query_id, 1 AS doc_id, position, clicked FROM log");
    assert_judged(
        &connection,
        "SELECT impression, query_id, doc_id, 199 * position AS position, clicked FROM log",
    );
    // A thousand positions.
    let long = "WITH RECURSIVE n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < 19999) \
                SELECT i / 1000 AS impression, 1 AS query_id, (i * 7919) % 1009 AS doc_id, 1 + i % 1000 AS position, \
                (i * 104729) % 97 = 0 AS clicked FROM n";
    assert_judged(&connection, long);
}

#[test]
fn ids_of_every_type_are_ids() {
    let connection = log();
    let id = |column: &str| {
        format!(
            "CASE {column} % 4 WHEN 0 THEN {column} WHEN 1 THEN {column} + 0.5 WHEN 2 THEN 'd' || {column}
                  ELSE CAST('d' || {column} AS BLOB) END AS {column}"
        )
    };
    let mixed = format!(
        "SELECT {}, {}, {}, position, clicked FROM log",
        id("impression"),
        id("query_id"),
        id("doc_id")
    );
    for model in &MODELS[1..] {
        let summary = |source: &str| -> Vec<f64> {
            let sql = format!("SELECT attractiveness FROM {} ORDER BY 1", judgments(source, model));
            let mut statement = connection.prepare(&sql).unwrap();
            statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
        };
        let (plain, mixed) = (summary("log"), summary(&mixed));
        assert_eq!(plain.len(), mixed.len());
        for (a, b) in plain.iter().zip(&mixed) {
            assert!((a - b).abs() < 1e-3, "{model}: {a} {b}");
        }
    }
    // A number is the same id as INTEGER and as REAL; a text is a different id, and so is a text in other letters.
    connection
        .execute_batch(
            "CREATE TABLE typed (impression COLLATE NOCASE, query, doc, position, clicked);
             INSERT INTO typed VALUES (1, 1, 'a', 1, 0), (1.0, 1.0, 'A', 2, 1), ('1', 1, 'a', 1, 0), ('x', '1', 'a', '1', '0'),
                                      ('X', '1', 'a', '1', '1'), ('x', '1', 'b', '2', '1'), ('X', '1', 'c', '10', '0'), ('X', '1', 'b', '9', '0');",
        )
        .unwrap();
    let found = text(
        &connection,
        "SELECT group_concat(typeof(query_id) || ' ' || doc_id || ' ' || impressions || ' ' || clicks, ', ')
           FROM ltr_judgments('typed', '{\"model\": \"ctr\"}')",
    );
    assert_eq!(found, "integer A 1 1, integer a 2 0, text a 2 1, text b 2 1, text c 1 0");
    let positions = "SELECT group_concat(position) FROM ltr_propensities('typed')";
    assert_eq!(text(&connection, positions), "1,2,9,10");
}

/// Adds the function `passing()`, which interrupts the statement at call number `at`, and keeps the time.
fn interrupt_at(connection: &Connection, at: &Arc<AtomicUsize>) -> Arc<Mutex<Option<Instant>>> {
    let (calls, interrupted) = (AtomicUsize::new(0), Arc::new(Mutex::new(None)));
    let handle = connection.get_interrupt_handle();
    let (at, time) = (Arc::clone(at), Arc::clone(&interrupted));
    let passing = move |_: &rusqlite::functions::Context<'_>| {
        let call = calls.fetch_add(1, Ordering::Relaxed) + 1;
        if call == at.load(Ordering::Relaxed) {
            calls.store(0, Ordering::Relaxed);
            *time.lock().unwrap() = Some(Instant::now());
            handle.interrupt();
        }
        Ok(0)
    };
    connection.create_scalar_function("passing", 0, FunctionFlags::SQLITE_UTF8, passing).unwrap();
    interrupted
}

/// Rule 13.5: within 100 ms.
#[test]
fn an_interrupt_ends_each_pass() {
    let connection = log();
    let rows: usize = text(&connection, "SELECT '' || count(*) FROM log").parse().unwrap();
    let at = Arc::new(AtomicUsize::new(0));
    let interrupted = interrupt_at(&connection, &at);
    let source = "SELECT impression, query_id, doc_id, position + passing() AS position, clicked FROM log";
    for model in MODELS {
        let passes = text(&connection, &format!("SELECT '' || max(passes) FROM {}", judgments("log", model)));
        let passes: usize = passes.parse().unwrap();
        assert_eq!(passes, 1 + usize::from(model == "auto"));
        let sql = format!("SELECT count(*) FROM {}", judgments(source, model));
        for pass in 0..passes {
            at.store(pass * rows + rows / 2, Ordering::Relaxed);
            let problem = error(&connection, &sql);
            let since = interrupted.lock().unwrap().take().unwrap().elapsed();
            assert!(problem.contains("interrupted"), "{model} {pass}: {problem}");
            assert!(since < Duration::from_millis(100), "{model} {pass}: {since:?}");
        }
    }
}

#[test]
fn too_much_memory_is_refused() {
    let connection = log();
    for model in MODELS {
        let call = |bytes: usize| {
            format!(
                "SELECT count(*) FROM ltr_judgments('log', '{{\"model\": \"{model}\", \"max_memory\": {bytes}}}')"
            )
        };
        let mut bytes = 1;
        let mut refused = 0;
        while let Err(problem) = connection.query_row(&call(bytes), [], |_| Ok(())) {
            let problem = problem.to_string();
            let is_clear = problem.contains("pairs of query and document needs")
                && problem.contains(&format!("more than the {bytes} of the option 'max_memory'"))
                && problem.contains("read fewer queries at a time, or raise max_memory");
            assert!(is_clear, "{model}: {problem}");
            refused += 1;
            bytes *= 2;
        }
        assert!((10..26).contains(&refused), "{model}: {bytes}");
    }
}
