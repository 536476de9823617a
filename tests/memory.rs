//! Peak resident memory of calls under the option `max_memory` and under `SQLITE_LTR_MAX_MEMORY`: at most 1.25 times the
//! limit + 10 MB above what is resident before the call (rule 13.11). A call succeeds within that or refuses.
//!
//! [`cases`] walks algorithms and options under `max_memory`, [`walked`] walks the functions under a limit of the process:
//! each function of the connection has a row there, or a reason in [`CONSTANT`].
//!
//! Every case runs in a child process, because memory that was freed stays resident. Linux only: the peak is `VmHWM` of
//! `/proc/self/status`. The full matrix, about 10 minutes:
//! `LTR_LONG=1 cargo test --release --test memory -- --nocapture`

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a child process reports by its output; figures are shown"
)]

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::process::Command;

use rusqlite::Connection;
use rusqlite::types::Value;

/// The variable that tells a child its case and its limit in bytes.
const CASE: &str = "LTR_MEMORY_CASE";
/// The variable that tells a child the number of its call in [`walked`] and the file with the fixture.
const CALL: &str = "LTR_MEMORY_CALL";
/// The limit of the process.
const PROCESS_LIMIT: &str = "SQLITE_LTR_MAX_MEMORY";
/// What the limit may be exceeded by: a fraction and a constant for what is not counted.
const FACTOR: f64 = 1.25;
const UNCOUNTED_MB: f64 = 10.0;
const MB: f64 = 1e6;

/// A call whose memory is measured. `{options}` in the call stands for its options with the limit.
struct Case {
    name: String,
    /// The source, as a query.
    source: String,
    /// Statements that run before.
    before: String,
    call: String,
    /// Options besides `max_memory`, with a comma at the end if there are any.
    options: String,
}

/// Judged documents of queries with this many REAL features.
fn judged(queries: usize, documents: usize, features: usize) -> String {
    let mut columns = String::new();
    for feature in 0..features {
        let (a, b) = (7 + 13 * feature, 101 + feature);
        write!(columns, ", ((i * {a} + (i * i) % {b}) % 1000) / 1000.0 AS f{feature}").expect("a text");
    }
    let relevance = "((i * 7 + (i * i) % 101) % 1000) / 250 AS relevance";
    counted(queries * documents, &format!("i / {documents} AS query_id, i AS doc_id, {relevance}{columns}"))
}

/// Documents with one feature and ids of this many bytes.
fn long_ids(rows: usize, bytes: usize) -> String {
    let id = format!("printf('%0{bytes}d', i) AS doc_id");
    counted(rows, &format!("i / 10 AS query_id, {id}, i % 3 AS relevance, (i % 17) / 17.0 AS a"))
}

fn ratings(users: usize, items: usize, each: usize) -> String {
    let item = format!("(i * 7919 + (i / {each}) * 31) % {items} AS item_id");
    counted(users * each, &format!("i / {each} AS user_id, {item}, 1 + (i * 7 + i / {each}) % 5 AS rating"))
}

/// Documents at three slots; the first three documents of every four belong to a slot.
fn slots(queries: usize, documents: usize, features: usize) -> String {
    let belongs = "doc_id % 4 = s.value";
    let columns: Vec<String> = (0..features).map(|f| format!("f{f} + ({belongs}) AS f{f}")).collect();
    let (rows, columns) = (judged(queries, documents, features), columns.join(", "));
    format!(
        "SELECT query_id, doc_id, {belongs} AS relevance, s.value AS slot, {columns} \
         FROM ({rows}) AS j, json_each('[1, 2, 3]') AS s"
    )
}

fn counted(rows: usize, columns: &str) -> String {
    let numbers = format!("VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < {}", rows - 1);
    format!("WITH RECURSIVE n(i) AS ({numbers}) SELECT {columns} FROM n")
}

fn training(name: &str, algorithm: &str, source: String, options: &str) -> Case {
    let call = format!("SELECT length(ltr_fit('{algorithm}', 'src', '{{options}}'))");
    let (name, options) = (name.to_owned(), options.to_owned());
    Case { name, source, before: String::new(), call, options }
}

/// A call with a model that was trained before without a limit.
fn with_model(name: &str, train: &str, call: &str, source: String) -> Case {
    let before = format!("SELECT {train};");
    Case { name: name.to_owned(), source, before, call: call.to_owned(), options: String::new() }
}

