//! Rule 2.13: A model finds the columns of its training again, whatever their names and whatever else a source has.

use rusqlite::types::Value as Cell;
use rusqlite::{Connection, Params};
use serde_json::json;
use sqlite_ltr::internals::math::random::Random;

use super::support::database;

/// Names for the columns of a training. Many are default names of other roles.
const NAMES: &[&str] = &[
    "query_id",
    "qid",
    "query",
    "user",
    "session",
    "Visit No",
    "doc_id",
    "doc",
    "document",
    "item",
    "product",
    "the \"doc\"",
    "relevance",
    "label",
    "grade",
    "rating",
    "stars",
    "weight",
    "slot",
    "features",
    "q_x",
    "query_features",
    "price",
    "é",
    "1",
];

/// Names for further columns of a source.
const FURTHER: &[&str] = &[
    "user_id",
    "document_id",
    "item_id",
    "rel",
    "grade",
    "rating",
    "label",
    "doc",
    "weight",
    "features",
    "query_features",
    "slot",
    "id",
    "q_y",
];

fn same(a: &str, b: &str) -> bool {
    a.eq_ignore_ascii_case(b)
}

/// A list in a random order.
fn shuffled<T>(mut list: Vec<T>, random: &mut Random) -> Vec<T> {
    random.shuffle(&mut list);
    list
}

fn any_case(name: &str, random: &mut Random) -> String {
    match random.below(3) {
        0 => name.to_ascii_uppercase(),
        1 => name.to_ascii_lowercase(),
        _ => name.to_owned(),
    }
}

fn quote(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A SELECT of `rows`, whose column number i of c0, c1, ... gets the name number i; further columns are -1.
fn source(names: &[&str], further: &[&str], random: &mut Random) -> String {
    let own = names.iter().enumerate().map(|(number, name)| (format!("c{number}"), *name));
    let all = own.chain(further.iter().map(|name| ("-1".to_owned(), *name))).collect();
    let columns = shuffled(all, random).into_iter();
    let columns = columns.map(|(value, name)| format!("{value} AS {}", quote(&any_case(name, random))));
    format!("SELECT {} FROM rows", columns.collect::<Vec<_>>().join(", "))
}

fn rows(connection: &Connection, sql: &str, params: impl Params) -> Vec<Vec<Cell>> {
    let mut statement = connection.prepare(sql).unwrap();
    let columns = statement.column_count();
    let row = |row: &rusqlite::Row<'_>| (0..columns).map(|column| row.get(column)).collect();
    let found = statement.query_map(params, row).unwrap_or_else(|error| panic!("{sql}: {error}"));
    found.collect::<Result<_, _>>().unwrap_or_else(|error| panic!("{sql}: {error}"))
}

#[test]
fn a_model_finds_its_columns_among_others() {
    let connection = database();
    connection
        .execute_batch(
            "CREATE TABLE rows AS WITH n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < 23)
             SELECT i / 6 AS c0, 100 + i AS c1, i * 5 % 3 AS c2, i * 7 % 11 / 11.0 AS c3, i * 5 % 13 / 13.0 AS c4 FROM n",
        )
        .unwrap();
    let mut random = Random::new(13);
    for case in 0..150 {
        // 1. A training whose columns have random names.
        let names: Vec<&str> = shuffled(NAMES.to_vec(), &mut random).into_iter().take(5).collect();
        let columns =
            json!({ "query": names[0], "doc": names[1], "relevance": names[2], "features": names[3..] });
        let options = json!({ "columns": columns, "lambda": 0.1, "name": "m" }).to_string();
        let training = source(&names, &[], &mut random);
        connection
            .query_row("SELECT ltr_train('rank_svm', ?1, ?2)", (&training, &options), |_| Ok(()))
            .unwrap();
        // 2. The same rows with further columns, in another order, without and with the option.
        let free = FURTHER.iter().filter(|name| !names.iter().any(|other| same(name, other))).copied();
        let further: Vec<&str> = shuffled(free.collect(), &mut random).into_iter().take(4).collect();
        let later = source(&names, &further, &mut random);
        let columns = json!({ "columns": columns }).to_string();
        for function in ["ltr_rank", "ltr_evaluate"] {
            let expected =
                rows(&connection, &format!("SELECT * FROM {function}('m', ?1, ?2)"), (&training, &columns));
            let actual = rows(&connection, &format!("SELECT * FROM {function}('m', ?1)"), [&later]);
            assert_eq!(actual, expected, "case {case}: {function} of {later}");
        }
        // 3. A feature is never the label.
        let label = json!({ "columns": { "relevance": names[3] } }).to_string();
        let sql = "SELECT count(*) FROM ltr_evaluate('m', ?1, ?2)";
        let error = connection.query_row(sql, (&later, label), |_| Ok(())).unwrap_err().to_string();
        assert!(error.contains("is a feature of the model"), "{error}");
    }
}
