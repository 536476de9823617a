//! Rules 2.29 and 2.30: what trainings on clicks and on few judgments warn of.

use rusqlite::{Connection, params};
use serde_json::{Value, json};
use sqlite_ltr::internals::math::random::Random;

use crate::support::{database, value};

const QUERIES: u32 = 60;
const DOCS: u32 = 8;

/// A log of `lists` lists in the order of the column bm25, a part of them shuffled, and a table of documents. Query q occurs about
/// q^-0.7 times as often as the first; users look at rank r with probability 1 / r. x knows how attractive documents are, and so do
/// flag and discount, which are often 0; price does not.
fn log(seed: u64, lists: u32, shuffled: f64) -> Connection {
    let connection = database();
    connection
        .execute_batch(
            "CREATE TABLE docs(query_id, doc_id, bm25, x, price, flag, discount);
             CREATE TABLE log(impression, query_id, doc_id, position, clicked);
             CREATE TABLE judged(query_id, doc_id, relevance, doc_weight, determined, clicks, shows);",
        )
        .unwrap();
    let mut random = Random::new(seed);
    let mut shown = Vec::new();
    for query in 0..QUERIES {
        let mut docs: Vec<(f64, u32, f64)> = Vec::new();
        for doc in query * DOCS..(query + 1) * DOCS {
            let attraction = 0.35 + 0.35 * random.symmetric();
            let [bm25, x] = [attraction + random.symmetric(), attraction + 0.2 * random.symmetric()];
            let [flag, discount] = [0.6, 0.5].map(|least| attraction + 0.2 * random.symmetric() - least);
            let row =
                params![query, doc, bm25, x, random.symmetric(), f64::from(flag > 0.0), discount.max(0.0)];
            connection.execute("INSERT INTO docs VALUES (?, ?, ?, ?, ?, ?, ?)", row).unwrap();
            docs.push((bm25, doc, attraction));
        }
        docs.sort_by(|a, b| b.0.total_cmp(&a.0));
        shown.push(docs);
    }
    let uniform = |random: &mut Random| 0.5 + 0.5 * random.symmetric();
    let mut insert = connection.prepare("INSERT INTO log VALUES (?, ?, ?, ?, ?)").unwrap();
    for impression in 0..lists {
        let query = ((f64::from(QUERIES) * uniform(&mut random).powf(3.0)) as u32).min(QUERIES - 1);
        let mut docs = shown[query as usize].clone();
        if uniform(&mut random) < shuffled {
            random.shuffle(&mut docs);
        }
        for (at, (_, doc, attraction)) in docs.iter().enumerate() {
            let position = at as f64 + 1.0;
            let clicked = uniform(&mut random) < attraction / position;
            insert.execute(params![impression, query, doc, position, clicked]).unwrap();
        }
    }
    drop(insert);
    connection.execute_batch("CREATE INDEX by_doc ON log(doc_id)").unwrap();
    connection
        .execute_batch(&format!(
            "INSERT INTO judged SELECT query_id, doc_id, relevance, doc_weight, determined,
               (SELECT total(clicked) FROM log WHERE log.doc_id = j.doc_id AND impression < {half}),
               (SELECT count(*) FROM log WHERE log.doc_id = j.doc_id AND impression < {half})
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

/// Kinds of counters of the same clicks.
const COUNTERS: [&str; 6] = [
    "clicks",
    "10 * clicks + 3",
    "clicks / max(shows, 1)",
    "(clicks + 1) / (shows + 10)",
    "(clicks + 2) / (shows + 100)",
    "-(shows + 10) / (clicks + 1)",
];

/// Rule 2.29: counters of the same clicks, and rates of them, are named; features that know what users want are not.
#[test]
fn a_counter_of_the_same_clicks_is_a_warning() {
    let named = |connection: &Connection, columns: &str| {
        let found = warnings(connection, columns, r#"{"lambda": 0.1}"#);
        found.into_iter().find(|text| text.contains("look like counters or rates of the clicks"))
    };
    let honest = "bm25, x, price, flag, discount, -price AS other, 0 + (x > 0.4) + (x > 0.8) AS stars";
    let roles = "doc_weight, determined";
    for shuffled in [0.0, 0.3] {
        let (mut found, mut false_alarms) = ([0; COUNTERS.len()], 0);
        for seed in 1..=10 {
            let connection = log(seed, 3000, shuffled);
            for (kind, counter) in COUNTERS.iter().enumerate() {
                let warning = named(&connection, &format!("{roles}, x, {counter} AS counter"));
                found[kind] += usize::from(warning.is_some_and(|text| text.contains("\"counter\";")));
            }
            false_alarms += usize::from(named(&connection, &format!("{roles}, {honest}")).is_some());
            // Grades that people gave have no column of the log.
            assert_eq!(named(&connection, &format!("{honest}, clicks")), None);
        }
        let least = if shuffled > 0.0 { 5 } else { 9 };
        assert!(found.iter().all(|found| *found >= least) && false_alarms == 0, "{found:?} {false_alarms}");
    }
}

/// Rule 5.37: a gain over the baseline on the clicks that a feature counts is not shown, and the advice to ignore it works.
#[test]
fn a_gain_by_a_counter_is_not_shown() {
    let connection = log(1, 3000, 0.0);
    let source = "SELECT query_id, doc_id, relevance, doc_weight, determined, bm25, price, (clicks + 1) / (shows + 10) AS rate
                  FROM judged JOIN docs USING (query_id, doc_id)";
    let train = |algorithm: &str, options: &str| -> Value {
        let text: String = value(&connection, "SELECT ltr_train(?1, ?2, ?3)", (algorithm, source, options));
        serde_json::from_str(&text).unwrap()
    };
    for algorithm in ["list_net", "boosted_trees", "auto"] {
        let report = train(algorithm, r#"{"baseline": "bm25"}"#);
        let (evidence, warnings) = (&report["evidence"], report["warnings"].to_string());
        assert_eq!(evidence["is_shown"], false, "{algorithm}: {evidence}");
        assert!(
            warnings.contains("look like counters or rates")
                && !warnings.contains("with the option 'baseline'"),
            "{warnings}"
        );
        if report["baseline"]["alone"] == false {
            assert!(warnings.contains("but on clicks that \\\"rate\\\" follows"), "{algorithm}: {warnings}");
        }
        let advice = warnings.split("with the options '").nth(1).and_then(|rest| rest.split('\'').next());
        let mut options: Value =
            serde_json::from_str(&advice.expect("options").replace("\\\"", "\"")).unwrap();
        options["baseline"] = json!("bm25");
        let report = train(algorithm, &options.to_string());
        assert!(!report["warnings"].to_string().contains("look like counters"), "{algorithm}: {report}");
    }
}

/// Rule 2.30: a model of clicks that is not shown to be better says so, unless it starts at a baseline.
#[test]
fn a_model_of_clicks_that_is_not_shown_to_be_better_says_so() {
    let connection = log(3, 200, 0.0);
    let columns = "doc_weight, determined, bm25, price";
    // Clicks in one order have a warning that says more.
    let doubts = |columns: &str, options: &str| {
        let all = warnings(&connection, columns, options);
        let is_doubt = |text: &&String| {
            text.starts_with("not shown to be better than ORDER BY") || text.contains("cannot be separated")
        };
        all.iter().filter(is_doubt).count()
    };
    assert_eq!(doubts(columns, "{}"), 1);
    assert_eq!(doubts("doc_weight, 0.9 AS determined, bm25, price", "{}"), 1);
    assert_eq!(doubts("doc_weight, 0.9 AS determined, bm25, price", r#"{"baseline": "bm25"}"#), 0);
}

/// Rule 2.30: with few judged queries or a baseline, evidence that shows nothing is a warning too; with many it is not.
#[test]
fn a_model_of_few_thumbs_that_is_not_shown_to_be_better_says_so() {
    let connection = database();
    let fill = |queries: u32, gain: f64, seed: u64| {
        let mut random = Random::new(seed);
        connection
            .execute_batch("DROP TABLE IF EXISTS t; CREATE TABLE t(query_id, doc_id, relevance, fused, a, b)")
            .unwrap();
        for row in 0..queries * 8 {
            let [fused, a, b, noise] = std::array::from_fn(|_| random.symmetric());
            let up = fused + gain * a + 0.6 * noise > 0.0;
            let row = params![row / 8, row, u8::from(up), fused, a, b];
            connection.execute("INSERT INTO t VALUES (?, ?, ?, ?, ?, ?)", row).unwrap();
        }
    };
    let report = |algorithm: &str, options: &str| -> Value {
        let text: String = value(&connection, "SELECT ltr_train(?1, 't', ?2)", (algorithm, options));
        serde_json::from_str(&text).unwrap()
    };
    let says = |report: &Value| {
        let texts = ["not shown to be better", "nothing is shown to be better", "not better than"];
        let warnings = report["warnings"].to_string();
        texts.iter().any(|text| warnings.contains(text))
    };
    let (mut shown, mut not_shown) = (0, 0);
    for algorithm in ["rank_svm", "list_net", "regression", "boosted_trees", "auto"] {
        for (queries, gain, options) in [
            (20, 0.0, "{}"),
            (40, 0.1, "{}"),
            (40, 2.0, "{}"),
            (40, 0.1, r#"{"baseline": "fused"}"#),
            (100, 0.1, r#"{"baseline": "fused"}"#),
            (40, 2.0, r#"{"baseline": "fused"}"#),
        ] {
            fill(queries, gain, u64::from(queries));
            let report = report(algorithm, options);
            let is_shown = report["evidence"]["is_shown"] == true;
            (shown, not_shown) = (shown + usize::from(is_shown), not_shown + usize::from(!is_shown));
            assert_eq!(says(&report), !is_shown, "{algorithm} {queries} {gain} {options}: {report}");
        }
        // Many queries.
        fill(100, 0.3, 1);
        let warnings = report(algorithm, "{}")["warnings"].to_string();
        assert!(!warnings.contains("not shown to be better"), "{algorithm}: {warnings}");
    }
    assert!(shown >= 5 && not_shown > 5, "{shown} {not_shown}");
    // Without an option 'baseline' the advice is another one.
    fill(20, 0.0, 2);
    let warnings = report("perceptron", "{}")["warnings"].to_string();
    assert!(!warnings.contains("set the option 'baseline'"), "{warnings}");
}