/// Every algorithm. `size` multiplies the number of queries.
fn algorithms(size: usize) -> Vec<Case> {
    let connection = connect();
    let mut names = connection.prepare("SELECT name FROM ltr_algorithms()").expect("a statement");
    let names = names.query_map([], |row| row.get::<_, String>(0)).expect("rows");
    let case = |name: String| match &name[..] {
        "cofi_rank" => {
            training(&name, &name, ratings(200 * size, 300, 30), "\"lambda\": 1, \"max_rounds\": 2,")
        }
        "matching" => training(&name, &name, slots(20 * size, 4, 20), "\"lambda\": 1,"),
        "perceptron" => training(&name, &name, judged(50 * size, 40, 20), ""),
        "boosted_trees" | "lambdamart" => training(&name, &name, judged(25 * size, 20, 20), "\"trees\": 20,"),
        "auto" => training(&name, &name, judged(15 * size, 20, 20), ""),
        _ => training(&name, &name, judged(25 * size, 20, 20), "\"lambda\": 1,"),
    };
    names.map(|name| case(name.expect("a name"))).collect()
}

/// What took many times the limit before it was counted, and what solvers, kernels and results allocate.
fn large(size: usize) -> Vec<Case> {
    vec![
        training("rows", "rank_svm", judged(1000 * size, 10, 10), "\"lambda\": 1,"),
        training("ids", "rank_svm", long_ids(2000 * size, 5000), "\"lambda\": 1,"),
        training(
            "quantile_minmax",
            "regression",
            judged(100 * size, 20, 50),
            "\"lambda\": 1, \"scale\": \"quantile_minmax\",",
        ),
        training(
            "3000 landmarks",
            "rank_svm",
            judged(40 * size, 30, 5),
            "\"lambda\": 1, \"kernel\": \"gaussian\", \"landmarks\": 3000,",
        ),
        training(
            "kernel, lists",
            "list_net",
            judged(40 * size, 30, 5),
            "\"lambda\": 1, \"kernel\": \"laplace_l1\", \"landmarks\": 300,",
        ),
        training(
            "kernel of pairs",
            "rank_svm",
            judged(20 * size, 10, 5),
            "\"lambda\": 1, \"kernel\": \"gaussian\", \"form\": \"ranking\", \"landmarks\": 300,",
        ),
        training(
            "kernel, many documents",
            "regression",
            judged(300 * size, 20, 5),
            "\"kernel\": \"gaussian\", \"landmarks\": 500,",
        ),
        training("auto, kernel", "auto", judged(100 * size, 20, 5), "\"kernel\": \"gaussian\","),
        training(
            "many trees",
            "boosted_trees",
            judged(10 * size, 20, 5),
            "\"trees\": 2000, \"depth\": 8, \"learning_rate\": 0.01,",
        ),
        training("many features", "rank_svm", judged(20 * size, 20, 300), "\"lambda\": 1,"),
        training("many features, lists", "regression", judged(20 * size, 20, 300), "\"lambda\": 1,"),
        training(
            "long query, curvatures",
            "rank_svm",
            judged(2, 600 * size, 3),
            "\"lambda\": 1, \"loss\": \"squared_hinge\",",
        ),
        training(
            "long query, dual",
            "rank_svm",
            judged(2, 600 * size, 3),
            "\"lambda\": 1, \"solver\": \"admm\", \"time_limit\": 5,",
        ),
        training("validation", "knn_svm", judged(20 * size, 10, 20), ""),
    ]
}

/// Factors of users and items.
fn large_factors(size: usize) -> Vec<Case> {
    vec![
        training(
            "1000 factors",
            "cofi_rank",
            ratings(200 * size, 1000, 20),
            "\"lambda\": 1, \"factors\": 1000, \"max_rounds\": 1,",
        ),
        training(
            "1000 factors of pairs",
            "cofi_rank",
            ratings(20 * size, 40, 20),
            "\"lambda\": 1, \"factors\": 1000, \"max_rounds\": 1, \"feedback\": \"implicit\", \"count_weight\": 0,",
        ),
        training(
            "drawn pairs",
            "cofi_rank",
            ratings(60 * size, 300, 20),
            "\"factors\": 20, \"max_rounds\": 1, \"feedback\": \"implicit\", \"negatives\": 5,",
        ),
        training(
            "folds of factors",
            "cofi_rank",
            ratings(60 * size, 300, 20),
            "\"factors\": 100, \"max_rounds\": 1,",
        ),
        training(
            "factors, planes",
            "cofi_rank",
            ratings(60 * size, 300, 30),
            "\"lambda\": 1, \"factors\": 50, \"loss\": \"hinge\", \"max_rounds\": 1,",
        ),
    ]
}

