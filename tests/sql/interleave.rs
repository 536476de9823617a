//! `ltr_interleave` (rules 18.1, 18.2, 18.3, 18.4) against the rankings of `ltr_rank`, and `ltr_interleave_result` (rules 18.5,
//! 18.6, 18.7, 18.8) against counts in plain SQL.

use rusqlite::Connection;
use xxhash_rust::xxh64::xxh64;

use crate::support::{database, value};

/// 30 queries with 12 documents, and two models that rank them differently.
fn rankers() -> Connection {
    let connection = database();
    connection
        .execute_batch(
            "CREATE TABLE c AS
             WITH RECURSIVE n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < 359)
             SELECT i / 12 AS query_id, i % 12 + 1 AS doc_id, i * 7919 % 101 / 100.0 AS x, i * 1543 % 97 / 100.0 AS y,
                    i * 31 % 7 AS bm25 FROM n;
             SELECT ltr_train('regression', 'SELECT query_id, doc_id, x AS relevance, x, y FROM c', '{\"name\": \"a\"}');
             SELECT ltr_train('regression', 'SELECT query_id, doc_id, y AS relevance, x, y FROM c', '{\"name\": \"b\"}');",
        )
        .unwrap();
    connection
}

type Row = (i64, i64, i64, String);

fn rows(connection: &Connection, from: &str) -> Vec<Row> {
    let sql = format!("SELECT query_id, doc_id, rank, team FROM {from}");
    let mut statement = connection.prepare(&sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)));
    rows.unwrap().collect::<Result<_, _>>().unwrap_or_else(|error| panic!("{sql}: {error}"))
}

