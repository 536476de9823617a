//! Rules 2.29 and 2.30: what trainings on clicks warn of.

use rusqlite::{Connection, params};
use sqlite_ltr::internals::math::random::Random;

use crate::support::{database, value};

const QUERIES: u32 = 60;
const DOCS: u32 = 8;

/// A log of `lists` lists in the order of the column bm25, and a table of documents. Query q occurs about q^-0.7 times as often as the
/// first; users look at rank r with probability 1 / r. x knows how attractive documents are, price does not.
fn log(seed: u64, lists: u32) -> Connection {
    let connection = database();
    connection
        .execute_batch(
            "CREATE TABLE docs(query_id, doc_id, bm25, x, price);
             CREATE TABLE log(impression, query_id, doc_id, position, clicked);
             CREATE TABLE judged(query_id, doc_id, relevance, doc_weight, determined, clicks);",
        )
        .unwrap();
    let mut random = Random::new(seed);
    let mut shown = Vec::new();
    for query in 0..QUERIES {
        let mut docs: Vec<(f64, u32, f64)> = Vec::new();
        for doc in query * DOCS..(query + 1) * DOCS {
            let attraction = 0.35 + 0.35 * random.symmetric();
            let [bm25, x] = [attraction + random.symmetric(), attraction + 0.2 * random.symmetric()];
            let row = params![query, doc, bm25, x, random.symmetric()];
            connection.execute("INSERT INTO docs VALUES (?, ?, ?, ?, ?)", row).unwrap();
            docs.push((bm25, doc, attraction));
        }
        docs.sort_by(|a, b| b.0.total_cmp(&a.0));
        shown.push(docs);
    }
    let uniform = |random: &mut Random| 0.5 + 0.5 * random.symmetric();
    let mut insert = connection.prepare("INSERT INTO log VALUES (?, ?, ?, ?, ?)").unwrap();
    for impression in 0..lists {
        let query = ((f64::from(QUERIES) * uniform(&mut random).powf(3.0)) as u32).min(QUERIES - 1);
        for (at, (_, doc, attraction)) in shown[query as usize].iter().enumerate() {
            let position = at as f64 + 1.0;
            let clicked = uniform(&mut random) < attraction / position;
            insert.execute(params![impression, query, doc, position, clicked]).unwrap();
        }
    }
    drop(insert);
    connection
        .execute_batch(&format!(
            "INSERT INTO judged SELECT query_id, doc_id, relevance, doc_weight, determined,
               (SELECT total(clicked) FROM log WHERE log.doc_id = j.doc_id AND impression < {half})
               FROM ltr_judgments('SELECT * FROM log WHERE impression >= {half}') AS j",
            half = lists / 2
        ))
        .unwrap();
    connection
}

fn warnings(connection: &Connection, columns: &str, options: &str) -> Vec<String> {
    let sql = format!(
        "SELECT ltr_train('list_net', 'SELECT query_id, doc_id, relevance, {columns} FROM judged JOIN docs USING (query_id, doc_id)', \
         '{options}') ->> 'warnings'"
    );
    serde_json::from_str(&value::<String>(connection, &sql, [])).unwrap()
}

/// Rule 2.29: a counter of the same clicks is named; features that know what users want are not.
#[test]
fn a_counter_of_the_same_clicks_is_a_warning() {
    let named = |connection: &Connection, columns: &str| {
        let found = warnings(connection, columns, r#"{"lambda": 0.1}"#);
        found.into_iter().find(|text| text.contains("look like counters of the clicks"))
    };
    let roles = "doc_weight, determined, bm25, x, price";
    let (mut found, mut false_alarms) = (0, 0);
    for seed in 1..=10 {
        let connection = log(seed, 3000);
        let warning = named(&connection, &format!("{roles}, clicks"));
        found += usize::from(warning.as_ref().is_some_and(|text| text.contains("document): \"clicks\";")));
        false_alarms += usize::from(named(&connection, roles).is_some());
        // Grades that people gave have no column of the log.
        assert_eq!(named(&connection, "bm25, x, price, clicks"), None);
    }
    assert!(found >= 9 && false_alarms == 0, "{found} found, {false_alarms} false");
}

/// Rule 2.30: a model of clicks that is not shown to be better says so, unless it starts at a baseline.
#[test]
fn a_model_of_clicks_that_is_not_shown_to_be_better_says_so() {
    let connection = log(3, 200);
    let columns = "doc_weight, determined, bm25, price";
    let doubts = |columns: &str, options: &str| {
        let all = warnings(&connection, columns, options);
        all.iter().filter(|text| text.starts_with("not shown to be better than ORDER BY")).count()
    };
    assert_eq!(doubts(columns, "{}"), 1);
    assert_eq!(doubts(columns, r#"{"baseline": "bm25"}"#), 0);
    assert_eq!(doubts("bm25, price", "{}"), 0);
}
