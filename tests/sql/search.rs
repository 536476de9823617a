//! Rules 5.35, 6.10, 6.11, 8.16: candidates from a view, from judgments to the ranking of a text.

use rusqlite::Connection;
use serde_json::{Value, json};
use sqlite_ltr::internals::math::random::Random;

use super::support::{database, value};

const WORDS: [&str; 12] =
    ["blue", "red", "green", "shoes", "hat", "leather", "running", "warm", "cheap", "summer", "kids", "soft"];

/// A shop: 300 products with texts, prices and brands, the view `shop_candidates`, and judgments of 40 queries of two words. A
/// judgment is high if the item_id has both words and is cheap; some are about products without the words.
pub(super) fn shop(connection: &Connection, schema: &str) {
    let mut random = Random::new(7);
    let mut word = move || WORDS[random.below(WORDS.len())];
    let tables = format!(
        "CREATE VIRTUAL TABLE {schema}.docs USING fts5(title, body);
         CREATE TABLE {schema}.products(id INTEGER PRIMARY KEY, price REAL, brand TEXT);
         CREATE TABLE {schema}.judgments(query TEXT, item_id INTEGER, grade INTEGER);
         CREATE VIEW {schema}.shop_candidates AS
         SELECT q.query AS query_id, docs.rowid AS doc_id, length(q.query) AS q_length, bm25(docs) AS bm25, price, brand
           FROM ltr_query AS q JOIN docs ON docs MATCH ltr_fts_query(q.query, '{{\"words\": \"any\"}}')
           JOIN products ON id = docs.rowid"
    );
    connection.execute_batch(&tables).unwrap();
    for id in 1..=300_i64 {
        let (title, body) = ([word(), word()].join(" "), [word(), word(), word(), word()].join(" "));
        let docs = format!("INSERT INTO {schema}.docs(rowid, title, body) VALUES (?1, ?2, ?3)");
        connection.execute(&docs, (id, title, body)).unwrap();
        let products = format!("INSERT INTO {schema}.products VALUES (?1, ?2, ?3)");
        connection
            .execute(&products, (id, (id * 37 % 101) as f64, ["a", "b", "c"][id as usize % 3]))
            .unwrap();
    }
    for _ in 0..40 {
        let query = [word(), word()].join(" ");
        let insert = format!(
            "INSERT INTO {schema}.judgments
             SELECT ?1, rowid, (title LIKE '%' || ?2 || '%') + (title LIKE '%' || ?3 || '%') + (rowid * 37 % 101 < 40)
               FROM {schema}.docs WHERE docs MATCH ?2 || ' OR ' || ?3 AND rowid % 3 = 0
             UNION ALL SELECT ?1, rowid, 1 FROM {schema}.docs WHERE rowid % 23 = length(?1)"
        );
        let words: Vec<&str> = query.split(' ').collect();
        connection.execute(&insert, (&query, words[0], words[1])).unwrap();
    }
    // Each document once.
    let once = "rowid NOT IN (SELECT min(rowid) FROM {schema}.judgments GROUP BY query, item_id)";
    let delete = format!("DELETE FROM {schema}.judgments WHERE {}", once.replace("{schema}", schema));
    connection.execute_batch(&delete).unwrap();
}

pub(super) fn train(connection: &Connection, algorithm: &str, options: &Value) -> Value {
    let text: String = value(
        connection,
        "SELECT ltr_train(?1, 'SELECT DISTINCT * FROM judgments', ?2)",
        (algorithm, options.to_string()),
    );
    serde_json::from_str(&text).unwrap()
}

