//! Documents at slots: the loss `matching` with every smoothing and kernel, arrangements in SQL, also with blocks.

use rusqlite::Connection;
use serde_json::{Value, json};
use sqlite_ltr::internals::model::Model;
use sqlite_ltr::internals::{learn::kernel, learn::smoothing};

/// Twelve queries of five documents at three slots; a slot wants the document with the nearest features.
const SCHEMA: &str = "
CREATE TABLE cells(query_id, doc_id, slot, relevance, near REAL, far REAL, q_kind REAL, shuffle);
WITH RECURSIVE
  queries(q) AS (VALUES (1) UNION ALL SELECT q + 1 FROM queries WHERE q < 12),
  documents(d) AS (VALUES (1) UNION ALL SELECT d + 1 FROM documents WHERE d < 5),
  slots(s) AS (VALUES (0), (1), (2)),
  raw AS (SELECT q, d, s, (2 * d + q) % 5 AS place, ((d * 7919 + q * 104729 + s * 31) % 101) / 101.0 AS noise FROM queries, documents, slots)
INSERT INTO cells
SELECT q, d, 'slot ' || s, place = s, 1.0 - abs(place - s) / 5.0 + 0.1 * noise, noise, q / 12.0, (d * 6007 + q * 30011 + s * 13) % 997 FROM raw;";

fn connect() -> Connection {
    let connection = Connection::open_in_memory().unwrap();
    sqlite_ltr::register(&connection).unwrap();
    connection.execute_batch(SCHEMA).unwrap();
    connection
}

fn cells(which: &str, order: &str) -> String {
    format!(
        "SELECT query_id, doc_id, slot, relevance, near, far, q_kind FROM cells WHERE {which} ORDER BY {order}"
    )
}

fn fit(connection: &Connection, source: &str, options: &Value) -> Vec<u8> {
    let sql = "SELECT ltr_fit('matching', ?1, ?2)";
    connection.query_row(sql, (source, options.to_string()), |row| row.get(0)).unwrap()
}

/// Query, document, slot, score and whether the document belongs there.
fn ranked(connection: &Connection, model: &[u8], source: &str) -> Vec<(i64, i64, String, f64, bool)> {
    let sql = "SELECT r.query_id, r.doc_id, r.slot, r.score, c.relevance FROM ltr_rank(?1, ?2) AS r
               JOIN cells AS c USING (query_id, doc_id, slot) ORDER BY r.query_id, r.rank";
    let mut statement = connection.prepare(sql).unwrap();
    let rows = statement.query_map((model, source), |row| {
        Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?))
    });
    rows.unwrap().collect::<Result<_, _>>().unwrap()
}

#[test]
fn every_smoothing_and_kernel_fills_every_slot_once() {
    let connection = connect();
    let (known, new) = (cells("query_id < 9", "shuffle"), cells("query_id > 8", "query_id"));
    for smoothing in smoothing::SmoothingKind::NAMES {
        for kernel in kernel::NAMES {
            let what = format!("{smoothing} {kernel}");
            let options = |threads: usize| json!({ "lambda": 0.01, "smoothing": smoothing, "kernel": kernel, "threads": threads });
            let model = fit(&connection, &known, &options(1));
            assert!(
                model == fit(&connection, &cells("query_id < 9", "query_id, slot"), &options(2)),
                "{what}"
            );
            let again = Model::from_bytes(&model).unwrap().to_bytes().unwrap();
            assert!(model == again, "{what}");
            let rows = ranked(&connect(), &model, &new);
            assert_eq!(rows.len(), 12, "{what}");
            for page in rows.chunks(3) {
                let mut places: Vec<(i64, &str)> = page.iter().map(|row| (row.1, &row.2[..])).collect();
                places.sort_by_key(|place| place.1.to_owned());
                assert_eq!(
                    places.iter().map(|place| place.1).collect::<Vec<_>>(),
                    ["slot 0", "slot 1", "slot 2"]
                );
                places.sort_by_key(|place| place.0);
                places.dedup_by_key(|place| place.0);
                assert_eq!(places.len(), 3, "{what}: a document is at two slots");
                assert!(page.is_sorted_by(|a, b| a.3 >= b.3), "{what}: rank 1 is best");
            }
        }
    }
}

#[test]
fn what_is_learned_holds_for_new_queries() {
    let connection = connect();
    let model = fit(&connection, &cells("query_id < 9", "shuffle"), &json!({}));
    let rows = ranked(&connection, &model, &cells("query_id > 8", "shuffle"));
    assert!(rows.iter().all(|row| row.4), "{rows:?}");
}

