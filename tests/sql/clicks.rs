//! `ltr_propensities`, `ltr_judgments` and `ltr_click_models` (rules 16.3, 16.4, 16.5, 16.6, 16.7) against the same counts in
//! plain SQL.

use rusqlite::Connection;

use crate::support::database;

fn log() -> Connection {
    let connection = database();
    connection.execute_batch(include_str!("../../sql/clicks.sql")).unwrap();
    connection
}

fn value<T: rusqlite::types::FromSql>(connection: &Connection, sql: &str) -> T {
    crate::support::value(connection, sql, [])
}

fn number(connection: &Connection, sql: &str) -> f64 {
    value(connection, sql)
}

/// The rows of the log with the first and the last clicked position of their impression, 99 if there is none.
const ROWS: &str = "SELECT l.*, ltr_bucket(l.impression, 8) = 0 AS held_out, coalesce(first, 99) AS first,
       coalesce(last, 99) AS last
  FROM log AS l LEFT JOIN (SELECT impression, min(position) AS first, max(position) AS last FROM log WHERE clicked GROUP BY 1)
       USING (impression)";

/// Rule 16.4: `doc_weight` is (1 + t) / 2 * x / (x + 10), x = t e + (1 - t) n.
#[test]
fn attractiveness_is_the_count_of_its_model() {
    let connection = log();
    for (model, examined) in [("ctr", "1"), ("cascade", "position <= first"), ("sdbn", "position <= last")] {
        // The prior equals two rows with the mean rate.
        let satisfaction = if model == "sdbn" {
            "(sum(clicked AND position = last) + 2.0 * (SELECT 1.0 * sum(clicked AND position = last) / sum(clicked) FROM r)) \
             / (sum(clicked) + 2.0)"
        } else {
            "1.0"
        };
        let worst = number(
            &connection,
            &format!(
                "WITH r AS ({ROWS}),
                 e AS (SELECT *, {examined} AS examined FROM r),
                 m AS (SELECT (sum(clicked AND examined) + 0.5) / (sum(examined) + 1.0) AS mean FROM e),
                 a AS (SELECT query_id, doc_id, (sum(clicked AND examined) + 2 * mean) / (sum(examined) + 2.0) * {satisfaction} AS a,
                              sum(clicked) AS clicks, count(*) AS impressions, sum(examined) AS e
                         FROM e, m GROUP BY 1, 2)
                 SELECT max(abs(a.a - j.attractiveness) + abs(a.clicks - j.clicks) + abs(a.impressions - j.impressions)
                            + abs((1 + t) / 2 * (t * e + (1 - t) * a.impressions) / (t * e + (1 - t) * a.impressions + 10) - j.doc_weight) + (j.ci_low >= a.a) + (j.ci_high <= a.a))
                   FROM a JOIN (SELECT *, determined AS t FROM ltr_judgments('log', '{{\"model\": \"{model}\"}}')) AS j
                        USING (query_id, doc_id)"
            ),
        );
        assert!(worst < 1e-12, "{model}: {worst}");
    }
}

/// Rules 16.3, 16.10: relative to the first position; with given propensities only attractiveness is estimated, whose prior has the
/// mean of all examined rows.
#[test]
fn estimates_of_the_position_based_model_have_no_gradient() {
    let connection = log();
    connection
        .execute_batch(
            "CREATE TABLE g AS SELECT * FROM ltr_propensities('log');
             CREATE TABLE a AS SELECT * FROM ltr_judgments('log', '{\"propensities\": \"g\"}');",
        )
        .unwrap();
    let slope =
        "sum(CASE WHEN clicked THEN 1.0 / p ELSE -1.0 / (1 - g.propensity * a.attractiveness) * o END)";
    let sql = |by: &str, p: &str, o: &str, prior: &str| {
        format!(
            "WITH m AS (SELECT (sum(clicked) + 0.5) / (sum(propensity) + 1.0) AS mean FROM log JOIN g USING (position))
             SELECT max(abs(s)) FROM (SELECT ({} + {prior}) / count(*) AS s
               FROM log JOIN a USING (query_id, doc_id) JOIN g USING (position), m GROUP BY {by} HAVING max(position) > 1)",
            slope.replace("/ p", &format!("/ {p}")).replace("* o", &format!("* {o}"))
        )
    };
    let prior = "2 * (mean / a.attractiveness - (1 - mean) / (1 - a.attractiveness))";
    let of_pairs = number(&connection, &sql("query_id, doc_id", "a.attractiveness", "g.propensity", prior));
    assert!(of_pairs < 1e-5, "{of_pairs}");
    let known = "SELECT count(*) FROM a WHERE determined = 1 AND model = 'pbm'";
    assert!((number(&connection, known) - 158.0).abs() < 0.5);
    // Both methods find the propensities of the users.
    let wrong = number(
        &connection,
        "SELECT max(abs(propensity - 1.0 / position) - 4 * standard_error)
           FROM ltr_propensities('log', '{\"method\": \"both\"}')",
    );
    assert!(wrong <= 0.0, "{wrong}");
}

