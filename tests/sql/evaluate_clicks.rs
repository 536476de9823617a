//! `ltr_evaluate_clicks` (rules 16.8, 16.9, 16.10, 16.11) against the same sums in plain SQL over the rankings of `ltr_rank`.

use rusqlite::Connection;

use crate::support::{database, value};

/// The log of the guide with features, and two models.
fn log() -> Connection {
    let connection = database();
    connection.execute_batch(include_str!("../../sql/clicks.sql")).unwrap();
    connection
        .execute_batch(
            "CREATE TABLE shown AS SELECT l.*, price, stars, (doc_id * 7919) % 13 / 4 AS score
               FROM log AS l JOIN products USING (query_id, doc_id);
             CREATE TABLE judged AS SELECT j.query_id, j.doc_id, j.relevance, p.price, p.stars
               FROM ltr_judgments('log', '{\"model\": \"pbm\"}') AS j JOIN products AS p USING (doc_id);
             SELECT ltr_train('regression', 'judged', '{\"name\": \"one\"}');
             SELECT ltr_train('regression', 'judged', '{\"name\": \"lists\", \"scale\": \"query_minmax\"}');
             SELECT ltr_train('q_svm', 'judged', '{\"name\": \"queries\", \"query_features\": \"mean\", \"lambda\": 0.1}');",
        )
        .unwrap();
    connection
}

const GIVEN: &str = "\"propensities\": [1, 0.5, 0.4, 0.25, 0.2]";

/// Ranks of all rows of `shown` by a statement with impression, doc_id and rank, and the weights of GIVEN with clip .3.
fn expected(connection: &Connection, ranks: &str) {
    connection
        .execute_batch(&format!(
            "DROP TABLE IF EXISTS r;
             CREATE TABLE r AS SELECT s.*, k.rank, 1 / max(0.3, CASE position WHEN 1 THEN 1 WHEN 2 THEN 0.5 WHEN 3 THEN 0.4 ELSE 0.1 END) AS w,
                    ltr_bucket(impression, 256) AS g
               FROM shown AS s JOIN ({ranks}) AS k USING (impression, doc_id)"
        ))
        .unwrap();
}

/// Largest difference from the sums in SQL, relative to them: values (rules 16.8, 16.9) and intervals (rule 16.11).
fn difference(connection: &Connection, model: &str, log: &str) -> f64 {
    connection
        .execute_batch(&format!(
            "DROP TABLE IF EXISTS e;
             CREATE TABLE e AS SELECT * FROM ltr_evaluate_clicks({model}, {log},
               '{{\"metric\": [\"dcg\", \"dcg@3\", \"precision@2\"], \"clip\": 0.3, {GIVEN}}}');
             DROP TABLE IF EXISTS x;
             CREATE TABLE x AS
             WITH discounts(rank, discount) AS (VALUES (1, 1.0), (2, 0.6309297535714575), (3, 0.5), (4, 0.43067655807339306), (5, 0.38685280723454163)),
             m(metric) AS (VALUES ('dcg'), ('dcg@3'), ('precision@2')),
             v AS (SELECT metric, g, impression, sum(clicked * w * CASE metric WHEN 'dcg' THEN discount
                     WHEN 'dcg@3' THEN (rank <= 3) * discount ELSE (rank <= 2) / 2.0 END) AS v,
                     sum(clicked * w) AS u, sum(clicked * w * w) AS ww, sum(clicked) AS c
                     FROM r JOIN discounts USING (rank), m GROUP BY 1, 2, 3),
             a AS (SELECT metric, avg(v) AS ips, sum(v) / sum(u) AS snips, count(*) AS n, sum(u) AS u, sum(c) AS clicks,
                          sum(u) * sum(u) / sum(ww) AS ess FROM v GROUP BY 1),
             d AS (SELECT metric, g, sum(v - ips) AS di, sum(v - snips * v.u) AS ds FROM v JOIN a USING (metric) GROUP BY 1, 2)
             SELECT metric, ips, snips, a.n, clicks, ess, sum(di * di) * count(*) / (count(*) - 1.0) / a.n / a.n AS ei,
                    sum(ds * ds) * count(*) / (count(*) - 1.0) / a.u / a.u AS es, count(*) AS groups
               FROM d JOIN a USING (metric) GROUP BY 1"
        ))
        .unwrap();
    assert_eq!(value::<i64>(connection, "SELECT count(*) FROM e JOIN x USING (metric)", []), 6);
    // 1.96931 is the quantile of Student's t for 255 degrees of freedom; one group may be empty.
    assert!(value::<i64>(connection, "SELECT min(groups) FROM x", []) >= 255);
    value(
        connection,
        "SELECT max(abs(e.value / y.value - 1) + abs(e.impressions - y.n) + abs(e.clicks - y.clicks)
                    + abs(e.effective_sample_size / y.ess - 1)
                    + abs(((e.ci_high - e.ci_low) * (e.ci_high - e.ci_low) / 4 / 1.969310 / 1.969310 / y.variance - 1) / 1e5) + abs((e.ci_high + e.ci_low) / 2 / y.value - 1))
           FROM e JOIN (SELECT metric, 'ips' AS estimator, ips AS value, ei AS variance, n, clicks, ess FROM x
                        UNION ALL SELECT metric, 'snips', snips, es, n, clicks, ess FROM x) AS y USING (metric, estimator)",
        [],
    )
}

