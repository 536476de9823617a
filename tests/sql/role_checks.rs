//! Rules 2.26 to 2.28 and 5.33: values of roles that look wrong, and what messages about them propose.

use rusqlite::Connection;
use serde_json::{Value, json};

use super::support::{database, value};

/// The table `t`: 30 queries of 6 documents. `i` is the number of a query, `j` of a document, `x` decides the relevance.
fn table(connection: &Connection, columns: &str) {
    let sql = format!(
        "DROP TABLE IF EXISTS t;
         CREATE TABLE t AS WITH RECURSIVE n(k) AS (SELECT 0 UNION ALL SELECT k + 1 FROM n WHERE k < 179),
           r AS (SELECT k / 6 + 1 AS i, k % 6 AS j, (k * 7919 + 17) % 1009 / 1009.0 AS x, (k * 104729 + 5) % 997 / 997.0 AS y FROM n)
         SELECT {columns}, x, y FROM r"
    );
    connection.execute_batch(&sql).unwrap();
}

/// The report of a training on a source.
fn report(connection: &Connection, source: &str, options: &Value) -> Value {
    let sql = "SELECT ltr_train('rank_svm', ?1, ?2)";
    let text: String = value(connection, sql, (source, options.to_string()));
    serde_json::from_str(&text).unwrap()
}

fn warnings(report: &Value, part: &str) -> Vec<String> {
    let lines = report["warnings"].as_array().unwrap().iter().filter_map(Value::as_str);
    lines.filter(|line| line.contains(part)).map(str::to_owned).collect()
}

const JUDGED: &str = "j AS doc_id, CAST(3 * x AS INTEGER) AS relevance";

/// Ids of a query, by the number of the document, and whether SQL makes them one.
const SPELLINGS: &[(&str, bool)] = &[
    ("iif(j % 2, i, CAST(i AS TEXT))", true),
    ("iif(j % 2, i, printf('%03d', i))", true),
    ("iif(j % 2, printf('%d', i), printf('%d.0', i))", false),
    ("iif(j % 2, 'Red', 'red') || ' shoes ' || i", true),
    ("'shoes ' || i || iif(j % 2, ' ', '')", true),
    ("'red' || iif(j % 2, '  ', ' ') || 'shoes ' || i", true),
    ("'red' || iif(j % 2, char(160), ' ') || 'shoes ' || i", true),
    ("iif(j % 2, 'caf' || char(233), 'cafe' || char(769)) || i", false),
    ("iif(j % 2, CAST('q' || i AS BLOB), 'q' || i)", true),
];

/// Rule 2.26: the SQL that the warning proposes makes as many queries as there are, without the warning.
#[test]
fn one_query_in_two_spellings_is_a_warning_and_its_sql_makes_it_one() {
    let connection = database();
    let options = json!({"lambda": 1});
    for (id, has_sql) in SPELLINGS {
        table(&connection, &format!("{id} AS query_id, {JUDGED}"));
        let found = report(&connection, "t", &options);
        assert_eq!(found["queries"], 60, "{id}");
        let lines = warnings(&found, "the column \"query_id\"");
        assert!(lines.len() == 1 && lines[0].contains("count as two queries"), "{id}: {found}");
        let proposed = lines[0].split_once(", as in ").map(|(_, sql)| sql);
        assert_eq!(proposed.is_some(), *has_sql, "{id}: {lines:?}");
        if let Some(sql) = proposed {
            let source = format!("SELECT {sql} AS query_id, doc_id, relevance, x, y FROM t");
            let found = report(&connection, &source, &options);
            assert!(found["queries"] == 30 && warnings(&found, "\"query_id\"").is_empty(), "{sql}: {found}");
        }
        let ranked = "SELECT count(*) FROM ltr_rank('rank_svm', 't')";
        assert_eq!(value::<i64>(&connection, ranked, ()), 180);
        let message: String = value(&connection, "SELECT ltr_debug()", ());
        assert!(message.contains("count as two queries"), "{id}: {message}");
        let measured = "SELECT count(*) FROM ltr_evaluate('rank_svm', 't') WHERE query_id IS NOT NULL";
        assert_eq!(value::<i64>(&connection, measured, ()), 60);
        let message: String = value(&connection, "SELECT ltr_debug()", ());
        assert!(message.contains("count as two queries"), "{id}: {message}");
    }
    for id in ["i", "i * 1.0", "'q' || i", "hex(i * 1000003)", "CAST(i AS TEXT)", "iif(i % 2, i, 'Q' || i)"] {
        table(&connection, &format!("{id} AS query_id, {JUDGED}"));
        assert_eq!(warnings(&report(&connection, "t", &options), "count as two"), [""; 0], "{id}");
    }
    table(
        &connection,
        "i AS query_id, iif(i % 2, j, j || '') AS doc_id, CAST(3 * x AS INTEGER) AS relevance",
    );
    let lines = warnings(&report(&connection, "t", &options), "\"doc_id\"");
    assert!(lines.len() == 1 && lines[0].contains("count as two documents"), "{lines:?}");
}