/// Calls with a stored model.
fn with_models(size: usize) -> Vec<Case> {
    let small_part = "SELECT * FROM src WHERE query_id < 20";
    let linear = format!("ltr_train('rank_svm', '{small_part}', '{{\"lambda\": 1, \"name\": \"m\"}}')");
    let online = format!("ltr_train('perceptron', '{small_part}', '{{\"name\": \"m\"}}')");
    let rated = "ltr_train('cofi_rank', 'src', '{\"lambda\": 1, \"factors\": 2, \"max_rounds\": 1, \"name\": \"m\"}')";
    let kernel = "ltr_train('rank_svm', 'src', '{\"lambda\": 1, \"kernel\": \"gaussian\", \"landmarks\": 200, \"name\": \"m\"}')";
    let local = "ltr_train('q_svm', 'src', '{\"lambda\": 1, \"fit_at\": \"query_time\", \"name\": \"m\"}')";
    let rank = "SELECT count(*) FROM ltr_rank('m', 'src', '{options}')";
    let evaluate = "SELECT count(*) FROM ltr_evaluate('m', 'src', '{options}')";
    let interleave =
        "SELECT count(*) FROM ltr_interleave('m', 'm', 'src', json_set('{options}', '$.seed', 1))";
    let importance = "SELECT count(*) FROM ltr_importance('m', 'src', '{options}')";
    let explain = "SELECT count(*) FROM ltr_explain('m', 'src', 1, 3000, '{options}')";
    let recommend = "SELECT count(*) FROM ltr_recommend('m', 1, '{\"k\": 100000, \"include_seen\": true, \"max_memory\": {limit}}')";
    let update = "SELECT ltr_update('m', 'src', '{options}')";
    let moved = "SELECT count(*) FROM ltr_rank('m', 'SELECT query_id + 100000 AS query_id, doc_id, f0 + 0.1 AS f0, f1, f2, f3 FROM src', '{options}')";
    let mut cases = vec![
        with_model("rank", &linear, rank, judged(1000 * size, 40, 2)),
        with_model("rank, kernel", kernel, rank, judged(100 * size, 40, 4)),
        with_model("rank, new queries", local, moved, judged(60 * size, 10, 4)),
        with_model("evaluate", &linear, evaluate, judged(4000 * size, 10, 2)),
        with_model("interleave", &linear, interleave, judged(1000 * size, 40, 2)),
        with_model("importance", &linear, importance, judged(500 * size, 40, 4)),
        with_model("explain, kernel", kernel, explain, judged(2 * size, 3000, 14)),
        with_model("update", &online, update, judged(1000 * size, 10, 10)),
        with_model("recommend", rated, recommend, ratings(20000 * size, 200_000, 2)),
    ];
    if cfg!(feature = "plots") {
        let report = "SELECT length(ltr_report('m', 'src', '{options}'))";
        let plot = "SELECT length(ltr_plot('calibration', 'm', 'src', '{options}'))";
        cases.push(with_model("report", &linear, report, judged(4000 * size, 10, 2)));
        cases.push(with_model("plot", &linear, plot, judged(4000 * size, 10, 2)));
    }
    cases
}

fn connect() -> Connection {
    let connection = Connection::open_in_memory().expect("a database");
    sqlite_ltr::register(&connection).expect("registration");
    connection
}

fn cases(size: usize) -> Vec<Case> {
    algorithms(size)
        .into_iter()
        .chain(large(size))
        .chain(large_factors(size))
        .chain(with_models(size))
        .collect()
}

/// Peak and current resident bytes; `None` if the system does not tell.
fn resident() -> Option<(f64, f64)> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let kilobytes = |key: &str| -> Option<f64> {
        let line = status.lines().find(|line| line.starts_with(key))?;
        line.split_whitespace().nth(1)?.parse().ok()
    };
    Some((1024.0 * kilobytes("VmHWM:")?, 1024.0 * kilobytes("VmRSS:")?))
}

/// What a child process does: it measures the case of this request.
fn measure_here(request: &str) {
    let numbers: Vec<usize> = request.split(' ').map(|number| number.parse().expect("a number")).collect();
    let [index, size, limit] = numbers[..] else { panic!("three numbers") };
    let case = &cases(size)[index];
    // 1. The rows, and a model if the call needs one.
    let connection = connect();
    let prepare = format!("PRAGMA cache_size = -500; CREATE TABLE src AS {};", case.source);
    connection.execute_batch(&prepare).expect("rows");
    for statement in case.before.split_terminator(';') {
        connection.query_row(statement, [], |_| Ok(())).expect("a model");
    }
    // 2. The call.
    let limit = limit.to_string();
    let options = format!("{{{}\"max_memory\": {limit}}}", case.options);
    let sql = case.call.replace("{options}", &options).replace("{limit}", &limit);
    report(|| connection.query_row(&sql, [], |_| Ok(())));
}

