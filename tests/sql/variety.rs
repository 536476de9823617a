//! Lists that vary by vectors (rule 6.12), against numpy: tests/data/mmr.py.

use rusqlite::Connection;
use serde_json::{Value as Json, json};

use crate::support::{database, value};

/// Documents with a score that is the only feature, and a vector as JSON.
fn documents(queries: &[Json]) -> Connection {
    let connection = database();
    connection
        .execute_batch("CREATE TABLE docs (query_id, doc_id INTEGER, quality REAL, embedding, relevance)")
        .unwrap();
    for (query, number) in queries.iter().zip(0_i64..) {
        let rows = query["scores"].as_array().unwrap().iter().zip(query["vectors"].as_array().unwrap());
        for ((score, vector), doc) in rows.zip(0_i64..) {
            let row = rusqlite::params![number, doc, score.as_f64(), vector.to_string(), doc % 3];
            connection.execute("INSERT INTO docs VALUES (?1, ?2, ?3, ?4, ?5)", row).unwrap();
        }
    }
    // A model whose score is a positive multiple of the only feature, plus a constant.
    let train =
        "SELECT ltr_train('rank_svm', 'SELECT query_id, doc_id, quality, quality AS relevance FROM docs',
                                  '{\"name\": \"quality\", \"lambda\": 1, \"scale\": \"none\"}')";
    value::<String>(&connection, train, []);
    connection
}

fn golden() -> Vec<Json> {
    serde_json::from_str(include_str!("../data/mmr.json")).unwrap()
}

fn list(connection: &Connection, source: &str, options: &Json) -> Result<Vec<(i64, f64)>, rusqlite::Error> {
    let sql = "SELECT doc_id, score FROM ltr_rank('quality', ?1, ?2) ORDER BY rank";
    let mut statement = connection.prepare(sql)?;
    let rows = statement.query_map((source, options.to_string()), |row| Ok((row.get(0)?, row.get(1)?)))?;
    rows.collect()
}

/// Rule 6.12: the order is numpy's, from JSON and from BLOBs, and the scores stay.
#[test]
fn the_order_matches_numpy() {
    let queries = golden();
    let connection = documents(&queries);
    for (number, query) in queries.iter().enumerate() {
        let order: Vec<i64> = serde_json::from_value(query["order"].clone()).unwrap();
        let options =
            json!({"diversify_by": {"embedding": query["weight"]}, "columns": {"ignore": ["relevance"]}});
        let source =
            format!("SELECT query_id, doc_id, quality, embedding FROM docs WHERE query_id = {number}");
        let found = list(&connection, &source, &options).unwrap();
        assert_eq!(found.iter().map(|row| row.0).collect::<Vec<_>>(), order, "{number}");
        let blobs = source.replace("embedding", "ltr_vec(embedding) AS embedding");
        assert_eq!(list(&connection, &blobs, &options).unwrap(), found, "{number}");
        // The first k are the first of all, and scores are those without the option.
        let mut first = options.clone();
        first["k"] = json!(4);
        assert_eq!(list(&connection, &source, &first).unwrap(), found[..4], "{number}");
        let mut scores: Vec<(i64, f64)> = list(&connection, &source, &json!({})).unwrap();
        let plain = list(&connection, &source, &json!({"diversify_by": {"embedding": 0}})).unwrap();
        assert_eq!(scores, plain);
        scores.sort_by_key(|row| row.0);
        let mut sorted = found;
        sorted.sort_by_key(|row| row.0);
        assert_eq!(scores, sorted, "{number}");
        // An evaluation sees the same list.
        let ndcg = "SELECT value FROM ltr_evaluate('quality', ?1, ?2) WHERE query_id IS NULL";
        let all = format!("SELECT * FROM docs WHERE query_id = {number}");
        let options = json!({"diversify_by": options["diversify_by"]}).to_string();
        let measured: f64 = value(&connection, ndcg, [&all, &options]);
        let by_hand = "SELECT ltr_ndcg(relevance, -rank, 10) FROM ltr_rank('quality', ?1, ?2) JOIN docs USING (query_id, doc_id)";
        assert_eq!(measured.to_bits(), value::<f64>(&connection, by_hand, [&all, &options]).to_bits());
    }
}

