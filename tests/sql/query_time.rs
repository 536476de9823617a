//! Rule 3.11: dates as days before the time of the query.

use rusqlite::Connection;
use serde_json::{Value, json};

use super::support::{database, value};

/// 30 queries of 8 documents, asked day by day. Newer documents are better. `aged` has the days between both; `{published}` and
/// `{asked}` write the dates `day` and `time`.
fn rows(connection: &Connection, published: &str, asked: &str) {
    let sql = format!(
        "CREATE TABLE days AS WITH RECURSIVE n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < 239)
         SELECT i / 8 AS query_id, i % 8 AS doc_id, 3 - i * 77 % 240 / 60 AS relevance, i * 7 % 5 AS w,
                date('2024-01-01', (20 * (i / 8)) || ' days') AS time,
                date('2024-01-01', (20 * (i / 8) - i * 77 % 240 / 2) || ' days') AS day FROM n;
         CREATE TABLE aged AS SELECT query_id, doc_id, relevance, julianday(time) - julianday(day) AS published, w FROM days;
         CREATE TABLE dated AS SELECT query_id, doc_id, relevance, {published} AS published, w, {asked} AS query_time FROM days"
    );
    connection.execute_batch(&sql).unwrap();
}

fn train(connection: &Connection, source: &str, options: &Value) -> Value {
    let sql = "SELECT ltr_train('rank_svm', ?1, ?2)";
    let text: String = value(connection, sql, (source, options.to_string()));
    serde_json::from_str(&text).unwrap()
}

fn problem(connection: &Connection, sql: &str) -> String {
    connection.query_row(sql, [], |_| Ok(())).unwrap_err().to_string()
}

fn column(report: &Value, name: &str) -> Value {
    let columns = report["columns"].as_array().unwrap();
    columns.iter().find(|column| column["name"] == name).unwrap().clone()
}

const DAYS: &str = "julianday(time) - julianday('1970-01-01')";

#[test]
fn a_date_scores_as_its_days_before_the_query() {
    for (published, asked, form) in [
        ("day", "time", r#"age ["date Y-m-d","query_time","date Y-m-d"]"#),
        ("day", "time || 'T00:00:00Z'", r#"age ["date Y-m-d","query_time","date Y-m-d"]"#),
        ("strftime('%d.%m.%Y', day)", "time", r#"age ["date d.m.Y","query_time","date Y-m-d"]"#),
        ("day", DAYS, r#"age ["date Y-m-d","query_time",null]"#),
    ] {
        let connection = database();
        rows(&connection, published, asked);
        let options = json!({"name": "dates", "lambda": 0.01, "scale": "standard"});
        let report = train(&connection, "dated", &options);
        assert_eq!(report["warnings"], json!([]), "{asked}");
        assert_eq!(column(&report, "published")["form"], json!(form));
        assert_eq!(column(&report, "query_time")["reason"], json!("query_time"));
        assert_eq!(report["roles"]["query_time"], json!("query_time"));
        train(&connection, "aged", &json!({"name": "ages", "lambda": 0.01, "scale": "standard"}));
        let differs = |model: &str, source: &str| -> f64 {
            let sql = "SELECT max(abs(a.score - b.score)) FROM ltr_rank(?1, ?2) AS a JOIN ltr_rank('ages', 'aged') AS b \
                       USING (query_id, doc_id)";
            value(&connection, sql, (model, source))
        };
        // Numbers are days already, and need no time.
        for source in ["dated", "aged", "SELECT *, query_time AS asked FROM dated"] {
            assert!(differs("dates", source) < 1e-9, "{published} {asked} {source}");
        }
        let json: String = value(&connection, "SELECT ltr_export('dates', 'json')", []);
        let _: String = value(&connection, "SELECT ltr_import(?1, '{\"name\": \"copy\"}')", [json]);
        assert!(differs("copy", "dated") < 1e-9);
        let refused = problem(&connection, "SELECT ltr_export('dates', 'sql')");
        assert!(refused.contains("\"published\""), "{refused}");
        let changes = "SELECT count(*) FROM ltr_monitor('dates', 'dated') WHERE kind LIKE '%column'";
        assert_eq!(value::<i64>(&connection, changes, []), 0);
        let score = "SELECT abs(ltr_score('dates', '[40, 2]') - ltr_score('ages', '[40, 2]'))";
        assert!(value::<f64>(&connection, score, []) < 1e-12);
        let refused = problem(&connection, "SELECT ltr_score('dates', '[\"2024-01-01\", 2]')");
        assert!(refused.contains("read as age"), "{refused}");
    }
}

#[test]
fn the_time_may_have_another_name_and_stay_unused() {
    let connection = database();
    rows(&connection, "day", "time");
    let renamed = "SELECT query_id, doc_id, relevance, published, w, query_time AS asked FROM dated";
    let options = json!({"name": "named", "lambda": 0.01, "columns": {"query_time": "asked"}});
    let report = train(&connection, renamed, &options);
    assert!(column(&report, "published")["form"].to_string().contains("asked"));
    // The model finds the column of its training.
    let count = |source: &str| format!("SELECT count(*) FROM ltr_rank('named', '{source}')");
    assert_eq!(value::<i64>(&connection, &count(renamed), []), 240);
    assert_eq!(value::<i64>(&connection, &count("dated"), []), 240);
    let without = problem(&connection, &count("SELECT query_id, doc_id, published, w FROM dated"));
    assert!(without.contains("needs the time of the query") && without.contains("query_time"), "{without}");
    // Without a time dates are days since 1970.
    for columns in [json!({"query_time": null}), json!({"ignore": ["query_time"]})] {
        let report = train(&connection, "dated", &json!({"lambda": 0.01, "columns": columns}));
        assert_eq!(column(&report, "published")["form"], json!("date Y-m-d"), "{columns}");
    }
    // A time without dates is a warning, whose options the next call takes.
    let report =
        train(&connection, "SELECT *, '2024-01-01' AS query_time FROM aged", &json!({"lambda": 0.01}));
    assert!(report["warnings"].to_string().contains("there are no dates"), "{report}");
}

#[test]
fn times_that_are_not_dates_of_one_form_are_errors() {
    for (asked, found) in [
        ("iif(query_id = 3, '2024/01/02', time)", "query_time"),
        ("'spring'", "has texts"),
        ("strftime('%s', time)", "query_time"),
        ("strftime('%s', time) + 0", "query_time"),
        ("2024", "query_time"),
        ("strftime('%d/%m/2024', '2024-01-01')", "the order of day"),
    ] {
        let connection = database();
        rows(&connection, "day", asked);
        let sql = "SELECT ltr_train('rank_svm', 'dated', '{\"lambda\": 0.01}')";
        let refused = problem(&connection, sql);
        assert!(refused.contains(found) && refused.contains("days since 1970-01-01"), "{asked}: {refused}");
    }
    // NULL is a missing value.
    let connection = database();
    rows(&connection, "day", "iif(query_id = 3, NULL, time)");
    let refused = problem(&connection, "SELECT ltr_train('rank_svm', 'dated', '{\"lambda\": 0.01}')");
    assert!(refused.contains("column \"published\""), "{refused}");
    train(&connection, "dated", &json!({"lambda": 0.01, "missing": "mean"}));
}