/// Rules 16.5, 16.6: the model with the largest likelihood is chosen.
#[test]
fn the_log_likelihood_is_over_held_out_impressions() {
    let connection = log();
    let [found, perplexity] = ["log_likelihood", "perplexity"].map(|column| {
        number(&connection, &format!("SELECT {column} FROM ltr_click_models('log') WHERE name = 'ctr'"))
    });
    let sql = format!(
        "WITH r AS ({ROWS}), t AS (SELECT * FROM r WHERE NOT held_out),
         m AS (SELECT (sum(clicked) + 0.5) / (count(*) + 1.0) AS mean FROM t),
         a AS (SELECT query_id, doc_id, (sum(clicked) + 2 * mean) / (count(*) + 2.0) AS a FROM t, m GROUP BY 1, 2)
         SELECT {{}} FROM r LEFT JOIN a USING (query_id, doc_id), m WHERE held_out"
    );
    let sql = sql.replace("{}", "CASE WHEN clicked THEN coalesce(a, mean) ELSE 1 - coalesce(a, mean) END");
    let mut statement = connection.prepare(&sql).unwrap();
    let probabilities = statement.query_map([], |row| row.get::<_, f64>(0)).unwrap();
    let logs: Vec<f64> = probabilities.map(|probability| probability.unwrap().ln()).collect();
    let sum: f64 = logs.iter().sum();
    assert!((sum - found).abs() < 1e-7, "{sum} {found}");
    assert!(((-sum / logs.len() as f64).exp() - perplexity).abs() < 1e-12, "{perplexity}");
    // Users follow the position-based model.
    let best: String =
        value(&connection, "SELECT name FROM ltr_click_models('log') ORDER BY log_likelihood DESC LIMIT 1");
    let chosen: String = value(&connection, "SELECT DISTINCT model FROM ltr_judgments('log')");
    assert_eq!((best.as_str(), chosen.as_str()), ("pbm", "pbm"));
}

/// Rule 16.4.
#[test]
fn relevance_counts_thresholds_or_quantiles() {
    let connection = log();
    let wrong = "SELECT count(*) FROM ltr_judgments('log', '{\"thresholds\": [0.2, 0.5]}')
                  WHERE relevance <> (attractiveness >= 0.2) + (attractiveness >= 0.5)";
    assert!(number(&connection, wrong).abs() < 0.5);
    // The values at the positions round(157 q) of 158.
    let wrong = "WITH j AS MATERIALIZED (SELECT * FROM ltr_judgments('log')),
                 b AS (SELECT attractiveness AS bound FROM j ORDER BY 1),
                 t AS (SELECT bound FROM (SELECT bound, row_number() OVER (ORDER BY bound) - 1 AS n FROM b) WHERE n IN (79, 118, 141))
                 SELECT count(*) FROM j WHERE relevance <> (SELECT count(*) FROM t WHERE bound <= attractiveness)";
    assert!(number(&connection, wrong).abs() < 0.5);
}

