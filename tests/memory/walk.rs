//! The walk over the functions, under a limit of the process: each function of the connection has a row in [`walked`], or a
//! reason in [`CONSTANT`]. `LTR_FUNCTION=ltr_vec cargo test --test memory each_function_stays -- --nocapture` runs one.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use rusqlite::Connection;
use rusqlite::types::Value;

use super::{
    FACTOR, MB, PROCESS_LIMIT, UNCOUNTED_MB, can_measure, child, connect, counted, judged, ratings, report,
};

/// The variable with the number of a child's call in [`walked`] and the file with the fixture.
const CALL: &str = "LTR_MEMORY_CALL";

/// The limit, unless a call has a smaller one.
const LIMIT: u64 = 20_000_000;

/// Functions whose memory does not grow with their input, and why.
const CONSTANT: &[(&str, &str)] = &[
    ("ltr_algorithms", "no argument"),
    ("ltr_debug", "no argument"),
    ("ltr_metrics", "no argument"),
    ("ltr_options", "no argument"),
    ("ltr_query", "no argument; the query of the running call"),
    ("ltr_version", "no argument"),
];

/// Tables and models of [`walked`], made without a limit.
fn fixture() -> String {
    let shown = "i / 10 AS impression, i / 10 % 50000 AS query_id, (i % 10 + i / 500000) % 10 AS doc_id, i % 10 + 1 AS position, \
                 iif(i % 2, 'a', 'b') AS team, i * 7919 % 101 < 40 - 3 * (i % 10) AS clicked, 1.0 / (1 + i % 10) AS score";
    let mut sql = String::from("PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF;\n");
    for (table, rows) in [
        ("big", judged(4000, 10, 80)),
        ("few", "SELECT * FROM big WHERE query_id < 30".to_owned()),
        ("v", counted(1_500_000, "i % 3 AS y, (i * 7919) % 1000003 AS s")),
        ("shown", counted(600_000, shown)),
        ("rated", ratings(20_000, 50_000, 2)),
    ] {
        writeln!(sql, "CREATE TABLE {table} AS {rows};").expect("a text");
    }
    sql + r#"
CREATE VIRTUAL TABLE docs USING fts5(title, body);
INSERT INTO docs VALUES ('red shoes', replace(printf('%.*c', 100000, 'x'), 'x', 'shoes '));
CREATE VIEW found AS SELECT q.query AS query_id, doc_id, f0, f1 FROM ltr_query AS q, big;
SELECT ltr_train('rank_svm', 'SELECT query_id, doc_id, relevance FROM few WHERE query_id < 3', '{"lambda": 1, "candidates": "found", "name": "seen"}');
CREATE TABLE made (call INTEGER PRIMARY KEY, value);
SELECT ltr_train('rank_svm', 'few', '{"lambda": 1, "name": "linear"}');
SELECT ltr_train('regression', 'few', '{"lambda": 1, "name": "other"}');
SELECT ltr_train('perceptron', 'few', '{"name": "online"}');
SELECT ltr_train('q_svm', 'SELECT *, query_id % 7 AS q_1 FROM big', '{"lambda": 1, "fit_at": "query_time", "name": "local"}');
SELECT ltr_train('cofi_rank', 'rated', '{"lambda": 1, "factors": 8, "max_rounds": 1, "name": "rated"}');"#
}

/// An SQL expression: a text of this many pieces.
fn repeated(count: usize, piece: &str) -> String {
    format!("replace(printf('%.*c', {count}, 'x'), 'x', '{piece}')")
}

/// A call whose input would need more than the limit.
struct Call {
    function: &'static str,
    /// An expression whose value is ?1 of the call. It is computed without a limit.
    input: String,
    sql: String,
    limit: u64,
    /// What the error says, if the call fails for another reason than memory.
    refusal: Option<&'static str>,
}

fn call(function: &'static str, input: &str, sql: &str) -> Call {
    Call { function, input: input.to_owned(), sql: format!("SELECT {sql}"), limit: LIMIT, refusal: None }
}