#[test]
fn values_are_weighted_sums_over_the_clicks() {
    let connection = log();
    for model in ["one", "lists", "queries"] {
        // Each impression is ranked separately, by the function of its query.
        let ranks = if model == "queries" {
            // The query features are means over the documents, so each impression is ranked by a separate call.
            "SELECT i.impression, r.doc_id, r.rank FROM (SELECT DISTINCT impression FROM shown) AS i,
                    ltr_rank('queries', 'SELECT query_id, doc_id, price, stars FROM shown WHERE impression = ?1', '{}', i.impression) AS r"
        } else {
            &format!(
                "SELECT query_id AS impression, doc_id, rank
                   FROM ltr_rank('{model}', 'SELECT impression AS query_id, doc_id, price, stars FROM shown')"
            )
        };
        if model == "queries" {
            connection.execute_batch("DELETE FROM shown WHERE impression > 1500").unwrap();
        }
        expected(&connection, ranks);
        let found = difference(&connection, &format!("'{model}'"), "'shown'");
        assert!(found < 1e-8, "{model}: {found}");
    }
}

#[test]
fn null_ranks_by_a_column() {
    let connection = log();
    let by = |order: &str| {
        format!(
            "SELECT impression, doc_id, row_number() OVER (PARTITION BY impression ORDER BY {order}) AS rank FROM shown"
        )
    };
    for (order, log) in [
        ("score DESC, doc_id", "'shown'"),
        (
            "position",
            "'SELECT impression, query_id, doc_id, position, clicked, -position AS score FROM shown'",
        ),
    ] {
        expected(&connection, &by(order));
        let found = difference(&connection, "NULL", log);
        assert!(found < 1e-8, "{order}: {found}");
    }
    let found: String = value(
        &connection,
        "SELECT json_group_array(value) FROM ltr_evaluate_clicks(NULL, 'SELECT *, -position AS s FROM log', '{\"columns\": {\"score\": \"s\"}}')",
        [],
    );
    let same = "NULL, 'SELECT *, -position AS score FROM log'";
    assert_eq!(
        found,
        value::<String>(
            &connection,
            &format!("SELECT json_group_array(value) FROM ltr_evaluate_clicks({same})"),
            []
        )
    );
}

/// Rule 16.9: what is measured without the option `metric`.
#[test]
fn the_default_metric_is_dcg_at_ten() {
    let connection = log();
    let of = |options: &str| text(&connection, &format!("'one', 'shown', '{{{GIVEN}{options}}}'"));
    assert_eq!(of(""), of(", \"metric\": \"dcg@10\""));
    assert!(of("").contains("\"dcg@10\""), "{}", of(""));
}

