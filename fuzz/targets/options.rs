//! Options of every function that takes them. The first byte chooses the call.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rusqlite::Connection;
use serde_json::{Value, json};
use sqlite_ltr_fuzz::mutated::models::{connect, samples};
use sqlite_ltr_fuzz::{Database, write_seeds};

/// Logs, and a model of each kind that a call needs.
const SETUP: &str = r#"
CREATE TABLE log AS WITH RECURSIVE n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < 119)
  SELECT i / 4 AS impression, i / 4 % 6 + 1 AS query_id, (i % 4 + i / 24) % 4 + 1 AS doc_id, i % 4 + 1 AS position,
         i % 4 + 1 AS rank, iif(i % 2, 'a', 'b') AS team, i * 7919 % 101 < 40 - 8 * (i % 4) AS clicked FROM n;
CREATE TABLE shown AS SELECT l.*, a, b FROM log AS l JOIN judged AS j USING (query_id, doc_id);
CREATE TABLE many AS SELECT query_id + 10 * n AS query_id, doc_id, relevance, a, b FROM judged, (SELECT 0 AS n UNION ALL SELECT 1);
CREATE TABLE slots AS SELECT query_id, one.doc_id, two.doc_id AS slot, one.doc_id = two.doc_id AS relevance, one.a, two.b
  FROM judged one JOIN judged two USING (query_id);
CREATE VIRTUAL TABLE docs USING fts5(x, tokenize = 'trigram');
CREATE VIRTUAL TABLE words USING fts5(x);
INSERT INTO docs VALUES ('red shoes');
INSERT INTO words VALUES ('red shoes');
SELECT ltr_train('rank_svm', 'many', '{"name": "m", "lambda": 0.1}');
SELECT ltr_train('q_svm', 'judged', '{"name": "q", "lambda": 0.1, "neighbors": 3}');
SELECT ltr_train('perceptron', 'many', '{"name": "p"}');
SELECT ltr_train('cofi_rank', 'ratings', '{"name": "c", "lambda": 1, "factors": 2, "max_rounds": 2}');
"#;

/// The calls, with the options as ?1, besides the calls of each algorithm.
const CALLS: &[&str] = &[
    "SELECT ltr_train('rank_svm', 'judged', ?1)",
    "SELECT ltr_begin('rank_svm', ?1)",
    "SELECT ltr_begin('boosted_trees', ?1)",
    "SELECT * FROM ltr_cross_validate('rank_svm', 'judged', ?1)",
    "SELECT * FROM ltr_cross_validate('boosted_trees', 'many', ?1)",
    "SELECT ltr_update('p', 'many', ?1)",
    "SELECT ltr_import(ltr_export('m', 'json'), ?1)",
    "SELECT * FROM ltr_rank('m', 'many', ?1)",
    "SELECT * FROM ltr_rank('q', 'judged', ?1)",
    "SELECT * FROM ltr_evaluate('m', 'many', ?1)",
    "SELECT * FROM ltr_compare('m', 'p', 'many', ?1)",
    "SELECT * FROM ltr_interleave('m', 'p', 'many', ?1)",
    "SELECT * FROM ltr_interleave_result('log', ?1)",
    "SELECT * FROM ltr_explain('m', 'many', 3, 1, ?1)",
    "SELECT * FROM ltr_explain_rank('q', 'judged', 3, 1, 2, ?1)",
    "SELECT * FROM ltr_importance('m', 'many', ?1)",
    "SELECT * FROM ltr_monitor('m', 'many', ?1)",
    "SELECT * FROM ltr_recommend('c', 3, 2, ?1)",
    "SELECT ltr_ndcg(relevance, a, 3, ?1) FROM many GROUP BY query_id",
    "SELECT ltr_metric('err@3', relevance, a, ?1) FROM many GROUP BY query_id",
    "SELECT ltr_metric('kendall_tau', relevance, a, ?1) FROM many GROUP BY query_id",
    "SELECT ltr_metric('eru(neutral_grade=0,half_life=2)', relevance, a, ?1) FROM many GROUP BY query_id",
    "SELECT ltr_metric('alpha_ndcg@3', json_array(relevance), a, ?1) FROM many GROUP BY query_id",
    "SELECT ltr_paired_test(a, b, ?1) FROM many",
    "SELECT * FROM ltr_letor('tests/data/small.letor', ?1)",
    "SELECT * FROM ltr_click_models('log', ?1)",
    "SELECT * FROM ltr_propensities('log', ?1)",
    "SELECT * FROM ltr_judgments('log', ?1)",
    "SELECT * FROM ltr_evaluate_clicks('m', 'shown', ?1)",
    "SELECT ltr_fts_query(column1, ?1) FROM (VALUES ('red shoes'), (''), (NULL), (' \"a\"a,b'))",
    "SELECT ltr_plot('scores', 'm', 'many', ?1)",
    "SELECT ltr_plot('calibration', 'm', 'many', ?1)",
    "SELECT ltr_report('m', 'many', ?1)",
    "SELECT ltr_activate('m', 1, ?1)",
];