/// Rule 6.12: documents without a vector are similar to none, and wrong values are errors with the document.
#[test]
fn vectors_may_be_missing_but_not_wrong() {
    let connection = documents(&golden()[..2]);
    let varied = json!({"diversify_by": {"embedding": 0.9}});
    connection.execute_batch("UPDATE docs SET embedding = NULL").unwrap();
    let plain = list(&connection, "docs", &json!({})).unwrap();
    assert_eq!(list(&connection, "docs", &varied).unwrap(), plain);
    // Two equal vectors: the second comes last, the others have none.
    connection
        .execute_batch("UPDATE docs SET embedding = '[1, 2]' WHERE query_id = 0 AND doc_id IN (0, 1)")
        .unwrap();
    let first = "SELECT * FROM docs WHERE query_id = 0";
    let last = list(&connection, first, &varied).unwrap().pop().unwrap().0;
    assert!(last == 0 || last == 1);
    connection
        .execute_batch("UPDATE docs SET embedding = '[1, 2, 3]' WHERE query_id = 0 AND doc_id = 5")
        .unwrap();
    let problem = list(&connection, first, &varied).unwrap_err().to_string();
    assert!(
        problem.contains("query 0, document 5, column \"embedding\": got a vector of 3 numbers"),
        "{problem}"
    );
    connection.execute_batch("UPDATE docs SET embedding = 'blue' WHERE doc_id = 5").unwrap();
    assert!(
        list(&connection, first, &varied)
            .unwrap_err()
            .to_string()
            .contains("document 5, column \"embedding\"")
    );
    for (options, part) in [
        (json!({"diversify_by": {"embedding": 1.5}}), "a weight from 0 to 1"),
        (json!({"diversify_by": {"embedding": 0.5, "doc_id": 0.5}}), "a column of vectors with a weight"),
        (json!({"diversify_by": {}}), "a weight from 0 to 1"),
        (json!({"diversify_by": {"none": 0.5}}), "none"),
        (json!({"diversify_by": {"embedding": 0.5}, "max_per_value": 2}), "a column of values"),
    ] {
        let problem = list(&connection, first, &options).unwrap_err().to_string();
        assert!(problem.contains(part), "{options}: {problem}");
    }
    let train = "SELECT ltr_train('direct', 'docs', '{\"diversify_by\": {\"embedding\": 0.5}}')";
    assert!(connection.query_row(train, [], |_| Ok(())).unwrap_err().to_string().contains("expected a text"));
}

/// Notes, some of them copies: the subtopics of a list grow with the weight of diversity.
#[test]
fn copies_leave_the_top_of_the_list() {
    let queries: Vec<Json> = golden();
    let connection = documents(&queries);
    // Every third document is a copy of the one before, a little worse.
    connection
        .execute_batch(
            "UPDATE docs SET quality = (SELECT quality - .001 FROM docs AS d WHERE d.query_id = docs.query_id AND d.doc_id = docs.doc_id - 1),
                             embedding = (SELECT embedding FROM docs AS d WHERE d.query_id = docs.query_id AND d.doc_id = docs.doc_id - 1)
              WHERE doc_id % 3 = 2",
        )
        .unwrap();
    let mean = |weight: f64| -> f64 {
        let sql = "SELECT avg(v) FROM (SELECT ltr_metric('alpha_ndcg@5', json_array(embedding), -rank) AS v
                     FROM ltr_rank('quality', 'docs', ?1) JOIN docs USING (query_id, doc_id) GROUP BY query_id)";
        value(&connection, sql, [json!({"diversify_by": {"embedding": weight}}).to_string()])
    };
    let (plain, varied) = (mean(0.0), mean(0.3));
    assert!(varied > plain + 0.05, "{plain} {varied}");
}