/// Measures a call from what is resident now, and prints the peak and the outcome for [`child`].
fn report(call: impl FnOnce() -> rusqlite::Result<()>) {
    // Writing 5 resets the peak.
    std::fs::write("/proc/self/clear_refs", "5").expect("the peak is reset");
    let (_, before) = resident().expect("resident memory");
    let outcome = match call() {
        Ok(()) => "done".to_owned(),
        Err(problem) => problem.to_string().chars().take(400).collect(),
    };
    let (peak, _) = resident().expect("resident memory");
    println!("\nMEASURED {} {outcome}", (peak - before).max(0.0));
}

/// Runs a test of this program in a child process that measures a call: peak bytes, and "done" or the error.
fn child(test: &str, environment: &[(&str, String)]) -> (f64, String) {
    let output = Command::new(std::env::current_exe().expect("this program"))
        .args([test, "--exact", "--nocapture"])
        .envs(environment.iter().map(|(name, value)| (name, value)))
        .output()
        .expect("a child process");
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().find_map(|line| line.strip_prefix("MEASURED "));
    let Some((peak, outcome)) = line.and_then(|line| line.split_once(' ')) else {
        return (f64::INFINITY, format!("died: {text}{}", String::from_utf8_lossy(&output.stderr)));
    };
    (peak.parse().expect("a number"), outcome.to_owned())
}

/// Runs a case in a child process.
fn measure(index: usize, size: usize, limit: u64) -> (f64, String) {
    child("calls_stay_within_their_memory_or_refuse", &[(CASE, format!("{index} {size} {limit}"))])
}

/// Whether this system tells the peak of resident memory.
fn can_measure() -> bool {
    let can = resident().is_some() && std::fs::write("/proc/self/clear_refs", "5").is_ok();
    if !can {
        eprintln!(
            "SKIPPED: memory is measured on Linux only, from /proc/self/status; 'max_memory' IS NOT TESTED HERE"
        );
    }
    can
}

/// Measures all cases with these limits, and lists what exceeds them. Prints a table.
fn check(size: usize, limits: &[u64]) {
    let mut problems = Vec::new();
    for (index, case) in cases(size).iter().enumerate() {
        for limit in limits {
            let (peak, outcome) = measure(index, size, *limit);
            let allowed = FACTOR * *limit as f64 + UNCOUNTED_MB * MB;
            let line =
                format!("{:24} {:4} MB: {:6.1} MB, {outcome}", case.name, limit / 1_000_000, peak / MB);
            println!("{line}");
            let expected = outcome == "done" || outcome.contains("of the option 'max_memory'; ");
            if peak > allowed || !expected {
                problems.push(line);
            }
        }
    }
    assert!(
        problems.is_empty(),
        "beyond 1.25 x the limit + 10 MB, or another error:\n{}",
        problems.join("\n")
    );
}

#[test]
fn calls_stay_within_their_memory_or_refuse() {
    // 1. A child process measures one case.
    if let Ok(request) = std::env::var(CASE) {
        return measure_here(&request);
    }
    // 2. The cases, each in a child process that runs this test.
    match std::env::var_os("LTR_LONG") {
        _ if !can_measure() => (),
        None => check(1, &[2_000_000, 200_000_000]),
        Some(_) => check(10, &[4_000_000, 8_000_000, 20_000_000, 64_000_000, 200_000_000]),
    }
}

/// The same model with a limit, in which memory is short, and without one.
#[test]
fn the_limit_does_not_change_a_model() {
    let connection = connect();
    connection.execute_batch(&format!("CREATE TABLE src AS {}", judged(30, 20, 10))).expect("rows");
    connection.execute_batch(&format!("CREATE TABLE rated AS {}", ratings(40, 50, 10))).expect("rows");
    for (algorithm, source, options, limit) in [
        ("rank_svm", "src", "", 1_000_000),
        ("auto", "src", "", 1_500_000),
        ("q_svm", "src", "\"lambda\": 1,", 2_500_000),
        ("cofi_rank", "rated", "\"max_rounds\": 2,", 180_000),
        ("cofi_rank", "rated", "\"max_rounds\": 2, \"loss\": \"hinge\",", 24_000_000),
    ] {
        let fit = |limit: u64| {
            let sql = format!(
                "SELECT hex(ltr_fit('{algorithm}', '{source}', '{{{options}\"max_memory\": {limit}}}'))"
            );
            connection.query_row(&sql, [], |row| row.get::<_, String>(0))
        };
        let free = fit(u64::MAX).expect("a model");
        assert!(fit(10_000).is_err(), "{algorithm}");
        assert!(fit(limit).expect("a model within the limit") == free, "{algorithm}");
    }
}