struct Calls {
    database: Database,
    statements: Vec<String>,
}

thread_local! {
    static CALLS_OF_ALL: Calls = Calls::new();
}

fn texts(connection: &Connection, sql: &str) -> Vec<(String, String)> {
    let mut statement = connection.prepare(sql).expect(sql);
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).expect(sql);
    rows.collect::<rusqlite::Result<_>>().expect(sql)
}

impl Calls {
    fn new() -> Self {
        let connection = connect();
        connection.execute_batch(SETUP).expect("tables and models");
        // 1. A call for each algorithm.
        let mut statements: Vec<String> = CALLS.iter().map(|&call| call.to_owned()).collect();
        for (algorithm, _) in texts(&connection, "SELECT name, '' FROM ltr_algorithms") {
            let source = match &algorithm[..] {
                "cofi_rank" => "ratings",
                "matching" => "slots",
                "auto" => "many",
                _ => "judged",
            };
            statements.push(format!("SELECT ltr_fit('{algorithm}', '{source}', ?1)"));
        }
        // 2. None is missing.
        let functions = texts(&connection, "SELECT functions, '' FROM ltr_options");
        let of_models = functions.iter().flat_map(|(names, _)| names.split(", "));
        for name in of_models.filter(|name| name.starts_with("ltr_")) {
            let call = format!("{name}(");
            assert!(statements.iter().any(|statement| statement.contains(&call)), "no call of {name}");
        }
        Self { database: Database::new(connection), statements }
    }
}

/// Options of each call: their defaults, and for an algorithm the options of its models.
fn seeds() -> Vec<Vec<u8>> {
    let Calls { database, statements } = Calls::new();
    let connection = &database.connection;
    let defaults =
        texts(connection, "SELECT name || ' ' || functions, coalesce(\"default\", 'null') FROM ltr_options");
    let samples = samples(&connect());
    let mut seeds = Vec::new();
    for (number, statement) in (0u8..).zip(&statements) {
        let mut add = |options: &str| seeds.push([&[number], options.as_bytes()].concat());
        let (name, _) = statement[statement.find("ltr_").unwrap_or(0)..].split_once('(').expect("a call");
        let name = if statement.contains("GROUP BY") { "metric aggregates" } else { name };
        let given = defaults.iter().filter(|(key, default)| key.contains(name) && default != "null");
        let given = given.map(|(key, default)| {
            let key = key.split(' ').next().unwrap_or_default().to_owned();
            (key, serde_json::from_str(default).unwrap_or(json!("")))
        });
        let all: serde_json::Map<String, Value> = given.collect();
        add("{}");
        if name == "ltr_fts_query" {
            for table in ["docs", "words", "none"] {
                add(&json!({ "table": table }).to_string());
            }
        }
        add(&Value::Object(all.clone()).to_string());
        for (key, value) in &all {
            add(&json!({ key: value }).to_string());
        }
        for sample in &samples {
            let (algorithm, options) = sample.name.split_once(' ').expect("a name");
            if statement.contains(&format!("ltr_fit('{algorithm}'")) {
                add(options);
            }
        }
    }
    seeds
}

fuzz_target!(
    init: write_seeds(seeds),
    |data: &[u8]| {
        let [chosen, options @ ..] = data else { return };
        let options = String::from_utf8_lossy(options);
        CALLS_OF_ALL.with(|Calls { database, statements }| {
            database.run(&statements[usize::from(*chosen) % statements.len()], [&options]);
        });
    }
);