/// All rows as text.
fn text(connection: &Connection, arguments: &str) -> String {
    let row =
        "json_group_array(json_array(metric, estimator, value, ci_low, ci_high, effective_sample_size))";
    value(connection, &format!("SELECT {row} FROM ltr_evaluate_clicks({arguments})"), [])
}

#[test]
fn the_order_of_the_rows_and_threads_change_no_bit() {
    let connection = log();
    for model in ["one", "queries"] {
        let table = text(&connection, &format!("'{model}', 'shown'"));
        let shuffled = text(
            &connection,
            &format!("'{model}', 'SELECT * FROM shown ORDER BY random()', '{{\"threads\": 2}}'"),
        );
        assert_eq!(table, shuffled);
    }
}

#[test]
fn positions_may_be_texts() {
    let connection = log();
    let options = "{\"propensities\": \"SELECT column1 AS position, 1.0 / column1 AS propensity FROM (VALUES (7), (8), (9), (10), (11))\"}";
    let of = |position: &str| {
        let log = format!(
            "SELECT impression, query_id, doc_id, {position} AS position, clicked, price, stars FROM shown"
        );
        text(&connection, &format!("'one', '{log}', '{options}'"))
    };
    assert_eq!(of("CAST(position + 6 AS TEXT)"), of("position + 6"));
    assert_eq!(
        text(
            &connection,
            &format!(
                "'one', 'SELECT impression, query_id, doc_id, position + 6 AS position, clicked, price, stars FROM shown', '{}'",
                options.replace("SELECT column1", "SELECT CAST(column1 AS TEXT)")
            )
        ),
        of("position + 6")
    );
}