pub(super) fn pairs(connection: &Connection, sql: &str, params: impl rusqlite::Params) -> Vec<(i64, f64)> {
    let mut statement = connection.prepare(sql).unwrap();
    let rows = statement.query_map(params, |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    rows.collect::<Result<_, _>>().unwrap()
}

pub(super) fn problem(connection: &Connection, sql: &str) -> String {
    let mut statement = match connection.prepare(sql) {
        Ok(statement) => statement,
        Err(error) => return error.to_string(),
    };
    let mut rows = statement.query([]).unwrap();
    loop {
        match rows.next() {
            Ok(Some(_)) => {}
            Ok(None) => panic!("{sql}: no error"),
            Err(error) => return error.to_string(),
        }
    }
}

pub(super) fn warnings(connection: &Connection) -> String {
    value(connection, "SELECT json_extract(ltr_debug(), '$.last_warnings')", [])
}

/// The same rows without a view: a join for the training, and one for each text.
pub(super) const JOINED: &str =
    "SELECT c.*, j.grade AS relevance FROM (SELECT DISTINCT * FROM judgments) AS j JOIN each AS c
    ON c.query_id = j.query AND c.doc_id = j.item_id";
pub(super) const EACH: &str = "CREATE TEMP TABLE texts(query TEXT);
    CREATE TEMP VIEW each AS SELECT q.query AS query_id, docs.rowid AS doc_id, length(q.query) AS q_length, bm25(docs) AS bm25,
        price, brand FROM texts AS q JOIN docs ON docs MATCH ltr_fts_query(q.query, '{\"words\": \"any\"}')
        JOIN products ON id = docs.rowid";

#[test]
fn a_search_scores_as_a_ranking_of_the_same_rows() {
    let connection = database();
    shop(&connection, "main");
    connection.execute_batch(EACH).unwrap();
    connection.execute_batch("INSERT INTO texts SELECT DISTINCT query FROM judgments").unwrap();
    let algorithms = ["rank_svm", "list_net", "boosted_trees", "q_svm", "auto"];
    for algorithm in algorithms {
        // 1. The training reads the same rows.
        let mut options = json!({"name": "view", "candidates": "shop_candidates"});
        if algorithm == "boosted_trees" {
            options["trees"] = json!(20);
        }
        let report = train(&connection, algorithm, &options);
        let candidates = &report["view"];
        assert_eq!(candidates["found"], report["documents"], "{candidates}");
        options["name"] = json!("join");
        options.as_object_mut().unwrap().remove("candidates");
        let join: String =
            value(&connection, "SELECT ltr_train(?1, ?2, ?3)", (algorithm, JOINED, options.to_string()));
        let join: Value = serde_json::from_str(&join).unwrap();
        for key in ["documents", "queries", "features", "lambda", "validation"] {
            assert_eq!(report[key], join[key], "{algorithm}: {key}");
        }
        // 2. So do searches, of known and of new texts.
        for text in ["blue shoes", "warm", "kids hat", "soft running cheap"] {
            let found = pairs(&connection, "SELECT doc_id, score FROM ltr_search('view', ?1)", [text]);
            connection.execute_batch("DELETE FROM texts").unwrap();
            connection.execute("INSERT INTO texts VALUES (?1)", [text]).unwrap();
            let sql = "SELECT doc_id, score FROM ltr_rank('join', 'each') ORDER BY rank";
            assert_eq!(found, pairs(&connection, sql, []), "{algorithm}: {text}");
            assert!(found.len() > 10, "{algorithm}: {text}");
            let first =
                pairs(&connection, "SELECT doc_id, score FROM ltr_search('view', ?1, '{\"k\": 3}')", [text]);
            assert_eq!(first, found[..3]);
        }
        connection
            .execute_batch("DELETE FROM texts; INSERT INTO texts SELECT DISTINCT query FROM judgments")
            .unwrap();
    }
    assert_eq!(value::<i64>(&connection, "SELECT count(*) FROM ltr_query", []), 0);
    assert_eq!(
        value::<String>(&connection, "SELECT ltr_info('view') ->> 'candidates'", []),
        "shop_candidates"
    );
}

#[test]
fn an_evaluation_counts_from_the_query_on() {
    let connection = database();
    shop(&connection, "main");
    let report = train(&connection, "rank_svm", &json!({"name": "shop", "candidates": "shop_candidates"}));
    // 1. What the view does not return.
    let judged: i64 = value(&connection, "SELECT count(*) FROM (SELECT DISTINCT * FROM judgments)", []);
    let candidates = &report["view"];
    let missing: u64 =
        candidates["missing"].as_object().unwrap().values().map(|count| count.as_u64().unwrap()).sum();
    assert!(missing > 0 && candidates["unjudged"].as_u64() > Some(0), "{candidates}");
    assert_eq!(candidates["found"].as_u64().unwrap() + missing, judged as u64);
    // 2. The metrics by brute force: each text is searched, its judged documents are the list, all judged documents the ideal.
    let mut statement = connection.prepare("SELECT DISTINCT query FROM judgments ORDER BY query").unwrap();
    let queries: Vec<String> =
        statement.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap();
    let gain = |grade: f64| grade.exp2() - 1.0;
    let dcg = |grades: &[f64]| -> f64 {
        grades.iter().take(10).zip(2..).map(|(grade, rank)| gain(*grade) / f64::from(rank).log2()).sum()
    };
    let (mut ndcg, mut zero, mut share) = (Vec::new(), Vec::new(), Vec::new());
    for query in &queries {
        let grades =
            pairs(&connection, "SELECT DISTINCT item_id, grade FROM judgments WHERE query = ?1", [query]);
        let found = pairs(&connection, "SELECT doc_id, score FROM ltr_search('shop', ?1)", [query]);
        let grade_of = |doc: i64| grades.iter().find(|(known, _)| *known == doc).map(|(_, grade)| *grade);
        let list: Vec<f64> = found.iter().filter_map(|(doc, _)| grade_of(*doc)).collect();
        let mut ideal: Vec<f64> = grades.iter().map(|(_, grade)| *grade).collect();
        ideal.sort_by(|a, b| b.total_cmp(a));
        if dcg(&ideal) > 0.0 {
            ndcg.push(dcg(&list) / dcg(&ideal));
            let all: Vec<f64> = found.iter().map(|(doc, _)| grade_of(*doc).unwrap_or(0.0)).collect();
            zero.push(dcg(&all) / dcg(&ideal));
        }
        if !found.is_empty() {
            let first = &found[..found.len().min(10)];
            let count = first.iter().filter(|(doc, _)| grade_of(*doc).is_some()).count();
            share.push(count as f64 / first.len() as f64);
        }
    }
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let with = |metric: &str, options: &str| -> f64 {
        let sql = "SELECT value FROM ltr_evaluate('shop', 'SELECT DISTINCT * FROM judgments', ?2) WHERE query_id IS NULL AND metric = ?1";
        value(&connection, sql, [metric, options])
    };
    let of = |metric: &str| with(metric, "{}");
    // Equal scores count with their mean over orders, so the order of a search is one of them.
    assert!((of("ndcg@10") - mean(&ndcg)).abs() < 0.01, "{} {}", of("ndcg@10"), mean(&ndcg));
    assert!((of("judged@10") - mean(&share)).abs() < 1e-12);
    // Rule 8.17.
    let counted = with("ndcg@10", r#"{"unjudged": 0}"#);
    assert!((counted - mean(&zero)).abs() < 0.01 && counted < of("ndcg@10"), "{counted} {}", mean(&zero));
    assert!(of("best ndcg@10") >= of("ndcg@10"));
    assert_eq!(candidates["best"]["ndcg@10"], json!(of("best ndcg@10")));
    assert!(warnings(&connection).contains("relevant documents are not among the candidates"));
    // 3. Rows with the features are evaluated directly.
    connection.execute_batch(EACH).unwrap();
    connection.execute_batch("INSERT INTO texts SELECT DISTINCT query FROM judgments").unwrap();
    let sql = "SELECT count(*) FROM ltr_evaluate('shop', ?1) WHERE metric <> 'ndcg@10'";
    assert_eq!(value::<i64>(&connection, sql, [JOINED]), 0);
}

/// The types of ids differ as after an import of CSV.
#[test]
fn ids_of_another_type_are_the_same_documents() {
    let connection = database();
    shop(&connection, "main");
    let options = json!({"name": "shop", "candidates": "shop_candidates", "lambda": 1});
    let numbers = train(&connection, "rank_svm", &options);
    let sql = "SELECT ltr_train('rank_svm', 'SELECT DISTINCT query, CAST(item_id AS TEXT) AS doc_id, CAST(grade AS TEXT) AS relevance
        FROM judgments', ?1)";
    let texts: Value =
        serde_json::from_str(&value::<String>(&connection, sql, [options.to_string()])).unwrap();
    assert_eq!(numbers["view"], texts["view"]);
}

#[test]
fn changes_and_faults_of_a_view_are_reported() {
    let connection = database();
    shop(&connection, "main");
    let search = "SELECT * FROM ltr_search('shop', 'blue shoes')";
    let count = |sql: &str| value::<i64>(&connection, &sql.replace('*', "count(*)"), []);
    assert!(problem(&connection, search).contains("no table ltr_models yet"));
    // 1. Views that give no training.
    for (sql, view, message) in [
        ("", "absent", "no view of this name in the database 'main'"),
        ("", "docs", "a table; candidates are a view"),
        ("CREATE TEMP VIEW fleeting AS SELECT 1", "fleeting", "no view of this name"),
        ("CREATE VIEW no_query AS SELECT rowid AS doc_id, 1 AS x FROM docs", "no_query", "query"),
        (
            "CREATE VIEW fixed AS SELECT 'socks' AS query_id, rowid AS doc_id, 1 AS x FROM docs",
            "fixed",
            "does not read ltr_query",
        ),
        (
            "CREATE VIEW empty AS SELECT query AS query_id, 1 AS doc_id, 1 AS x FROM ltr_query WHERE 0",
            "empty",
            "no candidates for the",
        ),
        (
            "CREATE VIEW others AS SELECT query AS query_id, 'x' AS doc_id, 1 AS x FROM ltr_query",
            "others",
            "none of its candidates was judged",
        ),
        (
            "CREATE VIEW twice AS SELECT query AS query_id, docs.rowid AS doc_id, 1 AS grade FROM ltr_query, docs",
            "twice",
            "named like the relevance of the judgments",
        ),
        (
            "CREATE VIEW broken AS SELECT query AS query_id, x FROM ltr_query, gone",
            "broken",
            "no such table: main.gone",
        ),
        (
            "CREATE VIEW nested AS SELECT query AS query_id, doc_id, score FROM ltr_query, ltr_search('shop', query)",
            "nested",
            "must not search",
        ),
    ] {
        connection.execute_batch(sql).unwrap();
        let options = json!({"candidates": view}).to_string();
        let sql = format!("SELECT ltr_train('rank_svm', 'judgments', '{options}')");
        assert!(problem(&connection, &sql).contains(message), "{view}: {}", problem(&connection, &sql));
    }
    // 2. Changes after the training.
    train(&connection, "rank_svm", &json!({"name": "shop", "candidates": "shop_candidates", "lambda": 1}));
    let before = count(search);
    assert_eq!((before > 0, &*warnings(&connection)), (true, "[]"));
    connection.execute_batch("ALTER TABLE products ADD COLUMN color; CREATE TABLE more(x)").unwrap();
    assert_eq!(count(search), before);
    assert!(
        warnings(&connection).contains("changed since the training: products;"),
        "{}",
        warnings(&connection)
    );
    assert_eq!(count(search), before);
    assert!(warnings(&connection).contains("products"), "a kept statement warns, too");
    // A view of the same name in temp is not the view of the model.
    connection.execute_batch("CREATE TEMP VIEW shop_candidates AS SELECT 1 AS doc_id").unwrap();
    assert_eq!(count(search), before);
    let view: String = value(&connection, "SELECT sql FROM sqlite_master WHERE name = 'shop_candidates'", []);
    connection.execute_batch("DROP VIEW main.shop_candidates").unwrap();
    assert!(problem(&connection, search).contains(&view), "{}", problem(&connection, search));
    connection.execute_batch(&view.replace("bm25(docs) AS bm25, ", "")).unwrap();
    assert!(problem(&connection, search).contains("bm25"), "{}", problem(&connection, search));
    connection.execute_batch(&format!("DROP VIEW main.shop_candidates; {view}; DELETE FROM docs")).unwrap();
    assert!(
        problem(&connection, "SELECT * FROM ltr_evaluate('shop', 'judgments')")
            .contains("no candidates for the")
    );
    assert_eq!(count(search), 0);
    // 3. Arguments.
    assert!(problem(&connection, "SELECT * FROM ltr_search('shop', NULL)").contains("argument 'query'"));
    assert!(problem(&connection, "SELECT * FROM ltr_search('shop')").contains("argument 'query' is missing"));
    let plain = "SELECT ltr_train('rank_svm', 'SELECT query, item_id, grade, item_id AS x FROM judgments', '{\"name\": \"plain\"}')";
    let _: String = value(&connection, plain, []);
    assert!(
        problem(&connection, "SELECT * FROM ltr_search('plain', 'x')").contains("has no view of candidates")
    );
}

#[test]
fn options_that_exclude_candidates_are_refused() {
    let connection = database();
    shop(&connection, "main");
    for (algorithm, source, options, message) in [
        ("cofi_rank", "judgments", json!({}), "learns from ids"),
        ("rank_svm", "judgments", json!({"buckets": 4}), "in buckets"),
        ("rank_svm", "SELECT query, grade FROM judgments", json!({}), "doc"),
        ("rank_svm", "SELECT * FROM judgments WHERE 0", json!({}), "no judgment"),
    ] {
        let mut options = options;
        options["candidates"] = json!("shop_candidates");
        let sql = format!("SELECT ltr_train('{algorithm}', '{source}', '{options}')");
        assert!(problem(&connection, &sql).contains(message), "{options}: {}", problem(&connection, &sql));
    }
}

#[test]
fn parameters_reach_the_view() {
    let connection = database();
    connection
        .execute_batch(
            "CREATE TABLE items(id INTEGER PRIMARY KEY, owner INTEGER, x REAL);
             INSERT INTO items WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 60) SELECT i, i % 3, i * 7 % 11 FROM n;
             CREATE VIEW mine AS SELECT q.query AS query_id, id AS doc_id, x FROM ltr_query AS q JOIN items
                ON owner = coalesce(json_extract(q.params, '$.user'), owner);
             CREATE TABLE j AS SELECT 'q' || (id % 5) AS query, id AS doc, x > 5 AS relevance FROM items",
        )
        .unwrap();
    let sql =
        "SELECT ltr_train('rank_svm', 'j', '{\"name\": \"mine\", \"candidates\": \"mine\", \"lambda\": 1}')";
    let _: String = value(&connection, sql, []);
    let count = |options: &str| {
        value::<i64>(&connection, "SELECT count(*) FROM ltr_search('mine', 'q9', ?1)", [options])
    };
    assert_eq!(
        (count("{}"), count("{\"params\": {\"user\": 1}}"), count("{\"params\": {\"user\": 8}}")),
        (60, 20, 0)
    );
}

/// The view is in the database of the model.
#[test]
fn an_attached_database_has_its_own_models_and_views() {
    let connection = database();
    connection.execute_batch("ATTACH ':memory:' AS other").unwrap();
    shop(&connection, "other");
    let options = json!({"name": "shop", "candidates": "shop_candidates", "lambda": 1});
    let train = |options: &Value| {
        format!("SELECT ltr_train('rank_svm', 'SELECT DISTINCT * FROM other.judgments', '{options}')")
    };
    assert!(problem(&connection, &train(&options)).contains("database 'main'"));
    let mut of_other = options.clone();
    of_other["schema"] = json!("other");
    let _: String = value(&connection, &train(&of_other), []);
    let sql = "SELECT count(*) FROM ltr_search('shop', 'blue shoes', '{\"schema\": \"other\"}')";
    assert!(value::<i64>(&connection, sql, []) > 10);
    // A BLOB takes its candidates from main.
    let blob = "SELECT count(*) FROM ltr_search((SELECT model FROM other.ltr_models), 'blue shoes')";
    assert!(problem(&connection, blob).contains("the database 'main' has no view"));
    shop(&connection, "main");
    assert!(value::<i64>(&connection, blob, []) > 10);
    let in_temp = json!({"candidates": "shop_candidates", "schema": "temp"});
    assert!(problem(&connection, &train(&in_temp)).contains("not temp"));
}

/// Schemas as applications have them: each view gives the rows of its search.
#[test]
fn views_over_the_schemas_of_users_work() {
    let connection = database();
    connection
        .execute_batch(
            "CREATE TABLE items(id INTEGER PRIMARY KEY, title TEXT, brand INTEGER, maker INTEGER, cents INTEGER,
                 price REAL GENERATED ALWAYS AS (cents / 100.0) VIRTUAL, updated_at TEXT);
             INSERT INTO items(id, title, brand, maker, cents, updated_at) WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 90)
             SELECT i, iif(i % 2, 'red', 'blue') || ' ' || iif(i % 3, 'shoes', 'hats'), i % 5, i % 4, i * 37 % 101 * 10, date('2024-01-01', i || ' days') FROM n;
             CREATE TABLE brands(id INTEGER PRIMARY KEY, stars REAL); INSERT INTO brands SELECT DISTINCT brand, brand / 2.0 FROM items;
             CREATE TABLE makers(id INTEGER PRIMARY KEY, country TEXT); INSERT INTO makers SELECT DISTINCT maker, 'c' || maker FROM items;
             CREATE TABLE tags(item INTEGER, tag TEXT); INSERT INTO tags SELECT id, iif(id % 7, 'new', 'old') FROM items;
             CREATE TABLE \"app_item\" AS SELECT id, title, price FROM items; -- as Django names tables
             CREATE TABLE \"line_items\" (\"id\" integer PRIMARY KEY AUTOINCREMENT NOT NULL, \"item_id\" integer NOT NULL, \"active\" boolean DEFAULT 1,
                 \"created_at\" datetime(6) NOT NULL, \"price\" decimal(8,2)); -- as Rails makes them
             INSERT INTO line_items(item_id, active, created_at, price) SELECT id, id % 3 > 0, datetime('2024-01-01', id || ' hours') || '.123456', price FROM items;
             CREATE VIRTUAL TABLE own USING fts5(title); INSERT INTO own(rowid, title) SELECT id, title FROM items;
             CREATE VIRTUAL TABLE outside USING fts5(title, content = 'items', content_rowid = 'id'); INSERT INTO outside(outside) VALUES ('rebuild');
             CREATE VIRTUAL TABLE contentless USING fts5(title, content = ''); INSERT INTO contentless(rowid, title) SELECT id, title FROM items;
             CREATE TABLE judged AS SELECT title AS query, id AS doc_id, (price > 4) + (id % 7 > 0) AS relevance FROM items WHERE id < 70",
        )
        .unwrap();
    let full_text = |table: &str| {
        format!("SELECT q.query AS query_id, f.rowid AS doc_id, ltr_vec(ltr_fts({table}), price) AS features
                   FROM ltr_query AS q JOIN {table} AS f ON {table} MATCH ltr_fts_query(q.query) JOIN items ON items.id = f.rowid")
    };
    let views = [
        ("own", full_text("own")),
        ("outside", full_text("outside")),
        ("contentless", full_text("contentless")),
        ("generated", "SELECT q.query AS query_id, id AS doc_id, price, updated_at FROM ltr_query AS q JOIN items ON title = q.query".to_owned()),
        (
            "joins",
            "SELECT q.query AS query_id, i.id AS doc_id, price, stars, country, tag FROM ltr_query AS q JOIN items AS i ON i.title = q.query
               JOIN brands AS b ON b.id = i.brand JOIN makers AS m ON m.id = i.maker JOIN tags AS t ON t.item = i.id"
                .to_owned(),
        ),
        ("django", "SELECT q.query AS query_id, a.id AS doc_id, a.price FROM ltr_query AS q JOIN \"app_item\" AS a ON a.title = q.query".to_owned()),
        ("rails", "SELECT q.query AS query_id, l.item_id AS doc_id, l.active, l.created_at, l.price FROM ltr_query AS q JOIN items AS i ON i.title = q.query
            JOIN line_items AS l ON l.item_id = i.id".to_owned()),
        (
            "common",
            "WITH c AS MATERIALIZED (SELECT query FROM ltr_query) SELECT query AS query_id, id AS doc_id, price / max(price) OVER (PARTITION BY query) AS part
               FROM c JOIN items ON title = query"
                .to_owned(),
        ),
    ];
    for (name, body) in views {
        connection.execute_batch(&format!("CREATE VIEW found_{name} AS {body}")).unwrap();
        let options = json!({"name": name, "candidates": format!("found_{name}"), "lambda": 0.1}).to_string();
        let report: String = value(&connection, "SELECT ltr_train('rank_svm', 'judged', ?1)", [options]);
        let report: Value = serde_json::from_str(&report).unwrap();
        assert_eq!(report["view"]["found"], json!(69), "{name}: {}", report["view"]);
        let count = "SELECT count(*) FROM ltr_search(?1, 'red shoes')";
        assert!(value::<i64>(&connection, count, [name]) >= 30, "{name}");
    }
}

/// Training, evaluation and search read the view for one query at a time, so window functions and LIMIT see the same rows.
#[test]
fn a_view_sees_one_query_at_a_time() {
    let connection = database();
    connection
        .execute_batch(
            "CREATE TABLE items(id INTEGER PRIMARY KEY, kind TEXT, x REAL);
             INSERT INTO items WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 120) SELECT i, 'k' || (i % 6), i * 7 % 31 * (1 + i % 6) FROM n;
             CREATE VIEW best AS SELECT q.query AS query_id, id AS doc_id, x / max(x) OVER () AS part FROM ltr_query AS q JOIN items ON kind = q.query
                ORDER BY x DESC LIMIT 12;
             CREATE TABLE judged AS SELECT kind AS search, id AS item, x / max(x) OVER (PARTITION BY kind) > 0.6 AS grade, 0.01 AS determined FROM items",
        )
        .unwrap();
    let mut options =
        json!({"candidates": "best", "lambda": 0.1, "columns": {"query": "search", "doc": "item"}});
    let report: String =
        value(&connection, "SELECT ltr_train('rank_svm', 'judged', ?1)", [options.to_string()]);
    let report: Value = serde_json::from_str(&report).unwrap();
    assert_eq!(report["view"]["found"], json!(6 * 12));
    assert!(report["warnings"].to_string().contains("\\\"determined\\\" is 0.01"), "{}", report["warnings"]);
    // The columns of the judgments are found again.
    let sql =
        "SELECT value FROM ltr_evaluate('rank_svm', 'judged') WHERE query_id IS NULL AND metric = 'ndcg@10'";
    assert!(value::<f64>(&connection, sql, []) > 0.99);
    assert_eq!(value::<i64>(&connection, "SELECT count(*) FROM ltr_search('rank_svm', 'k3')", []), 12);
    assert_eq!(value::<i64>(&connection, "SELECT count(*) FROM ltr_search('rank_svm', '')", []), 0);
    // Other functions name the view.
    assert_eq!(value::<i64>(&connection, "SELECT count(*) FROM ltr_rank('rank_svm', 'best')", []), 0);
    assert!(
        warnings(&connection).contains("ltr_query is empty without a query"),
        "{}",
        warnings(&connection)
    );
    // Models with different views are compared on the same judgments.
    let other = "CREATE VIEW short AS SELECT * FROM best WHERE doc_id % 4 > 0";
    connection.execute_batch(other).unwrap();
    let mut of_short = options.clone();
    (of_short["candidates"], of_short["name"]) = (json!("short"), json!("short"));
    let _: String = value(&connection, "SELECT ltr_train('rank_svm', 'judged', ?1)", [of_short.to_string()]);
    let mean = |model: &str| {
        let sql =
            "SELECT value FROM ltr_evaluate(?1, 'judged') WHERE query_id IS NULL AND metric = 'ndcg@10'";
        value::<f64>(&connection, sql, [model])
    };
    let difference: f64 =
        value(&connection, "SELECT difference FROM ltr_compare('rank_svm', 'short', 'judged')", []);
    assert!(
        (difference - (mean("rank_svm") - mean("short"))).abs() < 1e-12 && difference > 0.1,
        "{difference}"
    );
    let failing = "CREATE VIEW failing AS SELECT q.query AS query_id, id AS doc_id, iif(q.query = 'k4', abs(-9223372036854775807 - 1), x) AS x
        FROM ltr_query AS q JOIN items ON kind = q.query";
    connection.execute_batch(failing).unwrap();
    options["candidates"] = json!("failing");
    let sql = format!("SELECT ltr_train('rank_svm', 'judged', '{options}')");
    assert!(
        problem(&connection, &sql).contains("query 'k4': integer overflow"),
        "{}",
        problem(&connection, &sql)
    );
}

/// Rule 6.11: a statement cannot pass a query to the view, and rankings say so.
#[test]
fn a_statement_that_reads_the_view_is_refused() {
    let connection = database();
    shop(&connection, "main");
    train(&connection, "rank_svm", &json!({"name": "shop", "candidates": "shop_candidates"}));
    let statement = "'SELECT * FROM shop_candidates WHERE query_id = ''blue'''";
    for call in [
        format!("ltr_rank('shop', {statement})"),
        format!("ltr_interleave('shop', 'shop', {statement}, '{{\"seed\": 1}}')"),
    ] {
        let text = problem(&connection, &format!("SELECT count(*) FROM {call}"));
        assert!(text.contains("give the view's name as the source"), "{text}");
    }
}