/// All rows of a table-valued function.
fn rows(function: &'static str, input: &str, sql: &str) -> Call {
    call(function, input, &format!("count(*) FROM {sql}"))
}

impl Call {
    fn refused(self, refusal: &'static str) -> Self {
        Self { refusal: Some(refusal), ..self }
    }

    fn within(self, limit: u64) -> Self {
        Self { limit, ..self }
    }
}

/// At least one call of each function that is not in [`CONSTANT`].
#[rustfmt::skip] // A call is a line.
#[allow(clippy::too_many_lines, reason = "one table")]
fn walked() -> Vec<Call> {
    let none = "NULL";
    // SQLite copies a bound text when a function reads it: of the 35 MB that are allowed, 5 are left.
    let letters = &repeated(30_000_000, "a")[..];
    let numbers = &format!("'[' || {} || '1]'", repeated(5_000_000, "1.5, "))[..];
    let words = &repeated(6_000_000, "red, ")[..];
    let names = "(SELECT json_group_array('f' || rowid) FROM v)";
    let model = "(SELECT model FROM ltr_models WHERE name = 'local')";
    let begin = r#"ltr_begin('regression', '{"buckets": 1, "lambda": 1}')"#;
    let pack = |features: usize| format!("(SELECT ltr_pack(i / 10, i, i % 3, zeroblob({})) FROM (SELECT rowid AS i FROM v LIMIT 10000))", 4 * features);
    let answer = format!("ltr_partial({begin}, 0, {})", pack(1000));
    let state = format!(
        "(WITH RECURSIVE t(state) AS (SELECT {begin} UNION ALL SELECT ltr_step(state, ltr_partial(state, 0, {})) FROM t \
         WHERE NOT ltr_info(state) ->> 'done') SELECT state FROM t WHERE ltr_info(state) ->> 'done')",
        pack(300)
    );
    let mut calls = vec![
        // Training and stored models.
        call("ltr_train", none, "ltr_train('rank_svm', 'big')"),
        call("ltr_fit", none, "ltr_fit('regression', 'big')"),
        call("ltr_update", none, "ltr_update('online', 'big')"),
        rows("ltr_cross_validate", none, "ltr_cross_validate('rank_svm', 'big')"),
        call("ltr_activate", letters, "ltr_activate(?1, 1)").refused("bytes, expected"),
        // Buckets.
        call("ltr_bucket", letters, "ltr_bucket(?1, 2)"),
        call("ltr_pack", none, &pack(1000)),
        call("ltr_begin", &format!(r#"'{{"buckets": 2, "columns": {{"features": ' || {names} || '}}}}'"#), "ltr_begin('regression', ?1)").refused("bytes, expected"),
        call("ltr_partial", &pack(1000), &format!("ltr_partial({begin}, 0, ?1)")),
        call("ltr_merge", &answer, "ltr_merge(?1)").within(2_000_000),
        call("ltr_step", &answer, &format!("ltr_step({begin}, ?1)")).within(2_000_000),
        call("ltr_finish", &state, "ltr_finish(?1)").within(2_000_000),
        // Ranking and scoring.
        rows("ltr_rank", none, "ltr_rank('linear', 'big')").within(2_000_000),
        rows("ltr_rank", model, "ltr_rank(?1, 'SELECT *, query_id % 7 AS q_1 FROM few')"),
        rows("ltr_search", none, "ltr_search('seen', 1)").within(2_000_000),
        rows("ltr_recommend", none, r#"ltr_recommend('rated', 1, '{"k": 100000, "include_seen": true}')"#).within(2_000_000),
        call("ltr_score", model, "ltr_score(?1, zeroblob(4 * 80), '[0.5]')"),
        call("ltr_score", numbers, "ltr_score('linear', ?1)").refused("vector"),
        call("ltr_prefer", model, "ltr_prefer(?1, zeroblob(4 * 80), zeroblob(4 * 80), '[0.5]')"),
        call("ltr_vec", numbers, "length(ltr_vec(?1))"),
        call("ltr_vec_to_json", "zeroblob(60000000)", "length(ltr_vec_to_json(?1))"),
        // Models.
        call("ltr_info", model, "ltr_info(?1)"),
        rows("ltr_weights", model, "ltr_weights(?1, '[0.5]')"),
        rows("ltr_neighbors", model, "ltr_neighbors(?1, '[0.5]')"),
        rows("ltr_training_log", model, "ltr_training_log(?1)"),
        rows("ltr_factors", none, "ltr_factors('rated')").within(2_000_000),
        rows("ltr_explain", model, "ltr_explain(?1, zeroblob(4 * 80), '[0.5]')"),
        rows("ltr_explain_rank", none, "ltr_explain_rank('linear', 'SELECT 1 AS query_id, *, rowid AS doc_id FROM (SELECT * FROM big)', 1, 1, 2)").refused("doc_id"),
        rows("ltr_importance", none, "ltr_importance('linear', 'big')").within(2_000_000),
        rows("ltr_monitor", none, "ltr_monitor('linear', 'big')").within(2_000_000),
        call("ltr_export", model, "ltr_export(?1, 'json')").refused("functions"),
        call("ltr_import", &format!("'[' || {} || '{{}}]'", repeated(5_000_000, "{},")), "ltr_import(?1)"),
        // Measures.
        rows("ltr_evaluate", none, "ltr_evaluate('linear', 'big')").within(2_000_000),
        rows("ltr_compare", none, "ltr_compare('linear', 'other', 'big')").within(2_000_000),
        rows("ltr_interleave", none, r#"ltr_interleave('linear', 'other', 'big', '{"seed": 1}')"#).within(2_000_000),
        rows("ltr_interleave_result", none, "ltr_interleave_result('shown')").within(2_000_000),
        call("ltr_paired_test", none, "ltr_paired_test(y, s) FROM v"),
        // Clicks, texts, files.
        rows("ltr_judgments", none, "ltr_judgments('shown')"),
        rows("ltr_propensities", none, "ltr_propensities('shown')"),
        rows("ltr_click_models", none, "ltr_click_models('shown')").within(2_000_000),
        rows("ltr_evaluate_clicks", none, "ltr_evaluate_clicks(NULL, 'shown')").within(2_000_000),
        call("ltr_fts_query", words, "length(ltr_fts_query(?1))"),
        call("ltr_fts_names", letters, "ltr_fts_names(?1)").refused("bytes, expected"),
        call("ltr_fts", none, "length(ltr_fts(docs)) FROM docs WHERE docs MATCH 'shoes'"),
        rows("ltr_letor", &repeated(15_000_000, "a"), "ltr_letor(?1)").refused("bytes, expected"),
    ];
    calls.push(call("ltr_plot", none, "length(ltr_plot('calibration', 'linear', 'big'))").within(2_000_000));
    calls.push(call("ltr_report", none, "length(ltr_report('linear', 'big'))").within(2_000_000));
    // Metrics: 1,500,000 rows in one group.
    for function in ["ndcg", "ap", "rr", "precision", "recall"] {
        let name = format!("ltr_{function}").leak();
        calls.push(call(name, none, &format!("{name}(y, s) FROM v")));
    }
    for metric in ["dcg", "err", "mre", "wta", "kendall_tau", "pair_loss", "eru", "neru", "rbp", "success@10"] {
        calls.push(call("ltr_metric", none, &format!("ltr_metric('{metric}', y, s) FROM v")));
    }
    for metric in ["alpha_ndcg", "subtopic_recall"] {
        calls.push(call("ltr_metric", none, &format!("ltr_metric('{metric}', json_array(y), s) FROM v WHERE rowid <= 300000")));
    }
    calls
}

/// The functions of a connection and its table-valued ones.
fn functions(connection: &Connection) -> BTreeSet<String> {
    let sql = "SELECT name FROM pragma_function_list WHERE name LIKE 'ltr!_%' ESCAPE '!' \
               UNION SELECT name FROM pragma_module_list WHERE name LIKE 'ltr!_%' ESCAPE '!'";
    let mut statement = connection.prepare(sql).expect("lists of functions");
    let names = statement.query_map([], |row| row.get(0)).expect("rows");
    names.map(|name| name.expect("a name")).collect()
}

#[test]
fn each_function_has_calls_that_need_memory_or_a_reason() {
    let named: Vec<&str> =
        walked().iter().map(|call| call.function).chain(CONSTANT.iter().map(|(name, _)| *name)).collect();
    for function in functions(&connect()) {
        assert!(named.contains(&&*function), "{function}: no row in walked() and no reason in CONSTANT");
    }
}

/// What a child process does: it measures a call of [`walked`] in this file, under the limit of the process.
fn measure_call(file: &str, number: usize) {
    let connection = Connection::open(file).expect("the fixture");
    sqlite_ltr::register(&connection).expect("registration");
    connection
        .execute_batch("PRAGMA cache_size = -500; PRAGMA synchronous = OFF; PRAGMA temp_store = FILE")
        .expect("settings");
    let call = &walked()[number];
    let input: Value = connection
        .query_row("SELECT value FROM made WHERE call = ?1", [number as i64], |row| row.get(0))
        .expect("an input");
    let mut statement = connection.prepare(&call.sql).expect("a statement");
    if statement.parameter_count() > 0 {
        statement.raw_bind_parameter(1, input).expect("a parameter");
    }
    report(|| statement.raw_query().next().map(|_| ()));
}

/// Measures all calls, or only the function `LTR_FUNCTION`, and lists what exceeds the limit. Prints a table.
#[test]
fn each_function_stays_within_the_limit_of_the_process() {
    // 1. A child process measures one call.
    if let Ok(request) = std::env::var(CALL) {
        let (number, file) = request.split_once(' ').expect("a number and a file");
        return measure_call(file, number.parse().expect("a number"));
    }
    if !can_measure() {
        return;
    }
    // 2. The fixture and the inputs.
    let chosen = std::env::var("LTR_FUNCTION").ok();
    let is_chosen = |call: &Call| chosen.as_ref().is_none_or(|name| name == call.function);
    let file = format!("{}/memory.db", env!("CARGO_TARGET_TMPDIR"));
    drop(std::fs::remove_file(&file));
    let connection = Connection::open(&file).expect("a database");
    sqlite_ltr::register(&connection).expect("registration");
    connection.execute_batch(&fixture()).expect("the fixture");
    for (number, call) in walked().iter().enumerate().filter(|(_, call)| is_chosen(call)) {
        let sql = format!("INSERT INTO made VALUES (?1, {})", call.input);
        connection
            .execute(&sql, [number as i64])
            .unwrap_or_else(|error| panic!("{}: {error}", call.function));
    }
    drop(connection);
    // 3. Each call in a separate process.
    let mut problems = Vec::new();
    for (number, call) in walked().iter().enumerate().filter(|(_, call)| is_chosen(call)) {
        let (peak, outcome) = child(
            "walk::each_function_stays_within_the_limit_of_the_process",
            &[(CALL, format!("{number} {file}")), (PROCESS_LIMIT, call.limit.to_string())],
        );
        let line =
            format!("{:22} {:3} MB: {:6.1} MB, {outcome}", call.function, call.limit / 1_000_000, peak / MB);
        println!("{line}");
        let expected = match call.refusal {
            _ if outcome.contains(" needs ") && outcome.contains("; ") && outcome.contains("MAX_MEMORY") => {
                true
            }
            None => outcome == "done",
            Some(refusal) => outcome.contains(refusal),
        };
        if peak > FACTOR * call.limit as f64 + UNCOUNTED_MB * MB || !expected {
            problems.push(line);
        }
    }
    drop(std::fs::remove_file(&file));
    assert!(
        problems.is_empty(),
        "beyond 1.25 x the limit + 10 MB, or another outcome:\n{}",
        problems.join("\n")
    );
}