/// Rule 16.4: documents without a click have equal estimates. Most of them must not be of the highest grade.
#[test]
fn equal_estimates_do_not_reach_a_quantile_among_them() {
    let connection = database();
    connection
        .execute_batch(
            "CREATE TABLE few AS WITH RECURSIVE n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < 39)
               SELECT i / 5 AS impression, i / 5 AS query_id, i AS doc_id, i % 5 + 1 AS position, i = 7 AS clicked FROM n;",
        )
        .unwrap();
    let grades = "SELECT group_concat(DISTINCT clicks || ':' || relevance) FROM ltr_judgments('few', '{\"model\": \"ctr\"}')";
    assert_eq!(value::<String>(&connection, grades), "0:0,1:3");
    let none = "SELECT max(relevance) FROM ltr_judgments('SELECT * FROM few WHERE NOT clicked', '{\"model\": \"ctr\"}')";
    assert!(number(&connection, none).abs() < 0.5);
    let warning: String = value(&connection, "SELECT ltr_debug() ->> '$.last_warnings[0]'");
    assert!(warning.starts_with("no row has a click"), "{warning}");
}

/// Rule 16.3: a page that always shows the same order: nothing separates position from attractiveness.
#[test]
fn propensities_that_a_log_does_not_determine_have_no_error() {
    let connection = log();
    connection
        .execute_batch("CREATE TABLE fixed AS SELECT * FROM log WHERE position = doc_id % 5 + 1")
        .unwrap();
    let warning = |sql: &str| -> Option<String> {
        let _: i64 = value(&connection, sql);
        value(&connection, "SELECT ltr_debug() ->> '$.last_warnings[0]'")
    };
    let errors = "SELECT count(standard_error) FROM ltr_propensities('fixed')";
    assert!((number(&connection, errors) - 1.0).abs() < 0.5);
    let found = warning(errors).unwrap();
    assert!(found.starts_with("the log does not determine 4 of 5 propensities"), "{found}");
    let found =
        warning("SELECT count(*) FROM ltr_propensities('fixed', '{\"method\": \"harvest\"}')").unwrap();
    assert!(found.starts_with("no document was shown at two positions"), "{found}");
    let found = warning("SELECT count(*) FROM ltr_judgments('fixed')").unwrap();
    assert!(found.contains("the model 'pbm' cannot tell position from attractiveness"), "{found}");
    assert_eq!(warning("SELECT count(*) FROM ltr_judgments('fixed', '{\"model\": \"ctr\"}')"), None);
    assert_eq!(warning("SELECT count(*) FROM ltr_propensities('log')"), None);
}