/// Rule 16.10; rule 16.11: an interval includes that propensities are estimated.
#[test]
fn propensities_are_estimated_or_given() {
    let connection = log();
    connection.execute_batch("CREATE TABLE p AS SELECT column1 AS position, column2 AS propensity FROM (VALUES (2, 0.5), (1, 1.0), (3, 0.4), (4, 0.25), (5, 0.2))").unwrap();
    let given = text(&connection, &format!("'one', 'shown', '{{{GIVEN}}}'"));
    assert_eq!(text(&connection, "'one', 'shown', '{\"propensities\": \"p\"}'"), given);
    // Users look at position p with probability 1 / p. The intervals overlap; the estimate's is wider.
    let interval = |options: &str| -> (f64, f64) {
        let sql = format!(
            "SELECT ci_low, ci_high FROM ltr_evaluate_clicks('one', 'shown', '{options}') WHERE estimator = 'ips'"
        );
        connection.query_row(&sql, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap()
    };
    let known = interval("{\"propensities\": [1, 0.5, 0.3333333, 0.25, 0.2]}");
    let estimated = interval("{}");
    assert!(known.0 < estimated.1 && estimated.0 < known.1, "{known:?} {estimated:?}");
    assert!(known.1 - known.0 < estimated.1 - estimated.0, "{known:?} {estimated:?}");
    // A wider confidence has a wider interval.
    let wide = interval("{\"confidence\": 0.99}");
    assert!(wide.0 < estimated.0 && wide.1 > estimated.1, "{wide:?} {estimated:?}");
}

#[test]
fn logs_and_options_that_cannot_be_used_are_refused() {
    let connection = log();
    let slots = "SELECT ltr_train('matching', 'SELECT query_id, doc_id, doc_id AS slot, relevance > 1 AS relevance, price FROM judged',
                                  '{\"name\": \"slots\", \"lambda\": 1}')";
    connection.execute_batch(slots).unwrap();
    for (arguments, message) in [
        (
            "'one', 'shown', '{\"metric\": \"ndcg@10\"}'",
            "metric 'ndcg@10': it is not a sum over documents by rank",
        ),
        ("'one', 'shown', '{\"metric\": \"precision\"}'", "use dcg, dcg@k or precision@k"),
        ("'one', 'shown', '{\"clip\": 0}'", "option 'clip'"),
        (
            "'one', 'shown', '{\"propensities\": [1, 0.5, 0]}'",
            "option 'propensities': got 0, expected numbers above 0",
        ),
        (
            "'one', 'shown', '{\"propensities\": [1, 0.5]}'",
            "position 3 has clicks, but no propensity; give them",
        ),
        (
            "'one', 'shown', '{\"propensities\": \"log\"}'",
            "option 'propensities': no column \"propensity\"; the columns are impression, query_id",
        ),
        (
            "'one', 'shown', '{\"propensities\": \"SELECT 1 AS position, NULL AS propensity\"}'",
            "column \"propensity\": NULL; expected numbers above 0",
        ),
        (
            "'one', 'shown', '{\"propensities\": \"SELECT 1.5 AS position, 1 AS propensity\"}'",
            "column \"position\": 1.5; expected whole numbers",
        ),
        (
            "'one', 'shown', '{\"propensities\": \"SELECT 1 AS position, 1 AS propensity UNION ALL SELECT 1, 2\"}'",
            "position 1 appears twice",
        ),
        ("'one', 'log'", "price"),
        ("NULL, 'log'", "a NULL model ranks by the column \"score\", which does not exist"),
        ("'one', 'products'", "no column for the role impression of a log"),
        ("'one', 'SELECT * FROM shown WHERE 0', '{\"propensities\": [1]}'", "0 rows in the log"),
        ("'one', 'SELECT * FROM shown WHERE 0'", "0 rows in the log"),
        (
            "'one', 'SELECT * FROM shown WHERE impression <= 20'",
            "the log does not determine the propensity of each position",
        ),
        ("'one', 'SELECT *, 1 AS impression FROM products'", "no column for the role position"),
        (
            "'one', 'SELECT 1 AS impression, query_id, doc_id, position, clicked, price, stars FROM shown'",
            "an impression shows documents for one query",
        ),
        (
            "'one', 'SELECT impression, query_id, doc_id, 1 AS position, clicked, price, stars FROM shown'",
            "two rows have position 1",
        ),
        (
            "'one', 'SELECT impression, query_id, doc_id, position, -7 AS clicked, price, stars FROM shown'",
            "column \"clicked\": -7; expected 0, 1, and weights up to 1000000",
        ),
        (
            "'one', 'SELECT impression, query_id, doc_id, position, clicked, ''x'' AS price, stars FROM shown', '{\"propensities\": [1, 1, 1, 1, 1]}'",
            "column \"price\"",
        ),
        ("'one', 'shown', '{\"columns\": {\"team\": \"x\"}}'", "unknown key 'team'"),
        ("'one', 'shown', '{\"max_memory\": 20000}'", "pairs of query and document"),
        (&format!("'one', 'shown', '{{{GIVEN}, \"max_memory\": 20000}}'"), "bytes"),
        ("'none', 'shown'", "none"),
        ("'slots', 'SELECT *, doc_id AS slot FROM shown'", "a model that assigns documents to slots"),
    ] {
        let sql = format!("SELECT * FROM ltr_evaluate_clicks({arguments})");
        let found = connection.query_row(&sql, [], |_| Ok(())).expect_err(&sql).to_string();
        assert!(found.contains(message), "{sql}: {found}");
    }
}

/// Rule 16.10.
#[test]
fn clipped_clicks_are_a_warning() {
    let connection = log();
    let warnings = |options: &str| -> String {
        text(&connection, &format!("'one', 'shown', '{options}'"));
        value(&connection, "SELECT ltr_debug() ->> 'last_warnings'", [])
    };
    assert_eq!(warnings(&format!("{{{GIVEN}}}")), "[]");
    let found = warnings(&format!("{{{GIVEN}, \"clip\": 0.3}}"));
    assert!(found.contains("clicks are at positions with a propensity below 0.3 (option 'clip')"), "{found}");
}