/// Rule 2.27: the grade that the warning proposes gives no warning, and the best documents are the first.
#[test]
fn relevance_that_looks_like_a_rank_is_a_warning_with_a_grade_that_turns_it() {
    let connection = database();
    let order = "OVER (PARTITION BY i ORDER BY x DESC)";
    for (rank, name) in [
        (format!("rank() {order}"), "rank"),
        (format!("row_number() {order}"), "position"),
        (format!("row_number() {order}"), "finishing_position"),
        (format!("row_number() {order} - 1"), "ranking"),
        (format!("row_number() {order}"), "grade"),
        (format!("row_number() {order}"), "stars"),
    ] {
        table(&connection, &format!("i AS query_id, j AS doc_id, {rank} AS \"{name}\""));
        let options = json!({"lambda": 0.001, "columns": {"relevance": name}});
        let lines = warnings(&report(&connection, "t", &options), "a higher relevance is better");
        assert!(lines.len() == 1 && lines[0].contains(&format!("\"{name}\"")), "{name}: {lines:?}");
        let (_, grade) = lines[0].split_once("select ").unwrap();
        let (grade, _) = grade.split_once(" in its place").unwrap();
        let source = format!("SELECT query_id, doc_id, {grade} AS relevance, x, y FROM t");
        let found = report(&connection, &source, &json!({"lambda": 0.001}));
        assert_eq!(found["warnings"], json!([]), "{name}");
        let first = "SELECT count(*) FROM ltr_rank('rank_svm', 't') AS r JOIN t USING (query_id, doc_id)
                      WHERE r.rank = 1 AND x = (SELECT max(x) FROM t AS other WHERE other.query_id = t.query_id)";
        assert_eq!(value::<i64>(&connection, first, ()), 30, "{name}");
    }
    for (relevance, name) in [
        ("CAST(3 * x AS INTEGER)", "rank_score"),
        ("x", "rank"),
        ("CAST(5 * x AS INTEGER)", "stars"),
        ("x > 0.5", "position"),
    ] {
        table(&connection, &format!("i AS query_id, j AS doc_id, {relevance} AS \"{name}\""));
        let options = json!({"lambda": 1, "columns": {"relevance": name, "features": ["y"]}});
        assert_eq!(warnings(&report(&connection, "t", &options), "a higher"), [""; 0], "{name}");
    }
}

/// Rule 2.28.
#[test]
fn words_as_features_and_rows_without_features_name_the_ways_on() {
    let connection = database();
    let failed = |source: &str| {
        let sql = "SELECT ltr_train('rank_svm', ?1, '{\"lambda\": 1}')";
        connection.query_row(sql, [source], |_| Ok(())).unwrap_err().to_string()
    };
    table(&connection, &format!("i AS query_id, {JUDGED}, iif(x > 0.5, 'wifi, pool', 'pool') AS features"));
    let message = failed("SELECT query_id, doc_id, relevance, features FROM t");
    assert!(
        message.contains("\"features\" AS words") && message.contains("LIKE '%...%' AS word"),
        "{message}"
    );
    let columns = "query_id, doc_id, relevance";
    for feature in ["\"features\" AS words", "\"features\" LIKE '%wifi%' AS word"] {
        let found =
            report(&connection, &format!("SELECT {columns}, {feature} FROM t"), &json!({"lambda": 1}));
        assert_ne!(found["columns"][3]["usage"], "left_out", "{found}");
    }
    let message = failed(&format!("SELECT {columns} FROM t"));
    assert!(message.contains("join columns of the documents, or train cofi_rank"), "{message}");
    let trained: String =
        value(&connection, &format!("SELECT ltr_train('cofi_rank', 'SELECT {columns} FROM t')"), ());
    assert!(trained.contains("\"queries\""), "{trained}");
}

/// Rule 5.33: each column has the folds of a column of numbers.
#[test]
fn a_split_by_numbers_and_dates_in_text_has_their_order() {
    let connection = database();
    table(&connection, &format!("i AS query_id, {JUDGED}, i * 7 AS number"));
    let folds = |day: &str| {
        let source = format!("SELECT query_id, doc_id, relevance, y, {day} AS day FROM t");
        let sql = "SELECT json_group_array(value) FROM ltr_cross_validate('rank_svm', ?1, ?2)";
        let options = json!({"split_by": "day", "folds": 3, "lambda": 0.1}).to_string();
        connection.query_row(sql, (source, options), |row| row.get::<_, String>(0))
    };
    let expected = folds("number").unwrap();
    for day in [
        "CAST(number AS TEXT)",
        "printf('%.2f', number / 3.0)",
        "iif(query_id % 2, number, number || '')",
        "date('2024-12-01', number || ' days')",
        "datetime('2024-12-01', number || ' days')",
        "strftime('%Y-%m-%dT%H:%M:%SZ', '2024-12-01', number || ' days')",
        "strftime('%Y/%m/%d', '2024-12-01', number || ' days')",
        "strftime('%Y-%m', '2024-01-01', query_id || ' months')",
        "strftime('%Y%m%d', '2024-12-01', number || ' days')",
        "strftime('%m/%d/%Y', '2024-12-01', number || ' days')",
        "strftime('%d.%m.%Y', '2024-12-01', number || ' days')",
        "'Sun, ' || query_id || ' Dec 2024'",
        "'Apr ' || query_id || ', 2024'",
    ] {
        assert_eq!(folds(day).unwrap(), expected, "{day}");
    }
    for (day, found) in [
        ("strftime('%m/%d/%Y', '2024-12-01', (query_id % 9) || ' days')", "the order of day, month and year"),
        ("iif(query_id = 1, '2024-01-01', query_id)", "1"),
        ("'season ' || query_id", "'season"),
        ("x'01'", "BLOB"),
    ] {
        let message = folds(day).unwrap_err().to_string();
        let advice = "dense_rank() OVER (ORDER BY \"day\") in the source";
        let is_reported = message.contains(found)
            && message.contains("dates and durations of one form")
            && message.contains(advice);
        assert!(is_reported, "{day}: {message}");
    }
    // The proposed expression gives the order of the texts.
    let ranked = folds("dense_rank() OVER (ORDER BY printf('season %02d', query_id))").unwrap();
    assert_eq!(ranked, expected);
}