fn refusal(connection: &Connection, from: &str) -> String {
    let sql = format!("SELECT * FROM {from}");
    let mut statement = connection.prepare(&sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    let error = statement.query([]).and_then(|mut rows| rows.next().map(drop));
    error.expect_err(&sql).to_string()
}

/// The documents of each query in the order of a statement with the columns `query_id` and `doc_id`.
fn ranking(connection: &Connection, sql: &str) -> Vec<Vec<i64>> {
    let mut statement = connection.prepare(sql).unwrap();
    let mut queries = vec![Vec::new(); 30];
    let mut found = statement.query([]).unwrap();
    while let Some(row) = found.next().unwrap() {
        queries[row.get::<_, i64>(0).unwrap() as usize].push(row.get(1).unwrap());
    }
    queries
}

/// A team-draft list with the coins of `list`.
fn drafted(a: &[i64], b: &[i64], list: &[Row]) -> Vec<(i64, String)> {
    let mut expected: Vec<(i64, String)> = Vec::new();
    while expected.len() < list.len() {
        let number = expected.len();
        // In each round one document of each team.
        let team = match number % 2 {
            0 => list[number].3.clone(),
            _ if expected[number - 1].1 == "a" => "b".to_owned(),
            _ => "a".to_owned(),
        };
        let from = if team == "a" { a } else { b };
        let best = from.iter().find(|doc| expected.iter().all(|(listed, _)| listed != *doc));
        expected.push((*best.unwrap(), team));
    }
    expected
}

/// Rules 18.1, 18.3: a model that is NULL ranks by a column.
#[test]
fn lists_are_team_drafts_of_both_rankings() {
    let connection = rankers();
    let of_model = |name: &str| {
        ranking(
            &connection,
            &format!("SELECT query_id, doc_id FROM ltr_rank('{name}', 'c') ORDER BY query_id, rank"),
        )
    };
    let by_column =
        ranking(&connection, "SELECT query_id, doc_id FROM c ORDER BY query_id, bm25 DESC, doc_id");
    let (a, b) = (of_model("a"), of_model("b"));
    assert_ne!(a, b);
    let cases = [
        ("'a', 'b', 'c', '{\"seed\": SEED}'", [&a, &b], 12),
        ("'a', 'b', 'c', '{\"seed\": \"session SEED\", \"k\": 5}'", [&a, &b], 5),
        (
            "NULL, 'b', 'c', '{\"seed\": SEED, \"columns\": {\"score\": \"bm25\"}, \"k\": 1000000000}'",
            [&by_column, &b],
            12,
        ),
        ("'a', NULL, 'SELECT *, bm25 AS Score FROM c', '{\"seed\": SEED}'", [&a, &by_column], 12),
    ];
    let mut a_begins = 0;
    for (arguments, [a, b], length) in cases {
        for seed in 0..20 {
            let from = format!(
                "ltr_interleave({}) ORDER BY query_id, rank",
                arguments.replace("SEED", &seed.to_string())
            );
            let found = rows(&connection, &from);
            assert_eq!(found.len(), 30 * length, "{from}");
            for (query, list) in found.chunks(length).enumerate() {
                assert!(
                    list.iter().zip(1..).all(|(row, rank)| row.0 == query as i64 && row.2 == rank),
                    "{from}"
                );
                let pairs: Vec<(i64, String)> = list.iter().map(|row| (row.1, row.3.clone())).collect();
                assert_eq!(pairs, drafted(&a[query], &b[query], list), "{from}");
                a_begins += i64::from(list[0].3 == "a");
            }
        }
    }
    // 2,400 coins, standard deviation 24.5. The second case has other ids than the others, which share 600 coins.
    assert!((1100..1300).contains(&a_begins), "{a_begins}");
}

/// Rule 18.2; rule 18.1: WHERE and ORDER BY work as in `ltr_rank`.
#[test]
fn the_seed_alone_decides_the_coins() {
    let connection = rankers();
    let list = |options: &str, filter: &str| {
        rows(
            &connection,
            &format!("ltr_interleave('a', 'b', 'c', '{options}') {filter} ORDER BY query_id, rank"),
        )
    };
    let first = list("{\"seed\": 1}", "");
    assert_eq!(first, list("{\"seed\": 1, \"threads\": 2}", ""));
    assert_ne!(first, list("{\"seed\": 2}", ""));
    assert_ne!(first, list("{\"seed\": \"1\"}", ""));
    // A query has the same list alone, and a shorter list is the beginning of a longer one.
    let alone: Vec<Row> = first.iter().filter(|row| row.0 == 7).cloned().collect();
    assert_eq!(alone, list("{\"seed\": 1}", "WHERE query_id = 7"));
    assert_eq!(alone[..4], list("{\"seed\": 1, \"k\": 4}", "WHERE query_id = 7"));
    let source = "'SELECT * FROM c WHERE query_id = ?1 AND doc_id < :most ORDER BY random()'";
    let bound = rows(
        &connection,
        &format!("ltr_interleave('a', 'b', {source}, '{{\"seed\": 1}}', 7, 99) ORDER BY rank"),
    );
    assert_eq!(alone, bound);
    // The coin of the first round, as documented: XXH64 of the query with the hash of the seed, then of the round.
    let impressions =
        "SELECT group_concat(DISTINCT typeof(impression) || impression) FROM ltr_interleave('a', 'b', 'c', ";
    assert_eq!(value::<String>(&connection, &format!("{impressions}'{{\"seed\": -5}}')"), []), "integer-5");
    assert_eq!(value::<String>(&connection, &format!("{impressions}'{{\"seed\": \"x1\"}}')"), []), "textx1");
    // No sorter, and rows by rank.
    let by_rank = rows(&connection, "ltr_interleave('a', 'b', 'c', '{\"seed\": 1}') ORDER BY rank, query_id");
    let mut expected = first;
    expected.sort_by_key(|row| (row.2, row.0));
    assert_eq!(by_rank, expected);
}

/// Rule 18.2: the coins of rounds are hashes.
#[test]
fn coins_are_hashes_of_impression_query_and_round() {
    let connection = rankers();
    let team = |round: u64, key: u64| if xxh64(&round.to_le_bytes(), key) & 1 == 1 { "a" } else { "b" };
    for (seed, bytes) in [
        ("5", 5_i64.to_le_bytes().to_vec()),
        ("-5", (-5_i64).to_le_bytes().to_vec()),
        ("\"s1\"", b"s1".to_vec()),
    ] {
        let impression = xxh64(&bytes, 42);
        let options = format!("'{{\"seed\": {seed}}}'");
        let lists = rows(&connection, &format!("ltr_interleave('a', 'b', 'c', {options})"));
        assert_eq!(lists.len(), 360);
        for (query, _, rank, found) in lists.iter().filter(|row| row.2 % 2 == 1) {
            let key = xxh64(&query.to_le_bytes(), impression);
            assert_eq!(found, team(*rank as u64 / 2 + 1, key), "query {query}, rank {rank} of {seed}");
        }
        // Without a query column.
        let sql = format!(
            "SELECT team FROM ltr_interleave('a', 'b', 'SELECT doc_id, x, y FROM c WHERE query_id = 7', {options}) ORDER BY rank"
        );
        let mut statement = connection.prepare(&sql).unwrap();
        let teams = statement.query_map([], |row| row.get::<_, String>(0)).unwrap();
        for (round, found) in (1..).zip(teams.step_by(2)) {
            assert_eq!(found.unwrap(), team(round, impression), "round {round} of {seed}");
        }
    }
}

/// Rule 18.4: a document is in the list once, at its best place.
#[test]
fn equal_rankings_lose_and_repeat_nothing() {
    let connection = rankers();
    let ranked = "SELECT json_group_array(json_array(query_id, doc_id, rank)) FROM (SELECT * FROM";
    let expected: String =
        value(&connection, &format!("{ranked} ltr_rank('a', 'c') ORDER BY query_id, rank)"), []);
    let list = format!("{ranked} ltr_interleave('a', 'a', 'c', '{{\"seed\": 3}}') ORDER BY query_id, rank)");
    assert_eq!(value::<String>(&connection, &list, []), expected);
    // A document that the source has twice is in the list once, at its better place.
    let twice = "SELECT * FROM c UNION ALL SELECT query_id, doc_id, 1 - x, y, bm25 FROM c WHERE doc_id < 4";
    let actual = rows(&connection, &format!("ltr_interleave('a', 'b', '{twice}', '{{\"seed\": 3}}')"));
    let mut documents: Vec<(i64, i64)> = actual.iter().map(|row| (row.0, row.1)).collect();
    documents.sort_unstable();
    documents.dedup();
    assert_eq!((documents.len(), actual.len()), (360, 360));
    // No rows are no list, and one document is a list of one.
    for (filter, expected) in [("query_id > 99", 0), ("query_id = 1 AND doc_id = 2", 1)] {
        let source = format!("SELECT * FROM c WHERE {filter}");
        let actual = rows(
            &connection,
            &format!(
                "ltr_interleave(NULL, 'b', '{source}', '{{\"seed\": 1, \"columns\": {{\"score\": \"x\"}}}}')"
            ),
        );
        assert_eq!(actual.len(), expected);
    }
}

/// Rules 18.2, 18.3, 18.4.
#[test]
fn calls_that_cannot_be_answered_are_refused() {
    let connection = rankers();
    connection
        .execute_batch(
            "SELECT ltr_train('regression', 'SELECT query_id AS q, doc_id, x AS relevance, x, y FROM c',
                              '{\"name\": \"other\", \"columns\": {\"query\": \"q\"}}');
             SELECT ltr_train('regression', 'SELECT query_id, doc_id, x AS relevance, x AS z FROM c', '{\"name\": \"z\"}');
             SELECT ltr_train('matching', 'SELECT query_id, doc_id, x > 0.5 AS relevance, doc_id AS slot, x FROM c WHERE query_id < 3',
                              '{\"name\": \"slots\", \"lambda\": 1}');",
        )
        .unwrap();
    let seed = "'{\"seed\": 1}'";
    for (arguments, message) in [
        ("'a', 'b', 'c'".to_owned(), "option 'seed' is missing: give the id of the impression"),
        (
            "'a', 'b', 'c', '{\"seed\": 1.5}'".to_owned(),
            "option 'seed': got 1.5, expected a whole number from",
        ),
        ("'a', 'b', 'c', '{\"seed\": \"\"}'".to_owned(), "option 'seed': got \"\""),
        ("'a', 'b', 'c', '{\"seed\": null}'".to_owned(), "option 'seed': got null"),
        (
            "'a', 'b', 'c', '{\"seed\": 1, \"k\": 0}'".to_owned(),
            "option 'k': got 0, expected a whole number from 1",
        ),
        (format!("'a', 'nothing', 'c', {seed}"), "unknown model 'nothing'"),
        (format!("'a', x'00', 'c', {seed}"), "model is damaged or not a model"),
        (format!("'a', 'z', 'c', {seed}"), "the model needs feature columns that are missing: z"),
        (
            format!("'a', 'slots', 'SELECT *, 1 AS slot FROM c', {seed}"),
            "a model that assigns documents to slots",
        ),
        (format!("NULL, NULL, 'c', {seed}"), "both models are NULL"),
        (
            format!("NULL, 'a', 'c', {seed}"),
            "a NULL model ranks by the column \"score\", which does not exist",
        ),
        (
            "'a', NULL, 'c', '{\"seed\": 1, \"columns\": {\"score\": 3}}'".to_owned(),
            "option 'columns', key 'score': got 3",
        ),
        (
            "'a', NULL, 'c', '{\"seed\": 1, \"columns\": {\"score\": \"bm\"}}'".to_owned(),
            "by the column \"bm\", which does not",
        ),
        (
            format!("'a', NULL, 'SELECT *, nullif(bm25, 3) AS score FROM c', {seed}"),
            "column \"score\": NULL; every document needs a score",
        ),
        (
            "'a', 'b', 'c', '{\"seed\": 1, \"columns\": {\"score\": \"bm25\"}}'".to_owned(),
            "key 'score': got \"bm25\", expected no such key",
        ),
        (format!("'a', NULL, 'SELECT *, ''much'' AS score FROM c', {seed}"), "text 'much'"),
        (format!("'a', 'b', 'SELECT nullif(query_id, 4) AS query_id, doc_id, x, y FROM c', {seed}"), "NULL"),
        (
            format!("'a', 'other', 'SELECT *, query_id % 3 AS q FROM c', {seed}"),
            "the models read different queries",
        ),
        (
            format!("'a', 'b', 'SELECT query_id, random() AS doc_id, x, y FROM c', {seed}"),
            "read different documents",
        ),
        (format!("'a', 'b', 'DELETE FROM c', {seed}"), "no such table or view"),
        (format!("'a', 'b', 7, {seed}"), "argument 'source': got 7"),
    ] {
        let found = refusal(&connection, &format!("ltr_interleave({arguments})"));
        assert!(found.starts_with("ltr_interleave: ") && found.contains(message), "{arguments}: {found}");
    }
}