/// Rule 16.4: a log determines the documents that it shows at the positions of the others of their query, the more often the
/// better.
#[test]
fn a_log_determines_what_its_orders_allow() {
    let connection = log();
    let range = |log: &str, of: &str| -> (f64, f64) {
        let sql = format!("SELECT min(determined), max(determined) FROM ltr_judgments('{log}') WHERE {of}");
        connection.query_row(&sql, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap()
    };
    // 1. All orders; one order for each query.
    assert!(range("log", "1").0 > 0.9, "{:?}", range("log", "1"));
    connection
        .execute_batch("CREATE TABLE fixed AS SELECT * FROM log WHERE position = doc_id % 5 + 1")
        .unwrap();
    assert!(range("fixed", "1").1 < 1e-3, "{:?}", range("fixed", "1"));
    let unclicked = "SELECT max(relevance) FROM ltr_judgments('fixed') WHERE clicks = 0";
    assert!(number(&connection, unclicked).abs() < 0.5);
    // 2. A few further orders.
    let more = |impressions: u32| {
        let view = format!(
            "DROP VIEW IF EXISTS mixed; CREATE VIEW mixed AS SELECT * FROM fixed UNION ALL \
             SELECT -impression, query_id, doc_id, position, clicked FROM log WHERE impression <= {impressions}"
        );
        connection.execute_batch(&view).unwrap();
        number(&connection, "SELECT avg(determined) FROM ltr_judgments('mixed')")
    };
    let found = [2, 100, 1000].map(more);
    assert!(found[0] < 0.5 && found[0] < found[1] && found[1] < found[2] && found[2] > 0.8, "{found:?}");
    // 3. Positions 1 and 2 change places, and so do 3 and 4. Query 1 has documents at 1 and 2 alone.
    connection
        .execute_batch(
            "CREATE TABLE halves AS WITH RECURSIVE n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < 3999),
               r AS (SELECT i / 4 AS impression, i / 4 % 2 AS query_id, i % 4 AS slot, i / 8 % 2 AS turned, i * 7919 % 101 AS x FROM n)
             SELECT impression, query_id, slot AS doc_id, 1 + iif(turned, slot + 1 - 2 * (slot % 2), slot) AS position, x < 30 AS clicked
               FROM r WHERE query_id = 0 OR slot < 2",
        )
        .unwrap();
    let (both, one) = (range("halves", "query_id = 0"), range("halves", "query_id = 1"));
    assert!(both.1 < 1e-3 && one.0 > 0.9, "{both:?} {one:?}");
}

/// Rules 2.1, 16.4: the column is not a feature, and training warns about it.
#[test]
fn a_training_warns_of_judgments_that_the_log_does_not_determine() {
    let connection = log();
    connection
        .execute_batch("CREATE TABLE fixed AS SELECT * FROM log WHERE position = doc_id % 5 + 1")
        .unwrap();
    let report = |log: &str, options: &str| {
        let sql = format!(
            "SELECT ltr_train('list_net', 'SELECT c.query_id, c.doc_id, c.relevance, c.doc_weight, c.determined, p.price, p.stars \
               FROM ltr_judgments(''{log}'') AS c JOIN products AS p USING (query_id, doc_id)', '{options}')"
        );
        serde_json::from_str::<serde_json::Value>(&value::<String>(&connection, &sql)).unwrap()
    };
    let fixed = report("fixed", "{}");
    assert_eq!(fixed["roles"]["determined"], "determined");
    assert_eq!(fixed["roles"]["features"], serde_json::json!(["price", "stars"]));
    let warns = |report: &serde_json::Value| {
        let warnings = report["warnings"].as_array().unwrap().iter();
        warnings
            .filter(|text| text.as_str().unwrap().contains("relevance and position cannot be separated"))
            .count()
    };
    assert_eq!((warns(&fixed), warns(&report("log", "{}"))), (1, 0));
    let without = report("fixed", r#"{"columns": {"determined": null, "ignore": ["determined"]}}"#);
    assert_eq!(warns(&without), 0);
    for wrong in ["1.5", "-0.1", "''much''"] {
        let sql = format!(
            "SELECT ltr_fit('list_net', 'SELECT 1 AS query_id, 1 AS relevance, 2 AS x, {wrong} AS determined')"
        );
        let error = connection.query_row(&sql, [], |_| Ok(())).unwrap_err().to_string();
        assert!(
            error.contains("column \"determined\"") && error.contains("expected numbers from 0 to 1"),
            "{error}"
        );
    }
}

/// Rule 16.10.
#[test]
fn given_propensities_are_checked() {
    let connection = log();
    for (options, message) in [
        (
            r#"{"propensities": [1, 0.5]}"#,
            "position 3 has clicks, but no number in the option 'propensities'",
        ),
        (r#"{"propensities": [1, 0.5], "model": "ubm"}"#, "the model 'ubm' has no propensities of positions"),
        (r#"{"propensities": [1, -0.5]}"#, "numbers above 0 and up to 1000"),
    ] {
        let sql = format!("SELECT * FROM ltr_judgments('log', '{options}')");
        let error = connection.query_row(&sql, [], |_| Ok(())).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
    // Larger ones than 1 count relative to the largest.
    let sum = |options: &str| {
        number(&connection, &format!("SELECT sum(attractiveness) FROM ltr_judgments('log', '{options}')"))
    };
    let [a, b] = ["[1, 0.5, 0.25, 0.2, 0.2]", "[2, 1, 0.5, 0.4, 0.4]"]
        .map(|p| sum(&format!("{{\"propensities\": {p}}}")));
    assert!((a - b).abs() < 1e-9, "{a} {b}");
}

/// Rule 16.2.
#[test]
fn the_order_of_the_rows_does_not_matter() {
    let connection = log();
    let rows =
        "SELECT json_group_array(json_array(query_id, doc_id, attractiveness, ci_low)) FROM ltr_judgments(";
    for model in ["ubm", "sdbn"] {
        let [table, reversed]: [String; 2] = ["'log'", "'SELECT * FROM log ORDER BY random()'"]
            .map(|source| value(&connection, &format!("{rows}{source}, '{{\"model\": \"{model}\"}}')")));
        assert_eq!(table, reversed);
    }
}

/// Rules 16.5, 16.6, 16.7.
#[test]
fn passes_are_counted() {
    let connection = log();
    let passes = |sql: &str| number(&connection, &format!("SELECT passes FROM {sql} LIMIT 1")) as u32;
    // One to count, one to compare.
    assert_eq!(passes("ltr_judgments('log')"), 2);
    assert_eq!(passes("ltr_judgments('log', '{\"model\": \"ubm\"}')"), 1);
    let alike = "ltr_click_models('log') WHERE log_likelihood < 0 AND perplexity BETWEEN 1 AND 2";
    let unknown = "ltr_click_models WHERE perplexity IS NULL AND log_likelihood IS NULL";
    for models in [alike, unknown] {
        assert_eq!(number(&connection, &format!("SELECT count(*) FROM {models}")) as u32, 5);
    }
}

/// Rule 16.1: roles of columns.
#[test]
fn logs_that_cannot_be_used_are_refused() {
    let connection = log();
    for (sql, message) in [
        (
            "ltr_judgments('SELECT 1 AS query_id')",
            "no column for the role impression of a log: name one impression or impression_id",
        ),
        (
            "ltr_judgments('log', '{\"columns\": {\"click\": \"x\"}}')",
            "unknown key 'click' in the option 'columns', did you mean 'clicked'?",
        ),
        (
            "ltr_judgments('log', '{\"columns\": {\"clicked\": \"x\"}}')",
            "names the column \"x\", which does not exist",
        ),
        (
            "ltr_judgments('SELECT *, 1 AS rank FROM log')",
            "both \"position\" and \"rank\" could have the role position",
        ),
        (
            "ltr_judgments('SELECT impression, query_id, doc_id, position, -2 AS clicked FROM log')",
            "impression 1, column \"clicked\": -2; expected 0, 1, and weights up to",
        ),
        (
            "ltr_judgments('SELECT impression, query_id, doc_id, 0.5 AS position, clicked FROM log')",
            "column \"position\": 0.5; expected whole numbers from 1 to 1000",
        ),
        (
            "ltr_judgments('SELECT impression, NULL AS query_id, doc_id, position, clicked FROM log')",
            "column \"query_id\": NULL; expected ids",
        ),
        (
            "ltr_judgments('SELECT 1 AS impression, query_id, doc_id, position, clicked FROM log')",
            "impression 1: ",
        ),
        ("ltr_judgments('SELECT * FROM log WHERE 0')", "0 rows in the log"),
        ("ltr_judgments('log', '{\"model\": \"dcm\"}')", "option 'model'"),
        (
            "ltr_judgments('log', '{\"max_memory\": 1000}')",
            "more than the 1000 of the option 'max_memory'; read fewer queries at a time, or raise max_memory",
        ),
        (
            "ltr_judgments('log', '{\"model\": \"sdbn\", \"max_memory\": 90000}')",
            "estimating 158 pairs of query and document needs",
        ),
        ("ltr_propensities('log', '{\"model\": \"pbm\"}')", "option 'model': it belongs to ltr_judgments"),
        ("ltr_rank('x', 'log', '{\"method\": \"em\"}')", "option 'method': it belongs to ltr_propensities"),
    ] {
        let found =
            connection.query_row(&format!("SELECT * FROM {sql}"), [], |_| Ok(())).unwrap_err().to_string();
        assert!(found.contains(message), "{sql}: {found}");
    }
}