// The walk over the functions, under a limit of the process.

/// The limit, unless a call has a smaller one.
const LIMIT: u64 = 20_000_000;

/// Functions whose memory does not grow with their input, and why.
const CONSTANT: &[(&str, &str)] = &[
    ("ltr_algorithms", "no argument"),
    ("ltr_debug", "no argument"),
    ("ltr_metrics", "no argument"),
    ("ltr_options", "no argument"),
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
    let numbers = &format!("'[' || {} || '1]'", repeated(6_000_000, "1.5, "))[..];
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
        call("ltr_activate", letters, "ltr_activate(?1, 1)").refused("bytes, allowed is"),
        // Buckets.
        call("ltr_bucket", letters, "ltr_bucket(?1, 2)"),
        call("ltr_pack", none, &pack(1000)),
        call("ltr_begin", &format!(r#"'{{"buckets": 2, "columns": {{"features": ' || {names} || '}}}}'"#), "ltr_begin('regression', ?1)").refused("bytes, allowed is"),
        call("ltr_partial", &pack(1000), &format!("ltr_partial({begin}, 0, ?1)")),
        call("ltr_merge", &answer, "ltr_merge(?1)").within(2_000_000),
        call("ltr_step", &answer, &format!("ltr_step({begin}, ?1)")).within(2_000_000),
        call("ltr_finish", &state, "ltr_finish(?1)").within(2_000_000),
        // Ranking and scoring.
        rows("ltr_rank", none, "ltr_rank('linear', 'big')").within(2_000_000),
        rows("ltr_rank", model, "ltr_rank(?1, 'SELECT *, query_id % 7 AS q_1 FROM few')"),
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
        call("ltr_fts_names", letters, "ltr_fts_names(?1)").refused("bytes, allowed is"),
        call("ltr_fts", none, "length(ltr_fts(docs)) FROM docs WHERE docs MATCH 'shoes'"),
        rows("ltr_letor", &repeated(15_000_000, "a"), "ltr_letor(?1)").refused("bytes, allowed is"),
    ];
    if cfg!(feature = "plots") {
        calls.push(call("ltr_plot", none, "length(ltr_plot('calibration', 'linear', 'big'))").within(2_000_000));
        calls.push(call("ltr_report", none, "length(ltr_report('linear', 'big'))").within(2_000_000));
    }
    // Metrics: 1,500,000 rows in one group.
    for function in ["ndcg", "dcg", "ap", "rr", "precision", "recall", "err", "mre", "wta", "kendall_tau", "pair_loss"] {
        let name = format!("ltr_{function}").leak();
        calls.push(call(name, none, &format!("{name}(y, s) FROM v")));
    }
    for function in ["eru", "neru"] {
        let name = format!("ltr_{function}").leak();
        calls.push(call(name, none, &format!("{name}(y, s, 0, 5) FROM v")));
    }
    for function in ["alpha_ndcg", "subtopic_recall"] {
        let name = format!("ltr_{function}").leak();
        calls.push(call(name, none, &format!("{name}(json_array(y), s) FROM v WHERE rowid <= 300000")));
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

/// Measures all calls, or those of the function that `LTR_FUNCTION` names, and lists what exceeds the limit. Prints a table.
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
    // 3. Each call in a process of its own.
    let mut problems = Vec::new();
    for (number, call) in walked().iter().enumerate().filter(|(_, call)| is_chosen(call)) {
        let (peak, outcome) = child(
            "each_function_stays_within_the_limit_of_the_process",
            &[(CALL, format!("{number} {file}")), (PROCESS_LIMIT, call.limit.to_string())],
        );
        let line =
            format!("{:22} {:3} MB: {:6.1} MB, {outcome}", call.function, call.limit / 1_000_000, peak / MB);
        println!("{line}");
        let expected = match call.refusal {
            _ if outcome.contains(" needs ") && outcome.contains("; ") && outcome.contains("max_memory") => {
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