/// A log of 500 lists of 6 documents with clicks by chance.
const LOG: &str = "CREATE TABLE log AS
    WITH RECURSIVE n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < 2999)
    SELECT i / 6 AS impression, i / 6 % 7 AS query_id, i % 6 + 1 AS rank, CASE WHEN (i + i / 6 * 7 % 3) % 2 THEN 'a' ELSE 'b' END AS team,
           (i * 7919 + i / 6 * 104729) % 1009 < CASE WHEN (i + i / 6 * 7 % 3) % 2 THEN 110 ELSE 170 END AS clicked FROM n;";

type Result5 = (i64, i64, i64, i64, i64);

fn counts(connection: &Connection, sql: &str) -> Result5 {
    let row = connection
        .query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?)));
    row.unwrap_or_else(|error| panic!("{sql}: {error}"))
}

/// Rules 18.5, 18.7, 18.8: a list is an impression and a query; the p-value is McNemar's.
#[test]
fn results_are_counts_of_lists() {
    let connection = database();
    connection.execute_batch(LOG).unwrap();
    let lists = |by: &str| {
        format!(
            "WITH l AS (SELECT sum(clicked AND team = 'a') AS a, sum(clicked AND team = 'b') AS b FROM log GROUP BY {by})
             SELECT count(*), sum(a > b), sum(b > a), sum(a = b AND a > 0), sum(a + b = 0) FROM l"
        )
    };
    let result = "SELECT impressions, wins_a, wins_b, ties, no_click FROM ltr_interleave_result";
    let expected = counts(&connection, &lists("impression"));
    let (impressions, wins_a, wins_b, ties, no_click) = expected;
    assert!(
        [wins_a, wins_b, ties, no_click].iter().all(|count| *count > 10) && impressions == 500,
        "{expected:?}"
    );
    assert_eq!(counts(&connection, &format!("{result}('log')")), expected);
    assert_eq!(counts(&connection, &format!("{result}('SELECT * FROM log ORDER BY random()')")), expected);
    // Only the columns that are needed, with other names and a value.
    let source = "'SELECT impression AS i, team AS t, clicked AS c FROM log WHERE impression >= ?', \
                  '{\"columns\": {\"impression\": \"i\", \"team\": \"t\", \"clicked\": \"c\"}}', 0";
    assert_eq!(counts(&connection, &format!("{result}({source})")), expected);
    // Users as the unit: 7 of them.
    let by_user = "'log', '{\"columns\": {\"impression\": \"query_id\", \"query\": \"query_id\"}}'";
    assert_eq!(counts(&connection, &format!("{result}({by_user})")), counts(&connection, &lists("query_id")));
    // The difference, and the p-value, which agrees with the interval.
    let (difference, p): (f64, f64) = connection
        .query_row("SELECT difference, p_value FROM ltr_interleave_result('log')", [], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .unwrap();
    let n = (wins_a + wins_b) as f64;
    assert!((difference - (wins_b - wins_a) as f64 / (n + ties as f64)).abs() < 1e-15);
    let z = (wins_b - wins_a).abs() as f64 / n.sqrt();
    let expected = libm::erfc(z / 2_f64.sqrt());
    assert!((p - expected).abs() < 1e-12, "{p} {expected}");
    let at = |options: &str| -> [f64; 3] {
        let sql = format!(
            "SELECT ci_low, ci_high, more_impressions FROM ltr_interleave_result('log', '{options}')"
        );
        connection.query_row(&sql, [], |row| Ok([row.get(0)?, row.get(1)?, row.get(2)?])).unwrap()
    };
    let (usual, wide) = (
        at("{\"min_difference\": 0.05}"),
        at("{\"confidence\": 0.99, \"min_difference\": 0.05, \"power\": 0.9}"),
    );
    assert!(wide[0] < usual[0] && usual[0] < difference && difference < usual[1] && usual[1] < wide[1]);
    assert!(usual[2] < wide[2] && usual[2] > 1000.0, "{usual:?} {wide:?}");
    // The ends of the interval are the differences d with |z| = 1.96 in the score test of d (Tango 1998).
    let (lists, a, b) = (n + ties as f64, wins_a as f64, wins_b as f64);
    for (d, expected) in [(usual[0], 1.959_963_985), (usual[1], -1.959_963_985)] {
        let (linear, constant) = ((2.0 * lists - b + a) * d - a - b, -a * d * (1.0 - d));
        let q = ((linear * linear - 8.0 * lists * constant).sqrt() - linear) / (4.0 * lists);
        let z = (b - a - lists * d) / (lists * (2.0 * q + d * (1.0 - d))).sqrt();
        assert!((z - expected).abs() < 1e-6, "{d}: {z}");
    }
    assert_eq!(p <= 0.05, usual[0] > 0.0 || usual[1] < 0.0, "{p} {usual:?}");
}

/// Rules 18.5, 18.6.
#[test]
fn broken_logs_are_warnings_or_errors() {
    let connection = database();
    connection.execute_batch(LOG).unwrap();
    let warnings = |log: &str| -> Option<String> {
        value(&connection, &format!("SELECT warnings FROM ltr_interleave_result('{log}')"), [])
    };
    assert_eq!(warnings("log"), None);
    for (log, expected) in [
        (
            "SELECT impression, rank, clicked, iif(rank = 6, ''ad'', team) AS team FROM log",
            "rows with a team other than 'a' and 'b': 500 (the first: text 'ad')",
        ),
        (
            "SELECT impression, rank, clicked, iif(impression = 3, NULL, team) AS team FROM log",
            "rows with a team other than 'a' and 'b': 6 (the first: NULL)",
        ),
        (
            "SELECT * FROM log UNION ALL SELECT * FROM log WHERE impression IN (4, 5)",
            "impressions with a repeated position: 2 (the first: 4)",
        ),
        (
            "SELECT impression / 2 AS impression, rank, team, clicked FROM log",
            "impressions with a repeated position: 250 (the first: 0)",
        ),
        ("SELECT * FROM log WHERE clicked", "every row has a click"),
        (
            "SELECT * FROM log WHERE clicked OR impression > 100 OR team = ''a''",
            "one team has at least two documents more than the other",
        ),
    ] {
        let actual = warnings(log).unwrap_or_default();
        assert!(actual.contains(expected), "{log}: {actual}");
        let last: String = value(&connection, "SELECT ltr_debug() ->> 'last_warnings'", []);
        assert_eq!(last, actual);
    }
    let empty: (i64, Option<f64>, Option<f64>, Option<i64>) = connection
        .query_row(
            "SELECT impressions, difference, p_value, more_impressions FROM ltr_interleave_result('SELECT * FROM log WHERE 0')",
            [],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)),
        )
        .unwrap();
    assert_eq!(empty, (0, None, None, None));
    for (arguments, message) in [
        ("'SELECT impression, clicked FROM log'", "no column for the role team of a log: name one team"),
        ("'SELECT team, clicked FROM log'", "no column for the role impression"),
        (
            "'SELECT *, 1 AS session FROM log'",
            "both \"impression\" and \"session\" could have the role impression",
        ),
        (
            "'SELECT impression, team, NULL AS clicked FROM log'",
            "impression 0, column \"clicked\": NULL; expected 0 and 1",
        ),
        ("'SELECT impression, team, 2 AS clicked FROM log'", "column \"clicked\": 2; expected 0 and 1"),
        (
            "'SELECT NULL AS impression, team, clicked FROM log'",
            "column \"impression\": NULL; expected ids that are neither NULL nor empty",
        ),
        ("'log', '{\"columns\": {\"doc\": \"x\"}}'", "unknown key 'doc' in the option 'columns'"),
        ("'log', '{\"power\": 1}'", "option 'power': got 1, expected a number from 0.5 to 0.9999"),
        ("'log', '{\"min_difference\": 0}'", "option 'min_difference': got 0"),
        ("'log', '{\"seed\": 1}'", "option 'seed': it belongs to"),
        ("NULL", "argument 'log': got NULL"),
        ("'nothing'", "no such table or view"),
    ] {
        let found = refusal(&connection, &format!("ltr_interleave_result({arguments})"));
        assert!(
            found.starts_with("ltr_interleave_result: ") && found.contains(message),
            "{arguments}: {found}"
        );
    }
}

/// Rule 18.3: clicks on lists of one ranking cannot compare it with itself.
#[test]
fn equal_rankings_are_a_warning() {
    let connection = database();
    connection
        .execute_batch(
            "CREATE TABLE c AS WITH RECURSIVE n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < 59)
             SELECT i / 6 AS query_id, i % 6 AS doc_id, i * 7 % 5 AS x, i * 11 % 7 AS y, i * 7 % 5 AS relevance FROM n;
             SELECT ltr_train('rank_svm', 'c', '{\"name\": \"m\", \"lambda\": 1}');",
        )
        .unwrap();
    for (other, is_same) in [("'m'", true), ("NULL", false)] {
        let source = "SELECT *, doc_id AS score FROM c";
        let sql = format!("SELECT count(*) FROM ltr_interleave('m', {other}, '{source}', '{{\"seed\": 1}}')");
        assert_eq!(value::<i64>(&connection, &sql, []), 60);
        let last: String = value(&connection, "SELECT ltr_debug() ->> 'last_warnings'", []);
        assert_eq!(last.contains("the same order in 10 lists"), is_same, "{last}");
    }
}
