//! The metric aggregates in SQL. The numbers come from the contract in `src/sqlite/functions/aggregate.rs`.

use rusqlite::Connection;
use rusqlite::types::Value;
use serde_json::Value as Json;

fn connect() -> Connection {
    let connection = Connection::open_in_memory().expect("an in-memory database");
    sqlite_ltr::register(&connection).expect("registration");
    connection
}

fn query(connection: &Connection, sql: &str) -> Result<Value, rusqlite::Error> {
    connection.query_row(sql, [], |row| row.get(0))
}

/// The value of an aggregate over rows `(a, b)` written as the body of VALUES.
fn over(call: &str, rows: &str) -> Value {
    let sql = format!("WITH t(a, b) AS (VALUES {rows}) SELECT {call} FROM t");
    query(&connect(), &sql).unwrap_or_else(|problem| panic!("{sql}: {problem}"))
}

fn number(call: &str, rows: &str) -> f64 {
    match over(call, rows) {
        Value::Real(value) => value,
        Value::Integer(value) => value as f64,
        other => panic!("{call}: {other:?}"),
    }
}

fn refusal(call: &str, rows: &str) -> String {
    let sql = format!("WITH t(a, b) AS (VALUES {rows}) SELECT {call} FROM t");
    query(&connect(), &sql).expect_err(&sql).to_string()
}

fn assert_close(found: f64, expected: f64, what: &str) {
    assert!((found - expected).abs() < 1e-12, "{what}: {found}, expected {expected}");
}

const DISCOUNT_2: f64 = 0.630_929_753_571_457_4;
const RANKED: &str = "(0, 4), (2, 3), (0, 2), (1, 1)";