#[test]
fn a_query_that_cannot_be_filled_is_named() {
    let connection = connect();
    let model = fit(&connection, &cells("query_id < 9", "shuffle"), &json!({ "lambda": 0.01 }));
    let broken = cells("query_id = 10 AND (doc_id = 1 OR slot = 'slot 1')", "doc_id");
    let rank = |source: &str| {
        connection
            .query_row("SELECT count(*) FROM ltr_rank(?1, ?2)", (&model, source), |row| row.get::<_, i64>(0))
    };
    let error = rank(&broken).unwrap_err().to_string();
    assert_eq!(
        error,
        "ltr_rank: query 10: 3 slots and 5 documents, but its rows allow at most 2 of the slots to be matched; \
         add rows for more documents at slots"
    );
    let twice = format!(
        "{} UNION ALL SELECT * FROM ({})",
        &cells("query_id = 10", "doc_id").replace(" ORDER BY doc_id", ""),
        cells("query_id = 10", "doc_id")
    );
    let error = rank(&twice).unwrap_err().to_string();
    assert_eq!(error, "ltr_rank: query 10: two rows have the same document and slot");
    // Fewer documents than slots: every document gets a slot.
    assert_eq!(rank(&cells("query_id = 10 AND doc_id < 3", "doc_id")).unwrap(), 2);
}

/// Rows in the order of queries and slots.
fn by_slot(mut rows: Vec<(i64, i64, String, f64, bool)>) -> Vec<(i64, i64, String, f64, bool)> {
    rows.sort_by(|a, b| (a.0, &a.2).cmp(&(b.0, &b.2)));
    rows
}

#[test]
fn costs_of_slots_change_the_function() {
    let connection = connect();
    let source = "SELECT query_id, doc_id, slot, relevance, near, far FROM cells WHERE query_id < 9";
    let fitted = |options: &Value| {
        let sql = "SELECT ltr_fit('matching', ?1, ?2)";
        connection.query_row(sql, (source, options.to_string()), |row| row.get::<_, Vec<u8>>(0))
    };
    let third = 1.0 / 3.0;
    let usual = fitted(&json!({"lambda": 0.01})).unwrap();
    let rows = |model: &[u8]| by_slot(ranked(&connection, model, &cells("query_id > 8", "query_id")));
    let equal = fitted(&json!({"lambda": 0.01, "slot_costs": [third, third, third]})).unwrap();
    assert_eq!(rows(&usual), rows(&equal));
    // The loss is positively homogeneous in costs and scores: f / t with costs / t and lambda * t.
    let tenth = fitted(
        &json!({"lambda": 0.1, "slot_costs": [0.1 * third, 0.1 * third, 0.1 * third], "tolerance": 1e-8}),
    )
    .unwrap();
    let exact =
        fitted(&json!({"lambda": 0.01, "slot_costs": [third, third, third], "tolerance": 1e-8})).unwrap();
    for (small, large) in rows(&tenth).iter().zip(rows(&exact)) {
        assert!((10.0 * small.3 - large.3).abs() < 1e-2 * large.3.abs().max(1.0), "{small:?}, {large:?}");
    }
    let costly = fitted(&json!({"lambda": 0.01, "slot_costs": [3, 0.1, 0.1]})).unwrap();
    assert!(rows(&costly) != rows(&usual));
    let card: String = connection.query_row("SELECT ltr_info(?1)", [&costly], |row| row.get(0)).unwrap();
    let card: Value = serde_json::from_str(&card).unwrap();
    assert_eq!(card["settings"]["slot_costs"], json!([3, 0.1, 0.1]), "{card}");
    let error = fitted(&json!({"lambda": 1, "slot_costs": [1, 2]})).unwrap_err().to_string();
    assert!(error.contains("query 1: 3 slots, but the option 'slot_costs' has 2 numbers"), "{error}");
    let error = fitted(&json!({"lambda": 1, "slot_costs": [1, 0, 2]})).unwrap_err().to_string();
    assert!(error.contains("option 'slot_costs': got [1,0,2], expected an array of up to 1000 numbers from 0.000000001 to 1000000000"), "{error}");
}

/// A slot has the same cost if the first document has no row for another slot.
#[test]
fn costs_belong_to_slots_in_ascending_order() {
    let connection = connect();
    let fitted = |keep: &str, names: &str, costs: Value| -> Vec<u8> {
        let source = format!(
            "SELECT query_id, doc_id, {names} AS slot, relevance, near, far FROM cells WHERE query_id < 9 AND ({keep})"
        );
        fit(&connection, &source, &json!({"lambda": 0.01, "slot_costs": costs, "tolerance": 1e-9}))
    };
    // Document 1 has rows for its own slot and for 'slot 2' only, so 'slot 2' may come first.
    let keep = "doc_id > 1 OR slot = 'slot 2' OR relevance";
    let reversed = "'slot ' || (2 - substr(slot, 6))";
    let shown = |model: &[u8]| by_slot(ranked(&connection, model, &cells("query_id > 8", "query_id")));
    let one = shown(&fitted(keep, "slot", json!([5, 1, 0.1])));
    let two = shown(&fitted(keep, reversed, json!([0.1, 1, 5])));
    for (a, b) in one.iter().zip(&two) {
        assert!(a.1 == b.1 && (a.3 - b.3).abs() < 0.02 * a.3.abs().max(1.0), "{a:?}, {b:?}");
    }
}