#[test]
fn every_function_has_its_value() {
    let dcg = 3.0 * DISCOUNT_2 + 1.0 / 5.0_f64.log2();
    let table = [
        ("ltr_metric('dcg', a, b)", dcg),
        ("ltr_metric('dcg@2', a, b)", 3.0 * DISCOUNT_2),
        ("ltr_ndcg(a, b)", dcg / (3.0 + DISCOUNT_2)),
        ("ltr_ndcg(a, b, 1)", 0.0),
        ("ltr_metric('err', a, b)", 0.75 / 2.0 + 0.25 * 0.25 / 4.0),
        ("ltr_metric('err@3', a, b)", 0.75 / 2.0),
        ("ltr_ap(a, b)", 0.5),
        ("ltr_ap(a, b, 3)", 0.25),
        ("ltr_rr(a, b)", 0.5),
        ("ltr_rr(a, b, 1)", 0.0),
        ("ltr_precision(a, b)", 0.5),
        ("ltr_precision(a, b, 8)", 0.25),
        ("ltr_recall(a, b, 3)", 0.5),
        ("ltr_recall(a, b)", 1.0),
        ("ltr_metric('wta', a, b)", 0.0),
        ("ltr_metric('success@1', a, b)", 0.0),
        ("ltr_metric('Success@2', a, b)", 1.0),
        ("ltr_metric('success(rel=3)', a, b) IS NULL", 1.0),
        ("ltr_metric('rbp', a, b)", 0.2 * (0.8 + 0.512)),
        ("ltr_metric('RBP(p=.5)@3', a, b)", 0.25),
        ("ltr_metric('P(rel=2)@10', a, b)", 0.1),
        ("ltr_metric('R(rel=2)@2', a, b)", 1.0),
        ("ltr_metric('AP@3', a, b)", 0.25),
        ("ltr_metric(' nDCG(dcg=''log2'')@2 ', a, b)", 2.0 * DISCOUNT_2 / (2.0 + DISCOUNT_2)),
        ("ltr_metric('err(max_grade=4)@2', a, b)", 3.0 / 32.0),
        (r#"ltr_metric('eru', a, b, '{"neutral_grade": 1, "half_life": 3}')"#, 0.5_f64.sqrt()),
        (r#"ltr_metric('precision(rel=2)@2', a, b, '{"threshold": 0}')"#, 0.5),
        ("ltr_metric('eru(neutral_grade=0,half_life=2)', a, b)", 1.0 + 0.125),
        ("ltr_metric('eru(neutral_grade=1,half_life=3)', a, b)", 0.5_f64.sqrt()),
        ("ltr_metric('neru(neutral_grade=0,half_life=2)', a, b)", 1.125 / 2.5),
        ("ltr_metric('neru(neutral_grade=1,half_life=3)', a, b)", 0.5_f64.sqrt()),
        ("ltr_metric('mre', a, b)", 3.0 / 6.0),
        ("ltr_metric('kendall_tau', a, b)", -1.0 / (5.0 * 6.0_f64).sqrt()),
        ("ltr_metric('pair_loss', a, b)", 35.0 / 6.0),
    ];
    for (call, expected) in table {
        assert_close(number(call, RANKED), expected, call);
    }
}

#[test]
fn functions_of_subtopics_have_their_values() {
    let rows = r#"('["x", 1]', 3), ('["x"]', 2), ('[2, "x"]', 1), ('[]', 0)"#;
    let ideal = 2.0 + 1.5 * DISCOUNT_2 + 0.25 * 0.5;
    let value = 2.0 + 0.5 * DISCOUNT_2 + 1.25 * 0.5;
    assert_close(number("ltr_metric('alpha_ndcg', a, b)", rows), value / ideal, "alpha-nDCG");
    let strict = r#"ltr_metric('alpha_ndcg@2', a, b, '{"alpha": 1}')"#;
    assert_close(number(strict, rows), 2.0 / (2.0 + DISCOUNT_2), strict);
    assert_close(number("ltr_metric('subtopic_recall@1', a, b)", rows), 2.0 / 3.0, "subtopic recall");
    assert_close(number("ltr_metric('subtopic_recall', a, b)", rows), 1.0, "subtopic recall of all");
    let same = r#"('[1, "1"]', 2), ('[1.0, 2.5]', 1)"#;
    assert_close(number("ltr_metric('subtopic_recall@1', a, b)", same), 2.0 / 3.0, "1 is 1.0 and not '1'");
    let tied = "('[1]', 0), ('[2]', 0), ('[1]', 0)";
    assert_close(number("ltr_metric('subtopic_recall@1', a, b)", tied), 0.5, "expected ties");
    assert_eq!(over("ltr_metric('alpha_ndcg', a, b)", "('[]', 1)"), Value::Null);
}

/// Rule 8.3: NULL options mean no options.
#[test]
fn every_option_has_its_effect() {
    let tied = "(0, 1), (2, 1), (1, 1)";
    let table = [
        ("ltr_metric('wta', a, b)", 2.0 / 3.0),
        (r#"ltr_metric('wta', a, b, '{"ties": "expected"}')"#, 2.0 / 3.0),
        (r#"ltr_metric('wta', a, b, '{"ties": "input"}')"#, 0.0),
        (r#"ltr_metric('wta', a, b, '{"ties": "worst"}')"#, 0.0),
        (r#"ltr_metric('wta', a, b, '{"ties": "best"}')"#, 1.0),
        (r#"ltr_metric('dcg@1', a, b, '{"ties": "best"}')"#, 3.0),
        (r#"ltr_metric('dcg@1', a, b, '{"ties": "best", "gain": "linear"}')"#, 2.0),
        (r#"ltr_metric('dcg', a, b, '{"gain": "linear", "ties": "best"}')"#, 2.0 + DISCOUNT_2),
        (r#"ltr_metric('err@1', a, b, '{"ties": "best", "max_grade": 4}')"#, 3.0 / 16.0),
        (r#"ltr_metric('wta', a, b, '{"threshold": 2}')"#, 1.0 / 3.0),
        (r#"ltr_metric('mre', a, b, '{"ties": "worst"}')"#, 1.0),
        ("ltr_metric('mre', a, b, NULL)", 0.5),
        ("ltr_ndcg(a, b, 3, NULL) / ltr_ndcg(a, b, 3)", 1.0),
        (r#"ltr_metric('eru(neutral_grade=0,half_life=2)', a, b, '{"ties": "best"}')"#, 2.5),
    ];
    for (call, expected) in table {
        assert_close(number(call, tied), expected, call);
    }
}

#[test]
fn numbers_may_come_as_text() {
    let text = "('0', '4'), (' 2.0 ', '3e0'), ('0', 2), (1.0, '1')";
    assert_close(number("ltr_ndcg(a, b)", text), number("ltr_ndcg(a, b)", RANKED), "text");
}

#[test]
fn without_rows_or_relevant_documents_the_value_is_null() {
    let calls =
        ["ltr_ndcg(a, b)", "ltr_ap(a, b)", "ltr_rr(a, b)", "ltr_precision(a, b, 1)", "ltr_recall(a, b)"];
    for call in calls {
        assert_eq!(over(call, "(0, 1), (0, 2)"), Value::Null, "{call}");
    }
    assert_eq!(over("ltr_metric('mre', a, b)", "(1, 1)"), Value::Null);
    assert_eq!(over("ltr_metric('kendall_tau', a, b)", "(1, 1), (1, 2)"), Value::Null);
    assert_eq!(over("ltr_metric('neru(neutral_grade=2,half_life=2)', a, b)", RANKED), Value::Null);
    for call in [
        "ltr_metric('dcg', a, b)",
        "ltr_metric('err', a, b)",
        "ltr_metric('eru(neutral_grade=0,half_life=2)', a, b)",
    ] {
        assert_close(number(call, "(0, 1), (0, 2)"), 0.0, call);
        let none = format!("{call} FILTER (WHERE a > 9)");
        assert_eq!(over(&none, "(0, 1), (0, 2)"), Value::Null, "{none}");
    }
}

/// Rules 8.2, 8.6: rows are counted as they enter the group.
#[test]
fn bad_rows_are_refused_with_their_number() {
    let unjudged = "expected a finite number; write coalesce(relevance, 0) if unjudged means not relevant";
    let table = [
        ("(1, 1), (NULL, 2)", format!("ltr_ndcg: relevance in row 2 of the group: got NULL, {unjudged}")),
        (
            "('good', 1)",
            "ltr_ndcg: relevance in row 1 of the group: got text 'good', expected a finite number".to_owned(),
        ),
        (
            "(x'0102', 1)",
            "ltr_ndcg: relevance in row 1 of the group: got a BLOB of 2 bytes, expected a finite number"
                .to_owned(),
        ),
        (
            "(9e999, 1)",
            "ltr_ndcg: relevance in row 1 of the group: got inf, expected a finite number".to_owned(),
        ),
        (
            "(1, 'nan')",
            "ltr_ndcg: score in row 1 of the group: got text 'nan', expected a finite number".to_owned(),
        ),
        (
            "(1, '')",
            "ltr_ndcg: score in row 1 of the group: got text '', expected a finite number".to_owned(),
        ),
    ];
    for (rows, expected) in table {
        assert_eq!(refusal("ltr_ndcg(a, b)", rows), expected);
    }
}

/// Rules 8.3, 8.4: `k` is a whole number from 1; the arguments after the score are the same in every row.
#[test]
fn bad_settings_are_refused() {
    let k = "expected a whole number from 1 (or options, a JSON object, in its place)";
    let table = [
        ("ltr_ndcg(a, b, 0)", format!("ltr_ndcg: k: got 0, {k}")),
        ("ltr_ndcg(a, b, -3)", format!("ltr_ndcg: k: got -3, {k}")),
        ("ltr_ndcg(a, b, 2.5)", format!("ltr_ndcg: k: got 2.5, {k}")),
        ("ltr_ndcg(a, b, 'ten')", format!("ltr_ndcg: k: got text 'ten', {k}")),
        ("ltr_ndcg(a, b, NULL)", format!("ltr_ndcg: k: got NULL, {k}")),
        ("ltr_ndcg(a, b, b)", "ltr_ndcg: k in row 2 of the group: got 3, expected the value of the first row, 4".to_owned()),
        ("ltr_metric('mre@3', a, b)", "ltr_metric: cutoff of the metric 'mre': got '3', expected none, the metric is over the whole list: 'mre'".to_owned()),
        ("ltr_metric('mre', a, b, 3)", r#"ltr_metric: options: got 3, expected a JSON object such as {"ties": "input"}"#.to_owned()),
        ("ltr_metric(NULL, a, b)", "ltr_metric: argument 'name': got NULL, expected text".to_owned()),
        ("ltr_metric('precision@' || b, a, b)", "ltr_metric: name in row 2 of the group: got text 'precision@3', expected the value of the first row, text 'precision@4'".to_owned()),
        (r#"ltr_ap(a, b, '{"ties": "random"}')"#, r#"ltr_ap: option 'ties': got "random", expected one of "expected", "input", "worst", "best""#.to_owned()),
        ("ltr_metric('eru(neutral_grade=0,half_life=1)', a, b)", "ltr_metric: parameter 'half_life' of the metric 'eru': got '1', expected a number above 1, at most 1000000000".to_owned()),
        ("ltr_metric('eru(neutral_grade=NULL,half_life=2)', a, b)", "ltr_metric: parameter 'neutral_grade' of the metric 'eru': got 'NULL', expected a number from -1000000000 to 1000000000".to_owned()),
        ("ltr_metric('dcg', a + 2000, b)", "ltr_metric: the grades are so large that the value of 'dcg' is beyond 1e288".to_owned()),
    ];
    for (call, expected) in table {
        assert_eq!(refusal(call, RANKED), expected);
    }
    for (call, expected) in [
        ("ltr_ndcg(a)", "ltr_ndcg: got 1 argument; call ltr_ndcg(relevance, score [, k] [, options])"),
        (
            "ltr_metric('mre', a, b, NULL, NULL)",
            "ltr_metric: got 5 arguments; call ltr_metric(name, relevance, score [, options])",
        ),
        ("ltr_metric(a)", "ltr_metric: got 1 argument; call ltr_metric(name, relevance, score [, options])"),
    ] {
        assert_eq!(refusal(call, RANKED), expected);
    }
    let found = refusal(r#"ltr_ap(a, b, '{"tie": "best"}')"#, RANKED);
    assert!(found.starts_with("ltr_ap: unknown option 'tie', did you mean 'ties'?"), "{found}");
    let found = refusal("ltr_ap(a, b, '{ties}')", RANKED);
    assert!(found.starts_with("ltr_ap: options: got '{ties}', expected a JSON object"), "{found}");
}

#[test]
fn bad_subtopics_are_refused() {
    let array = "expected a JSON array of texts and numbers as text";
    let table = [
        (
            "('[1]', 2), (NULL, 1)",
            format!(
                "ltr_metric: subtopics in row 2 of the group: got NULL, {array}; write coalesce(subtopics, '[]') if unjudged means no subtopic"
            ),
        ),
        ("('x', 1)", format!("ltr_metric: subtopics in row 1 of the group: got text 'x', {array}")),
        ("('[null]', 1)", format!("ltr_metric: subtopics in row 1 of the group: got text '[null]', {array}")),
        ("(7, 1)", format!("ltr_metric: subtopics in row 1 of the group: got 7, {array}")),
    ];
    for (rows, expected) in table {
        assert_eq!(refusal("ltr_metric('alpha_ndcg', a, b)", rows), expected);
    }
    assert_eq!(
        refusal(r#"ltr_metric('subtopic_recall@1', a, b, '{"ties": "best"}')"#, "('[1]', 1)"),
        "ltr_metric: ties: got 'best', expected one of expected, input (subtopics do not order the documents of a tie)"
    );
}

/// A table of three queries in which nothing is tied.
fn judgments() -> Connection {
    let connection = connect();
    let sql = "CREATE TABLE judgments(query_id, relevance, score);
        INSERT INTO judgments VALUES
            (1, 0, 4), (1, 2, 3), (1, 0, 2), (1, 1, 1), (2, 1, 2), (2, 0, 1), (3, 0, 1), (3, 0, 2)";
    connection.execute_batch(sql).expect("a table");
    connection
}

#[test]
fn groups_are_measured_apart_and_avg_skips_the_undefined() {
    let connection = judgments();
    let mean = "SELECT avg(v) FROM (SELECT ltr_ap(relevance, score) v FROM judgments GROUP BY query_id)";
    assert_eq!(query(&connection, mean).unwrap(), Value::Real(0.75));
    let filtered =
        "SELECT ltr_ap(relevance, score) FILTER (WHERE score < 4) FROM judgments WHERE query_id = 1";
    let Value::Real(value) = query(&connection, filtered).unwrap() else { panic!("a number") };
    assert_close(value, 5.0 / 6.0, "filter");
}

/// All values of a window call over query 1 in the order of its rows.
fn windows(connection: &Connection, over: &str) -> Vec<Option<f64>> {
    let sql = format!(
        "SELECT ltr_metric('dcg', relevance, score) OVER ({over}) FROM judgments WHERE query_id = 1 ORDER BY rowid"
    );
    let mut statement = connection.prepare(&sql).expect(&sql);
    let rows = statement.query_map([], |row| row.get(0)).expect(&sql);
    rows.collect::<Result<_, _>>().unwrap_or_else(|problem| panic!("{sql}: {problem}"))
}

/// Rule 8.7: each frame has the value of its rows.
#[test]
fn frames_grow_move_and_empty() {
    let connection = judgments();
    let grades = [0.0, 3.0, 0.0, 1.0];
    let dcg = |from: i32, to: i32| {
        let places = (from.max(0)..=to.min(3)).map(|row| row as usize);
        let terms = places.enumerate().map(|(place, row)| grades[row] / (place as f64 + 2.0).log2());
        let terms: Vec<f64> = terms.collect();
        (!terms.is_empty()).then(|| terms.iter().sum::<f64>())
    };
    let frames = [
        ("ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW", [(0, 0), (0, 1), (0, 2), (0, 3)]),
        ("ROWS BETWEEN 1 PRECEDING AND CURRENT ROW", [(-1, 0), (0, 1), (1, 2), (2, 3)]),
        ("ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING", [(-1, 1), (0, 2), (1, 3), (2, 4)]),
        ("ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING", [(0, 3), (1, 3), (2, 3), (3, 3)]),
        ("ROWS BETWEEN 1 FOLLOWING AND 2 FOLLOWING", [(1, 2), (2, 3), (3, 4), (4, 5)]),
        ("ROWS BETWEEN 2 PRECEDING AND 1 PRECEDING", [(-2, -1), (-1, 0), (0, 1), (1, 2)]),
        ("ROWS BETWEEN 1 PRECEDING AND 2 PRECEDING", [(0, -1), (0, -1), (1, 0), (2, 1)]),
        ("ROWS BETWEEN 2 FOLLOWING AND 1 FOLLOWING", [(2, 1), (3, 2), (4, 3), (5, 4)]),
    ];
    for (frame, rows) in frames {
        let actual = windows(&connection, &format!("ORDER BY rowid {frame}"));
        assert_eq!(actual.len(), 4);
        for (actual, (from, to)) in actual.into_iter().zip(rows) {
            match (actual, dcg(from, to)) {
                (Some(actual), Some(expected)) => assert_close(actual, expected, frame),
                (actual, expected) => assert_eq!(actual, expected, "{frame}"),
            }
        }
    }
}

#[test]
fn partitions_and_exclusions_work() {
    let connection = judgments();
    let sql = "SELECT group_concat(quote(v)) FROM (SELECT DISTINCT query_id,
        ltr_rr(relevance, score) OVER (PARTITION BY query_id) v FROM judgments ORDER BY query_id)";
    assert_eq!(query(&connection, sql).unwrap(), Value::Text("0.5,1.0,NULL".to_owned()));
    let whole = "ORDER BY rowid ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING EXCLUDE CURRENT ROW";
    let found = windows(&connection, whole);
    assert_close(found[0].unwrap(), 3.0 + 0.5, "without the first row");
    assert_close(found[3].unwrap(), 3.0 * DISCOUNT_2, "without the last row");
}

#[test]
fn views_and_triggers_may_use_them() {
    let connection = judgments();
    let sql = "PRAGMA trusted_schema = OFF;
        CREATE VIEW quality AS SELECT query_id, ltr_ndcg(relevance, score, 10) AS ndcg FROM judgments GROUP BY 1";
    connection.execute_batch(sql).unwrap();
    assert_eq!(query(&connection, "SELECT ndcg FROM quality WHERE query_id = 2").unwrap(), Value::Real(1.0));
}

#[test]
fn a_group_may_be_large() {
    let connection = connect();
    let sql = "WITH RECURSIVE n(i) AS (VALUES(0) UNION ALL SELECT i + 1 FROM n WHERE i < 99999)
        SELECT ltr_ndcg(i % 5, (i * 7919) % 1000) FROM n";
    assert!(matches!(query(&connection, sql).unwrap(), Value::Real(value) if value > 0.0 && value < 1.0));
}

/// Rule 8.1: each metric of `ltr_metrics` by its name is the value of `ltr_evaluate` by the same name, and functions of their
/// own are `ltr_metric`.
#[test]
fn every_name_means_the_same_everywhere() {
    let connection = judgments();
    let sql = r#"CREATE TABLE source AS SELECT query_id, rowid AS doc_id, relevance, score AS f1 FROM judgments;
        SELECT ltr_train('regression', 'source', '{"lambda": 1, "name": "m"}');
        DROP TABLE judgments;
        CREATE TABLE judgments AS SELECT query_id, relevance, score
            FROM ltr_rank('m', 'source') JOIN source USING (query_id, doc_id) ORDER BY doc_id"#;
    connection.execute_batch(sql).expect(sql);
    let sql = "SELECT m.name || p.p || k.k, m.function FROM ltr_metrics AS m,
        (SELECT '' AS p UNION ALL SELECT '(ties=input)' UNION ALL SELECT '(rel=2)') AS p,
        (SELECT '' AS k UNION ALL SELECT '@2') AS k
        WHERE m.name NOT IN ('alpha_ndcg', 'subtopic_recall') AND (m.takes_cutoff OR k.k = '')";
    let mut statement = connection.prepare(sql).expect(sql);
    let names = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).expect(sql);
    let names: Vec<(String, String)> = names.collect::<Result<_, _>>().expect(sql);
    let problem =
        |error: rusqlite::Error| error.to_string().split_once(": ").map(|(_, text)| text.to_owned());
    let mut compared = 0;
    for (name, function) in &names {
        let by_query = |call: &str| {
            let sql = format!(
                "SELECT group_concat(quote(v)) FROM (SELECT {call} AS v FROM judgments GROUP BY query_id)"
            );
            query(&connection, &sql)
        };
        let by_name = by_query(&format!("ltr_metric('{name}', relevance, score)"));
        let evaluated = format!(
            "SELECT group_concat(quote(value)) FROM ltr_evaluate('m', 'source', '{{\"metric\": \"{name}\"}}')
             WHERE query_id IS NOT NULL"
        );
        match (by_name, query(&connection, &evaluated)) {
            (Ok(by_name), Ok(evaluated)) => {
                assert_eq!(by_name, evaluated, "{name}");
                compared += 1;
                if function != "ltr_metric" && !name.contains('(') {
                    let k = name.split_once('@').map_or(String::new(), |(_, k)| format!(", {k}"));
                    assert_eq!(by_query(&format!("{function}(relevance, score{k})")).unwrap(), by_name);
                }
            }
            // Parameters that the metric does not read.
            (Err(one), Err(other)) => assert_eq!(problem(one), problem(other), "{name}"),
            (one, other) => panic!("{name}: {one:?}, {other:?}"),
        }
    }
    assert!(compared > 45 && compared < names.len(), "{compared} of {}", names.len());
}

/// A list of a golden file as rows of VALUES.
fn rows_of(relevance: &Json, scores: &Json) -> String {
    let lists = relevance.as_array().expect("grades").iter().zip(scores.as_array().expect("scores"));
    lists.map(|(y, s)| format!("({y}, {s})")).collect::<Vec<_>>().join(", ")
}

fn check(call: &str, rows: &str, golden: &Json) {
    match (over(call, rows), golden.as_f64()) {
        (Value::Real(found), Some(golden)) => assert_close(found, golden, call),
        (found, None) => assert_eq!(found, Value::Null, "{call}"),
        (found, golden) => panic!("{call}: {found:?}, golden {golden:?}"),
    }
}

#[test]
fn golden_lists_of_the_query_dependent_svm() {
    let golden: Json = serde_json::from_str(include_str!("../rust/golden/qsvm/metrics.json")).unwrap();
    for list in golden["lists"].as_array().unwrap() {
        let rows = rows_of(&list["y"], &list["scores"]);
        check("ltr_metric('mre', a, b)", &rows, &list["mre_halfties"]);
        check(r#"ltr_metric('mre', a, b, '{"ties": "input"}')"#, &rows, &list["mre"]);
        check(r#"ltr_ndcg(a, b, 10, '{"ties": "input"}')"#, &rows, &list["ndcg10"]);
        if list["name"] != "test_subset_fullmax" {
            check(r#"ltr_metric('err', a, b, '{"ties": "input"}')"#, &rows, &list["err"]);
        }
    }
}

#[test]
fn golden_lists_of_the_listwise_methods() {
    let golden: Json = serde_json::from_str(include_str!("../rust/golden/listwise/metrics.json")).unwrap();
    for case in golden["cases"].as_array().unwrap() {
        let rows = rows_of(&case["y"], &case["s"]);
        for (rule, ties) in [("stable", "input"), ("pessimistic", "worst"), ("optimistic", "best")] {
            let list = &case[rule];
            let options = format!(r#"'{{"ties": "{ties}", "max_grade": 4}}'"#);
            check(&format!("ltr_metric('dcg', a, b, {options})"), &rows, &list["dcg"]);
            check(&format!("ltr_metric('err', a, b, {options})"), &rows, &list["err"]);
            check(&format!("ltr_metric('err@3', a, b, {options})"), &rows, &list["err_at_3"]);
            check(&format!("coalesce(ltr_ndcg(a, b, 3, {options}), 1.0)"), &rows, &list["ndcg_at_3"]);
            check(&format!("coalesce(ltr_ap(a, b, {options}), 1.0)"), &rows, &list["ap"]);
            check(&format!("coalesce(ltr_rr(a, b, {options}), 0.0)"), &rows, &list["rr"]);
            check(&format!("coalesce(ltr_precision(a, b, 2, {options}), 0.0)"), &rows, &list["prec_at_2"]);
        }
    }
}
